"""Long sums that few threads collect: cut in chunks, which other threads add up first.

                                              chunks = device.chunks(m, n)
    for j in range(m):          # threads     for c in range(chunks):                         # threads
        s = b_bar[j]                              for j in range(m):                          # threads
        for i in range(n):        becomes             parts[c, j] = sum of g[i, j] over the chunk's i
            s += g[i, j]                      for j in range(m):                              # threads
        b_bar[j] = s                              b_bar[j] += sums[j]            # of parts[:, j]

The number of chunks follows from the sizes alone, so that a result is the same in every run; where it is 1 the nest runs as
it was.
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import Builder, integer, product
from ..language.core import Arr, Carry, Const, Function, Ref, Var, walk
from ..language.facts import Facts
from ..language.motion import facts_of
from ..language.names import defined_in
from ..language.queries import is_ordinary, is_range, is_simple, is_whole, loaded_in, stores
from ..language.rewrite import top_down
from ..language.substitution import substitute
from .nests import collapsed, count_reads, is_nest, reduction

CHUNKS = "chunks"           # the call that says in how many chunks a sum is cut
FOLD = "fold"               # the call that adds up the rows of an array


def in_chunks(function: Function) -> Function:
    """The program with long sums in chunks, where there are few threads for them."""
    facts = facts_of(function)

    def cut(s):
        if not is_nest(s, facts):
            return None
        long = long_sum(s, facts)
        return [s] if long is None else chunked(s, *long)
    return replace(function, body=top_down(function.body, cut))


def long_sum(nest, facts: Facts):
    """(loops of threads, the one loop in which each thread adds up); None if there is none, or something else besides."""
    loops = collapsed(nest, facts)
    if any(loop.carries or loop.step != integer(1) for loop in loops):
        return None
    body = loops[-1].body
    sums = [s for s in body if not is_simple(s)]
    if len(sums) != 1 or not is_range(sums[0]):
        return None
    loop = sums[0]
    inside = defined_in((nest,))
    reads = count_reads(loop)
    fixed = loop.step == integer(1) and is_whole(loop) and loop.start not in inside and loop.stop not in inside
    if not fixed or not loop.carries or any(reduction(loop, c, reads) != "sum" for c in loop.carries):
        return None
    pure = all(map(is_ordinary, walk(loop.body))) and not core.written(loop.body)
    stored_first = stores(body[:body.index(loop)])
    rereads = loaded_in(loop.body) & core.written(body)
    return (loops, loop) if pure and not stored_first and not rereads else None


def chunked(nest, loops: list, loop) -> list:
    """The nest in both forms, and the choice between them."""
    b = Builder(Facts())
    extents = [b.imax(b.isub(s.stop, s.start), 0) for s in loops]
    owners = product(b, extents)
    turns = b.isub(loop.stop, loop.start)
    count = Var("chunks", "int64")
    b.call((count,), CHUNKS, (owners, turns), loc=loop.loc)
    several = b.compare("gt", count, integer(1))
    then = Builder(Facts())
    length = then.let("floordiv", then.isub(then.iadd(turns, count), 1), count, dtype="int64")
    parts = [then.alloc(f"{c.var.hint}_parts", c.var.dtype, (count, *extents)) for c in loop.carries]
    first_part(then, loops, loop, parts, count, length)
    sums = [then.alloc(c.var.hint, c.var.dtype, extents) for c in loop.carries]
    for part, whole in zip(parts, sums, strict=True):
        then.call((whole,), FOLD, (Ref(part),), loc=loop.loc)
    then.add(second_part(loops, loop, sums))
    b.branch(several, then.block(), (nest,), (), loop.loc)
    return b.stmts


def around(loops: list, body: tuple, mapping: dict):
    """Loops as those given, with other indices, around a body that speaks of the old ones; what else stood in them stays."""
    for k in range(len(loops) - 1, -1, -1):
        s = loops[k]
        if k < len(loops) - 1:
            body = tuple(x for t in s.body for x in (body if t is loops[k + 1] else (t,)))
        body = (replace(s, body=body),)
    return substitute(body, mapping)[0]


def places(loops: list, b: Builder) -> tuple:
    return tuple(b.isub(s.index, s.start) for s in loops)


def first_part(then: Builder, loops: list, loop, parts: list[Arr], count, length) -> None:
    """Emit the nest in which each thread adds up one chunk."""
    chunk = Var("chunk", "int64")
    b = Builder(Facts())
    low = b.iadd(loop.start, b.imul(chunk, length))
    high = b.imin(b.iadd(low, length), loop.stop)
    results = [Var(c.result.hint, c.result.dtype) for c in loop.carries]
    carries = tuple(Carry(c.var, Const(0.0 if core.is_float(c.var) else 0, c.var.dtype), c.next, r)
                    for c, r in zip(loop.carries, results, strict=True))
    index = places(loops, b)
    b.add(replace(loop, start=low, stop=high, carries=carries))
    for part, r in zip(parts, results, strict=True):
        b.store(part, (chunk, *index), r)
    before = loops[-1].body[:loops[-1].body.index(loop)]
    then.repeat(chunk, 0, count, (around(loops, (*before, *b.stmts), {}),), loc=loop.loc, origin="reverse")


def second_part(loops: list, loop, sums: list[Arr]):
    """The nest in which each thread takes the sum of its chunks."""
    b = Builder(Facts())
    index = places(loops, b)
    for c, array in zip(loop.carries, sums, strict=True):
        found = b.load(array, index)
        b.bind(c.result, "sum" if core.is_float(found) else "add", c.init, found)
    own = loops[-1].body
    position = own.index(loop)
    return around(loops, (*own[:position], *b.stmts, *own[position + 1:]), {})


__all__ = ["CHUNKS", "FOLD", "in_chunks"]
