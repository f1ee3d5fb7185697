"""Which loops may run as threads, and why another may not.

Iterations are independent if what one writes no other touches, or if they only add to it; what a loop hands on must be a
sum, a product or an extremum, which threads can combine in any order.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TypeGuard

from ..language import core
from ..language.core import Arr, Call, Carry, For, Let, Load, Loc, Store, Var, While, operands, walk
from ..language.motion import Facts
from ..language.names import defined_in
from ..language.queries import allocated_in, is_access
from ..optimise.parallel import combined

KINDS = {"sum": ("sum", "add", "sub"), "max": ("maximum", "max", "or"), "min": ("minimum", "min", "and"), "mul": ("mul",)}
REDUCTIONS = {op: kind for kind, operations in KINDS.items() for op in operations if op != "sub"}


@dataclass(frozen=True)
class Obstacle:
    """Why a loop's iterations cannot be threads: what depends on what, where, and what would help."""

    problem: str
    loc: Loc
    hint: str


def obstacle(loop, facts: Facts) -> Obstacle | None:
    """What keeps the iterations of a loop from running at once; None if they may."""
    if isinstance(loop, While):
        return Obstacle("a `while` loop runs its iterations one after the other", loop.loc,
                        "put it inside a loop over independent elements, each of which then runs its own")
    if loop.exit is not None:
        return Obstacle("the loop may end early, so that an iteration depends on those before it", loop.loc,
                        "let every iteration run, and leave out what it does by a condition")
    if not isinstance(loop.step, core.Const):
        return Obstacle("the step of the loop is known only when it runs", loop.loc,
                        "count by a constant, and scale the index")
    for s in walk(loop.body):
        if isinstance(s, core.Swap):
            return Obstacle("the loop exchanges arrays from one iteration to the next", s.loc, "it runs on the host if "
                            "its body has loops over elements")
        if isinstance(s, core.Resize):
            return Obstacle("the loop makes an array grow", s.loc, "give the array its full size before the loop")
        if isinstance(s, (core.Print, core.Guard)):
            what = "prints" if isinstance(s, core.Print) else "raises an error"
            return Obstacle(f"the loop {what}, which threads cannot", s.loc, "take it out of the loop")
        if isinstance(s, Call):
            return Obstacle(f"the loop calls a library function ({s.op}), which threads cannot", s.loc,
                            "take the call out of the loop, or write it as loops over elements")
    return carried(loop) or shared(loop, facts)


def is_nest(stmt, facts: Facts) -> TypeGuard[For]:
    """Whether a statement is a loop whose iterations may run at once."""
    return isinstance(stmt, For) and obstacle(stmt, facts) is None


def carried(loop: For) -> Obstacle | None:
    """A value that one iteration hands to the next, if it is more than a sum, product or extremum."""
    reads = count_reads(loop)
    for c in loop.carries:
        if reduction(loop, c, reads) is None:
            return Obstacle(f"the value of `{c.var.hint}` in one iteration depends on the iterations before it", loop.loc,
                            "let each iteration compute its own value from arrays; sums, products and extrema of all "
                            "iterations are fine")
    return None


def count_reads(loop: For) -> dict:
    reads: dict = {}
    for s in walk((loop,)):
        for x in operands(s):
            reads[x] = reads.get(x, 0) + 1
    return reads


def reduction(loop: For, carry: Carry, reads: dict | None = None) -> str | None:
    """How what a loop hands on combines the iterations: "sum", "max", "min" or "mul"; None if in no such way."""
    reads = count_reads(loop) if reads is None else reads
    return next((kind for kind, operations in KINDS.items() if combined(loop.body, carry, reads, operations)), None)


def shared(loop: For, facts: Facts) -> Obstacle | None:
    """A buffer through which an iteration may see what another one writes."""
    private = allocated_in(loop.body)
    known = Accesses(loop, facts)
    for array in written_in_order(loop):
        if array in private:
            continue
        for store in known.stores[array]:
            for other in known.all[array]:
                if store.accumulate and isinstance(other, Store) and other.accumulate or known.apart(store, other, loop):
                    continue
                if isinstance(other, Load):
                    return Obstacle(f"an iteration may read elements of `{array.hint}` that another one writes", store.loc,
                                    "read from one array and write to another")
                return Obstacle(f"several iterations may write one element of `{array.hint}`", store.loc,
                                "write at the loop's own index, or add with `+=`")
    return None


