"""List comprehensions and generator expressions."""

from __future__ import annotations

from dataclasses import replace

import gast
import numpy as np

from ..language.build import ONE, ZERO
from ..language.core import Alloc, Const, Var, walk, written
from ..language.errors import TypeConflict, UnsupportedSyntax
from .frames import Frame
from .growing import Row
from .liveness import names_read
from .needs import NeedsStatic, Raised
from .structures import rebuild
from .values import (
    Array,
    Buffer,
    Closure,
    Iterable,
    Mapping,
    Range,
    Record,
    Scalar,
    Sequence,
    Static,
    Value,
    is_number,
    leaves,
)


def arguments_of(spec) -> list:
    """The names that a function's arguments bind."""
    return [a for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg) if a is not None]


class Comprehensions:
    def eval_ListComp(self, node):
        made = self.comprehension(node, list)
        return self.as_list(made, node) if isinstance(made, Buffer) and not made.is_list else made

    def eval_GeneratorExp(self, node):
        block, mark, before = self.b, len(self.b.stmts), self.environments()
        with self.no_draws("a generator expression, which draws when its items are asked for", "write a list: [...]"):
            made = self.comprehension(node, tuple)
        if isinstance(made, Buffer) and len(made.kinds) > 1:
            made.is_list = True                     # its items are tuples or lists, not rows of an array
        stmts = tuple(block.stmts[mark:])
        if self.acted(before, node.generators) or written(stmts) - {s.array for s in walk(stmts) if isinstance(s, Alloc)}:
            raise self.error(UnsupportedSyntax, "a generator expression that changes names or arrays is evaluated at once "
                             "here, in Python when its items are asked for", "write a list, [...], or a loop", node=node)
        return made

    def acted(self, before, generators) -> bool:
        """Whether names other than those that generators bind mean something else than before."""
        own = {n for g in generators for n in self.target_names(g.target)}
        return any(env.get(n) is not v for frame, env in zip(self.frames, before, strict=False)
                   for n, v in frame.env.items() if not (frame is self.frame and n in own) and not n.startswith("%"))

    def eval_SetComp(self, node):
        raise self.error(UnsupportedSyntax, "sets are not supported", "use a list", node=node)

    def eval_DictComp(self, node):
        items = {}
        pairs = self.comprehension(gast.ListComp(gast.Tuple([node.key, node.value], gast.Load()), node.generators), list)
        if not isinstance(pairs, Sequence):
            raise self.error(UnsupportedSyntax, "a dict whose keys are known only when the program runs is not supported",
                             "use a list or an array", node=node)
        for pair in pairs.items:
            key, value = pair.items
            if not isinstance(key, Static):
                raise self.error(UnsupportedSyntax, "dict keys must be known before the program runs")
            items[key.value] = value
        from .values import Mapping
        return Mapping(items)

    def comprehension(self, node, kind) -> Value:
        saved = dict(self.env)
        named = {n.target.id for n in gast.walk(node) if isinstance(n, gast.NamedExpr)}      # they are bound outside, too
        try:
            rows = self.late_bound(self.generate(node.generators, node.elt, kind), node, kind)
        finally:
            for n in set(self.env) - set(saved) - named:
                del self.env[n]
            for n, v in saved.items():
                if n in {m for g in node.generators for m in self.target_names(g.target)}:
                    self.env[n] = v
        return rows

    def late_bound(self, rows: Value, node, kind) -> Value:
        """The items, of which functions made among them keep the comprehension's own names, at their last values."""
        own = {n for g in node.generators for n in self.target_names(g.target)}
        scope = Frame(self.frame.definition, self.frame.cells, self.frame.globals, self.frame)
        scope.env = {n: v for n, v in self.env.items() if n in own}

        def moved(leaf):
            if not isinstance(leaf, Closure) or leaf.frame is not self.frame or not own & (
                    names_read(leaf.node) - {a.id for a in arguments_of(leaf.node.args)}):
                return leaf
            if kind is tuple:
                raise self.error(UnsupportedSyntax, "a function that reads the variable of the generator expression around "
                                 "it is not supported", "give it a default: lambda v, i=i: ...", node=leaf.node)
            return replace(leaf, frame=scope)
        found = leaves(rows)
        return rebuild(rows, map(moved, found)) if any(isinstance(leaf, Closure) for leaf in found) else rows

    def target_names(self, target):
        from .liveness import target_names
        return target_names(target)

    def generate(self, generators, elt, kind) -> Value:
        first, *rest = generators
        before = self.snapshot()
        source = self.eval(first.iter)
        if isinstance(source, Static) and isinstance(source.value, range):
            r = source.value
            source = Range(Static(r.start), Static(r.stop), Static(r.step))
        it = self.iterate(source)
        if isinstance(source, Array) and source.rank > 1 and not isinstance(source.shape[0], Const) and not rest \
                and not first.ifs and isinstance(elt, gast.Name) and isinstance(first.target, gast.Name) \
                and elt.id == first.target.id:
            return self.call_static(kind, [source], {}) if kind is list else source
        static = it.static
        if static is None and isinstance(it.length, Const) and it.length.value <= 8:
            static = tuple(it.item(Const(k, "int64")) for k in range(it.length.value))
        if static is None and not rest and not first.ifs:
            try:
                made = self.generate_array(first, it, elt)
                if made is not None:
                    return made
                self.rollback(before)
                return self.generate_by_loop(generators, elt)
            except Raised:
                self.rollback(before)
                return self.generate_by_loop(generators, elt)
            except NeedsStatic:
                if not isinstance(it.length, Const) or it.length.value > 64:
                    raise
                static = tuple(it.item(Const(k, "int64")) for k in range(it.length.value))
        if static is None:
            self.rollback(before)
            return self.generate_by_loop(generators, elt)
        items = []
        for item in static:
            self.bind(first.target, item)
            conditions = [self.truth_of(c) for c in first.ifs]
            if any(not isinstance(c, Const) for c in conditions):
                self.rollback(before)           # with what conditions and items have done
                return self.generate_by_loop(generators, elt)
            if all(c.value for c in conditions):
                if rest:
                    inner = self.generate(rest, elt, kind)
                    items.extend(self.items_of(inner))
                else:
                    items.append(self.eval(elt))
        return Sequence(tuple(items), kind)

    def generate_array(self, generator, it: Iterable, elt) -> Value | None:
        """`[f(i) for i in ...]` over a length known only at run time: an array. None if items change what names mean."""
        probe = Var("probe", "int64")
        facts = self.b.facts
        facts.number(probe)
        facts.range[probe] = (ZERO, self.b.isub(it.length, ONE))
        here, guarded, before = self.b, set(self.guarded), self.environments()
        self.b = here.child(loop=True)
        try:
            self.bind(generator.target, it.item(probe))
            given = sample = self.eval(elt)
            if self.acted(before, [generator]):
                return None
            if isinstance(sample, (Sequence, Mapping, Record)):
                if isinstance(sample, Sequence) and len({self.kind_of_part(leaf) for leaf in leaves(sample)}) < 2:
                    sample = self.array(sample)
                elif Row.of(self, sample) is not None:
                    return None                     # a list for each part
        finally:
            self.b, self.guarded = here, guarded
        if is_number(sample):
            dtype, shape = self.dtype_of(sample), ()
        elif isinstance(sample, Array):
            shape = tuple(self.rematerialise(s) for s in sample.shape)
            dtype = sample.dtype
            if any(s is None for s in shape):
                raise self.error(TypeConflict, "the rows of this comprehension have a size known only inside it",
                                 "preallocate an array and fill it in a loop")
        else:
            raise NeedsStatic(self.error(TypeConflict, "a comprehension over a length known only when the program runs "
                                                       "must give numbers or arrays", "use a loop"))
        arr = self.b.alloc("v", dtype, (it.length, *shape))
        target = Buffer(arr)
        target.kinds = (list, *self.list_kinds(given))          # `as_list` makes it one
        target.array_axes = target.rank - len(target.kinds)
        def body(i, _):
            self.bind(generator.target, it.item(i))
            value = self.eval(elt)
            self.note_copies(arr, value)
            if shape:
                self.assign(self.index_array(target, (Scalar(i),)), value if not isinstance(value, Sequence)
                            else self.array(value))
            else:
                self.store_element(arr, (i,), self.atom(value, dtype))
            return ()
        self.for_loop(ZERO, it.length, (), body, next(iter(self.target_names(generator.target)), "i"))
        return target

    def kind_of_part(self, leaf: Value):
        return (self.dtype_of(leaf), getattr(leaf, "rank", 0)) if is_number(leaf) or isinstance(leaf, Array) else None

    def generate_by_loop(self, generators, elt) -> Value:
        """Filters and nested generators: the loop that the comprehension stands for, appending to a list."""
        name = f"%list{getattr(elt, 'lineno', 0)}_{getattr(elt, 'col_offset', 0)}"     # the same when lowered again
        append = gast.Expr(gast.Call(gast.Attribute(gast.Name(name, gast.Load(), None, None), "append", gast.Load()),
                                     [elt], []))
        body = [append]
        for g in reversed(generators):
            for c in reversed(g.ifs):
                body = [gast.If(c, body, [])]
            body = [gast.For(g.target, g.iter, body, [], None)]
        for n in gast.walk(body[0]):
            if not hasattr(n, "lineno"):
                gast.copy_location(n, elt)
        from .liveness import Liveness
        holder = gast.FunctionDef("comprehension", gast.arguments([], [], None, [], [], None, []),
                                  [*body, gast.Return(gast.Name(name, gast.Load(), None, None))], [], None, None)
        Liveness(holder)
        for n in gast.walk(holder):
            for field in ("live_out", "live_head"):
                if hasattr(n, field):
                    setattr(n, field, getattr(n, field) | set(self.env) | {name})
        self.env[name] = self.bound_list(name, Sequence((), list))
        self.exec_block(body)
        return self.env.pop(name)


__all__ = ["Comprehensions", "np"]
