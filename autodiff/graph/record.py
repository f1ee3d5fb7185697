"""Recording: run an operation on the arrays of Tensors and make its node."""

from __future__ import annotations

import numpy as np

from ..transforms.source.plain import PLAIN, as_plain
from .modes import STATE
from .nodes import NOTHING, Operation, _orders, packed, place
from .tensor import Tensor, check_operand, constant, wrap

new = object.__new__


def unary(entry, x: Tensor):
    """An elementwise function of one Tensor."""
    data = x._array
    out = entry.ufunc(data)
    if type(out) is not np.ndarray:
        out = as_plain(out)
    made = Tensor.__new__(Tensor)
    made._array = out
    if x._base is not None:
        x._current()
    if x._requires and STATE.enabled and not (STATE.watched and x._volatile):
        pullback = entry.pullback((True,), data.dtype.kind == "c")
        node = new(pullback.node)
        node.order = next(_orders)
        node.next_functions = (x._edge(),)
        node.where = place()
        if out.dtype != data.dtype:
            node.fits = ((data.shape, data.dtype),)
        if pullback.reads:
            save(node, pullback.reads, (made, x), (out, data))
        made._node, made._requires = node, True
        if STATE.watched:
            packed(node)
    elif STATE.watched:
        mark(made, (x,))
    return made


def binary(entry, a, b):
    """An elementwise function of two operands, at least one of them a Tensor; the others numbers or arrays."""
    one, two = isinstance(a, Tensor), isinstance(b, Tensor)
    if not one and type(a) not in PLAIN:
        check_operand(a)
    if not two and type(b) not in PLAIN:
        check_operand(b)
    x = a._array if one else a
    y = b._array if two else b
    out = entry.ufunc(x, y)
    if type(out) is not np.ndarray:
        out = as_plain(out)
    made = Tensor.__new__(Tensor)
    made._array = out
    if one:
        if a._base is not None:
            a._current()
        one = a._requires
    if two:
        if b._base is not None:
            b._current()
        two = b._requires
    if (one or two) and STATE.enabled and not (STATE.watched and is_volatile((a, b))):
        kind = out.dtype.kind
        pullback = entry.pullback((one, two), kind == "c")
        node = new(pullback.node)
        node.order = next(_orders)
        node.next_functions = (a._edge() if one else NOTHING, b._edge() if two else NOTHING)
        node.where = place()
        shape, dtype = out.shape, out.dtype
        if one and (x.shape != shape or x.dtype != dtype) or two and (y.shape != shape or y.dtype != dtype):
            node.fits = ((x.shape, x.dtype) if one else None, (y.shape, y.dtype) if two else None)
        if pullback.reads:
            save(node, pullback.reads, (made, a, b), (out, x, y))
        made._node, made._requires = node, True
        if STATE.watched:
            packed(node)
    elif STATE.watched:
        mark(made, (a, b))
    return made


def save(node, reads, tensors, arrays) -> None:
    """Keep the arrays that a pullback reads, with the versions they have now."""
    saved: list = []
    versions: list = []
    for k in reads:
        t = tensors[k]
        if isinstance(t, Tensor):
            saved.append(arrays[k])
            versions.append(t._saved())
        else:
            saved.append(constant(arrays[k]))
            versions.append(None)
    node.saved, node.versions = tuple(saved), tuple(versions)


def record(title: str, out, inputs, pull, reads: tuple = (), extra: tuple = ()):
    """A Tensor (or a tuple of them) for what an operation gave, and its node if one is wanted.

    out: an array, or a tuple of arrays. inputs: the arguments, of which Tensors get edges.
    pull: `pull(g, *saved)` -> a cotangent for each input (None for those without).
    reads: what is saved: k > 0 the k-th input, k <= 0 the output -k. extra: constants that follow in `saved`.
    """
    for t in inputs:
        if type(t) is not Tensor and isinstance(t, np.ndarray):
            as_plain(t)
    several = isinstance(out, tuple)
    outs = tuple(map(wrap, out)) if several else (wrap(out),)
    made = outs if several else outs[0]
    if not tracked(inputs):
        if STATE.watched:
            for m in outs:
                mark(m, inputs)
        return made
    node = Operation(tuple(t._edge() if isinstance(t, Tensor) and t._requires else NOTHING for t in inputs))
    node.title, node.function = title, pull
    node.where = place()
    if several:
        node.outputs, node.plain = len(outs), False
        node.cotangents = tuple((m.shape, m.dtype) for m in outs)
    if reads:
        tensors = [inputs[k - 1] if k > 0 else outs[-k] for k in reads]
        save(node, range(len(reads)), tensors, [t._array if isinstance(t, Tensor) else t for t in tensors])
    if extra:
        node.saved = (*(node.saved or ()), *extra)
    node.reads = (*reads, *[None] * len(extra))
    dtypes = {t._array.dtype for t in inputs if isinstance(t, Tensor) and t._requires}
    if any(m._array.dtype != d for m in outs for d in dtypes):
        node.fits = tuple((t.shape, t.dtype) if isinstance(t, Tensor) and t._requires else None for t in inputs)
    for k, m in enumerate(outs):
        if m._array.dtype.kind in "fc":
            m._node, m._number, m._requires = node, k, True
    if STATE.watched:
        packed(node)
    return made


def tracked(inputs) -> bool:
    """Whether a call with these arguments is recorded."""
    if not STATE.enabled or STATE.watched and is_volatile(inputs):
        return False
    needs = [t._current()._requires for t in inputs if isinstance(t, Tensor)]       # all are brought up to date
    return True in needs


def is_volatile(inputs) -> bool:
    return any(isinstance(t, Tensor) and t._volatile for t in inputs)


def mark(made: Tensor, inputs) -> None:
    made._volatile = is_volatile(inputs)
    made._inference = STATE.inference


__all__ = ["binary", "record", "tracked", "unary"]
