"""Functions and their derivatives as operations of torch: what runs, what torch's compiler sees, what is differentiated.

There is one operation in torch's library, `autodiff::call(operation, tensors, integers)`. `operation` is a name that only
one program has, in every process, since torch keeps compiled graphs on disk: a digest of the program, then what was derived
of it.
"""

from __future__ import annotations

import operator
from typing import Any

import numba
import numpy as np
import torch

from ..calling.compiled import Differentiable
from ..inspecting.bills import EVALUATE
from ..options import Options
from ..transforms.language.errors import ShapeMismatch, TypeConflict
from ..transforms.language.ops import is_inexact
from ..transforms.lower.values import Array, Scalar
from .derived import Outside
from .entries import Entry, entry, own_of
from .leaves import array_of, paths, with_kinds
from .structures import parts_of, pulled, pushed

DTYPES = {getattr(torch, name): getattr(numba, name if name != "bool" else "boolean") for name in (
    "float64", "float32", "complex128", "complex64", "int64", "int32", "int16", "int8", "uint8", "bool")}
OF_NAMES = {str(dtype).removeprefix("torch."): dtype for dtype in DTYPES}
SYMBOLIC = {**EVALUATE, **dict.fromkeys(("max", "maximum", "larger"), torch.sym_max), "cast": lambda n: n,
            **dict.fromkeys(("min", "minimum", "smaller"), torch.sym_min), "neg": operator.neg}
_KNOWN: dict[str, Any] = {}


class Operation:
    """A function of numbers and arrays, and the operations that are its derivatives.

    It is called with `leaves`, the numbers and tensors in the arguments. floats, inexact: which of the leaves, and of the
    results, have derivatives. integers: which leaves are Python's integers: sizes may depend on them.
    """

    def __init__(self, function, kinds: tuple, integers: tuple, taken: Outside, like: tuple | None = None, name: str = ""):
        self.function, self.kinds, self.integers, self.outside = function, kinds, integers, taken
        self.entry = self._entry()
        self.owners = [k for k, kind in enumerate(kinds) for _ in paths(kind, "")]
        self.floats = [is_inexact(p.dtype) for p in self.entry.arguments]
        self.inexact = [is_inexact(p.dtype) for p in self.entry.results]
        self.dtypes = [OF_NAMES[p.dtype] for p in self.entry.results]
        self.numpys = [np.dtype(p.dtype) for p in self.entry.results]
        self.like, self._name = like, name              # like: the leaves that have the shapes of the results, if some have
        self._derived: dict[Any, Any] = {}
        self.single = isinstance(self.entry._made.result, (Array, Scalar))

    def _entry(self) -> Entry:
        made = entry(self.function, *self.kinds, kind="value")
        self._call = made.function
        return made

    @property
    def name(self) -> str:
        """The name by which `operation_of` finds it."""
        self._name = self._name or self.entry.identity()
        _KNOWN.setdefault(self._name, self)
        return self._name

    def compute(self, leaves) -> tuple:
        """The results as new tensors, for tensors that have memory."""
        return tuple([torch.from_numpy(np.asarray(r, dtype))          # Numba gives float32 back as Python's float
                      for r, dtype in zip(self.run([memory(x) for x in leaves]), self.numpys, strict=True)])

    def run(self, arrays) -> list:
        """The results, as arrays and numbers of NumPy, from arrays in C order and numbers."""
        return self._call(*arrays)

    def shapes(self, leaves) -> list[tuple]:
        """Shapes of the results, perhaps of symbols; None for a size that data decide."""
        if self.like is not None:
            return [tuple(leaves[k].shape) if isinstance(leaves[k], torch.Tensor) else () for k in self.like]
        shapes = [tuple(x.shape) if isinstance(x, torch.Tensor) else () for x in leaves]
        values = [x if is_int else None for x, is_int in zip(leaves, self.integers, strict=True)]
        return self.entry.symbolic_shapes(shapes, values, SYMBOLIC)

    def pullback(self, needed: tuple) -> tuple:
        """(the operation from leaves and cotangents of float results to cotangents, the numbers of the leaves these belong
        to). needed: for each leaf whether its cotangent is wanted."""
        if needed not in self._derived:
            chosen = tuple(dict.fromkeys(owner for owner, wanted in zip(self.owners, needed, strict=True) if wanted))
            if chosen not in self._derived:
                self.outside.check()
                whose = tuple(k for k, owner in enumerate(self.owners) if owner in chosen and self.floats[k])
                floats = [p for p in self.entry.results if is_inexact(p.dtype)]
                function = pulled(self.function, len(self.kinds), [p.path for p in floats], chosen)
                bars = [array_of(getattr(numba, p.dtype), p.rank) for p in floats]
                self._derived[chosen] = type(self)(function, (*self.kinds, *bars), (*self.integers, *[False] * len(bars)),
                                                  self.outside, whose, f"{self.name}/pull{bits(needed)}"), whose
            self._derived[needed] = self._derived[chosen]
        return self._derived[needed]

    def pushforward(self) -> Operation:
        """The operation from leaves and tangents of the float ones to tangents of the float results."""
        if "push" not in self._derived:
            self.outside.check()
            own = sorted({owner for owner, is_float in zip(self.owners, self.floats, strict=True) if is_float})
            given = [with_kinds(self.kinds[k], lambda leaf: leaf if is_inexact(str(getattr(leaf, "dtype", leaf))) else None)
                     for k in own]
            dots = [f"dots{p.path.removeprefix('result')}, " for p in self.entry.results if is_inexact(p.dtype)]
            function = pushed(self.function, len(self.kinds), own, f"({''.join(dots)})")
            self._derived["push"] = type(self)(function, (*self.kinds, *given),
                                              (*self.integers, *[False] * sum(self.floats)), self.outside, None,
                                              f"{self.name}/push")
        return self._derived["push"]

    def batched(self, batched: tuple) -> Batched:
        """The operation over a first axis of those leaves that are `batched`."""
        key = "batch", batched
        if key not in self._derived:
            self._derived[key] = Batched(self, batched)
        return self._derived[key]


