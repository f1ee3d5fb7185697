"""What a program does with rows of its buffers: where each is made, who writes it, and whether only row by row.

For passes that let one buffer lie in another's rows, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from ..language import core
from ..language.core import Arr, Call, For, Function, Ref, Stmt, array_of
from ..language.draws import is_draw
from ..language.facts import Facts, combine
from ..language.motion import facts_of
from ..language.queries import counts_up, is_access, is_allocation, is_loop, is_range, is_whole
from ..language.units import unit_of

MOST = 24               # buffers that a pass moves: the whole program is read for each


class Rows:
    """home: the block that makes a buffer, where one does; fixed: buffers that must stay as they are; around: the loops
    around loops and around what makes buffers."""

    def __init__(self, function: Function):
        self.function = function
        self.fixed = core.rebound(function.body) | {
            x for x in (*function.params, *function.returns, *function.tape) if isinstance(x, Arr)}
        self.home: dict[Arr, tuple] = {}
        self.made: dict[Arr, list] = {}
        self.used: dict[Arr, list] = {}
        self.around: dict[Stmt, tuple] = {}
        self.index(function.body, ())

    def index(self, block, loops: tuple) -> None:
        for s in block:
            if is_allocation(s) or is_loop(s):
                self.around[s] = loops
            if is_allocation(s):
                self.home[s.array] = block
                self.made.setdefault(s.array, []).append(s)
            for a in {array_of(x) for x in core.operands(s)}:
                if isinstance(a, Arr) and not (is_allocation(s) and a is s.array):
                    self.used.setdefault(a, []).append(s)
            for inner in core.sub_blocks(s):
                self.index(inner, (*loops, s) if is_loop(s) else loops)

    @cached_property
    def facts(self) -> Facts:
        return facts_of(self.function)

    def uses(self, array: Arr) -> list:
        """The statements that read or write a buffer."""
        return self.used.get(array, [])

    def stores(self, array: Arr) -> list:
        """Those that write it."""
        return [s for s in self.uses(array) if array in map(array_of, core.results(s))]

    def made_empty(self, array: Arr) -> bool:
        """Whether one statement makes a buffer, without values."""
        made = self.made.get(array, ())
        return len(made) == 1 and made[0].fill is None

    def by_rows(self, stmt, array: Arr, depth: int) -> bool:
        """Whether a statement touches elements of a buffer, or what is behind so many indices, as a call can take it."""
        if is_access(stmt):
            return True
        return isinstance(stmt, Call) and not is_draw(stmt) and unit_of(stmt) is None and all(
            isinstance(x, Ref) and len(x.prefix) >= depth
            or x is array and depth == 0 for x in (*stmt.args, *stmt.outs) if array_of(x) is array)

    def own_part(self, array: Arr, prefix: tuple, loop: For) -> bool:
        """Whether each run of a loop has a part of its own of a buffer, behind these indices: no other run has written
        there, nor reads what this one leaves."""
        alloc, = self.made[array]
        between = self.around[loop][len(self.around[alloc]):]
        return alloc not in core.walk(loop.body) and all(is_range(x) and x.index in prefix for x in between)

    def row(self, index, loop: For) -> tuple:
        """What an index is more than that of a loop."""
        return combine(self.facts.affine(index), self.facts.affine(loop.index), -1)

    def runs_over(self, nest: Stmt, shape: tuple) -> bool:
        """Whether the loops of a nest run over all of some axes, each over one."""
        stops = [loop.stop for loop in loops_of(nest)]
        return len(stops) == len(shape) and all(map(self.facts.same, stops, shape))


def loops_of(nest) -> list[For]:
    """Loops inside each other, as far as each is the only one."""
    found: list[For] = []
    while counts_up(nest):
        found.append(nest)
        inner = [s for s in nest.body if is_loop(s)]
        if len(inner) != 1:
            break
        nest = inner[0]
    return found


def nest_of(nest) -> tuple[tuple, tuple]:
    """The indices of such loops, and the body of the innermost."""
    found = loops_of(nest)
    return tuple(loop.index for loop in found), found[-1].body if found else ()


def one_by_one(function: Function, move: Callable[[tuple, For, Rows], Function | None]) -> Function:
    """The program after moves of buffers. move: gives the program in which one that a whole loop of a block uses has moved,
    None if there is none."""
    def first(block, known: Rows) -> Function | None:
        for s in block:
            if is_whole(s) and (made := move(block, s, known)) is not None:
                return made
            for inner in core.sub_blocks(s):
                if (made := first(inner, known)) is not None:
                    return made
        return None
    for _ in range(MOST):
        made = first(function.body, Rows(function))
        if made is None:
            break
        function = made
    return function


__all__ = ["Rows", "nest_of", "one_by_one"]
