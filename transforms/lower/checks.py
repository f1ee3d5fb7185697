"""What NumPy and Python raise where arguments do not fit, when the program runs."""

from __future__ import annotations

import re
from functools import partial

import gast

from ...runtime.raising import Meant
from ..language.build import Builder
from ..language.core import PLAIN, Const, Guard, defined
from ..language.errors import (
    AutodiffError,
    MissingAxis,
    MissingItem,
    NotAMatrix,
    OutOfRange,
    ReadOnlyArray,
    ShapeMismatch,
    TypeConflict,
    in_users_words,
)
from .functions.names import raised_here
from .functions.places import trusted
from .journal import surrounding
from .needs import Raised
from .state import Lowering
from .syntax.catching import PYTHONS, catches, check_of, class_of_error, leave_unless
from .syntax.known_conditions import proven
from .syntax.texts import name_of
from .values import Array

TOKEN = re.compile("\x01(\\d+)\x01")

NEGATIVE_POWER = "a Python integer to a negative power is a float: make the base a float, float(n) ** k"
# boundscheck of the programs made where a check of the first one fails: every access is checked; in the second, powers of
# Python's integers whose exponent may be negative are floats
EACH_AND_POWERS = "each access and powers"
CAREFUL = ("each", EACH_AND_POWERS)

# What is certain to fail is refused as these.
REFUSALS = {PYTHONS[cls].__name__: cls for cls in (ShapeMismatch, MissingItem, MissingAxis, NotAMatrix, OutOfRange)}
FAILS = {"ge": lambda a, b: a < b, "gt": lambda a, b: a <= b, "le": lambda a, b: a > b, "lt": lambda a, b: a >= b,
         "ne": lambda a, b: a == b}


def require(lo: Lowering, a, op: str, b, error: str, message: str) -> None:
    """Raise `error(message)`, now or when the program runs, unless the integers `a op b`."""
    facts = lo.b.facts
    if isinstance(a, Const) and isinstance(b, Const):
        if FAILS[op](a.value, b.value):
            fails(lo, error, message)
        return
    low, high = (a, b) if op in ("le", "lt") else (b, a)
    if op != "ne" and facts.at_most(low, high, int(op in ("lt", "gt"))):
        return
    require_that(lo, lo.b.compare(op, a, b), error, message)


def require_that(lo: Lowering, holds, error: str, message: str) -> None:
    """The same, for a condition."""
    if isinstance(holds, Const):
        if not holds.value:
            fails(lo, error, message)
    elif not guarded(lo, holds) and not proven(lo, holds):
        add_check(lo, lo.b, holds, error, message)


def check_output(lo: Lowering, target, made) -> None:
    """What an operation makes is not cut down to fewer axes, as an assigned value is."""
    if isinstance(made, Array) and made.rank > target.rank:
        shapes = [show_shape(lo, v.shape) for v in (target, made)]
        fails(lo, "ValueError", f"non-broadcastable output operand with shape {shapes[0]} doesn't match the broadcast "
                            f"shape {shapes[1]}")


def fails(lo: Lowering, error: str, message: str) -> None:
    """What is certain to fail is an error now, but in branches and loops, which may not run."""
    if lo.b.parent is None:
        raise lo.error(REFUSALS.get(error, ShapeMismatch), message)
    add_check(lo, lo.b, Const(False, "bool"), error, message)


def certain(lo: Lowering, kind: str, refusal) -> Exception:
    """What to raise where an expression has no value: a refusal, or, in branches and loops, which may not run, Python's
    error of this kind when the program comes there."""
    if lo.b.parent is None or isinstance(refusal, Raised):
        return refusal
    add_check(lo, lo.b, Const(False, "bool"), kind, refusal.problem)
    return Raised(lo.b, refusal)


def guard_builder(lo: Lowering, *atoms) -> Builder:
    """Where a check of sizes belongs: outside the loops that do not change them."""
    b = lo.b
    while lo.around.trying is None and b.is_loop and b.parent is not None and all(known_in(lo, x, b.parent) for x in atoms):
        b = b.parent
    return b


def outermost(lo: Lowering) -> Builder:
    """The block outside all loops and branches."""
    root = lo.b
    while root.parent is not None:
        root = root.parent
    return root


def known_in(lo: Lowering, atom, builder: Builder) -> bool:
    """Whether a number is visible in `builder`."""
    if isinstance(atom, Const) or atom in lo.sizes:
        return True
    around = lo.carried.get(atom)
    scope: Builder | None = builder
    while scope is not None:
        if any(atom in defined(s) for s in scope.stmts) or around is not None and scope.parent is around:
            return True
        scope = scope.parent or lo.callers.get(scope)
    return False


def can_be_shown(lo: Lowering, atom, builder: Builder) -> bool:
    """Whether a text made in `builder` can have a number in it: also the index of a loop around."""
    return known_in(lo, atom, builder) or lo.loop_bodies.get(atom) in surrounding(lo, builder)


def guarded(lo: Lowering, condition) -> bool:
    """Whether a condition was checked in this block or one around it, not only in a branch or loop that may not have run."""
    return any((condition, block) in lo.learnt.guarded for block in surrounding(lo))


def must(lo: Lowering, condition, error: str, message: str) -> None:
    """Raise an error where the program runs, unless a condition holds."""
    if not proven(lo, condition):
        add_check(lo, lo.b, condition, error, message)


