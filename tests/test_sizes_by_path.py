"""Arrays whose size depends on the way the program went: early returns of slices, branches, loops that change a length."""

import numpy as np
import pytest

from autodiff import UnsupportedSyntax, value_and_grad, vjp

from .support import Collected

X = np.array([1.0, 2.0, 3.0, 4.0])
program = PROGRAMS = Collected()


def tail(x):
    for i in range(len(x)):
        if x[i] > 2.5:
            return x[i:]
    return x[:0]


@program
def a_tail(x):
    return np.sum(tail(x) ** 2)


@program
def tails_in_an_unrolled_loop(x):
    t = 0.0
    for k in range(3):
        w = tail(x + k * 0.4)
        t = t + np.sum(w**2) * (k + 1)
    return t


@program
def tails_in_a_loop(x):
    t = 0.0
    for k in range(len(x)):
        w = tail(x + k * 0.4)
        v = tail(x * 1.1)
        t = t + np.sum(w**2) * (k + 1) + v[0] * w[-1]
    return t


@program
def slices_by_path(x):
    y = x if x[0] > 5 else x[1:]
    return np.sum(y**2)


@program
def masked_by_path(x):
    if x[0] > 0.5:
        y = x[x > 1.5]
    else:
        y = x
    return np.sum(y**2)


@program
def solve_or_invert(x):
    A = np.outer(x, x) + np.eye(4) * 5
    n, m = A.shape[0], len(x)
    if n == m:
        Y = np.linalg.inv(A)
    else:
        Y = np.linalg.solve(A, x[:, None])
    return np.sum(Y)


@program
def columns_appended(x):
    p = x.reshape(2, 2)[:, :1]
    if p.shape[1] == 1:
        p = np.append(p, np.ones((2, 1)), axis=1)
    return np.sum(p @ p.T)


def history(x):
    h = np.zeros((20, 2))
    y = x[0]
    for t in range(20):
        h[t, 0] = y
        h[t, 1] = y * y
        y = y * 0.5
        if y < 0.1:
            return h[: t + 1], t
    return h, 20


@program
def history_and_count(x):
    h, t = history(x)
    return np.sum(h * h) * t


@program
def two_tails(x):
    y = tail(x)
    z = tail(x * 1.0)
    return np.sum(y * z)


@program
def array_of_a_list(x):
    def g(n):
        out = []
        for i in range(n):
            out.append(x[i])
            if x[i] > 2.5:
                return np.array(out)
        return x * 2.0

    return np.sum(g(4) ** 2)


@program
def appended_by_path(x):
    w = x * 1.0
    if x[0] > 0.5:
        w = np.append(w, x[0] * 3)
    return np.sum(w**2)


@program
def shortened_in_a_loop(x):
    w = x * 1.0
    for i in range(len(x)):
        w = w if x[i] > 0 else w[:2]
    return np.sum(w**2)


@program
def products_of_halves(x):
    r = x * 1.0
    while len(r) > 1:
        r = r[::2] * r[1::2]
    return r[0]


@program
def shrinking(x):
    r = x * 1.0
    t = 0.0
    while len(r) > 1:
        t += np.sum(r**2)
        r = r[1:] * 1.5
    return t


@program
def appending(x):
    r = x[1:]
    n = len(x)
    for i in range(n):
        r = np.append(r, x[i] * 2)
    return np.sum(r * r)


@program
def polynomial(x):
    p = np.array([1.0])
    for r in x:
        p = np.convolve(p, np.array([1.0, -r]))
    return np.sum(p * p)


@program
def differences_of_rows(x):
    A = np.outer(x, x) + 1
    while A.shape[0] > 1:
        A = A[1:] - A[:-1] * 0.5
    return np.sum(A * A)


@program
def window(x):
    for i in range(3):
        z = x[i : i + 2]
        if z[0] > 2.5:
            return np.sum(z * z)
    return np.sum(x[:2])


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_program(f):
    value, gradient = value_and_grad(f, mode="python", debug=True)(X)
    assert value == pytest.approx(f(X), rel=1e-12)
    differences = [(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(4)]
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-5)


def test_what_python_would_change_is_refused():
    def f(x):
        w = tail(x)
        w[0] = 5.0 * x[1]
        return np.sum(x)

    with pytest.raises(UnsupportedSyntax, match="one of two arrays"):
        value_and_grad(f, mode="python")(X)


def test_compiled():
    assert value_and_grad(history_and_count)(X)[0] == pytest.approx(history_and_count(X))


def first_rows(v):
    for a in v:
        if a > 0.0:
            return v
    return v[:1]


def swapped_beside_a_choice(x, y):
    s = 0.0
    for a in y:
        if a > 0.5:
            chosen = first_rows(x)
            s = s + len(chosen) * a
        else:
            x, y = y, x
    return s + x[-1]


