"""What runs where: which statements are nests of threads, what one thread does alone, what the host does; and which numbers
only the device knows."""

from __future__ import annotations

from ..language import core
from ..language.core import Alloc, Call, For, Function, Guard, If, Let, Load, Store, Var, While, array_of, walk
from ..language.facts import Facts
from ..language.names import defined_in
from ..language.queries import allocated_in, is_access, is_loop, is_short
from .chunks import CHUNKS
from .from_nest import is_small
from .invariants import is_known
from .nests import obstacle
from .stacks import LARGEST

MOST_TURNS = 64             # of a loop over array elements that one thread runs alone


class Placement:
    """For each statement outside the nests where it runs: "nest", "thread" (one alone) or "host"; `device`: the numbers that
    the host does not know; `host_arrays`: buffers of integers that the host alone reads and writes."""

    def __init__(self, function: Function, facts: Facts, unknown=()):
        self.facts = facts
        self.where: dict = {}
        self.device: set[Var] = set(unknown)
        self.inside(function.body)
        self.host_arrays = self.candidates(function)
        while True:
            before = len(self.device), len(self.host_arrays)
            self.block(function.body)
            if (len(self.device), len(self.host_arrays)) == before:
                break

    def candidates(self, function: Function) -> set:
        """Buffers of integers that no nest and no library touches."""
        own = {a for a in allocated_in(function.body) if a.dtype == "int64"}
        used = set(function.returns)
        for s in walk(function.body):
            if isinstance(s, (Call, core.Swap, core.Resize)):
                used.update(array_of(x) for x in core.operands(s))
            elif self.where.get(s) == "nest":
                used |= arrays_in(s)
        return own - used

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
            if is_loop(s) and not is_short(s, MOST_TURNS) and any(
                    is_access(t) and varies(t, s) for t in walk(s.body)):
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
                case Load(var=v, array=array, index=index):
                    if array in self.host_arrays and self.knows(*index):
                        continue
                    self.host_arrays.discard(array)
                    self.device.add(v)
                case Store(array=array) if array in self.host_arrays and not self.knows(*s.index, s.value):
                    self.host_arrays.discard(array)
                case Call(outs=outs) if s.op not in (CHUNKS, LARGEST):
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
                self.host_arrays -= arrays_in(s)

    def computable(self, s: Let) -> bool:
        """Whether the host may compute a value of numbers it knows, wherever that stands."""
        return is_known(s, {a for a in s.args if isinstance(a, Var)}) or s.op in ("floordiv", "mod", "wrap_index")

    def of_numbers(self, stmt) -> bool:
        """Whether a statement only handles numbers that the host knows."""
        numbers = (x for s in walk((stmt,)) for x in (*core.operands(s), *core.defined(s)) if isinstance(x, Var))
        return not touches_memory(stmt, self.host_arrays) and self.knows(*numbers)

    def loop(self, s) -> None:
        for c in s.carries:
            self.mark(c.var, c.init, c.next)
            self.mark(c.result, c.var)
        self.block(s.body)
        for c in s.carries:
            self.mark(c.var, c.next)
            self.mark(c.result, c.var)


def touches_memory(stmt, but=()) -> bool:
    return any(isinstance(s, (Load, Store, Alloc)) and s.array not in but for s in walk((stmt,)))


def arrays_in(stmt) -> set:
    return {s.array for s in walk((stmt,)) if isinstance(s, (Load, Store, Alloc))}


def varies(access, loop) -> bool:
    """Whether a loop reads or writes different elements as it goes on."""
    inside = defined_in((loop,))
    return access.array not in inside and any(i in inside for i in access.index)


__all__ = ["Placement", "touches_memory"]
