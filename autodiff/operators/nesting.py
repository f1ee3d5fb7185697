"""Derivatives of derivatives: a gradient is a core program like any other, so it is differentiated and inlined as one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..arguments.packing import in_arrays
from ..arguments.positions import Position
from ..arguments.sparse import is_compressed
from ..calling.binding import Binding
from ..calling.building import ONE_GENERATOR
from ..calling.compiled import innermost
from ..calling.local import by_place, names_of, opened, placed, takes_functions
from ..calling.overlaps import APART
from ..rules import REGISTRY
from ..rules.trees import kinds
from ..transforms.differentiate.reverse import reverse
from ..transforms.language.build import Builder, integer, loops
from ..transforms.language.core import Arr, Guard, Var, walk
from ..transforms.language.draws import drawn_from, has_draws
from ..transforms.language.errors import AutodiffError, ShapeMismatch, TypeConflict, UnsupportedSyntax
from ..transforms.language.motion import learn
from ..transforms.language.ops import is_complex
from ..transforms.language.queries import called, is_size
from ..transforms.language.substitution import substitute
from ..transforms.lower.arrays.broadcasting import convert, require_same
from ..transforms.lower.arrays.memory import force
from ..transforms.lower.arrays.points import BY_PATH
from ..transforms.lower.checks import CAREFUL
from ..transforms.lower.functions.names import raised_here
from ..transforms.lower.functions.outside import bound_parts
from ..transforms.lower.functions.parameters import outside
from ..transforms.lower.functions.places import place_key
from ..transforms.lower.functions.written import overlapping
from ..transforms.lower.interpreter import Interpreter, Lowered
from ..transforms.lower.needs import AlwaysRaises, NeedsStatic
from ..transforms.lower.numbers.conversions import dtype_of
from ..transforms.lower.numpy_functions.library_calls import ASKED, SINGULAR
from ..transforms.lower.structures import mapped
from ..transforms.lower.structures import rebuild as rebuild_value
from ..transforms.lower.syntax.catching import catches, class_of_error
from ..transforms.lower.values import (
    Array,
    Buffer,
    Generator,
    Mapping,
    Packed,
    Record,
    Scalar,
    Sequence,
    Static,
    Value,
    is_number,
    leaves,
)
from ..transforms.optimise.producer_fusion import fuse
from ..transforms.optimise.simplify import simplify

AT_THE_BOUNDARY = ("a Jacobian of complex results cannot be differentiated or used in a differentiated function", None,
                   "take the Jacobians of real and imaginary parts: z.real, z.imag")


def differentiated(gradient, lowered: Lowered) -> Lowered:
    """The program of a gradient, in the form the lowering of a plain function has."""
    lowered, wanted, shapes = gradient.choose(lowered)
    keep = gradient.with_value or gradient.has_aux
    program = simplify(fuse(simplify(lowered.function, True, lowered.facts), lowered.facts), True)
    seeds = "one"
    made, _, _ = reverse(program, lowered.facts, wanted, REGISTRY, keep, f"{program.name}_grad", seeds)
    made = simplify(made, keep_sizes=True)
    learn(lowered.facts, made.body)             # of loops that rules brought
    kept = len(program.returns) if keep else 0
    if gradient.holomorphic:
        made = conjugated(made, made.returns[kept:], lowered.facts)
    primal: Any = rebuild_value(lowered.result, iter_values(lowered.result, made.returns[:kept])) if keep else None
    bars = map(value_of, made.returns[kept:], wanted)
    parts = tuple(place(s, bars) for s in shapes)
    gradient_tree = parts[0] if gradient.single else Sequence(parts)
    if gradient.with_value:
        result = Sequence((primal.items[1] if gradient.holomorphic else primal, gradient_tree))
    elif gradient.has_aux:
        result = Sequence((gradient_tree, primal.items[1]))
    else:
        result = gradient_tree
    return with_program(lowered, made, result)


def conjugated(program, arrays, facts):
    """A program that leaves the conjugates of complex arrays in their places."""
    b = Builder(facts)
    for a in arrays:
        def negate(b, index, a=a):
            place = (*index, integer(1))
            b.store(a, place, b.let("neg", b.load(a, place), dtype=a.dtype))
        loops(b, a.shape[:-1], negate)
    return replace(program, body=(*program.body, *b.block()))


def value_of(x, like=None):
    """A core result as a value of the lowering, complex if the value or parameter `like` is."""
    if not isinstance(x, Arr):
        return Scalar(x)
    if like.pairs if isinstance(like, Arr) else is_complex(getattr(like, "dtype", "")):
        x.pairs = True
    return as_list(Buffer(x), like)


def as_list(buffer: Buffer, like) -> Buffer:
    """A buffer as the list that an array stands for, if it does."""
    if getattr(like, "is_list", False):
        buffer.is_list, buffer.kinds, buffer.array_axes = True, like.kinds, like.array_axes
    return buffer


def iter_values(tree, results):
    """Leaves for rebuilding: numbers and arrays from core results, statics as they are."""
    found = iter(results)
    for leaf in leaves(tree):
        yield value_of(next(found), leaf) if isinstance(leaf, (Scalar, Array)) else leaf


def place(tree, bars, lead: int = 0):
    """A gradient's tree with values in the places of its positions, which have `lead` axes before those of the argument."""
    match tree:
        case Position():
            return next(bars)
        case Packed(item=item, kind=kind):
            return Packed(place(item, bars), kind, lead=lead)
        case Record(cls=cls, fields=fields) if is_compressed(cls):
            return Record(cls, {k: place(v, bars) if k == "data" else Static(None) for k, v in fields.items()})
        case Sequence() | Mapping() | Record():
            return mapped(tree, lambda part: place(part, bars, lead))
    return Static(None)


