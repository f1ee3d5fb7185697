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
import sys
import sysconfig
import types
from array import array as packed
from types import ModuleType
from typing import Any

import numpy as np

from ..language.core import Const
from ..language.errors import AutodiffError, TypeConflict
from ..language.ops import exact, normal_dtype
from ..source.definitions import MISSING, own
from ..source.plain import NUMERIC, Unread, beside_fields, misfit, misfit_container
from .integers import in_range
from .packing import packed as pack
from .values import Mapping, Record, Scalar, Sequence, Static, Value

LIBRARIES = frozenset({"numpy", "scipy", "numba", "autodiff"})      # whose functions stay what they are
PURE = frozenset({"numpy", "math", "cmath"})                        # and whose constants do
COMPARED = (set, frozenset, collections.deque, bytearray, packed, range, slice, str, bytes, np.dtype)
FIXED = (bool, int, float, complex, str, type, types.FunctionType, np.generic)
ACCESSORS = (property, functools.cached_property)


class Place:
    """Where a value is found: `parent` with one more step, an attribute or item; a root is an object itself.

    key: equal for equal ways from one object.
    """

    __slots__ = ("key", "kind", "parent", "step")

    def __init__(self, parent: Place | None, kind: str, step: Any):
        self.parent, self.kind, self.step = parent, kind, step
        self.key: tuple = (id(step),) if parent is None else (*parent.key, (kind, type(step), step))

    @staticmethod
    def of(value) -> Place:
        return Place(None, "object", value)

    def attribute(self, name: str) -> Place:
        return Place(self, "attribute", name)

    def item(self, key) -> Place:
        return Place(self, "item", key)

    def now(self) -> Any:
        """What is found here now. Raises what Python raises."""
        if self.parent is None:
            return self.step
        owner = self.parent.now()
        if self.kind == "column":
            found = pack(owner)
            return found.arrays[self.step]
        return getattr(owner, self.step) if self.kind == "attribute" else owner[self.step]

    def column(self, k: int) -> Place:
        """The array of a part of the items of a long list."""
        return Place(self, "column", k)

    def spelled(self, cells: dict) -> str:
        """What a program would write for it; "" if that is not known. cells: the function's, by name."""
        if self.parent is None:
            return getattr(self.step, "__name__", "")
        owner = self.parent.step
        if self.parent.parent is None and isinstance(owner, types.CellType):
            return next((name for name, cell in cells.items() if cell is owner), "")
        if self.parent.parent is None and isinstance(owner, dict) and "__builtins__" in owner:
            return str(self.step)
        within = self.parent.spelled(cells)
        if self.kind == "attribute":
            return f"{within}.{self.step}" if within else self.step
        return f"{within}[{self.step!r}]" if within else ""

    @property
    def hint(self) -> str:
        """A name for it in generated code."""
        if self.kind == "column":
            return self.parent.hint
        return self.step if isinstance(self.step, str) and self.step.isidentifier() and not self.step.startswith(
            "cell_") else "constant"


@dataclasses.dataclass
class Condition:
    """What must be found at a place.

    kind: "is" the object `value`; "same" number or text as `value`; "equal" to the copy `value`; of the "type" `value`;
    "sized": type and length; "packed": a long list of this kind; "keys": type and keys; "array": type, dtype and, for each
    axis, 0, 1 or None for more; "there" at all; "missing".
    """

    place: Place
    kind: str
    value: Any = None


class Reads:
    """All that was read from outside while a program was made, of nested derivatives and rules too.

    loose: places of numbers that keep changing: parameters. rules: what the registry said, by (table, key).
    """

    def __init__(self, loose: frozenset = frozenset()):
        self.loose = loose
        self.silent = False
        self.conditions: dict[tuple, Condition] = {}
        self.rules: dict[tuple, tuple] = {}

    def need(self, place: Place | None, kind: str, value=None) -> None:
        if place is not None and not self.silent and (place.parent is not None or kind not in ("is", "there", "same")):
            self.conditions.setdefault((place.key, kind), Condition(place, kind, value))

    def rule(self, table: str, key, found) -> None:
        self.rules.setdefault((table, id(key)), (table, key, found))

    @property
    def numbers(self) -> dict:
        """The Python floats that stand in the program, by the keys of their places."""
        return {key: c.value for (key, kind), c in self.conditions.items() if kind == "same" and type(c.value) is float}


