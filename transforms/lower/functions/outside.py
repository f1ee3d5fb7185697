"""What a program reads from outside its arguments: globals, cells, attributes, items, defaults, methods, rules.

Each such read has a *place*, the way from an object to the value. What is found there is either a parameter of the compiled
code (arrays, random generators, numbers that keep changing), read through its place at every call, or a constant of the
program; then a *condition* says what must still be found there for the program to be the one that Python would run.
"""

from __future__ import annotations

import builtins
import collections
import copy
import dataclasses
import functools
import inspect
import types
from array import array as packed
from types import ModuleType

import gast
import numpy as np

from ...language.core import Const
from ...language.errors import AutodiffError, TypeConflict, UndefinedName, UnsupportedSyntax
from ...language.ops import exact, normal_dtype
from ...source.definitions import MISSING, in_class, own, plain_function
from ...source.plain import NUMERIC, Unread, beside_fields, is_foreign, misfit, misfit_container, name_of
from ..arrays.points import point_outside
from ..checks import sure_to_raise
from ..containers.packing import packed as pack
from ..containers.series import column_of, lists_around, opened
from ..containers.sharing import from_outside
from ..loops.iterators import asked_for
from ..numbers.integers import in_range
from ..state import Lowering
from ..structures import rebuild
from ..syntax.liveness import local_names
from ..syntax.unbound import read, unbound
from ..table import evaluates
from ..values import ON_ALL_PATHS, UNSET, Mapping, Record, Scalar, Sequence, Slice, Static, Undefined, Value, leaves
from .frames import slot_name
from .parameters import hidden_array, hidden_generator, hidden_number
from .places import POLYNOMIALS, Place, followed, trusted

PURE = frozenset({"numpy", "math", "cmath"})                        # and whose constants do
SIGNATURES = (inspect.Signature, inspect.Parameter)
COMPARED = (collections.deque, bytearray, packed, range, slice, str, bytes, np.dtype)
NUMBERS_AND_TEXTS = (bool, int, float, complex, str)
FIXED = (bool, int, float, complex, str, type, types.FunctionType, np.generic)
ACCESSORS = (property, functools.cached_property)


def item_by_attribute(value: dict | types.MappingProxyType, name: str) -> bool:
    """Whether `value.name` is `value["name"]`: the class says so, or the object's `__dict__` is the object itself."""
    cls = type(value)
    if hasattr(cls, name):
        return False
    own = getattr(value, "__dict__", None)
    return own is value or not own and getattr(cls, "__getattr__", None) is dict.__getitem__


def global_now(lo: Lowering, namespace: dict, name: str) -> Value | None:
    """A global that the program writes, as it is now; None of others."""
    return lo.frames[0].env.get(slot_name(namespace, name)) if lo.globals_written and lo.frames else None


def outer_name(lo: Lowering, name: str) -> Value | None:
    """A closure's or global name, as Python looks it up; None if there is none."""
    root = lo.frame.root
    if name not in root.cells and (written := global_now(lo, root.globals, name)) is not None:
        return None if written is UNSET else written
    lo.reads.silent, before = trusted(root.globals.get("__name__")), lo.reads.silent
    try:
        return looked_up(lo, name, root)
    finally:
        lo.reads.silent = before


def looked_up(lo: Lowering, name: str, root) -> Value | None:
    if name in root.cells:
        place = Place.of(root.cells[name]).attribute("cell_contents")
        try:
            return read_outside(lo, place, place.now())
        except ValueError:
            return None
    place = Place.of(root.globals).item(name)
    if (id(root.globals), name) in lo.learnt.imported:
        return lo.learnt.imported[id(root.globals), name]
    if name in root.globals:
        return read_outside(lo, place, root.globals[name])
    names = root.globals.get("__builtins__", builtins)
    names = vars(names) if isinstance(names, ModuleType) else names
    if name not in names:
        return None
    lo.reads.need(place, "missing")
    return read_outside(lo, Place.of(names).item(name), names[name])


def read_outside(lo: Lowering, place: Place, value) -> Value:
    """What was found at a place: the same value each time it is read."""
    known = lo.outside_values.get(place.key)
    if known is None:
        known = lo.outside_values[place.key] = from_outside(lo, lo.wrap(value, place))
    return known


