"""Objects with fields: how dataclasses and namedtuples are made, and what the special methods of their classes mean."""

from __future__ import annotations

import dataclasses
import inspect
import operator
import types
from typing import Any

import gast
import numpy as np

from ...language.core import Const
from ...language.errors import MissingAttribute, TypeConflict, UnsupportedSyntax, WrongKind
from ...source.definitions import MISSING, generated, own, plain_function
from ...source.plain import Unread, tuple_fields
from ..arrays.memory import delayed, force
from ..functions.frames import LIBRARIES
from ..functions.outside import (
    ACCESSORS,
    FIXED,
    class_attribute,
    class_of,
    has_methods,
    read_outside,
    record_method,
    special,
)
from ..functions.places import Place, trusted
from ..functions.purity import REFLECTED, call_now
from ..numbers.conversions import is_weak, truth_value
from ..numbers.integer_operations import numpy_number
from ..numbers.kinds_on_paths import own_on_paths
from ..state import Lowering
from ..structures import describe
from ..syntax.unbound import held
from ..table import lowers
from ..values import (
    Array,
    Bound,
    Mapping,
    Parent,
    Record,
    Sequence,
    Static,
    Value,
    View,
    as_tuple,
    is_number,
    known_as,
    leaves,
)
from .list_operators import SIGNS
from .sharing import as_it_is_now, from_outside, identical, objects, replace_everywhere, same_object

OWN_LOOKUP = "its class has its own `{}`, which a derivative cannot follow"

PLAIN_SETTERS = object.__setattr__, types.SimpleNamespace.__setattr__
INITVAR: Any = vars(dataclasses)["_FIELD_INITVAR"]        # how dataclasses mark parameters of __post_init__


# -- attributes -------------------------------------------------------------------------------------------
def record_attribute(lo: Lowering, owner: Record, name: str) -> Value:
    fields, cls = owner.fields, owner.cls
    if own(cls, "__getattribute__") is not None:
        raise lo.error(UnsupportedSyntax, f"an attribute of {describe(owner)}: "
                       f"{OWN_LOOKUP.format('__getattribute__')}", "read the fields, or compute with functions")
    if name in fields:
        return field_read(lo, cls, name, fields[name])
    if name == "__dict__" and not trusted(cls.__module__) and hasattr(cls, "__dict__") and (
            not issubclass(cls, tuple)) and cls.__dictoffset__:
        return lo.call_static(instance_dict, [owner], {})
    found = class_attribute(lo, cls, name)
    if found is MISSING:
        if own(cls, "__getattr__") is not None:
            return record_method(lo, owner, "__getattr__", [Static(name)], {})
        if trusted(cls.__module__) and cls is not types.SimpleNamespace:     # it stands for a class which may have it
            known = ", ".join(n for n in dict.fromkeys((*fields, *vars(cls))) if not n.startswith("_") and n != "stands_for")
            raise lo.error(UnsupportedSyntax, f"`{name}` of {describe(owner)} is not supported", f"use what is: {known}")
        raise lo.error(MissingAttribute, f"a {cls.__name__} has no attribute `{name}`")
    if isinstance(found, ACCESSORS):
        return accessed(lo, owner, name, found)
    if name == "_fields":
        return Sequence(tuple(map(Static, tuple_fields(cls))))
    if not callable(found):
        return read_outside(lo, Place.of(cls).attribute(name), found)
    return Bound(owner, name)


def instance_dict(owner):
    """For definitions: the attributes that an object has of its own, as they are and as they will be."""
    return owner.__dict__


def fields_now(owner):
    """For definitions: a new dict of them."""
    return dict(owner.__dict__)


@lowers(fields_now)
def lower_fields_now(lo: Lowering, owner: Record) -> Value:
    return Mapping({name: field_read(lo, owner.cls, name, value) for name, value in owner.fields.items()})


