"""Expressions: from syntax nodes to values."""

from __future__ import annotations

import gast
import numpy as np

from ..language.core import Const
from ..language.errors import MissingAttribute, TypeConflict, UndefinedName, UnsupportedSyntax
from ..language.ops import exact, normal_dtype
from ..source.plain import SUPPORTED, misfit_dtype
from .alternatives import is_none
from .arrays import describe
from .list_operators import kind_of
from .liveness import bound_inside, local_names
from .messages import Text
from .operators import Operators
from .points import is_point
from .unbound import read, unbound
from .values import (
    UNSET,
    Array,
    Bound,
    Buffer,
    Closure,
    Delayed,
    Either,
    Mapping,
    Parent,
    Range,
    Record,
    Scalar,
    Sequence,
    Static,
    Undefined,
    Value,
    is_number,
)


def pythons_own(value: Scalar) -> type | None:
    """Python's class of a number that is surely its own; None for NumPy's, and where that depends on the path."""
    if not value.weak or value.mixed or value.boxed:
        return None
    return {"float64": float, "int64": int, "bool": bool, "complex128": complex}.get(value.dtype)


ARRAY_ATTRIBUTES = ("shape", "ndim", "size", "T", "dtype", "real", "imag", "flat", "mT", "nbytes", "itemsize")


