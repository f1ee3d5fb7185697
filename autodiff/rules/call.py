"""Calls of users' functions of numbers, arrays, structures and functions that have a pullback rule.

The value comes from the function's source, without derivative. A `Call` stands behind it, whose operands are the value and
the numbers and arrays among the arguments; what else the rules must know of this one call is its `Site`.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..transforms.differentiate.rule_programs import PushforwardProgram, RuleProgram
from ..transforms.language.build import ONE
from ..transforms.language.core import Arr, Function, Ref, Var, is_float
from ..transforms.language.errors import InternalError, MissingRule, TypeConflict, UnsupportedSyntax
from ..transforms.language.ops import USER_RULE, is_complex
from ..transforms.lower.arrays.arrays import as_ref
from ..transforms.lower.arrays.broadcasting import require_same
from ..transforms.lower.arrays.memory import force
from ..transforms.lower.arrays.writing import assign
from ..transforms.lower.checks import show_shape
from ..transforms.lower.functions.binding import bind_arguments
from ..transforms.lower.functions.outside import defaults_of, rule_of
from ..transforms.lower.functions.parameters import outside
from ..transforms.lower.functions.places import Reads, place_key, trusted
from ..transforms.lower.interpreter import Interpreter
from ..transforms.lower.kinds import Leaf
from ..transforms.lower.loops.plan import Widen
from ..transforms.lower.numbers.conversions import is_weak
from ..transforms.lower.numpy_functions.random_draws import no_draws
from ..transforms.lower.structures import rebuild
from ..transforms.lower.values import Array, Buffer, GrowList, Scalar, Sequence, Static, Table, leaves
from ..transforms.source.definitions import definition, plain_function
from .lifting import lift
from .registry import IN_A_RULE, REGISTRY, of_ours, read_by, without_sizes
from .trees import Tangent, kinds, paired, with_tangents
from .user import stopped

SPARE = Arr("unread", "float64", ())        # stands for an operand that a rule does not read


@dataclass(eq=False)
class Read:
    """A rule as a program: its parameters by what they are for, and what it makes, by the leaf it belongs to.

    buffers: those of the arrays outside that it reads.
    """

    program: Function
    params: dict
    made: dict
    buffers: dict


@dataclass(eq=False)
class Site:
    """One call of a function with a rule: what its rules are read for.

    rules: "pullback" and "pushforward" (if there is one). out: the leaf of the result.
    trees: for each argument the tree of its kinds; what is neither a number nor an array, functions above all, stands in it
        as it is. options: the same of keyword-only arguments, which go to the rules that have a parameter of that name.
    outside: the arrays outside that the function reads, and that its rules may; they are operands of the call too.
    known: what was read outside so far. loc: where the call stands.
    """

    name: str
    rules: dict
    out: Leaf
    trees: list
    options: dict
    boundscheck: Any
    widened: dict
    outside: dict
    known: Reads
    loc: Any = None
    reads: dict = field(default_factory=dict)

    @property
    def operands(self) -> list[Leaf]:
        return [leaf for tree in (*self.trees, *self.options.values()) for leaf in leaves(tree) if isinstance(leaf, Leaf)]

    def pullback(self, mask) -> RuleProgram:
        if "pullback" not in self.rules:
            raise MissingRule(f"`{self.name}` has a pushforward, and no pullback for reverse mode", self.loc,
                              f"give it one: @autodiff.rules.pullback({self.name}); jvp needs none")
        read = self.read("pullback", mask)
        bars = [None, *map(read.made.get, self.operands), *(None for _ in self.outside)]
        return RuleProgram(read.program.body, (read.params["y_bar"],), (read.params["y"],), self.placed(read),
                           tuple(b if isinstance(b, Arr) else None for b in bars),
                           tuple(None if isinstance(b, Arr) else b for b in bars),
                           read_by(read.program.body) | set(read.program.returns))

    def pushforward(self, mask) -> PushforwardProgram | None:
        if "pushforward" not in self.rules:
            return None
        read, active = self.read("pushforward", mask), self.active(mask)
        dots = [read.params["dot", leaf] if leaf in active else None for leaf in self.operands]
        used = read_by(read.program.body) | set(read.program.returns)
        if any(key[0] == "dot" and key[1] not in active and param in used for key, param in read.params.items()
               if isinstance(key, tuple)):
            raise TypeConflict(f"the pushforward of `{self.name}` reads the tangent of an argument that has none here: a "
                               "contribution must depend on its own tangent alone, `raise` statements included")
        return PushforwardProgram(read.program.body, (read.params["y"],), self.placed(read),
                                  (None, *dots, *(None for _ in self.outside)), (read.made["y"],), used)

    def placed(self, read: Read) -> tuple:
        """The parameters of a rule in the order of the call's operands."""
        return (SPARE, *(read.params.get(leaf, SPARE) for leaf in self.operands),
                *(read.buffers.get(key, SPARE) for key in self.outside))

    def active(self, mask) -> set[Leaf]:
        return {leaf for leaf, on in zip(self.operands, mask[1:], strict=False) if on}

    def read(self, which: str, mask) -> Read:
        """The rule for those operands as active of which `mask` says so."""
        key = which, mask[1:1 + len(self.operands)]
        if key not in self.reads:
            self.reads[key] = (self.read_pullback if which == "pullback" else self.read_pushforward)(self.active(mask))
        return self.reads[key]

    def read_pullback(self, wanted) -> Read:
        def accumulate(lo, result, params, made):
            for tree, part in zip(self.trees, self.parts(lo, result, "pullback", "adjoints"), strict=True):
                for leaf, adjoint in paired(lo, tree, part, wanted, self.name):
                    param = params[leaf]
                    if isinstance(param, Arr):
                        made[leaf] = Arr(f"{param.hint}_bar", param.dtype, param.shape)
                        self.check_shape(lo, adjoint, param, "the pullback of `{}` returns an array of shape {} for an "
                                         "argument of shape {}")
                        assign(lo, Buffer(made[leaf]), adjoint, accumulate=True)
                    else:
                        made[leaf] = lo.atom(adjoint)
        return self.lowered("pullback", [("y_bar", self.out), ("y", self.out), *((None, t) for t in self.trees)], accumulate)

    def read_pushforward(self, wanted) -> Read:
        """The tangent is the sum of the contributions of the arguments that have a tangent or hold something that has."""
        def write(lo, result, params, made):
            parts = [p for tree, p in zip(self.trees, self.parts(lo, result, "pushforward", "contributions"), strict=True)
                     if not wanted.isdisjoint(leaves(tree))]
            if any(isinstance(p, Static) and p.value is None for p in parts):
                raise lo.error(TypeConflict, f"the pushforward of `{self.name}` returns None for an argument with a tangent")
            y = params["y"]
            if isinstance(y, Arr):
                made["y"] = Arr("dot", y.dtype, y.shape)
                for k, part in enumerate(parts):
                    self.check_shape(lo, part, y, "the pushforward of `{}` returns an array of shape {} for a result of "
                                     "shape {}")
                    assign(lo, Buffer(made["y"]), part, accumulate=k > 0)
            else:
                made["y"] = lo.atom(parts[0], y.dtype)
                for part in parts[1:]:
                    made["y"] = lo.operate("add", (made["y"], lo.atom(part, y.dtype)), y.dtype)
        given = [("y", self.out), *((None, t) for t in self.trees)]
        return self.lowered("pushforward", [*given, *((None, with_tangents(t, wanted)) for t in self.trees)], write)

    def check_shape(self, lo, part, like: Arr, told: str) -> None:
        """What a rule returns has the shape of what it belongs to: nothing else sees to that."""
        if isinstance(part, Array) and part.rank == len(like.shape):
            text = told.format(self.name, *(show_shape(lo, shape) for shape in (part.shape, like.shape)))
            for mine, wanted in zip(part.shape, like.shape, strict=True):
                if mine != ONE:
                    require_same(lo, mine, wanted, text, tells="note")

    def parts(self, lo, result, which, what) -> tuple:
        """What a rule returns for each argument."""
        parts = result.items if isinstance(result, Sequence) and len(self.trees) > 1 else (result,)
        if len(parts) != len(self.trees):
            raise lo.error(TypeConflict, f"the {which} of `{self.name}` returns {len(parts)} {what} for {len(self.trees)} "
                                         "arguments")
        return parts

    def lowered(self, which: str, specs: list, finish) -> Read:
        """A rule lowered for (role, tree of kinds) of its parameters; `finish(lo, result, params, made)` fills `made`."""
        rule = self.rules[which]
        taken = [p.name for p in inspect.signature(rule).parameters.values() if p.kind is p.KEYWORD_ONLY]
        options = {k: v for k, v in self.options.items() if k in taken}
        keys: list = []                         # what each parameter of the program is for
        for role, tree in (*specs, *((None, v) for v in options.values())):
            for leaf in leaves(tree):
                if isinstance(leaf, Leaf):
                    keys.append(role or (("dot", leaf.primal) if isinstance(leaf, Tangent) else leaf))
        while True:
            lo = Interpreter(REGISTRY, self.boundscheck, self.widened, self.known)
            params: dict = {}
            made: dict = {}

            def finishing(result, lo=lo, params=params, made=made):
                params.update(zip(keys, lo.parameter_leaves, strict=True))
                finish(lo, result, params, made)
                return result, tuple(made.values())
            try:
                with no_draws(lo, *IN_A_RULE):
                    found = lo.lower(rule, [tree for _, tree in specs], options, finish=finishing)
                break
            except Widen as e:
                if self.widened.get(e.place) == e.dtype:
                    raise InternalError("a list's type does not settle", None, "please report this program") from e
                self.widened[e.place] = e.dtype
        if found.mutated:
            raise TypeConflict(f"the {which} of `{self.name}` writes to its arguments", None, "write to copies of them")
        tangents = [(p, params[key[1]]) for key, p in params.items() if isinstance(key, tuple) and isinstance(p, Arr)]
        program = of_ours(without_sizes(found.function, not trusted(rule.__module__), tangents))
        if any(place_key(o, v) not in self.outside for _, o, v in found.hidden):
            raise UnsupportedSyntax(f"the {which} of `{self.name}` reads an array outside that the function itself does not",
                                    None, "pass the array as an argument")
        return Read(program, params, made, {place_key(o, v): arr for arr, o, v in found.hidden})