def accessed(lo: Lowering, owner: Record, name: str, found) -> Value:
    """What a property gives, or what is kept of one that is read once. Where the getter raises AttributeError, the
    class's own `__getattr__` is asked."""
    getter: Any = found.fget if isinstance(found, property) else found.func
    asked = own(owner.cls, "__getattr__")
    if asked is not None:
        value = lo.call_python(asked_after, [owner, Static(name), Static(getter), Static(asked)], {})
    else:
        value = lo.call_static(getter, [owner], {})
    if isinstance(found, property):
        return value
    now = known_as(Record, as_it_is_now(lo, owner))
    if not (getattr(now, "outside", False) or getattr(now, "in_table", False)):
        replace_everywhere(lo, now, Record(now.cls, {**now.fields, name: value}))
        return value
    if isinstance(value, Array) and value.rank:             # another one each time, which nobody may write to
        kept = force(lo, value)
        return View(kept, kept.shape, lambda lo, index: index, writable=False)
    if objects(value) or any(isinstance(leaf, Array) and leaf.rank for leaf in leaves(value)):
        raise lo.error(UnsupportedSyntax, f"the cached property `{name}` of {describe(owner)}, which is not made in this "
                       "function, is neither a number nor an array", "pass what it gives as an argument")
    return value


def asked_after(owner, name, getter, otherwise):
    try:
        return getter(owner)
    except AttributeError:
        return otherwise(owner, name)


def field_read(lo: Lowering, cls, name: str, value: Value) -> Value:
    """A field, or what was set on one object alone, where that stands outside."""
    if not (isinstance(value, Static) and isinstance(value.value, Unread)):
        return value
    place = value.value.place
    if place is None:
        raise lo.error(UnsupportedSyntax, f"`{name}` was set on one {cls.__name__} and is no field of its class",
                       "make it a field of the dataclass, or pass it as an argument of its own")
    return read_outside(lo, place, place.now())


def sets_plainly(lo: Lowering, owner: Record, name: str) -> bool:
    """Whether setting an attribute only binds it to another value."""
    return owner.cls.__setattr__ in PLAIN_SETTERS and not issubclass(owner.cls, tuple) and not isinstance(
        class_attribute(lo, owner.cls, name), property)


def set_record_attribute(lo: Lowering, owner: Record, name: str, value: Value, direct: bool = False) -> None:
    """`owner.name = value`; direct: as `object.__setattr__` does it."""
    cls: Any = owner.cls
    found = class_attribute(lo, cls, name)
    if cls.__setattr__ not in PLAIN_SETTERS and not direct:
        if not generated(cls.__setattr__):
            raise lo.error(UnsupportedSyntax, f"an attribute of {describe(owner)} is set: "
                           f"{OWN_LOOKUP.format('__setattr__')}", "make a new object")
        raise lo.error(TypeConflict, f"FrozenInstanceError: cannot assign to field '{name}'",
                       "make a new object: dataclasses.replace(...)")
    if issubclass(cls, tuple):
        raise lo.error(TypeConflict, f"AttributeError: `{name}` of {describe(owner)} cannot be set",
                       "make a new one: t._replace(...)")
    if isinstance(found, property):
        if found.fset is None:
            raise lo.error(MissingAttribute, f"the property `{name}` of a {cls.__name__} has no setter")
        lo.call_static(found.fset, [owner, value], {})
        return
    replace_everywhere(lo, owner, Record(cls, {**owner.fields, name: value}))


