"""Python's integers do not wrap: results of 64 bits that may be too large for them, and that numbers depend on, are checked.

A pass right after lowering. It bounds the magnitude of integers: sizes and loop counts by what fits in memory and time, what
a loop carries by linear growth. A variable has a form {symbol: factor}, the symbols being what loops carry, `ONE` for a
number and `TIME` for what grows by a bounded step in each iteration of any loops. What only finds elements, sizes or loop
bounds is left alone: subscripts are checked where they are used.

    for k in range(n):              for k in range(n):
        f = f * k                       if not abs(float(f) * float(k)) < 2.0 ** 63: raise OverflowError(...)
                                        f = f * k
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from enum import Enum

from ...language.core import Alloc, Call, Const, For, Function, Guard, If, Let, Load, Store, Var, While, walk, with_blocks

ONE, TIME = "1", "time"
TRIPS = 2.0 ** 31                       # iterations that a program can run
SIZE, ARGUMENT, WORD = 2.0 ** 40, 2.0 ** 61, 2.0 ** 63
TOO_LARGE = {ONE: float("inf")}
ARITHMETIC = ("ZeroDivisionError", "OverflowError")     # errors that say something of a number, not of a place or size
NARROWING = ("mod", "floordiv", "rshift", "bitand", "max", "min")      # bring into range what has left it
CHECKED = ("add", "sub", "mul", "pow", "lshift", "neg", "abs")


class Integers(Enum):
    """Whose integers an operation has that do not wrap, and what its check says where the result does not fit."""

    OWN = "a Python integer does not fit in 64 bits: compute it as a float"
    BY_PATH = "an integer that may be Python's own or NumPy's does not fit in 64 bits: compute it as a float"


def check_overflow(function: Function, suspects: dict[Var, Integers], words: Set[Var] = frozenset()) -> Function:
    """The program with a check after each of `suspects`, results of operations on Python's integers, that needs it.

    words: the parameters that are NumPy's, and may be as large as a word; Python's are not (`ARGUMENT`)."""
    if not suspects:
        return function
    wanted = suspects.keys() & needed_values(function)
    if not wanted:
        return function
    sizes = Magnitudes(function, words)
    needed = {v: suspects[v] for v in wanted if not sizes.largest(sizes.form(v)) < WORD}
    return replace(function, body=with_checks(function.body, needed)) if needed else function


def needed_values(function: Function) -> set[Var]:
    """The variables that results, branches or errors of arithmetic depend on in other ways than by subscripts, sizes and
    bounds of loops, and what is brought into a range, by which it may be taken for one of those."""
    sources: dict = {}
    waiting: list = [r for r in function.returns if isinstance(r, Var)]
    for s in walk(function.body):
        match s:
            case Let(var=v, op=op, args=args):
                sources[v] = args
                if op in NARROWING:
                    waiting += args
            case Store(value=value):
                waiting.append(value)
            case Alloc(fill=fill):
                waiting.append(fill)
            case Call(args=args):
                waiting += args
            case Guard(cond=cond, error=error, message=message) if error in ARITHMETIC or message.startswith("math "):
                waiting.append(cond)
            case For(carries=carries, exit=stop):
                waiting.append(stop)
                for c in carries:
                    sources[c.var] = sources[c.result] = (c.init, c.next)
            case While(cond=cond, carries=carries):
                waiting.append(cond)
                for c in carries:
                    sources[c.var] = sources[c.result] = (c.init, c.next)
            case If(cond=cond, merges=merges):
                waiting.append(cond)
                for m in merges:
                    sources[m.var] = (m.then, m.orelse)
    found: set[Var] = set()
    while waiting:
        x = waiting.pop()
        if isinstance(x, Var) and x not in found:
            found.add(x)
            waiting += sources.get(x, ())
    return found


class Magnitudes:
    """Bounds of the absolute values of a program's integers, as forms."""

    def __init__(self, function: Function, words: Set[Var] = frozenset()):
        self.known: dict = {p: {ONE: WORD if p in words else ARGUMENT} for p in function.params if isinstance(p, Var)}
        self.ends: dict = {}                # symbol -> the form that it is known to be at most
        self.axes: dict = {}                # size, or product of sizes -> (array, its axes)
        self.block(function.body)

    def form(self, atom) -> dict:
        if isinstance(atom, Const):
            return {ONE: abs(float(atom.value))} if abs(atom.value) < 10 ** 300 else TOO_LARGE
        return self.known.get(atom, {ONE: WORD})

    def largest(self, form: dict) -> float:
        """The largest number that a form stands for, once the loops around it are known."""
        return sum(factor * (1.0 if s == ONE else TRIPS if s == TIME else self.largest(self.ends[s]))
                   for s, factor in form.items() if factor)

    def block(self, block) -> None:
        for s in block:
            match s:
                case Let(var=v, op=op, args=args) if v.dtype in ("int64", "bool"):
                    axes = self.axes_of(op, args)
                    if axes is not None:
                        self.axes[v] = axes
                    self.known[v] = self.result(op, args) if axes is None else {ONE: SIZE}
                case Load(var=v) if v.dtype == "bool":
                    self.known[v] = {ONE: 1.0}
                case If(then=then, orelse=orelse, merges=merges):
                    self.block(then)
                    self.block(orelse)
                    for m in merges:
                        self.known[m.var] = larger(self.form(m.then), self.form(m.orelse))
                case For(index=index, start=start, stop=stop, step=step):
                    reach = added(self.form(start), {TIME: self.largest_known(step)})
                    ends = larger(self.form(start), self.form(stop))
                    self.known[index] = ends if self.largest_known_form(ends) <= self.largest_known_form(reach) else reach
                    if s.trip is not None:
                        self.known[s.trip] = {TIME: 1.0}
                    self.loop(s)
                case While():
                    self.known[s.counter] = self.known[s.trip] = {TIME: 1.0}
                    self.loop(s)

    def axes_of(self, op: str, args) -> tuple | None:
        """(array, its axes) whose sizes this is the product of: it has no more elements than fit in memory."""
        if op == "dim":
            return args[0], {args[1]}
        if op != "mul" or not all(a in self.axes for a in args):
            return None
        (array, axes), (other, more) = (self.axes[a] for a in args)
        return (array, axes | more) if array is other and not axes & more else None

    def largest_known(self, atom) -> float:
        return self.largest_known_form(self.form(atom))

    def largest_known_form(self, form: dict) -> float:
        """The largest number that a form stands for; infinite where loops that are being looked at still carry it."""
        return sum(factor * (1.0 if s == ONE else TRIPS if s == TIME else
                             self.largest_known_form(self.ends[s]) if self.ends.get(s) is not None else float("inf"))
                   for s, factor in form.items() if factor)

    def loop(self, s) -> None:
        """What is carried grows at most by the same in each iteration, or may be anything."""
        carries = [c for c in s.carries if c.var.dtype == "int64"]
        for c in s.carries:
            if c.var.dtype == "bool":
                self.known[c.var] = self.known[c.result] = {ONE: 1.0}
        wild: set = set()
        while True:
            symbol = object()
            start: dict = {}
            for c in carries:
                self.known[c.var] = TOO_LARGE if c in wild else {symbol: 1.0}
                start = start if c in wild else larger(start, self.form(c.init))
            self.ends[symbol] = None
            self.block(s.body)
            growth: dict = {}
            worse = set()
            for c in carries:
                if c in wild:
                    continue
                form = dict(self.form(c.next))
                own = form.pop(symbol, 0.0)
                if own > 1.0 or not sum(form.values()) < float("inf") or own and any(k not in (ONE, TIME) for k in form):
                    worse.add(c)
                elif own:
                    growth = larger(growth, form)
                else:
                    start = larger(start, form)
            if not worse:
                break
            wild |= worse
        self.ends[symbol] = added(start, {TIME: growth.get(ONE, 0.0) + growth.get(TIME, 0.0)})
        for c in carries:
            self.known[c.result] = TOO_LARGE if c in wild else self.ends[symbol]

    def result(self, op: str, args) -> dict:
        forms = [self.form(a) for a in args if isinstance(a, (Const, Var))]
        match op:
            case "add" | "sub" | "sum":
                return added(*forms)
            case "mul":
                for a, b in (forms, forms[::-1]):
                    if set(a) <= {ONE}:
                        return {k: v * a.get(ONE, 0.0) for k, v in b.items()}
                return {ONE: self.largest_known_form(forms[0]) * self.largest_known_form(forms[1])}
            case "neg" | "abs":
                return forms[0]
            case "max" | "min" | "bitand" | "bitor" | "bitxor":
                return larger(*forms) if op in ("max", "min") else added(*forms)
            case "floordiv":
                by = abs(args[1].value) if isinstance(args[1], Const) and args[1].value else 1
                return added({k: v / by for k, v in forms[0].items()}, {ONE: 1.0 if by > 1 else 0.0})
            case "mod":
                return forms[1]
            case "rshift":
                return forms[0]
            case "wrap_index":
                return {ONE: SIZE}
            case "invert":
                return added(forms[0], {ONE: 1.0})
            case "cast":
                return {ONE: 1.0} if getattr(args[0], "dtype", "") == "bool" else {ONE: ARGUMENT}
            case "pow":
                low, high = map(self.largest_known_form, forms)
                return {ONE: max(low, 1.0) ** high if high < 16 and low < WORD else float("inf")}
            case "lshift":
                low, high = map(self.largest_known_form, forms)
                return {ONE: low * 2.0 ** high if high < 64 else float("inf")}
            case "stop" | "copy" | "as_int64" | "word":
                return forms[0]
        return {ONE: WORD / 2} if op.startswith("to_") else {ONE: WORD}


