"""Sylvester equations, square roots, powers and logarithms of matrices: library calls, looped over stacks.

The callables stand for them in definitions and rules; `scipy.linalg` is written with them.
"""

from __future__ import annotations

import scipy.linalg

from ...language.errors import ShapeMismatch
from ...language.ops import PARTS
from ..arrays.broadcasting import require_same
from ..table import lowers
from ..values import Scalar
from .factorisations import floats
from .library_calls import library_call, on_each
from .linear_algebra import square


def sqrtm(a):
    """The principal square root of a matrix or of each of a stack, of the dtype of `a`."""
    return scipy.linalg.sqrtm(a)


def logm(a):
    """The principal logarithm of a matrix or of each of a stack, of the dtype of `a`."""
    return scipy.linalg.logm(a)


def matrix_power(a, t):
    """The principal power of a matrix or of each of a stack with the real exponent `t`, of the dtype of `a`."""
    return scipy.linalg.fractional_matrix_power(a, t)


def solve_sylvester(a, b, q):
    """The x with a @ x + x @ b = q, of matrices or stacks of them."""
    return scipy.linalg.solve_sylvester(a, b, q)


def lower_function(op):
    """The lowering of a function of a square matrix and of numbers."""
    def lower(lo, a, *numbers):
        a = square(lo, a)
        rest = [Scalar(lo.atom(x, PARTS.get(a.dtype, a.dtype))) for x in numbers]
        one = lambda p: (library_call(lo, op, p.shape, p.dtype, p, *rest),)  # noqa: E731
        return on_each(lo, (a,), (2,), one, [(a.shape[-2:], a.dtype)])[0]
    return lower


for _function in (sqrtm, logm, matrix_power):
    lowers(_function)(lower_function(_function.__name__))


@lowers(solve_sylvester)
def lower_solve_sylvester(lo, a, b, q):
    a, b, q = floats(lo, square(lo, a), square(lo, b), q)
    if q.rank < 2:
        raise lo.error(ShapeMismatch, "solve_sylvester: the right-hand side must be a matrix")
    for n, axis in ((a.shape[-1], -2), (b.shape[-1], -1)):
        require_same(lo, n, q.shape[axis], "solve_sylvester: the shapes of the matrices do not fit")
    one = lambda *parts: (library_call(lo, "solve_sylvester", parts[2].shape, q.dtype, *parts),)  # noqa: E731
    return on_each(lo, (a, b, q), (2, 2, 2), one, [(q.shape[-2:], q.dtype)])[0]
