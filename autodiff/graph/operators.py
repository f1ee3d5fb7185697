"""Operators and methods of Tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import indexing, reductions, shaping, views
from .dispatch import array_function, array_ufunc
from .elementwise import ELEMENTWISE
from .products import matmul
from .record import binary, unary
from .tensor import Tensor, data_of, tensor

_name: str
_ufunc: Any
OPERANDS = (int, float, complex, np.ndarray, np.generic, list, tuple)


def listed(value):
    """A list or tuple as a Tensor, other operands as they are."""
    return tensor(value) if isinstance(value, (list, tuple)) else value


def operator(name: str, ufunc) -> None:
    entry = ELEMENTWISE[ufunc]

    def forward(self, other):
        if type(other) is Tensor or isinstance(other, (Tensor, int, float, complex, np.ndarray, np.generic)):
            return binary(entry, self, other)
        return binary(entry, self, listed(other)) if isinstance(other, (list, tuple)) else NotImplemented

    def reflected(self, other):
        return binary(entry, listed(other), self) if isinstance(other, OPERANDS) else NotImplemented

    def changed(self, other):
        if not isinstance(other, (Tensor, *OPERANDS)):
            return NotImplemented
        return views.in_place(self, lambda old: binary(entry, old, other), other)
    for prefix, function in (("", forward), ("r", reflected), ("i", changed)):
        function.__name__ = f"__{prefix}{name}__"
        setattr(Tensor, function.__name__, function)


for _name, _ufunc in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("truediv", np.true_divide),
                      ("pow", np.power), ("mod", np.remainder), ("floordiv", np.floor_divide)):
    operator(_name, _ufunc)


def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
    if method == "__call__" and not kwargs:
        entry = ELEMENTWISE.get(ufunc)
        if entry is not None:
            return unary(entry, inputs[0]) if entry.arity == 1 else binary(entry, *inputs)
    return array_ufunc(ufunc, method, inputs, kwargs)


def discrete(name: str, ufunc, reflected: bool = False) -> None:
    """Comparisons and bits: results that have no derivative."""
    def compared(self, other):
        if isinstance(other, (Tensor, *OPERANDS)):
            return Tensor(ufunc(self._array, data_of(other)))
        return NotImplemented
    setattr(Tensor, f"__{name}__", compared)
    if reflected:
        setattr(Tensor, f"__r{name}__", lambda self, other: Tensor(ufunc(data_of(other), self._array)))


for _name, _ufunc in (("lt", np.less), ("le", np.less_equal), ("gt", np.greater), ("ge", np.greater_equal),
                      ("eq", np.equal), ("ne", np.not_equal)):
    discrete(_name, _ufunc)
for _name, _ufunc in (("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor),
                      ("lshift", np.left_shift), ("rshift", np.right_shift)):
    discrete(_name, _ufunc, True)


def method(function, *names) -> None:
    for name in names or (function.__name__,):
        setattr(Tensor, name, function)


def unary_method(name: str, ufunc) -> None:
    entry = ELEMENTWISE[ufunc]
    setattr(Tensor, name, lambda self: unary(entry, self))


for _name, _ufunc in (("__neg__", np.negative), ("neg", np.negative), ("__abs__", np.abs), ("abs", np.abs),
                      ("exp", np.exp), ("log", np.log), ("sqrt", np.sqrt), ("sin", np.sin), ("cos", np.cos),
                      ("tan", np.tan), ("tanh", np.tanh), ("sign", np.sign), ("floor", np.floor), ("ceil", np.ceil)):
    unary_method(_name, _ufunc)

method(lambda self: Tensor(np.invert(self._array)), "__invert__")
method(lambda self: self.clone(), "__pos__")
method(__array_ufunc__)
method(lambda self, other: matmul(self, listed(other)), "__matmul__", "matmul")
method(lambda self, other: matmul(listed(other), self), "__rmatmul__")
method(lambda self, other: np.divmod(self, listed(other)), "__divmod__")
method(lambda self, other: np.divmod(listed(other), self), "__rdivmod__")
method(lambda self, other: views.in_place(self, lambda old: matmul(old, other), other), "__imatmul__")
method(lambda self, function, types, args, kwargs: array_function(function, types, args, kwargs), "__array_function__")
method(lambda self, index: indexing.getitem(self, index), "__getitem__")
method(lambda self, index, value: views.assign(self, index, value), "__setitem__")


def __iter__(self):
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d tensor")
    return rows(self)


def rows(tensor):
    for k in range(len(tensor._array)):
        row = tensor[k]
        row._fixed = row._fixed or "multi"
        yield row


method(__iter__)
method(lambda self: tuple(self), "unbind")
method(lambda self, condition, axis=None, out=None: np.compress(condition, self, axis, out), "compress")
method(lambda self, item: bool((self._array == data_of(item)).any()), "__contains__")


# -- reductions -----------------------------------------------------------------------------------------------------
for _name in ("sum", "mean", "var", "std", "prod", "cumsum", "cumprod", "ptp", "max", "min"):
    method(getattr(reductions, _name), _name)


def as_in_numpy(name: str) -> None:
    """A method that is NumPy's function of that name."""
    function = getattr(np, name)
    setattr(Tensor, name, lambda self, *args, **kwargs: function(self, *args, **kwargs))


