"""Loops whose iterations do not depend on each other, in blocks that threads can take.

    for i in range(n):                    for k in prange(blocks):
        s += f(x[i])                          partial[k] = loss_block(k * n // blocks, (k + 1) * n // blocks, x)
        y[i] = g(x[i])       becomes      for k in range(blocks):
                                              s += partial[k]

A buffer that all iterations add to (the adjoint of parameters, in a loop over data) has a copy for each block, and the
copies are added in order; where they would cost more than the loop, it runs as it is.

The body of a block is a function of its own, with buffers of its own for what one iteration fills and reads, and so is the
loop over blocks: Numba's analysis of threads sees nothing else. The number of blocks does not depend on the number of
threads: the result is the same to the last bit however many there are.
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import Builder, integer, loops
from ..language.core import Alloc, Arr, Call, Carry, Const, For, Function, Let, Load, Ref, Store, Var, While, array_of, walk
from ..language.facts import Facts
from ..language.motion import facts_of
from ..language.names import defined_in, mentioned
from ..language.ops import OWN_FUNCTION
from ..language.queries import allocated_in, allocations, is_access, is_loop, touching
from ..language.substitution import substitute
from ..language.units import unit_of
from .array_contraction import hoist_allocations
from .product_accumulation import ADDING

BLOCKS = 32
PRODUCTS = ("gram", *ADDING, *ADDING.values())
SUMMED = (*core.FLOATS, "int64")
SHARED = 1 << 20        # elements of which a buffer has a copy for each block, at most


def parallelise(function: Function) -> tuple[Function, list[Function]]:
    """The program with its outermost independent loops in blocks, and the functions of the blocks (none: no such loop)."""
    facts = facts_of(function)
    made: list[Function] = []

    def visit(block, nested: bool = False) -> tuple:
        out: list = []
        for s in block:
            if isinstance(s, For) and (not nested or has_loop(s)) and independent(s, facts):
                shared = [a for a in in_order(s) if not own_place(s, a, facts) and only_added_to(s, a)]
                run = in_blocks(s, f"{function.name}_block_{len(made) + 1}", made, shared)
                out.extend(run if not shared else where_worth_it(s, run, shared))
            else:
                inside = nested or is_loop(s)
                out.append(core.with_blocks(s, lambda inner, inside=inside: visit(inner, inside)))
        return tuple(out)
    body = visit(function.body)
    return (replace(function, body=body), made) if made else (function, [])


def has_loop(loop: For) -> bool:
    """Whether an iteration is long enough for threads that are started again and again by an outer loop."""
    return any(is_loop(s) for s in walk(loop.body))


def independent(loop, facts) -> bool:
    """Whether iterations may run at once: what one writes no other touches, and what is carried are sums in any order."""
    if not isinstance(loop, For) or loop.exit is not None or loop.trip is not None or loop.step != integer(1):
        return False
    if not any(isinstance(s, Store) for s in walk(loop.body)) and not loop.carries:
        return False
    for s in walk(loop.body):
        if isinstance(s, (core.Swap, core.Resize, core.Print, core.Guard)) or isinstance(s, Call) and not quiet(s):
            return False
        if isinstance(s, Let) and s.op == "wrap_index":
            return False                # raising an error is for one thread
    reads: dict = {}
    for s in walk((loop,)):
        for x in core.operands(s):
            reads[x] = reads.get(x, 0) + 1
    if not all(c.var.dtype in SUMMED and only_sums(loop.body, c, reads) for c in loop.carries):
        return False
    private = allocated_in(loop.body)
    return all(own_place(loop, a, facts) or only_added_to(loop, a) for a in core.written(loop.body) - private)


def quiet(call: Call) -> bool:
    """Whether a call can raise nothing, whatever it is given."""
    unit = unit_of(call)
    return call.op in PRODUCTS or unit is not None and not unit.raises


def only_added_to(loop: For, array: Arr) -> bool:
    """Whether a loop does nothing with a buffer but add to its elements."""
    return array.dtype in core.FLOATS and all(isinstance(s, Store) and s.accumulate for s in touching(loop.body, array))


def only_sums(body, carry: Carry, reads: dict) -> bool:
    """Whether a carried number is added to, here or in inner loops, and not read otherwise: its terms are then added in
    the order of the blocks."""
    return combined(body, carry, reads, ("sum", "add", "sub"))


def combined(body, carry: Carry, reads: dict, ops) -> bool:
    """Whether a carried number goes through these operations alone, here or in inner loops, and is not read otherwise."""
    made: dict[object, Let] = {s.var: s for s in body if isinstance(s, Let) and s.op in ops}
    inner: dict[object, tuple] = {c.result: (c, s.body) for s in body if isinstance(s, For) and s.exit is None
                                  for c in s.carries}
    v = carry.next
    while v is not carry.var:
        if reads.get(v) != 1:
            return False
        if v in made:
            first, second = made[v].args
            v = first if made[v].op == "sub" or reaches(first, carry, made, inner) else second
        elif v in inner and combined(inner[v][1], inner[v][0], reads, ops):
            v = inner[v][0].init
        else:
            return False
    return reads.get(v) == 1


def reaches(v, carry: Carry, made: dict, inner: dict) -> bool:
    """Whether a value is made of the carried number, as the first operands of the operations say."""
    while v is not carry.var:
        if v in made:
            v = made[v].args[0]
        elif v in inner:
            v = inner[v][0].init
        else:
            return False
    return True


def own_place(loop: For, array: Arr, facts) -> bool:
    """Whether every access to a buffer has, at one axis, the loop's index plus one and the same constant."""
    found = None
    for s in walk(loop.body):
        if is_access(s) and s.array is array:
            here = set()
            for axis, i in enumerate(s.index):
                constant, terms = facts.affine(i)
                if list(terms.items()) == [(loop.index, 1)]:
                    here.add((axis, constant))
            found = here if found is None else found & here
            if not found:
                return False
        elif not isinstance(s, (Load, Store, Alloc)) and any(
                array_of(x) is array for x in core.operands(s)):
            return False
    return bool(found)


