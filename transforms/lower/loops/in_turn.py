"""`any` and `all` ask for one item after another, and for no more once the answer is known.

Where making an item only computes, all are made at once. Where it prints, changes something or may raise an error, the call
becomes that of a function with a loop:

    any(f(v) for v in x)          def any():
                                      for item in (f(v) for v in x):
                                          if item:
                                              return True
                                      return False
"""

from __future__ import annotations

import gast

from ...language.core import Guard, Print, walk, written
from ...language.draws import is_draw
from ...language.errors import AutodiffError
from ..journal import Attempt, bindings_changed, buffers, environments
from ..needs import Raised
from ..state import Lowering
from ..values import Closure, Static, Value
from .lazy_loops import bound, read

ENDS = {any: True, all: False}              # the answer that ends the loop


def in_turn(lo: Lowering, function: Value, node) -> Value | None:
    """The value of a call of `any` or `all`; None of any other call, and of what is no iterator."""
    if not (isinstance(function, Static) and (function.value is any or function.value is all)) or len(node.args) != 1 \
            or node.keywords or not isinstance(node.args[0], (gast.GeneratorExp, gast.Call)):
        return None
    begun, envs, had, mark = Attempt(lo), environments(lo), buffers(lo), len(lo.b.stmts)
    try:
        items = lo.eval(node.args[0])
        lo.node = node
        made = lo.call(function, [items], {})
        refused: Exception | None = None
        if not acts(lo, lo.b.stmts[mark:], envs, had):
            return made
    except (AutodiffError, Raised) as e:
        made, refused = None, e
    if any(isinstance(n, gast.NamedExpr) for n in gast.walk(node)):         # which binds a name of the function around
        if refused is not None:
            raise refused
        return made
    after = Attempt(lo)
    begun.undo(lo)
    try:
        return lo.call(Closure(as_loop(lo, node, ENDS[function.value]), lo.frame, (), {}, function.value.__name__), [], {})
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
    return any(isinstance(s, Print) or is_draw(s) or isinstance(s, Guard) and (s.tells != "each" or id(s) in inner)
               for s in walk(stmts)) or bool(written(stmts) - (buffers(lo) - had))


def as_loop(lo: Lowering, node, ends: bool):
    """The function that the call becomes, the same each time that the call is lowered."""
    key = id(node), "in turn"
    if key not in lo.lazy_loops:
        taken, item = {n.id for n in gast.walk(node) if isinstance(n, gast.Name)}, "item"
        while item in taken:
            item += "_"
        test = read(item) if ends else gast.UnaryOp(gast.Not(), read(item))
        loop = gast.For(bound(item), node.args[0], [gast.If(test, [gast.Return(gast.Constant(ends, None))], [])], [], None)
        made = gast.FunctionDef(node.func.id if isinstance(node.func, gast.Name) else "any", gast.arguments(
            [], [], None, [], [], None, []), [loop, gast.Return(gast.Constant(not ends, None))], [], None, None)
        for n in gast.walk(made):
            if not hasattr(n, "lineno"):
                gast.copy_location(n, node)
        lo.lazy_loops[key] = node, made
    return lo.lazy_loops[key][1]


__all__ = ["in_turn"]
