"""`for` statements over what makes its items when they are asked for: a generator expression, `map`, `filter`, `product`.

Python runs one item, then the body, then the next item, which sees what the body has changed. The loop is rewritten as one
over what the items are made from, with the item bound at the head of the body:

    for v in (g(u) for u in x if u > 0):         for u in x:
        ...                                          if u > 0:
                                                         v = g(u)
                                                         ...
"""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass

import gast

from ..state import Lowering
from ..syntax.liveness import Liveness, exits, target_names
from ..values import Static

LAZY = (map, filter, zip, enumerate)
MOST_LOOPS = 8          # that a product is written as
SCOPES = (gast.Lambda, gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)


@dataclass
class Pulled:
    """How an iterator is run over: a loop over `iterable` that binds `target` and does the `steps`; then `item` is next.

    steps: conditions, assignments and the heads of inner loops, from the outermost.
    """

    iterable: gast.expr
    target: gast.expr
    steps: list
    item: gast.expr

    @property
    def plain(self) -> bool:
        """Whether each item of the iterable gives one item."""
        return all(isinstance(s, gast.Assign) for s in self.steps)


def plain_loop(lo: Lowering, stmt: gast.For) -> list | None:
    """The statements in whose form the loop runs, the loop last; None where it runs as it is."""
    if not isinstance(stmt.iter, (gast.GeneratorExp, gast.Call)) or hasattr(stmt, "rewritten"):
        return None
    key = id(stmt), id(lo.frame.node)
    if key not in lo.lazy_loops:
        lo.lazy_loops[key] = stmt, Rewriter(lo, stmt).rewritten()
    return lo.lazy_loops[key][1]


