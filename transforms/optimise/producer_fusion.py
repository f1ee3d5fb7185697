"""Joining loops: a temporary that one nest fills and the next one only reads, element by element, is not needed.

    e = empty(n)                                  for i in range(n):
    for i in range(n):                                h[i] = np.tanh(v[i] + x[i])
        e[i] = np.tanh(v[i] + x[i])    becomes
    for i in range(n):
        h[i] = e[i]
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.core import Arr, Function, Ref, array_of, operands, walk, with_blocks, written
from ..language.facts import Facts
from ..language.names import names_in
from ..language.queries import calls_in, counts_up, is_access, is_allocation, is_check, is_loop, loads, operation, stores
from ..language.substitution import substitute


def fuse(function: Function, facts: Facts) -> Function:
    """Remove temporaries between adjacent nests over the same space, until none is left."""
    while True:
        done = fuse_once(function, facts)
        if done is None:
            return function
        function = done


def fuse_once(function: Function, facts: Facts) -> Function | None:
    uses: dict[Arr, list] = {}
    for stmt in walk(function.body):
        for a in operands(stmt):
            if isinstance(a, (Arr, Ref)):
                uses.setdefault(array_of(a), []).append(stmt)
    kept = {r for r in function.returns if isinstance(r, Arr)} | set(function.params)
    found: list = []

    def visit(block):
        places: dict = {}
        for position, stmt in enumerate(block):
            if found:
                break
            if is_allocation(stmt) and stmt.array not in kept:
                joined = join(block, position, uses.get(stmt.array, []), places, facts)
                if joined is not None:
                    found.append(True)
                    return joined
        return tuple(with_blocks(stmt, visit) for stmt in block)

    body = visit(function.body)
    return replace(function, body=body) if found else None


def join(block, position: int, uses, places: dict, facts: Facts):
    """`block` with the temporary allocated at `position` removed; None if it is needed.

    places: in which statement of the block each statement stands; filled when first needed.
    """
    written, read = stores(uses), loads(uses)
    if len(written) != 1 or written[0].accumulate or not read or len(written) + len(read) != len(uses):
        return None
    store, = written
    if not places:
        places.update((inner, k) for k, s in enumerate(block) for inner in walk((s,)))
    first, seconds = places.get(store), {places.get(s) for s in read} - {None}
    if first is None or len(seconds) != 1:
        return None
    second = seconds.pop()
    if second is None or not position < first < second or not all(
            operation(s) or is_allocation(s) or is_check(s) or isinstance(s, core.Comment) for s in block[first + 1:second]):
        return None
    filling, reading = perfect(block[first]), perfect(block[second])
    if filling is None or reading is None:
        return None
    loops, body = filling
    others, tail = reading
    indices = tuple(loop.index for loop in loops)
    if len(loops) != len(others) or store not in body or store.index != indices:
        return None
    if any(not facts.same(p.stop, q.stop) for p, q in zip(loops, others, strict=True)):
        return None
    if any(s not in tail or s.index != tuple(loop.index for loop in others) for s in read):
        return None
    if not independent(body, tail, dict(zip((q.index for q in others), indices, strict=True)), facts):
        return None
    defined_between = {v for s in block[first + 1:second] for v in core.defined(s)}
    if defined_between & {a for s in walk(tail) for a in operands(s)}:
        return None
    mapping: dict = dict(zip((q.index for q in others), indices, strict=True))
    for s in read:
        mapping[s.var] = store.value
    merged = tuple(s for s in body if s is not store) + substitute(
        tuple(s for s in tail if s not in read), mapping, fresh=False)
    nest = rebuild(loops, merged)
    return (*block[:position], *block[position + 1:first], *block[first + 1:second], nest, *block[second + 1:])


def perfect(stmt):
    """(loops, innermost body) of a plain nest from 0 upwards; None if it is anything else."""
    loops = []
    while counts_up(stmt) and not stmt.carries:
        loops.append(stmt)
        if len(stmt.body) == 1 and counts_up(stmt.body[0]):
            stmt = stmt.body[0]
            continue
        if any(is_loop(s) for s in walk(stmt.body)):
            return None
        return loops, stmt.body
    return None


def rebuild(loops, body):
    """The nest of these loops, outermost first, with another innermost body."""
    for loop in reversed(loops):
        body = (replace(loop, body=body),)
    return body[0]


def independent(body, tail, rename: dict, facts: Facts) -> bool:
    """Whether the second body may run right after the first at each index: what one writes the other meets only there."""
    for writes, reads in ((tail, body), (body, tail)):
        for a in written(writes):
            calls = calls_in((*writes, *reads))
            if a in names_in(calls) and a in names_in(reads):
                return False                    # they may touch more than one element
            places = [s.index for s in (*walk(writes), *walk(reads)) if is_access(s) and s.array is a]
            if not any(is_access(s) and s.array is a for s in walk(reads)):
                continue
            plain = [tuple(rename.get(i, i) for i in p) for p in places]
            if any(len(p) != len(plain[0]) or not all(facts.same(i, j) for i, j in zip(p, plain[0], strict=True))
                   for p in plain):
                return False
            if not set(rename.values()) <= set(plain[0]):
                return False
    return True
