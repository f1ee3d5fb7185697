"""`f.debug(...)`, `f.file` and `f.show()`: generated text under pdb, where it is, and in colours."""

import io
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from autodiff import AutodiffError, differentiable, grad, hessian, hvp, jacobian, linearize, value_and_grad, vjp
from autodiff.inspecting.colours import coloured, has_colours

from .fuzz.calls import calls
from .fuzz.checks import runs
from .fuzz.programs import program


def power(v, k):
    return v ** 3 * k + np.sin(v)


def energy(x, k):
    y = np.exp(x) * k
    s = 0.0
    for i in range(x.shape[0] - 1):
        s += power(y[i + 1], k) - power(y[i], 0.5)
        y[i] = s
    return s


X = np.linspace(0.1, 0.9, 4)
STOP = re.compile(r"> (.+)\((\d+)\)(\w+)\(\)\n-> (.+)")


@pytest.fixture
def typed(monkeypatch, capsys, tmp_path):
    """Call something with these commands typed at pdb; (result, its stops, all that is printed)."""
    monkeypatch.setenv("HOME", str(tmp_path))           # no .pdbrc

    def run(commands, call):
        monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(commands) + "\n"))
        result = call()
        text = capsys.readouterr().out
        return result, STOP.findall(text), text
    return run


MAKERS = {"grad": grad, "value_and_grad": value_and_grad, "both": lambda f, **o: grad(f, wrt=(0, "k"), **o),
          "primal": lambda f, **o: grad(f, **o).primal, "parallel": lambda f, **o: grad(f, parallel=True, **o),
          "jacobian": jacobian, "hessian": hessian, "reverse": lambda f, **o: jacobian(f, direction="reverse", **o)}


def assert_same(found, expected):
    for a, b in zip(found if isinstance(found, tuple) else [found], expected if isinstance(expected, tuple) else [expected],
                    strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", MAKERS)
def test_it_stops_at_the_first_line_and_gives_the_result(name, typed):
    made = MAKERS[name](energy, mode="python")
    expected = made(X, 2.0)
    found, stops, _ = typed(["continue"], lambda: made.debug(X, 2.0))
    assert_same(found, expected)
    (file, line, function, text), = stops
    assert Path(file).read_text(encoding="utf-8").split("\n")[int(line) - 1].strip() == text
    if name != "parallel":
        assert Path(file).name == Path(made.file).name and made.source in Path(file).read_text(encoding="utf-8")
        first = next(one for one in made.lines if one.function == function and one.sweep)
        assert int(line) - 2 in (first.number, first.number + 1)       # a line of the store; the docstring does nothing


def test_products_with_vectors_and_numbas_mode(typed):
    made = hvp(energy, mode="python")
    v = np.ones(4)
    found, stops, _ = typed(["c"], lambda: made.debug(X, 2.0, v))
    assert_same(found, made(X, 2.0, v))
    assert len(stops) == 1
    compiled = grad(energy)             # not compiled by this: it has not been called
    found, stops, _ = typed(["c"], lambda: compiled.debug(X, k=2.0))
    np.testing.assert_allclose(found, grad(energy, mode="python")(X, 2.0))
    assert len(stops) == 1 and compiled._latest is None


def test_the_reverse_sweep(typed):
    made = grad(energy, mode="python")
    expected = made(X, 2.0)
    found, stops, text = typed(["p s", "next", "next", "p x_bar.shape", "c"], lambda: made.debug(X, 2.0, sweep="reverse"))
    assert_same(found, expected)
    source = Path(made.file).read_text(encoding="utf-8").split("\n")
    assert "---- reverse sweep" in source[int(stops[0][1]) - 2] and len(stops) == 3
    assert "(4,)" in text and not text.startswith("(Pdb)")


def test_steps_stay_in_generated_text(typed):
    def ratio(x, c):
        y = 0.0
        for i in range(4):
            y = y * x + c * np.cos(i * x)
        return y / (1.0 + y * y)

    def three(x, y):
        return ratio(x, y) * ratio(y, x) + ratio(x * y, y)

    with calls(True):                   # a function that is called stays one
        made = grad(three, mode="python")
        expected = made(0.7, 0.4)
        assert len(re.findall(r"^def ", made.source, re.MULTILINE)) > 1
        found, stops, _ = typed(["step"] * 40 + ["c"], lambda: made.debug(0.7, 0.4))
    assert found == expected
    assert len(stops) > 35 and {file for file, *_ in stops} == {made.file}
    assert len({function for _, _, function, _ in stops}) > 1


def test_maps_at_a_point(typed):
    for mode in ("python", "numba"):
        _, pullback = vjp(energy, X, 2.0, mode=mode)
        found, stops, _ = typed(["c"], lambda pullback=pullback: pullback.debug(1.0))
        np.testing.assert_allclose(found[0], pullback(1.0)[0], rtol=1e-12)
        assert [s[2] for s in stops] == ["energy_pullback"] and stops[0][0] == pullback.file
    _, tangent_map = linearize(energy, X, 2.0, mode="python")
    found, stops, _ = typed(["c"], lambda: tangent_map.debug(X, None))
    assert found == tangent_map(X, None) and len(stops) == 1


def test_quit_errors_and_tracing(typed):
    made = grad(energy, mode="python")
    calls = []

    def tracer(frame, event, arg):
        calls.append(event)
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        assert typed(["quit"], lambda: made.debug(X, 2.0))[0] is None
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)
    assert typed([], lambda: made(X, 2.0))[2] == ""                  # no debugger any more
    with pytest.raises(ValueError, match="sweep must be"):
        made.debug(X, 2.0, sweep="sideways")
    with pytest.raises(ValueError, match="no reverse sweep"):
        made.primal.debug(X, 2.0, sweep="reverse")
    with pytest.raises(TypeError, match="missing"):
        made.debug(X)

    def beyond(x):
        return x[7] * 2.0
    with pytest.raises(IndexError):
        typed(["c", "c"], lambda: grad(beyond, mode="python").debug(X))


