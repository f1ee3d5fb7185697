"""Products of matrices and linear algebra, by the compiler's pullback rules where these hold."""

from __future__ import annotations

import string

import numpy as np

from ..rules import REGISTRY
from .nodes import summed_to
from .record import record
from .tensor import Tensor, data_of

LETTERS = string.ascii_letters


def adjoint(x):
    """Conjugate transpose of the last two axes."""
    x = np.swapaxes(x, -1, -2)
    return np.conj(x) if x.dtype.kind == "c" else x


def matmul(a, b, out=None):
    x, y = data_of(a), data_of(b)
    data = np.matmul(x, y)
    one, two = isinstance(a, Tensor), isinstance(b, Tensor)

    def pull(g, a, b):
        if a.ndim <= 2 and b.ndim <= 2:
            if a.ndim == b.ndim == 1:
                return (g * conj(b) if one else None), (g * conj(a) if two else None)
            if a.ndim == 1:
                return (conj(b) @ g if one else None), (np.multiply.outer(conj(a), g) if two else None)
            if b.ndim == 1:
                return (np.multiply.outer(g, conj(b)) if one else None), (adjoint(a) @ g if two else None)
            return (g @ adjoint(b) if one else None), (adjoint(a) @ g if two else None)
        if a.ndim == 1:
            part = (conj(b) @ g[..., None])[..., 0] if one else None
            return (None if part is None else summed_to(part, a.shape),
                    summed_to(conj(a)[:, None] * g[..., None, :], b.shape) if two else None)
        if b.ndim == 1:
            return (summed_to(g[..., None] * conj(b), a.shape) if one else None,
                    summed_to((adjoint(a) @ g[..., None])[..., 0], b.shape) if two else None)
        return (summed_to(g @ adjoint(b), a.shape) if one else None,
                summed_to(adjoint(a) @ g, b.shape) if two else None)
    made = record("Mm" if data.ndim == 2 else "Matmul", data, (a, b), pull, (1, 2))
    if out is not None:
        out[...] = made
        return out
    return made


def conj(x):
    return np.conj(x) if x.dtype.kind == "c" else x


def dot(a, b, out=None):
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        result = np.multiply(a, b)
    elif np.ndim(b) <= 2:
        result = matmul(a, b)
    else:
        result = tensordot(a, b, ((-1,), (-2,)))
    if out is not None:
        out[...] = result
        return out
    return result


def vdot(a, b):
    return matmul(conj(np.ravel(a)), np.ravel(b))


def inner(a, b):
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return np.multiply(a, b)
    return tensordot(a, b, ((-1,), (-1,)))


def outer(a, b, out=None):
    result = np.multiply(np.ravel(a)[:, None], np.ravel(b)[None, :])
    if out is not None:
        out[...] = result
        return out
    return result


def tensordot(a, b, axes=2):
    if isinstance(axes, (int, np.integer)):
        axes = (tuple(range(np.ndim(a) - axes, np.ndim(a))), tuple(range(axes)))
    left, right = (tuple(np.atleast_1d(x).tolist()) for x in axes)
    left, right = tuple(k % np.ndim(a) for k in left), tuple(k % np.ndim(b) for k in right)
    if [np.shape(a)[k] for k in left] != [np.shape(b)[k] for k in right]:
        raise ValueError("shape-mismatch for sum")
    free_a = tuple(k for k in range(np.ndim(a)) if k not in left)
    free_b = tuple(k for k in range(np.ndim(b)) if k not in right)
    n = int(np.prod([np.shape(a)[k] for k in left], dtype=int))
    shape_a, shape_b = [np.shape(a)[k] for k in free_a], [np.shape(b)[k] for k in free_b]
    x = np.transpose(a, free_a + left).reshape(int(np.prod(shape_a, dtype=int)), n)
    y = np.transpose(b, right + free_b).reshape(n, int(np.prod(shape_b, dtype=int)))
    return matmul(x, y).reshape(*shape_a, *shape_b)


def lettered(operands) -> tuple:
    """The form `einsum(a, [0, 1], b, [1], [0])` with its subscripts as a string."""
    def term(axes):
        return "".join("..." if k is Ellipsis else LETTERS[k] for k in axes)
    text = ",".join(map(term, operands[1::2]))
    return f"{text}->{term(operands[-1])}" if len(operands) % 2 else text, *operands[:-1:2]


def einsum(*operands, out=None, **kwargs):
    if not isinstance(operands[0], str):
        operands = lettered(operands)
    text, operands = operands[0].replace(" ", ""), operands[1:]
    if "." in text:
        return NotImplemented
    inputs, _, result = text.partition("->")
    terms = inputs.split(",")
    if "->" not in text:
        result = "".join(sorted(c for c in set(inputs) - {","} if inputs.count(c) == 1))
    if any(len(set(t)) != len(t) for t in terms):
        return NotImplemented
    data = np.einsum(f"{inputs}->{result}", *map(data_of, operands), optimize=len(operands) > 2)
    shapes = [np.shape(o) for o in operands]
    wanted = [isinstance(o, Tensor) for o in operands]
    sizes = {c: n for t, shape in zip(terms, shapes, strict=True) for c, n in zip(t, shape, strict=True)}

    def pull(g, *values):
        found: list = []
        for k, term in enumerate(terms):
            if not wanted[k]:
                found.append(None)
                continue
            rest = [(t, conj(v)) for j, (t, v) in enumerate(zip(terms, values, strict=True)) if j != k]
            seen = set(result).union(*(t for t, _ in rest)) if rest else set(result)
            kept = "".join(c for c in term if c in seen)
            part = np.einsum(",".join([result, *(t for t, _ in rest)]) + "->" + kept, g, *(v for _, v in rest))
            if kept != term:                    # axes that were only summed
                part = part.reshape(tuple(sizes[c] if c in seen else 1 for c in term))
            found.append(np.broadcast_to(part, shapes[k]))
        return tuple(found)
    made = record("Einsum", data, tuple(operands), pull, tuple(range(1, len(operands) + 1)))
    if out is not None:
        out[...] = made
        return out
    return made


def by_rule(title: str, op: str, function, outputs: int = 1):
    """A function of matrices whose pullback is the compiler's rule for `op`; stacks of matrices go another way."""
    def applied(*args):
        if any(np.ndim(a) > 2 for a in args):
            return NotImplemented
        rule = REGISTRY.pullback_rules[op]
        out = function(*map(data_of, args))
        if any(d.dtype.kind == "c" for d in map(np.asarray, map(data_of, args))):
            if outputs > 1:
                return NotImplemented

            def pull(g, y, *xs):        # of a function that is analytic in its arguments
                return rule(g, np.conj(y), *map(np.conj, xs))
        else:
            def pull(g, *saved):  # type: ignore[misc]
                return rule(*(g if isinstance(g, (list, tuple)) else (g,)), *saved)
        reads = (*range(0, -outputs, -1), *range(1, len(args) + 1))
        if outputs > 1:
            return type(out)(*record(title, tuple(map(np.asarray, out)), args, pull, reads))
        return record(title, out, args, pull, reads)
    return applied


solve = by_rule("LinalgSolve", "solve", np.linalg.solve)
inv = by_rule("LinalgInv", "inv", np.linalg.inv)
det = by_rule("LinalgDet", "det", np.linalg.det)
slogdet = by_rule("LinalgSlogdet", "slogdet", np.linalg.slogdet, 2)
cholesky = by_rule("LinalgCholesky", "cholesky", np.linalg.cholesky)


__all__ = ["cholesky", "det", "dot", "einsum", "inner", "inv", "matmul", "outer", "slogdet", "solve", "tensordot", "vdot"]
