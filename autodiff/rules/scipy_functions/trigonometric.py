"""Cosine and sine transforms of `scipy.fft`, as products with their matrices: n^2 operations."""

import math

import numpy as np
import scipy.fft

from ...transforms.lower.numpy_functions.reductions import unsupported
from ..decorators import defines
from ..definitions.extrema import floats
from .fourier import resized


def cosine_matrix(n, kind):
    """Rows k, columns n; the ends of types 1 and 3 count half."""
    k, m = np.arange(n)[:, None] * 1.0, np.arange(n)[None, :] * 1.0
    if kind == 1:
        return np.cos(math.pi / (n - 1) * (k * m)) * np.where((m == 0.0) | (m == n - 1.0), 1.0, 2.0)
    if kind == 2:
        return 2.0 * np.cos(math.pi / (2 * n) * (k * (2.0 * m + 1.0)))
    if kind == 3:
        return np.cos(math.pi / (2 * n) * ((2.0 * k + 1.0) * m)) * np.where(m == 0.0, 1.0, 2.0)
    return 2.0 * np.cos(math.pi / (4 * n) * ((2.0 * k + 1.0) * (2.0 * m + 1.0)))


def sine_matrix(n, kind):
    k, m = np.arange(n)[:, None] * 1.0, np.arange(n)[None, :] * 1.0
    if kind == 1:
        return 2.0 * np.sin(math.pi / (n + 1) * ((k + 1.0) * (m + 1.0)))
    if kind == 2:
        return 2.0 * np.sin(math.pi / (2 * n) * ((k + 1.0) * (2.0 * m + 1.0)))
    if kind == 3:
        return np.sin(math.pi / (2 * n) * ((2.0 * k + 1.0) * (m + 1.0))) * np.where(m == n - 1.0, 1.0, 2.0)
    return 2.0 * np.sin(math.pi / (4 * n) * ((2.0 * k + 1.0) * (2.0 * m + 1.0)))


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
        raise ValueError("DCT-I is not defined for size < 2")
    matrix = sine_matrix(size, kind) if sine else cosine_matrix(size, kind)
    points = 2.0 * (size if kind != 1 else size + 1 if sine else size - 1)
    if norm == "ortho":
        place = np.arange(size)
        end = place == size - 1 if sine else place == 0
        if kind == 1 and not sine:
            end = end | (place == size - 1)
        root = np.where(end, math.sqrt(2.0), 1.0)
        if kind == 2 or kind == 1 and not sine:
            matrix = matrix / root[:, None]
        if kind == 3 or kind == 1 and not sine:
            matrix = matrix * root
        matrix = matrix / np.sqrt(points)
    elif (norm == "forward") != inverse:
        matrix = matrix / points
    rows = last.reshape((-1, size)) @ matrix.T.astype(a.dtype)
    return np.moveaxis(rows.reshape(last.shape), -1, axis)


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
