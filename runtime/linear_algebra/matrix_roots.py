"""Sylvester equations, square roots, powers and logarithms of matrices for generated code, by SciPy.

The functions fill their first argument, all operands being C-contiguous and of one dtype; those named `complex_` take and
fill arrays of pairs, as in `complex_linalg.py`. A matrix that holds nan or infinity gives nan. Numba has none of these:
compiled code calls back into Python, which costs some 15 microseconds beside SciPy's own time and holds the GIL.

A real matrix whose root, power or logarithm is complex raises `np.linalg.LinAlgError`, where SciPy gives a complex array.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numba import objmode

from ..failing import LinAlgErrorThere
from ..machine_code.kept import kept_for
from .complex_linalg import whole


def sqrtm_into(out: Any, a: Any) -> None:
    """Set `out` to the principal square root of `a` (n, n)."""
    fill(out, "sqrtm", a)


def logm_into(out: Any, a: Any) -> None:
    """Set `out` to the principal logarithm of `a` (n, n)."""
    fill(out, "logm", a)


def matrix_power_into(out: Any, a: Any, t: float) -> None:
    """Set `out` to the principal power of `a` (n, n) with the exponent `t`."""
    fill(out, "fractional_matrix_power", a, t)


def fill(out, name, a, *rest):
    """Set `out` to a function of SciPy of `a`; LinAlgError if `out` is real and the result is not."""
    if not np.isfinite(a).all():
        out[...] = np.nan
    elif a.size:
        value = np.asarray(getattr(scipy.linalg, name)(a.astype(np.result_type(a, np.float64)), *rest))
        if out.dtype.kind != "c" and value.dtype.kind == "c":
            noise = 1e3 * len(a) * np.finfo(float).eps * np.abs(value).max()
            if np.abs(value.imag).max() > noise:
                raise LinAlgErrorThere(f"{name} of this real matrix is complex, since not all of its eigenvalues are "
                                            "positive: give it as a complex matrix, a.astype(complex)")
            value = value.real
        out[...] = value


def solve_sylvester_into(out: Any, a: Any, b: Any, q: Any) -> None:
    """Set `out` (m, n) to the x with a @ x + x @ b = q, by the method of Bartels and Stewart (1972).

    LinAlgError where an eigenvalue of `a` is the negative of one of `b`.
    """
    if not all(np.isfinite(x).all() for x in (a, b, q)):
        out[...] = np.nan
        return
    if not out.size:
        return
    r, u = scipy.linalg.schur(a, output="real")
    s, v = scipy.linalg.schur(b.conj().T, output="real")
    f = u.conj().T @ q @ v
    x, scale, info = scipy.linalg.get_lapack_funcs("trsyl", (r, s, f))(r, s, f, tranb="C")
    if info:
        raise LinAlgErrorThere("Singular Sylvester equation, as for the derivative of the root of a singular matrix")
    out[...] = scale * (u @ x @ v.conj().T)


@kept_for(sqrtm_into)
def _sqrtm(out, a):
    with objmode():
        sqrtm_into(out, a)


@kept_for(logm_into)
def _logm(out, a):
    with objmode():
        logm_into(out, a)


@kept_for(matrix_power_into)
def _matrix_power(out, a, t):
    with objmode():
        matrix_power_into(out, a, t)


@kept_for(solve_sylvester_into)
def _solve_sylvester(out, a, b, q):
    with objmode():
        solve_sylvester_into(out, a, b, q)


def complex_sqrtm_into(out: Any, a: Any) -> None:
    """`sqrtm_into` on pairs."""
    sqrtm_into(whole(out), whole(a))


def complex_logm_into(out: Any, a: Any) -> None:
    """`logm_into` on pairs."""
    logm_into(whole(out), whole(a))


def complex_matrix_power_into(out: Any, a: Any, t: float) -> None:
    """`matrix_power_into` on pairs."""
    matrix_power_into(whole(out), whole(a), t)


def complex_solve_sylvester_into(out: Any, a: Any, b: Any, q: Any) -> None:
    """`solve_sylvester_into` on pairs."""
    solve_sylvester_into(whole(out), whole(a), whole(b), whole(q))


@kept_for(complex_sqrtm_into, as_they_lie=True)
def _complex_sqrtm_into(out, a):
    sqrtm_into(whole(out), whole(a))


@kept_for(complex_logm_into, as_they_lie=True)
def _complex_logm_into(out, a):
    logm_into(whole(out), whole(a))


@kept_for(complex_matrix_power_into, as_they_lie=True)
def _complex_matrix_power_into(out, a, t):
    matrix_power_into(whole(out), whole(a), t)


@kept_for(complex_solve_sylvester_into, as_they_lie=True)
def _complex_solve_sylvester_into(out, a, b, q):
    solve_sylvester_into(whole(out), whole(a), whole(b), whole(q))


__all__ = ["complex_logm_into", "complex_matrix_power_into", "complex_solve_sylvester_into", "complex_sqrtm_into",
           "logm_into", "matrix_power_into", "solve_sylvester_into", "sqrtm_into"]
