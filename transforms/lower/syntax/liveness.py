"""Which names a statement of the user's function may still read afterwards (backward data flow on the syntax tree)."""

from __future__ import annotations

from collections import Counter

import gast

MUTATORS = ("append", "extend", "pop", "insert", "update", "clear", "remove", "reverse", "sort", "setdefault")


def names_read(node) -> set[str]:
    found = set()
    for n in gast.walk(node):
        if isinstance(n, gast.Name) and isinstance(n.ctx, (gast.Load, gast.Del)):
            found.add(n.id)
    return found


def target_names(target) -> set[str]:
    """Names that assigning to `target` binds or changes."""
    match target:
        case gast.Name(id=name):
            return {name}
        case gast.Tuple(elts=elts) | gast.List(elts=elts):
            return set().union(*map(target_names, elts))
        case gast.Starred(value=value):
            return target_names(value)
        case gast.Subscript(value=value) | gast.Attribute(value=value):
            return target_names(value)
    return set()


HARMLESS = {"np", "numpy", "math", "abs", "bool", "float", "int", "len", "max", "min", "range", "round", "sum"}


def assigned(stmts) -> set[str]:
    """Names that statements may bind or change (elements, attributes and list methods included)."""
    found: set[str] = set()
    for stmt in stmts:
        for n in gast.walk(stmt):
            match n:
                case gast.Assign(targets=targets):
                    found |= set().union(*map(target_names, targets))
                case gast.AugAssign(target=t) | gast.AnnAssign(target=t) | gast.For(target=t) | gast.NamedExpr(target=t):
                    found |= target_names(t)
                case gast.FunctionDef(name=name):
                    found.add(name)
                case gast.Delete(targets=targets):
                    found |= set().union(*map(target_names, targets))
                case gast.ExceptHandler(name=gast.Name(id=name)):
                    found.add(name)
                case gast.With(items=items):
                    found |= set().union(*(target_names(i.optional_vars) for i in items))
                case gast.Call(func=gast.Attribute(value=value, attr=attr)) if attr in MUTATORS:
                    found |= target_names(value)
    return found


def may_act(node) -> bool:
    """Whether evaluating an expression may change what names or objects hold: it binds names or calls more than NumPy."""
    for n in gast.walk(node):
        if isinstance(n, gast.NamedExpr):
            return True
        if isinstance(n, gast.Call):
            root = n.func
            while isinstance(root, gast.Attribute):
                root = root.value
            if not isinstance(root, gast.Name) or root.id not in HARMLESS:
                return True
    return False


def bound_names(stmts) -> set[str]:
    """Names that statements bind (not: change in place), wherever in them."""
    return {n.name if isinstance(n, gast.FunctionDef) else n.id for stmt in stmts for n in gast.walk(stmt)
            if isinstance(n, gast.FunctionDef) or isinstance(n, gast.Name) and isinstance(n.ctx, gast.Store)}


def bound_inside(expressions) -> set[str]:
    """Names that expressions bind with `:=`, comprehensions included."""
    return {n.target.id for e in expressions for n in gast.walk(e) if isinstance(n, gast.NamedExpr)}


def local_names(function) -> frozenset[str]:
    """The names that the statements of a function bind in its own scope, arguments left out."""
    return scope_of(function)[0]


def parameter_names(function) -> set[str]:
    """The names that the arguments of a function are bound to."""
    spec = function.args
    every = (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg)
    return {a.id for a in every if a is not None}


def nonlocal_names(function) -> frozenset[str]:
    """The names of functions around that the statements of a function bind."""
    return scope_of(function)[1]


def scope_of(function) -> tuple[frozenset[str], frozenset[str]]:
    """The names that the statements of a function bind: in its own scope, in those of the functions around."""
    if not hasattr(function, "scope"):
        found, outer, around = set(), set(), set()
        todo = list(function.body) if isinstance(function.body, list) else []
        while todo:
            n = todo.pop()
            match n:
                case gast.FunctionDef(name=name) | gast.AsyncFunctionDef(name=name) | gast.ClassDef(name=name):
                    found.add(name)
                    todo.extend(n.decorator_list)
                    continue
                case gast.Global(names=names):
                    outer |= set(names)
                case gast.Nonlocal(names=names):
                    around |= set(names)
                case gast.ListComp() | gast.SetComp() | gast.DictComp() | gast.GeneratorExp():
                    found |= bound_inside([n])
                    continue
                case gast.Name(id=name, ctx=gast.Store() | gast.Del()):
                    found.add(name)
                case gast.Lambda():
                    continue
            todo.extend(gast.iter_child_nodes(n))
        function.scope = frozenset(found - outer - around), frozenset(around)
    return function.scope


