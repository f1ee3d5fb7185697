"""The state of a lowering: what the modules of this room share, and the ways in which they call each other.

Every topic is a module of functions that take the state first, `lo`. Where two topics need each other, one goes through an
entry point of the state: what these do says `interpreter.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from ..language.core import Arr, Atom, Loc, Var
from ..language.facts import Facts
from .functions.frames import Frame
from .functions.places import Place, Reads
from .functions.worth import Units
from .loops.plan import Plan
from .numbers.overflow import Integers
from .numbers.pairs import PairBuilder
from .table import BUILTINS
from .values import UNMARKED, Array, Iterable, Value


@dataclass
class Around:
    """What stands around the statement that is being lowered. Nothing stands around the statements of a unit."""

    conditions: list[tuple[Atom, bool]] = field(default_factory=list)       # of branches, with whether they hold
    branches: int = 0
    loops: list[tuple[Plan, list[dict]]] = field(default_factory=list)      # with what names meant before them
    static_trips: list[bool | str] = field(default_factory=lambda: [False])     # of loops, whether they may be unrolled
    mark: tuple | None = UNMARKED               # of the loop whose condition is being lowered: its checkpoints
    temporaries: list[Value] = field(default_factory=list)      # of expressions whose other parts are being evaluated
    stored: Value | None = None                                 # what an assignment stores, which is read no more after it
    writes: list[Arr] = field(default_factory=list)             # buffers that were written, in the order of the text
    block: Any = None                           # of the statement, where a way out may leave it
    trying: Any = None                          # the innermost `try` whose body this is
    handling: Any = None                        # the innermost `except` clause that runs


@dataclass
class Learnt:
    """What is learnt from statements, and forgotten with them when an attempt at lowering has failed."""

    guarded: set = field(default_factory=set)                   # conditions that were checked, with the block
    listed: dict[Arr, Array] = field(default_factory=dict)      # buffers whose contents growing lists have copied
    twins: dict[Arr, set[Arr]] = field(default_factory=dict)    # buffers that in NumPy may be one piece of memory
    imported: dict[tuple, Value] = field(default_factory=dict)  # globals that the program has imported
    rows: dict[Arr, tuple[Value, ...]] = field(default_factory=dict)    # lists that became rows of a list in memory
    alike: set[Arr] = field(default_factory=set)                # lists in memory of which several rows may be one list
    spent: set[Value] = field(default_factory=set)              # iterators that names held, and that were run over
    written_out: dict[Loc, int] = field(default_factory=dict)   # loops with a copy of their body an item -> how many copies

    def copy(self) -> Learnt:
        return Learnt(*(copied(getattr(self, f.name)) for f in fields(self)))


def copied(known):
    """A set, or a dict with its sets, that does not change with another one."""
    if isinstance(known, dict):
        return {key: set(v) if isinstance(v, set) else v for key, v in known.items()}
    return set(known)


class Lowering:
    """What is known while a function is lowered. `b`: the builder of the current block."""

    integers_wrap = False               # whether Python's integers are those of a kernel, which wrap
    checks_in_loops = False             # whether loops may be left for a program that checks each access

    def __init__(self, registry, boundscheck: bool = True, widened: dict | None = None, reads: Reads | None = None,
                 packs: bool = False, units: Units | None = None):
        self.registry = registry
        self.units = units or Units(enabled=False)
        self.units_made: dict = {}
        self.callers: dict = {}             # the outermost block of a unit -> where it is called first
        self.inlined_calls: list = []       # calls that could be units
        self.calls_around: list = []        # those being inlined
        self.boundscheck = boundscheck
        self.widened = widened or {}            # places of the source where a list is made -> the dtype it needs
        self.list_places: dict = {}
        self.item_kinds: dict[Arr, frozenset] = {}      # memory of a list -> (NumPy's dtype, Python's own) of its numbers
        self.kinds_read: set[Arr] = set()               # those that were asked for
        self.around = Around()
        self.learnt = Learnt()
        self.exit_codes: dict = {}              # an exit code after a branch -> (its condition, the code on either side)
        self.bound_by: dict = {}                # whether a name is bound after a branch -> (its condition, on either side)
        self.tables: dict = {}
        self.shown: list = []                   # numbers in messages
        self.loop_bodies: dict = {}             # the index of a loop -> the block of its iterations
        self.carried: dict = {}                 # what a loop carries -> the block the loop stands in
        self.machines: dict = {}
        self.inlined: dict = {}
        self.repeated: set = set()
        self.running: list = []             # the recursive functions whose loops are being lowered
        self.last_resort: dict = {}         # what to say of those that are inlined although no loop can stand for them
        self.builtins = BUILTINS
        self.b: PairBuilder = PairBuilder(Facts())
        self.frames: list[Frame] = []
        self.frame: Frame
        self.parameter_leaves: list = []
        self.origin: dict = {}
        self.node = None
        self.refused: tuple = (None, None)      # the last refusal that was made, and in which block
        self.keep_alive: list = []
        self.parameters: set[Arr] = set()
        self.mutated: set[Arr] = set()
        self.touched: dict[Arr, int] = {}       # buffers that the program writes -> a number that grows with each write
        self.stands_for: dict[Arr, set[Arr]] = {}       # a buffer with a copy -> what it may be for Python
        self.apart: set[Arr] = set()            # those that functions called in a derivative write, in copies
        self.given_points: dict = {}            # id of an argument that is an array of rank 0 -> where that is made
        self.writes = 0                         # how many writes
        self.asked_identity = False             # whether two arrays are compared by `is`
        self.layouts: dict = {}                 # views and copies that are what they are by how parameters lie in memory
        self.left_out: dict[Arr, tuple] = {}    # arrays of which a copy is needed if they are written -> where it is made
        self.either_way: dict[frozenset, str] = {}      # twins that may be one array for NumPy or Python: what they are
        self.integers_by_path: set = set()      # memory of floats that NumPy has as integers on some path
        self.outside_lists: set = set()         # memory of lists that stands for lists outside
        self.changed_lists: set = set()         # memory of lists that the program changes
        self.read_only_by: dict = {}            # memory that is one of two arrays -> whether not to be written, if known
        self.sizes_by_path: dict = {}           # size of an array that a branch chooses -> those of the two
        self.size_choices: dict = {}            # such a size -> the condition that chooses, if it is chosen by one
        self.joined_sizes: dict = {}            # a size of axes side by side -> theirs, where one of them may be 1 long
        self.size_joins: dict = {}              # such a size -> the name that the branch leaves, and where
        self.result_memory: set[Arr] = set()            # of results of unknown length: nothing sees it before the return
        self.taken_over: dict[tuple, str] = {}      # (what is written, its twin), of a loop's making -> the name to copy
        self.sizes: set[Var] = set()
        self.reads = reads if reads is not None else Reads()
        self.outside_values: dict = {}      # what was read outside, by the keys of places
        self.hidden: list = []
        self.hidden_sizes: list = []
        self.watching: list[dict] = []      # what is read outside while something is lowered, for those who ask
        self.sources: dict = {}
        self.plans: dict = {}
        self.lazy_loops: dict = {}          # `for` statements, by their ids -> the statements in whose form they run
        self.results: dict = {}
        self.least_sizes: dict = {}
        self.least_places: dict = {}
        self.forced_log: list = []
        self.read_late: set[Arr] = set()        # all that an expression without memory of its own has been made of
        self.kept_frames: list = []         # of functions that have returned an inner function
        self.row_kinds: dict[Arr, tuple] = {}   # memory of growing lists of rows -> their kinds, () for arrays
        self.items_from: dict[Arr, set] = {}    # memory of growing lists of arrays -> what its items are copies of
        self.replacing = False              # whether an item of a list is bound, not written
        self.own_copies = False             # whether what is written is a loop's own business
        self.changed_points: set = set()    # places where arrays of rank 0 are made that are numbers here, and change
        self.kept_points: set = set()       # those of which a list has a copy
        self.index_bound: dict[Arr, tuple] = {}     # of indices -> (size of their axis, the last one, where they are made)
        self.implied: dict = {}             # condition -> (value, which of its options that says it is)
        self.connected: dict = {}           # condition -> (whether it is `and`, the conditions that it connects)
        self.one_generator: dict = {}       # what says that arguments are one generator -> that of the first
        self.counts: dict = {}              # marks of long lists among the arguments -> how many items they have
        self.packs = packs                      # whether long lists outside are packed
        self.turns: list[Frame] = []        # functions that run in turns with a generator which they run over
        self.globals_written: dict = {}     # slots of globals that the program writes -> what these hold before
        self.global_errors: dict = {}       # what to say of those that hold something else after it
        self.columns: set[Arr] = set()      # the arrays of their items
        self.undrawn: list = []             # why what is being lowered cannot draw, innermost last
        self.words: set[Var] = set()                # parameters that are NumPy's integers
        self.python_integers: dict[Var, Integers] = {}      # results of operations on what may be Python's integers
        self.drawn = 0                      # how many draws have been lowered

    @property
    def env(self):
        return self.frame.env

    # -- entry points -----------------------------------------------------------------------------------------
    def wrap(self, value, place: Place | None = None) -> Value:
        """A Python object as a value, with conditions on what else might be found at its place."""
        raise NotImplementedError

    def get_item(self, owner: Value, index: Value) -> Value:
        """`owner[key]`."""
        raise NotImplementedError

    def index_array(self, owner: Array, parts) -> Value:
        """`owner[parts]`: a number, a view where NumPy gives a view, else a gathered copy."""
        raise NotImplementedError

    def select(self, owner: Array, parts) -> Array:
        raise NotImplementedError

    def call(self, function: Value, args, kwargs) -> Value:
        """What a call of a value gives."""
        raise NotImplementedError

    def call_static(self, target, args, kwargs) -> Value:
        """What a call of a Python object gives."""
        raise NotImplementedError

    def call_python(self, function, args, kwargs, target=None, told: str = "") -> Value:
        """A Python function, inlined from its source."""
        raise NotImplementedError

    def call_method(self, owner: Value, name: str, args, kwargs) -> Value:
        """What a method of a value gives."""
        raise NotImplementedError

    def iterate(self, value: Value) -> Iterable:
        """What a loop runs over."""
        raise NotImplementedError

    def range_length(self, start, stop, step) -> Any:
        raise NotImplementedError

    def exec_block(self, stmts) -> None:
        """Run statements in order; what follows a possible exit runs only if it was not taken."""
        raise NotImplementedError

    def exec(self, stmt, rest=()) -> bool:
        """Run one statement; true if it has also run `rest`."""
        raise NotImplementedError

    def choose(self, cond, then, orelse, names=frozenset()) -> Value:
        """The value of a conditional expression; `names`: what its sides bind with `:=`."""
        raise NotImplementedError

    def bind(self, target, value: Value, stmt=None) -> None:
        """Give a name, item or attribute a value."""
        raise NotImplementedError

    def store_item(self, owner, key, value) -> None:
        """`owner[key] = value`."""
        raise NotImplementedError

    def eval(self, node) -> Value:
        """The value of an expression."""
        raise NotImplementedError

    def attribute(self, owner: Value, name: str) -> Value:
        """`owner.name`."""
        raise NotImplementedError

    def dtype_argument(self, value, default=None) -> Any:
        """A `dtype=` argument as a core dtype."""
        raise NotImplementedError

    def binary(self, function, left: Value, right: Value) -> Value:
        """A binary operator of two values."""
        raise NotImplementedError

    def condition(self, value: Value) -> Any:
        """The truth of a value as a bool atom."""
        raise NotImplementedError

    def compare(self, op, left, right) -> Value:
        """A comparison of two values."""
        raise NotImplementedError

    def atom(self, value: Value, dtype: str | None = None) -> Any:
        """The core atom of a number, cast to `dtype` if given."""
        raise NotImplementedError

    def operate(self, name: str, atoms, dtype: str, hint: str = "t") -> Any:
        """One scalar operation on atoms whose computation type is `dtype` (before comparison or float promotion)."""
        raise NotImplementedError

    def array(self, value: Value) -> Array:
        """Any number, array or nested sequence as an array."""
        raise NotImplementedError

    def elementwise(self, name: str, *values: Value) -> Value:
        """A scalar operation applied with broadcasting; scalars stay scalars."""
        raise NotImplementedError

    def error(self, cls, problem, hint="", node=None) -> Any:
        """An error at the place of the user's code that is being lowered."""
        raise NotImplementedError

    def place(self, node) -> Any:
        """Where a node stands; for one of a library's function, where the user's code calls that."""
        raise NotImplementedError
