"""The nodes of a graph: what they save, how they pull cotangents back, and the edges between them."""

from __future__ import annotations

import inspect
import itertools
import linecache
import sys
import weakref
from os import path
from typing import Any

import numpy as np

from ..inspecting.sources import Source
from .modes import STATE, no_grad

HERE = path.join(path.dirname(path.dirname(path.abspath(__file__))), "")        # of this package, with a separator
NUMPY = path.join(path.dirname(path.abspath(np.__file__)), "")
OURS = (HERE, NUMPY)
NOTHING = (None, 0)                     # the edge of what needs no gradient
_orders = itertools.count()


def place() -> tuple:
    """(code, instruction) of the innermost line outside this package."""
    frame: Any = sys._getframe(3)       # above this function, what records, and the operator
    code = frame.f_code
    while code.co_filename.startswith(OURS) and frame.f_back is not None:
        frame = frame.f_back
        code = frame.f_code
    return code, frame.f_lasti


class Hooks:
    """What a node's users want to see or change in a backward pass.

    of_results: output number -> {key: function}. retained: output number -> weak reference to the Tensor that keeps it.
    before, after: {key: function} for the node itself.
    """

    def __init__(self):
        self.of_results: dict = {}
        self.retained: dict = {}
        self.before: dict = {}
        self.after: dict = {}


class Node:
    """An operation that was recorded.

    next_functions: (node, output number) for each argument that can have a gradient, (None, 0) for the others.
    metadata: a dictionary for whoever walks the graph.
    """

    outputs = 1
    plain = False                       # whether the engine may call `pull_one`
    title = "Node"
    next_functions: tuple
    saved: tuple | None = ()            # arrays and constants; None once freed
    reads: tuple = ()                   # what each is: k > 0 the argument k - 1, k <= 0 the output -k, None a constant
    versions: tuple = ()                # for each, (counter, version when saved), or None
    packed = False                      # whether `saved` went through hooks
    where: tuple | None = None
    text = ""                           # the source of the pullback, where it was generated
    hooks: Hooks | None = None
    cotangents: tuple = ()     # (shape, dtype) of each output, where there are several

    def __init__(self, edges: tuple):
        self.next_functions = edges
        self.order = next(_orders)

    # -- what users see ---------------------------------------------------------------------------------------
    def name(self) -> str:
        """The operation, as `MulBackward0`."""
        return self.title + "Backward0"

    @property
    def source(self) -> Source:
        """The source of the pullback."""
        function = getattr(self, "function", None)
        return Source(self.text or (inspect.getsource(function) if function else ""))

    @property
    def metadata(self) -> dict:
        return self.__dict__.setdefault("_metadata", {})

    @property
    def saved_tensors(self) -> tuple:
        return tuple(self.values(True))

    def line(self) -> str:
        """`file.py:12: source line` of the call that made the node; empty if it is not known."""
        if self.where is None:
            return ""
        code, at = self.where
        number = code.co_firstlineno
        for start, end, line in code.co_lines():
            if start <= at < end and line is not None:
                number = line
        text = linecache.getline(code.co_filename, number).strip()
        return f"{path.basename(code.co_filename)}:{number}: {text}"

    def __repr__(self):
        return f"<{self.name()}>"

    def register_hook(self, hook):
        """`hook(grad_inputs, grad_outputs)`, two tuples, runs after the node and may return other grad_inputs."""
        return Handle(self.own_hooks().after, hook)

    def register_prehook(self, hook):
        """`hook(grad_outputs)`, a tuple, runs before the node and may return another."""
        return Handle(self.own_hooks().before, hook)

    def own_hooks(self) -> Hooks:
        if self.hooks is None:
            self.hooks = Hooks()
        return self.hooks

    # -- what the engine uses ---------------------------------------------------------------------------------
    def values(self, rich: bool):
        """What was saved: arrays, or, with `rich`, Tensors with their history."""
        saved = self.saved
        if saved is None:
            raise RuntimeError(
                "Trying to go through the graph a second time, or to read saved tensors after they were freed: "
                f"{self.name()} ({self.line()}) has run, and what it saved is freed. Pass retain_graph=True to the first "
                "backward() or grad() to run it again.")
        for pair in self.versions:
            if pair is not None and pair[0][0] != pair[1]:
                raise self.modified(*pair)
        if self.packed:
            unpacked = []
            for item in saved:
                unpacked.append(item.unpack(self) if isinstance(item, Packed) else item)
            saved = tuple(unpacked)
        return self.tensors(saved) if rich else saved

    def modified(self, counter, version) -> RuntimeError:
        return RuntimeError(
            f"a tensor that {self.name()} ({self.line()}) needs for its gradient has been modified by an inplace operation: "
            f"it was saved at version {version} and is now at version {counter[0]}. Change a clone() instead, or do it "
            "before this operation.")

    def tensors(self, saved) -> list:
        from .tensor import Tensor  # which is made of nodes
        found: list = []
        for k, (value, read) in enumerate(zip(saved, self.reads, strict=True)):
            if read is None or not isinstance(value, np.ndarray):
                found.append(value)
                continue
            node, number = (self, -read) if read <= 0 else self.next_functions[read - 1]
            made = Tensor.__new__(Tensor)
            made._array = value
            if node is not None and value.dtype.kind in "fc":
                made._node, made._number, made._requires = node, number, True
            if k < len(self.versions) and self.versions[k] is not None:
                made._counter = self.versions[k][0]
            found.append(made)
        return found

    def pull(self, grads: list, rich: bool):
        """Cotangents of the outputs (None: nothing arrived) to one for each edge."""
        raise NotImplementedError

    def pull_one(self, g, rich: bool):
        """As `pull`, for nodes of one output."""
        return self.pull([g], rich)

    def pull_batched(self, grads: list, rich: bool, size: int):
        """As `pull`, each cotangent with one more leading axis."""
        rows = [self.pull([None if g is None else g[k] for g in grads], rich) for k in range(size)]
        return [None if column[0] is None else np.stack(column) for column in zip(*rows, strict=True)]

    def free(self) -> None:
        if self.saved:
            self.saved = None


