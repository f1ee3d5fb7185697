"""getattr, setattr and hasattr."""

from __future__ import annotations

import types

from ...language.errors import MissingAttribute, TypeConflict, UnsupportedSyntax
from ...source.definitions import MISSING, in_class, own
from ..functions.classes import by_path, class_in_python, classes_of
from ..functions.outside import attribute_now, class_attribute, getter_of
from ..functions.places import Place
from ..structures import describe
from ..table import lowers
from ..values import Closure, Either, Record, Scalar, Static, Undefined, is_number
from .assignments import set_attribute


def attribute_name(lo, name) -> str:
    """The name of an attribute, which must be a text known now."""
    if not isinstance(name, Static) or not isinstance(name.value, str):
        raise lo.error(TypeConflict, "the name of an attribute must be a string known before the program runs")
    return name.value


@lowers(setattr)
def lower_setattr(lo, x, name, value):
    set_attribute(lo, x, attribute_name(lo, name), value)
    return Static(None)


def read_or(owner, name, default):
    try:
        return getattr(owner, name)
    except AttributeError:
        return default


def can_be_read(owner, name):
    try:
        getattr(owner, name)
    except AttributeError:
        return False
    return True


@lowers(getattr)
def lower_getattr(lo, x, name, *default):
    if default and isinstance(x, Static) and getter_of(lo, x.value, attribute_name(lo, name)) is not None:
        return lo.call_python(read_or, [x, name, *default], {})
    try:
        return lo.attribute(x, attribute_name(lo, name))
    except MissingAttribute:
        if not default:
            raise
        return default[0]


@lowers(hasattr)
def lower_hasattr(lo, x, name):
    match x:
        case Undefined():
            raise lo.error(TypeConflict, describe(x))
        case Static(value=v):
            if getter_of(lo, v, attribute_name(lo, name)) is not None:
                return lo.call_python(can_be_read, [x, name], {})
            found = attribute_now(lo, v, name.value) is not MISSING
            if not is_number(x):
                lo.reads.need(Place.of(v).attribute(name.value), "there" if found else "missing")
            return Static(found)
        case Scalar():
            answers = {in_class(own, name.value) for own in classes_of(lo, x)}
            if len(answers) > 1:
                raise by_path(lo, "whether this number has it", classes_of(lo, x))
            return Static(*answers)
        case Closure():
            if name.value == "__wrapped__":
                raise lo.error(UnsupportedSyntax, "whether an inner function has `__wrapped__` is not known here",
                               "ask before the call, and pass the answer")
            return Static(in_class(types.FunctionType, name.value))
        case Record(fields=fields, cls=cls):
            if own(cls, "__getattr__") is not None or own(cls, "__getattribute__") is not None:
                raise lo.error(UnsupportedSyntax, f"hasattr() of a {cls.__name__}, whose class looks attributes up itself, "
                                                  "is not supported", "use try, or a field")
            if hasattr(cls, "stands_for"):
                return Static(in_class(cls.stands_for, name.value))
            return Static(name.value in fields or class_attribute(lo, cls, name.value) is not MISSING)
    kind = None if isinstance(x, Either) else class_in_python(lo, x)
    if kind is None:
        raise lo.error(UnsupportedSyntax, f"which attributes {describe(x)} has in Python is not known here",
                       "decide what depends on it in another way")
    return Static(in_class(kind, name.value))
