"""Calls of units in a program that is to be differentiated.

Of numbers: preaccumulation.

    p = f(T, x)         becomes         p', p_T, p_x = f_and_partials(T, x)
                                        p = p', linked to T by p_T and to x by p_x

All modes and orders then know such a call as an operation whose slopes are at hand: the tape keeps them and nothing of what
the unit computes, which runs once. The partial derivatives are those of a reverse sweep inside the unit for each result.

Of arrays, or with too many partial derivatives: a pullback.

    y = f(x, A)         has the adjoint         t, u = f_pullback(x, A, y_bar);  x_bar += t;  A_bar += u

The pullback is the joint one: it runs the unit's forward sweep itself, so that the caller's tape keeps nothing but those
arguments that it reads, should they change. Forward mode has the unit's statements in the place of such a call.

Source: A. Griewank and A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, sections 10.2 (preaccumulation) and 12.2
(joint reversal).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..language.build import Builder, loops
from ..language.core import ADJOINT, NOWHERE, Arr, Const, Function, Ref, Var, array_of, walk
from ..language.emit import Statements
from ..language.facts import Facts
from ..language.motion import facts_of, learn
from ..language.names import names_in
from ..language.queries import is_check, is_size
from ..language.rewrite import top_down, without
from ..language.units import Unit, call, expanded, unit_of
from ..optimise.simplify import remove_dead
from .activity import active
from .rule_programs import RuleProgram

MOST_RESULTS, MOST_PARTIALS = 8, 40
PULLBACK = "_pullback"          # how the name of a unit that returns adjoints ends


def preaccumulated(function: Function, wanted, registry, with_partials: Callable, facts: Facts | None = None,
                   pullbacks: bool = False) -> Function:
    """The program with the partial derivatives of the units' active calls.

    with_partials: makes the unit that returns them, from a unit, the places of its active results and arguments and the
    registry. facts: those of the program, which grow. pullbacks: whether calls with too many of them stay as they are.
    """
    if not any(map(unit_of, walk(function.body))):
        return function
    live = active(function, wanted, registry.passes_through, registry.inactive_calls)

    def moving(s) -> tuple[set, set]:
        outs, args = ({k for k, x in enumerate(xs) if array_of(x) in live} for xs in (s.outs, s.args))
        return (outs, args) if outs and args else (set(), set())

    def too_many(s) -> bool:
        outs, args = moving(s)
        return len(outs) > MOST_RESULTS or len(outs) * len(args) > MOST_PARTIALS or any(
            array_of(x) in live and not isinstance(x, Var) for x in (*s.args, *s.outs))     # as many as elements

    if not pullbacks:
        short = expanded(function, too_many)
        if short is not function:
            if facts is not None:
                learn(facts, short.body)
            return preaccumulated(short, wanted, registry, with_partials, facts)
    wanted_of: dict = {}                # one function for all calls of a unit, where that is not too much
    for s in walk(function.body):
        unit = unit_of(s)
        if unit is not None and not too_many(s):
            outs, args = wanted_of.get(unit, (set(), set()))
            more, further = moving(s)
            wanted_of[unit] = outs | more, args | further

    def visit(s):
        unit = unit_of(s)
        if unit is None or not moving(s)[0] or too_many(s):
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
        made = Statements(s.loc)
        made.add(call(larger, (*values, *partials.values()), s.args, s.loc))
        for j in sorted(outs):
            pairs = tuple(x for k in sorted(args) for x in (partials[j, k], s.args[k]))
            made.bind(s.outs[j], "link", values[j], *pairs)
        return made.stmts
    return replace(function, body=top_down(function.body, visit))


def pullback(unit: Unit, outs: tuple, args: tuple, registry, reverse: Callable) -> RuleProgram:
    """The rule of a call whose results `outs` and arguments `args`, by their places, have adjoints.

    reverse: makes the program of the pullback of another.
    """
    key = ("pullback", outs, args)
    if key not in unit.made:
        unit.made[key] = rule(unit, outs, args, joint(unit, outs, args, registry, reverse))
    return unit.made[key]


def joint(unit: Unit, outs: tuple, args: tuple, registry, reverse: Callable) -> tuple[Unit, tuple]:
    """(the unit that returns the adjoints of arguments, from what it needs of the arguments and the adjoints of results;
    what it needs: parameters of the first unit, or (parameter, axis) where that size is all).

    What the unit checks is not checked again.
    """
    function = unit.function
    params = function.params
    checked = replace(function, returns=tuple(function.returns[j] for j in outs),
                      body=without(function.body, is_check))
    made, _, _ = reverse(checked, facts_of(function), [params[k] for k in args], registry, False,
                         f"{function.name}{PULLBACK}", "given")
    made = remove_dead(replace(made, tape=()))
    sizes = [s for s in made.body if is_size(s) and s.args[0] in params]
    read = names_in(s for s in made.body if s not in sizes) | set(made.returns)
    sizes = [s for s in sizes if s.args[0] not in read]
    given = tuple(p for p in params if p in read)
    made = replace(made, params=(*given, *(s.var for s in sizes), *made.params[len(params):]),
                   body=tuple(s for s in made.body if s not in sizes))
    return Unit(made), (*given, *(s.args for s in sizes))


def rule(unit: Unit, outs: tuple, args: tuple, made: tuple[Unit, tuple]) -> RuleProgram:
    """A call of the pullback, which adds what it returns to the adjoints of arguments."""
    pulling, given = made
    b, function = Builder(Facts()), unit.function
    own: dict = {}

    def twin(x, suffix: str = ""):
        if isinstance(x, Const):
            return x
        if isinstance(x, Arr):
            return Arr(x.hint + suffix, x.dtype, tuple(map(size, x.shape)))
        return Var(x.hint + suffix, x.dtype)

    def size(s):
        return s if isinstance(s, Const) else own.setdefault(s, Var(s.hint, s.dtype))
    params = tuple(map(twin, function.params))
    twins = dict(zip(function.params, params, strict=True))
    out_bars = tuple(twin(r, "_bar") if j in outs else None for j, r in enumerate(function.returns))
    arg_bars = [twin(p, "_bar") if k in args and isinstance(p, Arr) else None for k, p in enumerate(function.params)]
    scalar_bars: list = [None] * len(params)
    results: list = []
    for k in args:
        p = function.params[k]
        if isinstance(p, Arr):
            results.append(b.alloc(f"{p.hint}_bar", p.dtype, params[k].shape, why=ADJOINT))
        else:
            scalar_bars[k] = Var(f"{p.hint}_bar", p.dtype)
            results.append(scalar_bars[k])
    atoms = (*(twins[x[0]].shape[x[1]] if isinstance(x, tuple) else twins[x] for x in given), *(out_bars[j] for j in outs))
    b.add(call(pulling, tuple(results), tuple(Ref(x) if isinstance(x, Arr) else x for x in atoms), NOWHERE))
    for k, found in zip(args, results, strict=True):
        if isinstance(found, Arr):
            loops(b, found.shape, lambda b, index, k=k, found=found: b.store(
                arg_bars[k], index, b.load(found, index), accumulate=True))
    body = b.block()
    return RuleProgram(body, out_bars, tuple(map(twin, function.returns)), params, tuple(arg_bars), tuple(scalar_bars),
                       names_in(body) | set(scalar_bars))


__all__ = ["preaccumulated", "pullback"]
