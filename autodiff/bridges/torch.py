"""Functions as operations of torch: compiled forward and backward, on the memory of the tensors."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import itertools
import warnings

import numba
import numpy as np
import torch

from ..calling.compiled import Differentiable
from ..calling.tracebacks import entry as outermost
from ..transforms.language.errors import AutodiffError, TypeConflict
from .derived import Outside
from .leaves import array_of, of_parts
from .structures import structured, with_parts
from .torch_graph import apply
from .torch_operations import DTYPES, OnDevice, Operation
from .wrapped import Sendable

_count = itertools.count(1)
NUMBERS = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}


class Wrapped(Sendable):
    """What `wrap` gives."""

    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.function = function
        self._signature = inspect.signature(function)
        self._count = len(self._signature.parameters)
        if any(p.kind is not p.POSITIONAL_OR_KEYWORD for p in self._signature.parameters.values()):
            raise TypeConflict("a function of torch tensors has arguments without stars", None, "pass them one by one")
        self._operations: dict = {}             # by what their arguments are, and by what is read outside
        self._latest: dict = {}
        self._compiled = Differentiable(function)
        self._traced = torch._dynamo.nonstrict_trace(self._seen)
        self._number = str(next(_count))        # torch compares functions by their code, which is that of all `_traced`

    def __call__(self, *args, **kwargs):
        if torch.compiler.is_compiling() and self._number:      # a text that is read: its graphs are for this one alone
            return self._traced(args, kwargs)   # seen by torch's compiler as one call
        return self._called(*args, **kwargs)

    def _seen(self, args, kwargs):
        """A call that torch's compiler looks at; of an error there it only says that there was one."""
        try:
            return self._called(*args, **kwargs)
        except AutodiffError as e:
            warnings.warn(f"{type(e).__name__}: {e}", stacklevel=2)
            raise

    @outermost
    def _called(self, *args, **kwargs):
        if kwargs or len(args) != self._count:
            bound = self._signature.bind(*args, **kwargs)
            bound.apply_defaults()
            args = tuple(bound.arguments.values())
        leaves: list = []
        marks: list = []
        for value in args:
            gather(value, leaves, marks)
        key = tuple(marks)
        operation = self._latest.get(key)
        if operation is None or not operation.outside.current():
            operation = self._latest[key] = self._operation(args, leaves, key)
        found = apply(operation, leaves)
        return found[0] if operation.single else structured(operation.entry._made.result, iter(found))

    def _operation(self, args, leaves, key) -> Operation:
        """The operation for arguments like these, with what is outside as it is now."""
        devices: set = set()
        for name, value in zip(self._signature.parameters, args, strict=True):
            check(value, name, devices)
        if len(devices) > 1:
            raise TypeConflict(f"tensors on {' and '.join(sorted(map(str, devices)))} in one call", None,
                               "move them to one device")
        following = iter(leaves)
        kinds = tuple(with_parts(value, lambda _: kind_of(next(following))) for value in args)
        taken = Outside(self._compiled, kinds, self._compiled._bind(kinds, {}))
        known = self._operations.setdefault(key, {})
        if taken.key not in known:
            integers = tuple(NUMBERS.get(type(x), type(x)) is int for x in leaves)
            kind = OnDevice if any(device.type == "cuda" for device in devices) else Operation
            known[taken.key] = kind(self.function, kinds, integers, taken)
        return known[taken.key]


def gather(value, leaves: list, marks: list) -> None:
    """Put the numbers and tensors of an argument into `leaves`, and what the operation depends on into `marks`."""
    kind = type(value)
    if kind is torch.Tensor or isinstance(value, torch.Tensor):
        leaves.append(value)
        marks.append((value.dtype, value.dim(), value.layout, value.is_cpu or value.device))
    elif kind in (float, int, bool, complex) or kind in NUMBERS:
        leaves.append(value)
        marks.append(NUMBERS.get(kind, kind))
    elif isinstance(value, (np.ndarray, np.generic)):
        gather(torch.from_numpy(of_torch(np.asarray(value))), leaves, marks)
    elif isinstance(value, (tuple, list)):
        marks += kind, len(value)
        for part in value:
            gather(part, leaves, marks)
    elif isinstance(value, dict):
        marks += kind, tuple(value)
        for part in value.values():
            gather(part, leaves, marks)
    elif dataclasses.is_dataclass(value) and kind is not type:
        marks.append(kind)
        for field in dataclasses.fields(value):
            gather(getattr(value, field.name), leaves, marks)
    else:
        marks += kind, value if value is None or isinstance(value, str) else None


def of_torch(array):
    """An array in memory as torch takes it: of the machine's order of bytes, no stride negative, that can be written to."""
    return np.require(array, array.dtype.newbyteorder("="), ["W", "A", "C"])


def check(value, path: str, devices: set) -> None:
    """Put the devices of tensors into `devices`; raise TypeConflict for what an operation does not take."""
    if isinstance(value, torch.Tensor):
        devices.add(value.device)
        if not (value.is_cpu or value.is_cuda):
            raise TypeConflict(f"`{path}` is on {value.device}, functions run on the CPU and on NVIDIA's GPUs", None,
                               f"pass `{path}.cpu()`")
        if value.layout is not torch.strided or value.dtype not in DTYPES:
            raise TypeConflict(f"`{path}` is a tensor of {value.dtype}, {value.layout}", None,
                               f"pass `{path}.double()`, dense")
    elif isinstance(value, (tuple, list, dict)) or dataclasses.is_dataclass(value) and not isinstance(value, type):
        of_parts(value, lambda part: check(part, path, devices))
    elif not (value is None or isinstance(value, (bool, int, float, complex, str, np.ndarray, np.generic, *NUMBERS))):
        raise TypeConflict(f"`{path}` holds a {type(value).__name__}", None, "pass tensors, numbers and structures of them")


def kind_of(leaf):
    """The Numba type of a leaf."""
    if isinstance(leaf, torch.Tensor):
        return array_of(DTYPES[leaf.dtype], leaf.ndim)
    return numba.typeof(NUMBERS.get(type(leaf), type(leaf))())


def wrap(function) -> Wrapped:
    """`function` as an operation of torch: tensors in, tensors out, with derivatives of every order.

    Arguments and results are tensors, numbers, and tuples, lists, dicts and dataclasses of them. Tensors of float64,
    float32, complex128 and complex64 have derivatives, in reverse and in forward mode; numbers and arrays of NumPy are
    constants. Tensors on a GPU go to the function made with target="cuda".
    What the function reads outside is as it is at the call; TypeConflict if it changes before a derivative is compiled.
    In `torch.compile` and `torch.export` a call is one operation of the graph, which raises TypeConflict if what is outside
    is no longer what it was when the graph was made. `torch.func` differentiates it and maps it over batches.
    Raises TypeConflict for functions with `*args`, for tensors of other devices, dtypes and layouts, and for tensors of
    several devices; errors of the function keep their class and text.
    """
    return Wrapped(function)


__all__ = ["wrap"]
