"""Integers that each iteration of a `while`, or of a loop that may end early, changes by one constant: the number of the
iteration tells them.

    j = n - 1                                            go_on = x[n - 1] > c
    go_on = x[n - 1] > c                                 iteration = 0
    while go_on:                                         while go_on:
        s[j] += x[j]                      becomes            j = n - 1 - iteration
        j = j - 1                                            s[j] += x[j]
        go_on = x[j] > c                                     go_on = x[j - 1] > c
                                                             iteration += 1

So no tape keeps them: how often the loop ran is known there anyway. Those of other loops are sums of the index since they
were lowered (`lower/loops/induction_variables.py`).

Source: A. Aho, M. Lam, R. Sethi and J. Ullman, Compilers, 2nd edition, section 9.1.
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import Builder, integer
from ..language.core import Atom, For, Function, Let
from ..language.facts import Facts, combine
from ..language.queries import is_loop, is_range, is_whole
from ..language.rewrite import bottom_up


def tell_counts(function: Function, facts: Facts) -> Function:
    """The program in which such integers are not carried from iteration to iteration."""
    return replace(function, body=bottom_up(function.body, lambda s: told(s, facts) if is_loop(s) else None))


def told(loop, facts: Facts) -> list | None:
    """The loop without those that it carries, and behind it what they are there; None if it carries none."""
    step = core.known_value(loop.step) if is_range(loop) else 1
    changes = {c: by for c in loop.carries if (by := change(c, facts))}
    if not changes or not step or loop.checkpoint is not None or is_whole(loop) or loop.trip is None:
        return None
    inner, after = Builder(facts), Builder(facts)
    number: Atom = iteration(loop, step, inner) if isinstance(loop, For) else loop.counter
    for c, by in changes.items():
        for b, v, count in ((inner, c.var, number), (after, c.result, loop.trip)):
            b.add(Let(v, "add" if by > 0 else "sub", (c.init, b.imul(count, integer(abs(by)))), loop.loc))
    carries = tuple(c for c in loop.carries if c not in changes)
    return [replace(loop, carries=carries, body=(*inner.stmts, *loop.body)), *after.stmts]


def change(c: core.Carry, facts: Facts) -> int:
    """By what constant an iteration changes an integer; 0 if it is not known."""
    if c.var.dtype != "int64":
        return 0
    constant, terms = combine(facts.affine(c.next), facts.affine(c.var), -1)
    return 0 if terms else constant


def iteration(loop: For, step: int, b: Builder) -> Atom:
    """How many iterations of a loop over a range came before the present one."""
    gap = b.isub(loop.index, loop.start) if step > 0 else b.isub(loop.start, loop.index)
    return gap if abs(step) == 1 else b.let("floordiv", gap, integer(abs(step)), dtype="int64")


__all__ = ["tell_counts"]
