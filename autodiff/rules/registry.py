"""Where derivative rules are kept and how the compiler reads them.

A rule is an ordinary Python function. It is lowered once for each combination of dtypes (or ranks) by the same
front end that reads the user's program, and then inlined into the reverse sweep: what its body reads is what the
reverse sweep needs.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ..arguments import sparse
from ..runtime.library_calls import CALLS
from ..runtime.machine_code.forks import LOADING
from ..transforms.differentiate.hooks import HOOK, Hook
from ..transforms.differentiate.rule_programs import PushforwardProgram, RuleProgram
from ..transforms.language import core
from ..transforms.language.core import Arr, Const, Function, Var
from ..transforms.language.errors import NonDifferentiable
from ..transforms.language.ops import COMPLEX, INACTIVE_KINDS, OPS, PARTS, USER_RULE
from ..transforms.language.queries import is_loop, is_size, merges_in
from ..transforms.language.rewrite import each_branch
from ..transforms.language.substitution import placeless, renamed
from ..transforms.lower.arrays.writing import assign
from ..transforms.lower.interpreter import Interpreter
from ..transforms.lower.kinds import ArrayArg, Leaf, ScalarArg
from ..transforms.lower.numpy_functions.random_draws import no_draws
from ..transforms.lower.values import Buffer, Sequence, Static
from ..transforms.optimise.simplify import drop_constant_carries, remove_dead
from .user import partials_of

OURS = {"scipy.special": "special", "scipy.stats": "more_distributions", "scipy.linalg": "linear_algebra",
        "scipy.signal": "spectra", "scipy.integrate": "..solvers.scipy_integrals", "numpy.fft": "fourier",
        "scipy.fft": "trigonometric", "scipy.ndimage": "images", "scipy.spatial": "spatial",
        "scipy.optimize": "..solvers.scipy_optimize", "scipy.interpolate": "grids",
        "statistics": "..rules.definitions.pythons_statistics", "bottleneck": "..rules.definitions.bottleneck",
        "numpy.testing": "..rules.definitions.testing"}
HERE = str(Path(__file__).resolve().parents[1]) + os.sep
IN_A_RULE = ("a derivative rule, which runs in another order and another number of times than the function",
             "draw in the function itself")
LIBRARY_TABLES = ("partial_rules", "pullback_rules", "pushforward_rules")      # by operation, not by function
CHOOSING = ("maximum", "minimum", "larger", "smaller", "fmax", "fmin", "clip")
ORDINALS = ("first", "second", "third", "fourth")


@dataclass
class Template:
    """A rule of partial derivatives as a program of (y, x1, ...) -> (dy/dx1, ...), without those that it gives as None.

    places: for each argument where its partial stands among the results, None if it has none.
    """

    program: Function
    places: tuple
    slices: dict = field(default_factory=dict)

    @property
    def params(self):
        return self.program.params

    def slice(self, k: int, stmt):
        """(statements, atom, parameters read) of the k-th partial alone. stmt: the operation to be differentiated."""
        place = self.places[k]
        if place is None:
            raise NonDifferentiable(f"`{stmt.op.rpartition('.')[2]}` has no derivative with respect to its "
                                    f"{ORDINALS[k]} argument here", stmt.loc,
                                    "keep it out of `wrt`, or pass autodiff.stop_gradient of it")
        if k not in self.slices:
            out = self.program.returns[place]
            part = remove_dead(replace(self.program, returns=(out,)))
            self.slices[k] = (part.body, out, read_by(part.body) | {out})
        return self.slices[k]


def with_choices(program: Function) -> Function:
    """The program of a rule of a function that chooses an operand, with the zeros that others get, `0.0 if b > a else 1.0`,
    as zeros that stay zero, whatever they are multiplied with."""
    merges, waiting = merges_in(program.body), list(program.returns)
    chosen = set()
    while waiting:
        found = merges.get(waiting.pop())
        if found is not None:
            chosen.add(found.var)
            waiting += (found.then, found.orelse)

    def zero(x):
        return core.NotChosen(x.dtype) if x in (Const(0.0, "float64"), Const(0.0, "float32")) else x

    def change(s):
        return [replace(s, merges=tuple(replace(m, then=zero(m.then), orelse=zero(m.orelse)) if m.var in chosen else m
                                        for m in s.merges))]
    return replace(program, body=each_branch(program.body, change))


def read_by(block) -> set:
    found: set = set()
    for stmt in core.walk(block):
        for x in core.operands(stmt):
            if isinstance(x, core.Ref):
                found.add(x.array)
                found.update(x.prefix)
                found.update(x.array.shape)
            elif isinstance(x, Arr):
                found.add(x)
                found.update(x.shape)
            else:
                found.add(x)
    return found


class Registry:
    """The rules in force. `partial_rules` by operation, `pullback_rules` by library call, `definitions` by callable."""

    inactive_calls = frozenset({"argsort", "argpartition", "is_invertible", "is_positive_definite"})

    def __init__(self):
        self.partial_rules: dict = {}
        self.constants: set[str] = set()
        self.pullback_rules: dict = {}
        self.pushforward_rules: dict = {}
        self.user_pushforwards: dict = {}
        self.definitions: dict = {}
        self.stand_ins: dict = {}               # class of a library -> (class that stands for it, its fields)
        self.complex_functions: dict = {}       # operation -> (value of the parts, derivative)
        self.complex_definitions: set = set()   # library functions whose definition holds for complex numbers too
        self.user_rules: dict = {}
        self.templates: dict = {}
        self.programs: dict = {}
        self.loaded: set[str] = set()
        self.version = self.replaced = 0

    # -- what users change -------------------------------------------------------------------------------------
    def put(self, table: str, key, rule) -> None:
        """Give a rule. version: how many have been given; replaced: how many of library functions that had one."""
        rules = getattr(self, table)
        if table in LIBRARY_TABLES and (rules.get(key, rule) is not rule or key in self.constants):
            self.constants.discard(key)
            self.changed()
        rules[key] = rule
        self.version += 1

    def put_constant(self, op: str) -> None:
        """Say that an operation has a derivative of zero."""
        if op not in self.constants and op in self.partial_rules:
            self.changed()
        self.constants.add(op)
        self.version += 1

    def changed(self) -> None:
        """A library function has another rule now: all are read again."""
        self.replaced += 1
        self.templates.clear()
        self.programs.clear()

    # -- what the lowering asks -------------------------------------------------------------------------------
    def learn_of(self, target) -> None:
        """Load what is known of SciPy, of transforms, which are SciPy's, of assertions, of Python's statistics and of
        bottleneck, when a program first calls something of it."""
        if of_scipy(target) or (getattr(target, "__module__", None) or "").startswith(
                ("numpy.fft", "numpy.testing", "statistics", "bottleneck")):
            with LOADING:
                for module, ours in OURS.items():
                    if module in sys.modules and ours not in self.loaded:
                        self.loaded.add(ours)
                        users = dict(self.definitions)
                        importlib.import_module(ours if ours.startswith("..") else f".scipy_functions.{ours}", __package__)
                        self.definitions.update(users)

    def parts_of(self, value):
        """(class that stands for it, {field: (way to what stands there, that)}) of a sparse array, an interpolator or a law
        with its parameters; None for anything else."""
        if sparse.is_sparse(value):
            parts = sparse.parts_of(value)
            return None if parts is None else (sparse.KINDS[value.format], {k: ((k,), v) for k, v in parts.items()})
        if not type(value).__module__.startswith(("scipy.interpolate.", "scipy.stats._distn_infrastructure")):
            return None
        self.learn_of(type(value))
        if type(value) not in self.stand_ins:
            return None
        cls, fields = self.stand_ins[type(value)]
        if hasattr(cls, "fits") and not cls.fits(value):
            return None
        ways = {name: getattr(cls, "paths", {}).get(name, (name,)) for name in fields}
        return cls, {name: (way, at_the_end(value, way)) for name, way in ways.items()}

    def is_for_reals(self, target, body) -> bool:
        """Whether the definition of a library function is one of ours and not known to hold for complex numbers."""
        return target not in self.complex_definitions and self.is_ours(body.__module__)

    def is_ours(self, module: str | None) -> bool:
        """Whether a module, by its name, holds definitions and rules of ours."""
        return (module or "").startswith((f"{__package__}.", f"{__package__.rpartition('.')[0]}.solvers."))

    # -- what the reverse pass asks ---------------------------------------------------------------------------
    def passes_through(self, stmt) -> tuple:
        op = stmt.op
        if op == "link":
            return stmt.args[2::2]
        if op in self.constants or op == "stop" or OPS[op].kind in INACTIVE_KINDS:
            return ()
        return stmt.args

    def partials(self, op: str, dtypes: tuple, dtype: str) -> Template | None:
        key = (op, dtypes, dtype)
        if key not in self.templates:
            rule = self.partial_rules.get(op)
            if rule is None:
                return None
            weak = dtype == "float32"           # an integer that left the result float32 was one of Python's
            specs = [Leaf(ScalarArg(d, weak and d == "int64")) for d in (dtype, *dtypes)]
            lowered = Interpreter(self).lower(rule, specs, {})
            parts = partials_of(rule, op, lowered.result, len(dtypes))
            given = [not (isinstance(p, Static) and p.value is None) for p in parts]
            places = tuple(sum(given[:k]) if on else None for k, on in enumerate(given))
            program = drop_constant_carries(lowered.function)
            self.templates[key] = Template(of_ours(with_choices(program) if op in CHOOSING else program), places)
        return self.templates[key]

    def pullback(self, op, out_kinds, arg_kinds, mask, static) -> RuleProgram | Hook | None:
        if op == HOOK:
            return static[0].of(mask)
        if op.startswith(USER_RULE):
            return static[0].pullback(mask)
        key = (op, out_kinds, arg_kinds, mask, static)
        if key not in self.programs:
            rule = self.pullback_rules.get(op)
            if rule is None:
                return None
            outs, args = complex_kinds(op, out_kinds, arg_kinds)
            specs = [spec_of(k) for k in (*outs, *outs, *args)]
            program, arg_bars, scalar_bars = lower_pullback(Interpreter(self), rule, specs, static, args, mask)
            n = len(outs)
            self.programs[key] = RuleProgram(program.body, program.params[:n], program.params[n:2 * n],
                                             program.params[2 * n:], arg_bars, scalar_bars,
                                             read_by(program.body) | set(program.returns))
        return self.programs[key]

    # -- what the forward pass asks ---------------------------------------------------------------------------
    def pushforward(self, op, out_kinds, arg_kinds, mask, static) -> PushforwardProgram | None:
        if op.startswith(USER_RULE):
            return static[0].pushforward(mask)
        key = ("pushforward", op, out_kinds, arg_kinds, mask, static)
        if key not in self.programs:
            rule = self.pushforward_rules.get(op)
            if rule is None:
                return None
            outs, args = complex_kinds(op, out_kinds, arg_kinds)
            specs = [spec_of(k) for k in (*outs, *args, *args)]
            program, out_dots = lower_pushforward(Interpreter(self), rule, specs, static, outs, mask)
            n, m = len(outs), len(args)
            params, dots = program.params[n:n + m], program.params[n + m:]
            arg_dots = tuple(d if on else None for d, on in zip(dots, mask, strict=True))
            self.programs[key] = PushforwardProgram(program.body, program.params[:n], params, arg_dots, out_dots,
                                                    read_by(program.body) | set(program.returns))
        return self.programs[key]


def complex_kinds(op: str, out_kinds, arg_kinds):
    """The kinds of a call's results and operands as its rule sees them: arrays of pairs are complex arrays."""
    def seen(kinds, which):
        return tuple(("array", COMPLEX[kind[1]], kind[2] - 1) if c == "c" else kind
                     for kind, c in zip(kinds, which, strict=True))
    call = CALLS.get(op)
    if call is None or call.results is None:
        return tuple(out_kinds), tuple(arg_kinds)
    return seen(out_kinds, call.results), seen(arg_kinds, call.operands)


