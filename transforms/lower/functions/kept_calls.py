"""Which calls stay calls: functions of numbers and arrays that a program calls more than once become units
(`language/units.py`).

A program is lowered with all calls inlined first. Where a function stands in it several times, and is not small, the program
is lowered again with that function as a unit: once, on parameters of its own, whatever the places of its calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeGuard

import gast
import numpy as np

from ....runtime.library_calls import CALLS
from ...language.core import FLOATS, Arr, Const, Function, Print, Ref, Var, is_generator, walk, written
from ...language.draws import is_draw
from ...language.errors import AutodiffError
from ...language.names import defined_in, mentioned
from ...language.ops import UNIT, Narrow, is_complex, is_inexact
from ...language.python_text import identifier
from ...language.queries import allocated_in, called, is_loop
from ...language.substitution import with_own_arrays
from ...language.units import Unit, call, with_called
from ..arrays.aliases import with_twins
from ..arrays.memory import give_memory
from ..arrays.slices import add_least_sizes
from ..journal import Attempt, begin_unit, bindings_changed, environments
from ..loops.plan import Again
from ..needs import AlwaysRaises, NeedsStatic, Raised
from ..numbers.overflow import Integers, check_overflow
from ..numbers.pairs import Complex, parts_of
from ..numbers.words import with_words
from ..state import Lowering
from ..structures import rebuild
from ..syntax.liveness import local_names, parameter_names
from ..values import Array, Buffer, Closure, Scalar, Sequence, Static, Value, has_kinds, leaves
from .recursion import recursion_depth
from .unit_arrays import Parameters, at_call, handed, in_core, in_memory, is_plain, known_of_arrays, parts_given, sizes_read
from .worth import Inlined, common

LARGE = 4000                # variables of a program beyond which what was inlined before is a unit where it is called again
MOST = 12                   # numbers that a unit takes or returns, at most
NUMBERS = (*FLOATS, "int64", "bool")


@dataclass(eq=False)
class Made:
    """A unit with what stands for its results: numbers of the caller, from the call's results, arguments or constants."""

    unit: Unit
    result: Value
    params: tuple               # those for the numbers and arrays that a call is given
    returns: tuple
    captured: tuple             # buffers and numbers outside that the function reads, arguments after those of the call
    known: tuple                # of its arrays
    integers: dict[int, Integers]       # results that are operations on Python's integers
    reads: dict


def kind_of(value: Value, arrays: bool = False):
    """What a unit must know of an argument or result; None where it cannot be one of a unit. arrays: whether those can."""
    match value:
        case Array() if arrays and is_plain(value):
            return ("array", value.dtype, value.rank)
        case Scalar(atom=Var() | Const() as atom, weak=weak, mixed=mixed, boxed=boxed) if not boxed and not has_kinds(
                value) and type(atom.dtype) is not Narrow and atom.dtype in NUMBERS:
            return (atom.dtype, weak, mixed) if mixed else (atom.dtype, weak)
        case Scalar(dtype=dtype, weak=weak, mixed=mixed) if is_complex(dtype) and not value.boxed and not has_kinds(value):
            return (dtype, weak, mixed, *(repr(a) if isinstance(a, Const) else None for a in in_core(value)))
        case Static(value=v) if type(v) is float:           # a constant of the unit if all calls have the same
            return ("float64", True)
        case Static(value=v) if type(v) in (int, bool, str, type(None)) or isinstance(v, np.generic):
            return ("is", type(v), repr(v))
        case Static(value=v) if hasattr(type(v), "__autodiff_kind__"):
            return v.__autodiff_kind__()
        case Static(value=v):
            return ("is", id(v))
        case Sequence(items=items, kind=kind) if kind is tuple:
            kinds = tuple(kind_of(item, arrays) for item in items)
            return None if None in kinds else ("tuple", kinds)
        case Closure():
            node, file = value.node, value.frame.definition.file
            return None if captured_by(value) is None else ("function", file, node.lineno, node.col_offset, value.name)
    return None


