"""`any`, `all`, `next` and `in` ask for one item after another, and for no more once the answer is known.

Where making an item only computes, all are made at once. Where it prints, changes something or may raise an error, the
expression becomes the call of a function with a loop:

    any(f(v) for v in x)          def any():
                                      for item in (f(v) for v in x):
                                          if item:
                                              return True
                                      return False
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import gast

from ...language.core import Print, walk, written
from ...language.draws import is_draw
from ...language.errors import AutodiffError
from ...language.queries import is_check, operation
from ..containers.sharing import holding
from ..journal import Attempt, bindings_changed, buffers, environments
from ..needs import Raised
from ..state import Lowering
from ..syntax.liveness import may_act
from ..values import Closure, Static, Value
from .generators import is_generator
from .lazy_loops import LAZY, bound, read

WANTED = " wanted"                          # what `in` looks for, no name of a user's
ENDS = {any: True, all: False}              # the answer that ends the loop


def in_turn(lo: Lowering, function: Value, node) -> Value | None:
    """The value of a call of `any`, `all` or `next`; None of any other call, and of what is no iterator."""
    if isinstance(function, Static) and function.value is next:
        return next_in_turn(lo, node)
    if not (isinstance(function, Static) and (function.value is any or function.value is all)) or len(node.args) != 1 \
            or node.keywords or not isinstance(node.args[0], (gast.GeneratorExp, gast.Call)):
        return None

    def at_once():
        items = lo.eval(node.args[0])
        lo.node = node
        return lo.call(function, [items], {})

    ends = ENDS[function.value]
    test = (lambda item: item) if ends else lambda item: gast.UnaryOp(gast.Not(), item)
    return one_by_one(lo, node, at_once, function.value.__name__, lambda: as_search(lo, node, node.args[0], test, ends))


def next_in_turn(lo: Lowering, node) -> Value | None:
    """The first item of a generator expression, or a default: `next((v for v in x if v > 1), 0.0)`."""
    if node.keywords or len(node.args) not in (1, 2) or not isinstance(node.args[0], gast.GeneratorExp) or any(
            isinstance(n, gast.NamedExpr) for n in gast.walk(node.args[0])) or any(map(may_act, node.args[1:])):
        return None                         # the generator's first iterable comes before the default
    default = [lo.eval(a) for a in node.args[1:]]
    end = gast.Return(read(WANTED)) if default else gast.Raise(read("StopIteration"), None)
    loop = as_loop(lo, node, node.args[0], lambda item: gast.Return(item), end, (WANTED,) * len(default))
    return lo.call(Closure(loop, lo.frame, (), {}, "next"), default, {})


def found_in_turn(lo: Lowering, value: Value, op, node) -> Value | None:
    """Whether `value` is among the items of an iterator made in place; None where it is none."""
    if not isinstance(node, gast.GeneratorExp) and not (isinstance(node, gast.Call) and is_iterator(lo.eval(node.func))):
        return None

    def at_once():
        with holding(lo, value) as held:
            items = lo.eval(node)
        return lo.compare(op, held.now[0], items)

    test = lambda item: gast.Compare(item, [gast.Eq()], [read(WANTED)])  # noqa: E731
    return one_by_one(lo, node, at_once, "contains", lambda: as_search(
        lo, node, node, test, isinstance(op, gast.In), (WANTED,)), value)


def is_iterator(function: Value) -> bool:
    """Whether a call of this function gives items only when they are asked for."""
    if isinstance(function, Static):
        return any(function.value is f for f in LAZY) or inspect.isgeneratorfunction(function.value)
    return isinstance(function, Closure) and is_generator(function.node)


def one_by_one(lo: Lowering, node, at_once: Callable[[], Value], name: str, loop: Callable[[], Any],
               *given: Value) -> Value:
    """What `at_once` makes, where making items only computes; else what the function `loop` gives for what is `given`."""
    begun, envs, had, mark = Attempt(lo), environments(lo), buffers(lo), len(lo.b.stmts)
    made: Value | None
    try:
        made = at_once()
        refused: Exception | None = None
        if not acts(lo, lo.b.stmts[mark:], envs, had):
            return made
    except (AutodiffError, Raised) as e:
        made, refused = None, e
    if any(isinstance(n, gast.NamedExpr) for n in gast.walk(node)):         # which binds a name of the function around
        if made is None:
            raise refused or AssertionError
        return made
    after = Attempt(lo)
    begun.undo(lo)
    try:
        return lo.call(Closure(loop(), lo.frame, (), {}, name), list(given), {})
    except AutodiffError:
        if refused is None:
            raise
        after.undo(lo)
        raise refused from None


def acts(lo: Lowering, stmts, envs, had) -> bool:
    """Whether statements do more than compute numbers: print, draw, write, bind names, or may raise an error. A check that
    only asks for another program where it fails is made again there."""
    if bindings_changed(lo, envs):
        return True
    inner = set(map(id, walk(stmts))) - set(map(id, stmts))
    raising = lambda s: operation(s) == "wrap_index" or is_check(s) and (  # noqa: E731
        s.tells != "each" or id(s) in inner)
    return any(isinstance(s, Print) or is_draw(s) or raising(s) for s in walk(stmts)) or bool(
        written(stmts) - (buffers(lo) - had))


def as_search(lo: Lowering, node, items, test, ends: bool, parameters=()):
    """The function that gives `ends` at the first of the items for which the test holds, and the contrary after all."""
    return as_loop(lo, node, items, lambda item: gast.If(test(item), [gast.Return(gast.Constant(ends, None))], []),
                   gast.Return(gast.Constant(not ends, None)), parameters)


def as_loop(lo: Lowering, node, items, leave, end, parameters=()):
    """The function that an expression becomes, the same each time that it is lowered: a loop over the items, where
    `leave(item)` stands, and a statement after it."""
    key = id(node), "in turn"
    if key not in lo.lazy_loops:
        taken, item = {n.id for n in gast.walk(node) if isinstance(n, gast.Name)}, "item"
        while item in taken:
            item += "_"
        loop = gast.For(bound(item), items, [leave(read(item))], [], None)
        named = isinstance(node, gast.Call) and isinstance(node.func, gast.Name)
        own = [gast.Name(p, gast.Param(), None, None) for p in parameters]
        made = gast.FunctionDef(node.func.id if named else "any", gast.arguments(own, [], None, [], [], None, []),
                                [loop, end], [], None, None)
        for n in gast.walk(made):
            if not hasattr(n, "lineno"):
                gast.copy_location(n, node)
        lo.lazy_loops[key] = node, made
    return lo.lazy_loops[key][1]


__all__ = ["found_in_turn", "in_turn"]
