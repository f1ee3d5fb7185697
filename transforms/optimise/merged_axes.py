"""Loops that run over several axes as one, and divide to find their places there, as nests over these axes.

    for i in range(12):                      for i in range(3):
        j = i // 4                               for j in range(4):
        k = i % 4             becomes                y[i * 4 + j] = x[i, j]
        y[i] = x[j, k]

Such loops come of `ravel` and `reshape`. A division takes as long as twenty additions, and keeps a loop from vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..language.build import ZERO, integer
from ..language.core import Atom, Const, For, Function, Let, Var, sub_blocks, walk, with_blocks
from ..language.facts import Facts
from ..language.motion import facts_of, made_equal
from ..language.names import defined_in
from ..language.queries import counts_up, is_range, is_whole, operation
from ..language.rewrite import top_down
from ..language.substitution import renamed

DIVISIONS = ("floordiv", "mod")
NEXT = {"i": "j", "j": "k", "k": "l"}               # names of indices, from the outside in


def separate_axes(function: Function) -> Function:
    """The program with a nest in the place of each loop whose index is divided by nothing but the length of an axis.

    Of three axes the outer loop runs over two, and is such a loop again.
    """
    if not any(operation(s) in DIVISIONS and s.var.dtype == "int64" for s in walk(function.body)):
        return function
    facts, equal = facts_of(function, checks=False), made_equal(function)
    outside, body = set(facts.nonnegative) | set(function.params), []
    places: dict[Var, Atom] = {}
    for s in function.body:
        body.append(separated(s, facts, outside, places))
        outside |= defined_in((s,)) if not sub_blocks(s) else set()
        for pair in equal.get(s, ()):                   # sizes are equal behind the check, not before it
            facts.equate(*pair)
    return separate_axes(renamed(function, tuple(body), places)) if places else function


def separated(stmt, facts: Facts, outside: set, places: dict[Var, Atom]):
    """A statement with nests in the place of such loops. outside: integers known there; places: takes what divisions are."""
    if counts_up(stmt) and is_whole(stmt) and stmt.checkpoint is None:
        axes = lengths(stmt, facts, outside)
        if axes is not None:
            stmt = nest(stmt, axes, facts, places)
    return with_blocks(stmt, lambda block: tuple(separated(s, facts, outside, places) for s in block))


def lengths(loop: For, facts: Facts, outside: set) -> tuple[Atom, Atom] | None:
    """The lengths of the two axes that a loop runs over: its index is divided by that of the second, or by a product with
    it, and by nothing else."""
    made = divisions(loop)
    if not made or defined_in(loop.body) & {s.args[1] for s in made}:
        return None
    for inner in dict.fromkeys(s.args[1] for s in sorted(made, key=lambda s: s.op != "mod")):
        if not all(facts.same(s.args[1], inner) or s.op == "floordiv" and further(s.args[1], inner, facts) for s in made):
            continue
        if isinstance(inner, Const) and isinstance(loop.stop, Const):
            if inner.value > 0 == loop.stop.value % inner.value:
                return integer(loop.stop.value // inner.value), inner
            continue
        for outer, other in products(loop.stop, facts):
            if facts.same(other, inner) and (outer in outside or isinstance(outer, Const)) and (
                    facts.at_least(outer) or facts.at_least(inner)):            # two below 0 have a product above it
                return outer, inner
    return None


def further(divisor: Atom, inner: Atom, facts: Facts) -> Atom | None:
    """By what the place along the first axis is divided where that of both is divided by this; None if that is not known."""
    if isinstance(divisor, Const) and isinstance(inner, Const):
        whole = inner.value > 0 == divisor.value % inner.value
        rest: Atom | None = integer(divisor.value // inner.value) if whole else None
    else:
        rest = facts.without(divisor, inner)
    return rest if rest is not None and facts.at_least(rest) else None          # below 0, it would round another number


def divisions(loop: For) -> list[Let]:
    """The divisions of a loop's index."""
    return [s for s in walk(loop.body) if operation(s) in DIVISIONS and s.args[0] is loop.index]


def products(size: Atom, facts: Facts) -> Iterator[tuple]:
    """Pairs of integers whose product a size is known to be, both ways round."""
    for v, (op, args) in facts.definition.items():
        if op == "mul" and facts.same(v, size):
            yield from (args, args[::-1])


def nest(loop: For, axes: tuple[Atom, Atom], facts: Facts, places: dict[Var, Atom]) -> For:
    """A loop over both axes in the place of one over all places, in the same order."""
    name = loop.index.hint
    outer, inner = Var(name, "int64"), Var(NEXT.get(name, name), "int64")
    row = Var("row", "int64")
    for v, length in zip((outer, inner), axes, strict=True):
        facts.number(v)
        facts.range[v] = (ZERO, integer(length.value - 1) if isinstance(length, Const) else None)
    facts.define(row, "mul", (outer, axes[1]))
    rows: dict[Let, Let] = {}
    for s in divisions(loop):
        if facts.same(s.args[1], axes[1]):
            places[s.var] = outer if s.op == "floordiv" else inner
        else:
            rows[s] = replace(s, args=(outer, further(s.args[1], axes[1], facts)))
    for s in filter(is_range, walk(loop.body)):
        places[s.index] = Var(NEXT.get(s.index.hint, s.index.hint), "int64")
    heads = {c: Var(c.var.hint, c.var.dtype) for c in loop.carries}
    ends = {c: Var(c.result.hint, c.result.dtype) for c in loop.carries}
    within = tuple(replace(c, init=heads[c], result=ends[c]) for c in loop.carries)
    around = tuple(replace(c, var=heads[c], next=ends[c]) for c in loop.carries)
    start = Let(row, "mul", (outer, axes[1]), loop.loc)
    place = Let(loop.index, "add", (row, inner), loop.loc)
    body = top_down(loop.body, lambda s: (rows[s],) if s in rows else () if operation(s) and s.var in places else None)
    along = replace(loop, index=inner, stop=axes[1], carries=within, body=(place, *body))
    return replace(loop, index=outer, stop=axes[0], carries=around, body=(start, along))


__all__ = ["DIVISIONS", "products", "separate_axes"]