def spec_of(kind):
    if kind[0] == "array":
        return Leaf(ArrayArg(kind[1], (None,) * kind[2]))
    return Leaf(ScalarArg(kind[1], False))


def of_ours(program: Function) -> Function:
    """The program of a rule: what stands in a file of ours has no place, and gets that of what is differentiated."""
    return replace(program, body=placeless(program.body, HERE))


def lower_pullback(lo: Interpreter, rule, specs, static, arg_kinds, mask):
    """Lower a pullback and add its results to adjoint buffers of its active arguments.

    static: Python values that the call carries; the rule takes them last.
    """
    arg_bars: list = [None] * len(arg_kinds)
    scalar_bars: list = [None] * len(arg_kinds)

    def accumulate(result):
        parts = result.items if isinstance(result, Sequence) else (result,)
        returns = []
        for k, on in enumerate(mask):
            if not on:
                continue
            if arg_kinds[k][0] == "array":
                shape = lo.parameter_leaves[len(specs) - len(arg_kinds) + k].shape
                arr = buffer_of(f"bar_{k}", arg_kinds[k][1], shape)
                arg_bars[k] = arr
                assign(lo, Buffer(arr), parts[k], accumulate=True)
                returns.append(arr)
            else:
                atom = lo.atom(parts[k])
                scalar_bars[k] = atom
                returns.append(atom)
        return result, tuple(returns)

    with no_draws(lo, *IN_A_RULE):
        lowered = lo.lower(rule, [*specs, *map(Static, static)], {}, finish=accumulate)
    return of_ours(without_sizes(lowered.function)), tuple(arg_bars), tuple(scalar_bars)


