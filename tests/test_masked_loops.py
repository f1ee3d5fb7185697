"""What masks choose, read and written: loops over the mask with a branch, without lists of places."""

import random

import numpy as np
import pytest

import autodiff as ad

from .short_programs import compared, function_of
from .support import assert_gradient

X = np.array([0.8, -0.35, 0.6, 1.3, -0.9, 0.1])


def inverted(x):
    r = np.sqrt(np.subtract.outer(x, x) ** 2 + 0.1)
    r[r > 0.8] = 1.0 / r[r > 0.8]
    return np.sum(r * r)


def both_sides(x):
    y = np.zeros(len(x))
    m = x > 0.5
    y[m] += x[m] ** 2
    y[~m] -= np.sin(x[~m])
    return np.sum(y * y)


def of_places(x):
    s = 0.0
    for i in np.flatnonzero(x > 0.2):
        s += np.exp(x[i])
    return s


def statistics(x, y):
    a, b = x[x > y], y[x > y]
    return np.sum(a * b) + np.mean(np.exp(a)) + np.max(b) * np.prod(a)


def rows(x, k):
    p = np.outer(x, k)
    near = p[:, 0] > 0.3
    p[near] *= 0.5
    p[near, 1] += x[near]
    return np.sum(p[~near] ** 2) + np.sum(np.sqrt(p[near] + 2.0))


FUNCTIONS = [(inverted, (X,)), (both_sides, (X,)), (of_places, (X,)), (statistics, (X, X[::-1].copy())),
             (rows, (X, np.array([0.7, 1.1, -0.4])))]


@pytest.mark.parametrize("mode", ["python", "numba"])
@pytest.mark.parametrize("f, args", FUNCTIONS, ids=[f.__name__ for f, _ in FUNCTIONS])
def test_gradients(f, args, mode):
    assert_gradient(f, args, tuple(range(len(args))), mode)


def test_all_derivatives():
    for f, args in FUNCTIONS:
        ad.check_grads(f, args, order=2, mode="python")


@pytest.mark.parametrize("f", [inverted, both_sides, of_places])
def test_no_list_of_places_is_left(f):
    assert "where" not in ad.grad(f).specialize(X).source


def test_a_list_that_a_time_loop_reads_stays():
    """It is made once, and the mask would be looked at in each step."""
    def f(x):
        places = np.flatnonzero(x > 0.5)
        y = x.copy()
        for _ in range(50):
            y[places] = np.sin(y[places])
        return np.sum(y)
    assert_gradient(f, (X,), (0,), "python")
    assert "where" in ad.grad(f).specialize(X).source


def test_what_is_not_chosen_keeps_the_sign_of_zero():
    def f(x):
        y = x * 1.0
        y[x > 0.5] += 1.0
        return y
    x = np.array([-0.0, 0.0, 1.0])
    for mode in ("python", "numba"):
        value, _ = ad.value_and_grad(lambda x: np.sum(np.copysign(1.0, f(x)) * x), mode=mode)(x)
        assert value == np.sum(np.copysign(1.0, f(x)) * x)
        assert np.array_equal(np.signbit(ad.grad(f, mode=mode).primal(x)), np.signbit(f(x)))


def of_two_axes(x):
    y = x * 1.0
    y[y > 0] = np.ones((1, 4))
    return np.sum(y)


def read_before_the_call(x):
    y = x * 1.0

    def doubled(a):
        y[:] = y * a + 1.0
        return np.abs(a) * 0.5
    m = x > 0
    y[m] += doubled(x)[m]
    return np.sum(y * y)


def test_what_numpy_or_the_order_forbids():
    with pytest.raises(TypeError, match="0 or 1-dimensional input, input has 2 dimensions"):
        ad.grad(of_two_axes, mode="python")(X)
    with pytest.raises(ad.AutodiffError, match="the array whose element Python has read before"):
        ad.grad(read_before_the_call, mode="python")(X)