def captured_by(closure: Closure, seen: tuple = ()) -> list[Value] | None:
    """What the free names of an inner function mean, and its defaults; None if that may change in a call, or if it calls
    itself, directly or through others that are `seen`."""
    own = local_names(closure.node) | parameter_names(closure.node)
    names = {n.id for n in gast.walk(closure.node) if isinstance(n, gast.Name)} - own
    if any(isinstance(n, (gast.Nonlocal, gast.Global)) for n in gast.walk(closure.node)):
        return None
    found: list = [*closure.defaults, *(closure.keyword_defaults or {}).values()]
    frame = closure.frame
    while frame is not None:
        found += [frame.env[name] for name in sorted(names & frame.env.keys())]
        names -= frame.env.keys()
        frame = frame.outer
    seen = (*seen, closure.node)
    for v in [v for v in found if isinstance(v, Closure)]:
        more = None if v.node in seen else captured_by(v, seen)
        if more is None:
            return None
        found += more
    return found if all(isinstance(v, (Scalar, Static, Closure, Array)) or kind_of(v) is not None for v in found) else None


def is_constant(value: Value) -> TypeGuard[Static]:
    """Whether a value is a number of Python's with a fraction, known now."""
    return isinstance(value, Static) and type(value.value) is float


def key_of(lo: Lowering, function, args, kwargs):
    """What tells the calls of one unit from others; None where a call cannot be one."""
    own = function.node if isinstance(function, Closure) else function
    if lo.globals_written or not lo.units.enabled:
        return None
    if lo.around.trying is not None or lo.running or recursion_depth(lo, own) or lo.undrawn:
        return None
    own = kind_of(function) if isinstance(function, Closure) else own
    kinds = (own, *(kind_of(v, lo.units.arrays) for v in (*args, *kwargs.values())))
    if None in kinds:
        return None
    given = [leaf for v in (*args, *kwargs.values()) for leaf in leaves(v)]
    lo.units.kept += [leaf for leaf in given if isinstance(leaf, Static)]           # which keys know by identity
    numbers = [leaf for leaf in given if isinstance(leaf, (Scalar, Array))]
    if len(numbers) > MOST or not any(is_inexact(x.dtype) for x in numbers):
        return None
    return kinds, tuple(kwargs)


def as_called(lo: Lowering, function, name: str, names, args, kwargs, run) -> Value:
    """The value of a call of a function of numbers. names: of its positional parameters; run: lowers it for arguments."""
    key = key_of(lo, function, args, kwargs)
    if key is None or key in lo.units.refused:
        return run(args, kwargs)
    given = [leaf for v in (*args, *kwargs.values()) for leaf in leaves(v)]
    numbers = tuple(repr(leaf.value) if is_constant(leaf) else None for leaf in given)
    arrays = known_of_arrays(lo, [leaf for leaf in given if isinstance(leaf, Array)])
    if getattr(function, "__autodiff_unit__", False):
        lo.units.chosen.setdefault(key, ((None,) * len(numbers), common(arrays, arrays)))
    if key in lo.units.chosen:
        constants, before = lo.units.chosen[key]
        arrays = common(arrays, before)
        if arrays != common(before, before):            # less is known than of other calls: one unit for all, next time
            lo.units.chosen[key], lo.units.hurried = (constants, arrays), True
        given = [Scalar(lo.atom(leaf), True) if is_constant(leaf) and number != known else leaf
                 for leaf, number, known in zip(given, numbers, constants, strict=True)]
        made = made_unit(lo, key, function, name, given, arrays, hints(names, args, kwargs), args, kwargs, run)
        if made is not None:
            return emit_call(lo, made, given)
        lo.units.refused.add(key)
        return run(args, kwargs)
    facts, block, start = lo.b.facts, lo.b, len(lo.b.stmts)
    before = len(facts.order)
    if before > LARGE and any(one.key == key for one in lo.inlined_calls):
        lo.units.chosen[key], lo.units.hurried = ((None,) * len(numbers), common(arrays, arrays)), True
        return as_called(lo, function, name, names, args, kwargs, run)
    around = tuple(lo.calls_around)
    lo.calls_around.append((key, id(lo.frame.calling)))
    try:
        value = run(args, kwargs)
    finally:
        lo.calls_around.pop()
    size = len(facts.order) - before
    if len(block.stmts) > start:
        lo.inlined_calls.append(Inlined(key, block.stmts[start], numbers, arrays, size, around))
    return value


def hints(names, args, kwargs) -> list[str]:
    """What the numbers among arguments are called in the function."""
    found = []
    for name, value in (*zip([*names, *["args"] * (len(args) - len(names))], args, strict=False), *kwargs.items()):
        parts = list(leaves(value))
        found += [name] if len(parts) == 1 else [f"{name}_{k}" for k in range(len(parts))]
    return found


