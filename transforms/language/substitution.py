"""Copying statements with other variables and buffers in the places of their own."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

from . import core
from .core import NOWHERE, Arr, Function, Loc, Ref, Var, with_blocks
from .fields import ROLES, Role, fields_of, is_many, made_from, statements


def substitute(stmts, mapping: dict, fresh: bool = True) -> tuple:
    """Copy statements, replacing atoms and buffers by `mapping` (extended with a fresh name for every definition).

    A buffer may be mapped to a `Ref`: its loads and stores then get the prefix, and swapped indices if transposed.
    """
    return tuple([_SUBSTITUTING[type(s)](s, mapping, fresh) for s in stmts])


def placed(block, loc: Loc) -> tuple:
    """A block whose statements that have no place stand at this one."""
    return tuple([replace(s, loc=loc) if not s.loc.line else s
                  for s in (with_blocks(s, lambda b: placed(b, loc)) for s in block)]) if loc.line else tuple(block)


def placeless(block, folder: str) -> tuple:
    """A block whose statements have no place if it is in a folder: those of a rule have that of what is differentiated."""
    return tuple([replace(s, loc=NOWHERE) if s.loc.file.startswith(folder) else s
                  for s in (with_blocks(s, lambda b: placeless(b, folder)) for s in block)])


def inlined(builder, body, mapping: dict, out):
    """Emit a rule's statements in `builder`, its parameters replaced by `mapping`; the atom of `out`."""
    for stmt in body:
        if isinstance(stmt, core.Let):
            mapping[stmt.var] = builder.let(stmt.op, *(mapping.get(a, a) for a in stmt.args), dtype=stmt.var.dtype,
                                            hint=stmt.var.hint)
        else:
            builder.stmts.extend(placed(substitute((stmt,), mapping), builder.loc))
    return mapping.get(out, out)


def renamed(function: Function, body: tuple, mapping: dict) -> Function:
    """`function` with `body`, in which what `mapping` replaces, in one step or several, is replaced."""
    for v in mapping:
        end = mapping[v]
        while end in mapping:
            end = mapping[end]
        mapping[v] = end
    if mapping:
        body = substitute(body, dict(mapping), fresh=False)
    returns = tuple(mapping.get(r, r) if isinstance(r, Var) else r for r in function.returns)
    return replace(function, body=body, returns=returns)


def with_own_arrays(function: Function) -> Function:
    """The function with variables and buffers of its own: passes write other sizes to buffers, so programs share none."""
    mapping: dict = {a: Arr(a.hint, a.dtype, a.shape, a.why) for a in function.params if isinstance(a, Arr)}
    own = dict(mapping)
    body = substitute(function.body, mapping)
    for twin in own.values():
        twin.shape = tuple(mapping.get(s, s) for s in twin.shape)
    return replace(function, params=tuple(own.get(p, p) for p in function.params), body=body,
                   copied=frozenset(own.get(p, p) for p in function.copied),
                   returns=tuple(mapping.get(r, r) for r in function.returns))


def _new(mapping, var, fresh):
    if var is None:
        return None
    if fresh:
        mapping[var] = Var(var.hint, var.dtype)
    return mapping.get(var, var)


def _locate(mapping, array, index):
    target = mapping.get(array, array)
    index = tuple(mapping.get(i, i) for i in index)
    if isinstance(target, Ref):
        return target.array, target.prefix + (index[::-1] if target.transposed else index)
    return target, index


def _ref(m, arg):
    if not isinstance(arg, Ref):
        return m.get(arg, arg)
    target = m.get(arg.array, arg.array)
    prefix = tuple(m.get(p, p) for p in arg.prefix)
    if isinstance(target, Ref):
        if target.transposed and prefix:
            raise ValueError("a row of a transposed operand")
        return Ref(target.array, target.prefix + prefix, target.transposed ^ arg.transposed)
    return Ref(target, prefix, arg.transposed)


def _buffer(m, array, fresh):
    shape = tuple([m.get(s, s) for s in array.shape])
    if fresh:
        m[array] = Arr(array.hint, array.dtype, shape, array.why)
    else:
        array.shape = shape
    return m.get(array, array)


# by role, what comes in the place of one name; what is read is looked up before what is bound gets a new name
_READ, _BOUND = "m.get({0}, {0})", "_new(m, {0}, fresh)"
_STEPS: tuple[dict[Role, str], ...] = (
    {"reads": _READ, "tells": _READ, "writes": _READ, "again": _READ, "arguments": "_ref(m, {0})",
     "limit": "{0} and ({0}[0], *[m.get(x, x) for x in {0}[1:]])"},
    {"allocates": "_buffer(m, {0}, fresh)", "binds inside": _BOUND},
    {"block": "substitute({0}, m, fresh)"},
    {"leaves": _READ},
    {"binds": _BOUND, "fills": "_new(m, {0}, fresh) if isinstance({0}, Var) else _ref(m, {0})"})


def _substituting(cls):
    """The function (s, m, fresh) that copies a statement `s` of this class with what `m` has in the places of its own."""
    lines: list[str] = []
    changed: dict[str, str] = {}
    if fields_of(cls, ("element",)):
        lines.append("array, index = _locate(m, s.array, s.index)")
        changed.update(array="array", index="index")
    for step in _STEPS:
        for name, role, parts in fields_of(cls, step):
            if parts:
                lines.append(f"{parts}_{name} = [{step[role].format(f'p.{name}')} for p in s.{parts}]")
            elif name not in changed:
                many = role not in ("block", "limit") and is_many(cls, name)
                lines.append(f"{name} = " + (f"tuple([{step[role].format('x')} for x in s.{name}])" if many
                                             else step[role].format(f"s.{name}")))
                changed[name] = name
    for parts, part in ROLES[cls].items():
        if isinstance(part, type):
            given = ", ".join(f"{parts}_{f.name}" for f in dataclasses.fields(part))
            changed[parts] = f"tuple(map({part.__name__}, {given}))"
    names = {**vars(core), **globals()}
    exec("\n    ".join(["def made(s, m, fresh):", *lines, f"return {made_from(cls, changed) if changed else 's'}"]), names)
    return names["made"]


_SUBSTITUTING = {cls: _substituting(cls) for cls in statements()}

__all__ = ["inlined", "placed", "placeless", "renamed", "substitute"]
