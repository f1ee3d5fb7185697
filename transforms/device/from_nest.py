"""From a nest of independent loops to a kernel: one thread an iteration.

    for i in range(n):                    def kernel(n, x, s_parts):
        s = np.add(s, x[i] * x[i])            i = cuda.grid(1)
                                              if i < n:
                              becomes             s = x[i] * x[i]
                                              else:
                                                  s = 0.0
                                              total = block_sum(s)
                                              if place() == 0:
                                                  s_parts[block()] = total

Threads lie along the loop that walks along rows; the loops around it make rows of threads. What loops sum up is summed in
blocks, in a fixed order; what only the device knows is read from cells, arrays of one element. Buffers of one iteration are
local arrays where their size is a constant, else parts of an array for all threads, in which neighbours stand together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..language import core
from ..language.build import Builder, integer
from ..language.core import Alloc, Arr, Call, Const, For, Function, If, Let, Load, Merge, Ref, Store, Var, walk
from ..language.errors import UnsupportedOnDevice
from ..language.facts import Facts
from ..language.names import defined_in, mentioned
from ..language.queries import allocated_in, is_access
from ..language.rewrite import top_down
from ..language.substitution import substitute
from .nests import Accesses, collapsed, count_reads, neutral_element, offset, owned, reduction

MOST_LOCAL = 64             # elements of a thread's own array; larger ones lie in device memory
DEVICE = "device."          # what the operations begin with that only kernels have
ATOMIC_ADD = "atomic_add"


@dataclass(frozen=True)
class Kernel:
    """A kernel and how it is launched.

    extents: how many threads there are along each loop, the loop along rows last. totals: for each number that the nest
    sums up its carry, how ("sum", "max", "min", "mul") and the array of the blocks' parts. memory: arrays for the buffers of
    all threads. atomics: where threads add to one element in an order that is not fixed.
    """

    function: Function
    extents: tuple
    totals: tuple
    memory: tuple
    atomics: tuple


def kernel_of(loop: For, name: str, facts: Facts, cells: dict, b: Builder, failed: Arr, alone: bool = False) -> Kernel:
    """The kernel of a nest; `b` gets what the host computes for its launch.

    cells: numbers that only the device knows, and where they are. failed: the array that checks write to.
    alone: there is one thread.
    """
    loops = collapsed(loop, facts)
    reads = count_reads(loop)
    kinds = [reduction(loop, c, reads) or "sum" for c in loop.carries]
    mapping: dict = {c.var: neutral_element(k, c.var.dtype) for c, k in zip(loop.carries, kinds, strict=True)}
    body = list(flattened(loops, 0, mapping))
    values = [mapping.get(c.next, c.next) for c in loop.carries]
    atomics: list = []
    if not alone:
        body = list(with_atomics(body, loops, Accesses(loop, facts), atomics))
    order = in_rows(loops, body, facts)
    extents = tuple(turns(s, b) for s in order)
    raw = [Var(f"{s.index.hint}", "int64") for s in order]
    for thread, s in zip(raw, order, strict=True):
        thread.hint = s.index.hint if counts_from_zero(s) else "thread"
    memory: list = []
    body = list(with_memory(tuple(body), tuple(raw), extents, memory))
    inside = defined_in(tuple(body))
    for array in memory:
        if inside.intersection(array.shape):
            raise unknown_size(array, loop.loc)
    renamed: dict = {}
    head = places(raw, extents, order, renamed)
    return assemble(name, head, raw, extents, body, renamed, loop, kinds, values, memory, atomics, cells, failed)


def unknown_size(array: Arr, loc) -> UnsupportedOnDevice:
    """The error for memory whose size the host does not know."""
    return UnsupportedOnDevice(f"the size of `{array.hint}` is computed on the device", loc,
                               "let it follow from the shapes of the arguments, or from numbers passed")


def flattened(loops: list[For], k: int, mapping: dict):
    """The statements of one thread: the loops from number k inwards run one iteration each."""
    for s in loops[k].body:
        if k + 1 < len(loops) and s is loops[k + 1]:
            for c in s.carries:
                mapping[c.var] = mapping.get(c.init, c.init)
            yield from flattened(loops, k + 1, mapping)
            for c in s.carries:
                mapping[c.result] = mapping.get(c.next, c.next)
            continue
        made = substitute((s,), mapping, fresh=False)[0]
        if isinstance(made, Let) and made.op in ("sum", "add") and any(is_zero(x) for x in made.args) \
                and any(x in mapping for x in s.args):          # what the loops around begin with
            mapping[made.var] = made.args[1] if is_zero(made.args[0]) else made.args[0]
            continue
        yield made


def is_zero(atom) -> bool:
    return isinstance(atom, Const) and atom.value == 0 and not str(atom.value).startswith("-")


def with_atomics(block, loops, known: Accesses, found: list) -> tuple:
    """The block with additions that several threads may make to one element as atomic ones, which `found` gets."""
    def change(s):
        if not isinstance(s, Store) or not s.accumulate or s.array in private_of(loops) or all(
                owned(loop, s, known) for loop in loops):
            return None
        found.append(s)
        return (Call((Ref(s.array, s.index),), ATOMIC_ADD, (s.value,), loc=s.loc),)
    return top_down(block, change)


def private_of(loops) -> set:
    return allocated_in(loops[0].body)


def in_rows(loops: list[For], body, facts: Facts) -> list[For]:
    """The loops in the order of the threads: last the one whose index most often is the last subscript."""
    if len(loops) == 1:
        return loops
    inside = defined_in((loops[0],))
    scores = dict.fromkeys(loops, 0)
    for s in walk(tuple(body)):
        index = s.index if is_access(s) else ()
        for loop in loops:
            if index and offset(index[-1], loop.index, inside - {x.index for x in loops}, facts) is not None:
                scores[loop] += 1
    last = max(loops, key=lambda loop: (scores[loop], loops.index(loop)))
    return [*(x for x in loops if x is not last), last]


def places(raw, extents, order, renamed: dict) -> list:
    """The statements that say which iteration a thread runs; `renamed` gets what stands for the loops' indices."""
    head: list = [Let(raw[-1], DEVICE + "column", ())]
    if len(raw) == 2:
        head.append(Let(raw[0], DEVICE + "row", ()))
    elif len(raw) > 2:
        rest = Var("row", "int64")
        head.append(Let(rest, DEVICE + "row", ()))
        for thread, extent in zip(raw[-2:0:-1], extents[-2:0:-1], strict=True):
            further = Var("row", "int64")
            head += [Let(thread, "mod", (rest, extent)), Let(further, "floordiv", (rest, extent))]
            rest = further
        head.append(Let(raw[0], "copy", (rest,)))
    for thread, loop in zip(raw, order, strict=True):
        if counts_from_zero(loop):
            renamed[loop.index] = thread
            continue
        renamed[loop.index] = Var(loop.index.hint, "int64")
        if loop.step != integer(1):
            thread, steps = Var("steps", "int64"), thread
            head.append(Let(thread, "mul", (loop.step, steps)))
        head.append(Let(renamed[loop.index], "add", (thread, loop.start)))
    return head