def with_program(lowered: Lowered, function, result, tangents=()) -> Lowered:
    """`lowered` with another program and result tree; `tangents`: parameters of it beside those of the function."""
    given = [*lowered.leaves, *tangents]
    hidden = [h[0] for h in lowered.hidden]
    function = replace(function, params=(*given, *hidden))
    returned = [leaf.arr if isinstance(leaf, Buffer) else leaf.atom for leaf in leaves(result)
                if isinstance(leaf, (Buffer, Scalar))]
    function = replace(function, returns=tuple(returned))
    return Lowered(function, result, given, lowered.facts, lowered.reads, lowered.hidden, lowered.mutated,
                   lowered.sources, lowered.trees, lowered.written, lowered.layouts, lowered.changed, lowered.offset,
                   written_out=lowered.written_out)


def inline(operator, lo: Interpreter, args, kwargs, tangents=()):
    """A call of a derivative inside a program that is being lowered.

    operator: a compiled object with `derive`; tangents: further arguments, which are not the function's.
    """
    if takes_functions((*args, *kwargs.values())):
        return of_functions(operator, lo, args, kwargs, tangents)
    lowered, given = lowered_inside(operator, lo, args, kwargs, tangents)
    return splice(lo, operator.derive(lowered), given)


def of_functions(operator, lo: Interpreter, args, kwargs, tangents):
    """A call of a derivative with functions that the program makes among its arguments."""
    names = names_of(Static(operator))
    if isinstance(operator.target, Binding) or operator._given[0] or operator._given[1]:
        raise lo.error(UnsupportedSyntax, f"`{operator.__name__}` holds arguments, and gets a function that this one makes",
                       "make the derivative here, of a function that calls it")
    count = len(args) - operator.takes
    own = by_place(lo, operator, args[:count], kwargs, names)
    parameters = operator._parameters()
    if "wrt" in parameters:
        parameters["wrt"] = placed(lo, operator, parameters["wrt"], names, len(own))
    made, own, captured = opened(lo, Static(operator.function), own)
    return inline(type(operator)(made, **parameters, options=operator.options), lo, [*own, *captured, *args[count:]], {},
                  tangents)


def lowered_inside(operator, lo: Interpreter, args, kwargs, tangents=()):
    """(the lowered function of an operator called inside a program, the values of its parameters and of the tangents)."""
    first, named = bound(lo, operator)
    passed = [*first, *args], {**named, **kwargs}
    args = [settled(lo, a) for a in passed[0]]
    kwargs = {k: settled(lo, v) for k, v in passed[1].items()}
    given = [leaf for a in (*args, *kwargs.values(), *(settled(lo, t) for t in tangents)) for leaf in leaves(a)
             if not isinstance(leaf, Static)]
    inner = lowering_inside(operator, lo)
    specs = [kinds(a) for a in args]
    named = {k: kinds(v) for k, v in kwargs.items()}
    target = operator.target
    try:
        if hasattr(target, "__autodiff_program__"):
            lowered = inner_program(target, specs, named, lo)
        else:
            lowered = lower_with_statics(inner, operator, target, specs, named, args, kwargs)
    except AlwaysRaises as e:
        splice(lo, e.lowered, given[:len(e.lowered.leaves)])
        raise raised_here(lo, lo.node) from None
    lowered.offset = len(first)
    check_apart(operator, lo, lowered, passed)
    return replace(lowered, result=in_arrays(lowered.result)), given


