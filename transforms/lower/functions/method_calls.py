"""Calls of methods and of ufuncs."""

from __future__ import annotations

import math
import operator

import numpy as np

from ...language.build import FOLD, ONE, ZERO
from ...language.errors import MissingAttribute, MissingRule, TypeConflict, UnsupportedSyntax
from ...language.ops import CALLABLES, OPS
from ..arrays.arrays import choose_elements
from ..arrays.broadcasting import convert, map_arrays, require_same, stand_in
from ..arrays.indexing import index_parts
from ..arrays.layout import copied
from ..arrays.memory import force
from ..arrays.points import is_point, like, make_point
from ..arrays.slices import indices_of_slice
from ..arrays.writing import assign, set_writeable, to_be_written
from ..checks import check_output, require
from ..containers.containers import dict_method, list_method
from ..containers.growing import append, append_row, pop_row
from ..containers.item_kinds import note_all
from ..containers.list_methods import run_time_method
from ..containers.list_operators import as_list, kind_of, no_attribute, refuse_unary, slice_of_list
from ..containers.lists import pop
from ..containers.records import parent_method
from ..journal import bindings_changed, environments
from ..numbers.complex_numbers import conjugate_of
from ..numbers.conversions import as_value, dtype_of, is_weak
from ..numbers.integer_operations import check_cast, pythons_own
from ..numbers.integers import same_dtype
from ..numbers.kinds_on_paths import in_floats, item_of, kinds_of
from ..numpy_functions.random_draws import generator_method, no_draws
from ..numpy_functions.reductions import mask_of
from ..state import Lowering
from ..structures import describe
from ..syntax.alternatives import split
from ..syntax.messages import method_of_text
from ..syntax.texts import Text, name_of
from ..values import (
    Array,
    Either,
    Generator,
    GrowList,
    Mapping,
    Parent,
    Record,
    Scalar,
    Sequence,
    Slice,
    Static,
    Table,
    Value,
    as_tuple,
    has_kinds,
    is_number,
    known_as,
)
from .outside import record_method
from .purity import call_now

ARRAY_METHODS = {name: getattr(np, name) for name in (
    "sum", "prod", "mean", "var", "std", "max", "min", "argmax", "argmin", "any", "all", "cumsum", "cumprod", "dot",
    "reshape", "ravel", "squeeze", "transpose", "swapaxes", "clip", "round", "repeat", "diagonal", "trace",
    "take", "argsort", "searchsorted", "ptp", "nonzero", "choose", "put", "argpartition")}
ARRAY_METHODS["conj"] = ARRAY_METHODS["conjugate"] = conjugate_of


NOTHING = "cannot call `vectorize` on size 0 inputs unless `otypes` is set"


def call_vectorized(lo: Lowering, function, otypes, args, kwargs=None):
    """A function of numbers (a value), called for every element, as np.vectorize and numba.vectorize do.

    `otypes`: the dtypes that np.vectorize was given; None for Numba's.
    """
    if kwargs:
        raise lo.error(UnsupportedSyntax, "keywords of a vectorized function are not supported", "pass by position")
    def apply(atoms):
        with no_draws(lo, "a vectorized function, which NumPy calls once more to learn its type", "write the loop"):
            return lo.call(function, [Scalar(a) for a in atoms], {})
    arrays = [lo.array(a) for a in args]
    if all(a.rank == 0 for a in arrays):
        return apply([lo.atom(a) for a in args])
    before = environments(lo)
    here = lo.b
    lo.b = here.child(loop=True)
    lo.b.tentative = True
    try:
        kind = dtype_of(lo, apply([stand_in(lo, a.dtype) for a in arrays]))
    finally:
        lo.b = here
    if bindings_changed(lo, before):
        raise lo.error(UnsupportedSyntax, "a vectorized function that changes a list, a dict, an object or a name outside "
                       "it is not supported", "write the loop")
    if otypes:
        kind = lo.dtype_argument(Static(np.dtype(otypes[0])))
    made = map_arrays(lo, lambda lo, atoms: lo.atom(apply(atoms), kind), arrays, kind)
    if otypes == ():                    # NumPy learns the type by a call of its own
        for size in made.shape:
            require(lo, size, "ne", ZERO, "ValueError", NOTHING)
    return force(lo, made)


