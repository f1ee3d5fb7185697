"""The boundary between Python objects and compiled code: kinds of arguments, flattening, rebuilding results."""

from __future__ import annotations

import copy
import dataclasses
import enum
from collections import Counter
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
from numba.np.numpy_support import as_dtype

from ..transforms.language.core import Arr, Const, Var
from ..transforms.language.errors import TypeConflict
from ..transforms.language.ops import COMPLEX, Narrow, exact, is_complex, normal_dtype
from ..transforms.lower.arrays.points import OUTSIDE
from ..transforms.lower.containers.packing import LARGEST, packed
from ..transforms.lower.functions.places import trusted
from ..transforms.lower.kinds import ArrayArg, GeneratorArg, Leaf, ScalarArg, known_sizes
from ..transforms.lower.structures import rebuild as rebuild_value
from ..transforms.lower.values import Array, Mapping, Packed, Record, Scalar, Sequence, Static, Value
from ..transforms.lower.values import leaves as leaves_of
from ..transforms.source.plain import SUPPORTED, Unread, beside_fields, check_plain, misfit_dtype
from .packing import instance, unpacked
from .sparse import KINDS, is_sparse, parts_of

TENSORS: Any = None         # (class of Tensors, what calls a compiled function with them, their grad), once there are any
PYTHONS = {np.float64, np.int64, np.bool_}      # that results of compiled code have as Python's own numbers
NUMBERS = (int, float, complex, bool, np.generic)


