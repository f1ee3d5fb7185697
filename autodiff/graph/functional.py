"""Jacobians, Hessians and products with them, of functions of Tensors (torch.autograd.functional's signatures)."""

from __future__ import annotations

import numpy as np

from . import modes
from .autograd import grad
from .tensor import Tensor, wrap


def as_tuple(value, what: str):
    """(tuple of Tensors, whether `value` was a tuple)."""
    several = isinstance(value, (tuple, list))
    found = tuple(value) if several else (value,)
    for f in found:
        if not isinstance(f, Tensor):
            raise TypeError(f"{what} must be a Tensor or a tuple of Tensors, not {type(f).__name__}")
    return found, several


def prepared(inputs, create_graph: bool):
    """The inputs as Tensors that require grad and are apart from other graphs (unless a graph is to be created)."""
    found = []
    for t in inputs:
        if create_graph and t.requires_grad:
            found.append(t * 1 if t.is_leaf else t.clone())
        else:
            found.append(wrap(t._array).requires_grad_())
    return tuple(found)


def outputs_of(function, inputs):
    out = function(*inputs)
    return as_tuple(out, "the result of the function")


def vectors(v, like, name: str):
    """The cotangents or tangents `v`, checked against what they belong to; ones of a single element by default."""
    if v is None:
        if len(like) != 1 or like[0].size != 1:
            raise RuntimeError(f"v can be None only where the {name} of the function is a single element")
        return (wrap(np.ones(like[0].shape, like[0].dtype)),)
    found, _ = as_tuple(v, "v")
    if len(found) != len(like):
        raise RuntimeError(f"v has {len(found)} Tensors, the {name} {len(like)}")
    for k, (a, b) in enumerate(zip(found, like, strict=True)):
        if a.shape != b.shape:
            raise RuntimeError(f"v has invalid size: entry {k} has shape {a.shape}, the {name} {b.shape}")
    return found


def strictly(strict: bool, outs, inputs) -> None:
    if not strict:
        return
    for k, o in enumerate(outs):
        if not o.requires_grad:
            raise RuntimeError(f"output {k} of the function is independent of the inputs, which strict=True does not allow")


def pulled(outs, inputs, v, create_graph: bool, strict: bool = False):
    """Cotangents of the inputs; zeros where nothing depends on them."""
    active = [(o, w) for o, w in zip(outs, v, strict=True) if o.requires_grad]
    if active:
        found = grad([o for o, _ in active], inputs, [w for _, w in active], create_graph=create_graph, retain_graph=True,
                     allow_unused=True)
    else:
        found = (None,) * len(inputs)
    if strict and any(f is None for f in found):
        k = [f is None for f in found].index(True)
        raise RuntimeError(f"the output of the function is independent of input {k}, which strict=True does not allow")
    return tuple(wrap(np.zeros(i.shape, i.dtype)) if f is None else f for f, i in zip(found, inputs, strict=True))


def shown(values, several: bool, create_graph: bool):
    values = tuple(v if create_graph else v.detach() for v in values)
    return values if several else values[0]


def vjp(func, inputs, v=None, create_graph: bool = False, strict: bool = False):
    """(func(*inputs), v times its Jacobian)."""
    with modes.enable_grad():
        given, several = as_tuple(inputs, "inputs")
        given = prepared(given, create_graph)
        outs, many = outputs_of(func, given)
        strictly(strict, outs, given)
        v = vectors(v, outs, "output")
        found = pulled(outs, given, v, create_graph, strict)
    return shown(outs, many, create_graph), shown(found, several, create_graph)


def jvp(func, inputs, v=None, create_graph: bool = False, strict: bool = False):
    """(func(*inputs), its Jacobian times v), by differentiating the pullback with respect to its cotangent."""
    with modes.enable_grad():
        given, _ = as_tuple(inputs, "inputs")
        given = prepared(given, create_graph)
        v = vectors(v, given, "input")
        outs, many = outputs_of(func, given)
        strictly(strict, outs, given)
        dummies = tuple(wrap(np.zeros(o.shape, o.dtype)).requires_grad_() if o.dtype.kind in "fc" else None for o in outs)
        active = [(o, d) for o, d in zip(outs, dummies, strict=True) if o.requires_grad]
        found: list = [None] * len(outs)
        if active:
            back = grad([o for o, _ in active], given, [d for _, d in active], create_graph=True, allow_unused=True)
            if strict and any(b is None for b in back):
                raise RuntimeError("the output of the function is independent of an input, which strict=True does not allow")
            live = [(b, w) for b, w in zip(back, v, strict=True) if b is not None and b.requires_grad]
            if live:
                ahead = grad([b for b, _ in live], [d for _, d in active], [w for _, w in live], create_graph=create_graph,
                             allow_unused=True)
                numbers = iter(ahead)
                found = [next(numbers) if o.requires_grad else None for o in outs]
        found = [wrap(np.zeros(o.shape, o.dtype)) if f is None else f for f, o in zip(found, outs, strict=True)]
    return shown(outs, many, create_graph), shown(found, many, create_graph)


