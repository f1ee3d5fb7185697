"""NumPy's integers have 64 bits where Python runs the generated text, too.

What an array or an argument gives is NumPy's in both ways to run it; a literal, a loop's index or a size is Python's, and
grows beyond 64 bits in arithmetic that NumPy would have wrapped. A pass right after lowering: numbers that may grow so,
and are not Python's for the program, start as words. It is no operation in compiled code.

    s = 12345                                   s = np.int64(12345)
    for i in range(n):              becomes     for i in range(n):
        s = s * 1103515245 + 12345                  s = s * 1103515245 + 12345
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from ...language.core import Const, Function, Var, walk, with_blocks
from ...language.emit import Statements
from ...language.ops import exact
from ...language.queries import is_branch, is_load, is_loop, operation
from .overflow import WORD, Magnitudes

GROW = ("pow", "lshift")                        # never of the compiler's own sizes and places
FACTOR = 2 ** 32                                # products by less, of sizes and indices, fit
KEEP = ("add", "sub", "mul", "pow", "lshift", "neg", "abs", "max", "min", "floordiv", "mod", "bitand", "bitor", "bitxor",
        "copy", "stop")


def with_words(function: Function, pythons: Container[Var]) -> Function:
    """The program in which numbers that NumPy wraps are words. pythons: results of operations on Python's integers, which
    are checked instead."""
    if not any(may_grow(s) for s in walk(function.body)):
        return function
    made = Words(function, pythons)
    body = made.block(function.body)
    return replace(function, body=body) if made.found else function


def may_grow(stmt) -> bool:
    if is_loop(stmt):
        return any(exact(c.var.dtype) == "int64" for c in stmt.carries)
    return (operation(stmt) in GROW or operation(stmt) == "mul" and any(map(is_large, stmt.args))) \
        and exact(stmt.var.dtype) == "int64"


def is_large(atom) -> bool:
    return isinstance(atom, Const) and abs(atom.value) >= FACTOR


class Words:
    """The walk over a program: which of its integers are words already, and which statements make more."""

    def __init__(self, function: Function, pythons: Container[Var]):
        self.sizes, self.pythons, self.found = Magnitudes(function), pythons, False
        self.words: set = {p for p in function.params if isinstance(p, Var)}

    def is_word(self, atom) -> bool:
        return atom in self.words

    def may_not_fit(self, atom) -> bool:
        return atom not in self.pythons and not self.sizes.largest(self.sizes.form(atom)) < WORD

    def block(self, block) -> tuple:
        out = Statements()
        for s in block:
            if is_load(s):
                self.words.add(s.var)
            elif operation(s) and s.var.dtype == "int64":
                if not any(map(self.is_word, s.args)) and may_grow(s) and self.may_not_fit(s.var):
                    s = replace(s, args=(self.word(s.args[0], s.loc, out), *s.args[1:]))
                    self.words.add(s.var)
                elif s.op == "word" or s.op.startswith("as_uint64") or s.op in KEEP and any(map(self.is_word, s.args)):
                    self.words.add(s.var)
            elif is_branch(s):
                s = with_blocks(s, self.block)
                self.words |= {m.var for m in s.merges if self.is_word(m.then) and self.is_word(m.orelse)}
            elif is_loop(s):
                s = self.loop(s, out)
            out.add(s)
        return tuple(out.stmts)

    def loop(self, s, out: Statements):
        """A loop, with what it carries beginning as a word where its next values may not fit."""
        carries = s.carries
        first = [self.word(c.init, s.loc, out) if exact(c.var.dtype) == "int64" and not self.is_word(c.init)
                 and c.next not in self.pythons and c.next is not c.var and self.may_not_fit(c.result) else c.init
                 for c in carries]
        self.words |= {v for c, init in zip(carries, first, strict=True) if self.is_word(init) for v in (c.var, c.result)}
        s = with_blocks(s, self.block)
        return replace(s, carries=tuple(c if init is c.init else replace(c, init=init)
                                        for c, init in zip(carries, first, strict=True)))

    def word(self, atom, loc, out: Statements) -> Var:
        self.found = True
        made = Var(getattr(atom, "hint", "t"), "int64")
        self.words.add(made)
        return out.bind(made, "word", atom, loc=loc)


__all__ = ["with_words"]
