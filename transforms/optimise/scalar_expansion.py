"""Loops down columns turned so that they run along rows.

    for j in range(m):                                  s = empty(m)
        s = 0.0                                         s[:] = 0.0
        for k in range(n):                              for k in range(n):
            s = np.add(s, a[k] * b[k, j])                   for j in range(m):
        c[j] = s                             becomes            s[j] = np.add(s[j], a[k] * b[k, j])
                                                        for j in range(m):
                                                            c[j] = s[j]

Where the outer loop's iterations do not depend on each other and the inner loop strides through memory, its statements are
distributed over loops of their own, numbers that pass from one to the next get an array, and the inner nest is turned.
Everything that one iteration adds up is added in the same order as before.

Source: K. Kennedy and J. R. Allen, Optimizing Compilers for Modern Architectures, Morgan Kaufmann 2002, chapters 5 (scalar
expansion, interchange) and 9.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

from ..language import core
from ..language.build import Builder, integer
from ..language.core import Arr, Comment, Function, Var
from ..language.emit import Statements
from ..language.motion import facts_of, own_axes
from ..language.queries import is_simple, is_whole, only_added_freely, operation
from ..language.rewrite import bottom_up
from ..language.substitution import substitute
from .loop_interchange import strided

MOST_ARRAYS = 8         # that a turned nest may need for its numbers


def turn_columns(function: Function) -> Function:
    """The program with its loops down columns turned."""
    if not any(columns_below(s) is not None for s in core.walk(function.body)):
        return function
    return replace(function, body=Turner(facts_of(function)).block(function.body))


def columns_below(outer):
    """The one loop directly in another that strides where the outer one would not; None if there is none."""
    if not is_whole(outer) or outer.carries or outer.checkpoint is not None:
        return None
    inner = [s for s in outer.body if not is_simple(s)]
    if len(inner) != 1 or not is_whole(inner[0]) or inner[0].step not in STEPS or not all(map(is_simple, inner[0].body)):
        return None
    made = {v for s in outer.body for v in core.defined(s)} | {outer.index}
    if made & {inner[0].start, inner[0].stop}:
        return None
    return inner[0] if strided(inner[0].body, inner[0].index) > strided(inner[0].body, outer.index) else None


STEPS = (integer(1), integer(-1))


class Turner:
    def __init__(self, facts):
        self.facts = facts

    def block(self, block) -> tuple:
        def change(s):
            inner = columns_below(s)
            return self.turned(s, inner) if inner is not None else None
        return bottom_up(block, change)

    def turned(self, outer, inner) -> list | None:
        """The statements that do what a loop down columns did; None if that would change something."""
        begin = Builder(self.facts)
        if outer.step == integer(1) and outer.start == integer(0):
            size = outer.stop
        elif outer.step == integer(-1) and outer.stop == integer(-1):
            size = begin.iadd(outer.start, 1)
        else:
            return None
        for a in core.written(outer.body):
            if not own_axes(outer, a) and not only_added_freely(outer.body, a):
                return None
        at = outer.body.index(inner)
        before, after = outer.body[:at], outer.body[at + 1:]
        notes = tuple(s for s in takewhile(lambda s: isinstance(s, Comment), reversed(before)))[::-1]
        before = before[:len(before) - len(notes)]
        made = {v: s for s in before for v in core.defined(s)}
        read = {x for s in (*inner.body, *after) for x in core.operands(s)} | {c.next for c in inner.carries}
        again = repeated(before, {v for v in made if v in read and v.dtype == "int64"})
        passed = [v for v in made if v in read and v.dtype != "int64"]
        if again is None or any(c.var.dtype == "int64" for c in inner.carries):
            return None
        length = begin.imax(size, 0)
        rows = {v: Arr(v.hint, v.dtype, (length,)) for v in (*passed, *(c.var for c in inner.carries))}
        if len(rows) > MOST_ARRAYS:
            return None

        def row(block, loads: dict, stores):
            """A loop over `block`, with numbers loaded before it and stored after it."""
            index = Var(outer.index.hint, "int64")
            known: dict = {outer.index: index}
            body = Statements()
            for v, array in loads.items():
                known[v] = body.read(Var(v.hint, v.dtype), array, (index,), outer.loc)
            body.stmts += substitute(block, known)
            for array, v in stores:
                body.write(array, (index,), known.get(v, v), loc=outer.loc)
            return replace(outer, index=index, start=integer(0), stop=size, step=integer(1), body=tuple(body.stmts))
        states = [(rows[c.var], c) for c in inner.carries]
        passing = {v: rows[v] for v in passed}
        first = row(before, {}, [*((rows[v], v) for v in passed), *((a, c.init) for a, c in states)])
        middle = row((*again, *inner.body), {**passing, **{c.var: a for a, c in states}}, [(a, c.next) for a, c in states])
        last = row((*again, *after), {**passing, **{c.result: a for a, c in states}}, [])
        for a in rows.values():
            begin.make(a, loc=outer.loc)
        return [*begin.stmts, first, *notes, replace(inner, carries=(), body=(middle,)), last]


def repeated(before, wanted) -> list | None:
    """The statements that make integers, to be repeated; None if one is more than arithmetic."""
    found: list = []
    for s in reversed(before):
        if operation(s) and s.var in wanted:
            found.insert(0, s)
            wanted = wanted | {x for x in s.args if isinstance(x, Var)}
        elif any(v in wanted for v in core.defined(s)):
            return None
    return found


__all__ = ["turn_columns"]
