"""Linear maps called like the last time: `vjp` and `linearize`, and what they give, as generated functions.

As in `calling/fastcalls.py`, a few lines of Python for one specialisation say what the general path finds out at each call:
of a forward part, which of its results are kept, and as copies; of a linear map, whether cotangents or tangents are such as
compiled code takes, and where its results belong. Where a line does not hold, or anything raises, they give MISS.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arguments.foreign import taken
from ..arguments.kinds import describe, rebuild
from ..arguments.positions import Position, compressed, number_leaves
from ..calling.building import narrow_places
from ..calling.fastcalls import MISS, Form, Piece, Unfit, expression
from ..calling.guards import Writer
from ..transforms.language.core import Arr, Swap, is_float, walk
from ..transforms.language.ops import COMPLEX, PARTS, is_complex, is_inexact
from ..transforms.lower.values import Array, Mapping, Record, Scalar, Sequence, Static, leaves


class SplitForm(Form):
    """The function for calls of one form of `vjp` or `linearize`: it gives the result and the linear map."""

    def result(self, call: str) -> None:
        w, made = self.writer, self.made
        forward, own = made.generated.programs[0], len(made.generated.lowered.function.returns)
        if made.extra["sparse"] or any(isinstance(s, Swap) for s in walk(forward.body)):
            raise Unfit                         # names of arrays do not say what is one memory
        names = [f"r{k}" for k in range(len(forward.returns))]
        w.add(f"{', '.join(names)}{', ' if len(names) > 1 else ''} = {call}")
        for k in made.narrow:
            w.add(f"{names[k]} = {w.constant(np.float32)}({names[k]})")
        for k, _ in made.extra["borrowed"] if self.compiled.copy else ():
            w.add(f"{names[own + k]} = {names[own + k]}.copy()")
        kept = {r for r in forward.returns[own:] if isinstance(r, Arr)}
        for k, r in enumerate(forward.returns[:own]):
            if r in kept:
                w.add(f"{names[k]} = {names[k]}.copy()")
        text = expression(w, rebuild(made.result, iter([Piece(n, w) for n in names[:own]])))
        w.add(f"value = {text}")
        function = made.functions[made.generated.programs[1].name]
        kept_text = "".join(f"{n}, " for n in names[own:])
        w.add(f"owner._latest = {w.constant(made)}")
        w.add(f"return value, {self.compiled.map_text(self, w.constant(function), f'({kept_text})', names[:own])}")


class PushForm(Form):
    """The function for calls of one form of `jvp`, `call(owner, primals, tangents)`; they go by the names of arguments and
    keywords."""

    def __init__(self, compiled, made, args, tangents):
        super().__init__(compiled, made, args, {})
        self.tangents = tangents
        if compiled._partials or compiled._given != ((), {}) or made.static or made.overlaps.needed:
            raise Unfit

    def keywords(self) -> None:
        pass

    alike = keywords

    def outside(self) -> None:
        w, made = self.writer, self.made
        names = [w.fresh() for _ in self.tangents]
        w.add(f"{', '.join(names)}, = kwargs" if names else "() = kwargs")
        dots: dict[int, str] = {}
        cursor = 0
        for name, primal, tangent in zip(names, taken(self.args), self.tangents, strict=True):
            tree, cursor = number_leaves(describe(primal), cursor)
            self.dots(tree, name, tangent, dots)
        for param in self.compiled.primals(made.generated.lowered):
            number = made.params.index(param)
            array = isinstance(param, Arr)
            dtype = COMPLEX[param.dtype] if array and param.pairs else param.dtype
            rank = len(param.shape) - param.pairs if array else 0
            self.passed.append(checked(w, dots[number], dtype, rank, f"{self.numbers[number]}.shape"))
        super().outside()

    def dots(self, tree, name: str, tangent, found: dict) -> None:
        """The expressions of the tangents of numbered leaves, from a tree of these and what was given for it."""
        w = self.writer
        if tangent is None:
            w.refuse(f"{name} is not None")
            return
        match tree:
            case Position(number=number):
                found[number] = name
                return
            case Sequence(items=items) if type(tangent) in (tuple, list) and len(tangent) == len(items):
                w.refuse(f"type({name}) is not {w.constant(type(tangent))} or len({name}) != {len(items)}")
                inner = [(t, f"[{k}]", tangent[k]) for k, t in enumerate(items)]
            case Mapping(items=named) if type(tangent) is dict and tangent.keys() == named.keys():
                w.refuse(f"type({name}) is not {w.constant(dict)} or len({name}) != {len(named)}")
                inner = [(t, f"[{w.constant(k)}]", tangent[k]) for k, t in named.items()]
            case Record(fields=fields):
                w.refuse(f"type({name}) is not {w.constant(type(tangent))}")
                inner = [(t, f".{k}", getattr(tangent, k)) for k, t in fields.items()]
            case _:
                raise Unfit
        for part, step, value in inner:
            text = w.fresh()
            w.add(f"{text} = {name}{step}")
            self.dots(part, text, value, found)


def checked(w: Writer, name: str, dtype: str, rank: int, shape: str) -> str:
    """A number or array of this kind as compiled code takes it. shape: the expression of its shape."""
    if not rank:
        kinds = {"float64": (float, np.float64), "float32": (np.float32,)}.get(dtype)
        if kinds is None:
            raise Unfit
        w.refuse(" and ".join(f"type({name}) is not {w.constant(kind)}" for kind in kinds))
        return name
    kind = w.constant(np.dtype(dtype))
    w.refuse(f"type({name}) is not ndarray or {name}.dtype is not {kind} or {name}.shape != {shape}")
    own = f"{w.constant(np.ascontiguousarray)}({name})"
    return own if not is_complex(dtype) else f"{own}.view({w.constant(np.dtype(PARTS[dtype]))}).reshape(*{shape}, 2)"


class Lines(Writer):
    """The function for calls of the linear maps of one specialisation, `call(self, {parameters})`: how it is written."""

    def __init__(self, parameters: str):
        super().__init__("return MISS")
        self.parameters = parameters
        self.namespace["MISS"] = MISS

    def parts(self, tree, name: str) -> Iterator[tuple[Any, str]]:
        """(number, array or static value of a tree, the expression of what stands in its place), of each."""
        match tree:
            case Sequence(items=items, kind=kind):
                self.refuse(f"type({name}) is not {self.constant(kind)} or len({name}) != {len(items)}")
                inner = [(v, f"{name}[{k}]") for k, v in enumerate(items)]
            case Mapping(items=named):
                self.refuse(f"type({name}) is not {self.constant(dict)} or len({name}) != {len(named)}")
                inner = [(v, f"{name}[{self.constant(k)}]") for k, v in named.items()]
            case Record(cls=cls, fields=fields):
                self.refuse(f"type({name}) is not {self.constant(cls)}")
                inner = [(v, f"{name}.{k}") for k, v in fields.items()]
            case _:
                yield tree, name
                return
        for value, text in inner:
            part = self.fresh()
            self.add(f"{part} = {text}")
            yield from self.parts(value, part)

    def pieces(self, program, call: str) -> list[Piece]:
        """The results of a call of a program's function."""
        count = len(program.returns)
        names = [f"r{k}" for k in range(count)]
        self.add(f"{', '.join(names)}{', ' if count > 1 else ''} = {call}")
        for k in narrow_places(program.returns):
            names[k] = f"{self.constant(np.float32)}({names[k]})"
        return [Piece(n, self) for n in names]

    def function(self, value):
        self.add(f"return {expression(self, value)}")
        lines = [f"def call(self, {self.parameters}):", "    try:", *self.lines, "    except Exception:",
                 "        return MISS"]
        exec("\n".join(lines), self.namespace)
        return self.namespace["call"]