def wrap(lo: Lowering, value, place: Place | None = None) -> Value:
    """A Python object as a value, with conditions on what else might be found at its place."""
    if isinstance(value, NUMERIC) and (found := misfit(value)) is not None:
        raise lo.error(TypeConflict, *found)
    need = functools.partial(lo.reads.need, place)
    if isinstance(value, np.ndarray):
        need("array", (type(value), value.dtype, tuple(s if s < 2 else None for s in value.shape)))
        if not value.ndim:
            return point_outside(lo, lo.wrap(value[()], place and place.item(())))
        return hidden_array(lo, value, place)
    if hasattr(type(value), "__autodiff_tensor__"):
        return tensor_outside(lo, value, place)
    if isinstance(value, np.random.Generator):
        need("type", type(value))
        return hidden_generator(lo, value, place)
    if isinstance(value, (bool, int, float, complex, np.number, np.bool_)) and not isinstance(value, np.timedelta64):
        if type(value) is float and place is not None and place.key in lo.reads.loose:
            need("type", float)
            return hidden_number(lo, value, place)
        need("same", value)
        return constant(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        need("type", type(value))
        return Record(type(value), {f: lo.wrap(v, place and place.item(i)) for i, (f, v) in enumerate(
            zip(value._fields, value, strict=True))} | set_on(lo, value, place))
    if isinstance(value, (tuple, list, dict)) and (problem := misfit_container(value)) is not None:
        raise lo.error(TypeConflict, *problem)
    if isinstance(value, tuple) and hasattr(type(value), "n_sequence_fields"):      # sys.float_info and the like
        need("is", value)
        return Static(value)
    if isinstance(value, (tuple, list)) and lo.packs and place is not None and (packing := pack(value)) is not None:
        need("packed", packing.key)
        return series_outside(lo, packing, place)
    if isinstance(value, (tuple, list)):
        need("sized", (type(value), len(value)))
        return Sequence(tuple(lo.wrap(v, place and place.item(i)) for i, v in enumerate(value)), type(value))
    if isinstance(value, (dict, types.MappingProxyType)):
        need("keys", (type(value), tuple(value)))
        made = Mapping({k: lo.wrap(v, place and place.item(k)) for k, v in value.items()}, type(value))
        made.attributes = frozenset(k for k in value if isinstance(k, str) and item_by_attribute(value, k))
        return made
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        need("type", type(value))
        return Record(type(value), {f.name: lo.wrap(getattr(value, f.name), place and place.attribute(f.name))
                                    for f in dataclasses.fields(value)} | set_on(lo, value, place))
    if (found := lo.registry.parts_of(value)) is not None:
        need("type", type(value))
        return Record(found[0], {k: lo.wrap(v, place and place.along(way)) for k, (way, v) in found[1].items()})
    if isinstance(value, slice):
        need("type", slice)
        return Slice(*(None if (part := getattr(value, end)) is None else lo.wrap(part, place and place.attribute(end))
                       for end in ("start", "stop", "step")))
    if is_foreign(type(value)):
        name = place.spelled(lo.frame.root.cells) if place is not None else ""
        raise lo.error(TypeConflict, f"{f'`{name}`' if name else 'what is read here'} is a {name_of(type(value))}, no NumPy "
                       "array", "pass it as an argument, or read its numbers made a NumPy array outside: np.asarray(...)")
    if isinstance(value, types.MethodType) and place is not None:       # made anew each time it is read
        lo.reads.need(place.attribute("__func__"), "is", value.__func__)
        lo.reads.need(place.attribute("__self__"), "is", value.__self__)
    elif isinstance(value, (set, frozenset)):           # equal ones may have their items in another order
        need("keys", (type(value), tuple(value)))
    elif isinstance(value, COMPARED):
        need("equal", copy.copy(value))
    else:
        need("is", value)
    return Static(value)


def tensor_outside(lo: Lowering, value, place: Place | None) -> Value:
    """A Tensor that no call was given: its array, unless it requires grad: no node would have it as an input."""
    array, wanted = type(value).__autodiff_tensor__
    if getattr(value, wanted):
        name = place.spelled(lo.frame.root.cells) if place is not None else ""
        raise lo.error(TypeConflict, f"{f'`{name}`' if name else 'what is read here'} is a Tensor that requires grad, "
                       "and no argument of the function: its gradient would be lost",
                       "pass it as an argument, or read t.detach() made outside if no gradient is wanted")
    if place is None:
        return lo.wrap(getattr(value, array))
    lo.reads.need(place, "type", type(value))
    lo.reads.need(place.attribute(wanted), "same", False)
    return lo.wrap(getattr(value, array), place.attribute(array))


def set_on(lo: Lowering, value, place: Place | None) -> dict:
    """What was set on an object beside its fields, by name; that must stay all there is."""
    kept = getattr(value, "__dict__", None)
    if kept is None:
        return {}
    if place is not None and not trusted(type(value).__module__):
        lo.reads.need(place.attribute("__dict__"), "keys", (dict, tuple(kept)))
    return {k: Static(Unread(place.attribute(k) if place is not None else Place.of(value).attribute(k)))
            for k in beside_fields(value)}


def of_signature(lo: Lowering, obj, name: str) -> Value:
    """An attribute of a Signature or one of its Parameters, which never change."""
    found = getattr(obj, name)
    return Mapping({k: Static(p) for k, p in found.items()}) if isinstance(found, types.MappingProxyType) else lo.wrap(found)


def attribute_outside(lo: Lowering, obj, name: str) -> Value | None:
    """An attribute of an object that is known now; None if it has none."""
    if isinstance(obj, NUMBERS_AND_TEXTS):      # which have what their class has
        found = attribute_now(lo, obj, name)
        return None if found is MISSING else lo.wrap(found) if isinstance(found, NUMBERS_AND_TEXTS) else Static(found)
    if isinstance(obj, ModuleType) and (written := global_now(lo, vars(obj), name)) is not None:
        return None if written is UNSET else written
    if isinstance(obj, SIGNATURES):
        return of_signature(lo, obj, name)
    if (getter := getter_of(lo, obj, name)) is not None:
        return got(lo, obj, name, *getter)
    found = attribute_now(lo, obj, name)
    place = Place.of(obj).attribute(name)
    if found is MISSING:
        lo.reads.need(place, "missing")
        return None
    if constant_attribute(obj, found):
        return lo.wrap(found) if isinstance(found, (np.ndarray, np.generic, float, int)) else Static(found)
    methods = types.BuiltinMethodType, types.MethodWrapperType
    if isinstance(found, methods) and found.__self__ is obj and not isinstance(obj, (ModuleType, type)):
        return Static(found)                        # of a class written in C, which nobody changes
    return read_outside(lo, place, found)


def getter_of(lo: Lowering, obj, name: str) -> tuple | None:
    """(function, its arguments) that Python calls for an attribute of an object, if it is a user's: of a property or another
    descriptor, or `__getattr__`; None where nothing of a user's is called."""
    cls = type(obj)
    if isinstance(obj, (ModuleType, type)) or trusted(cls.__module__):
        return None
    lookup = own(cls, "__getattribute__")
    if lookup is not None and not trusted(lookup.__module__):
        raise lo.error(UnsupportedSyntax, f"an attribute of a {cls.__name__}: its class has its own `__getattribute__`, "
                       "which a derivative cannot follow", "read the attribute outside, and pass it as an argument")
    found = next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), MISSING)
    get, kept = getattr(type(found), "__get__", None), name in (getattr(obj, "__dict__", None) or ())
    given: tuple
    if isinstance(found, property):
        get, given = found.fget, (obj,)
    elif found is MISSING and not kept:
        get, given = getattr(cls, "__getattr__", None), (obj, name)
    elif kept and not hasattr(type(found), "__set__") and not hasattr(type(found), "__delete__"):
        return None
    else:
        given = (found, obj, cls)
    return (get, given) if hasattr(get, "__code__") and not trusted(get.__module__) else None


