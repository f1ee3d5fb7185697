"""Loops over places that wrap around, as those of `np.roll`, or that end at borders, without their branches.

    for j in range(n):                            count_1 = max(n - 1, 0)
        if j < n - 1:                             for j in range(n - 1):
            t = x[j + 1]              becomes         y[j] = x[j + 1]
        else:                                     for k in range(n - count_1):
            t = x[j - (n - 1)]                        j = k + count_1
        y[j] = t                                      v = j + 1
                                                      v = v if j < n - 1 else j - (n - 1)
                                                      y[j] = x[v]

Branches that do the same at other places of the same buffers become a choice of the place. Choices that an innermost loop
does not change stand before it. What it does change, and branches as `if j > 0`, are decided for all but a few iterations at
its ends, which a second loop makes: the first one can be vectorised. So are those of a short nest around it, as the rows of
a grid, and those of windows, `if 0 <= i + a < n` with `a` from -1 to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..language import core
from ..language.build import Builder, integer
from ..language.core import Comment, Const, For, Function, If, Let, Load, Merge, Store, Var, walk
from ..language.facts import Facts, combine
from ..language.motion import behind_checks, own_rows
from ..language.queries import acting, counts_up, is_access, is_loop, is_whole, only_added_freely, operation
from ..language.rewrite import each_branch, each_loop, without_operations
from ..language.substitution import renamed, substitute
from .constant_folding import fold_constants
from .equal_sizes import integer_sum
from .loop_reversal import free_sums

FEW = 8                 # iterations at an end that a loop of its own makes
SHORT = 4 * FEW         # loops of a known length up to that stay as they are
LONGEST = 60            # statements of a nest of loops that is written twice
TESTS = ("lt", "le", "gt", "ge")


def unwrap(function: Function) -> Function:
    """The program with choices of places, and without choices and branches in the middle of its loops that need none."""
    settled: dict = {}
    body = each_branch(function.body, lambda s: choice(s, settled))
    function = renamed(function, body, settled)
    body = ()
    for stmt, facts in behind_checks(function):
        part = each_loop((stmt,), lambda s, facts=facts: in_two(s, facts, works) if around_others(s) else None)
        body += each_loop(part, lambda s, facts=facts: split(s, facts) if innermost(s) else None)
    return fold_constants(replace(function, body=body))


# -- a choice of places ---------------------------------------------------------------------------------------
def choice(branch: If, settled: dict) -> list | None:
    """Statements for a branch both of whose sides do the same at other places; None of another. settled: what it leaves."""
    if settled:                             # of the branches inside
        branch, = substitute((branch,), dict(settled), fresh=False)
    sides = [acting(side) for side in (branch.then, branch.orelse)]
    early, (first, second) = integers_before(sides)
    if not first or len(first) != len(second) or not any(is_access(s) for s in first):
        return None
    same: dict = {}                         # of the second side: what it is on the first
    chosen: dict = {}
    made: list = []

    def pick(x, y):
        y = same.get(y, y)
        if x == y:
            return x
        if (x, y) not in chosen:
            chosen[x, y] = Var("place", "int64")
        return chosen[x, y]

    for x, y in zip(first, second, strict=True):
        match x, y:
            case Load(var=v, array=a, index=i), Load(var=w, array=b, index=j) if a is b:
                made.append(replace(x, index=tuple(map(pick, i, j))))
                same[w] = v
            case Store(array=a, index=i, value=v, accumulate=p), Store(array=b, index=j, value=w, accumulate=q) \
                    if a is b and p == q and v == same.get(w, w):
                made.append(replace(x, index=tuple(map(pick, i, j))))
            case Let(op=p, args=i), Let(op=q, args=j) if p == q and x.var.dtype == y.var.dtype \
                    and i == tuple(same.get(b, b) for b in j):
                made.append(x)
                same[y.var] = x.var
            case _:
                return None
    left, equal = [], {}
    for m in branch.merges:
        other = same.get(m.orelse, m.orelse)
        if m.then == other:
            equal[m.var] = m.then
        else:
            left.append(Merge(m.var, m.then, other))
    merges = (*(Merge(v, x, y) for (x, y), v in chosen.items()), *left)
    defined = {v for s in made for v in core.defined(s)}
    if any(m.then in defined or m.orelse in defined for m in merges):
        return None                         # a choice of what is computed here
    settled.update(equal)
    choices = [replace(branch, then=(), orelse=(), merges=merges)] if merges else []
    return [*early, *choices, *made]


def integers_before(sides) -> tuple[list, list]:
    """(integers of both sides that need nothing else of them, the other statements of each side)."""
    early: list = []
    others: list = []
    for side in sides:
        inside: set = set()                 # what the others define
        rest: list = []
        for s in side:
            if integer_sum(s) and not inside & set(s.args):
                early.append(s)
            else:
                rest.append(s)
                inside |= set(core.defined(s))
        others.append(rest)
    return early, others


# -- innermost loops ------------------------------------------------------------------------------------------
def innermost(s) -> bool:
    return not any(map(is_loop, walk(s.body))) and any(decides(t) for t in s.body)


def decides(s) -> bool:
    """Whether a statement is a branch that keeps the loop around it from being vectorised: a choice, or one that works."""
    return isinstance(s, If) and not (s.then or s.orelse) or works(s)


def works(s) -> bool:
    """Whether a statement is a branch in which elements are read or written, one by one."""
    inside = list(walk((*s.then, *s.orelse))) if isinstance(s, If) else []
    return any(map(is_access, inside)) and not any(map(is_loop, inside))


def around_others(s) -> bool:
    """Whether a loop has others in it, and may be written twice."""
    inside = [t for t in walk(s.body) if not isinstance(t, Comment)]
    return len(inside) <= LONGEST and any(map(is_loop, inside))


def split(loop: For, facts: Facts) -> list | None:
    """The loop with what it does not change before it, and in two where its choices are decided for most iterations."""
    early, body = invariant(loop)
    inner = replace(loop, body=body)
    made = in_two(inner, facts, decides)
    return [*early, *(made or [inner])] if early else made


def invariant(loop: For) -> tuple[list, tuple]:
    """(integers, tests of them and choices that are the same in all iterations; the rest of the body)."""
    inside = {loop.index, *(c.var for c in loop.carries)} | {v for s in loop.body for v in core.defined(s)}
    early, rest = [], []
    for s in loop.body:
        cheap = integer_sum(s) or isinstance(s, Let) and s.op in TESTS and all(a.dtype == "int64" for a in s.args) \
            or isinstance(s, If) and not s.then and not s.orelse and all(m.var.dtype == "int64" for m in s.merges)
        if cheap and not any(x in inside for x in core.operands(s) if isinstance(x, Var)):
            early.append(s)
            inside -= set(core.defined(s))
        else:
            rest.append(s)
    if not any(isinstance(s, If) for s in early):           # what stays is not moved for its own sake
        return [], loop.body
    return early, tuple(rest)


def in_two(loop: For, facts: Facts, wanted: Callable[[Any], bool]) -> list | None:
    """Two loops in the place of one, the first without the wanted branches that are decided there; None if none is."""
    if not (counts_up(loop) and is_whole(loop)) or loop.checkpoint is not None \
            or isinstance(loop.stop, Const) and loop.stop.value <= SHORT or not independent(loop, facts):
        return None
    tests = {s.cond for s in walk(loop.body) if wanted(s)}
    first = last = 0
    decided: dict = {}
    for s in reversed(list(walk(loop.body))):
        if operation(s) in ("and", "or", "not") and s.var in tests:
            tests.update(s.args)
        found = middle(s, loop, facts) if isinstance(s, Let) and s.var in tests else None
        if found is not None:
            decided[s.var], low, high = found
            first, last = max(first, low), max(last, high)
    if not decided:
        return None
    b = Builder(facts)
    stop = b.isub(loop.stop, integer(last)) if last else loop.stop
    count = b.imax(b.isub(stop, integer(first)), 0)
    few = b.isub(loop.stop, count)
    k = Var("k", "int64")
    facts.number(k)
    inner = Builder(facts)
    further = inner.iadd(k, count)
    place = Var(loop.index.hint, "int64")
    inner.add(If(inner.compare("lt", k, integer(first)), (), (), (Merge(place, k, further),)) if first else
              Let(place, "add", (k, count)))
    mapping: dict = {loop.index: place}
    between = {c: Var(c.result.hint, c.result.dtype) for c in loop.carries}
    heads = {c: Var(c.var.hint, c.var.dtype) for c in loop.carries}
    mapping |= {c.var: heads[c] for c in loop.carries}
    again = substitute(loop.body, mapping)
    rest = tuple(replace(c, var=heads[c], init=between[c], next=mapping.get(c.next, c.next)) for c in loop.carries)
    carries = tuple(replace(c, result=between[c]) for c in loop.carries)
    kept = without_operations(loop.body, decided)
    body = substitute(kept, {test: Const(truth, "bool") for test, truth in decided.items()}, fresh=False)
    return [*b.stmts, replace(loop, start=integer(first), stop=stop, carries=carries, body=body),
            replace(loop, index=k, stop=few, carries=rest, body=(*inner.block(), *again))]


def middle(test: Let, loop: For, facts: Facts) -> tuple[bool, int, int] | None:
    """(what a test is but for some iterations at the ends, how many at the start, at the end); None if that is not known."""
    if test.op not in TESTS or not all(x.dtype == "int64" for x in test.args):
        return None
    a, b = test.args if test.op in ("lt", "ge") else test.args[::-1]
    constant, terms = combine(facts.affine(a), facts.affine(b), -1)         # a < b where that is negative
    step = terms.pop(loop.index, 0)
    if step not in (1, -1):
        return None
    least, most = ends((constant, terms), facts)
    if step == -1:
        least, most = most, least
    early, late = ((-step * c + (step == -1), {v: -step * d for v, d in rest.items()}) for c, rest in (least, most))
    below = (step == 1) == (test.op in ("lt", "gt"))                        # what the test is for an index below the edge
    if not early[1] and early[0] <= FEW:
        return not below, max(early[0], 0), 0
    gap, others = combine(facts.affine(loop.stop), late, -1)
    return (below, 0, max(gap, 0)) if not others and gap <= FEW else None


def ends(form: tuple, facts: Facts) -> list[tuple]:
    """The least and the largest value of a form, with numbers in the place of indices that run between numbers."""
    found = []
    for largest in (False, True):
        constant, rest = form[0], dict(form[1])
        for v, c in form[1].items():
            edge = facts.range.get(v, (None, None))[largest == (c > 0)]
            number, others = facts.affine(edge) if edge is not None else (0, {v: 1})
            if not others:
                constant += rest.pop(v) * number
        found.append((constant, rest))
    return found


def independent(loop: For, facts: Facts) -> bool:
    """Whether the iterations may run in any order, with the same results."""
    if not all(isinstance(s, (Let, Load, Store, If, Comment)) or is_whole(s) for s in walk(loop.body)):
        return False
    if not free_sums(loop):
        return False

    def place(index):
        constant, terms = facts.affine(index)
        return (next(iter(terms)), constant) if list(terms.values()) == [1] else (index, 0)
    return all(only_added_freely(loop.body, array) or own_rows(loop, array, place) for array in core.written(loop.body))


__all__ = ["unwrap"]
