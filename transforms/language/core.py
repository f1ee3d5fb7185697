"""The core language: the one form that every pass reads and writes.

A program is structured and typed. Scalars are immutable (each `Var` is bound once), memory is not: arrays are
C-contiguous buffers that `Load` and `Store` touch one element at a time, so views, broadcasting and array
expressions are gone by the time a program is in this form.

    function  ::= def NAME(param, ...): stmt* ; return value, ...
    stmt      ::= Let    v = OP(atom, ...)                   one scalar operation, pure
                | Alloc  a = empty | full(shape, fill)       a fresh buffer
                | Load   v = a[atom, ...]
                | Store  a[atom, ...] = atom                 or += (accumulate: needs no recording)
                | For    carries, index in range(...)        `exit` ends it early (break)
                | While  carries, cond                       cond is one of the carries
                | If     cond, then, orelse, merges
                | Swap   a, b = b, a                         a permutation of buffers
                | Call   outs = FUNC(atom | ref, ...)        library call with a rule of its own, or a random draw
                | Guard  raise unless cond                   checks and `raise` statements
                | Print  values                              on the primal path only
    atom      ::= Var | Const

A loop-carried scalar is a `Carry(var, init, next, result)`: `var` is its value inside an iteration, `next` what the
iteration leaves, `result` what is visible after the loop. A branch joins values through `Merge(var, then, orelse)`.

A random generator is a parameter too: a buffer of dtype "generator" without axes. A draw is a `Call` that reads it and fills
it beside what is drawn, so that the order of draws follows from the rules for memory: no pass moves one draw past another,
runs one twice or leaves one out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from typing import Any

from .fields import ROLES, fields_of, roles, tuples, with_changed

FLOATS = ("float64", "float32")
GENERATOR = "generator"


@dataclass(frozen=True)
class Loc:
    """A place in the user's source: file, 1-based line, the line's text and the function's name.

    origin: where the expression stands that is computed here, if that is another line; of no account when two are compared.
    """

    file: str
    line: int
    text: str = ""
    function: str = ""
    column: int = 0
    width: int = 0
    origin: Loc | None = field(default=None, compare=False, repr=False)

    def short(self) -> str:
        return f"{self.file.replace(chr(92), '/').rsplit('/', 1)[-1]}:{self.line}"

    def shown(self) -> str:
        """The place and its line, for a comment."""
        return f"{self.short()}    {self.text.strip()}"

    def told(self) -> str:
        """The place as a message of the run tells it; "" where none is known."""
        found = self.origin or self
        return "" if not found.line else f"{found.short()}, in {found.function}" if found.function else found.short()

    def computing(self, other: Loc) -> Loc:
        """This place, for what stands at another one."""
        other = other.origin or other
        return self if other == (self.origin or self) else replace(self, origin=other)


NOWHERE = Loc("<generated>", 0)


@dataclass(eq=False, slots=True)
class Var:
    """A scalar bound exactly once. `hint` is the name it would like to have; printing makes names unique."""

    hint: str
    dtype: str

    def __repr__(self) -> str:
        return f"{self.hint}:{self.dtype}"


class Const:
    """A literal. Equal by printed value and dtype, so that 0.0 and -0.0 differ and nan equals itself."""

    __slots__ = ("dtype", "key", "value")

    def __init__(self, value, dtype: str):
        self.value = value
        self.dtype = dtype
        self.key = (repr(value), dtype)

    def __eq__(self, other):
        return isinstance(other, Const) and self.key == other.key

    def __hash__(self):
        return hash(self.key)

    def __repr__(self):
        return repr(self.value)


class NoCotangent(Const):
    """The zero that a cotangent is where no result depends on a value: what it is multiplied with does not matter. So it is
    not equal to a zero of the program, which is multiplied."""

    __slots__ = ()

    def __init__(self, dtype: str):
        super().__init__(0.0, dtype)
        self.key = ("no cotangent", dtype)


class NotChosen(NoCotangent):
    """The zero that a partial derivative is where a function, such as `max`, does not choose an operand: what it is
    multiplied with does not matter, be it infinite."""

    __slots__ = ()

    def __init__(self, dtype: str):
        super().__init__(dtype)
        self.key = ("not chosen", dtype)


Atom = Var | Const


ADJOINT, TANGENT = "adjoint", "tangent"
FREELY = "freely"


@dataclass(eq=False, slots=True)
class Arr:
    """A C-contiguous buffer. `shape` holds int64 atoms; `why`: ADJOINT if it holds cotangents, TANGENT if tangents.

    pairs: its elements are complex numbers for the lowering and for callers; the last axis, of length 2, holds their
        real and imaginary parts. The passes between know real numbers only.
    """

    hint: str
    dtype: str
    shape: tuple[Atom, ...]
    why: str = ""
    pairs: bool = False

    def __repr__(self):
        return f"{self.hint}[{', '.join(map(repr, self.shape))}]"

    @property
    def any_order(self) -> bool:
        """Whether additions to an element have no order: those of derivatives have none, the program's own have its."""
        return self.why in (ADJOINT, TANGENT)


