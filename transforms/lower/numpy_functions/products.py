"""Products: dot, matmul, outer, tensordot, linear algebra calls."""

from __future__ import annotations

import numpy as np

from ...language.build import ZERO
from ...language.core import FREELY, Const
from ...language.errors import MissingItem, ShapeMismatch
from ...language.ops import is_complex, is_inexact, promote
from ..arrays.broadcasting import broadcast_shapes, broadcast_to, convert, require_same, settle, size_of
from ..arrays.layout import contiguous, note_assumed
from ..arrays.loop_nests import fold_nest, nest
from ..arrays.memory import delayed, force, store_element
from ..arrays.writing import assign
from ..checks import core_mismatch, fails, show_shape, show_size
from ..containers.containers import items_of
from ..numbers.conversions import static_int
from ..numbers.integer_operations import check_cast
from ..numbers.integers import same_dtype
from ..numbers.kinds_on_paths import item_of
from ..table import lowers
from ..values import Array, Buffer, Delayed, Scalar, Sequence, Static, Transposed, View, is_number
from .library_calls import library_call, over_stack
from .reductions import absent, axis_of, into
from .shaping import permuted, ravel_any, reshaped

SMALL = 8               # matrices of up to this many columns are multiplied by loops where they come in stacks


def zero(dtype):
    return Const(0.0 if is_inexact(dtype) else 0, dtype)


def operands_of(lo, a, b):
    a, b = lo.array(a), lo.array(b)
    kind = promote(a.dtype, b.dtype)
    return convert(lo, a, kind) if a.rank else a, convert(lo, b, kind) if b.rank else b, kind


def of_truths(product):
    """`product`, for which arrays of truths are 0 and 1: of two such it is whether a term is true."""
    def made(lo, a, b):
        a, b = lo.array(a), lo.array(b)
        if not a.dtype == b.dtype == "bool":
            return product(lo, a, b)
        return lo.elementwise("ne", product(lo, *(lo.array(convert(lo, v, "int64")) for v in (a, b))), Static(0))

    return made


def contract(lo, shape, size, term, kind):
    """Delayed array of sum_k term(index, k); elements are loops of their own, so it is given memory at once."""
    arr = lo.b.alloc("v", kind, shape)
    def body(index):
        total, = fold_nest(lo, (size,), (zero(kind),), lambda k, s: (
            lo.b.sum(s[0], term(index, k[0]), kind),), ("s",))
        store_element(lo, arr, index, total)
    nest(lo, shape, body)
    return Buffer(arr)


@lowers(np.matmul)
def lower_matmul(lo, a, b, out=None):
    result = matrix_product(lo, a, b)
    if not absent(out):
        check_cast(lo, lo.array(out), result, "matmul")
        assign(lo, out, result)
        return out
    return result


@of_truths
def matrix_product(lo, a, b):
    a, b, kind = operands_of(lo, a, b)
    if a.rank == 0 or b.rank == 0:
        raise lo.error(ShapeMismatch, "matmul: Input operand does not have enough dimensions (scalars need *)")
    inner = b.shape[0] if b.rank == 1 else b.shape[-2]
    require_same(lo, a.shape[-1], inner, core_mismatch(lo, "matmul", "(n?,k),(k,m?)->(n?,m?)", inner, a.shape[-1]))
    if a.rank == 1 and b.rank == 1:
        return dot_1d(lo, a, b, kind)
    if not is_inexact(kind) or (a.rank > 2 or b.rank > 2) and few_terms(a, b):
        return batched(lo, a, b, kind)
    if a.rank > 2 and b.rank <= 2:
        rows = size_of(lo, a.shape[:-1])
        return reshaped(lo, one_product(lo, reshaped(lo, a, (rows, a.shape[-1])), b, kind), (*a.shape[:-1], *b.shape[1:]))
    if b.rank > 2:
        shape = (a.shape[-2:-1] if a.rank > 1 else ()) + b.shape[-1:]
        return over_stack(lo, (a, b), (min(a.rank, 2), 2), lambda p, q: (one_product(lo, p, q, kind),), [(shape, kind)])[0]
    return one_product(lo, a, b, kind)


def one_product(lo, a, b, kind):
    """The product of a matrix and a matrix or a vector: a library call, of half the work for A.T @ A and A @ A.T."""
    if a.rank == b.rank == 2 and not is_complex(kind) and (is_transpose(a, b) or is_transpose(b, a)):
        return library_call(lo, "gram", (b.shape[1], b.shape[1]), kind, b)
    if not is_complex(kind) and (a.rank == 1 and is_part(b) or b.rank == 1 and is_part(a)):
        return one_pass(lo, b, a, 0, kind) if a.rank == 1 else one_pass(lo, a, b, 1, kind)
    shape = (a.shape[:-1] if a.rank == 2 else ()) + (b.shape[1:] if b.rank == 2 else ())
    if (first := conjugate_transpose_of(a)) is not None:
        return library_call(lo, "matmul_cn", shape, kind, first, b)
    if a.rank == 2 and (second := conjugate_transpose_of(b)) is not None:
        return library_call(lo, "matmul_nc", shape, kind, a, second)
    return library_call(lo, "matmul", shape, kind, a, b)


