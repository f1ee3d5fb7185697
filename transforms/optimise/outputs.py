"""Results in memory of the caller: buffers that a program allocates and returns become parameters."""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import Builder, loops
from ..language.core import Arr, Function, Var
from ..language.facts import Facts
from ..language.queries import allocations


def given_outputs(function: Function, positions) -> tuple[Function, tuple[int, ...]]:
    """(program, which of the results at `positions` it fills in place): further parameters, after the others, in order.

    A result can be filled in place if it is one buffer from its one allocation to the return. Its shape is checked there.
    """
    rebound = core.rebound(function.body)
    returned = [r for r in function.returns if isinstance(r, Arr)]
    allocated = allocations(function.body)
    chosen = tuple(k for k in positions if function.returns[k] in allocated and function.returns[k] not in rebound
                   and returned.count(function.returns[k]) == 1)
    given = {allocated[function.returns[k]] for k in chosen}
    body: list = []
    for s in function.body:
        if s not in given:
            body.append(s)
            continue
        b = Builder(Facts())
        for axis, size in enumerate(s.array.shape):
            equal = b.let("eq", b.size(Var("size", "int64"), s.array, axis), size, dtype="bool", hint="fits")
            b.start_again_unless(equal, "ValueError", "out= has another shape", again="out")
        body += b.stmts
        if s.fill is not None:
            b = Builder(Facts())
            loops(b, s.array.shape, lambda bb, i, s=s: bb.store(s.array, i, s.fill))
            body += b.stmts
    params = (*function.params, *(function.returns[k] for k in chosen))
    return replace(function, name=f"{function.name}_into", params=params, body=tuple(body)), chosen


__all__ = ["given_outputs"]
