"""Arrays that change places in a loop in the loop that made one of them; lists that grow by rows without a derivative."""

import numpy as np
import pytest

from autodiff import UnsupportedSyntax, value_and_grad, vjp

from .support import assert_slope, direction_like

X, Y = np.array([1.5, 1.0, 2.0, 3.0]), np.array([0.5, 1.0, 0.2, 3.0])


def nobody_reads(x, y):
    r, z, s = x * 1.1, y.copy(), y[0]
    for _ in range(len(x)):
        c = 0
        while c < 3 and s < 5.0:
            c += 1
            r, z = z, r
        if len(z) > 12:
            z = z[:5]
    return np.sum(r * r) + np.sum(z)


def made_anew(x, y):
    r, z = x * 1.1, y.copy()
    for i in range(len(x)):
        z = z[z > 0.3]
        r = z * 2.0
        for _ in range(int(x[0] * i + 0.3)):
            r, z = z, r
    return np.sum(r * r) + np.sum(z)


def rows_without_a_derivative(x, y):
    kept = [x * 0.5]
    c = 0
    while c < 3:
        c += 1
        r = np.linspace(0.0, 0.1, 4)
        kept.append(r)
        kept.append(r * 0.5)
    return sum([np.sum(v * v) for v in kept]) + y[0]


@pytest.mark.parametrize("f", [nobody_reads, made_anew, rows_without_a_derivative], ids=lambda f: f.__name__)
def test_slopes(f):
    value, pull = vjp(f, X, Y, mode="python", debug=True)
    assert value == pytest.approx(f(X, Y), rel=1e-12)
    for position, bar in enumerate(pull(1.0)):
        d = direction_like(X, position)
        assert_slope(float(np.sum(bar * d)), f, (X, Y), position, d)


def read_before(x, y):
    r, t = x * 1.1, 0.0
    for _ in range(len(x)):
        z = np.zeros(4)
        t += np.sum(r * r * r)
        for _ in range(int(y[0] + 1.2)):
            r, z = z, r
    return t + np.sum(r * r)


def read_after(x, y):
    r, t = x * 1.1, 0.0
    for _ in range(len(x)):
        z = y * 2.0
        for _ in range(int(y[0] + 1.2)):
            r, z = z, r
        t += np.sum(r * r * r)
    return t


@pytest.mark.parametrize("f", [read_before, read_after], ids=lambda f: f.__name__)
def test_what_is_lost_and_needed_is_refused(f):
    """The reverse sweep used the name of a buffer that only the forward sweep's iterations had."""
    with pytest.raises(UnsupportedSyntax, match="create it before the loop"):
        vjp(f, X, Y, mode="python")


def exchanged(x, n):
    u = x * 1.2
    _first = u
    for _ in range(n):
        w = u
    for j in range(2):
        if x[j] > 0.5:
            u, w = w, u
    u[0] += 1.0
    return np.sum(w * x)


def test_names_that_a_loop_before_made_one_array():
    """Each has a copy of its own in the second loop, and they are still one array."""
    x = np.array([0.56, -0.245, 0.42])
    with pytest.raises(UnsupportedSyntax, match="a second name may see"):
        value_and_grad(exchanged, mode="python")(x, 3)
    value, _ = value_and_grad(exchanged_copies, mode="python")(x, 3)
    assert value == exchanged_copies(x, 3)


def exchanged_copies(x, n):
    u = x * 1.2
    for _ in range(n):
        w = u.copy()
    for j in range(2):
        if x[j] > 0.5:
            u, w = w, u
    u[0] += 1.0
    return np.sum(w * x)