# -- random programs: masks of one memory, changed or not between their uses -------------------------------------
MASKS = ["m", "k", "~m", "u > 0.3", "w > 0.3", "x > t", "u > w", "(u > 0) & m", "u * w < t", "np.abs(u) > 0.5", "m | k"]
READS = ["{u}[{m}]", "np.sin({u}[{m}])", "{u}[{m}] * {v}[{m}]", "{u}[{m}] / (1 + {v}[{m}] ** 2)",
         "np.where({u}[{m}] > 0, {v}[{m}], t)", "{u}[{m}][::-1]", "{u}[np.flatnonzero({m})]", "{u}[{m}] + t"]
WRITES = ["{u}[{m}] = {r}", "{u}[{m}] += {r}", "{u}[{m}] -= {r}", "{u}[{m}] *= {r}", "{u}[{m}] = t", "{u}[{m}] += t",
          "{u}[{m}] = {u}[{o}]", "{u}[np.nonzero({m})] = {r}", "{u} = np.where({m}, {u} * t, {v})"]
CHANGES = ["m = {m}", "k = {m}", "m[{i}] = not m[{i}]", "k[{i}] = m[{i}]", "{u}[{i}] = x[{i}] * t",
           "{u} = {v} * 1.1", "u, w = w, u", "{u} = {v}", "m, k = k, m",
           "m = m.copy()", "{u}[:] = {v}", "k = m", "{u} = {v}.copy()"]
SUMS = ["s += np.sum({r})", "s += np.sum({r} ** 2)", "s += len({r})", "for i in np.flatnonzero({m}): s += {u}[i] * t",
        "a = {r}", "s += np.sum(a)", "s += np.count_nonzero({m}) * x[0]", "s += np.max({r}, initial=0.0)"]


def filled(rng, text: str) -> str:
    u, v = rng.choice(["uw", "wu", "uu", "xu", "ux"])
    mask = rng.choice(MASKS)
    other = mask if rng.random() < 0.8 else rng.choice(MASKS)
    read = rng.choice(READS).format(u=rng.choice("uwx"), v=rng.choice("uwx"), m=other)
    u = "w" if text.startswith("{u}") and u == "x" else u
    return text.format(u=u, v=v, m=mask, o=other, r=read, i=rng.randrange(6))


def statement(rng, depth: int) -> list[str]:
    kind = rng.random()
    if kind < 0.2 and depth < 2:
        head = rng.choice(["if s > 0.5:", "for j in range(2):", "if x[0] > t:", "for j in range(3):"])
        body = [line for _ in range(rng.randint(1, 3)) for line in statement(rng, depth + 1)]
        return [head, *("    " + line for line in body), *(["    if s > 1.0: break"] if "3" in head else [])]
    return [filled(rng, rng.choice(WRITES if kind < 0.55 else SUMS if kind < 0.75 else CHANGES))]


def program(rng) -> str:
    lines = ["u = x * 1.2", "w = np.cos(x) + t", f"m = {rng.choice(['x > 0', 'x < t', 'u > w'])}", "k = w > 0.9",
             "s = 0.0", "a = u", *(line for _ in range(rng.randint(3, 7)) for line in statement(rng, 0)),
             "return s + np.sum(u * u) + np.sum(w * x) + np.sum(u[k]) + 0.5 * np.sum(w[m])"]
    return "def f(x, t):\n" + "".join(f"    {line}\n" for line in lines)


def judged(seed: int) -> str:
    rng = random.Random(seed)
    text = program(rng)
    x, t = X * rng.choice([1.0, 0.7, 1.4]), rng.choice([0.4, 0.9])
    return compared(function_of(text, f"masked {seed}", {"np": np}), x, (t,), text, lambda value: abs(value) > 1e6)


def test_programs_are_pythons():
    found = [judged(seed) for seed in range(150)]
    assert found.count("ok") > 60
