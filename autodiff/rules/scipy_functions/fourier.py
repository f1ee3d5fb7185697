"""The functions of np.fft and scipy.fft, made of three unscaled transforms."""

import numpy as np
import scipy.fft

from ...transforms.lower.numpy_functions.fourier import points, real_inverse, real_transform, transform
from ...transforms.lower.numpy_functions.reductions import known, unsupported
from ..decorators import defines
from ..definitions.out import stored
from ..registry import REGISTRY


def fourier(*names):
    """Registers a definition for functions of np.fft and scipy.fft."""
    def register(function):
        found = [getattr(home, name) for home in (np.fft, scipy.fft) for name in names if hasattr(home, name)]
        REGISTRY.complex_definitions.update(found)
        return defines(*found)(function)
    return register


def scaled(y, norm, count, forward):
    """A transform over `count` points with the factor that its norm asks for."""
    if norm == "ortho":
        return y * (1.0 / np.sqrt(float(count)))
    if norm is not None and norm != "backward" and norm != "forward":
        return unsupported("this norm", "use 'backward', 'ortho' or 'forward'")
    return y * (1.0 / count) if (norm == "forward") == forward else y


def opposite(norm):
    return "forward" if norm is None or norm == "backward" else "backward" if norm == "forward" else norm


def resized(x, n, axis):
    """`x` cut or filled with zeros to n elements along an axis."""
    if known(n == x.shape[axis]):
        return x
    moved = np.moveaxis(x, axis, -1)
    out = np.zeros((*moved.shape[:-1], n), dtype=x.dtype)
    kept = min(n, x.shape[axis])
    out[..., :kept] = moved[..., :kept]
    return np.moveaxis(out, -1, axis)


def checked(x, axis):
    """An axis that `x` has."""
    if axis >= np.ndim(x) or axis < -np.ndim(x):
        return unsupported("an axis that the array does not have", "axes count from 0, or from -1 backwards")
    return axis


def places(x, s, axes):
    """The axes of a transform of several, none of them twice."""
    rank = np.ndim(x)
    if axes is None:
        chosen = tuple(range(rank)) if s is None else tuple(range(rank - len(s), rank))
    else:
        chosen = tuple([checked(x, axis) % rank for axis in axes])
    for k, axis in enumerate(chosen):
        if known(axis in chosen[:k]):
            return unsupported("a transform over one axis twice", "call it once for each axis")
    return chosen


def sized(x, s, axes):
    """`x` cut or filled to the sizes `s` along axes; -1 and None leave a size as it is."""
    if s is not None:
        if len(s) != len(axes):
            return unsupported("a shape of another length than the axes", "give one size for each axis")
        for n, axis in zip(s, axes):  # noqa: B905 (the compiler reads this)
            if n is not None and n != -1:
                x = resized(x, n, axis)
    return x


def many(a, s, axes, norm, sign):
    x = np.asarray(a)
    chosen = places(x, s, axes)
    x = sized(x, s, chosen)
    bits, count = 0, 1.0
    for axis in chosen:
        bits += 2 ** axis
        count *= points(x.shape[axis])
    return scaled(transform(x, bits, sign), norm, count, sign < 0)


@fourier("fft")
def fft(a, n=None, axis=-1, norm=None, out=None):
    return stored(out, many(a, None if n is None else (n,), (axis,), norm, -1))


@fourier("ifft")
def ifft(a, n=None, axis=-1, norm=None, out=None):
    return stored(out, many(a, None if n is None else (n,), (axis,), norm, 1))


@fourier("fft2")
def fft2(a, s=None, axes=(-2, -1), norm=None, out=None):
    return stored(out, many(a, s, axes, norm, -1))


@fourier("ifft2")
def ifft2(a, s=None, axes=(-2, -1), norm=None, out=None):
    return stored(out, many(a, s, axes, norm, 1))


@fourier("fftn")
def fftn(a, s=None, axes=None, norm=None, out=None):
    return stored(out, many(a, s, axes, norm, -1))