def note_calls(lo: Lowering, function: Function) -> None:
    """At the end of the program: the inlined calls that are in it."""
    if lo.inlined_calls:
        alive = {id(s) for program in with_called((function,)) for s in walk(program.body)}
        lo.inlined_calls = [one for one in lo.inlined_calls if id(one.first) in alive]
    lo.units.inlined = lo.inlined_calls


def made_unit(lo: Lowering, key, function, name, given, arrays, hints, args, kwargs, run) -> Made | None:
    """The unit of a function, made at its first call; None where it cannot be one."""
    fixed = tuple(repr(leaf.value) for leaf in given if is_constant(leaf))
    captured = [x for v in (function, *given) if isinstance(v, Closure) for x in (v.node, *(captured_by(v) or ()))]
    key = (*key, fixed, arrays, *map(id, captured))
    lo.units.kept += captured
    if key not in lo.units_made:
        for v in captured:
            if isinstance(v, Array):
                give_memory(lo, v)
        before = Attempt(lo)
        begin_unit(lo)
        try:
            lo.units_made[key] = lower_unit(lo, name, given, arrays, hints, args, kwargs, run)
        except (AutodiffError, AlwaysRaises, Raised, NeedsStatic, Again):
            lo.units_made[key] = None
        finally:
            before.undo(lo)
    return lo.units_made[key]


def lower_unit(lo: Lowering, name, given, arrays, hints, args, kwargs, run) -> Made | None:
    """The function on parameters of its own; None where it does more than compute numbers and arrays from others."""
    facts, reads = lo.b.facts, dict[tuple, tuple]()
    edges = facts.floors, facts.ceilings
    facts.floors, facts.ceilings = {}, {}           # what checks have made known here need not hold at other calls
    facts.forget_since({})
    own, sizes = parameters(lo, given, arrays, hints)
    params = tuple(dict.fromkeys(x for v in own for x in in_core(v) if isinstance(x, (Arr, Var))))
    rest = iter(own)
    envs, drawn, mutated = environments(lo), lo.drawn, set(lo.mutated)
    lo.watching.append(reads)
    try:
        result = run([rebuild(v, rest) for v in args], {k: rebuild(v, rest) for k, v in kwargs.items()})
        if kind_of(result, True) is None or not all(isinstance(leaf, (Scalar, Static, Array)) for leaf in leaves(result)):
            return None
        tried = lo.b.block()
        buffers = allocated_in(tried)
        outside = (s for a in mentioned(tried) if isinstance(a, Arr) and a not in buffers for s in a.shape)
        found = in_memory(lo, result, buffers, {*params, *sizes, *outside})
    finally:
        lo.watching.pop()
        facts.floors, facts.ceilings = edges
        head = type(lo.b)(facts=facts)
        add_least_sizes(lo, head, [s for s in sizes if s in lo.least_sizes])
    block = lo.b.block()
    if (found is None or bindings_changed(lo, envs) or lo.drawn != drawn or lo.mutated != mutated
            or written(block) - buffers or any(map(needs_its_place, walk(block)))):
        return None
    result = rebuild(result, iter(found))
    atoms = dict.fromkeys(x for leaf in found for x in in_core(leaf))
    returns = tuple(x for x in atoms if x not in params and (x in buffers or isinstance(x, Var)))
    defined = defined_in(block) | set(params) | set(sizes)
    used = (*mentioned(block), *returns, *(s for a in buffers for s in a.shape))
    free = [x for x in dict.fromkeys(used) if isinstance(x, (Var, Arr)) and x not in defined]
    if any(with_twins(lo, {a}) - {a} for a in {*written(block), *returns} if isinstance(a, Arr) and (
            a in returns or with_twins(lo, {a}) & {*params, *free})):
        return None                         # in NumPy it may be memory that the caller sees
    outer = sizes_read(a for a in free if isinstance(a, Arr))
    captured = tuple(x for x in free if x not in outer)
    if not returns or len(returns) > MOST or len(captured) > MOST or any(map(is_generator, captured)):
        return None
    name = "function" if name == "<lambda>" else identifier(name)
    function = Function(name, (*params, *captured), (*sizes.values(), *outer.values(), *head.stmts, *block), returns)
    if not lo.integers_wrap:
        function = check_overflow(with_words(function, lo.python_integers), lo.python_integers)
    integers = {k: lo.python_integers[r] for k, r in enumerate(returns) if isinstance(r, Var) and r in lo.python_integers}
    return Made(Unit(with_own_arrays(function)), result, params, returns, captured, arrays, integers, reads)