@pytest.mark.parametrize("seed", range(7_100_000, 7_100_009, 3))
def test_random_programs(seed, typed):
    """The function and the pullback of a random program under the debugger give what they give without it."""
    stopped = 0
    for one in map(program, range(seed, seed + 3)):
        if not runs(one):
            continue
        f, args = one.module()["f"], one.values()
        try:
            value, pullback = vjp(f, *args, mode="python")
        except AutodiffError:
            continue
        primal = differentiable(f, mode="python")
        found, stops, _ = typed(["c"] * 3, lambda f=primal, args=args: f.debug(*args))
        stopped += len(stops)
        cotangent = tuple(map(np.ones_like, value)) if isinstance(value, tuple) else np.ones_like(value)
        bars, stops, _ = typed(["c"] * 3, lambda f=pullback, c=cotangent: f.debug(c))
        stopped += len(stops)
        np.testing.assert_equal(found, primal(*args), str(one.seed))
        np.testing.assert_equal(bars, pullback(cotangent), str(one.seed))
    assert stopped > 2


# -- the file -----------------------------------------------------------------------------------------------------


def test_the_file_is_there_again(monkeypatch, tmp_path):
    monkeypatch.setenv("AUTODIFF_CACHE_DIR", str(tmp_path))
    made = grad(energy, mode="python")
    made(X, 2.0)
    first = Path(made.file)
    assert first.parent == tmp_path and made.source in first.read_text(encoding="utf-8")
    first.unlink()
    assert Path(made.file) == first and first.exists()
    with pytest.raises(RuntimeError, match="not been called"):
        grad(lambda x: x * x).file      # noqa: B018
    threads = grad(lambda x: np.sum(np.sin(x)), parallel=True, mode="python")
    threads(X)
    assert threads.source in Path(threads.file).read_text(encoding="utf-8")
    device = grad(lambda x: np.sum(np.sin(x)), target="cuda")
    device.specialize(X)
    assert device.source in Path(device.file).read_text(encoding="utf-8")


# -- colours ------------------------------------------------------------------------------------------------------

ANSI = re.compile(r"\x1b\[[\d;]*m")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def plain_environment(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_show(plain_environment, monkeypatch, capsys):
    made = grad(energy, mode="python")
    made(X, 2.0)
    made.show(file=(out := Terminal()))
    shown = out.getvalue()
    assert ANSI.sub("", shown) == made.source and "\x1b[36mx_bar" in shown
    comments = re.findall(r"\x1b\[(\d+;?\d*)m# ([^\x1b]+)", shown)
    assert {style for style, text in comments if text.startswith("test_debugging.py:")} == {"32"}
    assert {style for style, text in comments if text.startswith("----")} == {"1;35"}
    made.show("lower", file=(out := Terminal()))
    assert ANSI.sub("", out.getvalue()).strip() == str(made.stages["lower"]).strip()
    made.show()
    assert capsys.readouterr().out == made.source
    assert not ANSI.search(str(made.source)) and not ANSI.search(made.source)
    with pytest.raises(KeyError):
        made.show("no such stage")


def test_which_streams_have_colours(plain_environment, monkeypatch):
    terminal, file = Terminal(), io.StringIO()
    assert has_colours(terminal) and not has_colours(file) and not has_colours(None)
    closed = io.StringIO()
    closed.close()
    assert not has_colours(closed)
    monkeypatch.setenv("TERM", "dumb")
    assert not has_colours(terminal)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert has_colours(terminal) and has_colours(file)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not has_colours(terminal) and not has_colours(file)
    monkeypatch.setenv("NO_COLOR", "")
    assert has_colours(file)


@pytest.mark.parametrize("text", ["", "x", "def f(x):\n    return 'é' + x_bar  # ö\n", "s = '''a\n  b'''; y_dot_2 = s\n",
                                  "def broken(:\n  '''", "x = (1\n", "\tif x:\n  y"])
def test_colours_change_nothing_else(text):
    assert ANSI.sub("", coloured(text)) == text
