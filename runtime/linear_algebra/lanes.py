"""Products of small matrices by vectors of four numbers, or fewer, whose sums stay in registers.

LLVM makes vectors of loops that run long; of a product of 4 x 4 it makes single operations. Here each vector is named:
one holds neighbours of a row of the result, to which a number of the left matrix times a row of the right one is added.
Where the last vector of a row would reach beyond it, it overlaps the one before, or is shorter (of complex numbers).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_jitable, register_model

from ..machine_code.kept import kept
from . import blas

_byte, _index = ir.IntType(8), ir.IntType(32)
_SMALL = 8                      # up to here, vectors beat the call of BLAS
_LARGEST = 512                  # numbers in `scratch`


class Lanes(types.Type):
    """Numba's type of `count` numbers in a register."""

    def __init__(self, dtype: Any, count: int):
        self.dtype, self.count = dtype, count
        super().__init__(name=f"Lanes({dtype}, {count})")


@register_model(Lanes)
class _Register(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any):
        kind = dmm.lookup(fe_type.dtype).get_value_type()
        super().__init__(dmm, fe_type, ir.VectorType(kind, fe_type.count))


# -- single operations ----------------------------------------------------------------------------------------
def operation(made: Any) -> Any:
    """Decorator of what tells Numba the types and the LLVM code of a function."""
    return intrinsic(prefer_literal=True)(made)


@operation
def address(typing, array):
    """Of the first number of an array."""
    def generate(context, builder, signature, values):
        return context.make_array(array)(context, builder, values[0]).data
    return types.CPointer(array.dtype)(array), generate


@operation
def scratch(typing, array):
    """The address of memory for 512 numbers of an array's dtype, until the function returns."""
    def generate(context, builder, signature, values):
        memory = cgutils.alloca_once(builder, context.get_data_type(array.dtype), size=_LARGEST)
        memory.align = 64
        return memory
    return types.CPointer(array.dtype)(array), generate


@operation
def none(typing, memory, count):
    """`count` zeros of the dtype that an address is of."""
    kind = Lanes(memory.dtype, count.literal_value)

    def generate(context, builder, signature, values):
        return ir.Constant(context.get_value_type(kind), None)
    return kind(memory, count), generate


def _place(builder, memory, at, kind):
    """The address of a vector, of this LLVM type, `at` bytes behind another."""
    return builder.bitcast(builder.gep(builder.bitcast(memory, _byte.as_pointer()), [at]), kind.as_pointer())


@operation
def read(typing, memory, at, count):
    """`count` numbers from `at` bytes behind an address on."""
    kind = Lanes(memory.dtype, count.literal_value)

    def generate(context, builder, signature, values):
        return builder.load(_place(builder, values[0], values[1], context.get_value_type(kind)), align=1)
    return kind(memory, at, count), generate


@operation
def write(typing, memory, at, lanes):
    """Put a vector where `read` would read it."""
    def generate(context, builder, signature, values):
        builder.store(values[2], _place(builder, values[0], values[1], values[2].type), align=1)
        return context.get_dummy_value()
    return types.none(memory, at, lanes), generate


@operation
def plus(typing, lanes, number, others):
    """lanes + number * others."""
    def generate(context, builder, signature, values):
        one = context.cast(builder, values[1], number, lanes.dtype)
        first = builder.insert_element(ir.Constant(values[0].type, ir.Undefined), one, _index(0))
        all_of_it = builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(_index, lanes.count), None))
        product = builder.fmul(all_of_it, values[2], flags=("contract",))
        return builder.fadd(values[0], product, flags=("contract",))
    return lanes(lanes, number, others), generate


