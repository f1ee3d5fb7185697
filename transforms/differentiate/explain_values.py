"""Why a value of the forward sweep is on the tape, computed again, or not needed: the answers of `f.why` for variables.

The reverse sweep is generated once more by a sweep that notes whose adjoint asks for which value, and how that is found. The
sweep itself is that of the derivative (`Reverse`), so that what is told is what was done.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..language import core
from ..language.core import Arr, Const, Function, Loc, Var
from ..language.facts import Facts
from ..language.queries import called, is_allocation, is_branch, is_load, is_loop, is_size, operation
from ..language.units import unit_of
from .reverse import Reverse, reverse

THERE, AGAIN, READ, BRANCH, TAPED = "there", "again", "read", "branch", "taped"


@dataclass
class Found:
    """How the reverse sweep comes to a value. by: the places whose adjoints ask for it. how: THERE, AGAIN (computed), READ
    (from memory), BRANCH (run again), TAPED. cause: why it is taped; at: the place that is about."""

    by: dict[Loc, None] = field(default_factory=dict)
    how: str = THERE
    cause: str = ""
    at: Loc | None = None


@dataclass
class Values:
    """What a reverse sweep does with the values of the forward sweep, by variable; and with buffers: whose adjoints read
    them, what is saved of them and for which place, which of them are kept whole."""

    function: Function
    active: set
    found: dict[Var, Found]
    reads: dict[Arr, dict[Loc, None]]
    saves: dict[Arr, list[tuple[Loc, Loc | None]]]
    kept: set[Arr]


class Noting(Reverse):
    """A reverse sweep that notes what it asks for."""

    def __init__(self, *args):
        super().__init__(*args)
        self.found: dict[Var, Found] = {}
        self.doing: list[Loc] = []
        self.steps: list[Noting] = []

    def beside(self, *args):
        made = super().beside(*args)
        assert isinstance(made, Noting)
        self.steps.append(made)
        return made

    def statement(self, stmt) -> None:
        self.doing.append(stmt.loc)
        try:
            super().statement(stmt)
        finally:
            self.doing.pop()

    def need(self, v):
        if not isinstance(v, Const) and self.doing:
            self.found.setdefault(v, Found()).by[self.doing[-1]] = None
        return super().need(v)

    def recompute(self, v, scope, nested: bool):
        found = self.found.setdefault(v, Found())
        stmt = self.order.definition.get(v)
        if v in self.plan.decided:
            found.cause, found.at = "nothing else needs what it is computed from, which is larger", stmt.loc
        elif operation(stmt):
            found.how = found.how if is_size(stmt) else AGAIN
        elif is_load(stmt):
            found.how, a = READ, stmt.array
            writer = self.overwriter(a, stmt, scope, nested)
            found.cause, found.at = f"`{a.hint}`, which it was read from, is overwritten", getattr(writer, "loc", None)
        elif is_branch(stmt):
            found.how, found.cause, found.at = BRANCH, "the branch that decides it does more than compute", stmt.loc
        elif is_loop(stmt):
            found.cause, found.at = "it is what a loop leaves, which is not run again", stmt.loc
        elif called(stmt):
            unit = unit_of(stmt)
            found.cause = f"`{unit.name}` is not called again" if unit is not None else \
                "it is the result of a library function or a draw, which is not run again"
            found.at = stmt.loc
        else:
            found.cause = "it goes from one iteration of the loop to the next"
            home = self.order.block_of.get(v)
            loops = (s for s in core.walk(self.function.body) if is_loop(s))
            found.at = next((s.loc for s in loops if s.body is home), None)
        return super().recompute(v, scope, nested)

    def from_tape(self, v, scope):
        self.found.setdefault(v, Found()).how = TAPED
        return super().from_tape(v, scope)


def values_of(function: Function, facts: Facts, wanted, registry, seeds: str, segments: bool) -> Values:
    """What the reverse sweep of a program does with its values; see `reverse`."""
    made: list[Noting] = []

    def make(*args) -> Noting:
        made.append(Noting(*args))
        return made[-1]
    _, plan, _ = reverse(function, facts, wanted, registry, True, "explained", seeds, segments, make)
    sweeps, found = [made[-1]], {}
    for sweep in sweeps:                                # grows
        sweeps += sweep.steps
        found.update(sweep.found)
    reads: dict[Arr, dict[Loc, None]] = {}
    saves: dict[Arr, list[tuple[Loc, Loc | None]]] = {}
    for one in dict.fromkeys(sweep.plan for sweep in sweeps):
        for a, stmt, _, _ in one.reads:
            reads.setdefault(a, {})[stmt.loc] = None
        for stmt in one.saves:
            if not is_allocation(stmt):
                for a in {core.array_of(x) for x in core.results(stmt) if not isinstance(x, Var)}:
                    saves.setdefault(a, []).append((stmt.loc, getattr(one.reasons.get(stmt), "loc", None)))
    return Values(made[-1].function, made[-1].active, found, reads, saves, set().union(*(s.plan.promoted for s in sweeps)))


__all__ = ["AGAIN", "BRANCH", "READ", "TAPED", "THERE", "Found", "Values", "values_of"]
