"""Loop nests over index spaces, and branches, around code that a function writes."""

from __future__ import annotations

from ...language.build import ZERO
from ...language.core import Carry, Const, Merge
from ...language.ops import promote
from ..numbers.integers import same_dtype
from ..state import Lowering

INDEX_NAMES = ("i", "j", "k", "l", "m", "p", "q", "r")


# -- loop nests -------------------------------------------------------------------------------------------
def for_loop(lo: Lowering, start, stop, inits, body, hint="i", hints=(), origin="array"):
    """Emit `for index in range(start, stop)` around `body(index, carried) -> next carried`; give the results."""
    outer = lo.b
    if lo.b.facts.same(stop, lo.b.iadd(start, 1)):
        return tuple(body(start, tuple(inits)))
    index = outer.index(hint, start, stop)
    heads = tuple(lo.b.var(h, a.dtype) for h, a in zip(hints, inits, strict=True))
    lo.b = lo.loop_bodies[index] = outer.child(loop=True)
    try:
        nexts = tuple(body(index, heads))
        block = lo.b.block()
    finally:
        lo.b = outer
    results = tuple(lo.b.var(h.hint, h.dtype) for h in heads)
    carries = tuple(map(Carry, heads, inits, nexts, results))
    lo.b.repeat(index, start, stop, block, carries=carries, loc=outer.loc, origin=origin)
    return results


def nest(lo: Lowering, shape, body, position: int = 0, index=()):
    """Loops over every index of `shape`, outermost first; `body(index)` runs inside."""
    if position == len(shape):
        body(index)
        return
    def inner(i, _):
        nest(lo, shape, body, position + 1, (*index, i))
        return ()
    for_loop(lo, ZERO, shape[position], (), inner, hint=INDEX_NAMES[position % 8])


def fold_nest(lo: Lowering, shape, inits, body, hints, position: int = 0, index=()):
    """As `nest`, with carried scalars: `body(index, carried) -> next carried`."""
    if position == len(shape):
        return tuple(body(index, inits))
    return for_loop(lo,
        ZERO, shape[position], inits,
        lambda i, heads: fold_nest(lo, shape, heads, body, hints, position + 1, (*index, i)),
        hint=INDEX_NAMES[(len(index)) % 8], hints=hints)


def branch(lo: Lowering, cond, then, orelse, hint="t"):
    """A value by cases: only the chosen side runs. `then` and `orelse` emit code and return an atom each."""
    if isinstance(cond, Const):
        return then() if cond.value else orelse()
    sides = []
    outer = lo.b
    for side in (then, orelse):
        lo.b = outer.child()
        try:
            sides.append((side(), lo.b.block()))
        finally:
            lo.b = outer
    (a, then_block), (c, else_block) = sides
    if a == c and same_dtype(a.dtype, c.dtype):
        return a
    var = outer.var(hint, a.dtype if same_dtype(a.dtype, c.dtype) or a.dtype != "int64" else promote(a.dtype, c.dtype))
    outer.facts.number(var)
    outer.branch(cond, then_block, else_block, (Merge(var, a, c),))
    return var
