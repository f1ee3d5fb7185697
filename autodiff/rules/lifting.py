"""Functions made inside a program, as operands of derivatives and of calls with a rule: what they capture becomes arguments.

A rule, or the function of a derivative, is read apart from the program that calls the function it belongs to, so a closure
cannot come along with its frame. It is *lifted* (Johnsson 1985): the numbers and arrays that it captures are taken out, in a
fixed order, and a `Lifted` function stands for the rest. It takes the captured values after its own arguments.

Source: T. Johnsson, "Lambda lifting: transforming programs to recursive equations", FPCA 1985.
"""

from __future__ import annotations

import inspect
import types
from dataclasses import dataclass, replace
from typing import Any

import gast

from ..transforms.language.core import Const
from ..transforms.language.errors import TypeConflict, UnsupportedSyntax
from ..transforms.lower.functions.frames import Frame
from ..transforms.lower.structures import describe
from ..transforms.lower.values import (
    Applied,
    Array,
    Bound,
    Closure,
    GrowList,
    Mapping,
    Range,
    Record,
    Scalar,
    Sequence,
    Slice,
    Static,
    Undefined,
    Value,
    Vectorized,
    known_as,
)

FUNCTIONS = (Closure, Bound, Applied, Vectorized)


@dataclass(eq=False)
class Hole(Value):
    """The place of a captured number or array."""

    number: int


@dataclass(eq=False)
class Pattern(Value):
    """A closure without its frame: what its free names hold, with holes."""

    closure: Closure
    names: dict
    defaults: tuple
    keyword_defaults: dict


class Lifted:
    """A function that takes what it captured as its last arguments: `span` of the `total` captured values of a call."""

    __name__ = "function"

    def __init__(self, pattern: Value, span: tuple[int, int], place):
        self.pattern, self.span, self.total, self.place = pattern, span, 0, place

    def __call__(self, *args):
        raise TypeError("a lifted function is called by the compiler only")

    def __autodiff_lower__(self, lo, args, kwargs):
        own, captured = args[:len(args) - self.total], args[len(args) - self.total:]
        seen: dict = {}
        function = filled(self.pattern, captured[slice(*self.span)], seen)
        frames = [v.frame for v in seen.values() if isinstance(v, Closure)]
        before = [dict(frame.env) for frame in frames]
        lo.frames[:0] = frames              # where changes of what they hold would be seen
        try:
            found = lo.call(function, own, kwargs)
        finally:
            del lo.frames[:len(frames)]
        if any(frame.env.get(n) is not v for frame, env in zip(frames, before, strict=True) for n, v in env.items()):
            raise UnsupportedSyntax("a function given to a solver, to a derivative, or to another function with a rule, "
                                    "changes an object, a list or a dict outside it", self.place, "return what it computes")
        return found


def lift(lo, values: list) -> tuple[list, list]:
    """(values with every function made inside the program lifted, the numbers and arrays these functions capture)."""
    captured: list = []
    made: list[Lifted] = []

    def visit(value):
        match value:
            case Sequence(items=items, kind=kind):
                return Sequence(tuple(map(visit, items)), kind)
            case Mapping(items=items):
                return Mapping({k: visit(v) for k, v in items.items()})
        if not isinstance(value, FUNCTIONS):
            return value
        start = len(captured)
        found: list = []
        pattern = emptied(lo, value, found, {})
        captured.extend(found)
        made.append(Lifted(pattern, (start, len(captured)), lo.place(lo.node)))
        return Static(made[-1])
    values = [visit(v) for v in values]
    for function in made:
        function.total = len(captured)
    return values, captured


class OfInner:
    """An operator on a function made inside the program: `grad(f)` there is this applied to `f`."""

    __name__ = "derivative"

    def __init__(self, operator, args: tuple, options: dict):
        self.operator, self.args, self.options = operator, args, options

    def __autodiff_lower__(self, lo, args, kwargs):
        function, *own = args
        target, lifted, captured = lift_one(lo, function)
        options = dict(self.options)
        if "wrt" in inspect.signature(self.operator).parameters:
            options["wrt"] = shifted(lo, options.get("wrt", Static(0)), function, len(own), kwargs)
        made = lo.call_static(self.operator, [Static(target), *self.args], options)
        last = len(own) - (getattr(made.value, "takes", 0) - (getattr(made.value, "vector", "") in kwargs))
        return lo.call(made, [lifted, *own[:last], *captured, *own[last:]], kwargs)


def of_inner(operator, args, options) -> Applied:
    """A call of an operator on a function made inside the program."""
    return Applied(Static(OfInner(operator, tuple(args[1:]), options)), (args[0],), {})


def called_with(function, *args, **named):
    return function(*args, **named)


def lift_one(lo, function) -> tuple:
    """(a function of Python that takes a function made inside the program first, that function lifted, what it captures):
    they are called with the arguments between the latter two."""
    (lifted,), captured = lift(lo, [function])
    target: Any = types.FunctionType(called_with.__code__, called_with.__globals__, getattr(function, "name", "function"))
    target.__autodiff_place__ = lo.place(lo.node)
    return target, lifted, captured


def shifted(lo, wrt: Value, function: Value, count: int, kwargs) -> Value:
    """The arguments that `wrt` means, of a function that takes another one in front. count: how many it is called with by
    position, beside the keywords."""
    if isinstance(wrt, Sequence):
        return Sequence(tuple(shifted(lo, w, function, count, kwargs) for w in wrt.items), wrt.kind)
    place, known = known_as(Static, wrt).value, parameters(function)
    names = known[:count]
    if isinstance(place, (tuple, list)):
        return Sequence(tuple(shifted(lo, Static(p), function, count, kwargs) for p in place))
    if place in kwargs:
        return wrt
    if place in names:
        place = names.index(place)
    if isinstance(place, int) and (0 <= place < count or names == known and not kwargs and -count <= place < 0):
        return Static(place % count + 1)        # from the end, defaults count too
    raise lo.error(TypeConflict, f"wrt={place!r} is no argument of the call",
                   f"it has {', '.join([*names, *kwargs])}" if names else "positions count from 0; names work too")


