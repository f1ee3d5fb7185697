"""Library calls of matrices, and of each matrix of a stack. What a call is says `runtime/library_calls.py`."""

from __future__ import annotations

import numpy as np

from ....runtime.library_calls import CALLS
from ...language.core import Const, Var
from ...language.errors import UnsupportedSyntax
from ...language.ops import COMPLEX, PARTS, is_complex
from ..arrays.arrays import as_ref, pairs_ref
from ..arrays.broadcasting import broadcast_shapes, broadcast_to
from ..arrays.loop_nests import nest
from ..arrays.memory import force, store_element
from ..arrays.writing import assign
from ..checks import require_that
from ..numbers.conversions import as_value
from ..syntax.catching import catches
from ..values import Array, Buffer, Scalar, Slice


def form_of(op: str, dtype: str) -> str:
    """The call for matrices of this dtype: complex numbers may have one of their own."""
    return f"complex_{op}" if is_complex(dtype) and f"complex_{op}" in CALLS else op


# calls that raise LinAlgError -> the call that tells whether they would, and what NumPy says
ASKED = {"solve": ("is_invertible", "Singular matrix"), "inv": ("is_invertible", "Singular matrix"),
         "cholesky": ("is_positive_definite", "Matrix is not positive definite")}
SINGULAR = ("solve_triangular", "solve_banded", "sqrtm", "logm", "matrix_power", "solve_sylvester")


def library_call(lo, op, shape, kind, *operands, static=()):
    """A library call that returns one array."""
    name = form_of(op, kind)
    reference = as_ref if name == op else pairs_ref
    refs = tuple(reference(lo, a) if isinstance(a, Array) else lo.atom(a) for a in operands)
    if (op in ASKED or op in SINGULAR) and catches(lo, np.linalg.LinAlgError):
        ask_first(lo, op, name, refs[0])
    arr = lo.b.alloc("v", kind, shape)
    lo.b.call((arr,), name, refs, static)
    return Buffer(arr)


def ask_first(lo, op: str, name: str, matrix) -> None:
    """In a `try` that catches LinAlgError: whether a call would raise it, as a check before it."""
    if name not in ASKED:
        raise lo.error(UnsupportedSyntax, f"a LinAlgError of `{op}` cannot be caught here",
                       "test the matrix before, with np.linalg.cond or np.linalg.det")
    question, message = ASKED[name]
    answer = lo.b.var("fits", matrix.dtype)
    lo.b.facts.number(answer)
    lo.b.call((answer,), question, (matrix,), ())
    require_that(lo, lo.b.compare("ne", answer, Const(0.0, matrix.dtype)), "LinAlgError", message)


def number_call(lo, op, names, a):
    """A library call that returns numbers."""
    if form_of(op, a.dtype) != op:
        return (Scalar(lo.atom(library_call(lo, op, (), a.dtype, a))),)
    out = tuple(Var(name, a.dtype) for name in names)
    for v in out:
        lo.b.facts.number(v)
    lo.b.call(out, op, (as_ref(lo, a),), ())
    return tuple(map(Scalar, out))


def array_call(lo, op, results, a, *numbers, static=()):
    """A library call on an array that returns arrays. results: (hint, shape, dtype) of each."""
    made = [lo.b.alloc(hint, kind, shape) for hint, shape, kind in results]
    operand = pairs_ref(lo, a) if is_complex(a.dtype) else as_ref(lo, a)
    lo.b.call(tuple(made), op, (operand, *numbers), static)
    return tuple(map(Buffer, made))


def decomposed(lo, op, hints, a, shapes) -> list:
    """The parts of a decomposition of a matrix or of each matrix of a stack."""
    whole, part = COMPLEX.get(a.dtype, a.dtype), PARTS.get(a.dtype, a.dtype)
    name = form_of(op, a.dtype)
    kinds = [whole if c == "c" else part for c in CALLS[name].results or "r" * len(shapes)]
    one = lambda p: array_call(lo, name, list(zip(hints, shapes, kinds, strict=True)), p)  # noqa: E731
    return on_each(lo, (a,), (2,), one, list(zip(shapes, kinds, strict=True)))


def on_each(lo, operands, ranks, call, results) -> list:
    """`call` on matrices, or on each of a stack of them: the arguments are those of `over_stack`."""
    if all(a.rank == rank for a, rank in zip(operands, ranks, strict=True)):
        return list(call(*operands))
    return over_stack(lo, operands, ranks, call, results)


def over_stack(lo, operands, ranks, call, results):
    """`call` on each matrix of a stack; the values it returns are put into new arrays of the shapes `results`.

    operands: arrays whose last `ranks` axes are matrices or vectors; the axes before are broadcast.
    results: (shape, dtype) of each result of one call, without the axes of the stack.
    """
    batch = broadcast_shapes(lo, [a.shape[:a.rank - r] for a, r in zip(operands, ranks, strict=True)])
    wide = [broadcast_to(lo, a, (*batch, *a.shape[a.rank - r:])) if a.rank > r else a
            for a, r in zip(operands, ranks, strict=True)]
    wide = [force(lo, a) if a.has_memory is False else a for a in wide]
    made = [Buffer(lo.b.alloc("v", kind, (*batch, *shape))) for shape, kind in results]

    def body(index):
        at = [as_value(lo, i) for i in index]
        pick = lambda a, r: lo.select(a, [*at, *[Slice(None, None, None)] * r]) if a.rank > r else a  # noqa: E731
        values = call(*(pick(a, r) for a, r in zip(wide, ranks, strict=True)))
        for target, (shape, _), value in zip(made, results, values, strict=True):
            if shape:
                assign(lo, pick(target, len(shape)), value)
            else:
                store_element(lo, target.arr, index, lo.atom(value))
    nest(lo, batch, body)
    return made
