"""Long programs in pieces: parts of blocks that have many statements become units, called where they stood.

Compiling a function of twice the loops and branches takes more than twice as long. A piece is a run of statements that
computes numbers and arrays from others, and ends where few of those are needed later. Stores into memory from before it
come after its call; what has an effect, what may run long, and checks that tell of sizes stay where they are.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import chain

from ...language.build import FOLD
from ...language.core import (
    NOWHERE,
    Arr,
    Const,
    Function,
    Ref,
    Resize,
    Var,
    defined,
    is_generator,
    rebound,
    sub_blocks,
    walk,
    with_blocks,
    written,
)
from ...language.emit import Statements
from ...language.facts import Facts
from ...language.motion import made_equal
from ...language.names import defined_in, mentioned
from ...language.ops import Narrow
from ...language.queries import allocations, is_branch, is_loop, is_range, is_size, is_store, operations
from ...language.substitution import with_own_arrays
from ...language.units import Unit, call, checks
from .kept_calls import needs_its_place
from .unit_arrays import DTYPES, sizes_read

BLOCK = 50                  # a loop or a branch counts as so many statements more
NAMES = {"bool": "test", "int64": "number"}
LONG, PIECE = 3000, 1000    # statements of a block beyond which it is cut, and of a piece
MOST = 40                   # numbers and arrays that a piece takes or returns, at most


def in_pieces(program: Function, facts: Facts) -> Function:
    """The program, cut where it is long. What its facts say of integers in pieces is forgotten."""
    if weight(program.body) <= LONG:
        return program
    growing = {s.array for s in walk(program.body) if isinstance(s, Resize)}
    cutting = Cutting(program, Counter(chain(mentioned(program.body), program.returns)), set(made_equal(program)), growing)
    body = cutting.block(program.body)
    if not cutting.units:
        return program
    forget(facts, cutting.inside)
    return replace(program, body=body)


def weight(block) -> int:
    """How long a block is."""
    return sum(1 + BLOCK * (is_loop(s) or is_branch(s)) + sum(map(weight, sub_blocks(s))) for s in block)


def made_by(stmt) -> tuple:
    """The scalars and the buffer that a statement makes in its block."""
    return (*defined(stmt), *allocations((stmt,)))


def runs_long(stmt) -> bool:
    """Whether a statement may run long: a loop around others, which the reverse sweep of a piece would run again."""
    known = is_range(stmt) and isinstance(stmt.start, Const) and isinstance(stmt.stop, Const)
    return is_loop(stmt) and not known and not (is_range(stmt) and stmt.origin == "array") and any(
        map(is_loop, walk(stmt.body)))


def free(piece: Piece) -> list:
    """What a piece reads of what was there before."""
    return [x for x in dict.fromkeys((*piece.mentions, *(s for a in piece.own for s in a.shape)))
            if isinstance(x, (Var, Arr)) and x not in piece.defined]


def forget(facts: Facts, gone: set) -> None:
    """Facts are of variables that can be seen: these are those of pieces."""
    for v in gone:
        facts.definition.pop(v, None)
    for v in [v for v, other in facts.alias.items() if v in gone or other in gone]:
        del facts.alias[v]
    facts._affine.clear()


@dataclass
class Piece:
    """A run of statements on the way to be a unit. start, end: its place in the block; hoisted: those that stay before its
    call; sunk: those that come after it; own: buffers that it allocates."""

    start: int
    end: int = 0
    body: list = field(default_factory=list)
    hoisted: list = field(default_factory=list)
    sunk: list = field(default_factory=list)
    own: dict = field(default_factory=dict)
    defined: set = field(default_factory=set)
    mentions: Counter = field(default_factory=Counter)
    weight: int = 0

    def copy(self) -> Piece:
        return replace(self, body=list(self.body), hoisted=list(self.hoisted), sunk=list(self.sunk),
                       mentions=Counter(self.mentions))


@dataclass
class Cutting:
    """The pieces of one program. mentions: how often each name stands in it; staying: checks that stay where they are;
    growing: arrays that are resized, whose sizes are not those they are made with."""

    program: Function
    mentions: Counter
    staying: set
    growing: set
    units: list = field(default_factory=list)
    inside: set = field(default_factory=set)

    def block(self, block: tuple) -> tuple:
        """A block with its long parts cut, those inside it first; not what is straight, inside a loop say, which may be
        vectorised."""
        if weight(block) <= LONG or block is not self.program.body and not any(map(sub_blocks, block)):
            return block
        stmts = [with_blocks(s, self.block) for s in block]
        made: list = []
        k = 0
        while k < len(stmts):
            piece, reached = self.best(stmts, k)
            made += stmts[k:reached] if piece is None else self.call(piece)
            k = reached if piece is None else piece.end
        self.mentions.subtract(mentioned(stmts))
        self.mentions.update(mentioned(made))
        return tuple(made)

    def best(self, stmts: list, start: int) -> tuple[Piece | None, int]:
        """(the piece from `start` on after which the least is alive, how far it may go); without a piece, where the next
        may begin."""
        best, least, asked = None, MOST, PIECE // 2
        piece = Piece(start, start)
        while piece.end < len(stmts) and piece.weight < 3 * PIECE // 2:
            if not self.takes(piece, stmts[piece.end]):
                return best, piece.end + 1
            if piece.weight >= asked:
                asked = piece.weight + PIECE // 30              # not after each statement: it takes long to tell
                alive = max(len(self.returned(piece)), len(free(piece)))
                if alive <= least and self.is_unit(piece):
                    best, least = piece.copy(), alive
        return best, max(start + 1, (start + piece.end) // 2)

    def takes(self, piece: Piece, stmt) -> bool:
        """Whether a piece can have the next statement too, which it then has."""
        inside = list(walk((stmt,)))
        own = piece.own | allocations(walk((stmt,)))
        names = Counter(mentioned((stmt,)))
        outer = written((stmt,)) - own.keys()
        if stmt in self.staying or any(needs_its_place(s) or runs_long(s) for s in inside) or any(
                is_generator(x) or x in self.growing and x not in own for x in names):
            return False
        if outer and not is_store(stmt) or rebound((stmt,)) - own.keys():
            return False
        if piece.sunk and not outer and (any(map(checks, inside)) or any(s.array in names for s in piece.sunk)):
            return False
        piece.end += 1
        if outer:
            piece.sunk.append(stmt)
        elif is_size(stmt) and stmt.args[0] not in own:
            piece.hoisted.append(stmt)
        else:
            piece.body.append(stmt)
            piece.own, piece.defined = own, piece.defined | defined_in((stmt,))
            piece.mentions += names
            piece.weight += weight((stmt,))
        return True

    def returned(self, piece: Piece) -> list:
        """What the rest of the program reads of what a piece makes."""
        return [x for x in dict.fromkeys(chain.from_iterable(map(made_by, piece.body)))
                if self.mentions[x] > piece.mentions[x]]

    def is_unit(self, piece: Piece) -> bool:
        """Whether a piece can be a unit: of numbers and arrays such as these take, with sizes that are known before."""
        returned = self.returned(piece)
        found = [*returned, *free(piece)]
        return bool(returned) and self.growing.isdisjoint(returned) and all(
            x.dtype in DTYPES and type(x.dtype) is not Narrow for x in found) and all(
            self.before(piece, x) is not None for x in found if isinstance(x, Arr))

    def before(self, piece: Piece, array: Arr) -> list | None:
        """The statements of a piece that must come before it, as the sizes of its array follow from them; None if others
        do, too."""
        lets, found = operations(piece.body, lambda s: s.op in FOLD), list[object]()

        def follows(x) -> bool:
            if x not in piece.defined:
                return True
            if x not in lets or not all(map(follows, lets[x].args)):
                return False
            if lets[x] not in found:
                found.append(lets[x])
            return True
        return found if all(map(follows, array.shape)) else None

    def name(self, found) -> None:
        """Have the numbers that pieces take and return no names of the program's parameters, and some name."""
        taken = {p.hint for p in self.program.params}
        for x in found:
            if isinstance(x, Var) and x not in self.program.params and (x.hint in taken or x.hint == "t"):
                x.hint = NAMES.get(x.dtype, "value") if x.hint == "t" else f"{x.hint}_1"

    def call(self, piece: Piece) -> list:
        """The statements in the place of a piece: its unit's call, and what stands before and after it."""
        arrays = [x for x in self.returned(piece) if isinstance(x, Arr)]
        early = dict.fromkeys(s for a in arrays for s in self.before(piece, a) or ())
        body = [s for s in piece.body if s not in early]
        piece = replace(piece, body=body, defined=defined_in(body), mentions=Counter(mentioned(body)))
        returns, given = tuple(self.returned(piece)), free(piece)
        sizes = sizes_read(a for a in given if isinstance(a, Arr))
        params = tuple(x for x in given if x not in sizes)
        name = f"{self.program.name}_{len(self.units) + 1}"
        lines = sorted({s.loc.line for s in walk(tuple(body)) if s.loc.line and s.loc.function == self.program.name})
        told = f"Lines {lines[0]} to {lines[-1]}" if len(lines) > 1 else f"Line {lines[0]}" if lines else ""
        notes = (f"{told} of `{self.program.name}`.",) if told else ()
        self.name(chain(params, returns))
        unit = Unit(with_own_arrays(Function(name, params, (*sizes.values(), *body), returns, notes=notes)))
        self.units.append(unit)
        self.inside |= {x for x in piece.defined if isinstance(x, Var)}
        made = Statements()
        made.stmts += [*piece.hoisted, *early]
        for a in arrays:
            made.make(a)
        place = next((s.loc for s in body if s.loc.line), NOWHERE)
        made.add(call(unit, returns, tuple(Ref(x) if isinstance(x, Arr) else x for x in params), place))
        return made.stmts + piece.sunk


__all__ = ["in_pieces"]
