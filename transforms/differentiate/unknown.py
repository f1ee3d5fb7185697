"""Which values depend on given parameters in any way: through arithmetic, conditions, indices, trip counts, sizes.

    v = f(x)            v is unknown if x is
    a[i] = v            a is unknown if i or v is, or if it is unknown whether the statement runs
    if c: ... else: ... what the two sides join is unknown if c is
    for / while         what they leave is unknown if the number of iterations is

Everything else can be computed without knowing those parameters. A buffer allocated in the block that may not run is not
unknown for being written there: nobody outside sees it.
"""

from __future__ import annotations

from ..language import core
from ..language.core import Arr, Function, Ref, array_of


class Unknown:
    """`values`: scalars and buffers; `sizes`: buffers whose shape is unknown."""

    def __init__(self, function: Function, parameters):
        self.values: set = set(parameters)
        self.sizes: set = set()
        while True:
            before = len(self.values) + len(self.sizes)
            self.block(function.body, False, set())
            if len(self.values) + len(self.sizes) == before:
                break

    def __contains__(self, x) -> bool:
        if isinstance(x, Ref):
            return x.array in self.values or self.any(x.prefix)
        return x in self.values

    def any(self, operands) -> bool:
        return any(x in self for x in operands)

    def block(self, block, uncertain: bool, own: set) -> None:
        """`uncertain`: whether it is unknown if the block runs; `own`: buffers allocated since that became unknown."""
        for stmt in block:
            self.statement(stmt, uncertain, own)

    def statement(self, stmt, uncertain, own) -> None:
        match stmt:
            case core.Let(var=v, op="dim", args=(a, _)):
                self.put((v,), a in self.sizes)
            case core.Let(var=v, args=args):
                self.put((v,), self.any(args))
            case core.Load(var=v, array=a, index=index):
                self.put((v,), a in self or self.any(index))
            case core.Store(array=a, index=index, value=v):
                self.put((a,), self.any((*index, v)) or (uncertain and a not in own))
            case core.Alloc(array=a, fill=fill):
                own.add(a)
                self.put((a,), fill is not None and fill in self)
                if self.any(a.shape):
                    self.sizes.add(a)
            case core.Resize(array=a, length=n):
                if n in self or (uncertain and a not in own):
                    self.sizes.add(a)
            case core.Swap(targets=targets):
                self.put(targets, self.any(targets) or (uncertain and not own.issuperset(targets)))
                if self.sizes.intersection(targets):
                    self.sizes.update(targets)
            case core.Call(outs=outs, args=args):
                arrays = [array_of(o) for o in outs]
                outside = any(isinstance(a, Arr) and a not in own for a in arrays)
                self.put(arrays, self.any(args) or self.any(outs) or (uncertain and outside))
            case core.If(cond=cond, merges=merges):
                open_ = cond in self
                for side in (stmt.then, stmt.orelse):
                    self.block(side, uncertain or open_, set() if open_ else own)
                for m in merges:
                    self.put((m.var,), open_ or m.then in self or m.orelse in self)
            case core.For() | core.While():
                self.loop(stmt, uncertain, own)

    def uncounted(self, stmt) -> bool:
        """Whether it is unknown how often a loop runs, so that its iterations cannot be run one by one."""
        if isinstance(stmt, core.For):
            return self.any((stmt.start, stmt.stop, stmt.step))
        return any(c.var is stmt.cond and (c.var in self or c.next in self or c.init in self) for c in stmt.carries)

    def loop(self, stmt, uncertain, own) -> None:
        uncounted = self.uncounted(stmt)
        open_ = uncounted or (isinstance(stmt, core.For) and stmt.exit is not None and stmt.exit in self)
        self.put((stmt.index if isinstance(stmt, core.For) else stmt.counter,), uncounted)
        self.block(stmt.body, uncertain or open_, set() if open_ else own)
        for c in stmt.carries:
            self.put((c.var,), uncounted or c.init in self or c.next in self)
            self.put((c.result,), open_ or c.var in self or c.next in self)
        if stmt.trip is not None:
            self.put((stmt.trip,), open_)

    def put(self, targets, unknown: bool) -> None:
        if unknown:
            self.values.update(targets)


__all__ = ["Unknown"]