def conjugate_transpose_of(a) -> Array | None:
    """What a matrix is the conjugate transpose of, unless it has memory of its own, which may have been written."""
    match a:
        case Transposed(source=Delayed(forced=None, conjugate_of=Array() as made_of), rank=2):
            return made_of
        case Delayed(forced=None, conjugate_of=Transposed(source=source), rank=2):
            return source
    return None


def is_part(a) -> bool:
    """Whether a matrix is a view that a library call would have to copy, as a block of columns is. The product with a vector
    reads it once: a copy, and its place on the tape, would take longer."""
    a = a.source if isinstance(a, Transposed) else a
    return a.rank == 2 and isinstance(a, View) and a.prefix is None and bool(a.has_memory) and in_steps(a)


def in_steps(a) -> bool:
    """Whether the places of a view are steps along axes, not quotients of an index, as those of `reshape` may be."""
    return not isinstance(a, View) or (a.axes is not None or isinstance(a, Transposed)) and in_steps(a.source)


def one_pass(lo, matrix, vector, axis, kind):
    """The product of a matrix, of which this axis is summed, and a vector: loops in the order of the matrix's memory."""
    if isinstance(matrix, Transposed):
        matrix, axis = matrix.source, 1 - axis
    if not (vector.has_memory and in_steps(vector)):
        vector = force(lo, vector)
    out = lo.b.alloc("v", kind, (matrix.shape[1 - axis],), fill=zero(kind))
    nest(lo, matrix.shape, lambda i: store_element(lo, out, (i[1 - axis],), lo.operate(
        "mul", (matrix.element(lo, i), vector.element(lo, (i[axis],))), kind), accumulate=FREELY))
    return Buffer(out)


def is_transpose(a, b) -> bool:
    """Whether `a` is b.T, by construction."""
    if not isinstance(a, Transposed):
        return False
    return a.source is b or isinstance(a.source, Buffer) and isinstance(b, Buffer) and a.source.arr is b.arr


def few_terms(a, b) -> bool:
    """Whether matrices of a stack are known to have so few columns that loops over numbers beat calls."""
    return any(isinstance(n, Const) and n.value <= SMALL for n in (a.shape[-1], b.shape[-1]))


def dot_1d(lo, a, b, kind):
    total, = fold_nest(lo, (a.shape[0],), (zero(kind),), lambda k, s: (lo.b.sum(
        s[0], lo.operate("mul", (a.element(lo, k), b.element(lo, k)), kind), kind),), ("s",))
    return Scalar(total)


def batched(lo, a, b, kind):
    vector_a, vector_b = a.rank == 1, b.rank == 1
    if vector_a:
        a = View(a, (Const(1, "int64"), a.shape[0]), lambda lo, i: i[1:])
    if vector_b:
        b = View(b, (b.shape[0], Const(1, "int64")), lambda lo, i, : i[:1])
    batch = broadcast_shapes(lo, [a.shape[:-2], b.shape[:-2]])
    left = broadcast_to(lo, a, (*batch, *a.shape[-2:]))
    right = broadcast_to(lo, b, (*batch, *b.shape[-2:]))
    n = len(batch)
    if isinstance(left, Delayed):
        left = force(lo, left)
    if isinstance(right, Delayed):
        right = force(lo, right)
    shape = (*batch, *(() if vector_a else (a.shape[-2],)), *(() if vector_b else (b.shape[-1],)))
    def term(index, k):
        rest = list(index[n:])
        i = ZERO if vector_a else rest.pop(0)
        j = ZERO if vector_b else rest.pop(0)
        return lo.operate("mul", (left.element(lo, (*index[:n], i, k)), right.element(lo, (*index[:n], k, j))), kind)
    return contract(lo, shape, a.shape[-1], term, kind)


@lowers(np.dot)
def lower_dot(lo, a, b, out=None):
    result = dot_of(lo, lo.array(a), lo.array(b))
    if absent(out):
        return result
    target, made = lo.array(out), lo.array(result)
    if target.rank != made.rank or not same_dtype(target.dtype, made.dtype) or contiguous(lo, target) is False:
        fails(lo, "ValueError", "output array is not acceptable (must have the right datatype, number of dimensions, and be "
                                "a C-Array)")
    assign(lo, note_assumed(lo, target, target), made)
    return out


