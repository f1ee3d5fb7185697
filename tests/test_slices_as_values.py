"""Slices that have a name: globals, fields, arguments, items, by path; in random programs against Python."""

import copy
import random

import numpy as np
import pytest

from autodiff import AutodiffError, grad, value_and_grad, vjp

from .support import assert_slope, direction_like, from_text, outcome

ENDS = ("None", "0", "1", "2", "3", "-1", "-2", "5", "9", "-7", "np.int64(2)", "np.int64(-3)")
STEPS = ("", "", "", ", 1", ", 2", ", -1", ", -2", ", None")
HEAD = """import dataclasses
import types
import numpy as np


@dataclasses.dataclass
class Window:
    cut: slice
    scale: float = 1.5


class Holder:
    part = {0}

    def __init__(self):
        self.cut, self.cuts = {1}, [{2}, {3}]


KEPT = {4}
PAIR = ({5}, {6})
BY_NAME = {{"a": {7}, "b": np.s_[{8}]}}
HOLDER = Holder()
SPACE = types.SimpleNamespace(cut={9})


"""
PLACES = ("KEPT", "PAIR[0]", "PAIR[1]", 'BY_NAME["a"]', 'BY_NAME["b"]', "HOLDER.cut", "HOLDER.cuts[1]", "HOLDER.part",
          "SPACE.cut", "given", "default", "window.cut", "local", "local if x[0] > 0.1 else KEPT",
          "slice(local.start, KEPT.stop)", "slice(*KEPT.indices(len(x)))", "slice(KEPT.start if y[0] > 0.0 else None, 4)",
          "np.s_[1:4]", "np.index_exp[::2][0]")
USES = ("t += np.sum(x[{s}] ** 2)", "t += np.sum(m[{s}, 1] * 3.0) + np.sum(m[0, {s}] ** 2)", "t += np.sum(m[{s}, {z}] ** 2)",
        "z[{s}] = z[{s}] * 2.0", "z[{s}] *= 1.5", "z[{s}] += y[1]", "w = z[{s}]\n    w *= 0.5", "t += len(x[{s}]) * y[0]",
        "k[{s}, 0] = k[{s}, 1] ** 2", "t += sum(items[{s}]) * y[1]",
        "a, b, c = ({s}).indices(5)\n    t += (a + 2 * b + c) * y[0]",
        "s = {s}\n    t += (0.0 if s.start is None else s.start * y[0]) + (s.step is None)", "t += np.sum(x[({s},)] * y[0])",
        "for q in ({s}, {z}):\n        t += np.sum(x[q] ** 2)", "t += x[{s}].sum() if isinstance({s}, slice) else 7.0",
        "t += np.sum(z[..., {s}] ** 3)", "kept = items[:]\n    kept[{s}] = kept[{s}]\n    t += sum(kept) * y[1]")


def ends(draw: random.Random) -> str:
    return f"slice({draw.choice(ENDS)}, {draw.choice(ENDS)}{draw.choice(STEPS)})"


def program(seed: int) -> str:
    draw = random.Random(seed)
    text = HEAD.format(*(ends(draw) for _ in range(8)), draw.choice(("1:", ":-1", "::2", "1:4", "3:0:-1")), ends(draw))
    text += f"def f(x, y, m, given, window, default={ends(draw)}):\n"
    text += (f"    local = {ends(draw)}\n    t, z, k = 0.0, x.copy(), m.copy()\n"
             "    items = [x[0], y[0], x[1] * y[1], x[2], x[3]]\n")
    for _ in range(draw.randint(1, 4)):
        text += "    " + draw.choice(USES).format(s=draw.choice(PLACES), z=draw.choice(PLACES)) + "\n"
    return text + "    return t + np.sum(z ** 2) + np.sum(k ** 2 * 0.5)\n"


def attempt(seed: int):
    text = program(seed)
    f = from_text(f"<slices {seed}>", text)
    draw, space = random.Random(-seed), np.random.default_rng(seed)
    made = eval(ends(draw)), f.__globals__["Window"](eval(ends(draw)))
    args = space.standard_normal(5), space.standard_normal(2), space.standard_normal((5, 5)), *made
    try:
        expected = f(*copy.deepcopy(args))
    except ValueError as e:
        with pytest.raises(ValueError) as raised:
            vjp(f, *args, mode="python")
        assert str(raised.value).splitlines()[0] == str(e), text
        return
    try:
        value, pull = vjp(f, *args, mode="python", debug=True)
    except AutodiffError:                       # slices by path, and of lists: some are refused
        assert any(part in text for part in ("[0] > 0", "kept[", "items[slice(*")), text
        return
    assert np.isclose(value, expected, rtol=1e-10), text
    for position, bar in enumerate(pull(1.0)[:3]):
        d = direction_like(args[position], position)
        assert_slope(float(np.sum(bar * d)), lambda *now: f(*copy.deepcopy(now)), args, position, d)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    attempt(seed)


def test_slices_that_change_between_calls():
    f = from_text("<cut>", "import numpy as np\nCUT = slice(0, 2)\n\n\ndef f(x):\n    return np.sum(x[CUT] ** 2)\n")
    g, x, space = grad(f, mode="python"), np.arange(1.0, 6.0), f.__globals__
    for cut in (slice(0, 2), slice(1, None), slice(None, None, -2), slice(1, None)):
        space["CUT"] = cut
        mask = np.zeros(5)
        mask[cut] = 1.0
        np.testing.assert_array_equal(g(x), 2.0 * x * mask)


def test_compiled_with_an_argument():
    def f(x, cut):
        return np.sum(x[cut] ** 3)
    g, x = grad(f), np.arange(1.0, 6.0)
    for cut in (slice(1, 3), slice(1, 4), slice(None, None, 2)):
        expected = np.zeros(5)
        expected[cut] = 3.0 * x[cut] ** 2
        np.testing.assert_array_equal(g(x, cut), expected)


@pytest.mark.parametrize("part", [
    "range(3)[::-1].tolist()", "sum(range(10)[2:7:2])", "sum(range(10)[7:2:-2])", "sum(range(1, 20, 3)[::-2])",
    "sum(range(len(x))[-2:])", "sum([x[i] for i in range(len(x))[::-1][:2]])", "range(len(x))[::-1][0]",
    "range(len(x))[1:].start", "range(len(x))[::2].stop", "range(len(x))[1:].sum()", "range(3)[1:] + 1",
    "x[range(len(x))[::-1]][0]", "len(range(len(x))[1:])", "range(len(x))[1:] == range(1, 3)", "1 in range(len(x))[1:]",
    "len(range(3)[::0])", "len(range(0)[::-1])", "sum(range(5)[-10:10])", "isinstance(range(len(x))[1:], range)",
    "sum([i for i in reversed(range(len(x))[1:])])", "range(5)[x[0]:][0]", "range(len(x))[3:][0]"])
def test_a_part_of_a_range_is_a_range(part):
    f = from_text(f"<{part}>", f"def f(x):\n    return ({part}) * 1.0 + 0.0 * x[0]\n")
    x = np.array([0.5, -1.0, 2.0])
    expected, found = outcome(f, x), outcome(value_and_grad(f, mode="python"), x)
    if isinstance(expected, Exception):
        assert isinstance(found, type(expected))
    else:
        assert found[0] == expected