class Packed:
    """A saved array in the form that `pack` gave it.

    A later change in place is an error only where what `unpack` returns lies in the memory that was changed.
    """

    def __init__(self, value, version, hooks):
        from .tensor import wrap  # which is made of nodes
        pack, self.unpack_hook = hooks
        self.version, self.memory, self.shape = version, weakref.ref(owner(value)), value.shape
        given = wrap(value)
        with no_grad():
            self.packed = pack(given)
        if given._counter is not None and given._counter[0]:
            raise RuntimeError("the pack hook of saved_tensors_hooks modified its argument in place: return another Tensor")

    def unpack(self, node) -> np.ndarray:
        from .tensor import Tensor  # which is made of nodes
        found = self.unpack_hook(self.packed)
        if not isinstance(found, Tensor):
            raise TypeError(f"the unpack hook of saved_tensors_hooks must return a Tensor, not {type(found).__name__}")
        if found.shape != self.shape:
            raise RuntimeError(f"the unpack hook of saved_tensors_hooks returned a Tensor of shape {found.shape} for one of "
                               f"shape {self.shape}")
        memory = self.memory()
        if self.version is not None and self.version[0][0] != self.version[1] and memory is not None and np.may_share_memory(
                found._array, memory):
            raise node.modified(*self.version)
        return found._array


