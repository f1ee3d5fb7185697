"""Sizes that a check makes equal have one name after it, or are an integer: loops over them are then seen to be alike.

    if not n - 2 == m - 2:                           if not n - 2 == m - 2:
        raise ValueError('sizes')                        raise ValueError('sizes')
    for i in range(n - 2):             becomes       for i in range(m - 2):
        y[i] += x[i]                                     y[i] += x[i]
    for i in range(m - 2):                           for i in range(m - 2):
        z[i] += y[i]                                     z[i] += y[i]
"""

from __future__ import annotations

from dataclasses import replace

from ..language.core import Atom, Function, Var
from ..language.motion import facts_of, made_equal
from ..language.substitution import substitute


def name_equal_sizes(function: Function) -> Function:
    """The program in which, after each of its outermost checks, one of the sizes that it makes equal stands for both."""
    facts = facts_of(function, checks=False)
    checks = made_equal(function)
    names: dict[Atom, Atom] = {}
    body: list = []
    for stmt in function.body:
        body += substitute((stmt,), dict(names), fresh=False) if names else [stmt]
        if stmt in checks:
            before = dict(facts.alias)
            facts.equate(*checks[stmt])
            for v, atom in facts.alias.items():
                atom = names.get(atom, atom)
                if v not in before:
                    names = {w: atom if a is v else a for w, a in names.items()} | {v: atom}
    if not names:
        return function
    returns = tuple(names.get(r, r) if isinstance(r, Var) else r for r in function.returns)
    return replace(function, body=tuple(body), returns=returns)


__all__ = ["name_equal_sizes"]
