"""Integers that a loop counts up or down: no carries, but sums of the loop's index.

    p = 0                                           for i in range(n):
    for i in range(n):              becomes             s += x[2 * i]
        s += x[p]                                   p = 2 * max(n, 0)
        p += 2

A loop is lowered with its integers carried first. Those that turn out to change by one constant in every iteration, on every
path, are known when it is lowered again (`Plan.counters`), and so are those that are never negative (`Plan.rising`). What
such an integer indexes can then be checked before the loop, and the reverse sweep needs no tape of it. This is induction
variable substitution: A. Aho, M. Lam, R. Sethi and J. Ullman, Compilers, 2nd edition, section 9.1.

One that two loops count, as the place in a packed triangle, changes in an iteration of the outer one by a sum of its index
(`Growth`), so that it is a polynomial of degree 2 of that, and it is never more than after the last iteration:

    p = 0                                           for a in range(n):
    for a in range(n):            becomes               for b in range(a, n):
        for b in range(a, n):                               s += x[n * a - a * (a - 1) // 2 + (b - a)]
            s += x[p]
            p += 1

These are chains of recurrences: E. Zima, "Simplification and optimization transformations of chains of recurrences" (1995).
"""

from __future__ import annotations

from dataclasses import dataclass

from ...language.build import Builder, integer
from ...language.core import Var
from ...language.facts import combine
from ..checks import known_in, outermost
from ..numbers.conversions import dtype_of
from ..state import Lowering
from ..values import is_number


@dataclass(frozen=True)
class Growth:
    """What an integer grows by in an iteration, never less than 0: base + slope * index + sum of coefficient * variable."""

    base: int
    slope: int
    others: tuple[tuple[Var, int], ...]

    def at(self, b: Builder, index):
        """The growth in the iteration with an index."""
        total = b.iadd(integer(self.base), b.imul(index, self.slope))
        for v, c in self.others:
            total = b.iadd(total, b.imul(v, c))
        return total

    def known_in(self, lo: Lowering, builder: Builder) -> bool:
        return all(known_in(lo, v, builder) for v, _ in self.others)

    def made_anew(self, lo: Lowering) -> Growth | None:
        """The same where a loop is lowered again: what it had computed has other names now. None if they are not found."""
        others = [(remade(lo, v), c) for v, c in self.others]
        return None if any(v is None for v, _ in others) else Growth(self.base, self.slope, tuple(others))


def remade(lo: Lowering, v):
    """An integer that is computed of what is known here; None if that is not so."""
    if known_in(lo, v, lo.b):
        return v
    op, args = lo.b.facts.definition.get(v, ("", ()))
    parts = [remade(lo, a) for a in args] if op in ("add", "sub", "mul", "max", "min", "floordiv") else [None]
    return None if None in parts else lo.b.let(op, *parts, dtype="int64")


def change_of(lo: Lowering, plan, var, end) -> int | Growth | None:
    """By how much an integer changes in an iteration: a constant, or never less than 0 and a sum of the index of the loop
    and of what is known outside all loops; None if it is neither."""
    if var.dtype != "int64" or not is_number(end) or dtype_of(lo, end) != "int64":
        return None
    facts = lo.b.facts
    constant, terms = combine(facts.affine(lo.atom(end)), facts.affine(var), -1)
    if not terms:
        return constant
    made = Growth(constant, terms.pop(plan.index, 0), tuple(sorted(terms.items(), key=lambda t: facts.order.get(t[0], -1))))
    return made if plan.range and made.known_in(lo, outermost(lo)) and facts.at_least(made.at(lo.b, plan.index)) else None


def learn_change(lo: Lowering, plan, key, var, init, end) -> None:
    """Whether an integer that is carried is a counter."""
    by = plan.changes[key] = change_of(lo, plan, var, end)
    if plan.range and by and key not in plan.counters and starts_in_sight(lo, init):
        plan.learn(plan.counters, key, by)


def starts_in_sight(lo: Lowering, init) -> bool:
    """Whether bounds of an integer can be had outside all loops: else what it indexes is checked at every access anyway,
    in both sweeps if they compute it, and the sum that it is costs more than its tape."""
    root = outermost(lo)
    visible = lambda v: known_in(lo, v, root)  # noqa: E731
    return all(lo.b.facts.bound(init, upper, visible, Builder(lo.b.facts)) is not None for upper in (False, True))


def learn_rising(lo: Lowering, plan, key, var, init, end) -> None:
    """Whether an integer is never negative: it starts so, and if it is so before an iteration it is so after it."""
    facts = lo.b.facts
    if plan.rising.get(key) and not (facts.at_least(init) and facts.at_least(end)):
        plan.learn(plan.rising, key, False)
    if key not in plan.rising and var.dtype == "int64" and end != var and facts.at_least(init) \
            and facts.at_most(var, end):
        plan.rising[key] = plan.unsettled = True


def still_counted(lo: Lowering, plan, key) -> bool:
    """Whether an integer is a counter of a loop that is lowered now, where its change may have been told by other names."""
    by = plan.counters.get(key)
    if isinstance(by, Growth):
        by = plan.counters[key] = by.made_anew(lo)
    return by is not None


def count_iterations(lo: Lowering, state, index) -> None:
    """Say at the head of an iteration what counters are: sums of the index."""
    b = lo.b
    for name, _, _, records in state[0]:
        for k, record in enumerate(records):
            if record[0] == "counter":
                _, var, init, _, plan = record
                start, _, step = plan.range
                op, *args = after(b, init, plan, (name, k), b.isub(index, start) if step > 0 else b.isub(start, index))
                if isinstance(by := plan.counters[name, k], Growth):
                    b.facts.number_anew(var)
                    b.facts.range[var] = (init, b.isub(counted(lo, init, plan, (name, k)), by.at(b, index)))
                else:
                    b.facts.define(var, op, tuple(args))
                b.bind(var, op, *args)


def after(b: Builder, init, plan, key, trips) -> tuple:
    """The operation and the operands that give a counter after some iterations."""
    by, (start, _, step) = plan.counters[key], plan.range
    if not isinstance(by, Growth):
        return "add", init, b.imul(by, trips)
    steady = b.iadd(init, b.imul(by.at(b, start), trips))
    pairs = b.let("floordiv", b.imul(trips, b.isub(trips, 1)), integer(2), dtype="int64")
    slope = by.slope * step
    return "add" if slope > 0 else "sub", steady, b.imul(pairs, abs(slope))


def counted(lo: Lowering, init, plan, key):
    """A counter after its loop."""
    return lo.b.let(*after(lo.b, init, plan, key, trips_of(lo.b, plan)), dtype="int64")


def trips_of(b: Builder, plan):
    """How often a loop runs whose iterations all do."""
    start, stop, step = plan.range
    return b.imax(b.isub(stop, start) if step > 0 else b.isub(start, stop), 0)


def tell_count(lo: Lowering, var, init, plan, key) -> None:
    """What an integer that stays carried is after its loop, for a loop around it that may count it."""
    by = plan.changes.get(key)
    if plan.range and isinstance(by, int) and by:
        lo.b.facts.define(var, "add", (init, lo.b.imul(trips_of(lo.b, plan), by)))
