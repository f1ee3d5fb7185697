"""The abstract interpreter: a user's function and the kinds of its arguments in, a core program out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import gast

from ...runtime.library_calls import CALLS
from ..language.core import Arr, Atom, Function, Stmt
from ..language.draws import HELPERS as DRAWN_BY
from ..language.errors import AutodiffError, InternalError, TypeConflict, UnsupportedSyntax
from ..language.facts import Facts
from ..language.ops import OPS, is_complex
from ..language.python_text import identifier
from ..language.queries import is_size
from ..source.definitions import definition, outer_names, plain_function
from . import (
    checks,
    library,  # noqa: F401  (fills the tables)
)
from .arrays import arrays, indexing
from .arrays.broadcasting import scalar_array
from .arrays.layout import lying_in_order
from .arrays.memory import force
from .arrays.slices import add_least_sizes
from .containers.lists import drop_unused_tables
from .containers.series import check_columns, packed_lists
from .containers.sharing import objects, same_object
from .functions import calls, method_calls, outside
from .functions.binding import bind_arguments
from .functions.frames import Frame
from .functions.kept_calls import note_calls
from .functions.names import ITERATED
from .functions.outside import code_of, defaults_of, outer_name, rule_of
from .functions.parameters import parameter
from .functions.places import Reads
from .functions.purity import alike, is_fixed
from .functions.recursion import entered
from .functions.written import changed_places, note_given, written_places
from .loops import iteration, loops
from .loops.loops import Again
from .needs import AlwaysRaises, NeedsStatic, Raised
from .numbers import conversions
from .numbers.conversions import parameter_behind
from .numbers.declared import bound_as_declared, called_as_declared, declare
from .numbers.overflow import check_overflow
from .numbers.words import with_words
from .state import Lowering
from .structures import describe, rebuild
from .syntax import assignments, expressions, operators, statements
from .syntax.alternatives import settled_result
from .syntax.expressions import value_of_lambda
from .syntax.liveness import Liveness, own_nodes, use_counts, whole_body
from .values import ON_ALL_PATHS, UNSET, Array, Buffer, Record, Scalar, Sequence, Static, Undefined, Value, known_as, leaves

HELPERS = {"math", "np", "empty", "zeros", "assign", "resize", *DRAWN_BY, *(call.helper for call in CALLS.values()),
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
    written: tuple = ()             # what it changes of its arguments, as (name, steps)
    layouts: set = field(default_factory=set)       # parameters that must lie in C order
    changed: dict = field(default_factory=dict)     # without what `is` asks of: (name, steps) -> its array, else None
    offset: int = 0                 # leading arguments that a partial application or a method holds
    seconds: float = 0.0            # what lowering took
    cut: bool = False               # whether it may be cut in pieces where it is long
    written_out: dict = field(default_factory=dict)             # loops with a copy of their body an item -> how many copies


class Interpreter(Lowering):
    """The abstract interpreter: each entry point is the function of its topic."""

    array = arrays.array
    atom = arrays.atom
    elementwise = arrays.elementwise
    operate = arrays.operate
    bind = assignments.bind
    store_item = assignments.store_item
    call = calls.call
    call_python = calls.call_python
    call_static = calls.call_static
    error = checks.error
    place = checks.place
    dtype_argument = conversions.dtype_argument
    attribute = expressions.attribute
    eval = expressions.eval
    get_item = indexing.get_item
    index_array = indexing.index_array
    select = indexing.select
    iterate = iteration.iterate
    range_length = loops.range_length
    call_method = method_calls.call_method
    binary = operators.binary
    compare = operators.compare
    condition = operators.condition
    wrap = outside.wrap
    choose = statements.choose
    exec = statements.exec
    exec_block = statements.exec_block

    # -- entry ------------------------------------------------------------------------------------------------
    def lower(self, function, args: list, kwargs: dict, name: str | None = None, outputs=(),
              finish: Callable[[Value], tuple[Value, tuple]] | None = None,
              through: Callable[[Interpreter, list, dict], Value] | None = None) -> Lowered:
        """Lower `function` called with argument trees; `outputs` names arguments whose final contents are results.

        A function that has a rule is called, not read. finish: from the result to (it, the core values to return),
        `results_of` if None. through: what the program is, from the arguments and keywords, instead of the function.
        """
        target, function = function, plain_function(function)
        root, raised = self.b, False
        self.parameter_leaves: list = []
        self.origin: dict = {}
        try:
            made = definition(function)
            code_of(self, function)
            self.sources[function.__code__] = function
            cells, namespace = outer_names(function)
            frame = Frame(made, cells, namespace, node=made.node, key=function)
            self.frame = frame
            self.node = made.node
            self.frames = [frame]
            defaults, keyword = defaults_of(self, function)
            trees = bind_arguments(self, made.node.args, args, kwargs, defaults, keyword, made.name)
            variadic = made.node.args.vararg.id if made.node.args.vararg is not None else None
            keywords = made.node.args.kwarg.id if made.node.args.kwarg is not None else None
            omitted = {id(v) for v in (*defaults, *keyword.values())}       # whose objects are not the program's to change
            bound: dict[str, Any] = {k: v if id(v) in omitted else parameter(self, k, v, k == variadic, k == keywords)
                     for k, v in trees.items()}
            missing = [o for o in outputs if o not in bound]
            if missing:
                raise self.error(TypeConflict, f"{made.name}() has no argument `{missing[0]}`")
            if outputs:                                 # their names may come to mean other objects
                bound[GIVEN] = Sequence(tuple(bound[o] for o in outputs))
            self.frames = []
            arguments = {k: v for k, v in bound.items() if k not in (GIVEN, variadic, keywords)
                         and id(trees[k]) not in omitted}
            arguments.update((f"*{k}", v) for k, v in enumerate(bound[variadic].items if variadic else ()))
            arguments.update(bound[keywords].items if keywords else {})
            note_given(self, arguments)
            frame.bound, frame.builder = tuple(v for k, v in bound.items() if k != GIVEN), root
            if through is not None:
                self.frames, frame.key = [frame], None
                frame.env.update(bound)
                self.b.loc = made.loc(made.node)
                given = {k: v for k, v in bound.items() if id(trees[k]) not in omitted}
                result = through(self, *spread_values(given, made.node.args))
            elif any(rule_of(self, table, f) is not None for table in ("user_rules", "definitions")
                     for f in (target, function)):
                self.frames, frame.key = [frame], None          # the caller of the function, not an activation of it
                frame.env.update(bound)
                self.b.loc = made.loc(made.node)
                result = self.call_static(target, *spread_values(bound, made.node.args))
            else:
                declare(self, frame, target)
                names = [k for k in bound if k != GIVEN]
                result = called_as_declared(self, target, [bound[k] for k in names], lambda values: entered(self,
                    function, function, made.name, made.node, lambda node, given=(): self.enter(
                        frame, node, {**bound, **dict(zip(names, values, strict=True)), **dict(given)})))
            result = settled_result(self, result)
            for slot, before in self.globals_written.items():
                if not same_value(frame.env[slot], before):
                    raise self.global_errors[slot]
            if outputs:
                extra = known_as(Sequence, frame.env[GIVEN]).items
                if isinstance(result, Static) and result.value is None:
                    result = extra[0] if len(extra) == 1 else Sequence(extra)
                else:
                    result = Sequence((result, *extra))
            result, returns = (finish or self.results_of)(result)
            check_columns(self)
        except AutodiffError as e:
            e.packed = bool(self.counts)
            raise
        except Raised as e:
            if e.builder is not root:
                raise e.error from None
            result, returns, raised = Static(None), (), True
        except (Again, NeedsStatic) as e:
            if isinstance(e, NeedsStatic):
                e.error.static_parameter = parameter_behind(self, e.value)
                raise e.error from None
            raise self.error(InternalError, "a loop could not be settled", "please report this program") from e
        self.check_least_sizes()
        trees = spread(trees, made.node.args)
        copied = frozenset(self.mutated & self.parameters)
        drop_unused_tables(self)
        params = tuple(self.parameter_leaves) + tuple(h[0] for h in self.hidden)
        own = "primal" if made.name == "<lambda>" else identifier(made.name)
        own = f"{own}_1" if own in HELPERS else own
        core = Function(name or own, params, self.b.block(), returns, copied)
        note_calls(self, core)
        if not self.integers_wrap:
            core = check_overflow(with_words(core, self.python_integers), self.python_integers, self.words)
        lowered = Lowered(core, result, list(self.parameter_leaves), self.b.facts, self.reads,
                          self.hidden, set(copied), self.sources, trees, written_places(self, arguments),
                          lying_in_order(self), changed_places(self, arguments), written_out=self.learnt.written_out)
        if raised:
            always = AlwaysRaises(f"`{made.name}` raises whatever the values of its arguments", made.loc(made.node))
            always.lowered = lowered
            raise always
        return lowered

    def check_least_sizes(self) -> None:
        """At the head of the program: the sizes that constant subscripts need; else the caller checks each access."""
        head, rest = list(self.hidden_sizes), list[Stmt]()
        for s in self.b.stmts:
            (head if is_size(s) and s.args[0] in self.parameters else rest).append(s)
        self.b.stmts[:] = head
        add_least_sizes(self, self.b, list(self.least_sizes))
        self.b.stmts.extend(rest)


    def enter(self, frame, node, bound) -> Value:
        frame.env = {"%exit": Static(0), "%value": UNSET}
        for place in [p for p in self.widened if p[0] == "global"]:
            slot, written = place[1], self.widened[place]
            self.frame = Frame(frame.definition, {}, written.namespace)
            found = outer_name(self, written.name)
            frame.env[slot] = self.globals_written[slot] = UNSET if found is None else found
            frame.rebound.add(slot)
        self.frames = [frame]
        self.frame = frame
        self.keep_alive.append(frame)
        frame.env.update(bound_as_declared(self, frame, bound))
        if isinstance(node, gast.AsyncFunctionDef):
            raise self.error(UnsupportedSyntax, "`async` code cannot be differentiated", "write a plain function")
        for n in own_nodes(node):
            if isinstance(n, (gast.Yield, gast.YieldFrom, gast.Await)):
                raise self.error(UnsupportedSyntax, "`yield` cannot be differentiated: a generator has no value to "
                                 "follow" if not isinstance(n, gast.Await) else "`async` code cannot be differentiated",
                                 "append to a list and return it", node=n)
        if isinstance(node, gast.Lambda):
            return value_of_lambda(self, frame, node)
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
        returns: list[Atom | Arr] = []
        out: list[Value] = []
        seen: set[Arr] = set()
        result = packed_lists(self, result)
        for o in objects(result):
            if isinstance(o, Record) and hasattr(o.cls, "stands_for"):
                raise self.error(TypeConflict, f"the function returns a {o.cls.stands_for.__name__}",
                                 "return a list or a dict of what is in it: list(...), dict(...)")
        for leaf in leaves(result):
            if isinstance(leaf, Array) and leaf.rank == 0 or isinstance(leaf, Static) and isinstance(leaf.value, complex):
                leaf = Scalar(self.atom(leaf))
            if isinstance(leaf, Scalar) and is_complex(leaf.dtype):     # as an array of its two parts
                leaf = scalar_array(self, leaf)
            if isinstance(leaf, Array):
                is_own = isinstance(leaf, Buffer) and leaf.arr not in seen and (
                    leaf.arr not in self.parameters or leaf.arr in self.mutated)
                buffer = force(self, leaf, "result" if not isinstance(leaf, Buffer) else "", copy=not is_own)
                seen.add(buffer.arr)
                out.append(buffer)
                returns.append(buffer.arr)
            elif isinstance(leaf, Scalar):
                out.append(leaf)
                returns.append(self.atom(leaf))
            elif isinstance(leaf, Static) and isinstance(leaf.value, (int, float, bool)):
                scalar = Scalar(self.atom(leaf), True)
                out.append(scalar)
                returns.append(self.atom(scalar))
            elif isinstance(leaf, Static) and (leaf.value is None or isinstance(leaf.value, str)):
                out.append(leaf)
            elif isinstance(leaf, Undefined) and leaf.lost:
                raise self.error(TypeConflict, leaf.why, ON_ALL_PATHS)
            else:
                raise self.error(TypeConflict, f"the function returns {describe(leaf)}",
                                 "return numbers, arrays, or tuples, lists and dicts of them")
        return rebuild(result, iter(out)), tuple(returns)


def same_value(now: Value, before: Value) -> bool:
    """Whether a global holds at the end what it held at the start."""
    return now is before or same_object(now, before) or isinstance(now, Static) and isinstance(before, Static) and (
        is_fixed(now.value) and is_fixed(before.value) and alike(now.value, before.value)) or isinstance(
        now, Scalar) and isinstance(before, Scalar) and now.atom == before.atom


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
    positional = [bound[a.id] for a in (*spec.posonlyargs, *spec.args) if a.id in bound]
    named = {a.id: bound[a.id] for a in spec.kwonlyargs if a.id in bound}
    return ([*positional, *(bound[spec.vararg.id].items if spec.vararg is not None else ())],
            {**named, **(bound[spec.kwarg.id].items if spec.kwarg is not None else {})})
