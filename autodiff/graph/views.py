"""Views and changes in place: who shares memory, and whose history a change becomes part of.

A view knows the Tensor whose memory it shows (`_base`) and the steps by which it is taken from it. A recorded change of a
view becomes a change of its base (an `Overwrite` node); every other view of the base looks its history up again, when it is
next used, by taking the same steps from the base as it is then.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .modes import STATE
from .nodes import NOTHING, Node, place
from .record import record, tracked
from .tensor import Tensor, check_operand, data_of, wrap


def view(title: str, t: Tensor, out, step, pull) -> Tensor:
    """A Tensor for `out = step(t)`, an array that may share the memory of `t`."""
    made = record(title, out, (t,), pull)
    if isinstance(out, np.ndarray) and not (out.base is t._array or t._array.base is not None and out.base is t._array.base):
        return made
    base = t if t._base is None else t._base
    made._base, made._steps = base, (*t._steps, step)
    made._counter = base._counter = base._shared_counter()
    made._seen = base._stamp
    made._inference = t._inference
    made._fixed = t._fixed if STATE.enabled else "no_grad"
    return made


def refresh(v: Tensor) -> None:
    """Give a view the history that its memory has now."""
    base = v._base
    if v._fixed == "no_grad" and base._requires:
        if STATE.enabled:
            raise RuntimeError("a view made inside no_grad is used after the tensor that it shows was changed in place with "
                               "grad mode enabled: make the view outside, or modify the tensor inside no_grad")
        return
    v._seen = base._stamp
    if not base._requires:
        return
    before, STATE.enabled = STATE.enabled, True
    try:
        t = base
        for step in v._steps:
            t = step(t)
    finally:
        STATE.enabled = before
    v._node, v._number, v._requires = t._node, t._number, t._requires


class Overwrite(Node):
    """A tensor of which a part was replaced: the part's cotangent goes to the new value, the rest to the old tensor.

    steps: from the tensor to the part. index: not None where the part is a copy taken by integer arrays or masks.
    """

    title = "CopySlices"

    def __init__(self, edges, steps, index=None):
        super().__init__(edges)
        self.steps, self.index = steps, index

    def name(self):
        return "CopySlices" if self.index is None else "IndexPutBackward0"

    def pull(self, grads, rich):
        g = grads[0]
        rest = g.clone() if isinstance(g, Tensor) else np.array(g)
        if self.index is not None:
            part = rest[self.index]
            rest[self.index] = 0
            winners = last_writes(self.index, rest.shape)
            return rest, part if winners is None else part * winners
        hole = rest
        for step in self.steps:
            hole = step(hole)
        part = hole.clone() if isinstance(hole, Tensor) else np.array(hole)
        hole[...] = 0
        return rest, part


def last_writes(index, shape):
    """Where an element is written several times by one assignment: 1 at its last writer, 0 at the others; else None."""
    owner = np.zeros(shape, np.int64)
    places = owner[index]
    writers = np.arange(places.size).reshape(places.shape)
    owner[index] = writers
    last = owner[index] == writers
    return None if last.all() else last.astype(float)


def check_writable(t: Tensor, incoming=()) -> None:
    """RuntimeError where a change of `t` in place cannot be recorded."""
    if t._inference and not STATE.inference:
        raise RuntimeError("a Tensor made in inference_mode is used in an in-place operation outside it: change a clone()")
    if not STATE.enabled:
        return
    base = t if t._base is None else t._base
    for leaf in (base, t):
        if leaf._requires and leaf._node is None:
            what = "a leaf Tensor" if t is leaf else "a view of a leaf Tensor"
            raise RuntimeError(f"{what} that requires grad is used in an in-place operation: do it inside no_grad(), or on "
                               "a clone()")
    if t._fixed is None:
        return
    if not base._requires and not any(isinstance(i, Tensor) and i.requires_grad for i in incoming):
        return
    if t._fixed == "no_grad":
        raise RuntimeError("a view made inside no_grad is being modified in place with grad mode enabled: make the view "
                           "outside, or modify it inside no_grad")
    if t._fixed == "multi":
        raise RuntimeError("this Tensor is one of multiple views that one call returned, which cannot be modified in place: "
                           "index the tensor instead")


def bump(t: Tensor) -> None:
    t._shared_counter()[0] += 1


def rebase(t: Tensor, node, number: int) -> None:
    """Make (node, number) the history of `t`, whose memory now holds the node's result."""
    if t._base is None:
        move_retained(t, node, number)
        t._node, t._number, t._requires = node, number, True
        t._stamp += 1
        return
    base = t._base
    whole = Overwrite((base._edge() if base._requires else NOTHING, (node, number)), t._steps)
    move_retained(base, whole, 0)
    base._node, base._number, base._requires = whole, 0, True
    base._stamp += 1
    t._node, t._number, t._requires, t._seen = node, number, True, base._stamp


