"""Arrays of other libraries among the arguments: which stand for the NumPy array on their memory, and what is refused.

An array of the array API standard (JAX's, for instance) has operators and methods with NumPy's meaning, so that the
function is the same program on `np.asarray(x)`, and that is what it gets: the memory itself where it lies on the CPU,
read-only if its library says so. A torch tensor is such an array too, but for the methods in `OTHERWISE`. What gives NumPy's
functions a meaning of its own (`__array_ufunc__`: tables whose labels align, units, arrays that are computed later) is
another program, and is refused; so is what means something else by `*`.
"""

from __future__ import annotations

import array
import copy
import dataclasses
import dis
import functools
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..transforms.language.errors import TypeConflict
from ..transforms.source.plain import is_foreign, is_torch, name_of
from .packing import instance

PLAIN = frozenset({np.ndarray, float, int, complex, bool, str, type(None), np.float64, np.float32, np.int64, np.bool_,
                   np.complex128, types.FunctionType})
HINTS = {"dask": "pass x.compute(), or use autodiff.dask for losses over blocks", "cupy": "pass it with target='cuda', or "
         "cupy.asnumpy(x)", "numba": "pass it with target='cuda', or x.copy_to_host()"}
OTHERWISE = frozenset({"std", "var", "repeat", "sort", "nonzero", "transpose", "max", "min", "dtype"})


class Taken(list):
    """Arguments in which arrays of other libraries have become NumPy's. tensors: whether torch tensors were among them."""

    tensors = False


def taken(values) -> list:
    """Arguments with NumPy arrays in the places of other libraries', in structures too; `values` itself if there are none.

    TypeConflict for what cannot stand for one.
    """
    found, memo = Taken(), dict[int, Any]()
    for value in values:
        found.append(value if type(value) in PLAIN else converted(value, found, memo))
    return found if memo else values


def converted(value, found: Taken, memo: dict):
    """A value with NumPy arrays in the places of others; one object stays one. memo: what was converted, by `id`."""
    kind = type(value)
    if kind in PLAIN:
        return value
    if id(value) in memo:
        return memo[id(value)][1]
    if kind in (tuple, list) or isinstance(value, tuple) and hasattr(kind, "_fields"):
        parts = [converted(v, found, memo) for v in value]
        if all(map(operator.is_, parts, value)):
            return value
        made = kind(*parts) if hasattr(kind, "_fields") else kind(parts)
    elif isinstance(value, dict):
        inner = {k: converted(v, found, memo) for k, v in value.items()}
        if all(map(operator.is_, inner.values(), value.values())):
            return value
        made = copy.copy(value)
        made.update(inner)
    elif dataclasses.is_dataclass(kind):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if hasattr(value, f.name)}
        inner = {k: converted(v, found, memo) for k, v in fields.items()}
        if all(map(operator.is_, inner.values(), fields.values())):
            return value
        made = instance(kind, {**getattr(value, "__dict__", {}), **inner})
    else:
        how = converter(kind)
        if how is None:
            return value
        made = how(value)
        found.tensors = found.tensors or how is of_tensor
    memo[id(value)] = value, made               # which stays alive, and its number with it
    return made


def found_converter(kind: type) -> Callable | None:
    """From objects of a class to the NumPy array that they stand for; None for what is no array of another library."""
    if issubclass(kind, (np.ndarray, np.generic, int, float, complex, str, bytes)) or hasattr(kind, "__autodiff_tensor__"):
        return None
    if issubclass(kind, (array.array, memoryview)):
        return refusal(kind, "its operators mean something else", "pass np.asarray(x), which is on the same memory")
    if is_torch(kind):
        return of_tensor
    if getattr(kind, "__array_ufunc__", None) is not None or hasattr(kind, "__array_function__"):
        home = kind.__module__.split(".")[0]
        way = "pass x.to_numpy()" if hasattr(kind, "to_numpy") else "pass np.asarray(x), if the plain numbers are meant"
        return refusal(kind, "NumPy's functions, and its own, mean something else for it", HINTS.get(home, way))
    if is_foreign(kind):
        return of_jax if any(base.__module__.split(".")[0] in ("jax", "jaxlib") for base in kind.__mro__) else of_memory
    return None


converter: Callable[[type], Callable | None] = functools.lru_cache(maxsize=1024)(found_converter)


def refusal(kind: type, why: str, way_out: str):
    """What refuses objects of a class."""
    def refuse(value):
        raise TypeConflict(f"a {name_of(kind)} is not a plain array: {why}", None, way_out)
    return refuse


def of_jax(value) -> np.ndarray:
    """The array on the memory of JAX's."""
    try:
        return np.asarray(value)
    except Exception as e:
        if type(e).__name__ == "TracerArrayConversionError":
            raise TypeConflict("a value that JAX traces has no numbers yet", None, "wrap the function for JAX: "
                               "autodiff.jax.wrap(f)") from None
        raise untaken(value, e) from None


def of_tensor(value) -> np.ndarray:
    """The array on the memory of a torch tensor."""
    try:
        return value.numpy()
    except Exception as e:
        error = e
    if value.requires_grad:
        raise TypeConflict("a torch tensor that requires grad would lose it here", None,
                           "wrap the function for torch: autodiff.torch.wrap(f), or pass t.detach()")
    if value.device.type != "cpu":
        raise TypeConflict(f"a torch tensor on {value.device} is not in the memory of the CPU", None,
                           "pass it with target='cuda', or t.cpu()")
    if value.is_conj() or value.is_neg():       # marks that NumPy does not know
        return of_tensor(value.resolve_conj().resolve_neg())
    raise untaken(value, error)


def of_memory(value) -> np.ndarray:
    """The array on the memory of any array that hands it out."""
    try:
        return np.from_dlpack(value)
    except Exception as e:
        raise untaken(value, e) from None


def untaken(value, error: Exception) -> TypeConflict:
    return TypeConflict(f"a {name_of(type(value))} has no memory that NumPy can read: {error}", None,
                        "pass its numbers as a NumPy array")


def otherwise_for_tensors(reads) -> tuple[str, str] | None:
    """(name, name of the function) of an attribute that the functions of a program read of anything but modules, and that
    torch means otherwise."""
    codes = [(c.value, c.place.parent.step) for c in reads.conditions.values()
             if c.kind == "is" and isinstance(c.value, types.CodeType)]
    while codes:
        code, function = codes.pop()
        before: Any = None
        for step in dis.get_instructions(code):
            of_module = before is not None and before.opname == "LOAD_GLOBAL" and isinstance(
                function.__globals__.get(before.argval), types.ModuleType)
            if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and step.argval in OTHERWISE and not of_module:
                return step.argval, code.co_name
            before = step
        codes += [(c, function) for c in code.co_consts if isinstance(c, types.CodeType)]
    return None


def check_tensors(made) -> None:
    """TypeConflict if the program would be another one for torch tensors than for the arrays on their memory."""
    if "for tensors" not in made.extra:
        made.extra["for tensors"] = otherwise_for_tensors(made.reads)
    if (found := made.extra["for tensors"]) is not None:
        raise TypeConflict(f"`.{found[0]}`, which `{found[1]}` reads, means something else for torch tensors", None,
                           "pass t.numpy(), on the same memory, or wrap the function for torch: autodiff.torch.wrap(f)")


__all__ = ["Taken", "check_tensors", "converter", "of_tensor", "taken"]
