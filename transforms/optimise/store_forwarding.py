"""What was just stored need not be loaded, and what is stored again need not have been stored.

    g_bar[i] = 0.0                      x_bar_1 = x_bar[i]
    g_bar[i] += x_bar[i]     becomes    g_bar[i] = x_bar_1
    y[i] = 2.0 * g_bar[i]               y[i] = 2.0 * x_bar_1

Within one block, by the names of elements: the same subscripts are the same element, others of the same buffer may be.
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.core import Alloc, Arr, Const, For, Function, If, Let, Load, Ref, Store, Var, While, array_of, operands, walk
from ..language.substitution import renamed


def forward_values(function: Function) -> Function:
    """The program with stored values passed on within blocks, and overwritten stores removed."""
    mapping: dict = {}
    body = Forwarding(mapping).block(function.body, {})
    made = renamed(function, body, mapping)
    return replace(made, body=without_dead_stores(made.body))


class Forwarding:
    """`known`: (buffer, index) -> the value that is there."""

    def __init__(self, mapping: dict):
        self.mapping = mapping

    def atom(self, x):
        while x in self.mapping:
            x = self.mapping[x]
        return x

    def block(self, block, known: dict) -> tuple:
        out: list = []
        for s in block:
            match s:
                case Load(var=v, array=a, index=index):
                    place = (a, tuple(map(self.atom, index)))
                    if place in known and known[place].dtype == v.dtype:
                        self.mapping[v] = known[place]
                        continue
                    known[place] = v
                case Store(array=a, index=index, value=value, accumulate=accumulate):
                    place = (a, tuple(map(self.atom, index)))
                    value = self.atom(value)
                    old = known.get(place)
                    if old is value and isinstance(value, Var) and not accumulate:      # which lies there already
                        continue
                    forget_place(known, place)
                    if accumulate and old is not None:
                        if isinstance(old, Const) and old.value == 0:
                            s = replace(s, accumulate=False)        # 0.0 + v, up to the sign of zero
                        else:
                            total = Var(a.hint, a.dtype)
                            out.append(Let(total, "sum" if s.any_order else "add", (old, value), s.loc))
                            s = replace(s, value=total, accumulate=False)
                            value = total
                    if value.dtype == a.dtype and (not accumulate or old is not None):
                        known[place] = value
                case For(body=body) | While(body=body):
                    forget(known, core.written((s,)))
                    s = replace(s, body=self.block(body, dict(known)))
                case If(then=then, orelse=orelse):
                    s = replace(s, then=self.block(then, dict(known)), orelse=self.block(orelse, dict(known)))
                    forget(known, core.written((s,)))
                case _:
                    forget(known, core.written((s,)))
            out.append(s)
        return tuple(out)


def forget_place(known: dict, place) -> None:
    """What is known of elements of the buffer that may be this one."""
    for other in [p for p in known if p[0] is place[0] and not distinct(p[1], place[1])]:
        del known[other]


def distinct(index, other) -> bool:
    """Whether two subscripts cannot mean one element: they differ in a constant."""
    return any(isinstance(i, Const) and isinstance(j, Const) and i != j for i, j in zip(index, other, strict=True))


def forget(known: dict, arrays: set) -> None:
    for place in [p for p in known if p[0] in arrays]:
        del known[place]


def without_dead_stores(block) -> tuple:
    """The block without stores that a later one replaces, or could add for, before anyone can have looked."""
    out: list = []
    waiting: dict = {}                  # (buffer, index) -> the place of a store in `out`
    added: dict = {}                    # the same of an addition
    for s in block:
        match s:
            case Load(array=a, index=index):
                forget_place(waiting, (a, index))
                forget_place(added, (a, index))
            case Store(array=a, index=index):
                place = (a, index)
                if s.accumulate:
                    forget_place(waiting, place)
                    earlier = added.pop(place, None)
                    if not s.any_order:
                        forget_place(added, place)
                    elif earlier is not None and out[earlier].any_order:        # a += x; a += y
                        total = Var(a.hint, a.dtype)
                        out.append(Let(total, "sum", (out[earlier].value, s.value), s.loc))
                        out[earlier] = None
                        s = replace(s, value=total)
                    added[place] = len(out)
                else:
                    forget_place(added, place)
                    if place in waiting:
                        out[waiting[place]] = None
                    forget_place(waiting, place)
                    waiting[place] = len(out)
            case For(body=body) | While(body=body):
                forget_seen(s, waiting, added)
                s = replace(s, body=without_dead_stores(body))
            case If(then=then, orelse=orelse):
                forget_seen(s, waiting, added)
                s = replace(s, then=without_dead_stores(then), orelse=without_dead_stores(orelse))
            case _:
                forget_seen(s, waiting, added)
        out.append(s)
    return tuple(s for s in out if s is not None)


def forget_seen(stmt, *places: dict) -> None:
    if any(places):
        arrays = seen(stmt)
        for known in places:
            forget(known, arrays)


def seen(stmt) -> set:
    """The buffers a statement reads or changes."""
    if isinstance(stmt, Alloc):
        return {stmt.array}
    return {array_of(x) for s in walk((stmt,)) for x in operands(s) if isinstance(x, (Arr, Ref))}


__all__ = ["forward_values"]
