"""What kernels are called with: kinds of arguments, the numbers and arrays in them, checks of shapes and of memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arguments.kinds import describe
from ..transforms.language.errors import ShapeMismatch, TypeConflict
from ..transforms.lower.kinds import ArrayArg, Leaf
from ..transforms.lower.structures import rebuild
from ..transforms.lower.values import leaves

NUMBERS = (int, float, np.number)


def is_array(value) -> bool:
    """Whether a kernel takes a value as an array, of the host or of a device."""
    return hasattr(value, "shape") and hasattr(value, "dtype") and not isinstance(value, np.generic) or hasattr(
        value, "__cuda_array_interface__")


def description(x) -> tuple[np.dtype, tuple[int, ...]]:
    """The dtype and shape of an array."""
    if isinstance(x, np.ndarray):
        return x.dtype, x.shape
    if not hasattr(x, "dtype"):
        found = x.__cuda_array_interface__
        return np.dtype(found["typestr"]), tuple(found["shape"])
    return np.dtype(str(x.dtype).removeprefix("torch.")), tuple(x.shape)


def kind_of(value):
    """The tree of kinds of an argument (see `arguments.describe`); of arrays only dtype and number of axes are known."""
    tree = describe(with_stand_ins(value))
    specs = [x.spec if isinstance(x, Leaf) else None for x in leaves(tree)]
    return rebuild(tree, iter([Leaf(ArrayArg(spec.dtype, (None,) * len(spec.sizes))) if isinstance(spec, ArrayArg) else x
                               for x, spec in zip(leaves(tree), specs, strict=True)]))


def with_stand_ins(value) -> Any:
    if is_array(value):
        dtype, shape = description(value)
        if dtype.kind not in "fiub" or dtype in (np.float16, np.uint64):
            raise TypeConflict(f"kernels with arrays of dtype {dtype} are not differentiated", None,
                               "use float64, float32, integers of up to 64 bits with a sign, or booleans")
        if not shape:
            raise TypeConflict("an array without axes is no argument of a kernel", None, "pass a number, or an array of one")
        return np.zeros((2,) * len(shape), dtype)
    if isinstance(value, tuple):
        parts = [with_stand_ins(v) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def key_of(value):
    """A hashable key of an argument's kind: equal keys share a specialisation."""
    if is_array(value):
        dtype, shape = description(value)
        return dtype.str, len(shape)
    if isinstance(value, tuple):
        return (type(value), *map(key_of, value))
    if isinstance(value, NUMBERS) and not isinstance(value, bool):
        return type(value)
    return "static", value


def flat(values) -> list:
    """The numbers and arrays in arguments, in the order in which a kernel with flat parameters takes them."""
    found: list = []
    for v in values:
        if isinstance(v, tuple):
            found += flat(v)
        elif is_array(v) or isinstance(v, NUMBERS) and not isinstance(v, bool):
            found.append(v)
    return found


def element_kind(value) -> tuple[str, int]:
    """(name of the dtype, number of axes or -1) of a leaf."""
    if is_array(value):
        dtype, shape = description(value)
        return dtype.name, len(shape)
    return (value.dtype.name if isinstance(value, np.generic) else "int64" if isinstance(value, int) else "float64"), -1


def check_cotangent(name: str, bar, shape, dtype) -> None:
    """Refuse a cotangent that does not fit its array."""
    if not is_array(bar):
        raise TypeConflict(f"the cotangent `{name}` must be an array of shape {tuple(shape)}, not {type(bar).__name__}")
    has_dtype, has_shape = description(bar)
    if tuple(has_shape) != tuple(shape):
        raise ShapeMismatch(f"the cotangent `{name}` has shape {tuple(has_shape)}, and not {tuple(shape)}")
    if has_dtype != np.dtype(dtype):
        raise TypeConflict(f"the cotangent `{name}` is of dtype {has_dtype}, and not {np.dtype(dtype)}", None, "convert it")


__all__ = ["check_cotangent", "description", "element_kind", "flat", "is_array", "key_of", "kind_of"]