@dataclass(frozen=True, eq=False, slots=True)
class Ref:
    """An array operand of a library call: a buffer, fixed leading indices, and whether it is read transposed."""

    array: Arr
    prefix: tuple[Atom, ...] = ()
    transposed: bool = False

    @property
    def shape(self) -> tuple[Atom, ...]:
        shape = self.array.shape[len(self.prefix):]
        return shape[::-1] if self.transposed else shape

    @property
    def dtype(self) -> str:
        return self.array.dtype


@roles(args="reads", var="binds")
@dataclass(frozen=True, eq=False, slots=True)
class Let:
    """A scalar computed by one operation."""

    var: Var
    op: str
    args: tuple
    loc: Loc = NOWHERE


@roles(array="allocates", fill="reads")
@dataclass(frozen=True, eq=False, slots=True)
class Alloc:
    """Memory for a buffer; `fill`: what all its elements are, or its cell on a device; None: whatever was there."""

    array: Arr
    fill: Atom | Arr | None = None
    loc: Loc = NOWHERE


@roles(array="reads", index="element", var="binds")
@dataclass(frozen=True, eq=False, slots=True)
class Load:
    """A scalar read from a buffer."""

    var: Var
    array: Arr
    index: tuple[Atom, ...]
    loc: Loc = NOWHERE


@roles(array="writes", index="element", value="reads")
@dataclass(frozen=True, eq=False, slots=True)
class Store:
    """An element of a buffer written, or added to; FREELY: in an order that does not matter, as in the sum of an array."""

    array: Arr
    index: tuple[Atom, ...]
    value: Atom
    accumulate: bool | str = False
    loc: Loc = NOWHERE

    @property
    def any_order(self) -> bool:
        """Whether it adds, and may do so before or after others that may."""
        return self.accumulate == FREELY or bool(self.accumulate) and self.array.any_order


@roles(init="reads", var="binds inside", next="leaves", result="binds")
@dataclass(frozen=True, eq=False, slots=True)
class Carry:
    """A scalar that a loop hands on: its value at the head of an iteration, first, next, and after the loop."""

    var: Var
    init: Atom
    next: Atom
    result: Var


@roles(start="reads", stop="reads", step="reads", index="binds inside", carries=Carry, body="block", exit="leaves",
       checkpoint="limit", trip="binds")
@dataclass(frozen=True, eq=False, slots=True)
class For:
    """`for index in range(start, stop, step)`; after an iteration whose `exit` is true it stops. `trip`: iterations run.

    checkpoint: ("snapshots", "bytes" or "segments", how many) where the reverse sweep is to keep copies instead of a tape.
    """

    index: Var
    start: Atom
    stop: Atom
    step: Atom
    carries: tuple[Carry, ...]
    body: tuple
    exit: Atom | None = None
    trip: Var | None = None
    loc: Loc = NOWHERE
    origin: str = "user"
    checkpoint: tuple | None = None


