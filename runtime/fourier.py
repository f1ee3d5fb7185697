"""Discrete Fourier transforms for generated code, by SciPy (pocketfft), the same in plain Python and inside compiled code.

Nothing is scaled here. Complex arrays are real ones whose last axis, of length 2, holds the parts; all are C-contiguous,
float64 or float32. Numba has no transforms: compiled code calls back into Python, which costs some 15 microseconds beside
what SciPy needs, and holds the GIL for the call.
"""

from __future__ import annotations

from typing import Any

import scipy.fft
from numba import objmode

from .linear_algebra.complex_linalg import whole
from .machine_code.kept import kept_for


def fft_into(out: Any, x: Any, axes: int, sign: int) -> None:
    """Set `out` to sum_j x_j exp(sign 2 pi i j k / n), over each axis of the complex `x` whose bit is set in `axes`."""
    z = whole(x)
    if z.size:
        chosen = [k for k in range(z.ndim) if axes >> k & 1]
        transform = scipy.fft.fftn if sign < 0 else scipy.fft.ifftn
        whole(out)[...] = transform(z, axes=chosen, norm="backward" if sign < 0 else "forward")


@kept_for(fft_into)
def _fft(out, x, axes, sign):
    with objmode():
        fft_into(out, x, axes, sign)


def rfft_into(out: Any, x: Any) -> None:
    """Set the complex `out` to the first n // 2 + 1 values of the transform of the real `x` along its last axis."""
    if x.size:
        whole(out)[...] = scipy.fft.rfft(x)


@kept_for(rfft_into)
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


@kept_for(irfft_into)
def _irfft(out, x):
    with objmode():
        irfft_into(out, x)


__all__ = ["fft_into", "irfft_into", "rfft_into"]
