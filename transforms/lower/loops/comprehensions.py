"""List comprehensions and generator expressions."""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import gast
import numpy as np

from ...language.build import ONE, ZERO
from ...language.core import Atom, Const, Var, written
from ...language.errors import TypeConflict, UnsupportedSyntax
from ..arrays.loop_nests import for_loop
from ..arrays.memory import rematerialise, store_element
from ..arrays.writing import assign, note_copies
from ..containers.containers import items_of, unpacked
from ..containers.growing import Row, bound_list
from ..containers.list_operators import as_list, list_kinds
from ..containers.shared_rows import note_row
from ..containers.sharing import children, holding, with_children
from ..functions.frames import Frame
from ..functions.names import GIVEN
from ..journal import Attempt, buffers, dropped, environments
from ..needs import NeedsStatic, Raised
from ..numbers.conversions import dtype_of
from ..numbers.kinds_on_paths import kinds_of
from ..numpy_functions.random_draws import no_draws
from ..state import Lowering
from ..syntax.expressions import set_of
from ..syntax.liveness import Liveness, names_read, parameter_names, target_names
from ..syntax.operators import truth_of
from ..table import evaluates, lowers
from ..values import (
    Array,
    Buffer,
    Closure,
    Either,
    Generated,
    Iterable,
    Mapping,
    Range,
    Record,
    Scalar,
    Sequence,
    Static,
    Value,
    is_number,
    known_as,
    leaves,
)
from .iteration import note_written_out
from .iterators import gone_through, passing


@evaluates(gast.ListComp)
def eval_list_comp(lo: Lowering, node):
    made = comprehension(lo, node, list)
    return as_list(lo, made, node) if isinstance(made, Buffer) and not made.is_list else made


@evaluates(gast.GeneratorExp)
def eval_generator_exp(lo: Lowering, node):
    block, mark, before, had = lo.b, len(lo.b.stmts), environments(lo), buffers(lo)
    with no_draws(lo, "a generator expression, which draws when its items are asked for", "write a list: [...]"):
        made = comprehension(lo, node, tuple)
    if isinstance(made, Buffer) and len(made.kinds) > 1:
        made.is_list = True                     # its items are tuples or lists, not rows of an array
    stmts = tuple(block.stmts[mark:])
    if acted(lo, before, node.generators) or written(stmts) - (buffers(lo) - had):
        raise lo.error(UnsupportedSyntax, "a generator expression that changes names or arrays is evaluated at once "
                       "here, in Python when its items are asked for", "write a list, [...], or a loop", node=node)
    return passing(lo, made, (), (node,), kind=types.GeneratorType)


@lowers(filter)
def lower_filter(lo: Lowering, condition, x):
    item, source, test = (gast.Name(n, gast.Load(), None, None) for n in ("%item", "%source", "%condition"))
    lo.env[source.id], lo.env[test.id] = x, condition
    target = gast.Name(item.id, gast.Store(), None, None)
    chosen = item if isinstance(condition, Static) and condition.value is None else gast.Call(test, [item], [])
    made = gast.GeneratorExp(item, [gast.comprehension(target, source, [chosen], 0)])
    for n in gast.walk(made):
        gast.copy_location(n, lo.node)
    found = eval_generator_exp(lo, made)
    del lo.env[source.id], lo.env[test.id]
    return passing(lo, found, (x,), (condition,), kind=filter)


def acted(lo: Lowering, before, generators) -> bool:
    """Whether names other than those that generators bind mean something else than before."""
    own = {n for g in generators for n in target_names(g.target)}
    return any(env.get(n) is not v for frame, env in zip(lo.frames, before, strict=False) for n, v in frame.env.items()
               if not (frame is lo.frame and n in own) and (n.startswith(("%global", GIVEN)) or not n.startswith("%")))


@evaluates(gast.SetComp)
def eval_set_comp(lo: Lowering, node):
    return set_of(lo, items_of(lo, comprehension(lo, gast.ListComp(node.elt, node.generators), list)), node)


