"""Where generated lines come from: every line of the source, in all operators; the page that shows it."""

import json
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from autodiff import AutodiffError, differentiable, grad, linearize, value_and_grad, vjp

from .fuzz.checks import runs
from .fuzz.programs import program


def helper(v, k):
    s = 0.0
    for i in range(v.shape[0]):
        s += np.sin(v[i]) * k
        if s > 10:
            s = s / 2
    for i in range(v.shape[0]):
        s += np.sin(v[i]) * k * s
        if s < -10:
            s = s / 3
    return s


def steps(x, k):
    a = np.exp(x) * k
    for _ in range(3):
        a = a * np.tanh(a)
    return helper(a, k) + helper(x, 2.0)


FIRST = steps.__code__.co_firstlineno
X = np.linspace(0.1, 0.9, 5)


def code_of(lines):
    return [one for one in lines if one.function and one.text.strip()
            and not one.text.lstrip().startswith(("#", '"""', "def "))]


def made_by(make, *args):
    made = make(steps, mode="python")
    made(*args)
    return made


OPERATORS = {
    "primal": lambda: made_by(differentiable, X, 2.0),
    "grad": lambda: made_by(grad, X, 2.0),
    "value_and_grad": lambda: made_by(value_and_grad, X, 2.0),
    "vjp": lambda: vjp(steps, X, 2.0, mode="python")[1],
    "linearize": lambda: linearize(steps, X, 2.0, mode="python")[1],
}


@pytest.mark.parametrize("name", OPERATORS)
def test_lines_are_those_of_the_source(name):
    made = OPERATORS[name]()
    assert "".join(one.text + "\n" for one in made.lines) == made.source
    assert [one.number for one in made.lines] == list(range(1, len(made.lines) + 1))
    code = code_of(made.lines)
    assert sum(not one.places for one in code) <= 0.15 * len(code)
    assert {file for one in code for file, _ in one.places} == {__file__}


def test_what_a_line_of_the_user_became():
    made = made_by(grad, X, 2.0)
    line = FIRST + 3                                # a = a * np.tanh(a)
    became = made.lines.of(line, "test_lines.py")
    assert {one.sweep for one in became} == {"forward", "reverse"}
    assert any("tanh" in one.text and one.sweep == "reverse" for one in became)
    assert not made.lines.of(line, "other.py")


def test_an_expression_of_two_lines_has_the_places_of_both():
    def two(x, k):
        y = np.sin(x[0])
        return y * k

    made = grad(two, wrt="k", mode="python")
    made(X, 2.0)
    returned = next(one for one in made.lines if "np.sin" in one.text)
    first = two.__code__.co_firstlineno
    assert {n for _, n in returned.places} >= {first + 1}
    primal = made.primal
    primal(X, 2.0)
    assert {n for one in primal.lines if "np.sin" in one.text for _, n in one.places} == {first + 1, first + 2} or any(
        "np.sin" in one.text and {n for _, n in one.places} == {first + 1} for one in primal.lines)


def test_names_of_the_tape_are_those_of_the_source():
    made = made_by(grad, X, 2.0)
    names = [saved.name for saved in made.tape]
    assert len(set(names)) == len(names) > 3        # helpers that are called twice have a tape for each call
    for saved in made.tape:
        own = [one for one in made.lines if one.tape == saved.name]
        assert [one.bytes for one in own if one.bytes] == [saved.bytes]
        assert all(re.search(rf"\b{saved.name}\b", one.text) for one in own) and len(own) > 1
    bill = made.tape.bill(X, 2.0)
    assert set(names) <= {item.name for item in bill}
    assert {item.name for item in bill} <= set(re.findall(r"\w+", made.source))


def test_lines_with_several_threads_and_for_devices():
    def f(x):
        y = np.sin(x) ** 2
        return np.sum(np.exp(y) * x)

    threads = grad(f, parallel=True)
    threads.specialize(X)
    device = grad(f, target="cuda")
    device.specialize(X)
    for made in (threads, device):
        assert "".join(one.text + "\n" for one in made.lines) == made.source
        assert {n for one in made.lines for file, n in one.places if file == __file__} <= set(range(70, 200))
        assert {one.sweep for one in made.lines} >= {"forward", "reverse"} and any(one.places for one in code_of(made.lines))