def bound(lo: Interpreter, operator) -> tuple[list, dict]:
    """What partial applications and methods bring to an operator and to those that it is made of, as values."""
    first, named = bound(lo, operator.target) if isinstance(operator.target, Binding) else ([], {})
    operator._renew()
    own, by_name = bound_parts(lo, operator._prefix, operator._keywords, [made for made, *_ in operator._partials])
    return [*first, *own], {**named, **by_name}


def check_apart(operator, lo: Interpreter, lowered: Lowered, passed) -> None:
    """UnsupportedSyntax where the function writes to an argument that is, or may be, another argument too.

    passed: the arguments and keywords as the program has them.
    """
    if lowered.written:
        names, values = innermost(operator)._named(*passed)
        hidden = [arr for arr, origin, array in lowered.hidden if outside(lo, origin, array) is arr]
        name, writes = overlapping(lo, lowered.written, lowered.changed, dict(zip(names, values, strict=True)), hidden)
        if name:
            does = "writes to it" if writes else "asks with `is` whether it does"
            raise lo.error(UnsupportedSyntax, f"the argument `{name}` of `{operator.__name__}` shares memory or objects "
                           f"with another, or with what is read outside, and the function {does}",
                           "pass copies" if writes else APART)


def lowering_inside(operator, lo: Interpreter) -> Interpreter:
    """The lowering of the function of an operator called inside a program."""
    boundscheck = lo.boundscheck if lo.boundscheck in CAREFUL else operator.options.boundscheck
    inner = Interpreter(REGISTRY, boundscheck, lo.widened, lo.reads)
    inner.b.facts = lo.b.facts
    return inner


def paired(lo, value, given):
    """(number or array of a value, its part in `given`) in order; None, or a None in it, is the part of all it stands for.

    given: a structure like that of the value. TypeConflict for another one.
    """
    if not isinstance(value, (Sequence, Mapping, Record)):
        return [(value, given)] if isinstance(value, Array) or is_number(value) else []
    parts = aligned(value, given)
    if parts is None:
        raise lo.error(TypeConflict, "a tangent or cotangent has another structure than the value it belongs to")
    return [pair for v, g in parts for pair in paired(lo, v, g)]


def aligned(value, given) -> list | None:
    """(part of a structure, its part in `given`), None standing for all it is the part of; None if structures differ."""
    absent = isinstance(given, Static) and given.value is None
    match value:
        case Sequence(items=items) if absent or (isinstance(given, Sequence) and len(given.items) == len(items)):
            return list(zip(items, [given] * len(items) if absent else given.items, strict=True))
        case Mapping(items=items) if absent or (isinstance(given, Mapping) and given.items.keys() == items.keys()):
            return [(v, given if absent else given.items[k]) for k, v in items.items()]
        case Record(fields=items) if absent or (isinstance(given, Record) and given.fields.keys() == items.keys()):
            return [(v, given if absent else given.fields[k]) for k, v in items.items()]
    return None


def fitting(lo, given, like, what: str):
    """A tangent or cotangent with the dtype of the value `like`, after checking that the shapes agree."""
    dtype = dtype_of(lo, like)
    rank = like.rank if isinstance(like, Array) else 0
    if not (is_number(given) or isinstance(given, Array)) or (given.rank if isinstance(given, Array) else 0) != rank:
        raise lo.error(ShapeMismatch, f"{what} has not the shape of the value it belongs to")
    if not rank:
        return Scalar(lo.atom(given, dtype))
    for a, b in zip(like.shape, given.shape, strict=True):
        require_same(lo, a, b, f"{what} has not the shape of the value it belongs to")
    return convert(lo, given, dtype) if given.dtype != dtype else given


def lower_with_statics(inner, operator, target, specs, named, args, kwargs) -> Lowered:
    """Lower the function of a nested gradient; an integer it must know is asked for from the program around it."""
    try:
        return inner.lower(target, specs, named)
    except AutodiffError as e:
        name = getattr(e, "static_parameter", None)
        if name is None:
            raise
        parameters = list(operator._signature.parameters)
        given = dict(zip(parameters, args, strict=False), **kwargs)
        value = args[int(name[1:])] if name.startswith("*") else given.get(name)
        raise NeedsStatic(e, value) from None


