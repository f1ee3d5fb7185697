"""Forward mode with a few tangents side by side, each a scalar of its own: buffers of tangents have one more, first axis.

    v = f(x)            v_dot_0 = df/dx * x_dot_0;  v_dot_1 = df/dx * x_dot_1      the partial derivative once
    v = a[i]            v_dot_0 = a_dot[0, i];  v_dot_1 = a_dot[1, i]
    library call        its pushforward for each tangent, on a_dot[0], a_dot[1]

For few tangents, whose number is known: loops of the program stay its innermost ones, so that they vectorise.
Many tangents are in `forward_lanes.py`.
"""

from __future__ import annotations

from dataclasses import replace

from ..language.build import Facts, integer
from ..language.core import Alloc, Arr, Call, Carry, Const, If, Let, Load, Merge, Ref, Store, Var
from ..language.substitution import substitute
from .forward import Forward, bind, bound_primals


class ForwardSeveral(Forward):
    """As `Forward`; the tangent of a scalar is a tuple of `count` scalars."""

    def __init__(self, facts: Facts, live: set, registry, count: int):
        super().__init__(facts, live, registry)
        self.count = count

    def dot_or_zero(self, x) -> tuple:
        found = self.dot(x)
        return (Const(0.0, x.dtype),) * self.count if found is None else found

    def array(self, a: Arr) -> Arr:
        if a not in self.dots:
            self.dots[a] = Arr(f"{a.hint}_dot", a.dtype, (integer(self.count), *a.shape))
        return self.dots[a]

    def new(self, v: Var) -> tuple:
        made = self.dots[v] = tuple(Var(f"{v.hint}_dot", v.dtype) for _ in range(self.count))
        for var in made:
            self.facts.number(var)
        return made

    # -- statements -------------------------------------------------------------------------------------------
    def statement(self, stmt) -> None:
        if isinstance(stmt, Alloc) and stmt.array in self.live:
            self.b.add(stmt)                    # where it is not filled: every store has one of tangents beside it
            self.b.add(Alloc(self.array(stmt.array), stmt.fill and Const(0.0, stmt.array.dtype), stmt.loc))
            return
        super().statement(stmt)

    def load(self, stmt: Load) -> None:
        source = self.array(stmt.array)
        for k, var in enumerate(self.new(stmt.var)):
            self.b.add(Load(var, source, (integer(k), *stmt.index), stmt.loc))

    def store(self, stmt: Store) -> None:
        if self.dot(stmt.value) is None and stmt.accumulate:
            return
        target = self.array(stmt.array)
        for k, value in enumerate(self.dot_or_zero(stmt.value)):
            value = replace_zero(value, stmt.array.dtype)
            self.b.add(Store(target, (integer(k), *stmt.index), value, stmt.accumulate, stmt.loc))

    def let(self, stmt: Let) -> None:
        v, b = stmt.var, self.b
        if stmt.op == "cast":
            source = self.dot(stmt.args[0])
            if source is not None:
                self.dots[v] = tuple(self.as_dtype(s, v.dtype) for s in source)
            return
        terms = list(self.partials(stmt))
        if not terms:
            return
        totals = []
        for k in range(self.count):
            total = None
            for partial, tangents in terms:
                term = self.scaled(partial, self.as_dtype(tangents[k], v.dtype), v.dtype)
                total = term if total is None else b.let("add", total, term, dtype=v.dtype, hint=f"{v.hint}_dot")
            totals.append(total)
        self.dots[v] = tuple(totals)

    def loop(self, stmt) -> None:
        moving = self.moving(stmt)
        inits = [self.dot_or_zero(c.init) for c in moving]
        heads = [self.new(c.var) for c in moving]
        body = self.block(stmt.body)
        carries = [Carry(*parts) for c, head, init in zip(moving, heads, inits, strict=True)
                   for parts in zip(head, init, self.dot_or_zero(c.next), self.new(c.result), strict=True)]
        self.b.add(replace(stmt, carries=(*stmt.carries, *carries), body=body))

    def branch(self, stmt: If) -> None:
        then, orelse = self.block(stmt.then), self.block(stmt.orelse)
        merges = [Merge(*parts) for m in stmt.merges if m.var in self.live
                  for parts in zip(self.new(m.var), self.dot_or_zero(m.then), self.dot_or_zero(m.orelse), strict=True)]
        self.b.add(replace(stmt, then=then, orelse=orelse, merges=(*stmt.merges, *merges)))

    def call(self, stmt: Call, rule) -> None:
        for x in stmt.outs:
            if not isinstance(x, Var) and (array := x.array if isinstance(x, Ref) else x) not in self.live:
                self.b.add(Alloc(self.array(array), Const(0.0, array.dtype), stmt.loc))     # another result of the call is
        found: dict = {x: [] for x in stmt.outs if isinstance(x, Var) and x in self.live}
        for k in range(self.count):
            mapping = bound_primals(stmt, rule)
            for param, x in (*zip(rule.arg_dots, stmt.args, strict=True), *zip(rule.out_dots, stmt.outs, strict=True)):
                if isinstance(param, Arr):
                    ref = x if isinstance(x, Ref) else Ref(x)
                    bind(mapping, param, Ref(self.array(ref.array), (integer(k), *ref.prefix), ref.transposed))
                elif param in rule.arg_dots and param is not None:
                    mapping[param] = self.dot_or_zero(x)[k]
            self.b.stmts.extend(substitute(rule.body, mapping))
            for param, x in zip(rule.out_dots, stmt.outs, strict=True):
                if x in found:
                    found[x].append(mapping.get(param, param))
        self.dots.update({x: tuple(dots) for x, dots in found.items()})


def replace_zero(value, dtype: str):
    """A constant in the dtype of the buffer it is stored in."""
    return Const(0.0, dtype) if isinstance(value, Const) and value.value == 0 else value


__all__ = ["ForwardSeveral"]
