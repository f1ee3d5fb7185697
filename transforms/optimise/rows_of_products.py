"""Products of one matrix and the rows of another, a row an iteration, as one product of matrices.

    for i in range(n):                          row = empty((n, m))
        row = empty(m)                          matmul_into(row, X, A.T)
        matmul_into(row, A, X[i])    becomes    for i in range(n):
        y[i] = row[0]                               y[i] = row[i, 0]

A product of matrices reads `A` once for many rows; so does each of its two adjoints. The loop goes over all rows, none of
which is written before its product is taken, and `A` stays as it is.
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.core import Alloc, Arr, For, Function, Ref
from ..language.facts import Facts
from ..language.motion import own_axes
from ..language.names import defined_in
from ..language.queries import called, counts_up
from ..language.rewrite import bottom_up
from ..language.substitution import substitute


def multiply_rows(function: Function, facts: Facts) -> Function:
    """The program with the products of rows that loops take one by one taken before the loops."""
    def change(stmt) -> tuple | None:
        before: list = []
        while counts_up(stmt) and stmt.trip is None and stmt.checkpoint is None:
            found = next(filter(None, (product_of_rows(stmt, s, facts) for s in stmt.body)), None)
            if found is None:
                break
            *made, stmt = found
            before += made
        return (*before, stmt) if before else None
    return replace(function, body=bottom_up(function.body, change))


def product_of_rows(loop: For, call, facts: Facts) -> tuple | None:
    """(the buffer of all rows, their product, the loop that reads them) for a product in a loop; None if it stays there."""
    if called(call) != "matmul" or not isinstance(call.outs[0], Arr) or len(call.outs[0].shape) != 1:
        return None
    row, = call.outs
    alloc = next((s for s in loop.body if isinstance(s, Alloc) and s.array is row), None)
    first, second = call.args
    vector, matrix = (first, second) if len(first.shape) == 1 else (second, first)
    inside = defined_in(loop.body) | {loop.index}
    k = len(vector.prefix) - 1
    if alloc is None or row.pairs or len(matrix.shape) != 2 or k < 0 or vector.prefix[k] is not loop.index \
            or not inside.isdisjoint((*vector.prefix[:k], *matrix.prefix, *row.shape, vector.array, matrix.array)) \
            or not facts.same(loop.stop, vector.array.shape[k]):
        return None
    position = next(i for i, s in enumerate(loop.body) if s is call)
    if matrix.array in core.written(loop.body) or vector.array in core.written(loop.body[:position]) \
            or vector.array in core.rebound(loop.body) or k not in own_axes(loop, vector.array):
        return None
    rows = Arr(row.hint, row.dtype, (loop.stop, *row.shape))
    by = matrix if vector is first else Ref(matrix.array, matrix.prefix, not matrix.transposed)
    whole = replace(call, outs=(rows,), args=(Ref(vector.array, vector.prefix[:k]), by))
    rest = tuple(s for s in loop.body if s is not alloc and s is not call)
    body = substitute(rest, {row: Ref(rows, (loop.index,))}, fresh=False)
    return replace(alloc, array=rows), whole, replace(loop, body=body)


__all__ = ["multiply_rows"]
