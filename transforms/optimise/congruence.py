"""Values that loops carry under several names although they are always equal, such as the lengths of lists that grow
together.

    k = 0                            k = 0
    m = 0                            for i in range(n):
    for i in range(n):                   k += 1
        t[m] = x[k]       becomes    return k, k
        k = k + 1
        m = m + 1
    return k, m

Two carries are congruent if they start equal and their next values are the same expression of congruent carries: the
coarsest such partition, found by refinement (B. Alpern, M. Wegman, F. K. Zadeck, Detecting equality of variables in
programs, POPL 1988).
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.core import Const, Function
from ..language.queries import is_branch, is_loop, operation, operations
from ..language.rewrite import bottom_up, each_branch, without_operations
from ..language.substitution import substitute

IMPURE = ("dim", "link", "stop")        # a length may change; the others are marks, not values


def merge_congruent(function: Function, facts) -> Function:
    """One carry for each class of congruent ones, and one statement for each value that is equal because of that."""
    mapping: dict = {}

    def change(s):
        return (replace(s, carries=merged(s, mapping)),) if is_loop(s) else None

    body = bottom_up(function.body, change)
    if not mapping:
        return function
    number_values(body, {}, mapping)
    final = {v: resolve(v, mapping) for v in mapping}
    facts.rename(final)
    body = substitute(without(body, mapping), final, fresh=False)
    return replace(function, body=body, returns=tuple(final.get(r, r) for r in function.returns))


def resolve(x, mapping):
    while x in mapping:
        x = mapping[x]
    return x


def merged(loop, mapping) -> tuple:
    """The carries of a loop without those that equal an earlier one, which go into `mapping`."""
    carries = [c for c in loop.carries if c.var is not getattr(loop, "cond", None)]
    if len(carries) < 2:
        return loop.carries
    inside = list(core.walk(loop.body))
    made: dict = operations(inside, lambda s: s.op not in IMPURE)
    made.update((m.var, (s, m)) for s in inside if is_branch(s) for m in s.merges)
    classes: dict = {}
    for c in carries:
        classes[c.var] = ("start", resolve(c.init, mapping), c.var.dtype)
    while True:
        refined = refine(carries, classes, made, mapping)
        settled = len(set(refined.values())) == len(set(classes.values()))
        classes = refined
        if settled:
            break
    first: dict = {}
    kept = []
    for c in loop.carries:
        other = first.setdefault(classes[c.var], c) if c.var in classes else c
        if other is c:
            kept.append(c)
        else:
            mapping[c.var], mapping[c.result] = other.var, other.result
    return tuple(kept)


def refine(carries, classes, made, mapping) -> dict:
    """The classes of carries told apart by the values they have after an iteration."""
    seen: dict = {}
    numbers: dict = {}

    def value(x):
        if x in classes:
            return ("carry", classes[x])
        if isinstance(x, Const) or x not in made:
            return resolve(x, mapping)
        if x not in seen:
            if operation(made[x]):
                key = (made[x].op, *map(value, made[x].args))
            else:
                stmt, m = made[x]
                key = ("merge", id(stmt), value(m.then), value(m.orelse))
            seen[x] = ("value", numbers.setdefault(key, len(numbers)))
        return seen[x]
    names: dict = {}
    return {c.var: names.setdefault((classes[c.var], value(c.next)), len(names)) for c in carries}


def number_values(block, known: dict, mapping: dict) -> None:
    """Map the variables of operations and merges to those that already hold the same value."""
    for stmt in block:
        if operation(stmt) and stmt.op not in IMPURE:
            key = (stmt.op, stmt.var.dtype, *(resolve(a, mapping) for a in stmt.args))
            if known.setdefault(key, stmt.var) is not stmt.var:
                mapping[stmt.var] = known[key]
        for inner in core.sub_blocks(stmt):
            number_values(inner, dict(known), mapping)
        if is_branch(stmt):
            own: dict = {}
            for m in stmt.merges:
                key = (resolve(m.then, mapping), resolve(m.orelse, mapping))
                if own.setdefault(key, m.var) is not m.var:
                    mapping[m.var] = own[key]


def without(block, mapping) -> tuple:
    """The block without the statements and merges whose variables were mapped."""
    return each_branch(without_operations(block, mapping), lambda s: (
        replace(s, merges=tuple(m for m in s.merges if m.var not in mapping)),))


__all__ = ["merge_congruent"]
