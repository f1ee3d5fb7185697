"""The backward engine: cotangents through the nodes, later nodes first, without recursion."""

from __future__ import annotations

import threading

import numpy as np

from ..runtime.machine_code.forks import new_lock
from .modes import STATE
from .nodes import Accumulation, Handle, Node
from .tensor import Tensor, wrap

ACCUMULATING = new_lock()
RUNNING = threading.local()


def current_sweep() -> Sweep | None:
    """The backward pass that this thread is in."""
    return getattr(RUNNING, "sweep", None)


class Sweep:
    """One backward pass.

    roots: (node, output number, cotangent) triples; cotangents are arrays, or Tensors under `create_graph`.
    captured: the (node, number) edges whose cotangents are wanted, or None: then leaves accumulate.
    batch: None, or the length of the leading axis that every cotangent has.
    """

    def __init__(self, roots, captured=None, retain: bool = False, create: bool = False, batch: int | None = None):
        self.captured = None if captured is None else set(captured)
        self.retain, self.create, self.batch = retain, create, batch
        self.buffers: dict = {}             # node -> cotangent, or a list of them where there are several outputs
        self.owned: set = set()             # nodes whose cotangent is an array made here
        self.found: dict = {}
        self.began = Handle.now()
        nodes = self.reachable([r[0] for r in roots])
        self.wanted = None if captured is None else self.on_a_path(nodes)
        self.nodes = nodes
        for node, number, cotangent in roots:
            self.add(node, number, cotangent)

    @staticmethod
    def reachable(roots) -> list[Node]:
        """Every node below the roots, those made last first."""
        seen: set = set()
        todo = []
        for node in roots:
            if node not in seen:
                seen.add(node)
                todo.append(node)
        for node in todo:
            for below, _ in node.next_functions:
                if below is not None and below not in seen:
                    seen.add(below)
                    todo.append(below)
        todo.sort(key=lambda n: n.order, reverse=True)
        return todo

    def on_a_path(self, nodes) -> set:
        """The nodes that have to run: those above a captured edge."""
        ends = {node for node, _ in self.captured or ()}
        needed: set = set()
        for node in reversed(nodes):
            if any(below in ends or below in needed for below, _ in node.next_functions if below is not None):
                needed.add(node)
        return needed

    def add(self, node, number, cotangent) -> None:
        """Add to the cotangent of an output. A node of one output has it in `buffers` as it is, others in a list."""
        buffers = self.buffers
        if node.outputs == 1:
            old = buffers.get(node)
            if old is None:
                buffers[node] = cotangent
            elif node in self.owned:
                old += cotangent
            else:
                buffers[node] = total = old + cotangent
                if type(total) is np.ndarray:       # made here, and seen by nobody else
                    self.owned.add(node)
            return
        buffer = buffers.get(node)
        if buffer is None:
            buffer = buffers[node] = [None] * node.outputs
        old = buffer[number]
        buffer[number] = cotangent if old is None else old + cotangent

    def run(self) -> dict:
        """Run the nodes; the captured cotangents by edge."""
        before, outer = STATE.enabled, getattr(RUNNING, "sweep", None)
        STATE.enabled, RUNNING.sweep = self.create, self
        buffers, add, wanted, captured = self.buffers, self.add, self.wanted, self.captured
        watched = self.batch is not None or STATE.anomaly
        ends = {node for node, _ in captured or ()}
        create, retain = self.create, self.retain
        node = None
        try:
            for node in self.nodes:
                g = buffers.pop(node, None)
                if g is None:
                    continue
                if watched or node.hooks is not None or not node.plain or node in ends:
                    self.step(node, g)
                    continue
                if wanted is not None and node not in wanted:
                    continue
                results = node.pull_one(g, create)
                if not retain and node.saved:
                    node.saved = None
                for (below, number), r in zip(node.next_functions, results, strict=False):
                    if below is not None and r is not None:
                        add(below, number, r)
        except Exception as e:
            explain(node, e)
            raise
        finally:
            STATE.enabled, RUNNING.sweep = before, outer
        return self.found

    def reaches(self, node) -> bool:
        """Whether this pass goes through a node."""
        return node in self.nodes

    def step(self, node, buffer) -> None:
        """Run one node with everything that may be attached to it."""
        if type(node) is Accumulation:
            self.leaf(node, buffer)
            return
        if node.outputs == 1:
            buffer = [buffer]
        hooks = node.hooks
        if hooks is not None:
            self.hooks_of_results(node, hooks, buffer)
        if self.captured is not None:
            for number, g in enumerate(buffer):
                if (node, number) in self.captured:
                    self.found[node, number] = g
            if self.wanted is not None and node not in self.wanted:
                return
        if hooks is not None and hooks.before:
            buffer = self.hooks_before(hooks, buffer)
        if all(g is None for g in buffer):
            return
        if self.batch is None:
            results = node.pull(buffer, self.create)
        else:
            results = node.pull_batched(buffer, self.create, self.batch)
        if STATE.anomaly and STATE.check_nan:
            search_nan(node, results)
        if hooks is not None and hooks.after:
            results = self.hooks_after(hooks, results, buffer)
        if not self.retain:
            node.free()
        for (below, number), g in zip(node.next_functions, results, strict=False):
            if below is not None and g is not None:
                self.add(below, number, g)

    # -- leaves -------------------------------------------------------------------------------------------------
    def leaf(self, node, g) -> None:
        if g is None:
            return
        leaf = node.variable
        if self.captured is not None and (node, 0) not in self.captured:
            return
        if leaf._hooks:
            g = self.hooked(leaf._hooks, g)
        hooks = node.hooks
        if hooks is not None and hooks.before:
            g = self.hooks_before(hooks, [g])[0]
        if self.captured is not None:
            self.found[node, 0] = g
            return
        if leaf._node is not None:
            raise RuntimeError("a leaf was moved into the graph: it was changed in place after requires_grad_(False), and "
                               "its gradient has no place")
        if leaf._requires:                  # and was not frozen after the call that used it
            accumulate(leaf, g, self.create, node in self.owned and not leaf._hooks)
        if hooks is not None and hooks.after:
            self.hooks_after(hooks, (), [g])

    # -- hooks --------------------------------------------------------------------------------------------------
    def hooks_of_results(self, node, hooks, buffer) -> None:
        for number, g in enumerate(buffer):
            if g is None:
                continue
            mine = hooks.of_results.get(number)
            if mine:
                g = buffer[number] = self.hooked(mine, g)
            kept = hooks.retained.get(number)
            tensor = kept() if kept is not None else None
            if tensor is not None:
                accumulate(tensor, g, self.create, False)

    def due(self, hooks) -> list:
        """The hooks that were there when this pass began."""
        return [hook for key, hook in hooks.items() if key < self.began]

    def hooked(self, hooks, g):
        """A cotangent after the hooks of its Tensor."""
        for hook in self.due(hooks):
            seen = g if isinstance(g, Tensor) else wrap(g.copy())      # others read this memory, and a hook may write
            new = hook(seen)
            if new is not None:
                g = self.taken(new, seen, "")
            elif not isinstance(g, Tensor) and seen._version:
                g = seen._array
        return g

    def hooks_before(self, hooks, buffer) -> list:
        for hook in self.due(hooks.before):
            seen = tuple(shown(g) for g in buffer)
            buffer = self.replaced(hook(seen), seen, buffer)
        return buffer

    def hooks_after(self, hooks, results, buffer):
        for hook in self.due(hooks.after):
            seen = tuple(shown(g) for g in results)
            results = self.replaced(hook(seen, tuple(shown(g) for g in buffer)), seen, results)
        return results

    def replaced(self, new, seen, old):
        """The gradients at a node after a hook, which returned as many of the same kind, or None to keep them."""
        if new is None:
            return old
        if not isinstance(new, tuple):
            raise TypeError(f"a hook of a node must return a tuple of Tensors or None, not {type(new).__name__}")
        if len(new) != len(seen):
            raise RuntimeError(f"a hook of a node returned an incorrect number of gradients (expected {len(seen)}, got "
                               f"{len(new)})")
        return [None if g is None else self.taken(g, s, f" at position {k}") for k, (g, s) in
                enumerate(zip(new, seen, strict=True), 1)]

    def taken(self, new, old, place: str):
        """What a hook returned for a gradient."""
        if not isinstance(new, Tensor):
            raise TypeError(f"a hook must return a Tensor or None{place}, not {type(new).__name__}")
        if old is not None and new.shape != old.shape:
            raise RuntimeError(f"a hook changed the size of the gradient{place} from {old.shape} to {new.shape}")
        if old is not None and new.dtype != old.dtype:
            raise RuntimeError(f"a hook changed the type of the gradient{place} from {old.dtype} to {new.dtype}")
        return new if self.create else new._array


