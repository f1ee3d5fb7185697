"""Calls of units in a program that is to be differentiated: preaccumulation.

    p = f(T, x)         becomes         p', p_T, p_x = f_and_partials(T, x)
                                        p = p', linked to T by p_T and to x by p_x

All modes and orders then know such a call as an operation whose slopes are at hand: the tape keeps them and nothing of what
the unit computes, which runs once. The partial derivatives are those of a reverse sweep inside the unit for each result. A
call with too many of them, or of an array that the derivative is of, is replaced by the unit's statements.

Source: A. Griewank and A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, section 10.2 (preaccumulation).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..language.build import Facts
from ..language.core import Call, Function, Let, Ref, Var, walk
from ..language.rewrite import top_down
from ..language.units import call, expanded, unit_of
from .activity import active

MOST_RESULTS, MOST_PARTIALS = 8, 40


def preaccumulated(function: Function, wanted, registry, with_partials: Callable, facts: Facts | None = None) -> Function:
    """The program with the partial derivatives of the units' active calls.

    with_partials: makes the unit that returns them, from a unit, the places of its active results and arguments and the
    registry. facts: those of the program, which grow.
    """
    if not any(map(unit_of, walk(function.body))):
        return function
    live = active(function, wanted, registry.passes_through, registry.inactive_calls)

    def moving(s: Call) -> tuple[set, set]:
        outs, args = {k for k, out in enumerate(s.outs) if out in live}, {k for k, x in enumerate(s.args) if x in live}
        return (outs, args) if outs and args else (set(), set())

    def too_many(s: Call) -> bool:
        outs, args = moving(s)
        return len(outs) > MOST_RESULTS or len(outs) * len(args) > MOST_PARTIALS or any(
            isinstance(x, Ref) and x.array in live for x in s.args)     # as many partial derivatives as elements

    short = expanded(function, too_many)
    if short is not function:
        return preaccumulated(short, wanted, registry, with_partials, facts)
    wanted_of: dict = {}                # one function for all calls of a unit, where that is not too much
    for s in walk(function.body):
        unit = unit_of(s)
        if unit is not None:
            outs, args = wanted_of.get(unit, (set(), set()))
            more, further = moving(s)
            wanted_of[unit] = outs | more, args | further

    def visit(s):
        unit = unit_of(s)
        if unit is None or not moving(s)[0]:
            return None
        outs, args = moving(s)
        many, all_args = wanted_of[unit]
        if len(many) > MOST_RESULTS or len(many) * len(all_args) > MOST_PARTIALS:
            many, all_args = outs, args
        names = [p.hint for p in unit.function.params]
        values = tuple(Var(o.hint, o.dtype) if k in outs else o for k, o in enumerate(s.outs))
        partials = {(j, k): Var(f"{s.outs[j].hint}_{names[k]}", s.outs[j].dtype) for j in sorted(many)
                    for k in sorted(all_args)}
        if facts is not None:
            for v in (*(values[j] for j in outs), *partials.values()):
                facts.number(v)
        larger = with_partials(unit, tuple(sorted(many)), tuple(sorted(all_args)), registry)
        made: list = [call(larger, (*values, *partials.values()), s.args, s.loc)]
        for j in sorted(outs):
            pairs = tuple(x for k in sorted(args) for x in (partials[j, k], s.args[k]))
            made.append(Let(s.outs[j], "link", (values[j], *pairs), s.loc))
        return made
    return replace(function, body=top_down(function.body, visit))


__all__ = ["preaccumulated"]
