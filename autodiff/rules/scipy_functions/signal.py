"""Convolutions and linear filters of `scipy.signal`, of real signals and by direct sums whatever `method` says."""

import numpy as np
import scipy
from scipy import signal

from ...transforms.lower.numpy_functions.reductions import unsupported
from ..decorators import defines
from ..definitions.extrema import floats

NEEDS_A_STATE = tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 18)       # filters of one coefficient were refused


def centred(full, first, second, mode):
    """The part of a full convolution of signals with these lengths that `mode` asks for, along the last axis."""
    if mode == "full":
        return full
    if mode == "same":
        start = (second - 1) // 2
        return full[..., start:start + first]
    if mode == "valid":
        short = min(first, second)
        return full[..., short - 1:first + second - short]
    return unsupported("a convolution in this mode", "use full, same or valid")


@defines(signal.convolve)
def convolve(in1, in2, mode="full", method="auto"):
    a, b = np.asarray(in1), np.asarray(in2)
    if np.ndim(a) == 1 and np.ndim(b) == 1:
        return centred(np.convolve(a, b), a.shape[0], b.shape[0], mode)
    if np.ndim(a) == 2 and np.ndim(b) == 2:
        return convolve2d(a, b, mode)
    return unsupported("scipy.signal.convolve of more than two dimensions", "write the loops")


@defines(signal.fftconvolve, signal.oaconvolve)
def fftconvolve(in1, in2, mode="full", axes=None):
    if axes is not None:
        return unsupported("scipy.signal.fftconvolve along some axes", "loop over the others")
    return convolve(in1, in2, mode)


@defines(signal.correlate)
def correlate(in1, in2, mode="full", method="auto"):
    return convolve(in1, np.flip(np.asarray(in2)), mode)


@defines(signal.convolve2d)
def convolve2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    if boundary != "fill" or fillvalue != 0:
        return unsupported("scipy.signal.convolve2d with a boundary",
                           "pad the first array by np.pad, and use mode='valid'")
    a, b = np.asarray(in1), np.asarray(in2)
    rows, columns = a.shape
    height, width = b.shape
    full = np.zeros((rows + height - 1, columns + width - 1), dtype=(a[:1, :1] * b[:1, :1]).dtype)
    for p in range(height):
        for i in range(rows):
            for q in range(width):
                for j in range(columns):
                    full[i + p, j + q] += a[i, j] * b[p, q]
    return centred(centred(full, columns, width, mode).T, rows, height, mode).T


@defines(signal.correlate2d)
def correlate2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    """As a convolution with the flipped array; of an even size "same" begins one element later."""
    a, b = np.asarray(in1), np.flip(np.asarray(in2))
    if mode == "same":
        up, left = b.shape[0] // 2, b.shape[1] // 2
        return convolve2d(a, b, "full", boundary, fillvalue)[up:up + a.shape[0], left:left + a.shape[1]]
    return convolve2d(a, b, mode, boundary, fillvalue)


@defines(signal.lfilter)
def lfilter(b, a, x, axis=-1, zi=None):
    """a[0] y[k] = b[0] x[k] + b[1] x[k - 1] + ... - a[1] y[k - 1] - ..., and zi[k] more at the beginning."""
    x = np.asarray(x)
    moving, fed_back = np.asarray(b) / a[0], np.asarray(a) / a[0]
    last = np.moveaxis(x.astype(np.result_type(x.dtype, moving.dtype, fed_back.dtype)), axis, -1)
    n, order = last.shape[-1], max(moving.shape[0], fed_back.shape[0]) - 1
    rows = np.reshape(last, (-1, n))
    out = np.zeros_like(rows)
    if zi is not None:
        state = np.reshape(np.broadcast_to(np.moveaxis(np.asarray(zi), axis, -1), (*last.shape[:-1], order)), (-1, order))
    for r in range(rows.shape[0]):
        for k in range(n):
            total = 0.0 * rows[r, k]
            if zi is not None:
                if k < order:
                    total += state[r, k]
            for i in range(min(k + 1, moving.shape[0])):
                total += moving[i] * rows[r, k - i]
            for i in range(1, min(k + 1, fed_back.shape[0])):
                total -= fed_back[i] * out[r, k - i]
            out[r, k] = total
    result = np.moveaxis(np.reshape(out, last.shape), -1, axis)
    if zi is None:
        return result
    final = np.zeros_like(state)
    for r in range(rows.shape[0]):
        for i in range(order):
            if n + i < order:
                final[r, i] += state[r, n + i]
            for j in range(i + 1, min(n + i + 1, moving.shape[0])):
                final[r, i] += moving[j] * rows[r, n + i - j]
            for j in range(i + 1, min(n + i + 1, fed_back.shape[0])):
                final[r, i] -= fed_back[j] * out[r, n + i - j]
    return result, np.moveaxis(np.reshape(final, (*last.shape[:-1], order)), -1, axis)


