"""Units: user functions that stay functions, called where the program calls them.

    v, b = unit(x, a)           Call((v, b), "unit:NAME", (x, Ref(a)), (Unit,))

Arguments and results are numbers and arrays. What it returns are numbers and arrays that it has allocated; the caller has
allocated the arrays that take these. It writes nothing else, and has no effect but that it may raise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from . import core
from .build import Builder, loops
from .core import Arr, Call, Function, Ref, Resize, Swap, Var, array_of, sub_blocks, walk
from .ops import UNIT
from .queries import allocations, called, is_check, is_loop, is_size
from .rewrite import bottom_up
from .substitution import renamed, substitute


@dataclass(eq=False)
class Unit:
    """A function that is called. made: what has been derived from it, by what was asked for."""

    function: Function
    made: dict = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.function.name

    @property
    def raises(self) -> bool:
        """Whether a call may raise an error."""
        if "raises" not in self.made:
            self.made["raises"] = any(map(checks, walk(self.function.body)))
        return self.made["raises"]

    def __repr__(self) -> str:
        return f"Unit({self.name})"


def unit_of(stmt) -> Unit | None:
    """The unit that a statement calls."""
    return stmt.static[0] if called(stmt).startswith(UNIT) else None


def checks(stmt) -> bool:
    """Whether a statement itself may raise an error that the program means."""
    unit = unit_of(stmt)
    return is_check(stmt) or called(stmt) != "" and stmt.kept or unit is not None and unit.raises


def call(unit: Unit, outs: tuple, args: tuple, loc) -> Call:
    """The call of a unit."""
    return Call(outs, UNIT + unit.name, args, (unit,), loc)


def units_in(programs: Iterable[Function]) -> list[Unit]:
    """All units of programs, each after those that it calls."""
    found: dict[Unit, None] = {}

    def visit(program: Function) -> None:
        for s in walk(program.body):
            unit = unit_of(s)
            if unit is not None and unit not in found:
                visit(unit.function)
                found[unit] = None
    for program in programs:
        visit(program)
    return list(found)


def with_called(programs: Iterable[Function]) -> list[Function]:
    """Programs, and the functions of all their units."""
    return [*programs, *(unit.function for unit in units_in(programs))]


def called_in_loops(programs: Iterable[Function]) -> set[Unit]:
    """The units without loops of their own that loops of programs, or such units, call: those loops may be vectorised."""
    found: set[Unit] = set()

    def visit(block, inside: bool) -> None:
        for s in block:
            unit = unit_of(s)
            if inside and unit is not None and unit not in found and not any(
                    is_loop(t) for t in walk(unit.function.body)):
                found.add(unit)
                visit(unit.function.body, True)
            for inner in sub_blocks(s):
                visit(inner, inside or is_loop(s))
    for program in with_called(programs):
        visit(program.body, False)
    return found


def with_units(program: Function, change: Callable[[Function], Function], key: object) -> Function:
    """The program with `change` applied to the functions of its units, callees first, once for each unit and `key`."""
    def changed(unit: Unit) -> Unit:
        if key not in unit.made:
            unit.made[key] = made = Unit(change(with_units(unit.function, change, key)))
            made.made[key] = made
        return unit.made[key]

    def visit(s):
        unit = unit_of(s)
        return None if unit is None else (call(changed(unit), s.outs, s.args, s.loc),)
    return replace(program, body=bottom_up(program.body, visit)) if any(map(unit_of, walk(program.body))) else program


def expanded(program: Function, wanted: Callable[[Call], bool] = lambda stmt: True) -> Function:
    """The program with the bodies of units in the places of their calls, or of those that are `wanted`."""
    named: dict = {}

    def visit(s):
        unit = unit_of(s)
        if unit is None or not wanted(s):
            return None
        function = expanded(unit.function)
        mapping: dict = dict(zip(function.params, (x if isinstance(x, Ref) and (x.prefix or x.transposed) else array_of(x)
                                                   for x in s.args), strict=True))
        sizes = [t for t in function.body if is_size(t) and t.args[0] in mapping]
        mapping.update({t.var: mapping[t.args[0]].shape[t.args[1]] for t in sizes})     # which the program knows
        arrays = [(r, out) for r, out in zip(function.returns, s.outs, strict=True) if isinstance(r, Arr)]
        body = substitute([t for t in function.body if t not in sizes], mapping)
        named.update((out, mapping.get(r, r)) for r, out in zip(function.returns, s.outs, strict=True)
                     if isinstance(out, Var))
        for r, out in arrays:
            body = in_place(body, mapping[r], array_of(out), getattr(out, "prefix", ()))
        return body
    body = bottom_up(program.body, visit)
    return program if body is program.body else renamed(program, body, named)


def in_place(body: tuple, made: Arr, target: Arr, prefix: tuple) -> tuple:
    """A body that leaves in `target`, which is there, what it makes in a buffer of its own."""
    moved = any(isinstance(s, (Swap, Resize)) and made in core.operands(s) for s in walk(body))
    alloc = allocations(body).get(made)
    if not moved and alloc is not None and alloc.fill is None:
        return substitute([s for s in body if s is not alloc],
                          {made: Ref(target, prefix) if prefix else target}, fresh=False)
    b = Builder()
    loops(b, made.shape, lambda inner, index: inner.store(target, (*prefix, *index), inner.load(made, index)))
    return (*body, *b.stmts)


__all__ = ["Unit", "call", "called_in_loops", "checks", "expanded", "unit_of", "units_in", "with_called", "with_units"]