def move_retained(t: Tensor, node, number) -> None:
    """`retain_grad` stays with the Tensor, not with the value it had."""
    old = t._node
    if old is None or old.hooks is None:
        return
    kept = old.hooks.retained.get(t._number)
    if kept is not None and kept() is t:
        del old.hooks.retained[t._number]
        node.own_hooks().retained[number] = kept


def snapshot(t: Tensor) -> Tensor:
    """`t` as it is now: the same array and history under another name."""
    made = wrap(t._array.copy() if STATE.pack_hooks else t._array)      # hooks may keep it
    edge = edge_of_memory(t)
    if edge is not NOTHING:
        made._node, made._number = edge
        made._requires = True
    return made


def edge_of_memory(t: Tensor) -> tuple:
    """Where the cotangent of what `t` held goes: nowhere if it shows the memory of a Tensor that requires no grad."""
    frozen = t._base is not None and not t._base._requires
    return t._edge() if t.requires_grad and not frozen else NOTHING


def change(t: Tensor, operation) -> Tensor:
    """`t = operation(t)` in place."""
    old = snapshot(t)
    new = operation(old)
    if not isinstance(new, Tensor):
        new = wrap(np.asarray(new))
    if new.shape != t.shape:
        raise ValueError(f"the result of an in-place operation has shape {new.shape}, the Tensor {t.shape}")
    node = new._node
    if node is not None and node.saved:                 # what it saved of the old value must survive the write
        mine = [isinstance(v, np.ndarray) and np.may_share_memory(v, t._array) for v in node.saved]
        node.saved = tuple(v.copy() if m else v for v, m in zip(node.saved, mine, strict=True))
        node.versions = tuple(None if m else v for v, m in zip(node.versions, mine, strict=False))
    np.copyto(t._array, new._array, casting="same_kind")
    bump(t)
    if new._requires:
        rebase(t, node, new._number)
    return t


def in_place(t: Tensor, operation, *incoming) -> Tensor:
    """`change`, after the checks."""
    check_writable(t, incoming)
    return change(t, operation)


def assign(t: Tensor, index, value) -> None:
    """`t[index] = value`."""
    from .indexing import element, is_basic, plain_index  # which is made of views
    check_writable(t, (value,))
    index = plain_index(index)
    if not isinstance(value, Tensor):
        check_operand(value)
    new = data_of(value)
    if t._array.dtype.kind != "c" and np.asarray(new).dtype.kind == "c":
        raise TypeError("a complex value cannot be assigned to elements of a real Tensor")
    if isinstance(value, Tensor) and np.may_share_memory(value._array, t._array):
        new = new.copy()
    recorded = tracked((t, value))
    if recorded:
        edges = (edge_of_memory(t), value_edge(t, index, value))
    t._array[index] = new
    bump(t)
    if recorded:
        basic = is_basic(index)
        node = Overwrite(edges, (lambda a: element(a, index),), None if basic else index)
        node.where = place()
        rebase(t, node, 0)


def value_edge(t, index, value):
    """The edge of an assigned value, broadcast and cast to the part it fills."""
    if not isinstance(value, Tensor) or not value._current()._requires:
        return NOTHING
    shape, dtype = t._array[index].shape, t._array.dtype
    made: Any = value
    if made.dtype != dtype:
        made = made.astype(dtype)
    while made.ndim > len(shape):
        made = made.reshape(made.shape[1:])
    if made.shape != shape:
        made = np.broadcast_to(made, shape)
    return made._edge()


__all__ = ["Overwrite", "assign", "bump", "check_writable", "in_place", "rebase", "refresh", "snapshot", "view"]
