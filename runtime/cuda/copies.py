"""Kernels that copy arrays of any strides and ranks, converting their elements, and fill them."""

from __future__ import annotations

import functools

from numba import cuda


@functools.cache
def _copying(rank: int):
    """The kernel that copies a strided array of this rank to a contiguous one, an element a thread."""
    lines = ["def copy(out, source, size):", "    i = cuda.grid(1)", "    if i < size:"]
    index = ["0"] * rank
    for axis in reversed(range(rank)):
        index[axis] = f"k{axis}"
        lines.append(f"        k{axis} = i % out.shape[{axis}]" if axis else "        k0 = i")
        if axis:
            lines.append(f"        i //= out.shape[{axis}]")
    lines.append(f"        out[{', '.join(index)}] = source[{', '.join(index)}]")
    names = dict(globals())
    exec("\n".join(lines), names)
    return names["copy"]


def _fill(out, value, size):
    i = cuda.grid(1)
    if i < size:
        out[i] = value


def _fill_from(out, cell, size):
    i = cuda.grid(1)
    if i < size:
        out[i] = cell[0]


def plan(out, value) -> tuple:
    """(kernel, *arguments) for a launch with as many threads as `out` has elements.

    out: an array; where it is not C-contiguous, `value` is an array of its shape. value: that, a cell, or a NumPy number.
    """
    if getattr(value, "shape", ()) == ():
        return _fill, out.reshape(out.size), value, out.size
    if tuple(value.shape) == tuple(out.shape):
        return _copying(len(out.shape)), out, value, out.size
    return _fill_from, out.reshape(out.size), value, out.size


__all__ = ["plan"]
