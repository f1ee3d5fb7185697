"""Members of one list, dict or object that are the same array, before a loop or from it, and are bound anew in the loop."""

import random

import numpy as np
import pytest

import autodiff as ad

from .short_programs import compared, function_of

X = np.array([0.5, 1.2, -0.7])


class Pair:
    pass


def in_list(x):
    s = [0, None]
    for i in range(20):
        s[0] = s[0] + x
        if s[1] is None:
            s[1] = s[0]
    return np.sum(s[1])


def in_dict(x):
    s = {"a": x * 2.0}
    s["b"] = s["a"]
    for _ in range(100):
        s["a"] = s["a"] + x
    return np.sum(s["b"])


def in_object(x, n=7):
    s = Pair()
    s.total, s.best, s.log = 0, None, {}
    for i in range(n):
        s.total = s.total + x * (i + 1)
        if s.best is None or i % 3 == 0:
            s.best = s.total
        s.log.setdefault("first", s.total)
    return np.sum(s.best) + 2 * np.sum(s.total) + np.sum(s.log["first"])


def nested(x, n=5):
    s = {"v": x * 1.0, "w": [None]}
    s["w"][0] = s["v"]
    for _ in range(n):
        s["v"] = s["v"] * 0.5 + x
    return np.sum(s["w"][0] * s["v"])


@pytest.mark.parametrize("mode", ["python", "numba"])
@pytest.mark.parametrize("f", [in_list, in_dict, in_object, nested])
def test_one_of_two_members_is_bound_anew(f, mode):
    value, slope = ad.value_and_grad(f, mode=mode)(X)
    assert abs(value - f(X)) < 1e-12 * abs(value)
    for k, e in enumerate(np.eye(3)):
        assert abs(slope[k] - (f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6) < 1e-6 * max(1.0, abs(slope[k]))


STEPS = ("{a} = {b}", "{a} = {a} + x", "{a} = {b} * 0.5 + x", "{a} = {b} if i % 2 else {a}", "if i % 3 == 1: {a} = {b}",
         "{a} += x", "{a}[0] = 0.3 * i", "{a}, {b} = {b}, {a}", "v = {a}", "{a} = v * 0.9", "if {a} is None: {a} = {b}",
         "s = s + np.sum({a} * x) * 0.1", "{a} = {b}[::-1]", "{a} = {b}[:]", "{a} = None if i == 0 else {b}",
         "{a} = {a} * {b}")
KINDS = (("m = [0, None, x * 1.0]", ("m[0]", "m[1]", "m[2]")),
         ("m = {'p': x * 1.0, 'q': 0, 'r': x}", ("m['p']", "m['q']", "m['r']")),
         ("m = Pair(); m.p = m.q = x * 2.0; m.r = 1.0", ("m.p", "m.q", "m.r")),
         ("m, k = [[x * 1.0, 0.5]], [x]", ("m[0][0]", "m[0][1]", "k[0]")))


def program(seed: int) -> str:
    chosen = random.Random(seed)
    start, names = chosen.choice(KINDS)
    line = lambda: chosen.choice(STEPS).format(a=chosen.choice(names), b=chosen.choice(names))
    before = "\n    ".join(line().replace("i %", "2 %").replace("i ==", "2 ==").replace("* i", "* 2") for _ in range(2))
    steps = "\n".join(f"        {line()}" for _ in range(chosen.randint(2, 5)))
    count = chosen.choice(("n", "n", "12", "80", "3"))
    return f"""def f(x, n):
    s, v = 0.1, x
    {start}
    {before}
    for i in range({count}):
{steps}
    return s + sum(np.sum(np.asarray(u, float)) * c for c, u in enumerate([{', '.join(names)}, v, x], 1) if u is not None)
"""


def attempt(seed: int) -> str:
    f = function_of(program(seed), f"shared members {seed}", {"np": np, "Pair": Pair, "__name__": "shared_members"})
    n = random.Random(seed).choice((0, 1, 2, 5, 9))
    return compared(f, X, (n,), program(seed), lambda value: abs(value) > 1e5 or not np.isfinite(value))


@pytest.mark.filterwarnings("ignore::autodiff.AutodiffWarning")
def test_random_programs():
    found = [attempt(seed) for seed in range(60)]
    assert found.count("ok") > 10, found
