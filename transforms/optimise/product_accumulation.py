"""Matrix products computed where they are wanted, instead of in memory of their own and then added.

    for t in range(steps):                              for t in range(steps):
        v = empty((n, m))                                   add_matmul(x_bar[t], a, b)
        matmul_into(v, a, b)
        for i in range(n):                   becomes
            for j in range(m):
                x_bar[t, i, j] += v[i, j]

BLAS adds a product to what lies in memory at no cost. The loops must do nothing else, and nothing else may read the product.
Axes of a known length may be written out, as those of the two parts of complex numbers are.
A transposed store takes the product of the transposes: (a b)^T = b^T a^T.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

from ...runtime.library_calls import CALLS
from ..language import core
from ..language.build import integer
from ..language.core import Arr, Const, Function, Ref, Var, array_of, walk
from ..language.motion import facts_of
from ..language.queries import acting, called, calls_in, is_allocation, is_load, is_plain, is_store
from ..language.rewrite import without

ADDING = {name.removeprefix("add_"): name for name, call in CALLS.items() if call.adds}


def accumulate(function: Function) -> Function:
    """The program with its products put where the only loop that reads them puts them."""
    calls = [s for s in calls_in(function.body) if s.op in ADDING and isinstance(s.outs[0], Arr)]
    if not calls:
        return function
    facts = facts_of(function)
    alone = uses_of(function, {c.outs[0] for c in calls})
    gone: set = set()
    body = placed(function.body, alone, facts, gone)
    return replace(function, body=without_memory(body, gone)) if gone else function


def uses_of(function: Function, filled: set) -> dict:
    """How many statements mention each of those buffers that nothing outside the program sees."""
    uses = dict.fromkeys(filled - set(function.returns) - set(function.params), 0)
    for s in walk(function.body):
        for a in {array_of(x) for x in core.operands(s)} & uses.keys() if not is_allocation(s) else ():
            uses[a] += 1
    return uses


def placed(block, alone, facts, gone: set) -> tuple:
    block = [core.with_blocks(s, lambda inner: placed(inner, alone, facts, gone)) for s in block]
    for k, call in enumerate(block):
        if called(call) not in ADDING or call.outs[0] not in alone:
            continue
        product = call.outs[0]
        for later in range(k + 1, len(block)):
            made = taken_over(call, block[later], alone, facts)
            if made is not None:
                block[k], block[later] = None, made
                gone.add(product)
                break
            if core.written((block[later],)) & {as_ref(x).array for x in call.args}:
                break
    return tuple(s for s in block if s is not None)


def taken_over(call, stmt, uses: dict, facts):
    """The product straight into what a nest copies it to or adds it to; None if the nest does anything else."""
    product, found = call.outs[0], moves(stmt)
    if not found or len(found) + 1 != uses[product]:
        return None
    _, first, loops = found[0]
    rank, target = len(product.shape), first.array
    prefix = first.index[:len(first.index) - rank]
    if target.dtype != product.dtype or target in {as_ref(x).array for x in call.args} or set(prefix) & set(loops):
        return None
    turned = rank == 2 and call.op == "matmul"
    for axes in (tuple(range(rank)), *([(1, 0)] if turned else [])):
        if all(load.array is product and store.array is target and store.accumulate == first.accumulate
               and store.index == (*prefix, *(load.index[k] for k in axes)) for load, store, _ in found):
            break
    else:
        return None
    if not all(facts.same(target.shape[len(prefix) + n], product.shape[k]) for n, k in enumerate(axes)) or not all_of(
            product, found, facts):
        return None
    args = call.args
    if axes == (1, 0) and turned:
        args = tuple(replace(x, transposed=not x.transposed) for x in map(as_ref, reversed(args)))
    return replace(call, outs=(Ref(target, prefix),), op=ADDING[call.op] if first.accumulate else call.op, args=args)


def moves(stmt, stops: dict | None = None) -> list | None:
    """(load, store, where the loops around end) for each element that a nest takes to another place; None if it does
    anything else."""
    if not is_plain(stmt):
        return None
    stops = {**(stops or {}), stmt.index: stmt.stop}
    found: list = []
    taken: dict = {}
    for s in acting(stmt.body):
        if is_load(s):
            taken[s.var] = s
        elif is_store(s) and s.value in taken:
            found.append((taken.pop(s.value), s, stops))
        else:
            inner = moves(s, stops)
            if inner is None:
                return None
            found += inner
    return None if taken else found


def all_of(product: Arr, found: list, facts) -> bool:
    """Whether the loads are those of every element of an array once, along an axis by a loop or one by one."""
    first = found[0][0].index
    looped = [k for k, i in enumerate(first) if isinstance(i, Var)]
    listed = [k for k in range(len(first)) if k not in looped]
    sizes = [s.value for s in (product.shape[k] for k in listed) if isinstance(s, Const)]
    if len(sizes) != len(listed) or len(found) != math.prod(sizes):
        return False
    places = set()
    for load, _, stops in found:
        if {load.index[k] for k in looped} != set(stops) or len(looped) != len(stops) or not all(
                facts.same(stops[load.index[k]], product.shape[k]) for k in looped):
            return False
        places.add(tuple(load.index[k] for k in listed))
    return places == {tuple(map(integer, place)) for place in itertools.product(*map(range, sizes))}


def as_ref(x) -> Ref:
    return Ref(x) if isinstance(x, Arr) else x


def without_memory(block, gone) -> tuple:
    """The block without the memory of what is gone."""
    return without(block, lambda s: is_allocation(s) and s.array in gone)


__all__ = ["ADDING", "accumulate"]