def got(lo: Lowering, obj, name: str, getter, given: tuple) -> Value:
    """What a getter gives that a user wrote: a call of it, while the attribute is still found by it."""
    cls, kept = class_of(lo, obj), getattr(obj, "__dict__", None)
    if isinstance(kept, dict) and name not in kept:
        lo.reads.need(Place.of(obj).attribute("__dict__").item(name), "missing")
    values: list[Value] = [Static(v) for v in given]
    for c in cls.__mro__[:-1]:
        place = Place.of(c).attribute("__dict__").item(name)
        if name in vars(c):
            lo.reads.need(place, "is", vars(c)[name])
            if given[0] is not obj:
                class_attribute(lo, class_of(lo, given[0]), "__get__")
                values[0] = read_outside(lo, place, given[0])
            break
        lo.reads.need(place, "missing")
    else:
        class_attribute(lo, cls, "__getattr__")
    return lo.call_static(getter, values, {})


def attribute_now(lo: Lowering, obj, name: str):
    """`getattr` of an object that is known now, MISSING if it has none; the program raises what its class raises."""
    try:
        return getattr(obj, name, MISSING)
    except (AutodiffError, RecursionError):
        raise
    except Exception as e:
        raise sure_to_raise(lo, e) from None


def class_of(lo: Lowering, obj) -> type:
    """The class of an object that is known now, which must stay its class."""
    if not trusted(type(obj).__module__):
        lo.reads.need(Place.of(obj).attribute("__class__"), "is", type(obj))
    return type(obj)


