"""What depends on numbers that the host knows is computed there, once, and not by every thread.

Sizes, options and parameters that are Python numbers are known to the host before anything is launched; numbers read from
arrays, or summed by a kernel, are not.
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import Builder, integer
from ..language.core import Atom, Const, For, Function, Guard, If, Let, Var, While, walk
from ..language.facts import Facts
from ..language.motion import facts_of
from ..language.rewrite import without
from ..language.substitution import renamed
from ..optimise.loop_reversal import each_loop, upwards
from .nests import obstacle

DIVISIONS = ("floordiv", "mod")


def to_host(function: Function) -> Function:
    """The program with operations on numbers that the host knows moved out of the nests of threads."""
    host = {p for p in function.params if isinstance(p, Var)}
    return replace(function, body=moved(function.body, host, facts_of(function)))


def moved(block, host: set, facts: Facts) -> tuple:
    out: list = []
    for s in block:
        match s:
            case Let() if is_known(s, host):
                host.add(s.var)
                out.append(s)
            case For() if obstacle(s, facts) is None:
                taken: list = []
                rest = taken_out((s,), host, taken)
                out += [*taken, *rest]
            case For() | While() | If():
                known = set(host)
                if isinstance(s, For) and all(a in host or isinstance(a, Const) for a in (s.start, s.stop, s.step)):
                    known.add(s.index)
                out.append(core.with_blocks(s, lambda inner, known=known: moved(inner, set(known), facts)))
            case _:
                out.append(s)
    return tuple(out)


def is_known(s: Let, host: set) -> bool:
    """Whether the host can compute a value without waiting for the device."""
    if s.op == "dim":
        return True
    return s.op not in ("wrap_index",) and all(isinstance(a, Const) or a in host for a in s.args) and (
        s.op not in DIVISIONS or s.var.dtype in core.FLOATS or isinstance(s.args[1], Const) and s.args[1].value != 0)


def taken_out(block, host: set, taken: list) -> tuple:
    """The block without operations on what the host knows, which `taken` gets."""
    def is_taken(s) -> bool:
        if not (isinstance(s, Let) and is_known(s, host)):
            return False
        host.add(s.var)
        taken.append(s)
        return True
    return without(block, is_taken)


def upward(function: Function) -> Function:
    """The program with loops that count down, and whose iterations are independent, counting up."""
    facts = facts_of(function)

    def turn(loop: For) -> list:
        if loop.step != integer(-1) or obstacle(loop, facts) is not None:
            return [loop]
        made, before = upwards(loop, facts)
        return [*before, made]
    return replace(function, body=each_loop(function.body, turn))


def without_needless_checks(function: Function) -> Function:
    """The program without checks that a subscript modulo the size of its axis is within it."""
    facts = facts_of(function, checks=False)
    needless = {s.var: s.args[0] for s in walk(function.body) if isinstance(s, Let) and s.op == "wrap_index"
                and s.args[1] in facts.nonnegative
                and facts.definition.get(s.args[0], ("", ()))[0] == "mod" and facts.definition[s.args[0]][1][1] is s.args[1]}
    body = without(function.body, lambda s: isinstance(s, Let) and s.var in needless)
    return renamed(function, body, dict(needless)) if needless else function


def checks_first(function: Function) -> Function:
    """The program with checks that no iteration changes before their loop: threads cannot raise errors."""
    host = {p for p in function.params if isinstance(p, Var)}
    return replace(function, body=checked(function.body, host))


def checked(block, host: set) -> tuple:
    """The block with checks taken out of its loops; `host` gets the numbers that it defines and the host knows."""
    out: list = []
    for s in block:
        if isinstance(s, Let) and is_known(s, host):
            host.add(s.var)
        elif isinstance(s, For) and s.step == integer(1):
            inner: set = set(host)
            body = checked(s.body, inner)
            checks, body = taken_checks(s, body, host)
            out += checks
            s = replace(s, body=body)
        else:
            s = core.with_blocks(s, lambda inner: checked(inner, set(host)))
        out.append(s)
    return tuple(out)


def taken_checks(loop: For, body: tuple, host: set) -> tuple[list, tuple]:
    """(what checks before the loop, the rest of its body)."""
    bounds_known = all(a in host or isinstance(a, Const) for a in (loop.start, loop.stop))
    if not bounds_known or not any(isinstance(s, Guard) for s in body):
        return [], body
    known = set(host)
    early: list = []
    rest: list = []
    b = Builder(Facts())
    empty: Atom | None = None
    for s in body:
        if isinstance(s, Let) and is_known(s, known):
            known.add(s.var)
            early.append(s)
        elif isinstance(s, Guard) and all(a in known or isinstance(a, Const) for a in (s.cond, *s.parts)):
            if empty is None:
                empty = b.compare("ge", loop.start, loop.stop)
                early += b.stmts
            holds = Var("holds", "bool")
            early += [Let(holds, "or", (empty, s.cond), s.loc), replace(s, cond=holds)]
        else:
            rest.append(s)
    host |= known
    return early, tuple(rest)


__all__ = ["checks_first", "is_known", "to_host", "upward", "without_needless_checks"]
