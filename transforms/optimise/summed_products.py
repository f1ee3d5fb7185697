"""Products of matrices of which only the sum of the rows is wanted become products with a vector.

    v = empty((n, m))                          a_size = a.shape[1]
    matmul_into(v, a, b)                       sums = zeros(a_size)
    for i in range(n):                         for i in range(a.shape[0]):
        for j in range(m):                         for j in range(a_size):
            mu_bar[j] -= v[i, j]    becomes            sums[j] += a[i, j]
                                               v = empty(m)
                                               matmul_into(v, sums, b)
                                               for j in range(m):
                                                   mu_bar[j] -= v[j]

This is the adjoint of what was broadcast before a product, as the mean in `(x - mu) @ w`: n m l multiplications become m l.
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import Builder, loops
from ..language.core import Arr, Const, Function, Var
from ..language.motion import facts_of
from ..language.queries import acting, called, calls_in, is_addition, is_plain, loads, operation, sole
from .product_accumulation import as_ref, uses_of, without_memory


def sum_first(function: Function) -> Function:
    """The program with the sums of its products taken before the products."""
    calls = [s for s in calls_in(function.body) if s.op == "matmul" and isinstance(s.outs[0], Arr)
             and all(len(as_ref(x).shape) == 2 for x in s.args)]
    if not calls:
        return function
    alone = {a for a, n in uses_of(function, {c.outs[0] for c in calls}).items() if n == 2}
    facts = facts_of(function)
    gone: set = set()
    body = visited(function.body, alone, facts, gone)
    return replace(function, body=without_memory(body, gone)) if gone else function


def visited(block, alone: set, facts, gone: set) -> tuple:
    block = tuple(core.with_blocks(s, lambda inner: visited(inner, alone, facts, gone)) for s in block)
    for call in block:
        if called(call) != "matmul" or call.outs[0] not in alone:
            continue
        k = block.index(call)
        for later in range(k + 1, len(block)):
            made = summed(call, block[later], facts)
            if made is not None:
                before, nest = made
                block = (*block[:k], *before, *block[k + 1:later], nest, *block[later + 1:])
                gone.add(call.outs[0])
                break
    return block


def summed(call, stmt, facts):
    """(the product of the sum, the loop that reads it) for a nest that only adds up the product; None for any other."""
    product, (a, b) = call.outs[0], map(as_ref, call.args)
    inner = sole(stmt.body) if is_plain(stmt) else None
    if not is_plain(inner):
        return None
    body = acting(inner.body)
    load = next(iter(loads(body[:1])), None)
    if load is None or load.array is not product:
        return None
    stops = {stmt.index: stmt.stop, inner.index: inner.stop}
    if set(load.index) != set(stops) or not all(
            facts.same(stops[i], size) for i, size in zip(load.index, product.shape, strict=True)):
        return None
    i, j = load.index
    if any(i in core.operands(s) for s in body[1:]) or not adds(load.var, body[1:]):
        return None
    builder = Builder(facts)
    row = builder.alloc("sums", a.dtype, a.shape[1:], Const(0.0, a.dtype))
    loops(builder, a.shape, lambda inside, index: inside.store(
        row, index[1:], inside.load(a.array, a.prefix + (index[::-1] if a.transposed else index)), True))
    result = builder.alloc(product.hint, product.dtype, product.shape[1:])
    before = (*builder.stmts, replace(call, outs=(result,), args=(row, b)))
    rest = stmt if stmt.index is j else inner
    return before, replace(rest, body=(replace(load, array=result, index=(j,)), *body[1:]))


def adds(v: Var, body) -> bool:
    """Whether statements add a multiple of `v` somewhere, and do nothing else."""
    own = [v]                       # v and its multiples: the product of two of them is none
    for s in body[:-1]:
        used = [x for x in s.args if x in own] if operation(s) in ("neg", "mul") else []
        if len(used) != 1 or used[0] is not own[-1]:
            return False
        own.append(s.var)
    last = body[-1] if body else None
    return is_addition(last) and last.value is own[-1] and not set(own) & set(last.index)


__all__ = ["sum_first"]
