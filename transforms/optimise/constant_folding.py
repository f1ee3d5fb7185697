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

from ..language.build import FOLD, ZERO, Builder, integer
from ..language.core import Const, Function, If, Var, with_blocks
from ..language.queries import is_branch, is_check, operation
from ..language.rewrite import kept
from ..language.substitution import substitute

TRUE, FALSE = Const(True, "bool"), Const(False, "bool")
EXACT = ("add", "sub", "mul", "neg")            # of float64: Python computes what compiled code would


def fold_constants(function: Function) -> Function:
    """The program with constant operations computed and decided branches taken."""
    mapping: dict = {}
    body = fold_block(function.body, mapping)
    if not mapping:
        return function if body is function.body else replace(function, body=body)
    return replace(function, body=body, returns=tuple(mapping.get(r, r) for r in function.returns))


def fold_block(block: tuple, mapping: dict) -> tuple:
    """The same of a block. mapping: takes what its scalars are that are no longer computed."""
    body = folded(block, mapping, Builder())
    return substitute(body, dict(mapping), fresh=False) if mapping else body


def folded(block, mapping: dict, builder: Builder) -> tuple:
    get = lambda x: mapping.get(x, x) if isinstance(x, Var) else x  # noqa: E731
    out: list = []
    for s in block:
        cond = get(s.cond) if is_branch(s) or is_check(s) else None
        if operation(s):
            args = tuple(map(get, s.args))
            value = value_of(s.op, args, s.var.dtype, builder)
            if value is not None:
                mapping[s.var] = value
                continue
            if s.op in ("add", "sub") and s.var.dtype == "int64" and isinstance(args[1], Const) and args[1].value < 0:
                s = replace(s, op="sub" if s.op == "add" else "add", args=(args[0], integer(-args[1].value)))
            elif args != s.args:
                s = replace(s, args=args)
        elif is_branch(s) and isinstance(cond, Const):
            out.extend(folded(s.then if cond.value else s.orelse, mapping, builder))
            for m in s.merges:
                mapping[m.var] = get(m.then if cond.value else m.orelse)
            continue
        elif is_check(s) and isinstance(cond, Const) and cond.value:
            continue
        s = with_blocks(s, lambda inner: folded(inner, mapping, builder))
        if is_branch(s):
            s = chosen(replace(s, cond=get(s.cond)) if cond is not s.cond else s, mapping)
            if not (s.then or s.orelse or s.merges):
                continue
        out.append(s)
    return kept(block, out)


def chosen(branch: If, mapping: dict) -> If:
    """A branch without what it chooses that is known without it: one value on both sides, or its own condition."""
    left = []
    for m in branch.merges:
        sides = tuple(mapping.get(x, x) if isinstance(x, Var) else x for x in (m.then, m.orelse))
        if sides[0] == sides[1]:
            mapping[m.var] = sides[0]
        elif sides == (TRUE, FALSE):
            mapping[m.var] = branch.cond
        else:
            left.append(m)
    return branch if len(left) == len(branch.merges) else replace(branch, merges=tuple(left))


def value_of(op: str, args, dtype: str, builder: Builder):
    if op in ("dim", "link", "stop"):
        return None
    constant = all(isinstance(a, Const) for a in args)
    if dtype == "float64" and constant and op in EXACT and all(a.dtype == "float64" for a in args):
        value = FOLD[op](*(float(a.value) for a in args))
        return Const(value, dtype) if math.isfinite(value) else None
    if dtype == "int64" and op in ("add", "sub") and args[1] == ZERO:
        return args[0]
    if dtype in ("int64", "bool") and not constant:
        return None                             # what else holds for all integers was folded when it was made
    return builder.fold(op, tuple(args), dtype)


__all__ = ["fold_block", "fold_constants"]
