"""`f.times`: where clocks are read, what is measured, and that a program with clocks in it computes the same."""

import json
import re
import shutil
import subprocess
from html import unescape

import numpy as np
import pytest

from autodiff import AutodiffError, grad, value_and_grad
from autodiff.calling.building import compile_text
from autodiff.inspecting.clocked import FIRST, affordable, clocked, counting
from autodiff.operators.pullbacks import Vjp
from autodiff.options import Options
from autodiff.runtime import stopwatch
from autodiff.runtime.machine_code import store

from .fuzz.checks import runs
from .fuzz.programs import program
from .test_lines import content

PYTHON = Options("python")


def nested(x, rounds):
    y = x * 1.0
    for t in range(rounds):
        for i in range(x.shape[0]):
            y[i] = y[i] * y[i] + 0.1 * np.sin(y[i])
        if y[0] > 10.0:
            y = np.sqrt(np.abs(y) + 1.0)
    return np.sum(y)


def two_loops(x, few, many):
    s = 0.0
    for i in range(few):
        s += np.sin(x[0] * s)
    for i in range(many):
        s += np.sin(x[1] * s)
    return s


FIRST_LINE = two_loops.__code__.co_firstlineno


def text_of(f, *args):
    made = value_and_grad(f, mode="python")
    made(*args)
    return str(made.source), f"{f.__name__}_value_and_grad"


def entry_line(text, name):
    return next(k for k, line in enumerate(text.split("\n"), 1) if line.startswith(f"def {name}("))


def test_laps_stand_after_innermost_loops_and_between_them():
    text, name = text_of(nested, np.linspace(0.1, 0.5, 4), 3)
    lines = text.split("\n")
    made = clocked(text, name, set(counting(text, name).places))
    assert len(made.segments) == len(re.findall(r"\blap\((?![01]\))", made.text)) > 5
    assert [line for line in made.text.split("\n") if "lap(" not in line and "stopwatch" not in line] == lines
    for first, last in made.segments:
        inside = lines[first:last]              # behind a first line that may be a `for`
        assert not any(line.lstrip().startswith("for ") for line in inside)
    closed = clocked(text, name, set())
    assert len(closed.segments) < len(made.segments)
    assert any("for i in" in line for first, last in closed.segments for line in lines[first:last])      # whole nests


def test_loops_are_entered_while_their_laps_are_few():
    text, name = text_of(nested, np.linspace(0.1, 0.5, 4), 3)
    counted = counting(text, name)
    entry = entry_line(text, name)
    turns = dict.fromkeys(counted.places, 1000)
    assert affordable(counted, entry, turns, 10.0) == set()
    assert affordable(counted, entry, turns, 1e6) == set(counted.places) != set()
    first = min(counted.inside[entry], key=lambda place: (counted.laps[place], place))
    assert affordable(counted, entry, turns, 1000.0 * counted.laps[first]) == {first}


@pytest.mark.parametrize("seed", range(7_200_000, 7_200_040, 10))
def test_random_programs_compute_the_same_with_laps(seed):
    tried = 0
    for one in (program(k) for k in range(seed, seed + 10)):
        if not runs(one):
            continue
        try:
            made = value_and_grad(one.module()["f"], mode="python")
            made.specialize(*one.values())
        except AutodiffError:
            continue
        generated = made._inspect().generated
        text, name = str(made.source), generated.programs[0].name
        leaves = made._leaves(made._inspect(), *made._taken(one.values(), {}))
        counted = counting(text, name)
        found = []
        for variant in (text, counted.text, clocked(text, name, set(counted.places)).text, clocked(text, name, set()).text):
            given = [np.copy(x) if isinstance(x, np.ndarray) else x for x in leaves]
            function = compile_text(variant, [name], {}, PYTHON)[name]
            try:
                found.append([np.asarray(r).tolist() for r in function(*given)])
            except Exception as e:
                found.append([type(e).__name__])
        assert all(repr(other) == repr(found[0]) for other in found[1:]), one.seed
        tried += 1
    assert tried > 2


def test_what_takes_longer_and_each_sweep_apart():
    x = np.array([0.3, 0.2])
    times = grad(two_loops, mode="python").times(x, 20, 600)
    at = {one.line - FIRST_LINE: one for one in times}
    for sweep in ("forward", "reverse"):
        short, long = (getattr(at[k], sweep) + getattr(at[k - 1], sweep) for k in (3, 5))
        assert long > 5 * short > 0, times
    assert abs(sum(s.seconds for s in times.segments) - sum(one.seconds for one in times) - times.other) < 1e-9
    assert "reverse ms" in str(times) and "two_loops" not in str(times) and "np.sin(x[1] * s)" in str(times)
    assert "<table" in times._repr_html_()


