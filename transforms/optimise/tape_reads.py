"""Slices that have been copied whole are read where they lie: the reverse sweep reads the tape.

    # ---- reverse sweep ----                           for k in range(steps):
    for k in range(steps):                                  for i in range(n):
        for i in range(n):                                      u[i] = u_tape[k, i]
            u[i] = u_tape[k, i]           becomes           for i in range(n):
        for i in range(n):                                      v_bar[i] += u_tape[k, i] * w_bar[i]
            v_bar[i] += u[i] * w_bar[i]

Before an iteration is reversed, what it has overwritten is restored from the tape. Where that is all of a buffer, what
follows in the iteration reads the tape itself; if nothing else reads the buffer, the copy goes (`dead_stores.py`). So do
copies of an argument's rows in a loop over them.
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.core import Arr, For, Function, Load, Ref
from ..language.motion import Touches, facts_of
from ..language.names import defined_in
from ..language.queries import counts_up, is_assignment, is_load, is_loop
from .dead_zeros import fills


def read_tapes(function: Function) -> Function:
    """The program whose loops read buffers that they have just copied from a slice of another where that lies."""
    facts, touches, rebound = facts_of(function), Touches(), core.rebound(function.body)

    def visit(block, in_loop=False) -> tuple:
        body = [core.with_blocks(s, lambda inner, s=s: visit(inner, is_loop(s))) for s in block]
        for k, s in enumerate(body if in_loop else ()):
            for buffer, tape, prefix in copies(s, facts):
                rest = body[k + 1:]
                if {buffer, tape} & rebound or any({buffer, tape} & touches[t].writes for t in rest):
                    continue
                body[k + 1:] = [elsewhere(t, buffer, Ref(tape, prefix)) if buffer in touches[t].names else t for t in rest]
        return tuple(body)
    return replace(function, body=visit(function.body))


def copies(stmt, facts) -> list[tuple[Arr, Arr, tuple]]:
    """(buffer, another, leading indices of that) of what a nest copies whole from a slice as long, which it leaves alone."""
    indices, nest = [], stmt
    while counts_up(nest):
        indices.append(nest.index)
        innermost = nest.body
        loops = [s for s in nest.body if is_loop(s)]
        if len(loops) != 1:
            break
        nest = loops[0]
    if not indices:
        return []
    found = []
    written = core.written((stmt,))
    sources: dict = {s.var: s for s in innermost if is_load(s)}
    for s in innermost:
        source = sources.get(s.value) if is_assignment(s) else None
        if source is None or source.array in written or source.array.dtype != s.array.dtype:
            continue
        prefix, own = source.index[:-len(indices)], source.index[-len(indices):]
        if own == s.index == tuple(indices) and prefix and not set(prefix) & defined_in((stmt,)) and all(
                map(facts.same, s.array.shape, source.array.shape[len(prefix):])) and fills(stmt, s.array, (), facts):
            found.append((s.array, source.array, prefix))
    return found


def elsewhere(stmt, buffer: Arr, part: Ref):
    """The statement with what it reads of a buffer read from a part of another, which is as long."""
    match stmt:
        case Load(array=a, index=index) if a is buffer:
            return replace(stmt, array=part.array, index=(*part.prefix, *index))
        case core.Call(args=args):
            return replace(stmt, args=tuple(
                part if x is buffer else replace(x, array=part.array, prefix=(*part.prefix, *x.prefix))
                if isinstance(x, Ref) and x.array is buffer else x for x in args))
        case For() | core.While() | core.If():
            return core.with_blocks(stmt, lambda block: tuple(elsewhere(s, buffer, part) for s in block))
    return stmt


__all__ = ["read_tapes"]
