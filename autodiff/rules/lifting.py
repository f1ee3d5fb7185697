"""Functions made inside a program, as operands of calls with a rule: what they capture becomes arguments of the call.

A rule is read apart from the program that calls the function it belongs to, so a closure cannot come along with its frame.
It is *lifted* (Johnsson 1985): the numbers and arrays that it captures are taken out, in a fixed order, and a `Lifted`
function stands for the rest. It takes the captured values after its own arguments.

Source: T. Johnsson, "Lambda lifting: transforming programs to recursive equations", FPCA 1985.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import gast

from ..transforms.language.core import Const, written
from ..transforms.language.errors import UnsupportedSyntax
from ..transforms.lower.functions.frames import Frame
from ..transforms.lower.structures import describe, rebuild
from ..transforms.lower.values import (
    Applied,
    Array,
    Bound,
    Buffer,
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
    leaves,
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

    def __init__(self, pattern: Value, span: tuple[int, int]):
        self.pattern, self.span, self.total = pattern, span, 0

    def __call__(self, *args):
        raise TypeError("a lifted function is called by the compiler only")

    def __autodiff_kind__(self) -> tuple:
        """What it has in common with the function that another lowering of the program lifts at this place."""
        return "lifted", told(self.pattern, []), self.span, self.total

    def __autodiff_lower__(self, lo, args, kwargs):
        own, captured = args[:len(args) - self.total], args[len(args) - self.total:]
        return unchanged(lo, [self.pattern], [captured[slice(*self.span)]], lambda f: lo.call(f, own, kwargs))


class Opened:
    """A function, lifted or not, that takes lifted functions among its arguments, and last all that these captured."""

    __name__ = "function"

    def __init__(self, function: Value, total: int):
        self.function, self.total = function, total

    def __call__(self, *args):
        raise TypeError("a lifted function is called by the compiler only")

    def __autodiff_lower__(self, lo, args, kwargs):
        own, captured = args[:len(args) - self.total], args[len(args) - self.total:]
        tree = Sequence((self.function, *own))
        found = [leaf.value for leaf in leaves(tree) if isinstance(leaf, Static) and isinstance(leaf.value, Lifted)]

        def called(*functions):
            given = iter(functions)
            made = rebuild(tree, iter([next(given) if isinstance(leaf, Static) and isinstance(leaf.value, Lifted) else leaf
                                       for leaf in leaves(tree)]))
            function, *rest = known_as(Sequence, made).items
            return lo.call(function, rest, kwargs)
        return unchanged(lo, [f.pattern for f in found], [captured[slice(*f.span)] for f in found], called)


def unchanged(lo, patterns, captured, action) -> Value:
    """action(functions of the patterns), which may change nothing of what they hold."""
    seen: dict = {}
    functions = [filled(p, c, seen) for p, c in zip(patterns, captured, strict=True)]
    closures = [v for v in seen.values() if isinstance(v, Closure)]
    frames = [v.frame for v in closures]
    before = [dict(frame.env) for frame in frames]
    held = {leaf.arr for values in captured for v in values for leaf in leaves(v) if isinstance(leaf, Buffer)}
    block, mark = lo.b, len(lo.b.stmts)
    lo.frames[:0] = frames              # where changes of what they hold would be seen
    try:
        found = action(*functions)
    finally:
        del lo.frames[:len(frames)]
    for closure, env in zip(closures, before, strict=True):
        if any(closure.frame.env.get(n) is not v for n, v in env.items()) or held & written(block.stmts[mark:]):
            place = closure.frame.definition.loc(closure.node)
            raise UnsupportedSyntax("a function given to a solver, to another function with a rule or to a derivative "
                                    "changes an array, an object, a list or a dict outside it", place,
                                    "return what it computes")
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
            case Record(cls=cls, fields=fields):
                return Record(cls, {k: visit(v) for k, v in fields.items()})
        if not isinstance(value, FUNCTIONS):
            return value
        start = len(captured)
        found: list = []
        pattern = emptied(lo, value, found, {})
        captured.extend(found)
        made.append(Lifted(pattern, (start, len(captured))))
        return Static(made[-1])
    values = [visit(v) for v in values]
    for function in made:
        function.total = len(captured)
    return values, captured


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
            if writes_outside(value.node):
                raise lo.error(UnsupportedSyntax, f"`{value.name}` writes a name of the function around it, and a solver, "
                               "another function with a rule or a derivative calls it", "return what it computes")
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


def told(pattern: Value, seen: list):
    """A pattern as something that is equal for equal ones."""
    if any(pattern is p for p in seen):
        return "again", next(k for k, p in enumerate(seen) if p is pattern)
    seen.append(pattern)
    parts: list = []

    def inside(v):
        parts.append(told(v, seen))
        return v
    match pattern:
        case Hole(number=number):
            return "hole", number
        case Pattern(closure=closure, names=names, defaults=defaults, keyword_defaults=keywords):
            frame = closure.frame
            for v in (*names.values(), *defaults, *keywords.values()):
                inside(v)
            return id(closure.node), id(frame.key), tuple(names), tuple(keywords), len(defaults), tuple(parts)
        case Static(value=v) if hasattr(type(v), "__autodiff_kind__"):
            return v.__autodiff_kind__()
        case Static(value=v):
            return ("is", type(v), repr(v)) if isinstance(v, (bool, int, float, str, type(None))) else ("is", id(v))
        case Scalar(atom=Const() as atom):
            return "number", repr(atom)
    if with_parts(pattern, inside) is None:
        return "is", id(pattern)
    own: tuple = ()
    match pattern:
        case Bound(name=name):
            own = (name,)
        case Applied(args=args, kwargs=kwargs):
            own = len(args), *kwargs
        case Sequence(kind=kind):
            own = (kind,)
        case Mapping(items=items):
            own = tuple(map(repr, items))
        case Record(cls=cls, fields=fields):
            own = cls, *fields
    return type(pattern), own, tuple(parts)


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


def writes_outside(node, own: frozenset = frozenset()) -> bool:
    """Whether a function's tree, or one in it, says `nonlocal` of a name that is not its own."""
    inner, here, waiting = [], set(own), list(node.body) if isinstance(node.body, list) else [node.body]
    here |= {n.id for n in gast.walk(node.args) if isinstance(n, gast.Name) and isinstance(n.ctx, gast.Param)}
    said: set = set()
    while waiting:
        n = waiting.pop()
        if isinstance(n, (gast.FunctionDef, gast.Lambda)):
            inner.append(n)
            continue
        if isinstance(n, gast.Nonlocal):
            said |= set(n.names)
        if isinstance(n, gast.Name) and not isinstance(n.ctx, gast.Load):
            here.add(n.id)
        waiting.extend(gast.iter_child_nodes(n))
    return bool(said - own) or any(writes_outside(n, frozenset(here - said) | own) for n in inner)


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


__all__ = ["FUNCTIONS", "Lifted", "Opened", "lift"]
