"""Calls of compiled objects from the user's own `@njit` functions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numba
import numpy as np
from numba.core.errors import TypingError
from numba.core.typing.templates import make_overload_template
from numba.core.typing.typeof import Purpose

from ..arguments.kinds import flatten, in_pairs, passes
from ..arguments.packing import NO_TUPLES
from ..runtime.failing import NOTHING, note_failure, number_of
from ..transforms.language.core import Arr
from ..transforms.language.errors import AutodiffError, UnsupportedSyntax
from ..transforms.language.ops import exact
from ..transforms.lower.values import Buffer
from .failures import failing, places
from .running import asks, checking


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

    def narrow(self, kind) -> Raw:
        """The integer or integers in the dtype that they have in NumPy."""
        width = exact(kind.dtype)
        return Raw(f"{self.place}.astype(np.{width})" if getattr(kind, "rank", 0) else f"np.{width}({self.place})")

    def unpacked(self, tree, parts) -> Raw:
        """The array of a list: compiled callers have no lists of theirs."""
        if len(parts) > 1:
            raise TypingError(f"{NO_TUPLES[0]}, as in compiled code: {NO_TUPLES[2]}")
        return self

    def conjugate(self) -> Raw:
        return Raw(f"np.conjugate({self.place})")


def numba_type(compiled, context):
    """The Numba type of a compiled object that compiled code finds outside; None for one that it cannot call."""
    if context.purpose is Purpose.argument:
        return None
    if compiled._numba_type is None and (typed := compiled._typing()) is not None:
        options = {"no_cpython_wrapper": True, "nopython": True}        # those of numba.extending.overload
        compiled._numba_type = numba.types.Function(make_overload_template(compiled, typed, options, False, "never"))
    return compiled._numba_type


def typing_of(compiled) -> Callable:
    """The function by which Numba's typing asks `compiled` for the specialisation of a call's argument types."""
    def specialise(kinds) -> list:
        made = specialisation(compiled, kinds)
        names = list(signature.parameters) if (signature := compiled._call_signature) is not None else []
        forms = (("*args", [f"args[{k}]" for k in range(len(kinds))]), (", ".join(names), names))
        return [called(compiled, made, parameters, arguments, kinds) if len(arguments) == len(kinds) else None
                for parameters, arguments in forms]

    return typing_function(compiled, specialise)


def called(compiled, made, parameters: str, arguments, kinds) -> Callable:
    """`caller` for the arguments of a call of `compiled`."""
    return caller(compiled, made, parameters, arguments, kinds, further=getattr(compiled, "takes", 0))


def refusal(why: str) -> Callable:
    """The function by which Numba's typing says why something cannot be called from compiled code."""
    def typed(*args):
        raise TypingError(why)
    return typed


def specialisation(compiled, kinds, whole: bool = False):
    """What `compiled` is for arguments of these Numba types: where a check made once before the loops may fail and the
    program cannot run again (it prints or draws; whole: the caller says so), the one that checks each access."""
    try:
        names, values = compiled._bind(tuple(numba.types.unliteral(k) for k in kinds), {})
        made = compiled._find(names, values)
    except (AutodiffError, TypeError) as e:
        raise TypingError(str(e)) from None
    return settled(compiled, made, names, values, whole)


def settled(compiled, made, names, values, whole: bool = False):
    """The specialisation that compiled code calls, with the one that checks each access at hand."""
    first, named = compiled._given
    outside = [value for _, _, value in made.hidden] + flatten([*first, *named.values()])
    if len(made.drawn) > 1 or any(isinstance(value, np.random.Generator) for value in outside):
        raise TypingError(f"{compiled!r} draws from several random generators, or from one that is not an argument: call it "
                          "from Python, or pass one generator")
    if made.static:
        raise TypingError(f"{compiled!r} needs a value known before the program runs: call it from Python")
    if not asks(made, "each"):
        return made
    checked = checking(compiled, boundscheck="each")._find(names, values)
    if made.prints or made.drawn or whole:
        return checked
    made.extra["checked"] = checked
    return made