def class_attribute(lo: Lowering, cls: type, name: str):
    """What a class has under a name, MISSING if nothing; it must stay so."""
    found = getattr(cls, name, MISSING) if in_class(cls, name) else MISSING
    place = Place.of(cls).attribute(name)
    if found is MISSING and hasattr(type(cls), name):
        for c in cls.__mro__[:-1]:
            lo.reads.need(Place.of(c).attribute("__dict__").item(name), "missing")
    elif found is MISSING:
        lo.reads.need(place, "missing")
    elif isinstance(found, types.MethodType):
        lo.reads.need(place.attribute("__func__"), "is", found.__func__)
    elif callable(found) or isinstance(found, ACCESSORS):
        if hasattr(found, "__code__") or isinstance(found, (*ACCESSORS, type)):
            lo.reads.need(place, "is", found)
    return found


def rule_of(lo: Lowering, table: str, target):
    """What the registry has for a function, by the name of its table."""
    if not lo.registry:
        return None
    try:
        found = getattr(lo.registry, table).get(target)
    except TypeError:                       # not hashable
        return None
    lo.reads.rule(table, target, found)
    return found


def special(lo: Lowering, value: Value, name: str, *args) -> Value | None:
    """`__len__` and the like of an object that is known now, where its class has it in Python; None otherwise."""
    if isinstance(value, Record):
        if own(value.cls, name) is None:
            return None
        class_attribute(lo, value.cls, name)
        return record_method(lo, value, name, list(args), {})
    if not isinstance(value, Static) or isinstance(value.value, (type, ModuleType)):
        return None
    method = getattr(type(value.value), name, None)
    if not hasattr(method, "__code__") or not followed(type(value.value)):
        return None
    class_attribute(lo, class_of(lo, value.value), name)
    return lo.call_static(method, [value, *args], {})


def has_methods(value: Value) -> bool:
    """Whether the special methods of a value are those that its class has in Python: a record, an object known now.

    Arrays of other libraries, which have `__array__`, are none.
    """
    if isinstance(value, Record) or not isinstance(value, Static) or isinstance(value.value, (type, ModuleType)):
        return isinstance(value, Record)
    cls = type(value.value)
    return followed(cls) and (not hasattr(cls, "__array__") or cls in POLYNOMIALS)


def code_of(lo: Lowering, function) -> None:
    """A Python function is about to be read: its code must stay."""
    if not trusted(function.__module__):
        lo.reads.need(Place.of(function).attribute("__code__"), "is", function.__code__)


def defaults_of(lo: Lowering, function) -> tuple[list, dict]:
    """The defaults of a function: values of the positional ones, and of keywords by name."""
    given, named = function.__defaults__, function.__kwdefaults__
    if trusted(function.__module__):
        return [from_outside(lo, lo.wrap(d)) for d in given or ()], {
            k: from_outside(lo, lo.wrap(v)) for k, v in (named or {}).items()}
    place = Place.of(function)
    values = []
    if given:
        lo.reads.need(place.attribute("__defaults__"), "is", given)       # a tuple: what it holds may change, it not
        values = [from_outside(lo, lo.wrap(d)) if d is None or isinstance(d, FIXED) else
                  read_outside(lo, Place.of(given).item(i), d) for i, d in enumerate(given)]
    if named:
        place = place.attribute("__kwdefaults__")
        lo.reads.need(place, "keys", (type(named), tuple(named)))
    return values, {k: read_outside(lo, place.item(k), v) for k, v in (named or {}).items()}