class Rewriter:
    def __init__(self, lo: Lowering, stmt: gast.For):
        self.lo, self.stmt = lo, stmt
        self.before: list = []                  # statements that run once, before the loop
        node = lo.frame.node
        if id(node) not in lo.lazy_loops:
            lo.lazy_loops[id(node)] = node, {n.id for n in gast.walk(node) if isinstance(n, gast.Name)}
        self.taken: set[str] = lo.lazy_loops[id(node)][1]           # one for all loops of the function

    def rewritten(self) -> list | None:
        stmt = self.stmt
        pulled = self.pulled(stmt.iter)
        several = pulled is not None and any(isinstance(s, gast.For) for s in pulled.steps)
        if pulled is None or several and (stmt.orelse or "break" in exits(stmt.body)):
            return None
        body = [gast.Assign([stmt.target], pulled.item, None), *stmt.body]
        for step in reversed(pulled.steps):
            match step:
                case gast.Assign():
                    body = [step, *body]
                case gast.For(target=target, iter=iterable):
                    body = [gast.For(target, iterable, body, [], None)]
                case _:
                    body = [gast.If(step, body, [])]
        loop = gast.For(pulled.target, pulled.iterable, body, stmt.orelse, None)
        made = [*self.before, loop]
        for s in made:
            for n in gast.walk(s):
                if not hasattr(n, "lineno"):
                    gast.copy_location(n, stmt.iter)
        gast.copy_location(loop, stmt)
        loop.rewritten = True
        after = [read(n) for n in sorted(stmt.live_out)]
        holder = gast.FunctionDef("loop", gast.arguments([], [], None, [], [], None, []),
                                  [*made, gast.Return(gast.Tuple(after, gast.Load()))], [], None, None)
        around = getattr(self.lo.frame.node, "liveness", None)
        Liveness(holder, around.always if around is not None else ())
        return made

    def pulled(self, node) -> Pulled | None:
        """How what an expression gives is run over; None where it is run over as it is."""
        match node:
            case gast.GeneratorExp():
                return self.generator(node)
            case gast.Call(func=gast.Name() as name, args=args, keywords=keywords) if args and not any(
                    isinstance(a, gast.Starred) for a in args):
                function = self.builtin(name)
                if function is map and len(args) > 1 and not keywords:
                    return self.mapped(*args)
                if function is filter and len(args) == 2 and not keywords:
                    return self.filtered(*args)
                if function is enumerate and not keywords or function is zip:
                    return self.rows(node, args[:1] if function is enumerate else args)
                if name.id == "product":
                    return self.product(node)
            case gast.Call(func=gast.Attribute(attr="product")):
                return self.product(node)
        return None

    def product(self, node) -> Pulled | None:
        """`itertools.product` of ranges: loops inside one another."""
        repeat = next((k.value.value for k in node.keywords if k.arg == "repeat" and isinstance(k.value, gast.Constant)), 1)
        ranges = [a for a in node.args if isinstance(a, gast.Call) and self.named(a.func, range)]
        if len(node.keywords) > (repeat != 1) or len(ranges) != len(node.args) or repeat not in range(1, MOST_LOOPS) or not (
                ranges and self.named(node.func, itertools.product)):
            return None
        first, *others = [self.kept(a, "numbers") for a in ranges] * repeat
        items = [self.fresh("number") for _ in range(len(others) + 1)]
        inner: list = [gast.For(bound(item), pool, [], [], None) for item, pool in zip(items[1:], others, strict=True)]
        return Pulled(first, bound(items[0]), inner, gast.Tuple([read(item) for item in items], gast.Load()))

    def named(self, node, function) -> bool:
        """Whether a name or an attribute means a function of Python's."""
        if not isinstance(node, (gast.Name, gast.Attribute)) or getattr(node, "id", "") in self.lo.env:
            return False
        found = self.lo.eval(node)
        return isinstance(found, Static) and found.value is function

    def builtin(self, name: gast.Name):
        """The lazy builtin that a name means here, or None."""
        if name.id not in {f.__name__ for f in LAZY}:
            return None
        found = self.lo.eval(name)
        return next((f for f in LAZY if isinstance(found, Static) and found.value is f), None)

    def generator(self, node) -> Pulled | None:
        """A generator expression: its own names get others where the function has them too."""
        own = set().union(*(target_names(g.target) for g in node.generators))
        head = {id(n) for n in gast.walk(node.generators[0].iter)}             # which sees the names around the expression
        parts = (n for part in (node.elt, *node.generators) for n in gast.walk(part) if id(n) not in head)
        inner = [n for n in parts if isinstance(n, SCOPES)]
        if any(own & bound_in(n) for n in inner):
            return None
        names = {n: self.fresh(n) for n in sorted(own) if n in self.others(node)}
        first, *rest = (Renamed(names).visit(copy.deepcopy(g)) for g in node.generators)
        source = self.source(first.iter if not names else node.generators[0].iter, first.target)
        steps = [*source.steps, *first.ifs]
        for g in rest:
            steps += [gast.For(g.target, g.iter, [], [], None), *g.ifs]
        return Pulled(source.iterable, source.target, steps, Renamed(names).visit(copy.deepcopy(node.elt)))

    def mapped(self, function, *sources) -> Pulled | None:
        called = self.kept(function, "function")
        if len(sources) == 1:
            item = self.fresh("item")
            source = self.source(sources[0], bound(item))
            return Pulled(source.iterable, source.target, source.steps, gast.Call(called, [read(item)], []))
        row = self.rows(gast.Call(read("zip"), list(sources), []), sources, always=True)
        if row is None:
            return None
        return Pulled(row.iterable, row.target, row.steps, gast.Call(called, row.item.elts, []))

    def filtered(self, condition, source) -> Pulled:
        item = self.fresh("item")
        none = isinstance(condition, gast.Constant) and condition.value is None
        test = read(item) if none else gast.Call(self.kept(condition, "condition"), [read(item)], [])
        made = self.source(source, bound(item))
        return Pulled(made.iterable, made.target, [*made.steps, test], read(item))

    def rows(self, node, parts, always: bool = False) -> Pulled | None:
        """`zip` or `enumerate` of which some parts are made when they are asked for."""
        if not always and not any(self.is_lazy(p) for p in parts):
            return None
        made = []
        for p in parts:
            found = self.pulled(p)
            if found is None:
                item = self.fresh("item")
                found = Pulled(p, bound(item), [], read(item))
            if not found.plain:
                return None
            made.append(found)
        count = [self.fresh("count")] if isinstance(node.func, gast.Name) and node.func.id == "enumerate" else []
        iterable = gast.Call(node.func, [*(m.iterable for m in made), *node.args[len(parts):]], node.keywords)
        target = gast.Tuple([*map(bound, count), *(m.target for m in made)], gast.Store())
        item = gast.Tuple([*map(read, count), *(m.item for m in made)], gast.Load())
        return Pulled(iterable, target, [s for m in made for s in m.steps], item)

    def is_lazy(self, node) -> bool:
        match node:
            case gast.GeneratorExp():
                return True
            case gast.Call(func=gast.Name() as name, args=args):
                function = self.builtin(name)
                return function in (map, filter) or function is not None and any(map(self.is_lazy, args))
        return False

    def source(self, node, target) -> Pulled:
        """What gives the items that a target is bound to, without the item."""
        inner = self.pulled(node)
        if inner is None:
            return Pulled(node, target, [], target)
        return Pulled(inner.iterable, inner.target, [*inner.steps, gast.Assign([target], inner.item, None)], target)

    def kept(self, function, hint: str):
        """A function that is evaluated once, before the loop."""
        name = self.fresh(hint)
        self.before.append(gast.Assign([bound(name)], function, None))
        return read(name)

    def others(self, node) -> set[str]:
        """The names of the function beside those in a node of it."""
        inside = {id(n) for n in gast.walk(node)}
        return {n.id for n in gast.walk(self.lo.frame.node) if isinstance(n, gast.Name) and id(n) not in inside}

    def fresh(self, hint: str) -> str:
        name, k, taken = hint, 1, self.taken
        while name in taken:
            name, k = f"{hint}_{k}", k + 1
        taken.add(name)
        return name


class Renamed(gast.NodeTransformer):
    def __init__(self, names: dict[str, str]):
        self.names = names

    def visit_Name(self, node):
        node.id = self.names.get(node.id, node.id)
        return node


def bound_in(scope) -> set[str]:
    """The names that an inner function or comprehension binds."""
    return {n.id for n in gast.walk(scope) if isinstance(n, gast.Name) and not isinstance(n.ctx, gast.Load)}


def read(name: str) -> gast.Name:
    return gast.Name(name, gast.Load(), None, None)


def bound(name: str) -> gast.Name:
    return gast.Name(name, gast.Store(), None, None)
