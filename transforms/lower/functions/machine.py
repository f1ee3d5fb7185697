"""Recursion whose depth is known only at run time, rewritten as a loop.

Functions that call each other become one function: a loop over *states*. A state is a piece of a body between recursive
calls. Every activation has a number, its *frame*; a variable needed after a call stands in a list with one item a frame, so
that nothing is ever overwritten by a deeper call. A call appends a frame and goes to the entry state of the called function;
a return goes to the state kept in `back`, in the frame kept in `parent`. (Defunctionalisation of the continuation:
J. C. Reynolds, Definitional interpreters for higher-order programming languages, ACM 1972.)

Everything here is from syntax trees to a syntax tree; the result is lowered like any other function.
"""

from __future__ import annotations

import copy

import gast

from ...source.matching import located, name
from ..syntax.liveness import bound_names, names_read
from .splitting import Block, Member, Splitter, assign, template


def exposed(stmts, names: set[str], defined: set[str]) -> set[str]:
    """Those of `names` that statements may read, or leave unbound, before they bind them; adds to `defined`."""
    found: set[str] = set()

    def read(node):
        found.update((names_read(node) & names) - defined)
    for s in stmts:
        match s:
            case gast.If(test=test, body=body, orelse=orelse):
                read(test)
                one, two = set(defined), set(defined)
                found |= exposed(body, names, one) | exposed(orelse, names, two)
                defined |= one & two
            case gast.Assign(targets=targets, value=value):
                read(value)
                for t in targets:
                    read(t)
                    if isinstance(t, (gast.Name, gast.Tuple, gast.List)):
                        defined |= {n.id for n in gast.walk(t) if isinstance(n, gast.Name) and isinstance(n.ctx, gast.Store)}
            case gast.AugAssign(target=gast.Name(id=target), value=value):
                read(value)
                found |= {target} & names - defined
                defined.add(target)
            case gast.For() | gast.While():
                found |= ((names_read(s) | bound_names([s])) & names) - defined
            case gast.FunctionDef(name=own):
                read(s)
                defined.add(own)
            case _:
                read(s)
    return found


TOO_DEEP = "maximum recursion depth exceeded"


