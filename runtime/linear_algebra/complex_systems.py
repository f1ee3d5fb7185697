"""Triangular and banded systems, LU factors and exponentials of complex matrices for generated code, as in `lapack.py` and
`matrix_functions.py`; operands and results are pairs, as in `complex_linalg.py`."""

from __future__ import annotations

from typing import Any

from ..machine_code.kept import kept_for
from ..memory import assign
from . import lapack, matrix_functions
from .complex_decompositions import in_pairs
from .complex_linalg import whole


def complex_solve_triangular_into(out: Any, a: Any, b: Any, lower: bool, trans: bool, unit: bool) -> None:
    """Set `out` to the x with t @ x = b, or t.T @ x = b if `trans`; see `lapack.solve_triangular`."""
    whole(out)[...] = lapack.solve_triangular(whole(a), whole(b), lower, trans, unit)


@kept_for(complex_solve_triangular_into, as_they_lie=True)
def _complex_solve_triangular_into(out, a, b, lower, trans, unit):
    assign(whole(out), lapack.solve_triangular(
        whole(a), whole(b), lower, trans, unit))


def complex_lu_factor(a: Any) -> tuple[Any, Any]:
    """(lu, pivots) of a matrix; see `lapack.lu_factor`."""
    packed, pivots = lapack.lu_factor(whole(a))
    return in_pairs(packed, a), pivots


@kept_for(complex_lu_factor, as_they_lie=True)
def _complex_lu_factor(a):
    packed, pivots = lapack.lu_factor(whole(a))
    return in_pairs(packed, a), pivots


def complex_solve_banded_into(out: Any, ab: Any, b: Any, below: int, above: int) -> None:
    """Set `out` to the x with m @ x = b for the banded matrix m; see `lapack.solve_banded`."""
    whole(out)[...] = lapack.solve_banded(whole(ab), whole(b), below, above)


@kept_for(complex_solve_banded_into, as_they_lie=True)
def _complex_solve_banded_into(out, ab, b, below, above):
    assign(whole(out), lapack.solve_banded(whole(ab), whole(b), below, above))


def complex_expm_into(out: Any, a: Any) -> None:
    """Set `out` to the exponential of `a` (n, n)."""
    whole(out)[...] = matrix_functions.expm(whole(a))


@kept_for(complex_expm_into, as_they_lie=True)
def _complex_expm_into(out, a):
    assign(whole(out), matrix_functions.expm(whole(a)))


def complex_expm_frechet_into(out: Any, a: Any, e: Any) -> None:
    """Set `out` to the derivative of the exponential at `a` along `e`."""
    whole(out)[...] = matrix_functions.expm_frechet(whole(a), whole(e))


@kept_for(complex_expm_frechet_into, as_they_lie=True)
def _complex_expm_frechet_into(out, a, e):
    assign(whole(out), matrix_functions.expm_frechet(whole(a), whole(e)))


__all__ = ["complex_expm_frechet_into", "complex_expm_into", "complex_lu_factor", "complex_solve_banded_into",
           "complex_solve_triangular_into"]