# -- NumPy ufuncs -----------------------------------------------------------------------------------------
def call_ufunc(lo: Lowering, name: str, args, kwargs, called=None) -> Value:
    """The operation `name`, as `called` means it where all is known now."""
    kwargs = dict(kwargs)
    out = kwargs.pop("out", None)
    where = kwargs.pop("where", None)
    dtype = kwargs.pop("dtype", None)
    arity = OPS[name].arity
    if isinstance(called, np.ufunc) and OPS[name].kind == "float" and all(
            dtype_of(lo, a) == "bool" if isinstance(a, Array) else is_number(a) and any(
                kind == "bool" for kind, _ in kinds_of(lo, a)) for a in args) and \
            called.resolve_dtypes((np.dtype(bool),) * len(args) + (None,) * called.nout)[-1] == np.float16:
        raise lo.error(TypeConflict, f"{name_of(called)} of booleans is float16 in NumPy", "convert them: float(...)")
    if called is math.log and len(args) == 2:
        return lo.binary(operator.truediv, *(lo.call_static(math.log, [a], {}) for a in args))
    if len(args) == arity + 1 and out is None:
        *args, out = args
    if kwargs:
        raise lo.error(UnsupportedSyntax, f"`{next(iter(kwargs))}=` is not supported here")
    if isinstance(out, Sequence):
        out = out.items[0]
    if all(isinstance(a, Static) for a in args) and out is None:
        fold = FOLD.get(name)
        values = [a.value for a in args]
        pythons = all(isinstance(v, (int, float, bool, complex)) for v in values) and not isinstance(called, np.ufunc)
        if fold and pythons and OPS[name].kind != "logic":
            return lo.wrap(fold(*values))
        return call_now(lo, called or next(t for t, n in CALLABLES.items() if n == name), args, {})
    if called is abs or getattr(called, "__module__", "") == "math":
        for a in args:
            refuse_unary(lo, f"{called.__name__}()", a)
    kind = None if dtype is None else lo.dtype_argument(dtype)
    if kind and OPS[name].kind not in ("compare", "bool", "logic"):
        args = [a if isinstance(a, Static) else convert(lo, a, kind) for a in args]
    result = lo.elementwise(name, *args)
    if kind:
        result = convert(lo, result, kind)
    if out is not None and not (isinstance(out, Static) and out.value is None):
        to_be_written(lo, out)
        target = lo.array(out)
        if where is not None:
            result = choose_elements(lo, mask_of(lo, where, target.shape), result, target)
        check_output(lo, target, result)
        check_cast(lo, target, result, name)
        assign(lo, target, result)
        return out
    if where is not None:
        raise lo.error(UnsupportedSyntax, "`where=` without `out=` leaves elements undefined", "use np.where")
    return result


# -- methods ----------------------------------------------------------------------------------------------
def call_method(lo: Lowering, owner: Value, name: str, args, kwargs) -> Value:
    if kind_of(owner) is not None and (made := run_time_method(lo, owner, name, args, kwargs)) is not None:
        return made
    match owner:
        case Parent():
            return parent_method(lo, owner, name, args, kwargs)
        case Either():
            return split(lo, owner, lambda v: lo.call_method(v, name, args, kwargs), raises="AttributeError")
        case Array() if owner.is_list and name == "copy":
            return slice_of_list(lo, owner, (Slice(None, None, None),))
        case Array() if owner.is_list:
            raise no_attribute(lo, owner, name)
        case Array() | Scalar():
            return array_method(lo, owner, name, args, kwargs)
        case Table() if name == "append":
            append_row(lo, owner, args[0])
            return Static(None)
        case Table() if name == "pop":
            return pop_row(lo, owner, args)
        case GrowList() if name == "append":
            append(lo, owner, args[0])
            return Static(None)
        case GrowList() if name == "pop":
            return pop(lo, owner, args)
        case GrowList() if name == "copy":
            return slice_of_list(lo, owner, (Slice(None, None, None),))
        case Sequence() if owner.kind is list:
            return list_method(lo, owner, name, args)
        case Sequence():
            if name in ("index", "count") and all(isinstance(i, Static) for i in owner.items):
                return Static(getattr(tuple(i.value for i in owner.items), name)(args[0].value))
        case Slice() if name == "indices":
            return lo.call_python(indices_of_slice, [*owner.inside(), *args], kwargs)
        case Mapping():
            return dict_method(lo, owner, name, args, kwargs)
        case Record(cls=cls) if name in ("index", "count") and getattr(cls, name) is getattr(tuple, name):
            return lo.call_method(as_tuple(owner), name, args, kwargs)
        case Record():
            return record_method(lo, owner, name, args, kwargs)
        case Generator():
            return generator_method(lo, owner, name, args, kwargs)
        case Text() if (made := method_of_text(lo, owner, name, args, kwargs)) is not None:
            return made
        case Static(value=v):
            if not hasattr(v, name):
                raise lo.error(MissingAttribute, f"'{type(v).__name__}' object has no attribute '{name}'")
            return lo.call_static(getattr(v, name), args, kwargs)
    raise lo.error(UnsupportedSyntax, f"{describe(owner)} has no method `{name}` here")


