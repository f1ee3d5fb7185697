"""Expressions: from syntax nodes to values."""

from __future__ import annotations

import functools
import operator
from collections.abc import Hashable

import gast
import numpy as np

from ...language.build import located
from ...language.core import Const
from ...language.errors import AutodiffError, MissingAttribute, TypeConflict, UnsupportedSyntax
from ...language.ops import exact
from ...source.definitions import in_class
from ..arrays.broadcasting import scalar_array, size_of
from ..arrays.points import is_point
from ..checks import in_definition
from ..containers.containers import dict_of, eval_items, key_of
from ..containers.list_operators import kind_of, no_attribute
from ..containers.records import parent_attribute, record_attribute
from ..containers.sharing import holding
from ..functions.classes import by_path, class_in_python, classes_of
from ..functions.outside import attribute_outside
from ..functions.places import in_library
from ..functions.purity import is_fixed
from ..journal import dropped, environments, restore
from ..loops.iterators import gone_through
from ..numbers.complex_numbers import part
from ..numbers.conversions import as_value
from ..numbers.kinds_on_paths import ONE_KIND, kinds_of, may_be_integers
from ..numpy_functions.shaping import flat
from ..state import Lowering
from ..structures import describe
from ..table import EXPRESSIONS, evaluates
from ..values import (
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
    Slice,
    Static,
    Value,
    is_number,
    passes,
)
from .alternatives import fitting, is_none, split
from .liveness import bound_inside, use_counts
from .messages import text_of
from .operands import is_flat
from .operators import truth_of
from .texts import Text


def pythons_own(value: Scalar) -> type | None:
    """Python's class of a number that is surely its own; None for NumPy's, and where that depends on the path."""
    if not value.weak or value.mixed or value.boxed:
        return None
    return {"float64": float, "int64": int, "bool": bool, "complex128": complex}.get(value.dtype)


ARRAY_ATTRIBUTES = ("shape", "ndim", "size", "T", "dtype", "real", "imag", "flat", "mT", "nbytes", "itemsize")


def eval(lo: Lowering, node) -> Value:
    evaluate = EXPRESSIONS.get(type(node))
    if evaluate is None:
        raise lo.error(UnsupportedSyntax, f"`{type(node).__name__.lower()}` expressions are not supported", node=node)
    previous = lo.node
    lo.node = node
    try:
        return evaluate(lo, node)
    finally:
        lo.node = previous


@evaluates(gast.Constant)
def eval_constant(lo: Lowering, node):
    return Static(node.value)


@evaluates(gast.IfExp)
def eval_if_exp(lo: Lowering, node):
    cond = truth_of(lo, node.test)
    if isinstance(cond, Const):
        return lo.eval(node.body if cond.value else node.orelse)
    return fitting(lo, lo.choose(cond, lambda: lo.eval(node.body), lambda: lo.eval(node.orelse),
                                 bound_inside((node.body, node.orelse))))

# -- containers -------------------------------------------------------------------------------------------


@evaluates(gast.Tuple)
def eval_tuple(lo: Lowering, node):
    return Sequence(eval_items(lo, node.elts), tuple)


@evaluates(gast.List)
def eval_list(lo: Lowering, node):
    if any(isinstance(e, gast.Starred) for e in node.elts):
        return joined(lo, node)
    return Sequence(eval_items(lo, node.elts), list)


def joined(lo: Lowering, node) -> Value:
    """`[a, *x, *y]`, where the lengths of what is unpacked may be known only when the program runs."""
    parts: list[Value] = []
    for e in node.elts:
        with holding(lo, *parts) as held:
            made = lo.call_static(list, [gone_through(lo, lo.eval(e.value))], {}) if isinstance(e, gast.Starred) else \
                Sequence(eval_items(lo, (e,)), list)
        parts = [*held.now, made]
    return functools.reduce(functools.partial(lo.binary, operator.add), parts)


@evaluates(gast.Dict)
def eval_dict(lo: Lowering, node):
    items: dict = {}
    for k, v in zip(node.keys, node.values, strict=True):
        with holding(lo, *items.values()) as held:
            more = dict_of(lo, lo.eval(v)) if k is None else {key_of(lo, lo.eval(k)): lo.eval(v)}
        items = {**dict(zip(items, held.now, strict=True)), **more}
    return Mapping(items)


