"""Attempts at lowering: what the state was where one began, and the way back to it.

What a part of the state is to an attempt follows from where it stands: the fields of `Learnt` are forgotten when it fails,
those of `Around` start anew in a unit; what only grows under keys of its own stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..language.core import Arr
from ..language.queries import allocated_in
from .numbers.pairs import PairBuilder
from .state import Around, Lowering
from .values import Delayed, Value, expression, leaves


class Attempt:
    """What the lowering knows where an attempt begins."""

    def __init__(self, lo: Lowering):
        lo.b = lo.b.last()
        self.b, self.node, self.frame, self.around = lo.b, lo.node, lo.frame, lo.around
        self.environments = environments(lo)
        self.stmts, self.known, self.loads = list(lo.b.stmts), dict(lo.b.known), dict(lo.b.loads)
        self.equal = dict(lo.b.facts.alias)
        self.learnt = lo.learnt.copy()
        self.forced = len(lo.forced_log)

    def undo(self, lo: Lowering) -> None:
        """Go back to where the attempt began."""
        del lo.frames[len(self.environments):]
        b = lo.b = self.b
        b.following = None
        outside = surrounding(lo)[1:]
        stay = checks_in(lo, outside)
        lo.node, lo.frame, lo.around, lo.learnt = self.node, self.frame, self.around, self.learnt.copy()
        lo.learnt.guarded |= stay
        b.facts.forget_since(dict(self.equal))                # the checks that made sizes equal are dropped too
        forced = lo.forced_log[self.forced:]
        for delayed in forced:
            if delayed.builder not in outside:
                delayed.forced = None                   # what gave it memory is dropped
        lo.forced_log[self.forced:] = [d for d in forced if d.forced is not None]      # attempts around may drop these
        b.stmts, b.known, b.loads = list(self.stmts), dict(self.known), dict(self.loads)
        restore(lo, self.environments)


def begin_unit(lo: Lowering) -> None:
    """Leave all that the lowering knows of the place of a call; expressions without memory that callers have names for get
    none inside."""
    for frame in lo.frames:
        frame.env = {name: value for name, value in frame.env.items() if not any(
            isinstance(base := expression(leaf), Delayed) and base.forced is None for leaf in leaves(value))}
    block = type(lo.b)(facts=lo.b.facts)
    block.loc = lo.b.loc
    lo.callers[block] = lo.b
    lo.b, lo.around, lo.learnt.guarded = block, Around(), set()


@contextmanager
def placed_in(lo: Lowering, block) -> Iterator[None]:
    """Statements in a block around, even where ways lead out of it behind them."""
    here, following = lo.b, block.following
    lo.b, block.following = block, None
    try:
        yield
    finally:
        lo.b, block.following = here, following


@contextmanager
def dropped(lo: Lowering, loop: bool = False) -> Iterator[None]:
    """Statements, and what their checks make known, in a block that is in no program, unless someone takes it."""
    here, guarded, spent = lo.b, set(lo.learnt.guarded), set(lo.learnt.spent)
    lo.b = here.child(loop)
    lo.b.tentative = True
    try:
        yield
    finally:
        lo.b, lo.learnt.guarded, lo.learnt.spent = here, guarded | checks_in(lo, surrounding(lo, here)), spent


def checks_in(lo: Lowering, blocks) -> set:
    """The conditions that are checked in these blocks, which stay, whatever the one inside comes to."""
    return {(condition, block) for condition, block in lo.learnt.guarded if block in blocks}


def surrounding(lo: Lowering, block=None) -> list[PairBuilder]:
    """The current block, or the one given, and those around it."""
    found: list[PairBuilder] = []
    scope: PairBuilder | None = block or lo.b.last()
    while scope is not None:
        found.append(scope)
        scope = scope.parent
    return found


def buffers(lo: Lowering) -> set[Arr]:
    """The buffers that the blocks around have made so far; their memory may stand before the loops that need it."""
    return {a for block in surrounding(lo) for a in allocated_in(block.stmts)}


def environments(lo: Lowering) -> list[dict[str, Value]]:
    """What the names of the functions being lowered mean now."""
    return [dict(f.env) for f in lo.frames]


def restore(lo: Lowering, envs: list[dict[str, Value]]) -> None:
    for frame, env in zip(lo.frames, envs, strict=True):
        frame.env = dict(env)


def bindings_changed(lo: Lowering, envs: list[dict[str, Value]]) -> bool:
    """Whether a name of an active function sees another value than it did."""
    return any(frame.env.get(name) is not value for frame, env in zip(lo.frames, envs, strict=True)
               for name, value in env.items())


__all__ = ["Attempt", "begin_unit", "bindings_changed", "buffers", "dropped", "environments", "placed_in", "restore",
           "surrounding"]