def owner(array: np.ndarray) -> np.ndarray:
    """The array that owns the memory of another."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


class Operation(Node):
    """A node made of a pullback function: `function(g, *saved)` gives one cotangent an argument.

    fits: None, or for each argument None or the (shape, dtype) its cotangent is summed and cast to.
    """

    function: Any
    fits: tuple | None = None
    plain = True
    broadcasts = False                  # whether `function` also takes cotangents with a leading axis

    def pull(self, grads, rich):
        return self.pull_one(grads[0] if self.outputs == 1 else self.filled(grads, rich), rich)

    def pull_one(self, g, rich):
        """As `pull`, from the cotangent of the only output."""
        found = self.function(g, *self.values(rich))
        if type(found) is not tuple:
            found = (found,)
        if self.fits is not None:
            found = [f if fit is None or f is None else fitted(f, *fit)
                     for f, fit in zip(found, self.fits, strict=True)]
        return found

    def pull_batched(self, grads, rich, size):
        if not self.broadcasts:
            return super().pull_batched(grads, rich, size)
        found = self.function(grads[0], *self.values(rich))
        if type(found) is not tuple:
            found = (found,)
        if self.fits is not None:
            found = [f if fit is None or f is None else fitted(f, (size, *fit[0]), fit[1], 1)
                     for f, fit in zip(found, self.fits, strict=True)]
        return found

    def filled(self, grads, rich):
        from .tensor import wrap  # which is made of nodes
        made = []
        for g, (shape, dtype) in zip(grads, self.cotangents, strict=True):
            if g is None:
                g = np.zeros(shape, dtype)
                g = wrap(g) if rich else g
            made.append(g)
        return made


class Accumulation(Node):
    """Where the gradient of a leaf ends: `variable` is the leaf."""

    title = "AccumulateGrad"

    def __init__(self, variable):
        self.next_functions = ()
        self.order = -1
        self.variable = variable

    def name(self):
        return self.title

    def free(self):
        pass


class Handle:
    """What registering a hook returns; `remove()` takes the hook away, and may be called again."""

    _keys = itertools.count()

    def __init__(self, hooks: dict, hook):
        self._hooks, self._key = hooks, next(Handle._keys)
        hooks[self._key] = hook

    @classmethod
    def now(cls) -> int:
        """A number above those of the hooks there are, and below those of later ones."""
        return next(cls._keys)

    def remove(self) -> None:
        self._hooks.pop(self._key, None)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.remove()


def fitted(g, shape: tuple, dtype, batch: int = 0):
    """A cotangent summed over what was broadcast, and cast to an argument's dtype (real part of complex for real)."""
    if g.shape != shape:
        g = summed_to(g, shape, batch)
    if g.dtype != dtype:
        if g.dtype.kind == "c" and dtype.kind != "c":
            g = g.real
        g = g.astype(dtype)
    return g


def summed_to(g, shape: tuple, batch: int = 0):
    """The adjoint of broadcasting to `g.shape`; the first `batch` axes stay."""
    inner = shape[batch:]
    extra = g.ndim - batch - len(inner)
    if extra < 0:
        return np.broadcast_to(g, shape)
    axes = tuple(range(batch, batch + extra)) + tuple(
        batch + extra + k for k, s in enumerate(inner) if s == 1 and g.shape[batch + extra + k] != 1)
    g = g.sum(axis=axes) if axes else g
    if g.shape != shape:
        g = g.reshape(shape) if g.size == int(np.prod(shape)) else np.broadcast_to(g, shape)
    return g


def packed(node: Node) -> None:
    """Run what is watched while recording: hooks on saved values."""
    if STATE.pack_hooks and node.saved:
        hooks = STATE.pack_hooks[-1]
        versions = (*node.versions, *[None] * (len(node.saved) - len(node.versions)))
        node.saved = tuple(Packed(v, n, hooks) if isinstance(v, np.ndarray) and r is not None else v
                           for v, r, n in zip(node.saved, node.reads, versions, strict=True))
        node.versions = tuple(None if isinstance(v, Packed) else n for v, n in zip(node.saved, versions, strict=True))
        node.packed = True


__all__ = ["NOTHING", "Accumulation", "Handle", "Node", "Operation", "fitted", "packed", "place", "summed_to"]
