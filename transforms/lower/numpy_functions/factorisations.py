"""Triangular and banded systems, LU factors and exponentials of matrices: library calls, looped over stacks.

The callables are those of `runtime/linear_algebra/`: `lapack.py` and `matrix_functions.py`; `scipy.linalg` is written with
them, and this file is loaded when a program first calls something of it.
"""

from __future__ import annotations

from ....runtime.linear_algebra.lapack import lu_factor, solve_banded, solve_triangular
from ....runtime.linear_algebra.matrix_functions import expm, expm_frechet
from ...language.errors import ShapeMismatch, TypeConflict
from ...language.ops import is_inexact, promote
from ..arrays.broadcasting import convert, require_same
from ..needs import NeedsStatic
from ..table import lowers
from ..values import Scalar, Sequence, Static
from .library_calls import array_call, form_of, library_call, on_each
from .linear_algebra import matrices, square


def floats(lo, *xs):
    """Arrays converted to one dtype of floats or complex numbers."""
    arrays = [lo.array(x) for x in xs]
    kind = promote(*(a.dtype for a in arrays))
    kind = kind if is_inexact(kind) else "float64"
    return [convert(lo, a, kind) for a in arrays]


def fitting(lo, n, b, who):
    """Whether the right-hand side is a vector; its length must be `n`."""
    rank = 1 if b.rank == 1 else 2
    if b.rank == 0:
        raise lo.error(ShapeMismatch, f"{who}: the right-hand side must be a vector or a matrix")
    require_same(lo, n, b.shape[b.rank - rank], f"{who}: the shapes of the matrix and of the right-hand side do not fit")
    return rank


@lowers(solve_triangular)
def lower_solve_triangular(lo, a, b, lower, trans, unit):
    a, b = floats(lo, square(lo, a), b)
    rank = fitting(lo, a.shape[-1], b, "solve_triangular")
    if not all(isinstance(x, Static) for x in (lower, trans, unit)):
        told = "which triangle `solve_triangular` reads, and how, must be known before the program runs"
        hint = "write constants: call it on both sides of an `if`, with `lower=True` and `lower=False`"
        raise NeedsStatic(lo.error(TypeConflict, told, hint))
    options = tuple(bool(x.value) for x in (lower, trans, unit))
    one = lambda p, q: (library_call(lo, "solve_triangular", q.shape, q.dtype, p, q, static=options),)  # noqa: E731
    return on_each(lo, (a, b), (2, rank), one, [(b.shape[b.rank - rank:], b.dtype)])[0]


@lowers(lu_factor)
def lower_lu_factor(lo, a):
    a, m, n, k = matrices(lo, a)
    results = [("lu", (m, n), a.dtype), ("pivots", (k,), "int64")]
    one = lambda p: array_call(lo, form_of("lu_factor", a.dtype), results, p)  # noqa: E731
    return Sequence(tuple(on_each(lo, (a,), (2,), one, [(shape, kind) for _, shape, kind in results])))


@lowers(solve_banded)
def lower_solve_banded(lo, ab, b, below, above):
    ab, b = floats(lo, ab, b)
    below, above = lo.atom(below, "int64"), lo.atom(above, "int64")
    require_same(lo, ab.shape[0], lo.b.iadd(lo.b.iadd(below, above), 1),
                 "solve_banded: ab must have a row for each diagonal")
    fitting(lo, ab.shape[1], b, "solve_banded")
    return library_call(lo, "solve_banded", b.shape, b.dtype, ab, b, Scalar(below), Scalar(above))


@lowers(expm)
def lower_expm(lo, a):
    a = square(lo, a)
    one = lambda p: (library_call(lo, "expm", p.shape, p.dtype, p),)  # noqa: E731
    return on_each(lo, (a,), (2,), one, [(a.shape[-2:], a.dtype)])[0]


@lowers(expm_frechet)
def lower_expm_frechet(lo, a, e):
    a, e = floats(lo, square(lo, a), square(lo, e))
    return library_call(lo, "expm_frechet", a.shape, a.dtype, a, e)
