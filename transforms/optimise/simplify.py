"""Removing what no result depends on, and loops' carries that never change.

    y = 0.0                                       s = 0.0
    s = 0.0                                       for i in range(n):
    for i in range(n):                                s = np.add(s, x[i])
        y = np.add(y, np.exp(x[i]))    becomes    return s
        s = np.add(s, x[i])
    return s
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import is_one
from ..language.core import Alloc, Arr, Call, Carry, Const, For, Function, If, Let, Load, Ref, Store, Swap, Var, While
from ..language.draws import generators_of
from ..language.ops import USER_RULE
from ..language.rewrite import kept, top_down
from ..language.substitution import substitute
from ..language.units import checks


class Liveness:
    """Which scalars and buffers are needed; grows to a fixpoint over the whole program."""

    def __init__(self, function: Function, keep_sizes: bool = False, keep_draws: bool = True):
        self.function = function
        self.live: set = set()
        if keep_sizes:                                  # a derivative may need the size of an argument not read here
            for p in function.params:
                if isinstance(p, Arr):
                    self.live.update(s for s in p.shape if isinstance(s, Var))
        for g in generators_of(function) if keep_draws else ():        # a draw that nobody reads moves its generator on
            self.mark(g)
        for r in function.returns:
            self.mark(r)
        while True:
            before = len(self.live)
            self.block(function.body)
            if len(self.live) == before:
                break

    def mark(self, x) -> None:
        if isinstance(x, Var):
            self.live.add(x)
        elif isinstance(x, Ref):
            for p in x.prefix:
                self.mark(p)
            self.mark(x.array)
        elif isinstance(x, Arr) and x not in self.live:         # else its sizes are marked
            self.live.add(x)
            for s in x.shape:
                self.mark(s)

    def block(self, block) -> bool:
        """Mark what the live statements of a block read; true if any statement is live."""
        found = False
        for stmt in reversed(block):
            found |= self.statement(stmt)
        return found

    def statement(self, stmt) -> bool:
        match stmt:
            case Let(var=v, args=args):
                if v not in self.live:
                    return False
                if stmt.op == "dim":
                    self.live.add(("size", args[0]))
                else:
                    for a in args:
                        self.mark(a)
                return True
            case Load(var=v, array=a, index=index):
                if v not in self.live:
                    return False
                self.mark(a)
                for i in index:
                    self.mark(i)
                return True
            case Store(array=a, index=index, value=value):
                if a not in self.live:
                    return False
                for i in index:
                    self.mark(i)
                self.mark(value)
                return True
            case Alloc(array=a, fill=fill):
                if a in self.live and fill is not None:
                    self.mark(fill)
                if ("size", a) in self.live:
                    for s in a.shape:
                        self.mark(s)
                return a in self.live or ("size", a) in self.live
            case Swap(targets=targets):
                if not any(t in self.live for t in targets):
                    return False
                for t in targets:
                    self.mark(t)
                return True
            case Call(outs=outs, args=args):
                arrays = [core.array_of(o) for o in outs]
                if not any(o in self.live for o in arrays) and not checks(stmt):
                    return False
                for a in (*args, *outs):
                    if not (isinstance(a, Var) and a in outs):
                        self.mark(a)
                return True
            case core.Resize(array=a, length=n):
                wanted = a in self.live or ("size", a) in self.live
                if wanted:
                    self.mark(n)
                return wanted
            case core.Guard(cond=c, parts=parts):
                for p in (c, *parts):
                    self.mark(p)
                return True
            case core.Print(parts=parts):
                for p in parts:
                    if isinstance(p, Var):
                        self.mark(p)
                return True
            case For():
                bounds = (stmt.start, stmt.stop, stmt.step, *(stmt.checkpoint or ())[1:])
                return self.loop(stmt, bounds, stmt.exit, stmt.trip)
            case While():
                return self.loop(stmt, (stmt.checkpoint or ())[1:], stmt.cond, stmt.trip)
            case If(cond=cond, then=then, orelse=orelse, merges=merges):
                alive = False
                for m in merges:
                    if m.var in self.live:
                        alive = True
                        self.mark(m.then)
                        self.mark(m.orelse)
                alive |= self.block(then) | self.block(orelse)
                if alive:
                    self.mark(cond)
                return alive
        return False

    def loop(self, stmt, bounds, condition, trip) -> bool:
        alive = trip is not None and trip in self.live
        for c in stmt.carries:
            if c.result in self.live or c.var in self.live:
                self.live.add(c.var)
                alive = True
                self.mark(c.next)
                self.mark(c.init)
        alive |= self.block(stmt.body)
        if alive:
            for b in bounds:
                self.mark(b)
            if condition is not None:
                self.mark(condition)
                for c in stmt.carries:
                    if c.var is condition:
                        self.mark(c.next)
                        self.mark(c.init)
        return alive


def remove_dead(function: Function, keep_sizes: bool = False, keep_draws: bool = True) -> Function:
    """Drop statements, carries and merges that no result, check or print depends on.

    keep_draws: whether random draws stay whose numbers nobody reads, for the state in which they leave the generator.
    """
    live = Liveness(function, keep_sizes, keep_draws)

    def keep(block):
        out = []
        for stmt in block:
            match stmt:
                case core.Comment():
                    out.append(stmt)
                    continue
                case For() | While():
                    body = keep(stmt.body)
                    carries = tuple([c for c in stmt.carries if c.var in live.live or c.result in live.live])
                    if not (carries or stmt.trip is not None and stmt.trip in live.live or acts(body)):
                        continue
                    if body is not stmt.body or len(carries) != len(stmt.carries):
                        stmt = replace(stmt, body=body, carries=carries)
                    if isinstance(stmt, For) and stmt.trip is not None and stmt.trip not in live.live \
                            and stmt.exit is None:
                        stmt = replace(stmt, trip=None)
                case If():
                    then, orelse = keep(stmt.then), keep(stmt.orelse)
                    merges = tuple([m for m in stmt.merges if m.var in live.live])
                    if not (merges or acts(then) or acts(orelse)):
                        continue
                    if then is not stmt.then or orelse is not stmt.orelse or len(merges) != len(stmt.merges):
                        stmt = replace(stmt, then=then, orelse=orelse, merges=merges)
                case _:
                    if not live.statement(stmt):
                        continue
            out.append(stmt)
        return kept(block, out)
    body = keep(function.body)
    return function if body is function.body else replace(function, body=body)


_SOLVING = ("cholesky", "inv", "matrix_power", "solve", "solve_banded", "solve_sylvester", "solve_triangular", "sqrtm")
MAY_RAISE = {"wrap_index", *_SOLVING, *(f"complex_{op}" for op in _SOLVING)}


def raises(stmt) -> bool:
    """Whether a statement may raise an error."""
    return checks(stmt) or isinstance(stmt, (Let, Call)) and stmt.op in MAY_RAISE


def keep_checks(function: Function, facts, keep_sizes: bool, keep_draws: bool) -> Function:
    """A program as it was lowered, with what may raise though nothing uses what it makes: an index of a user's, which
    becomes a check (elements need not depend on it, as along an axis that was broadcast), and calls of linear algebra,
    which stay."""
    if not any(isinstance(s, (Let, Call)) and s.op in MAY_RAISE for s in core.walk(function.body)):
        return function
    live = Liveness(function, keep_sizes, keep_draws).live

    def checked(stmt):
        match stmt:
            case Let(op="wrap_index", args=(index, size, axis)) if stmt.var not in live and stmt.var in facts.asked:
                first, low, high, inside = Var("first", "int64"), *(Var(name, "bool") for name in ("low", "high", "inside"))
                return (Let(first, "neg", (size,)), Let(low, "ge", (index, first)), Let(high, "lt", (index, size)),
                        Let(inside, "and", (low, high)),
                        core.Guard(inside, "IndexError", "index {} is out of bounds for axis {} with size {}",
                                   (index, axis, size), stmt.loc), stmt)       # what is not live may still name it
            case Call(outs=outs, op=op) if op in MAY_RAISE and not any(core.array_of(o) in live for o in outs):
                return (replace(stmt, kept=True),)
        return None
    return replace(function, body=top_down(function.body, checked))


def acts(block) -> bool:
    return any(not isinstance(s, core.Comment) for s in block)


def drop_constant_carries(function: Function, facts=None) -> Function:
    """A carry whose next value is its own is its initial value throughout; links become their values."""
    mapping: dict = {}

    def resolve(x):
        while x in mapping:
            x = mapping[x]
        return x

    def visit(block, checked=frozenset()):
        out = []
        for stmt in block:
            match stmt:
                case core.Guard(cond=c) if resolve(c) in checked:
                    continue
                case core.Guard(cond=Var() as c):
                    checked = checked | {resolve(c)}
                case _:
                    pass
            match stmt:
                case Let(op="mul", args=(a, b)) if is_one(a) or is_one(b):
                    mapping[stmt.var] = resolve(b if is_one(a) else a)
                    continue
                case Let(op="eq", args=(a, b)) if a.dtype == "int64" and resolve(a) == resolve(b):
                    mapping[stmt.var] = Const(True, "bool")
                    continue
                case core.Guard(cond=c) if resolve(c) == Const(True, "bool"):
                    continue
                case For() | While():
                    kept = []
                    for carry in stmt.carries:
                        if isinstance(stmt, While) and carry.var is stmt.cond:
                            kept.append(carry)              # of a loop without end
                        elif carry.next is carry.var or (isinstance(carry.init, Const) and carry.next == carry.init):
                            mapping[carry.var] = mapping[carry.result] = resolve(carry.init)
                        else:
                            kept.append(carry)
                    stmt = replace(stmt, carries=tuple(kept), body=visit(stmt.body, checked))
                case If():
                    then, orelse = visit(stmt.then, checked), visit(stmt.orelse, checked)
                    merges = []
                    for m in stmt.merges:
                        if m.then == m.orelse:
                            mapping[m.var] = resolve(m.then)
                        else:
                            merges.append(m)
                    stmt = replace(stmt, then=then, orelse=orelse, merges=tuple(merges))
            out.append(stmt)
        return tuple(out)

    body = visit(function.body)
    if not mapping:
        return function
    final = {k: resolve(k) for k in mapping}
    if facts is not None:
        facts.rename(final)
    body = substitute(body, final, fresh=False)
    return replace(function, body=body, returns=tuple(final.get(r, r) for r in function.returns))


def simplify(function: Function, keep_sizes: bool = False, facts=None, keep_draws: bool = True) -> Function:
    """Both, until nothing changes. Links stay until `resolve_links`: a later derivative needs them. `facts` are those of a
    program that has just been lowered: they are kept true of the variables that remain, and its checks stay."""
    if facts is not None:
        function = keep_checks(function, facts, keep_sizes, keep_draws)
    for _ in range(4):
        before = function
        function = remove_dead(drop_constant_carries(function, facts), keep_sizes, keep_draws)
        if function is before:
            break
    return function


def resolve_links(function: Function) -> Function:
    """Replace `link` and `stop` by the values they stand for, and let calls with a user's rule be copies of the value;
    for programs that are not differentiated again."""
    mapping: dict = {}

    def resolved(stmt):
        match stmt:
            case Let(op="link" | "stop", var=v, args=(source, *_)):
                mapping[v] = mapping.get(source, source)
                return ()
            case Call(op=op, args=args) if op.startswith(USER_RULE):
                return (replace(stmt, args=args[:1]),)
        return None

    body = top_down(function.body, resolved)
    if not mapping:
        return replace(function, body=body)
    return replace(function, body=substitute(body, mapping, fresh=False),
                   returns=tuple(mapping.get(r, r) for r in function.returns))


def share_inputs(function: Function) -> Function:
    """Parameters that are not written need no private copy."""
    changed = core.written(function.body)
    return replace(function, copied=frozenset(p for p in function.copied if p in changed))


__all__ = ["Carry", "drop_constant_carries", "remove_dead", "resolve_links", "share_inputs", "simplify"]
