"""Programs that were once wrong on a device, found by comparing with the CPU."""

import numpy as np

import autodiff

from . import support  # noqa: F401  # isort: split
from .races import check_races
from .test_programs import assert_alike, on_device


def compare(function, *args, wrt=0, **options):
    """Value and gradient on the simulated device, by the race checker, against the CPU."""
    expected = autodiff.value_and_grad(function, wrt=wrt, mode="python", **options)(*args)
    gradient = autodiff.value_and_grad(function, wrt=wrt, target="cuda", debug=True, **options)
    found = check_races(gradient, *on_device(args))
    assert_alike(found, expected)
    return gradient


X = np.random.default_rng(0).normal(size=(5, 3))


def test_sums_of_what_an_inner_loop_goes_on_to_change():
    """Sums that other threads collect, of elements that a later turn of an inner loop reads after they were written."""
    def by_elements(x, turns):
        n, m = x.shape
        y, total = x.copy(), np.zeros((turns, m))
        for i in range(n):
            for t in range(turns):
                for k in range(m):
                    total[t, k] += y[i, k] * y[i, k]
                    y[i, k] = np.sin(y[i, k]) + 0.1
        return np.sum(total ** 2) + np.sum(y)

    def by_rows(x, turns):
        n, m = x.shape
        y, total = x.copy(), np.zeros(turns)
        for i in range(n):
            for t in range(turns):
                s = 0.0
                for k in range(m):
                    s += y[i, k] ** 2
                total[t] += s
                for k in range(m):
                    y[i, k] = np.sin(y[i, k]) + 0.1 * s
        return np.sum(total ** 2)
    compare(by_elements, X, 4)
    compare(by_rows, X, 4)


def test_bounds_of_a_third_loop_that_follow_the_first():
    """The triangle's rows are not of one length: its innermost loop is no axis of the grid."""
    def f(a):
        n = a.shape[0]
        y = np.zeros((n, n))
        for _ in range(2):
            for i in range(n):
                for j in range(i):
                    y[j, i] += np.tanh(a[j, i] + 0.3)
        return np.sum(y * y)
    compare(f, np.random.default_rng(0).normal(size=(4, 4)))


def test_sums_on_both_sides_of_a_branch():
    """Two sums with the same collectors, each on its own side."""
    def f(a, b):
        n = a.shape[0]
        y, z = np.zeros(n), np.zeros(n)
        for i in range(n):
            for j in range(n):
                if i < j:
                    y[i] += a[i, j]
                else:
                    z[j] += b[i, j]
        return np.sum(y * y) + np.sum(z * z)
    compare(f, *np.random.default_rng(0).normal(size=(2, 4, 4)), wrt=(0, 1))
