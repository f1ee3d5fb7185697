"""What may move past what in a block: which names a statement touches, and how.

Two statements may change places if neither binds what the other reads, and the buffers that one writes and the other
touches are only added to by both, in any order. The program's own additions to one element keep their order, and so the
sum its last bits. Checks stay before what they protect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from . import core
from .build import Builder
from .core import Alloc, Arr, Atom, Call, Const, For, Function, Guard, Let, Load, Ref, Store, Var, array_of, operands, walk
from .facts import Facts
from .names import defined_in, names_in
from .queries import is_size, operations
from .units import checks as may_raise


@dataclass(frozen=True)
class Touch:
    """What a statement, with the blocks in it, binds and mentions. `plain`: buffers it does more with than add, in any
    order; resized: those whose names do not stand for one piece of memory.

    checks: whether it may raise; ends: whether what it raises is the program's error, so that which comes first matters.
    """

    names: set
    defines: set
    writes: set
    plain: set
    resized: set
    checks: bool
    ends: bool


class Touches:
    """`Touch` of statements, made once for each."""

    def __init__(self):
        self.known: dict = {}

    def __getitem__(self, stmt) -> Touch:
        if stmt not in self.known:
            plain = set()
            checks = ends = False
            for s in walk((stmt,)):
                checks |= may_raise(s)
                ends |= may_raise(s) and not (isinstance(s, Guard) and s.tells not in core.PLAIN)
                added = s.array if isinstance(s, Store) and s.any_order else None
                for x in operands(s):
                    a = array_of(x)
                    if isinstance(a, Arr) and a is not added:
                        plain.add(a)
            self.known[stmt] = Touch(names_in((stmt,)), defined_in((stmt,)), core.written((stmt,)), plain,
                                     core.rebound((stmt,)), checks, ends)
        return self.known[stmt]

    def conflict(self, a, b) -> bool:
        """Whether two statements touch a buffer in a way that their order matters."""
        x, y = self[a], self[b]
        return any(array in x.plain or array in y.plain
                   for array in (x.writes & y.names) | (y.writes & x.names) if isinstance(array, Arr))

    def passes(self, first, between) -> bool:
        """Whether `first` may run after the statements that follow it."""
        return not any(self[first].defines & self[s].names or self.conflict(first, s) or isinstance(s, core.Print)
                       or self[first].ends and self[s].ends for s in between if not isinstance(s, core.Comment))

    def movable(self, between, first, second) -> list | None:
        """The statements between two others that must come before `first` so that `second` can run right after it.

        None if that cannot be. Checks always come first: they may protect `second`. Errors keep their order.
        """
        if self[first].ends and any(self[s].ends for s in (*between, second)):
            return None
        needed = self[second].names - self[second].defines
        early: list = []
        for s in reversed(between):
            makes = self[s].defines
            if isinstance(s, Guard) or makes & needed:
                if not isinstance(s, (Let, Alloc, Load, Guard)):
                    return None
                early.insert(0, s)
                needed = needed | (self[s].names - makes)
            elif self[s].checks or not isinstance(s, core.Comment) and self.conflict(s, second):
                return None
        late = [s for s in between if s not in early]
        if needed & self[first].defines or any(needed & self[s].defines for s in late):
            return None
        written = self[first].writes.union(*(self[s].writes for s in late))
        if any(isinstance(s, Load) and s.array in written for s in early):
            return None
        resized = self[first].resized.union(*(self[s].resized for s in late))
        if any(is_size(s) and s.args[0] in resized for s in early):
            return None
        return early


def facts_of(function: Function, checks: bool = True) -> Facts:
    """What a program says of its integers: definitions, ranges of indices, sizes that its outermost checks make equal.

    checks: false leaves out the latter, which do not hold before the checks.
    """
    facts = Facts()
    for p in function.params:
        if isinstance(p, Arr):
            facts.nonnegative.update(s for s in p.shape if isinstance(s, Var))
    learn(facts, function.body)
    if not checks:
        return facts
    for pairs in made_equal(function).values():
        for pair in pairs:
            facts.equate(*pair)
    return facts


def made_equal(function: Function) -> dict[Guard, list[tuple]]:
    """The outermost checks that make integers equal, in their order, with the pairs."""
    tests = operations(function.body, lambda s: s.op in ("eq", "and"))
    found = {s: equalities(s.cond, tests) for s in function.body if isinstance(s, Guard)}
    return {check: equal for check, equal in found.items() if equal}


def equalities(cond, tests: dict) -> list[tuple]:
    """The pairs of integers that are equal where a condition holds. tests: operations by what they compute."""
    test = tests.get(cond)
    if not isinstance(test, Let) or test.op not in ("eq", "and"):
        return []
    if test.op == "and":
        return [pair for part in test.args for pair in equalities(part, tests)]
    return [test.args] if all(a.dtype == "int64" for a in test.args) else []


def names_of_equal(facts: Facts, pairs: list[tuple]) -> dict[Var, Atom]:
    """What integers may be called where those of each pair are equal besides what is known."""
    before = dict(facts.alias)
    for pair in pairs:
        facts.equate(*pair)
    names: dict[Var, Atom] = {}
    for v in facts.alias.keys() - before.keys():
        atom: Atom = v
        while isinstance(atom, Var) and atom in facts.alias:
            atom = facts.alias[atom]
        names[v] = atom
    facts.forget_since(before)
    return names


def behind_checks(function: Function) -> Iterator[tuple]:
    """The outermost statements with what is known there: sizes are equal behind the check that makes them so, not before."""
    facts, checks = facts_of(function, checks=False), made_equal(function)
    for stmt in function.body:
        yield stmt, facts
        for pair in checks.get(stmt, ()):
            facts.equate(*pair)


def learn(facts: Facts, block) -> None:
    """Add what statements say of integers: definitions, and the ranges of loops' indices."""
    builder = Builder(facts)
    for stmt in walk(block):
        match stmt:
            case Let(var=v, op=op, args=args) if v.dtype == "int64":
                facts.define(v, op, args)
                if op == "dim":
                    facts.nonnegative.add(v)
            case For(index=i, start=start, stop=stop, step=step) if i not in facts.range:
                facts.number(i)
                if isinstance(step, Const) and step.value > 0:
                    facts.range[i] = (start, builder.isub(stop, 1))
                elif isinstance(step, Const):
                    facts.range[i] = (builder.iadd(stop, 1), start)


