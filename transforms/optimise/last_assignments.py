"""A number that a branch of a loop replaces, and that the loop only compares, is that of the iteration that did it last.

    m = 0.0                                     m = 0.0
    for i in range(9):                          last = -1
        c = x[i] * y                            for i in range(9):
        if c > m:                                   c = x[i] * y
            m_1 = c                                 cond = c > m
        else:                                       c = c if cond else m
            m_1 = m                  becomes        last_1 = i if cond else last
        m = m_1                                     m = c
    return m                                        last = last_1
                                                if last != -1:
                                                    c_1 = x[last] * y
                                                else:
                                                    c_1 = 0.0
                                                return c_1

The derivative is that of what was assigned last: it is computed again behind the loop, of the integers that the branch had
then, such as the index. So the reverse sweep needs no loop, and nothing of the numbers that were replaced. `m = max(m, c)`
is such a search too (`running_extrema.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..language import core
from ..language.build import Builder, integer
from ..language.core import Atom, Carry, Const, For, Function, If, Let, Merge, Var
from ..language.facts import Facts
from ..language.motion import learn
from ..language.names import defined_in, mentioned
from ..language.queries import is_branch, is_range, is_short, is_whole
from ..language.rewrite import bottom_up
from ..language.substitution import substitute
from .running_extrema import as_search, comparisons, computing, extremum, shared, twin

WHOLE = ("int64", "bool")
FEW = 8                 # iterations: a loop of no more is written out


@dataclass(frozen=True, eq=False)
class Assigned:
    """What the iterations of a loop assign to a number that it carries: the value, the branches that lead to it, from the
    outermost to the innermost, each with its side, and the statements that compute it, of integers that are `given`."""

    carry: Carry
    value: Atom
    path: tuple[tuple[If, bool], ...]
    made: tuple
    given: tuple[Var, ...]


def assign_after(function: Function, facts: Facts) -> Function:
    """The program whose loops leave such numbers to what stands behind them."""
    used = computed_with(function)

    def change(s) -> list | None:
        if not is_whole(s) or not isinstance(s.step, Const) or s.checkpoint is not None:
            return None
        wanted = [c for c in s.carries if core.is_float(c.var) and c.result in used]
        extrema = {c: op for c in wanted if (op := only_kept(c, s)) is not None}
        loop = as_search(s, extrema) if extrema else s
        found = [a for c in wanted if (a := assigned(c, loop)) is not None]
        return behind(loop, found, set(extrema), facts) if found else None
    return replace(function, body=bottom_up(function.body, change))


def only_kept(carry: Carry, loop: For) -> Let | None:
    """The operation that keeps the largest or the smallest number, if the loop can be a search for it."""
    op = None if is_short(loop, FEW) else extremum(carry, loop)
    if op is None:
        return None
    search = as_search(loop, {carry: op})
    a = assigned(carry, search)
    return op if a is not None and comparisons(search, a.path, a.value) is not None else None


def computed_with(function: Function) -> set:
    """The variables that are more than compared."""
    found = set(function.returns)
    for s in core.walk(function.body):
        if not (isinstance(s, Let) and s.var.dtype in WHOLE):
            found.update(x for x in core.operands(s) if isinstance(x, Var))
    return found


def assigned(carry: Carry, loop: For) -> Assigned | None:
    """What a loop assigns to a number that it carries; None if it is not one value, or the number is more than compared."""
    found = list(leading_to(carry.next, carry.var, loop.body))
    if len(found) != 1 or not only_compared(carry, loop):
        return None
    value, path, before = found[0]
    changed, inside = core.written(loop.body), defined_in(loop.body) | set(core.bound_inside(loop))

    def usable(s, mine) -> bool:                    # the integers of a search are kept, not found again
        return not (is_range(s) and all(v.dtype in WHOLE for v in mine))
    made, needed = computing(before, {value}, changed, usable)
    given = [x for x in (loop.index, *mentioned(made), value) if x in needed & inside]
    return Assigned(carry, value, path, tuple(made), tuple(dict.fromkeys(given))) if all(
        isinstance(x, Var) and x.dtype in WHOLE for x in given) else None


def leading_to(x: Atom, kept: Var, block, before=()) -> Iterator[tuple]:
    """(value, branches around it, statements before it) of all that `x` may be but what it was, `kept`."""
    if x is kept:
        return
    at, branch = next(((k, s) for k, s in enumerate(block) if is_branch(s) and any(m.var is x for m in s.merges)), (0, None))
    if branch is None:
        yield x, (), (*before, *block)
        return
    merge = next(m for m in branch.merges if m.var is x)
    for side, inner, y in ((True, branch.then, merge.then), (False, branch.orelse, merge.orelse)):
        for value, path, rest in leading_to(y, kept, inner, (*before, *block[:at])):
            yield value, ((branch, side), *path), rest


def only_compared(carry: Carry, loop: For) -> bool:
    """Whether a loop does no more with what it carries than to compare it and to hand it on."""
    read = {x for s in core.walk(loop.body) for x in core.operands(s)}
    others = {c.next for c in loop.carries if c is not carry}
    waiting, seen = [carry.var], set()
    while waiting:
        x = waiting.pop()
        if x in seen:
            continue
        seen.add(x)
        if x in others:
            return False
        for s in core.walk(loop.body):
            if isinstance(s, If):
                waiting += [m.var for m in s.merges if x in (m.then, m.orelse)]
            elif isinstance(s, (For, core.While)):
                for c in s.carries:
                    if x in (c.init, c.next):
                        if c.result in read or c.result is carry.next:
                            return False
                        waiting.append(c.var)
            elif x in core.operands(s) and not (isinstance(s, Let) and s.var.dtype in WHOLE):
                return False
    return True


def behind(loop: For, found: list[Assigned], extrema: set[Carry], facts: Facts) -> list:
    """The loop, which hands on the integers that the last assignment had, and what computes the numbers of them. extrema:
    those that are the largest or the smallest ones."""
    merges: dict[If, list[Merge]] = {}
    carries: list[Carry] = []
    after: list = []
    b = Builder(facts)
    never = b.isub(loop.start, loop.step)           # no index of the loop
    results = {a.carry: twin(a.carry.var) for a in found}
    saved: dict = {}
    for a in found:
        at: dict = {}
        for x in dict.fromkeys((loop.index, *a.given)):
            key = (x, *a.path)
            if key not in saved:
                first: Atom = never if x is loop.index else Const(False, "bool") if x.dtype == "bool" else integer(0)
                hint = "last" if x is loop.index else x.hint
                kept, result, now = Var(hint, x.dtype), Var(hint, x.dtype), x
                for branch, side in reversed(a.path):
                    joined = Var(hint, x.dtype)
                    merges.setdefault(branch, []).append(Merge(joined, now, kept) if side else Merge(joined, kept, now))
                    now = joined
                carries.append(Carry(kept, first, now, result))
                saved[key] = result
            at[x] = saved[key]
        cond = Var("found", "bool")
        after.append(Let(cond, "ne", (at[loop.index], never), loop.loc))
        mapping = dict(at)
        made = substitute(a.made, mapping)
        value = mapping.get(a.value, a.value) if isinstance(a.value, Var) else a.value
        result = twin(a.carry.var) if a.carry in extrema else a.carry.result
        after.append(If(cond, made, (), (Merge(result, value, a.carry.init),), loop.loc))
        if a.carry in extrema:
            after += shared(loop, a.carry, a.path, at[loop.index], result, results[a.carry], facts)

    def more(block) -> tuple:
        return tuple(replace(t, merges=(*t.merges, *merges.get(s, ()))) if isinstance(s, If) else t
                     for s in block for t in (core.with_blocks(s, more),))
    learn(facts, after)
    same = tuple(replace(c, result=results.get(c, c.result)) for c in loop.carries)
    return [*b.stmts, replace(loop, carries=(*same, *carries), body=more(loop.body)), *after]


__all__ = ["assign_after"]
