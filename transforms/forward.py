"""Forward mode: a core program to the program that computes its tangents beside its values.

    v = f(x, y)         v_dot = df/dx * x_dot + df/dy * y_dot
    v = a[i]            v_dot = a_dot[i]
    a[i] = v            a_dot[i] = v_dot        (and += likewise)
    for / while / if    the same loop or branch, which carries tangents as well
    a, b = b, a         a_dot, b_dot = b_dot, a_dot
    library call        the call, then the statements of its pushforward rule

Every statement of the primal stays as it is; its tangent follows at once, so nothing is kept and nothing recomputed.
Several tangents may go side by side, each a lane of its own beside one set of values.

Source: A. Griewank and A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 3.
"""

from __future__ import annotations

from dataclasses import replace

from . import core
from .activity import active
from .build import Builder, Facts
from .core import Alloc, Arr, Call, Carry, Comment, Const, Function, If, Let, Load, Loc, Merge, Ref, Resize, Store, Swap, Var
from .errors import InternalError, MissingRule
from .reverse_calls import array_of, kind_of
from .substitution import substitute


class Forward:
    """The program under construction. `dots`: (lane, variable or buffer) -> its tangent; what is missing has none."""

    def __init__(self, facts: Facts, live: set, registry, lanes: int):
        self.facts, self.live, self.registry, self.lanes = facts, live, registry, lanes
        self.dots: dict = {}
        self.b = Builder(facts)
        self.last_loc: Loc | None = None

    # -- tangents ---------------------------------------------------------------------------------------------
    def hint(self, x, lane: int) -> str:
        return f"{x.hint}_dot" if self.lanes == 1 else f"{x.hint}_dot_{lane}"

    def dot(self, lane: int, x):
        """The tangent of a scalar, None if it is zero."""
        return self.dots.get((lane, x)) if isinstance(x, Var) else None

    def dot_or_zero(self, lane: int, x):
        found = self.dot(lane, x)
        return Const(0.0, x.dtype) if found is None else found

    def array(self, lane: int, a: Arr) -> Arr:
        key = (lane, a)
        if key not in self.dots:
            self.dots[key] = Arr(self.hint(a, lane), a.dtype, a.shape)
        return self.dots[key]

    def new(self, lane: int, v: Var) -> Var:
        var = self.dots[lane, v] = Var(self.hint(v, lane), v.dtype)
        self.facts.number(var)
        return var

    def comment(self, stmt) -> None:
        loc = stmt.loc
        if loc.line and loc.text and (self.last_loc is None or (loc.file, loc.line) != (self.last_loc.file,
                                                                                         self.last_loc.line)):
            self.b.add(Comment(f"{loc.short()}    {loc.text.strip()}"))
            self.last_loc = loc

    # -- statements -------------------------------------------------------------------------------------------
    def block(self, block) -> tuple:
        """The block with tangents, in a builder of its own."""
        outer = self.b
        self.b = Builder(parent=outer)
        try:
            for stmt in block:
                self.b.loc = stmt.loc
                self.statement(stmt)
            return self.b.block()
        finally:
            self.b = outer

    def statement(self, stmt) -> None:
        match stmt:
            case core.For() | core.While():
                return self.loop(stmt)
            case If():
                return self.branch(stmt)
            case Comment():
                return None
        if any(x in self.live for x in self.results(stmt)):
            self.comment(stmt)
        self.b.add(stmt)
        if isinstance(stmt, Let):
            self.b.known.setdefault((stmt.op, stmt.args, stmt.var.dtype), stmt.var)     # partials may use it again
        for lane in range(self.lanes):
            match stmt:
                case Let(var=v) if v in self.live:
                    self.let(lane, stmt)
                case Load(var=v, array=a, index=index) if v in self.live:
                    self.b.add(Load(self.new(lane, v), self.array(lane, a), index, stmt.loc))
                case Store(array=a, index=index, value=v, accumulate=add) if a in self.live:
                    value = self.dot(lane, v)
                    if value is not None or not add:
                        value = Const(0.0, a.dtype) if value is None else value
                        self.b.add(Store(self.array(lane, a), index, value, add, stmt.loc))
                case Alloc(array=a) if a in self.live:
                    self.b.add(Alloc(self.array(lane, a), Const(0.0, a.dtype), stmt.loc))
                case Resize(array=a, length=n) if a in self.live:
                    self.b.add(Resize(self.array(lane, a), n, stmt.loc))
                case Swap(targets=targets, sources=sources) if targets[0] in self.live:
                    self.b.add(Swap(tuple(self.array(lane, a) for a in targets),
                                    tuple(self.array(lane, a) for a in sources), stmt.loc))
                case Call() if any(x in self.live for x in self.results(stmt)):
                    self.call(lane, stmt)
        return None

    def results(self, stmt) -> tuple:
        match stmt:
            case Alloc():
                return ()
            case Store(array=a) | Resize(array=a):
                return (a,)
            case Swap(targets=targets):
                return targets
            case Call(outs=outs):
                return tuple(map(array_of, outs))
        return core.defined(stmt)

    def let(self, lane: int, stmt: Let) -> None:
        v, b = stmt.var, self.b
        if stmt.op in ("cast", "link"):
            source = self.dot(lane, stmt.args[-1])
            if source is not None:
                self.dots[lane, v] = source if source.dtype == v.dtype else b.let("cast", source, dtype=v.dtype, hint="t")
            return
        template = self.registry.partials(stmt.op, tuple(a.dtype for a in stmt.args), v.dtype)
        if template is None:
            raise InternalError(f"the operation `{stmt.op}` has no derivative rule", stmt.loc)
        total = None
        for k, arg in enumerate(stmt.args):
            tangent = self.dot(lane, arg)
            if tangent is None:
                continue
            if tangent.dtype != v.dtype:
                tangent = b.let("cast", tangent, dtype=v.dtype, hint="t")
            body, out, _ = template.slice(k)
            partial = self.inline(body, dict(zip(template.params, (v, *stmt.args), strict=True)), out)
            term = self.scaled(partial, tangent, v.dtype)
            total = term if total is None else b.let("add", total, term, dtype=v.dtype, hint=self.hint(v, lane))
        if total is not None:
            self.dots[lane, v] = total

    def inline(self, body, mapping, out):
        """A rule's statements here, its parameters replaced; the atom of `out`."""
        for stmt in body:
            if isinstance(stmt, Let):
                mapping[stmt.var] = self.b.let(stmt.op, *(mapping.get(a, a) for a in stmt.args), dtype=stmt.var.dtype,
                                               hint=stmt.var.hint)
            else:
                self.b.stmts.extend(substitute((stmt,), mapping))
        return mapping.get(out, out)

    def scaled(self, partial, tangent, dtype):
        if isinstance(partial, Const):
            if partial.value == 1:
                return tangent
            if partial.value == -1:
                return self.b.let("neg", tangent, dtype=dtype, hint="t")
        return self.b.let("mul", partial, tangent, dtype=dtype, hint="t")

    def loop(self, stmt) -> None:
        moving = [(lane, c) for lane in range(self.lanes) for c in stmt.carries
                  if c.var in self.live or c.result in self.live]
        inits = {(lane, c): self.dot_or_zero(lane, c.init) for lane, c in moving}
        heads = {(lane, c): self.new(lane, c.var) for lane, c in moving}
        body = self.block(stmt.body)
        carries = []
        for lane, c in moving:
            nxt = self.dot_or_zero(lane, c.next)
            carries.append(Carry(heads[lane, c], inits[lane, c], nxt, self.new(lane, c.result)))
        self.b.add(replace(stmt, carries=(*stmt.carries, *carries), body=body))

    def branch(self, stmt: If) -> None:
        then, orelse = self.block(stmt.then), self.block(stmt.orelse)
        merges = [Merge(self.new(lane, m.var), self.dot_or_zero(lane, m.then), self.dot_or_zero(lane, m.orelse))
                  for lane in range(self.lanes) for m in stmt.merges if m.var in self.live]
        self.b.add(replace(stmt, then=then, orelse=orelse, merges=(*stmt.merges, *merges)))

    # -- library calls ----------------------------------------------------------------------------------------
    def call(self, lane: int, stmt: Call) -> None:
        mask = tuple(array_of(a) in self.live for a in stmt.args)
        rule = self.registry.pushforward(stmt.op, tuple(map(kind_of, stmt.outs)), tuple(map(kind_of, stmt.args)), mask,
                                         stmt.static)
        if rule is None:
            name = stmt.op.rpartition(".")[2]
            raise MissingRule(f"`{name}` has a pullback, but no pushforward for forward mode", stmt.loc,
                              f"give it one: @autodiff.rules.pushforward({name})")
        mapping: dict = {}
        for params, operands in ((rule.outs, stmt.outs), (rule.args, stmt.args)):
            for param, x in zip(params, operands, strict=True):
                if param in rule.used or (isinstance(param, Arr) and set(param.shape) & rule.used):
                    self.bind(mapping, param, x)
        for dot, x in zip(rule.arg_dots, stmt.args, strict=True):
            if dot is not None:
                self.bind(mapping, dot, x, lane)
        for dot, x in zip(rule.out_dots, stmt.outs, strict=True):
            if isinstance(dot, Arr):
                self.bind(mapping, dot, x, lane)
        self.b.stmts.extend(substitute(rule.body, mapping))
        for dot, x in zip(rule.out_dots, stmt.outs, strict=True):
            if not isinstance(dot, Arr) and x in self.live:
                self.dots[lane, x] = mapping.get(dot, dot)

    def bind(self, mapping: dict, param, x, lane: int | None = None) -> None:
        """Let a rule's parameter stand for an operand, or for its tangent in a lane."""
        if not isinstance(param, Arr):
            mapping[param] = x if lane is None else self.dot_or_zero(lane, x)
            return
        ref = x if isinstance(x, Ref) else Ref(x)
        target = ref.array if lane is None else self.array(lane, ref.array)
        mapping[param] = Ref(target, ref.prefix, ref.transposed)
        for p, s in zip(param.shape, ref.shape, strict=True):
            if isinstance(p, Var):
                mapping[p] = s


