"""Arguments that a derivative is made for, where nobody calls it: from types that are given, annotations, calls in the file,
or what the function does with them."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numba
import numpy as np
from numba.core.errors import NumbaError
from numba.np.numpy_support import from_dtype

from ..arguments.kinds import flatten, is_floating, passes
from ..transforms.source.definitions import plain_function
from .called import arguments_in
from .guesses import guesses
from .scripts import Mistake, Script

OWN = {"float": numba.types.float64, "int": numba.types.int64, "bool": numba.types.boolean,
       "complex": numba.types.complex128, "Generator": numba.types.npy_rng}
TYPES = {name: kind for name, kind in vars(numba.types).items() if not name.startswith("_")} | OWN


@dataclass(frozen=True)
class Arguments:
    """tries: (arguments, keywords), the likeliest first. guessed: whether nobody said that they are these."""

    tries: list[tuple[tuple, dict]]
    guessed: bool = False


def arguments_for(function, name: str, script: Script | None, types: str = "") -> Arguments:
    """The arguments for a function. types: Numba types, or expressions with names of the file, separated by semicolons.
    name, script: of the file that it is from.

    Raises Mistake where the types do not fit, or where there are none and no guess.
    """
    plain = plain_function(function)
    if (told := said(function, name, types)) is not None:
        return Arguments([(tuple(told), {})])
    parameters = parameters_of(plain)
    required = [p for p in parameters if p.default is p.empty]
    by_annotation = [of_annotation(p.annotation, getattr(plain, "__globals__", {})) for p in required]
    if script is not None and (found := arguments_in(script, name)) is not None:
        for args in (found[0], found[0][:-1]):          # of a product with a vector, which comes last
            if fits(plain, args, found[1]):
                return Arguments([(args, found[1])])
    if parameters and not required:
        return Arguments([(tuple(p.default for p in parameters), {})])
    tries, why = guesses(plain)
    if not tries:
        raise Mistake(f"the types of the arguments of {name} are not known: {why}; say --types '{example(required)}'")
    return Arguments([(tuple(v if k is None else k for k, v in zip(by_annotation, values, strict=False)), {})
                      for values in tries], True)


def said(function, name: str, types: str = "") -> list | None:
    """The arguments that `--types` or annotations say; None where these do not settle all.

    Raises Mistake where the types do not fit.
    """
    plain = plain_function(function)
    parameters, space = parameters_of(plain), getattr(plain, "__globals__", {})
    if types.strip():
        return given(types, name, parameters, space)
    found = [of_annotation(p.annotation, space) for p in parameters if p.default is p.empty]
    return None if not found or None in found else found


def parameters_of(function) -> list[inspect.Parameter]:
    """The parameters that take arguments by position."""
    return [p for p in inspect.signature(function).parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def parts_of(types: str) -> list[str]:
    return [one.strip() for one in types.strip().rstrip(";").split(";")]


def names_in(types: str) -> set[str]:
    """The names in `--types` that are no types: the file has to have them."""
    found: set[str] = set()
    for one in parts_of(types):
        try:
            found |= {n.id for n in ast.walk(ast.parse(one, mode="eval")) if isinstance(n, ast.Name)}
        except SyntaxError:
            continue
    return found - set(TYPES)


def given(types: str, name: str, parameters, space: dict) -> list:
    """The types of `--types`, and values where expressions of another kind stand there."""
    made = []
    for one in parts_of(types):
        try:
            kind = eval(one, {**space, **TYPES})
        except Exception as e:
            why = f" ({type(e).__name__}: {e})"
        else:
            why = ""
            if isinstance(kind, type) and issubclass(kind, np.generic):
                kind = of_annotation(kind, space) or kind
            if isinstance(kind, (type, ModuleType)):
                why = f", but a {type(kind).__name__}"
        if why:
            raise Mistake(f"--types: {one!r} is no Numba type{why}; for {name} it may be '{example(parameters)}'")
        made.append(kind)
    required = sum(p.default is p.empty for p in parameters)
    if not required <= len(made) <= len(parameters):
        counted = f"{required} to {len(parameters)}" if required < len(parameters) else str(required)
        raise Mistake(f"--types has {len(made)} types, and {name} takes {counted} arguments: "
                      f"{', '.join(p.name for p in parameters)}")
    return made


def example(parameters) -> str:
    return "; ".join(["float64[::1]", *["float64"] * (len(parameters) - 1)])


def fits(function, args: tuple, keywords: dict) -> bool:
    try:
        inspect.signature(function).bind(*args, **keywords)
    except TypeError:
        return False
    return True


def of_annotation(annotation, space: dict) -> Any:
    """The Numba type that an annotation says; None if it does not settle one (an array of unknown rank, any object)."""
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, {**TYPES, **space})
        except Exception:
            return None
    if isinstance(annotation, numba.types.Type):
        return annotation
    if getattr(annotation, "__origin__", None) is tuple and (parts := annotation.__args__) and Ellipsis not in parts:
        kinds = [of_annotation(p, space) for p in parts]
        return None if None in kinds else numba.types.Tuple(kinds)
    if not isinstance(annotation, type):
        return None
    if annotation in (float, int, bool, complex, np.random.Generator):
        return OWN[annotation.__name__]
    if issubclass(annotation, (np.number, np.bool_)):
        try:
            return from_dtype(np.dtype(annotation))
        except (NumbaError, TypeError):
            return None
    return None


def shown(value: Any) -> str:
    """A value's type as `--types` takes it."""
    if isinstance(value, numba.types.Array):
        return f"{value.dtype}[{':, ' * (value.ndim - 1)}::1]"
    if isinstance(value, np.ndarray):
        return f"{value.dtype}[{':, ' * (value.ndim - 1)}::1]"
    if isinstance(value, (bool, np.bool_)):
        return "boolean"
    if isinstance(value, np.number):
        return value.dtype.name
    if isinstance(value, (int, float, complex)):
        return {int: "int64", float: "float64", complex: "complex128"}.get(type(value), type(value).__name__)
    return str(value) if isinstance(value, numba.types.Type) else repr(value)


def has_floats(value: Any) -> bool:
    """Whether an argument, or its Numba type, holds numbers that have derivatives."""
    if isinstance(value, numba.types.BaseTuple):
        return any(map(has_floats, getattr(value, "types", ())))
    if isinstance(value, numba.types.Type):
        return isinstance(getattr(value, "dtype", value), (numba.types.Float, numba.types.Complex))
    try:
        return any(passes(x) and is_floating(x) for x in flatten(value))
    except Exception:                           # an object that is none of ours
        return False


__all__ = ["Arguments", "arguments_for", "has_floats", "said", "shown"]
