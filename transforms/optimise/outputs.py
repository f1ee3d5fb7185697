"""Results in memory of the caller: buffers that a program allocates and returns become parameters."""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import Builder, loops
from ..language.core import Alloc, Arr, Function, Let, Var
from ..language.facts import Facts


def given_outputs(function: Function, positions) -> tuple[Function, tuple[int, ...]]:
    """(program, which of the results at `positions` it fills in place): further parameters, after the others, in order.

    A result can be filled in place if it is one buffer from its one allocation to the return. Its shape is checked there.
    """
    rebound = core.rebound(function.body)
    returned = [r for r in function.returns if isinstance(r, Arr)]
    allocated = {s.array: s for s in function.body if isinstance(s, Alloc)}
    chosen = tuple(k for k in positions if function.returns[k] in allocated and function.returns[k] not in rebound
                   and returned.count(function.returns[k]) == 1)
    arrays = {function.returns[k] for k in chosen}
    body: list = []
    for s in function.body:
        if not (isinstance(s, Alloc) and s.array in arrays):
            body.append(s)
            continue
        b = Builder(Facts())
        for axis, size in enumerate(s.array.shape):
            found, equal = Var("size", "int64"), Var("fits", "bool")
            b.add(Let(found, "dim", (s.array, axis)))
            b.add(Let(equal, "eq", (found, size)))
            b.start_again_unless(equal, "ValueError", "out= has another shape", again="out")
        body += b.stmts
        if s.fill is not None:
            b = Builder(Facts())
            loops(b, s.array.shape, lambda bb, i, s=s: bb.store(s.array, i, s.fill))
            body += b.stmts
    params = (*function.params, *(function.returns[k] for k in chosen))
    return replace(function, name=f"{function.name}_into", params=params, body=tuple(body)), chosen


__all__ = ["given_outputs"]