class OnDevice(Operation):
    """An operation on tensors of a GPU: the same program, made with target="cuda"."""

    def _entry(self) -> Entry:
        self.compiled = Differentiable(self.function, Options(target="cuda"))
        compiled = Differentiable(self.function)
        names, values = compiled._bind(self.kinds, {})
        return Entry(compiled, names, values, own_of(compiled, names, values), ready=False)     # which says what there is

    def compute(self, leaves) -> tuple:
        device = next(x.device for x in leaves if isinstance(x, torch.Tensor))
        following = iter(leaves)
        found = self.compiled(*(with_kinds(kind, lambda _: next(following)) for kind in self.kinds))
        return tuple([torch.as_tensor(part, dtype=dtype, device=device)
                      for part, dtype in zip(parts_of(found), self.dtypes, strict=True)])

    def batched(self, batched: tuple) -> Batched:
        raise TypeConflict("calls on a GPU are not mapped over batches", None, "let the function take the whole batch")


class Batched(Operation):
    """An operation once for each place of the first axis of some of the leaves; results have that axis, or are `summed`."""

    def __init__(self, base: Operation, batched: tuple, summed: tuple = (), name: str = ""):
        self.base, self.axes, self.summed = base, batched, summed or (False,) * len(base.inexact)
        self.integers, self.floats, self.inexact = base.integers, base.floats, base.inexact
        self.dtypes, self.numpys = base.dtypes, base.numpys
        self._name = name or f"{base.name}/batch{bits(batched)}"
        self._derived = {}

    def run(self, arrays) -> list:
        count = next(len(a) for a, yes in zip(arrays, self.axes, strict=True) if yes)
        found = [self.base.run([a[k] if yes else a for a, yes in zip(arrays, self.axes, strict=True)]) for k in range(count)]
        if not found:
            shapes = self.shapes([torch.from_numpy(np.asarray(a)) if isinstance(a, (np.ndarray, np.generic)) else a
                                  for a in arrays])
            if any(None in shape for shape in shapes):
                raise ShapeMismatch("a batch of nothing, of a function the shape of whose result depends on the data", None,
                                    "leave the call out")
            return [np.zeros(shape, dtype) for shape, dtype in zip(shapes, self.numpys, strict=True)]
        columns = [np.stack(column) for column in zip(*found, strict=True)]
        return [column.sum(axis=0) if s else column for column, s in zip(columns, self.summed, strict=True)]

    def shapes(self, leaves) -> list[tuple]:
        count = next(x.shape[0] for x, yes in zip(leaves, self.axes, strict=True) if yes)
        own = [x.new_empty(x.shape[1:]) if yes else x for x, yes in zip(leaves, self.axes, strict=True)]
        return [shape if s else (count, *shape) for shape, s in zip(self.base.shapes(own), self.summed, strict=True)]

    def pullback(self, needed: tuple) -> tuple:
        if needed not in self._derived:
            base, whose = self.base.pullback(needed)
            bars = [not s for s, yes in zip(self.summed, self.inexact, strict=True) if yes]
            summed = tuple(not self.axes[k] for k in whose)
            self._derived[needed] = Batched(base, (*self.axes, *bars), summed, f"{self.name}/pull{bits(needed)}"), whose
        return self._derived[needed]

    def pushforward(self) -> Operation:
        if "push" not in self._derived:
            dots = [yes for yes, is_float in zip(self.axes, self.floats, strict=True) if is_float]
            summed = tuple(s for s, yes in zip(self.summed, self.inexact, strict=True) if yes)
            self._derived["push"] = Batched(self.base.pushforward(), (*self.axes, *dots), summed, f"{self.name}/push")
        return self._derived["push"]


def memory(leaf):
    """The array, or the number, of a leaf: a tensor's own memory where that is in C order."""
    if not isinstance(leaf, torch.Tensor):
        return leaf
    if not leaf.is_cpu:
        raise TypeConflict(f"a tensor is on {leaf.device}, where the graph was made for the CPU", None, "compile it again")
    array = leaf.numpy(force=True)                  # conjugates and negations are carried out, which copies
    if not array.ndim:
        return array[()]
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def bits(mask) -> str:
    return "".join(str(int(bit)) for bit in mask)


def operation_of(name: str) -> Operation:
    """The operation of a name, derived again if another process derived it.

    Raises TypeConflict if this process has not called the function that it is derived of.
    """
    if name not in _KNOWN:
        before, _, step = name.rpartition("/")
        if not before:
            raise TypeConflict("a graph of torch calls a function that this process has not compiled", None,
                               "call the function, or compile the graph again")
        base, mask = operation_of(before), tuple(bit == "1" for bit in step.lstrip("abchlpstu"))
        made = base.pushforward() if step == "push" else base.batched(mask) if step.startswith("batch") else \
            base.pullback(mask)[0]
        _KNOWN[name] = made
    return _KNOWN[name]


__all__ = ["DTYPES", "OnDevice", "Operation", "operation_of"]
