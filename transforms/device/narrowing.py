"""Constants that branches choose in float64, and that are only used in float32, chosen in float32.

    choice = 1.0 if a > b else 0.5                 choice = np.float32(1.0) if a > b else np.float32(0.5)
    x_bar = np.float32(choice) * y_bar   becomes   x_bar = choice * y_bar

Rules are written with Python's numbers; a float64 number costs a GPU many times what a float32 one does.
"""

from __future__ import annotations

from dataclasses import replace

from ..language.core import Const, Function, If, Let, Merge, Store, Var, operands, walk
from ..language.rewrite import bottom_up
from ..language.substitution import renamed


def narrow(function: Function) -> Function:
    """The program with chosen constants in the dtype that their uses have."""
    found = candidates(function)
    if not found:
        return function
    mapping = {v: Var(v.hint, "float32") for v in found}
    return renamed(function, narrowed(function.body, found), dict(mapping))


def candidates(function: Function) -> set[Var]:
    """The results of branches that are float64 constants on all sides, and become float32 wherever they are used."""
    merges = {m.var: m for s in walk(function.body) if isinstance(s, If) for m in s.merges if m.var.dtype == "float64"}
    found = set(merges) - set(function.returns)
    while True:
        kept = {v for v in found if all(isinstance(x, Const) or x in found for x in (merges[v].then, merges[v].orelse))}
        for s in walk(function.body):
            kept.difference_update(used_wide(s, kept))
        if kept == found:
            return found
        found = kept


def used_wide(s, kept: set) -> list:
    """The operands that a statement does not turn into float32."""
    match s:
        case Let(var=v) if v.dtype == "float32":
            return []
        case Store(array=a, index=index) if a.dtype == "float32":
            return list(index)
        case If(cond=cond, merges=merges):
            return [cond, *(x for m in merges if m.var.dtype != "float32" and m.var not in kept for x in (m.then, m.orelse))]
    return [x for x in operands(s) if isinstance(x, Var)]


def narrowed(block, found: set) -> tuple:
    """The block with the constants that go into these results in float32."""
    return bottom_up(block, lambda s: (replace(s, merges=tuple(
        narrow_merge(m) if m.var in found else m for m in s.merges)),) if isinstance(s, If) else None)


def narrow_merge(m: Merge) -> Merge:
    return Merge(m.var, *(Const(x.value, "float32") if isinstance(x, Const) else x for x in (m.then, m.orelse)))


__all__ = ["narrow"]