# -- new objects ------------------------------------------------------------------------------------------
def construct(lo: Lowering, cls: Any, args, kwargs):
    init: Any = class_attribute(lo, cls, "__init__")
    if hasattr(cls, "__dataclass_fields__"):
        setter: Any = cls.__setattr__
        if cls.__new__ is not object.__new__ or type(cls).__call__ is not type.__call__ or not (
                setter is object.__setattr__ or generated(setter)):
            raise lo.error(UnsupportedSyntax, f"`{cls.__name__}` objects are made or set in a way of their class's "
                           "own", "use a dataclass without `__new__` and `__setattr__`")
        return dataclass_made(lo, cls, init, args, kwargs) if generated(init) else \
            initialised(lo, Record(cls, {}), init, args, kwargs)
    if hasattr(cls, "_fields"):
        if own(cls, "__new__") is not None or own(cls, "__init__") is not None:
            raise lo.error(UnsupportedSyntax, f"`{cls.__name__}` objects are made by a `__new__` or `__init__` of "
                                              "their class's own", "call a function that makes the namedtuple")
        fields = dict(zip(cls._fields, args, strict=False), **kwargs)
        for k, v in getattr(cls, "_field_defaults", {}).items():
            fields.setdefault(k, lo.wrap(v))
        if set(fields) != set(cls._fields) or len(args) > len(fields):
            raise lo.error(TypeConflict, f"{cls.__name__} needs the fields {', '.join(cls._fields)}")
        return Record(cls, {k: fields[k] for k in cls._fields})
    if isinstance(cls, type) and issubclass(cls, np.generic) and args:
        return lo.call_static(np.asarray, args, {"dtype": Static(np.dtype(cls))}) \
            if isinstance(args[0], Array) and args[0].rank else \
            numpy_number(lo, args[0], lo.dtype_argument(Static(np.dtype(cls))))
    if cls is types.SimpleNamespace and not args:
        return Record(cls, dict(kwargs))
    constant = all(isinstance(v, Static) for v in (*args, *kwargs.values()))
    plain = cls.__new__ is object.__new__ and type(cls).__call__ is type.__call__
    if hasattr(init, "__code__") and plain and not (constant and cls.__module__.split(".")[0] in LIBRARIES):
        return initialised(lo, Record(cls, {}), init, args, kwargs)
    if init is object.__init__ and plain and not (args or kwargs):
        return Record(cls, {})
    if constant:
        return call_now(lo, cls, args, kwargs)
    raise lo.error(UnsupportedSyntax, f"`{cls.__name__}` objects cannot be made from values that are "
                                      "differentiated", "use a dataclass or a namedtuple")


def dataclass_made(lo: Lowering, cls, init, args, kwargs) -> Value:
    """An object of a dataclass, as the `__init__` that `dataclass` wrote makes it."""
    try:
        given = list(inspect.signature(init).bind(None, *args, **kwargs).arguments.items())[1:]
    except TypeError as e:
        raise lo.error(TypeConflict, f"{cls.__name__}: {e}") from None
    values = dict(given)
    every = cls.__dataclass_fields__
    for name, f in every.items():
        if name not in values and f.default is not dataclasses.MISSING:
            known = f.default is None or isinstance(f.default, FIXED)
            values[name] = from_outside(lo, lo.wrap(f.default)) if known else \
                read_outside(lo, Place.of(f).attribute("default"), f.default)
        elif name not in values and f.default_factory is not dataclasses.MISSING:
            values[name] = lo.call_static(f.default_factory, [], {})
    made = Record(cls, {f.name: values[f.name] for f in dataclasses.fields(cls) if f.name in values})
    after = class_attribute(lo, cls, "__post_init__")
    if after is MISSING:
        return made
    only = [values[name] for name, f in every.items() if f._field_type is INITVAR]
    return initialised(lo, made, after, only, {})


def initialised(lo: Lowering, made: Record, function, args, kwargs) -> Value:
    """A new object after `__init__` or `__post_init__` has run on it."""
    name = f"%made{len(lo.env)}"
    lo.env[name] = made
    try:
        lo.call_python(function, [made, *args], kwargs)
        return lo.env[name]
    finally:
        del lo.env[name]


def array_like(cls: type) -> bool:
    """Whether NumPy makes an array of an object on the right of an operator, before the object is asked."""
    cls = getattr(cls, "stands_for", cls)
    return not issubclass(cls, dict) and \
        getattr(cls, "__array_ufunc__", 1) is not None and getattr(cls, "__array_priority__", 0) <= 0 and (
        hasattr(cls, "__array__") or hasattr(cls, "__len__") and hasattr(cls, "__getitem__"))


