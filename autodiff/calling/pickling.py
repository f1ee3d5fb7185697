"""Pickling of compiled objects: by name where other processes can import them, else the function and its options.

A function of `__main__`, of a notebook cell or of another function goes by value: its text, what its closure holds, its
defaults, the globals that it reads, and its derivative rules.
"""

from __future__ import annotations

import dis
import functools
import importlib
import io
import operator
import pickle
import sys
import types
from typing import Any

import numba
import numpy as np

from ..inspecting.inspected import summary
from ..inspecting.sources import Source
from ..rules import REGISTRY
from ..transforms.language.errors import AutodiffError
from ..transforms.language.markup import element, piece
from ..transforms.source.definitions import MISSING, plain_function
from ..transforms.source.portable import function_from, portable
from ..transforms.source.same_code import names_in

MAIN = ("__main__", "__mp_main__")
LATEST = 64                     # functions that came from another process and are kept
CLOUDPICKLES = ("cloudpickle", "joblib.externals.cloudpickle")      # they pickle classes of `__main__` too
UNCHANGING = (int, float, complex, str, bytes, type(None), types.ModuleType)
SENDING = (pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError)
FIELDS = ("__defaults__", "__kwdefaults__", "__module__", "__name__", "__doc__")


class AtAPoint:
    """A linear map that belongs to one run: what it holds of that run is never changed, and stays in this process."""

    _made: Any
    kind = "linear map"

    @property
    def source(self) -> Source:
        """The generated source: forward part and linear map."""
        return Source(self._made.generated.text)

    def __repr__(self):
        return f"<{self.kind} of {self._made.generated.lowered.function.name}>"

    def _repr_html_(self) -> str:
        return piece(element("b", repr(self)[1:-1]), *summary(self._made))

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        raise TypeError(f"a {type(self).__name__} cannot be pickled: it holds what one run left. Pickle the function "
                        "and its arguments, and call autodiff.vjp or autodiff.linearize there")


class Reference:
    """A function pickled by name where a decorated object stands in its place, and by value where it has no name."""

    def __init__(self, function):
        self.function = function

    def __reduce__(self):
        core = self.function
        while isinstance(core, (functools.partial, types.MethodType)):
            core = core.func if isinstance(core, functools.partial) else core.__func__
        f = plain_function(core)
        found = importable(f)
        if core is self.function and found is not MISSING:
            if found is core or plain_function(found) is f and not hasattr(found, "__autodiff_lower__"):
                return load_global, (f.__module__, f.__qualname__)
            if hasattr(found, "__autodiff_lower__") and plain_function(found.function) is f:
                return inner_function, (f.__module__, f.__qualname__)
        by_value = found is MISSING if isinstance(f, types.FunctionType) else importable(type(f)) is not type(f)
        if by_value:                            # also an object, whose class would go without the text of its methods
            return loaded, (pickled(self.function),)
        return same_object, (self.function,)


def importable(f):
    """What stands under the name of a function or an object in its module, for other processes too; or MISSING."""
    module = getattr(f, "__module__", None)
    return MISSING if module in MAIN else find_global(module, getattr(f, "__qualname__", None))


def find_global(module, name):
    try:
        return operator.attrgetter(name)(importlib.import_module(module))
    except Exception:
        return MISSING


def load_global(module, name):
    return operator.attrgetter(name)(importlib.import_module(module))


def inner_function(module, name):
    return load_global(module, name).function


def plain_global(module, name):
    return plain_function(load_global(module, name))


def same_object(function):
    return function


def rebuild_compiled(cls, function, parameters, options):
    return cls(function, **parameters, options=options)


# -- by value -------------------------------------------------------------------------------------------------------
_latest: dict = {}


def pickled(value) -> bytes:
    """A function, or what holds one, by value. Raises pickle.PicklingError, which names what cannot be sent."""
    try:
        return dumped(value)
    except SENDING as e:
        raise pickle.PicklingError(culprit(value, e, set())) from None


def dumped(value) -> bytes:
    file = io.BytesIO()
    pickler_class()(file).dump(value)
    return file.getvalue()


def culprit(value, error, seen: set) -> str:
    """What in a function cannot be sent."""
    seen.add(id(value))
    for name, held in held_by(value).items() if isinstance(value, types.FunctionType) else ():
        try:
            if id(held) not in seen:
                dumped(held)
        except SENDING as e:
            return f"`{value.__name__}` cannot be sent to another process for its {name}: {culprit(held, e, seen)}"
    return str(error)


def loaded(data: bytes):
    """What was pickled; the same function for the same bytes, if nothing that it holds can change."""
    function = _latest.get(data)
    if function is None:
        function = pickle.loads(data)
        if not changing(function, set()):
            if len(_latest) >= LATEST:
                _latest.pop(next(iter(_latest)), None)
            _latest[data] = function
    return function