def in_order(loop: For) -> list:
    """The buffers from outside that a loop writes, in the order of the text."""
    private = allocated_in(loop.body)
    written = core.written(loop.body) - private
    return [a for a in dict.fromkeys(mentioned(loop.body)) if a in written]


def where_worth_it(loop: For, run: list, shared) -> list:
    """The statements in blocks if the copies of shared buffers are small beside the loop's work, else the loop."""
    b = Builder(Facts())
    trips = b.isub(loop.stop, loop.start)
    cond = b.compare("ge", trips, integer(8 * BLOCKS))
    for a in shared:
        size: core.Atom = integer(1)
        for s in a.shape:
            size = b.imul(size, s)
        whole = any(isinstance(s, For) and any(isinstance(t, Store) and t.array is a for t in walk(s.body))
                    for s in loop.body)             # an iteration goes through the buffer, or through some of it
        small = b.compare("le", size, integer(SHARED)) if whole else b.compare("le", b.imul(size, BLOCKS), trips)
        cond = b.let("and", cond, small, dtype="bool")
    mapping: dict = {}
    serial = substitute((loop,), mapping)
    merges = []
    for c in loop.carries:
        mine = Var(c.result.hint, c.result.dtype)
        run = list(substitute(tuple(run), {c.result: mine}, fresh=False))
        merges.append(core.Merge(c.result, mine, mapping[c.result]))
    return [*b.stmts, core.If(cond, tuple(run), serial, tuple(merges), loop.loc)]


def in_blocks(loop: For, name: str, made: list, shared=()) -> list:
    """Statements that run the loop in blocks; the function of one block is added to `made`."""
    low, high = Var("low", "int64"), Var("high", "int64")
    copies = {a: Arr(f"{a.hint}_parts", a.dtype, (integer(BLOCKS), *a.shape), a.why) for a in shared}
    block = Var("block", "int64")
    inside = defined_in((loop,))
    free = dict.fromkeys(x for x in (*mentioned(loop.body), *(c.next for c in loop.carries))
                         if isinstance(x, (Var, Arr)) and x not in inside)
    sizes = dict.fromkeys(s for a in (*free, *allocations(walk(loop.body)))
                          if isinstance(a, Arr) for s in a.shape if isinstance(s, Var) and s not in inside)
    params = sorted([*(x for x in free if x not in copies), *copies.values(), *(s for s in sizes if s not in free)],
                    key=lambda x: (isinstance(x, Var), x.hint))
    zero = {c: Const(0.0 if core.is_float(c.var) else 0, c.var.dtype) for c in loop.carries}
    begin = Builder(Facts())
    offset, step = begin.imax(low, integer(0)), Var("k", "int64")       # LLVM sees that no index is negative, and vectorises
    for part in copies.values():
        loops(begin, part.shape[1:], lambda b, i, part=part: b.store(part, (block, *i), Const(0.0, part.dtype)))
    own = substitute(loop.body, {a: Ref(part, (block,)) for a, part in copies.items()}, fresh=False)
    body = (Let(loop.index, "add", (step, offset)), *own)
    inner = replace(loop, index=step, start=integer(0), stop=begin.isub(high, offset), body=body, carries=tuple(
        replace(c, init=zero[c], result=Var(c.var.hint, c.var.dtype)) for c in loop.carries))
    returns = tuple(c.result for c in inner.carries) or (integer(0),)
    given = (low, high, *((block,) if copies else ()), *params)
    made.append(hoist_allocations(Function(name, given, (*begin.block(), inner), returns)))
    partial = [Arr(f"{c.var.hint}_parts", c.var.dtype, (integer(BLOCKS),)) for c in loop.carries]
    changed = [x for x in params if isinstance(x, Arr) and (x in core.written(loop.body) or x in copies.values())]
    start, stop, k = Var("start", "int64"), Var("stop", "int64"), Var("k", "int64")
    run = Builder(Facts())
    share = lambda j: run.iadd(start, run.let(  # noqa: E731
        "floordiv", run.imul(j, run.isub(stop, start)), integer(BLOCKS), dtype="int64"))
    first, last = share(k), share(run.iadd(k, 1))
    results = tuple(Var(c.var.hint, c.var.dtype) for c in loop.carries) or (Var("done", "int64"),)
    number = (k,) if copies else ()
    run.add(Call((*results, *changed), OWN_FUNCTION + name, (first, last, *number, *params), loc=loop.loc))
    for p, r in zip(partial, results, strict=False):
        run.store(p, (k,), r)
    each = For(k, integer(0), integer(BLOCKS), integer(1), (), run.block(), loc=loop.loc, origin="parallel")
    threads = Function(f"{name}_threads", (start, stop, *params, *partial), (each,), (integer(0),))
    made.append(threads)
    out: list = [Alloc(p, None, loop.loc) for p in (*partial, *copies.values())]
    out.append(Call((Var("done", "int64"), *changed, *partial), OWN_FUNCTION + threads.name,
                    (loop.start, loop.stop, *params, *partial), loc=loop.loc))
    if loop.carries:
        out.append(total(loop, partial))
    joined = Builder(Facts())
    for a, part in copies.items():
        loops(joined, part.shape, lambda b, i, a=a, part=part: b.store(a, i[1:], b.load(part, i), True))
    return [*out, *joined.stmts]


