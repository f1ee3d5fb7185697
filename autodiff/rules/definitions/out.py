"""The argument `out=` of definitions."""

import numpy as np


def stored(out, result):
    """The result, put into `out` where one is given."""
    if out is None:
        return result
    if np.ndim(out) != np.ndim(result):
        raise ValueError("output parameter has the wrong number of dimensions")
    for p, q in zip(np.shape(out), np.shape(result), strict=True):
        if p != q:
            raise ValueError("output parameter has the wrong shape")
    out[...] = result
    return out
