"""Where the tape of a thread lives, and which additions are atomic: the last passes before an adjoint kernel is printed.

    constant size            a local array of the thread
    size known at launch     tape[slot, thread], as many slots as the thread with most needs
    from a `while` loop      the same, the slots numbered by the tickets of `tape.py`

Where the host cannot say how many slots there must be, a kernel of its own counts them first: the forward sweep without what
only its results need. So no tape is too short.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..language import core
from ..language.build import Builder, integer, place_of, product
from ..language.core import Arr, Const, Function, Resize, Var, walk
from ..language.emit import Statements
from ..language.errors import UnsupportedSyntax
from ..language.motion import facts_of
from ..language.queries import allocations, called, is_access, is_addition, is_allocation, is_store, loaded_in, operation
from ..language.rewrite import top_down
from ..optimise.array_contraction import scalars
from ..optimise.simplify import resolve_links
from .additions import BLOCK_ADD, collected, staggered
from .adjoints import Adjoint
from .owners import Owners
from .phases import without_idle_barriers
from .threads import Coordinates, Launch, Thread

WIDTH = {"float64": 8, "float32": 4, "int64": 8, "bool": 1}
MOST_SHARED = 48 * 1024         # bytes of shared memory that a kernel may declare
MOST_LOCAL = 1024               # elements of a local array; more go to a tape that all threads share
COUNTED = "atomic_max"


@dataclass(eq=False)
class Kernel:
    """A program that threads run, ready to be printed.

    atomic: the stores that must be atomic. shared: buffers of the block. given: the parameters that a launch passes, in
    order. unordered: the additions to one element in an order that is not fixed, as (buffer, place in the source).
    """

    function: Function
    at: Coordinates
    launch: Launch
    shared: tuple[Arr, ...]
    given: tuple
    atomic: frozenset = frozenset()
    unordered: tuple = ()


@dataclass(eq=False)
class Stored:
    """An adjoint kernel with its tapes. tapes: the parameters tape[slot, thread], after the others.

    sizes: a function of the arguments and of the numbers of blocks along `axes` that says on the host how many slots each
        tape needs; measure: the kernel that finds them where the host cannot, its last parameter takes them.
    """

    kernel: Kernel
    tapes: tuple[Arr, ...]
    measure: Kernel | None = None
    sizes: Function | None = None
    axes: tuple[int, ...] = ()


def stored(adjoint: Adjoint) -> Stored:
    """The adjoint with its tapes placed and its atomic additions marked."""
    thread, program = adjoint.thread, adjoint.function
    grown = {s.array for s in walk(program.body) if isinstance(s, Resize)}
    long = {a: s for a, s in allocations(walk(program.body)).items()
            if a in grown or not all(isinstance(n, Const) for n in a.shape) or elements(a) > MOST_LOCAL}
    counts: tuple = ()
    tapes: dict = {}
    if long:
        counts = counted(adjoint, long, grown)
        tapes = {a: Arr(a.hint, a.dtype, (Var(f"{a.hint}_slots", "int64"), Var("threads", "int64"))) for a in long}
        program = placed(program, thread, tapes)
    made = tuple(tapes.values())
    given = (*thread.arguments, *adjoint.bars.values())
    kernel = kernel_of(replace(program, params=(*program.params, *made)), thread, adjoint.shared, (*given, *made))
    return Stored(kernel, made, *counts)


def kernel_of(program: Function, thread: Thread, shared, given) -> Kernel:
    """A program as a kernel: what must be added atomically is marked, and made less where that can be.

    UnsupportedSyntax if its shared buffers do not fit into a block's memory.
    """
    facts = facts_of(program)
    known = thread.facts
    for v in thread.at.names:
        facts.number(v)
        facts.nonnegative.add(v)
        facts.range[v] = known.range[v]
        for bound in known.range[v]:
            if isinstance(bound, Var) and bound in known.definition:
                facts.definition.setdefault(bound, known.definition[bound])
    facts._affine.clear()
    owners = Owners(program, facts, thread.at, thread.launch)
    private = set(allocations(walk(program.body)))
    atomic = frozenset(
        s for s in walk(program.body) if is_addition(s) and s.array not in private
        and not owners.own(s.array, s, s.array in shared))
    in_block = frozenset(s for s in atomic if not owners.own(s.array, s, True)) if thread.launch.threads > 1 else frozenset()
    program = staggered(program, facts, atomic, shared, thread.at, thread.launch)
    program = collected(program, in_block, shared, thread.at)
    used = {x for s in walk(program.body) for x in core.operands(s)}
    needed = sum(elements(a) * WIDTH[a.dtype] for a in shared if a in used)
    if needed > MOST_SHARED:
        raise UnsupportedSyntax(f"the adjoint needs {needed} bytes of shared memory, for the arrays and their adjoints, of "
                                f"the {MOST_SHARED} that a block has", None, "use smaller tiles")
    unordered = [(s.array, s.loc) for s in walk(program.body) if s in atomic]
    unordered += [(s.outs[0], s.loc) for s in walk(program.body) if called(s) == BLOCK_ADD
                  and s.outs[0] not in shared]
    return Kernel(program, thread.at, thread.launch, tuple(a for a in shared if a in used), tuple(given), atomic,
                  tuple(unordered))


def elements(a: Arr) -> int:
    size = 1
    for n in a.shape:
        size *= core.known_value(n)
    return size


# -- tapes of many slots ------------------------------------------------------------------------------------------
def placed(program: Function, thread: Thread, tapes: dict) -> Function:
    """The program with its long tapes as parameters, of which every thread has a column."""
    top = Builder()
    number = thread_number(top, thread)

    def change(s):
        if not (is_allocation(s) or is_access(s) or isinstance(s, Resize)) or s.array not in tapes:
            return None
        a = s.array
        if is_access(s):
            b = Builder()
            slot = place_of(b, s.index, a.shape)
            return [*b.stmts, replace(s, array=tapes[a], index=(slot, number))]
        return filled(a, s.fill, tapes[a], number) if is_allocation(s) and s.fill is not None else ()
    body = top_down(program.body, change)
    return without_idle_barriers(replace(program, body=(*top.stmts, *body)))


def filled(a: Arr, fill, tape: Arr, number) -> list:
    b = Builder()
    size = product(b, a.shape)
    k = b.index("k", integer(0), size)
    inner = b.child(loop=True)
    inner.store(tape, (k, number), fill)
    b.repeat(k, 0, size, inner.block(), origin="array")
    return b.stmts


def thread_number(b: Builder, thread: Thread):
    """The number of a thread among all of the launch."""
    at, block = thread.at, thread.launch.block
    blocks = b.iadd(b.imul(b.iadd(b.imul(at.block[2], at.blocks[1]), at.block[1]), at.blocks[0]), at.block[0])
    here = b.iadd(b.imul(b.iadd(b.imul(at.thread[2], block[1]), at.thread[1]), block[0]), at.thread[0])
    return b.iadd(b.imul(blocks, thread.launch.threads), here)


def counted(adjoint: Adjoint, long: dict, grown: set) -> tuple:
    """What decides how many slots of each long tape a thread uses: (kernel,), or (None, function of the host, its axes)."""
    thread = adjoint.thread
    need = Arr("slots", "int64", (integer(len(long)),))
    places = {a: integer(k) for k, a in enumerate(long)}

    def visit(block) -> tuple:
        out, last = Statements(), Statements()
        for s in block:
            if is_allocation(s) and s.array in long:
                b, shape = Builder(), s.array.shape
                if s.array in grown:
                    cells[s.array] = out.make(Arr("used", "int64", (integer(1),)), integer(0))
                    shape = (b.load(cells[s.array], (0,)), *shape[1:])
                b.call((need,), COUNTED, (places[s.array], product(b, shape)))
                (last if s.array in grown else out).stmts.extend(b.stmts)
            elif isinstance(s, Resize):
                out.write(cells[s.array], (integer(0),), s.length)
            elif not (is_store(s) and s.array in long):
                out.add(core.with_blocks(s, visit))
        return (*out.stmts, *last.stmts)
    cells: dict = {}
    body = visit(resolve_links(Function("", (), adjoint.forward, ())).body)
    made = Function(f"{thread.function.name}_slots", (*thread.function.params, need), body, (need,))
    made = without_idle_barriers(scalars(without_idle_barriers(made)))
    read = loaded_in(made.body) & set(long)
    if read:
        raise UnsupportedSyntax(f"how often a loop runs depends on `{next(iter(read)).hint}`, an array that the gradient "
                                "keeps for every iteration of another loop of unknown length", None,
                                "make the array before that loop, or give the loop a constant length")
    if all(operation(s) or called(s) == COUNTED for s in made.body):
        used = {x for s in made.body for x in core.operands(s)}
        if not used & set(thread.at.own):
            axes = tuple(k for k, v in enumerate(thread.at.blocks) if isinstance(v, Var) and v in used)
            values = {s.args[0]: s.args[1] for s in made.body if called(s)}
            return None, Function(made.name, (*thread.arguments, *(thread.at.blocks[k] for k in axes)), tuple(
                s for s in made.body if operation(s)), tuple(values[places[a]] for a in long)), axes
    return (kernel_of(made, thread, thread.shared, (*thread.arguments, need)),)


__all__ = ["COUNTED", "Kernel", "Stored", "stored"]
