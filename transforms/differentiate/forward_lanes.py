"""Forward mode with many tangents side by side: every tangent has one more, last axis, the lanes.

    v = f(x)            partial = df/dx                             once
                        for l in range(lanes): v_dot[l] = partial * x_dot[l]
    a[i] = v            for l in range(lanes): a_dot[i, l] = v_dot[l]

The loops over lanes run along memory; the passes that follow join those of neighbouring statements, and what only one
such loop uses becomes a scalar of it. Values and partial derivatives are computed once for all lanes.
"""

from __future__ import annotations

from dataclasses import replace

from ..language.build import Builder, Facts, integer, loops
from ..language.core import Alloc, Arr, Const, For, If, Load, Ref, Store, Var
from ..language.substitution import substitute
from .forward import Forward, bind, bound_primals

SHORT = 8               # products over at most as many terms are loops, from there on BLAS, lane by lane


class ForwardLanes(Forward):
    """As `Forward`; the tangent of a scalar is a buffer with one element a lane. `lanes`: how many, an integer atom."""

    def __init__(self, facts: Facts, live: set, registry, lanes):
        super().__init__(facts, live, registry)
        self.lanes = lanes

    # -- tangents ---------------------------------------------------------------------------------------------
    def array(self, a: Arr) -> Arr:
        if a not in self.dots:
            self.dots[a] = Arr(f"{a.hint}_dot", a.dtype, (*a.shape, self.lanes))
        return self.dots[a]

    def new(self, v: Var):
        """A buffer for the tangent of a scalar, allocated here."""
        made = self.dots[v] = Arr(f"{v.hint}_dot", v.dtype, (self.lanes,))
        self.b.add(Alloc(made))
        return made

    def each_lane(self, body) -> None:
        """A loop over the lanes; `body(builder, lane)` fills it."""
        lane = self.b.index("lane", integer(0), self.lanes)
        inner = self.b.child(loop=True)
        body(inner, lane)
        self.b.add(For(lane, integer(0), self.lanes, integer(1), (), inner.block(), loc=self.b.loc, origin="array"))

    def copy(self, pairs) -> None:
        """All of (target, source or None for zero), read before any is written."""
        pairs = [(t, s) for t, s in pairs if t is not s]

        def body(b, lane):
            values = [Const(0.0, t.dtype) if s is None else b.load(s, (lane,)) for t, s in pairs]
            for (t, _), value in zip(pairs, values, strict=True):
                b.store(t, (lane,), value)
        if pairs:
            self.each_lane(body)

    # -- statements -------------------------------------------------------------------------------------------
    def load(self, stmt: Load) -> None:
        source, target = self.array(stmt.array), self.new(stmt.var)
        self.each_lane(lambda b, lane: b.store(target, (lane,), b.load(source, (*stmt.index, lane))))

    def store(self, stmt: Store) -> None:
        source, target = self.dot(stmt.value), self.array(stmt.array)
        if source is not None or not stmt.accumulate:
            self.each_lane(lambda b, lane: b.store(
                target, (*stmt.index, lane), Const(0.0, target.dtype) if source is None else b.load(source, (lane,)),
                stmt.accumulate))

    def let(self, stmt) -> None:
        v = stmt.var
        if stmt.op == "cast":
            source = self.dot(stmt.args[0])
            if source is None or source.dtype == v.dtype:
                self.dots[v] = source
                return
            terms = [(Const(1.0, v.dtype), source)]
        else:
            terms = list(self.partials(stmt))
        if not terms:
            return
        target = self.new(v)

        def body(b, lane):
            outer, self.b = self.b, b
            total = None
            for partial, source in terms:
                term = self.scaled(partial, self.as_dtype(b.load(source, (lane,)), v.dtype), v.dtype)
                total = term if total is None else b.let("add", total, term, dtype=v.dtype, hint=f"{v.hint}_dot")
            self.b = outer
            b.store(target, (lane,), total)
        self.each_lane(body)

    def loop(self, stmt) -> None:
        moving = self.moving(stmt)
        heads = [(c, self.dot(c.init), self.new(c.var)) for c in moving]
        self.copy([(head, init) for _, init, head in heads])
        body = self.block(stmt.body, after=lambda: self.copy([(head, self.dot(c.next)) for c, _, head in heads]))
        self.b.add(replace(stmt, body=body))
        for c, _, head in heads:
            self.dots[c.result] = head

    def branch(self, stmt: If) -> None:
        merged = [(m, self.new(m.var)) for m in stmt.merges if m.var in self.live]
        then = self.block(stmt.then, after=lambda: self.copy([(t, self.dot(m.then)) for m, t in merged]))
        orelse = self.block(stmt.orelse, after=lambda: self.copy([(t, self.dot(m.orelse)) for m, t in merged]))
        self.b.add(replace(stmt, then=then, orelse=orelse))

    def call(self, stmt, rule) -> None:
        """The rule lane by lane, on copies of the lane's tangents; short products as loops over all lanes."""
        if stmt.op == "matmul":
            a, b = (x if isinstance(x, Ref) else Ref(x) for x in stmt.args)
            if isinstance(a.shape[-1], Const) and a.shape[-1].value <= SHORT:
                return self.product(stmt.outs[0], a, b)
        primals = bound_primals(stmt, rule)
        results = [(x, self.new(x)) for x in stmt.outs if isinstance(x, Var) and x in self.live]

        def body(b: Builder, lane) -> None:
            mapping = dict(primals)
            for param, x in zip(rule.arg_dots, stmt.args, strict=True):
                if isinstance(param, Arr):
                    ref = x if isinstance(x, Ref) else Ref(x)
                    own = self.lane_of(b, ref, lane)
                    bind(mapping, param, Ref(own, (), ref.transposed))
                elif param is not None:
                    source = self.dot(x)
                    mapping[param] = Const(0.0, x.dtype) if source is None else b.load(source, (lane,))
            written = []
            for param, x in zip(rule.out_dots, stmt.outs, strict=True):
                if isinstance(param, Arr):
                    ref = x if isinstance(x, Ref) else Ref(x)
                    own = Arr("dot", param.dtype, ref.array.shape[len(ref.prefix):])
                    b.add(Alloc(own))
                    bind(mapping, param, Ref(own, (), ref.transposed))
                    written.append((ref, own))
            b.stmts.extend(substitute(rule.body, mapping))
            for ref, own in (w for w in written if w[0].array in self.live):
                target = self.array(ref.array)
                loops(b, own.shape, lambda bb, i, ref=ref, own=own, target=target: bb.store(
                    target, (*ref.prefix, *i, lane), bb.load(own, i)))
            for param, x in zip(rule.out_dots, stmt.outs, strict=True):
                for v, target in results:
                    if v is x:
                        b.store(target, (lane,), mapping.get(param, param))
        self.each_lane(body)
        return None

    def product(self, out, a: Ref, b: Ref) -> None:
        """out_dot[i, j, l] = sum over k of a_dot[i, k, l] * b[k, j] + a[i, k] * b_dot[k, j, l]."""
        rows = len(a.shape) - 1
        if isinstance(out, Var):
            scalar, out = out, Ref(Arr(out.hint, out.dtype, ()))
            self.dots[out.array] = self.new(scalar)
        else:
            out = out if isinstance(out, Ref) else Ref(out)

        def element(bb: Builder, index) -> None:
            outer, self.b = self.b, bb
            target = self.array(out.array)
            place = at(out, index)
            self.each_lane(lambda c, lane: c.store(target, (*place, lane), Const(0.0, target.dtype)))
            for k in map(integer, range(a.shape[-1].value)):
                sides = [(a, (*index[:rows], k)), (b, (k, *index[rows:]))]
                for (x, i), (y, j) in (sides, sides[::-1]):
                    if x.array in self.live:
                        factor = self.b.load(y.array, at(y, j))
                        source = self.array(x.array)
                        self.each_lane(lambda c, lane, factor=factor, source=source, x=x, i=i: c.store(
                            target, (*place, lane), c.let("mul", factor, c.load(source, (*at(x, i), lane)),
                                                          dtype=target.dtype), True))
            self.b = outer
        loops(self.b, out.shape, element)

    def lane_of(self, b: Builder, ref: Ref, lane) -> Arr:
        """A copy of one lane of the tangent of an operand."""
        source = self.array(ref.array)
        own = Arr("dot", source.dtype, ref.array.shape[len(ref.prefix):])
        b.add(Alloc(own))
        loops(b, own.shape, lambda bb, i: bb.store(own, i, bb.load(source, (*ref.prefix, *i, lane))))
        return own


def at(ref: Ref, index) -> tuple:
    """The place in its buffer of an element of an operand."""
    return (*ref.prefix, *(index[::-1] if ref.transposed else index))


__all__ = ["ForwardLanes"]
