"""Functions as operations of torch's autograd: compiled forward and backward, on the memory of the tensors."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from typing import Any

import numba
import numpy as np
import torch
from torch.autograd import forward_ad

from ..calling.compiled import Differentiable
from ..calling.tracebacks import entry as outermost
from ..operators.splits import vjp
from ..transforms.language.errors import TypeConflict
from ..transforms.language.ops import is_inexact
from .derived import Outside
from .entries import entry
from .leaves import array_of, of_parts, paths
from .structures import structured, written

DTYPES = {getattr(torch, name): getattr(numba, name if name != "bool" else "boolean") for name in (
    "float64", "float32", "complex128", "complex64", "int64", "int32", "int16", "int8", "uint8", "bool")}


class Operation:
    """A function for arguments of certain kinds: what runs forward, and the operation that is its pullback.

    kinds: the arguments by name, with Numba types in the places of their numbers and tensors. taken: what it reads outside.
    """

    def __init__(self, function, kinds: dict, taken: Outside):
        self.function, self.kinds, self.outside = function, kinds, taken
        self.entry = entry(function, *kinds.values(), kind="value")
        self.owners = [name for name, kind in kinds.items() for _ in paths(kind, name)]
        self.floats = [is_inexact(p.dtype) for p in self.entry.arguments]
        self.inexact = [is_inexact(p.dtype) for p in self.entry.results]
        self.run = self.entry.function
        self.pullbacks: dict[tuple, tuple] = {}

    def pullback(self, needed: tuple) -> tuple:
        """(the operation from arguments and cotangents to cotangents, the numbers of the arguments these belong to).

        needed: for each argument whether its cotangent is wanted.
        """
        chosen = tuple(dict.fromkeys(name for name, wanted in zip(self.owners, needed, strict=True) if wanted))
        if chosen not in self.pullbacks:
            self.outside.check()
            whose = [k for k, name in enumerate(self.owners) if name in chosen and self.floats[k]]
            function, kinds = self._pulled(chosen)
            self.pullbacks[chosen] = Operation(function, kinds, self.outside), whose
        return self.pullbacks[chosen]

    def _pulled(self, chosen: tuple) -> tuple:
        """(the pullback as a program, the kinds of its arguments)."""
        own = ", ".join(self.kinds)
        bars: dict[str, Any] = {}
        for p in self.entry.results:
            if is_inexact(p.dtype):
                name = f"bar_{len(bars)}"
                while name in self.kinds:
                    name += "_"
                bars[name] = array_of(getattr(numba, p.dtype), p.rank)
        leaves = [p.path for p in self.entry.results if is_inexact(p.dtype)]
        given = ", ".join(bars)
        wanted = ", ".join(f"found[{k}]" for k, name in enumerate(self.kinds) if name in chosen)
        text = (f"def leaves({own}):\n    result = function({own})\n"
                f"    return {leaves[0] if len(leaves) == 1 else ', '.join(leaves)}\n\n\n"
                f"def pullback({own}, {given}):\n"
                f"    found = vjp(leaves, {own})[1]({given if len(bars) == 1 else f'({given})'})\n    return {wanted}\n")
        return written(text, "pullback", function=self.function, vjp=vjp), {**self.kinds, **bars}


def memory(tensor):
    """The array, or the number, of a tensor: its own memory where that is in C order."""
    array = tensor.detach().resolve_conj().resolve_neg().contiguous().numpy()
    return array if array.ndim else array[()]


class Call(torch.autograd.Function):
    """An operation as a node of torch's graph. Its backward is another operation, so that it has derivatives too."""

    @staticmethod
    def forward(ctx, operation, *tensors):
        ctx.save_for_backward(*tensors)
        needed = ctx.needs_input_grad[1:]
        ctx.operation = operation.pullback(needed) if any(needed) and any(operation.inexact) else None
        found = run(operation, tensors)
        ctx.mark_non_differentiable(*(r for r, yes in zip(found, operation.inexact, strict=True) if not yes))
        ctx.inexact = operation.inexact
        return found

    @staticmethod
    def backward(ctx, *bars):
        pullback, whose = ctx.operation
        taken = [b for b, yes in zip(bars, ctx.inexact, strict=True) if yes]
        found = apply(pullback, [*ctx.saved_tensors, *taken])
        given: list[Any] = [None] * (len(ctx.saved_tensors) + 1)
        for k, bar in zip(whose, found, strict=True):
            given[k + 1] = bar
        return tuple(given)


