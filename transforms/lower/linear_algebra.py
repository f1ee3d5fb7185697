"""Linear algebra: library calls on matrices, loops of them on stacks of matrices."""

from __future__ import annotations

import numpy as np

from ..core import Call, Var
from ..errors import ShapeMismatch
from ..ops import promote
from .indexing import Slice
from .products import library_call
from .reductions import is_true
from .table import lowers
from .values import Array, Buffer, Record, Scalar, Transposed

SLOGDET = type(np.linalg.slogdet(np.eye(1)))


def square(lo, x) -> Array:
    """A square matrix, or a stack of them, of floats."""
    a = lo.array(x)
    if a.rank < 2:
        raise lo.error(ShapeMismatch, f"{a.rank}-dimensional array given. Array must be at least two-dimensional")
    lo.require_same(a.shape[-2], a.shape[-1],
                    f"Last 2 dimensions of the array must be square, not of shape {lo.show_shape(a.shape)}")
    return a if a.dtype in ("float64", "float32") else lo.convert(a, "float64")


def over_stack(lo, operands, ranks, call, results):
    """`call` on each matrix of a stack; the values it returns are put into new arrays of the shapes `results`.

    operands: arrays whose last `ranks` axes are matrices or vectors; the axes before are broadcast.
    results: (shape, dtype) of each result of one call, without the axes of the stack.
    """
    batch = lo.broadcast_shapes([a.shape[:a.rank - r] for a, r in zip(operands, ranks, strict=True)])
    wide = [lo.broadcast_to(a, (*batch, *a.shape[a.rank - r:])) for a, r in zip(operands, ranks, strict=True)]
    wide = [lo.force(a) if a.has_memory is False else a for a in wide]
    made = [Buffer(lo.b.alloc("v", kind, (*batch, *shape))) for shape, kind in results]

    def body(index):
        at = [lo.number(i) for i in index]
        pick = lambda a, r: lo.select(a, [*at, *[Slice(None, None, None)] * r])  # noqa: E731
        values = call(*(pick(a, r) for a, r in zip(wide, ranks, strict=True)))
        for target, (shape, _), value in zip(made, results, values, strict=True):
            if shape:
                lo.assign(pick(target, len(shape)), value)
            else:
                lo.store_element(target.arr, index, lo.atom(value))
    lo.nest(batch, body)
    return made


def number_call(lo, op, names, a):
    """A library call that returns numbers."""
    out = tuple(Var(name, a.dtype) for name in names)
    for v in out:
        lo.b.facts.number(v)
    lo.b.add(Call(out, op, (lo.as_ref(a),), (), lo.b.loc))
    return tuple(map(Scalar, out))


@lowers(np.linalg.solve)
def lower_solve(lo, a, b):
    a, b = square(lo, a), lo.array(b)
    kind = promote(a.dtype, b.dtype)
    a, b = lo.convert(a, kind), lo.convert(b, kind)
    vector = b.rank == 1 or (np.lib.NumpyVersion(np.__version__) < "2.0.0" and b.rank == a.rank - 1)
    rank = 1 if vector else 2
    lo.require_same(a.shape[-1], b.shape[b.rank - rank],
                    "solve: Input operand 1 has a mismatch in its core dimension 0: shapes "
                    f"{lo.show_shape(a.shape)} and {lo.show_shape(b.shape)}")
    one = lambda p, q: (library_call(lo, "solve", q.shape, kind, p, q),)  # noqa: E731
    if a.rank == 2 and b.rank == rank:
        return one(a, b)[0]
    return over_stack(lo, (a, b), (2, rank), one, [(b.shape[b.rank - rank:], kind)])[0]


@lowers(np.linalg.inv)
def lower_inv(lo, a):
    a = square(lo, a)
    one = lambda p: (library_call(lo, "inv", p.shape, p.dtype, p),)  # noqa: E731
    return one(a)[0] if a.rank == 2 else over_stack(lo, (a,), (2,), one, [(a.shape[-2:], a.dtype)])[0]


@lowers(np.linalg.cholesky)
def lower_cholesky(lo, a, upper=None):
    a = square(lo, a)

    def one(p):
        lower = library_call(lo, "cholesky", p.shape, p.dtype, p)
        return (Transposed(lower) if is_true(upper) else lower,)
    return one(a)[0] if a.rank == 2 else over_stack(lo, (a,), (2,), one, [(a.shape[-2:], a.dtype)])[0]


@lowers(np.linalg.det)
def lower_det(lo, a):
    a = square(lo, a)
    one = lambda p: number_call(lo, "det", ("det",), p)  # noqa: E731
    return one(a)[0] if a.rank == 2 else over_stack(lo, (a,), (2,), one, [((), a.dtype)])[0]


@lowers(np.linalg.slogdet)
def lower_slogdet(lo, a):
    a = square(lo, a)
    one = lambda p: number_call(lo, "slogdet", ("sign", "logdet"), p)  # noqa: E731
    sign, log = one(a) if a.rank == 2 else over_stack(lo, (a,), (2,), one, [((), a.dtype)] * 2)
    return Record(SLOGDET, {"sign": sign, "logabsdet": log})
