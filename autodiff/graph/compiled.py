"""Calls of compiled functions with Tensors: one node, whose saved state is the function's own tape."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..arguments.kinds import flatten, with_own_draws
from ..calling.compiled import Compiled, Differentiable
from ..errors import AutodiffError, MissingRule, NonDifferentiable, ShapeMismatch
from ..inspecting.sources import Source
from ..operators.gradients import Gradient
from ..operators.pullbacks import Vjp
from ..options import Options
from ..runtime.machine_code.forks import new_lock
from ..transforms.lower.functions.calls import name_of
from .callers import Caller, numeric, plain, results_text, rewrapped
from .modes import STATE
from .nodes import NOTHING, Node, Packed, fitted, packed, place
from .record import mark, tracked
from .tensor import Tensor, constant, wrap

_LOCK = new_lock()
_LIBRARY: dict = {}
LIBRARY_MODE = "numba"


def call(function: Compiled, args, kwargs):
    """A compiled function called with Tensors somewhere among its arguments."""
    leaves = flatten([*args, *kwargs.values()])
    tensors = [t for t in leaves if isinstance(t, Tensor)]
    if not tracked(tensors):
        made = rewrapped(function(*plain(args), **plain(kwargs)))
        if STATE.watched:
            for m in flatten(made):
                if isinstance(m, Tensor):
                    mark(m, tensors)
        return made
    caller = Caller.of(function, args, kwargs)
    return caller_node(function, caller, leaves)


def caller_node(function, caller, leaves):
    """The result of a recorded call and its node."""
    _, bound = function._bind(caller.args, caller.kwargs)       # in the order of the parameters
    floats = [t for t in flatten(bound) if numeric(t) and np.asarray(plain(t)).dtype.kind in "fc"]
    needs = [k for k, t in enumerate(floats) if isinstance(t, Tensor) and t._requires]
    places: dict[int, list[int]] = {}
    for k, number in enumerate(needs):
        places.setdefault(id(floats[number]), []).append(k)
    order = [places[id(t)].pop() for t in leaves if isinstance(t, Tensor) and t._requires]
    leaves = with_own_draws(leaves)                         # as they are before the call draws
    counted = frozenset(id(t._array) for t in leaves if isinstance(t, Tensor) and not STATE.pack_hooks)  # their changes tell
    kept = [t._array if isinstance(t, Tensor) else constant(t) for t in leaves]
    result, pullback = operator(function, frozenset(needs)).at(plain(caller.args), plain(caller.kwargs), counted)
    made = rewrapped(result)
    outs = [m for m in flatten(made) if isinstance(m, Tensor)]
    node = CompiledNode(function, caller, leaves, kept, pullback, made, outs, order)
    for k, m in enumerate(outs):
        if m.dtype.kind in "fc":
            m._node, m._number, m._requires = node, k, True
    return made


def operator(function, needs) -> Vjp:
    """The split form of a compiled function for these arguments that need a gradient."""
    known = made_for(function)
    found = known.get(needs)
    if found is None:
        with _LOCK:
            inner = function.function if type(function) is Differentiable else function
            found = known.setdefault(needs, Vjp(inner, needs, options=node_options(function)))
    return found


def made_for(function: Compiled) -> dict:
    """What was made of a compiled function for its nodes; it lives as long as the function."""
    return vars(function).setdefault("_for_nodes", {})


def node_options(function: Compiled) -> Options:
    """Those of the programs of its nodes: for the CPU, on one thread."""
    return replace(function.options, parallel=False, target="cpu", deterministic=False)


class CompiledNode(Node):
    """The node of one call of a compiled function: saved are the arrays it was given and its tape.

    order: for each leaf that requires a gradient, as the call has them, its number among those in the order of parameters.
    """

    def __init__(self, function, caller, leaves, kept, pullback, made, outs, order):
        tensors = [t for t in leaves if isinstance(t, Tensor)]
        super().__init__(tuple(t._edge() if t._requires else NOTHING for t in tensors))
        self.title = "".join(part.title() for part in function.__name__.split("_")) or "Compiled"
        self.compiled, self.caller, self.results = function, caller, results_text(made)
        self.outputs, self.numbers = len(outs), order
        self.cotangents = tuple((r.shape, r.dtype) for r in outs)
        self.wanted = tuple(t._requires for t in tensors)
        self.kinds = tuple((t.shape, t.dtype) for t in tensors)
        numbers = iter(range(1, len(tensors) + 1))
        self.saved = (*kept, pullback)
        self.reads = (*(next(numbers) if isinstance(t, Tensor) else None for t in leaves), None)
        self.versions = tuple(t._saved() if isinstance(t, Tensor) else None for t in leaves)
        self.where = place()
        if STATE.watched:
            packed(self)

    @property
    def source(self) -> Source:
        """The generated source, forward part and pullback."""
        return self.values(False)[-1].source

    def seeds(self, grads, batch=None) -> list:
        made = []
        for g, (shape, dtype) in zip(grads, self.cotangents, strict=True):
            if dtype.kind in "fc":
                made.append(np.zeros(shape if batch is None else (batch, *shape), dtype) if g is None else g)
        return made

    def pull(self, grads, rich):
        if rich:
            return self.pull_recorded(grads)
        return self.chosen(self.values(False)[-1].of_leaves(self.seeds(grads)))

    def pull_batched(self, grads, rich, size):
        if rich:
            return super().pull_batched(grads, rich, size)
        return self.chosen(self.values(False)[-1].of_leaves_batched(self.seeds(grads, size), size), size)

    def chosen(self, found, batch=None) -> list:
        numbers = iter([found[k] for k in self.numbers])
        result: list = []
        for (shape, dtype), on in zip(self.kinds, self.wanted, strict=True):
            result.append(fitted(np.asarray(next(numbers)), shape if batch is None else (batch, *shape), dtype,
                                 0 if batch is None else 1) if on else None)
        return result

    def pull_recorded(self, grads) -> list:
        """The pullback as a compiled function of its own, called on Tensors: its derivative is generated in turn."""
        *leaves, pullback = self.values(True)
        if any(isinstance(value, np.random.Generator) for _, _, value in pullback._made.hidden):
            raise NonDifferentiable(f"`{self.compiled.__name__}` draws from a random generator outside, and cannot be "
                                    "differentiated twice as a node", None, "pass the generator as an argument")
        seeds = [g if isinstance(g, Tensor) else wrap(g) for g in self.seeds(grads)]
        derivative = self.derivative()
        given = with_own_draws(leaf for leaf in leaves if numeric(leaf))
        found = call(derivative, (*given, *seeds), {})
        numbers = iter(found)
        return [fitted(next(numbers), shape, dtype) if on else None
                for (shape, dtype), on in zip(self.kinds, self.wanted, strict=True)]

    def derivative(self) -> Gradient:
        """The gradient of the sum of the results, each weighted by a further argument."""
        positions, numbers = [], iter(self.wanted)
        places = [r is not None for r, v in zip(self.reads[:-1], (self.saved or ())[:-1], strict=True)
                  if isinstance(v, Packed) or numeric(v)]
        for k, is_tensor in enumerate(places):
            if is_tensor and next(numbers):
                positions.append(k)
        floats = [text if dtype.kind == "f" else f"{text}*" for text, (_, dtype) in
                  zip(self.results, self.cotangents, strict=True) if dtype.kind in "fc"]
        key = (self.caller.key[1:], tuple(positions), tuple(floats))
        known = made_for(self.compiled)
        with _LOCK:
            if key not in known:
                if self.compiled.options.outputs:
                    raise MissingRule(f"`{self.compiled.__name__}` has outputs= and cannot be differentiated twice as a "
                                      "node", None, "return the written arrays instead of naming them in outputs=")
                known[key] = Gradient(self.caller.weighted(floats), wrt=tuple(positions),
                                      options=node_options(self.compiled))
            return known[key]


def library_call(function, args, kwargs, method: str = ""):
    """A function of NumPy as a node of its own, compiled with its arguments that are not arrays built in."""
    if "out" in kwargs and kwargs["out"] is not None:
        target = kwargs["out"]
        target[...] = library_call(function, args, {k: v for k, v in kwargs.items() if k != "out"})
        return target
    caller = Caller.of(function, args, kwargs, constants=True, method=method)
    with _LOCK:
        if caller.key not in _LIBRARY:
            _LIBRARY[caller.key] = Differentiable(caller.function(), Options(LIBRARY_MODE))
    try:
        return call(_LIBRARY[caller.key], caller.leaves, {})
    except ShapeMismatch as e:
        raise ShapeMismatch(e.problem) from None
    except AutodiffError as e:
        name = f"{name_of(function)}{'.' + method if method else ''}"
        why = "it has no derivative rule" if isinstance(e, MissingRule) and name in e.problem else e.problem
        raise MissingRule(f"`{name}` cannot be differentiated on Tensors: {why}", None,
                          "pass t.detach() if no gradient is wanted through it, or give it a rule: "
                          f"@autodiff.rules.pullback({name})" if why != e.problem else
                          f"{e.hint + '; ' if e.hint else ''}pass t.detach() if no gradient is wanted through it") from e


__all__ = ["call", "library_call"]