# -- operators --------------------------------------------------------------------------------------------
def record_operator(lo: Lowering, name: str, left: Value, right: Value) -> Value | None:
    """`left op right` by the special methods of a record's class; None where it has none for it."""
    other = REFLECTED.get(name, f"r{name}")
    if not (has_methods(left) or isinstance(left, Sequence) or isinstance(left, Static) and left.value is None or
            is_number(left) and own_on_paths(lo, left)[1]):         # others have their say before the right one
        cls: Any = right.cls if isinstance(right, Record) else type(
            known_as(Static, right).value) if has_methods(right) else object
        if own(cls, f"__{other}__") is None:
            return None
        numpys = is_number(left) or isinstance(left, Array) and (
            trusted(cls.__module__) or getattr(cls, "__array_ufunc__", 1) is None)
        if not numpys or array_like(cls):
            raise lo.error(UnsupportedSyntax, f"an operator between {describe(left)} and {describe(right)} is not "
                           "supported", "call a method, or give the class `__array_ufunc__ = None`")
    tries = [(left, name, right), (right, other, left)]
    if isinstance(left, Record) and isinstance(right, Record):
        if left.cls is right.cls and name not in REFLECTED:
            tries.pop()
        elif right.cls is not left.cls and issubclass(right.cls, left.cls):
            tries.reverse()
    for owner, method, given in tries:
        made = special(lo, owner, f"__{method}__", given)
        if made is not None and not (isinstance(made, Static) and made.value is NotImplemented):
            return made
    return None


def record_compared(lo: Lowering, op, function, left: Value, right: Value) -> Value | None:
    """A comparison with a record, as its class or `dataclass` defines it; None where tuples are compared."""
    name = function.__name__.strip("_")
    made = record_operator(lo, name, left, right)
    if made is not None:
        return made
    if function not in (operator.eq, operator.ne):
        made = as_dataclasses(lo, op, function, left, right)
        if made is None and any(isinstance(v, Record) and not issubclass(v.cls, tuple) for v in (left, right)) and not any(
                isinstance(v, Array) and not v.is_list for v in (left, right)):
            raise lo.error(WrongKind, f"'{SIGNS[function]}' not supported between {describe(left)} and {describe(right)}")
        return made
    with_record = isinstance(left, Record) or isinstance(right, Record)
    if function is operator.ne:
        equal = lo.compare(gast.Eq(), left, right) if with_record else record_operator(lo, "eq", left, right)
        if isinstance(equal, Array):
            return lo.elementwise("eq", equal, Static(False))
        return None if equal is None else truth_value(lo, lo.b.let("not", lo.condition(equal), dtype="bool"))
    if not with_record:
        return None
    if all(isinstance(as_tuple(v), (Sequence, Array)) or is_number(v) and not is_weak(lo, v) for v in (left, right)):
        return None                         # two tuples, or NumPy's comparison of their items
    if not (isinstance(left, Record) and isinstance(right, Record)):
        return nowhere_equal(lo, function, left, right)
    if same_object(left, right):
        return Static(True)
    if left.cls is right.cls is types.SimpleNamespace:
        return lo.compare(op, Mapping(left.fields), Mapping(right.fields))
    if left.cls is right.cls and generated(left.cls.__eq__):
        return as_dataclasses(lo, op, function, left, right)
    if left.cls is right.cls:
        return identical(lo, left, right)
    return Static(False)


def nowhere_equal(lo: Lowering, function, left: Value, right: Value) -> Value:
    """`==` or `!=` of things that are not equal; NumPy compares each element of an array."""
    array = next((v for v in (left, right) if isinstance(v, Array) and not v.is_list), None)
    sequence = next((v for v in (left, right) if isinstance(v, Record) and array_like(v.cls)), None)
    if sequence is not None and (array is not None or any(is_number(v) and not is_weak(lo, v) for v in (left, right))):
        raise lo.error(UnsupportedSyntax, f"a comparison of {describe(sequence)} with NumPy's numbers", "compare its items")
    if array is None:
        return Static(function is operator.ne)
    differs = Const(function is operator.ne, "bool")
    return delayed(lo, array.shape, "bool", lambda lo, index: differs, ())