@fourier("ifftn")
def ifftn(a, s=None, axes=None, norm=None, out=None):
    return stored(out, many(a, s, axes, norm, 1))


@fourier("rfft")
def rfft(a, n=None, axis=-1, norm=None, out=None):
    x = np.asarray(a)
    x = np.moveaxis(x if n is None else resized(x, n, axis), checked(x, axis), -1)
    y = scaled(real_transform(x), norm, points(x.shape[-1]), True)
    return stored(out, np.moveaxis(y, -1, axis))


@fourier("irfft")
def irfft(a, n=None, axis=-1, norm=None, out=None):
    x = np.asarray(a)
    count = points(2 * (x.shape[axis] - 1) if n is None else n)
    y = real_inverse(np.moveaxis(resized(x, count // 2 + 1, checked(x, axis)), axis, -1), count)
    return stored(out, np.moveaxis(scaled(y, norm, count, False), -1, axis))


@fourier("hfft")
def hfft(a, n=None, axis=-1, norm=None, out=None):
    return stored(out, irfft(np.conjugate(a), n, axis, opposite(norm)))


@fourier("ihfft")
def ihfft(a, n=None, axis=-1, norm=None, out=None):
    return stored(out, np.conjugate(rfft(a, n, axis, opposite(norm))))


@fourier("rfftn")
def rfftn(a, s=None, axes=None, norm=None, out=None):
    x = np.asarray(a)
    chosen = places(x, s, axes)
    x = sized(x, s, chosen)
    y = rfft(x, None, chosen[-1], norm)
    return stored(out, many(y, None, chosen[:-1], norm, -1) if len(chosen) > 1 else y)


@fourier("rfft2")
def rfft2(a, s=None, axes=(-2, -1), norm=None, out=None):
    return stored(out, rfftn(a, s, axes, norm))


@fourier("irfftn")
def irfftn(a, s=None, axes=None, norm=None, out=None):
    x = np.asarray(a)
    chosen = places(x, s, axes)
    if len(chosen) > 1:
        x = many(x, None if s is None else s[:-1], chosen[:-1], norm, 1)
    n = None if s is None or s[-1] == -1 else s[-1]
    return stored(out, irfft(x, n, chosen[-1], norm))


@fourier("irfft2")
def irfft2(a, s=None, axes=(-2, -1), norm=None, out=None):
    return stored(out, irfftn(a, s, axes, norm))


@fourier("hfftn")
def hfftn(x, s=None, axes=None, norm=None):
    return irfftn(np.conjugate(x), s, axes, opposite(norm))


@fourier("hfft2")
def hfft2(x, s=None, axes=(-2, -1), norm=None):
    return hfftn(x, s, axes, norm)


@fourier("ihfftn")
def ihfftn(x, s=None, axes=None, norm=None):
    return np.conjugate(rfftn(x, s, axes, opposite(norm)))


@fourier("ihfft2")
def ihfft2(x, s=None, axes=(-2, -1), norm=None):
    return ihfftn(x, s, axes, norm)


@fourier("fftshift")
def fftshift(x, axes=None):
    return rolled(np.asarray(x), axes, 1)


@fourier("ifftshift")
def ifftshift(x, axes=None):
    return rolled(np.asarray(x), axes, -1)


def rolled(x, axes, sign):
    chosen = range(np.ndim(x)) if axes is None else (axes,) if np.ndim(axes) == 0 else axes
    for axis in chosen:
        half = x.shape[axis] // 2
        x = np.roll(x, half if sign > 0 else -half, axis)
    return x


@fourier("fftfreq")
def fftfreq(n, d=1.0):
    k = np.arange(n)
    return np.where(k < (n + 1) // 2, k, k - n) * (1.0 / (n * d))


@fourier("rfftfreq")
def rfftfreq(n, d=1.0):
    return np.arange(n // 2 + 1) * (1.0 / (n * d))