class Expressions(Operators):
    def eval(self, node) -> Value:
        method = getattr(self, "eval_" + type(node).__name__, None)
        if method is None:
            raise self.error(UnsupportedSyntax, f"`{type(node).__name__.lower()}` expressions are not supported", node=node)
        previous = self.node
        self.node = node
        try:
            return method(node)
        finally:
            self.node = previous

    def eval_Constant(self, node):
        return Static(node.value)

    def eval_Name(self, node):
        name = node.id
        frame = self.frame
        while frame is not None:
            if name in frame.env:
                value = frame.env[name]
                if value is UNSET or getattr(value, "later", False):
                    raise unbound(self, name, frame)
                if isinstance(value, Undefined):
                    raise self.error(TypeConflict, value.why or f"`{name}` may be undefined here")
                return read(self, name, value, frame)
            if frame.node is not None and name in local_names(frame.node):
                raise unbound(self, name, frame)
            frame = frame.outer
        value = self.outer_name(name)
        if value is None:
            raise self.error(UndefinedName, f"name `{name}` is not defined",
                             "assign it before use, pass it as an argument, or define it at module level")
        return value

    def eval_IfExp(self, node):
        cond = self.truth_of(node.test)
        if isinstance(cond, Const):
            return self.eval(node.body if cond.value else node.orelse)
        return self.choose(cond, lambda: self.eval(node.body), lambda: self.eval(node.orelse),
                           bound_inside((node.body, node.orelse)))

    # -- containers -------------------------------------------------------------------------------------------
    def eval_items(self, elts):
        items: list = []
        for e in elts:
            with self.holding(*items):
                if isinstance(e, gast.Starred):
                    items.extend(self.items_of(self.eval(e.value)))
                else:
                    items.append(self.eval(e))
        return tuple(items)

    def items_of(self, value) -> tuple:
        """The items of something of known length."""
        value = self.unpacked(self.settled(value, "something to unpack"))
        if isinstance(value, Sequence):
            return value.items
        if isinstance(value, Mapping):
            return tuple(Static(k) for k in value.items)
        if isinstance(value, Static) and isinstance(value.value, (str, tuple, list, range, dict)):
            return tuple(self.wrap(v) for v in value.value)
        iterable = self.iterate(value)
        if iterable.static is not None:
            return iterable.static
        if isinstance(iterable.length, Const):
            return tuple(iterable.item(Const(k, "int64")) for k in range(iterable.length.value))
        raise self.error(TypeConflict, f"the length of {describe(value)} must be known here before the program runs",
                         "loop over it")

    def eval_Tuple(self, node):
        return Sequence(self.eval_items(node.elts), tuple)

    def eval_List(self, node):
        return Sequence(self.eval_items(node.elts), list)

    def eval_Dict(self, node):
        items = {}
        for k, v in zip(node.keys, node.values, strict=True):
            if k is None:
                inner = self.eval(v)
                items.update(self.dict_of(inner))
                continue
            key = self.key_of(self.eval(k))
            with self.holding(*items.values()):
                made = self.eval(v)
            items[key] = made
        return Mapping(items)

    def eval_Set(self, node):
        raise self.error(UnsupportedSyntax, "sets are not supported", "use a tuple or a list", node=node)

    def eval_Lambda(self, node):
        return self.make_closure(node, "<lambda>")

    def make_closure(self, node, name):
        defaults = tuple(self.kept_default(self.eval(d), d) for d in node.args.defaults)
        keyword = {a.id: self.kept_default(self.eval(d), d)
                   for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is not None}
        return Closure(node, self.frame, defaults, keyword, name)

    def eval_NamedExpr(self, node):
        value = self.eval(node.value)
        self.bind(node.target, value)
        return value

    def eval_JoinedStr(self, node):
        parts = []
        for v in node.values:
            if isinstance(v, gast.Constant):
                parts.append(str(v.value))
                continue
            inner = self.eval(v.value)
            spec = self.eval(v.format_spec) if v.format_spec else Static("")
            if not isinstance(spec, Static):
                raise self.error(TypeConflict, "a format must be known before the program runs", "write it as a literal")
            parts += self.text_of(inner, "" if v.conversion < 0 else chr(v.conversion), spec.value)
        return Text.of(parts)

    def eval_Starred(self, node):
        raise self.error(UnsupportedSyntax, "a starred expression is not supported here", node=node)

    def eval_Await(self, node):
        raise self.error(UnsupportedSyntax, "`async` code cannot be differentiated", "write a plain function", node=node)

    def eval_Yield(self, node):
        raise self.error(UnsupportedSyntax, "`yield` cannot be differentiated: a generator has no value to follow",
                         "append to a list and return it", node=node)

    eval_YieldFrom = eval_Yield

    # -- attributes -------------------------------------------------------------------------------------------
    def eval_Attribute(self, node):
        owner = self.eval(node.value)
        self.node = node
        return self.attribute(owner, node.attr)

    def attribute(self, owner: Value, name: str) -> Value:
        match owner:
            case Either() if all(is_none(o) or isinstance(o, (Array, Sequence)) or is_number(o) for o in owner.options) \
                    and name in ARRAY_ATTRIBUTES or all(isinstance(o, Static) for o in owner.options):
                return self.split(owner, lambda v: self.attribute(v, name), raises="AttributeError")
            case Static(value=obj) if is_number(owner) and name in ("real", "imag"):
                return Static(getattr(obj, name))
            case Static(value=obj):
                found = self.attribute_outside(obj, name)
                if found is None:
                    raise self.error(MissingAttribute, f"{describe(owner)} has no attribute `{name}`")
                return found
            case Record():
                return self.record_attribute(owner, name)
            case Parent():
                return self.parent_attribute(owner, name)
            case Array() if name in ARRAY_ATTRIBUTES and not owner.is_list:
                return self.array_attribute(owner, name)
            case Scalar() if name in ("real", "imag"):
                return self.part(owner, name)
            case Scalar() if pythons_own(owner) and not hasattr(pythons_own(owner), name) and not self.in_definition():
                raise self.error(MissingAttribute, f"'{pythons_own(owner).__name__}' object has no attribute '{name}'",
                                 "it is Python's own number: np.asarray(...) of it is an array")
            case Scalar() if name in ARRAY_ATTRIBUTES:
                return owner if name == "T" else self.array_attribute(self.scalar_array(owner), name)
            case Mapping(items=items) if name in items and not hasattr(dict, name):
                if name in getattr(owner, "attributes", ()):
                    return items[name]
                raise self.error(UnsupportedSyntax, f"`{name}` is read as an attribute of a dict", f'write d["{name}"]')
        if (kind := kind_of(owner)) is not None and not hasattr(kind, name):
            raise self.no_attribute(owner, name)
        if isinstance(owner, (Array, Scalar)) and kind is None:
            self.check_attribute(owner, name)
        return Bound(owner, name)

    def check_attribute(self, owner: Array | Scalar, name: str) -> None:
        """An error unless `name` is a method of an array or number."""
        own = np.ndarray if isinstance(owner, Array) or is_point(owner) else np.dtype(exact(owner.dtype)).type
        own = type(own(0).item()) if isinstance(owner, Scalar) and owner.weak and own is not np.ndarray else own
        found = next((getattr(kind, name) for kind in (own, np.ndarray, float) if hasattr(kind, name)), None)
        if found is None:
            raise self.error(MissingAttribute, f"'{'numpy.' * (own.__module__ == 'numpy')}{own.__name__}' object has no "
                                               f"attribute '{name}'")
        if not callable(found):
            raise self.error(UnsupportedSyntax, f"the attribute `{name}` of arrays and numbers is not supported")

    def array_attribute(self, owner: Array, name: str) -> Value:
        match name:
            case "shape":
                return Sequence(tuple(self.number(s) for s in owner.shape))
            case "ndim":
                return Static(owner.rank)
            case "size":
                return self.number(self.size(owner.shape))
            case "T" | "mT":
                return self.call_static(np.transpose, [owner], {}) if name == "T" else \
                    self.call_static(np.swapaxes, [owner, Static(-1), Static(-2)], {})
            case "dtype":
                return Static(np.dtype(exact(owner.dtype)))
            case "itemsize":
                return Static(np.dtype(exact(owner.dtype)).itemsize)
            case "nbytes":
                return self.number(self.b.imul(self.size(owner.shape), np.dtype(exact(owner.dtype)).itemsize))
            case "flat":
                from .shaping import flat
                return flat(self, owner)
        return self.part(owner, name)

    def number(self, atom) -> Value:
        return Static(atom.value) if isinstance(atom, Const) else Scalar(atom, True)

    def dtype_argument(self, value, default=None):
        """A `dtype=` argument as a core dtype."""
        if value is None or (isinstance(value, Static) and value.value is None):
            return default
        if not isinstance(value, Static):
            raise self.error(TypeConflict, "dtype must be known before the program runs")
        try:
            dtype = np.dtype(value.value)
        except TypeError as e:
            raise self.error(TypeConflict, f"{value.value!r} is not a dtype: {e}", SUPPORTED) from None
        if (found := misfit_dtype(dtype)) is not None:
            raise self.error(TypeConflict, *found)
        return normal_dtype(dtype)

    def static_int(self, value: Value, what: str):
        if isinstance(value, Static) and (value.value is None or isinstance(value.value, (int, np.integer))):
            return value.value
        if isinstance(value, Scalar) and isinstance(value.atom, Const):
            return int(value.atom.value)
        if isinstance(value, Scalar):
            raise self.needs_static(value, what)
        raise self.error(TypeConflict, f"{what} must be an integer, not {describe(value)}")


__all__ = ["Buffer", "Delayed", "Expressions", "Range"]
