"""A recursive function's body taken apart into blocks that end at its recursive calls (for `machine.py`)."""

from __future__ import annotations

import copy

import gast

from ...source.matching import name
from ..syntax.liveness import bound_names


class Unsupported(Exception):
    """A recursive call where it cannot be taken apart: (node, problem, way out)."""


class Member:
    """One of the functions: its tree, and what its names are called in the machine."""

    def __init__(self, key, node, name, suffix=""):
        self.key, self.node, self.name, self.suffix = key, node, name, suffix
        self.params = [a.id for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        self.locals = set(self.params) | bound_names(node.body if isinstance(node.body, list) else [])
        self.free: dict = {}                # outer name -> name in the machine
        self.defaults: dict = {}            # parameter -> name of its default in the machine
        self.calls: dict = {}               # name in the body -> member
        self.entry: Block

    def own(self, name: str) -> str:
        return name + self.suffix if name in self.locals else name


class Block:
    def __init__(self):
        self.stmts: list = []
        self.end: tuple = ()
        self.users = 0
        self.number = -1


def template(text: str, **parts) -> list:
    """Statements from text: names `P_x` are the machine's own (`%x`), and names given as keywords stand for trees."""
    class Fill(gast.NodeTransformer):
        def visit_Name(self, node):
            if node.id in parts:
                return parts[node.id]
            if node.id.startswith("P_"):
                node.id = "%" + node.id[2:]
            return node
    tree = gast.parse(text)
    for n in gast.walk(tree):
        for place in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
            n.__dict__.pop(place, None)
    return [Fill().visit(s) for s in tree.body]


def assign(target: str, value):
    return gast.Assign([name(target, gast.Store())], value, None)


class Splitter:
    """Takes one member's body apart into blocks that end where a recursive call, a return or a branch around one is."""

    def __init__(self, member: Member, fresh):
        self.member, self.fresh = member, fresh
        self.block = member.entry = Block()
        self.edges: list = []                   # (called member, {parameter: argument})
        self.place = member.node
        body = member.node.body
        self.statements(body if isinstance(body, list) else [gast.Return(body)], None)
        if not self.block.end:
            self.finish("return", None)

    # -- what has to be taken apart ---------------------------------------------------------------------------
    def called(self, node):
        if isinstance(node, gast.Call) and isinstance(node.func, gast.Name) and node.func.id not in self.member.locals:
            return self.member.calls.get(node.func.id)
        return None

    def has_call(self, node) -> bool:
        return any(self.called(n) for n in gast.walk(node))

    def splits(self, stmt, in_loop: bool) -> bool:
        if self.has_call(stmt):
            return True
        todo = [stmt]
        while todo:
            n = todo.pop()
            if isinstance(n, gast.Return) or in_loop and isinstance(n, (gast.Break, gast.Continue)):
                return True
            if isinstance(n, (gast.FunctionDef, gast.Lambda)):
                continue
            if isinstance(n, (gast.For, gast.While)) and in_loop:
                if any(isinstance(m, gast.Return) for m in gast.walk(n)):
                    return True
                continue
            todo.extend(gast.iter_child_nodes(n))
        return False

    # -- blocks -----------------------------------------------------------------------------------------------
    def finish(self, *end) -> None:
        if not self.block.end:
            self.block.end = end

    def start(self, block: Block) -> None:
        self.block = block

    def add(self, *stmts) -> None:
        for s in stmts:
            for n in gast.walk(s):
                if not hasattr(n, "lineno") and isinstance(n, (gast.stmt, gast.expr)):
                    gast.copy_location(n, self.place)
            self.block.stmts.append(s)

    # -- statements -------------------------------------------------------------------------------------------
    def statements(self, stmts, loop) -> None:
        for s in stmts:
            if self.block.end:
                return
            if self.splits(s, loop is not None):
                self.place = s
                self.statement(s, loop)
            else:
                self.add(s)

    def statement(self, s, loop) -> None:
        match s:
            case gast.Return(value=value):
                self.finish("return", None if value is None else self.hoist(value))
            case gast.If(test=test, body=body, orelse=orelse):
                after = Block()
                self.branch(self.hoist(test), body, orelse, after, loop)
            case gast.While(test=test, body=body, orelse=orelse):
                self.loop(lambda: self.hoist(test), [], body, [], orelse)
            case gast.For():
                self.for_loop(s)
            case gast.Break():
                self.finish("jump", loop[1])
            case gast.Continue():
                self.finish("jump", loop[0])
            case gast.Assign(targets=targets, value=value):
                if any(map(self.has_call, targets)):
                    raise Unsupported(s, "a recursive call in the target of an assignment", "assign its result first")
                self.add(gast.Assign(targets, self.hoist(value), None))
            case gast.AnnAssign(target=target, value=value):
                self.add(gast.Assign([target], self.hoist(value), None))
            case gast.AugAssign(target=target, op=op, value=value):
                load = copy.deepcopy(target)
                load.ctx = gast.Load()
                old = load if isinstance(load, gast.Name) else self.keep(load)
                self.add(gast.Assign([target], gast.BinOp(old, op, self.hoist(value)), None))
            case gast.Expr(value=value):
                value = self.hoist(value, used=False)
                if not isinstance(value, gast.Name):
                    self.add(gast.Expr(value))
            case _:
                raise Unsupported(s, f"a recursive call in this {type(s).__name__.lower()} statement",
                                  "call it in a statement of its own")

    def branch(self, test, body, orelse, after, loop) -> None:
        then, other = Block(), Block()
        self.finish("branch", test, then, other)
        for block, stmts in ((then, body), (other, orelse)):
            self.start(block)
            self.statements(stmts, loop)
            self.finish("jump", after)
        self.start(after)

    def loop(self, test, first, body, step, orelse) -> None:
        """A loop by jumps: `test()` gives its condition; `step` are statements between the body and the next test."""
        self.add(*first)
        head, then, onward, otherwise, after = Block(), Block(), Block(), Block(), Block()
        self.finish("jump", head)
        self.start(head)
        self.finish("branch", test(), then, otherwise)
        self.start(then)
        self.statements(body, (onward, after))
        self.finish("jump", onward)
        self.start(onward)
        self.add(*copy.deepcopy(step))
        self.finish("jump", head)
        self.start(otherwise)
        self.statements(orelse, None)
        self.finish("jump", after)
        self.start(after)

    def for_loop(self, s) -> None:
        source = s.iter
        count, stop, step = (self.fresh(k) for k in ("count", "stop", "step"))
        if isinstance(source, gast.Call) and getattr(source.func, "id", "") in ("range", "prange") and not source.keywords:
            args = [self.hoist(a) for a in source.args]
            zero, one = gast.Constant(0, None), gast.Constant(1, None)
            low, high, by = {1: (zero, *args, one), 2: (*args, one), 3: tuple(args)}[len(args)]
            first = [assign(count, low), assign(stop, high), assign(step, by)]
            test = "(P_s > 0 and P_c < P_e) or (P_s < 0 and P_c > P_e)"
            bind = [gast.Assign([s.target], name(count), None)]
        elif isinstance(source, gast.Name):
            first = [assign(count, gast.Constant(0, None)), assign(step, gast.Constant(1, None)),
                     *template("P_e = len(it)", it=source)]
            first[-1].targets = [name(stop, gast.Store())]
            test = "P_c < P_e"
            bind = [gast.Assign([s.target], gast.Subscript(source, name(count), gast.Load()), None)]
        else:
            raise Unsupported(s, "a recursive call or return in a loop over this", "loop over a range or an array")
        own = {"P_c": name(count), "P_e": name(stop), "P_s": name(step)}
        self.loop(lambda: template(test, **own)[0].value, first, [*bind, *s.body],
                  [assign(count, gast.BinOp(name(count), gast.Add(), name(step)))], s.orelse)

    # -- expressions ------------------------------------------------------------------------------------------
    def keep(self, value):
        """The value of an expression now, for use after a call."""
        if isinstance(value, (gast.Constant, gast.Name)):
            return value
        kept = self.fresh("part")
        self.add(assign(kept, value))
        return name(kept)

    def hoist(self, e, used: bool = True):
        """The expression with every recursive call made before it, in Python's order of evaluation."""
        if not self.has_call(e):
            return e
        member = self.called(e)
        if member is not None:
            return self.call(member, e, used)
        match e:
            case gast.IfExp(test=test, body=body, orelse=orelse):
                kept = self.fresh("part")
                self.branch(self.hoist(test), [assign(kept, body)], [assign(kept, orelse)], Block(), None)
                return name(kept)
            case gast.BoolOp(op=op, values=[first, *rest]):
                kept = self.fresh("part")
                self.add(assign(kept, self.hoist(first)))
                after = Block()
                for value in rest:
                    more = Block()
                    self.finish("branch", name(kept), *((more, after) if isinstance(op, gast.And) else (after, more)))
                    self.start(more)
                    self.add(assign(kept, self.hoist(value)))
                self.finish("jump", after)
                self.start(after)
                return name(kept)
            case gast.ListComp() | gast.GeneratorExp() | gast.DictComp() | gast.SetComp() | gast.Lambda():
                raise Unsupported(e, "a recursive call in a comprehension or lambda", "write it as a loop")
        return self.operands(e)

    def operands(self, e):
        e = copy.copy(e)
        slots: list[tuple] = []
        for field, value in gast.iter_fields(e):
            if isinstance(value, gast.expr):
                slots.append((field, None, value))
            elif isinstance(value, list):
                setattr(e, field, list(value))
                slots.extend((field, k, v) for k, v in enumerate(value))
        last = max(k for k, slot in enumerate(slots) if self.has_call(slot[2]))
        for k, (field, position, value) in enumerate(slots):
            if isinstance(value, gast.keyword):
                new = gast.keyword(value.arg, self.hoist(value.value))
                new.value = self.keep(new.value) if k < last else new.value
            elif isinstance(value, gast.expr):
                is_function = isinstance(e, gast.Call) and field == "func"
                new = value if is_function or k > last else self.hoist(value)
                new = self.keep(new) if k < last and not is_function else new
            else:
                continue
            if position is None:
                setattr(e, field, new)
            else:
                getattr(e, field)[position] = new
        return e

    def call(self, member: Member, e, used: bool):
        """End the block with the call; what follows starts with its result."""
        if any(isinstance(a, gast.Starred) for a in e.args) or any(k.arg is None for k in e.keywords):
            raise Unsupported(e, "* or ** in a recursive call", "pass the arguments one by one")
        given = dict(zip(member.params, e.args, strict=False))
        given.update({k.arg: k.value for k in e.keywords})
        if len(e.args) > len(member.params) or set(given) - set(member.params):
            raise Unsupported(e, f"`{member.name}` is called with arguments it does not have", "")
        for p in member.params:
            if p not in given:
                if p not in member.defaults:
                    raise Unsupported(e, f"`{member.name}` is called without its argument `{p}`", "")
                given[p] = name(member.defaults[p])
        busy = [p for p in given if self.has_call(given[p])]
        for p in given:
            if busy:
                given[p] = self.keep(self.hoist(given[p])) if p != busy[-1] else self.hoist(given[p])
        self.edges.append((member, given))
        after = Block()
        self.finish("call", member, given, after, e)
        self.start(after)
        if not used:
            return name("%result")
        result = self.fresh("result")
        self.add(assign(result, name("%result")))
        return name(result)


__all__ = ["Block", "Member", "Splitter", "Unsupported", "assign", "template"]