def describe(value, static: bool = False, packs: bool = False) -> Value:
    """The tree of kinds of an argument; `static` makes an integer part of the specialisation. packs: whether long lists of
    alike items are arrays, as in the functions below."""
    if packs and not static and (found := packed(value)) is not None:
        return found.tree
    if hasattr(type(value), "__autodiff_array__"):
        value = value.__autodiff_array__()
    check_plain(value)
    if isinstance(value, np.ndarray):
        if not value.ndim:
            return without_axes(describe(value[()], static))
        return Leaf(ArrayArg.of(value, normal_dtype(value.dtype)))
    if isinstance(value, bool):
        return Static(value)
    if isinstance(value, np.bool_):
        return Known(Const(bool(value), "bool"))
    if isinstance(value, enum.Enum):
        return Static(value)
    if isinstance(value, (int, np.integer)):
        dtype = normal_dtype(value.dtype) if isinstance(value, np.integer) else "int64"
        return Static(int(value)) if static else Leaf(ScalarArg(dtype, isinstance(value, int)))
    if isinstance(value, np.float32):
        return Leaf(ScalarArg("float32", False))
    if isinstance(value, float):
        return Leaf(ScalarArg("float64", type(value) is float))
    if isinstance(value, np.complex64):
        return Leaf(ScalarArg("complex64", False))
    if isinstance(value, complex):
        return Leaf(ScalarArg("complex128", type(value) is complex))
    if isinstance(value, numba.types.Type):
        return describe_type(value)
    if isinstance(value, np.random.Generator):
        return Leaf(GeneratorArg())
    if is_sparse(value):
        parts = parts_of(value)
        if parts is None or parts["data"].dtype.kind == "c":
            raise TypeConflict(f"sparse arrays of format {value.format} and dtype {value.dtype} are not supported", None,
                               "convert it: .tocsr() or .tocsc(), of real numbers")
        return Record(KINDS[value.format], {k: describe(v) for k, v in parts.items()})
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        fields = {f: describe(v, static, packs) for f, v in zip(value._fields, value, strict=True)}
        return Record(type(value), fields | set_on(value))
    if isinstance(value, (tuple, list)):
        return Sequence(tuple(describe(v, static, packs) for v in value), type(value) if type(value) in (tuple, list)
                        else tuple)
    if isinstance(value, dict):
        return Mapping({k: describe(v, static, packs) for k, v in value.items()}, counter_or_dict(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return Record(type(value), {f.name: describe(getattr(value, f.name), static, packs)
                                    for f in dataclasses.fields(value)} | set_on(value))
    if TENSORS is not None and isinstance(value, TENSORS[0]):
        raise TypeConflict("a Tensor stands where an array is needed", None, "pass t.detach().numpy(), or call "
                           "autodiff.differentiable(f)(t), and differentiate what it gives with respect to Tensors")
    return Static(value)


def without_axes(number: Value) -> Value:
    """The tree of an array of rank 0 from that of its number."""
    if isinstance(number, Known):
        return Known(number.atom, boxed=frozenset([OUTSIDE]))
    if isinstance(number, Leaf) and isinstance(number.spec, ScalarArg):
        return Leaf(dataclasses.replace(number.spec, point=True))
    return number


def counter_or_dict(value: dict) -> type:
    """The class by which a dict is read: a Counter has 0 for what it does not hold."""
    return Counter if type(value) is Counter else dict


def set_on(value) -> dict:
    """What was set on an object beside its fields: programs that read it are refused."""
    return {name: Static(Unread()) for name in beside_fields(value)}


def describe_type(kind: Any) -> Value:
    """The tree of a Numba type."""
    if isinstance(kind, numba.types.Array):
        return Leaf(ArrayArg(normal_dtype(supported(kind.dtype)), (None,) * kind.ndim))
    if isinstance(kind, numba.types.Boolean):
        return Leaf(ScalarArg("bool"))
    if isinstance(kind, numba.types.Integer):
        dtype = normal_dtype(as_dtype(numba.types.unliteral(kind)))
        return Leaf(ScalarArg(dtype, exact(dtype) == "int64"))
    if isinstance(kind, numba.types.Float):
        supported(kind)
        return Leaf(ScalarArg("float32", False) if kind == numba.types.float32 else ScalarArg("float64"))
    if isinstance(kind, numba.types.Complex):
        return Leaf(ScalarArg("complex64", False) if kind == numba.types.complex64 else ScalarArg("complex128"))
    if kind == numba.types.npy_rng:
        return Leaf(GeneratorArg())
    if isinstance(kind, (numba.types.NamedTuple, numba.types.NamedUniTuple)):
        return Record(kind.instance_class, dict(zip(kind.fields, map(describe_type, kind.types), strict=True)))
    if isinstance(kind, (numba.types.Tuple, numba.types.UniTuple)):
        return Sequence(tuple(map(describe_type, kind.types)))
    if isinstance(kind, (numba.types.NoneType, numba.types.Omitted)):
        return Static(None)
    raise TypeConflict(f"values of Numba type {kind} are not supported", None, "pass numbers, arrays and tuples of them")


def supported(kind) -> np.dtype:
    """The NumPy dtype of a Numba type of numbers; TypeConflict if it is not supported."""
    try:
        dtype = as_dtype(kind)
    except NotImplementedError:
        raise TypeConflict(f"arrays of {kind} are not supported", None, SUPPORTED) from None
    if (found := misfit_dtype(dtype)) is not None:
        raise TypeConflict(found[0], None, found[1])
    return dtype


def holds(kind: type, args, kwargs) -> bool:
    """Whether an argument is of this class or a structure that has one in it."""
    for a in args:
        if type(a) is kind:
            return True
    return any(inside(kind, a) for a in (*args, *kwargs.values()))


def inside(kind: type, value) -> bool:
    if isinstance(value, kind):
        return True
    if isinstance(value, (tuple, list)):
        return any(inside(kind, v) for v in value)
    if isinstance(value, dict):
        return any(inside(kind, v) for v in value.values())
    return hasattr(value, "__dataclass_fields__") and any(inside(kind, getattr(value, f, None))
                                                          for f in value.__dataclass_fields__)


def key_of(value, static: bool = False, packs: bool = False):
    """A hashable key of an argument's kind: equal keys share a specialisation."""
    if packs and (found := packed(value)) is not None:
        return found.key
    if isinstance(value, np.ndarray):
        return (value.dtype.char, known_sizes(value.shape)) if value.ndim else (
            "point", *key_of(np.asarray(value)[()], static))
    if isinstance(value, (bool, np.bool_)):
        return ("static", type(value), bool(value))
    if isinstance(value, (int, np.integer)) and not isinstance(value, enum.Enum):
        return ("static", int(value)) if static else ("int", "" if isinstance(value, int) else value.dtype.char)
    if isinstance(value, (float, complex, np.inexact)):
        return (type(value).__name__,)
    if isinstance(value, (tuple, list)):
        beside = beside_fields(value) if hasattr(value, "_fields") else ()
        return (type(value), tuple(key_of(v, static, packs) for v in value), *beside)
    if isinstance(value, dict):
        return (counter_or_dict(value), tuple((k, key_of(v, static, packs)) for k, v in value.items()))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return (type(value), tuple(key_of(getattr(value, f.name), static, packs) for f in dataclasses.fields(value)),
                *beside_fields(value))
    if isinstance(value, np.random.Generator):
        return ("generator",)
    if is_sparse(value):
        parts = parts_of(value)
        return (value.format, *map(key_of, (parts or {}).values()))
    if isinstance(value, slice):
        return (slice, *(key_of(part, True) for part in (value.start, value.stop, value.step)))
    if isinstance(value, (set, frozenset)):
        return (type(value), tuple((type(item), item) for item in value))
    home = type(value).__module__
    if type(value).__hash__ is None and home.split(".")[0] not in ("builtins", "collections") or isinstance(
            value, SimpleNamespace) or type(value).__eq__ is not object.__eq__ and not trusted(home):
        return ("static", type(value), Same(value))         # equal by what its class compares: need not be all that is read
    try:
        hash(value)
    except TypeError:
        raise TypeConflict(f"an argument of type {type(value).__name__} is neither numbers nor hashable", None,
                           "pass arrays, numbers, or hashable static values") from None
    return ("static", type(value), value)


class Same:
    """An object as a key that only it equals."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return type(other) is Same and other.value is self.value

    def __hash__(self):
        return id(self.value)


def flatten(value, packs: bool = False) -> list:
    """The leaves of an argument that compiled code receives, in the order of `describe`'s Leaf objects."""
    if packs and (found := packed(value)) is not None:
        return found.arrays
    if isinstance(value, np.ndarray):
        return [value] if value.ndim else [value[()]]
    if isinstance(value, (tuple, list)):
        return [leaf for v in value for leaf in flatten(v, packs)]
    if isinstance(value, dict):
        return [leaf for v in value.values() for leaf in flatten(v, packs)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [leaf for f in dataclasses.fields(value) for leaf in flatten(getattr(value, f.name), packs)]
    if is_sparse(value) and (parts := parts_of(value)) is not None:
        return [leaf for part in parts.values() for leaf in flatten(part, packs)]
    return [value]


def passes(leaf) -> bool:
    """Whether compiled code receives a leaf: a number, an array or a random generator; what else there is is part of the
    specialisation."""
    return isinstance(leaf, (int, float, complex, np.number, np.ndarray, np.random.Generator)) and not isinstance(
        leaf, (bool, enum.Enum))


def with_own_draws(leaves) -> list:
    """The leaves with copies of the random generators: a run on them draws the same, and leaves the caller's alone."""
    made: dict = {}                                 # one generator stays one
    return [copy.deepcopy(x, made) if isinstance(x, np.random.Generator) else x for x in leaves]


def shared_generators(values) -> tuple:
    """For each random generator in arguments the number of the first that is the same; () if all are different."""
    found = [id(x.bit_generator) for x in flatten(list(values)) if isinstance(x, np.random.Generator)]
    return tuple(map(found.index, found)) if len(set(found)) < len(found) else ()


def with_shared_generators(trees, numbers) -> list:
    """Trees of kinds in which the random generators of one number are one."""
    left = iter(numbers)
    return [rebuild_value(tree, iter([Leaf(GeneratorArg(next(left))) if isinstance(leaf, Leaf) and isinstance(
        leaf.spec, GeneratorArg) else leaf for leaf in leaves_of(tree)])) for tree in trees]


def is_floating(leaf) -> bool:
    """Whether a leaf is a number or array of floating point, real or complex."""
    return isinstance(leaf, (float, complex, np.inexact)) or (isinstance(leaf, np.ndarray) and leaf.dtype.kind in "fc")


def numeric(leaf) -> bool:
    return isinstance(leaf, NUMBERS) or isinstance(leaf, np.ndarray)


def as_passed(leaf, core) -> Any:
    """A leaf in the form the compiled function's signature has: C order, native dtype, complex numbers in pairs."""
    if isinstance(leaf, np.random.Generator) or on_device(leaf):
        return leaf
    check_plain(leaf)
    if isinstance(core, Arr) and core.pairs:
        return in_pairs(np.asarray(leaf, COMPLEX[core.dtype], order="C"))
    if np.iscomplexobj(leaf):
        raise TypeConflict("a complex number or array stands where a real one is needed", None, "take its part: z.real")
    if isinstance(core, Arr):
        array = np.ascontiguousarray(leaf, dtype=core.dtype)        # of uint64: the bits
        return array if array.flags.aligned else array.copy()
    if core.dtype == "int64":
        if exact(core.dtype) == "uint64":
            return np.uint64(leaf).astype(np.int64)
        if type(leaf) is int and not -LARGEST <= leaf <= LARGEST:
            raise TypeConflict("Python integers of more than 61 bits are not supported", None,
                               "pass float(n) or np.int64(n)")
        return np.int64(leaf) if isinstance(leaf, np.integer) else int(leaf)
    if core.dtype == "bool":
        return bool(leaf)
    return np.float32(leaf) if core.dtype == "float32" else float(leaf)


def on_device(leaf) -> bool:
    """Whether a leaf stands for an array on a CUDA device."""
    return getattr(leaf, "device_array", None) is not None


def in_pairs(array: np.ndarray) -> np.ndarray:
    """A C-contiguous complex array as the real array of its parts, on the same memory if that is aligned."""
    if not array.flags.aligned:
        array = array.copy()
    return array.reshape((*array.shape, 1)).view(array.real.dtype)


def joined(raw, kind) -> Any:
    """What compiled code returned for a value or parameter, as callers see it: pairs become complex numbers."""
    if hasattr(kind, "joined"):                 # a value that knows how
        return kind.joined(raw)
    if type(getattr(kind, "dtype", None)) is Narrow:
        if not isinstance(raw, (int, np.integer, np.ndarray)):
            return raw.narrow(kind)             # what stands for a value in compiled code
        return np.asarray(raw, np.int64).astype(kind.dtype.width)[() if np.ndim(raw) == 0 else ...]
    if not (kind.pairs if isinstance(kind, Arr) else is_complex(getattr(kind, "dtype", ""))):
        return raw.item() if type(raw) in PYTHONS else raw
    if not isinstance(raw, np.ndarray):         # what stands for a value in compiled code
        return raw.joined(kind)
    whole = raw.view(COMPLEX[raw.dtype.name])[..., 0]
    return whole if whole.ndim else complex(whole) if whole.dtype == np.complex128 else whole[()]


def rebuild(tree: Value, results, lead: int = 0):
    """The Python object of a result tree; its numbers and arrays, with `lead` further axes, are those in `results`."""
    match tree:
        case Sequence(items=items, kind=kind):
            return kind(rebuild(i, results, lead) for i in items)
        case Mapping(items=items):
            return {k: rebuild(v, results, lead) for k, v in items.items()}
        case Record(cls=cls, fields=fields):
            return instance(cls, {k: rebuild(v, results, lead) for k, v in fields.items()})
        case Scalar() | Array():
            return joined(next(results), tree)
        case Packed():                          # without parts: its items have no derivatives
            parts = [joined(next(results), p) for p in leaves_of(tree) if isinstance(p, (Scalar, Array))]
            return unpacked(tree, parts, lead) if parts else None
        case Static(value=v):
            return v
    raise TypeError(tree)


class Known(Scalar):
    """An argument that is part of the specialisation and not Python's: the arithmetic of NumPy's booleans is their own."""


__all__ = ["Var", "as_passed", "describe", "flatten", "is_floating", "key_of", "numeric", "rebuild"]