def total(loop: For, partial) -> For:
    """The sums of what the blocks have summed, in their order."""
    j = Var("j", "int64")
    body: list = []
    carries = []
    for c, p in zip(loop.carries, partial, strict=True):
        head, v, added = (Var(c.var.hint, c.var.dtype) for _ in range(3))
        body += [Load(v, p, (j,)), Let(added, "add", (head, v))]
        carries.append(Carry(head, c.init, added, c.result))
    return For(j, integer(0), integer(BLOCKS), integer(1), tuple(carries), tuple(body), loc=loop.loc)


def hoist_from_sequential(function: Function) -> Function:
    """Buffers are allocated before loops, but for those of loops that `parallelise` can take: threads have their own."""
    function = with_checks_first(function)
    facts = facts_of(function)
    return hoist_allocations(function, lambda loop: independent(loop, facts))


# ---- checks ---------------------------------------------------------------------------------------------
def with_checks_first(function: Function) -> Function:
    """Checks that each iteration makes of what no iteration changes, before the loop, for a loop that runs at all."""
    def visit(block) -> tuple:
        return tuple(t for s in block for t in (
            checks_first(s, function) if isinstance(s, For) else [core.with_blocks(s, visit)]))
    body = visit(function.body)
    return replace(function, body=body)


def checks_first(loop: For, function: Function) -> list:
    """Checks in front of a loop, and the loop without them.

    They are those that nothing precedes in an iteration which may raise another error, or may be seen if one is raised.
    """
    if loop.exit is not None or loop.trip is not None or not any(isinstance(s, core.Guard) for s in loop.body):
        return [loop]
    changing = defined_in((loop,))
    b = Builder(Facts())
    runs = b.compare("le", loop.stop, loop.start)
    first, kept = [*b.stmts], []
    for k, s in enumerate(loop.body):
        if isinstance(s, core.Guard) and changing.isdisjoint(x for x in (s.cond, *s.parts) if isinstance(x, Var)):
            holds = Var("holds", "bool")
            first += [Let(holds, "or", (runs, s.cond)), replace(s, cond=holds)]
        elif isinstance(s, Let) and s.op in EVERYWHERE and changing.isdisjoint(x for x in s.args if isinstance(x, Var)):
            first.append(s)
            changing.discard(s.var)
        elif unseen(s, function):
            kept.append(s)
        else:
            kept += loop.body[k:]
            break
    return [*first, replace(loop, body=tuple(kept))] if any(isinstance(s, core.Guard) for s in first) else [loop]


EVERYWHERE = ("eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "add", "sub", "mul", "min", "max")


def unseen(stmt, function: Function) -> bool:
    """Whether a statement raises nothing, ends, and does nothing that is seen if the function raises an error after it."""
    for s in walk((stmt,)):
        if isinstance(s, (core.Guard, core.Print, While, core.Swap, core.Resize)) or isinstance(s, Call) and not quiet(s):
            return False
        if isinstance(s, Let) and s.op == "wrap_index" or isinstance(s, For) and (s.exit is not None or s.trip is not None):
            return False
    return core.written((stmt,)).isdisjoint(function.params)


__all__ = ["combined", "hoist_from_sequential", "independent", "parallelise"]
