"""Shapes, parts and joints of Tensors: what moves numbers without changing them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..transforms.source.plain import as_plain
from .nodes import summed_to
from .record import record, tracked
from .tensor import Tensor, constant, data_of
from .views import view


def reshape(a, shape, order="C", copy=None):
    if isinstance(shape, Tensor):
        shape = tuple(shape.tolist())
    old = a._array.shape
    if order != "C":
        return gathered("Reshape", lambda x: np.reshape(x, shape, order=order), (a,))
    return view("View", a, a._array.reshape(shape), lambda t: t.reshape(shape), lambda g: g.reshape(old))


def ravel(a, order="C"):
    return reshape(a, -1, order)


def transpose(a, axes=None):
    if axes is None:
        return view("T" if a.ndim == 2 else "Permute", a, a._array.T, lambda t: t.T, lambda g: g.T)
    axes = tuple(int(k) % a.ndim for k in axes)
    back = tuple(int(k) for k in np.argsort(axes))
    return view("Permute", a, a._array.transpose(axes), lambda t: np.transpose(t, axes), lambda g: np.transpose(g, back))


def swapaxes(a, axis1, axis2):
    axes = list(range(a.ndim))
    axes[axis1], axes[axis2] = axes[axis2], axes[axis1]
    return transpose(a, axes)


def moveaxis(a, source, destination):
    order = np.moveaxis(np.empty((1,) * 0 if a.ndim == 0 else tuple(range(2, 2 + a.ndim)), bool), source, destination)
    return transpose(a, [s - 2 for s in order.shape])


def squeeze(a, axis=None):
    return reshape(a, np.squeeze(a._array, axis).shape)


def expand_dims(a, axis):
    return reshape(a, np.expand_dims(a._array, axis).shape)


def broadcast_to(a, shape, subok=False):
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    old = a._array.shape
    return view("Expand", a, np.broadcast_to(a._array, shape), lambda t: np.broadcast_to(t, shape),
                lambda g: summed_to(g, old))


def broadcast_arrays(*args, subok=False):
    shape = np.broadcast_shapes(*(np.shape(a) for a in args))
    return tuple(np.broadcast_to(a, shape) for a in args)


def astype(a, dtype, order="K", casting="unsafe", subok=True, copy=True):
    dtype = np.dtype(dtype)
    if dtype == a.dtype:
        return a.clone() if copy else a
    if a.dtype.kind == "c" and dtype.kind == "f":
        return astype(a.real, dtype)
    if dtype.kind not in "fc":
        return Tensor(a._array, dtype)
    return record("ToCopy", a._array.astype(dtype), (a,), lambda g: g)


def copy(a, order="K", subok=False):
    return record("Clone", a._array.copy(), (a,), lambda g: g)


def real(a):
    if a.dtype.kind != "c":
        return a
    return view("Real", a, a._array.real, lambda t: t.real, lambda g: g + 0j)


def imag(a):
    if a.dtype.kind != "c":
        return Tensor(np.zeros_like(a._array))
    return view("Imag", a, a._array.imag, lambda t: t.imag, lambda g: g * 1j)


def conj(a):
    if a.dtype.kind != "c":
        return a
    return record("Conj", np.conj(a._array), (a,), lambda g: np.conj(g))


def angle(z, deg=False):
    if z.dtype.kind != "c":
        return Tensor(np.angle(z._array, deg))
    found = np.arctan2(z.imag, z.real)
    return found * (180 / np.pi) if deg else found


# -- joining ------------------------------------------------------------------------------------------------------
def concatenate(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    arrays = tuple(arrays)
    if axis is None:
        arrays, axis = tuple(np.ravel(a) for a in arrays), 0
    data = np.concatenate([data_of(a) for a in arrays], axis=axis, dtype=dtype)
    axis = axis % data.ndim
    ranges, start = [], 0
    for a in arrays:
        n = np.shape(a)[axis]
        ranges.append(slice(start, start + n) if isinstance(a, Tensor) else None)
        start += n

    def pull(g):
        lead = (slice(None),) * axis
        return tuple(None if r is None else g[(*lead, r)] for r in ranges)
    made = record("Cat", data, arrays, pull)
    if out is not None:
        out[...] = made
        return out
    return made


def stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    arrays = tuple(arrays)
    data = np.stack([data_of(a) for a in arrays], axis=axis, dtype=dtype)
    axis = axis % data.ndim
    places = [k if isinstance(a, Tensor) else None for k, a in enumerate(arrays)]

    def pull(g):
        lead = (slice(None),) * axis
        return tuple(None if k is None else g[(*lead, k)] for k in places)
    made = record("Stack", data, arrays, pull)
    if out is not None:
        out[...] = made
        return out
    return made


def where(condition, x=None, y=None):
    if x is None:
        return np.where(data_of(condition))
    on = as_plain(data_of(condition)).astype(bool)

    shapes = [a.shape if isinstance(a, Tensor) else None for a in (x, y)]

    def pull(g):
        zero = np.zeros((), g.dtype)
        return tuple(None if s is None else summed_to(np.where(on, *sides), s)
                     for s, sides in zip(shapes, ((g, zero), (zero, g)), strict=True))
    return record("Where", np.where(on, data_of(x), data_of(y)), (x, y), pull)


def split(ary, indices_or_sections, axis=0):
    return parts(np.split, ary, indices_or_sections, axis)


def array_split(ary, indices_or_sections, axis=0):
    return parts(np.array_split, ary, indices_or_sections, axis)


def hsplit(ary, indices_or_sections):
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def vsplit(ary, indices_or_sections):
    return split(ary, indices_or_sections, 0)


def dsplit(ary, indices_or_sections):
    return split(ary, indices_or_sections, 2)


def parts(function, ary, indices_or_sections, axis):
    ary, axis = ary if isinstance(ary, Tensor) else Tensor(ary), operator.index(axis)
    lead = (slice(None),) * (axis % ary.ndim)
    made, start = [], 0
    for group in function(np.arange(ary.shape[axis]), data_of(indices_or_sections)):
        part = ary[(*lead, slice(start, start + len(group)))]
        part._fixed = part._fixed or "multi"
        made.append(part)
        start += len(group)
    return made


# -- anything that moves elements -----------------------------------------------------------------------------------
def gathered(title: str, function, arrays):
    """`function(*arrays)` where every element of the result is an element of an argument, or zero.

    Where each comes from is found by running the function on the elements' numbers (from one; zero: no element).
    """
    data = [np.asarray(data_of(a)) for a in arrays]
    out = function(*data)
    ends = 1 + np.cumsum([d.size for d in data])
    kinds = [(d.shape, int(end) - d.size, int(end), isinstance(a, Tensor))
             for a, d, end in zip(arrays, data, ends, strict=True)]

    def pull(g):
        origin = np.asarray(function(*(np.arange(start, end).reshape(shape) for shape, start, end, _ in kinds))).ravel()
        flat = scatter(g.reshape(-1), origin, kinds[-1][2])
        return tuple(flat[start:end].reshape(shape) if on else None for shape, start, end, on in kinds)
    if not tracked(arrays):
        return record(title, out, (), None)
    return record(title, out, tuple(arrays), pull)


def scatter(g, origin, size: int):
    """Sums of the elements of `g` that share an origin."""
    data = data_of(g)
    if data.dtype.kind == "c":
        out = np.bincount(origin, data.real, size) + 1j * np.bincount(origin, data.imag, size)
    else:
        out = np.bincount(origin, data, size)
    out = out.astype(data.dtype, copy=False)
    if not isinstance(g, Tensor):
        return out
    return record("Scatter", out, (g,), lambda h: h[origin])


def mover(name: str, function):
    """A NumPy function of one array that only moves elements, or puts zeros."""
    def moved(a, *args, **kwargs):
        if not isinstance(a, Tensor):
            return NotImplemented
        args = tuple(constant(data_of(v)) for v in args)
        kwargs = {k: constant(data_of(v)) for k, v in kwargs.items()}
        return gathered(name, lambda x: function(x, *args, **kwargs), (a,))
    return moved


def joiner(name: str, function):
    """A NumPy function of a sequence of arrays that only puts them together."""
    def joined(arrays, *args, **kwargs):
        return gathered(name, lambda *xs: function(xs, *args, **kwargs), tuple(arrays))
    return joined


def pad(array, pad_width, mode="constant", **kwargs):
    filled = {"constant": "constant_values"}.get(mode)
    if mode not in ("constant", "edge", "reflect", "symmetric", "wrap"):
        return NotImplemented
    if filled and np.any(np.asarray(kwargs.get(filled, 0)) != 0):
        value = np.pad(array._array, pad_width, mode, **kwargs)
        inside = np.pad(np.ones(array.shape, bool), pad_width)
        return np.where(inside, pad(array, pad_width), value)
    kwargs.pop("constant_values", None)
    return gathered("Pad", lambda x: np.pad(x, pad_width, mode, **kwargs), (array,))


# -- order ----------------------------------------------------------------------------------------------------------
def sort(a, axis=-1, kind=None, order=None, *, stable=None):
    if axis is None:
        a, axis = a.reshape(-1), 0
    place = np.argsort(a._array, axis=axis, kind="stable")
    return gathered("Sort", lambda x: np.take_along_axis(x, place, axis), (a,))


def clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None, **kwargs):
    """Bounds pass the cotangent; Tensors as bounds get theirs where they hold."""
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    x: Any = a if isinstance(a, Tensor) else Tensor(a)
    if low is not None:
        x = np.where(data_of(x) >= data_of(low), x, low) if not np.isnan(data_of(x)).any() else \
            np.where(data_of(x) < data_of(low), low, x)
    if high is not None:
        x = np.where(data_of(x) > data_of(high), high, x)
    result = x if isinstance(x, Tensor) else Tensor(x)
    if out is not None:
        out[...] = result
        return out
    return result


__all__ = ["astype", "broadcast_to", "clip", "concatenate", "gathered", "joiner", "mover", "reshape", "stack", "where"]
