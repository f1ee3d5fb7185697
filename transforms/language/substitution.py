"""Copying statements with other variables and buffers in the places of their own."""

from __future__ import annotations

from dataclasses import replace

from . import core
from .core import Arr, Function, Ref, Var


def substitute(stmts, mapping: dict, fresh: bool = True) -> tuple:
    """Copy statements, replacing atoms and buffers by `mapping` (extended with a fresh name for every definition).

    A buffer may be mapped to a `Ref`: its loads and stores then get the prefix, and swapped indices if transposed.
    """
    return tuple(_substitute(s, mapping, fresh) for s in stmts)


def inlined(builder, body, mapping: dict, out):
    """Emit a rule's statements in `builder`, its parameters replaced by `mapping`; the atom of `out`."""
    for stmt in body:
        if isinstance(stmt, core.Let):
            mapping[stmt.var] = builder.let(stmt.op, *(mapping.get(a, a) for a in stmt.args), dtype=stmt.var.dtype,
                                            hint=stmt.var.hint)
        else:
            builder.stmts.extend(substitute((stmt,), mapping))
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


def _substitute(stmt, m: dict, fresh: bool):
    get = lambda x: m.get(x, x)  # noqa: E731
    match stmt:
        case core.Let(var=v, args=args):
            args = tuple(get(a) for a in args)
            return replace(stmt, args=args, var=_new(m, v, fresh))
        case core.Load(var=v, array=a, index=i):
            a, i = _locate(m, a, i)
            return replace(stmt, array=a, index=i, var=_new(m, v, fresh))
        case core.Store(array=a, index=i, value=v):
            a, i = _locate(m, a, i)
            return replace(stmt, array=a, index=i, value=get(v))
        case core.Alloc(array=a, fill=f):
            shape = tuple(get(s) for s in a.shape)
            if fresh:
                m[a] = Arr(a.hint, a.dtype, shape, a.why)
            else:
                a.shape = shape
            return replace(stmt, array=m.get(a, a), fill=None if f is None else get(f))
        case core.For():
            start, stop, step = get(stmt.start), get(stmt.stop), get(stmt.step)
            inits = [get(c.init) for c in stmt.carries]
            index = _new(m, stmt.index, fresh)
            heads = [_new(m, c.var, fresh) for c in stmt.carries]
            body = substitute(stmt.body, m, fresh)
            nexts = [get(c.next) for c in stmt.carries]
            stop_when = None if stmt.exit is None else get(stmt.exit)
            results = [_new(m, c.result, fresh) for c in stmt.carries]
            carries = tuple(map(core.Carry, heads, inits, nexts, results))
            kept = stmt.checkpoint and (stmt.checkpoint[0], get(stmt.checkpoint[1]))
            return replace(stmt, index=index, start=start, stop=stop, step=step, carries=carries, body=body,
                           exit=stop_when, trip=_new(m, stmt.trip, fresh), checkpoint=kept)
        case core.While():
            inits = [get(c.init) for c in stmt.carries]
            heads = [_new(m, c.var, fresh) for c in stmt.carries]
            counter = _new(m, stmt.counter, fresh)
            cond = get(stmt.cond)
            body = substitute(stmt.body, m, fresh)
            nexts = [get(c.next) for c in stmt.carries]
            results = [_new(m, c.result, fresh) for c in stmt.carries]
            carries = tuple(map(core.Carry, heads, inits, nexts, results))
            kept = stmt.checkpoint and (stmt.checkpoint[0], get(stmt.checkpoint[1]))
            return replace(stmt, cond=cond, carries=carries, body=body, counter=counter,
                           trip=_new(m, stmt.trip, fresh), checkpoint=kept)
        case core.If():
            cond = get(stmt.cond)
            then, orelse = substitute(stmt.then, m, fresh), substitute(stmt.orelse, m, fresh)
            merges = [(get(k.then), get(k.orelse)) for k in stmt.merges]
            merges = tuple(core.Merge(_new(m, k.var, fresh), *pair)
                           for k, pair in zip(stmt.merges, merges, strict=True))
            return replace(stmt, cond=cond, then=then, orelse=orelse, merges=merges)
        case core.Swap():
            return replace(stmt, targets=tuple(map(get, stmt.targets)), sources=tuple(map(get, stmt.sources)))
        case core.Call():
            args = tuple(_ref(m, a) for a in stmt.args)
            outs = tuple(_new(m, o, fresh) if isinstance(o, Var) else _ref(m, o) for o in stmt.outs)
            return replace(stmt, args=args, outs=outs)
        case core.Resize():
            return replace(stmt, array=get(stmt.array), length=get(stmt.length))
        case core.Guard():
            return replace(stmt, cond=get(stmt.cond), parts=tuple(map(get, stmt.parts)))
        case core.Print():
            return replace(stmt, parts=tuple(get(p) if isinstance(p, Var) else p for p in stmt.parts))
        case core.Comment():
            return stmt
    raise TypeError(stmt)


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


__all__ = ["inlined", "renamed", "substitute"]