def own_nodes(function):
    """The nodes of a function, but for those of functions inside it."""
    todo = list(function.body) if isinstance(function.body, list) else [function.body]
    while todo:
        n = todo.pop()
        yield n
        if not isinstance(n, (gast.FunctionDef, gast.AsyncFunctionDef, gast.Lambda, gast.ClassDef)):
            todo.extend(gast.iter_child_nodes(n))


class Liveness:
    """Annotates every statement with `live_out` and every loop with `live_head`. always: names that are read any time."""

    def __init__(self, function, always=()):
        self.always: set[str] = set(always)
        for n in gast.walk(function):
            if isinstance(n, (gast.FunctionDef, gast.Lambda)) and n is not function:
                self.always |= names_read(n) | nonlocal_names(n)
        if isinstance(function.body, list):
            self.block(function.body, set(), set(), set())

    def block(self, stmts, live: set, after_loop: set, loop_head: set) -> set:
        for stmt in reversed(stmts):
            stmt.live_out = live | self.always
            live = self.statement(stmt, live, after_loop, loop_head)
            stmt.live_exit = self.where_exits_lead(stmt, after_loop, loop_head)
        return live

    def where_exits_lead(self, stmt, after_loop, loop_head) -> set:
        """The names that are read where a `break` or `continue` inside a statement leads to."""
        found = exits([stmt])
        return (after_loop if "break" in found else set()) | (loop_head if "continue" in found else set())

    def statement(self, stmt, live, after_loop, loop_head) -> set:
        match stmt:
            case gast.Return(value=value):
                return names_read(value) if value is not None else set()
            case gast.Raise():
                return names_read(stmt)
            case gast.Break():
                return after_loop
            case gast.Continue():
                return loop_head
            case gast.Assign(targets=targets, value=value):
                for t in targets:
                    live = self.kill(t, live)
                return live | names_read(value)
            case gast.AnnAssign(target=t, value=value):
                if value is None:
                    return live
                return self.kill(t, live) | names_read(value)
            case gast.AugAssign(target=t, value=value):
                return live | target_names(t) | names_read(t) | names_read(value)
            case gast.If(test=test, body=body, orelse=orelse):
                a = self.block(body, live, after_loop, loop_head)
                b = self.block(orelse, live, after_loop, loop_head)
                return a | b | names_read(test)
            case gast.For(target=t, iter=it, body=body, orelse=orelse):
                stmt.after = live | self.always
                done = self.block(orelse, live, after_loop, loop_head)
                head = done | live & (assigned(body) | target_names(t))         # what a break leaves
                while True:
                    new = head | self.kill(t, self.block(body, head, live, head))
                    if new == head:
                        break
                    head = new
                stmt.live_head = head | self.always
                return head | names_read(it)
            case gast.While(test=test, body=body, orelse=orelse):
                stmt.after = live | self.always
                done = self.block(orelse, live, after_loop, loop_head)
                head = done | names_read(test) | live & assigned(body)
                while True:
                    new = head | self.block(body, head, live, head)
                    if new == head:
                        break
                    head = new
                stmt.live_head = head | self.always
                return head
            case gast.Try():
                return self.attempt(stmt, live, after_loop, loop_head)
            case gast.With(items=items, body=body):
                always, self.always = self.always, self.always | live       # where it suppresses errors
                try:
                    live = self.block(body, live, after_loop, loop_head)
                finally:
                    self.always = always
                return live.union(*(names_read(i.context_expr) for i in items))
            case gast.FunctionDef(name=name):
                return live - {name}
        return live | names_read(stmt)

    def attempt(self, stmt, live, after_loop, loop_head) -> set:
        """A `try`: any statement of its body may go on in a handler. `live_caught`: what those read."""
        if stmt.finalbody:              # it runs on the way of a `break`, too
            live = live | self.where_exits_lead(stmt, after_loop, loop_head)
            live = self.block(stmt.finalbody, live, after_loop, loop_head)
        caught = set(live) if stmt.finalbody else set()
        always, self.always = self.always, self.always | caught
        try:
            for handler in stmt.handlers:
                read = self.block(handler.body, live, after_loop, loop_head)
                caught |= read - {handler.name.id} if handler.name is not None else read
            stmt.live_caught = caught | always
            live = self.block(stmt.orelse, live, after_loop, loop_head)
            self.always = always | caught
            live = self.block(stmt.body, live, after_loop, loop_head)
        finally:
            self.always = always
        return live.union(caught, *(names_read(h.type) for h in stmt.handlers if h.type is not None))

    def kill(self, target, live) -> set:
        match target:
            case gast.Name(id=name):
                return live - {name}
            case gast.Tuple(elts=elts) | gast.List(elts=elts):
                for e in elts:
                    live = self.kill(e, live)
                return live
            case gast.Starred(value=value):
                return self.kill(value, live)
        return live | target_names(target) | names_read(target)


