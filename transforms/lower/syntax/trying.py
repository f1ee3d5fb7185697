"""`try` and `with`: statements whose errors are caught, and contexts that change no number."""

from __future__ import annotations

import contextlib
import warnings
from functools import partial
from types import BuiltinFunctionType, BuiltinMethodType
from typing import Any

import gast
import numpy as np

from ...language.errors import UnsupportedSyntax
from ...source.definitions import definition
from ..functions.left_out import refuse_errors
from ..loops.generators import run_in_turns
from ..state import Lowering
from ..table import executes
from ..values import Generated, Record, Sequence, Static, Value, known_as
from .catching import RAISES, Handler, Trying, codes_around, errors_caught, names_error, run_block, run_handler
from .liveness import assigned, exits, live_after, own_nodes, parameter_names
from .statements import FALLS, branch_by_code, close_way

SPAN = 100                          # errors that a clause tells apart, to raise them again
HARMLESS = (warnings.catch_warnings, contextlib.nullcontext, np.printoptions)


@executes(gast.Try)
def exec_try(lo: Lowering, stmt, rest):
    if exits(stmt.finalbody):
        raise lo.error(UnsupportedSyntax, "a `finally` that leaves by return, break or continue is not supported",
                       "leave after the `try`", node=stmt)
    handlers: list[Handler] = []
    for clause in stmt.handlers:
        handlers.append(made(lo, classes_of(lo, clause), clause, handlers))
    if not (stmt.finalbody and may_fail(stmt.finalbody)):
        attempted(lo, stmt, stmt.body, handlers, stmt.orelse)
        finish(lo, stmt)
        return
    whole, last = within(stmt)
    attempted(lo, whole, [whole], [made(lo, (BaseException,), last)])
    code = lo.env["%exit"]              # where an error goes on, the clause has run what stands in `finally`
    if isinstance(code, Static):
        if code.value < RAISES:
            finish(lo, stmt)
        return
    branch_by_code(lo, code.atom, "lt", RAISES, lambda: finish(lo, stmt), lambda: None, live_after([stmt]))


def made(lo: Lowering, classes, clause, before=()) -> Handler:
    """The handler of a clause, with exit codes behind those of the clauses before it and of what stands around."""
    again = any(isinstance(n, gast.Raise) and (n.exc is None or names_error(n, clause))
                for s in clause.body for n in gast.walk(s))
    return Handler(classes, clause, only_raises(clause.body), codes_around(lo) + sum(h.span for h in before),
                   SPAN if again else 1)


def finish(lo: Lowering, stmt) -> None:
    """The statements of a `finally`; then the program goes where it was going."""
    if not stmt.finalbody:
        return
    code, value = lo.env["%exit"], lo.env["%value"]
    lo.env["%exit"] = Static(FALLS)
    lo.exec_block(stmt.finalbody)
    left = lo.env["%exit"]

    def go_on():
        lo.env["%exit"], lo.env["%value"] = code, value
    if not isinstance(left, Static):
        branch_by_code(lo, left.atom, "eq", FALLS, go_on, lambda: None, live_after([stmt]))
    elif left.value == FALLS:
        go_on()


def may_fail(body) -> bool:
    """Whether statements may raise or print."""
    return any(isinstance(n, (gast.Raise, gast.Assert, gast.Call)) for s in body for n in gast.walk(s))


def within(stmt):
    """A `try` without its `finally`, and the clause that runs this where an error goes on."""
    if not hasattr(stmt, "within"):
        whole = gast.copy_location(gast.Try(stmt.body, stmt.handlers, stmt.orelse, []), stmt)
        whole.live_out, whole.live_caught = stmt.live_out | stmt.live_caught, stmt.live_caught
        whole.live_exit = stmt.live_exit
        again = gast.copy_location(gast.Raise(None, None), stmt.finalbody[-1])
        again.live_out = set()
        stmt.within = whole, gast.ExceptHandler(None, None, [*stmt.finalbody, again])
    return stmt.within


def attempted(lo: Lowering, stmt, body, handlers, orelse=()) -> None:
    """Statements whose errors handlers catch; then those of the handler that is meant, or those of `else`."""
    around = lo.around
    live = live_after([stmt]) | stmt.live_caught
    outer = errors_caught(lo)
    around.trying = Trying(handlers, lo.frame, lo.b.last(), around.trying, list(lo.frames), len(lo.turns))
    try:
        raised = run_block(lo, lo.b, lambda: lo.exec_block(body), partial(close_way, lo, live))
    finally:
        around.trying = around.trying.outer
    if raised is not None:
        raise raised
    leaves = bool(exits(body)) or errors_caught(lo) > outer
    handle(lo, [h for h in handlers if h.ways], orelse, leaves, live)


