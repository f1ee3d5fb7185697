"""The docstring of a generated function: its notes, sizes that it takes for granted, and what it returns, with shapes.

    def heat_grad(u, k, steps):
        \"""Takes k (:, 3). Returns u_bar (n, m), k_bar (k_0, 3).\"""
"""

from __future__ import annotations

from collections.abc import Callable

from ..language.core import Arr, Atom, Const, Function, walk
from ..language.python_text import fixed_sizes
from ..language.queries import operations

KINDS = {"b": "truth", "i": "integer", "u": "integer", "f": "number", "c": "complex number"}
SIGNS = {"add": "+", "sub": "-", "mul": "*"}


def docstring(function: Function, name_of: Callable) -> str | None:
    """The line, or None where there is nothing to tell. name_of: the name of a variable or buffer, None if it has none."""
    made = operations(walk(function.body))

    def size(x: Atom, inside: bool = False) -> str | None:
        if isinstance(x, Const):
            return str(x.value)
        name, stmt = name_of(x), made.get(x)
        if name is not None:
            return name
        if stmt is not None and stmt.op == "dim":
            return f"{name_of(stmt.args[0])}.shape[{stmt.args[1]}]"
        if stmt is not None and stmt.op in SIGNS:
            parts = [size(a, True) for a in stmt.args]
            if None not in parts:
                text = f"{parts[0]} {SIGNS[stmt.op]} {parts[1]}"
                return f"({text})" if inside else text
        return None

    def part(x) -> str:
        name = None if isinstance(x, Const) else name_of(x)
        if not isinstance(x, Arr):
            kind = KINDS[x.dtype[0]]
            return f"{name} ({kind})" if name else f"{'an' if kind[0] == 'i' else 'a'} {kind}"
        sizes = [size(n) for n in x.shape]
        if None in sizes:
            return f"{name} ({len(x.shape)} axes)"
        return shaped(name, sizes)

    def shaped(name, sizes) -> str:
        return f"{name} ({', '.join(':' if n is None else str(n) for n in sizes)}{',' if len(sizes) == 1 else ''})"

    told = list(function.notes)
    taken = zip(function.params, fixed_sizes(function.params), strict=True)
    if fixed := [shaped(name_of(x), sizes) for x, sizes in taken if sizes]:
        told.append(f"Takes {', '.join(fixed)}.")
    if function.returns:
        told.append(f"Returns {', '.join(map(part, function.returns))}.")
    return f'"""{" ".join(told)}"""' if told else None


__all__ = ["docstring"]
