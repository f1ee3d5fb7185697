"""Calls like the last one: a generated function that takes a call's arguments straight to compiled code.

For one specialisation and one form of call (how many positional arguments, which keywords) it says in a few lines of Python
what the general path finds out anew each time: are these the same kinds of arguments, is everything outside as it was, which
numbers and arrays go in, and how is the result put together. Where a line of it does not hold, or anything raises, it gives
MISS, and the general path sees to the call. Numba's own dispatcher checks memory layouts.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..arguments.foreign import PLAIN, converter
from ..arguments.kinds import as_passed, flatten, joined
from ..arguments.packing import instance, unpacked
from ..transforms.language.core import Arr
from ..transforms.language.ops import COMPLEX
from ..transforms.lower.containers.packing import LARGEST, arrays_like, packed
from ..transforms.lower.functions.places import trusted
from ..transforms.lower.kinds import known_sizes
from .binding import Binding
from .guards import Writer
from .long_tapes import ShortTape
from .overlaps import NUMBERS

MISS = object()
ENTRIES = 4             # how many of them a compiled object tries
FORMS = 64              # how many it remembers
NAMED = 8               # as many keys of a dictionary are compared one by one


class Unfit(Exception):
    """A call that only the general path can make."""


class Piece:
    """An expression of generated code, in the place of the value it will have."""

    def __init__(self, text: str, writer: Writer):
        self.text, self.writer = text, writer

    def joined(self, kind) -> Piece:
        """The complex number or array whose parts the value holds."""
        rank = len(kind.shape) - 1 if isinstance(kind, Arr) else getattr(kind, "rank", 0)
        dtype = COMPLEX.get(kind.dtype, kind.dtype)
        whole = f"{self.text}.view({self.writer.constant(np.dtype(dtype))})[{'..., ' if rank else ''}0]"
        return Piece(whole if rank or dtype != "complex128" else f"complex({whole})", self.writer)

    def narrow(self, kind) -> Piece:
        """Integers of a dtype that compiled code has as int64."""
        return Piece(f"{self.writer.constant(joined)}({self.text}, {self.writer.constant(kind)})", self.writer)

    def unpacked(self, tree, parts) -> Piece:
        """The list whose parts the values, this one among them, hold."""
        texts = ", ".join(p.text for p in parts)
        return Piece(f"{self.writer.constant(unpacked)}({self.writer.constant(tree)}, [{texts}])", self.writer)

    def conjugate(self) -> Piece:
        return Piece(f"{self.writer.constant(conjugated)}({self.text})", self.writer)


def conjugated(value):
    """The conjugate, of arrays in their own memory."""
    return np.conjugate(value, out=value) if isinstance(value, np.ndarray) else value.conjugate()


def remember(compiled, made, args, kwargs, form=None) -> None:
    """Have a call of this form, should it come again, made by a function of its own; form: what writes it, made of these
    arguments, if it is not the one for all calls."""
    options = compiled.options
    if options.mode != "numba" or options.target != "cpu" or made.drawn or made.prints:
        return
    if made.generated.segments:                 # the next call may have a short tape
        return
    layouts = [x.flags.c_contiguous and x.flags.aligned if isinstance(x, np.ndarray) else type(x)
               for x in flatten([*args, *kwargs.values()])]
    key = made, len(args), tuple(kwargs), tuple(layouts)
    known = compiled._forms.get(key)
    if known is None:                           # once is no habit
        if len(compiled._forms) >= FORMS:
            compiled._forms.clear()
        compiled._forms[key] = MISS
        return
    if known is MISS:
        try:
            known = (form or compiled.form)(compiled, made, args, kwargs).function()
        except Unfit:
            known = False
        compiled._forms[key] = known
    if known and (not compiled._fast or compiled._fast[0] is not known):
        rest = [other for other in compiled._fast if other is not known]
        compiled._fast[:] = [known, *rest][:ENTRIES]


class Form:
    """The function for calls of one form: how it is written."""

    def __init__(self, compiled, made, args, kwargs):
        self.compiled, self.made = compiled, made
        self.writer = Writer("return MISS")
        self.passed: list[str] = []
        self.leaves: list[Any] = []
        self.numbers: list[str] = []            # the arguments as they are given
        self.args, self.kwargs, self.named = args, kwargs, tuple(kwargs)

    def function(self):
        w, made, compiled = self.writer, self.made, self.compiled
        names = [f"a{k}" for k in range(len(self.args))]
        self.keywords()
        if names:
            w.add(f"{', '.join(names)}, = args")        # another number of them raises
        else:
            w.refuse("args")
        for k, key in enumerate(self.kwargs):
            w.add(f"k{k} = kwargs[{key!r}]")
        self.held(compiled)
        pieces = [Piece(n, w) for n in names], {key: Piece(f"k{k}", w) for k, key in enumerate(self.kwargs)}
        bound, symbolic = compiled._bind(self.args, self.kwargs), compiled._bind(*pieces)
        for name, value, piece in zip(*bound, symbolic[1], strict=True):
            static = name in made.static
            if isinstance(piece, Piece):
                self.argument(piece.text, value, static)
            elif isinstance(value, (tuple, list, dict)) or is_record(value) or converter(type(value)) is not None:
                self.argument(w.constant(value), value, static)     # held beforehand: what is in it may have changed
            elif isinstance(value, (int, float, complex, np.number, np.ndarray)) and not isinstance(value, bool):
                self.argument(w.constant(value), value, static)
        if len(self.passed) != len(made.params):
            raise Unfit
        self.alike()
        if made.overlaps.concerns(bound[1]):
            given = [x.text if isinstance(x, Piece) else w.constant(x) for x in symbolic[1]]
            self.apart(bound[0], bound[1], given)
        self.outside()
        passed, function = ", ".join(self.passed), made.call
        if type(function) is ShortTape:
            w.refuse(f"{w.constant(function.is_long)}({passed})")
            function = function.function
        self.result(f"{w.constant(function)}({passed})")
        w.namespace["MISS"] = MISS
        lines = ["def call(owner, args, kwargs):", "    try:", *w.lines, "    except Exception:", "        return MISS"]
        exec("\n".join(lines), w.namespace)
        return w.namespace["call"]

    def keywords(self) -> None:
        """Are these the keywords?"""
        self.writer.refuse(f"len(kwargs) != {len(self.named)}" if self.named else "kwargs")
        if len(self.named) > 1 and self.compiled._takes_any_keyword:    # a dict in the order of the call
            self.writer.refuse(f"tuple(kwargs) != {self.named!r}")

    def held(self, binding) -> None:
        """Do callable objects and partial applications stand for what they stood for?"""
        w = self.writer
        for owner, call in binding._calls:
            w.refuse(f"type({w.constant(owner)}).__call__ is not {w.constant(call)}")
        for made, function, args, keywords in binding._partials:
            name = w.constant(made)
            w.refuse(f"{name}.func is not {w.constant(function)} or {name}.args is not {w.constant(args)}")
            inner = w.fresh()
            w.add(f"{inner} = {name}.keywords")
            if keywords:
                self.keys(inner, list(keywords))
                names = [w.fresh() for _ in keywords]           # `constant` gives a literal for some
                w.namespace.update(zip(names, keywords.values(), strict=True))
                w.refuse(" or ".join(f"{inner}[{k!r}] is not {n}" for k, n in zip(keywords, names, strict=True)))
            else:
                w.refuse(inner)
        if isinstance(binding.target, Binding):
            self.held(binding.target)

    def alike(self) -> None:
        """Have vectors and what they belong to one shape?"""
        shape = self.writer.constant(np.shape)
        for (a, _), (b, _) in self.compiled._alike(self.made, [(text, None) for text in self.passed]):
            self.writer.refuse(f"{shape}({a}) != {shape}({b})")

    def apart(self, names, values, given) -> None:
        """Is what the program writes apart from all else? given: the expressions of the arguments."""
        w, overlaps = self.writer, self.made.overlaps
        written = {name for name, _ in overlaps.written}
        plain = all(type(v) in (np.ndarray, *NUMBERS) for v in values) and not (
            overlaps.outside or overlaps.laid_outside) and overlaps.own is None
        if not plain:
            w.add(f"{w.constant(overlaps)}([{', '.join(self.numbers)}], {names!r}, [{', '.join(given)}])")
            return
        for k in overlaps.layouts:
            w.refuse(f"not {self.numbers[k]}.flags.c_contiguous")
        arrays = [(name, g) for name, v, g in zip(names, values, given, strict=True) if type(v) is np.ndarray]
        for k, (name, one) in enumerate(arrays):
            for other_name, other in arrays[k + 1:]:
                if name in written or other_name in written:
                    w.refuse(f"{w.constant(np.may_share_memory)}({one}, {other})")

    # -- arguments --------------------------------------------------------------------------------------------
    def argument(self, name: str, value, static: bool) -> None:
        """Lines for one argument or part of one: is it of the same kind, and what compiled code takes of it."""
        w, kind = self.writer, type(value)
        if kind not in PLAIN and (how := converter(kind)) is not None:
            if self.made.overlaps.needed:               # which looks at memory
                raise Unfit
            w.refuse(f"type({name}) is not {w.constant(kind)}")
            inner = w.fresh()
            w.add(f"{inner} = {w.constant(how)}({name})")
            self.argument(inner, how(value), static)
            return
        found = packed(value) if self.made.packs and not static else None
        if found is not None:
            inner = w.fresh()
            w.add(f"{inner} = {w.constant(arrays_like)}({name}, {w.constant(found.key)})")
            for k, array in enumerate(found.arrays):
                self.leaf(f"{inner}[{k}]", array)
        elif value is None or isinstance(value, bool):
            w.refuse(f"{name} is not {value}")
        elif kind is np.ndarray and value.ndim:
            w.refuse(f"type({name}) is not ndarray")
            w.sizes(name, tuple(s if isinstance(s, int) else None for s in known_sizes(value.shape)))
            self.leaf(name, value)
        elif isinstance(value, (int, np.integer)) and static:
            w.refuse(f"type({name}) is not {w.constant(kind)} or {name} != {value!r}")
        elif kind in (int, float, complex) or isinstance(value, np.number):
            w.refuse(f"type({name}) is not {w.constant(kind)}")
            self.leaf(name, value)
        elif kind in (tuple, list) or isinstance(value, tuple) and hasattr(value, "_fields"):
            w.refuse(f"type({name}) is not {w.constant(kind)} or len({name}) != {len(value)}")
            self.parts(name, [f"[{k}]" for k in range(len(value))], list(value), static)
        elif kind is dict:
            w.refuse(f"type({name}) is not {w.constant(dict)}")
            self.keys(name, list(value))
            self.parts(name, [f"[{w.constant(k)}]" for k in value], list(value.values()), static)
        elif is_record(value):
            fields = [f.name for f in dataclasses.fields(value)]
            steps, own = [f".{f}" for f in fields], getattr(value, "__dict__", None)
            w.refuse(f"type({name}) is not {w.constant(kind)}")
            if own is not None:
                inner = w.fresh()
                w.add(f"{inner} = {name}.__dict__")
                if own.keys() == set(fields) and settable(kind, fields) and kind.__getattribute__ is object.__getattribute__:
                    w.refuse(f"len({inner}) != {len(own)}")     # that it has these, reading them shows
                    name, steps = inner, [f"[{f!r}]" for f in fields]
                else:
                    self.keys(inner, list(own))
            self.parts(name, steps, [getattr(value, f) for f in fields], static)
        elif kind is str:
            w.refuse(f"type({name}) is not {w.constant(str)} or {name} != {value!r}")
        elif isinstance(value, (np.ndarray, np.generic)) or hasattr(type(value), "__autodiff_array__"):
            raise Unfit
        elif kind.__eq__ is object.__eq__ or not trusted(kind.__module__):
            w.refuse(f"{name} is not {w.constant(value)}")
        else:
            w.refuse(f"type({name}) is not {w.constant(kind)} or {name} != {w.constant(value)}")

    def keys(self, name: str, known: list) -> None:
        """Does a dictionary have these keys, in this order?"""
        w = self.writer
        if known and len(known) <= NAMED and all(type(k) is str for k in known):
            found = [w.fresh() for _ in known]
            w.add(f"{', '.join(found)}, = {name}")              # another number of them raises
            w.refuse(" or ".join(f"{a} != {k!r}" for a, k in zip(found, known, strict=True)))
        else:
            w.refuse(f"[*{name}] != {w.constant(known)}")

    def parts(self, name: str, steps, values, static) -> None:
        for step, value in zip(steps, values, strict=True):
            inner = self.writer.fresh()
            self.writer.add(f"{inner} = {name}{step}")
            self.argument(inner, value, static)

    def leaf(self, name: str, value) -> None:
        """A number or array that compiled code takes."""
        if len(self.passed) >= len(self.made.params):
            raise Unfit
        self.leaves.append(value)
        self.numbers.append(name)
        self.passed.append(self.taken(name, value, self.made.params[len(self.passed)]))

    def taken(self, name: str, value, param) -> str:
        """An argument or what stands outside as compiled code takes it; arrays of another dtype are none of this form."""
        w = self.writer
        passed = as_passed(value, param)
        if isinstance(value, np.ndarray):
            dtype = w.constant(value.dtype)
            w.refuse(f"{name}.dtype is not {dtype} and {name}.dtype != {dtype}")
            if passed is value:
                return name
            if value.flags.aligned and value.dtype.isnative and value.ndim:
                own = f"{w.constant(np.ascontiguousarray)}({name}"
                if param.pairs:
                    return f"{own}).view({w.constant(np.dtype(param.dtype))}).reshape(*{name}.shape, 2)"
                return f"{own})" if passed.dtype == value.dtype else f"{own}, {w.constant(passed.dtype)})"
        elif type(passed) is type(value):
            if type(value) is int:
                w.refuse(f"not {-LARGEST} <= {name} <= {LARGEST}")
            return name
        elif type(value) is np.float64 and type(passed) is float:       # which Numba takes as one
            return name
        return f"{w.constant(as_passed)}({name}, {w.constant(param)})"

    def outside(self) -> None:
        """What was read outside: is it as it was, and what goes in."""
        w, hidden = self.writer, self.made.hidden
        found = w.check(self.made.reads, [place for _, place, _ in hidden if place is not None])
        for param, place, value in hidden:
            now = value if place is None else place.now()
            name = w.constant(now) if place is None else found[place.key]
            self.passed.append(w.constant(as_passed(now, param)) if place is None else self.taken(name, now, param))

    # -- the result -------------------------------------------------------------------------------------------
    def result(self, call: str) -> None:
        """Lines that make the call and put its result together."""
        w, made = self.writer, self.made
        count = len(made.generated.programs[0].returns)
        parts = [f"r{k}" if count > 1 else "raw" for k in range(count)]
        w.add(f"raw = {call}")
        if count > 1:
            w.add(f"{', '.join(parts)}, = raw")
        for k in made.narrow:
            parts[k] = f"{w.constant(np.float32)}({parts[k]})"
        pieces = tuple(Piece(p, w) for p in parts)
        try:
            text = expression(w, self.compiled._finish(made, pieces if count > 1 else pieces[0]))
        except Exception:                       # it looks at the values
            if made.narrow:
                raise Unfit from None
            text = f"owner._finish({w.constant(made)}, raw)"
        w.add(f"owner._latest = {w.constant(made)}")
        w.add(f"return {text}")


def expression(w: Writer, value) -> str:
    """The text that makes a structure with expressions in it."""
    if isinstance(value, Piece):
        return value.text
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return f"{w.constant(type(value))}({', '.join(expression(w, v) for v in value)})"
    if type(value) is tuple:
        return f"({''.join(expression(w, v) + ', ' for v in value)})"
    if type(value) is list:
        return f"[{', '.join(expression(w, v) for v in value)}]"
    if type(value) is dict:
        return "{" + ", ".join(f"{w.constant(k)}: {expression(w, v)}" for k, v in value.items()) + "}"
    if is_record(value):
        cls, fields = type(value), {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        if not settable(cls, fields):
            return f"{w.constant(instance)}({w.constant(cls)}, {expression(w, fields)})"
        made = w.fresh()                    # without running its `__init__` again
        w.add(f"{made} = {w.constant(object.__new__)}({w.constant(cls)})")
        own = cls.__setattr__ is not object.__setattr__             # that of a frozen class refuses
        for field, part in fields.items():
            text = expression(w, part)
            w.add(f"{w.constant(object.__setattr__)}({made}, {field!r}, {text})" if own else f"{made}.{field} = {text}")
        return made
    if value is None or isinstance(value, (bool, int, float, str)):
        return w.constant(value)
    raise Unfit


def is_record(value) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def settable(cls, fields) -> bool:
    """Whether objects of a class keep these fields in their `__dict__`."""
    return not any("__slots__" in vars(c) for c in cls.__mro__[:-1]) and not any(
        hasattr(type(getattr(cls, f, None)), "__set__") for f in fields)


__all__ = ["MISS", "Form", "Piece", "Unfit", "expression", "remember"]
