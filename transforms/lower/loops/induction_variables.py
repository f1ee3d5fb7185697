"""Integers that a loop counts up or down: no carries, but sums of the loop's index.

    p = 0                                           for i in range(n):
    for i in range(n):              becomes             s += x[2 * i]
        s += x[p]                                   p = 2 * max(n, 0)
        p += 2

A loop is lowered with its integers carried first. Those that turn out to change by one constant in every iteration, on every
path, are known when it is lowered again (`Plan.counters`), and so are those that are never negative (`Plan.rising`). What
such an integer indexes can then be checked before the loop, and the reverse sweep needs no tape of it. This is induction
variable substitution: A. Aho, M. Lam, R. Sethi and J. Ullman, Compilers, 2nd edition, section 9.1.
"""

from __future__ import annotations

from ...language.build import Builder
from ...language.facts import combine
from ..checks import known_in
from ..numbers.conversions import dtype_of
from ..state import Lowering
from ..values import is_number


def change_of(lo: Lowering, var, end) -> int | None:
    """By how much an integer changes in an iteration; None if that is not a constant."""
    if var.dtype != "int64" or not is_number(end) or dtype_of(lo, end) != "int64":
        return None
    constant, terms = combine(lo.b.facts.affine(lo.atom(end)), lo.b.facts.affine(var), -1)
    return None if terms else constant


def starts_in_sight(lo: Lowering, init) -> bool:
    """Whether bounds of an integer can be had outside all loops: else what it indexes is checked at every access anyway,
    in both sweeps if they compute it, and the sum that it is costs more than its tape."""
    root = lo.b
    while root.parent is not None:
        root = root.parent
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


def count_iterations(lo: Lowering, state, index) -> None:
    """Say at the head of an iteration what counters are: sums of the index."""
    b = lo.b
    for name, _, _, records in state[0]:
        for k, record in enumerate(records):
            if record[0] == "counter":
                _, var, init, _, plan = record
                start, _, step = plan.range
                passed = b.isub(index, start) if step > 0 else b.isub(start, index)
                args = (init, b.imul(plan.counters[name, k], passed))
                b.facts.define(var, "add", args)
                b.bind(var, "add", *args)


def counted(lo: Lowering, init, plan, key):
    """A counter after its loop."""
    start, stop, step = plan.range
    b = lo.b
    trips = b.imax(b.isub(stop, start) if step > 0 else b.isub(start, stop), 0)
    return b.iadd(init, b.imul(plan.counters[key], trips))