@evaluates(gast.DictComp)
def eval_dict_comp(lo: Lowering, node):
    items = {}
    pairs = comprehension(lo, gast.ListComp(gast.Tuple([node.key, node.value], gast.Load()), node.generators), list)
    if not isinstance(pairs, Sequence):
        raise lo.error(UnsupportedSyntax, "a dict whose keys are known only when the program runs is not supported",
                       "use a list or an array", node=node)
    for pair in pairs.items:
        key, value = pair.items
        if not isinstance(key, Static):
            raise lo.error(UnsupportedSyntax, "dict keys must be known before the program runs")
        items[key.value] = value
    return Mapping(items)


def comprehension(lo: Lowering, node, kind) -> Value:
    saved, block = dict(lo.env), lo.b
    named = {n.target.id for n in gast.walk(node) if isinstance(n, gast.NamedExpr)}      # they are bound outside, too
    try:
        rows = late_bound(lo, generate(lo, node.generators, node.elt, kind), node, kind)
    finally:
        own = {m for g in node.generators for m in target_names(g.target)}
        for env in (lo.env, *environments_left(lo, block)):
            for n in set(env) - set(saved) - named:
                del env[n]
            env.update((n, v) for n, v in saved.items() if n in own)
    return rows


def environments_left(lo: Lowering, block) -> Iterator[dict]:
    """What the names of the running function mean on the ways out to handlers that have opened since `block`."""
    place = lo.frames.index(lo.frame)
    b: Any = lo.b
    while b is not block and b is not None:
        if b.way is not None:
            yield from (b.way.before[place], b.way.out[place])
        b = b.parent


def late_bound(lo: Lowering, rows: Value, node, kind) -> Value:
    """The items, of which functions made among them keep the comprehension's own names, at their last values."""
    own = {n for g in node.generators for n in target_names(g.target)}
    scope = Frame(lo.frame.definition, lo.frame.cells, lo.frame.globals, lo.frame)
    scope.env = {n: v for n, v in lo.env.items() if n in own}

    memo: dict = {}                         # what stands at several places is one object there

    def moved(value: Value) -> Value:
        if id(value) not in memo:
            memo[id(value)] = value, moved_function(moved_parts(value))
        return memo[id(value)][1]

    def moved_parts(value: Value) -> Value:
        parts = value.options if isinstance(value, Either) else children(value)
        made = tuple(map(moved, parts))
        if all(a is b for a, b in zip(made, parts, strict=True)):
            return value
        return replace(value, options=made) if isinstance(value, Either) else with_children(value, made)

    def moved_function(value: Value) -> Value:
        if not isinstance(value, Closure) or value.frame is not lo.frame or not own & (
                names_read(value.node) - parameter_names(value.node)):
            return value
        if kind is tuple:
            raise lo.error(UnsupportedSyntax, "a function that reads the variable of the generator expression around "
                           "it is not supported", "give it a default: lambda v, i=i: ...", node=value.node)
        return replace(value, frame=scope)
    return moved(rows)


def generate(lo: Lowering, generators, elt, kind) -> Value:
    first, *rest = generators
    before = Attempt(lo)
    source = gone_through(lo, lo.eval(first.iter))
    if isinstance(source, Static) and isinstance(source.value, range):
        r = source.value
        source = Range(Static(r.start), Static(r.stop), Static(r.step))
    if isinstance(unpacked(lo, source) if isinstance(source, Record) else source, Generated):
        before.undo(lo)
        return generate_by_loop(lo, generators, elt)
    it = lo.iterate(source)
    if isinstance(source, Array) and source.rank > 1 and not isinstance(source.shape[0], Const) and not rest \
            and not first.ifs and isinstance(elt, gast.Name) and isinstance(first.target, gast.Name) \
            and elt.id == first.target.id:
        return lo.call_static(kind, [source], {}) if kind is list else source
    static = it.static
    if static is None and isinstance(it.length, Const) and it.length.value <= 8:
        static = tuple(it.item(Const(k, "int64")) for k in range(it.length.value))
    if static is None and not rest and not first.ifs:
        try:
            made = generate_array(lo, first, it, elt)
            if made is not None:
                return made
            before.undo(lo)
            return generate_by_loop(lo, generators, elt)
        except Raised:
            before.undo(lo)
            return generate_by_loop(lo, generators, elt)
        except NeedsStatic:
            if not isinstance(it.length, Const) or it.length.value > 64:
                raise
            static = tuple(it.item(Const(k, "int64")) for k in range(it.length.value))
    if static is None:
        before.undo(lo)
        return generate_by_loop(lo, generators, elt)
    count = len(lo.b.stmts)
    with holding(lo, *static) as ahead, holding(lo) as done:
        for k in range(len(static)):
            lo.bind(first.target, ahead.now[k])
            conditions = [truth_of(lo, c) for c in first.ifs]
            if any(not isinstance(c, Const) for c in conditions):
                break
            if all(c.value for c in conditions):
                done.add(lo, *(items_of(lo, generate(lo, rest, elt, kind)) if rest else (lo.eval(elt),)))
        else:
            if len(lo.b.stmts) - count >= len(static):
                note_written_out(lo, elt, len(static))
            return Sequence(tuple(done.now), kind)
    before.undo(lo)                   # with what conditions and items have done
    return generate_by_loop(lo, generators, elt)