def counts_from_zero(loop: For) -> bool:
    return loop.start == integer(0) and loop.step == integer(1)


def turns(loop: For, b: Builder):
    """How often a loop runs; nothing positive if not at all."""
    step = core.known_value(loop.step)
    first, last = (loop.start, loop.stop) if step > 0 else (loop.stop, loop.start)
    width = b.isub(last, first)
    return width if abs(step) == 1 else b.let("floordiv", b.iadd(width, abs(step) - 1), integer(abs(step)), dtype="int64")


def with_memory(block, threads: tuple, extents, memory: list) -> tuple:
    """The block with its large buffers, and those of unknown size, as parts of arrays for all threads."""
    moved: dict = {}
    out = []
    for s in block:
        if isinstance(s, Alloc) and not is_small(s.array):
            whole = Arr(s.array.hint, s.array.dtype, (*s.array.shape, *extents), "one for each thread")
            memory.append(whole)
            moved[s.array] = whole
            if s.fill is not None:
                out.extend(filled(whole, s.array.shape, threads, s.fill))
        elif isinstance(s, Alloc) and s.fill is not None:
            out += [replace(s, fill=None), *filled(s.array, s.array.shape, (), s.fill)]
        else:
            out.append(core.with_blocks(s, lambda inner: with_memory(inner, threads, extents, memory)))
    return located(out, moved, threads) if moved else tuple(out)


