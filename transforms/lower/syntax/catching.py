"""Errors that a `try` of the user's catches: ways out of its body, which the statements after them are not on.

Python unwinds to the handler. Here a check in the body of a `try` becomes a branch: what follows in the body stands on
the side where the check holds, and on the other one a number, the exit code, says which handler is meant. Loops, branches
and calls hand exit codes on as they do for `break` and `return`. So the core language needs no exceptions, and the reverse
sweep takes the side that was taken.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import gast
import numpy as np

from ....runtime.raising import Meant, noted
from ...language.core import Const, Guard
from ...language.errors import (
    AutodiffError,
    MissingAttribute,
    MissingAxis,
    MissingItem,
    MissingKey,
    NotAMatrix,
    OutOfRange,
    ReadOnlyArray,
    ShapeMismatch,
    UnboundName,
    UndefinedName,
    UnsupportedSyntax,
    WrongKind,
)
from ..functions.frames import Frame
from ..journal import environments, restore, surrounding
from ..needs import Raised
from ..state import Lowering
from ..values import UNSET, Static, Undefined, Value
from .known_conditions import code_where, hold_in, meant_by
from .texts import ErrorText

RAISES = 4                          # exit codes below this one are those of statements that leave without an error
NEVER = Const(False, "bool")
HELD = re.compile(r"%(owner|key|made|held|first|generator|list)\d")     # names for parts of an expression that is not done
PYTHONS = {UnboundName: UnboundLocalError, UndefinedName: NameError, MissingAttribute: AttributeError, MissingKey: KeyError,
           MissingItem: IndexError, MissingAxis: np.exceptions.AxisError, NotAMatrix: np.linalg.LinAlgError,
           OutOfRange: OverflowError, ReadOnlyArray: ValueError,
           ShapeMismatch: ValueError, WrongKind: TypeError}      # what Python would not do either
NO_VALUE = "this is sure to raise, in a place where a value is needed"


class Caught(Raised):
    """What follows is not reached: the program goes on in a handler. The exit code says in which."""


@dataclass(eq=False)
class Handler:
    """An `except` clause. raises: whether all that it does is to raise; points: the checks that it catches, with the classes
    of their errors; ways: how many of those are ways out to it. code: its exit code, the first one of `span`, one for each
    error that it may raise again; came_by: the one of the run, while its statements are lowered."""

    classes: tuple[type, ...]
    stmt: Any
    raises: bool
    code: int
    span: int = 1
    came_by: Any = None
    points: list[tuple[Guard, type]] = field(default_factory=list)
    ways: int = 0

    def code_of(self, check: Guard, error: type) -> int:
        """The exit code of a check that leads here. Those of one error, with one text, have one code."""
        told = [(p.error, p.message, p.parts) for p, _ in self.points]
        this = (check.error, check.message, check.parts)
        if self.raises or this not in told:
            self.points.append((check, error))
            told.append(this)
        return self.code + min(told.index(this), self.span - 1)


@dataclass(eq=False)
class Trying:
    """A `try` whose body is being lowered. frame, block: where it stands; outer: the `try` around; active, turns: the
    activations when its body began, and how many of them ran in turns with a generator."""

    handlers: list[Handler]
    frame: Any
    block: Any
    outer: Trying | None
    active: list[Frame]
    turns: int

    def __iter__(self) -> Iterator[tuple[Trying, Handler]]:
        """The handlers that may catch an error here, in the order in which Python asks them."""
        yield from ((self, handler) for handler in self.handlers)
        yield from self.outer or ()


@dataclass(eq=False)
class Way:
    """A way out of the statements of a block: these run where `cond` holds. before, out: what names mean where it leaves."""

    outer: Any
    cond: Any
    before: list[dict]
    out: list[dict]


def class_of_error(name: str | type) -> type:
    """The class of errors that a check names."""
    if isinstance(name, type):
        return name
    return next(getattr(home, name) for home in (builtins, np.linalg, np.exceptions) if hasattr(home, name))


def catcher(lo: Lowering, error: type) -> tuple[Trying, Handler] | None:
    """The `try` and its handler that catch errors of a class here, if any does."""
    return next((found for found in lo.around.trying or () if issubclass(error, found[1].classes)), None)


def catches(lo: Lowering, *errors: type) -> bool:
    """Whether a handler around is for one of these errors: where it is, no check may be left out or made early."""
    return any(catcher(lo, e) is not None for e in errors)


def errors_caught(lo: Lowering) -> int:
    """How many checks have become ways out to the handlers around."""
    return sum(handler.ways for _, handler in lo.around.trying or ())


def check_of(lo: Lowering, meant: Meant, parts=(), cond=NEVER) -> Guard:
    """The check that raises what is meant."""
    return Guard(cond, "Meant", noted(meant), tuple(parts), lo.b.loc, "note")


def leave_unless(lo: Lowering, check: Guard, error: type) -> bool:
    """A check as a way out to the handler that catches its error; False if none does, and it is to raise."""
    found = catcher(lo, error)
    if found is None or any(b.tentative for b in surrounding(lo)):
        return False
    trying, handler = found
    code = handler.code_of(check, error)
    if handler.raises and trying.outer is None:
        raise_instead(lo, check, trying, handler)
        return True
    if not reaches(lo, trying):
        raise lo.error(UnsupportedSyntax, f"`except {error.__name__}` may catch an error of a part of this expression that "
                       "runs several times or not at all", "write a loop or branch of statements, or test with `if`")
    handler.ways += 1
    if check.cond == NEVER:
        for frame in left_for(lo, trying):
            frame.env["%exit"] = Static(code)
        raise Caught(lo.b, lo.error(UnsupportedSyntax, NO_VALUE))
    way_out(lo, check.cond, Static(code), trying)
    return True


def left_for(lo: Lowering, trying: Trying) -> list[Frame]:
    """The activations whose statements end where an error goes to a handler: that of the `try`, those called since, and
    those that have since run in turns with a generator."""
    found = [f for f in lo.frames if f is trying.frame or f not in trying.active]
    return found + [f for f in lo.turns[trying.turns:] if f not in found]


def reaches(lo: Lowering, trying: Trying) -> bool:
    """Whether a way out that opens here leads to the end of the body of a `try`: all blocks between are those of statements,
    which hand exit codes on, not of expressions."""
    block = lo.b.last()
    if block is not lo.around.block:
        return False
    while block is not trying.block:
        if not block.leads_out:
            return False
        block = block.parent
    return True


def way_out(lo: Lowering, cond, code, trying: Trying) -> None:
    """Leave with an exit code unless `cond` holds; the statements that follow stand in a block that runs where it does."""
    before, left = environments(lo), left_for(lo, trying)
    out = [dict(env) for env in before]
    for frame, env in zip(lo.frames, out, strict=True):
        if frame in left:
            env["%exit"] = code
    outer = lo.b.last()
    child = outer.child()
    child.way, child.leads_out = Way(outer, cond, before, out), True
    lo.b = lo.around.block = outer.following = child
    hold_in(lo, child, cond, True)


def stop_if_left(lo: Lowering, code) -> None:
    """After a part of an expression that may have left with this exit code: what follows runs only if it has not."""
    if lo.around.trying is None or lo.b.last() is not lo.around.block:
        return
    if isinstance(code, Static):
        if code.value < RAISES:
            return
        lo.env["%exit"] = code
        raise Caught(lo.b, lo.error(UnsupportedSyntax, NO_VALUE))
    stays, holds = meant_by(lo, code.atom, "lt", RAISES)
    left = code_where(lo, code.atom, stays, not holds)
    stays = stays if holds else lo.b.let("not", stays, dtype="bool")
    way_out(lo, stays, Static(left.value) if isinstance(left, Const) else code, lo.around.trying)
    for frame in left_for(lo, lo.around.trying):
        frame.env["%exit"] = Static(0)


def run_block(lo: Lowering, here, action: Callable[[], None], close: Callable[[Way, Any, bool], None]) -> Raised | None:
    """Run an action that lowers statements in the block `here`; what it raises if the program is sure to raise there.

    close: joins what names mean on a way out with what they mean where the statements end; it gets the way, the block of
    those statements, and whether they end in an error.
    """
    around, block, depth, before = lo.around, lo.around.block, len(lo.around.conditions), here.leads_out
    lo.b = around.block = here
    here.leads_out = True
    raised, kept = None, {id(frame): held_names(frame) for frame in lo.frames}
    try:
        try:
            action()
        except AutodiffError as e:
            leave_for(lo, e)
    except Raised as e:
        if not stands_in(e.builder, here):
            raise
        raised = None if isinstance(e, Caught) else e
    except BaseException:
        here.following = None
        raise
    finally:
        del around.conditions[depth:]
        around.block, here.leads_out = block, before
    while here.following is not None:
        child = here.last()
        lo.b, way = child.way.outer, child.way
        lo.b.following = None
        close(way, child, raised is not None)
        raised = None
    for frame in lo.frames:             # of expressions that were left in their middle
        for name in held_names(frame) - kept.get(id(frame), set()):
            del frame.env[name]
    lo.b = here
    return raised


def held_names(frame: Frame) -> set[str]:
    """The names of an activation for parts of expressions that are being evaluated."""
    return {name for name in frame.env if HELD.match(name)}


def stands_in(builder, here) -> bool:
    """Whether a block is this one, or what follows ways out in it."""
    while builder is not here and builder.way is not None:
        builder = builder.way.outer
    return builder is here


def leave_for(lo: Lowering, error: AutodiffError) -> None:
    """Go on in the handler for what Python raises where lowering has refused; the refusal itself if there is none."""
    kind = error.stands_for or PYTHONS.get(type(error))
    if error.within and isinstance(error, WrongKind):       # it may be ours alone
        raise error
    if kind is None or not catches(lo, kind) or lo.refused != (error, lo.around.block):
        raise error
    if not leave_unless(lo, check_of(lo, Meant(kind, (error.problem,))), kind):
        raise error


def raised_if(lo: Lowering, cond, block) -> None:
    """A branch that raises where `cond` holds."""
    match block.block():
        case (Guard(cond=Const(value=False)) as check,):
            lo.b.add(replace(check, cond=lo.b.let("not", cond, dtype="bool")))
        case stmts:
            lo.b.branch(cond, stmts)


def codes_around(lo: Lowering) -> int:
    """The first exit code that no handler around has."""
    return RAISES + sum(handler.span for _, handler in lo.around.trying or ())


def raise_instead(lo: Lowering, check: Guard, trying: Trying, handler: Handler) -> None:
    """A check whose handler does nothing but raise: the error of that in its place."""
    outer, frames, frame, around = lo.b, lo.frames, lo.frame, lo.around.trying
    names = environments(lo)
    certain = check.cond == NEVER
    b = lo.b = outer if certain else outer.child()
    lo.frames, lo.frame = frames[:frames.index(trying.frame) + 1], trying.frame
    lo.around.trying, handler_around = None, lo.around.handling
    lo.around.handling = handler
    lo.env["%exit"] = Static(0)
    try:
        run_handler(lo, handler)
    except Raised as e:
        if certain or e.builder is not b:
            raise
    finally:
        lo.b, lo.frames, lo.frame = outer, frames, frame
        lo.around.trying, lo.around.handling = around, handler_around
        restore(lo, names)
    raised_if(lo, lo.b.let("not", check.cond, dtype="bool"), b)


def run_handler(lo: Lowering, handler: Handler, code=None) -> None:
    """The statements of a handler, with the name that it gives to the error. code: the exit code that led there."""
    handler.came_by = code
    name = handler.stmt.name.id if handler.stmt.name is not None else None
    around, lo.around.handling = lo.around.handling, handler
    if name is not None:
        lo.env[name] = error_known(lo, handler)
    try:
        lo.exec_block(handler.stmt.body)
    finally:
        lo.around.handling = around
        if name is not None:
            lo.env[name] = UNSET


def names_error(stmt, clause) -> bool:
    """Whether a `raise` is one of the name that an `except` clause gives to its error."""
    return isinstance(stmt.exc, gast.Name) and clause.name is not None and stmt.exc.id == clause.name.id


def one_error(lo: Lowering, handler: Handler) -> bool:
    """Whether it is known which of the checks that a handler catches has failed where its statements run."""
    return handler.raises and lo.around.trying is None or len(handler.points) == 1


def error_known(lo: Lowering, handler: Handler) -> Value:
    """What the name of an `except` clause means: the error, where one class and text are all that it can be."""
    check, error = handler.points[-1]
    told = one_error(lo, handler) and check.error != "Meant" and not issubclass(error, KeyError)    # which holds a key
    if told and not check.parts:
        return Static(error(check.message) if check.message else error())
    seen = all(lo.b.sees(n) or lo.loop_bodies.get(n) in surrounding(lo) for n in check.parts)
    if told and seen and not any(b in check.message for b in ("{{", "}}")):
        return ErrorText(error, check.message, check.parts)
    return Undefined("the text of this error is known only when the program runs: compute what it tells from the numbers "
                     "that it is about", lo.b.loc, True)


__all__ = ["RAISES", "Handler", "Trying", "Way", "catches", "check_of", "class_of_error", "codes_around", "errors_caught",
           "leave_unless", "one_error", "raised_if", "run_block", "run_handler", "stop_if_left"]
