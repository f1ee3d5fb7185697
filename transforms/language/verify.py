"""Checks that a core program is well formed: every value is defined before use, bound once, and of the right type."""

from __future__ import annotations

from . import core
from .core import Arr, Const, Function, Ref, Var, bound_inside, defined
from .errors import InternalError
from .fields import fields_of, statements, tuples


def verify(function: Function) -> None:
    """Raise InternalError, naming the statement, if `function` is not a valid core program."""
    bound: set[Var] = set()
    known = set(function.params)

    def need(x, scope, stmt):
        if isinstance(x, Ref):
            for p in (x.array, *x.prefix):
                if p not in scope:
                    need(p, scope, stmt)
        elif isinstance(x, (Var, Arr)):
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
                if not isinstance(x, Const) and x not in scope:
                    need(x, scope, stmt)
            for name, left in _BLOCKS.get(cls, ()):
                inner = set(scope)
                for v in bound_inside(stmt):
                    bind(v, inner)
                visit(getattr(stmt, name), inner)
                for x in left(stmt):
                    if x not in inner:
                        need(x, inner, stmt)
            if cls is core.If:
                for m in stmt.merges:
                    if m.then.dtype != m.var.dtype or m.orelse.dtype != m.var.dtype:
                        raise InternalError(f"`{m.var.hint}` joins values of different types")
            elif cls is core.Alloc:
                scope.add(stmt.array)
            for v in defined(stmt):
                bind(v, scope)

    visit(function.body, known)
    for r in function.returns:
        if not isinstance(r, Const) and r not in known:
            raise InternalError(f"`{r.hint}` is returned but not defined at top level")


_READ_FIRST = tuples({role: text for role, text in core.OPERANDS.items() if role != "leaves"}, vars(core))


def _blocks(cls) -> list:
    """(name, function to what is read at the end) of the blocks of a class of statements: what has the block's name, if
    another block has another."""
    names = [name for name, *_ in fields_of(cls, ("block",))]

    def left(name):
        fields = [f for f in fields_of(cls, ("leaves",)) if len(names) == 1 or f[0] == name]
        return lambda stmt: [getattr(holder, field) for field, _, parts in fields
                             for holder in (getattr(stmt, parts) if parts else (stmt,))]
    return [(name, left(name)) for name in names]


_BLOCKS = {cls: found for cls in statements() if (found := _blocks(cls))}
