"""Calls of methods and of ufuncs."""

from __future__ import annotations

import math

import numpy as np

from ..language.build import ZERO
from ..language.core import Const
from ..language.errors import MissingRule, TypeConflict, UnsupportedSyntax
from ..language.ops import CALLABLES, OPS
from .arrays import describe
from .integers import same_dtype
from .list_operators import kind_of
from .messages import name_of
from .points import is_point, like
from .values import (
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
    is_number,
)

ARRAY_METHODS = {name: getattr(np, name) for name in (
    "sum", "prod", "mean", "var", "std", "max", "min", "argmax", "argmin", "any", "all", "cumsum", "cumprod", "dot",
    "reshape", "ravel", "squeeze", "transpose", "swapaxes", "clip", "round", "repeat", "diagonal", "trace",
    "take", "argsort", "searchsorted", "ptp", "nonzero", "choose", "put", "argpartition")}
ARRAY_METHODS["conj"] = ARRAY_METHODS["conjugate"] = np.conjugate


NOTHING = "cannot call `vectorize` on size 0 inputs unless `otypes` is set"


class MethodCalls:
    """What a method of an array, a container or an object, or a ufunc, means."""

    def call_vectorized(self, function, otypes, args, kwargs=None):
        """A function of numbers (a value), called for every element, as np.vectorize and numba.vectorize do.

        `otypes`: the dtypes that np.vectorize was given; None for Numba's.
        """
        if kwargs:
            raise self.error(UnsupportedSyntax, "keywords of a vectorized function are not supported", "pass by position")
        def apply(atoms):
            with self.no_draws("a vectorized function, which NumPy calls once more to learn its type", "write the loop"):
                return self.call(function, [Scalar(a) for a in atoms], {})
        arrays = [self.array(a) for a in args]
        if all(a.rank == 0 for a in arrays):
            return apply([self.atom(a) for a in args])
        here = self.b
        self.b = here.child(loop=True)
        try:
            kind = self.dtype_of(apply([self.stand_in(a.dtype) for a in arrays]))
        finally:
            self.b = here
        if otypes:
            kind = self.dtype_argument(Static(np.dtype(otypes[0])))
        made = self.map_arrays(lambda lo, atoms: lo.atom(apply(atoms), kind), arrays, kind)
        if otypes == ():                    # NumPy learns the type by a call of its own
            for size in made.shape:
                self.require(size, "ne", ZERO, "ValueError", NOTHING)
        return self.force(made)

    # -- NumPy ufuncs -----------------------------------------------------------------------------------------
    def call_ufunc(self, name: str, args, kwargs, called=None) -> Value:
        """The operation `name`, as `called` means it where all is known now."""
        kwargs = dict(kwargs)
        out = kwargs.pop("out", None)
        where = kwargs.pop("where", None)
        dtype = kwargs.pop("dtype", None)
        arity = OPS[name].arity
        if isinstance(called, np.ufunc) and OPS[name].kind == "float" and all(
                self.dtype_of(a) == "bool" if isinstance(a, Array) else is_number(a) and any(
                    kind == "bool" for kind, _ in self.kinds_of(a)) for a in args) and \
                called.resolve_dtypes((np.dtype(bool),) * len(args) + (None,) * called.nout)[-1] == np.float16:
            raise self.error(TypeConflict, f"{name_of(called)} of booleans is float16 in NumPy", "convert them: float(...)")
        if called is math.log and len(args) == 2:
            return self.elementwise("div", *(self.call_static(math.log, [a], {}) for a in args))
        if len(args) == arity + 1 and out is None:
            *args, out = args
        if kwargs:
            raise self.error(UnsupportedSyntax, f"`{next(iter(kwargs))}=` is not supported here")
        if isinstance(out, Sequence):
            out = out.items[0]
        if all(isinstance(a, Static) for a in args) and out is None:
            from ..language.build import FOLD
            fold = FOLD.get(name)
            values = [a.value for a in args]
            if fold and OPS[name].kind != "logic" and all(isinstance(v, (int, float, bool, complex)) for v in values):
                return self.wrap(fold(*values))
            return self.call_now(called or next(t for t, n in CALLABLES.items() if n == name), args, {})
        if called is abs or getattr(called, "__module__", "") == "math":
            for a in args:
                self.refuse_unary(f"{called.__name__}()", a)
        kind = None if dtype is None else self.dtype_argument(dtype)
        if kind and OPS[name].kind not in ("compare", "bool", "logic"):
            args = [a if isinstance(a, Static) else self.convert(a, kind) for a in args]
        result = self.elementwise(name, *args)
        if kind:
            result = self.convert(result, kind)
        if out is not None and not (isinstance(out, Static) and out.value is None):
            self.to_be_written(out)
            target = self.array(out)
            if where is not None:
                result = self.where(where, result, target)
            self.check_output(target, result)
            self.assign(target, result)
            return out
        if where is not None:
            raise self.error(UnsupportedSyntax, "`where=` without `out=` leaves elements undefined", "use np.where")
        return result

    # -- methods ----------------------------------------------------------------------------------------------
    def call_method(self, owner: Value, name: str, args, kwargs) -> Value:
        if kind_of(owner) is not None and (made := self.run_time_method(owner, name, args, kwargs)) is not None:
            return made
        match owner:
            case Parent():
                return self.parent_method(owner, name, args, kwargs)
            case Either():
                return self.split(owner, lambda v: self.call_method(v, name, args, kwargs), raises="AttributeError")
            case Array() if owner.is_list and name == "copy":
                return self.slice_of_list(owner, (Slice(None, None, None),))
            case Array() if owner.is_list:
                raise self.no_attribute(owner, name)
            case Array() | Scalar():
                return self.array_method(owner, name, args, kwargs)
            case Table() if name == "append":
                self.append_row(owner, args[0])
                return Static(None)
            case Table() if name == "pop":
                return self.pop_row(owner, args)
            case GrowList() if name == "append":
                self.append(owner, args[0])
                return Static(None)
            case GrowList() if name == "pop":
                return self.pop(owner, args)
            case GrowList() if name == "copy":
                return self.slice_of_list(owner, (Slice(None, None, None),))
            case Sequence() if owner.kind is list:
                return self.list_method(owner, name, args)
            case Sequence():
                if name in ("index", "count") and all(isinstance(i, Static) for i in owner.items):
                    return Static(getattr(tuple(i.value for i in owner.items), name)(args[0].value))
            case Mapping():
                return self.dict_method(owner, name, args, kwargs)
            case Record():
                return self.record_method(owner, name, args, kwargs)
            case Generator():
                return self.generator_method(owner, name, args, kwargs)
            case Static(value=v):
                return self.call_static(getattr(v, name), args, kwargs)
        raise self.error(UnsupportedSyntax, f"{describe(owner)} has no method `{name}` here")

    def array_method(self, owner, name, args, kwargs):
        target = ARRAY_METHODS.get(name)
        if target is not None:
            return self.call_static(target, [owner, *args], kwargs)
        if name == "flatten":
            return self.copied(self.call_static(np.ravel, [owner, *args], kwargs))
        if name == "copy" and isinstance(owner, Scalar) and not owner.boxed:
            return owner
        if name == "copy":
            return like(self.call_static(np.copy, [owner, *(args or [kwargs.get("order", Static("C"))])], {}), owner)
        if name == "compress":
            return self.call_static(np.compress, [args[0], owner, *args[1:]], kwargs)
        if name == "astype":
            made = self.convert(owner, self.dtype_argument(args[0] if args else kwargs.get("dtype")))
            kept = "copy" in kwargs and isinstance(kwargs["copy"], Static) and not kwargs["copy"].value
            if is_point(owner):
                return owner if kept and same_dtype(made.dtype, owner.dtype) else like(self.point(made), owner)
            if made is owner and not kept:
                return self.copied(made, None) if isinstance(made, Array) else made
            return made
        if name == "tolist" and isinstance(owner, Array) and owner.rank:
            return self.as_list(self.force(owner, copy=True), self.node)
        if name in ("item", "tolist", "__float__") and not args:
            if isinstance(owner, Array) and owner.rank == 0 or isinstance(owner, Scalar):
                return self.pythons_own(self.atom(owner))
            if isinstance(owner, Array) and name == "item":
                return self.pythons_own(owner.element(self, tuple(Const(0, "int64") for _ in owner.shape)))
        if name == "item":
            if len(args) == 1 and is_number(args[0]):
                found = self.index_array(self.call_static(np.ravel, [owner], {}), (args[0],))
            else:
                found = self.index_array(owner, self.index_parts(args[0]) if len(args) == 1 else tuple(args))
            return self.pythons_own(self.atom(found))
        if name in ("fill", "sort"):
            self.to_be_written(owner)
            if isinstance(owner, Scalar):
                raise self.error(TypeConflict, f"a number is not changed by `{name}`", "use an array")
        if name == "fill":
            self.assign(owner, args[0])
            return Static(None)
        if name == "view" and not args:
            return owner
        if name == "sort":
            kwargs = {"axis": args[0], **kwargs} if args else kwargs
            self.assign(owner, self.call_static(np.sort, [owner], kwargs))
            return Static(None)
        raise self.error(MissingRule, f"the array method `{name}` is not supported",
                         "use the NumPy function or indexing instead")
