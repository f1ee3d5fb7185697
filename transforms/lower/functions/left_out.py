"""Warnings and records of logs, which programs leave out: their arguments are evaluated for what they do alone."""

from __future__ import annotations

import sys
import time
import warnings

import gast

from ...language.errors import AutodiffError, MissingRule, TypeConflict, UnsupportedSyntax
from ..journal import Attempt
from ..needs import NeedsStatic
from ..state import Lowering
from ..syntax.texts import CLOCK
from ..table import lowers
from ..values import Static, Value
from .purity import python_value

WARN = (warnings.warn, warnings.warn_explicit)
CLOCKS = (time.time, time.time_ns, time.perf_counter, time.perf_counter_ns, time.monotonic, time.monotonic_ns,
          time.process_time, time.process_time_ns, time.thread_time)
AS_TEXTS = (str, repr, ascii, format, round, float, int)
LEVELS = frozenset({"debug", "info", "warning", "warn", "error", "exception", "critical", "fatal", "log"})


def left_out(lo: Lowering, function: Value, node) -> Value | None:
    """What a call gives that warns or writes a log record; None of any other."""
    if not (isinstance(function, Static) and says_something(function.value)):
        return None
    for a in (*node.args, *(k.value for k in node.keywords)):
        evaluate_parts(lo, a.value if isinstance(a, gast.Starred) else a)
    lo.node = node
    return Static(None)


def says_something(target) -> bool:
    """Whether a function warns or writes a log record."""
    return any(target is w for w in WARN) or "logging" in sys.modules and getattr(
        target, "__module__", None) == "logging" and getattr(target, "__name__", None) in LEVELS


def logged(lo: Lowering, target, args) -> Value | None:
    """What a call gives that writes a log record, which is left out, or gets a logger; None for any other."""
    logging = sys.modules.get("logging")
    if logging is None or getattr(target, "__module__", None) != "logging":
        return None
    if target is logging.getLogger and all(isinstance(a, Static) for a in args):
        return Static(target(*map(python_value, args)))
    return Static(None) if says_something(target) else None


def evaluate_parts(lo: Lowering, node) -> None:
    """Evaluate what nobody reads. Of a text that is refused here, what it is made of is evaluated."""
    begun = Attempt(lo)
    try:
        lo.eval(node)
        return
    except (AutodiffError, NeedsStatic) as e:
        told = e.error if isinstance(e, NeedsStatic) else e
        parts = parts_of_text(lo, node) if isinstance(told, (UnsupportedSyntax, MissingRule)) or \
            type(told) is TypeConflict else None
        if parts is None or all(told.loc != lo.place(n) for n in gast.walk(node) if hasattr(n, "lineno")):
            raise
    begun.undo(lo)
    for part in parts:
        evaluate_parts(lo, part)


def parts_of_text(lo: Lowering, node) -> list | None:
    """The expressions that one is made of which does nothing but put together a text; None of any other."""
    match node:
        case gast.JoinedStr(values=values):
            return [v.value for v in values if isinstance(v, gast.FormattedValue)]
        case gast.Call(func=gast.Attribute(value=gast.Constant(value=str()), attr="join"), args=[
                gast.GeneratorExp(elt=item, generators=loops) | gast.ListComp(elt=item, generators=loops)]):
            inner = parts_of_text(lo, item)
            return None if inner is None else [gast.copy_location(gast.ListComp(inner[0] if len(inner) == 1 else gast.Tuple(
                inner, gast.Load()), loops), node)]
        case gast.BinOp(left=left, right=right, op=gast.Add() | gast.Mod() | gast.Mult()):
            return [left, right]
        case gast.Tuple(elts=items):
            return [i.value if isinstance(i, gast.Starred) else i for i in items]
        case gast.Call(func=gast.Attribute(value=template, attr="format")) if isinstance(
                template, gast.JoinedStr) or isinstance(getattr(lo.eval(template), "value", None), str):
            first = [template]
        case gast.Call(func=gast.Name()) if any(getattr(lo.eval(node.func), "value", None) is f for f in AS_TEXTS):
            first = []
        case _:
            return None
    return [*first, *(a.value if isinstance(a, gast.Starred) else a for a in node.args), *(k.value for k in node.keywords)]


def refuse_errors(lo: Lowering, action: Value) -> None:
    """Refuse a filter that makes errors of warnings, which are left out."""
    if not isinstance(action, Static) or action.value == "error":
        raise lo.error(UnsupportedSyntax, "a filter that makes errors of warnings is not supported: warnings are left out",
                       "raise the error where you warn: raise UserWarning(...), or filter outside")


@lowers(*CLOCKS)
def lower_clock(lo):
    return CLOCK


@lowers(*WARN)
def lower_warn(lo, *args, **kwargs):
    return Static(None)


@lowers(warnings.simplefilter, warnings.filterwarnings)
def lower_filter(lo, action, *args, **kwargs):
    refuse_errors(lo, action)
    return Static(None)


__all__ = ["left_out", "logged", "refuse_errors"]