def lower_pushforward(lo: Interpreter, rule, specs, static, out_kinds, mask):
    """Lower a pushforward and write the sum of its contributions, one for each active argument, to the results' tangents."""
    out_dots: list = []

    def write(result):
        contributions = result.items if isinstance(result, Sequence) and len(mask) > 1 else (result,)
        for j, kind in enumerate(out_kinds):
            parts = [c.items[j] if len(out_kinds) > 1 else c for c, on in zip(contributions, mask, strict=True) if on]
            if kind[0] == "array":
                dot = buffer_of("dot", kind[1], lo.parameter_leaves[j].shape)
                for k, part in enumerate(parts):
                    assign(lo, Buffer(dot), part, accumulate=k > 0)
            else:
                dot = lo.atom(parts[0], kind[1])
                for part in parts[1:]:
                    dot = lo.operate("add", (dot, lo.atom(part, kind[1])), kind[1])
            out_dots.append(dot)
        return result, tuple(out_dots)

    with no_draws(lo, *IN_A_RULE):
        lowered = lo.lower(rule, [*specs, *map(Static, static)], {}, finish=write)
    return of_ours(without_sizes(lowered.function)), tuple(out_dots)


def without_sizes(function: Function, checks: bool = False, alike: Iterable[tuple[Arr, Arr]] = ()) -> Function:
    """A rule's program with the caller's sizes instead of those of its parameters.

    checks: whether those of sizes stay, as a user's rule needs; alike: (parameter, another of the same sizes).
    """
    program = remove_dead(drop_constant_carries(function))
    if not checks:
        program = remove_dead(replace(program, body=without_checks(program.body)))
    grown = core.rebound(program.body)          # their length is what it is there
    sizes = [s for s in program.body if is_size(s) and s.args[0] not in grown]
    body = tuple(s for s in program.body if s not in sizes)
    mapping = {s.var: s.args[0].shape[s.args[1]] for s in sizes}
    mapping = {v: size for v, size in mapping.items() if v is not size}
    for one, other in alike:
        for pair in zip(one.shape, other.shape, strict=True):
            mine, theirs = (last(mapping, size) for size in pair)
            if isinstance(mine, Var) and mine != theirs:
                mapping[mine] = theirs
    return renamed(program, body, mapping)


