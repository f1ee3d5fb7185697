"""Functions that are given to solvers, which call them as often as they like: they may change nothing outside them."""

import inspect

from ..transforms.language.core import Print, walk, written
from ..transforms.language.errors import UnsupportedSyntax
from ..transforms.lower.functions.binding import positional_names
from ..transforms.lower.journal import buffers, environments
from ..transforms.lower.loops.comprehensions import acted
from ..transforms.lower.table import lowers
from ..transforms.lower.values import Bound, Closure, Record, Static


def search(function):
    """Mark a search that has no derivative: a program has it as a function of its own, under its name."""
    function.__autodiff_unit__ = True
    return function


def called(f, *args):
    """f(*args) of numbers and arrays."""
    return f(*args)


@lowers(called)
def lower_called(lo, f, *args):
    block, mark, before, had = lo.b, len(lo.b.stmts), environments(lo), buffers(lo)
    made = lo.call(f, list(args), {})
    stmts = tuple(block.stmts[mark:])
    if acted(lo, before, ()) or written(stmts) - (buffers(lo) - had) or any(isinstance(s, Print) for s in walk(stmts)):
        raise lo.error(UnsupportedSyntax, "a function given to a solver changes something outside it (a counter, a list, an "
                       "object, an array) or prints: it is called more often here than by SciPy", "return what it computes")
    return made


def count_of(f) -> int:
    """How many parameters a model takes after its data; 0 where its signature does not tell."""
    parameters = inspect.signature(f).parameters.values()
    return len(parameters) - 1 if all(p.kind == p.POSITIONAL_OR_KEYWORD for p in parameters) else 0


@lowers(count_of)
def lower_count(lo, f):
    if isinstance(f, Closure):
        args = f.node.args
        return Static(0 if args.vararg or args.kwonlyargs else len(positional_names(args)) - 1)
    if isinstance(f, Bound) and isinstance(f.owner, Record):
        return Static(max(0, count_of(getattr(f.owner.cls, f.name)) - 1))
    return Static(count_of(f.value) if isinstance(f, Static) else 0)
