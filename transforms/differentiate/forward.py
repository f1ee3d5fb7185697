"""Forward mode: a core program to the program that computes its tangents beside its values.

    v = f(x, y)         v_dot = df/dx * x_dot + df/dy * y_dot
    v = a[i]            v_dot = a_dot[i]
    a[i] = v            a_dot[i] = v_dot        (and += likewise)
    for / while / if    the same loop or branch, which carries tangents as well
    a, b = b, a         a_dot, b_dot = b_dot, a_dot
    library call        the call, then the statements of its pushforward rule

Every statement of the primal stays as it is; its tangent follows at once, so nothing is kept and nothing recomputed.
Many tangents side by side are in `forward_lanes.py`.

Source: A. Griewank and A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 3.
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import Builder, Facts, headed, loops
from ..language.core import (
    Alloc,
    Arr,
    Call,
    Carry,
    Comment,
    Const,
    Function,
    If,
    Let,
    Load,
    Loc,
    Merge,
    Ref,
    Resize,
    Store,
    Swap,
    Var,
)
from ..language.draws import is_draw
from ..language.errors import InternalError, MissingRule, NonDifferentiable
from ..language.substitution import inlined, substitute
from .activity import active
from .hooks import HOOK
from .reverse_calls import array_of, kind_of


class Forward:
    """The program under construction. `dots`: variable or buffer -> its tangent; what is missing has none."""

    def __init__(self, facts: Facts, live: set, registry):
        self.facts, self.live, self.registry = facts, live, registry
        self.dots: dict = {}
        self.b = Builder(facts)
        self.last_loc: Loc | None = None

    # -- tangents ---------------------------------------------------------------------------------------------
    def dot(self, x):
        """The tangent of a scalar, None if it is zero."""
        return self.dots.get(x) if isinstance(x, Var) else None

    def dot_or_zero(self, x):
        found = self.dot(x)
        return Const(0.0, x.dtype) if found is None else found

    def array(self, a: Arr) -> Arr:
        if a not in self.dots:
            self.dots[a] = Arr(f"{a.hint}_dot", a.dtype, a.shape)
        return self.dots[a]

    def new(self, v: Var):
        var = self.dots[v] = Var(f"{v.hint}_dot", v.dtype)
        self.facts.number(var)
        return var

    def comment(self, stmt) -> None:
        self.last_loc = headed(self.b, stmt.loc, self.last_loc)

    # -- statements -------------------------------------------------------------------------------------------
    def block(self, block, after=lambda: None) -> tuple:
        """The block with tangents; `after` may emit further statements at its end."""
        outer = self.b
        self.b = Builder(parent=outer)
        try:
            for stmt in block:
                self.b.loc = stmt.loc
                self.statement(stmt)
            after()
            return self.b.block()
        finally:
            self.b = outer

    def statement(self, stmt) -> None:
        match stmt:
            case core.For() | core.While():
                return self.loop(stmt)
            case If():
                return self.branch(stmt)
            case Comment(section=section):
                if section:
                    self.b.add(stmt)
                return None
        moves = any(x in self.live for x in results(stmt))
        if moves:
            self.comment(stmt)
        self.b.add(stmt)
        if isinstance(stmt, Let):
            self.b.known.setdefault((stmt.op, stmt.args, stmt.var.dtype), stmt.var)     # partials may use it again
        match stmt:
            case Alloc(array=a) if a in self.live:
                self.b.add(Alloc(self.array(a), Const(0.0, a.dtype), stmt.loc))
            case Let() if moves:
                self.let(stmt)
            case Load() if moves:
                self.load(stmt)
            case Store() if moves:
                self.store(stmt)
            case Resize(array=a, length=n) if moves:
                self.b.add(Resize(self.array(a), n, stmt.loc))
            case Swap(targets=targets, sources=sources) if moves:
                self.b.add(Swap(tuple(map(self.array, targets)), tuple(map(self.array, sources)), stmt.loc))
            case Call() if moves and is_draw(stmt):
                self.draw(stmt)
            case Call() if moves:
                self.call(stmt, self.rule(stmt))
        return None

    def draw(self, stmt: Call) -> None:
        """What is drawn has no tangent, whatever was or will be in the same memory."""
        for ref in (x if isinstance(x, Ref) else Ref(x) for x in stmt.outs if array_of(x) in self.live):
            def clear(b, index, ref=ref):
                outer, self.b = self.b, b
                self.store(Store(ref.array, (*ref.prefix, *index), Const(0.0, ref.dtype), loc=stmt.loc))
                self.b = outer
            loops(self.b, ref.shape, clear)

    def load(self, stmt: Load) -> None:
        self.b.add(Load(self.new(stmt.var), self.array(stmt.array), stmt.index, stmt.loc))

    def store(self, stmt: Store) -> None:
        value = self.dot(stmt.value)
        if value is not None or not stmt.accumulate:
            value = Const(0.0, stmt.array.dtype) if value is None else value
            self.b.add(Store(self.array(stmt.array), stmt.index, value, stmt.accumulate, stmt.loc))

    def let(self, stmt: Let) -> None:
        v, b = stmt.var, self.b
        if stmt.op == "cast":
            source = self.dot(stmt.args[0])
            if source is not None:
                self.dots[v] = self.as_dtype(source, v.dtype)
            return
        total = None
        for partial, tangent in self.partials(stmt):
            term = self.scaled(partial, self.as_dtype(tangent, v.dtype), v.dtype)
            total = term if total is None else b.let("add", total, term, dtype=v.dtype, hint=f"{v.hint}_dot")
        if total is not None:
            self.dots[v] = total

    def as_dtype(self, x, dtype):
        return x if x.dtype == dtype else self.b.let("cast", x, dtype=dtype, hint="t")

    def partials(self, stmt: Let):
        """(partial derivative, tangent) for each operand that has a tangent."""
        if stmt.op == "link":
            _, *pairs = stmt.args
            yield from ((slope, self.dot(x)) for slope, x in zip(pairs[::2], pairs[1::2], strict=True)
                        if self.dot(x) is not None)
            return
        template = self.registry.partials(stmt.op, tuple(a.dtype for a in stmt.args), stmt.var.dtype)
        if template is None:
            raise InternalError(f"the operation `{stmt.op}` has no derivative rule", stmt.loc)
        for k, arg in enumerate(stmt.args):
            tangent = self.dot(arg)
            if tangent is not None:
                body, out, _ = template.slice(k, stmt)
                mapping = dict(zip(template.params, (stmt.var, *stmt.args), strict=True))
                yield inlined(self.b, body, mapping, out), tangent

    def scaled(self, partial, tangent, dtype):
        if isinstance(partial, Const):
            if partial.value == 1:
                return tangent
            if partial.value == -1:
                return self.b.let("neg", tangent, dtype=dtype, hint="t")
        return self.b.let("mul", partial, tangent, dtype=dtype, hint="t")

    def loop(self, stmt) -> None:
        moving = self.moving(stmt)
        inits = [self.dot_or_zero(c.init) for c in moving]
        heads = [self.new(c.var) for c in moving]
        body = self.block(stmt.body)
        carries = [Carry(head, init, self.dot_or_zero(c.next), self.new(c.result))
                   for c, head, init in zip(moving, heads, inits, strict=True)]
        self.b.add(replace(stmt, carries=(*stmt.carries, *carries), body=body))

    def moving(self, stmt) -> list:
        """The carries of a loop that have tangents."""
        return [c for c in stmt.carries if c.var in self.live or c.result in self.live]

    def branch(self, stmt: If) -> None:
        then, orelse = self.block(stmt.then), self.block(stmt.orelse)
        merges = [Merge(self.new(m.var), self.dot_or_zero(m.then), self.dot_or_zero(m.orelse))
                  for m in stmt.merges if m.var in self.live]
        self.b.add(replace(stmt, then=then, orelse=orelse, merges=(*stmt.merges, *merges)))

    # -- library calls ----------------------------------------------------------------------------------------
    def rule(self, stmt: Call):
        if stmt.op == HOOK:
            raise NonDifferentiable("forward mode has no adjoint that the hook of `on_gradient` could see", stmt.loc,
                                    "take reverse mode: grad, vjp, or jacobian(..., direction=\"reverse\")")
        mask = tuple(array_of(a) in self.live for a in stmt.args)
        found = self.registry.pushforward(stmt.op, tuple(map(kind_of, stmt.outs)), tuple(map(kind_of, stmt.args)), mask,
                                          stmt.static)
        if found is None:
            name = stmt.op.rpartition(".")[2]
            raise MissingRule(f"`{name}` has a pullback, but no pushforward for forward mode", stmt.loc,
                              f"give it one: @autodiff.rules.pushforward({name})")
        return found

    def call(self, stmt: Call, rule) -> None:
        mapping = bound_primals(stmt, rule)
        for param, x in (*zip(rule.arg_dots, stmt.args, strict=True), *zip(rule.out_dots, stmt.outs, strict=True)):
            if isinstance(param, Arr):
                ref = x if isinstance(x, Ref) else Ref(x)
                if ref.array not in self.live:              # another result of the call is
                    self.b.add(Alloc(self.array(ref.array), Const(0.0, ref.dtype), stmt.loc))
                bind(mapping, param, Ref(self.array(ref.array), ref.prefix, ref.transposed))
            elif param in rule.arg_dots and param is not None:
                mapping[param] = self.dot_or_zero(x)
        self.b.stmts.extend(substitute(rule.body, mapping))
        for param, x in zip(rule.out_dots, stmt.outs, strict=True):
            if not isinstance(param, Arr) and x in self.live:
                self.dots[x] = mapping.get(param, param)


def results(stmt) -> tuple:
    """What a statement binds or writes."""
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


def bound_primals(stmt: Call, rule) -> dict:
    """A rule's parameters for results and arguments -> the operands of a call."""
    mapping: dict = {}
    for params, operands in ((rule.outs, stmt.outs), (rule.args, stmt.args)):
        for param, x in zip(params, operands, strict=True):
            if not isinstance(param, Arr):
                mapping[param] = x
            elif param in rule.used or set(param.shape) & rule.used:
                bind(mapping, param, x if isinstance(x, Ref) else Ref(x))
    return mapping