def inner_program(operator, specs, named, lo):
    """The program of a nested derivative from kinds of arguments."""
    target = operator.target
    if hasattr(operator, "_lower_inside"):
        lowered = operator._lower_inside(lowering_inside(operator, lo), specs, named)
        lowered.offset = len(operator._given[0])
        return lowered
    count = len(specs) - operator.takes
    specs, further = specs[:count], specs[count:]
    if hasattr(target, "__autodiff_program__"):
        lowered = inner_program(target, specs, named, lo)
    else:
        lowered = lowering_inside(operator, lo).lower(target, specs, named)
    lowered.offset = len(operator._given[0])
    return operator.derive(lowered, *further)


def settled(lo, value):
    """A value with every array in memory."""
    out = []
    for leaf in leaves(value):
        if isinstance(leaf, Array) and leaf.rank:
            leaf = force(lo, leaf)
        elif isinstance(leaf, Array):
            leaf = Scalar(lo.atom(leaf), boxed=leaf.boxed or BY_PATH)
        elif isinstance(leaf, Static) and isinstance(leaf.value, (float, complex)):
            leaf = Scalar(lo.atom(leaf), True)
        out.append(leaf)
    return rebuild_value(value, iter(out))


def refuse_caught(lo: Interpreter, body) -> None:
    """UnsupportedSyntax where a handler around would have to catch what the statements of a derivative raise."""
    if lo.around.trying is None:
        return
    for s in walk(body):
        singular = called(s) and s.op in (*ASKED, *SINGULAR) and catches(lo, np.linalg.LinAlgError)
        if singular or isinstance(s, Guard) and (s.error == "Meant" or catches(lo, class_of_error(s.error))):
            raise lo.error(UnsupportedSyntax, "a derivative is taken in a `try` that would catch what its function raises",
                           "take the derivative outside the `try`, or ask by `if` before it")


def splice(lo: Interpreter, lowered: Lowered, given):
    """Put a lowered program's statements into the current block, its parameters replaced by values."""
    mapping: dict = {}
    for param, value in zip(lowered.leaves, given, strict=True):
        if isinstance(value, Generator):
            mapping[param] = value.arr
        elif isinstance(param, Arr):
            arr = force(lo, lo.array(value), copy=param in lowered.function.copied).arr
            mapping[param] = arr
            for p, s in zip(param.shape, arr.shape, strict=True):
                if isinstance(p, Var):
                    mapping[p] = s
        else:
            mapping[param] = lo.atom(value)
    for arr, origin, array in lowered.hidden:
        for reads in lo.watching:
            reads[place_key(origin, array)] = origin, array
        known = outside(lo, origin, array)
        if known is None:
            lo.hidden.append((arr, origin, array))
            continue
        mapping[arr] = known
        if isinstance(arr, Arr):
            mapping.update({p: s for p, s in zip(arr.shape, known.shape, strict=True) if isinstance(p, Var)})
    if len(set(drawn := [mapping.get(g, g) for g in drawn_from(lowered.function)])) < len(drawn):
        raise lo.error(UnsupportedSyntax, *ONE_GENERATOR[::2])
    lo.drawn += has_draws(lowered.function.body)
    if lo.undrawn and has_draws(lowered.function.body):
        raise lo.error(UnsupportedSyntax, f"a derivative of a function that draws is taken in {lo.undrawn[-1][0]}",
                       lo.undrawn[-1][1])
    lo.b.facts.rename(mapping)
    hidden = {arr for arr, _, _ in lowered.hidden}
    body = []
    for s in lowered.function.body:
        if not is_size(s):
            body.append(s)
        elif s.args[0] not in mapping and s.args[0] in hidden:      # visible everywhere: it may be read again elsewhere
            lo.hidden_sizes.append(s)
            lo.sizes.add(s.var)
            lo.b.facts.home[s.var] = None
        elif s.args[0] not in mapping:
            body.append(s)
    refuse_caught(lo, body)
    lo.b.stmts.extend(substitute(tuple(body), mapping, fresh=False))
    out: list[Value] = []
    for leaf in leaves(lowered.result):
        if hasattr(leaf, "joined"):
            raise lo.error(UnsupportedSyntax, *AT_THE_BOUNDARY[::2])
        if isinstance(leaf, Buffer):
            made = as_list(Buffer(mapping.get(leaf.arr, leaf.arr), leaf.real), leaf)
            out.append(made if made.rank else Scalar(lo.atom(made)))
        elif isinstance(leaf, Scalar):
            out.append(Scalar(mapping.get(leaf.atom, leaf.atom), leaf.weak))
        else:
            out.append(leaf)
    return rebuild_value(lowered.result, iter(out))
