"""Arrays that change their length in a loop and are written in place there, real and complex, and shapes that are set."""

import random

import numpy as np
import pytest

import autodiff as ad

from .short_programs import compared, function_of
from .support import assert_gradient

X = np.array([0.8, -0.35, 0.6])


def still_bounded(x, c, n, most):
    """Points that leave a list once they are too far away."""
    z = x + 0.5j * c
    times = np.zeros(len(x))
    place = np.arange(len(x))
    last = np.zeros(len(x), complex)
    for i in range(n):
        if not len(z):
            break
        np.multiply(z, z, z)
        np.add(z, c, z)
        gone = np.abs(z) > most
        times[place[gone]] = i + 1
        last[place[gone]] = z[gone]
        np.logical_not(gone, gone)
        z, c, place = z[gone], c[gone], place[gone]
    return np.sum(last.real * 1.3 - last.imag) + np.sum(np.abs(z)) + np.sum(times * x)


def merged_pairs(x, n):
    u = np.concatenate((x, x * 1.1, x[:2]))
    for _ in range(n):
        u[1:] += 0.3 * u[:-1]
        u = u[::2] * u[1::2] if len(u) % 2 == 0 else u[1:]
        u -= 0.1
    return np.sum(u ** 2)


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_in_place(mode):
    points = np.linspace(0.2, 1.5, 7), np.linspace(0.1, 0.5, 7)
    for n in (0, 1, 4, 9):
        assert_gradient(still_bounded, (*points, n, 2.0), (0, 1), mode)
    for n in range(4):
        assert_gradient(merged_pairs, (X, n), (0,), mode)


def test_all_derivatives():
    points = np.linspace(0.2, 1.5, 7), np.linspace(0.1, 0.5, 7)
    ad.check_grads(lambda x, c: still_bounded(x, c, 5, 2.0), points, order=2, mode="python")
    ad.check_grads(lambda x: merged_pairs(x, 2), (X,), order=2, mode="python")


# -- random programs: two names of arrays, whose memory may be one ---------------------------------------------
INITIAL = ["x.copy()", "x * 1.2", "x", "x + 0.4j * t", "x[:2] * (1 + 0.5j)", "np.concatenate((x, x * t))", "x[1:]"]
SECOND = ["z", "z[:]", "z * t", "z.copy()", "x * 0.7", "z[1:]", "x"]
WRITES = ["u *= 1.3", "u += t", "u[0] = x[1] * t", "u[-1] += s", "u[:1] = 0.3", "np.multiply(u, u, u)",
          "np.add(u, 0.1, out=u)", "u[u.real > 0.5] *= 0.7", "u[:] = u[::-1]", "u[1:] += 0.5 * u[:-1]", "v[:1] += u[0]",
          "x[0] *= 1.1"]
LENGTHS = ["u = u[1:]", "u = u[u.real > 0.1]", "u = u[:-1]", "u = u[::2]", "u = np.append(u, x[0])", "u = u * 0.9", "u = v",
           "z, w = w, z", "u = v[:]", "u = v[1:]", "u = v.copy()", "u = np.concatenate((u[:2], x))", "u = u[1:] * u[:-1]",
           "u = u.conj()", "u = x * t"]
READS = ["s += np.sum(u.real)", "s += u[0].real * t", "s += np.sum(np.abs(u) ** 2)", "if not len(u): break",
         "if len(u) < 2: continue", "s += np.sum(x) * 0.1"]


def statement(rng, depth: int) -> list[str]:
    u, v = rng.sample("zw", 2)
    kind = rng.random()
    if kind < 0.15 and depth < 2:
        test = rng.choice(["i % 2 == 0", "len(u) > 2", "s > 0.5", "u[0].real > 0.2"])
        body = [line for _ in range(rng.randint(1, 2)) for line in statement(rng, depth + 1)]
        lines = [f"if {test}:", *("    " + line for line in body)]
    else:
        lines = [rng.choice(WRITES if kind < 0.5 else LENGTHS if kind < 0.8 else READS)]
    names = {"u": u, "v": v}
    return ["".join(names.get(c, c) if not (k and line[k - 1].isalnum() or line[k + 1:k + 2].isalnum()) else c
                    for k, c in enumerate(line)) for line in lines]


