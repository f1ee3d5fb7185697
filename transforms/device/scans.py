"""Loops that hand on a running number, cut in three: the terms by threads, a scan, and the rest by threads.

    for i in range(n):                 for i in range(n):              # threads
        s = s + g[i]                       terms[i] = g[i]
        y[i] = f(s)          becomes   device.scan(running, terms, "sum", s)        # running[0] = s
                                       for i in range(n):              # threads
                                           s = running[i] + g[i]
                                           y[i] = f(s)

More generally a running number may become factor * number + term, where neither depends on it: cumulative sums and products,
moving averages and other filters of first order, their adjoints, counters.
Source: G. Blelloch, Prefix sums and their applications, 1990.
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import Builder, integer
from ..language.core import Arr, Call, Carry, Comment, For, Function, If, Let, Load, Ref, Store, Var, While, walk
from ..language.facts import Facts
from ..language.motion import facts_of
from ..language.names import defined_in, names_in
from ..language.queries import allocated_in, is_loop, operations
from ..language.rewrite import top_down
from ..language.substitution import substitute
from .nests import Accesses, count_reads, neutral_element, obstacle, reduction

SCAN = "scan"               # the call that fills an array with the running values, the first one given
OPERATIONS = ("add", "sum", "sub", "mul", "neg")


def with_scans(function: Function) -> Function:
    """The program with running numbers computed by scans, where threads can do the rest."""
    facts = facts_of(function)

    def scanned(s):
        if not isinstance(s, For):
            return None
        return [s] if obstacle(s, facts) is None else by_scans(s, facts)
    return replace(function, body=top_down(function.body, scanned))


def by_scans(loop: For, facts: Facts) -> list | None:
    """The loop in three parts; None if something else keeps its iterations from running at once."""
    if loop.exit is not None or loop.trip is not None or loop.step not in (integer(1), integer(-1)):
        return None
    if any(is_loop(s) for s in walk(loop.body)):
        return None                     # a loop in time around nests, whose threads are better than one for each iteration
    reads = count_reads(loop)
    running = {c: found for c in loop.carries if reduction(loop, c, reads) is None and (found := chain(loop, c)) is not None}
    if not running or len(running) + sum(reduction(loop, c, reads) is not None for c in loop.carries) < len(loop.carries):
        return None
    rest = replace(loop, carries=tuple(c for c in loop.carries if c not in running), body=loop.body)
    if obstacle(rest, facts) is not None:
        return None
    b = Builder(Facts())
    size = b.imax(b.isub(loop.stop, loop.start) if loop.step == integer(1) else b.isub(loop.start, loop.stop), 0)
    place = Builder(Facts())
    k = place.isub(loop.index, loop.start) if loop.step == integer(1) else place.isub(loop.start, loop.index)
    body: list = list(place.stmts)
    for c, steps in running.items():
        needed = slice_of(loop, [x for _, x in steps], facts)
        if needed is None:
            return None
        kind = kind_of(steps)
        names = ("factors", "terms") if kind == "affine" else ("factors",) if kind == "mul" else ("terms",)
        arrays = [b.alloc(f"{c.var.hint}_{name}", c.var.dtype, (size,)) for name in names]
        totals = b.alloc(f"{c.var.hint}_running", c.var.dtype, (b.iadd(size, 1),))
        b.add(term_nest(loop, needed, steps, arrays, place.stmts, k))
        b.add(Call((totals,), SCAN, (*map(Ref, arrays), c.init), (kind,), loop.loc))
        body.append(Load(c.var, totals, (k,), loop.loc))
        b.add(Load(c.result, totals, (size,), loop.loc))
    b.add(replace(rest, body=(*body, *loop.body)))
    return b.stmts


def chain(loop: For, carry: Carry) -> list | None:
    """[(operation, term), ...] if the next value is the last one with terms added, subtracted and multiplied, in this order;
    None otherwise.

    "from": the value is subtracted from the term.
    """
    made: dict = operations(loop.body, lambda s: s.op in OPERATIONS)
    leads: dict = {carry.var: True}

    def reaches(x) -> bool:
        if x not in leads:
            leads[x] = x in made and any(map(reaches, made[x].args))
        return leads[x]
    steps: list = []
    v = carry.next
    while v is not carry.var:
        if carry.var.dtype == "bool" or v not in made or sum(map(reaches, made[v].args)) != 1:
            return None
        if made[v].op == "neg":
            steps.append(("neg", None))
            (v,) = made[v].args
            continue
        first, second = made[v].args
        on_left = reaches(first)
        op = "add" if made[v].op == "sum" else made[v].op
        steps.append((op if on_left or op != "sub" else "from", second if on_left else first))
        v = first if on_left else second
    return steps[::-1] or None


def kind_of(steps) -> str:
    operations = {op for op, _ in steps}
    return "sum" if operations <= {"add", "sub"} else "mul" if operations == {"mul"} else "affine"


def slice_of(loop: For, terms, facts: Facts):
    """The statements of the body that compute the terms; None if they depend on what the loop hands on or writes."""
    made = {v: s for s in loop.body for v in core.defined(s)}
    heads = {c.var for c in loop.carries}
    inside = defined_in((loop,))
    known = Accesses(loop, facts)
    order = {s: k for k, s in enumerate(walk(loop.body))}
    needed: set = set()
    waiting = [x for x in terms if isinstance(x, Var)]
    while waiting:
        v = waiting.pop()
        if v in heads:
            return None
        s = made.get(v)
        if s is None:
            if v in inside and v is not loop.index:
                return None
            continue
        if s in needed:
            continue
        for t in walk((s,)):
            if not isinstance(t, (Let, Load, If, For, While, Comment)):
                return None
            if isinstance(t, Load) and any(order[x] < order[t] and not known.never_meet(x, t)
                                           for x in known.stores.get(t.array, ())):
                return None
        needed.add(s)
        own = defined_in((s,))
        waiting += [x for x in names_in((s,)) if isinstance(x, Var) and x not in own]
    private = allocated_in(loop.body)
    if any(isinstance(t, Load) and t.array in private for s in needed for t in walk((s,))):
        return None
    return [s for s in loop.body if s in needed]


def term_nest(loop: For, needed, steps, arrays: list[Arr], place: list, k) -> For:
    """The nest in which each thread computes what its iteration makes of the running number: factor * number + term."""
    dtype = arrays[0].dtype
    b = Builder(Facts())
    one, zero = neutral_element("mul", dtype), neutral_element("sum", dtype)
    factor: core.Atom = one
    term: core.Atom = zero
    for op, x in steps:
        if op == "mul":
            factor = x if factor == one else b.let("mul", factor, x, dtype=dtype)
            term = term if term == zero else b.let("mul", term, x, dtype=dtype)
        elif op == "neg":
            factor = b.let("neg", factor, dtype=dtype)
            term = term if term == zero else b.let("neg", term, dtype=dtype)
        elif op == "from":
            factor = b.let("neg", factor, dtype=dtype)
            term = x if term == zero else b.let("sub", x, term, dtype=dtype)
        else:
            term = x if term == zero and op == "add" else b.let(op, term, x, dtype=dtype)
    values = {"sum": [term], "mul": [factor], "affine": [factor, term]}[kind_of(steps)]
    stores = [Store(a, (k,), v, loc=loop.loc) for a, v in zip(arrays, values, strict=True)]
    nest = replace(loop, carries=(), body=(*place, *needed, *b.stmts, *stores))
    return substitute((nest,), {})[0]


__all__ = ["SCAN", "with_scans"]
