"""Matrix products computed where they are wanted, instead of in memory of their own and then added.

    for t in range(steps):                              for t in range(steps):
        v = empty((n, m))                                   add_matmul(x_bar[t], a, b)
        matmul_into(v, a, b)
        for i in range(n):                   becomes
            for j in range(m):
                x_bar[t, i, j] += v[i, j]

BLAS adds a product to what lies in memory at no cost. The loop must do nothing else, and nothing else may read the product.
A transposed store takes the product of the transposes: (a b)^T = b^T a^T.
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.core import Arr, Function, Ref, array_of, walk
from ..language.motion import facts_of
from ..language.queries import acting, called, calls_in, is_allocation, is_plain, loads, stores
from ..language.rewrite import without

ADDING = {"matmul": "add_matmul"}


def accumulate(function: Function) -> Function:
    """The program with its products put where the only loop that reads them puts them."""
    calls = [s for s in calls_in(function.body) if s.op in ADDING and isinstance(s.outs[0], Arr)]
    if not calls:
        return function
    facts = facts_of(function)
    alone = read_once(function, {c.outs[0] for c in calls})
    gone: set = set()
    body = placed(function.body, alone, facts, gone)
    return replace(function, body=without_memory(body, gone)) if gone else function


def read_once(function: Function, filled: set) -> set:
    """Those buffers, each filled by one call, that one other statement mentions and nothing outside the program sees."""
    uses: dict = {}
    for s in walk(function.body):
        for x in core.operands(s):
            a = array_of(x)
            if isinstance(a, Arr) and not is_allocation(s):
                uses[a] = uses.get(a, 0) + 1
    return {a for a in filled if uses[a] == 2} - set(function.returns) - set(function.params)


def placed(block, alone, facts, gone: set) -> tuple:
    block = [core.with_blocks(s, lambda inner: placed(inner, alone, facts, gone)) for s in block]
    for k, call in enumerate(block):
        if called(call) not in ADDING or call.outs[0] not in alone:
            continue
        product = call.outs[0]
        for later in range(k + 1, len(block)):
            made = taken_over(call, block[later], facts)
            if made is not None:
                block[k], block[later] = None, made
                gone.add(product)
                break
            if core.written((block[later],)) & {as_ref(x).array for x in call.args}:
                break
    return tuple(s for s in block if s is not None)


def taken_over(call, stmt, facts):
    """The product straight into what a nest copies it to or adds it to; None if the nest does anything else."""
    product = call.outs[0]
    stops: dict = {}
    for _ in product.shape:
        inside = acting(stmt.body) if is_plain(stmt) else []
        if len(inside) != 1 and len(stops) + 1 < len(product.shape) or not inside:
            return None
        stops[stmt.index] = stmt.stop
        stmt = inside[0]
    if not len(inside) == 2 == len(loads(inside[:1])) + len(stores(inside[1:])):
        return None
    load, store = inside
    if not (load.array is product and set(load.index) == set(stops)
            and store.value is load.var and store.array.dtype == product.dtype):
        return None
    prefix, place = store.index[:-len(stops)], store.index[-len(stops):]
    if set(place) != set(stops) or set(prefix) & set(stops) or store.array in {as_ref(x).array for x in call.args}:
        return None
    whole = (*zip(load.index, product.shape, strict=True),
             *zip(place, store.array.shape[len(prefix):], strict=True))
    if not all(facts.same(stops[i], size) for i, size in whole):
        return None
    args = call.args
    if place != load.index:
        args = tuple(replace(x, transposed=not x.transposed) for x in map(as_ref, reversed(args)))
    return replace(call, outs=(Ref(store.array, prefix),), op=ADDING[call.op] if store.accumulate else call.op, args=args)


def as_ref(x) -> Ref:
    return Ref(x) if isinstance(x, Arr) else x


def without_memory(block, gone) -> tuple:
    """The block without the memory of what is gone."""
    return without(block, lambda s: is_allocation(s) and s.array in gone)


__all__ = ["accumulate"]
