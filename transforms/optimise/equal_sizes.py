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

from ..language.core import Atom, Function, Var, walk
from ..language.facts import Facts
from ..language.motion import facts_of, made_equal
from ..language.queries import is_check, operation
from ..language.rewrite import without_operations
from ..language.substitution import substitute

SUMS = ("add", "sub", "mul", "neg")


def name_equal_sizes(function: Function, sums: bool = True) -> Function:
    """The program in which, after each of its outermost checks, one of the sizes that it makes equal stands for both.

    sums: also one of the integers computed of sizes that are equal with them; not where facts of the program are kept, which
        may speak of any of these.
    """
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
        renamed = substitute(block, dict(names), fresh=False) if names else block
        if is_check(stmt):             # checks that say the same are printed as one
            renamed = (replace(renamed[0], parts=stmt.parts),)
        body += renamed
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
