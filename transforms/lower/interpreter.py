"""The abstract interpreter: a user's function and the kinds of its arguments in, a core program out."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..language.build import Facts, integer
from ..language.core import GENERATOR, Arr, Function, Let, Var
from ..language.draws import HELPERS as DRAWN_BY
from ..language.errors import AutodiffError, InternalError, TypeConflict, UnsupportedSyntax
from ..language.ops import LIBRARY, OPS, PARTS, is_complex, normal_dtype
from ..language.python_text import identifier
from ..source.definitions import definition, outer_names, plain_function
from . import library  # noqa: F401  (fills the table of built-in functions)
from .aliases import Twins
from .alternatives import Alternatives
from .arrays import ArrayMachinery, describe
from .calls import Calls
from .checks import Checks
from .complex_numbers import ComplexNumbers
from .comprehensions import Comprehensions
from .containers import Containers
from .declared import Declared
from .expressions import Expressions
from .frames import Frame
from .indexing import UNPROVEN, Indexing
from .kinds import MANY, ArrayArg, ColumnArg, GeneratorArg, Leaf, ScalarArg
from .layout import Layouts
from .list_methods import ListMethods
from .lists import Lists
from .loop_ends import ITERATED
from .loops import Again, Loops
from .math_errors import MathErrors
from .messages import Messages, name_of
from .needs import AlwaysRaises, NeedsStatic, Raised
from .outside import Outside, Place, Reads, place_key, trusted
from .overflow import check_overflow
from .packing import LEAST
from .pairs import PairBuilder
from .points import Points
from .python_builtins import Helpers
from .raising import Raising
from .random_draws import Draws
from .records import Records
from .recursion import Recursion
from .rules import RuleCalls
from .series import SeriesItems, lists_around
from .statements import Statements
from .structures import rebuild
from .table import BUILTINS
from .values import UNMARKED, UNSET, Array, Buffer, Generator, Scalar, Sequence, Static, Undefined, Value, leaves

HELPERS = {"math", "np", "empty", "zeros", "assign", "resize", *DRAWN_BY, *LIBRARY.values(),
           *(op.helper for op in OPS.values())}
GIVEN = ITERATED + " outside"           # the name under which the caller sees the arguments that are results


@dataclass(eq=False)
class Lowered:
    """A lowered program with what its caller must know."""

    function: Function
    result: Value
    leaves: list
    facts: Facts
    reads: Reads
    hidden: list
    mutated: set
    sources: dict = field(default_factory=dict)
    trees: dict = field(default_factory=dict)
    layouts: set = field(default_factory=set)       # written arrays whose views depend on their lying in C order
    offset: int = 0                 # leading arguments that a partial application or a method holds
    seconds: float = 0.0            # what lowering took


class Lowering(ArrayMachinery, ComplexNumbers, Expressions, Comprehensions, Statements, Loops, Lists, ListMethods,
               Recursion, Calls, Indexing, RuleCalls, Messages, Raising, Helpers, Checks, MathErrors, Layouts, Twins, Draws,
               Alternatives, Containers, Declared, Records, Outside, SeriesItems, Points):
    integers_wrap = False               # whether Python's integers are those of a kernel, which wrap

    def __init__(self, registry, boundscheck: bool = True, widened: dict | None = None, reads: Reads | None = None,
                 packs: bool = False):
        self.registry = registry
        self.boundscheck = boundscheck
        self.widened = widened or {}            # places of the source where a list is made -> the dtype it needs
        self.list_places: dict = {}
        self.active_loops: list = []
        self.branches_around = 0
        self.known_conditions: list = []        # (condition, whether it holds) of the branches around
        self.bound_by: dict = {}                # whether a name is bound after a branch -> (its condition, on either side)
        self.tables: dict = {}
        self.shown: list = []                   # numbers in messages
        self.carried: dict = {}                 # what a loop carries -> the block the loop stands in
        self.machines: dict = {}
        self.inlined: dict = {}
        self.repeated: set = set()
        self.running: list = []             # the recursive functions whose loops are being lowered
        self.last_resort: dict = {}         # what to say of those that are inlined although no loop can stand for them
        self.builtins = BUILTINS
        self.b = PairBuilder(Facts())
        self.frames: list[Frame] = []
        self.frame: Frame = None
        self.node = None
        self.keep_alive: list = []
        self.guarded: set = set()
        self.parameters: set[Arr] = set()
        self.mutated: set[Arr] = set()
        self.layouts: set[Arr] = set()          # parameters that are taken to lie in C order
        self.left_out: dict[Arr, tuple] = {}    # arrays of which a copy is needed if they are written -> where it is made
        self.either_way: dict[frozenset, str] = {}      # twins that may be one array for NumPy or Python: what they are
        self.twins: dict[Arr, set[Arr]] = {}
        self.sizes_by_path: dict = {}           # size of an array that a branch chooses -> those of the two
        self.size_joins: dict = {}              # such a size -> the name that the branch leaves, and where
        self.result_memory: set[Arr] = set()            # of results of unknown length: nothing sees it before the return
        self.taken_over: dict[frozenset, str] = {}      # twins that a loop makes -> the name that changes hands
        self.sizes: set[Var] = set()
        self.reads = reads if reads is not None else Reads()
        self.outside_values: dict = {}      # what was read outside, by the keys of places
        self.hidden: list = []
        self.hidden_sizes: list = []
        self.watching: list[dict] = []      # what is read outside while something is lowered, for those who ask
        self.sources: dict = {}
        self.plans: dict = {}
        self.results: dict = {}
        self.static_trips: list = [False]
        self.loop_mark: tuple | None = UNMARKED
        self.least_sizes: dict = {}
        self.least_places: dict = {}
        self.forced_log: list = []
        self.kept_frames: list = []         # of functions that have returned an inner function
        self.listed: dict = {}              # buffers whose contents growing lists have copied
        self.row_kinds: dict[Arr, tuple] = {}   # memory of growing lists of rows -> their kinds, () for arrays
        self.items_from: dict[Arr, set] = {}    # memory of growing lists of arrays -> what its items are copies of
        self.replacing = False              # whether an item of such a list is bound, not written
        self.user_writes: list = []         # buffers the program has written, in the order of the text
        self.own_copies = False             # whether what is written is a loop's own business
        self.temporaries: list = []         # values of expressions whose other parts are being evaluated
        self.changed_points: set = set()    # places where arrays of rank 0 are made that are numbers here, and change
        self.kept_points: set = set()       # those of which a list has a copy
        self.index_bound: dict = {}
        self.implied: dict = {}             # condition -> (value, which of its options that says it is)
        self.connected: dict = {}           # condition -> (whether it is `and`, the conditions that it connects)
        self.one_generator: dict = {}       # what says that arguments are one generator -> that of the first
        self.counts: dict = {}              # marks of long lists among the arguments -> how many items they have
        self.packs = packs                      # whether long lists outside are packed
        self.columns: set[Arr] = set()      # the arrays of their items
        self.undrawn: list = []             # why what is being lowered cannot draw, innermost last
        self.python_integers: set[Var] = set()      # results of operations on Python's integers
        self.drawn = 0                      # how many draws have been lowered

    @property
    def env(self):
        return self.frame.env

    def error(self, cls, problem, hint="", node=None):
        node = node if node is not None else self.node
        loc = self.place(node) if self.frame is not None and node is not None else None
        inner = self.frame.key if loc is not None and loc.file != self.frame.definition.file else None
        if inner is not None and not (getattr(inner, "__module__", None) or "").startswith(__name__.split(".")[0]):
            problem = f"in `{name_of(inner)}`: {problem}"
        return cls(self.known_text(problem), loc, hint)

    def place(self, node):
        """Where a node stands; for one of a library's function, where the user's code calls that."""
        if not trusted(self.frame.root.globals.get("__name__")):
            return self.frame.definition.loc(node)
        users = next((f for f in reversed(self.frames) if not trusted(f.root.globals.get("__name__"))), None)
        return self.frame.definition.loc(node) if users is None else users.definition.loc(users.calling or users.statement)

    # -- parameters -------------------------------------------------------------------------------------------
    def array_parameter(self, name: str, spec: ArrayArg, counts=()) -> Buffer:
        """The buffer of an array argument; `counts`: what is known of the sizes of its first axes, else None."""
        sizes = []
        arr = Arr(name, PARTS.get(spec.dtype, spec.dtype), (), pairs=spec.dtype in PARTS)
        for axis, known in enumerate(spec.sizes):
            if axis < len(counts) and counts[axis] is not None:
                sizes.append(counts[axis])
                continue
            if isinstance(known, int):
                sizes.append(integer(known))
                continue
            var = Var(f"{name}_{axis}" if len(spec.sizes) > 1 else f"{name}_size", "int64")
            if known == MANY:
                self.b.facts.range[var] = (integer(2 if axis >= len(counts) else LEAST), None)
            self.b.facts.number(var)
            self.b.facts.nonnegative.add(var)
            self.sizes.add(var)
            self.b.add(Let(var, "dim", (arr, axis)))
            self.b.facts.home[var] = None
            sizes.append(var)
        arr.shape = (*sizes, integer(2)) if arr.pairs else tuple(sizes)
        self.parameters.add(arr)
        return Buffer(arr)

    def complex_parameter(self, name: str, spec: ScalarArg) -> tuple[Arr, Scalar]:
        """A complex number comes as an array of its two parts."""
        arr = self.array_parameter(name, ArrayArg(spec.dtype, ())).arr
        return arr, Scalar(self.b.load(arr, ()), spec.weak)

    def scalar_parameter(self, name: str, spec: ScalarArg) -> Scalar:
        var = Var(name, spec.dtype)
        self.b.facts.number(var)
        self.sizes.add(var)
        self.b.facts.home[var] = None
        return Scalar(var, spec.weak)

    def hidden_array(self, value: np.ndarray, origin: Place | None, spec=None, counts=()) -> Buffer:
        """An array outside: an extra argument, read anew at every call. spec, counts: as of a parameter, if known."""
        dtype = normal_dtype(value.dtype)
        for reads in self.watching:
            reads[place_key(origin, value)] = origin, value
        known = self.outside(origin, value)
        if known is not None:
            return Buffer(known)
        name = origin.hint if origin is not None else "constant"
        here = self.b
        while self.b.parent is not None:
            self.b = self.b.parent
        try:
            position = len(self.b.stmts)
            sizes = tuple(s if s < 2 else MANY for s in value.shape)        # it may have another shape at a later call
            buffer = self.array_parameter(name, spec or ArrayArg(dtype, sizes), counts)
            self.hidden_sizes += self.b.stmts[position:]     # a loop lowered again drops what it added
            del self.b.stmts[position:]
        finally:
            self.b = here
        self.hidden.append((buffer.arr, origin, value))
        return buffer

    def generator_parameter(self, name: str) -> Generator:
        arr = Arr(name, GENERATOR, ())
        self.parameters.add(arr)
        return Generator(arr)

    def hidden_generator(self, value: np.random.Generator, origin) -> Generator:
        """A generator outside: an extra argument."""
        known = self.outside(origin, value)
        if known is not None:
            return Generator(known)
        made = self.generator_parameter(origin.hint if origin is not None and origin.hint != "constant" else "rng")
        self.hidden.append((made.arr, origin, value))
        return made

    def hidden_number(self, value: float, origin: Place) -> Scalar:
        """A number outside that keeps changing: an extra argument."""
        known = self.outside(origin, value)
        if known is not None:
            return Scalar(known, True)
        made = self.scalar_parameter(origin.hint, ScalarArg("float64"))
        self.hidden.append((made.atom, origin, value))
        return made

    def outside(self, origin, value):
        """The parameter that stands for an array or number outside already; None if there is none."""
        key = place_key(origin, value)
        return next((param for param, o, v in self.hidden if place_key(o, v) == key), None)

    def parameter(self, name: str, tree, variadic: bool = False, keywords: bool = False) -> Value:
        """The value of an argument whose leaves are ArrayArg, ScalarArg or Static; of `*args` or `**kwargs`, if so said."""
        made = []
        found, around = leaves(tree), lists_around(tree)
        origins = {id(leaf): f"*{k}" for k, item in enumerate(tree.items) for leaf in leaves(item)} if variadic else {
            id(leaf): k for k, item in tree.items.items() for leaf in leaves(item)} if keywords else {}
        for k, leaf in enumerate(found):
            hint = name if len(found) == 1 else f"{name}_{k}"
            spec = leaf.spec if isinstance(leaf, Leaf) else None
            if isinstance(spec, ColumnArg):
                value = self.column_parameter(hint, spec, around[id(leaf)])
                self.parameter_leaves.append(value.array.arr)
            elif isinstance(spec, ArrayArg):
                value = self.array_parameter(hint, spec)
                self.parameter_leaves.append(value.arr)
            elif isinstance(spec, GeneratorArg):
                value = self.generator_parameter(hint)
                self.parameter_leaves.append(value.arr)
                if spec.same is not None:                   # all draws are from the first parameter
                    value = self.one_generator.setdefault(spec.same, value)
            elif isinstance(spec, ScalarArg) and spec.dtype in PARTS:
                arr, value = self.complex_parameter(hint, spec)
                self.parameter_leaves.append(arr)
            elif isinstance(spec, ScalarArg):
                value = self.scalar_parameter(hint, spec)
                self.parameter_leaves.append(value.atom)
                self.origin[value.atom] = origins.get(id(leaf), name)
            else:
                value = leaf
            made.append(self.point(value, ("point", hint)) if isinstance(spec, ScalarArg) and spec.point else value)
        return self.opened(rebuild(tree, iter(made))) if around else rebuild(tree, iter(made))

    # -- entry ------------------------------------------------------------------------------------------------
    def lower(self, function, args: list, kwargs: dict, name: str | None = None, outputs=()) -> Lowered:
        """Lower `function` called with argument trees; `outputs` names arguments whose final contents are results.

        A function that has a derivative rule is called, not read.
        """
        target, function = function, plain_function(function)
        root, raised = self.b, False
        self.parameter_leaves: list = []
        self.origin: dict = {}
        try:
            made = definition(function)
            self.code_of(function)
            self.sources[function.__code__] = function
            cells, namespace = outer_names(function)
            frame = Frame(made, cells, namespace, node=made.node, key=function)
            self.frame = frame
            self.node = made.node
            self.frames = [frame]
            defaults, keyword = self.defaults_of(function)
            trees = self.bind_arguments(made.node.args, args, kwargs, defaults, keyword, made.name)
            variadic = made.node.args.vararg.id if made.node.args.vararg is not None else None
            keywords = made.node.args.kwarg.id if made.node.args.kwarg is not None else None
            omitted = {id(v) for v in (*defaults, *keyword.values())}       # whose objects are not the program's to change
            bound = {k: v if id(v) in omitted else self.parameter(k, v, k == variadic, k == keywords)
                     for k, v in trees.items()}
            missing = [o for o in outputs if o not in bound]
            if missing:
                raise self.error(TypeConflict, f"{made.name}() has no argument `{missing[0]}`")
            if outputs:                                 # their names may come to mean other objects
                bound[GIVEN] = Sequence(tuple(bound[o] for o in outputs))
            self.frames = []
            frame.bound, frame.builder = tuple(v for k, v in bound.items() if k != GIVEN), root
            if self.rule_of("user_rules", target) is not None or self.rule_of("user_rules", function) is not None:
                self.frames, frame.key = [frame], None          # the caller of the function, not an activation of it
                frame.env.update(bound)
                result = self.call_static(target, *spread_values(bound, made.node.args))
            else:
                self.declare(frame, target)
                names = [k for k in bound if k != GIVEN]
                result = self.called_as_declared(target, [bound[k] for k in names], lambda values: self.entered(
                    function, function, made.name, made.node, lambda node, given=(): self.enter(
                        frame, node, {**bound, **dict(zip(names, values, strict=True)), **dict(given)})))
            result = self.settled_result(result)
            if outputs:
                extra = frame.env[GIVEN].items
                if isinstance(result, Static) and result.value is None:
                    result = extra[0] if len(extra) == 1 else Sequence(extra)
                else:
                    result = Sequence((result, *extra))
            result, returns = self.results_of(result)
            self.check_columns()
        except AutodiffError as e:
            e.packed = bool(self.counts)
            raise
        except Raised as e:
            if e.builder is not root:
                raise e.error from None
            result, returns, raised = Static(None), (), True
        except (Again, NeedsStatic) as e:
            if isinstance(e, NeedsStatic):
                e.error.static_parameter = self.parameter_behind(e.value)
                raise e.error from None
            raise self.error(InternalError, "a loop could not be settled", "please report this program") from e
        self.check_least_sizes()
        trees = spread(trees, made.node.args)
        copied = frozenset(self.mutated & self.parameters)
        self.drop_unused_tables()
        params = tuple(self.parameter_leaves) + tuple(h[0] for h in self.hidden)
        own = "primal" if made.name == "<lambda>" else identifier(made.name)
        own = f"{own}_1" if own in HELPERS else own
        core = Function(name or own, params, self.b.block(), returns, copied)
        core = core if self.integers_wrap else check_overflow(core, self.python_integers)
        lowered = Lowered(core, result, list(self.parameter_leaves), self.b.facts, self.reads,
                          self.hidden, set(copied), self.sources, trees, self.layouts & copied)
        if raised:
            always = AlwaysRaises(f"`{made.name}` raises whatever the values of its arguments", made.loc(made.node))
            always.lowered = lowered
            raise always
        return lowered

    def check_least_sizes(self) -> None:
        """At the head of the program: the sizes that constant subscripts need; else the caller checks each access."""
        head, rest = list(self.hidden_sizes), []
        for s in self.b.stmts:
            (head if isinstance(s, Let) and s.op == "dim" and s.args[0] in self.parameters else rest).append(s)
        self.b.stmts[:] = head
        for size, least in self.least_sizes.items():
            ok = Var("large_enough", "bool")
            self.b.add(Let(ok, "ge", (size, integer(least))))
            self.b.start_again_unless(ok, "IndexError", UNPROVEN, self.least_places[size])
        self.b.stmts.extend(rest)

    def parameter_behind(self, value):
        """The name of an integer parameter that a value depends on, to be made static; None if there is none."""
        if not isinstance(value, Scalar):
            return None
        waiting, seen = [value.atom], set()
        while waiting:
            atom = waiting.pop()
            if not isinstance(atom, Var) or atom in seen:
                continue
            seen.add(atom)
            if atom in self.parameter_leaves and atom.dtype == "int64":
                return self.origin[atom]
            waiting.extend(self.b.facts.definition.get(atom, ("", ()))[1])
        return None

    def enter(self, frame, node, bound) -> Value:
        import gast

        from .liveness import Liveness, use_counts, whole_body
        frame.env = {"%exit": Static(0), "%value": UNSET, **bound}
        self.frames = [frame]
        self.frame = frame
        self.keep_alive.append(frame)
        if isinstance(node, gast.AsyncFunctionDef):
            raise self.error(UnsupportedSyntax, "`async` code cannot be differentiated", "write a plain function")
        for n in gast.walk(node):
            if isinstance(n, (gast.Yield, gast.YieldFrom, gast.Await)):
                raise self.error(UnsupportedSyntax, "`yield` cannot be differentiated: a generator has no value to "
                                 "follow" if not isinstance(n, gast.Await) else "`async` code cannot be differentiated",
                                 "append to a list and return it", node=n)
        if isinstance(node, gast.Lambda):
            frame.uses, frame.statement = use_counts(node), node.body
            return self.eval(node.body)
        node.liveness = Liveness(node)
        node.uses = use_counts(node)
        frame.uses = node.uses
        self.exec_block(whole_body(node))
        value = frame.env["%value"]
        if value is UNSET:
            return Static(None)
        if isinstance(value, Undefined):
            raise self.error(TypeConflict, value.why or "the function does not return on every path")
        return value

    def results_of(self, result: Value):
        """The result with every array in memory of its own, and the core values to return."""
        returns, out, seen = [], [], set()
        result = self.packed_lists(result)
        for leaf in leaves(result):
            if isinstance(leaf, Array) and leaf.rank == 0 or isinstance(leaf, Static) and isinstance(leaf.value, complex):
                leaf = Scalar(self.atom(leaf))
            if isinstance(leaf, Scalar) and is_complex(leaf.dtype):     # as an array of its two parts
                leaf = self.scalar_array(leaf)
            if isinstance(leaf, Array):
                is_own = isinstance(leaf, Buffer) and leaf.arr not in seen and (
                    leaf.arr not in self.parameters or leaf.arr in self.mutated)
                buffer = self.force(leaf, "result" if not isinstance(leaf, Buffer) else "", copy=not is_own)
                seen.add(buffer.arr)
                out.append(buffer)
                returns.append(buffer.arr)
            elif isinstance(leaf, Scalar):
                out.append(leaf)
                returns.append(leaf.atom)
            elif isinstance(leaf, Static) and isinstance(leaf.value, (int, float, bool)):
                scalar = Scalar(self.atom(leaf), True)
                out.append(scalar)
                returns.append(scalar.atom)
            elif isinstance(leaf, Static) and (leaf.value is None or isinstance(leaf.value, str)):
                out.append(leaf)
            elif isinstance(leaf, Undefined) and leaf.lost:
                raise self.error(TypeConflict, leaf.why)
            else:
                raise self.error(TypeConflict, f"the function returns {describe(leaf)}",
                                 "return numbers, arrays, or tuples, lists and dicts of them")
        return rebuild(result, iter(out)), tuple(returns)


def spread(trees: dict, spec) -> dict:
    """Argument trees with `*args` and `**kwargs` as the single arguments they hold."""
    out: dict = {}
    for name, tree in trees.items():
        if spec.vararg is not None and name == spec.vararg.id:
            out.update({f"{name}[{k}]": item for k, item in enumerate(tree.items)})
        elif spec.kwarg is not None and name == spec.kwarg.id:
            out.update(tree.items)
        else:
            out[name] = tree
    return out


def spread_values(bound: dict, spec) -> tuple[list, dict]:
    """Bound arguments as those of a call: (positional ones, keywords)."""
    positional = [bound[a.id] for a in (*spec.posonlyargs, *spec.args)]
    named = {a.id: bound[a.id] for a in spec.kwonlyargs}
    return ([*positional, *(bound[spec.vararg.id].items if spec.vararg is not None else ())],
            {**named, **(bound[spec.kwarg.id].items if spec.kwarg is not None else {})})