def handle(lo: Lowering, handlers, orelse, leaves: bool, live) -> None:
    """What follows the body of a `try`, by its exit code. leaves: whether that may mean what stands around."""
    code = lo.env["%exit"]
    if isinstance(code, Static):
        meant = next((h for h in handlers if h.code <= code.value < h.code + h.span), None)
        if meant is not None:
            lo.env["%exit"] = Static(FALLS)
            run_handler(lo, meant, code)
        elif code.value == FALLS:
            lo.exec_block(orelse)
    elif handlers:
        def caught():
            lo.env["%exit"] = Static(FALLS)
            run_handler(lo, handlers[-1], code)

        def other():
            if len(handlers) == 1 and not leaves:
                lo.env["%exit"] = Static(FALLS)
            handle(lo, handlers[:-1], orelse, leaves, live)
        branch_by_code(lo, code.atom, "ge", handlers[-1].code, caught, other, live)     # what is larger has been asked for
    elif orelse:
        def on():
            lo.env["%exit"] = Static(FALLS)
            lo.exec_block(orelse)
        branch_by_code(lo, code.atom, "eq", FALLS, on, lambda: None, live)


def classes_of(lo: Lowering, handler) -> tuple[type, ...]:
    """The classes of errors that an `except` clause names."""
    if handler.type is None:
        return (BaseException,)
    value = lo.eval(handler.type)
    found = [getattr(v, "value", None) for v in (value.items if isinstance(value, Sequence) else (value,))]
    classes = tuple(c for v in found for c in (v if isinstance(v, tuple) else (v,)))
    if not all(isinstance(c, type) and issubclass(c, BaseException) for c in classes):
        raise lo.error(UnsupportedSyntax, "what is caught here is not known before the program runs",
                       "name a class of exceptions: except ValueError:", node=handler.type)
    return classes


def only_raises(body) -> bool:
    """Whether all that a handler does is to raise, after what changes nothing else."""
    return isinstance(body[-1], gast.Raise) and not any(isinstance(s, (gast.If, gast.For, gast.While, gast.Try, gast.With))
                                                        for s in body)


@executes(gast.With)
def exec_with(lo: Lowering, stmt, rest):
    """Contexts that change no number, those of a user's own, and `contextlib.suppress`, which is a `try`."""
    caught: list[type] = []
    for k, item in enumerate(stmt.items):
        call = item.context_expr
        function = lo.eval(call.func) if isinstance(call, gast.Call) else None
        context = function.value if isinstance(function, Static) else None
        if context not in HARMLESS and context not in (contextlib.suppress, np.errstate):
            if caught:
                raise lo.error(UnsupportedSyntax, "`with` of suppress() and a context of your own in one statement is not "
                               "supported", "write one `with` inside the other", node=stmt)
            return own_context(lo, item, inner_with(stmt, k), context, stmt)
        if context is contextlib.suppress:
            caught += [c for a in call.args for c in classes_of(lo, gast.ExceptHandler(a, None, []))]
            continue
        if context is np.errstate:
            check_errstate(lo, stmt, item, call)
            continue
        if item.optional_vars is not None:
            raise no_context(lo, stmt)
        given = [*map(lo.eval, call.args)], {k.arg: lo.eval(k.value) for k in call.keywords}
        if context is warnings.catch_warnings:
            refuse_errors(lo, given[1].get("action", Static(None)))
    if not caught:
        lo.exec_block(stmt.body)
        return
    stmt.live_caught = stmt.live_out
    passing = gast.ExceptHandler(None, None, [gast.copy_location(gast.Pass(), stmt)])
    passing.body[0].live_out = stmt.live_out
    attempted(lo, stmt, stmt.body, [made(lo, tuple(caught), passing)])


def no_context(lo: Lowering, stmt):
    return lo.error(UnsupportedSyntax, "`with` is not supported of this context", "move it outside the differentiated "
                    "function", node=stmt)


def inner_with(stmt, k: int) -> list:
    """What stands inside the context number `k` of a `with`: its body, in the contexts behind that."""
    if k + 1 == len(stmt.items):
        return stmt.body
    inner = gast.copy_location(gast.With(stmt.items[k + 1:], stmt.body, None), stmt)
    inner.live_out, inner.live_exit = stmt.live_out, stmt.live_exit
    return [inner]


