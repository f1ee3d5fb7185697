"""Checks that a core program is well formed: every value is defined before use, bound once, and of the right type."""

from __future__ import annotations

from . import core
from .core import Arr, Const, Function, Ref, Var, defined, operands, sub_blocks
from .errors import InternalError


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
            match stmt:
                case core.Let(op="dim", args=args):
                    need(args[0], scope, stmt)
                case core.Alloc(array=a):
                    for s in a.shape:
                        need(s, scope, stmt)
                    scope.add(a)
                case core.For(carries=carries) | core.While(carries=carries):
                    if isinstance(stmt, core.For):
                        for x in (stmt.start, stmt.stop, stmt.step):
                            need(x, scope, stmt)
                    inner = set(scope)
                    for c in carries:
                        need(c.init, scope, stmt)
                        bind(c.var, inner)
                    bind(stmt.index if isinstance(stmt, core.For) else stmt.counter, inner)
                    visit(stmt.body, inner)
                    for c in carries:
                        need(c.next, inner, stmt)
                    if isinstance(stmt, core.For) and stmt.exit is not None:
                        need(stmt.exit, inner, stmt)
                case core.If(merges=merges):
                    need(stmt.cond, scope, stmt)
                    sides = []
                    for inner_block in sub_blocks(stmt):
                        inner = set(scope)
                        visit(inner_block, inner)
                        sides.append(inner)
                    for m in merges:
                        need(m.then, sides[0], stmt)
                        need(m.orelse, sides[1], stmt)
                        if m.then.dtype != m.var.dtype or m.orelse.dtype != m.var.dtype:
                            raise InternalError(f"`{m.var.hint}` joins values of different types")
                case _:
                    for x in operands(stmt):
                        need(x, scope, stmt)
            for v in defined(stmt):
                bind(v, scope)

    visit(function.body, known)
    for r in function.returns:
        if not isinstance(r, Const) and r not in known:
            raise InternalError(f"`{r.hint}` is returned but not defined at top level")
