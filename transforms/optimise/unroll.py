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
from ..language.build import integer
from ..language.core import Function, sub_blocks, walk, with_blocks
from ..language.queries import acting, allocated_in, is_branch, is_loop, is_whole, most_trips
from ..language.substitution import substitute
from .constant_folding import fold_block, fold_constants

MOST_ITERATIONS, MOST_STATEMENTS = 4, 80


def unroll(function: Function) -> Function:
    """The program with its short innermost loops written out."""
    mapping: dict = {}
    body = unrolled(function.body, False, mapping)
    return fold_constants(replace(function, body=body))


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
    count, body = most_trips(loop) if is_whole(loop) else None, list(walk(getattr(loop, "body", ())))
    if count is None or count > MOST_ITERATIONS or count * len(body) > MOST_STATEMENTS or any(map(is_loop, body)):
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
        found: dict = {}
        out.extend(fold_block(substitute(body, names), found))
        ends = {c.var: names.get(c.next, c.next) for c in loop.carries}
        values = {v: found.get(x, x) for v, x in ends.items()}
    for c in loop.carries:
        mapping[c.result] = values[c.var]
    return out


__all__ = ["unroll"]