def run(operation: Operation, tensors) -> tuple:
    return tuple(torch.from_numpy(np.asarray(r)) for r in operation.run(*map(memory, tensors)))


def apply(operation: Operation, tensors) -> tuple:
    """The results of an operation, part of the graph if a tensor is."""
    if forward_ad._current_level >= 0 and any(forward_ad.unpack_dual(t).tangent is not None for t in tensors):
        raise TypeConflict("a wrapped function has no forward mode in torch", None, "use autodiff.jvp, or backward mode")
    if torch.is_grad_enabled() and any(t.requires_grad for t in tensors):
        return Call.apply(operation, *tensors)
    return run(operation, tensors)


class Wrapped:
    """What `wrap` gives."""

    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.function = function
        self._signature = inspect.signature(function)
        self._names = list(self._signature.parameters)
        self._plain = all(p.kind is p.POSITIONAL_OR_KEYWORD for p in self._signature.parameters.values())
        self._operations: dict = {}
        self._bound: dict = {}
        self._compiled = Differentiable(function)

    @torch.compiler.disable
    @outermost
    def __call__(self, *args, **kwargs):
        if kwargs or len(args) != len(self._names):
            bound = self._signature.bind(*args, **kwargs)
            bound.apply_defaults()
            args = tuple(bound.arguments.values())
        if not self._plain:
            raise TypeConflict("a function of torch tensors has arguments without stars", None, "pass them one by one")
        tensors: list = []
        marks: list = []
        kinds = {name: parted(value, name, tensors, marks) for name, value in zip(self._names, args, strict=True)}
        seen = tuple(marks)
        taken = Outside(self._compiled, tuple(kinds.values()), self._bound.get(seen))
        self._bound[seen] = taken.arguments
        key = seen, taken.key
        if key not in self._operations:
            self._operations[key] = Operation(self.function, kinds, taken)
        operation = self._operations[key]
        return structured(operation.entry._made.result, iter(apply(operation, tensors)))


def parted(value, path: str, tensors: list, marks: list):
    """An argument with Numba types in the places of its numbers and tensors, which are put into `tensors`; what its kind
    depends on is put into `marks`."""
    if isinstance(value, np.ndarray):
        value = torch.from_numpy(value)
    if isinstance(value, torch.Tensor):
        if value.device.type != "cpu":
            raise TypeConflict(f"`{path}` is on {value.device}, the function runs on the CPU", None,
                               f"pass `{path}.cpu()`")
        if value.layout is not torch.strided or value.dtype not in DTYPES:
            raise TypeConflict(f"`{path}` is a tensor of {value.dtype}, {value.layout}", None,
                               f"pass `{path}.double()`, dense")
        tensors.append(value)
        marks.append((value.dtype, value.ndim))
        return array_of(DTYPES[value.dtype], value.ndim)
    marks.append(type(value))
    if isinstance(value, (bool, int, float, complex)):
        tensors.append(torch.tensor(value, dtype=torch.float64 if type(value) is float else None))
        return numba.typeof(value)
    if value is None or isinstance(value, str):
        marks.append(value)
        return value
    if not isinstance(value, (tuple, list, dict)) and not (dataclasses.is_dataclass(value) and not isinstance(value, type)):
        raise TypeConflict(f"`{path}` holds a {type(value).__name__}", None, "pass tensors, numbers and structures of them")
    marks.append(tuple(value) if isinstance(value, dict) else len(value) if isinstance(value, (tuple, list)) else None)
    return of_parts(value, lambda part: parted(part, path, tensors, marks))


def wrap(function) -> Wrapped:
    """`function` as an operation of torch: tensors of the CPU in, tensors out, with derivatives of every order.

    Arguments and results are tensors, numbers, and tuples, lists, dicts and dataclasses of them. Tensors of float64,
    float32, complex128 and complex64 have derivatives; numbers and arrays of NumPy are constants. What the function reads
    outside is as it is at the call; TypeConflict if it changes before a derivative is compiled. Under `torch.compile` a call
    breaks the graph.
    Raises TypeConflict for tensors of other devices, dtypes and layouts; errors of the function keep their class and text.
    """
    return Wrapped(function)


__all__ = ["wrap"]