def jacobian(func, inputs, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
             strategy: str = "reverse-mode"):
    """The Jacobian, of shape output.shape + input.shape; nested tuples where outputs or inputs are tuples.

    vectorize: pull back all rows in one batched sweep. strategy: "reverse-mode" or "forward-mode" (by `jvp`).
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise ValueError(f"strategy must be 'reverse-mode' or 'forward-mode', not {strategy!r}")
    if strategy == "forward-mode":
        return forward_jacobian(func, inputs, create_graph, strict)
    with modes.enable_grad():
        given, several = as_tuple(inputs, "inputs")
        given = prepared(given, create_graph)
        outs, many = outputs_of(func, given)
        strictly(strict, outs, given)
        rows = []
        for o in outs:
            columns = jacobian_of(o, given, create_graph, strict, vectorize)
            columns = tuple(c if create_graph else c.detach() for c in columns)
            rows.append(columns if several else columns[0])
    return tuple(rows) if many else rows[0]


def jacobian_of(out, inputs, create_graph, strict, vectorize):
    basis = np.eye(out.size, dtype=out.dtype).reshape(out.size, *out.shape)
    if not out.requires_grad or out.size == 0:
        return tuple(wrap(np.zeros((*out.shape, *i.shape), i.dtype)) for i in inputs)
    if vectorize:
        found = grad(out, inputs, wrap(basis), create_graph=create_graph, retain_graph=True, allow_unused=True,
                     is_grads_batched=True)
        return tuple(wrap(np.zeros((*out.shape, *i.shape), i.dtype)) if f is None else f.reshape(*out.shape, *i.shape)
                     for f, i in zip(found, inputs, strict=True))
    rows = [pulled((out,), inputs, (wrap(e),), create_graph, strict) for e in basis]
    return tuple(np.stack(column).reshape(*out.shape, *i.shape) for column, i in zip(zip(*rows, strict=True), inputs,
                                                                                      strict=True))


def forward_jacobian(func, inputs, create_graph, strict):
    given, several = as_tuple(inputs, "inputs")
    columns: list = []
    many = False
    outs: tuple = ()
    for k, t in enumerate(given):
        mine = []
        for e in np.eye(t.size, dtype=t.dtype):
            v = tuple(wrap(e.reshape(t.shape) if j == k else np.zeros(o.shape, o.dtype)) for j, o in enumerate(given))
            out, ahead = jvp(func, given, v, create_graph, strict)
            many = isinstance(out, tuple)
            outs = out if many else (out,)
            mine.append(ahead if many else (ahead,))
        columns.append(mine)
    rows = []
    for j, o in enumerate(outs):
        row = tuple(np.stack([m[j] for m in mine], axis=-1).reshape(*o.shape, *t.shape)
                    for mine, t in zip(columns, given, strict=True))
        rows.append(row if several else row[0])
    return tuple(rows) if many else rows[0]


def scalar_of(func):
    """`func`, whose result must be one element."""
    def checked(*inputs):
        out = func(*inputs)
        if not isinstance(out, Tensor):
            raise TypeError(f"the result of the function must be a Tensor, not {type(out).__name__}")
        if out.size != 1:
            raise RuntimeError(f"the function must return a single element, not a Tensor of shape {out.shape}")
        return out.reshape(())
    return checked


def hessian(func, inputs, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
            outer_jacobian_strategy: str = "reverse-mode"):
    """The Hessian of a function of one element, of shape input.shape + input.shape; nested tuples for tuples."""
    given, several = as_tuple(inputs, "inputs")

    def gradient(*xs):
        out = scalar_of(func)(*xs)
        strictly(strict, (out,), xs)
        return pulled((out,), xs, (wrap(np.ones(())),), True, strict)
    found = jacobian(gradient, given, create_graph, False, vectorize, outer_jacobian_strategy)
    return found if several else found[0][0]


def second(func, inputs, v, create_graph, strict):
    given, several = as_tuple(inputs, "inputs")
    given = prepared(given, create_graph)
    v = vectors(v, given, "input")
    out = scalar_of(func)(*given)
    strictly(strict, (out,), given)
    first = pulled((out,), given, (wrap(np.ones((), out.dtype)),), True, strict)
    return given, several, v, out, first


def vhp(func, inputs, v=None, create_graph: bool = False, strict: bool = False):
    """(func(*inputs), v times its Hessian)."""
    with modes.enable_grad():
        given, several, v, out, first = second(func, inputs, v, create_graph, strict)
        found = pulled(first, given, v, create_graph, strict)
    return shown((out,), False, create_graph), shown(found, several, create_graph)


def hvp(func, inputs, v=None, create_graph: bool = False, strict: bool = False):
    """(func(*inputs), its Hessian times v): as `vhp`, since Hessians are symmetric where they are continuous."""
    with modes.enable_grad():
        given, several, v, out, _ = second(func, inputs, v, create_graph, strict)

        def gradient(*xs):
            return pulled((scalar_of(func)(*xs),), xs, (wrap(np.ones((), out.dtype)),), True, strict)
        _, found = jvp(gradient, given, v, create_graph)
    return shown((out,), False, create_graph), shown(found, several, create_graph)


__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