def written_in_order(loop: For) -> list[Arr]:
    found: dict = {}
    for s in walk(loop.body):
        if isinstance(s, Store):
            found[s.array] = None
    return list(found)


class Accesses:
    """The loads and stores in a loop, buffer by buffer, and which of them can meet in one element."""

    def __init__(self, loop: For, facts: Facts):
        self.facts, self.inside = past_checks(loop, facts), defined_in((loop,))
        self.all: dict[Arr, list] = {}
        self.stores: dict[Arr, list[Store]] = {}
        for s in walk(loop.body):
            if is_access(s):
                self.all.setdefault(s.array, []).append(s)
                if isinstance(s, Store):
                    self.stores.setdefault(s.array, []).append(s)

    def apart(self, a, b, loop: For) -> bool:
        """Whether two accesses touch different elements wherever the iterations of the loop differ, in one iteration of the
        loops around it."""
        inside = defined_in((loop,)) - {loop.index}
        for i, j in zip(a.index, b.index, strict=True):
            p, q = (multiple(x, loop.index, inside, self.facts) for x in (i, j))
            if p is not None and q is not None and differ((p, q), core.known_value(loop.step)):
                return True
        return self.never_meet(a, b) or a.index == b.index and self.digits(a.index, loop, inside)

    def digits(self, index, loop: For, inside: set) -> bool:
        """Whether subscripts, which may be digits of a number, differ from iteration to iteration.

        That is what reshaping makes of subscripts: i // m and i % m at two axes, or i * m + j with j from 0 to m - 1.
        """
        known: set = set(index)
        whole: dict = {}
        waiting = list(known)
        while waiting:
            x = waiting.pop()
            op, args = self.made(x)
            if multiple(x, loop.index, inside, self.facts) is not None:
                return True
            if op == "add" and any(self.leading_digit(p, q, loop, inside) for p, q in (args, args[::-1])):
                return True
            if op in ("floordiv", "mod"):
                whole.setdefault(args, set()).add(op)
                if len(whole[args]) == 2 and args[0] not in known:
                    known.add(args[0])
                    waiting.append(args[0])
        return False

    def made(self, x):
        return self.facts.definition.get(x, ("", ())) if isinstance(x, Var) else ("", ())

    def leading_digit(self, whole, rest, loop: For, inside: set) -> bool:
        """Whether whole + rest is i * m + rest, with rest from 0 to m - 1."""
        op, args = self.made(whole)
        if op != "mul" or loop.index not in args:
            return False
        width = args[1] if args[0] is loop.index else args[0]
        return width not in inside and self.facts.at_least(rest) and self.facts.at_most(rest, width, 1)

    def never_meet(self, a, b) -> bool:
        """Whether two accesses touch different elements in all iterations: at one axis they are so many rows apart."""
        for i, j in zip(a.index, b.index, strict=True):
            (c, x), (d, y) = self.facts.affine(i), self.facts.affine(j)
            if c != d and x == y and not any(v in self.inside for v in x):
                return True
        return False


def past_checks(loop: For, facts: Facts) -> Facts:
    """Facts by which a subscript that is checked is the one before the check, if that is never negative.

    Where the check fails the subscript becomes 0 and an error is raised in the end: what threads do to that element is of no
    account. For telling accesses apart only: places must not be computed past their checks.
    """
    checked = {s.var: s.args[0] for s in walk(loop.body) if isinstance(s, Let) and s.op == "wrap_index"
               and facts.at_least(s.args[0])}
    if not checked:
        return facts
    made = copy.copy(facts)
    made.alias, made._affine = {**facts.alias, **checked}, {}
    return made


def owned(loop: For, store: Store, known: Accesses) -> bool:
    """Whether no other iteration of a loop touches the element that a store writes."""
    return all(known.apart(store, other, loop) for other in known.all[store.array])