def located(block, moved: dict, threads) -> tuple:
    """The block with the thread's subscripts after those of buffers that have become parts of larger ones."""
    return top_down(block, lambda s: (replace(s, array=moved[s.array], index=(*s.index, *threads)),) if isinstance(
        s, (Load, Store)) and s.array in moved else None)


def is_small(array: Arr) -> bool:
    size = 1
    for s in array.shape:
        if not isinstance(s, Const):
            return False
        size *= s.value
    return size <= MOST_LOCAL


def filled(array: Arr, shape, threads, fill) -> list:
    """Loops that give every element of a buffer a value."""
    indices = [Var("ijkl"[k % 4], "int64") for k in range(len(shape))]
    body: tuple = (Store(array, (*indices, *threads), fill),)
    for index, stop in zip(reversed(indices), reversed(shape), strict=True):
        body = (For(index, integer(0), stop, integer(1), (), body, origin="array"),)
    return list(body)


def assemble(name, head, raw, extents, body, renamed, loop, kinds, values, memory, atomics, cells, failed) -> Kernel:
    """The kernel put together: who a thread is, its work, what blocks sum up."""
    body = list(substitute(tuple(body), renamed, fresh=False))
    values = [renamed.get(v, v) for v in values]
    inside = defined_in((*head, *body))
    free = dict.fromkeys(x for x in (*mentioned((*head, *body)), *values, *extents)
                         if isinstance(x, (Var, Arr)) and x not in inside)
    read = [Load(v, cells[v], (integer(0),)) for v in free if isinstance(v, Var) and v in cells]
    here = Builder(Facts())
    cond: core.Atom = Const(True, "bool")
    for thread, extent in zip(raw, extents, strict=True):
        cond = here.let("and", cond, here.compare("lt", thread, extent), dtype="bool")
    merges, blocks, totals, parts_of = [], [], [], []
    for c, kind, value in zip(loop.carries, kinds, values, strict=True):
        mine, ours = Var(c.var.hint, c.var.dtype), Var(f"block_{c.var.hint}", c.var.dtype)
        merges.append(Merge(mine, value, neutral_element(kind, c.var.dtype)))
        parts = Arr(f"{c.var.hint}_parts", c.var.dtype, (Var("blocks", "int64"),))
        blocks.append(Let(ours, f"{DEVICE}block_{kind}", (mine,)))
        totals.append((c, kind, parts))
        parts_of.append((ours, parts))
    statements: list = [*head, *here.stmts, If(cond, (*read, *body), (), tuple(merges), loop.loc), *blocks]
    if totals:
        place, number, first = Var("place", "int64"), Var("number", "int64"), Var("first", "bool")
        stores = tuple(Store(parts, (number,), ours) for ours, parts in parts_of)
        statements += [Let(place, DEVICE + "place", ()), Let(first, "eq", (place, integer(0))),
                       If(first, (Let(number, DEVICE + "block", ()), *stores), ())]
    arrays = [x for x in free if isinstance(x, Arr) and x is not failed]
    checks = any(isinstance(s, Let) and s.op == "wrap_index" for s in walk(tuple(body))) or failed in free
    numbers = [v for v in free if isinstance(v, Var) and v not in cells]
    params = (*numbers, *(cells[v] for v in free if v in cells), *arrays,
              *(parts for _, _, parts in totals), *((failed,) if checks else ()))
    return Kernel(Function(name, tuple(dict.fromkeys(params)), tuple(statements), ()), extents, tuple(totals), tuple(memory),
                  tuple(atomics))


__all__ = ["ATOMIC_ADD", "DEVICE", "Kernel", "kernel_of"]