def added(*forms) -> dict:
    total: dict = {}
    for form in forms:
        for k, v in form.items():
            total[k] = total.get(k, 0.0) + v
    return total


def larger(a: dict, b: dict) -> dict:
    return {k: max(a.get(k, 0.0), b.get(k, 0.0)) for k in {**a, **b}}


def with_checks(block, wanted: dict[Var, Integers]) -> tuple:
    """A block with a check before each variable that needs one: the same operation on floats is in range."""
    made: list = []
    for s in block:
        if isinstance(s, Let) and s.var in wanted:
            wide: list = []
            for a in s.args:
                wide.append(Const(float(a.value), "float64") if isinstance(a, Const) else Var("wide", "float64"))
                if isinstance(a, Var):
                    made.append(Let(wide[-1], "cast", (a,), s.loc))
            if s.op == "lshift":
                power = Var("power", "float64")
                made.append(Let(power, "pow", (Const(2.0, "float64"), wide[1]), s.loc))
                wide[1] = power
            value, size, fits = Var("wide", "float64"), Var("size", "float64"), Var("fits", "bool")
            made += [Let(value, "mul" if s.op == "lshift" else s.op, tuple(wide), s.loc), Let(size, "abs", (value,), s.loc),
                     Let(fits, "lt", (size, Const(WORD, "float64")), s.loc),
                     Guard(fits, "OverflowError", wanted[s.var].value, (), s.loc)]
        made.append(with_blocks(s, lambda inner: with_checks(inner, wanted)))
    return tuple(made)


__all__ = ["CHECKED", "check_overflow"]
