"""The adjoint of a thread program: the thread runs forward again, then its statements from last to first.

Adjoints of arrays are parameters that are updated in place: for what the kernel writes, the cotangent of the new contents is
replaced by that of the old ones; to what it reads, contributions are added.

    v = x[i]                v_bar is added to x_bar[i]: atomically, unless no other thread touches that element
    y[i] = v                v_bar += y_bar[i];  y_bar[i] = 0
    cuda.atomic.add(y, i, v)    v_bar += y_bar[i]
    cuda.syncthreads()      cuda.syncthreads()

A kernel without races has an adjoint without races: in each phase, elements that one thread wrote are touched by that thread
alone, and to those that several threads read they only add. Two analyses of `reverse` are about one thread and must not
reason about subscripts where others write: what a shared buffer holds, and when it is overwritten (`ThreadOrder`); and a
value may be read again from such a buffer only in the phase in which it was read (`ThreadReverse.overwritten_since`).

A shared buffer that every iteration of a loop fills anew (a tile) is not saved: the reverse of an iteration fills it again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..differentiate.activity import active
from ..differentiate.primal_values import Scope
from ..differentiate.reverse import Reverse
from ..differentiate.tape import TapePlan
from ..language import core
from ..language.build import Builder, integer
from ..language.core import Arr, Comment, Const, Function, Var, is_float, walk
from ..language.dependence import Order
from ..language.errors import UnsupportedSyntax
from ..language.facts import Facts
from ..language.queries import is_addition, is_assignment, is_load, is_store, loaded_in, stored_in
from ..language.rewrite import top_down
from ..language.substitution import substitute
from ..optimise.array_contraction import scalars
from ..optimise.branch_fusion import merge_branches
from ..optimise.constant_folding import fold_constants
from ..optimise.simplify import resolve_links, simplify
from ..optimise.store_forwarding import forward_values
from .additions import sums_first
from .owners import Owners
from .phases import has_barrier, is_barrier, without_idle_barriers
from .threads import BARRIER, Thread
from .tiles import Tile, find_tiles, outer_values

BLOCK_SUM = "block_sum"         # the sum of a number of each thread, as the block's element of a buffer
MARK = Comment("reverse sweep: the same statements, last to first", True)


@dataclass(eq=False)
class Adjoint:
    """The adjoint of a thread program.

    function: after the parameters of the thread program come the adjoints in `bars`, those of shared buffers included; it
        returns all adjoints, which says what of it is needed.
    bars: parameter -> buffer of its adjoint; for a number the contributions of the blocks, to be added up.
    forward: the forward sweep with its tapes.
    """

    function: Function
    thread: Thread
    bars: dict
    shared: tuple[Arr, ...]
    forward: tuple


class ThreadOrder(Order):
    """The order of execution in one thread, where `common` buffers are written by other threads too.

    refilled: stores of tiles, which the reverse sweep runs again instead of undoing them. joint: additions of several
    threads to one element, which no thread can undo.
    """

    def __init__(self, function: Function, facts: Facts, common, refilled, joint):
        self.common, self.joint = set(common), joint
        super().__init__(function, facts)
        self.accesses = {a: [x for x in found if not is_barrier(x[0]) and x[0] not in refilled]
                         for a, found in self.accesses.items()}

    def writes(self, stmt):
        if stmt not in self._writes:
            swapped = {a for s in walk((stmt,)) if isinstance(s, core.Swap) for a in s.targets}
            self._writes[stmt] = stored_in((stmt,)) | swapped
        return self._writes[stmt]

    def precedes(self, a, r, r_index, s, s_index, after=False):
        if a in self.common:
            r_index = s_index = None
        return super().precedes(a, r, r_index, s, s_index, after)

    def still_written(self, a, load, among=None) -> bool:
        """Whether any thread may write `a` after `load`, by one of some statements if they are given."""
        return any(kind == "write" and (among is None or s in among) and self.precedes(a, load, None, s, None)
                   for s, kind, _ in self.accesses.get(a, ()))


class ThreadPlan(TapePlan):
    """The tape of a thread."""

    def flat(self, hint, what):
        raise UnsupportedSyntax("an array whose size is known only inside a loop must be saved for the gradient",
                                getattr(what, "loc", None), "create it before the loop")


class ThreadReverse(Reverse):
    """The reverse sweep of one thread among others."""

    def __init__(self, function, facts, live, registry, plan, order, tiles: dict):
        super().__init__(function, facts, live, registry, plan, order)
        self.tiles = tiles

    def statement(self, stmt) -> None:
        if not is_barrier(stmt):
            return super().statement(stmt)
        return self.barrier(stmt.outs, stmt.loc)

    def barrier(self, arrays, loc) -> None:
        b = self.scope.b
        outs = (*arrays, *(self.bar(a) for a in arrays if a in self.active))
        if b.stmts and is_barrier(b.stmts[-1]) and set(b.stmts[-1].outs) >= set(outs):
            return
        b.call(outs, BARRIER, (), loc=loc)
        for a in outs:
            b.forget(a)

    def overwritten_since(self, array, stmt, scope, nested) -> bool:
        if super().overwritten_since(array, stmt, scope, nested) or self.order.still_written(array, stmt, self.order.joint):
            return True
        if array not in self.order.common:
            return False
        at = self.order.position[stmt][1]
        last = scope.position + (1 if nested or scope.inside else 0)
        return has_barrier(scope.block[at + 1:last]) and self.order.still_written(array, stmt)

    def worth_reading(self, v) -> bool:
        """Never what was stored to memory outside: the store would have to be made again."""
        return False

    def block(self, block, allocated: bool = False) -> None:
        if block in self.tiles:
            self.refill(self.tiles[block])
        super().block(block, allocated)

    def refill(self, tile: Tile) -> None:
        """Fill the tiles of an iteration again, before its reverse."""
        b = self.scope.b
        mapping: dict = {v: self.need(v) for v in outer_values(tile.body)}
        b.stmts.extend(substitute(tile.body, mapping))
        self.barrier(tile.arrays, next(iter(tile.body)).loc)


# -- the program --------------------------------------------------------------------------------------------------
def adjoint_of(thread: Thread, common: tuple, registry) -> Adjoint:
    """The adjoint of a thread program with respect to all its arguments of floating point.

    common: the buffers through which threads exchange values (see `phases.exchanged`).
    """
    function, facts = thread.function, thread.facts
    wanted = [p for p in thread.lowered.leaves if is_float(p)]
    live = active(function, wanted, registry.passes_through, registry.inactive_calls)
    tiles = find_tiles(thread)
    refilled = {s for tile in tiles.values() for s in tile.stores}
    owners = Owners(function, facts, thread.at, thread.launch)
    order = ThreadOrder(function, facts, common, refilled, joint_additions(thread, owners))
    plan = ThreadPlan(function, facts, order, owners.fixed)
    plan.active = live
    while True:
        plan.begin()
        sweep = ThreadReverse(function, facts, [live], registry, plan, order, tiles)
        body, bars = swept(sweep, thread, wanted)
        if not plan.grew():
            break
    shared_bars = tuple(sweep.bar(a) for a in thread.shared if a in live)
    empty = Function(f"{function.name}_adjoint", (*function.params, *bars.values(), *shared_bars), (), tuple(bars.values()))
    forward = plan.augment(function.body)
    program = tidied(forward, body, empty, {a for tile in tiles.values() for a in tile.arrays})
    return Adjoint(program, thread, bars, (*thread.shared, *shared_bars), forward)


def joint_additions(thread: Thread, owners: Owners) -> set:
    """The additions to elements that other threads may touch too."""
    return {x.stmt for array, found in owners.accesses.items() for x in found if is_addition(x.stmt)
            and (array in thread.shared or array in thread.mutated)
            and not owners.own(array, x.stmt, array in thread.shared)}


def swept(sweep: ThreadReverse, thread: Thread, wanted):
    """(statements of the reverse sweep, parameter -> buffer of its adjoint)."""
    function = thread.function
    builder = Builder(sweep.facts)
    top = Scope(builder, function.body, None)
    sweep.scope = top
    zeroed = [sweep.bar(a) for a in thread.shared if a in sweep.active]
    for bar in zeroed:
        clear_shared(builder, bar, thread)
    if zeroed:
        sweep.barrier(tuple(a for a in thread.shared if a in sweep.active), function.body[0].loc)
    sweep.block(function.body)
    bars: dict = {}
    for p in wanted:
        if isinstance(p, Arr) and p in sweep.active:
            bars[p] = sweep.bar(p)
        elif isinstance(p, Var) and (sweep.lane, p) in top.bars:
            bars[p] = Arr(f"{p.hint}_parts", p.dtype, (Var("blocks", "int64"),))
            builder.call((bars[p],), BLOCK_SUM, (top.bars[sweep.lane, p],), loc=core.NOWHERE)
    return builder.block(), bars


def clear_shared(b: Builder, bar: Arr, thread: Thread) -> None:
    """Zeros in a shared buffer, written by all threads of the block in turn."""
    rank = integer(0)
    for here, threads in zip(reversed(thread.at.thread), reversed(thread.launch.block), strict=True):
        rank = b.iadd(b.imul(rank, threads), here)
    size = 1
    for s in bar.shape:
        size *= core.known_value(s)
    inner = b.child(loop=True)
    e = b.index("e", rank, integer(size), thread.launch.threads)
    index: list[core.Atom] = []
    rest: core.Atom = e
    for s in reversed(bar.shape[1:]):
        index.insert(0, inner.let("mod", rest, s, dtype="int64"))
        rest = inner.let("floordiv", rest, s, dtype="int64")
    inner.store(bar, (rest, *index), Const(0.0, bar.dtype))
    b.repeat(e, rank, size, inner.block(), thread.launch.threads, origin="array")
    b.forget(bar)


def tidied(forward: tuple, back: tuple, program: Function, tiles: set) -> Function:
    """The two sweeps without what no adjoint depends on; branches on one condition taken together; what was stored is not
    loaded; cells at fixed places as scalars.

    tiles: buffers that the reverse sweep fills itself: the forward sweep fills them only if it reads them.
    """
    whole = without_idle_barriers(fold_constants(resolve_links(replace(program, body=(*forward, MARK, *back)))))
    at = whole.body.index(MARK)
    idle = tiles - loaded_in(whole.body[:at])
    if idle:
        whole = replace(whole, body=(*without_stores(whole.body[:at], idle), *whole.body[at:]))
        whole = without_idle_barriers(whole)
    whole = without_idle_stores(forward_values(merge_branches(whole)))
    whole = without_idle_barriers(fold_constants(sums_first(scalars(simplify(whole)))))
    at = whole.body.index(MARK)
    if all(isinstance(s, Comment) for s in whole.body[at + 1:]):        # branches of both sweeps are one
        whole = replace(whole, body=whole.body[:at])
    return whole


def without_idle_stores(function: Function) -> Function:
    """The program without stores of what was loaded from that element, with nothing written to the buffer since."""
    def visit(block) -> tuple:
        out: list = []
        held: dict = {}                 # (buffer, index) -> the variable that was loaded from there
        for s in block:
            if is_load(s):
                held[s.array, s.index] = s.var
            elif is_assignment(s) and held.get((s.array, s.index)) is s.value:
                continue
            changed = core.written((s,))
            held = {place: v for place, v in held.items() if place[0] not in changed}
            out.append(core.with_blocks(s, visit))
        return tuple(out)
    return replace(function, body=visit(function.body))


def without_stores(block, arrays: set) -> tuple:
    """The block without stores to some buffers, and with its barriers for the others alone."""
    def change(s):
        if is_store(s) and s.array in arrays:
            return ()
        if is_barrier(s):
            outs = tuple(a for a in s.outs if a not in arrays)
            return (replace(s, outs=outs),) if outs else ()
        return None
    return top_down(block, change)


__all__ = ["BLOCK_SUM", "Adjoint", "adjoint_of"]
