"""Calls of compiled objects from the user's own `@njit` functions."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.core.errors import TypingError
from numba.extending import overload

from .arguments import in_pairs
from .transforms.core import Arr
from .transforms.errors import AutodiffError
from .transforms.lower.values import Buffer

_REGISTERED: weakref.WeakSet = weakref.WeakSet()


class Raw:
    """Stands for one of the values that the generated function returns."""

    def __init__(self, place: str):
        self.place = place

    def joined(self, kind) -> Raw:
        """The complex number or array whose parts the value holds."""
        made = Buffer(kind) if isinstance(kind, Arr) else kind
        if made.rank:
            return Raw(f"{self.place}.view(np.{made.dtype}).reshape({self.place}.shape[:-1])")
        return Raw(f"np.{made.dtype}(complex({self.place}[0], {self.place}[1]))")

    def conjugate(self) -> Raw:
        return Raw(f"np.conjugate({self.place})")


def register(compiled) -> None:
    """Let Numba's typing ask `compiled` for the specialisation of a call's argument types."""
    if compiled in _REGISTERED:
        return
    _REGISTERED.add(compiled)

    def specialise(kinds) -> Callable:
        try:
            made = compiled._find(*compiled._bind(tuple(numba.types.unliteral(k) for k in kinds), {}))
        except AutodiffError as e:
            raise TypingError(str(e)) from None
        if made.static:
            raise TypingError(f"{compiled!r} needs a value known before the program runs: call it from Python")
        return caller(compiled, made, kinds)

    overload(compiled, strict=False)(typing_function(compiled, specialise))


def typing_function(compiled, specialise):
    """The function by which Numba types a call: with the parameters' names, so that keywords work, if they are plain."""
    signature = compiled._signature
    plain = signature is not None and not compiled._prefix and not compiled._keywords and all(
        p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty for p in signature.parameters.values())
    if not plain:
        def typed(*args):
            given: Any = args[0] if len(args) == 1 and isinstance(args[0], (tuple, numba.types.BaseTuple)) else args
            return specialise(tuple(given))[0]
        return typed
    names = ", ".join(signature.parameters)
    namespace = {"specialise": specialise}
    exec(f"def typed({names}):\n    return specialise(({names},))[1]", namespace)
    return namespace["typed"]


def caller(compiled, made, kinds):
    """(taking *args, taking the parameters by name): functions that call the generated one and put its values together."""
    count = len(made.generated.programs[0].returns)
    raw = tuple(Raw(f"raw[{k}]" if count > 1 else "raw") for k in range(count))
    result = expression(compiled._finish(made, raw if count > 1 else raw[0]), namespace := {}, compiled)
    names = list(compiled._signature.parameters) if compiled._signature is not None else []
    hidden = []
    for k, (arr, _, value) in enumerate(made.hidden):
        namespace[f"hidden_{k}"] = in_pairs(np.ascontiguousarray(value)) if arr.pairs else np.ascontiguousarray(value)
        hidden.append(f"hidden_{k}.copy()")             # Numba freezes outer arrays; the generated code wants its own
    namespace["function"] = made.call

    def text(parameters, arguments):
        passed = ", ".join([*map(passing, arguments, kinds), *hidden])
        return f"def call({parameters}):\n    raw = function({passed})\n    return {result}\n"
    made_functions: list = []
    for parameters, arguments in (("*args", [f"args[{k}]" for k in range(len(kinds))]), (", ".join(names), names)):
        if len(arguments) != len(kinds):
            made_functions.append(None)
            continue
        space = dict(namespace, np=np)
        exec(text(parameters, arguments), space)
        made_functions.append(space["call"])
    return made_functions


def passing(argument: str, kind) -> str:
    """An argument as the generated function takes it: contiguous, of one of its dtypes, complex numbers in pairs."""
    if isinstance(kind, numba.types.Complex):
        part = "float32" if kind == numba.complex64 else "float64"
        return f"np.array([{argument}.real, {argument}.imag], np.{part})"
    if isinstance(kind, numba.types.Array) and isinstance(kind.dtype, numba.types.Complex):
        part = "float32" if kind.dtype == numba.complex64 else "float64"
        whole = f"{argument}.copy()" if not kind.mutable else f"np.ascontiguousarray({argument})"
        return f"{whole}.reshape({argument}.shape + (1,)).view(np.{part})"
    if isinstance(kind, numba.types.Array) and kind.ndim:
        if kind.dtype not in (numba.float64, numba.float32, numba.int64, numba.boolean):
            wide = "float64" if isinstance(kind.dtype, numba.types.Float) else "int64"
            return f"np.ascontiguousarray({argument}.astype(np.{wide}))"
        if kind.layout != "C":
            return f"np.ascontiguousarray({argument})"
        if not kind.mutable:
            return f"{argument}.copy()"
    return argument


def expression(value, namespace: dict, compiled) -> str:
    """Source text that builds a result's structure from the values returned."""
    if isinstance(value, Raw):
        return value.place
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        namespace[type(value).__name__] = type(value)
        return f"{type(value).__name__}({', '.join(expression(v, namespace, compiled) for v in value)})"
    if isinstance(value, (tuple, list)):
        return f"({''.join(expression(v, namespace, compiled) + ', ' for v in value)})"
    if value is None or isinstance(value, (int, float, bool, str)):
        return repr(value)
    raise TypingError(f"{compiled!r} returns a {type(value).__name__}, which compiled code cannot hold: return numbers, "
                      "arrays and tuples of them")


__all__ = ["register"]