def last(mapping: dict, size):
    """What stands for a size in the end."""
    while size in mapping:
        size = mapping[size]
    return size


def without_checks(block) -> tuple:
    """Statements without the guards of sizes, which were checked in the forward sweep; `raise` statements stay."""
    out = []
    for s in block:
        if isinstance(s, core.Guard) and s.tells != "note" and not isinstance(s.cond, core.Const):
            continue
        if is_loop(s):
            s = replace(s, body=without_checks(s.body))
        elif isinstance(s, core.If):
            s = replace(s, then=without_checks(s.then), orelse=without_checks(s.orelse))
        out.append(s)
    return tuple(out)


def buffer_of(hint: str, dtype: str, shape) -> Arr:
    """A buffer for numbers of a dtype, `shape` being that of the core language."""
    return Arr(hint, PARTS.get(dtype, dtype), shape, pairs=dtype in PARTS)


def at_the_end(value, way):
    """What a way of attributes and items leads to; None where there is none."""
    for step in way:
        value = value[step] if isinstance(step, int) else getattr(value, step, None)
    return value


def of_scipy(target) -> bool:
    """Whether a callable is SciPy's: a function, a method of a distribution, or a ufunc that is not NumPy's."""
    if isinstance(target, np.ufunc):
        return "scipy.special" in sys.modules and getattr(np, target.__name__, None) is not target
    return (getattr(target, "__module__", None) or type(target).__module__).split(".")[0] == "scipy"


REGISTRY = Registry()

__all__ = ["REGISTRY", "Registry", "Var"]