@pytest.mark.parametrize("seed", range(7_000_000, 7_000_040, 10))
def test_lines_of_random_programs(seed):
    """Most lines of code have a place (not sizes, memory of results, what joins ways out); each is a line of the program."""
    counts = [0, 0]
    for one in (program(k) for k in range(seed, seed + 10)):
        if not runs(one):
            continue
        f, args = one.module()["f"], one.values()
        try:
            _, made = vjp(f, *args, mode="python")
        except AutodiffError:
            continue
        assert "".join(line.text + "\n" for line in made.lines) == made.source, one.seed
        code = code_of(made.lines)
        counts = [counts[0] + sum(not line.places for line in code), counts[1] + len(code)]
        count = one.source.count("\n")
        assert all(file == f"<fuzz {one.seed}>" and 0 < n <= count for line in code for file, n in line.places), one.seed
        starts = [k for k, line in enumerate(made.lines) if "---- reverse" in line.text]
        assert [made.lines[k].sweep for k in starts] == ["reverse"] * len(starts), one.seed
    assert counts[0] <= 0.25 * counts[1] and counts[1] > 100, counts


def content(page) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page.html, re.DOTALL)[1])


def test_view():
    made = made_by(grad, X, 2.0)
    page = made.view(X, 2.0)
    data = content(page)
    assert "http" not in page.html and "{{" not in page.html
    assert [line["text"] if "text" in line else "" for line in data["stages"][-1]["lines"]] == made.source.split("\n")[:-1]
    assert data["stages"][0]["name"] == "lower" and len(data["stages"]) > 3
    own = {line["number"]: line for part in data["own"] for line in part["lines"]}
    assert own[FIRST]["text"] == "def steps(x, k):" and own[FIRST + 3]["text"] == "        a = a * np.tanh(a)"
    saved = sum(item.bytes for item in made.tape.bill(X, 2.0) if item.holds.startswith("saved"))
    assert data["total"] == saved == sum(line["bytes"] or 0 for line in own.values())
    assert "flows through" in data["reasons"]["x"] and unescape(page._repr_html_()).count("<html") == 1
    assert content(made.view())["total"] == 0       # sizes are not known: formulas
    assert any(line.get("formula") for line in content(made.view())["stages"][-1]["lines"])


def test_text_of_the_user_ends_no_script(tmp_path):
    (tmp_path / "odd.py").write_text('def odd(x):\n    y = x * 2.0    # </script><b>{{data}}\n    return y\n')
    sys.path.insert(0, str(tmp_path))
    try:
        from odd import odd
        made = grad(odd, mode="python")
        made(1.0)
        assert content(made.view())["own"][0]["lines"][1]["text"].endswith("</script><b>{{data}}")
    finally:
        sys.path.remove(str(tmp_path))


def test_view_from_the_command_line(tmp_path):
    (tmp_path / "own.py").write_text("def cube(x: float):\n    return x ** 3\n", encoding="utf-8")
    command = [sys.executable, "-m", "autodiff", "view", f"{tmp_path / 'own.py'}:cube", "-o", str(tmp_path / "out.html")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    assert done.returncode == 0, done.stderr
    assert "gradient of cube" in (tmp_path / "out.html").read_text(encoding="utf-8")


ACTIONS = """<script>{
const over = (id, text) => {
  const line = [...document.querySelectorAll("#" + id + " .line")].find(l => l.textContent.includes(text));
  line.dispatchEvent(new MouseEvent("mouseover", {bubbles: true})); return line; };
over("own", "np.tanh(a)");
const lit = [...document.querySelectorAll("#made .lit")].map(l => l.querySelector("span").textContent);
over("made", "_tape = ").click();
const said = document.getElementById("said").textContent, pinned = document.querySelectorAll("#own .pinned").length;
document.getElementById("stage").value = 0;
document.getElementById("stage").dispatchEvent(new Event("input"));
document.getElementById("why").value = "x";
document.getElementById("why").dispatchEvent(new Event("change"));
const out = document.createElement("pre"); out.id = "out";
out.textContent = JSON.stringify({lit, said, pinned, stage: document.getElementById("named").textContent,
  first: document.querySelector("#made .line").textContent, why: document.getElementById("said").textContent});
document.body.append(out);
}</script></body>"""


@pytest.mark.skipif(not shutil.which("chromium"), reason="needs Chromium")
def test_view_in_a_browser(tmp_path):
    page = made_by(grad, X, 2.0).view(X, 2.0)
    (tmp_path / "view.html").write_text(page.html.replace("</body>", ACTIONS), encoding="utf-8")
    done = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
                           f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=2000", "--dump-dom",
                           (tmp_path / "view.html").as_uri()], capture_output=True, text=True, timeout=60)
    seen = json.loads(unescape(re.search(r'<pre id="out">(.*?)</pre>', done.stdout, re.DOTALL)[1]))
    assert any("np.tanh" in text for text in seen["lit"]) and len(seen["lit"]) > 3
    assert "forward sweep" in seen["said"] and "tape `" in seen["said"] and seen["pinned"] == 1
    assert seen["stage"].startswith("lower (") and "def steps" in seen["first"] and "flows through" in seen["why"]