def differ(places, step: int) -> bool:
    """Whether subscripts differ wherever the iterations do: they are f * i + c with one f, and the constants are equal, or
    differ by something that f times a number of steps never is."""
    (f, a, x), (g, b, y) = places
    return f == g and x == y and (a == b or (a - b) % (f * step) != 0)


def offset(subscript, index: Var, inside: set, facts: Facts):
    """What a subscript adds to a loop's index, if that is all it does, in a form that compares; None otherwise."""
    place = multiple(subscript, index, inside, facts)
    return place[1:] if place is not None and place[0] == 1 and all(v not in inside for v, _ in place[2]) else None


def multiple(subscript, index: Var, inside: set, facts: Facts):
    """(factor, constant, further terms) of a subscript that differs from one iteration to the next; None for another one."""
    constant, terms = facts.affine(subscript)
    if index not in terms or any(varies(v, index, inside, facts) for v in terms if v is not index):
        return None
    return terms[index], constant, frozenset((v, c) for v, c in terms.items() if v is not index)


def varies(v, index: Var, inside: set, facts: Facts) -> bool:
    """Whether a number may differ from iteration to iteration: it is made in the loop, of more than what stands outside."""
    if v is index or v in inside and v not in facts.definition:
        return True
    return v in inside and any(isinstance(x, Var) and varies(x, index, inside, facts) for x in facts.definition[v][1])


def collapsed(loop: For, facts: Facts) -> list[For]:
    """The loops, from an independent one inwards, whose iterations together can be threads."""
    found = [loop]
    inside = defined_in((loop,))
    while (inner := only_loop(found[-1], facts, inside)) is not None:
        found.append(inner)
    return found


def only_loop(loop: For, facts: Facts, inside: set) -> For | None:
    """The loop inside an independent one that takes all its work: each thread may compute again what stands around it.

    inside: what the nest defines, on which its bounds must not depend.
    """
    loops = [s for s in loop.body if isinstance(s, For)]
    if len(loops) != 1 or obstacle(loops[0], facts) is not None:
        return None
    inner = loops[0]
    if inner.start in inside or inner.stop in inside:
        return None
    written = core.written(inner.body)
    position = loop.body.index(inner)
    results: dict = {c.result: c for c in inner.carries}
    heads = {c.var for c in loop.carries}
    for s in loop.body[:position]:
        if not isinstance(s, (Let, Load, core.Comment)) or isinstance(s, Load) and s.array in written \
                or any(x in heads for x in operands(s)):
            return None
    joining: set = set()
    for s in loop.body[position + 1:]:
        if isinstance(s, core.Comment):
            continue
        if not isinstance(s, Let) or s.op not in REDUCTIONS or not any(x in results for x in s.args) \
                or not all(x in results or x in heads for x in s.args):
            return None
        if any(x in results and not neutral(results[x].init, s.op) for x in s.args):
            return None
        joining.add(s.var)
    return inner if all(c.next in joining or c.next in results and results[c.next].init is c.var
                        for c in loop.carries) else None


def neutral(atom, op: str) -> bool:
    """Whether an operation with this operand gives the other one."""
    return isinstance(atom, core.Const) and atom == neutral_element(REDUCTIONS[op], atom.dtype)


def neutral_element(kind: str, dtype: str) -> core.Const:
    """What a reduction begins with: "sum", "max", "min" or "mul" of numbers of a dtype."""
    if kind in ("sum", "mul"):
        return core.Const((0.0 if dtype in core.FLOATS else 0) + (kind == "mul"), dtype)
    if dtype == "bool":
        return core.Const(kind == "min", dtype)
    if dtype in core.FLOATS:
        return core.Const(float("-inf") if kind == "max" else float("inf"), dtype)
    return core.Const(-2**63 if kind == "max" else 2**63 - 1, dtype)


__all__ = ["Accesses", "Obstacle", "collapsed", "count_reads", "neutral_element", "obstacle", "offset", "owned",
           "reduction"]
