"""The exponential of a matrix and its derivative for generated code, the same in plain Python and inside compiled code.

Matrices are square, float32 or float64, of one dtype, and never modified. One that holds nan or infinity gives nan
throughout.

Sources: N. Higham, The scaling and squaring method for the matrix exponential revisited, SIAM J. Matrix Anal. Appl. 26,
2005; A. Al-Mohy and N. Higham, Computing the Frechet derivative of the matrix exponential, with an application to condition
number estimation, SIAM J. Matrix Anal. Appl. 30, 2009 (algorithm 6.4).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from ..machine_code.kept import kept_for
from .linalg import _check_square, _is_finite_matrix, _kept, _solution


def expm(a: Any) -> Any:
    """The exponential of `a` (n, n)."""
    if not np.isfinite(a).all():
        return np.full(a.shape, np.nan, a.dtype)
    return scipy.linalg.expm(a)


def expm_frechet(a: Any, e: Any) -> Any:
    """The derivative of the exponential at `a` along `e`: the linear part in e of expm(a + e). Both (n, n)."""
    if not (np.isfinite(a).all() and np.isfinite(e).all()):
        return np.full(a.shape, np.nan, a.dtype)
    return scipy.linalg.expm_frechet(a, e, compute_expm=False, check_finite=False).astype(a.dtype)


@kept_for(expm)
def _expm(a):
    _check_square(a)
    if not _is_finite_matrix(a):
        return np.full(a.shape, np.nan, a.dtype)
    matrix = np.ascontiguousarray(a)
    return _exponential(matrix, matrix, False)


@kept_for(expm_frechet)
def _expm_frechet(a, e):
    _check_square(a)
    if not (_is_finite_matrix(a) and _is_finite_matrix(e)):
        return np.full(a.shape, np.nan, a.dtype)
    return _exponential(np.ascontiguousarray(a), np.ascontiguousarray(e), True)


_REACH, _REACH_OF_SLOPE = 5.371920351148152, 4.74      # the 1-norms up to which order 13 does
# Of the numerator of the Pade approximant of order 13, lowest power first, the highest scaled to 1.
_PADE = np.cumprod([1.0] + [k * (27 - k) / (14 - k) for k in range(13, 0, -1)])[::-1]
_ODD_LOW, _EVEN_LOW = _PADE[1:8:2], _PADE[0:7:2]
_ODD_HIGH, _EVEN_HIGH = np.append(0.0, _PADE[9::2]), np.append(0.0, _PADE[8::2])
_MIXED = np.array([_ODD_LOW, _EVEN_LOW, _ODD_HIGH, _EVEN_HIGH])     # of 1, a^2, a^4, a^6


# Small functions of their own: every caller compiles the machine code of what it calls a second time.
@_kept
def _times(a, b):
    return np.dot(a, b)


@_kept
def _plus(a, b, factor):
    """a + factor b."""
    out = np.empty_like(a)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = a[i, j] + factor * b[i, j]
    return out


@_kept
def _slope(a, a_dot, b, b_dot):
    """Of a product."""
    return _plus(_times(a_dot, b), _times(a, b_dot), a.dtype.type(1))


@_kept
def _numerator(powers, high, a6):
    """The parts with odd powers (over a) and with even ones, from 1, a^2, a^4, a^6 as rows; `high`: what a^6 multiplies."""
    n = a6.shape[0]
    mixed = _times(_MIXED.astype(a6.dtype), powers)
    high[0], high[1] = mixed[2].reshape(n, n), mixed[3].reshape(n, n)
    one = a6.dtype.type(1)
    return _plus(_times(a6, high[0]), mixed[0].reshape(n, n), one), _plus(_times(a6, high[1]), mixed[1].reshape(n, n), one)


@_kept
def _exponential(a, e, with_slope):
    """The exponential of `a`, or if `with_slope` its derivative along `e`."""
    n = a.shape[0]
    one, norm = a.dtype.type(1), 0.0
    for j in range(n):
        column = 0.0
        for i in range(n):
            column += abs(a[i, j])
        norm = max(norm, column)
    halvings = max(0, int(np.ceil(np.log2(max(norm, 1e-300) / (_REACH_OF_SLOPE if with_slope else _REACH)))))
    scale = a.dtype.type(0.5 ** halvings)
    zero = np.zeros_like(a)
    a, e = _plus(zero, a, scale), _plus(zero, e, scale) if with_slope else zero
    a2 = _times(a, a)
    a4 = _times(a2, a2)
    powers, high = np.zeros((4, n * n), a.dtype), np.empty((2, n, n), a.dtype)
    for i in range(n):
        powers[0, i * n + i] = one
    a6 = _times(a4, a2)
    powers[1], powers[2], powers[3] = a2.reshape(n * n), a4.reshape(n * n), a6.reshape(n * n)
    odd, even = _numerator(powers, high, a6)
    u = _times(a, odd)
    below = _plus(even, u, -one)
    r = _solution(below, _plus(even, u, one))
    if not with_slope:
        for _ in range(halvings):
            r = _times(r, r)
        return r
    m2 = _slope(a, e, a, e)
    m4 = _slope(a2, m2, a2, m2)
    m6 = _slope(a4, m4, a2, m2)
    powers[0] = zero.reshape(n * n)
    powers[1], powers[2], powers[3] = m2.reshape(n * n), m4.reshape(n * n), m6.reshape(n * n)
    high_slope = np.empty((2, n, n), a.dtype)
    odd_slope, even_slope = _numerator(powers, high_slope, a6)
    odd_slope = _plus(odd_slope, _times(m6, high[0]), one)
    even_slope = _plus(even_slope, _times(m6, high[1]), one)
    u_slope = _slope(a, e, odd, odd_slope)
    s = _solution(below, _plus(_plus(u_slope, even_slope, one), _times(_plus(u_slope, even_slope, -one), r), one))
    for _ in range(halvings):
        s = _slope(r, s, r, s)
        r = _times(r, r)
    return s


__all__ = ["expm", "expm_frechet"]