def live_after(stmts) -> set:
    """The names that may be read after some statements: where they end, and where a `break` or `continue` in them leads."""
    return set(stmts[-1].live_out).union(*(getattr(s, "live_exit", ()) for s in stmts))


def given_away(name: str, statement, call) -> bool:
    """Whether a name is read no more once a call in a statement (or in the body of a lambda) has its arguments."""
    if isinstance(statement, (gast.Return, gast.Assign, gast.AnnAssign, gast.AugAssign, gast.Expr)):
        live = getattr(statement, "live_out", None)
    else:
        live = set() if isinstance(statement, gast.expr) else None
    if live is None or name in live or not name.isidentifier():
        return False
    reads = name_counts(statement)
    if reads is None:
        return False
    targets = target_names(statement.target) if isinstance(statement, gast.AugAssign) else ()
    inside = name_counts(call)
    return name not in targets and inside is not None and reads[name] == inside[name]


def name_counts(node) -> Counter | None:
    """How often a statement or expression reads each name, counted once; None where a function in it may read it later."""
    if not hasattr(node, "name_counts"):
        nodes = list(gast.walk(node))
        later = (gast.Lambda, gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)
        node.name_counts = None if any(isinstance(n, later) for n in nodes) else Counter(
            n.id for n in nodes if isinstance(n, gast.Name) and not isinstance(n.ctx, gast.Store))
    return node.name_counts


def use_counts(function) -> dict[str, int]:
    """How often each name is read in a function, reads inside loops counting as many."""
    counts: dict[str, int] = {}

    def visit(node, weight):
        read = node.target if isinstance(node, gast.AugAssign) else node
        if isinstance(read, gast.Name) and (read is not node or isinstance(node.ctx, gast.Load)):
            counts[read.id] = counts.get(read.id, 0) + weight
        inner = weight
        if isinstance(node, (gast.For, gast.While, gast.FunctionDef, gast.Lambda, gast.ListComp, gast.GeneratorExp)) \
                and node is not function:
            inner = weight * 2
        for child in gast.iter_child_nodes(node):
            visit(child, inner)
    visit(function, 1)
    return counts


def exits(stmts, loop_level: bool = True) -> set[str]:
    """Which of return, break, continue can leave these statements (break and continue of inner loops do not)."""
    found: set[str] = set()
    for stmt in stmts:
        match stmt:
            case gast.Return():
                found.add("return")
            case gast.Break() if loop_level:
                found.add("break")
            case gast.Continue() if loop_level:
                found.add("continue")
            case gast.If(body=body, orelse=orelse):
                found |= exits(body, loop_level) | exits(orelse, loop_level)
            case gast.With(body=body):
                found |= exits(body, loop_level)
            case gast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=last):
                found |= exits(body, loop_level) | exits(orelse, loop_level) | exits(last, loop_level)
                found |= set().union(*(exits(h.body, loop_level) for h in handlers))
            case gast.For(body=body, orelse=orelse) | gast.While(body=body, orelse=orelse):
                found |= exits(body, False) | exits(orelse, loop_level)
    return found


def always_exits(stmts) -> bool:
    for stmt in stmts:
        match stmt:
            case gast.Return() | gast.Break() | gast.Continue() | gast.Raise():
                return True
            case gast.If(body=body, orelse=orelse) if always_exits(body) and always_exits(orelse):
                return True
            case gast.Try(body=body, handlers=handlers, orelse=orelse) if always_exits([*body, *orelse]) and all(
                    always_exits(h.body) for h in handlers):
                return True
            case gast.While(test=gast.Constant(value=value), body=body) if value and "break" not in exits(body):
                return True
    return False


def whole_body(node) -> list:
    """The statements of a function, with the `return None` that Python adds where some path comes to its end."""
    if "return" not in exits(node.body) or always_exits(node.body):
        return node.body
    if not hasattr(node, "at_end"):
        end = gast.copy_location(gast.Return(None), node.body[-1])
        end.live_out = set()
        node.at_end = end                   # last: it may be interrupted
    return [*node.body, node.at_end]
