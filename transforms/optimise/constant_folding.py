"""Folding: operations on constants, and branches whose condition is one. Inlined derivative rules bring many.

    if 1 > 0:                             return x * 5.0
        y = x * (2.0 + 3.0)
    else:                      becomes
        y = 0.0
    return y
"""

from __future__ import annotations

import math
from dataclasses import replace

from ..language.build import FOLD, Builder
from ..language.core import Const, For, Function, Guard, If, Let, Var, While, with_blocks
from ..language.rewrite import kept
from ..language.substitution import substitute

EXACT = ("add", "sub", "mul", "neg")            # of float64: Python computes what compiled code would


def fold_constants(function: Function) -> Function:
    """The program with constant operations computed and decided branches taken."""
    mapping: dict = {}
    body = folded(function.body, mapping, Builder())
    if not mapping:
        return function if body is function.body else replace(function, body=body)
    return replace(function, body=substitute(body, mapping, fresh=False),
                   returns=tuple(mapping.get(r, r) for r in function.returns))


def folded(block, mapping: dict, builder: Builder) -> tuple:
    get = lambda x: mapping.get(x, x) if isinstance(x, Var) else x  # noqa: E731
    out: list = []
    for s in block:
        match s:
            case Let(var=v, op=op, args=args):
                args = tuple(map(get, args))
                value = value_of(op, args, v.dtype, builder)
                if value is not None:
                    mapping[v] = value
                    continue
                if args != s.args:
                    s = replace(s, args=args)
            case If(cond=cond, merges=merges):
                cond = get(cond)
                if isinstance(cond, Const):
                    out.extend(folded(s.then if cond.value else s.orelse, mapping, builder))
                    for m in merges:
                        mapping[m.var] = get(m.then if cond.value else m.orelse)
                    continue
                s = with_blocks(s, lambda inner: folded(inner, mapping, builder))
                if cond is not s.cond:
                    s = replace(s, cond=cond)
            case Guard(cond=cond) if isinstance(get(cond), Const) and get(cond).value:
                continue
            case For() | While():
                s = with_blocks(s, lambda inner: folded(inner, mapping, builder))
        out.append(s)
    return kept(block, out)


def value_of(op: str, args, dtype: str, builder: Builder):
    if op in ("dim", "link", "stop"):
        return None
    constant = all(isinstance(a, Const) for a in args)
    if dtype == "float64" and constant and op in EXACT and all(a.dtype == "float64" for a in args):
        value = FOLD[op](*(float(a.value) for a in args))
        return Const(value, dtype) if math.isfinite(value) else None
    if dtype in ("int64", "bool") and not constant:
        return None                             # what holds for all integers was folded when it was made
    return builder.fold(op, tuple(args), dtype)


__all__ = ["fold_constants"]