@defines(signal.detrend)
def detrend(data, axis=-1, type="linear", bp=0, overwrite_data=False):
    last = np.moveaxis(floats(np.asarray(data)), axis, -1)
    flat = last - np.mean(last, axis=-1, keepdims=True)
    if type == "constant" or type == "c":
        return np.moveaxis(flat, -1, axis)
    if bp != 0:
        return unsupported("scipy.signal.detrend with break points", "detrend the pieces")
    n = last.shape[-1]
    line = (np.arange(n) - 0.5 * (n - 1)).astype(last.dtype)
    slope = np.sum(flat * line, axis=-1, keepdims=True) / np.sum(line * line)
    return np.moveaxis(flat - slope * line, -1, axis)


@defines(signal.lfilter_zi)
def lfilter_zi(b, a):
    """The state of `lfilter` in which a constant signal 1 stays as the filter leaves it."""
    n = max(np.shape(b)[0], np.shape(a)[0])
    if n < 2 and NEEDS_A_STATE:
        raise ValueError("The length of `a` along the last axis must be at least 2.")
    if a[0] == 0.0:
        raise ValueError("a filter whose first coefficient `a` is 0 is not differentiated: leave it out")
    if n < 2:
        return np.zeros(0, dtype=(np.asarray(b) / a[0]).dtype)
    moving, fed_back = np.asarray(b) / a[0], np.asarray(a) / a[0]
    moving = np.concatenate((moving, np.zeros(n - moving.shape[0], dtype=moving.dtype)))
    fed_back = np.concatenate((fed_back, np.zeros(n - fed_back.shape[0], dtype=fed_back.dtype)))
    matrix = np.eye(n - 1, dtype=moving.dtype) - np.eye(n - 1, k=1, dtype=moving.dtype)
    matrix[:, 0] += fed_back[1:]
    return np.linalg.solve(matrix, moving[1:] - fed_back[1:] * moving[0])


def extended(x, edge, padtype):
    """The signals, along the last axis, with `edge` places more at each end."""
    if padtype == "constant":
        left, right = np.repeat(x[..., :1], edge, axis=-1), np.repeat(x[..., -1:], edge, axis=-1)
        return np.concatenate((left, x, right), axis=-1)
    left, right = np.flip(x[..., 1:edge + 1], axis=-1), np.flip(x[..., -edge - 1:-1], axis=-1)
    if padtype == "odd":
        left, right = 2.0 * x[..., :1] - left, 2.0 * x[..., -1:] - right
    return np.concatenate((left, x, right), axis=-1)


@defines(signal.filtfilt)
def filtfilt(b, a, x, axis=-1, padtype="odd", padlen=None, method="pad", irlen=None):
    if method != "pad":
        return unsupported("scipy.signal.filtfilt by this method", "use method='pad'")
    if padtype is not None and padtype != "even" and padtype != "odd" and padtype != "constant":
        raise ValueError(f"Unknown value '{padtype}' given to padtype. padtype must be 'even', 'odd', 'constant', or None.")
    last = np.moveaxis(floats(np.asarray(x)), axis, -1)
    n = last.shape[-1]
    edge = 0 if padtype is None else 3 * max(np.shape(b)[0], np.shape(a)[0]) if padlen is None else padlen
    if n <= edge:
        raise ValueError(f"The length of the input vector x must be greater than padlen, which is {edge}.")
    longer = extended(last, edge, padtype) if edge > 0 else last
    state = lfilter_zi(b, a)
    there = lfilter(b, a, longer, zi=state * longer[..., :1])[0]
    back = lfilter(b, a, np.flip(there, axis=-1), zi=state * there[..., -1:])[0]
    return np.moveaxis(np.flip(back, axis=-1)[..., edge:edge + n], -1, axis)


@defines(signal.sosfilt)
def sosfilt(sos, x, axis=-1, zi=None):
    """One `lfilter` after another, without a state."""
    if zi is not None:
        return unsupported("scipy.signal.sosfilt with a state", "call lfilter with zi= for each section")
    sections, out = np.asarray(sos), np.asarray(x)
    if np.ndim(sections) != 2 or sections.shape[1] != 6:
        raise ValueError("sos array must be shape (n_sections, 6)")
    for k in range(sections.shape[0]):
        if sections[k, 3] != 1.0:
            raise ValueError("sos[:, 3] should be all ones")
        out = lfilter(sections[k, :3], sections[k, 3:], out, axis)
    return out
