"""Tiles: shared buffers that every iteration of a loop fills before a barrier and reads after it.

    for k in range(n // T):                         reverse of an iteration
        tile[t] = x[k * T + t]                          tile[t] = x[k * T + t]
        cuda.syncthreads()                              cuda.syncthreads()
        for j in range(T):                              for j in range(T - 1, -1, -1):
            s += f(tile[j])                                 tile_bar[j] += s_bar * f'(tile[j])
        cuda.syncthreads()                              cuda.syncthreads()
                                                        x_bar[k * T + t] += tile_bar[t];  tile_bar[t] = 0

What an iteration overwrites need not be saved then: the reverse of an iteration fills the tile again. That is done only
where every element that is read is proven to have been written in the same iteration, by some thread of the block: for each
load, the thread that stores the element is found from the subscripts, and its conditions are shown to hold.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..language import core
from ..language.build import integer
from ..language.core import Arr, Const, For, Function, If, Load, Store, Var, While, walk
from ..language.names import defined_in, mentioned
from ..language.queries import allocated_in, is_loop
from ..optimise.simplify import remove_dead
from .owners import Access, Instances, Owners, scaled
from .phases import is_barrier, without_barriers
from .threads import Thread

MOST_CASES = 256


@dataclass(frozen=True, eq=False)
class Tile:
    """What fills the tiles of a loop. body: the statements that do; stores: those among them that write the tiles."""

    arrays: tuple[Arr, ...]
    stores: frozenset
    body: tuple


def find_tiles(thread: Thread) -> dict:
    """body of a loop -> the Tile that its iterations fill."""
    function = thread.function
    owners = Owners(function, thread.facts, thread.at, thread.launch)
    changed = core.written(function.body)
    filled: dict = {}               # body of a loop -> the buffers that it fills, as far as it is concerned

    def visit(block, in_loop: bool) -> None:
        if in_loop and any(map(is_barrier, block)):
            filled[block] = {a for a in thread.shared if is_filled(block, a, owners)
                             and filling(block, (a,), thread, changed) is not None}
        for s in block:
            for inner in core.sub_blocks(s):
                visit(inner, is_loop(s))
    visit(function.body, False)
    tiles = []
    for a in thread.shared:         # nothing else is done with a tile
        inside = {s for block, arrays in filled.items() if a in arrays for s in walk(block)}
        if all(x.stmt in inside for x in owners.accesses.get(a, ())):
            tiles.append(a)
    found = {block: tuple(a for a in tiles if a in arrays) for block, arrays in filled.items()}
    return {block: filling(block, arrays, thread, changed) for block, arrays in found.items() if arrays}


def is_filled(block, array: Arr, owners: Owners) -> bool:
    """Whether a block fills a buffer before a barrier, and after it reads only what it has filled."""
    place = {s: k for k, top in enumerate(block) for s in walk((top,))}
    accesses = [x for x in owners.accesses.get(array, ()) if x.stmt in place]
    stores = [x for x in accesses if isinstance(x.stmt, Store)]
    loads = [x for x in accesses if isinstance(x.stmt, Load)]
    if not stores or any(isinstance(x.stmt, Store) and x.stmt.accumulate for x in stores):
        return False
    last = max(place[x.stmt] for x in stores)
    first = min(place[x.stmt] for x in stores)
    fence = next((k for k in range(first, len(block)) if is_barrier(block[k])), None)
    if fence is None or last > fence or any(place[x.stmt] < fence for x in loads):
        return False
    depth = next(len(x.path) - len(inner_path(x, block)) for x in stores)
    return all(is_covered(load, stores, depth, owners) for load in loads)


def inner_path(access: Access, block) -> tuple:
    """The loops and branches around an access that stand in the block."""
    k = next((k for k, (_, inner) in enumerate(access.path) if inner is block), None)
    return access.path if k is None else access.path[k + 1:]


# -- is every element that is read written in the iteration? -------------------------------------------------------
def is_covered(load: Access, stores, depth: int, owners: Owners) -> bool:
    """Whether for every element that `load` may read some store has a thread that writes it."""
    ways = [w for s in stores if (w := requirements(load, s, depth, owners)) is not None]
    cases = 1
    for w in ways:
        cases *= max(len(w), 1)
    if not ways or cases > MOST_CASES:
        return False

    def uncovered(chosen, rest) -> bool:
        """Whether some element is read although each store fails in one of its requirements."""
        if not rest:
            system = Instances(owners, load, load, True, alone=True)
            for violate in chosen:
                violate(system)
            return system.feasible()
        return any(uncovered((*chosen, violate), rest[1:]) for violate in rest[0])
    return not uncovered((), ways)


def requirements(load: Access, store: Access, depth: int, owners: Owners) -> list | None:
    """What must hold for the store to write what `load` reads, each as what adds its contrary to a system; None: unknown."""
    at, facts = owners.at, owners.facts
    inside = store.path[depth:]
    ranges: dict[Var, tuple] = {v: (integer(0), integer(n - 1)) for v, n in zip(at.thread, owners.launch.block, strict=True)
              if isinstance(v, Var)}
    for s, _ in inside:
        if isinstance(s, While) or isinstance(s, For) and (s.exit is not None or s.step != integer(1)):
            return None
        if isinstance(s, For):
            ranges[s.index] = (s.start, facts.range[s.index][1])
    around = {s.index for s, _ in store.path[:depth] if isinstance(s, For)}
    known = lambda v: v in around or v in owners.fixed or v in at.block  # noqa: E731      # the same for all threads of a block
    solved: dict = {}               # coordinate or index of the store -> what it must be, as a form
    probe = Instances(owners, load, load, True, alone=True)
    equal: list = []
    for i, r in zip(store.index, load.index, strict=True):
        constant, terms = facts.affine(i)
        own = [v for v in terms if v in ranges]
        read = probe.form(r, 0)
        if len(own) == 1 and len(terms) == 1 and abs(terms[own[0]]) == 1 and own[0] not in solved:
            solved[own[0]] = scaled((read[0], read[1] - constant), terms[own[0]])
        elif not own and all(map(known, terms)):
            equal.append(probe.minus(read, probe.form(i, 0)))
        else:
            return None
    for v, (low, high) in ranges.items():
        if not all(map(known, (*facts.affine(low)[1], *facts.affine(high)[1]))):
            return None
        solved.setdefault(v, pinned(v, inside, owners) or probe.form(low, 0))       # any would do: one is tried
    writer = Writer(owners, load, solved, known)
    found: list = []
    for form in equal:
        for sign in (1, -1):
            found.append(lambda system, f=form, sign=sign: system.at_least(scaled(f, sign), 1))
    for v, (low, high) in ranges.items():
        for gap in (writer.minus(solved[v], writer.form(low, 0)), writer.minus(writer.form(high, 0), solved[v])):
            found.append(lambda system, f=gap: system.at_least(scaled(f, -1), 1))
    for s, block in inside:
        if isinstance(s, If):
            held = writer.held(s.cond, block is s.then)
            if held is None:
                return None
            found += [lambda system, f=f: system.at_least(scaled(f, -1), 1) for f in held]
    return found


def pinned(v: Var, path, owners: Owners):
    """The number that a condition around a store makes a coordinate equal to, as a form; None if there is none."""
    for s, block in path:
        let = owners.logic.get(s.cond) if isinstance(s, If) and isinstance(s.cond, Var) and block is s.then else None
        if let is not None and let.op == "eq" and v in let.args:
            other = let.args[0] if let.args[1] is v else let.args[1]
            if isinstance(other, Const):
                return {}, int(other.value)
    return None


class Writer(Instances):
    """The thread that stores what another one reads: its coordinates are replaced by what they must be."""

    def __init__(self, owners, load, solved, known):
        super().__init__(owners, load, load, True, alone=True)
        self.solved, self.known = solved, known

    def form(self, atom, side):
        constant, terms = self.facts.affine(atom)
        solved = getattr(self, "solved", {})
        named: dict = {}
        total = constant
        for v, c in terms.items():
            if v in solved:
                inner, offset = solved[v]
                total += c * offset
                for key, d in inner.items():
                    named[key] = named.get(key, 0) + c * d
            else:
                inner, _ = super().form(v, side)
                for key, d in inner.items():
                    named[key] = named.get(key, 0) + c * d
        return {k: c for k, c in named.items() if c}, total

    def held(self, cond, holds: bool) -> list | None:
        """The forms that must not be negative for a condition; None if it is not a conjunction of affine comparisons."""
        let = self.owners.logic.get(cond)
        if let is None:
            return None
        if let.op == "not":
            return self.held(let.args[0], not holds)
        if let.op in ("and", "or"):
            if holds != (let.op == "and"):
                return None
            parts = [self.held(a, holds) for a in let.args]
            return None if None in parts else [f for p in parts for f in p or ()]
        if any(a.dtype != "int64" for a in let.args) or not all(map(self.is_affine, let.args)):
            return None
        op = let.op if holds else {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}.get(let.op, "")
        left, right = (self.form(a, 0) for a in let.args)
        up, down = self.minus(right, left), self.minus(left, right)
        match op:
            case "lt":
                return [shifted(up, -1)]
            case "le":
                return [up]
            case "gt":
                return [shifted(down, -1)]
            case "ge":
                return [down]
            case "eq":
                return [up, down]
        return None

    def is_affine(self, atom) -> bool:
        """Whether an integer is known through coordinates, indices of loops and what is the same in all threads."""
        return all(v in self.solved or self.known(v) for v in self.facts.affine(atom)[1])


def shifted(form, by: int):
    return form[0], form[1] + by


# -- the statements that fill -------------------------------------------------------------------------------------
def filling(block, arrays, thread: Thread, changed: set) -> Tile | None:
    """The part of a loop's body that fills tiles; None if it cannot run again in the reverse sweep."""
    stores = frozenset(s for s in walk(block) if isinstance(s, Store) and s.array in arrays)
    last = max(k for k, top in enumerate(block) if any(s in stores for s in walk((top,))))
    head = without_barriers(block[:last + 1])
    made = remove_dead(Function("fill", thread.function.params, head, arrays)).body
    own = allocated_in(made)
    for s in walk(made):
        if isinstance(s, (core.Call, core.Swap, core.Resize)):
            return None
        if isinstance(s, Load) and s.array in changed and s.array not in own:
            return None
        if isinstance(s, Store) and s.array not in own and s not in stores:
            return None
    return Tile(arrays, stores, made)


def outer_values(body) -> list[Var]:
    """The scalars that statements read and do not bind."""
    inside = defined_in(body)
    return [v for v in dict.fromkeys(mentioned(body)) if isinstance(v, Var) and v not in inside]


__all__ = ["Tile", "find_tiles", "outer_values"]
