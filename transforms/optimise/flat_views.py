"""Places along several axes that are divided out of one integer, as places in the elements one after the other.

    for i in range(n):                                for i in range(n):
        for j in range(m):                                for j in range(m):
            x[i, j] = 2.0 * w[i, j]                           x[i, j] = 2.0 * w[i, j]
    for i in range(k):                    becomes     x_flat = flat(x)
        for j in range(4):                            for i in range(k):
            p = i * 4 + j                                 for j in range(4):
            y[i, j] = x[p // m, p % m]                        y[i, j] = x_flat[i * 4 + j]

Such divisions are left where an array is reshaped whose sizes are not known to be multiples of the new ones. What is only
read so, after it has been written, is read from a flat view, or a copy if it does not lie in one piece; what is written so
is made flat, and gets its shape afterwards. No memory is moved: the generated text reshapes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..language import core
from ..language.build import Builder, product
from ..language.core import Alloc, Arr, Atom, Call, Function, Let, Load, Ref, Var, walk
from ..language.facts import Facts
from ..language.motion import facts_of
from ..language.queries import allocations, is_access, operation, touching
from ..language.rewrite import bottom_up
from .merged_axes import DIVISIONS


def flatten(function: Function) -> Function:
    """The program without divisions that find places in arrays which have been reshaped."""
    made = {s.var: s for s in walk(function.body) if operation(s) in DIVISIONS and s.var.dtype == "int64"}
    if not made:
        return function
    facts, found = facts_of(function), Found()
    for position, stmt in enumerate(function.body):
        for s in walk((stmt,)):
            if is_access(s) and len(s.array.shape) > 1 and not s.array.pairs:
                place = place_before_division(s.index, s.array.shape, made, facts)
                if place is not None:
                    found.places[s] = place
                    found.at.setdefault(s.array, []).append(position)
    rebound = core.rebound(function.body)
    for array, positions in found.at.items():
        if array not in rebound:
            flatten_array(function, array, positions, found, facts)
    if not found.flat:
        return function

    def change(s) -> tuple | None:
        if s not in found.places or s.array not in found.flat:
            return None
        return (replace(s, array=found.flat[s.array], index=(found.places[s],)),)
    body: list = []
    for position, stmt in enumerate(function.body):
        body += found.before.get(position, ())
        if not (isinstance(stmt, Alloc) and stmt.array in found.moved):
            body += bottom_up((stmt,), change)
        body += found.after.get(position, ())
    return replace(function, body=tuple(body))


@dataclass
class Found:
    """places: accesses -> the integer that was divided; at: arrays -> where the program has such; flat: arrays -> the flat
    ones; moved: those whose memory is made elsewhere; before, after: statements to add to those of the program."""

    places: dict = field(default_factory=dict)
    at: dict[Arr, list[int]] = field(default_factory=dict)
    flat: dict[Arr, Arr] = field(default_factory=dict)
    moved: set = field(default_factory=set)
    before: dict[int, list] = field(default_factory=dict)
    after: dict[int, list] = field(default_factory=dict)


def place_before_division(index, shape, made: dict[Var, Let], facts: Facts) -> Atom | None:
    """The integer of which indices are the quotients and remainders by the sizes of an array; None if there is none."""
    if len(index) == 1:
        return index[0]
    last, ahead = made.get(index[-1]), place_before_division(index[:-1], shape[:-1], made, facts)
    rest = made.get(ahead) if isinstance(ahead, Var) else None
    if last is None or rest is None or last.op != "mod" or rest.op != "floordiv":
        return None
    (a, by), (b, size) = last.args, rest.args
    return a if facts.same(a, b) and facts.same(by, size) and facts.same(by, shape[-1]) else None


def flatten_array(function: Function, array: Arr, positions: list[int], found: Found, facts: Facts) -> None:
    """Have an array read or written by its flat form, if it is written before it is read so, or so alone until it is read
    otherwise."""
    first, last, body = positions[0], positions[-1], function.body
    b = Builder(facts)
    flat = Arr(f"{array.hint}_flat", array.dtype, (product(b, array.shape),))
    touched = [k for k, s in enumerate(body) if touching((s,), array)]
    made = [k for k, s in enumerate(body) if array in allocations(walk((s,)))]
    accesses = [s for s in found.places if s.array is array]
    if all(isinstance(s, Load) for s in accesses):
        if any(array in core.written((body[k],)) for k in (*touched, *made) if k >= first):
            return
        b.make(flat)
        b.call((flat,), "flat", (Ref(array),), ())
        found.before.setdefault(first, []).extend(b.stmts)
    else:
        start = made[0] if made else touched[0]
        alloc = body[start]
        inside = [s for k in touched if k <= last for s in touching((body[k],), array)]
        if not (isinstance(alloc, Alloc) and made == [start] and isinstance(alloc.fill, core.Const | None)) or any(
                s not in found.places for s in inside):
            return
        b.make(flat, alloc.fill)
        found.before.setdefault(start, []).extend(b.stmts)
        found.moved.add(array)
        found.after.setdefault(last, []).extend((
            Alloc(array, None, alloc.loc), Call((array,), "shaped", (Ref(flat), *array.shape), (), alloc.loc)))
    found.flat[array] = flat


__all__ = ["flatten"]
