"""An element that stays the same throughout a loop is held in a scalar: loaded before the loop, stored after it.

    for i in range(n):                            for i in range(n):
        for k in range(m):                            u_1 = u[i]
            r_bar[i] += g[k] * u[i]                   r_bar_1 = r_bar[i]
                                       becomes        for k in range(m):
                                                          r_bar_1 = np.add(r_bar_1, g[k] * u_1)
                                                      r_bar[i] = r_bar_1

LLVM cannot do this, since for all it knows two arrays overlap. An element is moved out of a loop only if it is known to
exist even where the loop does not run at all. What branches of a reverse sweep add to one element, in an array that the
loop only adds to, is added after the loop too, as what all points do to a point whose index `if j != i` leaves out.

Source: D. Callahan, S. Carr and K. Kennedy, Improving register allocation for subscripted variables, PLDI 1990.
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.core import Alloc, Arr, Carry, Const, For, Function, If, Let, Load, Merge, Store, Var, operands, walk
from ..language.motion import facts_of, in_range, learn_check
from ..language.names import defined_in
from ..language.queries import is_access, is_check, only_added_freely, operations, stores
from ..language.substitution import substitute
from .store_forwarding import distinct


def promote(function: Function, threads: bool = False) -> Function:
    """Every loop's fixed elements in scalars, innermost loops first.

    threads: the outermost loops may run as threads, for which only sums are taken out.
    """
    tests = operations(function.body, lambda s: s.var.dtype == "bool")
    return replace(function, body=promoted(
        function.body, facts_of(function), core.rebound(function.body), threads, tests))


def promoted(block, facts, fixed: set, threads: bool = False, tests: dict | None = None) -> tuple:
    """tests: in the outermost block, the conditions that its checks make true for all that follows."""
    out: list = []
    for s in block:
        if tests and is_check(s):
            learn_check(facts, s.cond, tests)
        s = core.with_blocks(s, lambda inner: promoted(inner, facts, fixed))
        before, s, after = from_loop(s, facts, fixed, threads) if isinstance(s, For) else ([], s, [])
        out += [*before, s, *after]
    return tuple(out)


def from_loop(loop: For, facts, fixed: set, threads: bool = False):
    """(loads before, loop, stores after)."""
    inside, written = defined_in((loop,)), core.written(loop.body)
    before: list = []
    after: list = []
    sums: list = []             # behind what is stored after the loop, which may be the same element
    if not threads and loop.exit is None:
        for array, index in added_in_branches(loop):
            if array not in fixed | inside and not any(i in inside for i in index) and in_range(facts, array, index) and \
                    only_added_freely(loop.body, array):
                loop = with_partial_sum(loop, array, index, sums)
    for array, places in elements(loop).items():
        if array in fixed or array in inside or places is None:
            continue
        for index, direct in places.items():
            if not direct or any(i in inside for i in index) or not in_range(facts, array, index):
                continue
            alone = array not in written or all(distinct(index, other) for other in places if other != index)
            if threads:
                if only_added(loop, array) and loop.exit is None:
                    loop = with_partial_sum(loop, array, index, after)
            elif any(isinstance(s, Store) for s in direct):
                if loop.exit is not None:
                    continue
                if alone:
                    loop = with_carry(loop, array, index, before, after)
                elif only_added_freely(loop.body, array):
                    loop = with_partial_sum(loop, array, index, after)
            elif alone:
                loop = with_load(loop, array, index, before)
    return before, loop, [*after, *sums]


def elements(loop: For) -> dict:
    """Buffer -> index -> accesses in the loop's own block; None for a buffer that something deeper writes or touches."""
    found: dict[Arr, dict | None] = {}
    own = set(loop.body)
    written = core.written(loop.body)
    for s in walk(loop.body):
        match s:
            case Load(array=a, index=index) | Store(array=a, index=index):
                places = found.setdefault(a, {})
                if places is None:
                    continue
                if s in own:
                    places.setdefault(index, []).append(s)
                elif a in written:
                    found[a] = None
            case Alloc():
                pass
            case _:
                for x in operands(s):
                    a = core.array_of(x)
                    if isinstance(a, Arr) and (a in written or not isinstance(s, core.Call)):
                        found[a] = None
    return found


