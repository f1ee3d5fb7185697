"""What is computed in float64 and only used in float32, where that gives the same bits, in float32.

    choice = 1.0 if a > b else 0.5                          choice = np.float32(1.0) if a > b else np.float32(0.5)
    x_bar = np.float32(choice) * y_bar            becomes   x_bar = choice * y_bar
    r = np.float32(math.sqrt(np.float64(s)))                r = math.sqrt(s)

Rules are written with Python's numbers, and functions of `math` give float64; a float64 number costs a GPU many times what a
float32 one does. A sum, product, quotient or root of float32 numbers that is rounded to float64 and then to float32 is what
is rounded to float32 at once, since 53 bits are at least 2 x 24 + 2 (S. Figueroa, When is double rounding innocuous?, ACM
SIGNUM Newsletter 30 (1995)).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..language.core import Const, Function, Merge, Var, operands, walk
from ..language.queries import is_access, is_branch, merges_in, operation, operations
from ..language.rewrite import bottom_up, without_operations
from ..language.substitution import renamed

ROUNDED_ONCE = ("add", "sub", "mul", "div", "sqrt")


def narrow(function: Function) -> Function:
    """The program with chosen constants, and single operations on float32 numbers, in the dtype that their uses have."""
    made = operations(walk(function.body))
    results = {v: args for v, s in made.items() if v.dtype == "float64" and (args := narrow_operands(s, made))}
    found = candidates(function, results)
    if not found:
        return function
    mapping = {v: Var(v.hint, "float32") for v in found}
    casts = {v: mapping[x] for v, s in made.items() if s.op == "cast" and v.dtype == "float32" and (x := s.args[0]) in found}
    body = without_operations(narrowed(function.body, found, results), casts)
    return renamed(function, body, mapping | casts)


def narrow_operands(s, made: dict) -> tuple | None:
    """The float32 operands of an operation that gives the same for them as rounded from float64; None for others."""
    if s.op not in ROUNDED_ONCE:
        return None
    found = []
    for a in s.args:
        while isinstance(a, Var) and a.dtype == "float64" and a in made and made[a].op == "cast":
            a = made[a].args[0]
        if not (a.dtype == "float32" if isinstance(a, Var) else abs(a.value) < 1e38 and np.float32(a.value) == a.value):
            return None
        found.append(a if isinstance(a, Var) else Const(a.value, "float32"))
    return tuple(found) if any(isinstance(a, Var) for a in found) else None


def candidates(function: Function, results: dict) -> set[Var]:
    """The float64 results of branches that are constants on all sides, and of some operations, that become float32 wherever
    they are used. results: of the operations."""
    merges = {v: m for v, m in merges_in(function.body).items() if v.dtype == "float64"}
    found = (set(merges) | set(results)) - set(function.returns)
    while True:
        kept = {v for v in found if v in results or all(
            isinstance(x, Const) or x in found and x not in results for x in (merges[v].then, merges[v].orelse))}
        for s in walk(function.body):
            kept.difference_update(used_wide(s, kept))
        if kept == found:
            return found
        found = kept


def used_wide(s, kept: set) -> list:
    """The operands that a statement does not turn into float32."""
    if operation(s) and s.var.dtype == "float32":
        return []
    if is_access(s) and s.array.dtype == "float32":
        return list(s.index)
    if is_branch(s):
        return [s.cond, *(x for m in s.merges if m.var.dtype != "float32" and m.var not in kept for x in (m.then, m.orelse))]
    return [x for x in operands(s) if isinstance(x, Var)]


def narrowed(block, found: set, results: dict) -> tuple:
    """The block with the operands of these results in float32, those of branches being constants."""
    def change(s):
        if is_branch(s):
            return (replace(s, merges=tuple(narrow_merge(m) if m.var in found else m for m in s.merges)),)
        return (replace(s, args=results[s.var]),) if operation(s) and s.var in found else None
    return bottom_up(block, change)


def narrow_merge(m: Merge) -> Merge:
    return Merge(m.var, *(Const(x.value, "float32") if isinstance(x, Const) else x for x in (m.then, m.orelse)))


__all__ = ["narrow"]
