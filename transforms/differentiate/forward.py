"""Forward mode: a core program to the program that computes its tangents beside its values.

    v = f(x, y)         v_dot = df/dx * x_dot + df/dy * y_dot
    v = a[i]            v_dot = a_dot[i]
    a[i] = v            a_dot[i] = v_dot        (and += likewise)
    for / while / if    the same loop or branch, which carries tangents as well
    a, b = b, a         a_dot, b_dot = b_dot, a_dot
    library call        the call, then the statements of its pushforward rule

Every statement of the primal stays as it is; its tangent follows at once, so nothing is kept and nothing recomputed.

There is one sweep, and two things vary. How tangents are held is in `tangents.py`: one direction, several with scalars of
their own, or many as lanes. Where the values of the primal are, is in the methods that a subclass may replace: here they are
at hand; `linear.py` runs the tangents alone, after the program, and finds values again.

Source: A. Griewank and A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 3.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import replace

from ..language import core
from ..language.build import Builder, headed, loops
from ..language.core import Alloc, Arr, Call, Comment, Const, Function, If, Let, Load, Loc, Ref, Resize, Store, Swap, Var
from ..language.draws import is_draw
from ..language.errors import InternalError, MissingRule, NonDifferentiable
from ..language.facts import Facts
from ..language.queries import is_size
from ..language.substitution import inlined
from .activity import active
from .hooks import HOOK
from .reverse import linked
from .reverse_calls import as_ref, bind_shape, kind_of
from .tangents import Scalars, Tangents


class Forward:
    """The program under construction, in the block of `b`. live: the variables and buffers that have tangents."""

    def __init__(self, facts: Facts, live: set, registry, tangents: Tangents | None = None):
        self.facts, self.live, self.registry = facts, live, registry
        self.tangents = tangents or Scalars()
        self.tangents.sweep = self
        self.b = Builder(facts)
        self.last_loc: Loc | None = None

    # -- the primal: a subclass may find its values elsewhere -------------------------------------------------
    def need(self, v):
        """The atom that holds a value of the primal here."""
        return v

    def where(self, index) -> tuple:
        return tuple(map(self.need, index))

    def stored(self, stmt: Call, k: int, ref: Ref) -> Ref:
        """Where an operand of a call (number k, results first) is to be read."""
        return ref

    def slopes(self, stmt: Let):
        """Pairs (partial derivative, operand) of an operation, for the operands with tangents."""
        return slopes(stmt, self.b, self.registry, self.tangents.dots)

    def keep(self, stmt) -> None:
        """A statement of the primal, before its tangents."""
        if not isinstance(stmt, Comment) or stmt.section:
            self.b.add(stmt)
        if isinstance(stmt, Let):
            self.b.known.setdefault((stmt.op, stmt.args, stmt.var.dtype), stmt.var)     # partials may use it again

    def head(self, stmt):
        """A loop or branch, whose blocks are still to come."""
        return stmt

    # -- blocks -----------------------------------------------------------------------------------------------
    @contextmanager
    def within(self, b: Builder):
        outer, self.b = self.b, b
        try:
            yield
        finally:
            self.b = outer

    def block(self, block, after=lambda: None, loop=None, head=None) -> tuple:
        """The block with tangents; `after` may emit further statements at its end. loop, head: the loop it is of, and that
        with tangents."""
        with self.within(Builder(parent=self.b)):
            return self.statements(block, after)

    def statements(self, block, after=lambda: None) -> tuple:
        for stmt in block:
            self.b.loc = stmt.loc
            self.statement(stmt)
        after()
        return self.b.block()

    def statement(self, stmt) -> None:
        match stmt:
            case core.For() | core.While():
                return self.loop(stmt)
            case If():
                return self.branch(stmt)
        moves = any(x in self.live for x in core.results(stmt))
        if moves:
            self.last_loc = headed(self.b, stmt.loc, self.last_loc)
        self.keep(stmt)
        if moves or isinstance(stmt, Alloc) and stmt.array in self.live:
            self.tangent(stmt)
        return None

    def tangent(self, stmt) -> None:
        """The statements of the tangents that a statement moves."""
        t = self.tangents
        match stmt:
            case Alloc(array=a):
                self.b.add(Alloc(t.array(a), t.filled(stmt), stmt.loc))
            case Let(var=v):
                terms = list(self.partials(stmt))
                if terms:
                    t.each((v,), lambda: [self.total(v, terms)])
            case Load(var=v, array=a, index=index):
                source, place = t.array(a), self.where(index)
                t.each((v,), lambda: [t.load(v, source, place)])
            case Store(array=a, index=index, value=value, accumulate=accumulate):
                if value in t.dots or not accumulate:
                    t.store(a, self.where(index), value, accumulate)
            case Resize(array=a, length=n):
                self.b.add(Resize(t.array(a), self.need(n), stmt.loc))
            case Swap(targets=targets, sources=sources):
                self.b.add(Swap(tuple(map(t.array, targets)), tuple(map(t.array, sources)), stmt.loc))
            case Call() if is_draw(stmt):
                self.draw(stmt)
            case Call():
                t.call(stmt, pushforward(stmt, self.live, self.registry))

    def draw(self, stmt: Call) -> None:
        """What is drawn has no tangent, whatever was or will be in the same memory."""
        for ref in (as_ref(self, x) for x in stmt.outs if core.array_of(x) in self.live):
            def clear(b, index, ref=ref):
                with self.within(b):
                    self.tangents.store(ref.array, (*ref.prefix, *index), None)
            loops(self.b, self.where(ref.shape), clear)

    def variable(self, v: Var) -> Var:
        """A scalar for a tangent of `v`."""
        var = Var(f"{v.hint}_dot", v.dtype)
        self.facts.number(var)
        return var

    def partials(self, stmt: Let):
        match stmt.op:
            case "cast":
                found: Iterable = [(Const(1.0, stmt.var.dtype), stmt.args[0])]
            case "link":
                found = zip(stmt.args[1::2], stmt.args[2::2], strict=True)
            case _:
                found = self.slopes(stmt)
        return ((self.need(slope), x) for slope, x in found if x in self.tangents.dots)

    def total(self, v: Var, terms):
        """The sum of partial derivatives times tangents."""
        b, total = self.b, None
        for partial, x in terms:
            dot = b.let("cast", self.tangents.get(x, x.dtype), dtype=v.dtype, hint="t")
            if not isinstance(partial, Const) or partial.value not in (1, -1):
                dot = b.let("mul", partial, dot, dtype=v.dtype, hint="t")
            elif partial.value == -1:
                dot = b.let("neg", dot, dtype=v.dtype, hint="t")
            total = dot if total is None else b.let("add", total, dot, dtype=v.dtype, hint=f"{v.hint}_dot")
        return total

    def loop(self, stmt) -> None:
        t, head = self.tangents, self.head(stmt)
        moving = [c for c in stmt.carries if c.var in self.live or c.result in self.live]
        own = [t.new(c.var) for c in moving]
        t.move(own, [c.init for c in moving])
        body = self.block(stmt.body, lambda: t.move(own, [c.next for c in moving]), stmt, head)
        self.b.add(replace(head, carries=(*head.carries, *t.carries(moving)), body=body))

    def branch(self, stmt: If) -> None:
        t, head = self.tangents, self.head(stmt)
        merging = [m for m in stmt.merges if m.var in self.live]
        own = [t.new(m.var) for m in merging]
        then = self.block(stmt.then, lambda: t.move(own, [m.then for m in merging]))
        orelse = self.block(stmt.orelse, lambda: t.move(own, [m.orelse for m in merging]))
        self.b.add(replace(head, then=then, orelse=orelse, merges=(*head.merges, *t.merges(merging))))

    # -- library calls ----------------------------------------------------------------------------------------
    def primals(self, stmt: Call, rule) -> dict:
        """A rule's parameters for results and arguments, as far as it uses them -> the operands of a call."""
        mapping: dict = {}
        for k, (param, x) in enumerate(zip((*rule.outs, *rule.args), (*stmt.outs, *stmt.args), strict=True)):
            if not isinstance(param, Arr):
                if param in rule.used:
                    mapping[param] = self.need(x)
                continue
            ref = x if isinstance(x, Ref) else Ref(x)
            if param in rule.used:
                mapping[param] = self.stored(stmt, k, ref)
            if param in rule.used or rule.used.intersection(param.shape):
                bind_shape(self, mapping, {}, param, ref)
        return mapping

    def bound(self, mapping: dict, param, x):
        """An operand whose tangents are a parameter of a rule; of a buffer, its place, and its sizes in `mapping`."""
        if isinstance(param, Arr):
            x = as_ref(self, x)
            bind_shape(self, mapping, {}, param, x)
        return x


