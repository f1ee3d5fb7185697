"""Systems with one matrix: it is factored once, before the loops that do not change it.

    for t in range(steps):                                a_size = a.shape[0]
        assign(x[t + 1], solve(a, x[t]))                  factors = empty((a_size, a_size))
    # ---- reverse sweep ----                             pivots = empty(a_size, np.int64)
    for t in range(steps - 1, -1, -1):                    parts = factored(a)
        assign(r, solve(a.T, x_bar[t + 1]))               assign(factors, parts[0])
        assign(x_bar[t], solve(a, r))          becomes    assign(pivots, parts[1])
                                                          for t in range(steps):
                                                              solve_factored_into(x[t + 1], factors, pivots, x[t], False)
                                                          for t in range(steps - 1, -1, -1):
                                                              solve_factored_into(r, factors, pivots, x_bar[t + 1], True)
                                                              solve_factored_into(x_bar[t], factors, pivots, r, False)

The adjoint of a system is a system with the same matrix, transposed: it takes the factors of the forward sweep wherever
these are still in sight. n^3 operations become n^2.
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.core import Arr, Function, Var, walk
from ..language.emit import Statements
from ..language.names import defined_in
from ..language.queries import called, is_loop
from .product_accumulation import as_ref


def factor_once(function: Function) -> Function:
    """The program with the matrices factored of which several systems are solved, or one in a loop that keeps them."""
    if not any(is_system(s) for s in walk(function.body)):
        return function
    found: list = []                # (block, position in it, call, whether that is a loop around the call)
    collect(function.body, (), found)
    before: dict = {}               # statement -> what to put before it
    instead: dict = {}
    for block in {id(b): b for b, *_ in found}.values():
        items = [item[1:] for item in found if item[0] is block]
        for group in groups(block, items):
            if len(group) > 1 or group[0][2]:
                matrix = as_ref(group[0][1].args[0])
                size = matrix.shape[0]
                factors, pivots = Arr("factors", matrix.dtype, (size, size)), Arr("pivots", "int64", (size,))
                loc = group[0][1].loc
                steps = Statements()
                made = (steps.make(factors, loc=loc), steps.make(pivots, loc=loc))
                steps.call(made, "factored", (replace(matrix, transposed=False),), loc=loc)
                before.setdefault(block[group[0][0]], []).extend(steps.stmts)
                for _, call, _ in group:
                    instead[call] = replace(call, op="solve_factored", args=(*made, call.args[1]),
                                            static=(as_ref(call.args[0]).transposed,))

    def rebuilt(block) -> tuple:
        return tuple(x for s in block for x in (*before.get(s, ()), instead.get(s) or core.with_blocks(s, rebuilt)))
    return replace(function, body=rebuilt(function.body)) if instead else function


def is_system(s) -> bool:
    return called(s) == "solve"


def collect(block, path, found: list) -> None:
    """Every system, with the outermost block where its matrix is known to be what it is at the call."""
    for k, s in enumerate(block):
        if is_system(s):
            matrix = as_ref(s.args[0])
            home, position, hoisted = block, k, False
            for outer, place in reversed(path):
                loop = outer[place]
                if not is_loop(loop) or matrix.array in core.written(loop.body) \
                        or defined_in((loop,)) & {x for x in matrix.prefix if isinstance(x, Var)}:
                    break
                home, position, hoisted = outer, place, True
            found.append((home, position, s, hoisted))
        for inner in core.sub_blocks(s):
            collect(inner, (*path, (block, k)), found)


def groups(block, items) -> list:
    """The systems of a block put together that have one matrix, unchanged from the first to the last."""
    made: list = []
    latest: dict = {}
    for position, call, hoisted in sorted(items, key=lambda item: item[0]):
        matrix = as_ref(call.args[0])
        key = (matrix.array, matrix.prefix)
        group = latest.get(key)
        if group is None or matrix.array in core.written(block[group[-1][0]:position]):
            group = latest[key] = []
            made.append(group)
        group.append((position, call, hoisted))
    return made


__all__ = ["factor_once"]