def pulling(made, placed):
    """The function for cotangents; placed: from what the program returns to the structure of the primals. None if only the
    general path can do it."""
    try:
        if any(map(compressed, made.extra["trees"])):
            raise Unfit
        w = Lines("cotangent")
        passed: list[str] = []
        for leaf, name in w.parts(made.result, "cotangent"):
            if isinstance(leaf, Static):
                w.refuse(f"{name} is not None and type({name}) is not {w.constant(str)}")
                continue
            if not isinstance(leaf, (Scalar, Array)) or not is_inexact(leaf.dtype):
                raise Unfit
            passed.append(checked(w, name, leaf.dtype, getattr(leaf, "rank", 0), f"self._shapes[{len(passed)}]"))
        return w.function(placed(tuple(w.pieces(made.generated.programs[1], called(made, w, passed)))))
    except Exception:                           # what looks at values, or at what no line says
        return None


def pushing(made):
    """The function for tangents of the primals, or None."""
    try:
        trees = made.extra["trees"]
        if any(map(compressed, trees)):
            raise Unfit
        w = Lines("*tangents")
        names = [f"t{k}" for k in range(len(trees))]
        w.add(f"{', '.join(names)}, = tangents" if names else "() = tangents")
        wanted, given = set(map(id, made.extra["wanted"])), {}
        for tree, name in zip(trees, names, strict=True):
            if not all(isinstance(leaf, (Position, Static)) for leaf in leaves(tree)):
                raise Unfit
            for leaf, text in w.parts(tree, name):
                if isinstance(leaf, Position):
                    given[leaf.number] = text
        passed: list[str] = []
        for k, param in enumerate(made.params):
            if not is_float(param):
                if k in given:
                    w.refuse(f"{given[k]} is not None")
            elif id(param) in wanted:
                rank = len(param.shape) if isinstance(param, Arr) else 0
                zero = f"{w.constant(np.zeros)}(self._shapes[{k}], {w.constant(np.dtype(param.dtype))})" if rank else \
                    "0.0" if param.dtype == "float64" else f"{w.constant(np.float32)}(0.0)"
                if getattr(param, "pairs", False):
                    raise Unfit
                w.add(f"if {given[k]} is None: {given[k]} = {zero}")
                passed.append(checked(w, given[k], param.dtype, rank, f"self._shapes[{k}]"))
        raw = w.pieces(made.generated.programs[1], called(made, w, passed))
        return w.function(rebuild(made.extra["tangents"], iter(raw)))
    except Exception:
        return None


def called(made, w: Lines, passed) -> str:
    """The call of a linear map's function, which a debugger may have replaced."""
    function = w.constant(made.functions[made.generated.programs[1].name])
    w.refuse(f"self._function is not {function}")
    return f"{function}(*self._residuals, {', '.join(passed)})"


def remember_map(made, make) -> None:
    """Have the linear maps of a specialisation called by a function of their own from the third call on."""
    if made.linear is None:                     # once is no habit
        made.linear = unfit
    elif made.linear is unfit:
        compiled = hasattr(made.functions[made.generated.programs[1].name], "taking")
        made.linear = compiled and make() or never


def unfit(*args):
    return MISS


never = functools.partial(unfit)


__all__ = ["PushForm", "SplitForm", "pulling", "pushing", "remember_map", "unfit"]