@operation
def turned(typing, lanes):
    """The complex numbers in a vector times the imaginary unit: (re, im) becomes (-im, re)."""
    def generate(context, builder, signature, values):
        places = ir.Constant(ir.VectorType(_index, lanes.count), [k ^ 1 for k in range(lanes.count)])
        swapped = builder.shuffle_vector(values[0], values[0], places)
        return builder.fmul(swapped, ir.Constant(values[0].type, [-1.0, 1.0] * (lanes.count // 2)))
    return lanes(lanes), generate


@operation
def number(typing, memory, at):
    """The number `at` bytes behind an address."""
    def generate(context, builder, signature, values):
        return builder.load(_place(builder, values[0], values[1], context.get_value_type(memory.dtype)), align=1)
    return memory.dtype(memory, at), generate


# -- products -------------------------------------------------------------------------------------------------
# A matrix is given as the address of its first number, the bytes from a row to the next and, if rows may have gaps, the
# bytes from a column to the next.
def _real_columns(count: int) -> Any:
    """`count` columns from the first on, and as many from byte j of a row on if j > 0, of the product of real matrices."""
    @register_jitable(error_model="numpy", forceinline=True)
    def columns(n, k, out, across, a, a_row, a_column, b, b_row, keep, j):
        for i in range(n):
            s, t = none(out, count), none(out, count)
            for p in range(k):
                x = number(a, i * a_row + p * a_column)
                s = plus(s, x, read(b, p * b_row, count))
                if j > 0:
                    t = plus(t, x, read(b, p * b_row + j, count))
            if keep != 0.0:
                s = plus(s, keep, read(out, i * across, count))
                if j > 0:
                    t = plus(t, keep, read(out, i * across + j, count))
            write(out, i * across, s)
            if j > 0:
                write(out, i * across + j, t)
    return columns


def _complex_columns(count: int) -> Any:
    """`count / 2` columns, from byte j of a row on, of the product of complex matrices; sign: of imaginary parts of a."""
    @register_jitable(error_model="numpy", forceinline=True)
    def columns(n, k, out, a, a_row, a_column, size, sign, b, row, keep, j):
        for i in range(n):
            s, t = none(out, count), none(out, count)
            for p in range(k):
                place, others = i * a_row + p * a_column, read(b, p * row + j, count)
                s = plus(s, number(a, place), others)
                t = plus(t, number(a, place + size), others)
            if keep != 0.0:
                s = plus(s, keep, read(out, i * row + j, count))
            write(out, i * row + j, plus(s, sign, turned(t)))
    return columns


_by_one, _by_two, _by_four = _real_columns(1), _real_columns(2), _real_columns(4)
_pair, _pairs = _complex_columns(2), _complex_columns(4)


@kept
def matrix_matrix(out, a, b, keep):
    """`blas.matrix_matrix` of real matrices of one dtype; small ones by vectors."""
    n, m, k, size = out.shape[0], out.shape[1], a.shape[1], out.itemsize
    if not (0 < n <= _SMALL and 0 < m <= _SMALL and 0 < k <= _SMALL and a.shape[0] == n and b.shape[0] == k and (
            b.shape[1] == m)):
        blas.matrix_matrix(out, a, b, keep)
        return
    left, down, right = address(a), a.strides[0], a.strides[1]
    rows, row, to, across = address(b), b.strides[0], address(out), out.strides[0]
    if b.strides[1] != size:
        rows, row = scratch(b), m * size
        for p in range(k):
            for j in range(m):
                rows[p * m + j] = b[p, j]
    scattered = out.strides[1] != size
    if scattered:
        to, across = scratch(out), m * size
        for i in range(n):
            for j in range(m):
                to[i * m + j] = out[i, j]
    if m == 1:
        _by_one(n, k, to, across, left, down, right, rows, row, keep, 0)
    elif m < 4:
        _by_two(n, k, to, across, left, down, right, rows, row, keep, (m - 2) * size)
    else:
        _by_four(n, k, to, across, left, down, right, rows, row, keep, (m - 4) * size)
    if scattered:
        for i in range(n):
            for j in range(m):
                out[i, j] = to[i * m + j]


@register_jitable(error_model="numpy", forceinline=True)
def complex_product(out: Any, a: Any, b: Any, first: bool, second: bool, keep: float) -> None:
    """out = a b + keep out, of small C-contiguous complex matrices of pairs; first, second: with the conjugate transpose of
    a, of b in its place."""
    n, m, size = out.shape[0], out.shape[1], out.itemsize
    k, down, right, sign = a.shape[1], a.strides[0], a.strides[1], 1.0
    if first:
        k, down, right, sign = a.shape[0], right, down, -1.0
    left, rows, row = address(a), address(b), 2 * m * size
    if second:
        rows = scratch(b)
        for p in range(k):
            for j in range(m):
                rows[2 * (p * m + j)], rows[2 * (p * m + j) + 1] = b[j, p, 0], -b[j, p, 1]
    for j in range(0, m - 1, 2):
        _pairs(n, k, address(out), left, down, right, size, sign, rows, row, keep, 2 * j * size)
    if m % 2:
        _pair(n, k, address(out), left, down, right, size, sign, rows, row, keep, 2 * (m - 1) * size)


__all__ = ["complex_product", "matrix_matrix"]
