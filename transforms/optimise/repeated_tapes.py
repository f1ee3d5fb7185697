"""A tape that holds what a copy holds: the reverse sweep reads the copy, and the tape goes.

    a = np.zeros(5)                                 a = np.zeros(5)
    old = np.empty((9, 5))                          old = np.empty((9, 5))
    a_tape = np.empty((9, 5))                       for k in range(9):
    for k in range(9):                                  for i in range(5):
        for i in range(5):                                  old[k, i] = a[i]
            old[k, i] = a[i]                            for j in range(1, 4):
        for j in range(1, 4):            becomes            a[j] = old[k, j] * r
            a_tape[k, j] = a[j]                     for k in range(9):
            a[j] = old[k, j] * r                        for j in range(1, 4):
    for k in range(9):                                      a_bar[j] += old[k, j]
        for j in range(1, 4):
            a_bar[j] += a_tape[k, j]

So where a program keeps its state (`old = a.copy()`), changes it in place, and both are needed: what each element was before
it was overwritten is an element of the copy, if nothing has written it in between. Each iteration has its own part of both,
and what a tape does not hold, nothing reads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..language import core
from ..language.core import Arr, Atom, For, Function, Load, Store, Var, array_of
from ..language.motion import Touches, facts_of
from ..language.names import defined_in
from ..language.queries import acting, is_allocation, is_assignment, is_load, is_loop, is_range, is_store, is_whole
from ..language.rewrite import top_down
from .dead_zeros import fills


@dataclass(frozen=True, eq=False)
class Copy:
    """All of `source` copied to where `kept` has it, behind some leading indices."""

    source: Arr
    kept: Arr
    prefix: tuple


def read_copies(function: Function) -> Function:
    """The program without tapes that hold what its copies hold."""
    outside = {*function.params, *function.returns}
    stored: dict[Arr, list] = {}
    allocs: dict[Arr, list] = {}
    for s in core.walk(function.body):
        for a in {array_of(x) for x in core.results(s) if isinstance(array_of(x), Arr)}:
            stored.setdefault(a, []).append(s)
        if is_allocation(s):
            allocs.setdefault(s.array, []).append(s.fill)
    once = {a for a, by in stored.items() if a not in outside and len(by) == 1 and is_assignment(by[0])
            and allocs.get(a) == [None]}
    if len(once) < 2:
        return function
    facts, touches = facts_of(function), Touches()
    gone: dict[Arr, Arr] = {}
    made: dict[Arr, tuple] = {}         # the block that allocates an array, and the loops around it

    def visit(block, loops: tuple) -> None:
        made.update((s.array, (block, loops)) for s in block if is_allocation(s) and s.array in once)
        for k, s in enumerate(block):
            for inner in core.sub_blocks(s):
                visit(inner, (*loops, s) if is_loop(s) else loops)
            for copy in copies(s, once, facts):
                for t in block[k + 1:]:
                    if is_range(t):
                        gone.update((tape, copy.kept) for tape in repeated(t, copy, once) if tape not in gone and each_once(
                            tape, copy, loops) and not any(tape in touches[u].names for u in block[k:] if u is not t))
                    if {copy.source, copy.kept} & touches[t].writes:
                        break

    def each_once(tape: Arr, copy: Copy, loops: tuple) -> bool:
        """Whether both are allocated in one block, and each iteration from there on writes elements of its own."""
        at, around = made[tape]
        return made[copy.kept][0] is at and all(is_range(x) and x.index in copy.prefix for x in loops[len(around):])
    visit(function.body, ())
    gone = {tape: kept for tape, kept in gone.items() if kept not in gone and tape not in gone.values()}

    def change(s):
        if (is_allocation(s) or is_store(s)) and s.array in gone:
            return ()
        return (replace(s, array=gone[s.array]),) if is_load(s) and s.array in gone else None
    return replace(function, body=top_down(function.body, change)) if gone else function


def copies(stmt, once: set, facts) -> list[Copy]:
    """What a nest copies whole to arrays that are written nowhere else."""
    indices: list[Var] = []
    nest = stmt
    while is_whole(nest) and not nest.carries and len(acting(nest.body)) == 1:
        indices.append(nest.index)
        nest = acting(nest.body)[0]
    if not is_whole(nest) or nest.carries:
        return []
    indices.append(nest.index)
    made: dict[Atom, Load] = {s.var: s for s in nest.body if is_load(s)}
    written = core.written((stmt,))
    found = []
    for s in nest.body:
        source = made.get(s.value) if is_store(s) else None
        if source is None or s.array not in once or s.array.dtype != source.array.dtype or source.array in written:
            continue
        prefix, own = s.index[:-len(indices)], s.index[-len(indices):]
        if own == source.index == tuple(indices) and not set(prefix) & defined_in((stmt,)) and fills(
                stmt, s.array, prefix, facts) and all(map(facts.same, s.array.shape[len(prefix):], source.array.shape)):
            found.append(Copy(source.array, s.array, prefix))
    return found


def repeated(nest: For, copy: Copy, once: set) -> list[Arr]:
    """The tapes to which a nest copies elements that it then overwrites, each once."""
    loops: list[For] = []
    while is_whole(nest):
        loops.append(nest)
        inner = [s for s in nest.body if is_range(s)]
        if len(inner) != 1:
            break
        nest = inner[0]
    body, within = loops[-1].body if loops else (), defined_in(tuple(loops[:1]))
    own = {x.index for x in loops}
    made: dict[Atom, Load] = {}
    places: set = set()
    found: list[Arr] = []
    changed = False
    for s in body:
        if is_load(s) and s.array is copy.source and not changed:
            made[s.var] = s
        elif is_store(s) and s.array is copy.source:
            places.add(s.index)
            changed = True              # what is read from here on is new
        elif is_store(s) and s.array in once and s.value in made:
            load = made[s.value]
            if s.array.dtype == load.array.dtype and s.index == (*copy.prefix, *load.index) and own <= set(
                    load.index) and not (within - own) & set(load.index):
                found.append(s.array)
                places.add(load.index)
    writes = [s for s in core.walk(tuple(loops[:1])) if copy.source in core.results(s)]
    return found if len(places) == 1 and all(isinstance(s, Store) and s in body for s in writes) else []


__all__ = ["read_copies"]