@functools.lru_cache(maxsize=1024)
def trusted(module: str | None) -> bool:
    """Whether the functions of a module are taken to stay what they are: a library's or Python's own."""
    top = (module or "").split(".")[0]
    if top in LIBRARIES or top not in sys.stdlib_module_names or top == "__main__":
        return top in LIBRARIES
    file = getattr(sys.modules.get(top), "__file__", None)              # a user may have a file of that name
    return file is None or file.startswith(sysconfig.get_path("stdlib"))


def item_by_attribute(value: dict, name: str) -> bool:
    """Whether `value.name` is `value["name"]`: the class says so, or the object's `__dict__` is the object itself."""
    cls = type(value)
    if hasattr(cls, name):
        return False
    own = getattr(value, "__dict__", None)
    return own is value or not own and getattr(cls, "__getattr__", None) is dict.__getitem__


class Outside:
    """The part of the lowering that reads from outside: nothing else does."""

    reads: Reads

    def outer_name(self, name: str) -> Value | None:
        """A closure's or global name, as Python looks it up; None if there is none."""
        root = self.frame.root
        self.reads.silent, before = trusted(root.globals.get("__name__")), self.reads.silent
        try:
            return self.looked_up(name, root)
        finally:
            self.reads.silent = before

    def looked_up(self, name: str, root) -> Value | None:
        if name in root.cells:
            place = Place.of(root.cells[name]).attribute("cell_contents")
            try:
                return self.read(place, place.now())
            except ValueError:
                return None
        place = Place.of(root.globals).item(name)
        if name in root.globals:
            return self.read(place, root.globals[name])
        names = root.globals.get("__builtins__", builtins)
        names = vars(names) if isinstance(names, ModuleType) else names
        if name not in names:
            return None
        self.reads.need(place, "missing")
        return self.read(Place.of(names).item(name), names[name])

    def read(self, place: Place, value) -> Value:
        """What was found at a place: the same value each time it is read."""
        known = self.outside_values.get(place.key)
        if known is None:
            known = self.outside_values[place.key] = self.from_outside(self.wrap(value, place))
        return known

    def wrap(self, value, place: Place | None = None) -> Value:
        """A Python object as a value, with conditions on what else might be found at its place."""
        if isinstance(value, NUMERIC) and (found := misfit(value)) is not None:
            raise self.error(TypeConflict, *found)
        need = functools.partial(self.reads.need, place)
        if isinstance(value, np.ndarray):
            need("array", (type(value), value.dtype, tuple(s if s < 2 else None for s in value.shape)))
            if not value.ndim:
                return self.wrap(value[()], place and place.item(()))
            return self.hidden_array(value, place)
        if hasattr(type(value), "__autodiff_tensor__"):
            return self.tensor_outside(value, place)
        if isinstance(value, np.random.Generator):
            need("type", type(value))
            return self.hidden_generator(value, place)
        if isinstance(value, (bool, int, float, complex, np.number, np.bool_)) and not isinstance(value, np.timedelta64):
            if type(value) is float and place is not None and place.key in self.reads.loose:
                need("type", float)
                return self.hidden_number(value, place)
            need("same", value)
            return constant(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            need("type", type(value))
            return Record(type(value), {f: self.wrap(v, place and place.item(i)) for i, (f, v) in enumerate(
                zip(value._fields, value, strict=True))} | self.set_on(value, place))
        if isinstance(value, (tuple, list, dict)) and (found := misfit_container(value)) is not None:
            raise self.error(TypeConflict, *found)
        if isinstance(value, tuple) and hasattr(type(value), "n_sequence_fields"):      # sys.float_info and the like
            need("is", value)
            return Static(value)
        if isinstance(value, (tuple, list)) and self.packs and place is not None and (found := pack(value)) is not None:
            need("packed", found.key)
            return self.series_outside(found, place)
        if isinstance(value, (tuple, list)):
            need("sized", (type(value), len(value)))
            return Sequence(tuple(self.wrap(v, place and place.item(i)) for i, v in enumerate(value)), type(value))
        if isinstance(value, dict):
            need("keys", (type(value), tuple(value)))
            made = Mapping({k: self.wrap(v, place and place.item(k)) for k, v in value.items()})
            made.attributes = frozenset(k for k in value if isinstance(k, str) and item_by_attribute(value, k))
            return made
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            need("type", type(value))
            return Record(type(value), {f.name: self.wrap(getattr(value, f.name), place and place.attribute(f.name))
                                        for f in dataclasses.fields(value)} | self.set_on(value, place))
        if (found := self.registry.parts_of(value)) is not None:
            need("type", type(value))
            return Record(found[0], {k: self.wrap(v, place and place.attribute(k)) for k, v in found[1].items()})
        if isinstance(value, types.MethodType) and place is not None:       # made anew each time it is read
            self.reads.need(place.attribute("__func__"), "is", value.__func__)
            self.reads.need(place.attribute("__self__"), "is", value.__self__)
        elif isinstance(value, COMPARED):
            need("equal", copy.copy(value))
        else:
            need("is", value)
        return Static(value)

    def tensor_outside(self, value, place: Place | None) -> Value:
        """A Tensor that no call was given: its array, unless it requires grad: no node would have it as an input."""
        array, wanted = type(value).__autodiff_tensor__
        if getattr(value, wanted):
            name = place.spelled(self.frame.root.cells) if place is not None else ""
            raise self.error(TypeConflict, f"{f'`{name}`' if name else 'what is read here'} is a Tensor that requires grad, "
                             "and no argument of the function: its gradient would be lost",
                             "pass it as an argument, or read t.detach() made outside if no gradient is wanted")
        if place is None:
            return self.wrap(getattr(value, array))
        self.reads.need(place, "type", type(value))
        self.reads.need(place.attribute(wanted), "same", False)
        return self.wrap(getattr(value, array), place.attribute(array))

    def set_on(self, value, place: Place | None) -> dict:
        """What was set on an object beside its fields, by name; that must stay all there is."""
        kept = getattr(value, "__dict__", None)
        if kept is None:
            return {}
        if place is not None and not trusted(type(value).__module__):
            self.reads.need(place.attribute("__dict__"), "keys", (dict, tuple(kept)))
        return {k: Static(Unread(place.attribute(k) if place is not None else Place.of(value).attribute(k)))
                for k in beside_fields(value)}

    def attribute_outside(self, obj, name: str) -> Value | None:
        """An attribute of an object that is known now; None if it has none."""
        cls = type(obj)
        found = self.attribute_now(obj, name)
        place = Place.of(obj).attribute(name)
        if found is MISSING:
            self.reads.need(place, "missing")
            return None
        if constant_attribute(obj, found):
            return self.wrap(found) if isinstance(found, (np.ndarray, np.generic, float, int)) else Static(found)
        methods = types.BuiltinMethodType, types.MethodWrapperType
        if isinstance(found, methods) and found.__self__ is obj and not isinstance(obj, (ModuleType, type)):
            return Static(found)                        # of a class written in C, which nobody changes
        accessor = getattr(cls, name, None)
        if isinstance(accessor, property) and hasattr(accessor.fget, "__code__") and not plain(found):
            self.class_of(obj)
            self.reads.need(Place.of(cls).attribute(name), "is", accessor)
            return self.call_static(accessor.fget, [Static(obj)], {})
        return self.read(place, found)

    def attribute_now(self, obj, name: str):
        """`getattr` of an object that is known now, MISSING if it has none; the program raises what its class raises."""
        try:
            return getattr(obj, name, MISSING)
        except (AutodiffError, RecursionError):
            raise
        except Exception as e:
            raise self.sure_to_raise(e) from None

    def class_of(self, obj) -> type:
        """The class of an object that is known now, which must stay its class."""
        if not trusted(type(obj).__module__):
            self.reads.need(Place.of(obj).attribute("__class__"), "is", type(obj))
        return type(obj)

    def class_attribute(self, cls: type, name: str):
        """What a class has under a name, MISSING if nothing; it must stay so."""
        found = getattr(cls, name, MISSING)
        place = Place.of(cls).attribute(name)
        if found is MISSING:
            self.reads.need(place, "missing")
        elif isinstance(found, types.MethodType):
            self.reads.need(place.attribute("__func__"), "is", found.__func__)
        elif callable(found) or isinstance(found, ACCESSORS):
            if hasattr(found, "__code__") or isinstance(found, (*ACCESSORS, type)):
                self.reads.need(place, "is", found)
        return found

    def rule_of(self, table: str, target):
        """What the registry has for a function, by the name of its table."""
        if not self.registry:
            return None
        try:
            found = getattr(self.registry, table).get(target)
        except TypeError:                       # not hashable
            return None
        self.reads.rule(table, target, found)
        return found

    def special(self, value: Value, name: str, *args) -> Value | None:
        """`__len__` and the like of an object that is known now, where its class has it in Python; None otherwise."""
        if isinstance(value, Record):
            if own(value.cls, name) is None:
                return None
            self.class_attribute(value.cls, name)
            return self.record_method(value, name, list(args), {})
        if not isinstance(value, Static) or isinstance(value.value, (type, ModuleType)):
            return None
        method = getattr(type(value.value), name, None)
        if not hasattr(method, "__code__") or trusted(type(value.value).__module__):
            return None
        self.class_attribute(self.class_of(value.value), name)
        return self.call_static(method, [value, *args], {})

    def code_of(self, function) -> None:
        """A Python function is about to be read: its code must stay."""
        if not trusted(function.__module__):
            self.reads.need(Place.of(function).attribute("__code__"), "is", function.__code__)

    def defaults_of(self, function) -> tuple[list, dict]:
        """The defaults of a function: values of the positional ones, and of keywords by name."""
        given, named = function.__defaults__, function.__kwdefaults__
        if trusted(function.__module__):
            return [self.from_outside(self.wrap(d)) for d in given or ()], {
                k: self.from_outside(self.wrap(v)) for k, v in (named or {}).items()}
        place = Place.of(function)
        values = []
        if given:
            self.reads.need(place.attribute("__defaults__"), "is", given)       # a tuple: what it holds may change, it not
            values = [self.from_outside(self.wrap(d)) if d is None or isinstance(d, FIXED) else
                      self.read(Place.of(given).item(i), d) for i, d in enumerate(given)]
        if named:
            place = place.attribute("__kwdefaults__")
            self.reads.need(place, "keys", (type(named), tuple(named)))
        return values, {k: self.read(place.item(k), v) for k, v in (named or {}).items()}

    def bound_parts(self, args: tuple, kwargs: dict) -> tuple[list, dict]:
        """What a partial application brings: its arguments and keywords as values."""
        if kwargs:
            self.reads.need(Place.of(kwargs), "keys", (dict, tuple(kwargs)))
        return ([self.read(Place.of(args).item(i), a) for i, a in enumerate(args)],
                {k: self.read(Place.of(kwargs).item(k), v) for k, v in kwargs.items()})


def constant(value) -> Value:
    """A number that is known now."""
    if isinstance(value, np.generic):
        if value.dtype.kind == "b":
            return Scalar(Const(bool(value), "bool"))
        if value.dtype.kind == "c":
            return Scalar(Const(complex(value), "complex64" if value.dtype == np.complex64 else "complex128"))
        if value.dtype == np.float32:
            return Scalar(Const(float(value), "float32"))
        if value.dtype.kind in "iu" and value.dtype != np.int64:
            dtype = normal_dtype(value.dtype)
            return Scalar(Const(in_range(int(value), exact(dtype)), dtype))
        return Static(value.item()) if value.dtype.kind != "f" else Scalar(Const(float(value), "float64"))
    return Static(value)


def plain(value) -> bool:
    """Whether two reads of a value can be compared."""
    return value is None or isinstance(value, (bool, int, float, complex, str, np.generic, np.ndarray)) or (
        isinstance(value, (tuple, list)) and all(map(plain, value)))


def constant_attribute(obj, found) -> bool:
    """Whether an attribute is one of a library's, which nobody changes."""
    if isinstance(obj, ModuleType):
        top = obj.__name__.split(".")[0]
        return top in PURE or trusted(top) and (callable(found) or isinstance(found, ModuleType))
    home = obj.__module__ if isinstance(obj, type) else type(obj).__module__
    return home.split(".")[0] in PURE or isinstance(obj, type) and trusted(home) and callable(found)


def place_key(place: Place | None, value) -> tuple:
    """What an array outside is known by: where it was found."""
    return (id(value),) if place is None else place.key


__all__ = ["Condition", "Outside", "Place", "Reads", "place_key"]
