"""One line of Python text: names, expressions, and what waits to become part of one."""

from __future__ import annotations

from ...runtime.library_calls import CALLS
from ...runtime.raising import AGAIN, ENDINGS
from ..language.core import ADJOINT, Arr, Const, Function, Loc, Ref, Var, operands
from ..language.draws import HELPERS
from ..language.ops import OPS
from ..language.python_text import Line, commented, has_loose_operator, literal, whole, words
from ..language.queries import loaded_in
from .coalescing import Coalescer
from .names import Names, on_threads
from .schedule import Schedule

WIDTH = 100
NOT, COMPARISON = OPS["not"].level, OPS["lt"].level
NUMPY_TYPES = {"float64": "np.float64", "float32": "np.float32", "int64": "np.int64", "bool": "np.bool_"}
RESERVED = {"assign", "copied", "np", "math",
            "range", "abs", "min", "max", "len", "float", "int", "bool", "print", "in", "is", "if", "else",
            "for", "while", "def", "return", "and", "or", "not", "lambda", "pass", "break", "from", "import", "None",
            "True", "False", "raise", "del", "as", "try", "with", "class", "global", "yield", "assert", "continue",
            "empty", "zeros", "prange", "resize", "revolve_split", "segment_length", "wrap_index", "sinc", "heaviside",
            "special", "union_sets", "grow_set", "unsigned_floordiv", "unsigned_mod", "print_line", *HELPERS,
            *(call.helper for call in CALLS.values())}