def test_what_a_loop_does_not_carry_may_have_any_shape():
    """Arrays that change places have one shape; one that is chosen beside them has its own."""
    x, y = np.array([0.7, -0.9, 1.2]), np.array([1.3, 0.2, 0.9])
    value, (x_bar, y_bar) = value_and_grad(swapped_beside_a_choice, wrt=(0, 1), mode="python")(x, y)
    assert value == swapped_beside_a_choice(x, y)
    for bar, move in ((x_bar, lambda d: (x + d, y)), (y_bar, lambda d: (x, y + d))):
        slopes = [(swapped_beside_a_choice(*move(d)) - swapped_beside_a_choice(*move(-d))) / 2e-6 for d in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(bar, slopes, rtol=1e-6)


def swapped_by_chance(x, p):
    y = x[1:] * 2.0
    for _ in range(3):
        if p < 5.0:
            if p > 3.0:
                y, x = x, y
    return np.sum(y * y) + 3.0 * np.sum(x)


def second_name_for_one_of_two(x, p):
    y, z = x[:place_above(x, p)], x
    if p < 1.0:
        z = y
        y = x[1:]
    elif p < 2.0:
        z, y = y, z
    return np.sum(y * y) + 3.0 * np.sum(z)


def place_above(x, p):
    for i in range(len(x)):
        if x[i] > p:
            return i
    return 1


@pytest.mark.parametrize("p", [-0.5, 0.4, 1.5, 4.0, 6.0])
@pytest.mark.parametrize("f", [swapped_by_chance, second_name_for_one_of_two])
def test_arrays_that_change_names_on_a_path(f, p):
    """What one path has in the memory of another name is not overwritten on the way there."""
    x = np.array([0.3, 0.8, 1.6, 2.0])
    assert value_and_grad(f, mode="python")(x, p)[0] == pytest.approx(f(x, p))


def fits(x, z):
    s = 0.0
    if len(z) - 1 == len(x):
        s += np.sum(z[1:] * x)
    return s + np.sum(np.maximum(z[1:], x))


def fits_in_a_loop(x, z, n):
    same, s = len(z) == len(x), 0.0
    for _ in range(n):
        if same:
            s += np.sum(z * x)
    return s + np.sum(z - x) if same or n == 0 else s


def test_a_check_in_a_branch_says_nothing_of_what_follows_it():
    derivative = value_and_grad(fits, mode="python")
    ones = np.ones
    value, bar = derivative(ones(4), ones(2))               # NumPy repeats the one element
    assert value == fits(ones(4), ones(2)) == 4.0 and bar.shape == (4,)
    assert derivative(ones(3), ones(4))[0] == fits(ones(3), ones(4))
    looped = value_and_grad(fits_in_a_loop, mode="python")
    assert looped(ones(3), ones(3), 2)[0] == fits_in_a_loop(ones(3), ones(3), 2)
    for call, args in ((derivative, (ones(3), ones(3))), (looped, (ones(3), ones(2), 0))):
        with pytest.raises(ValueError, match="could not be broadcast together"):
            call(*args)


def product_on_one_path(x, y, a, A):
    if a > 0.0:
        pass
    elif a < -5.0:
        y, x = x, y
    else:
        x = A[1:] @ A
    return max(A[..., 1] @ y[:], np.std(x))


@pytest.mark.parametrize("a", [1.0, -6.0])
def test_sizes_that_a_later_check_makes_equal(a):
    """What stands before the check is written by sizes that are known there."""
    r = np.random.default_rng(3)
    args = r.random(4), r.random(4), a, r.random((4, 2))
    value, pull = vjp(product_on_one_path, *args, mode="python", debug=True)
    assert np.isclose(value, product_on_one_path(*args))
    dx, dy, dA = r.random(4), r.random(4), r.random((4, 2))
    h = 1e-6
    moved = [product_on_one_path(args[0] + s * h * dx, args[1] + s * h * dy, a, args[3] + s * h * dA) for s in (1, -1)]
    x_bar, y_bar, _, A_bar = pull(1.0)
    assert np.isclose(x_bar @ dx + y_bar @ dy + np.sum(A_bar * dA), (moved[0] - moved[1]) / (2 * h), atol=1e-7)


def test_one_value_is_split_once():
    def f(x, a, A):
        if a > 0.0:
            x = A * 2.0
        return np.sum(x * x)
    made = value_and_grad(f, wrt=("x", "A"), mode="python")
    for a in (1.0, -1.0):
        x, A = np.array([1.0, 2.0, 3.0]), np.ones((2, 3))
        value, (x_bar, A_bar) = made(x, a, A)
        assert np.isclose(value, f(x, a, A))
        assert np.allclose(x_bar, 0.0 if a > 0.0 else 2.0 * x) and np.allclose(A_bar, 8.0 if a > 0.0 else 0.0)
    assert "broadcast" not in made.source