def learn_check(facts: Facts, cond, tests: dict) -> None:
    """Add what a condition that holds says of integers. tests: operations by what they compute."""
    test = tests.get(cond)
    if test is None:
        return
    if test.op == "and":
        for part in test.args:
            learn_check(facts, part, tests)
    elif test.op in ("lt", "le", "gt", "ge") and all(x.dtype == "int64" for x in test.args):
        for form in facts.compared(test.op, *test.args):
            facts.learn(form)


def own_axes(loop: For, array: Arr) -> set:
    """The axes at which every access to `array` in the loop has the loop's own index."""
    return set(own_rows(loop, array, lambda i: (i, 0)))


def own_rows(loop: For, array: Arr, place: Callable[[Atom], tuple], beside: tuple = ()) -> dict[int, int]:
    """The axes at which every access to `array` in the loop is at the loop's index plus one constant, and the constant.

    place: an integer as (variable, constant added to it). beside: another loop that touches the array too; what is read in
    rows that neither writes, as `u[k]` beside `u[k + 1]`, is of no account.
    """
    found = touched(walk(loop.body), array, place)
    rows = rows_of([index for index, _ in found], loop, array)
    if rows or not found:
        return rows
    inside = defined_in((loop, *beside))
    written = [index for index, writes in (*found, *touched(walk(beside), array, place)) if writes]
    return rows_of([index for index, writes in found if writes or not written or not all(
        apart(index, other, inside) for other in written)], loop, array)


def touched(statements, array: Arr, place: Callable[[Atom], tuple]) -> list[tuple[list, bool]]:
    """Where statements touch a buffer, as far as they say where, and whether they write it."""
    found: list = []
    for s in statements:
        match s:
            case Load(array=a, index=index) | Store(array=a, index=index):
                found += [(index, isinstance(s, Store))] if a is array else []
            case Call(args=args, outs=outs):
                found += [(x.prefix if isinstance(x, Ref) else (), writes) for many, writes in ((args, False), (outs, True))
                          for x in many if array_of(x) is array]
            case core.Alloc():
                pass
            case _:
                found += [((), True)] if any(x is array for x in core.operands(s)) else []
    return [(list(map(place, index)), writes) for index, writes in found]


def rows_of(places: list, loop: For, array: Arr) -> dict[int, int]:
    rows: dict[int, int] | None = None
    for index in places:
        mine = {k: more for k, (base, more) in enumerate(index) if base is loop.index}
        rows = mine if rows is None else dict(rows.items() & mine.items())
    return dict.fromkeys(range(len(array.shape)), 0) if rows is None else rows


def apart(a: list, b: list, inside: set) -> bool:
    """Whether two places, whatever loops do inside which these variables change, are in different rows."""
    return any(x[0] is y[0] and x[0] not in inside and x[1] != y[1] for x, y in zip(a, b, strict=False))


def in_range(facts: Facts, array: Arr, index) -> bool:
    """Whether an element is known to exist."""
    return len(index) == len(array.shape) and all(
        facts.at_least(i) and facts.at_most(i, s, 1) for i, s in zip(index, array.shape, strict=True))


__all__ = ["Touches", "behind_checks", "equalities", "facts_of", "in_range", "learn", "learn_check", "names_of_equal",
           "own_axes", "own_rows"]