@evaluates(gast.Set)
def eval_set(lo: Lowering, node):
    return set_of(lo, [lo.eval(item) for item in node.elts], node)


def set_of(lo: Lowering, items, node) -> Static:
    """A set of what is known now."""
    if not all(isinstance(v, Static) and is_fixed(v.value) and isinstance(v.value, Hashable) for v in items):
        raise lo.error(UnsupportedSyntax, "sets of what is known only when the program runs are not supported",
                       "use a tuple or a list", node=node)
    return Static({v.value for v in items if isinstance(v, Static)})


def value_of_lambda(lo: Lowering, frame, node) -> Value:
    """What a lambda gives whose arguments are bound: its one expression stands at a place as statements do."""
    frame.uses, frame.statement = use_counts(node), node.body
    with located(lo.b, lo.place(node.body)):
        return lo.eval(node.body)


@evaluates(gast.Lambda)
def eval_lambda(lo: Lowering, node):
    return make_closure(lo, node, "<lambda>")


def make_closure(lo: Lowering, node, name):
    defaults = tuple(lo.eval(d) for d in node.args.defaults)
    keyword = {a.id: lo.eval(d)
               for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is not None}
    return Closure(node, lo.frame, defaults, keyword, name)


@evaluates(gast.NamedExpr)
def eval_named_expr(lo: Lowering, node):
    value = lo.eval(node.value)
    lo.bind(node.target, value)
    return value


@evaluates(gast.JoinedStr)
def eval_joined_str(lo: Lowering, node):
    parts = []
    for v in node.values:
        if isinstance(v, gast.Constant):
            parts.append(str(v.value))
            continue
        inner = lo.eval(v.value)
        spec = lo.eval(v.format_spec) if v.format_spec else Static("")
        if not isinstance(spec, Static):
            raise lo.error(TypeConflict, "a format must be known before the program runs", "write it as a literal")
        parts += text_of(lo, inner, "" if v.conversion < 0 else chr(v.conversion), spec.value)
    return Text.of(parts)


@evaluates(gast.Starred)
def eval_starred(lo: Lowering, node):
    raise lo.error(UnsupportedSyntax, "a starred expression is not supported here", node=node)


@evaluates(gast.Await)
def eval_await(lo: Lowering, node):
    raise lo.error(UnsupportedSyntax, "`async` code cannot be differentiated", "write a plain function", node=node)


@evaluates(gast.Yield, gast.YieldFrom)
def eval_yield(lo: Lowering, node):
    raise lo.error(UnsupportedSyntax, "`yield` cannot be differentiated: a generator has no value to follow",
                   "append to a list and return it", node=node)


# -- attributes -------------------------------------------------------------------------------------------
@evaluates(gast.Attribute)
def eval_attribute(lo: Lowering, node):
    owner = lo.eval(node.value)
    lo.node = node
    return lo.attribute(owner, node.attr)


def attribute(lo: Lowering, owner: Value, name: str) -> Value:
    if passes(owner) and not in_library(lo):
        check_class(lo, owner, name)
        return Bound(owner, name)
    match owner:
        case Either() if not are_methods(lo, owner, name):
            return split(lo, owner, lambda v: lo.attribute(v, name), raises="AttributeError")
        case Static(value=obj) if is_number(owner) and name in ("real", "imag"):
            return Static(getattr(obj, name))
        case Static(value=obj):
            found = attribute_outside(lo, obj, name)
            if found is None:
                raise lo.error(MissingAttribute, f"{describe(owner)} has no attribute `{name}`")
            return found
        case Record() if name == "__class__":
            return lo.call_static(type, [owner], {})
        case Record():
            return record_attribute(lo, owner, name)
        case Parent():
            return parent_attribute(lo, owner, name)
        case Array() if name in ARRAY_ATTRIBUTES and not owner.is_list and not is_flat(lo, owner):
            return array_attribute(lo, owner, name)
        case Scalar() | Array() if name == "__class__":
            return lo.call_static(type, [owner], {})
        case Scalar() if name in ("real", "imag"):
            return part(lo, owner, name)
        case Scalar() if owner.mixed and not in_definition(lo) and not all(hasattr(c, name) for c in classes_of(lo, owner)):
            classes = classes_of(lo, owner)
            if any(hasattr(c, name) for c in classes):
                raise by_path(lo, f"whether this number has `{name}`", classes)
            raise lo.error(MissingAttribute, f"'{classes[0].__name__}' object has no attribute '{name}'")
        case Scalar() if (own := pythons_own(owner)) and not hasattr(own, name) and not in_definition(lo):
            raise lo.error(MissingAttribute, f"'{own.__name__}' object has no attribute '{name}'",
                           "it is Python's own number: np.asarray(...) of it is an array")
        case Scalar() if name in ("dtype", "itemsize", "nbytes") and len({kind for kind, _ in kinds_of(lo, owner)}) > 1:
            raise by_path(lo, f"`{name}`", classes_of(lo, owner))
        case Scalar() if name in ARRAY_ATTRIBUTES:
            return owner if name == "T" else array_attribute(lo, scalar_array(lo, owner), name)
        case Slice() | Range() if name in ("start", "stop", "step"):
            return owner.inside()[("start", "stop", "step").index(name)]
        case Mapping(items=items) if name in items and not hasattr(dict, name):
            if name in getattr(owner, "attributes", ()):
                return items[name]
            raise lo.error(UnsupportedSyntax, f"`{name}` is read as an attribute of a dict", f'write d["{name}"]')
    if (kind := kind_of(owner)) is not None and not hasattr(kind, name):
        raise no_attribute(lo, owner, name)
    elif isinstance(owner, (Array, Scalar)) and kind is None:
        check_attribute(lo, owner, name)
    elif kind is None:
        check_class(lo, owner, name)
    return Bound(owner, name)


