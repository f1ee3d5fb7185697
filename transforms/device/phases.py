"""Barriers: loops that hold them have known lengths or the same length for all threads, and every thread comes to each.

The barriers of a kernel cut it into phases. In the reverse sweep the phases run from the last to the first, with a barrier
where there was one. That is right if all threads of a block come to the same barriers in the same order: where that
depends on something that may differ between threads, the kernel is refused.
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import FOLD, Builder, integer
from ..language.core import Arr, Call, Const, For, Function, If, Let, Load, Store, Var, While, is_float, sub_blocks, walk
from ..language.errors import UnsupportedSyntax
from ..language.facts import Facts
from ..language.motion import learn
from ..language.queries import operations
from ..language.rewrite import bottom_up, top_down, without
from ..language.substitution import renamed, substitute
from ..optimise.simplify import Liveness, simplify
from .owners import Owners
from .threads import BARRIER, Thread
from .uniform import varying_in_block

MOST_ITERATIONS, MOST_STATEMENTS = 64, 2000


def is_barrier(stmt) -> bool:
    return isinstance(stmt, Call) and stmt.op == BARRIER


def has_barrier(block) -> bool:
    return any(map(is_barrier, walk(block)))


# -- loops of known length ----------------------------------------------------------------------------------------
def write_out_known(function: Function, facts: Facts) -> Function:
    """`while` loops whose conditions are decided by constants, such as the halving of a block, written out."""
    mapping: dict = {}

    def visit(block) -> tuple:
        out: list = []
        for s in block:
            s = substitute((s,), dict(mapping), fresh=False)[0] if mapping else s
            if isinstance(s, While):
                made = written_out(s, mapping)
                if made is not None:
                    out.extend(visit(made))
                    continue
            out.append(core.with_blocks(s, visit))
        return tuple(out)

    body = visit(function.body)
    if not mapping:
        return function
    made = renamed(function, body, mapping)
    learn(facts, made.body)
    return made


def written_out(loop: While, mapping: dict) -> list | None:
    """The iterations of a loop one after the other, if constants decide how many there are; else None."""
    if loop.checkpoint is not None:
        return None
    values = {c.var: c.init for c in loop.carries}
    out: list = []
    size = len(list(walk(loop.body)))
    trips = 0
    while True:
        cond = values[loop.cond]
        if not isinstance(cond, Const):
            return None
        if not cond.value:
            break
        trips += 1
        if trips > MOST_ITERATIONS or trips * size > MOST_STATEMENTS:
            return None
        names: dict = {loop.counter: integer(trips - 1), **values}
        out.extend(folded(substitute(loop.body, names), names))
        values = {c.var: names.get(c.next, c.next) for c in loop.carries}
    for c in loop.carries:
        mapping[c.result] = values[c.var]
    mapping[loop.trip] = integer(trips)
    return out


def folded(block, names: dict) -> list:
    """Integer operations on constants computed."""
    known: dict = {}
    out = []
    for s in block:
        s = substitute((s,), dict(known), fresh=False)[0] if known else s
        if isinstance(s, Let) and s.var.dtype in ("int64", "bool") and s.op in FOLD and all(
                isinstance(a, Const) for a in s.args):
            value = Builder().fold(s.op, s.args, s.var.dtype)
            if isinstance(value, Const):
                known[s.var] = value
                continue
        out.append(s)
    for v, x in list(names.items()):
        if x in known:
            names[v] = known[x]
    return out


def count_steps(function: Function, facts: Facts) -> Function:
    """Integers that a `while` loop moves by a step known before it, as sums of its counter: nothing of them is taped. Where
    such an integer decides when the loop ends, it is a `for` loop.

        while i < n:                            for k in range((n - first + step - 1) // step):
            ...                     becomes         i = first + k * step
            i += step                               ...
    """
    logic: dict = operations(walk(function.body), lambda s: s.var.dtype == "bool")

    def change(s):
        return stepped(s, facts, logic) if isinstance(s, While) and s.checkpoint is None else None
    return renamed(function, bottom_up(function.body, change), {})


def stepped(loop: While, facts: Facts, logic: dict) -> list:
    """The statements of a loop with the integers that it counts as sums."""
    inside = {v for t in walk(loop.body) for v in core.defined(t)} | set(core.bound_inside(loop))
    steps = {c: step_of(c, facts, inside) for c in loop.carries if c.var is not loop.cond}
    before, head, after = Builder(facts), Builder(facts), Builder(facts)
    length = trips(loop, steps, facts, logic, before, inside)
    kept = []
    for c in loop.carries:
        if steps.get(c) is None:
            if length is None or c.var is not loop.cond:
                kept.append(c)
            continue
        for b, var, times in ((head, c.var, loop.counter), (after, c.result, loop.trip)):
            args = (c.init, b.imul(times, steps[c]))
            facts.define(var, "add", args)
            b.add(Let(var, "add", args, loop.loc))
    facts._affine.clear()
    body = (*head.stmts, *loop.body)
    if length is None:
        return [replace(loop, carries=tuple(kept), body=body), *after.stmts]
    facts.number(loop.counter)
    facts.nonnegative.add(loop.counter)
    facts.range[loop.counter] = (integer(0), before.isub(length, 1))
    ended = [Let(c.result, "copy", (Const(False, "bool"),), loop.loc) for c in loop.carries if c.var is loop.cond]
    head_cond = [Let(loop.cond, "copy", (Const(True, "bool"),), loop.loc)]
    made = For(loop.counter, integer(0), length, integer(1), tuple(kept), (*head_cond, *body), loc=loop.loc)
    facts.define(loop.trip, "max", (length, integer(0)))
    return [*before.stmts, made, Let(loop.trip, "max", (length, integer(0)), loop.loc), *ended, *after.stmts]


def step_of(carry, facts: Facts, inside: set):
    """What a carried integer grows by in every iteration, if that is one value known before the loop; else None."""
    if carry.var.dtype != "int64" or not isinstance(carry.next, Var):
        return None
    op, args = facts.definition.get(carry.next, ("", ()))
    if op == "add" and carry.var in args and args[0] != args[1]:
        step = args[1] if args[0] is carry.var else args[0]
        return step if step not in inside else None
    if op == "sub" and args[0] is carry.var and isinstance(args[1], Const):
        return integer(-args[1].value)
    return None


def trips(loop: While, steps: dict, facts: Facts, logic: dict, b: Builder, inside: set):
    """How often a loop runs that compares a counted integer with a bound known before it, from 0; None if it is another."""
    cond = next(c for c in loop.carries if c.var is loop.cond)
    first, later = logic.get(cond.init), logic.get(cond.next)
    if first is None or later is None or first.op != later.op or first.op not in ("lt", "le", "gt", "ge"):
        return None
    for c, step in steps.items():
        if step is None or first.args[0] != c.init or later.args[0] is not c.next or first.args[1] != later.args[1]:
            continue
        bound = first.args[1]
        if bound in inside or bound.dtype != "int64":
            return None
        up = first.op in ("lt", "le")
        size = step if up else b.isub(integer(0), step)
        if not facts.at_least(size, 1):
            return None
        gap = b.isub(bound, c.init) if up else b.isub(c.init, bound)
        gap = b.iadd(gap, 1) if first.op in ("le", "ge") else gap
        return gap if size == integer(1) else b.let("floordiv", b.iadd(gap, b.isub(size, 1)), size, dtype="int64")
    return None


# -- barriers -----------------------------------------------------------------------------------------------------
def exchanged(thread: Thread, owners: Owners) -> tuple[Arr, ...]:
    """The buffers through which threads may pass values to each other at barriers."""
    found = list(thread.shared)
    if has_barrier(thread.function.body):
        for p in thread.function.params:
            if p in thread.mutated and not all(
                    owners.own(p, x.stmt, False) for x in owners.accesses.get(p, ()) if isinstance(x.stmt, Store)):
                found.append(p)
    return tuple(found)


def with_buffers(block, arrays: tuple) -> tuple:
    """The barriers of a block as calls that touch the given buffers: nothing of them moves across."""
    return top_down(block, lambda s: (replace(s, outs=arrays),) if is_barrier(s) else None)


def without_barriers(block) -> tuple:
    return without(block, is_barrier)


def without_idle_barriers(function: Function) -> Function:
    """The program with barriers only for buffers that a result depends on, and without what depended on barriers alone."""
    live = Liveness(replace(function, body=without_barriers(function.body))).live

    def kept(block) -> tuple:
        out: list = []
        for s in block:
            if is_barrier(s):
                s = replace(s, outs=tuple(a for a in s.outs if a in live))
                if not s.outs:
                    continue
                if out and is_barrier(out[-1]):             # nothing between the two
                    out[-1] = replace(s, outs=tuple(dict.fromkeys((*out[-1].outs, *s.outs))))
                    continue
            out.append(core.with_blocks(s, kept))
        return tuple(out)
    return simplify(replace(function, body=kept(function.body)))


def check_uniform(thread: Thread) -> None:
    """Refuse barriers that some threads of a block may not come to, or not as often as others."""
    function = thread.function
    if not has_barrier(function.body):
        return
    varying = varying_in_block(function, thread.at, thread.shared)

    def visit(block, path) -> None:
        for s in block:
            if is_barrier(s):
                for around, what in path:
                    raise UnsupportedSyntax(
                        f"not every thread of a block comes to this barrier: the {what} around it depends on the thread",
                        s.loc,
                        f"let all threads reach cuda.syncthreads() (line {around.loc.line} decides), and put only the work "
                        "between barriers under conditions")
            match s:
                case If(cond=cond):
                    bad = cond in varying
                    for inner in sub_blocks(s):
                        visit(inner, (*path, (s, "branch")) if bad else path)
                case For():
                    bad = any(x in varying for x in (s.start, s.stop, s.step)) or s.exit is not None and s.exit in varying
                    visit(s.body, (*path, (s, "loop")) if bad else path)
                case While():
                    visit(s.body, (*path, (s, "loop")) if s.cond in varying else path)
    visit(function.body, ())


def check_races(thread: Thread, owners: Owners) -> None:
    """Refuse kernels in which, for all that their subscripts say, one thread touches what another one writes.

    Of subscripts that are not affine, or of shared buffers, nothing is said: there a kernel is taken to be free of races.
    """
    for array in thread.function.params:
        accesses = owners.accesses.get(array, ())
        if array not in thread.mutated or not is_float(array) and not any(isinstance(x.stmt, Load) for x in accesses):
            continue                            # integers that nobody reads: a flag that is raised
        found = [x for x in accesses if owners.visible(x)]
        for a in found:
            for b in found:
                if not isinstance(a.stmt, Store) or isinstance(b.stmt, Store) and a.stmt.accumulate and b.stmt.accumulate:
                    continue
                if owners.meet(a, b):
                    what = "add to" if a.stmt.accumulate else "write"
                    other = "write" if isinstance(b.stmt, Store) else "read"
                    lines = sorted({a.stmt.loc.line, b.stmt.loc.line} - {0})
                    raise UnsupportedSyntax(
                        f"one thread may {what} an element of `{array.hint}` that another one {other}s in the same launch "
                        f"(line{'s' * (len(lines) > 1)} {' and '.join(map(str, lines))})", a.stmt.loc,
                        "read from one array and write to another, use cuda.atomic.add, or say race_free=True if that "
                        "cannot happen")


__all__ = ["check_races", "check_uniform", "count_steps", "exchanged", "has_barrier", "is_barrier", "with_buffers",
           "without_barriers", "without_idle_barriers", "write_out_known"]