def test_compiled_code_with_laps_takes_as_long_and_is_not_kept():
    x = np.array([0.3, 0.2])
    made = grad(two_loops)
    times = made.times(x, 1000, 100_000)
    whole = sum(s.seconds for s in times.segments)
    assert 0.4 * times.call < whole < 2.5 * times.call, times
    at = {one.line - FIRST_LINE: one.seconds for one in times}
    assert at[5] > 10 * at[3], times
    folder = store.store_directory()
    timed = [path.stem for path in folder.glob("two_loops_grad_*.py") if "lap(" in path.read_text()]
    plain = [path.stem for path in folder.glob("two_loops_grad_*.py") if "lap(" not in path.read_text()]
    kept = " ".join(path.name for path in folder.glob("__pycache__/*.nbc"))
    assert timed and any(stem in kept for stem in plain) and not any(stem in kept for stem in timed)


def test_a_tally_and_a_lap():
    stopwatch.STATE[:] = 0
    stopwatch.lap(0)
    stopwatch.tally(3)
    stopwatch.lap(FIRST)
    spent, counts = stopwatch.laps()
    assert counts[3] == counts[0] == counts[FIRST] == 1 and 0 < spent[FIRST] < 10**9


def test_arguments_and_generators_stay_as_they_are(capsys):
    @grad(mode="python")
    def f(x, rng):
        print("said")
        x[0] = x[0] * rng.normal()
        return np.sum(x ** 2)

    x, rng = np.ones(3), np.random.default_rng(5)
    before = str(rng.bit_generator.state)
    f.times(x, rng)
    assert x.tolist() == [1.0, 1.0, 1.0] and str(rng.bit_generator.state) == before
    assert capsys.readouterr().out == "said\n"


def test_what_is_not_measured():
    with pytest.raises(ValueError, match="grad, value_and_grad"):
        Vjp(two_loops, options=PYTHON).times(np.ones(2), 1, 1)

    def fails(x):
        if x[0] > 0:
            raise ValueError("not so")
        return x[0] * 2.0

    with pytest.raises(ValueError, match="not so"):
        grad(fails, mode="python").times(np.ones(2))


def test_the_page_has_times_where_they_are_asked_for():
    made = grad(two_loops, mode="python")
    x = np.array([0.3, 0.2])
    made(x, 3, 4)
    assert "call" not in content(made.view(x, 3, 40))
    data = content(made.view(x, 3, 40, time=True))
    assert data["call"] > 0 and data["calls"] >= 3
    own = {line["number"] - FIRST_LINE: line["time"] for part in data["own"] for line in part["lines"]}
    assert own[5]["forward"] > 0 and own[5]["reverse"] > 0 and own[0] is None
    source = data["stages"][-1]["lines"]
    assert {line["sweep"] for line in source if "segment" in line} == {"forward", "reverse"}
    assert not any("segment" in line for stage in data["stages"][:-1] for line in stage["lines"])


ACTIONS = """<script>{
const word = [...document.querySelectorAll("#own u")].find(u => u.textContent === "s");
word.dispatchEvent(new MouseEvent("mouseover", {bubbles: true}));
const told = document.getElementById("said").textContent, select = document.getElementById("colour");
const ems = () => [...document.querySelectorAll("#own .line")].map(l => l.querySelector("em").textContent).filter(Boolean);
const painted = () => [...document.querySelectorAll("#made .line")].filter(l => l.style.background).map(l => l.line.sweep);
const out = document.createElement("pre"), seen = {told, first: select.value};
for (const kind of ["forward", "reverse", "bytes"]) {
  select.value = kind; select.dispatchEvent(new Event("change"));
  seen[kind] = {ems: ems(), painted: [...new Set(painted())]};
}
out.id = "out"; out.textContent = JSON.stringify(seen);
document.body.append(out);
}</script></body>"""


@pytest.mark.skipif(not shutil.which("chromium"), reason="needs Chromium")
def test_times_and_names_in_a_browser(tmp_path):
    made = grad(two_loops, mode="python")
    made(np.array([0.3, 0.2]), 3, 4)
    page = made.view(np.array([0.3, 0.2]), 3, 40, time=True)
    (tmp_path / "view.html").write_text(page.html.replace("</body>", ACTIONS), encoding="utf-8")
    done = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
                           f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=2000", "--dump-dom",
                           (tmp_path / "view.html").as_uri()], capture_output=True, text=True, timeout=60)
    seen = json.loads(unescape(re.search(r'<pre id="out">(.*?)</pre>', done.stdout, re.DOTALL)[1]))
    assert "`s` (test_times.py:" in seen["told"] and "on the tape" in seen["told"] and seen["first"] == "time"
    assert seen["forward"]["painted"] == ["forward"] and seen["reverse"]["painted"] == ["reverse"]
    assert all(re.fullmatch(r"~?[\d.]+ (µs|ms|s)", text) for text in seen["forward"]["ems"] + seen["reverse"]["ems"])
    assert seen["bytes"]["ems"] and all("bytes" in text for text in seen["bytes"]["ems"])
