"""What is known of a program's integers: the affine form behind a variable, ranges of loops' indices, equal sizes.

Enough to prove most subscripts in range, and that two loops run over one range.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial, reduce
from typing import Any

from .core import Atom, Const, Var


def integer(value: int) -> Const:
    return Const(int(value), "int64")


NEAR = 8                                # places beyond a range that an index may have: it hardly leaves the range
DEEPEST = 12                            # replacements of a variable by a bound, one after the other, in a proof
ORDERS = {"lt": {"<"}, "le": {"<", "="}, "eq": {"="}, "ne": {"<", ">"}, "ge": {"=", ">"}, "gt": {">"}}
COMPOSED = ("mul", "max", "min", "floordiv", "mod")
STEPS, FEW_STEPS = 1000, 200            # that a proof may try; fewer where checks have made many lower bounds known


class Facts:
    """What is known of integers: definitions, affine forms, ranges. Shared by all builders of a function."""

    def __init__(self):
        self.definition: dict[Var, tuple] = {}
        self.order: dict[Var, int] = {}
        self.numbered = 0
        self.range: dict[Var, tuple[Atom | None, Atom | None]] = {}
        self.nonnegative: set[Var] = set()
        self.alias: dict[Var, Atom] = {}
        self.home: dict[Var, Any] = {}       # None: visible everywhere (parameters)
        self.floors: dict[Var, list[tuple[int, dict[Var, int]]]] = {}       # what checks and branches make known:
        self.ceilings: dict[Var, list[tuple[int, dict[Var, int]]]] = {}     # least and largest values
        self.choices: dict[Var, list[tuple[Atom, list]]] = {}       # what a branch chooses from, with what is known there
        self.asked: set[Var] = set()        # indices of a user's, which must lie in their axes whatever is made of them
        self.left = STEPS            # steps that the present proof may still try
        self._affine: dict[Var, tuple[int, dict[Var, int]]] = {}

    def define(self, var: Var, op: str, args: tuple) -> None:
        self.definition[var] = (op, args)
        self.number(var)

    def number(self, var: Var) -> None:
        if var not in self.order:
            self.number_anew(var)

    def number_anew(self, var: Var) -> None:
        """A variable comes after all that are known, so that its bounds are tried before theirs."""
        self.order[var] = self.numbered
        self.numbered += 1

    def form(self, bound) -> tuple[int, dict[Var, int]]:
        """A bound as constant + sum of coefficient * variable, which it may be already."""
        return bound if isinstance(bound, tuple) else self.affine(bound)

    def affine(self, atom: Atom) -> tuple[int, dict[Var, int]]:
        """`atom` as constant + sum of coefficient * variable."""
        if isinstance(atom, Const):
            return int(atom.value), {}
        if atom in self._affine:
            return self._affine[atom]
        op, args = self.definition.get(atom, ("", ()))
        form: tuple[int, dict[Var, int]] = (0, {atom: 1})
        if atom in self.alias:
            form = self.affine(self.alias[atom])
        elif op in ("add", "sub"):
            form = combine(self.affine(args[0]), self.affine(args[1]), 1 if op == "add" else -1)
        elif op == "neg":
            form = combine((0, {}), self.affine(args[0]), -1)
        elif op == "mul":
            left, right = self.affine(args[0]), self.affine(args[1])
            if not left[1]:
                form = combine((0, {}), right, left[0])
            elif not right[1]:
                form = combine((0, {}), left, right[0])
        self._affine[atom] = form
        return form

    def at_least(self, atom: Atom, bound: int = 0, fuel: int = DEEPEST) -> bool:
        """Whether `atom >= bound` can be proven."""
        constant, terms = self.affine(atom)
        form = constant - bound, dict(terms)
        return self.proven(form) if fuel == DEEPEST else self._prove(form, fuel)

    def at_most(self, low: Atom, high: Atom, slack: int = 0) -> bool:
        """Whether `low + slack <= high` can be proven."""
        constant, terms = combine(self.affine(high), self.affine(low), -1)
        return self.proven((constant - slack, terms))

    def proven(self, form: tuple[int, dict[Var, int]]) -> bool:
        """Whether constant + sum of coefficient * variable is at least 0."""
        self.left = FEW_STEPS if self.floors or self.ceilings else STEPS
        return self._prove(form, DEEPEST)

    def compared(self, op: str, a: Atom, b: Atom, holds: bool = True) -> list[tuple[int, dict[Var, int]]]:
        """What is at least 0 where integers compare so, or do not."""
        left = ORDERS[op] if holds else {"<", "=", ">"} - ORDERS[op]
        up = combine(self.affine(b), self.affine(a), -1)
        down = combine((0, {}), up, -1)
        less, more = (combine(form, (1, {}), -1) for form in (up, down))
        if left == {"<", ">"}:
            return [above for above, form in ((less, up), (more, down)) if self.proven(form)]
        ways = {"<": [less], ">": [more], "=": [up, down], "<=": [up], "=>": [down]}
        return ways["".join(sorted(left))]

    def running(self, index: Var) -> list[tuple[int, dict[Var, int]]]:
        """What is at least 0 while a loop runs: its last index is not before the first one."""
        low, high = self.range.get(index, (None, None))
        return [] if low is None or high is None else [combine(self.affine(high), self.affine(low), -1)]

    def learn(self, form: tuple[int, dict[Var, int]]) -> None:
        """From here on constant + sum of coefficient * variable is known to be at least 0."""
        constant, terms = form
        for v, c in terms.items():
            if c in (1, -1):
                edge = -c * constant, {w: -c * d for w, d in terms.items() if w is not v}
                (self.floors if c == 1 else self.ceilings).setdefault(v, []).append(edge)

    @contextmanager
    def assuming(self, forms):
        """Where these forms, and whatever is learnt, are known to be at least 0."""
        before = self.floors, self.ceilings
        self.floors, self.ceilings = ({v: [*known] for v, known in edges.items()} for edges in before)
        for form in forms:
            self.learn(form)
        try:
            yield
        finally:
            self.floors, self.ceilings = before

    def equate(self, a: Atom, b: Atom) -> None:
        """From here on `a` and `b` are known to be equal (a guard has made sure)."""
        pairs = [(x, y) for x, y in (*self._sizes_that_agree(a, b), (a, b), (b, a))
                 if isinstance(x, Var) and x not in self.affine(y)[1] and self.affine(x) == (0, {x: 1})]
        if pairs:
            x, y = min(pairs, key=lambda pair: self._computed(pair[1]) - self._computed(pair[0]))
            self.alias[x] = y
            self._affine.clear()

    def _computed(self, atom: Atom) -> bool:
        """Whether the program computes a number, which is not there before that, as a size of what it is given is."""
        return isinstance(atom, Var) and self.definition.get(atom, ("dim",))[0] != "dim"

    def _sizes_that_agree(self, a: Atom, b: Atom) -> list[tuple[Atom, Atom]]:
        """What the equality of `a` and `b` says of the variables in them: of `n - 2` and `m - 2` that `n` is `m`."""
        constant, terms = combine(self.affine(a), self.affine(b), -1)
        match [*terms.items()]:
            case [(v, 1 | -1 as c)]:
                return [(v, integer(-c * constant))]
            case [(v, 1 | -1 as c), (w, d)] if c == -d and constant == 0:
                return [(v, w), (w, v)]
        return []

    def forget_since(self, alias: dict) -> None:
        """Go back to the equalities known when `alias` was copied."""
        self.alias = alias
        self._affine.clear()

    def rename(self, mapping: dict) -> None:
        """Variables were replaced in the program: replace them in what is known."""
        get = lambda x: mapping.get(x, x) if isinstance(x, Var | Const) else x  # noqa: E731
        self.range = {v: (get(a), get(b)) for v, (a, b) in self.range.items()}
        self.definition = {v: (op, tuple(map(get, args))) for v, (op, args) in self.definition.items()}
        alias, self.alias = self.alias, {}
        for v, a in alias.items():
            new = end = get(a)
            while end in self.alias and end != v:
                end = self.alias[end]
            if end != v:                    # what is equal to itself now needs no saying
                self.alias[v] = new
        self._affine.clear()

    def bound(self, atom: Atom, upper: bool, visible, builder, fuel: int = 30) -> Atom | None:
        """A bound of `atom` made (in `builder`) of integers for which `visible` holds; None if there is none."""
        return atom if isinstance(atom, Const) or visible(atom) else self._bound_of(
            self.affine(atom), upper, visible, builder, fuel)

    def _bound_of(self, form, upper: bool, visible, builder, fuel: int) -> Atom | None:
        constant, terms = form
        hidden = [v for v in terms if not visible(v)]
        if not hidden:
            total: Atom = integer(0)
            for v, c in sorted(terms.items(), key=lambda term: term[1] < 0):            # what is added first
                total = builder.iadd(total, builder.imul(v, c)) if c > 0 else builder.isub(total, builder.imul(v, -c))
            return builder.iadd(total, constant)
        if fuel <= 1:
            return None
        v = max(hidden, key=lambda v: self.order.get(v, -1))            # the newest first: its edges tell of the others
        high = upper == (terms[v] > 0)
        rest = constant, {w: d for w, d in terms.items() if w is not v}
        edges = [edge for edge in (self.ceilings if high else self.floors).get(v, ())
                 if all(self.order.get(w, -1) < self.order.get(v, -1) for w in edge[1])]
        known = self.range[v][high] if v in self.range else self._bound_computed(v, high, visible, builder, fuel - 1)
        found = {self._bound_of(combine(rest, self.form(edge), terms[v]), upper, visible, builder, fuel - 1): None
                 for edge in (*edges, known) if edge is not None}
        found.pop(None, None)
        return reduce(partial(builder.let, "min" if upper else "max", dtype="int64"), found) if found else None

    def _bound_computed(self, v: Var, upper, visible, builder, fuel):
        if v in self.choices:
            sides = []
            for side, forms in self.choices[v]:
                with self.assuming(forms):
                    sides.append(self.bound(side, upper, visible, builder, fuel))
            return None if None in sides else builder.let("max" if upper else "min", *sides, dtype="int64")
        op, args = self.definition.get(v, ("", ()))
        if op in ("max", "min"):
            parts = [self.bound(a, upper, visible, builder, fuel) for a in args]
            if (op == "min") == upper:
                return min((p for p in parts if p is not None), key=lambda p: not isinstance(p, Const), default=None)
            return None if None in parts else builder.let(op, *parts, dtype="int64")
        if op == "floordiv" and isinstance(args[1], Const) and args[1].value > 0:
            inner = self.bound(args[0], upper, visible, builder, fuel)
            return None if inner is None else builder.let("floordiv", inner, args[1], dtype="int64")
        if op == "mul":
            fuel //= 2                      # of a power of powers, not each of all paths
        if op == "mul" and all(map(self.at_least, args)):
            parts = [self.bound(a, upper, visible, builder, fuel) for a in args]
            return None if None in parts else builder.imul(*parts)
        if op == "mul":
            for factor, other in (args, args[::-1]):
                parts = [self.bound(other, end, visible, builder, fuel) for end in (False, True) if visible(factor)]
                if parts and None not in parts:             # of a range, which may be empty, by factors of either sign
                    least, most = (builder.imul(x, end(factor, 0)) for x, end in zip(
                        parts[::1 - 2 * upper], (builder.imax, builder.imin), strict=True))
                    return builder.iadd(least, most)
        if op == "mod" and self.at_least(args[1], 1):
            inner = self.bound(args[1], upper, visible, builder, fuel) if upper else integer(1)
            return None if inner is None else builder.isub(inner, 1)
        return None

    def parts(self, atom: Atom, ops: tuple[str, ...]) -> set[Var]:
        """The variables in the affine form of an integer, and in those of the operands of such operations among them."""
        found: set[Var] = set()
        waiting = list(self.affine(atom)[1])
        while waiting:
            v = waiting.pop()
            if v not in found:
                found.add(v)
                op, args = self.definition.get(v, ("", ()))
                waiting += [w for a in args for w in self.affine(a)[1]] if op in ops else []
        return found

    def needed(self, atom: Atom) -> set[Var]:
        """The variables of an integer, and of the factors of products among them."""
        return self.parts(atom, ("mul",))

    def leaves(self, atom: Atom) -> set[Var]:
        """The variables of which an integer is made by sums, products, quotients, largest and smallest ones."""
        return {v for v in self.parts(atom, COMPOSED) if self.definition.get(v, ("",))[0] not in COMPOSED}

    def multiplies(self, atom: Atom) -> bool:
        """Whether there is a product of variables in an integer."""
        return any(self.definition.get(v, ("", ()))[0] in ("mul", "max", "min") for v in self.affine(atom)[1])

    def same(self, a: Atom, b: Atom) -> bool:
        return a == b or combine(self.affine(a), self.affine(b), -1) == (0, {})

    def _prove(self, form, fuel: int) -> bool:
        constant, terms = form
        if not fuel or self.left <= 0:
            return False
        self.left -= 1
        candidates = sorted(terms, key=lambda v: -self.order.get(v, -1))
        for var in candidates:
            coefficient = terms[var]
            if coefficient > 0 and var in self.nonnegative and var not in self.range:
                continue
            for bound in self._bounds(var, coefficient > 0, fuel - 1):
                rest = {v: c for v, c in terms.items() if v is not var}
                if self._prove(combine((constant, rest), self.form(bound), coefficient), fuel - 1):
                    return True
            if var in self.choices and self._prove_each(var, form, fuel - 1):
                return True
            op, args = self.definition.get(var, ("", ()))
            if (op == "floordiv" and coefficient < 0 and isinstance(args[1], Const) and args[1].value > 0
                    and coefficient % args[1].value == 0):          # k * (a // k) is at most a
                rest = {v: c for v, c in terms.items() if v is not var}
                if self._prove(combine((constant, rest), self.affine(args[0]), coefficient // args[1].value), fuel - 1):
                    return True
            if var not in self.range or self.range[var][1 if coefficient < 0 else 0] is None:
                continue
            return False
        if constant < 0 or any(c < 0 or v not in self.nonnegative for v, c in terms.items()):
            return self._prove_relaxed(constant, terms, fuel)
        return True

    def _prove_each(self, var: Var, form, fuel: int) -> bool:
        """Whether a form is at least 0 whichever side a variable is chosen from."""
        constant, terms = form
        rest = constant, {v: c for v, c in terms.items() if v is not var}
        for side, forms in self.choices[var]:
            with self.assuming(forms):
                if not self._prove(combine(rest, self.affine(side), terms[var]), fuel):
                    return False
        return True

    def _prove_relaxed(self, constant, terms, fuel: int) -> bool:
        """Replace a non-negative variable with known lower bounds (a max) by one of them."""
        for var, coefficient in terms.items():
            if coefficient > 0:
                for bound in self._bounds(var, True, fuel - 1):
                    rest = {v: c for v, c in terms.items() if v is not var}
                    if self._prove(combine((constant, rest), self.form(bound), coefficient), fuel - 1):
                        return True
        return False

    def _bounds(self, var: Var, lower: bool, fuel: int):
        yield from (self.floors if lower else self.ceilings).get(var, ())
        if var in self.range:
            low, high = self.range[var]
            bound = low if lower else high
            if bound is not None:
                yield bound
            return
        op, args = self.definition.get(var, ("", ()))
        if (op == "max" and lower) or (op == "min" and not lower):
            yield from args
        if op == "mul" and lower and all(self.at_least(x, 1, fuel) for x in args):
            yield integer(1)
        if op == "mod" and isinstance(args[1], Const):          # of the sign of the divisor
            if args[1].value:
                yield integer(min(args[1].value + 1, 0) if lower else max(args[1].value - 1, 0))
        elif op == "mod" and self.at_least(args[1], 0 if lower else 1, fuel):
            yield integer(0) if lower else combine(self.affine(args[1]), (1, {}), -1)
        if op == "floordiv" and isinstance(args[1], Const) and args[1].value >= 1:
            if self.at_least(args[0], 0, fuel):
                yield integer(0) if lower else args[0]
        elif op == "floordiv" and self.at_least(args[1], 1, fuel) and self.at_least(args[0], 0, fuel):
            yield from [integer(0)] if lower else self._quotients(*args)

    def _quotients(self, a: Atom, b: Atom):
        """What `a // b` is at most, if `a` is less than a product with `b`."""
        top = self.range.get(a, (None, None))[1] if isinstance(a, Var) else None
        constant, terms = combine(self.affine(top), (1, {}), 1) if top is not None else (1, {})
        if constant == 0 and list(terms.values()) == [1]:
            rest = self.without(next(iter(terms)), b)
            if rest is not None:
                yield combine(self.affine(rest), (1, {}), -1)

    def without(self, product: Atom, b: Atom) -> Atom | None:
        """The factor that a product has besides `b`, which may be a product itself; None if there is not one alone."""
        left = self.factors(product)
        for factor in self.factors(b):
            match = next((f for f in left if self.same(f, factor)), None)
            if match is None:
                return None
            left.remove(match)
        return left[0] if len(left) == 1 else None

    def factors(self, product: Atom) -> list[Atom]:
        """The integers of which a number was made by multiplication."""
        op, args = self.definition.get(product, ("", ())) if isinstance(product, Var) else ("", ())
        return [f for a in args for f in self.factors(a)] if op == "mul" else [product]


def combine(left, right, factor: int):
    constant, terms = left[0] + factor * right[0], dict(left[1])
    for var, coefficient in right[1].items():
        total = terms.get(var, 0) + factor * coefficient
        if total:
            terms[var] = total
        else:
            terms.pop(var, None)
    return constant, terms


def composed(form, at: dict):
    """A sum with other sums for some of its variables."""
    total = (form[0], {v: c for v, c in form[1].items() if v not in at})
    for v, c in form[1].items():
        if v in at:
            total = combine(total, at[v], c)
    return total


__all__ = ["NEAR", "ORDERS", "Facts", "combine", "composed", "integer"]
