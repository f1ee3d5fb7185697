"""Sizes that a check makes equal have one name after it, or are an integer: loops over them are then seen to be alike.

    if not n - 2 == m - 2:                           v = n - 2
        raise ValueError('sizes')                    if not v == m - 2:
    for i in range(n - 2):             becomes           raise ValueError('sizes')
        y[i] += x[i]                                 for i in range(v):
    for i in range(m - 2):                               y[i] += x[i]
        z[i] += y[i]                                 for i in range(v):
                                                         z[i] += y[i]
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from ..language.core import Atom, Block, Const, Function, Guard, Var, walk, with_blocks
from ..language.facts import Facts
from ..language.motion import equalities, facts_of, made_equal, names_of_equal
from ..language.queries import is_check, operation, operations
from ..language.rewrite import without_operations
from ..language.substitution import substitute

SUMS = ("add", "sub", "mul", "neg")


def name_equal_sizes(function: Function, sums: bool = True) -> Function:
    """The program in which, after each of its outermost checks, one of the sizes that it makes equal stands for both.

    sums: also one of the integers computed of sizes that are equal with them; not where facts of the program are kept, which
        may speak of any of these.
    """
    function = replace(function, body=Inside(function).blocks(function.body))
    checks = made_equal(function)
    if not checks:
        return function
    facts, plain = (facts_of(function, checks=False) for _ in range(2))
    names: dict[Atom, Atom] = {}
    computed: dict[tuple, Var] = {}             # integers of the outermost block, by what they are
    body: list = []
    for stmt in function.body:
        again = {s.var: first for s in walk((stmt,)) if integer_sum(s) and s is not stmt
                 and (first := computed.get(what(s.var, facts))) and (differ(s.var, first, plain) or named(s, names))} \
            if names and sums else {}
        block: tuple = (stmt,)
        if again:                               # inside
            block = without_operations(block, again)
            names |= again
        body += chain.from_iterable(renamed(s, names) for s in block) if names else block
        if sums and integer_sum(stmt):
            one = computed.setdefault(what(stmt.var, facts), stmt.var)
            if one is not stmt.var and (differ(stmt.var, one, plain) or named(stmt, names)):
                names[stmt.var] = one
        if stmt in checks:
            before = dict(facts.alias)
            for pair in checks[stmt]:
                facts.equate(*pair)
            for v, atom in facts.alias.items():
                atom = names.get(atom, atom)
                if v not in before:
                    names = {w: atom if a is v else a for w, a in names.items()} | {v: atom}
            earlier, computed = computed, {}
            for v in earlier.values():
                if v not in names and (one := computed.setdefault(what(v, facts), v)) is not v:
                    names[v] = one
    if not names:
        return function
    returns = tuple(names.get(r, r) if isinstance(r, Var) else r for r in function.returns)
    return replace(function, body=tuple(body), returns=returns)


class Inside:
    """Sizes that checks inside loops and branches make equal to a known integer are that integer in the rest of their block.

    One name for two sizes that are not known joins loops of the block, and keeps them from being joined with loops outside.
    """

    def __init__(self, function: Function):
        self.function = function
        self.tests = operations(walk(function.body), lambda s: s.op in ("eq", "and"))
        self.facts: Facts | None = None

    def blocks(self, block: Block) -> Block:
        """The block, with those inside it so changed."""
        return tuple([with_blocks(s, self.block) for s in block])

    def block(self, block: Block) -> Block:
        block = self.blocks(block)
        for at in range(len(block) - 1, -1, -1):        # what an earlier check says is said of the later ones too
            if isinstance(check := block[at], Guard) and (equal := equalities(check.cond, self.tests)):
                self.facts = self.facts or facts_of(self.function, checks=False)
                known = {v: c for v, c in names_of_equal(self.facts, equal).items() if isinstance(c, Const)}
                if known:
                    block = (*block[:at + 1], *chain.from_iterable(renamed(s, known) for s in block[at + 1:]))
        return block


def renamed(stmt, names: dict) -> Block:
    """A statement with other names of sizes. Checks that say the same are printed as one: they tell the same names."""
    block = substitute((stmt,), dict(names), fresh=False)
    return (replace(block[0], parts=stmt.parts),) if is_check(stmt) else block


def differ(v: Var, w: Var, plain: Facts) -> bool:
    """Whether two integers that are equal are so only by a check."""
    return what(v, plain) != what(w, plain)


def named(stmt, names: dict) -> bool:
    """Whether what an integer is computed from has another name now."""
    return any(a in names for a in stmt.args)


def integer_sum(stmt) -> bool:
    return operation(stmt) in SUMS and stmt.var.dtype == "int64"


def what(v: Var, facts: Facts) -> tuple:
    """What an integer is by all that is known now, as a key."""
    constant, terms = facts.affine(v)
    return constant, frozenset(terms.items())


__all__ = ["name_equal_sizes"]