def forward(function: Function, facts: Facts, wanted, registry, keep_value: bool, name: str, lanes: int = 1) -> Function:
    """The program of the pushforward of `function`.

    wanted: parameters (Var or Arr) that have tangents: the new program takes them after the primal's parameters, those of
        the first lane first, each of its primal's shape and dtype.
    Returns the program; it returns the primal results, if `keep_value`, and the tangents of the float results, lane by lane.
    """
    live = active(function, wanted, registry.passes_through, registry.inactive_calls)
    sweep = Forward(facts, live, registry, lanes)
    params, head = [], Builder(facts)
    for lane in range(lanes):
        for p in function.params:
            if p in wanted:
                tangent = sweep.array(lane, p) if isinstance(p, Arr) else sweep.new(lane, p)
                params.append((wanted.index(p), lane, tangent))
            elif p in live:
                head.add(Alloc(sweep.array(lane, p), Const(0.0, p.dtype)))
    params.sort(key=lambda item: (item[1], item[0]))
    body = sweep.block(function.body)
    tail = Builder(facts)
    results = list(function.returns) if keep_value else []
    for lane in range(lanes):
        for r in function.returns:
            if not core.is_float(r):
                continue
            if isinstance(r, Arr):
                if r not in live and (lane, r) not in sweep.dots:
                    tail.add(Alloc(sweep.array(lane, r), Const(0.0, r.dtype)))
                results.append(sweep.array(lane, r))
            else:
                results.append(sweep.dot_or_zero(lane, r))
    sizes = [s for s in body if isinstance(s, Let) and s.op == "dim"]
    rest = [s for s in body if not (isinstance(s, Let) and s.op == "dim")]
    tangents = tuple(t for _, _, t in params)
    copied = function.copied | {t for _, lane, t in params if isinstance(t, Arr) for p in function.copied
                                if sweep.dots.get((lane, p)) is t}
    return replace(function, name=name, params=function.params + tangents, body=(
        *sizes, *head.stmts, *rest, *tail.stmts), returns=tuple(results), copied=frozenset(copied), tape=())


__all__ = ["forward"]
