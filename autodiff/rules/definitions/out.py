"""The arguments `out=` and `where=` of definitions."""

import numpy as np


def stored(out, result, casting="same_kind"):
    """The result, put into `out` where one is given."""
    if out is None:
        return result
    if np.ndim(out) != np.ndim(result):
        raise ValueError("output parameter has the wrong number of dimensions")
    for p, q in zip(np.shape(out), np.shape(result), strict=True):
        if p != q:
            raise ValueError("output parameter has the wrong shape")
    if not np.can_cast(np.result_type(result), np.result_type(out), casting):
        raise TypeError("Cannot cast the result to the dtype of `out`")
    out[...] = result
    return out


def mask(where):
    """`where=`: NumPy takes no arrays of numbers for truths there."""
    if hasattr(where, "dtype") and np.ndim(where) and where.dtype.kind != "b":
        raise TypeError("Cannot cast the array `where` to dtype('bool') according to the rule 'safe'")
    return where