def parameters(function: Value) -> list[str]:
    """The names of those that positions are bound to; [] where they are not known."""
    match function:
        case Closure(node=node):
            return [a.id for a in (*node.args.posonlyargs, *node.args.args)]
        case Applied(function=Static(value=OfInner()), args=(inner,)):
            return parameters(inner)
        case Applied(function=inner, args=first):
            return parameters(inner)[len(first):]
    return []


def written_outside(function: Value, lowered_places, count: int) -> bool:
    """Whether a lifted function, called with `count` arguments, changes what it captured."""
    total = function.value.total if isinstance(function, Static) and isinstance(function.value, Lifted) else 0
    return any(name in {f"*{k}" for k in range(count - total, count)} for name, _ in lowered_places)


def emptied(lo, value: Value, found: list, seen: dict) -> Value:
    """`value` with holes in the places of its numbers and arrays, which are appended to `found`."""
    if id(value) in seen:
        return seen[id(value)]
    inside = lambda v: emptied(lo, v, found, seen)  # noqa: E731
    made: Any
    match value:
        case Static() | Undefined() | Scalar(atom=Const()):
            return value
        case Scalar() | Array() | GrowList():
            made = Hole(len(found))
            found.append(lo.array(value) if isinstance(value, GrowList) else value)
        case Closure():
            made = seen[id(value)] = Pattern(value, {}, (), {})
            if any(isinstance(n, gast.Nonlocal) for n in gast.walk(value.node)):
                raise lo.error(UnsupportedSyntax, f"`{value.name}` writes a name of the function around it, and a solver, a "
                               "derivative or another function with a rule calls it", "return what it computes")
            for name in sorted(free_names(value.node)):
                outer = held(value.frame, name)
                if outer is not None:
                    made.names[name] = inside(outer)
            made.defaults = tuple(map(inside, value.defaults))
            made.keyword_defaults = {k: inside(v) for k, v in (value.keyword_defaults or {}).items()}
        case _:
            made = with_parts(value, inside)
            if made is None:
                raise lo.error(UnsupportedSyntax, f"a function given to a derivative, a solver or one with a rule reads "
                               f"{describe(value)}", "pass what it needs as arguments")
    seen[id(value)] = made
    return made


def filled(pattern: Value, given, seen: dict) -> Value:
    """`pattern` with values in the places of its holes."""
    if id(pattern) in seen:
        return seen[id(pattern)]
    inside = lambda v: filled(v, given, seen)  # noqa: E731
    made: Any
    match pattern:
        case Hole(number=number):
            return given[number]
        case Pattern(closure=closure):
            outer = closure.frame
            frame = Frame(outer.definition, outer.cells, outer.globals, None, outer.node, outer.key)
            made = seen[id(pattern)] = replace(closure, frame=frame)
            frame.env.update({name: inside(value) for name, value in pattern.names.items()})
            made.defaults = tuple(map(inside, pattern.defaults))
            made.keyword_defaults = {k: inside(v) for k, v in pattern.keyword_defaults.items()}
        case _:
            made = with_parts(pattern, inside)
            if made is None:
                return pattern
    seen[id(pattern)] = made
    return made


def with_parts(value: Value, change) -> Value | None:
    """A structure or a function made of others with `change` applied to each of its parts; None for anything else."""
    match value:
        case Bound(owner=owner, name=name):
            return Bound(change(owner), name)
        case Applied(function=function, args=args, kwargs=kwargs):
            return Applied(change(function), tuple(map(change, args)), {k: change(v) for k, v in kwargs.items()})
        case Vectorized(function=function):
            return Vectorized(change(function))
        case Sequence(items=items, kind=kind):
            return Sequence(tuple(map(change, items)), kind)
        case Mapping(items=items):
            return Mapping({k: change(v) for k, v in items.items()})
        case Record(cls=cls, fields=fields):
            return Record(cls, {k: change(v) for k, v in fields.items()})
        case Slice():
            return value.with_inside(map(change, value.inside()))
        case Range():
            return replace(value, start=change(value.start), stop=change(value.stop), step=change(value.step))
    return None


def held(frame, name: str) -> Value | None:
    """What a name holds in a frame or those around it; None if it is a global name or none at all."""
    while frame is not None:
        if name in frame.env:
            return frame.env[name]
        frame = frame.outer
    return None


def free_names(node) -> set[str]:
    """The names that a function's tree reads from outside."""
    read: set[str] = set()
    own = {n.id for n in gast.walk(node.args) if isinstance(n, gast.Name) and isinstance(n.ctx, gast.Param)}
    waiting: list = list(node.body) if isinstance(node.body, list) else [node.body]
    while waiting:
        n = waiting.pop()
        if isinstance(n, (gast.FunctionDef, gast.Lambda)):
            read |= free_names(n)
            if isinstance(n, gast.FunctionDef):
                own.add(n.name)
                waiting.extend(n.decorator_list)
            waiting.extend([*n.args.defaults, *(d for d in n.args.kw_defaults if d is not None)])
            continue
        if isinstance(n, gast.Name):
            (read if isinstance(n.ctx, gast.Load) else own).add(n.id)
        waiting.extend(gast.iter_child_nodes(n))
    return read - own


__all__ = ["Lifted", "lift", "lift_one", "of_inner", "written_outside"]
