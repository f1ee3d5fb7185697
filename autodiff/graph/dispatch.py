"""NumPy's functions on Tensors: which of our functions stands for each."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import MissingRule
from . import indexing, products, reductions, shaping, writing
from .compiled import library_call
from .elementwise import ELEMENTWISE
from .record import binary, record, unary
from .tensor import Tensor, data_of
from .views import in_place

FUNCTIONS: dict = {}


def stands_for(function, *targets) -> None:
    for target in targets:
        FUNCTIONS[target] = function


for _name in ("sum", "mean", "var", "std", "max", "min", "ptp", "prod", "cumsum", "cumprod"):
    stands_for(getattr(reductions, _name), getattr(np, _name))
stands_for(reductions.max, np.amax)
stands_for(reductions.min, np.amin)
stands_for(reductions.norm, np.linalg.norm)
for _name in ("reshape", "ravel", "transpose", "swapaxes", "moveaxis", "squeeze", "expand_dims", "broadcast_to",
              "broadcast_arrays", "concatenate", "stack", "where", "split", "array_split", "hsplit", "vsplit", "dsplit",
              "sort", "clip", "real", "imag", "angle", "copy", "pad"):
    stands_for(getattr(shaping, _name), getattr(np, _name))
for _name in ("dot", "vdot", "inner", "outer", "tensordot", "einsum"):
    stands_for(getattr(products, _name), getattr(np, _name))
for _name in ("solve", "inv", "det", "slogdet", "cholesky"):
    stands_for(getattr(products, _name), getattr(np.linalg, _name))
for _name in ("flip", "fliplr", "flipud", "rot90", "roll", "rollaxis", "repeat", "tile", "diag", "diagonal", "tril", "triu",
              "take", "take_along_axis", "delete", "diagflat", "resize"):
    stands_for(shaping.mover(_name.title(), getattr(np, _name)), getattr(np, _name))
for _name in ("hstack", "vstack", "dstack", "column_stack"):
    stands_for(shaping.joiner(_name.title(), getattr(np, _name)), getattr(np, _name))
for _name in writing.__all__:
    stands_for(getattr(writing, _name), getattr(np, _name))
for _module in (np, np.linalg):
    for _name in ("permute_dims", "matrix_transpose", "concat", "cumulative_sum", "cumulative_prod", "astype"):
        if hasattr(_module, _name):
            _ours: Any = {"permute_dims": shaping.transpose, "concat": shaping.concatenate, "astype": shaping.astype,
                     "matrix_transpose": lambda x: np.swapaxes(x, -1, -2)}.get(_name)
            if _ours is not None:
                stands_for(_ours, getattr(_module, _name))


def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    return reductions.sum(np.diagonal(a, offset, axis1, axis2), -1, dtype, out)


def trim_zeros(filt, trim="fb"):
    data = data_of(filt)
    start = data.size - len(np.trim_zeros(data, "f")) if "f" in trim.lower() else 0
    return filt[start:start + len(np.trim_zeros(data, trim))]


def atleast(k: int):
    def least(*arrays):
        made = tuple(np.reshape(a, getattr(np, f"atleast_{k}d")(data_of(a)).shape) for a in arrays)
        return made[0] if len(made) == 1 else made
    return least


def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    if weights is None:
        return NotImplemented if returned else reductions.mean(a, axis, keepdims=keepdims)
    if np.ndim(weights) != np.ndim(a) and axis is not None and not isinstance(axis, tuple):
        weights = np.reshape(weights, tuple(-1 if k == axis % np.ndim(a) else 1 for k in range(np.ndim(a))))
    scale = np.sum(np.broadcast_to(weights, np.shape(a)), axis=axis, keepdims=keepdims)
    result = np.sum(a * weights, axis=axis, keepdims=keepdims) / scale
    return (result, scale) if returned else result


def append(arr, values, axis=None):
    return shaping.concatenate((arr, values), axis)


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    good = np.isfinite(x._array)
    return np.where(good, x, np.nan_to_num(x._array, True, nan, posinf, neginf))


def compress(condition, a, axis=None, out=None):
    a, axis = (a.reshape(-1), 0) if axis is None else (a, axis)
    return into(out, np.take(a, np.flatnonzero(data_of(condition)), axis)) if out is not None else \
        np.take(a, np.flatnonzero(data_of(condition)), axis)


def extract(condition, arr):
    return np.ravel(arr)[np.flatnonzero(data_of(condition))]


def diff(a, n=1, axis=-1, **kwargs):
    if kwargs:
        return NotImplemented
    lead = (slice(None),) * (axis % a.ndim)
    for _ in range(n):
        a = a[(*lead, slice(1, None))] - a[(*lead, slice(None, -1))]
    return a


def full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None):
    like = np.full_like(data_of(a), data_of(fill_value), dtype=dtype, shape=shape)
    if not isinstance(fill_value, Tensor):
        return Tensor(like)
    return shaping.copy(shaping.broadcast_to(fill_value.astype(like.dtype), like.shape))


stands_for(full_like, np.full_like)
stands_for(trace, np.trace)
for _k in (1, 2, 3):
    stands_for(atleast(_k), getattr(np, f"atleast_{_k}d"))
stands_for(average, np.average)
stands_for(compress, np.compress)
stands_for(extract, np.extract)
stands_for(append, np.append)
stands_for(diff, np.diff)
stands_for(nan_to_num, np.nan_to_num)
stands_for(trim_zeros, np.trim_zeros)

# What gives no derivative: indices, counts, truths, sizes, text, and constants made in the likeness of a Tensor.
DISCRETE = frozenset(getattr(np, n) for n in """
argmax argmin argsort argwhere nonzero flatnonzero count_nonzero searchsorted digitize lexsort argpartition nanargmax
nanargmin all any isclose allclose array_equal array_equiv iscomplex isreal iscomplexobj isrealobj isneginf isposinf isin
unravel_index
shape ndim size zeros_like ones_like empty_like triu_indices_from tril_indices_from diag_indices_from
result_type can_cast common_type array_repr array_str array2string
may_share_memory shares_memory min_scalar_type unique_counts
""".split() if hasattr(np, n))


def array_function(function, types, args, kwargs):
    """A NumPy function that is not a ufunc, called with a Tensor somewhere in its arguments."""
    ours = FUNCTIONS.get(function)
    if ours is not None:
        result = ours(*args, **kwargs)
        if result is not NotImplemented:
            return result
    if function in DISCRETE:
        return wrapped(function(*plain(args), **plain(kwargs)))
    if not any(t.requires_grad for t in tensors_in((args, kwargs))):
        return wrapped(function(*plain(args), **plain(kwargs)))
    try:
        return library_call(function, args, kwargs)
    except MissingRule:
        result = function(*plain(args), **plain(kwargs))
        if differentiable(result, tuple(tensors_in((args, kwargs)))):
            raise
        return wrapped(result)                      # integers and truths have no derivative


def array_ufunc(ufunc, method, inputs, kwargs):
    """A ufunc, or a method of one, called with a Tensor."""
    out = kwargs.pop("out", None)
    if out is not None:
        out = out if isinstance(out, tuple) else (out,)
        if len(out) == 1 and method == "__call__" and "where" in kwargs:
            return into(out[0], with_keywords(ufunc, inputs, kwargs, out[0]))
        result = array_ufunc(ufunc, method, inputs, kwargs)
        if len(out) == 1:
            return into(out[0], result)
        return tuple(r if o is None else into(o, r) for o, r in zip(out, result, strict=True))
    if method == "__call__":
        if kwargs:
            return with_keywords(ufunc, inputs, kwargs)
        entry = ELEMENTWISE.get(ufunc)
        if entry is not None:
            return unary(entry, inputs[0]) if entry.arity == 1 else binary(entry, *inputs)
        other = OTHERS.get(ufunc)
        if other is not None:
            return other(*inputs)
        result = ufunc(*plain(inputs))
        if not differentiable(result, inputs):
            return wrapped(result)
        return library_call(ufunc, inputs, {})
    return ufunc_method(ufunc, method, inputs, kwargs)


def with_keywords(ufunc, inputs, kwargs, old=None):
    """A call with `dtype=` or `where=`: elsewhere stands what `out=` had, or zero."""
    dtype = kwargs.pop("dtype", None)
    where = kwargs.pop("where", True)
    kwargs.pop("casting", None)
    if kwargs:
        raise TypeError(f"np.{ufunc.__name__} on Tensors does not take {', '.join(kwargs)}")
    if dtype is not None:
        inputs = tuple(i.astype(dtype) if isinstance(i, Tensor) else i for i in inputs)
    result = array_ufunc(ufunc, "__call__", inputs, {})
    return result if where is True else np.where(where, result, np.zeros_like(data_of(result)) if old is None else old)


def into(out, result):
    """What `out=` names gets the result, as an assignment of all its elements."""
    if not isinstance(out, Tensor):
        raise TypeError("the result of an operation on Tensors goes to a Tensor: out= is an array")
    out[...] = result
    return out


def differentiable(result, inputs) -> bool:
    """Whether a call has a derivative that may be wanted."""
    parts = result if isinstance(result, tuple) else (result,)
    return any(np.asarray(p).dtype.kind in "fc" for p in parts) and any(
        isinstance(t, Tensor) and t.requires_grad for t in inputs)


def ufunc_method(ufunc, method, inputs, kwargs):
    a = inputs[0]
    name = f"{ufunc.__name__}.{method}"
    if method == "reduce" and ufunc in REDUCTIONS:
        axis = inputs[1] if len(inputs) > 1 else kwargs.pop("axis", 0)
        kwargs = {k: v for k, v in kwargs.items() if v is not None and not (k == "where" and v is True)
                  and v is not np._NoValue}
        return REDUCTIONS[ufunc](a, axis, **kwargs)
    if method == "accumulate" and ufunc in ACCUMULATIONS:
        return ACCUMULATIONS[ufunc](a, inputs[1] if len(inputs) > 1 else kwargs.get("axis", 0))
    if method == "outer" and not kwargs:
        x, y = inputs
        return ufunc(np.reshape(x, np.shape(x) + (1,) * np.ndim(y)), y)
    if method == "at" and isinstance(a, Tensor) and ufunc in (np.add, np.subtract):
        return add_at(a, inputs[1], inputs[2] if ufunc is np.add else -inputs[2])
    tracked_inputs = any(t.requires_grad for t in tensors_in((inputs, kwargs)))
    if method == "at":
        if tracked_inputs:
            raise MissingRule(f"`np.{name}` has no derivative rule on Tensors", None,
                              "use np.add.at, or an assignment t[index] = ...")
        getattr(ufunc, method)(*plain(inputs))
        if isinstance(a, Tensor):
            a._shared_counter()[0] += 1
        return None
    if tracked_inputs:
        return library_call(ufunc, inputs, kwargs, method)
    return wrapped(getattr(ufunc, method)(*plain(inputs), **plain(kwargs)))


def add_at(t, index, value):
    """`np.add.at(t, index, value)`: repeated places add up."""
    index = indexing.plain_index(index)
    shape = t.shape

    def added(old):
        part = old._array[index].shape
        full = np.broadcast_to(value, part)
        spread = np.zeros(shape, t.dtype)
        np.add.at(spread, index, data_of(full))
        return old + record("IndexAdd", spread, (full,), lambda g: g[index])
    in_place(t, added, value)


REDUCTIONS = {np.add: reductions.sum, np.multiply: reductions.prod, np.maximum: reductions.max, np.minimum: reductions.min}
ACCUMULATIONS = {np.add: reductions.cumsum, np.multiply: reductions.cumprod}
OTHERS: dict[Any, Any] = {
    np.square: lambda x: x * x,
    np.ldexp: lambda x, n: x * np.exp2(n),
    np.reciprocal: lambda x: 1 / x,
    np.positive: lambda x: x.clone(),
    np.conjugate: shaping.conj,
    np.matmul: products.matmul,
    np.float_power: lambda x, y: np.power(x, y) if data_of(x).dtype.kind in "fc" else np.power(x.astype(float), y),
    np.divmod: lambda x, y: (np.floor_divide(x, y), np.mod(x, y)),
    np.modf: lambda x: (x - np.trunc(x), np.trunc(x)),
}
if hasattr(np, "vecdot"):
    OTHERS[np.vecdot] = lambda x, y: np.sum(np.conjugate(x) * y, axis=-1)


def plain(value):
    """Arguments with the arrays of their Tensors."""
    if isinstance(value, Tensor):
        return value._array
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)(map(plain, value))
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value


def wrapped(value):
    """Results as Tensors: arrays and numbers; Python's own values stay."""
    if isinstance(value, (np.ndarray, np.generic)):
        return Tensor(value) if np.asarray(value).dtype.kind in "biufc" else value
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(map(wrapped, value))
    if isinstance(value, list):
        return list(map(wrapped, value))
    return value


def tensors_in(value):
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for v in value:
            yield from tensors_in(v)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


__all__ = ["array_function", "array_ufunc", "plain", "tensors_in"]