def changing(value, seen: set) -> bool:
    """Whether a value may be another one later, or holds one that may."""
    if isinstance(value, UNCHANGING) or id(value) in seen:
        return False
    seen.add(id(value))
    if isinstance(value, (tuple, frozenset)):
        return any(changing(v, seen) for v in value)
    if isinstance(value, types.FunctionType):
        return importable(value) is not value and any(changing(v, seen) for v in held_by(value).values())
    return not isinstance(value, (type, types.BuiltinFunctionType, np.ufunc)) or importable(value) is not value


def held_by(function) -> dict:
    """What a function reads from outside, by its place in words."""
    found = {f"global `{name}`": value for name, value in read_globals(function).items()}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        found[f"variable `{name}`"] = contents(cell)
    for name, value in (function.__kwdefaults__ or {}).items():
        found[f"default of `{name}`"] = value
    found.update({f"default {k}": value for k, value in enumerate(function.__defaults__ or ())})
    found.update({f"attribute `{name}`": value for name, value in vars(function).items()})
    return found


def contents(cell):
    try:
        return cell.cell_contents
    except ValueError:
        return None


def read_globals(function) -> dict:
    """The globals that a function reads, functions in it included."""
    names: set[str] = set()
    todo = [function.__code__]
    while todo:
        code = todo.pop()
        names.update(i.argval for i in dis.get_instructions(code) if "GLOBAL" in i.opname or i.opname == "LOAD_NAME")
        todo += [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return {n: function.__globals__[n] for n in sorted(names) if n in function.__globals__}


def pickler_class():
    base = next((sys.modules[name].Pickler for name in CLOUDPICKLES if name in sys.modules), pickle.Pickler)
    return pickler_on(base)


@functools.lru_cache(maxsize=4)
def pickler_on(base: Any):
    class Pickler(base):
        """Writes functions as text where their names mean nothing elsewhere."""

        def __init__(self, file):
            super().__init__(file, pickle.HIGHEST_PROTOCOL)
            self.spaces: dict = {}              # what stands for the globals of each module

        def reducer_override(self, obj):
            if isinstance(obj, Reference):
                return same_object, (obj.function,)
            if isinstance(obj, types.CellType):
                empty = obj == types.CellType()
                return new_cell, (), None if empty else (obj.cell_contents,), None, None, fill_cell
            if isinstance(obj, types.ModuleType):
                return importlib.import_module, (obj.__name__,)
            if isinstance(obj, functools._lru_cache_wrapper) and importable(obj) is not obj:
                return cached, (obj.__wrapped__, obj.cache_parameters())
            if isinstance(obj, types.FunctionType) or is_jitted(obj):
                found = importable(plain_function(obj))
                if found is obj and not is_jitted(obj):
                    return NotImplemented
                if found is obj:
                    return load_global, (obj.__module__, obj.__qualname__)
                if found is not MISSING and plain_function(found) is obj:
                    return plain_global, (obj.__module__, obj.__qualname__)
                if is_jitted(obj):
                    return jitted, (obj.py_func, dict(obj.targetoptions))
                try:
                    return self.by_value(obj)
                except AutodiffError as e:      # no text: only its compiled code could be sent
                    if base is pickle.Pickler:
                        raise pickle.PicklingError(str(e)) from None
            return getattr(super(), "reducer_override", lambda obj: NotImplemented)(obj)

        def by_value(self, f):
            text = portable(f)
            space = self.spaces.setdefault(id(f.__globals__), {"__name__": f.__globals__.get("__name__")})
            names = read_globals(f)
            modules = [name for m in names.values() if isinstance(m, types.ModuleType) for attr in names_in(f.__code__)
                       if (name := f"{m.__name__}.{attr}") in sys.modules]
            state = {"globals": names, "modules": sorted(modules), "rules": rules_of(f), "attributes": dict(vars(f)),
                     "fields": {k: getattr(f, k) for k in FIELDS}}
            return function_from, (text, space, f.__closure__ or ()), state, None, None, fill_function
    return Pickler


def is_jitted(obj) -> bool:
    """Whether an object is a function compiled by Numba's `jit`."""
    return type(obj).__module__.startswith("numba.") and hasattr(obj, "py_func") and hasattr(obj, "targetoptions")


def jitted(function, options):
    return numba.jit(**options)(function)


def cached(function, parameters):
    return functools.lru_cache(**parameters)(function)


def rules_of(f) -> dict:
    """The derivative rules that were given for a function."""
    tables = ("user_rules", "user_pushforwards")
    return {table: getattr(REGISTRY, table)[f] for table in tables if f in getattr(REGISTRY, table)}


def new_cell():
    return types.CellType()


def fill_cell(cell, state):
    cell.cell_contents, = state


def fill_function(function, state):
    for name in state["modules"]:
        importlib.import_module(name)
    function.__globals__.update(state["globals"])
    for name, value in state["fields"].items():
        setattr(function, name, value)
    vars(function).update(state["attributes"])
    if state["rules"]:
        for table, rule in state["rules"].items():
            REGISTRY.put(table, function, rule)