def typing_function(compiled, specialise):
    """The function by which Numba types a call: with the parameters' names, so that keywords work, if they are plain."""
    signature = compiled._call_signature
    plain = signature is not None and not any(compiled._given) and all(
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


def caller(compiled, made, parameters: str, arguments, kinds, finish=None, further: int = 0) -> Callable:
    """A function `def call(parameters)` that calls the generated one with `arguments`, expressions of these Numba types, and
    puts its values together: by `finish(values, namespace)`, or as a call from Python does.

    further: how many of the arguments, the last ones, are not those of the user's function.
    """
    count = len(made.generated.programs[0].returns)
    raw = tuple(Raw(f"raw[{k}]" if count > 1 else "raw") for k in range(count))
    namespace: dict[str, Any] = {"np": np}
    result = finish(raw, namespace) if finish is not None else expression(
        compiled._finish(made, raw if count > 1 else raw[0]), namespace, compiled)
    own = len(kinds) - further
    first, named = compiled._given
    leaves = [*bound(first, "first", namespace), *spread_all(arguments[:own], kinds[:own]),
              *bound(named.values(), "named", namespace), *spread_all(arguments[own:], kinds[own:])]
    check_layouts(made, leaves)
    lines = [f"def call({parameters}):"]
    lines += tangent_shape_lines(compiled._alike(made, leaves))
    written = [name for name, steps in made.generated.lowered.written if not steps]
    names = list(made.generated.lowered.trees)
    arrays = [(names[k] in written, a, kind) for k, (a, kind) in enumerate(zip(arguments[:own], kinds[:own], strict=True))
              if isinstance(kind, numba.types.Array)] if len(names) == own else []
    lines += apart_lines(arrays, namespace, {a: f"`{a}`" for _, a, _ in arrays})
    lines += run_lines(made, [passing(*leaf) for leaf in leaves], namespace)
    lines.append(f"    return {result}")
    exec("\n".join(lines) + "\n", namespace)
    return namespace["call"]


def tangent_shape_lines(alike) -> list[str]:
    """Lines that compare the shapes of tangents with those of their primals; alike: pairs of (expression, Numba type)."""
    return [line for (value, _), (dot, kind) in alike if isinstance(kind, numba.types.Array) for line in (
        f"    if {dot}.shape != {value}.shape:", "        raise ValueError('a tangent has not the shape of its primal')")]


def apart_lines(arrays, namespace: dict, said: dict) -> list[str]:
    """Lines that refuse arrays which share memory that the function writes.

    arrays: (whether it is written, expression, Numba type); said: what errors call an expression.
    """
    lines = []
    for (mine, a, one), (other, b, two) in combinations(arrays, 2):
        if mine or other:
            namespace["UnsupportedSyntax"] = UnsupportedSyntax
            text = f"the arguments {said[a]} and {said[b]} share memory, and the function writes to it"
            lines += [f"    if {end(a, one, 'max')} > {end(b, two, 'min')} and {end(b, two, 'max')} > {end(a, one, 'min')} "
                      f"and {a}.size and {b}.size:", f"        raise UnsupportedSyntax({text!r})"]
    return lines


def run_lines(made, passed: list[str], namespace: dict, last=()) -> list[str]:
    """Lines that set `raw` to what the generated function returns; that of the careful program, where a check made once for
    all fails. Where a library call fails, the program runs again once it is known which one it is."""
    run = running(made, passed, "generated", namespace, last)
    namespace["note_failure"] = note_failure
    note = f"note_failure({number_of(places(made))})" if failing(made.generated.programs) else ""
    if made.prints or made.drawn or "checked" not in made.extra and not note:
        return [*([f"    {note}"] if note else []), f"    raw = {run}"]
    again = running(made.extra.get("checked", made), passed, "checked", namespace, last)
    namespace["generated"] = attempted(namespace["generated"], len(passed) + len(made.hidden) + len(last))
    lines = [f"    done, raw = {run}", "    if not done:"]
    if note:                                    # the error will come again, which does not know where it comes from
        return [*lines, f"        {note}", f"        raw = {again}", f"        note_failure({NOTHING})"]
    return [*lines, f"        raw = {again}"]


def attempted(function, count: int):
    """A compiled function of as many arguments that gives (whether `function` raised nothing, what it returned).

    The `try` stands alone: from Python 3.12 on, Numba takes what is raised behind one in the same function, or in branches
    of it, for nothing.
    """
    names = ", ".join(f"a{k}" for k in range(count))
    space = {"function": function}
    exec(f"def attempt({names}):\n    try:\n        found = function({names})\n        done = True\n"
         "    except Exception:\n        done = False\n    return done, found\n", space)
    return numba.njit(space["attempt"])


def running(made, passed: list[str], name: str, namespace: dict, last=()) -> str:
    """The call of a generated function, by this name, with what it reads outside, which the namespace gets, then `last`."""
    namespace[name] = made.functions[made.generated.programs[0].name]
    outside = []
    for k, (arr, origin, value) in enumerate(made.hidden):
        value = value if origin is None else origin.now()
        if not isinstance(arr, Arr):
            outside.append(repr(value))
            continue
        namespace[f"{name}_{k}"] = in_pairs(np.ascontiguousarray(value)) if arr.pairs else np.ascontiguousarray(value)
        outside.append(f"{name}_{k}.copy()")            # Numba freezes outer arrays; the generated code wants its own
    return f"{name}({', '.join([*passed, *outside, *last])})"


def end(array: str, kind, which: str) -> str:
    """The address where the memory of an array starts ("min") or ends ("max")."""
    steps = [f" + {which}(0, ({array}.shape[{k}] - 1) * {array}.strides[{k}])" for k in range(kind.ndim)]
    return f"{array}.ctypes.data" + "".join(steps) + (f" + {array}.itemsize" if which == "max" else "")


def bound(values, name: str, namespace: dict) -> list:
    """(expression, Numba type) of the numbers and arrays that a partial application or method brings: constants, as any that
    Numba finds outside."""
    found = [leaf for value in values for leaf in flatten(value) if passes(leaf)]
    names = [f"{name}_{k}" for k in range(len(found))]
    namespace.update(zip(names, found, strict=True))
    return [(n, numba.typeof(v).copy(readonly=True) if isinstance(v, np.ndarray) else numba.typeof(v))
            for n, v in zip(names, found, strict=True)]


def spread_all(arguments, kinds) -> list:
    """(expression, Numba type) of the numbers and arrays in several arguments."""
    return [leaf for argument, kind in zip(arguments, kinds, strict=True) for leaf in spread(argument, kind)]


def spread(argument: str, kind: Any) -> list:
    """(expression, Numba type) of the numbers and arrays in an argument."""
    if isinstance(kind, numba.types.BaseTuple):
        return [leaf for k, part in enumerate(parts_of(kind)) for leaf in spread(f"{argument}[{k}]", part)]
    return [] if isinstance(kind, (numba.types.NoneType, numba.types.Omitted)) else [(argument, kind)]


def function_behind(function):
    """The Python function behind the Numba type of a jitted function or of a compiled object."""
    if isinstance(function, numba.types.Dispatcher):
        return function.dispatcher.py_func
    return getattr(function, "typing_key", None) if isinstance(function, numba.types.Function) else None


def tangent_leaves(primal: str, kind: Any, tangent: str, dot: Any) -> list:
    """Pairs of (expression, Numba type) of the leaves of a primal and of their tangents, None where there is none."""
    absent = isinstance(dot, (numba.types.NoneType, numba.types.Omitted))
    if not isinstance(kind, numba.types.BaseTuple):
        return [((primal, kind), None if absent else (tangent, dot))]
    if not absent and (not isinstance(dot, numba.types.BaseTuple) or len(parts_of(dot)) != len(parts_of(kind))):
        raise TypingError("a tangent has another structure than its primal")
    return [leaf for k, part in enumerate(parts_of(kind))
            for leaf in tangent_leaves(f"{primal}[{k}]", part, f"{tangent}[{k}]", dot if absent else parts_of(dot)[k])]


def parts_of(kind: Any) -> tuple:
    """The types of the items of a tuple's Numba type."""
    return kind.types


def check_layouts(made, leaves) -> None:
    """TypingError where an array that must lie row by row may lie otherwise. leaves: (expression, Numba type) of each."""
    arrays = [(p, value.flags.c_contiguous) for p, _, value in made.hidden if isinstance(value, np.ndarray)]
    given = [not isinstance(kind, numba.types.Array) or kind.layout == "C" for _, kind in leaves]
    for p, in_order in [*zip(made.params, given, strict=False), *arrays]:
        if not in_order and p in made.generated.lowered.layouts:
            raise TypingError(f"`{p.hint}` may not lie in memory row by row; by how it lies, what the function writes, or "
                              "asks with `is`, is a view or a copy: use np.ascontiguousarray(...)")


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


__all__ = ["apart_lines", "bound", "called", "caller", "function_behind", "numba_type", "parts_of", "passing", "refusal",
           "run_lines", "settled", "specialisation", "spread", "spread_all", "tangent_leaves", "tangent_shape_lines",
           "typing_of"]
