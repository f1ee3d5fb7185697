"""Random programs of control flow and functions: chains of steps, each made of names that earlier steps bound.

A step is a template: `{n}` a number of what is known here, `{c}` a condition, `{i}` an integer, `{B}` a block of other
steps, `{J}` a way out of the block, `{V1}` a new name of a number (`{K1}` of an integer, `{S1}` of a text or None,
`{F1}` of a function, `{G1}` of a generator function, `{L1}` of a list, `{W1}` of an array). The end of a program reads
every name, also those that only some paths bind.
"""

import random
import re

from .flow_steps import STEPS

HEAD = '''
import contextlib
import functools
import math
import numpy as np

COUNT = 0.0


class Trouble(ValueError):
    weight = 0.7

    def __init__(self, size, name="t"):
        super().__init__(name, size)
        self.size, self.name = size, name


class Worse(Trouble):
    weight = 1.9


class Stop(Exception):
    pass


def root(u):
    if u < 0:
        raise Trouble(u)
    return math.sqrt(u)


def careful(u, /, c=0.3, *, scale=1.0):
    try:
        v = root(u)
    except Worse:
        return -1.0
    except Trouble as e:
        v = c - u
        if u < -1.0:
            raise Stop("far") from e
    else:
        v += 0.1
    finally:
        c = 0.5
    return v * scale + c


def through(g, *args, **kwargs):
    return g(*args, **kwargs)


def twice(g):
    @functools.wraps(g)
    def inner(*args, **kwargs):
        return 2.0 * g(*args, **kwargs) + len(args)
    return inner


@twice
def mixed(u, v=0.5, *rest, scale=1.0):
    return (u + 2.0 * v + 3.0 * sum(rest)) * scale


def first(u, *args, k=None, **more):
    if k is None:
        return u + len(args) + sum(more.values())
    return k * u + len(more)


def down(n, u):
    if n <= 0:
        return u
    if u > 1.0:
        return down(n - 1, u * 0.5) + 0.25
    return 0.9 * down(n - 1, u + 0.3)


def kind(u):
    if u > 0.6:
        return "big"
    return "small" if u > 0.0 else None


def items(n, u):
    for i in range(n):
        if u > 2.0:
            return
        u = u * 0.8 + i * 0.1
        yield u
    yield from (u, u + 1.0)


def bump(a, i, u=1.0):
    a[i] += u
    return a[i]


def search(a, u):
    for i, v in enumerate(a):
        if v > u:
            return i, v
    else:
        return -1, u


@contextlib.contextmanager
def held(a, u):
    a[0] += u
    yield a[0]
    a[0] -= 0.5 * u


class Scope:
    def __init__(self, a, u):
        self.a, self.u = a, u

    def __enter__(self):
        self.a[1] *= 0.5
        return self

    def __exit__(self, *args):
        self.a[1] += self.u
        return False


def f(x, p, k):
'''

NUMBERS = '''{n}; {n}; {n}; {n} + {n}; {n} * 0.5 + {n}; {n} - {n}; 0.4 * {n} * {n}; x[{i} % 4]; x[-1]; p; math.sin({n})
k * {n}; ({n} if {c} else {n}); ({n} and {n}); ({n} or {n})
(({V9} := {n}) + {V9}); careful({n}); careful({n}, scale={n})
mixed({n})
through(careful, {n}, c={n}); through(through, mixed, {n}, {n}, {n}, scale=0.5)
first({n}, {n}, k={n})
first({n}, *x[:2])
first({n}, **dict(a={n}, k={i})); down(k, {n}); down({i} % 3, {n}); sum(items(k, {n})); max(items(2, {n}))
bump(x, {i} % 4)
bump(x, k % 3, {n}); search(x, {n})[1]; functools.partial(mixed, {n}, scale={n})({n}); search(x, {n})[0]
functools.reduce(lambda s, v: s * 0.5 + v, [{n}, {n}, {n}]); functools.reduce(max, x, {n}); sum([careful(v) for v in x])
(lambda u, v={n}: u * v + {n})({n}); min({n}, {n}); abs({n})
float(k); k; {i}; {n} * ({c}); (k if {c} else {n})
sum({n} for _ in range(k)); len(items_of({n})); np.sum(x[:k]); x[k % 4:].sum(); [{n}, {n}][{c}]
{n} ** 2 * 0.1; -{n}
({n}, {n})[k > 1]; sum(v for v in x if v > {n}); max(x[1:]) - {n}
next((v for v in x if v > {n}), {n}); round({n})
int({n}); {n} // 0.7; {n} % 0.7; divmod({n}, 0.9)[1]'''.replace("len(items_of({n}))", "len(list(items(k, {n})))")
RISKY = '''root({n}); root({n}); x[k + {i}]; x[{i}]; 1.0 / k; {n} / (k - 2); math.sqrt({n}); math.log({n}); [{n}, {n}][k - 1]
dict(big={n}, small={n})[kind({n})]; (None if {c} else 2.0) * {n}; float("1.5" if {c} else "a"); int(x[k] / k)
({n}, {n}, {n})[{i}]; {n} + (kind({n}) and 1.0)
down(k, root({n})); sum(map(root, x))
careful(root({n}), c={n}); through(root, {n}); k % ({i}); k // ({i})'''
CONDITIONS = '''{n} > {n}; {n} > {n}; {n} < {n}; 0.2 < {n} <= {n}; {n} > {n} > -0.5; k > {i}; k == {i}
k % 2 == 0; not {n} > 0.4
{n} > 0 and {n} < 1.5; {n} < 0 or {n} > 0.3; kind({n}) == "big"; kind({n}) is None
kind({n}) in ("small", None); k; bool(k)
{i} in (0, 2); kind({n}) == kind({n}); (kind({n}) or "none") > "c"; {n} and {n} > 0.1; ({V9} := {n}) > 0.3
k != 1 and 1.0 / (k - 1) > {n}
any(v > {n} for v in x); all(v > {n} for v in x); isinstance(k, int) and k > 1; callable(root) == ({n} > 0.3)'''
INTEGERS = "k; k + 1; 0; 1; 2; 3; k % 3; k // 2; len(x); -k; 3 - k; min(k, 2); int({n} > 0.2); k * k; search(x, {n})[0]"
TEXTS = '''kind({n}); "big"; None; "small" if {c} else None; kind({n}) or "none"; "b" + "ig"'''
ERRORS = '''Trouble; Worse; ValueError; ZeroDivisionError; IndexError
Stop; ArithmeticError; LookupError; Exception; KeyError; TypeError
(Trouble, IndexError); (Stop, ArithmeticError); (ValueError, TypeError, ArithmeticError); Exception; Exception; StopIteration
UnboundLocalError; NameError; AssertionError'''
RAISED = '''Trouble({n}); Trouble({n}, "u"); Worse({n}); Stop; Stop("here"); ValueError("v"); ZeroDivisionError
Worse({n}, name="w")
IndexError({i}); KeyError("k"); Trouble(0.5)'''