class LineText:
    """A program's names and lines, as they come to be."""

    leading: tuple[str, ...] = ()               # parameters before those of the program
    slices = True                               # whether `x[:] = 0.0` and `m, n = x.shape` may be written: not with threads

    def __init__(self, function: Function, units: dict | None = None):
        self.function = function
        self.units = units or {}                # the names of the units that it calls
        self.lines: list[Line] = []
        self.doing = None                       # the statement that is being printed
        self.also: list[Loc] = []               # where what its text holds stands
        self.heading: Loc | None = None         # the user's line that is being printed, and the last that a comment names
        self.headed: Loc | None = None
        self.helpers: set[str] = set()
        self.slices = self.slices and not on_threads(function)
        self.shared = Coalescer(function)
        self.schedule = Schedule(function, self.shared, self.slices)
        self.uses, self.use_block = self.schedule.uses, self.schedule.use_block
        self.places: dict[Var, tuple[str, int, str, int, int]] = {}        # integers that are printed where they are used
        self.names = Names(function, self.schedule, {*RESERVED, *self.units.values()})
        self.pending: dict[Var, tuple[str, int, frozenset]] = {}
        self.sources: dict[Var, list[Loc]] = {}             # where what waits stands
        self.guarded: tuple = (-2, [])          # the check that was printed last: its first line, tests, how it is raised
        self.drawn: set[Arr] = set()            # buffers that the draw or call after their allocation makes
        for p in (*function.params, *(r for r in function.returns if isinstance(r, Arr) and r.why == ADJOINT)):
            self.name(p)

    def name(self, x) -> str:
        return self.names.of(x)

    def atom(self, a, level: int = 0) -> str:
        if isinstance(a, Const):
            text = literal(a)
            return f"({text})" if text.startswith("-") and level > 50 else text
        if a in self.pending or a in self.places:
            text, own, *_ = self.pending.pop(a) if a in self.pending else self.places[a]
            self.also += self.sources.pop(a, ())
            return f"({text})" if own < level else text
        return self.name(a)

    def expression(self, stmt) -> tuple[str, int]:
        op = OPS[stmt.op]
        if op.helper:
            self.helpers.add(op.helper)
        if stmt.op == "cast":
            return f"{NUMPY_TYPES[stmt.var.dtype]}({self.atom(stmt.args[0])})", 100
        if stmt.op == "wrap_index" and (place := stmt.loc.told()):
            return f"wrap_index({', '.join(map(self.atom, stmt.args))}, {place!r})", 100
        if stmt.op == "dim":
            return f"{self.name(stmt.args[0])}.shape[{stmt.args[1]}]", 100
        if stmt.op in ("link", "stop") or stmt.op.startswith("as_") and stmt.op != "as_uint64":
            return self.atom(stmt.args[0], 100), 100
        if stmt.op == "pow" and whole(stmt.args[1]):
            base, n = self.atom(stmt.args[0], 81), int(stmt.args[1].value)
            if n < 0 and stmt.var.dtype == "float64":       # Numba's own negative powers are not vectorised
                return f"1.0 / {base} ** {-n}" if n < -1 else f"1.0 / {base}", 60
            return f"{base} ** {n}", 80
        if stmt.op == "pow" and stmt.var.dtype.startswith("float"):
            return f"np.power({self.atom(stmt.args[0])}, {self.atom(stmt.args[1])})", 100       # it has vector variants
        if stmt.op == "div" and isinstance(stmt.args[1], Const) and not stmt.args[1].value:       # nan or inf, no error
            return f"np.divide({self.atom(stmt.args[0])}, {self.atom(stmt.args[1])})", 100
        if op.level == 100:
            return op.text.format(*(self.atom(a, 0 if "(" in op.text else 100) for a in stmt.args)), 100
        tighter = stmt.op in ("pow", "square", "reciprocal") or op.level == COMPARISON      # `a < b < c` is a chain
        left = self.atom(stmt.args[0], op.level + tighter)
        if len(stmt.args) == 1:
            return op.text.format(left), op.level
        right = self.atom(stmt.args[1], op.level if stmt.op == "pow" else op.level + 1)
        return op.text.format(left, right), op.level

    def in_place(self, stmt) -> tuple[str, int, str, int, int]:
        """The text of an integer and its level; of it without a last constant; that constant."""
        base, by = (stmt.args[0], stmt.args[-1]) if stmt.op in ("add", "sub") else (None, None)
        if not isinstance(by, Const) or isinstance(base, Const):
            text, level = self.expression(stmt)
            return text, level, text, level, 0
        offset = int(by.value) if stmt.op == "add" else -int(by.value)
        if base in self.places:
            *_, text, level, before = self.places[base]
            offset += before
        else:
            text, level = self.atom(base), 100
        if not offset:
            return text, level, text, level, 0
        return f"{text} {'+' if offset > 0 else '-'} {abs(offset)}", 50, text, level, offset

    def index(self, index) -> str:
        return ", ".join(self.atom(i) for i in index)

    def element(self, array: Arr, index) -> str:
        return f"{self.name(array)}[{self.index(index)}]"

    def ref(self, a) -> str:
        if isinstance(a, Ref):
            text = self.name(a.array)
            if a.prefix:
                text += f"[{self.index(a.prefix)}]"
            return text + (".T" if a.transposed else "")
        return self.name(a) if isinstance(a, Arr) else self.atom(a)

    def wait(self, var: Var, text: str, level: int, reads: frozenset) -> None:
        """Have an expression stand where its value is used."""
        self.pending[var] = (text, level, reads)
        self.sources[var] = self.made_at()

    def made_at(self) -> list:
        """The places of what was put together since this was last asked."""
        found, self.also = [self.doing and self.doing.loc, *self.also], []
        return found

    def put(self, depth: int, text: str, locs=None) -> None:
        """A line of text, under the user's line that the statement being printed comes from."""
        loc = self.heading
        locs = self.made_at() if locs is None else locs
        if loc is not None and (self.headed is None or (loc.file, loc.line) != (self.headed.file, self.headed.line)):
            if text != loc.text.strip():
                self.lines.append(Line("    " * depth + commented(loc.shown()), [loc]))
            self.headed = loc
        self.lines.append(Line("    " * depth + text, locs, self.doing))

    def flush(self, depth, arrays=frozenset(), block=()) -> None:
        """Write out waiting expressions that read `arrays`, and those of a block: others may not move into a loop's body."""
        for var in [v for v, (_, _, reads) in self.pending.items() if reads & arrays or self.use_block[v] == id(block)]:
            if var in self.pending:
                text, _, _ = self.pending.pop(var)
                self.put(depth, f"{self.name(var)} = {text}", self.sources.pop(var, ()))

    def reads_of(self, stmt) -> frozenset:
        found: frozenset = frozenset()
        for a in operands(stmt):
            if isinstance(a, Var) and a in self.pending:
                found |= self.pending[a][2]
        return found | loaded_in((stmt,))

    def single(self, var: Var, block) -> bool:
        return self.uses.get(var, 0) == 1 and self.use_block.get(var) == id(block) and self.schedule.alone(var) \
            and var not in self.schedule.anchored

    def flush_readers(self, depth, names: set[str]) -> None:
        """Write out waiting expressions that read names about to change."""
        for var in list(self.pending):
            if var in self.pending and names & words(self.pending[var][0]):
                text, _, _ = self.pending.pop(var)
                self.put(depth, f"{self.name(var)} = {text}", self.sources.pop(var, ()))

    def raising(self, stmt) -> str:
        """The `raise` of a check."""
        place = stmt.loc.told()
        if not place and not stmt.parts and stmt.error != "Meant" and stmt.tells not in AGAIN:
            return f"raise {stmt.error}({stmt.message!r})" if stmt.message else f"raise {stmt.error}"
        name = stmt.error + ENDINGS[stmt.tells]
        self.helpers.add(name)
        return f"raise {name}({', '.join([repr(stmt.message), repr(place), *map(self.atom, stmt.parts)])})"

    def assign(self, depth, name, text) -> None:
        self.flush_readers(depth, {name})
        for op in ("+", "-", "*", "/"):
            start = f"{name} {op} "
            rest = text[len(start):]
            if text.startswith(start) and (op in "+" or not has_loose_operator(rest, op)):
                if op == "+" and has_loose_operator(rest, "+"):
                    break
                self.put(depth, f"{name} {op}= {rest}")
                return
        if text != name:
            self.put(depth, f"{name} = {text}")

    def allocation(self, a: Arr, fill, once: bool) -> str:
        """once: outside loops, where an array of unknown size may be large."""
        sizes = [self.atom(s) for s in a.shape]
        shape = sizes[0] if len(sizes) == 1 else f"({', '.join(sizes)})"
        dtype = "" if a.dtype == "float64" else f", {NUMPY_TYPES[a.dtype]}"
        zero = isinstance(fill, Const) and not fill.value and not str(fill.value).startswith("-")
        if fill is None or zero:
            maker = "zeros" if zero else "empty"
            if not once or all(isinstance(s, Const) for s in a.shape):
                return f"np.{maker}({shape}{dtype})"
            self.helpers.add(maker)
            return f"{maker}({shape}{dtype})"
        if isinstance(fill, Const) and fill.value == 1:
            return f"np.ones({shape}{dtype})"
        return f"np.full({shape}, {self.atom(fill)}{dtype})"

    def assign_arrays(self, depth, outs, values) -> None:
        """Copies into buffers: Numba's own `[...] =` brings seconds of compilation with it, for its error messages."""
        self.helpers.add("assign")
        for out, value in zip(outs, values, strict=True):
            self.put(depth, f"assign({self.ref(out)}, {value})")
