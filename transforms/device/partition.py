"""A program cut into kernels and a host function that launches them.

    s = 0.0                                   def f(device, x):
    for i in range(n):                            s_parts = device.partials((n,), np.float64)
        s = np.add(s, x[i] * x[i])                device.launch(f_kernel_1, (n,), n, x, s_parts)
    return np.sqrt(s)              becomes        s = device.total(s_parts, "sum", 0.0)
                                                  device.launch(f_kernel_2, (1,), s, t)
                                                  return t

Independent loops become kernels, one after the other in the order of the program. What stands between them and needs numbers
of the device runs in kernels of one thread; the host waits for none of these numbers, but where they decide what it does
next. A loop that cannot be a kernel runs on the host, if there are kernels in it; otherwise it is refused.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace

from ...runtime.library_calls import CALLS
from ...runtime.raising import AGAIN
from ..language import core
from ..language.build import Builder, integer
from ..language.core import Alloc, Arr, Call, Comment, For, Function, Guard, If, Let, Load, Ref, Store, Var, While, walk
from ..language.draws import is_draw
from ..language.emit import Statements
from ..language.errors import InternalError, UnsupportedOnDevice
from ..language.motion import Touches, facts_of
from ..language.queries import is_loop
from ..language.substitution import substitute
from .from_nest import Kernel, kernel_of, unknown_size
from .nests import collapsed, obstacle
from .placement import Placement

FIELD = re.compile(r"(?<!{){[^{}]*}")       # of a message, for a number of the run
LAUNCH, PARTIALS, TOTAL, READ, CELL, CHECK = "launch:", "partials", "total:", "read", "cell", "check"


@dataclass(frozen=True)
class DeviceProgram:
    """The host's function and the kernels it launches, in the order of the text."""

    host: Function
    kernels: tuple[Kernel, ...]
    cells: frozenset            # the arrays among the host function's results that stand for numbers
    host_arrays: frozenset = frozenset()                # buffers of integers in the host's memory


def partition(function: Function, deterministic: bool = False, given: frozenset = frozenset()) -> DeviceProgram:
    """The kernels and the host function of a program. UnsupportedOnDevice for what cannot run on a device.

    deterministic: refuse atomic additions, whose order changes from run to run. given: the parameters, by number, that are
    numbers only the device knows, and passed in cells.
    """
    return Partition(function, deterministic, given).run()


def count_uses(block) -> Counter:
    """How often numbers are read, as subscripts of a library call's operands too."""
    found: Counter = Counter()
    for s in walk(block):
        for x in core.operands(s):
            found.update(p for p in (x.prefix if isinstance(x, Ref) else (x,)) if isinstance(p, Var))
    return found


