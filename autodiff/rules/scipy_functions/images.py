"""Linear filters of `scipy.ndimage`: sums of shifted arrays, padded as their mode says."""

from typing import Any

import numpy as np
from scipy import ndimage

from ...transforms.lower.numpy_functions.reductions import unsupported
from ..decorators import defines
from ..definitions.extrema import floats

PADS: dict[str, Any] = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap",
    "grid-wrap": "wrap", "constant": "constant", "grid-constant": "constant"}


def padded(a, widths, mode, cval):
    if mode not in PADS:
        raise RuntimeError("boundary mode not supported")
    return np.pad(a, widths, mode="constant", constant_values=cval) if PADS[mode] == "constant" else \
        np.pad(a, widths, mode=PADS[mode])


def plain(output, origin):
    """Whether the options that have no derivative are left alone."""
    if output is not None:
        return unsupported("a filter of scipy.ndimage with output=", "use what it returns")
    if np.ndim(origin) != 0 or origin != 0:
        return unsupported("a filter of scipy.ndimage with origin=", "roll the result")
    return True


@defines(ndimage.correlate1d)
def correlate1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    plain(output, origin)
    a, w = floats(np.asarray(input)), np.asarray(weights)
    last = np.moveaxis(a, axis, -1)
    count, n = w.shape[0], last.shape[-1]
    rows = last.reshape((-1, n))
    wide = padded(rows, ((0, 0), (count // 2, count - 1 - count // 2)), mode, cval)
    total = np.zeros_like(rows)
    for k in range(count):
        total += w[k] * wide[:, k:k + n]
    return np.moveaxis(total.reshape(last.shape), -1, axis)


@defines(ndimage.convolve1d)
def convolve1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    """The window of an even number of weights begins one element later."""
    plain(output, origin)
    w = np.flip(np.asarray(weights))
    if w.shape[0] % 2 == 0:
        w = np.concatenate((np.zeros(1), w))
    return correlate1d(input, w, axis, None, mode, cval)


@defines(ndimage.gaussian_filter1d)
def gaussian_filter1d(input, sigma, axis=-1, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0, *, radius=None):
    """The number of weights has no derivative."""
    if order != 0:
        return unsupported("a Gaussian filter of a derivative", "filter with order=0 and use np.gradient")
    half = int(truncate * float(sigma) + 0.5) if radius is None else radius
    places = np.arange(-half, half + 1) * 1.0
    w = np.exp(-0.5 * places * places / (sigma * sigma))
    return correlate1d(input, w / np.sum(w), axis, output, mode, cval)


@defines(ndimage.gaussian_filter)
def gaussian_filter(input, sigma, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0, *, radius=None, axes=None):
    plain(output, 0)
    if np.ndim(order) != 0 or order != 0 or axes is not None or not isinstance(mode, str):
        return unsupported("gaussian_filter with order=, axes= or several modes", "call gaussian_filter1d for each axis")
    a = np.asarray(input)
    for k in range(np.ndim(a)):
        a = gaussian_filter1d(a, sigma if np.ndim(sigma) == 0 else sigma[k], k, 0, None, mode, cval, truncate,
                              radius=radius if radius is None or np.ndim(radius) == 0 else radius[k])
    return a


@defines(ndimage.uniform_filter1d)
def uniform_filter1d(input, size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    plain(output, origin)
    return correlate1d(input, np.full(size, 1.0 / size), axis, None, mode, cval)


@defines(ndimage.uniform_filter)
def uniform_filter(input, size=3, output=None, mode="reflect", cval=0.0, origin=0):
    plain(output, origin)
    a = np.asarray(input)
    for k in range(np.ndim(a)):
        a = uniform_filter1d(a, size if np.ndim(size) == 0 else size[k], k, None, mode, cval)
    return a


@defines(ndimage.correlate)
def correlate(input, weights, output=None, mode="reflect", cval=0.0, origin=0):
    plain(output, origin)
    a, w = floats(np.asarray(input)), np.asarray(weights)
    if np.ndim(a) != np.ndim(w):
        raise RuntimeError("filter weights array has incorrect shape.")
    return shifted_sum(a, w, tuple([n // 2 for n in w.shape]), mode, cval)


@defines(ndimage.convolve)
def convolve(input, weights, output=None, mode="reflect", cval=0.0, origin=0):
    plain(output, origin)
    a, w = floats(np.asarray(input)), np.flip(np.asarray(weights))
    if np.ndim(a) != np.ndim(w):
        raise RuntimeError("filter weights array has incorrect shape.")
    return shifted_sum(a, w, tuple([(n - 1) // 2 for n in w.shape]), mode, cval)


def shifted_sum(a, w, before, mode, cval):
    """before: how many elements of the window stand before its centre, axis by axis."""
    wide = padded(a, tuple([(b, n - 1 - b) for b, n in zip(before, w.shape, strict=True)]), mode, cval)
    total = np.zeros_like(a)
    if np.ndim(a) == 1:
        for i in range(w.shape[0]):
            total += w[i] * wide[i:i + a.shape[0]]
    elif np.ndim(a) == 2:
        for i in range(w.shape[0]):
            for j in range(w.shape[1]):
                total += w[i, j] * wide[i:i + a.shape[0], j:j + a.shape[1]]
    elif np.ndim(a) == 3:
        for i in range(w.shape[0]):
            for j in range(w.shape[1]):
                for k in range(w.shape[2]):
                    total += w[i, j, k] * wide[i:i + a.shape[0], j:j + a.shape[1], k:k + a.shape[2]]
    else:
        return unsupported("this filter of more than three dimensions", "write the loops")
    return total


@defines(ndimage.laplace)
def laplace(input, output=None, mode="reflect", cval=0.0):
    plain(output, 0)
    a = floats(np.asarray(input))
    total = np.zeros_like(a)
    for k in range(np.ndim(a)):
        total += correlate1d(a, np.array([1.0, -2.0, 1.0]), k, None, mode, cval)
    return total


def smoothed_slope(input, axis, smoothing, mode, cval):
    a = floats(np.asarray(input))
    found = correlate1d(a, np.array([-1.0, 0.0, 1.0]), axis, None, mode, cval)
    for k in range(np.ndim(a)):
        if k != axis % np.ndim(a):
            found = correlate1d(found, smoothing, k, None, mode, cval)
    return found


@defines(ndimage.sobel)
def sobel(input, axis=-1, output=None, mode="reflect", cval=0.0):
    plain(output, 0)
    return smoothed_slope(input, axis, np.array([1.0, 2.0, 1.0]), mode, cval)


@defines(ndimage.prewitt)
def prewitt(input, axis=-1, output=None, mode="reflect", cval=0.0):
    plain(output, 0)
    return smoothed_slope(input, axis, np.ones(3), mode, cval)