KINDS = {"V": "n", "K": "i", "S": "s", "F": "f", "L": "l", "W": "w", "G": "g", "A": "n", "H": "h"}


def pieces(text: str) -> list:
    return [piece.strip() for line in text.splitlines() for piece in line.split("; ") if piece.strip()]


class Writer:
    """Writes one program."""

    def __init__(self, seed: int, most: int = 6):
        self.random = random.Random(seed)
        self.most = most
        self.lines: list = []
        self.count = 0
        self.all: list = []                             # (kind, name) of the function's own names
        self.sure: list = [("n", "p"), ("n", "x[0]"), ("i", "k")]
        self.own: set = set()                           # names that this function may bind again
        self.loops, self.inner, self.depth = 0, 0, 0
        self.tables = {kind: pieces(text) for kind, text in (
            ("n", NUMBERS), ("c", CONDITIONS), ("i", INTEGERS), ("t", TEXTS), ("r", RISKY), ("E", ERRORS), ("R", RAISED))}
        self.steps = [step.strip("\n").splitlines() for step in STEPS.split("--\n")]

    def of(self, kind: str) -> list:
        return [name for k, name in self.sure if k == kind]

    def expression(self, kind: str, depth: int, names: dict) -> str:
        pick = self.random.choice
        if kind == "n":
            calls = [f"{f}({{n}})" for f in self.of("f")[-2:]]
            made = [f"{w}[-1]" for w in self.of("w")] + [f"len({v})" for v in self.of("l")] + [
                f"({s} == 'big') * 0.5" for s in self.of("s")] + [f"sum({v})" for v in self.of("l")] + self.of("i")
            if depth == 0 or self.random.random() < 0.35:
                recent = self.of("n")[-4:]
                return pick([*recent, *recent, pick(made) if made else "p", "0.5"])
            text = pick(calls) if calls and self.random.random() < 0.2 else pick(self.tables["n"])
        elif kind == "i" and (depth == 0 or self.random.random() < 0.4):
            return pick([*self.of("i"), "k", "1", "2"])
        elif kind == "c" and self.of("s") and self.random.random() < 0.15:
            text = pick(self.of("s")) + pick([" == 'big'", " is None", " is not None", " != kind({n})", " in ('big', 'no')"])
        else:
            text = pick(self.tables[kind])
        return self.filled(text, depth - 1, names)

    def filled(self, text: str, depth: int, names: dict) -> str:
        def value(match) -> str:
            key = match[1]
            if key in ("n", "c", "i", "t", "r", "E", "R"):
                return self.expression(key, max(depth, 0), names)
            if key == "op":
                return self.random.choice(("+=", "-=", "*=", "="))
            if key in ("N", "M"):
                if key not in names:
                    mine = [v for k, v in self.sure if k == "n" and v in self.own] or ["x[0]"]
                    names[key] = self.random.choice(mine)
                return names[key]
            if key == "Q":
                return self.random.choice([*self.of("f"), "careful", "mixed", "first"])
            if key == "V9":                             # of a walrus: a name of its own, that nothing else reads here
                if key not in names:
                    names[key] = "w_"
                return names[key]
            if key not in names:
                self.count += 1
                names[key] = f"{key[0].lower()}{self.count}"
            return names[key]
        return re.sub(r"\{([A-Za-z]\d?|op)\}", value, text)

    def put(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def jump(self, indent: int) -> None:
        ways = ["return", "raise"]
        if self.loops:
            ways = ["break", "break", "continue", "continue", "return", "raise"]
        way = self.random.choice(ways)
        if way == "return" and self.inner == 2:
            way = "pass"
        elif way == "return":
            way = self.filled("return {n} + 0.0", 1, {})
        elif way == "raise":
            way = self.filled("raise {R}", 1, {})
        self.put(indent, way)

    def step(self, indent: int) -> None:
        """One step, at this indentation of the program."""
        template = self.random.choice(self.steps)
        whole = "\n".join(template)
        if self.depth > 2 and "{B}" in whole or "global" in whole and (self.inner or "COUNT =" in "\n".join(self.lines)) or (
                self.inner and ("def" in whole or "yield" in whole or "x *=" in whole)):
            template = self.steps[0]
        names: dict = {}
        outer = list(self.sure)
        states, functions = [], None                    # (indent of the block, what was known before it, whether a loop)
        for line in template:
            own = (len(line) - len(line.lstrip())) // 4
            text = line.strip()
            while states and states[-1][0] >= own:
                at, before, loop = states.pop()
                self.sure = before
                self.loops -= loop
            if functions is not None and own <= functions[0]:
                self.loops, self.inner, self.own, self.all = functions[1:]
                functions = None
            if text == "{B}":
                self.depth += 1
                for _ in range(self.random.choice((0, 1, 1, 2))):
                    self.step(indent + own)
                self.depth -= 1
                if not self.lines[-1].strip() or self.lines[-1].rstrip().endswith(":"):
                    self.put(indent + own, "pass")
                continue
            if text == "{J}":
                self.jump(indent + own)
                continue
            if text.startswith("nonlocal_"):
                mine = [v for k, v in self.sure if k == "n" and v in functions[3]] if functions else []
                names["N"] = self.random.choice(mine) if mine else "x[0]"
                if mine:
                    self.put(indent + own, f"nonlocal {names['N']}")
                continue
            header = text.endswith(":")
            new = [key for key in re.findall(r"\{([A-Z]\d)\}", text) if key in ("A1",) or key not in names and key[1] != "9"]
            shown = self.filled(text, 1 + (self.random.random() < 0.3), names)
            self.put(indent + own, shown)
            bound = [(KINDS[key[0]], names[key]) for key in new]
            if text.startswith("del "):
                self.sure = [(k, v) for k, v in self.sure if v != shown[4:]]
                outer = [(k, v) for k, v in outer if v != shown[4:]]
                continue
            if text.startswith("def "):
                self.all += [(KINDS[k[0]], names[k]) for k in new if k != "A1"]
                before = list(self.sure)
                after = before + [b for b in bound if not b[1].startswith("a")]
                states.append((own, after, 0))
                functions = own, self.loops, self.inner, self.own, self.all
                self.loops, self.inner = 0, 2 if "{G1}" in text else 1
                self.own, self.all = set(), []
                self.sure = before + [b for b in bound if b[1].startswith("a")]
                self.own = {v for k, v in bound if v.startswith("a")}
            elif header:
                loop = text.startswith(("for ", "while "))
                states.append((own, list(self.sure), loop))
                self.loops += loop
                self.known(bound)
            else:
                self.known(bound)
        while states:
            at, before, loop = states.pop()
            self.sure = before
            self.loops -= loop
        if functions is not None:
            self.loops, self.inner, self.own, self.all = functions[1:]

    def known(self, bound: list) -> None:
        self.sure = self.sure + [b for b in bound if b not in self.sure]
        self.own = self.own | {name for _, name in bound}
        self.all += [b for b in bound if b not in self.all]

    def text(self) -> str:
        for _ in range(self.random.randint(1, self.most)):
            self.step(1)
        self.put(1, "total = x @ np.array([0.3, 0.7, 1.1, 1.3]) + 0.0")
        sure = set(self.sure)
        for j, (kind, name) in enumerate(self.all):
            factor = round(0.37 + 0.11 * j, 2)
            if kind == "h":
                continue
            read = {"n": name, "i": name, "w": f"np.sum({name} * {name})", "l": f"sum({name}) + len({name})",
                    "s": f"(1.0 if {name} == 'big' else 2.0 if {name} is None else 3.0)",
                    "f": f"(0.2 if {name} is None else {name}(0.3))", "g": f"sum({name}(0.4))"}[kind]
            if (kind, name) in sure:
                self.put(1, f"total += {factor} * ({read})")
            else:
                self.put(1, "try:")
                self.put(2, f"total += {factor} * ({read})")
                self.put(1, "except NameError:")
                self.put(2, f"total += {0.05 * j + 1:.2f}")
        self.put(1, "return total")
        return HEAD + "\n".join(self.lines) + "\n"