def lower_user_call(lo, rule, function, args, kwargs):
    """The value from the function's source, and the call that carries the rule."""
    plain = plain_function(function)
    given, options, variadic = arguments_of(lo, plain, args, kwargs)
    lifted, captured = lift(lo, [*given, *options.values()])
    given, options = lifted[:len(given)], dict(zip(options, lifted[len(given):], strict=True))
    if captured and not variadic:
        raise lo.error(UnsupportedSyntax, f"`{plain.__name__}` has a rule, and a function given to it reads values of the "
                                          "function around it", "pass them as arguments")
    if captured:
        given[-1] = Sequence((*given[-1].items, *captured))
    given, options = [in_memory(lo, a) for a in given], {k: in_memory(lo, v) for k, v in options.items()}
    result, reads = value_of(lo, plain, given, options, variadic)
    rules = {"pullback": rule.rule} if rule.rule is not None else {}
    forward = rule_of(lo, "user_pushforwards", function) or rule_of(lo, "user_pushforwards", plain)
    if forward is not None:
        rules["pushforward"] = forward
    site = Site(plain.__name__, rules, kinds(result), [kinds(a, False) for a in given],
                {k: kinds(v, False) for k, v in options.items()}, lo.boundscheck, dict(lo.widened), reads, lo.reads,
                lo.b.loc)
    if any(is_complex(leaf.dtype) for tree in (result, *given, *options.values()) for leaf in leaves(tree)
           if isinstance(leaf, (Scalar, Array))):
        raise lo.error(UnsupportedSyntax, f"`{plain.__name__}` has a rule and takes or returns complex numbers",
                       "pass real and imaginary parts, or write it without a rule")
    operands = [operand(lo, leaf) for tree in (result, *given, *options.values()) for leaf in leaves(tree)
                if isinstance(leaf, (Scalar, Array))]
    operands += [Ref(outside(lo, origin, value)) for origin, value in reads.values()]
    op = f"{USER_RULE}{plain.__module__}.{plain.__qualname__}"
    if isinstance(result, Array):
        arr = lo.b.alloc("v", result.dtype, result.shape)
        lo.b.call((arr,), op, tuple(operands), (site,))
        return Buffer(arr)
    out = Var("v", result.dtype)
    lo.b.facts.number(out)
    lo.b.call((out,), op, tuple(operands), (site,))
    return Scalar(out, result.weak)