def needs_its_place(stmt) -> bool:
    """Whether a statement must stand where it is called: it has an effect, or its adjoint is more than a factor."""
    if called(stmt):
        return is_draw(stmt) or not (stmt.op.startswith(UNIT) or stmt.op in CALLS)      # hooks, and rules of users
    return isinstance(stmt, Print) or is_loop(stmt) and stmt.checkpoint is not None


def parameters(lo: Lowering, given, arrays: tuple, hints) -> tuple[list[Value], dict]:
    """(what a unit has in the places of its arguments, the statements that read the sizes of its arrays)."""
    made = Parameters(lo, arrays)
    own = [made.array(value, hint) if isinstance(value, Array) else parameter(lo, value, hint)
           for value, hint in zip(given, hints, strict=True)]
    return own, sizes_read(b.arr for b in made.arrays.values())


def parameter(lo: Lowering, value: Value, hint: str) -> Value:
    """A parameter of a unit in the place of a number that it is called with; what is known now stays."""
    if not isinstance(value, Scalar):
        return value

    def own(atom, hint: str):
        var = Var(hint, atom.dtype)
        lo.b.facts.number(var)
        lo.b.facts.home[var] = None
        lo.sizes.add(var)                           # messages may show it
        if isinstance(atom, Var) and atom in lo.python_integers:
            lo.python_integers[var] = lo.python_integers[atom]
        return var
    if is_complex(value.dtype):
        re, im = (a if isinstance(a, Const) else own(a, hint + part)
                  for a, part in zip(parts_of(value.atom), ("_re", "_im"), strict=True))
        return Scalar(Complex(re, im), value.weak, value.mixed)
    return Scalar(own(value.atom, hint), value.weak, value.mixed)


def emit_call(lo: Lowering, made: Made, given) -> Value:
    """The call of a unit at the place that is being lowered; its value."""
    for reads in lo.watching:
        reads.update(made.reads)
    own = list[Scalar | Array]()            # what is given in the places of parameters, once for each array
    which, seen = iter(made.known), set[int]()
    for leaf in given:
        if isinstance(leaf, Scalar) or isinstance(leaf, Array) and (k := next(which)[0]) not in seen:
            own.append(leaf)
            if isinstance(leaf, Array):
                seen.add(k)
    atoms = [x for leaf in own for x in ((handed(lo, leaf),) if isinstance(leaf, Array) else parts_given(leaf))]
    values: dict = dict(zip(made.params, atoms, strict=True))
    arrays = dict(zip([p for p in made.params if isinstance(p, Arr)], [v for v in own if isinstance(v, Array)], strict=True))
    sizes: dict = {p: atom for p, atom in values.items() if isinstance(p, Var)}
    sizes.update((s, t) for p, leaf in arrays.items()
                 for s, t in zip(p.shape[:leaf.rank], leaf.shape, strict=True) if isinstance(s, Var))
    outs = tuple(lo.b.alloc("v", r.dtype, [at_call(lo, s, sizes) for s in r.shape], pairs=r.pairs) if isinstance(r, Arr)
                 else Var(made.unit.name if r.hint == "t" else r.hint, r.dtype) for r in made.returns)
    for k, out in enumerate(outs):
        if isinstance(out, Var):
            lo.b.facts.number(out)
            if k in made.integers:
                lo.python_integers[out] = made.integers[k]
    captured = (Ref(a) if isinstance(a, Arr) else a for a in made.captured)
    lo.b.add(call(made.unit, outs, (*atoms, *captured), lo.b.loc))
    values.update(zip(made.returns, outs, strict=True))
    buffers = {r: Buffer(out) for r, out in zip(made.returns, outs, strict=True) if isinstance(out, Arr)}

    def at_the_call(leaf):
        if isinstance(leaf, Scalar):
            own = [values.get(a, a) for a in in_core(leaf)]
            return Scalar(Complex(*own) if is_complex(leaf.dtype) else own[0], leaf.weak, leaf.mixed)
        if not isinstance(leaf, Buffer):
            return leaf
        if leaf.arr in buffers:
            buffers[leaf.arr].order = leaf.order
        return buffers.get(leaf.arr) or arrays.get(leaf.arr, leaf)
    return rebuild(made.result, iter([at_the_call(leaf) for leaf in leaves(made.result)]))


__all__ = ["as_called", "note_calls"]
