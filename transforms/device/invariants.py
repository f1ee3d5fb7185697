"""What depends on numbers that the host knows is computed there, once, and not by every thread.

Sizes, options and parameters that are Python numbers are known to the host before anything is launched; numbers read from
arrays, or summed by a kernel, are not.
"""

from __future__ import annotations

from dataclasses import replace

from .. import core
from ..build import Facts
from ..core import Const, For, Function, If, Let, Var, While
from ..motion import facts_of
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
    out = []
    for s in block:
        if isinstance(s, Let) and is_known(s, host):
            host.add(s.var)
            taken.append(s)
        else:
            out.append(core.with_blocks(s, lambda inner: taken_out(inner, host, taken)))
    return tuple(out)


__all__ = ["is_known", "to_host"]