def arguments_of(lo, function, args, kwargs) -> tuple[list, dict, bool]:
    """(positional arguments, a tuple of the variadic ones last; keyword-only ones; whether there is a variadic one)."""
    node = definition(function).node.args
    defaults, keyword = defaults_of(lo, function)
    bound = bind_arguments(lo, node, list(args), dict(kwargs), defaults, keyword, function.__name__)
    names = [a.id for a in (*node.posonlyargs, *node.args)] + ([node.vararg.id] if node.vararg is not None else [])
    return [bound[n] for n in names], {a.id: bound[a.id] for a in node.kwonlyargs}, node.vararg is not None


def in_memory(lo, value):
    """A value with every array in memory; integers as they are."""
    made = []
    for leaf in leaves(value):
        if isinstance(leaf, Table):
            raise lo.error(UnsupportedSyntax, "a growing list of tuples cannot be passed to a function with a rule",
                           "pass arrays")
        if isinstance(leaf, GrowList):
            leaf = lo.array(leaf)
        if isinstance(leaf, Array) and not leaf.rank:
            leaf = Scalar(lo.atom(leaf))
        elif isinstance(leaf, Array) and not leaf.has_memory:
            leaf = force(lo, leaf)
        made.append(leaf)
    return rebuild(value, iter(made))


