"""What a branch stores in an iteration's own element, as a store of what is chosen.

    for i in range(n):                       for i in range(n):
        if x[i] > 0.0:                           y_1 = y[i]
            y[i] = x[i] * x[i]                   if x[i] > 0.0:
                                  becomes            y_2 = x[i] * x[i]
                                                 else:
                                                     y_2 = y_1
                                                 y[i] = y_2

Loops of such stores can be joined with the loops around them and vectorised, and then the element need not be in memory.
What is computed stays in the branch, and is computed only where its condition holds.
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.core import FLOATS, Arr, Atom, Const, For, Function, If, Load, Merge, NoCotangent, Store, Var
from ..language.facts import Facts
from ..language.motion import facts_of, in_range
from ..language.names import defined_in
from ..language.queries import acting, is_access, is_addition, is_branch, is_load, is_loop, is_simple, is_store, operation
from ..language.rewrite import each_loop, without
from ..language.substitution import substitute
from .loop_fusion import calls

CHEAP = ("add", "sub", "mul", "neg", "sum")

def choose_stores(function: Function, facts: Facts | None = None) -> Function:
    """The program with the branches of innermost loops that store to the iteration's own elements made choices."""
    known = facts or facts_of(function)
    return replace(function, body=each_loop(function.body, lambda loop: chosen_in(loop, known)))


def chosen_in(loop: For, facts: Facts) -> tuple | None:
    if loop.exit is not None or not any(is_branch(s) and any(map(is_store, core.walk((s,)))) for s in loop.body) or any(
            is_loop(s) for s in core.walk(loop.body)):
        return None
    inside = {loop.index, *(v for s in core.walk(loop.body) for v in (*core.defined(s), *core.bound_inside(s)))}
    places: dict[Arr, set] = {}
    for s in core.walk(loop.body):
        for x in (s.array,) if is_access(s) else core.operands(s):
            if isinstance(array := core.array_of(x), Arr):
                places.setdefault(array, set()).add(s.index if is_access(s) else None)

    def own(store: Store) -> bool:
        """Whether a store is to an element of the iteration's own, which every iteration has."""
        return places[store.array] == {store.index} and store.index.count(loop.index) == 1 and all(
            i is loop.index or i not in inside for i in store.index) and all(
            facts.at_most(Const(0, "int64"), i) and facts.at_most(i, size, 1)
            for i, size in zip(store.index, store.array.shape, strict=True))
    loops = two_loops(loop, own)
    made = [(as_choice(s, own) or (s,)) if is_branch(s) else (s,) for s in loops[0].body]
    if len(loops) == 1 and all(len(part) == 1 for part in made):
        return None
    first = replace(loops[0], body=tuple(s for part in made for s in part))
    return (first,) if len(loops) == 1 else (*substitute((first,), {}), loops[1])


def two_loops(loop: For, own) -> tuple[For, ...]:
    """A loop whose branches add to the cotangents of the iteration's own elements, and to others, as a loop for each.

    So the first can be joined with the loops around it. What both need is computed twice, which is not done for functions.
    """
    inside = list(core.walk(loop.body))
    if loop.carries or calls(loop) or not all(is_simple(s) or is_branch(s) for s in inside):
        return (loop,)
    stored = [[t for t in core.walk((s,)) if is_store(t)] for s in loop.body if is_branch(s)]
    mine = {s.array for group in stored for s in group if s.accumulate and s.array.any_order and own(s)
            and not all(map(own, group))}
    loaded = {s.array for s in inside if is_load(s)}
    if not mine or loaded & {s.array for s in inside if is_store(s)}:
        return (loop,)
    return tuple(replace(loop, body=without(loop.body, lambda s, first=first: is_store(s) and (s.array in mine) != first))
                 for first in (True, False))


def as_choice(branch: If, own) -> tuple:
    """The branch without its stores, and stores of what it chooses; empty if that cannot be."""
    stored: dict[tuple, list] = {}
    for k, side in enumerate((branch.then, branch.orelse)):
        body = acting(side)
        for place, s in enumerate(body):
            if is_store(s):
                pair = stored.setdefault((s.array, s.index if s.accumulate else None), [None, None])
                later = any(is_access(t) and t.array is s.array and not (s.accumulate and is_addition(t))
                            for t in body[place + 1:])
                if pair[k] is not None or later or not own(s):
                    return ()
                pair[k] = s
    pure = replace(branch, then=without_stores(branch.then), orelse=without_stores(branch.orelse))
    if not stored or not all(is_load(s) or operation(s) for s in acting((*pure.then, *pure.orelse))):
        return ()
    arrays = [array for array, _ in stored]
    if any(arrays.count(array) > 1 for array, index in stored if index is None):
        return ()
    before, merges, after = [], list(branch.merges), []
    for (array, _), pair in stored.items():
        store: Store = pair[0] or pair[1]
        old: Atom
        if store.accumulate:
            old = nothing(array)
        else:
            old = Var(array.hint, array.dtype)
            if None in pair:
                before.append(Load(old, array, store.index, store.loc))
        merges.append(Merge(Var(array.hint, array.dtype), *(s.value if s else old for s in pair)))
        after.append(replace(store, value=merges[-1].var))
    return (*before, replace(pure, merges=tuple(merges)), *after)


def without_stores(block) -> tuple:
    return tuple(s for s in block if not is_store(s))


def nothing(array: Arr) -> Const:
    """What leaves an element as it is when it is added, with the sign that a zero has."""
    if array.why == core.ADJOINT:
        return NoCotangent(array.dtype)
    return Const(-0.0, array.dtype) if array.dtype in FLOATS else Const(0, array.dtype)


def choose_additions(function: Function) -> Function:
    """The program with branches of innermost loops that add to cotangents along a row, and do little else, made choices: all
    places are added to, some nothing. What such branches ask, as where a maximum is, is hard to foresee."""
    facts = facts_of(function)

    def chosen(loop: For) -> tuple | None:
        if not all(is_simple(s) or is_branch(s) for s in core.walk(loop.body)):
            return None
        inside = {loop.index, *defined_in(loop.body)}
        within = inside - {loop.index, *(v for s in loop.body for v in core.defined(s))}         # branches

        def along(store: Store) -> bool:
            terms = [facts.affine(i)[1] for i in store.index]
            return is_addition(store) and store.array.any_order and within.isdisjoint(
                store.index) and inside.intersection(*terms[-1:]) == {loop.index} and all(
                map(inside.isdisjoint, terms[:-1])) and in_range(facts, store.array, store.index)
        made = [as_choice(s, along) if is_branch(s) and adds_alone(s) else (s,) for s in loop.body]
        if not all(made) or all(len(part) == 1 for part in made):
            return None
        return (replace(loop, body=tuple(s for part in made for s in part)),)
    return replace(function, body=each_loop(function.body, chosen))


def adds_alone(branch: If) -> bool:
    """Whether a branch adds to elements, and computes no more than what takes no time."""
    inside = acting((*branch.then, *branch.orelse))
    return any(map(is_store, inside)) and all(is_store(s) or operation(s) in CHEAP for s in inside)


__all__ = ["choose_additions", "choose_stores"]
