"""The modes of np.pad whose elements are computed, one axis after the other, as NumPy does it."""

import numpy as np

from ...transforms.lower.numpy_functions.shaping import pad_by_axes
from ..decorators import defines


@defines(pad_by_axes)
def padded(x, widths, mode, values, ends):
    a = x
    for k, (low, high) in enumerate(widths):
        before, after = ends_of(a, k, mode, values, ends)
        a = np.concatenate((ramp(before, np.take(a, [0], axis=k), low, k, mode, True), a,
                            ramp(after, np.take(a, [-1], axis=k), high, k, mode, False)), axis=k)
    return a


def ends_of(a, k, mode, values, ends):
    """The outermost elements before and after an axis: numbers, or arrays with that axis of length 1."""
    if mode == "mean":
        both = np.mean(a, axis=k, keepdims=True)
    elif mode == "maximum":
        both = np.max(a, axis=k, keepdims=True)
    elif mode == "minimum":
        both = np.min(a, axis=k, keepdims=True)
    else:
        pairs = np.broadcast_to(np.asarray(ends if mode == "linear_ramp" else values), (a.ndim, 2))
        return pairs[k, 0], pairs[k, 1]
    return both, both


def ramp(end, edge, count, k, mode, before):
    """`count` elements along an axis: equal ones, or a line from the end to the edge."""
    shape = (*edge.shape[:k], count, *edge.shape[k + 1:])
    if mode != "linear_ramp":
        return np.broadcast_to(end, shape).astype(edge.dtype)
    part = np.arange(count) if before else np.arange(count - 1, -1, -1)
    along = part.reshape((-1,) + (1,) * (edge.ndim - k - 1)) / max(count, 1)
    return (end + along * (edge - end)).astype(edge.dtype)
