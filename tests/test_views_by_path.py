"""Views whose length is known on one path only, and what is written later through them or under them."""

import random

import numpy as np
import pytest

import autodiff as ad

from .short_programs import compared, function_of
from .support import assert_gradient

X = np.array([0.8, 0.55, 0.7])


def head(u, n):
    """A view, or nothing."""
    if u[0] > 0.5:
        return u[:n]


def written_under(x):
    u = x * 1.0
    y = head(u, int(x[1] * 4))
    u[0] = x[2] * 3
    return np.sum(y * y) if y is not None else x[0]


def written_through(x):
    u = x * 1.0
    y = head(u, int(x[1] * 4))
    if y is not None:
        y[0] = x[2] * 3
    return np.sum(u * u)


def bound_in_a_branch(x):
    u = x * 1.0
    if x[0] > 0.5:
        y = u[:int(x[1] * 4)]
    u[0] = x[2] * 3
    return np.sum(y * y) if x[0] > 0.5 else x[0]


@pytest.mark.parametrize("f", [written_under, written_through, bound_in_a_branch])
def test_what_another_name_would_see_is_refused(f):
    with pytest.raises(ad.UnsupportedSyntax, match="one of two arrays"):
        ad.value_and_grad(f, mode="python")(X)


def first_part(x, w):
    found = False
    for k in range(3):
        if x[k] > 0.5:
            part = x[:k + 1] * w[k]
            found = True
            break
    return np.sum(part ** 2) + w[1] if found else w[0]


def after_a_break(x, t):
    A = np.outer(np.arange(12) * 0.1 + t, x) + 0.3
    last = 0
    for k in range(11, -1, -1):
        if k > 0 and A[k, 1] < A[k - 1, 1] * 0.9:
            break
        last = x[:k + 1]
    return np.sum(last * t)


def test_lengths_known_on_one_path():
    for x in (X, X - 0.2, X - 1.0):
        assert_gradient(first_part, (x, X[::-1] * 0.7), (0, 1), "python")
        assert_gradient(after_a_break, (x, 0.3), (0, 1), "python")
    assert_gradient(first_part, (X, X[::-1] * 0.7), (0, 1), "numba")


def test_no_value_on_the_other_path():
    def f(x):
        for i in range(3):
            if x[i] > 0.6:
                part = np.ones(i + 2) * x[i]
        return np.sum(part) + x[0]
    assert_gradient(f, (X,), (0,), "python")
    with pytest.raises(UnboundLocalError):
        ad.grad(f, mode="python")(X - 0.5)


HELPERS = '''
def part(u, n, c):
    if c > 0.5:
        return u[:n]
def tail(u, n, c):
    if c > 0.5:
        return u[n:]
    return u
def fresh(u, n, c):
    if c > 0.5:
        v = u[:n] * 1.0
        return v
    return u
def looped(u, n, c):
    for k in range(1, 4):
        if u[k % 3] > c - 0.3:
            return u[:k]
def wrote(u, n, c):
    if c > 0.5:
        u[0] = u[1] * 0.5
        return u[:n]
'''


def program(seed: int) -> str:
    """A function f(x, c, m) of views of lengths by path and by loops, and of writes."""
    r = random.Random(seed)
    some = lambda: r.choice(["u", "w", "z"])
    lines = ["def f(x, c, m):", "    u = x * 1.0", "    w = np.cos(x)", "    n = int(m)", "    y = None", "    z = u"]

    def view():
        s = some()
        return r.choice([f"{s}[:n]", f"{s}[n:]", f"{s}[:n] * 1.0", f"{s}[:n][::-1]", s, f"{s}.copy()", f"{s}[1:n + 1]",
                         f"np.sin({s}[:n])", f"{s}[{s} > c - 1.5]"])
    for _ in range(r.randint(2, 6)):
        target, path = r.choice(["u", "w", "z", "y"]), f"c > {r.choice([0.3, 0.6])}"
        place, value = r.choice(["0", "-1", ":1"]), r.choice(["x[2] * 3", "c", "w[1]"])
        written = f"{target}[{place}] {r.choice(['=', '=', '+='])} {value}"
        there = " and y is not None" if target == "y" else ""
        lines += r.choice([
            [f"    if {path}:", f"        y = {view()}"],
            [f"    if {path}:", f"        y = {view()}", "    else:", f"        y = {view()}"],
            [f"    y = {r.choice(['part', 'tail', 'fresh', 'looped', 'wrote'])}({some()}, n, c)"],
            [f"    for k in range(1, {r.choice(['n + 1', '3'])}):", "        if x[k % 3] > c - 0.6:",
             f"            y = {some()}[:k]", *r.choice([[], ["            break"]])],
            ["    for k in range(1, n + 1):", f"        y = {some()}[:k]"],
            [f"    z = {view()}"],
            [f"    if c > -1.0{there}:", "        " + written],
            [f"    if {path}{there}:", "        " + written],
            ["    if y is not None:", f"        z = y{r.choice(['', ' * 2', '[:1]', '[::-1]'])}"]])
    return "\n".join([*lines, "    s = np.sum(u * u) + np.sum(w) + np.sum(z * z * z)", "    if y is not None:",
                      "        s = s + np.sum(np.sin(y))", "    return s"])


def flattened_and_bound_anew(x):
    k = np.ravel(-x)                    # a view of what has no memory until the inner loop asks for it
    for i in range(2):
        for j in range(3):
            if j > i:
                k = np.ravel(-k * x)
    return np.sum(k)


def test_memory_that_an_inner_loop_gives_outside_of_both():
    assert_gradient(flattened_and_bound_anew, (X,), (0,), "python")


def attempt(seed: int) -> list[str]:
    """What becomes of a program, by path."""
    text = HELPERS + "\n\n" + program(seed) + "\n"
    f = function_of(text, f"views {seed}", {"np": np})
    return [compared(f, np.array([0.4, -0.3, 0.8]), given, text, lambda value: not np.isfinite(value))
            for given in ((0.2, 2), (0.7, 1), (0.45, 2))]


@pytest.mark.filterwarnings("ignore")
def test_random_views():
    found = [kind for seed in range(20) for kind in attempt(seed)]
    assert found.count("ok") > 30, found