def program(rng) -> str:
    inner = [line for _ in range(rng.randint(2, 5)) for line in statement(rng, 0)]
    if rng.random() < 0.25:
        inner = ["for j in range(2):", *("    " + line for line in inner)]
    loop = rng.choice(["for i in range(n):", "for i in range(3):", "for i in range(n):"])
    lines = [f"z = {rng.choice(INITIAL)}", f"w = {rng.choice(SECOND)}", "s = 0.0", loop, *("    " + line for line in inner),
             "return s + np.sum(z.real) + 0.5 * np.sum(w.imag + w.real ** 2) + np.sum(x * x)"]
    return "def f(x, n, t):\n" + "".join(f"    {line}\n" for line in lines)


def judged(seed: int) -> str:
    rng = random.Random(seed)
    text = program(rng)
    return compared(function_of(text, f"lengths in place {seed}", {"np": np}), X * rng.choice([1.0, 1.4]),
                    (rng.randint(0, 4), rng.choice([0.7, 1.2])), text, lambda value: abs(value) > 1e6)


def test_programs_are_pythons():
    found = [judged(seed) for seed in range(120)]
    assert found.count("ok") > 50


# -- x.shape = ... ---------------------------------------------------------------------------------------------
def shapes_set(a, alias):
    """`y` is what another name holds when the shape of `x` is set: the same array, or another view of its memory."""
    x = a * 2.0
    y = alias(x)
    x.shape = 2, -1
    y[0] = 3.0 * x[1, 1]
    return np.sum(x[0] * 1.5) + np.sum(y) * (len(y.shape) + 0.5) + np.sum(x * x)


ALIASES = [lambda x: x, lambda x: x[:], np.asarray, np.array, np.squeeze, np.ravel, np.transpose, np.real, np.atleast_1d,
           np.ascontiguousarray, lambda x: x.reshape(-1), lambda x: x.view(), lambda x: x.squeeze(), lambda x: x.conj(),
           lambda x: np.atleast_2d(x)[0], lambda x: x.astype(float, copy=False), lambda x: np.array(x, copy=None)]


@pytest.mark.parametrize("alias", ALIASES)
def test_names_of_one_array_see_its_shape(alias):
    assert_gradient(lambda a: shapes_set(a, alias), (np.linspace(0.2, 1.2, 6),), (0,), "python")


def test_shapes_in_a_row():
    def f(x, n):
        X, Y = np.mgrid[0:2, 0:n]
        C = X * x[0] + Y * x[1]
        X.shape = Y.shape = C.shape = 2 * n
        C[1] *= x[1]
        return np.sum(C * X + Y * C ** 2) + C.shape[0]
    assert_gradient(f, (X, 3), (0,), "python")
    assert_gradient(f, (X, 3), (0,), "numba")


def argument(x):
    x.shape = 1, 3
    return np.sum(x[0])


def in_a_branch(x):
    y = x * 2
    if x[0] > 0:
        y.shape = 1, 3
    return np.sum(y)


def in_a_list(x):
    y = x * 2
    both = [y, y]
    y.shape = 3, 1
    return np.sum(both[0] * both[1])


def chosen(x):
    a = x * 1
    b = a if x[0] > 0 else x * 2
    b.shape = 1, 3
    return np.sum(x) * a.ndim


def bound_in_a_loop(x):
    a, b = x * 1, x * 2
    for _ in range(len(x) - 2):
        b = a
    a.shape = 1, 3
    return np.sum(b[0])


@pytest.mark.parametrize("f", [argument, in_a_branch, in_a_list, chosen, bound_in_a_loop])
def test_shapes_that_cannot_be_followed(f):
    with pytest.raises(ad.UnsupportedSyntax, match="the shape of an array is set"):
        ad.value_and_grad(f, mode="python")(X)
