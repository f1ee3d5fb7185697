"""What runs where: which statements are nests of threads, what one thread does alone, what the host does; and which numbers
only the device knows."""

from __future__ import annotations

from .. import core
from ..build import Facts
from ..core import Alloc, Call, Const, For, Function, Guard, If, Let, Load, Store, Var, While, walk
from .from_nest import is_small
from .invariants import is_known
from .nests import obstacle
from .stacks import LARGEST

MOST_TURNS = 64             # of a loop over array elements that one thread runs alone


class Placement:
    """For each statement outside the nests where it runs: "nest", "thread" (one alone) or "host"; `device`: the numbers that
    the host does not know."""

    def __init__(self, function: Function, facts: Facts, unknown=()):
        self.facts = facts
        self.where: dict = {}
        self.device: set[Var] = set(unknown)
        self.inside(function.body)
        while True:
            before = len(self.device)
            self.block(function.body)
            if len(self.device) == before:
                break

    def inside(self, block) -> None:
        for s in block:
            if isinstance(s, For) and obstacle(s, self.facts) is None and not self.on_host(s):
                self.where[s] = "nest"
            elif isinstance(s, (For, While, If)):
                self.where[s] = "thread" if self.alone(s) else "host"
                for inner in core.sub_blocks(s):
                    self.inside(inner)

    def on_host(self, loop: For) -> bool:
        """Whether a loop touches no array: it computes sizes and the like."""
        return all(isinstance(s, (Let, For, If, core.Comment)) for s in walk(loop.body))

    def alone(self, stmt) -> bool:
        """Whether one thread may run a statement by itself: numbers, a few elements, and no long walk through arrays."""
        for s in walk((stmt,)):
            if isinstance(s, (core.Swap, core.Resize, core.Print, Call, Guard)):
                return False
            if isinstance(s, Alloc) and not is_small(s.array):
                return False
            if isinstance(s, (For, While)) and not short(s) and any(
                    isinstance(t, (Load, Store)) and varies(t, s) for t in walk(s.body)):
                return False
        return True

    def knows(self, *atoms) -> bool:
        """Whether the host knows these numbers."""
        return not any(a in self.device for a in atoms if isinstance(a, Var))

    # -- which numbers the device alone knows -----------------------------------------------------------------
    def mark(self, v, *sources) -> None:
        if not self.knows(*sources):
            self.device.add(v)

    def block(self, block) -> None:
        for s in block:
            match s:
                case Let(var=v, args=args):
                    if s.op != "dim" and not (self.knows(*args) and self.computable(s)):
                        self.device.add(v)
                case Load(var=v):
                    self.device.add(v)
                case Call(outs=outs) if s.op != LARGEST:
                    self.device.update(o for o in outs if isinstance(o, Var))
                case For() if self.where[s] == "nest":
                    self.device.update(core.defined(s))
                case For() | While():
                    self.loop(s)
                case If(cond=cond, merges=merges):
                    for inner in core.sub_blocks(s):
                        self.block(inner)
                    for m in merges:
                        self.mark(m.var, cond, m.then, m.orelse)
            if self.where.get(s) == "thread" and not self.of_numbers(s):
                self.device.update(core.defined(s))

    def computable(self, s: Let) -> bool:
        """Whether the host may compute a value of numbers it knows, wherever that stands."""
        return is_known(s, {a for a in s.args if isinstance(a, Var)}) or s.op in ("floordiv", "mod", "wrap_index")

    def of_numbers(self, stmt) -> bool:
        """Whether a statement only handles numbers that the host knows."""
        numbers = (x for s in walk((stmt,)) for x in (*core.operands(s), *core.defined(s)) if isinstance(x, Var))
        return not touches_memory(stmt) and self.knows(*numbers)

    def loop(self, s) -> None:
        for c in s.carries:
            self.mark(c.var, c.init, c.next)
            self.mark(c.result, c.var)
        self.block(s.body)
        for c in s.carries:
            self.mark(c.var, c.next)
            self.mark(c.result, c.var)


def touches_memory(stmt) -> bool:
    return any(isinstance(s, (Load, Store, Alloc)) for s in walk((stmt,)))


def short(loop) -> bool:
    """Whether a loop is known to run a few times."""
    return isinstance(loop, For) and all(isinstance(a, Const) for a in (loop.start, loop.stop, loop.step)) and \
        len(range(loop.start.value, loop.stop.value, loop.step.value)) <= MOST_TURNS


def varies(access, loop) -> bool:
    """Whether a loop reads or writes different elements as it goes on."""
    from ..split import defined_in
    inside = defined_in((loop,))
    return access.array not in inside and any(i in inside for i in access.index)


__all__ = ["Placement", "touches_memory"]
