"""Loops whose iterations do not depend on each other, in blocks that threads can take.

    for i in range(n):                    for k in prange(blocks):
        s += f(x[i])                          partial[k] = loss_block(k * n // blocks, (k + 1) * n // blocks, x)
        y[i] = g(x[i])       becomes      for k in range(blocks):
                                              s += partial[k]

The body of a block is a function of its own, with buffers of its own for what one iteration fills and reads, and so is the
loop over blocks: Numba's analysis of threads sees nothing else. The number of blocks does not depend on the number of
threads: the result is the same to the last bit however many there are.
"""

from __future__ import annotations

from dataclasses import replace

from . import core
from .build import Builder, Facts, integer
from .cells import hoist_allocations
from .core import Alloc, Arr, Call, Carry, Const, For, Function, Let, Load, Ref, Store, Var, While, walk
from .motion import facts_of
from .ops import OWN_FUNCTION
from .split import defined_in, mentioned

BLOCKS = 32


def parallelise(function: Function) -> tuple[Function, list[Function]]:
    """The program with its outermost independent loops in blocks, and the functions of the blocks (none: no such loop)."""
    facts = facts_of(function)
    made: list[Function] = []

    def visit(block, nested: bool = False) -> tuple:
        out: list = []
        for s in block:
            if isinstance(s, For) and (not nested or has_loop(s)) and independent(s, facts):
                out.extend(in_blocks(s, f"{function.name}_block_{len(made) + 1}", made))
            else:
                inside = nested or isinstance(s, (For, While))
                out.append(core.with_blocks(s, lambda inner, inside=inside: visit(inner, inside)))
        return tuple(out)
    body = visit(function.body)
    return (replace(function, body=body), made) if made else (function, [])


def has_loop(loop: For) -> bool:
    """Whether an iteration is long enough for threads that are started again and again by an outer loop."""
    return any(isinstance(s, (For, While)) for s in walk(loop.body))


def independent(loop, facts) -> bool:
    """Whether iterations may run at once: what one writes no other touches, and what is carried are sums in any order."""
    if not isinstance(loop, For) or loop.exit is not None or loop.trip is not None or loop.step != integer(1):
        return False
    if not any(isinstance(s, Store) for s in walk(loop.body)) and not loop.carries:
        return False
    for s in walk(loop.body):
        if isinstance(s, (core.Swap, core.Resize, core.Print, core.Guard, Call)):
            return False
        if isinstance(s, Let) and s.op == "wrap_index":
            return False                # raising an error is for one thread
    reads: dict = {}
    for s in walk((loop,)):
        for x in core.operands(s):
            reads[x] = reads.get(x, 0) + 1
    if not all(c.var.dtype in core.FLOATS and only_sums(loop.body, c, reads) for c in loop.carries):
        return False
    private = {s.array for s in walk(loop.body) if isinstance(s, Alloc)}
    return all(own_place(loop, a, facts) for a in core.written(loop.body) - private)


def only_sums(body, carry: Carry, reads: dict) -> bool:
    """Whether a carried number is added to, here or in inner loops, and not read otherwise."""
    made: dict[object, Let] = {s.var: s for s in body if isinstance(s, Let) and s.op == "sum"}
    inner: dict[object, tuple] = {c.result: (c, s.body) for s in body if isinstance(s, For) for c in s.carries}
    v = carry.next
    while v is not carry.var:
        if reads.get(v) != 1:
            return False
        if v in made:
            v = made[v].args[0]
        elif v in inner and only_sums(inner[v][1], inner[v][0], reads):
            v = inner[v][0].init
        else:
            return False
    return reads.get(v) == 1


def own_place(loop: For, array: Arr, facts) -> bool:
    """Whether every access to a buffer has, at one axis, the loop's index plus one and the same constant."""
    found = None
    for s in walk(loop.body):
        if isinstance(s, (Load, Store)) and s.array is array:
            here = set()
            for axis, i in enumerate(s.index):
                constant, terms = facts.affine(i)
                if list(terms.items()) == [(loop.index, 1)]:
                    here.add((axis, constant))
            found = here if found is None else found & here
            if not found:
                return False
        elif not isinstance(s, (Load, Store, Alloc)) and any(
                (x.array if isinstance(x, Ref) else x) is array for x in core.operands(s)):
            return False
    return bool(found)


def in_blocks(loop: For, name: str, made: list) -> list:
    """Statements that run the loop in blocks; the function of one block is added to `made`."""
    low, high = Var("low", "int64"), Var("high", "int64")
    inside = defined_in((loop,))
    free = dict.fromkeys(x for x in (*mentioned(loop.body), *(c.next for c in loop.carries))
                         if isinstance(x, (Var, Arr)) and x not in inside)
    sizes = dict.fromkeys(s for a in (*free, *(s.array for s in walk(loop.body) if isinstance(s, Alloc)))
                          if isinstance(a, Arr) for s in a.shape if isinstance(s, Var) and s not in inside)
    params = sorted([*free, *(s for s in sizes if s not in free)], key=lambda x: (isinstance(x, Var), x.hint))
    zero = {c: Const(0.0, c.var.dtype) for c in loop.carries}
    begin = Builder(Facts())
    offset, step = begin.imax(low, integer(0)), Var("k", "int64")       # LLVM sees that no index is negative, and vectorises
    body = (Let(loop.index, "add", (step, offset)), *loop.body)
    inner = replace(loop, index=step, start=integer(0), stop=begin.isub(high, offset), body=body, carries=tuple(
        replace(c, init=zero[c], result=Var(c.var.hint, c.var.dtype)) for c in loop.carries))
    returns = tuple(c.result for c in inner.carries) or (integer(0),)
    made.append(hoist_allocations(Function(name, (low, high, *params), (*begin.block(), inner), returns)))
    partial = [Arr(f"{c.var.hint}_parts", c.var.dtype, (integer(BLOCKS),)) for c in loop.carries]
    changed = [x for x in params if isinstance(x, Arr) and x in core.written(loop.body)]
    start, stop, k = Var("start", "int64"), Var("stop", "int64"), Var("k", "int64")
    run = Builder(Facts())
    share = lambda j: run.iadd(start, run.let(  # noqa: E731
        "floordiv", run.imul(j, run.isub(stop, start)), integer(BLOCKS), dtype="int64"))
    first, last = share(k), share(run.iadd(k, 1))
    results = tuple(Var(c.var.hint, c.var.dtype) for c in loop.carries) or (Var("done", "int64"),)
    run.add(Call((*results, *changed), OWN_FUNCTION + name, (first, last, *params), loc=loop.loc))
    for p, r in zip(partial, results, strict=False):
        run.store(p, (k,), r)
    each = For(k, integer(0), integer(BLOCKS), integer(1), (), run.block(), loc=loop.loc, origin="parallel")
    threads = Function(f"{name}_threads", (start, stop, *params, *partial), (each,), (integer(0),))
    made.append(threads)
    out: list = [Alloc(p, None, loop.loc) for p in partial]
    out.append(Call((Var("done", "int64"), *changed, *partial), OWN_FUNCTION + threads.name,
                    (loop.start, loop.stop, *params, *partial), loc=loop.loc))
    if loop.carries:
        out.append(total(loop, partial))
    return out


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


__all__ = ["independent", "parallelise"]