def shown(g):
    return g if g is None or isinstance(g, Tensor) else wrap(g)


def accumulate(leaf: Tensor, g, create: bool, own: bool) -> None:
    """Add a cotangent to `leaf.grad`, and run the hooks that wait for it."""
    with ACCUMULATING:
        old = leaf._grad
        if create:
            g = g if isinstance(g, Tensor) else wrap(g)
            leaf._grad = g.clone() if old is None else old + g
        elif old is None:
            leaf._grad = wrap(g if own else np.array(g, dtype=leaf._array.dtype))
        elif old.requires_grad:
            leaf._grad = wrap(old._array + g)
        else:
            old._array += g
            old._shared_counter()[0] += 1
    if leaf._after and leaf._node is None:
        for hook in list(leaf._after.values()):
            if hook(leaf) is not None:
                raise RuntimeError("a post accumulate grad hook must return None")


def explain(node, error: Exception) -> None:
    """Say in an error's notes which operation failed, and where it was called."""
    line = node.line()
    if line and hasattr(error, "add_note"):
        error.add_note(f"in the backward of {node.name()}, recorded at {line}")


def search_nan(node, results) -> None:
    for k, g in enumerate(results):
        if g is not None:
            data = g._array if isinstance(g, Tensor) else np.asarray(g)
            if data.dtype.kind in "fc" and np.isnan(data).any():
                raise RuntimeError(f"{node.name()} returned nan values in its output {k}; it was recorded at {node.line()}")


__all__ = ["Sweep", "accumulate", "current_sweep"]
