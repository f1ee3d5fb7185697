"""`out=`: results of derivatives in arrays of the caller."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .. import pipeline
from ..arguments.kinds import describe, flatten, holds, in_pairs
from ..arguments.packing import holds_packed
from ..arguments.positions import in_order_of
from ..transforms.language.core import Arr
from ..transforms.language.errors import ShapeMismatch, TypeConflict
from ..transforms.language.ops import COMPLEX
from ..transforms.lower.values import Array, Buffer, Scalar, leaves
from ..transforms.optimise.outputs import given_outputs
from .building import compile_programs, narrowed
from .building import run as run_compiled
from .compiled import Compiled
from .fastcalls import Form, Piece, Unfit, expression, remember
from .long_tapes import ShortTape
from .running import guarded


class Whole:
    """Stands for an array of complex numbers, given by a caller, among the results as pairs."""

    def __init__(self, array: np.ndarray | None):
        self.array = array

    def joined(self, kind) -> Any:
        return self.array


class OutForm(Form):
    """The function for calls of one form with `out=`."""

    def __init__(self, compiled, made, args, kwargs):
        super().__init__(compiled, made, args, {k: v for k, v in kwargs.items() if k != "out"})
        self.named, self.out = tuple(kwargs), kwargs["out"]

    def result(self, call: str) -> None:
        w, made, compiled = self.writer, self.made, self.compiled
        places = compiled._places(made, [None] * len(made.params))
        w.add("out = kwargs['out']")
        outs = list(self.outputs("out", self.out))
        shapes = dict(zip(made.params, self.numbers, strict=True))
        given: dict[int, tuple[str, str]] = {}          # number of a result -> (the array given for it, as code takes it)
        for (name, array), place in zip(outs, places, strict=True):
            if array is None or place is None:
                continue
            k = place[0]
            if "leaves" in made.extra:          # of a gradient; other programs see to the shapes of their results
                w.refuse(f"{name}.shape != {shapes[made.extra['leaves'][k - made.extra['kept']]]}.shape")
            taken = name
            if place[3]:
                w.refuse(f"not {name}.flags.c_contiguous")
                taken = f"{name}.view({w.constant(array.real.dtype)}).reshape(*{name}.shape, 2)"
            share = w.constant(np.may_share_memory)
            for other in (*(p for p, x in zip(self.numbers, self.leaves, strict=True) if isinstance(x, np.ndarray)),
                          *(n for n, _ in given.values())):
                w.refuse(f"{share}({name}, {other})")
            given[k] = name, taken
        function, filled = compiled._filling(made, tuple(given))
        count = len(made.generated.programs[0].returns)
        parts = [f"r{k}" if count > 1 else "raw" for k in range(count)]
        w.add(f"raw = {w.constant(function)}({', '.join([*self.passed, *(given[k][1] for k in filled)])})")
        if count > 1:
            w.add(f"{', '.join(parts)}, = raw")
        pieces: list[Piece] = []
        for k, part in enumerate(parts):
            if k in given:
                name, taken = given[k]
                w.add(f"if {part} is not {name}: {w.constant(settle)}({taken}, {part})")
                pieces.append(Filled(name, w))
            else:
                pieces.append(Piece(f"{w.constant(np.float32)}({part})" if k in made.narrow else part, w))
        w.add(f"owner._latest = {w.constant(made)}")
        w.add(f"return {expression(w, compiled._finish(made, tuple(pieces) if count > 1 else pieces[0]))}")

    def outputs(self, name: str, value):
        """(expression, array or None) of each part of `out`."""
        w = self.writer
        if isinstance(value, (tuple, list)):
            w.refuse(f"type({name}) is not {w.constant(type(value))} or len({name}) != {len(value)}")
            inner = [(f"[{k}]", v) for k, v in enumerate(value)]
        elif type(value) is dict:
            w.refuse(f"type({name}) is not {w.constant(dict)}")
            self.keys(name, list(value))
            inner = [(f"[{w.constant(k)}]", v) for k, v in value.items()]
        elif type(value) is np.ndarray:
            w.refuse(f"type({name}) is not ndarray or {name}.dtype is not {w.constant(value.dtype)}")
            yield name, value
            return
        elif value is None:
            w.refuse(f"{name} is not None")
            yield name, None
            return
        else:
            raise Unfit
        for step, v in inner:
            part = w.fresh()
            w.add(f"{part} = {name}{step}")
            yield from self.outputs(part, v)


class Filled(Piece):
    """An array that was filled, as the caller gave it."""

    def joined(self, kind) -> Piece:
        return self


def settle(out: np.ndarray, found: np.ndarray) -> None:
    """See to it that what compiled code gives for an array is in it: it returns another object for the same memory, or a
    copy is due."""
    if found.shape != out.shape:
        raise ShapeMismatch(f"an array in out= has shape {out.shape}, the result {found.shape}")
    if not np.shares_memory(found, out):
        np.copyto(out, found)


class Filling(Compiled):
    """A compiled object that takes `out=`, in the structure of its result, None for numbers and for what may be new."""

    def _places(self, made, passed) -> list:
        """(number among the values returned, its name in messages, its shape if that is known) of every part of the result;
        None for parts that are neither numbers nor arrays."""
        found: list = []
        count = 0
        for leaf in leaves(made.result):
            returned = isinstance(leaf, (Scalar, Array))
            pairs = isinstance(leaf, Buffer) and leaf.arr.pairs
            found.append((count, f"result {len(found)}", None, pairs) if returned else None)
            count += returned
        return found

    def _call_with(self, args, kwargs):
        """A call with `out=`, unless the function has an argument of that name."""
        if "out" not in kwargs or (self._signature is not None and "out" in self._signature.parameters):
            return super()._call_with(args, kwargs)
        whole, kwargs = dict(kwargs), dict(kwargs)
        if self.packs and holds_packed((*args, *kwargs.values())):
            return self._one_by_one._call_with(args, kwargs)        # `out` has its arrays one by one
        out = kwargs.pop("out")
        if holds(dict, [out], {}):
            out = whole["out"] = in_order_of(self._tree_of_out(self._find(*self._taken(args, kwargs))), out, "out=")
        outs = flatten(out)
        wholes = {}                             # the arrays of complex numbers, by those of their parts
        for k, o in enumerate(outs):
            if isinstance(o, np.ndarray) and o.dtype.kind == "c" and o.flags.c_contiguous and o.flags.writeable:
                outs[k] = in_pairs(o)
                wholes[id(outs[k])] = Whole(o)
        names, values = self._taken(args, kwargs)
        given: dict = {}

        def run(made):
            passed = self._leaves(made, names, values)
            if type(made.call) is ShortTape:
                made.call.check(passed)
            given.clear()
            given.update(self._checked_outputs(outs, made, passed))
            call, places = self._filling(made, tuple(given))
            return run_compiled(call, (*passed, *(given[k] for k in places)))
        try:
            made, raw = guarded(self, run, names, values)
        except ValueError as e:
            if getattr(e, "again", "") == "out":
                raise ShapeMismatch(f"an array in out= has another shape than the {self.kind}") from None
            raise
        raw = list(narrowed(raw, made.narrow) if made.narrow else raw) if isinstance(raw, tuple) else [raw]
        for k, out in given.items():
            if raw[k] is not out:
                settle(out, raw[k])
            raw[k] = wholes.get(id(out), out)
        remember(self, made, args, whole, OutForm)
        return self._finish(made, tuple(raw) if len(raw) > 1 else raw[0])

    def _tree_of_out(self, made):
        """The structure of `out=` as a tree of kinds."""
        parts = tuple(Whole(None) for _ in made.generated.programs[0].returns)
        return describe(self._finish(made, parts if len(parts) > 1 else parts[0]))

    @functools.cached_property
    def _one_by_one(self):
        made = self._like()
        made.packs = False
        return made

    def _checked_outputs(self, outs, made, passed) -> dict:
        """Number of a result -> the array given for it. ShapeMismatch or TypeConflict for what cannot take it."""
        places = self._places(made, passed)
        if len(outs) != len(places):
            raise ShapeMismatch(f"out= holds {len(outs)} parts, the {self.kind} {len(places)}")
        found: dict = {}
        for out, place in zip(outs, places, strict=True):
            if out is None or place is None:
                continue
            k, name, shape, pairs = place
            result = made.generated.programs[0].returns[k]
            if not isinstance(result, Arr):
                raise TypeConflict(f"the {self.kind} of {name} is a number: give None for it in out=")
            if not isinstance(out, np.ndarray) or out.dtype != result.dtype or not out.flags.c_contiguous \
                    or not out.flags.writeable:
                kind = COMPLEX[result.dtype] if pairs else result.dtype
                raise TypeConflict(f"out= for {name} must be a writeable, C-contiguous array of {kind}")
            if pairs and (out.ndim != len(result.shape) or out.shape[-1:] != (2,)):
                raise TypeConflict(f"out= for {name} must be complex, with the shape of the argument")
            if out.ndim != len(result.shape):
                raise ShapeMismatch(f"out= for {name} has rank {out.ndim}, the {self.kind} {len(result.shape)}")
            if shape is not None and out.shape != shape:
                raise ShapeMismatch(f"out= for {name} has shape {out.shape}, the argument {shape}")
            if any(isinstance(x, np.ndarray) and np.may_share_memory(x, out) for x in (*passed, *found.values())):
                raise TypeConflict(f"out= for {name} shares memory with an argument or another result")
            found[k] = out
        return found

    def _filling(self, made, given: tuple):
        """(the program that fills arrays for these results, which of them it does)."""
        if ("filling", given) not in made.extra:
            program = made.generated.programs[0]
            filling, chosen = given_outputs(program, given)
            text = pipeline.module_text([filling], f"The {self.kind} of `{self.__name__}` into given arrays, generated by "
                                        "autodiff.")
            function = compile_programs(text, [filling], self.options, made.generated.lowered.mutated)[filling.name]
            made.extra["filling", given] = function, chosen
        return made.extra["filling", given]


__all__ = ["Filling"]
