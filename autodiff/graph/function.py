"""Function: operations whose forward and backward the user writes."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np

from . import modes
from .modes import STATE
from .nodes import NOTHING, Accumulation, Node, fitted, packed, place
from .tensor import Tensor, wrap
from .views import bump, check_writable, rebase


class Context:
    """What `forward` leaves for `backward`: tensors saved with checks, and any attributes."""

    def __init__(self, node: FunctionNode):
        self._node = node

    @property
    def needs_input_grad(self) -> tuple:
        """For each argument of the call, whether its gradient is wanted."""
        return self._node.needs

    def save_for_backward(self, *tensors) -> None:
        """Keep Tensors (or None) for `backward`; once per call."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(f"save_for_backward() takes Tensors and None, not {type(t).__name__}: set other values as "
                                "attributes of the context")
        if self._node.to_save is not None:
            raise TypeError("save_for_backward() can be called once only: pass all Tensors in one call")
        self._node.to_save = tensors

    @property
    def saved_tensors(self) -> tuple:
        """The Tensors kept, with their history. RuntimeError after the graph was freed, or if one was changed in place."""
        node = self._node
        if node.running and node.to_save is not None:
            return node.to_save
        return tuple(node.values(True))

    saved_variables = saved_tensors

    def mark_dirty(self, *tensors) -> None:
        """Name arguments that `forward` changed in place; it must return them."""
        self._node.dirty = tensors

    def mark_non_differentiable(self, *tensors) -> None:
        """Name results that have no gradient."""
        self._node.constant = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether results that got no gradient arrive in `backward` as zeros (the default) or as None."""
        self._node.materialize = bool(value)

    @property
    def num_inputs(self) -> int:
        return len(self._node.needs)

    @property
    def num_outputs(self) -> int:
        return self._node.outputs

    @property
    def requires_grad(self) -> bool:
        return any(self._node.needs)


class FunctionNode(Node):
    """The node of one call of a Function; attributes set on the context can be read from it."""

    to_save: tuple | None = None
    dirty: tuple = ()
    constant: tuple = ()
    materialize = True
    running = True

    def __init__(self, cls, context, arguments):
        self.cls, self.arguments = cls, [isinstance(a, Tensor) for a in arguments]
        self.tensors_at = [a if isinstance(a, Tensor) else None for a in arguments]
        inputs = [a for a in arguments if isinstance(a, Tensor)]
        self.needs = tuple(isinstance(a, Tensor) and a.requires_grad for a in arguments)
        super().__init__(tuple(t._edge() if t._requires else NOTHING for t in inputs))
        self.kinds = [(t.shape, t.dtype) for t in inputs]
        self.context = context or Context(self)
        self.edges_of_saved: list = []
        self.cotangents = ()
        self.where = place()

    def name(self) -> str:
        return self.cls.__name__ + "Backward"

    def __getattr__(self, name):
        if name.startswith("_") or "context" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.context, name)

    def finish(self, outs, recorded: bool) -> None:
        """Keep what was to be saved, now that the results are known."""
        inputs = [t for t in self.tensors_at if t is not None]
        self.running = False
        self.tensors_at = []
        if self.to_save is None or not recorded:
            self.to_save = None
            return
        saved: list = []
        versions: list = []
        edges: list = []
        for t in self.to_save:
            if t is None:
                saved.append(None)
                edges.append(None)
                versions.append(None)
                continue
            saved.append(t._array)
            versions.append(t._saved())
            numbers = [k for k, o in enumerate(outs) if o is t]
            places = [k for k, i in enumerate(inputs) if i is t]
            if numbers:
                edges.append(("out", numbers[0]))
            elif places:
                edges.append(self.next_functions[places[0]])
            else:
                edges.append(t._edge() if t.requires_grad else NOTHING)
        self.saved, self.versions, self.edges_of_saved = tuple(saved), tuple(versions), edges
        self.reads = (1,) * len(saved)
        self.to_save = None
        if STATE.watched:
            packed(self)

    def tensors(self, saved) -> list:
        made: list = []
        for value, edge, version in zip(saved, self.edges_of_saved, self.versions, strict=True):
            if value is None:
                made.append(None)
                continue
            t = wrap(value)
            t._counter = version and version[0]
            node, number = (self, edge[1]) if edge[0] == "out" else edge
            if node is not None and value.dtype.kind in "fc":
                if type(node) is Accumulation and node.variable._array is value and node.variable._requires:
                    t = node.variable
                else:
                    t._node, t._number, t._requires = node, number, True
            made.append(t)
        return made

    def pull(self, grads, rich):
        if self.saved is None:
            self.values(rich)
        given = []
        for g, (shape, dtype) in zip(grads, self.cotangents, strict=True):
            if g is None:
                g = wrap(np.zeros(shape, dtype)) if self.materialize and dtype is not None else None
            elif not isinstance(g, Tensor):
                g = wrap(g)
            given.append(g)
        found = self.cls.run_backward(self.context, given)
        return self.checked(found, rich)

    def checked(self, found, rich) -> list:
        """What `backward` returned, one value for each Tensor among the arguments."""
        found = list(found) if isinstance(found, (tuple, list)) else [found]
        count = len(self.arguments)
        if len(found) < count or any(f is not None for f in found[count:]):
            raise RuntimeError(f"{self.cls.__name__}.backward returned an incorrect number of gradients (expected {count}, "
                               f"got {len(found)})")
        results: list = []
        kinds = iter(self.kinds)
        for k, (g, is_tensor, needed) in enumerate(zip(found, self.arguments, self.needs, strict=False)):
            if not is_tensor:
                if g is not None:
                    raise RuntimeError(f"{self.cls.__name__}.backward returned a gradient that is not None at position "
                                       f"{k + 1}, but the argument there was not a Tensor")
                continue
            shape, dtype = next(kinds)
            if g is None or not needed:
                results.append(None)
                continue
            if isinstance(g, (np.ndarray, np.generic)):
                g = wrap(np.asarray(g))
            if not isinstance(g, Tensor):
                raise TypeError(f"{self.cls.__name__}.backward must return Tensors or None, not {type(g).__name__} at "
                                f"position {k + 1}")
            if g.dtype.kind == "c" and dtype.kind != "c":
                raise RuntimeError(f"{self.cls.__name__}.backward returned a complex gradient at position {k + 1}, where "
                                   f"the argument is {dtype}: take its real part")
            if g.shape != shape and not reducible(g.shape, shape):
                raise RuntimeError(f"{self.cls.__name__}.backward returned a gradient of invalid shape at position {k + 1}: "
                                   f"{g.shape}, where the argument has shape {shape}")
            g = fitted(g, shape, dtype)
            results.append(g if rich else g._array)
        return results


def reducible(given: tuple, shape: tuple) -> bool:
    """Whether `given` sums to `shape` over broadcast axes."""
    try:
        return np.broadcast_shapes(given, shape) == given
    except ValueError:
        return False


class Function:
    """Base of operations with a backward of their own.

    Subclass it with static methods `forward(ctx, *args)` (or `forward(*args)` and `setup_context(ctx, inputs, output)`) and
    `backward(ctx, *grad_outputs)`, which returns one gradient for each argument, and call `apply(*args)`.

    (legacy) With instance methods `forward(self, *args)` and `backward(self, *grads)`, an instance is called once.
    """

    def __init__(self, *args, **kwargs):
        pass

    @staticmethod
    def forward(*args, **kwargs) -> Any:
        raise NotImplementedError("a Function needs a forward method")

    @staticmethod
    def backward(ctx, *grad_outputs) -> Any:
        raise NotImplementedError("this Function has no backward method, which its derivative needs")

    @staticmethod
    def setup_context(ctx, inputs, output) -> Any:
        raise NotImplementedError

    @classmethod
    def run_backward(cls, context, given):
        if not isinstance(context, Function):
            return cls.backward(context, *given)
        recording = STATE.enabled
        with modes.no_grad():                       # the old style cannot be differentiated twice
            found = context.backward(*given)
        return error_results(found, [g for g in given if g is not None], context._node) if recording else found

    @classmethod
    def apply(cls, *args):
        """Run `forward` and record one node."""
        if not isinstance(inspect.getattr_static(cls, "forward"), staticmethod):
            raise RuntimeError(f"{cls.__name__}.forward is an instance method: make it a staticmethod with a context, or "
                               "call an instance")
        node = FunctionNode(cls, None, args)
        separate = cls.setup_context is not Function.setup_context
        recorded = STATE.enabled and any(node.needs)
        with modes.no_grad():
            if separate:
                result = cls.forward(*args)
                cls.setup_context(node.context, args, result)
            else:
                result = cls.forward(node.context, *args)
        return finished(node, args, result, recorded)

    # -- legacy -------------------------------------------------------------------------------------------------
    def __call__(self, *args):
        cls = type(self)
        if isinstance(inspect.getattr_static(cls, "forward"), staticmethod):
            raise RuntimeError(f"{cls.__name__} has a static forward: call {cls.__name__}.apply")
        if "_node" in self.__dict__:
            raise RuntimeError("an instance of a Function serves one call only, once: make another")
        self._node = node = FunctionNode(cls, self, args)
        recorded = STATE.enabled and any(node.needs)
        with modes.no_grad():
            result = self.forward(*args)
        return finished(node, args, result, recorded)

    needs_input_grad: Any = Context.needs_input_grad
    saved_tensors: Any = Context.saved_tensors
    saved_variables: Any = Context.saved_tensors
    num_inputs: Any = Context.num_inputs
    num_outputs: Any = Context.num_outputs
    requires_grad: Any = Context.requires_grad
    save_for_backward = Context.save_for_backward
    mark_dirty = Context.mark_dirty
    mark_non_differentiable = Context.mark_non_differentiable
    set_materialize_grads = Context.set_materialize_grads


def finished(node: FunctionNode, args, result, recorded: bool):
    """The results of `forward` with their history."""
    several = isinstance(result, (tuple, list))
    outs = list(result) if several else [result]
    for t in node.dirty:
        if not any(o is t for o in outs):
            raise RuntimeError("a Tensor marked dirty must be returned from forward")
    node.outputs = len(outs)
    node.cotangents = tuple((o.shape, o.dtype) if isinstance(o, Tensor) else ((), None) for o in outs)
    made: list = []
    for k, o in enumerate(outs):
        if not isinstance(o, Tensor):
            made.append(o)
            continue
        is_dirty = any(o is t for t in node.dirty)
        constant = any(o is t for t in node.constant) or o.dtype.kind not in "fc"
        if is_dirty:
            if recorded:
                check_writable(o, args)
            bump(o)
            if recorded and not constant:
                rebase(o, node, k)
            made.append(o)
            continue
        if any(o is a for a in args) or o._requires or o._node is not None:
            alias = wrap(o._array)                  # an argument returned as it is becomes another Tensor
            alias._counter = o._shared_counter()
            o = alias
        o._base, o._steps = None, ()
        if recorded and not constant:
            o._node, o._number, o._requires = node, k, True
        made.append(o)
    seen = {id(old): new for old, new in zip(outs, made, strict=True) if isinstance(old, Tensor)}
    if node.to_save is not None:
        mine = {id(a) for a in args}
        node.to_save = tuple(t if t is None or id(t) in mine else seen.get(id(t), t) for t in node.to_save)
    node.finish(made, recorded)
    return tuple(made) if several else made[0]


class Once(Node):
    """Stands before results of a backward that was not recorded."""

    def __init__(self, edges, function_name):
        super().__init__(edges)
        self.title = "Error"
        self.function_name = function_name

    def pull(self, grads, rich):
        raise RuntimeError(f"trying to differentiate twice {self.function_name}, whose backward is marked with "
                           "@once_differentiable")


def once_differentiable(backward):
    """Decorator of a static `backward` that runs without being recorded, so that it cannot be differentiated again."""
    @functools.wraps(backward)
    def wrapped(ctx, *grads):
        recording = STATE.enabled
        with modes.no_grad():
            found = backward(ctx, *grads)
        if not recording:
            return found
        return error_results(found, [g for g in grads if isinstance(g, Tensor)], ctx._node)
    return wrapped


def error_results(found, grads, node):
    sources = [g for g in grads if g.requires_grad]
    edges = tuple(g._edge() for g in sources) or tuple(e for e in node.next_functions if e[0] is not None)
    several = isinstance(found, tuple)
    out = []
    for f in found if several else (found,):
        if isinstance(f, Tensor):
            f = wrap(f._array)
            f._node, f._requires = Once(edges, node.name()), True
        out.append(f)
    return tuple(out) if several else out[0]


__all__ = ["Context", "Function", "FunctionNode", "once_differentiable"]