def error(lo: Lowering, cls, problem, hint="", node=None) -> Exception:
    """A refusal that names the user's place; where the program may not come, NumPy's own error if there is one like it."""
    node = node if node is not None else lo.node
    loc = lo.place(node) if lo.frame is not None and node is not None else None
    inner = lo.frame.key if loc is not None and loc.file != lo.frame.definition.file else None
    if inner is not None and not (getattr(inner, "__module__", None) or "").startswith(__name__.split(".")[0]):
        problem = f"in `{name_of(inner)}`: {problem}"
    refusal = cls(known_text(lo, problem), loc, hint)
    refusal.within = inner is not None
    lo.refused = refusal, lo.b
    return certain(lo, PYTHONS[cls].__name__, refusal) if cls in (*REFUSALS.values(), ReadOnlyArray) else refusal


def refused_by_python(lo: Lowering, error: Exception, cls=TypeConflict) -> AutodiffError:
    """The refusal of what Python has refused while the program was lowered."""
    made = lo.error(cls, f"{type(error).__name__}: {error}")
    made.stands_for = type(error)
    return made


def place(lo: Lowering, node):
    """Where a node stands; for one of a library's function, where the user's code calls that."""
    if not trusted(lo.frame.root.globals.get("__name__")):
        return lo.frame.definition.loc(node)
    users = next((f for f in reversed(lo.frames) if not trusted(f.root.globals.get("__name__"))), None)
    return lo.frame.definition.loc(node) if users is None else users.definition.loc(users.calling or users.statement)


def checks_math(lo: Lowering) -> bool:
    """Whether errors of math functions are raised here: in a function of Python's, outside loops."""
    in_loop = any(b.is_loop for b in surrounding(lo)) and not catches(lo, ValueError, ZeroDivisionError, OverflowError)
    return not (in_loop or lo.boundscheck is False or in_definition(lo) or any(
        map(partial(in_jitted_code, lo), lo.frames)))


def in_definition(lo: Lowering) -> bool:
    """Whether a definition or rule of ours is being lowered, which means NumPy's arithmetic: it never raises."""
    return bool(lo.registry and lo.frames) and lo.registry.is_ours(lo.frame.globals.get("__name__"))


def in_jitted_code(lo: Lowering, frame) -> bool:
    """Whether Numba compiles the function of a frame for its users, whose math functions do not raise."""
    return frame.jitted or is_jitted(frame.node)


def is_jitted(node) -> bool:
    """Whether a function stands under a decorator of Numba, whose math functions do not raise."""
    marks = [m.func if isinstance(m, gast.Call) else m for m in getattr(node, "decorator_list", ())]
    return any(getattr(m, "attr", getattr(m, "id", "")) in ("njit", "jit", "vectorize", "guvectorize") for m in marks)


def show_shape(lo: Lowering, shape) -> str:
    """A shape as NumPy writes it."""
    return f"({','.join(map(partial(show_size, lo), shape))}{',' if len(shape) == 1 else ''})"


def show_size(lo: Lowering, size) -> str:
    return str(size.value) if isinstance(size, Const) else show_number(lo, size)


def core_mismatch(lo: Lowering, name: str, signature: str, size, other) -> str:
    """What NumPy says of the second operand of a product or a system."""
    return (f"{name}: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature {signature} "
            f"(size {show_size(lo, size)} is different from {show_size(lo, other)})")


def show_number(lo: Lowering, atom, field: str = "{}", inner: tuple = ()) -> str:
    lo.shown.append((atom, field, inner))
    return f"\x01{len(lo.shown) - 1}\x01"


def known_text(lo: Lowering, message: str) -> str:
    """The message with names in the place of numbers."""
    return TOKEN.sub(lambda m: name_in_text(lo, lo.shown[int(m[1])][0]), message)


def name_in_text(lo: Lowering, atom, tells: str = "place") -> str:
    """What stands for a number that is not at hand; in a text of the user's own it is marked as a name."""
    if isinstance(atom, Const):
        return str(atom.value)
    name = getattr(atom, "hint", "?")
    return f"<{name}>" if tells == "note" else name


def add_check(lo: Lowering, builder, cond, error: str, message: str, tells: str = "place") -> bool:
    """`raise error(message)` unless `cond`, in `builder`; numbers not visible there are left as names.

    False where a handler catches that: `cond` holds in what follows then, but not after the `try`.
    """
    parts: list = []

    def place(match):
        atom, field, inner = lo.shown[int(match[1])]
        if not all(can_be_shown(lo, a, builder) for a in (atom, *inner)):
            return name_in_text(lo, atom, tells)
        parts.extend((atom, *inner))
        return field
    if TOKEN.search(message):
        escaped = message.replace("{", "{{").replace("}", "}}")
        message = TOKEN.sub(place, escaped)
    message = message if tells == "note" else in_users_words(message)
    return raise_unless(lo, builder, Guard(cond, error, message, tuple(parts), builder.loc, tells), class_of_error(error))


def raise_unless(lo: Lowering, builder, check: Guard, error: type) -> bool:
    """A check in a block, or, where a handler catches its error, a way out to that; False then."""
    if check.tells in PLAIN and leave_unless(lo, check, error):
        return False
    builder.add(check)
    return True


def sure_to_raise(lo: Lowering, error: Exception):
    """What stops lowering where the program raises `error`."""
    raise_unless(lo, lo.b, check_of(lo, Meant(type(error), error.args)), type(error))
    return raised_here(lo, lo.node)


def guard(lo: Lowering, cond, error, message, tells="place"):
    if isinstance(cond, Const) and cond.value:
        return
    add_check(lo, lo.b, cond, error, message, tells)


__all__ = ["CAREFUL", "EACH_AND_POWERS", "NEGATIVE_POWER"]