def array_method(lo: Lowering, owner, name, args, kwargs):
    target = ARRAY_METHODS.get(name)
    if name in ("reshape", "transpose") and len(args) > 1:              # which the functions take in a tuple only
        args = [Sequence(tuple(args))]
    if name == "clip" and len(args) + len(kwargs) == 1:                 # and a missing bound as None
        args = [args[0] if args else kwargs.get("min", Static(None)), kwargs.get("max", Static(None))]
        kwargs = {}
    if target is not None:
        return lo.call_static(target, [owner, *args], kwargs)
    if name == "flatten":
        return copied(lo, known_as(Array, lo.call_static(np.ravel, [owner, *args], kwargs)))
    if name == "copy" and isinstance(owner, Scalar) and not owner.boxed:
        return owner
    if name == "copy":
        return like(lo.call_static(np.copy, [owner, *(args or [kwargs.get("order", Static("C"))])], {}), owner)
    if name == "compress":
        return lo.call_static(np.compress, [args[0], owner, *args[1:]], kwargs)
    if name == "astype":
        given = {**dict(zip(("dtype", "order", "casting", "subok", "copy"), args, strict=False)), **kwargs}
        kind, casting, copy = lo.dtype_argument(given.get("dtype")), given.get("casting"), given.get("copy")
        if isinstance(casting, Static) and not np.can_cast(np.dtype(dtype_of(lo, owner)), np.dtype(kind), casting.value):
            raise lo.error(TypeConflict, f"Cannot cast array data from {dtype_of(lo, owner)} to {kind} according to the "
                           f"rule {casting.value!r}")
        made = convert(lo, owner, kind)
        kept = isinstance(copy, Static) and not copy.value
        if is_point(owner):
            return owner if kept and same_dtype(dtype_of(lo, made), owner.dtype) else like(make_point(lo, made), owner)
        if made is owner and not kept:
            return in_floats(lo, copied(lo, made, None)) if isinstance(made, Array) else made
        return lo.call_static(np.asarray, [made, Static(np.dtype(kind))], {}) if made is owner else made
    if name == "tolist" and isinstance(owner, Array) and owner.rank:
        made = as_list(lo, force(lo, owner, copy=True), lo.node)
        note_all(lo, made, True)
        return made
    if name in ("item", "tolist", "__float__") and not args:
        if isinstance(owner, Array) and owner.rank == 0 or isinstance(owner, Scalar):
            return pythons_own(lo, owner if isinstance(owner, Scalar) else item_of(lo, lo.atom(owner), owner))
        if isinstance(owner, Array) and name == "item":
            for size in owner.shape:
                require_same(lo, size, ONE, "can only convert an array of size 1 to a Python scalar")
            return pythons_own(lo, item_of(lo, owner.element(lo, (ZERO,) * owner.rank), owner))
    if name == "is_integer" and is_number(owner) and not args:
        return lo.binary(operator.eq, lo.call_static(np.floor, [owner], {}), owner)
    if name in ("bit_count", "bit_length") and is_number(owner) and not has_kinds(owner) and dtype_of(lo, owner) in (
            "int64", "bool") and (own := is_weak(lo, owner)) | (name == "bit_count"):
        return lo.call_static(getattr(int, name) if own else np.bitwise_count, [owner, *args], kwargs)
    if name == "item":
        if len(args) == 1 and is_number(args[0]):
            found = lo.index_array(known_as(Array, lo.call_static(np.ravel, [owner], {})), (args[0],))
        else:
            found = lo.index_array(owner, index_parts(lo, args[0]) if len(args) == 1 else tuple(args))
        return pythons_own(lo, known_as(Scalar, found))
    if name in ("fill", "sort", "partition"):
        to_be_written(lo, owner)
        if isinstance(owner, Scalar):
            raise lo.error(TypeConflict, f"a number is not changed by `{name}`", "use an array")
    if name == "fill":
        assign(lo, owner, args[0])
        return Static(None)
    if name == "view" and not args:
        return lo.call_static(np.reshape, [owner, Sequence(tuple(as_value(lo, s) for s in owner.shape))], {}) if isinstance(
            owner, Array) and owner.rank else owner
    if name == "setflags" and kwargs.keys() == {"write"} and not args:
        set_writeable(lo, owner, kwargs["write"])
        return Static(None)
    if name in ("sort", "partition"):
        assign(lo, owner, lo.call_static(getattr(np, name), [owner, *args], kwargs))
        return Static(None)
    raise lo.error(MissingRule, f"the array method `{name}` is not supported",
                   "use the NumPy function or indexing instead")
