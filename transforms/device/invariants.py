"""What depends on numbers that the host knows is computed there, once, and not by every thread.

Sizes, options and parameters that are Python numbers are known to the host before anything is launched; numbers read from
arrays, or summed by a kernel, are not.
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import Builder, integer
from ..language.core import Atom, Const, Function, Var, walk
from ..language.facts import Facts
from ..language.motion import facts_of
from ..language.queries import is_check, is_range, is_size, operation
from ..language.rewrite import each_loop, without, without_operations
from ..language.substitution import renamed
from ..optimise.loop_reversal import upwards
from .nests import is_nest

DIVISIONS = ("floordiv", "mod")


def to_host(function: Function) -> Function:
    """The program with operations on numbers that the host knows moved out of the nests of threads."""
    host = {p for p in function.params if isinstance(p, Var)}
    return replace(function, body=moved(function.body, host, facts_of(function)))


def moved(block, host: set, facts: Facts) -> tuple:
    out: list = []
    for s in block:
        if is_known(s, host):
            host.add(s.var)
            out.append(s)
        elif is_nest(s, facts):
            taken: list = []
            rest = taken_out((s,), host, taken)
            out += [*taken, *rest]
        else:
            known = set(host)
            if is_range(s) and all(a in host or isinstance(a, Const) for a in (s.start, s.stop, s.step)):
                known.add(s.index)
            out.append(core.with_blocks(s, lambda inner, known=known: moved(inner, set(known), facts)))
    return tuple(out)


def is_known(s, host: set) -> bool:
    """Whether a statement computes what the host can compute without waiting for the device."""
    if is_size(s):
        return True
    return operation(s) not in ("", "wrap_index") and all(isinstance(a, Const) or a in host for a in s.args) and (
        s.op not in DIVISIONS or s.var.dtype in core.FLOATS or isinstance(s.args[1], Const) and s.args[1].value != 0)


def taken_out(block, host: set, taken: list) -> tuple:
    """The block without operations on what the host knows, which `taken` gets."""
    def is_taken(s) -> bool:
        if not is_known(s, host):
            return False
        host.add(s.var)
        taken.append(s)
        return True
    return without(block, is_taken)


def upward(function: Function) -> Function:
    """The program with loops that count down, and whose iterations are independent, counting up."""
    facts = facts_of(function)

    def turn(loop) -> list:
        if loop.step != integer(-1) or not is_nest(loop, facts):
            return [loop]
        made, before = upwards(loop, facts)
        return [*before, made]
    return replace(function, body=each_loop(function.body, turn))


def without_needless_checks(function: Function) -> Function:
    """The program without checks that a subscript modulo the size of its axis is within it."""
    facts = facts_of(function, checks=False)
    needless = {s.var: s.args[0] for s in walk(function.body) if operation(s) == "wrap_index"
                and s.args[1] in facts.nonnegative
                and facts.definition.get(s.args[0], ("", ()))[0] == "mod" and facts.definition[s.args[0]][1][1] is s.args[1]}
    body = without_operations(function.body, needless)
    return renamed(function, body, dict(needless)) if needless else function


def checks_first(function: Function) -> Function:
    """The program with checks that no iteration changes before their loop: threads cannot raise errors."""
    host = {p for p in function.params if isinstance(p, Var)}
    return replace(function, body=checked(function.body, host))


def checked(block, host: set) -> tuple:
    """The block with checks taken out of its loops; `host` gets the numbers that it defines and the host knows."""
    out: list = []
    for s in block:
        if is_known(s, host):
            host.add(s.var)
        elif is_range(s) and s.step == integer(1):
            inner: set = set(host)
            body = checked(s.body, inner)
            checks, body = taken_checks(s, body, host)
            out += checks
            s = replace(s, body=body)
        else:
            s = core.with_blocks(s, lambda inner: checked(inner, set(host)))
        out.append(s)
    return tuple(out)


def taken_checks(loop, body: tuple, host: set) -> tuple[list, tuple]:
    """(what checks before the loop, the rest of its body)."""
    bounds_known = all(a in host or isinstance(a, Const) for a in (loop.start, loop.stop))
    if not bounds_known or not any(map(is_check, body)):
        return [], body
    known = set(host)
    rest: list = []
    b = Builder(Facts())
    empty: Atom | None = None
    for s in body:
        if is_known(s, known):
            known.add(s.var)
            b.add(s)
        elif is_check(s) and all(a in known or isinstance(a, Const) for a in (s.cond, *s.parts)):
            if empty is None:
                empty = b.compare("ge", loop.start, loop.stop)
            b.add(replace(s, cond=b.bind(Var("holds", "bool"), "or", empty, s.cond, loc=s.loc)))
        else:
            rest.append(s)
    host |= known
    return b.stmts, tuple(rest)


__all__ = ["checks_first", "is_known", "to_host", "upward", "without_needless_checks"]