def bound_parts(lo: Lowering, args: tuple, kwargs: dict, partials) -> tuple[list, dict]:
    """What partial applications bring, outermost first: arguments and keywords as values."""
    places: dict = {}
    for made in partials:
        place, held = Place.of(made), Place.of(made).attribute("keywords")
        lo.reads.need(place.attribute("func"), "is", made.func)
        lo.reads.need(place.attribute("args"), "is", made.args)
        lo.reads.need(held, "keys", (dict, tuple(made.keywords)))
        for k in made.keywords:
            places.setdefault(k, held.item(k))
    return ([read_outside(lo, Place.of(args).item(i), a) for i, a in enumerate(args)],
            {k: read_outside(lo, places[k], v) for k, v in kwargs.items()})


def constant(value) -> Value:
    """A number that is known now."""
    if isinstance(value, np.generic):
        if value.dtype.kind == "b":
            return Scalar(Const(bool(value), "bool"))
        if value.dtype.kind == "c":
            return Scalar(Const(complex(value), "complex64" if value.dtype == np.complex64 else "complex128"))
        if value.dtype == np.float32:
            return Scalar(Const(float(value), "float32"))
        if value.dtype.kind in "iu":
            dtype = normal_dtype(value.dtype)
            return Scalar(Const(in_range(int(value), exact(dtype)), dtype))
        return Static(value.item()) if value.dtype.kind != "f" else Scalar(Const(float(value), "float64"))
    return Static(value)


def constant_attribute(obj, found) -> bool:
    """Whether an attribute is one of a library's, which nobody changes."""
    if isinstance(obj, ModuleType):
        top = obj.__name__.split(".")[0]
        return top in PURE or trusted(top) and (callable(found) or isinstance(found, ModuleType))
    if not isinstance(obj, (type, np.finfo, np.iinfo)) and (
            isinstance(getattr(obj, "__dict__", None), dict) or hasattr(type(obj), "__next__")):
        return False                            # a polynomial, say, whose coefficients may be bound anew
    home = obj.__module__ if isinstance(obj, type) else type(obj).__module__
    return home.split(".")[0] in PURE or isinstance(obj, type) and trusted(home) and callable(found)


@evaluates(gast.Name)
def eval_name(lo: Lowering, node):
    name = node.id
    frame = lo.frame
    while frame is not None:
        if name in frame.env:
            value = frame.env[name]
            if value is UNSET or getattr(value, "later", False):
                raise unbound(lo, name, frame)
            if isinstance(value, Undefined):
                raise lo.error(TypeConflict, value.why or f"`{name}` may be undefined here",
                               ON_ALL_PATHS if value.why else "")
            return asked_for(lo, read(lo, name, value, frame), name)
        if frame.node is not None and name in local_names(frame.node):
            raise unbound(lo, name, frame)
        frame = frame.outer
    value = outer_name(lo, name)
    if value is None:
        raise lo.error(UndefinedName, f"name `{name}` is not defined",
                       "assign it before use, pass it as an argument, or define it at module level")
    return value


def record_method(lo: Lowering, owner, name, args, kwargs):
    if name == "_replace":
        return Record(owner.cls, {**owner.fields, **kwargs})
    if name == "_asdict":
        return Mapping(dict(owner.fields))
    method = class_attribute(lo, owner.cls, name)
    if method is MISSING or not hasattr(plain_function(method), "__code__"):
        raise lo.error(UnsupportedSyntax, f"{owner.cls.__name__} has no method `{name}` with Python source")
    if isinstance(inspect.getattr_static(owner.cls, name), (staticmethod, classmethod)):
        return lo.call_static(method, args, kwargs)
    return lo.call_static(plain_function(method), [owner, *args], kwargs)


def series_outside(lo: Lowering, found, place) -> Value:
    """A long list outside, packed: its arrays are extra arguments."""
    tree, made, numbers = found.tree, [], iter(range(len(found.arrays)))
    around = lists_around(tree)
    for leaf in leaves(tree):
        if id(leaf) in around and hasattr(leaf, "spec"):
            k, marks = next(numbers), around[id(leaf)]
            buffer = hidden_array(lo, found.arrays[k], place.column(k), leaf.spec, [lo.counts.get(m) for m in marks])
            leaf = column_of(lo, buffer, leaf.spec, marks)
        made.append(leaf)
    return opened(lo, rebuild(tree, iter(made)))
