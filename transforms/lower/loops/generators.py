"""Generator functions: what a call of one gives, and the loops that run over it.

The function runs as far as its next `yield` each time an item is asked for. So a loop over its items is the function
itself, with the body of the loop in the place of each `yield`. What is made of all items, as `list` and `sum` do, is such a
loop that appends them to a list.

    for a, b in pairs(x):           for i in range(len(x) - 1):         # the body of `pairs`
        s += a * b                      a, b = x[i], x[i + 1]           # yield x[i], x[i + 1]
                                        s += a * b
"""

from __future__ import annotations

import copy
import types
from collections.abc import Callable

import gast

from ...language.build import integer
from ...language.errors import UnsupportedSyntax
from ..functions.frames import BREAKS, FALLS, Frame
from ..numbers.conversions import truth_value
from ..state import Lowering
from ..syntax.catching import errors_caught, stop_if_left
from ..syntax.liveness import assigned, exits, own_nodes, target_names
from ..syntax.unbound import held
from ..values import UNSET, Generated, Scalar, Static, Undefined, Value, known_as
from .iterators import passing

ADVICE = "append to a list and return it"
ASKED = "%asked"                # the name, in a generator, of what is called with an item


def is_generator(node) -> bool:
    """Whether a function has `yield` among its own statements."""
    if not hasattr(node, "yields"):
        node.yields = isinstance(node, gast.FunctionDef) and any(
            isinstance(n, (gast.Yield, gast.YieldFrom)) for n in own_nodes(node))
    return node.yields


class Yields(gast.NodeTransformer):
    """`yield item` as a call of who runs over the generator; where that may leave, its answer ends the generator."""

    def __init__(self, lo: Lowering, leaves: bool, manages: bool):
        self.lo, self.leaves, self.manages = lo, leaves, manages

    def visit_FunctionDef(self, node):
        return node

    visit_Lambda = visit_FunctionDef

    def visit_Expr(self, node):
        value = node.value
        if isinstance(value, gast.YieldFrom):
            return [located(s, node) for s in self.each_of(value.value)]
        if not isinstance(value, gast.Yield):
            return self.generic_visit(node)
        item = value.value if value.value is not None else gast.Constant(None, None)
        asked = gast.Call(gast.Name(ASKED, gast.Load(), None, None), [item], [])
        made = gast.If(asked, [gast.Return(gast.Constant(True, None))], []) if self.leaves else gast.Expr(asked)
        return located(made, node)

    def each_of(self, items) -> list:
        """`yield from items` as a loop; who runs over this generator may leave from it."""
        name = lambda n, way: gast.Name(n, way, None, None)  # noqa: E731
        asked = gast.Call(name(ASKED, gast.Load()), [name(" item", gast.Load())], [])
        if not self.leaves:
            return [gast.For(name(" item", gast.Store()), items, [gast.Expr(asked)], [], None)]
        left = lambda value: gast.Assign([name(" left", gast.Store())], gast.Constant(value, None), None)  # noqa: E731
        stop = gast.If(asked, [left(True), gast.Break()], [])
        leave = gast.If(name(" left", gast.Load()), [gast.Return(gast.Constant(True, None))], [])
        return [left(False), gast.For(name(" item", gast.Store()), items, [stop], [], None), leave]

    def visit_Return(self, node):
        if node.value is not None and not (isinstance(node.value, gast.Constant) and node.value.value is None):
            raise self.lo.error(UnsupportedSyntax, "a generator that returns a value is not supported", ADVICE, node=node)
        value = gast.copy_location(gast.Constant(False, None), node) if self.leaves else None
        return gast.copy_location(gast.Return(value), node)

    def visit_Try(self, node):
        if self.manages:                # errors of the body are raised at the `yield`
            return self.generic_visit(node)
        if any(isinstance(n, (gast.Yield, gast.YieldFrom)) for n in gast.walk(node)):
            raise self.lo.error(UnsupportedSyntax, "`yield` inside `try` or `with` is not supported", ADVICE, node=node)
        return node

    visit_With = visit_Try

    def generic_yield(self, node):
        raise self.lo.error(UnsupportedSyntax, "a `yield` whose value is used is not supported", ADVICE, node=node)

    visit_Yield = visit_YieldFrom = generic_yield


def located(made, node):
    """New statements where `node` stands."""
    for n in gast.walk(made):
        if not hasattr(n, "lineno"):
            gast.copy_location(n, node)
    return made


