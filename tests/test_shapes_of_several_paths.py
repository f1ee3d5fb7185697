"""Arrays whose shape is one of three or more by the way the program went: sizes are chosen again by the same conditions."""

import numpy as np
import pytest

from autodiff import value_and_grad

from .support import Collected

program = PROGRAMS = Collected()


@program
def three_by_elif(x):
    k = int(x[0])
    if k == 1:
        B = np.zeros((2, 2))
    elif k == 2:
        B = np.zeros((4, 4))
    else:
        B = np.zeros((3, 3))
    return np.sum(B + x[0])


@program
def four_with_products(x):
    k = int(x[0])
    if k == 1:
        A = np.ones((2, 3)) * x[0]
    elif k == 2:
        A = np.ones((4, 3)) * x[1]
    elif k == 3:
        A = np.ones((2, 2)) * x[2]
    else:
        A = x[2] * np.arange(10.0).reshape(2, 5)
    return np.sum((A.T @ A) ** 2) + np.sum((A @ A.T) * x[1])


@program
def squares_of_eye(x):
    k = int(x[0])
    if k < 3:
        A = (np.eye(2) if k == 1 else np.eye(4)) * x[1]
    else:
        A = np.eye(3) + x[2]
    return np.sum(A @ A) * np.trace(A)


@program
def by_numbers(x):
    y = x[0] * x[1]
    if x[0] > 3.0:
        A = np.full((2, 3), x[0])
    elif y > 5.0:
        A = np.full((3, 2), x[1])
    else:
        A = np.full((1, 4), x[2])
    return np.sum(np.sin(A) * A) + A.shape[0] * A.shape[1]


@program
def in_a_loop(x):
    t = 0.0
    for i in range(len(x)):
        k = int(x[i])
        if k == 1:
            A = np.ones((2, 3)) * x[0]
        elif k == 2:
            A = np.ones((4, 3)) * x[1]
        else:
            A = np.ones((3, 3)) * x[2]
        t += np.sum(A @ A.T)
    return t


@program
def from_a_function(x):
    def made(k):
        if k == 1:
            return np.ones((2, 2)) * x[0]
        if k == 2:
            return np.ones((4, 1)) * x[1]
        return np.ones((3, 5)) * x[2]

    A = made(int(x[0]))
    return np.sum(A**2) * A[0, 0]


@program
def with_sizes_of_the_run(x):
    k = int(x[0])
    n = int(x[2])
    if k == 1:
        A = np.ones((n, n)) * x[0]
    elif k == 2:
        A = np.ones((2, n + 1)) * x[1]
    else:
        A = np.ones((3, 3)) * x[2]
    return np.sum(A.T @ A)


@pytest.mark.parametrize("first", [1.5, 2.5, 3.5, 4.5])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_program(f, first):
    x = np.array([first, 2.3, 3.2])
    value, gradient = value_and_grad(f, mode="python", debug=True)(x)
    assert value == pytest.approx(f(x), rel=1e-12)
    differences = [(f(x + 1e-6 * e) - f(x - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-5)
