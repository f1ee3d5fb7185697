"""`f.tape.bill(*args)`: the memory a reverse sweep takes for given arguments, line by line, before anything runs."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments.kinds import flatten, passes
from ..runtime.checkpoint import segment_length
from ..transforms.language import markup
from ..transforms.language.core import Arr, Const, Resize, Var, array_of, walk
from ..transforms.language.queries import allocations, called
from ..transforms.language.queries import operations as computed

EVALUATE: dict[str, Callable] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "mod": operator.mod, "floordiv": operator.floordiv,
    "neg": operator.neg, "max": max, "min": min, "maximum": max, "minimum": min, "larger": max, "smaller": min, "cast": int,
    "segment_length": segment_length}

OF_FLOATS: dict[str, Callable] = {"div": operator.truediv, "ceil": math.ceil, "floor": math.floor, "trunc": math.trunc,
                                  "sqrt": math.sqrt}


@dataclass(frozen=True)
class Item:
    """One buffer: its name in the generated source, the line it is for, what it holds, its bytes (None: not known)."""

    name: str
    where: str
    holds: str
    bytes: int | None


class Bill(tuple):
    """The buffers of a derivative as `Item`s, the largest first. `total`: the known bytes; `unknown`: other items."""

    def __new__(cls, items):
        return super().__new__(cls, sorted(items, key=lambda item: (item.bytes is not None, -(item.bytes or 0), item.where)))

    @property
    def total(self) -> int:
        return sum(item.bytes for item in self if item.bytes is not None)

    @property
    def unknown(self) -> tuple:
        return tuple(item for item in self if item.bytes is None)

    def __str__(self) -> str:
        rows = [(f"{item.bytes:,}" if item.bytes is not None else "?", item.where, item.name, item.holds) for item in self]
        rows.append((f"{self.total:,}" + (" + ?" if self.unknown else ""), "", "", "bytes in all"))
        widths = [max(len(r[k]) for r in rows) for k in range(3)]
        return "\n".join(f"{r[0]:>{widths[0]}}  {r[1]:<{widths[1]}}  {r[2]:<{widths[2]}}  {r[3]}".rstrip() for r in rows)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        most = max((item.bytes or 0 for item in self), default=0) or 1
        rows = [("?" if item.bytes is None else markup.bar(f"{item.bytes:,}", item.bytes / most), item.where, item.name,
                 item.holds) for item in self]
        total = (f"{self.total:,}" + (" + ?" if self.unknown else ""), "", "", "bytes in all")
        return markup.piece(markup.table(("bytes", "for", "name", "holds"), [*rows, total], numbers=(0,)))


def bill(made, names, values, name_of: Callable = lambda x: None) -> Bill:
    """The bill of a specialisation for arguments: arrays, or shapes in their places, and the integers that sizes depend on.

    name_of: what buffers are called in the source, None without a name.
    Raises ValueError where a shape has a size that the specialisation was not made for.
    """
    known = known_sizes([*made.params, *(arr for arr, _, _ in made.hidden)], shapes(made, names, values))
    saved = {entry[0].array: entry for entry in made.generated.tape}
    kept = {p for program in made.generated.programs for p in program.returns if isinstance(p, Arr)}
    items = []
    for program in made.generated.programs:
        sizes_of = size_formulas(program, known)
        shared = {array_of(s.outs[0] if s.op == "flat" else s.args[0]) for s in walk(program.body)
                  if called(s) in ("flat", "shaped")}                   # the same memory in another shape
        for array, s in allocations(walk(program.body)).items():
            if array in shared:
                continue
            entry = saved.get(array)
            if entry is not None:
                where, holds = entry[2], f"saved: {entry[1]}"
            else:
                where = s.loc.short() if s.loc.line else "-"
                holds = "a result" if array in kept else "working memory"
            shape = sizes_of(array)
            unknown = None in shape
            size = None if unknown else math.prod(max(n, 0) for n in shape if n is not None)
            size = size if size is None else size * np.dtype(array.dtype).itemsize
            items.append(Item(name_of(array) or array.hint, where, holds, size))
    return Bill(items)


def shapes(made, names, values) -> list:
    """What compiled code receives for arguments, all that has a size or decides one."""
    found: list = []
    for name, value in zip(names, values, strict=True):
        if not (name in made.static and isinstance(value, (int, np.integer))):
            found += filter(passes, flatten(value, made.packs and name not in made.static))
    return [*found, *(value for _, _, value in made.hidden)]


def with_arrays(made, names, values) -> list:
    """The arguments of a bill, with arrays in the places of shapes, which take no memory."""
    trees = made.generated.lowered.trees

    def array(name: str, value):
        leaf = trees.get(name)
        if isinstance(value, tuple) and all(isinstance(n, (int, np.integer)) for n in value) and hasattr(leaf, "spec"):
            return np.broadcast_to(np.zeros((), leaf.spec.dtype), value)
        return value
    return list(map(array, names, values))


def known_sizes(params, values) -> dict:
    """The integers that parameters bring with these values (None: not known): their sizes, and those that are integers.

    Raises ValueError where a size is another than the one that the program was made for.
    """
    known: dict = {}
    for param, value in zip(params, values, strict=True):
        if value is None:
            continue
        if isinstance(param, Arr):
            shape = (*np.shape(value), 2) if param.pairs else np.shape(value)
            for size, n in zip(param.shape, shape, strict=True):
                if isinstance(size, Var):
                    known[size] = int(n)
                elif size.value != n:
                    raise ValueError(f"`{param.hint}` has a size of {n}, where the latest specialisation has {size.value}: "
                                     "specialize on such arguments first")
            known.update({("dim", param, k): int(n) for k, n in enumerate(shape)})
        elif param.dtype == "int64":
            known[param] = int(value)
    return known


def size_formulas(program, known: dict, operations: dict = EVALUATE) -> Callable[[Arr], tuple]:
    """The function that gives the sizes of the arrays of a program (None for one that data decide), from what is known.

    operations: what computes with sizes; others where these are symbols of another program.
    """
    local = dict(known)
    kinds = ["int64", *["float64"] * (operations is EVALUATE)]          # a size may be int(n / 2); of symbols it is not
    definitions = {v: (s.op, s.args) for v, s in computed(walk(program.body)).items() if v.dtype in kinds}
    grown = {s.array for s in walk(program.body) if isinstance(s, Resize)}

    def sizes_of(array: Arr) -> tuple:
        return tuple(None if array in grown else evaluate(n, local, definitions, operations) for n in array.shape)
    return sizes_of


def evaluate(atom, known: dict, definitions: dict, operations: dict = EVALUATE) -> Any:
    """An integer of the program, or a float that one is made of; None where it is not known before the run."""
    if isinstance(atom, Const):
        return atom.value if isinstance(atom.value, float) else int(atom.value)
    if atom in known:
        return known[atom]
    op, args = definitions.get(atom, ("", ()))
    if op == "dim":
        found = known.get(("dim", *args))
    elif op in operations or op in OF_FLOATS and operations is EVALUATE:
        parts = [evaluate(a, known, definitions, operations) for a in args]
        compute = float if op == "cast" and atom.dtype == "float64" else operations.get(op) or OF_FLOATS[op]
        try:
            found = None if any(p is None for p in parts) else compute(*parts)
        except (ValueError, OverflowError, ZeroDivisionError):      # of floats: the program raises, or has nan here
            if operations is not EVALUATE:
                raise
            found = None
    else:
        found = None
    known[atom] = found
    return found


__all__ = ["EVALUATE", "Bill", "Item", "bill", "known_sizes", "size_formulas"]