@roles(cond="leaves", carries=Carry, counter="binds inside", body="block", checkpoint="limit", trip="binds")
@dataclass(frozen=True, eq=False, slots=True)
class While:
    """`while cond`, where `cond` is the variable of one of the carries; `counter` numbers iterations from 0."""

    cond: Var
    carries: tuple[Carry, ...]
    body: tuple
    counter: Var
    trip: Var
    loc: Loc = NOWHERE
    checkpoint: tuple | None = None


@roles(then="leaves", orelse="leaves", var="binds")
@dataclass(frozen=True, eq=False, slots=True)
class Merge:
    """A scalar that the two sides of a branch bind."""

    var: Var
    then: Atom
    orelse: Atom


@roles(cond="reads", then="block", orelse="block", merges=Merge)
@dataclass(frozen=True, eq=False, slots=True)
class If:
    """A branch."""

    cond: Atom
    then: tuple
    orelse: tuple
    merges: tuple[Merge, ...] = ()
    loc: Loc = NOWHERE


@roles(targets="writes", sources="again")
@dataclass(frozen=True, eq=False, slots=True)
class Swap:
    """Simultaneous rebinding of buffers: targets[k] takes sources[k]; the two hold the same buffers."""

    targets: tuple[Arr, ...]
    sources: tuple[Arr, ...]
    loc: Loc = NOWHERE


@roles(args="arguments", outs="fills")
@dataclass(frozen=True, eq=False, slots=True)
class Call:
    """A library call. `outs` are fresh scalars or already allocated buffers that it fills; `static` are Python values. kept:
    it stays though nobody reads what it makes, for the error that it may raise."""

    outs: tuple
    op: str
    args: tuple
    static: tuple = ()
    loc: Loc = NOWHERE
    kept: bool = False


@roles(array="writes", length="reads")
@dataclass(frozen=True, eq=False, slots=True)
class Resize:
    """Make the leading dimension of a growable tape at least `length`, keeping what it holds."""

    array: Arr
    length: Atom
    loc: Loc = NOWHERE


PLAIN = ("place", "note")           # how checks tell that are the program's errors; others are answered with another program


@roles(cond="reads", parts="reads")
@dataclass(frozen=True, eq=False, slots=True)
class Guard:
    """Raise `error` unless `cond` holds, with a message in which `{}` stands for a part.

    tells: how the user's place is told: "place", at the end of the message; "note", beside a message that is the user's; or
        for a caller that answers with another program (`runtime/raising.py`), which: "each", "power", "out".
    """

    cond: Atom
    error: str
    message: str
    parts: tuple[Atom, ...] = ()
    loc: Loc = NOWHERE
    tells: str = "place"


@roles(parts="tells")
@dataclass(frozen=True, eq=False, slots=True)
class Print:
    """A line printed when the program runs: texts and scalars; or scalars in the fields of a template, which has its end."""

    parts: tuple
    loc: Loc = NOWHERE
    template: str | None = None


@roles()
@dataclass(frozen=True, eq=False, slots=True)
class Comment:
    """A line for the reader. `section` comments head a part of the program."""

    text: str
    section: bool = False
    loc: Loc = NOWHERE


Stmt = Let | Alloc | Load | Store | For | While | If | Swap | Call | Resize | Guard | Print | Comment
Block = tuple


@dataclass(frozen=True, eq=False)
class Function:
    """A program. `returns` are atoms and buffers; `copied` are parameters the function owns a private copy of."""

    name: str
    params: tuple
    body: Block
    returns: tuple
    copied: frozenset = frozenset()
    notes: tuple[str, ...] = ()
    tape: tuple = field(default=())


def sub_blocks(stmt) -> tuple[Block, ...]:
    """The blocks nested directly in a statement."""
    return _BLOCKS[type(stmt)](stmt) if type(stmt) in _BLOCKS else ()


def with_blocks(stmt, change):
    """The statement with `change` applied to each of the blocks nested directly in it; itself, if that gives them back."""
    return _WITH_BLOCKS[type(stmt)](stmt, change) if type(stmt) in _BLOCKS else stmt


def same(before: Block, after: Block) -> bool:
    """Whether two blocks are the same statements; loops and branches made anew of the same parts are the same."""
    return before is after or len(before) == len(after) and all(
        s is t or type(s) is type(t) and type(s) in _BLOCKS and _HEADS[type(s)](s) == _HEADS[type(s)](t)
        and all(map(same, _BLOCKS[type(s)](s), _BLOCKS[type(s)](t))) for s, t in zip(before, after, strict=True))