def own_context(lo: Lowering, item, body, maker, stmt) -> None:
    """`with` of a context written in Python: what `__enter__` does, the body, and in any case what `__exit__` does."""
    managed = managed_by(maker)
    if managed is not None:
        return in_generator(lo, item, body, managed, stmt)
    if isinstance(maker, (BuiltinFunctionType, BuiltinMethodType)):
        raise no_context(lo, stmt)
    held, here = f"%context{len(lo.env)}", partial(gast.copy_location, old_node=item.context_expr)
    lo.env[held] = lo.eval(item.context_expr)
    name = here(gast.Name(held, gast.Load(), None, None))
    check_exit(lo, lo.env[held], stmt)
    nothing = [here(gast.Constant(None, None)) for _ in range(3)]

    def method(which, args):
        return here(gast.Call(here(gast.Attribute(name, which, gast.Load())), args, []))
    entered = lo.eval(method("__enter__", []))
    if item.optional_vars is not None:
        lo.bind(item.optional_vars, entered, stmt)
    last = here(gast.Expr(method("__exit__", nothing)))
    whole = gast.copy_location(gast.Try(body, [], [], [last]), stmt)
    whole.live_out = whole.live_caught = last.live_out = stmt.live_out
    whole.live_exit = last.live_exit = stmt.live_exit
    lo.exec(whole)
    lo.env.pop(held, None)


def managed_by(maker):
    """The generator function of a context that `contextlib.contextmanager` has made; None of any other."""
    made = contextlib.contextmanager(exec_with)
    if getattr(maker, "__code__", None) is not made.__code__:
        return None
    return maker.__wrapped__


def in_generator(lo: Lowering, item, body, function, stmt) -> None:
    """The body of a `with` in the place of the `yield` of the generator function that manages it."""
    call = item.context_expr
    if exits(body):
        raise lo.error(UnsupportedSyntax, "`return`, `break` or `continue` inside a context that a generator manages is not "
                       "supported", "leave after the `with`", node=stmt)
    args = [lo.eval(a) for a in call.args]
    value = lo.call(Static(function), args, {k.arg: lo.eval(k.value) for k in call.keywords})

    def run(entered):
        if item.optional_vars is not None:
            lo.bind(item.optional_vars, entered, stmt)
        lo.exec_block(body)
    run_in_turns(lo, known_as(Generated, value), assigned(body), run, manages=True)
    lo.env["%exit"] = Static(FALLS)             # of an error in the body, which the generator has seen


def check_exit(lo: Lowering, context: Value, stmt) -> None:
    """Refuse contexts that look at the error that ends their body, or stop it."""
    cls: Any = context.cls if isinstance(context, Record) else type(getattr(context, "value", None))
    leave = getattr(cls, "__exit__", None)
    if not hasattr(leave, "__code__") or not hasattr(getattr(cls, "__enter__", None), "__code__"):
        raise no_context(lo, stmt)
    node: Any = definition(leave).node
    given = parameter_names(node) - {a.id for a in (*node.args.posonlyargs, *node.args.args)[:1]}
    for n in own_nodes(node):
        answers = isinstance(n, gast.Return) and n.value is not None and not (
            isinstance(n.value, gast.Constant) and not n.value.value)
        if answers or isinstance(n, gast.Name) and n.id in given:
            raise lo.error(UnsupportedSyntax, f"`with` of a {cls.__name__}, whose `__exit__` looks at errors or stops "
                           "them, is not supported", "write `try` and `except`", node=stmt)


def check_errstate(lo: Lowering, stmt, item, call) -> None:
    """`np.errstate` changes no value, unless it asks for errors."""
    if item.optional_vars is not None or call.args or any(k.arg is None for k in call.keywords):
        raise lo.error(UnsupportedSyntax, "this form of np.errstate is not supported",
                       "write `with np.errstate(divide=\"ignore\"):`", node=stmt)
    for setting in (lo.eval(k.value) for k in call.keywords):
        if not (isinstance(setting, Static) and setting.value in (None, "ignore", "warn", "print", "log")):
            raise lo.error(UnsupportedSyntax, "np.errstate(...='raise') is not supported",
                           "test for the condition with `if`", node=stmt)


__all__ = ["exec_try", "exec_with"]
