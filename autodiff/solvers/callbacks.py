"""Functions that are given to solvers, which call them as often as they like: they may change nothing outside them."""

from ..transforms.language.core import Print, walk, written
from ..transforms.language.errors import UnsupportedSyntax
from ..transforms.lower.journal import buffers, environments
from ..transforms.lower.loops.comprehensions import acted
from ..transforms.lower.table import lowers


def called(f, *args):
    """f(*args) of a number."""
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