def rebound(block: Block) -> set[Arr]:
    """The buffers that a block swaps or resizes: their names do not stand for one piece of memory."""
    return {a for s in walk(block) if isinstance(s, (Swap, Resize)) for a in _WRITTEN[type(s)](s)}


def walk(block: Block) -> Iterator:
    """Every statement of a block and of the blocks inside it, in textual order."""
    waiting = [iter(block)]             # a generator inside another for each block would hand each statement through all
    while waiting:
        for stmt in waiting[-1]:
            yield stmt
            if type(stmt) in _BLOCKS:
                waiting += [iter(b) for b in reversed(_BLOCKS[type(stmt)](stmt))]
                break
        else:
            waiting.pop()


def defined(stmt) -> tuple[Var, ...]:
    """The scalars a statement binds in the block that holds it."""
    return _DEFINED[type(stmt)](stmt)


def bound_inside(stmt) -> tuple[Var, ...]:
    """The scalars that a statement binds in the blocks nested directly in it: the index of a loop and what it carries."""
    return _INSIDE[type(stmt)](stmt)


def results(stmt) -> tuple:
    """The scalars that a statement itself binds and the buffers that it writes, rebinds or resizes."""
    return _RESULTS[type(stmt)](stmt)


def operands(stmt) -> tuple:
    """The atoms, buffers and refs a statement itself reads (not those of nested blocks)."""
    return _OPERANDS[type(stmt)](stmt)


def written(block: Block) -> set[Arr]:
    """The buffers that a block may write, rebind or resize."""
    found: set[Arr] = set()
    for stmt in walk(block):
        found.update(_WRITTEN[type(stmt)](stmt))
    return found


def left_alone(function: Function, besides=frozenset()) -> tuple[int, ...]:
    """The numbers of the parameters that are arrays, not among `besides`, which a program does not write: those of which it
    has a copy are not the caller's memory."""
    changed = written(function.body) - function.copied
    return tuple(k for k, p in enumerate(function.params) if isinstance(p, Arr) and not is_generator(p)
                 and p not in changed and p not in besides)


def array_of(x):
    """The buffer of an operand that is a buffer or a part of one; a number as it is."""
    return x.array if isinstance(x, Ref) else x


def known_value(atom: Atom) -> Any:
    """The value of an atom that is a constant, as the caller knows."""
    assert isinstance(atom, Const)
    return atom.value


def is_float(x) -> bool:
    return x.dtype in FLOATS


def is_generator(x) -> bool:
    """Whether a parameter stands for a random generator."""
    return isinstance(x, Arr) and x.dtype == GENERATOR


OPERANDS = {"reads": "", "arguments": "", "element": "", "leaves": "", "writes": "", "limit": "*({} or ())[1:]",
            "tells": "*[p for p in {} if isinstance(p, (Var, Const))]", "allocates": "*{}.shape",
            "fills": "*[o for o in {} if not isinstance(o, Var)]"}
_OPERANDS = tuples(OPERANDS, globals())
_DEFINED = tuples({"binds": "", "fills": "*[o for o in {} if isinstance(o, Var)]"}, globals())
_INSIDE = tuples({"binds inside": ""}, globals())
_RESULTS = tuples({"binds": "", "writes": "", "fills": "*map(array_of, {})"}, globals())
_WRITTEN = tuples({"writes": "", "allocates": "",
                   "fills": "*[array_of(o) for o in {} if not isinstance(o, Var)]"}, globals())
_BLOCKS = {cls: f for cls, f in tuples({"block": "{}"}, globals()).items() if fields_of(cls, ("block",))}
_WITH_BLOCKS = {cls: with_changed(cls, [name for name, *_ in fields_of(cls, ("block",))], globals()) for cls in _BLOCKS}
_HEADS = {cls: attrgetter(*(f.name for f in fields(cls) if ROLES[cls].get(f.name) != "block")) for cls in _BLOCKS}