def value_of(lo, function, given, options, variadic):
    """(a number or an array, without derivative; the arrays outside that were read) of a function with a rule."""
    spread = [*given[:-1], *given[-1].items] if variadic else given
    own, named = [stopped(lo, a) for a in spread], {k: stopped(lo, v) for k, v in options.items()}
    copies = {leaf.arr for a in (*own, *named.values()) for leaf in leaves(a) if isinstance(leaf, Buffer)}
    mark = len(lo.around.writes)
    known, lo.outside_values = lo.outside_values, {}        # so that what was read before is read again, and seen
    reads: dict = {}
    lo.watching.append(reads)
    try:
        value = lo.call_python(function, own, named)
    finally:
        lo.watching.pop()
        lo.outside_values = {**lo.outside_values, **known}
    if not copies.isdisjoint(lo.around.writes[mark:]):
        raise lo.error(UnsupportedSyntax, f"`{function.__name__}` has a rule and writes to its arguments", "write to a copy")
    if isinstance(value, Sequence) and len(value.items) == 1:
        value = value.items[0]
    if isinstance(value, Static) and isinstance(value.value, (int, float)) or isinstance(value, Array) and not value.rank:
        value = Scalar(lo.atom(value), is_weak(lo, value))
    if isinstance(value, Scalar) and not is_float(value):
        value = Scalar(lo.atom(value, "float64"))
    if not isinstance(value, (Scalar, Array)):
        raise lo.error(TypeConflict, f"`{function.__name__}` has a rule and must return one number or array")
    reads = {key: read for key, read in reads.items() if isinstance(read[1], np.ndarray)}
    return value if isinstance(value, Scalar) else force(lo, value), reads


def operand(lo, leaf):
    return as_ref(lo, leaf) if isinstance(leaf, Array) else lo.atom(leaf)


__all__ = ["Site", "lower_user_call"]
