"""What notebooks and prompts show: programs, tables and errors as HTML and as text."""

import copy
import pickle
from html.parser import HTMLParser

import numpy as np
import pytest

from autodiff import grad, tensor
from autodiff.inspecting.sources import Source

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
