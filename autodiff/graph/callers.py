"""Calls taken apart: the numbers and arrays in the arguments, and Python text that makes the same call from them."""

from __future__ import annotations

import dataclasses
import itertools
import linecache

import numpy as np

from .tensor import Tensor, wrap

_numbers = itertools.count()


def numeric(value) -> bool:
    """Whether an argument is passed to compiled code, not built into it."""
    return isinstance(value, (Tensor, np.ndarray, int, float, complex, np.number, np.random.Generator)) \
        and not isinstance(value, bool)


class Caller:
    """A call `function(*args, **kwargs)` as text in which every number and array is a parameter `x0, x1, ...`.

    constants: build integers (axes, shapes) and Python's floats into the text. method: of the function, to be called.
    """

    @classmethod
    def of(cls, function, args, kwargs, constants: bool = False, method: str = "") -> Caller:
        return cls(function, args, kwargs, constants, method)

    def __init__(self, target, args, kwargs, constants, method=""):
        self.target, self.args, self.kwargs = target, args, kwargs
        self.constants = constants
        self.names: dict = {}
        self.leaves: list = []
        parts = [self.text_of(a) for a in args] + [f"{k}={self.text_of(v)}" for k, v in kwargs.items()]
        self.call = f"called{'.' + method if method else ''}({', '.join(parts)})"
        self.key = (target, self.call, tuple(self.names.items()))
        self.args, self.kwargs = (args, kwargs) if not constants else ((), {})

    def text_of(self, value) -> str:
        if isinstance(value, (Tensor, np.ndarray, np.generic, np.random.Generator)) or numeric(value) and not self.constants:
            self.leaves.append(value)
            return f"x{len(self.leaves) - 1}"
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return f"{self.constant(type(value))}({', '.join(map(self.text_of, value))})"
        if isinstance(value, tuple):
            return f"({''.join(self.text_of(v) + ', ' for v in value)})"
        if isinstance(value, list):
            return f"[{', '.join(map(self.text_of, value))}]"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{k!r}: {self.text_of(v)}" for k, v in value.items()) + "}"
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = [f"{f.name}={self.text_of(getattr(value, f.name))}" for f in dataclasses.fields(value)]
            return f"{self.constant(type(value))}({', '.join(fields)})"
        if value is None or isinstance(value, (int, float, str, bool)) and np.all(np.isfinite(value) if isinstance(
                value, float) else True):
            return repr(value)
        return self.constant(value)

    def constant(self, value) -> str:
        for name, known in self.names.items():
            if known is value:
                return name
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name

    def parameters(self) -> list[str]:
        return [f"x{k}" for k in range(len(self.leaves))]

    def made(self, name: str, parameters, body: str):
        """The Python function of this text, which has a source for the compiler to read."""
        text = f"def {name}({', '.join(parameters)}):\n{body}"
        place = f"<autodiff call {next(_numbers)} of {name}>"
        linecache.cache[place] = (len(text), None, text.splitlines(True), place)
        namespace = {"np": np, "called": self.target, **self.names}
        exec(compile(text, place, "exec"), namespace)
        return namespace[name]

    @property
    def name(self) -> str:
        name = getattr(self.target, "__name__", "call")
        return name if name.isidentifier() else "call"

    def function(self):
        """The call as a function of its numbers and arrays."""
        return self.made(self.name, self.parameters(), f"    return {self.call}\n")

    def weighted(self, results):
        """The sum of the results, each multiplied by a further parameter `s0, s1, ...`; of complex ones, marked *, the real
        part of the products with conjugates."""
        weights = [f"s{k}" for k in range(len(results))]
        terms = [f"np.sum(({text[:-1]} * np.conj({w})).real)" if text.endswith("*") else f"np.sum({text} * {w})"
                 for text, w in zip(results, weights, strict=True)]
        body = f"    y = {self.call}\n    return {' + '.join(terms)}\n"
        return self.made(f"{self.name}_pullback", [*self.parameters(), *weights], body)


def results_text(value, path: str = "y") -> list[str]:
    """How to take each Tensor out of a result `y`."""
    if isinstance(value, Tensor):
        return [path]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [t for f, v in zip(value._fields, value, strict=True) for t in results_text(v, f"{path}.{f}")]
    if isinstance(value, (tuple, list)):
        return [t for k, v in enumerate(value) for t in results_text(v, f"{path}[{k}]")]
    if isinstance(value, dict):
        return [t for k, v in value.items() for t in results_text(v, f"{path}[{k!r}]")]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [t for f in dataclasses.fields(value) for t in results_text(getattr(value, f.name), f"{path}.{f.name}")]
    return []


def mapped(value, function):
    """A structure with `function` applied to what is in it."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(mapped(v, function) for v in value))
    if isinstance(value, (tuple, list)):
        return type(value)(mapped(v, function) for v in value)
    if isinstance(value, dict):
        return {k: mapped(v, function) for k, v in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(value, **{f.name: mapped(getattr(value, f.name), function)
                                             for f in dataclasses.fields(value)})
    return function(value)


def plain(value):
    """Arguments as compiled code takes them: the arrays of Tensors, numbers where they have no axes."""
    def unwrapped(v):
        if isinstance(v, Tensor):
            return v._array if v._array.ndim else v._array[()]
        return v
    return mapped(value, unwrapped)


def rewrapped(value):
    """Results as Tensors: arrays and floats."""
    return mapped(value, lambda v: wrap(np.asarray(v)) if isinstance(v, (np.ndarray, np.generic, float, complex)) else v)


__all__ = ["Caller", "mapped", "numeric", "plain", "results_text", "rewrapped"]