def only_added(loop: For, array: Arr) -> bool:
    return all(isinstance(s, Store) and s.accumulate for s in loop.body if is_access(s) and s.array is array)


def with_load(loop: For, array: Arr, index, before: list) -> For:
    loads = [s for s in loop.body if isinstance(s, Load) and s.array is array and s.index == index]
    before.append(loads[0])
    mapping = {s.var: loads[0].var for s in loads[1:]}
    loop = replace(loop, body=tuple(s for s in loop.body if s not in loads))
    return substitute((loop,), mapping, fresh=False)[0] if mapping else loop


def added_in_branches(loop: For) -> list:
    """(buffer, index) of what the iterations add to in branches, of buffers that they do nothing else with."""
    found: dict = {}
    outside = {id(s) for s in without_loops(loop.body)}
    for s in walk(loop.body):
        for array in {core.array_of(x) for x in (*operands(s), *core.results(s))}:
            if isinstance(array, Arr) and not (isinstance(s, Store) and s.accumulate and id(s) in outside):
                found[array] = None
        if isinstance(s, Store) and found.setdefault(s.array, {}) is not None:
            found[s.array][s.index] = found[s.array].get(s.index, False) or not any(s is t for t in loop.body)
    return [(array, index) for array, places in found.items() if places for index, deep in places.items() if deep]


def without_loops(block):
    """The statements of a block and of the branches in it."""
    for s in block:
        yield s
        if isinstance(s, If):
            yield from without_loops((*s.then, *s.orelse))


def with_partial_sum(loop: For, array: Arr, index, after: list) -> For:
    """What the iterations add to one of several elements, added once; the order of these sums is free."""
    head, result = Var(array.hint, array.dtype), Var(array.hint, array.dtype)
    body, value = summed(loop.body, array, index, head)
    kind = next(s.accumulate for s in stores(walk(loop.body)) if s.array is array)
    after.append(Store(array, index, result, kind, loc=loop.loc))
    return replace(loop, body=body, carries=(*loop.carries, Carry(head, Const(0.0, array.dtype), value, result)))


def summed(block, array: Arr, index, value: core.Atom) -> tuple[tuple, core.Atom]:
    """A block that adds to `value` what it adds to an element, and the sum."""
    body: list = []
    for s in block:
        if isinstance(s, Store) and s.array is array and s.index == index:
            total = Var(array.hint, array.dtype)
            body.append(Let(total, "sum", (value, s.value), s.loc))
            value = total
        elif isinstance(s, If):
            then, by_then = summed(s.then, array, index, value)
            orelse, by_else = summed(s.orelse, array, index, value)
            if by_then != value or by_else != value:
                total = Var(array.hint, array.dtype)
                s = replace(s, then=then, orelse=orelse, merges=(*s.merges, Merge(total, by_then, by_else)))
                value = total
            body.append(s)
        else:
            body.append(s)
    return tuple(body), value


def with_carry(loop: For, array: Arr, index, before: list, after: list) -> For:
    init, head, result = (Var(array.hint, array.dtype) for _ in range(3))
    before.append(Load(init, array, index, loop.loc))
    value: core.Atom = head
    mapping: dict = {}
    body = []
    for s in loop.body:
        if isinstance(s, Load) and s.array is array and s.index == index:
            mapping[s.var] = value
            continue
        if isinstance(s, Store) and s.array is array and s.index == index:
            if s.accumulate:
                total = Var(array.hint, array.dtype)
                body.append(Let(total, "sum" if s.any_order else "add", (value, s.value), s.loc))
                value = total
            else:
                value = s.value
            continue
        body.append(s)
    loop = replace(loop, body=tuple(body), carries=(*loop.carries, Carry(head, init, value, result)))
    after.append(Store(array, index, result, loc=loop.loc))
    while mapping:                      # a loaded value may be stored and loaded again
        mapping = {v: mapping.get(x, x) for v, x in mapping.items()}
        if not any(x in mapping for x in mapping.values()):
            break
    return substitute((loop,), mapping, fresh=False)[0] if mapping else loop


__all__ = ["promote"]
