"""Discrete Fourier transforms for generated code, by SciPy (pocketfft), the same in plain Python and inside compiled code.

Nothing is scaled here. Complex arrays are real ones whose last axis, of length 2, holds the parts; all are C-contiguous,
float64 or float32. Numba has no transforms: compiled code calls back into Python, which costs some 15 microseconds beside
what SciPy needs, and holds the GIL for the call.
"""

from __future__ import annotations

from typing import Any

import scipy.fft
from numba import objmode
from numba.extending import overload

from .linear_algebra.complex_linalg import whole
from .linear_algebra.linalg import _STRICT
from .machine_code.kept import kept as _kept


def fft_into(out: Any, x: Any, axes: int, sign: int) -> None:
    """Set `out` to sum_j x_j exp(sign 2 pi i j k / n), over each axis of the complex `x` whose bit is set in `axes`."""
    z = whole(x)
    if z.size:
        chosen = [k for k in range(z.ndim) if axes >> k & 1]
        transform = scipy.fft.fftn if sign < 0 else scipy.fft.ifftn
        whole(out)[...] = transform(z, axes=chosen, norm="backward" if sign < 0 else "forward")


@overload(fft_into, jit_options=_STRICT)
def _fft_into(out, x, axes, sign):
    return lambda out, x, axes, sign: _fft(out, x, axes, sign)


@_kept
def _fft(out, x, axes, sign):
    with objmode():
        fft_into(out, x, axes, sign)


def rfft_into(out: Any, x: Any) -> None:
    """Set the complex `out` to the first n // 2 + 1 values of the transform of the real `x` along its last axis."""
    if x.size:
        whole(out)[...] = scipy.fft.rfft(x)


@overload(rfft_into, jit_options=_STRICT)
def _rfft_into(out, x):
    return lambda out, x: _rfft(out, x)


@_kept
def _rfft(out, x):
    with objmode():
        rfft_into(out, x)


def irfft_into(out: Any, x: Any) -> None:
    """Set the real `out`, of n elements along the last axis, to the unscaled inverse transform of the complex `x`.

    `x` holds the first n // 2 + 1 values of a Hermitian spectrum; the imaginary parts of the first one, and for even n of
    the last, are not read.
    """
    if out.size:
        out[...] = scipy.fft.irfft(whole(x), n=out.shape[-1], norm="forward")


@overload(irfft_into, jit_options=_STRICT)
def _irfft_into(out, x):
    return lambda out, x: _irfft(out, x)


@_kept
def _irfft(out, x):
    with objmode():
        irfft_into(out, x)


__all__ = ["fft_into", "irfft_into", "rfft_into"]