def bind(mapping: dict, param: Arr, ref: Ref) -> None:
    """Let a buffer of a rule, and the variables of its shape, stand for an operand."""
    mapping[param] = ref
    for p, s in zip(param.shape, ref.shape, strict=True):
        if isinstance(p, Var):
            mapping[p] = s


def live_in(function: Function, wanted, registry) -> set:
    return active(function, wanted, registry.passes_through, registry.inactive_calls)


def forward(function: Function, facts: Facts, wanted, registry, keep_value: bool, name: str,
            sweep: Forward | None = None) -> Function:
    """The program of the pushforward of `function`.

    wanted: parameters (Var or Arr) that have tangents: the new program takes them after the primal's parameters, each of
        its primal's shape and dtype. sweep: one of these arguments that has done nothing yet; its `dots` then say which
        tangent belongs to what.
    Returns the program; it returns the primal results, if `keep_value`, and the tangents of the float results.
    """
    sweep = sweep or Forward(facts, live_in(function, wanted, registry), registry)
    live = sweep.live
    tangents = tuple(sweep.array(p) if isinstance(p, Arr) else sweep.new(p) for p in wanted)
    head = [Alloc(sweep.array(p), Const(0.0, p.dtype)) for p in function.params if p in live and p not in wanted]
    body = sweep.block(function.body)
    tail, dots = [], []
    for r in filter(core.is_float, function.returns):
        if isinstance(r, Arr) and r not in sweep.dots:
            tail.append(Alloc(sweep.array(r), Const(0.0, r.dtype)))
        dots.append(sweep.array(r) if isinstance(r, Arr) else sweep.dot_or_zero(r))
    sizes = [s for s in body if isinstance(s, Let) and s.op == "dim" and s.args[0] in function.params]
    rest = [s for s in body if s not in sizes]
    copied = function.copied | {t for p, t in zip(wanted, tangents, strict=True) if p in function.copied}
    return replace(function, name=name, params=function.params + tangents, body=(*sizes, *head, *rest, *tail),
                   returns=(*(function.returns if keep_value else ()), *dots), copied=frozenset(copied), tape=())


__all__ = ["Forward", "bind", "bound_primals", "forward", "live_in", "results"]
