"""Pickling of compiled objects: by name where they are importable, else the function and its options."""

from __future__ import annotations

import importlib
import operator

from .transforms.source import MISSING, plain_function


class Reference:
    """A function pickled by name where a decorated object stands in its place."""

    def __init__(self, function):
        self.function = function

    def __reduce__(self):
        f = plain_function(self.function)
        module, name = getattr(f, "__module__", None), getattr(f, "__qualname__", None)
        found = find_global(module, name)
        if found is not MISSING and (found is self.function or plain_function(found) is f):
            return load_global, (module, name)
        if hasattr(found, "__autodiff_lower__") and plain_function(found.function) is f:
            return inner_function, (module, name)
        return same_object, (self.function,)


def find_global(module, name):
    try:
        return operator.attrgetter(name)(importlib.import_module(module))
    except Exception:
        return MISSING


def load_global(module, name):
    return operator.attrgetter(name)(importlib.import_module(module))


def inner_function(module, name):
    return load_global(module, name).function


def same_object(function):
    return function


def rebuild_compiled(cls, function, options):
    return cls(function, **options)
