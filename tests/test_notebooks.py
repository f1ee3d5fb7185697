"""What notebooks and prompts show: programs, tables and errors as HTML and as text."""

import copy
import pickle
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from autodiff import AutodiffError, check_grads, grad, linearize, tensor, vjp
from autodiff.errors import UnsupportedSyntax
from autodiff.inspecting.sources import Source
from autodiff.transforms.language.core import Loc

X = np.linspace(0.1, 0.9, 5)


def loss(x, k):
    """A "loss" <of> x & k."""
    y = np.sin(x) * k
    for i in range(1, x.shape[0]):
        y[i] = y[i - 1] * y[i] if y[i] < 10 else y[i]
    return np.sum(y)


class Shown(HTMLParser):
    """The text that HTML shows; every tag must be closed, and nothing may be fetched."""

    def __init__(self, html: str):
        super().__init__()
        self.open, self.parts = [], []
        self.feed(html)
        self.close()
        assert not self.open
        self.text = "".join(self.parts)

    def handle_starttag(self, tag, attributes):
        assert not {"src", "href"} & {name for name, _ in attributes}
        if tag not in ("br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] != "style":
            self.parts.append(data)


@pytest.fixture(scope="module")
def made():
    made = grad(loss, mode="python")
    made(X, 2.0)
    return made


def test_source_is_a_str_that_shows_its_lines(made):
    source = made.source
    assert isinstance(source, Source) and isinstance(source, str)
    text = str(source)
    assert source == text and hash(source) == hash(text) and repr(source) == text and "\n" in text
    assert Shown(source._repr_html_()).text == text
    assert pickle.loads(pickle.dumps(source)) == copy.copy(source) == text
    exec(compile(source, "made", "exec"), {})
    assert type(tensor(X, requires_grad=True).sin().grad_fn.source) is Source


def refused(x):
    y = sorted(x, key="<b> & </b>".count)
    return y[0]


def shown_by(made):
    with pytest.raises(AutodiffError) as raised:
        grad(refused, mode="python")(X)
    return {
        "derivative": made, "fresh": grad(lambda x: np.sum(x * x)), "pullback": vjp(loss, X, 2.0, mode="python")[1],
        "tangent map": linearize(loss, X, 2.0, mode="python")[1], "tape": made.tape, "bill": made.tape.bill(X, 2.0),
        "stages": made.stages, "stage": made.stages["final"], "lines": made.lines, "why": made.why("x"),
        "report": check_grads(loss, (X, 2.0), mode="python"), "error": raised.value, "source": made.source}


def test_html_holds_what_the_texts_say(made):
    shown = {name: Shown(one._repr_html_()).text for name, one in shown_by(made).items()}
    tape = made.tape[0]
    for name in ("derivative", "pullback", "tangent map"):
        assert f"{name.replace('derivative', 'gradient')} of loss" in shown[name] and "x: float64[:]" in shown[name]
    assert made.source in shown["derivative"] and "not called yet" in shown["fresh"]
    assert all(text in shown["tape"] for text in (tape.name, tape.bytes, tape.where, tape.reason))
    assert all(f"{item.bytes:,}" in shown["bill"] and item.holds in shown["bill"] for item in made.tape.bill(X, 2.0))
    assert all(re.search(f"{name}[,:]", shown["stages"]) for name in made.stages)
    assert str(made.stages["lower"]) in shown["stages"] and str(made.stages["final"]) in shown["stages"]
    assert shown["stage"] == str(made.stages["final"])
    assert all(line.text in shown["lines"] for line in made.lines)
    assert str(made.why("x")).replace("\n", "", 1) == shown["why"]
    assert "largest relative error" in shown["report"]
    error = shown_by(made)["error"]
    assert type(error).__name__ in shown["error"] and error.problem in shown["error"] and error.hint in shown["error"]
    assert f", line {error.loc.line}, in refused" in shown["error"] and error.loc.text.strip() in shown["error"]


def test_what_prompts_show_is_short(made):
    for name, one in shown_by(made).items():
        text = repr(one)
        assert " object at 0x" not in text and "Loc(" not in text, name
        assert len(text) < 120 * max(20, text.count("\n") + 1), name
    assert repr(made) == "<gradient of loss>" and len(repr(made.stages).splitlines()) == len(made.stages)


def test_html_is_small_and_needs_nothing_else(made):
    for name, one in shown_by(made).items():
        html = one._repr_html_()
        programs = sum(len(str(s)) for s in made.stages.values()) if name == "stages" else len(made.source)
        assert len(html) < 5000 + 8 * max(len(repr(one)), programs), name
        assert not re.search(r"https?:|@import|url\(|<script", html), name


PIECES = ['"', "'", '"""', "'" * 3, "#", "\\", "\n", "<b>", "&amp;", "</pre>", "for", "x_1", "1e-3", "0x1F", "rb", 'f"{a}"',
          "é", "→", " ", "None", "==", "lambda", "\t"]


@pytest.mark.parametrize("seed", range(10))
def test_any_text_is_shown_as_it_is(seed):
    """Programs of any kind, cut anywhere, quotes left open."""
    draw = np.random.default_rng(seed)
    for _ in range(30):
        text = "".join(draw.choice(PIECES, draw.integers(0, 25)))
        assert Shown(Source(text)._repr_html_()).text == text
        place = Loc("m.py", 3, text, "f", int(draw.integers(0, 9)), int(draw.integers(0, 9)))
        seen = Shown(UnsupportedSyntax(text, place, text)._repr_html_()).text
        assert text.strip() in seen and seen.startswith(f"UnsupportedSyntax: {text}")
        assert seen.endswith(text and f"Try: {text}")