def as_dataclasses(lo: Lowering, op, function, left: Value, right: Value) -> Value | None:
    """A comparison by a method that `dataclass` wrote: of the fields of the class it is from, as tuples; else None."""
    if not (isinstance(left, Record) and isinstance(right, Record)):
        return None
    name = f"__{function.__name__.strip('_')}__"
    owner = next(c for c in left.cls.__mro__ if name in vars(c))
    if not generated(vars(owner)[name]):
        return None
    if left.cls is not right.cls:
        raise lo.error(WrongKind, f"'{SIGNS[function]}' not supported between instances of '{left.cls.__name__}' and "
                                  f"'{right.cls.__name__}'")
    names = [f.name for f in dataclasses.fields(owner) if f.compare]
    fields = [Sequence(tuple(record_attribute(lo, v, n) for n in names)) for v in (left, right)]
    return lo.compare(op, *fields)


def record_truth(lo: Lowering, value: Record):
    """The truth of a record as a bool atom."""
    for name in ("__bool__", "__len__"):
        made = special(lo, value, name)
        if made is not None:
            return lo.condition(made)
    return Const(not issubclass(value.cls, tuple) or bool(value.fields), "bool")


# -- super() ----------------------------------------------------------------------------------------------
def parent_attribute(lo: Lowering, owner: Parent, name: str) -> Value:
    """`super().name` of a record."""
    record = owner.owner
    classes = record.cls.__mro__
    for cls in classes[classes.index(owner.after) + 1:]:
        if name in vars(cls):
            found = vars(cls)[name]
            class_attribute(lo, cls, name)
            if isinstance(found, property):
                return lo.call_static(found.fget, [record], {})
            return Bound(owner, name) if callable(found) or isinstance(found, (staticmethod, classmethod)) else \
                read_outside(lo, Place.of(cls).attribute(name), found)
    raise lo.error(MissingAttribute, f"'super' object has no attribute '{name}'")


def parent_method(lo: Lowering, owner: Parent, name: str, args, kwargs) -> Value:
    record = owner.owner
    classes = record.cls.__mro__
    found = next(vars(cls)[name] for cls in classes[classes.index(owner.after) + 1:] if name in vars(cls))
    if found is object.__init__ and not args and not kwargs:
        return Static(None)
    if isinstance(found, staticmethod):
        return lo.call_static(found.__func__, args, kwargs)
    if isinstance(found, classmethod):
        return lo.call_static(found.__func__, [Static(record.cls), *args], kwargs)
    if not hasattr(plain_function(found), "__code__") or generated(found):
        raise lo.error(UnsupportedSyntax, f"`super().{name}` has no Python source", "write the method out")
    return lo.call_static(plain_function(found), [record, *args], kwargs)


@lowers(super)
def lower_super(lo, cls=None, owner=None):
    if cls is None:
        frame = lo.frame.root
        spec = getattr(frame.node, "args", None)
        names = [a.id for a in (*spec.posonlyargs, *spec.args)] if spec is not None else []
        cell = frame.cells.get("__class__")
        if cell is None or not names or frame is not lo.frame:
            raise lo.error(UnsupportedSyntax, "super() is not supported here", "write super(TheClass, self)")
        cls, owner = Static(cell.cell_contents), held(frame.env.get(names[0]))
    if isinstance(cls, Static) and isinstance(cls.value, type):
        if isinstance(owner, Record) and issubclass(owner.cls, cls.value):
            return Parent(owner, cls.value)
        if isinstance(owner, Static) and isinstance(owner.value, cls.value):
            class_of(lo, owner.value)
            return Static(super(cls.value, owner.value))
    raise lo.error(UnsupportedSyntax, "super() of this is not supported", "call the method of the class: Base.method(self)")


@lowers(object.__setattr__)
def lower_object_setattr(lo, x, name, value):
    if not isinstance(x, Record) or not isinstance(name, Static):
        raise lo.error(UnsupportedSyntax, "a derivative cannot follow writes to this object's attributes",
                       "use a local variable, or a dataclass created in the function")
    set_record_attribute(lo, x, name.value, value, direct=True)
    return Static(None)
