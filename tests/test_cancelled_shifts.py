"""Maxima that cancel, as in softmax and log-sum-exp, have no derivative that is computed; all others keep theirs."""

import random

import numpy as np
import pytest

import autodiff as ad

from .short_programs import compared, function_of

X = np.array([[0.3, -0.8, 1.1, 0.2], [0.9, 0.4, -0.3, 1.7], [-0.6, 0.25, 0.7, 0.1]])
Y = np.array([[0.7, 0.1, -0.4, 0.9], [0.2, 1.3, 0.6, -0.5], [1.1, -0.2, 0.35, 0.8]])


def softmax(x, y):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return np.sum(e / np.sum(e, axis=1, keepdims=True) * y)


def softmax_in_place(x, y):
    p = np.exp(x - x.max(axis=1)[:, None])
    p /= p.sum(axis=1)[:, None]
    return np.sum(p * y)


def log_softmax(x, y):
    z = x - x.max(axis=0)
    return np.sum((z - np.log(np.sum(np.exp(z), axis=0))) * y)


def log_sum_exp(x, y):
    top = np.max(x * y)
    return top + np.log(np.sum(np.exp(x * y - top)))


def with_temperature(x, y):
    top = np.max(x)
    return np.sum(y) * (top + 4.0 * np.log(np.sum(np.exp((x - top) / 4.0))))


def root_mean_square(x, y):
    top = np.max(x * x)
    return 0.5 * np.log(top) + 0.5 * np.log(np.sum(x ** 2 / top)) + np.sum(y)


def forward_algorithm(x, y):
    a = x[0]
    for t in range(3):
        u = a[:, None] + y[t]
        top = np.max(u, axis=0)
        a = top + np.log(np.sum(np.exp(u - top), axis=0))
    return np.sum(a)


def by_rows(x, y):
    total = 0.0
    for i in range(len(x)):
        weights = np.exp(x[i] - np.max(x[i]))
        total += np.sum(weights * y[i]) / np.sum(weights)
    return total


def half(x, y):
    top = np.max(x)
    return 0.5 * top + np.log(np.sum(np.exp(x - top)))


def other_rows(x, y):
    top = np.max(x, axis=1)
    return np.sum(top[::-1] * y[:, 0] + np.log(np.sum(np.exp(x.T - top), axis=0)))


def row_before(x, y):
    total = before = 0.0
    for i in range(len(x)):
        top = np.max(x[i])
        total += np.log(np.sum(np.exp(x[i] - top))) + before
        before = top
    return total


def first_row(x, y):
    top = np.max(x, axis=1, keepdims=True)
    e = np.exp(x - top)
    e[0] = y[0]
    return np.sum(e / np.sum(e, axis=1, keepdims=True) * y) + np.sum(top[0] * e[1])


def twice(x, y):
    top = np.max(x, axis=1)
    s = np.zeros(3)
    for _ in range(2):
        s += top
    return np.sum(s - top + np.log(np.sum(np.exp(x - top[:, None]), axis=1)) * 2)


def written_on_one_side(x, y):
    whole = x * 2
    top = np.max(x)
    if x[0, 0] > 0:
        whole[:] = top
    return np.sum(whole)


def written_on_the_other(x, y):
    whole = x * 2
    e = np.exp(x - np.max(x, axis=1)[:, None])
    if x[0, 0] < 0:
        e = e / np.sum(e)
    else:
        whole[:] = e
    return np.sum(whole * y)


def added_to_a_factor(x, y):
    top = np.max(x)
    e = np.exp(x - top)
    e += top
    return np.sum(e)


def scaled_and_shifted(x, y):
    top = np.max(x * x)
    u = x / top
    u += np.log(top)
    return np.sum(u)


def counted(f, wrt=(0, 1)):
    """How often the gradient asks where the maximum is."""
    gradient = ad.grad(f, wrt=wrt, mode="python")
    gradient(X, Y)
    ad.check_grads(f, (X, Y), order=2, mode="python")
    return sum(" == " in line and "shape" not in line and "if not" not in line for line in gradient.source.splitlines())


