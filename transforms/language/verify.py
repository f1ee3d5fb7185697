"""Checks that a core program is well formed: every value is defined before use, bound once, and of the right type."""

from __future__ import annotations

from . import core
from .core import Arr, Const, Function, Ref, Var, bound_inside, defined, sub_blocks
from .errors import InternalError
from .fields import fields_of, tuples


def verify(function: Function) -> None:
    """Raise InternalError, naming the statement, if `function` is not a valid core program."""
    bound: set[Var] = set()
    known = set(function.params)

    def need(x, scope, stmt):
        if isinstance(x, Ref):
            need(x.array, scope, stmt)
            for p in x.prefix:
                need(p, scope, stmt)
        elif isinstance(x, (Var, Arr)) and x not in scope:
            raise InternalError(f"`{x.hint}` is used before it is defined in {type(stmt).__name__} {stmt}")

    def bind(v, scope):
        if v in bound:
            raise InternalError(f"`{v.hint}` is bound twice")
        bound.add(v)
        scope.add(v)

    def visit(block, scope):
        for stmt in block:
            cls = type(stmt)
            for x in _READ_FIRST[cls](stmt):
                need(x, scope, stmt)
            for name, _, _ in fields_of(cls, ("block",)):
                inner = set(scope)
                for v in bound_inside(stmt):
                    bind(v, inner)
                visit(getattr(stmt, name), inner)
                for x in _left(stmt, name):
                    need(x, inner, stmt)
            for m in stmt.merges if isinstance(stmt, core.If) else ():
                if m.then.dtype != m.var.dtype or m.orelse.dtype != m.var.dtype:
                    raise InternalError(f"`{m.var.hint}` joins values of different types")
            if isinstance(stmt, core.Alloc):
                scope.add(stmt.array)
            for v in defined(stmt):
                bind(v, scope)

    visit(function.body, known)
    for r in function.returns:
        if not isinstance(r, Const) and r not in known:
            raise InternalError(f"`{r.hint}` is returned but not defined at top level")


_READ_FIRST = tuples({role: text for role, text in core.OPERANDS.items() if role != "leaves"}, vars(core))


def _left(stmt, block: str) -> list:
    """What is read at the end of a block of a statement: what has the block's name, if another block has another."""
    fields = [f for f in fields_of(type(stmt), ("leaves",)) if len(sub_blocks(stmt)) == 1 or f[0] == block]
    return [getattr(holder, name) for name, _, parts in fields for holder in (getattr(stmt, parts) if parts else (stmt,))]
