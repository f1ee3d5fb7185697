"""Small programs of what Python means: identity, None, texts and truths by path, chained comparisons, early returns,
aliases, lists and dicts that change, defaults, closures, loops with `else` and `break`. Python runs the same function."""

from __future__ import annotations

import copy
import random
import warnings

import numpy as np

from autodiff import AutodiffError, InternalError, vjp

from .checks import Outcome, TookTooLong, limited
from .programs import Program

HEAD = """import numpy as np


def first_above(v, c):
    for i in range(len(v)):
        if v[i] > c:
            return v[i]


def tail_from(v, c):
    for i in range(len(v)):
        if v[i] > c:
            return v[i:]
    return v[:1]


def place_and_rest(v, c):
    for i in range(len(v)):
        if v[i] > c:
            return i, v[:i + 1]
    return -1, v


def kind(u):
    if u > 0.6:
        return "high"
    if u > 0.0:
        return "middle"
    return "low"


def scaled(v, c=None, mode="plain"):
    if c is None:
        c = 2.0
    if mode == "square":
        return v * v * c
    return v * c


def bump(v, k):
    v[k] = v[k] + 1.0


def exchange(a, b):
    a, b = b, a
    a[0] = a[0] * 2.0
    return b[1]
"""


class Writer:
    """The text of one program: names by kind, statements at random."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.depth = 1
        self.loops = 0
        self.names = {"num": ["p"], "arr": ["x", "y"], "bool": [], "maybe": [], "text": [], "list": [], "dict": [], "fn": [],
                      "rest": []}
        self.count = 0

    def pick(self, items):
        return self.random.choice(list(items))

    def chance(self, p):
        return self.random.random() < p

    def put(self, text: str, more: int = 0) -> None:
        self.lines.append("    " * (self.depth + more) + text)

    def fresh(self, kind: str) -> str:
        self.count += 1
        return f"{kind[0]}{self.count}"

    def add(self, kind: str, name: str) -> None:
        self.names[kind] = [n for n in self.names[kind] if n != name] + [name]

    def of(self, kind: str) -> str:
        return self.pick(self.names[kind])

    # -- expressions ------------------------------------------------------------------------------------------
    def num(self, depth: int = 2) -> str:
        r = self.random.random()
        if depth == 0 or r < 0.2:
            return self.pick([self.of("num"), f"{self.of('arr')}[{self.pick([0, 1, 2, -1])}]", self.pick(
                ["0.5", "1.5", "-0.7", "2.0"])])
        choices = [lambda: f"({self.num(depth - 1)} {self.pick('+-*')} {self.num(depth - 1)})",
                   lambda: f"({self.num(depth - 1)} if {self.cond(depth - 1)} else {self.num(depth - 1)})",
                   lambda: f"({self.num(depth - 1)} * ({self.cond(depth - 1)}))",
                   lambda: f"np.sum({self.arr(depth - 1)})", lambda: f"np.sin({self.num(depth - 1)})",
                   lambda: f"{self.pick(['max', 'min'])}({self.num(depth - 1)}, {self.num(depth - 1)})",
                   lambda: f"sum([{self.cond(0)}, {self.cond(0)}])",
                   lambda: f"(({self.cond(0)}) + ({self.cond(0)}))",
                   lambda: f"exchange({self.of('arr')}, {self.of('arr')})" if self.depth == 1 else self.num(0)]
        if self.names["maybe"]:
            m = self.of("maybe")
            choices += [lambda: f"(0.3 if {m} is None else {m})", lambda: f"({m} or {self.num(0)})",
                        lambda: f"({m} * 2.0)" if self.chance(0.2) else f"({m} if {m} is not None else 1.5)"]
        if self.names["bool"]:
            choices += [lambda: f"({self.pick(['', '-', '+', 'int'])}({self.of('bool')}) * {self.num(0)})",
                        lambda: f"({self.of('bool')} + {self.of('bool')})"]
        if self.names["list"]:
            v = self.of("list")
            choices += [lambda: f"{v}[0]", lambda: f"sum({v})", lambda: f"{v}[-1]", lambda: f"len({v})"]
        if self.names["dict"]:
            choices += [lambda: f"{self.of('dict')}[{self.key()}]", lambda: f"{self.of('dict')}.get({self.key()}, 0.5)"]
        if self.names["fn"]:
            choices += [lambda: f"{self.of('fn')}({self.num(depth - 1)})"] * 2
        if self.names["rest"]:
            choices += [lambda: f"np.sum({self.of('rest')})", lambda: f"len({self.of('rest')})"]
        return self.pick(choices)()

    def key(self) -> str:
        return self.pick(["'high'", "'low'", "'middle'", *self.names["text"], f"kind({self.num(0)})"])

    def arr(self, depth: int = 1) -> str:
        if depth == 0 or self.chance(0.4):
            return self.of("arr")
        return self.pick([f"({self.arr(depth - 1)} {self.pick('+-*')} {self.arr(depth - 1)})",
                          f"{self.of('arr')} * {self.num(0)}", f"scaled({self.of('arr')})", f"scaled({self.of('arr')}, 0.5)",
                          f"scaled({self.of('arr')}, mode={self.pick(['`plain`', '`square`']).replace('`', chr(34))})",
                          f"({self.of('arr')} * ({self.of('arr')} > 0.3))",
                          f"(({self.of('arr')} > 0.3) ^ ({self.of('arr')} > 0.1)) * {self.of('arr')}"])

    def cond(self, depth: int = 1) -> str:
        n = lambda: self.num(max(depth - 1, 0))
        choices = [lambda: f"{n()} {self.pick(['>', '<', '>=', '<='])} {n()}", lambda: f"{n()} < {n()} < {n()}",
                   lambda: f"{self.pick(['0.1', '-0.2'])} < {n()} <= {n()}"]
        if depth:
            choices += [lambda: f"({self.cond(depth - 1)}) {self.pick(['and', 'or', '==', '!=', '^', '&', '|'])} "
                                f"({self.cond(depth - 1)})", lambda: f"not ({self.cond(depth - 1)})"]
        if self.names["maybe"]:
            m = self.of("maybe")
            choices += [lambda: f"{m} is {self.pick(['', 'not '])}None", lambda: f"({m} is not None and {m} > 0.2)"]
        if self.names["text"]:
            t = self.of("text")
            choices += [lambda: f"{t} {self.pick(['==', '!='])} {self.pick(['`high`', '`low`'])}".replace("`", "'"),
                        lambda: f"{t} in ('high', 'middle')", lambda: f"kind({n()}) == {t}"]
        if self.names["bool"]:
            b = self.of("bool")
            choices += [lambda: b, lambda: f"{b} is {self.pick(['True', 'False'])}", lambda: f"not {b}"]
        if self.names["list"]:
            choices.append(lambda: f"{self.of('list')} is {self.of('list')}")
        if self.chance(0.08):
            choices.append(lambda: f"{self.of('arr')} is {self.pick(['', 'not '])}{self.of('arr')}")
        return self.pick(choices)()

    # -- statements -------------------------------------------------------------------------------------------
    def block(self, n: int) -> None:
        kept = {k: list(v) for k, v in self.names.items()}
        self.depth += 1
        for _ in range(n):
            self.statement()
        self.depth -= 1
        self.names = kept

    def statement(self) -> None:
        ways = [self.number, self.number, self.truth, self.maybe, self.text, self.array, self.write, self.write, self.listed,
                self.mapped, self.function, self.rest, self.swap]
        if self.depth < 4:
            ways += [self.branch, self.branch, self.loop, self.loop, self.early]
        self.pick(ways)()

    def number(self):
        if self.chance(0.4) and len(self.names["num"]) > 1:
            name = self.pick(self.names["num"][1:])
            self.put(f"{name} {self.pick(['=', '+=', '*='])} {self.num()}")
        else:
            text = self.num()
            self.put(f"{(name := self.fresh('num'))} = {text}")
            self.add("num", name)

    def truth(self):
        text = self.pick([self.cond(), "True", "False", f"bool({self.cond()})"])
        name = self.of("bool") if self.names["bool"] and self.chance(0.5) else self.fresh("bool")
        self.put(f"{name} = {text}")
        self.add("bool", name)

    def maybe(self):
        text = self.pick([f"first_above({self.of('arr')}, {self.pick(['0.2', '0.8', '5.0'])})", "None",
                          f"None if {self.cond()} else {self.num()}", self.num()])
        name = self.of("maybe") if self.names["maybe"] and self.chance(0.6) else self.fresh("maybe")
        self.put(f"{name} = {text}")
        self.add("maybe", name)

    def text(self):
        text = self.pick([f"kind({self.num()})", "'high'", "'low'", f"'high' if {self.cond()} else 'low'"])
        name = self.of("text") if self.names["text"] and self.chance(0.6) else self.fresh("text")
        self.put(f"{name} = {text}")
        self.add("text", name)

    def array(self):
        text = self.pick([self.arr(2), self.of("arr"), f"{self.of('arr')}.copy()", f"{self.of('arr')}[::-1]"])
        name = self.of("arr") if self.chance(0.4) else self.fresh("arr")
        self.put(f"{name} = {text}")
        self.add("arr", name)

    def write(self):
        a = self.of("arr")
        self.put(self.pick([f"{a}[{self.pick([0, 1, 2, -1])}] {self.pick(['=', '+=', '*='])} {self.num()}",
                            f"bump({a}, {self.pick([0, 1, 2])})", f"{a}[1:3] = {a}[:2] * 0.5", f"{a} *= 1.1",
                            f"{a} += {self.arr(0)}"]))

    def listed(self):
        if not self.names["list"] or self.chance(0.4):
            name = self.fresh("list")
            self.put(name + " = " + self.pick([f"[{self.num(1)}, {self.num(1)}]", f"[{self.num(1)}]", "[0.5] * 3",
                                               *self.names["list"]]))
            return self.add("list", name)
        v = self.of("list")
        return self.put(self.pick([f"{v}.append({self.num(1)})", f"{v}[0] = {self.num(1)}", f"{v} += [{self.num(1)}]",
                                   f"{v}[-1] *= 0.5", f"{v} = {v} + [0.25]"]))

    def mapped(self):
        if not self.names["dict"] or self.chance(0.4):
            name = self.fresh("dict")
            self.put(f"{name} = " + self.pick([f"{{'high': {self.num(1)}, 'middle': {self.num(1)}, 'low': 0.5}}",
                                               f"dict(high={self.num(1)}, middle=0.1, low={self.num(1)})",
                                               *self.names["dict"]]))
            return self.add("dict", name)
        d = self.of("dict")
        return self.put(self.pick([f"{d}.update(high={self.num(1)})", f"{d}[{self.key()}] = {self.num(1)}",
                                   f"{d}['low'] += {self.num(1)}", f"{d}.setdefault('more', {self.num(1)})",
                                   f"{d} = {d} | {{'middle': {self.num(1)}}}", f"{d}.update([('low', {self.num(1)})])"]))

    def function(self):
        name = self.fresh("fn")
        way = self.random.randrange(4)
        if way == 0:
            self.put(f"{name} = (lambda v: v * {self.num(0)}) if {self.cond()} else (lambda v: v + 1.0)")
        elif way == 1:
            self.put(f"{name} = np.sin if {self.cond()} else np.cos")
        else:
            self.put(f"def {name}(v, acc=[]):" if way == 2 else f"def {name}(v):")
            kept, self.depth = {k: list(v) for k, v in self.names.items()}, self.depth + 1
            self.names["num"] = [*self.names["num"], "v"]
            if way == 2:
                self.put("acc.append(v)")
            self.put(f"if {self.cond()}:")
            self.put(f"return {self.num(1)}", 1)
            self.put("return sum(acc)" if way == 2 else f"return {self.num(1)}")
            self.depth, self.names = self.depth - 1, kept
        self.add("fn", name)

    def rest(self):
        name = self.fresh("rest")
        if self.chance(0.3):
            where = self.fresh("num")
            self.put(f"{where}, {name} = place_and_rest({self.of('arr')}, 0.4)")
            self.add("num", where)
        else:
            self.put(f"{name} = tail_from({self.of('arr')}, {self.pick(['0.4', '0.9'])})")
        self.add("rest", name)

    def swap(self):
        kind = self.pick(["arr", "num"])
        one, two = self.of(kind), self.of(kind)
        self.put(f"{one}, {two} = {two}, {one}")

    def branch(self):
        self.put(f"if {self.cond()}:")
        self.block(self.random.randint(1, 2))
        if self.chance(0.5):
            self.put("else:")
            self.block(self.random.randint(1, 2))

    def loop(self):
        kept, i = {k: list(v) for k, v in self.names.items()}, self.fresh("index")
        a = self.of("arr")
        heads = [f"for {i} in range({self.pick([3, 4, f'len({a})', 0])}):", f"for {i} in {a}:",
                 f"for {i}, u{i} in enumerate({a}):"]
        if self.chance(0.25):
            self.put(f"{i} = 0")
            self.put(f"while {i} < 3 and ({self.cond()}):")
            self.put(f"{i} += 1", 1)
        else:
            self.put(self.pick(heads))
        self.names["num"] = [*self.names["num"], i]
        self.loops += 1
        self.block(self.random.randint(1, 3))
        if self.chance(0.3):
            self.put(f"if {self.cond()}:", 1)
            self.put(self.pick(["break", "continue"]), 2)
        self.loops -= 1
        self.names = kept
        if self.chance(0.2):
            self.put("else:")
            self.block(1)

    def early(self):
        self.put(f"if {self.cond()}:")
        self.put(self.pick([f"return {self.num(1)}", *(["break", "continue"] if self.loops else [])]), 1)

    def text_of(self) -> str:
        for _ in range(self.random.randint(3, 7)):
            self.statement()
        self.put(f"return {self.num(2)} + 0.0")
        return HEAD + "\n\ndef f(x, y, p):\n" + "\n".join(self.lines) + "\n"


def outcome_of(function, *args):
    """(result, None), or (None, the exception)."""
    try:
        with limited(5):
            return function(*args), None
    except TookTooLong:
        raise
    except Exception as e:
        return None, e


def attempt(seed: int) -> tuple[Outcome, str]:
    """One program against Python: value, final contents of its arguments, gradient, class of what it raises."""
    return against_python(seed, Writer(seed).text_of(), (
        "from autodiff import vjp\nprint(f(*args), args)\n# again, with other copies:\n"
        "# value, pull = vjp(f, *args, outputs=('x', 'y'), mode='python')\n"))


def against_python(seed: int, text: str, again: str = "") -> tuple[Outcome, str]:
    """A program with a function f(x, y, p) of two vectors and a number, at the arguments of this seed. again: the end of the
    script that shows it."""
    draw = np.random.default_rng(seed).uniform
    args = (np.round(draw(-1, 1.5, 4), 3), np.round(draw(-1, 1.5, 4), 3), round(float(draw(-1, 1.5)), 3))
    shown = f"{text}\nargs = {', '.join(map(repr, args))}\n".replace("array(", "np.array(").replace("np.np.", "np.") + again
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            f = Program(seed, text, "").module()["f"]
        except SyntaxError:
            return Outcome("skipped", "syntax"), shown
        try:
            return judged(f, args), shown
        except TookTooLong:
            return Outcome("skipped", "time"), shown


def judged(f, args) -> Outcome:
    given = copy.deepcopy(args)
    expected, raised = outcome_of(f, *given)
    if raised is None and not (isinstance(expected, (float, np.floating)) and np.all(np.isfinite(
            [expected, *given[0], *given[1]])) and max(map(abs, (expected, *given[0], *given[1]))) < 1e4):
        return Outcome("skipped", "result")
    mine = copy.deepcopy(args)
    found, error = outcome_of(lambda: vjp(f, *mine, outputs=("x", "y"), mode="python", debug=True))
    if isinstance(error, AutodiffError) and not isinstance(error, InternalError):
        return Outcome("refused", str(error).split("\n")[0])
    if raised is not None:
        if error is None:
            return Outcome("failed", f"no {type(raised).__name__}", f"Python: {raised!r}, found {found[0]}")
        same = isinstance(error, type(raised)) or isinstance(raised, type(error))
        return Outcome("ok" if same else "failed", "error class", f"Python: {raised!r}, found {error!r}")
    if error is not None:
        return Outcome("failed", f"raises {type(error).__name__}", f"{error!r}, Python gives {expected}")
    (value, *last), pull = found
    for name, one, other in zip(("value", "x", "y"), (value, *last), (expected, *given[:2])):
        if not np.allclose(one, other, rtol=1e-9, atol=1e-11):
            return Outcome("failed", name, f"{one}, Python: {other}")
    return slopes(f, args, pull)


def slopes(f, args, pull) -> Outcome:
    """The gradient against central differences, where two steps agree."""
    weights = np.linspace(0.5, 1.5, 4), np.linspace(-1.0, 1.0, 4)
    bars = pull((1.0, *weights))
    directions = np.random.default_rng(1).uniform(-1, 1, 9)

    def loss(h):
        moved = [args[0] + h * directions[:4], args[1] + h * directions[4:8], float(args[2] + h * directions[8])]
        return f(*moved) + np.sum(weights[0] * moved[0]) + np.sum(weights[1] * moved[1])
    try:
        centre = loss(0.0)
        central = [(loss(h) - loss(-h)) / (2 * h) for h in (1e-4, 1e-5, 1e-6)]
        sided = (loss(1e-6) - centre) / 1e-6, (centre - loss(-1e-6)) / 1e-6
    except Exception:
        return Outcome("ok")
    if max(central) - min(central) > 1e-3 * max(1.0, abs(central[1])) or abs(sided[0] - sided[1]) > 1e-3 * max(
            1.0, abs(central[1])):
        return Outcome("ok", "kink")
    found = sum(float(np.sum(b * d)) for b, d in zip(bars, (directions[:4], directions[4:8], directions[8])))
    if abs(found - central[1]) > 1e-4 * max(1.0, abs(central[1])):
        return Outcome("failed", "gradient", f"{found}, differences {central}")
    return Outcome("ok")