class Partition:
    def __init__(self, function: Function, deterministic: bool, given: frozenset):
        self.function, self.deterministic = function, deterministic
        self.facts, self.sizes = facts_of(function), facts_of(function, checks=False)
        unknown = [p for k, p in enumerate(function.params) if k in given]
        self.placement = Placement(function, self.facts, unknown)
        self.touches = Touches()
        self.kernels: list[Kernel] = []
        self.cells: dict[Var, Arr] = {p: Arr(p.hint, p.dtype, (integer(1),)) for p in unknown}
        self.own_cells: list[Arr] = []
        self.failed = Arr("failed", "int64", (integer(1),))
        self.messages: list[tuple] = [("IndexError", "an index is out of range")]
        self.checked = False
        self.uses = count_uses(function.body)
        self.uses.update(x for r in function.returns for x in [r] if isinstance(x, Var))

    def run(self) -> DeviceProgram:
        body = list(self.block(self.function.body))
        returns = tuple(self.cells.get(r, r) if isinstance(r, Var) else r for r in self.function.returns)
        made = Statements()
        if self.checked:
            made.make(self.failed, integer(0))
        for a in self.own_cells:
            made.make(a)
        made.stmts += body
        if self.checked:
            made.call((), CHECK, (self.failed,), tuple(self.messages))
        params = tuple(self.cells.get(p, p) if isinstance(p, Var) else p for p in self.function.params)
        host = replace(self.function, params=params, body=tuple(made.stmts), returns=returns)
        return DeviceProgram(host, tuple(self.kernels), frozenset(self.cells.values()),
                             frozenset(self.placement.host_arrays))

    # -- the host's statements --------------------------------------------------------------------------------
    def block(self, block, after=()) -> tuple:
        """The host's statements for a block. after: assignments of cells at its end."""
        out: list = []
        pending: list = []

        def flush(before=None):
            if pending and (before is None or any(not self.pass_each_other(s, before) for s in pending)):
                out.extend(self.alone(tuple(pending)))
                pending.clear()
        for s in block:
            where = self.placement.where.get(s)
            match s:
                case Comment():
                    out.append(s)
                case Let() if self.placement.knows(s.var):
                    out.append(s)
                case Load() | Store() | Alloc() if s.array in self.placement.host_arrays:
                    out.append(s)
                case Let() | Load() | Store():
                    pending.append(s)
                case Alloc():
                    flush(s)
                    out.extend(self.allocation(s))
                case For() if where == "nest":
                    flush(s)
                    out.extend(self.nest(s))
                case For() | While() | If() if where == "thread" and not self.placement.of_numbers(s):
                    pending.append(s)
                case For():
                    flush()
                    out.extend(self.host_loop(s))
                case While():
                    flush()
                    out.extend(self.host_while(s))
                case If():
                    flush()
                    out.extend(self.branch(s))
                case Guard():
                    if self.placement.knows(s.cond, *s.parts):
                        out.append(s)
                    else:
                        pending.append(self.check(s))
                case Call():
                    flush()
                    out.extend(self.library(s))
                case core.Resize(length=length):
                    flush()
                    known = self.known(length, out)
                    out.append(replace(s, length=known))
                case core.Swap():
                    flush()
                    out.append(s)
                case core.Print():
                    raise UnsupportedOnDevice("a device program cannot print", s.loc, "print what the function returns")
        pending.extend(after)
        flush()
        return tuple(out)

    def pass_each_other(self, a, b) -> bool:
        """Whether two statements may change places."""
        x, y = self.touches[a], self.touches[b]
        return not (x.defines & y.names or y.defines & x.names or x.writes & y.names or y.writes & x.names)

    def cell(self, v: Var) -> Arr:
        """The cell of a number that only the device knows."""
        if v not in self.cells:
            self.cells[v] = Arr(v.hint, v.dtype, (integer(1),))
            self.own_cells.append(self.cells[v])
        return self.cells[v]

    def allocation(self, s: Alloc) -> list:
        for size in s.array.shape:
            if not self.placement.knows(size):
                raise unknown_size(s.array, s.loc)
        if isinstance(s.fill, Var) and not self.placement.knows(s.fill):
            return [replace(s, fill=self.cells[s.fill])]
        return [s]

    # -- kernels ----------------------------------------------------------------------------------------------
    def kernel(self, loop: For, b: Builder, alone: bool = False) -> Kernel:
        name = f"{self.function.name}_kernel_{len(self.kernels) + 1}"
        made = kernel_of(loop, name, self.facts, self.cells, b, self.failed, alone)
        self.checked |= self.failed in made.function.params
        unknown = [v for v in made.function.params if isinstance(v, Var) and not self.placement.knows(v)]
        if unknown:
            raise InternalError(f"the host does not know {unknown}", loop.loc, "please report this program")
        if made.atomics and self.deterministic:
            first = made.atomics[0]
            raise UnsupportedOnDevice(f"several threads may add to one element of `{first.array.hint}`, in an order that "
                                      "changes from run to run", first.loc,
                                      "leave deterministic=True out, or add at indices of the loops around")
        self.kernels.append(made)
        for a in made.memory:
            b.make(a)
        return made

    def nest(self, loop: For) -> list:
        """A kernel's launch, and the totals of what it sums up. The host waits for bounds that only the device knows."""
        b = Builder(self.sizes)
        bounds = {a for s in collapsed(loop, self.facts) for a in (s.start, s.stop) if isinstance(a, Var)}
        unknown = {a: self.known(a, b.stmts) for a in bounds if not self.placement.knows(a)}
        if unknown:
            (loop,) = substitute((loop,), unknown, fresh=False)
        made = self.kernel(loop, b)
        for _, _, parts in made.totals:
            b.call((parts,), PARTIALS, made.extents)
        b.add(self.launch(made, loop))
        for c, kind, parts in made.totals:
            self.cells[c.result] = Arr(c.result.hint, c.result.dtype, (integer(1),))
            b.call((self.cells[c.result],), TOTAL + kind, (parts, self.cells.get(c.init, c.init)))
        return b.stmts

    def launch(self, made: Kernel, loop: For) -> Call:
        outs = tuple(dict.fromkeys(a for a in made.function.params if isinstance(a, Arr)))
        given = (*made.extents, *made.function.params)
        return Call(outs, LAUNCH + made.function.name, given, (len(made.extents),), loop.loc)

    def alone(self, block) -> list:
        """A kernel of one thread for statements; what others need of them goes to cells."""
        inside = count_uses(block)
        stores = [Store(self.cell(v), (integer(0),), v) for s in block for v in core.defined(s)
                  if self.uses[v] > inside[v]]
        loc = next((s.loc for s in block), core.NOWHERE)
        loop = For(Var("thread", "int64"), integer(0), integer(1), integer(1), (), (*block, *stores), loc=loc)
        b = Builder(self.sizes)
        made = self.kernel(loop, b, alone=True)
        b.add(self.launch(made, loop))
        return b.stmts

    def check(self, s: Guard) -> If:
        """A check that the device makes: it writes a number, which the host looks up at the end."""
        text = FIELD.sub("...", s.message).replace("{{", "{").replace("}}", "}") if s.parts else s.message
        self.messages.append((s.error + AGAIN.get(s.tells, ""), text if s.tells == "note" else f"{text}\n  {s.loc.told()}"))
        self.checked = True
        return If(s.cond, (), (Store(self.failed, (integer(0),), integer(len(self.messages)), loc=s.loc),), loc=s.loc)

    # -- control on the host ----------------------------------------------------------------------------------
    def known(self, atom, out: list):
        """The number, which the host waits for if only the device knows it."""
        if not isinstance(atom, Var) or self.placement.knows(atom):
            return atom
        v = Var(atom.hint, atom.dtype)
        out.append(Call((v,), READ, (self.cells[atom],)))
        return v

    def into_cells(self, pairs) -> list:
        """What puts values into cells, all at once."""
        return [Store(cell, (integer(0),), value) for cell, value in pairs]

    def carries(self, loop) -> tuple[list, list, list]:
        """(statements before the loop, assignments at the end of its body, carries that the host knows)."""
        before, after, kept = [], [], []
        for c in loop.carries:
            if self.placement.knows(c.var):
                kept.append(c)
                continue
            cell = Arr(c.var.hint, c.var.dtype, (integer(1),))
            self.cells[c.var] = self.cells[c.result] = cell
            before.append(Call((cell,), CELL, (self.cells.get(c.init, c.init),)))
            after.append((cell, c.next))
        return before, after, kept

    def host_loop(self, loop: For) -> list:
        """A loop that the host runs, with kernels in it."""
        if not self.placement.of_numbers(loop):
            self.refuse_without_kernels(loop)
        out: list = []
        start, stop, step = (self.known(a, out) for a in (loop.start, loop.stop, loop.step))
        before, after, kept = self.carries(loop)
        body = list(self.block(loop.body, self.into_cells(after)))
        leave = loop.exit if loop.exit is None else self.known(loop.exit, body)
        if loop.trip is not None and not self.placement.knows(loop.trip):
            self.placement.device.discard(loop.trip)        # the host counts
        return [*before, *out, replace(loop, start=start, stop=stop, step=step, body=tuple(body), carries=tuple(kept),
                                       exit=leave)]

    def refuse_without_kernels(self, loop) -> None:
        """UnsupportedOnDevice for a loop that has no work for threads or a library in it: what keeps the innermost loop, of
        those that might, from running as threads."""
        if any(self.placement.where.get(s) == "nest" or isinstance(s, Call) for s in walk(loop.body)):
            return
        loops = [s for s in walk((loop,)) if is_loop(s)]
        why = next((found for s in reversed(loops) if (found := obstacle(s, self.facts)) is not None), None)
        if why is not None:
            raise UnsupportedOnDevice(f"this loop cannot run as threads: {why.problem}", why.loc, why.hint)

    def host_while(self, loop: While) -> list:
        """A `while` loop that the host runs; for a condition of the device's it waits."""
        if not self.placement.of_numbers(loop):
            self.refuse_without_kernels(loop)
        before, after, kept = self.carries(loop)
        if self.placement.knows(loop.cond):
            body = self.block(loop.body, self.into_cells(after))
            return [*before, replace(loop, body=body, carries=tuple(kept))]
        out: list = []
        carry = next(c for c in loop.carries if c.var is loop.cond)
        first = self.known(carry.init, out)
        again = Var(loop.cond.hint, "bool")
        body = (*self.block(loop.body, self.into_cells(after)), Call((again,), READ, (self.cells[loop.cond],)))
        head = Var(loop.cond.hint, "bool")
        kept.append(core.Carry(head, first, again, Var(loop.cond.hint, "bool")))
        return [*before, *out, replace(loop, cond=head, body=body, carries=tuple(kept))]

    def branch(self, s: If) -> list:
        """A branch that the host takes."""
        out: list = []
        cond = self.known(s.cond, out)
        kept, then, orelse = [], [], []
        for m in s.merges:
            if self.placement.knows(m.var):
                kept.append(m)
                continue
            cell = self.cell(m.var)
            then.append((cell, m.then))
            orelse.append((cell, m.orelse))
        made = replace(s, cond=cond, then=self.block(s.then, self.into_cells(then)),
                       orelse=self.block(s.orelse, self.into_cells(orelse)), merges=tuple(kept))
        return [*out, made]

    def library(self, s: Call) -> list:
        """A library call on the device's arrays; numbers it gives are cells."""
        if is_draw(s):
            raise UnsupportedOnDevice("random numbers are not drawn on the device", s.loc,
                                      "draw them before, and pass the array")
        if s.op in CALLS and not CALLS[s.op].device:
            raise UnsupportedOnDevice(f"the library call `{s.op}` is not available on a device", s.loc,
                                      "compute it on the CPU, and pass its result")
        out: list = []

        def place(a):
            if isinstance(a, Ref):
                return replace(a, prefix=tuple(self.known(p, out) for p in a.prefix))
            return self.cells.get(a, a) if isinstance(a, Var) else a
        outs = tuple(self.cell(o) if isinstance(o, Var) and not self.placement.knows(o) else place(o) for o in s.outs)
        call = replace(s, outs=outs, args=tuple(map(place, s.args)))
        return [*out, call]


__all__ = ["CELL", "CHECK", "DeviceProgram", "LAUNCH", "PARTIALS", "READ", "TOTAL", "partition"]
