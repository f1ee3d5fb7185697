"""Cosine and sine transforms of `scipy.fft`, by Fourier transforms of vectors twice as long.

Source: J. Makhoul, A fast cosine transform in one and two dimensions, IEEE Transactions on Acoustics, Speech, and Signal
Processing 28, 1980, section II.
"""

import math

import numpy as np
import scipy.fft

from ...transforms.lower.numpy_functions.reductions import unsupported
from ..decorators import defines
from ..definitions.extrema import floats
from .fourier import resized


def cosines(x, kind):
    """The transform of the last axis: of an even vector, the real part of its spectrum."""
    n = x.shape[-1]
    if kind == 1:
        return np.fft.rfft(np.concatenate((x, x[..., n - 2:0:-1]), axis=-1)).real
    if kind == 2:
        return (np.fft.rfft(np.concatenate((x, x[..., ::-1]), axis=-1))[..., :n] * turned(np.arange(n) * -0.5, n)).real
    if kind == 3:
        ahead = np.concatenate((x * turned(np.arange(n) * 0.5, n), 0.0 * x[..., :1]), axis=-1)
        return np.fft.irfft(ahead, 2 * n)[..., :n] * (2.0 * n)
    return half_places(x).real


def sines(x, kind):
    """The same of an odd vector: the imaginary part."""
    n = x.shape[-1]
    none = 0.0 * x[..., :1]
    if kind == 1:
        return -np.fft.rfft(np.concatenate((none, x, none, -x[..., ::-1]), axis=-1)).imag[..., 1:n + 1]
    places = np.arange(n) + 1.0
    if kind == 2:
        return -(np.fft.rfft(np.concatenate((x, -x[..., ::-1]), axis=-1))[..., 1:] * turned(places * -0.5, n)).imag
    if kind == 3:
        ahead = np.concatenate((none, x * (-1j * turned(places * 0.5, n))), axis=-1)
        return np.fft.irfft(ahead, 2 * n)[..., :n] * (2.0 * n)
    return -half_places(x).imag


def half_places(x):
    """2 sum x_m exp(-pi i (2 k + 1) (2 m + 1) / 4 n) for each k."""
    n = x.shape[-1]
    places = np.arange(n)
    return 2.0 * np.fft.fft(x * turned(places * -0.5, n), 2 * n)[..., :n] * turned(places * -0.5 - 0.25, n)


def turned(places, n):
    return np.exp(1j * (math.pi / n * places))


def transformed(x, sine, kind, n, axis, norm, inverse):
    a = floats(np.asarray(x))
    if kind != 1 and kind != 2 and kind != 3 and kind != 4:
        raise ValueError(f"invalid transform type {kind}")
    if norm is not None and norm != "backward" and norm != "ortho" and norm != "forward":
        raise ValueError(f"Invalid norm value {norm!r}, should be 'backward', 'ortho' or 'forward'")
    if inverse and (kind == 2 or kind == 3):
        kind = 5 - kind
    if n is not None:
        a = resized(a, n, axis)
    last = np.moveaxis(a, axis, -1)
    size = last.shape[-1]
    if kind == 1 and not sine and size < 2:
        raise RuntimeError("DCT-I is not defined for size < 2")
    points = 2.0 * (size if kind != 1 else size + 1 if sine else size - 1)
    place = np.arange(size)
    end = place == size - 1 if sine else place == 0
    if kind == 1 and not sine:
        end = end | (place == size - 1)
    root = np.where(end, math.sqrt(2.0), 1.0)
    if norm == "ortho" and (kind == 3 or kind == 1 and not sine):
        last = last * root
    rows = (sines(last, kind) if sine else cosines(last, kind)).astype(a.dtype)
    if norm == "ortho":
        if kind == 2 or kind == 1 and not sine:
            rows = rows / root
        rows = rows / np.sqrt(points)
    elif (norm == "forward") != inverse:
        rows = rows / points
    return np.moveaxis(rows.astype(a.dtype), -1, axis)


def over_axes(x, sine, kind, s, axes, norm, inverse):
    if s is not None:
        return unsupported("a transform of several axes with s=", "cut or fill the array")
    a = np.asarray(x)
    for k in range(np.ndim(a)) if axes is None else (axes,) if np.ndim(axes) == 0 else axes:
        a = transformed(a, sine, kind, None, k, norm, inverse)
    return a


def left_alone(orthogonalize):
    if orthogonalize is not None:
        return unsupported("orthogonalize=", "use norm='ortho'")
    return True


def along(sine, inverse):
    def function(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, orthogonalize=None):
        left_alone(orthogonalize)
        return transformed(x, sine, type, n, axis, norm, inverse)
    return function


def along_all(sine, inverse):
    def function(x, type=2, s=None, axes=None, norm=None, overwrite_x=False, workers=None, *, orthogonalize=None):
        left_alone(orthogonalize)
        return over_axes(x, sine, type, s, axes, norm, inverse)
    return function


for _name, _sine in (("dct", False), ("dst", True)):
    defines(getattr(scipy.fft, _name))(along(_sine, False))
    defines(getattr(scipy.fft, "i" + _name))(along(_sine, True))
    defines(getattr(scipy.fft, _name + "n"))(along_all(_sine, False))
    defines(getattr(scipy.fft, f"i{_name}n"))(along_all(_sine, True))
