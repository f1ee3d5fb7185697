"""A state that a loop keeps on a tape, and then replaces whole, lies there.

    u = np.empty(5)                                 u = np.empty(5)
    u_tape = np.empty((9, 5))                       u_tape = np.empty((10, 5))
    for i in range(5):                              for i in range(5):
        u[i] = w[i]                                     u[i] = w[i]
    for k in range(9):                              for i in range(5):
        v = np.empty(5)                                 u_tape[0, i] = u[i]
        for i in range(5):                          for k in range(9):
            v[i] = u[4 - i] * r                         v = np.empty(5)
        for i in range(5):             becomes          for i in range(5):
            u_tape[k, i] = u[i]                             v[i] = u_tape[k, 4 - i] * r
            u[i] = v[i]                                 for i in range(5):
    for k in range(9):                                      u_tape[k + 1, i] = v[i]
        for i in range(5):                          for k in range(9):
            s[i] += u_tape[k, i]                        for i in range(5):
                                                            s[i] += u_tape[k, i]

Iteration k reads row k and leaves row k + 1, as a person writes a trajectory; the copy in front goes where nothing else
needs it, and what reads the state behind the loop reads the last row. Only in loops where an element needs others of what
an iteration makes or begins with: where each needs itself alone, loops are turned, and it goes through all steps in a
register.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..language import core
from ..language.build import Builder, loops
from ..language.core import Arr, Atom, Const, For, Function, Load, Ref, Store, Var, array_of
from ..language.facts import combine
from ..language.names import defined_in, names_in
from ..language.queries import (
    counts_up,
    is_access,
    is_allocation,
    is_assignment,
    is_load,
    is_loop,
    is_range,
    is_store,
    loads,
)
from ..language.substitution import substitute
from .rows import Rows, nest_of, one_by_one

ONE = Const(1, "int64")


@dataclass(frozen=True, eq=False)
class State:
    """A buffer that a nest of a loop copies to a row of a tape, and then replaces. prefix: the tape's indices in front of
    the row; indices: those of the nest; kept, written: the two stores."""

    array: Arr
    tape: Arr
    prefix: tuple
    nest: For
    indices: tuple
    kept: Store
    written: Store


def lie_on_tapes(function: Function, rows: dict | None = None) -> Function:
    """The program whose states lie on the tapes that keep them. `rows` gets the longer tapes by the old ones."""
    rows = {} if rows is None else rows

    def move(block, loop: For, known: Rows) -> Function | None:
        found = (state for nest in loop.body for state in states(nest) if can_move(loop, state, known))
        state = next(found, None) if loop.step == ONE else None
        return None if state is None else on_tape(block, loop, state, known, rows)
    return one_by_one(function, move)


# -- what is found ------------------------------------------------------------------------------------------------------
def states(nest) -> list[State]:
    """What a nest copies whole to a row of another buffer, and then gives other values."""
    indices, body = nest_of(nest)
    read: dict[Atom, Load] = {s.var: s for s in loads(body)}
    found = []
    for at, s in enumerate(body):
        source = read.get(s.value) if is_assignment(s) else None
        if source is None or source.index != indices or s.index[-len(indices):] != indices or len(s.index) == len(indices):
            continue
        later = [t for t in body[at + 1:] if is_store(t) and t.array is source.array]
        if len(later) == 1 and is_assignment(later[0]) and later[0].index == indices:
            found.append(State(source.array, s.array, s.index[:-len(indices) - 1], nest, indices, s, later[0]))
    return found


def can_move(loop: For, state: State, known: Rows) -> bool:
    x, tape, facts = state.array, state.tape, known.facts
    return (not {x, tape} & known.fixed and x.dtype == tape.dtype and known.made_empty(tape)
            and known.stores(tape) == [state.kept] and known.own_part(tape, state.prefix, loop)
            and x not in defined_in(loop.body) and not set(state.prefix) & defined_in((loop,))
            and all(known.by_rows(s, tape, len(state.prefix) + 1) for s in known.uses(tape))
            and all(known.by_rows(s, x, 0) for s in known.uses(x))
            and [s for s in core.walk(loop.body) if x in map(array_of, core.results(s))] == [state.written]
            and all(is_access(s) and s.index == state.indices and s in nest_of(state.nest)[1]
                    for s in core.walk((state.nest,)) if x in map(array_of, core.operands(s)))
            and any(reads_others(loop.body, a, (), loop.index) for a in {x, *core.written(loop.body)})
            and known.row(state.kept.index[len(state.prefix)], loop) == combine((0, {}), facts.affine(loop.start), -1)
            and all(map(facts.same, x.shape, tape.shape[len(state.prefix) + 1:]))
            and known.runs_over(state.nest, x.shape))


def reads_others(block, array: Arr, around: tuple, step: Var) -> bool:
    """Whether a block reads an element of a buffer in another iteration than the one that all loops around number.
    step: the index of the loop over time, which may number rows."""
    for s in block:
        if is_load(s) and s.array is array and s.index not in (around, (step, *around)) or isinstance(s, core.Call) and any(
                array_of(x) is array for x in s.args):
            return True
        more = (*around, s.index if counts_up(s) else None) if is_loop(s) else around
        if any(reads_others(inner, array, more, step) for inner in core.sub_blocks(s)):
            return True
    return False


# -- what is made -------------------------------------------------------------------------------------------------------
def on_tape(block, loop: For, state: State, known: Rows, rows: dict) -> Function:
    """The program with one state on its tape."""
    x, old, prefix, facts = state.array, state.tape, state.prefix, known.facts
    at, place = len(prefix), block.index(loop)
    more, before, head, after = (Builder(facts) for _ in range(4))
    tape = Arr(old.hint, old.dtype, (*old.shape[:at], more.iadd(old.shape[at], 1), *old.shape[at + 1:]), old.why)
    rows[old] = tape
    number = head.isub(loop.index, loop.start)
    later = head.let("add", number, ONE, dtype="int64", hint=f"{loop.index.hint}_next")
    now, following = (Ref(tape, (*prefix, row)) for row in (number, later))
    changed = loop.body.index(state.nest)
    new_loop = replace(loop, body=(
        *head.stmts, *substitute(loop.body[:changed], {x: now}, fresh=False), replaced(state.nest, state, now, following),
        *substitute(loop.body[changed + 1:], {x: following}, fresh=False)))
    loops(before, x.shape, lambda b, i: b.store(tape, (*prefix, 0, *i), b.load(x, i)))
    trips = after.isub(loop.stop, loop.start)
    last = trips if facts.at_least(trips) else after.imax(trips, 0)
    rest, target = block[place + 1:], x
    own = known.home.get(x) is block
    if own and x in names_in(rest):
        target = after.alloc(x.hint, x.dtype, x.shape)
        rest = substitute(rest, {x: target}, fresh=False)
    if not own or target is not x:
        loops(after, x.shape, lambda b, i: b.store(target, i, b.load(tape, (*prefix, last, *i))))
    new_block = (*block[:place], *before.stmts, new_loop, *after.stmts, *rest)

    def visit(b) -> tuple:
        out: list = []
        for s in new_block if b is block else b:
            out += more.stmts if is_allocation(s) and s.array is old else ()
            out.append(core.with_blocks(s, visit))
        return tuple(out)
    return replace(known.function, body=substitute(visit(known.function.body), {old: tape}, fresh=False))


def replaced(nest, state: State, now: Ref, following: Ref):
    """The nest of a state, which gives the following row its values and keeps nothing."""
    body, row = [], now
    for s in nest.body:
        if s is state.kept:
            continue
        if is_range(s) and state.kept in core.walk((s,)):
            s = replaced(s, state, now, following)
        else:
            row = following if s is state.written else row
            s, = substitute((s,), {state.array: row}, fresh=False)
        body.append(s)
    return replace(nest, body=tuple(body))


__all__ = ["lie_on_tapes"]
