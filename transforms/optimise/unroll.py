"""Short loops of known length written out, so that what they index has fixed places.

    for i in range(n):                           for i in range(n):
        for k in range(3):                           y[i, 0] += x[i] * w[0]
            y[i, k] += x[i] * w[k]    becomes        y[i, 1] += x[i] * w[1]
                                                     y[i, 2] += x[i] * w[2]

Only inside other loops, and only while the text stays short.
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import FOLD, integer
from ..language.core import Const, Function, sub_blocks, walk, with_blocks
from ..language.queries import acting, allocated_in, is_branch, is_loop, is_whole, operation
from ..language.substitution import substitute

MOST_ITERATIONS, MOST_STATEMENTS = 4, 80


def unroll(function: Function) -> Function:
    """The program with its short innermost loops written out."""
    mapping: dict = {}
    body = unrolled(function.body, False, mapping)
    return replace(function, body=body)


def unrolled(block, nested: bool, mapping: dict) -> tuple:
    out: list = []
    for s in block:
        s = substituted(s, mapping)
        if sub_blocks(s):
            inside = nested or not is_branch(s)
            s = with_blocks(s, lambda inner, inside=inside: unrolled(inner, inside, mapping))
            s = substituted(s, mapping)
        count = iterations(s) if nested else None
        out += [s] if count is None else written_out(s, count, mapping)
    return tuple(out)


def substituted(stmt, mapping: dict):
    return substitute((stmt,), dict(mapping), fresh=False)[0] if mapping else stmt


def iterations(loop) -> int | None:
    """How often a loop runs, if it is short, known and has no loop left inside."""
    if not is_whole(loop) or not all(isinstance(a, Const) for a in (loop.start, loop.stop, loop.step)):
        return None
    count = len(range(core.known_value(loop.start), core.known_value(loop.stop), core.known_value(loop.step)))
    body = list(walk(loop.body))
    if count > MOST_ITERATIONS or count * len(body) > MOST_STATEMENTS or any(map(is_loop, body)):
        return None
    return None if core.rebound(loop.body) or allocated_in(loop.body) else count


def written_out(loop, count: int, mapping: dict) -> list:
    """The iterations one after the other; `mapping` gets what the loop's results are."""
    values = {c.var: c.init for c in loop.carries}
    out: list = []
    for k in range(count):
        index = integer(core.known_value(loop.start) + k * core.known_value(loop.step))
        names: dict = {loop.index: index, **values}
        body = loop.body if k == 0 else acting(loop.body)
        out.extend(folded(substitute(body, names), names))
        values = {c.var: names.get(c.next, c.next) for c in loop.carries}
    for c in loop.carries:
        mapping[c.result] = values[c.var]
    return out


def folded(block, names: dict) -> tuple:
    """Sums and products of integer constants, which the indices have become, computed; sums without their zero."""
    known: dict = {}
    out = []
    for s in block:
        if known:
            s = substitute((s,), dict(known), fresh=False)[0]
        if operation(s) in ("add", "sub", "mul") and s.var.dtype == "int64" and all(isinstance(a, Const) for a in s.args):
            known[s.var] = integer(FOLD[s.op](*(a.value for a in s.args)))
            continue
        if operation(s) == "sum" and isinstance(s.args[0], Const) and s.args[0].value == 0:
            known[s.var] = s.args[1]
            continue
        out.append(s)
    for v, x in list(names.items()):
        if x in known:
            names[v] = known[x]
    return tuple(out)


__all__ = ["unroll"]