def pushforward(stmt: Call, live: set, registry):
    """The rule of a library call in forward mode."""
    if stmt.op == HOOK:
        raise NonDifferentiable("forward mode has no adjoint that the hook of `on_gradient` could see", stmt.loc,
                                "take reverse mode: grad, vjp, or jacobian(..., direction=\"reverse\")")
    mask = tuple(core.array_of(a) in live for a in stmt.args)
    found = registry.pushforward(stmt.op, tuple(map(kind_of, stmt.outs)), tuple(map(kind_of, stmt.args)), mask, stmt.static)
    if found is None:
        name = stmt.op.rpartition(".")[2]
        raise MissingRule(f"`{name}` has a pullback, but no pushforward for forward mode", stmt.loc,
                          f"give it one: @autodiff.rules.pushforward({name})")
    return found


def slopes(stmt: Let, b: Builder, registry, moving):
    """Pairs (partial derivative, operand) of an operation, for the operands in `moving`; their statements go to `b`."""
    template = registry.partials(stmt.op, tuple(a.dtype for a in stmt.args), stmt.var.dtype)
    if template is None:
        raise InternalError(f"the operation `{stmt.op}` has no derivative rule", stmt.loc)
    for k, arg in enumerate(stmt.args):
        if arg in moving:
            body, out, _ = template.slice(k, stmt)
            yield inlined(b, body, dict(zip(template.params, (stmt.var, *stmt.args), strict=True)), out), arg