class Machine:
    """The loop made of the members; the first is the one called from outside."""

    def __init__(self, members: list[Member]):
        self.members, self.made = members, 0
        self.temporaries: set[str] = set()
        self.splitters = [Splitter(m, self.fresh) for m in members]
        self.ending = self.that_return()
        self.same = self.invariants()
        self.changed = {called.own(p): e for s in self.splitters for called, given in s.edges for p, e in given.items()
                        if p not in self.same[called] and hasattr(e, "lineno")}
        self.heads = self.number_blocks()
        names = {m.own(v) for m in members for v in m.locals} | self.temporaries
        names -= {m.own(p) for m in members for p in self.same[m]}
        trees = {b: self.tree(b, set(), None) for b in self.heads}
        self.kept = sorted(set().union(*(exposed(t, names, set()) for t in trees.values())))
        self.returned = [b.end[1] for b in self.all_blocks() if b.end[0] == "return" and b.end[1] is not None]

    def fresh(self, hint: str) -> str:
        self.made += 1
        self.temporaries.add(f"%{hint}_{self.made}")
        return f"%{hint}_{self.made}"

    def invariants(self) -> dict:
        """For each member, the parameters that are the same in all calls: parameter -> the first member's parameter."""
        root = self.members[0]
        rebound = {m: bound_names(m.node.body if isinstance(m.node.body, list) else []) for m in self.members}
        source: dict = {(root, p): p for p in root.params}
        while True:
            before = dict(source)
            for splitter in self.splitters:
                m = splitter.member
                for called, given in splitter.edges:
                    for p, e in given.items():
                        new = source.get((m, e.id)) if isinstance(e, gast.Name) and e.id in m.params \
                            and e.id not in rebound[m] else False
                        if isinstance(e, gast.Name) and new is None and (m, e.id) not in source:
                            continue                                # not known yet
                        old = source.get((called, p), new)
                        source[called, p] = old if old == new else False
            if source == before:
                break
        return {m: {p: source[m, p] for p in m.params if source.get((m, p)) and p not in rebound[m]} for m in self.members}

    def that_return(self) -> set:
        """The members that some way through them, over calls of such members only, leads out of."""
        found: set = set()
        while True:
            more = {m for m in self.members if m not in found and any(
                b.end[0] == "return" for b in reached([m.entry], found))}
            if not more:
                return found
            found |= more

    def all_blocks(self):
        return reached([m.entry for m in self.members], self.ending)

    def number_blocks(self) -> list:
        """The blocks that are states: entries, what follows a call, and what several blocks lead to."""
        blocks = self.all_blocks()
        after_call = [b.end[3] for b in blocks if b.end[0] == "call"]
        for b in blocks:
            for x in following(b, self.ending):
                x.users += 1
        entries = [m.entry for m in self.members]
        heads = [b for b in blocks if b in entries or b in after_call or b.users > 1]
        for k, b in enumerate(heads):
            b.number = k
        return heads

    def owner(self, block: Block) -> Member:
        for m in self.members:
            seen, todo = set(), [m.entry]
            while todo:
                b = todo.pop()
                if b is block:
                    return m
                if id(b) not in seen:
                    seen.add(id(b))
                    todo.extend(x for x in b.end if isinstance(x, Block))
        raise AssertionError

    def tree(self, block: Block, bound: set[str], kept) -> list:
        """The statements of a state, branches inside; with `kept`, frames are saved and left as the ends say."""
        m = self.owner(block)
        out = [Rename(m).visit(copy.deepcopy(s)) for s in block.stmts]
        bound = bound | {m.own(v) for v in bound_names(block.stmts)}
        kind, *what = block.end
        here = lambda e: Rename(m).visit(copy.deepcopy(e))  # noqa: E731
        save = [] if kept is None else [self.save(v) for v in kept if v in bound]
        if kind == "branch":
            test, then, other = what
            sides = [self.tree(b, bound, kept) if b.number < 0 else [*save, *state(b.number)] for b in (then, other)]
            out.append(gast.If(here(test), sides[0] or [gast.Pass()], sides[1]))
        elif kind == "jump":
            target = what[0]
            out += self.tree(target, bound, kept) if target.number < 0 else [*save, *state(target.number)]
        elif kind == "return":
            if what[0] is not None:
                out.append(assign("%result", numbers(here(what[0]))))
            out += template("P_state = P_back[P_frame]\nP_frame = P_parent[P_frame]\n"
                            "P_depth = P_depth - 1")
        else:
            called, given, after, call = what
            deeper = template("P_depth = P_deeper(P_depth)")
            located(deeper[0], call)
            mine = {called.own(p): here(e) for p, e in given.items() if p not in self.same[called]}
            out += save
            if kept is None:
                out += [gast.Expr(e) for e in mine.values()]
            else:
                for v in kept:
                    out += template("P_list.append(P_number(value, label))", value=mine.get(v, gast.Constant(0, None)),
                                    label=label(v), P_list=name(frames(v)))
            out += deeper
            out += template(f"P_parent.append(P_frame)\nP_back.append({after.number})\nP_frame = P_count\n"
                            "P_count = P_count + 1")
            out += state(called.entry.number)
        first = block.stmts[0] if block.stmts else m.node
        for s in out:
            located(s, first)
        return out

    def save(self, v: str):
        return template("P_list[P_frame] = P_number(value, label)", value=name(v), P_list=name(frames(v)),
                        label=label(v))[0]

    def function(self):
        """The machine as a function of the first member's parameters."""
        root = self.members[0]
        start = template(f"P_state = {root.entry.number}\nP_frame = 0\nP_count = 1\nP_depth = 1\nP_parent = [0]\n"
                         "P_back = [-1]")
        for m in self.members[1:]:
            start += [assign(m.own(p), name(root.own(source))) for p, source in self.same[m].items()]
        params = {root.own(p) for p in root.params if p not in self.same[root]}
        for v in self.kept:
            value = name(v) if v in params else gast.Constant(0, None)
            start.append(template("P_list = [P_number(value, label)]", value=value, label=label(v))[0])
            start[-1].targets = [name(frames(v), gast.Store())]
            located(start[-1], self.changed.get(v, root.node.body[0] if isinstance(root.node.body, list) else root.node))
        if self.returned:
            start.append(assign("%result", zeros(next((e for e in self.returned if isinstance(e, gast.Tuple)), None))))
        chain: list = []
        for b in reversed(self.heads):
            body = self.tree(b, set(), self.kept)
            needed = exposed(body, set(self.kept), set())
            loads = [s for v in self.kept if v in needed for s in template("T = P_list[P_frame]", P_list=name(frames(v)))]
            for s, v in zip(loads, [v for v in self.kept if v in needed], strict=True):
                s.targets = [name(v, gast.Store())]
            body = [*loads, *body]
            chain = [gast.If(template(f"P_state == {b.number}")[0].value, body, chain)] if chain else body
        loop = gast.While(template("P_state >= 0")[0].value, chain, [])
        end = gast.Return(name("%result") if self.returned else None) if root in self.ending else \
            template("raise P_error(message)", message=gast.Constant(TOO_DEEP, None))[0]
        arguments = copy.deepcopy(root.node.args)
        for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            a.id = root.own(a.id)
        made = gast.FunctionDef(root.name, arguments, [*start, loop, end], [], None, None)
        located(made, root.node)
        return made


def following(block: Block, ending: set) -> list:
    """The blocks that may run after one; a call of what never returns is followed by nothing."""
    return [] if block.end[0] == "call" and block.end[1] not in ending else [x for x in block.end if isinstance(x, Block)]


def reached(entries, ending: set) -> list:
    """The blocks that may run, from entries on."""
    seen, todo = [], list(entries)
    while todo:
        b = todo.pop(0)
        if b not in seen:
            seen.append(b)
            todo.extend(following(b, ending))
    return seen


def numbers(e):
    """A returned expression with the check that it is a number, or a tuple of them."""
    if isinstance(e, gast.Tuple):
        return gast.Tuple([numbers(x) for x in e.elts], gast.Load())
    if isinstance(e, gast.Name) and e.id.startswith("%"):
        return e
    return template("P_number(value, label)", value=e, label=gast.Constant("the result", None))[0].value


def zeros(e):
    return gast.Tuple([zeros(x) for x in e.elts], gast.Load()) if isinstance(e, gast.Tuple) else gast.Constant(0, None)


def label(v: str):
    """What an error calls a variable."""
    return gast.Constant("an intermediate value" if v.startswith("%") else v, None)


def frames(v: str) -> str:
    return f"%{v.lstrip('%')}_frames"


def state(number: int) -> list:
    return template(f"P_state = {number}")


class Rename(gast.NodeTransformer):
    """A member's names as they are in the machine."""

    def __init__(self, member: Member):
        self.member = member

    def visit_Name(self, node):
        node.id = self.member.own(node.id) if node.id in self.member.locals else self.member.free.get(node.id, node.id)
        return node


__all__ = ["TOO_DEEP", "Machine"]
