"""Loops of the reverse sweep whose iterations do not depend on each other: run them upwards, and split scatters so that
each inner loop updates one row.

    # ---- reverse sweep ----                    for j in range(n):
    for j in range(n - 1, -1, -1):                   a_bar[j] += c * b_bar[j + 1]
        g = c * b_bar[j + 1]          becomes    for j in range(n):
        a_bar[j] += g                                a_bar[j + 2] += c * b_bar[j + 1]
        a_bar[j + 2] += g

A loop may be turned round if what it stores in an array it either only accumulates there, in any order, or stores and loads
at one element of the iteration's own.
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import Builder, integer
from ..language.core import Const, Function, Var, walk
from ..language.facts import Facts
from ..language.motion import learn
from ..language.queries import (
    accesses,
    allocations,
    is_access,
    is_addition,
    is_assignment,
    is_ordinary,
    loaded_in,
    operation,
    operations,
    scalars,
)
from ..language.rewrite import each_loop
from ..language.substitution import substitute

CHEAP = {"add", "sub", "mul", "neg", "cast", "wrap_index"}
LARGEST_SLICE = 10


def straighten(function: Function, split: bool = True) -> Function:
    """Turn independent downward loops upwards and, where wanted, split scatters."""
    facts = Facts()                 # of this program: earlier ones may speak of variables that are gone
    learn(facts, function.body)

    def turn(loop) -> list:
        if loop.step == integer(-1) and loop.origin == "reverse" and independent(loop):
            loop, before = upwards(loop, facts)
            return [*before, loop]
        return [loop]

    body = each_loop(function.body, turn)
    return replace(function, body=each_loop(body, fission) if split else body)


def independent(loop) -> bool:
    """Whether the iterations may run in any order."""
    inside = list(walk(loop.body))
    if not free_sums(loop) or loop.exit is not None or not all(map(is_ordinary, inside)):
        return False
    added = {s.array for s in inside if is_addition(s)}
    assigned = {s.array for s in inside if is_assignment(s)}
    ordered = {s.array for s in inside if is_addition(s) and not s.any_order}
    for a in (assigned | ordered | added & loaded_in(loop.body)) - set(allocations(inside)):
        together = {s.index for s in accesses(inside, a)}
        if len(together) != 1 or not any(i is loop.index for i in shifted(next(iter(together)), loop)):
            return False
    return True


def free_sums(loop) -> bool:
    """Whether every carry is a sum whose order is free, and is read by its own addition alone."""
    if not loop.carries:
        return True
    made: dict = operations(loop.body)
    sums = [made.get(c.next) for c in loop.carries]
    if any(s is None or s.op != "sum" or s.args[0] is not c.var for s, c in zip(sums, loop.carries, strict=True)):
        return False
    heads = {c.var for c in loop.carries}
    nexts = {c.next for c in loop.carries}
    reads = [x for s in walk(loop.body) for x in core.operands(s) if isinstance(x, Var)]
    return not any(x in nexts for x in reads) and all(sum(x is h for x in reads) == 1 for h in heads)


def shifted(index, loop):
    """The base variables of subscripts of the form v or v + constant."""
    by_name = operations(walk(loop.body))
    for i in index:
        while isinstance(i, Var) and i in by_name and by_name[i].op in ("add", "sub") and isinstance(
                by_name[i].args[1], Const):
            i = by_name[i].args[0]
        yield i


def upwards(loop, facts: Facts):
    """The same loop from its lowest to its highest index."""
    b = Builder(facts)
    start, stop = b.iadd(loop.stop, 1), b.iadd(loop.start, 1)
    return replace(loop, start=start, stop=stop, step=integer(1)), b.stmts


def fission(loop) -> list:
    """Several loops with one accumulation each, if the loop scatters to several places of one array."""
    body = loop.body
    if loop.carries or loop.exit is not None or not all(operation(s) or is_access(s) for s in body):
        return [loop]
    additions = list(filter(is_addition, body))
    targets = [s.array for s in additions]
    if len(set(targets)) == len(targets) or not independent(loop):
        return [loop]
    definitions = scalars(body)
    plain = list(filter(is_assignment, body))
    if not separable(body, set(targets), [s.array for s in plain]):
        return [loop]
    parts = []
    for s in (*additions, *plain):
        needed = backward_slice(s, definitions)
        if needed is None:
            return [loop]
        parts.append(tuple(d for d in body if d in needed) + (s,))
    late = parts[len(additions):]
    if any(s.array in loaded_in(part) for k, s in enumerate(plain) for part in late[k + 1:]):
        return [loop]                   # a store would come before what reads the old element
    out = []
    for part in parts:
        index = Var(loop.index.hint, "int64")
        mapping = {loop.index: index}
        out.append(replace(loop, index=index, body=substitute(part, mapping)))
    return out


def separable(body, added: set, stored: list) -> bool:
    """Whether the additions may all come first, and the plain stores after them: what is added to is met in no other way,
    and what is stored is stored once, after it has been read."""
    if len(set(stored)) != len(stored) or added & set(stored):
        return False
    written: set = set()
    for s in body:
        if loaded_in((s,)) & (added | written):
            return False
        if is_assignment(s):
            written.add(s.array)
    return True


def backward_slice(store, definitions):
    """The cheap statements a store needs; None if they are many or dear."""
    needed: set = set()
    waiting = [*store.index, store.value]
    while waiting:
        v = waiting.pop()
        d = definitions.get(v) if isinstance(v, Var) else None
        if d is None or d in needed:
            continue
        if operation(d) and d.op not in CHEAP or len(needed) > LARGEST_SLICE:
            return None
        needed.add(d)
        waiting.extend(a for a in core.operands(d) if isinstance(a, Var))
    return needed