def generate_array(lo: Lowering, generator, it: Iterable, elt) -> Value | None:
    """`[f(i) for i in ...]` over a length known only at run time: an array. None if items change what names mean."""
    probe = Var("probe", "int64")
    facts = lo.b.facts
    facts.number(probe)
    facts.range[probe] = (ZERO, lo.b.isub(it.length, ONE))
    before = environments(lo)
    with dropped(lo, loop=True):
        lo.bind(generator.target, it.item(probe))
        given = sample = lo.eval(elt)
        if acted(lo, before, [generator]):
            return None
        if isinstance(sample, (Sequence, Mapping, Record)):
            parts = leaves(sample)
            if isinstance(sample, Sequence) and len({kind_of_part(lo, leaf) for leaf in parts}) < 2 and all(
                    is_number(leaf) or isinstance(leaf, Array) for leaf in parts):
                sample = lo.array(sample)
            elif Row.of(lo, sample) is not None:
                return None                     # a list for each part
    if is_number(sample):
        dtype, shape = dtype_of(lo, sample), tuple[Atom, ...]()
    elif isinstance(sample, Array):
        shape = tuple(rematerialise(lo, s) for s in sample.shape)
        dtype = sample.dtype
        if any(s is None for s in shape):
            raise lo.error(TypeConflict, "the rows of this comprehension have a size known only inside it",
                           "preallocate an array and fill it in a loop")
    else:
        raise NeedsStatic(lo.error(TypeConflict, "a comprehension over a length known only when the program runs "
                                                 "must give numbers or arrays", "use a loop"))
    arr = lo.b.alloc("v", dtype, (it.length, *shape))
    if is_number(sample):
        lo.item_kinds[arr] = kinds_of(lo, sample)
    target = Buffer(arr)
    target.kinds = (list, *list_kinds(lo, given))          # `as_list` makes it one
    target.array_axes = target.rank - len(target.kinds)
    def body(i, _):
        lo.bind(generator.target, it.item(i))
        value = lo.eval(elt)
        if shape:
            assign(lo, known_as(Array, lo.index_array(target, (Scalar(i),))), value if not isinstance(value, Sequence)
                   else lo.array(value))
        else:
            store_element(lo, arr, (i,), lo.atom(value, dtype))
        note_copies(lo, arr, value)
        note_row(lo, arr, value, by_each=True)
        return ()
    for_loop(lo, ZERO, it.length, (), body, next(iter(target_names(generator.target)), "i"))
    return target


def kind_of_part(lo: Lowering, leaf: Value):
    return (dtype_of(lo, leaf), getattr(leaf, "rank", 0)) if is_number(leaf) or isinstance(leaf, Array) else None


def generate_by_loop(lo: Lowering, generators, elt) -> Value:
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
    holder = gast.FunctionDef("comprehension", gast.arguments([], [], None, [], [], None, []),
                              [*body, gast.Return(gast.Name(name, gast.Load(), None, None))], [], None, None)
    Liveness(holder)
    for n in gast.walk(holder):
        for field in ("live_out", "live_head"):
            if hasattr(n, field):
                setattr(n, field, getattr(n, field) | set(lo.env) | {name})
    lo.env[name] = bound_list(lo, name, Sequence((), list))
    lo.exec_block(body)
    return lo.env.pop(name)


__all__ = ["np"]