@pytest.mark.parametrize("f", [softmax, softmax_in_place, log_softmax, log_sum_exp, with_temperature, root_mean_square,
                               forward_algorithm, by_rows])
def test_without_a_derivative(f):
    assert counted(f) == 0


@pytest.mark.parametrize("f", [half, other_rows, row_before, first_row, twice, written_on_one_side,
                               written_on_the_other, added_to_a_factor, scaled_and_shifted])
def test_that_are_felt(f):
    assert counted(f) > 0


def test_compiled():
    for f in (softmax_in_place, forward_algorithm, row_before):
        ad.check_grads(f, (X, Y), order=1)


# -- random programs -------------------------------------------------------------------------------------------
def expression(rng, names, depth=0):
    pick = lambda: rng.choice(names)
    if depth > 1 or rng.random() < 0.15:
        return pick()
    u, v = expression(rng, names, depth + 1), pick()
    return rng.choice([
        f"{u} - {v}", f"{u} + {v}", f"np.exp({u} - {v})", f"np.exp(0.5 * ({u} - {v}))", f"({u}) / {v}", f"({u}) * {v}",
        f"0.5 * ({u})", f"-({u})", f"np.log(np.abs({u}) + 1e-9)", f"np.log({v})", f"np.log(np.sum(np.exp({u})))",
        f"np.sum({u}, axis=-1, keepdims=True)" if rng.random() < 0.5 else f"np.sum({u})", f"np.sqrt(np.abs({v}) + 0.1)",
        f"np.max({u})", f"np.maximum({u}, {v})", f"({u}) ** 2", f"{v} + np.log(np.sum(np.exp({u} - {v})))",
        f"np.exp({u} - {v}) / np.sum(np.exp({u} - {v}))", f"np.where({u} > {v}, {u}, {v})", f"np.stack([{v}, {v}])[1]"])


def program(rng) -> str:
    """Statements on a matrix, its maxima and what comes of them; or on one row after the other, with what is handed on."""
    rows = rng.random() < 0.4
    x = "X[i]" if rows else "X"
    lines = [f"A = {x} * 2.0", f"top = np.max({x}{'' if rows else rng.choice([', axis=1, keepdims=True', ', axis=0', ''])})",
             f"e = np.exp({x} - top)", "s = np.sum(e, axis=-1, keepdims=True)"]
    names = [x, "top", "e", "s", "c", "A"]
    for k in range(rng.randint(1, 4)):
        if rng.random() < 0.25:
            lines.append(rng.choice(["e = e / s", "c = top", "c = c + top", "e = e * y", "s = s + c", "e[0] = 0.7",
                                     "e[-1] += top if np.ndim(top) == 0 else 0.1", "e /= s", "e *= s", "s = np.sum(e)",
                                     "c = c + np.log(np.sum(e)) + top", "A[:] = top", "A += top", "A[:] = e", "e += top",
                                     "e *= np.exp(top)", "A[0] = np.log(np.sum(e[0]))"]))
            if rng.random() < 0.4:
                lines[-1] = f"if x[{rng.randrange(3)}] > {rng.choice([-2, 0])}: {lines[-1]}"
        else:
            lines.append(f"v{k} = {expression(rng, names)}")
            names.append(f"v{k}")
    lines.append(f"t = t + np.sum({expression(rng, names)}) * 0.1")
    if rows:
        lines = ["for i in range(3):", *("    " + line.replace("* y", "* y[i]") for line in lines)]
    lines = ["X = x[:, None] * y + 0.2", "t = c = 0.0", *lines, "return t + np.sum(c) * 0.3"]
    return "def f(x, y):\n" + "".join(f"    {line}\n" for line in lines)


def judged(seed: int) -> str:
    text = program(random.Random(seed))
    with np.errstate(all="ignore"):
        return compared(function_of(text, f"cancelled shifts {seed}", {"np": np}), np.array([0.8, -0.7, 1.3]), (Y,), text,
                        lambda value: not abs(value) < 1e6)


def test_random_programs():
    found = [judged(seed) for seed in range(150)]
    assert found.count("ok") > 90