def check_class(lo: Lowering, owner: Value, name: str) -> None:
    """An error where the class of an object is known and has no attribute `name`."""
    if (own := class_in_python(lo, owner)) is not None and not in_class(own, name):
        raise lo.error(MissingAttribute, f"'{own.__name__}' object has no attribute '{name}'")


def are_methods(lo: Lowering, owner: Either, name: str) -> bool:
    """Whether `name` is a method of all that a value may be, or of all but None: it is called on the one that it is."""
    before = environments(lo)
    try:
        with dropped(lo):
            return all(isinstance(lo.attribute(option, name), Bound) for option in owner.options if not is_none(option))
    except AutodiffError:
        return False
    finally:
        restore(lo, before)


def check_attribute(lo: Lowering, owner: Array | Scalar, name: str) -> None:
    """An error unless `name` is a method of an array or number."""
    own = np.dtype(exact(owner.dtype)).type
    if isinstance(owner, Array) or is_point(owner):
        own = np.flatiter if is_flat(lo, owner) else np.ndarray
    own = type(own(0).item()) if isinstance(owner, Scalar) and owner.weak and own is not np.ndarray else own
    known = (own, np.ndarray, float) if in_definition(lo) else (own,)
    found = next((getattr(kind, name) for kind in known if hasattr(kind, name)), None)
    if found is None:
        raise lo.error(MissingAttribute, f"'{'numpy.' * (own.__module__ == 'numpy')}{own.__name__}' object has no "
                                         f"attribute '{name}'")
    if not callable(found) and name != "flags":
        raise lo.error(UnsupportedSyntax, f"the attribute `{name}` of arrays and numbers is not supported",
                       "np.lib.stride_tricks.sliding_window_view has windows without them" if name == "strides" else "")


def array_attribute(lo: Lowering, owner: Array, name: str) -> Value:
    match name:
        case "shape":
            return Sequence(tuple(as_value(lo, s) for s in owner.shape))
        case "ndim":
            return Static(owner.rank)
        case "size":
            return as_value(lo, size_of(lo, owner.shape))
        case "T" | "mT":
            return lo.call_static(np.transpose, [owner], {}) if name == "T" else \
                lo.call_static(np.swapaxes, [owner, Static(-1), Static(-2)], {})
        case "dtype" if may_be_integers(lo, owner) and not in_definition(lo):
            raise lo.error(TypeConflict, "the dtype of this array differs by the way the program goes", ONE_KIND)
        case "dtype":
            return Static(np.dtype(exact(owner.dtype)))
        case "itemsize":
            return Static(np.dtype(exact(owner.dtype)).itemsize)
        case "nbytes":
            return as_value(lo, lo.b.imul(size_of(lo, owner.shape), np.dtype(exact(owner.dtype)).itemsize))
        case "flat":
            return flat(lo, owner)
    return part(lo, owner, name)


__all__ = ["Buffer", "Delayed", "Range"]
