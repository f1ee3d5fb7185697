"""What an iteration makes and then copies whole to a row of a buffer is made there.

    v_tape = np.empty((9, 5))                       v_tape = np.empty((9, 5))
    for k in range(9):                              for k in range(9):
        v = np.empty(5)                                 for i in range(5):
        for i in range(5):             becomes              v_tape[k, i] = u[i] * r
            v[i] = u[i] * r                             for i in range(5):
        for i in range(5):                                  s[i] += v_tape[k, 4 - i]
            v_tape[k, i] = v[i]
        for i in range(5):
            s[i] += v[4 - i]

So is a buffer that has a row for each iteration too, as where the reverse sweep reads `w[k, i]`, and what is copied to
`u_tape[k + 1, i]` is the same: `w` goes. The copy must be the last that is written to both in the iteration, and nothing
may touch that row before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..language import core
from ..language.build import Builder, sum_of
from ..language.core import Arr, Atom, Call, For, Function, Load, Ref, Store, array_of
from ..language.facts import combine
from ..language.names import defined_in
from ..language.queries import is_access, is_allocation, is_assignment, loads
from ..language.rewrite import top_down
from ..language.substitution import substitute
from .rows import Rows, nest_of, one_by_one


@dataclass(frozen=True, eq=False)
class Copy:
    """A nest of a loop that copies `source`, or a row of it, to a row of `target`. prefix: the indices in front of the row;
    shift: the row of the target less the loop's index."""

    source: Arr
    target: Arr
    nest: For
    store: Store
    load: Load
    prefix: tuple
    shift: tuple

    @property
    def local(self) -> bool:
        """Whether the source has no rows: it belongs to the iteration."""
        return len(self.load.index) < len(self.store.index)


def make_in_rows(function: Function, rows: dict | None = None) -> Function:
    """The program that makes in rows what it copies there. `rows` gets what stands for buffers that go."""
    rows = {} if rows is None else rows

    def move(block, loop: For, known: Rows) -> Function | None:
        found = (copy for nest in loop.body for copy in copies(loop, nest, known) if can_go(block, loop, copy, known))
        copy = next(found, None)
        return None if copy is None else in_row(loop, copy, known, rows)
    return one_by_one(function, move)


def copies(loop: For, nest, known: Rows) -> list[Copy]:
    """What a nest of a loop copies whole to rows that the loop's index numbers."""
    indices, body = nest_of(nest)
    read: dict[Atom, Load] = {s.var: s for s in loads(body)}
    found = []
    for s in body if indices else ():
        source = read.get(s.value) if is_assignment(s) else None
        at = -1 if source is None else len(s.index) - len(indices) - 1
        if source is None or at < 0 or s.index[at + 1:] != indices or source.index[-len(indices):] != indices:
            continue
        own, shift = source.index[:-len(indices)], known.row(s.index[at], loop)
        rows = not own or len(own) == at + 1 and own[:at] == s.index[:at] and known.row(own[at], loop)[1] == shift[1]
        if rows and defined_in((loop,)).isdisjoint((*s.index[:at], *shift[1])):
            found.append(Copy(source.array, s.array, nest, s, source, s.index[:at], shift))
    return found


def can_go(block, loop: For, copy: Copy, known: Rows) -> bool:
    """Whether the target's rows can be the source's memory."""
    source, target, at = copy.source, copy.target, len(copy.prefix)
    before = [t for s in loop.body[:loop.body.index(copy.nest)] for t in core.walk((s,))]
    depth = 0 if copy.local else at + 1
    axes = [*(range(at) if depth else ()), *range(at + 1, len(target.shape))]       # that both have
    sizes = [*source.shape[:at], *source.shape[depth:]] if depth else list(source.shape)
    if source is target or {source, target} & known.fixed or source.dtype != target.dtype or not (
            known.made_empty(source) and known.made_empty(target) and known.runs_over(copy.nest, target.shape[at + 1:])):
        return False
    if len(sizes) != len(axes) or not all(known.facts.same(n, target.shape[k]) for n, k in zip(sizes, axes, strict=True)):
        return False
    if not all(known.by_rows(s, source, depth) for s in known.uses(source)) or not all(
            known.by_rows(s, target, at + 1) for s in known.uses(target)):
        return False
    inside = set(core.walk(loop.body))
    if not all(s in before for s in known.stores(source)) or [
            s for s in known.stores(target) if s in inside] != [copy.store]:
        return False
    beside = (*before, *(s for s in core.walk((copy.nest,)) if s is not copy.store))
    if not all(apart(p, copy, known) for s in beside for p in places(s, target)):
        return False
    if target in defined_in(loop.body):
        return False
    if copy.local:
        return known.home[source] is loop.body
    earlier = {t for s in block[:block.index(loop)] for t in core.walk((s,))}
    return known.home[source] is known.home[target] and known.own_part(target, copy.prefix, loop) and all(
        at_row(p, copy.load.index[:at + 1], known) for s in known.stores(source) for p in places(s, source)) and all(
        s in inside or s in earlier for s in known.stores(target))


def places(stmt, array: Arr) -> list[tuple]:
    """The leading indices at which a statement touches a buffer."""
    if is_access(stmt):
        return [stmt.index] if stmt.array is array else []
    return [x.prefix for x in core.operands(stmt) if isinstance(x, Ref) and x.array is array]


def at_row(index: tuple, wanted: tuple, known: Rows) -> bool:
    return len(index) >= len(wanted) and all(map(known.facts.same, index[:len(wanted)], wanted))


def apart(index: tuple, copy: Copy, known: Rows) -> bool:
    """Whether an element is in another row than the one that is copied to."""
    at = len(copy.prefix)
    distance = combine(known.facts.affine(index[at]), known.facts.affine(copy.store.index[at]), -1)
    return distance[0] != 0 and not distance[1]


# -- what is made -------------------------------------------------------------------------------------------------------
def in_row(loop: For, copy: Copy, known: Rows, rows: dict) -> Function:
    """The program in which one buffer's values are made where they are copied to."""
    function, source, target, at = known.function, copy.source, copy.target, len(copy.prefix)
    rows[source] = target
    without = top_down(loop.body, lambda s: () if s is copy.store or is_allocation(s) and s.array is source else None)
    if copy.local:
        head = Builder(known.facts)
        row = sum_of(head, combine(copy.shift, (0, {loop.index: 1}), 1))
        body = (*head.stmts, *substitute(without, {source: Ref(target, (*copy.prefix, row))}, fresh=False))
        return replace(function, body=top_down(
            function.body, lambda s: (replace(loop, body=body),) if s is loop else None))
    more = combine(copy.shift, known.row(copy.load.index[at], loop), -1)[0]

    def change(s):
        if is_allocation(s) and s.array is source:
            return ()
        if s is loop:
            return (replace(loop, body=top_down(without, change)),)
        if source not in map(array_of, core.operands(s)):
            return None
        b = Builder(known.facts)

        def there(index: tuple) -> tuple:
            return (*index[:at], b.iadd(index[at], more), *index[at + 1:])

        def ref(x):
            return replace(x, array=target, prefix=there(x.prefix)) if array_of(x) is source else x
        if is_access(s):
            s = replace(s, array=target, index=there(s.index))
        elif isinstance(s, Call):
            s = replace(s, args=tuple(map(ref, s.args)), outs=tuple(map(ref, s.outs)))
        return (*b.stmts, s)
    return replace(function, body=top_down(function.body, change))


__all__ = ["make_in_rows"]
