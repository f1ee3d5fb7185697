"""A cotangent that is zero by the text of the program stays zero: it is not multiplied by a derivative that may be infinite.

    # ---- reverse sweep ----                 v = 0.5 / r
    if c:                                     if c:
        y_bar = s_bar                             x_bar_1 = s_bar * v
    else:                          becomes    else:
        y_bar = 0.0                               x_bar_1 = 0.0
    x_bar[0] = y_bar * (0.5 / r)              x_bar[0] = x_bar_1

Where `c` does not hold, no result depends on the value whose derivative is `0.5 / r`, whatever that is: for `r = 0` the
product 0 * inf would make it nan. So it is behind `y_bar[k] = 0.0`, which is what the adjoint of `y[k] = 1.0` leaves:
`y_bar[i]` is multiplied where `i != k`.

A cotangent that happens to be zero is multiplied: in `sqrt(x) ** 2` at 0 it is the limit of both factors that counts. What
`max` does not choose gets nothing, though `sqrt(max(x, 0.0))` has an infinite derivative there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from ..language import core
from ..language.core import FLOATS, Arr, Atom, Const, For, Function, If, Let, Loc, Merge, NoCotangent, NotChosen, Var, walk
from ..language.facts import Facts
from ..language.motion import facts_of
from ..language.queries import counts_up, is_assignment, is_branch, is_load, is_loop, is_store, operation, operations
from ..language.rewrite import kept
from .branch_fusion import merge_branches, sum_choices

NEVER = "never"
SINGULAR = {"reciprocal", "sqrt", "exp", "exp2", "expm1", "sinh", "cosh", "tan", "log", "log2", "log10", "log1p", "arcsin",
            "arccos", "arccosh", "arctanh"}         # operations that may be infinite, or nan, where their operands are not
LINEAR = ("mul", "neg", "add", "sub", "sum")
POLES = {"reciprocal", "log", "log2", "log10", "log1p", "arctanh"}         # those that are infinite for finite operands


Term = tuple[Var | None, int]                       # an integer: a variable, and what is added to it


@dataclass(frozen=True)
class Holds:
    """That a condition is what `truth` says. chosen: by it, a function chooses an operand."""

    cond: Var
    truth: bool
    chosen: bool = field(default=False, compare=False)

    @property
    def of(self) -> tuple:
        return (self.cond,)


@dataclass(frozen=True)
class Compared:
    """That a comparison of two integers holds."""

    op: str
    left: Term
    right: Term

    @property
    def of(self) -> tuple:
        return (self.left[0], self.right[0])

    def at(self, bound: dict) -> Compared:
        """The same of other integers in the places of variables."""
        left, right = ((bound[v][0], bound[v][1] + more) if v in bound else (v, more) for v, more in (self.left, self.right))
        return Compared(self.op, left, right)


Keys = frozenset                                    # of `Holds` and `Compared`: a scalar is zero unless each is so
OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}


@dataclass(frozen=True)
class Zeroed:
    """Elements that are zero: those at `index`, whatever the `free` ones in it are, `unless` these integers compare so."""

    index: tuple[Atom, ...]
    free: frozenset[Var] = frozenset()
    unless: Compared | None = None


@dataclass
class Here:
    """What is known at a place of the program: the integers and conditions bound there, what holds, which elements of
    buffers are zero, and the comparisons made here."""

    scope: set[Var] = field(default_factory=set)
    holds: Keys = Keys()
    zeroed: dict[Arr, tuple[Zeroed, ...]] = field(default_factory=dict)
    made: dict[Compared, Var] = field(default_factory=dict)

    def inside(self, stmt, zeroed: dict, *holds: Holds | Compared) -> Here:
        """What is known in a block of a statement, at whose head these elements are zero."""
        return Here(self.scope | {v for v in core.bound_inside(stmt) if v.dtype == "int64"}, self.holds | {*holds},
                    dict(zeroed), dict(self.made))

    def has(self, key) -> bool:
        """Whether what a key is about is bound here."""
        return all(v is None or v in self.scope for v in key.of)


def guard_products(function: Function) -> Function:
    """The program in which no zero that follows from its text is multiplied by what may be infinite."""
    function = sum_choices(function)
    guard = Guarding(function)
    body = guard.block(function.body, Here({p for p in function.params if isinstance(p, Var)}))
    return function if body is function.body else merge_branches(replace(function, body=body))


class Guarding:
    """zero: what scalars are zero unless it is so; singular: those that may be infinite; poles: those of them that are so at
    one place, not beyond a range; choices: partial derivatives of what chooses an operand. What comes of these is multiplied
    but for poles: `max(price - strike, 0.0)` needs no branch for the exponential of a price."""

    def __init__(self, function: Function):
        self.facts: Facts = facts_of(function)
        self.integers = operations(walk(function.body), lambda s: s.op in (*OPPOSITE, "add", "sub") and all(
            a.dtype == "int64" for a in s.args))
        self.place = {v: k for k, v in enumerate(v for s in walk(function.body) for v in core.defined(s))}
        self.zero: dict[Var, Keys] = {}
        self.singular: set[Var] = set()
        self.poles: set[Var] = set()
        self.choices: set[Var] = set()
        self.counts = set(operations(walk(function.body), lambda s: s.op == "cast" and s.args[0].dtype == "int64"))
        self.sides: dict[tuple, Const] = {}         # what a scalar is where a condition holds

    def block(self, block, here: Here) -> tuple:
        out: list = []
        for s in block:
            if is_branch(s):
                made = self.branch(s, here)
            elif is_loop(s):
                made = self.loop(s, here)
            else:
                made = self.product(s, here, out) if operation(s) and s.var.dtype in FLOATS else s
            if is_load(s):
                self.note(s.var, Keys(key for z in here.zeroed.get(s.array, ())
                                      if isinstance(key := self.unless_at(s.index, z), Compared)))
            self.learn(s, here)
            out.append(made)
        return kept(block, out)

    def learn(self, stmt, here: Here) -> None:
        """What is known behind a statement."""
        here.scope.update(v for v in core.defined(stmt) if v.dtype in ("bool", "int64"))
        here.zeroed = {a: left for a, zeroed in here.zeroed.items() if (left := self.still(stmt, a, zeroed))}
        for array, zeroed in self.zeroing(stmt, here):
            here.zeroed[array] = (*here.zeroed.get(array, ()), zeroed)

    def still(self, stmt, array: Arr, zeroed: tuple[Zeroed, ...]) -> tuple[Zeroed, ...]:
        """Those of the elements of an array that a statement, in which they are zero at first, leaves so."""
        if array not in core.written((stmt,)):
            return zeroed
        if any(array in core.written((s,)) and not is_store(s) for s in walk((stmt,)) if not core.sub_blocks(s)):
            return ()
        written = [s for s in walk((stmt,)) if is_store(s) and s.array is array]
        return tuple(z for z in zeroed if all(is_zero(s.value) or (key := self.unless_at(s.index, z)) is NEVER
                                              or key in self.keys(s.value) for s in written))

    def zeroing(self, stmt, here: Here) -> Iterator[tuple[Arr, Zeroed]]:
        """The elements that a statement, or a nest over whole axes, sets to zero, or to what is zero unless integers compare
        in one way."""
        loops: list[For] = []
        inner = [stmt]
        while len(inner) == 1 and counts_up(inner[0]):
            loops.append(inner[0])
            inner = [s for s in inner[0].body if core.sub_blocks(s) and not is_branch(s)]
        if inner and inner != [stmt]:
            return
        free = frozenset(loop.index for loop in loops)
        body = loops[-1].body if loops else (stmt,)
        every = [s for s in walk((stmt,)) if not core.sub_blocks(s)]
        for s in body:
            if not is_assignment(s) or sum(s.array in core.written((t,)) for t in every) > 1:
                continue
            known = free | here.scope | {None}
            along = tuple(zip(s.index, s.array.shape, strict=True))
            if all(any(i is loop.index and self.facts.same(loop.stop, size) for i, size in along) for loop in loops) and all(
                    isinstance(i, Const) or i in known for i in s.index):
                if is_zero(s.value):
                    yield s.array, Zeroed(s.index, free)
                for key in self.keys(s.value):
                    if isinstance(key, Compared) and known.issuperset(key.of):
                        yield s.array, Zeroed(s.index, free, key)

    def unless_at(self, index, zeroed: Zeroed) -> Compared | str | None:
        """When an element is not among those that are zero; NEVER is it one of them; None if it takes more to tell."""
        bound: dict[Atom, Atom] = {}
        apart = [(i, bound.setdefault(z, i) if z in zeroed.free else z) for i, z in zip(index, zeroed.index, strict=True)]
        apart = [pair for pair in apart if not self.facts.same(*pair)]
        if any(self.facts.at_most(a, b, 1) or self.facts.at_most(b, a, 1) for a, b in apart):
            return NEVER
        if not apart and zeroed.unless:
            return zeroed.unless.at({v: self.term(i) for v, i in bound.items()})
        if len(apart) == 1 and not zeroed.unless:
            return Compared("ne", *map(self.term, apart[0]))
        return None

    def term(self, x: Atom) -> Term:
        """An integer as a variable and what is added to it."""
        if isinstance(x, Const):
            return None, x.value
        made = self.integers.get(x)
        if made is not None and made.op in ("add", "sub") and isinstance(made.args[1], Const):
            base, more = self.term(made.args[0])
            return base, more + made.args[1].value * (1 if made.op == "add" else -1)
        return x, 0

    def conditions(self, cond: Atom, truth: bool, chosen: bool = False) -> Keys:
        """What it means that a condition holds, or does not."""
        if not isinstance(cond, Var):
            return Keys()
        if chosen:
            return Keys({Holds(cond, truth, True)})
        made = self.integers.get(cond)
        if made is None or made.op not in OPPOSITE:
            return Keys({Holds(cond, truth)})
        return Keys({Holds(cond, truth), Compared(made.op if truth else OPPOSITE[made.op], *map(self.term, made.args))})

    def loop(self, stmt, here: Here):
        """A loop: what is zero before it is zero in it, if an iteration that finds it so leaves it so."""
        zeroed = here.zeroed
        while True:
            inside = partial(here.inside, stmt, zeroed)
            made = core.with_blocks(stmt, lambda block, inside=inside: self.block(block, inside()))
            left = {a: kept for a, z in zeroed.items() if (kept := self.still(stmt, a, z))}
            if left == zeroed:
                return made
            zeroed = left

    def branch(self, stmt: If, here: Here) -> If:
        holds = [self.conditions(stmt.cond, truth) for truth in (True, False)]
        sides = [self.block(side, here.inside(stmt, here.zeroed, *h))
                 for side, h in zip((stmt.then, stmt.orelse), holds, strict=True)]
        for m in stmt.merges:
            self.sides |= {(m.var, key): x for h, x in zip(holds, (m.then, m.orelse), strict=True) for key in h
                           if isinstance(x, Const)}
            self.note(m.var, self.of_merge(stmt, m, here))
            if isinstance(m.then, NotChosen) or isinstance(m.orelse, NotChosen):
                self.choices.add(m.var)
            for those in (self.singular, self.poles):
                if not those.isdisjoint((m.then, m.orelse)):
                    those.add(m.var)
        same = sides[0] is stmt.then and sides[1] is stmt.orelse
        return stmt if same else replace(stmt, then=sides[0], orelse=sides[1])

    def product(self, stmt: Let, here: Here, out: list):
        """The operation, or a branch around it, before which `out` gets its condition."""
        keys = self.of_operation(stmt)
        self.note(stmt.var, keys)
        infinite, pole = may_be_infinite(stmt), self.has_pole(stmt)
        factors = {a for a in stmt.args if self.keys(a).isdisjoint(keys)}
        if stmt.op in ("mul", "div"):
            choice = not self.choices.isdisjoint(stmt.args) and not any(isinstance(a, Const) for a in stmt.args)
            pole_here = choice or pole or not self.poles.isdisjoint(factors)
            left = [key for key in keys - here.holds if pole_here or not (isinstance(key, Holds) and key.chosen)]
            if choice:                      # the other factor may be infinite where this one is zero
                left = [key for a in stmt.args if a in self.choices for key in self.keys(a) if key in left] or left
            if left and (choice or infinite or not self.singular.isdisjoint(factors)):
                left.sort(key=lambda key: (isinstance(key, Compared), [repr(x) for x in key.of], repr(key),
                                           [self.place.get(x, -1) for x in key.of]))
                all_of = [key for key in left if isinstance(key, Holds) and key.chosen] or [
                    Holds(here.made.get(key) or self.compare(key, here, out, stmt.loc), True)
                    if isinstance(key, Compared) else key for key in left[:1]]
                for holds in all_of:
                    stmt = replace(stmt, args=tuple(self.sides.get((a, holds), a) for a in stmt.args))
                return unless_zero(stmt, all_of)
        for new, those in ((infinite, self.singular), (pole, self.poles)):
            if new or stmt.op in LINEAR and not those.isdisjoint(stmt.args):
                those.add(stmt.var)
        return stmt

    def has_pole(self, stmt: Let) -> bool:
        """Whether an operation is infinite, or nan, at a place in the middle of those where it is not."""
        if stmt.op == "div":
            return may_be_infinite(stmt) and stmt.args[1] not in self.counts
        return stmt.op in POLES or stmt.op == "pow" and may_be_infinite(stmt)

    def compare(self, key: Compared, here: Here, out: list, loc: Loc) -> Var:
        """The condition that two integers compare so, as `out` computes it."""
        args: list[Atom] = []
        for base, more in (key.left, key.right):
            if base is not None and more:
                moved = Var("place", "int64")
                out.append(Let(moved, "add", (base, Const(more, "int64")), loc))
                args.append(moved)
            else:
                args.append(Const(more, "int64") if base is None else base)
        here.made[key] = Var("apart", "bool")
        out.append(Let(here.made[key], key.op, tuple(args), loc))
        return here.made[key]

    def note(self, var: Var, keys: Keys) -> None:
        self.zero[var] = keys

    def keys(self, x: Atom) -> Keys:
        return self.zero.get(x, Keys()) if isinstance(x, Var) else Keys()

    def both(self, a: Atom, b: Atom) -> Keys:
        """What makes two values zero."""
        if is_zero(a) or is_zero(b):
            return self.keys(b if is_zero(a) else a)
        return self.keys(a) & self.keys(b)

    def of_merge(self, branch: If, merge: Merge, here: Here) -> Keys:
        """What makes the value of a merge zero, as far as it is known behind the branch."""
        if merge.var.dtype not in FLOATS:
            return Keys()
        keys = self.both(merge.then, merge.orelse)
        if is_zero(merge.then) != is_zero(merge.orelse):
            chosen = isinstance(merge.then if is_zero(merge.then) else merge.orelse, NotChosen)
            keys |= self.conditions(branch.cond, is_zero(merge.orelse), chosen)
        return Keys(key for key in keys if here.has(key))

    def of_operation(self, stmt: Let) -> Keys:
        match stmt.op:
            case "mul":
                return self.keys(stmt.args[0]) | self.keys(stmt.args[1])
            case "div" | "neg":
                return self.keys(stmt.args[0])
            case "add" | "sub" | "sum":
                return self.both(*stmt.args)
        return Keys()


def may_be_infinite(stmt: Let) -> bool:
    """Whether an operation may give infinity or nan for finite numbers."""
    last = stmt.args[-1] if stmt.args else None
    if stmt.op == "div":
        return not isinstance(last, Const) or last.value == 0
    if stmt.op == "pow":
        return not (isinstance(last, Const) and last.value >= 0 and last.value == int(last.value))
    return stmt.op in SINGULAR


def is_zero(x: Atom) -> bool:
    return isinstance(x, NoCotangent)


def unless_zero(stmt: Let, all_of: list[Holds]) -> If:
    """A product as a branch, taken where it need not be zero; or a branch in another, where several things must hold."""
    one = Const(1.0, stmt.var.dtype)
    inner, none = Var(stmt.var.hint, stmt.var.dtype), NoCotangent(stmt.var.dtype)
    taken: tuple = (replace(stmt, var=inner),)
    value: Atom = inner
    if stmt.op == "mul" and one in stmt.args:
        value, taken = stmt.args[stmt.args[0] == one], ()
    for key in all_of:
        var = stmt.var if key is all_of[-1] else Var(stmt.var.hint, stmt.var.dtype)
        made = If(key.cond, taken, (), (Merge(var, value, none),), stmt.loc) if key.truth else If(
            key.cond, (), taken, (Merge(var, none, value),), stmt.loc)
        taken, value = (made,), var
    return made


__all__ = ["guard_products"]