def written_out(lo: Lowering, node: gast.FunctionDef, leaves: bool, manages: bool) -> gast.FunctionDef:
    """The function with its `yield` statements as calls of who runs over it. leaves: whether that may break off; manages:
    whether it is a context, with the body of a `with` at its `yield`."""
    made = getattr(node, "written_out", {}).get((leaves, manages))
    if made is None:
        made = gast.FunctionDef(node.name, node.args, copy.deepcopy(node.body), [], None, None)
        gast.copy_location(made, node)
        made = Yields(lo, leaves, manages).generic_visit(made)
        if any(map(may_stop, own_nodes(node))):
            raised = gast.parse("raise RuntimeError('generator raised StopIteration')").body
            stopped = gast.ExceptHandler(gast.Name("StopIteration", gast.Load(), None, None), None, raised)
            made.body = [located(gast.Try(made.body, [stopped], [], []), node)]
        if leaves:
            made.body.append(gast.copy_location(gast.Return(gast.copy_location(gast.Constant(False, None), node)), node))
        node.written_out = {**getattr(node, "written_out", {}), (leaves, manages): made}
    return made


def may_stop(node) -> bool:
    """Whether a node of a generator may raise StopIteration itself, which Python makes a RuntimeError there."""
    if isinstance(node, gast.Raise):
        return any(isinstance(n, gast.Name) and n.id == "StopIteration" for n in gast.walk(node))
    return isinstance(node, gast.Call) and len(node.args) == 1 and getattr(node.func, "id", "") == "next"


class Asked:
    """Who runs over a generator: called with each item, says whether it leaves."""

    def __init__(self, take: Callable):
        self.take = take

    def __autodiff_lower__(self, lo, args, kwargs):
        made = self.take(args[0])
        return made if isinstance(made, Value) else Static(None)


def generated(lo: Lowering, node, args, enter: Callable, called: tuple = ()) -> Value:
    """What a call of a generator function gives. enter(node, given): runs its statements, with names that these read;
    called: the function, if it is an inner one."""
    def run(take, leaves, manages):
        return enter(written_out(lo, node, leaves, manages), {ASKED: Static(Asked(take))})
    return passing(lo, Generated(run, node), args, called, kind=types.GeneratorType)


def loop_over(lo: Lowering, stmt: gast.For, value: Generated) -> None:
    """`for target in value: body`: sets the exit of the running function as other loops do."""
    frame, ways = lo.frame, exits(stmt.body)
    leaves = bool(ways & {"break", "return"})
    depth = sum(n.startswith(" code") for n in frame.env)
    at, given = f" code{depth}", f" result{depth}"              # how the body was left, and with what

    def take(item):
        lo.bind(stmt.target, item, stmt)
        lo.exec_block(stmt.body)
        if "return" in ways:
            frame.env[given], frame.env["%value"] = frame.env["%value"], UNSET

    def answer(code):
        if leaves:
            frame.env[at] = code
        if isinstance(code, Static):
            return Static(code.value >= BREAKS)
        return truth_value(lo, lo.b.compare("ge", known_as(Scalar, code).atom, integer(BREAKS)))
    names = assigned(stmt.body) | target_names(stmt.target)
    before = frame.unread
    frame.unread = before | names - stmt.live_head - stmt.live_out
    frame.env[at] = Static(FALLS)
    kept, frame.env["%value"] = frame.env.get("%value", UNSET), UNSET       # of another loop, that did not leave here
    try:
        run_in_turns(lo, value, names | {at, given}, take, answer, leaves)
    finally:
        frame.unread = before
    code, result = frame.env.pop(at), held(frame.env.pop(given, UNSET))
    if leaves:
        frame.env["%exit"] = code
    frame.env["%value"] = kept if isinstance(result, Undefined) else result


def run_in_turns(lo: Lowering, value: Generated, names, take: Callable, answer: Callable = lambda code: None,
                 leaves: bool = False, manages: bool = False) -> Value:
    """The statements of a generator with what the running function does at each `yield`, `take(item)`, which binds `names`.

    answer: from the exit code of `take` to whether no more is wanted; leaves: whether that may be; then whether it was is
    what this gives. manages: whether it is a context.
    """
    frame: Frame = lo.frame

    def taken(item):
        inside, node, loc = lo.frame, lo.node, lo.b.loc
        lo.frame = frame
        lo.turns.append(frame)
        caught = errors_caught(lo)
        try:
            take(item)
            code, frame.env["%exit"] = frame.env["%exit"], Static(FALLS)
        finally:
            lo.turns.pop()
            lo.frame, lo.node, lo.b.loc = inside, node, loc
        if errors_caught(lo) > caught:          # around the loop, or in the generator
            stop_if_left(lo, code)
        return answer(code)
    more = names - frame.rebound
    frame.rebound |= more
    try:
        return value.run(taken, leaves, manages)
    finally:
        frame.rebound -= more


def check_ends(lo: Lowering, value: Generated) -> None:
    """Refuse to ask for all items of a generator that has no end."""
    for n in own_nodes(value.node):
        if isinstance(n, gast.While) and isinstance(n.test, gast.Constant) and n.test.value and not exits(n.body) & {
                "break", "return"}:
            raise lo.error(UnsupportedSyntax, "a generator that does not end is asked for all its items",
                           "loop over it, with a `break`", node=n)
