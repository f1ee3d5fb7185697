"""Emitting statements as they are given, one after the other."""

from __future__ import annotations

from .core import NOWHERE, Alloc, Arr, Atom, Call, Const, For, Guard, If, Let, Load, Loc, Store, Var, While
from .facts import integer


class Statements:
    """Statements as they are given, one after the other. `loc`: their place, where none is given."""

    def __init__(self, loc: Loc = NOWHERE):
        self.stmts: list = []
        self.loc = loc

    def add(self, stmt):
        self.stmts.append(stmt)
        return stmt

    def bind(self, var: Var, op: str, *args, loc: Loc | None = None) -> Var:
        """The variable, computed by an operation."""
        self.add(Let(var, op, args, loc or self.loc))
        return var

    def size(self, var: Var, array: Arr, axis: int) -> Var:
        """The variable, bound to a size of an array."""
        return self.bind(var, "dim", array, axis, loc=NOWHERE)

    def read(self, var: Var, array: Arr, index: tuple, loc: Loc = NOWHERE) -> Var:
        """The variable, read from an array."""
        self.add(Load(var, array, index, loc))
        return var

    def write(self, array: Arr, index: tuple, value: Atom, accumulate: bool | str = False, loc: Loc = NOWHERE) -> None:
        self.add(Store(array, index, value, accumulate, loc))

    def make(self, array: Arr, fill: Atom | Arr | None = None, loc: Loc = NOWHERE) -> Arr:
        """Memory for an array."""
        self.add(Alloc(array, fill, loc))
        return array

    def call(self, outs: tuple, op: str, args: tuple, static: tuple = (), loc: Loc | None = None) -> None:
        """A library call."""
        self.add(Call(outs, op, args, static, loc or self.loc))

    def branch(self, cond: Atom, then: tuple = (), orelse: tuple = (), merges: tuple = (), loc: Loc | None = None) -> None:
        """A branch whose sides are made."""
        self.add(If(cond, then, orelse, merges, loc or self.loc))

    def repeat(self, index: Var, start, stop, body: tuple, step=1, carries: tuple = (), **more) -> None:
        """A loop over a range whose body is made. more: further fields of the loop."""
        self.add(For(index, as_int(start), as_int(stop), as_int(step), carries, body, **more))

    def repeat_while(self, cond: Var, carries: tuple, body: tuple, counter: Var, trip: Var, loc: Loc, kept=None) -> None:
        """A loop that runs while one of what it carries is true."""
        self.add(While(cond, carries, body, counter, trip, loc, kept))

    def start_again_unless(self, cond: Atom, error: str, message: str, loc: Loc = NOWHERE, again: str = "each") -> None:
        """A check that the caller, if it is autodiff, answers with another program where it fails."""
        self.add(Guard(cond, error, message, (), loc, again))


def as_int(x) -> Atom:
    return x if isinstance(x, Var | Const) else integer(x)


__all__ = ["Statements", "as_int"]
