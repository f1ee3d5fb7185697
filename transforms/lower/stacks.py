"""Library calls on stacks of matrices: one call for each."""

from __future__ import annotations

from .broadcasting import broadcast_shapes, broadcast_to
from .conversions import as_value
from .loop_nests import nest
from .memory import force, store_element
from .values import Buffer, Slice
from .writing import assign


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