def live_in(function: Function, wanted, registry) -> set:
    return active(function, wanted, registry.passes_through, registry.inactive_calls)


def swept(sweep: Forward, function: Function, wanted) -> Function:
    """What a sweep makes of a program: one that takes the tangents of `wanted` as well, to those of the float results."""
    given = [sweep.tangents.given(p) for p in wanted]
    for p in function.params:
        if p in sweep.live and p not in wanted:
            sweep.tangents.zeros(p)
    sweep.statements(function.body)
    dots = tuple(sweep.tangents.result(r) for r in filter(core.is_float, function.returns))
    copied = {t for p, t in zip(wanted, given, strict=True) if p in function.copied}
    return replace(function, params=(*function.params, *given), body=sweep.b.block(), returns=dots,
                   copied=function.copied | copied, tape=())


def forward(function: Function, facts: Facts, wanted, registry, keep_value: bool, name: str,
            sweep: Forward | None = None) -> Function:
    """The program of the pushforward of `function`.

    wanted: parameters (Var or Arr) that have tangents: the new program takes them after the primal's parameters, each of
        its primal's shape and dtype, with an axis for the directions if the tangents of `sweep` have several. sweep: one
        of these arguments that has done nothing yet; its `tangents` then say which belong to what.
    Returns the program; it returns the primal results, if `keep_value`, and the tangents of the float results.
    """
    function = linked(function, wanted, registry, facts)
    sweep = sweep or Forward(facts, live_in(function, wanted, registry), registry)
    made = swept(sweep, function, wanted)
    sizes = [s for s in made.body if is_size(s) and s.args[0] in function.params]
    return replace(made, name=name, body=(*sizes, *(s for s in made.body if s not in sizes)),
                   returns=(*(function.returns if keep_value else ()), *made.returns))


__all__ = ["Forward", "forward", "live_in", "pushforward", "slopes", "swept"]