for _name in ("argmax", "argmin", "argsort", "nonzero", "searchsorted", "any", "all", "repeat", "take", "diagonal", "trace",
              "round", "clip", "dot"):
    as_in_numpy(_name)


# -- shapes ---------------------------------------------------------------------------------------------------------
def reshape(self, *shape, order="C"):
    return shaping.reshape(self, shape[0] if len(shape) == 1 else shape, order)


def transpose(self, *axes: Any):
    if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))):
        return shaping.transpose(self, axes[0])
    return shaping.transpose(self, axes or None)


def dimensions(self, *axes):
    return shaping.transpose(self, axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes)


method(reshape, "reshape")
method(lambda self, *shape: reshape(self, *shape) if shape else self[...], "view")
method(transpose, "transpose")
method(dimensions, "permute")
method(shaping.ravel, "ravel")
method(lambda self, order="C": shaping.ravel(self, order).clone(), "flatten")
method(shaping.squeeze, "squeeze")
method(shaping.expand_dims, "unsqueeze")
method(shaping.swapaxes, "swapaxes")
method(shaping.astype, "astype")
method(lambda self: shaping.copy(self), "clone", "__copy__")
method(lambda self, order="C": shaping.copy(self), "copy")
method(lambda self: shaping.conj(self), "conj", "conjugate")
method(lambda self, *shape: np.broadcast_to(self, shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list))
                                            else shape), "expand")
method(lambda self, *args, **kwargs: np.clip(self, *args, **kwargs), "clamp")


def sort(self, axis=-1, kind=None, order=None, *, stable=None):
    """Sort in place, as `np.ndarray.sort`; `np.sort(t)` gives a sorted copy."""
    views.in_place(self, lambda old: np.sort(old, axis=axis))


method(sort)


def property_of(name: str, function, assign=None) -> None:
    setattr(Tensor, name, property(function, assign))


property_of("T", lambda self: shaping.transpose(self))
property_of("mT", lambda self: shaping.swapaxes(self, -1, -2))
property_of("real", lambda self: shaping.real(self), lambda self, value: self.real.__setitem__(..., value))
property_of("imag", lambda self: shaping.imag(self), lambda self, value: self.imag.__setitem__(..., value))
property_of("flat", lambda self: shaping.ravel(self))


# -- arithmetic by name, and in place ---------------------------------------------------------------------------------
def named(name: str, ufunc) -> None:
    entry = ELEMENTWISE[ufunc]

    def combined(self, other):
        return binary(entry, self, other)

    def changed(self, other):
        return views.in_place(self, lambda old: binary(entry, old, other), other)
    setattr(Tensor, name, combined)
    setattr(Tensor, name + "_", changed)


for _name, _ufunc in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.true_divide),
                      ("pow", np.power), ("remainder", np.remainder)):
    named(_name, _ufunc)


def changed_by(name: str, ufunc) -> None:
    entry = ELEMENTWISE[ufunc]
    setattr(Tensor, name, lambda self: views.in_place(self, lambda old: unary(entry, old)))


for _name, _ufunc in (("exp_", np.exp), ("sqrt_", np.sqrt), ("neg_", np.negative), ("abs_", np.abs), ("sin_", np.sin),
                      ("cos_", np.cos), ("tanh_", np.tanh), ("log_", np.log)):
    changed_by(_name, _ufunc)


def fill_(self, value):
    """Set every element, in place."""
    self[...] = value
    return self


method(fill_, "fill_", "copy_")
method(lambda self: fill_(self, 0), "zero_")
method(lambda self, *args, **kwargs: views.in_place(self, lambda old: np.clip(old, *args, **kwargs)), "clip_", "clamp_")

__all__: list[str] = []