@of_truths
def dot_of(lo, a, b):
    if a.rank == 0 or b.rank == 0:
        return lo.elementwise("mul", unwrap(lo, a), unwrap(lo, b))
    axis = max(b.rank - 2, 0)
    require_aligned(lo, a, b, axis)
    if b.rank > 2 or (a.rank > 2 and b.rank > 1):
        a, b, kind = operands_of(lo, a, b)
        a, b = force(lo, a) if isinstance(a, Delayed) else a, force(lo, b) if isinstance(b, Delayed) else b
        n = a.rank - 1
        return contract(lo, (*a.shape[:-1], *b.shape[:-2], b.shape[-1]), a.shape[-1], lambda index, k: lo.operate(
            "mul", (a.element(lo, (*index[:n], k)), b.element(lo, (*index[n:-1], k, index[-1]))), kind), kind)
    return lower_matmul(lo, a, b)


def require_aligned(lo, a, b, axis: int) -> None:
    """The last axis of `a` is as long as this axis of `b`."""
    m, n = a.shape[-1], b.shape[axis]
    require_same(lo, m, n, f"shapes {show_shape(lo, a.shape)} and {show_shape(lo, b.shape)} not aligned: "
                       f"{show_size(lo, m)} (dim {a.rank - 1}) != {show_size(lo, n)} (dim {axis})")


def unwrap(lo, a):
    return item_of(lo, a.element(lo, ()), a) if isinstance(a, Array) and a.rank == 0 else a


@lowers(np.vdot)
def lower_vdot(lo, a, b):
    a, b = lo.array(lo.call_static(np.conjugate, [a], {})), lo.array(b)
    if a.shape == b.shape and a.rank > 1:
        return lo.call_static(np.sum, [lo.elementwise("mul", a, b)], {})
    return lower_dot(lo, ravel_any(lo, a), ravel_any(lo, b))


@lowers(np.inner)
def lower_inner(lo, a, b):
    a, b = lo.array(a), lo.array(b)
    if a.rank == 0 or b.rank == 0:
        return lo.elementwise("mul", unwrap(lo, a), unwrap(lo, b))
    require_aligned(lo, a, b, b.rank - 1)
    if b.rank == 1:
        return lower_matmul(lo, a, b)
    return lower_tensordot(lo, a, b, Sequence((Static(a.rank - 1), Static(b.rank - 1))))


@lowers(np.outer)
def lower_outer(lo, a, b, out=None):
    return into(lo, out, outer_product(lo, a, b))


@of_truths
def outer_product(lo, a, b):
    a, b, kind = operands_of(lo, a, b)
    a, b = ravel_any(lo, settle(lo, a)), ravel_any(lo, settle(lo, b))
    return delayed(lo, (a.shape[0], b.shape[0]), kind, lambda lo, index: lo.operate(
        "mul", (a.element(lo, index[:1]), b.element(lo, index[1:])), kind), (a, b))


@lowers(np.tensordot)
def lower_tensordot(lo, a, b, axes=Static(2)):
    a, b = lo.array(a), lo.array(b)
    if is_number(axes):
        n = static_int(lo, axes, "axes")
        if n > min(a.rank, b.rank):
            raise lo.error(MissingItem, "tuple index out of range")
        left, right = list(range(a.rank - n, a.rank)), list(range(n))
    else:
        pair = items_of(lo, axes)
        ints = lambda v, r: [axis_of(lo, i, r) for i in ([v] if is_number(v) else items_of(lo, v))]  # noqa: E731
        left, right = ints(pair[0], a.rank), ints(pair[1], b.rank)
    free_a = [k for k in range(a.rank) if k not in left]
    free_b = [k for k in range(b.rank) if k not in right]
    for p, q in zip(left, right, strict=True):
        require_same(lo, a.shape[p], b.shape[q], "shape-mismatch for sum")
    rows = size_of(lo, [a.shape[k] for k in free_a])
    inner = size_of(lo, [a.shape[k] for k in left])
    columns = size_of(lo, [b.shape[k] for k in free_b])
    flat_a = reshaped(lo, permuted(lo, a, free_a + left), (rows, inner))
    flat_b = reshaped(lo, permuted(lo, b, right + free_b), (inner, columns))
    product = lower_matmul(lo, flat_a, flat_b)
    shape = tuple(a.shape[k] for k in free_a) + tuple(b.shape[k] for k in free_b)
    if not shape:
        return Scalar(product.element(lo, (ZERO, ZERO)))
    return reshaped(lo, product, shape)


@lowers(np.trace)
def lower_trace(lo, x, offset=Static(0), axis1=Static(0), axis2=Static(1), dtype=None, out=None):
    d = lo.call_static(np.diagonal, [x, offset, axis1, axis2], {})
    return lo.call_static(np.sum, [d], {"axis": Static(-1), "dtype": dtype or Static(None), "out": out or Static(None)})
