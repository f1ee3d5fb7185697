"""Random chains of containers and objects: each step is made from what came before, then something is written.

Python runs each program while it is drawn: what a name holds at that point decides what may follow.
"""

from __future__ import annotations

import copy
import random
import re
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import astuple, dataclass, field, replace
from functools import partial

import numpy as np

from autodiff import AutodiffError, value_and_grad

from .support import from_text, slopes

X, TRIPS = np.array([0.9, 0.3, 1.4]), 2
Pair = namedtuple("Pair", "a items")


@dataclass
class Point:
    a: float
    items: list = field(default_factory=list)
    scale: float = 2.0

    def __post_init__(self):
        self.size = self.scale * 0.5


@dataclass(frozen=True)
class Frozen:
    a: float
    items: list
    scale: float = 3.0

    @property
    def size(self):
        return self.a * self.scale


class Base:
    scale = 2.0

    def __init__(self, a, items):
        self.a = a
        self.items = items

    @property
    def size(self):
        return self.a * self.scale

    @size.setter
    def size(self, value):
        self.a = value / 2.0

    def __len__(self):
        return len(self.items)

    def __getitem__(self, k):
        return self.items[k]

    def __setitem__(self, k, value):
        self.items[k] = value

    def __delitem__(self, k):
        del self.items[k]

    def __contains__(self, value):
        return value is self.a

    def __iter__(self):
        return iter(self.items)

    def __call__(self, value):
        self.items.append(value)
        return self

    def __add__(self, other):
        return type(self)(self.a + other.a, self.items + other.items)

    def __iadd__(self, other):
        self.a = self.a + other.a
        self.items += other.items
        return self

    def __eq__(self, other):
        return self.items is other.items

    def double(self, value=0.0):
        self.a = self.a * 2.0 + value

    def grow(self, value):
        self.a, self.last = self.a * 2.0, value
        for k in range(len(self.items)):
            self.items[k] = value


class Child(Base):
    scale = 3.0

    def __init__(self, a, items):
        super().__init__(a * 2.0, list(items))

    def grow(self, value):
        super().grow(value)
        self.scale = self.scale + 1.0


def total(v):
    """One number from all that a value holds."""
    if v is None or isinstance(v, str):
        return 0.5
    if isinstance(v, np.ndarray):
        return 1.5 * np.sum(v * v) + v.size
    if isinstance(v, (list, tuple, deque)):
        s = 0.7 * len(v)
        for k, item in enumerate(v):
            s += (k + 1.1) * total(item)
        return s
    if isinstance(v, dict):
        s = 0.9 * len(v)
        for k, (key, item) in enumerate(v.items()):
            s += (k + 1.2) * total(item) + (0.3 * len(key) if isinstance(key, str) else 0.1 * key)
        return s
    if isinstance(v, (Point, Frozen, Base)):
        return 1.3 * v.a + 0.4 * v.size + 0.6 * v.scale + total(v.items)
    return v


SPACE = {"np": np, "copy": copy, "OrderedDict": OrderedDict, **{f.__name__: f for f in (
    partial, deque, defaultdict, Counter, replace, astuple, total, Pair, Point, Frozen, Base, Child)}}
OBJECTS = (Point, Frozen, Base)

# P a place of the kind, Q another of the kind, N a number, A an array, L a list, C anything
STARTS = (
    "[N, N]; [A, A]; [A, N]; [x, x]; [[N], [N, N]]; [[A], [N]]; (A, N); (A, [N, A]); (N, N); {'a': N, 'b': N}; "
    "{'a': A, 'b': [N]}; {'a': {'b': A}}; deque([N, N]); deque([N, A], maxlen=2); defaultdict(list, a=[N]); "
    "Counter({'a': N, 'b': 1}); defaultdict(float); OrderedDict(a=A, b=N); Point(N, [N, N]); Point(N); "
    "Point(N, [A]); Frozen(N, [A, N]); Frozen(N, [N]); Base(N, [N, A]); Base(N, [N, N]); Child(N, [N, N]); "
    "Child(N, [A]); Pair(N, [N]); Pair(A, [A]); [N * k for k in range(2)]; [[N] * 2] * 2; [[]]; []; list(x); "
    "[A * k for k in range(3)]; {k: N for k in 'ab'}; {k: A for k in 'ab'}; dict.fromkeys('ab', A); "
    "{k: [] for k in 'ab'}; [np.zeros(3) for _ in range(2)]; [Base(N, [k]) for k in range(2)]; "
    "[N for k in range(n)]; [v * N for v in x]; dict.fromkeys('ab', [N])").split("; ")
STEPS = {
    "list":
        "P[:]; list(P); copy.copy(P); copy.deepcopy(P); [*P]; P.copy(); list(reversed(P)); P[::-1]; P[1:]; "
        "P[:-1]; P + Q; P * 2; tuple(P); [P, Q]; (P, N); {'a': P, 'b': Q}; [i for i in P]; list(zip(P, Q)); "
        "list(enumerate(P)); dict(enumerate(P)); deque(P); dict(zip('ab', P)); P[-1]; P[0]; P; Point(N, P); "
        "Frozen(N, P); Base(N, P); Child(N, P); Pair(N, P); [P] * 2; [[P], P]; defaultdict(list, {'a': P}); "
        "[P[:], P]; P.pop(); [*P, *Q]; sorted(P, key=total); [C for _ in range(2)]; [(i, C) for i in P]; "
        "list(map(total, P)); [total(i) for i in P]; P.pop(0); (P := Q); np.array(P); "
        "list(filter(None, [P, Q])); [lambda: P][0](); [[i] for i in P]; P or Q; [*map(copy.copy, P)]; "
        "max(P, Q, key=len); P.__class__(Q); [P, *[Q]]; P is Q; next(iter(P)); sum([P, Q], [])",
    "tuple":
        "list(P); P + Q; P * 2; P[::-1]; copy.copy(P); copy.deepcopy(P); (*P, C); [P, P]; P[0]; P[-1]; {'a': P}; "
        "P; deque(P); [i for i in P]; tuple(reversed(P)); tuple(copy.copy(i) for i in P); dict(zip('ab', P)); "
        "list(zip(P, P))",
    "pair":
        "P._replace(a=N); P._replace(items=L); P._asdict(); tuple(P); list(P); copy.copy(P); copy.deepcopy(P); "
        "Pair(*P); P.items; P.a; P + (N,); {'a': P}; [P, P]; Pair(**P._asdict()); Base(*P)",
    "dict":
        "dict(P); P.copy(); {**P}; copy.copy(P); copy.deepcopy(P); P | Q; {**P, 'b': C}; list(P.values()); "
        "list(P.items()); dict(P.items()); {k: v for k, v in P.items()}; "
        "{k: copy.copy(v) for k, v in P.items()}; [P, P]; {'a': P}; P; P.get('a'); P.get('z', N); "
        "tuple(P.values()); Base(N, list(P.values())); defaultdict(list, P); OrderedDict(P); "
        "P.setdefault('a', C); P.setdefault('q', C); P.pop('a', N); sorted(P.values(), key=total); len(P); "
        "dict(sorted(P.items())); dict(zip(P, P.values())); [v for v in P.values()]; {k: P for k in P}; dict(**P)",
    "deque":
        "P.copy(); copy.copy(P); copy.deepcopy(P); list(P); deque(P, maxlen=2); P[0]; P[-1]; tuple(P); P; "
        "[P, P]; P.popleft(); P.pop(); deque(reversed(P)); P + Q; [i for i in P]; Base(N, P); list(zip(P, P))",
    "object":
        "copy.copy(P); copy.deepcopy(P); P; [P, P]; (P, Q); {'a': P, 'b': Q}; P.items; P.a; P.size; "
        "Point(P.a, P.items); Base(P.size, P.items); Frozen(N, P.items[:]); [P.items, P]; "
        "Child(P.scale, P.items); total(P); vars(P); getattr(P, 'items'); deque([P, Q])",
    "data":
        "replace(P, a=N); replace(P, items=L); replace(P); astuple(P); replace(P, scale=N)",
    "base":
        "P + P; P(C); P[0]; P[-1]; list(P); [i for i in P]; len(P); [*P]; tuple(P); P[:]; P + Q; "
        "dict(enumerate(P)); type(P)(N, P.items); P.grow(N); [P(N), P]",
    "array":
        "P; P.copy(); P * 2.0; P[1:]; [P, P]; (P, P * 2.0); {'a': P, 'b': P.copy()}; P[::-1]; list(P); "
        "Base(N, [P]); Pair(P, [P]); np.asarray(P); copy.copy(P); copy.deepcopy([P, P]); np.array([P, P]); "
        "[v for v in P]; P.tolist(); deque([P]); P[0]; [*P]; Frozen(N, [P, P]); np.sin(P); tuple(P)",
    "number":
        "P * N; P; [P, P]; (P, N); {'a': P}; Base(P, [P]); Point(P, [P]); np.array([P, N, P]); P + 1.0",
}
WRITES = {
    "list":
        "P.append(C); P.append(N); P.extend(Q); P.insert(1, C); P.insert(0, N); P.pop(); P.pop(0); del P[0]; "
        "del P[-1:]; P[0] = C; P[-1] = N; P[1:] = Q; P[:] = Q; P += Q; P += [N]; P *= 2; P.reverse(); "
        "P.sort(key=total); P.clear(); P[0], P[-1] = P[-1], P[0]; P[0] = P[-1]; P[:1] = [C, C]; P += P; "
        "P.extend(P); P.append(P[0]); P[::2] = P[::2]; P[0] *= 2.0; P[0] += N; P[0] = P; P.insert(-1, P.pop()); "
        "P[len(P):] = [N]; P[0] = Q; P += (N,); P[-1] += 1.0; P[k0] = N; P[k0] *= 2.0; P[k0] += P[k0 - 1]; "
        "P.remove(P[0])",
    "tuple":
        "P[0] = N; P += (N,); P[0] *= 2.0; P[-1] += [N]; P[-1][0] = N",
    "pair":
        "P.items.append(N); P.a *= 2.0; P.items += [N]; P.items[0] = C; P.a[0] = N",
    "dict":
        "P['a'] = C; P['b'] = N; P['z'] = C; P.pop('a'); del P['a']; P.update(Q); P.update(b=C); "
        "P.setdefault('c', C); P |= Q; P.popitem(); P.clear(); P['a'] += N; P['a'] *= 2; P['z'] += N; "
        "P['z'].append(N); P['a'] = P['b']; P['a'], P['b'] = P['b'], P['a']; P.setdefault('a', []).append(N); "
        "P.setdefault('q', []).append(C); P['a'] = P.pop('b'); P.move_to_end('a')",
    "deque":
        "P.append(C); P.appendleft(N); P.pop(); P.popleft(); P.extend([N, N]); P.extendleft([N, C]); "
        "P.rotate(1); P[0] = C; P[0] *= 2.0; P += [N]; P.clear(); P.reverse(); P.insert(1, N); del P[0]; "
        "P.append(P.popleft()); P.rotate(n)",
    "object":
        "P.a = N; P.a *= 2.0; P.a += N; P.items = L; P.items.append(C); P.items += L; P.items[0] = N; "
        "P.scale = N; P.scale *= N; P.size = N; P.size += N; setattr(P, 'a', N); P.items = P.items[:]; "
        "P.a, P.scale = P.scale, P.a; P.other = L; P.items, P.other = Q.items, P.items; del P.a; P.a = Q.a; "
        "P.items = Q.items; P.items.extend(Q.items); P.__dict__['a'] = N",
    "data":
        "P.a = N",
    "base":
        "P += Q; P(C); P(N)(N); P[0] = C; P[0] *= 2.0; P[-1] += N; P.grow(N); del P[0]; P.grow(C); P.double(); "
        "P.double(N); P[1:] = L; Base.grow(P, N)",
    "array":
        "P *= 2.0; P[0] = N; P[:] = N; P[1:] += 0.5; P += A; np.multiply(P, 2.0, out=P); P.fill(N); P -= P[0]; "
        "P[P > 1.0] = N; P[1:] = P[:-1]; P[k0] = N",
    "number":
        "P = N; P += N; P *= 2.0; P -= P * N",
}
STEPS, WRITES = ({k: v.split("; ") for k, v in table.items()} for table in (STEPS, WRITES))
PLACES = ("W", "W", "W", "for k0 in range(n):\n    W", "for k0 in range(2):\n    W", "if x[0] > 0.5:\n    W",
          "if x[0] < 0.5:\n    W", "if x[0] > 0.5:\n    W\nelse:\n    V", "if x[0] < 0.5:\n    W\nelse:\n    V",
          "def h0():\n    W\nh0()", "def h0(q0):\n    H\nh0(PLACE)", "for q0 in ITEMS:\n    I", "q0 = PLACE\nH",
          "for k0 in range(n):\n    q0 = PLACE\n    H", "for k0, q0 in enumerate(ITEMS):\n    I",
          "def h0(q0):\n    H\n    return q0\nr0 = h0(PLACE)", "for k0 in range(n):\n    if x[k0] > 0.5:\n        W",
          "def h0(q0, c0):\n    H\nfor k0 in range(n):\n    h0(PLACE, k0)",
          "try:\n    W\nexcept (IndexError, KeyError):\n    V", "k0 = 0\nwhile k0 < n:\n    W\n    k0 += 1",
          "q0 = PLACE if x[0] > 0.5 else OTHER\nH",
          "[q0, r0] = PLACE, OTHER\nH", "for k0 in range(n):\n    W\n    V", "def h0(*q):\n    q0 = q[0]\n    H\nh0(PLACE)")
ERRORS = (ArithmeticError, LookupError, TypeError, ValueError, NameError, AttributeError, RuntimeError,
          StopIteration)


def kinds(value) -> list:
    """The kinds that a value is of, of the tables above."""
    if isinstance(value, Pair):
        return ["pair", "tuple"]
    for kind, cls in (("list", list), ("tuple", tuple), ("dict", dict), ("deque", deque)):
        if isinstance(value, cls):
            return [kind]
    if isinstance(value, OBJECTS):
        return ["object", "base" if isinstance(value, Base) else "data"]
    if isinstance(value, np.ndarray):
        return ["array"] if value.ndim == 1 else []
    return ["number"] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


def places(text: str, value, depth: int = 3) -> list:
    """What can be reached from a value: (expression, value)."""
    found = [(text, value)]
    if depth == 0:
        return found
    if isinstance(value, Pair) or isinstance(value, OBJECTS):
        inside = [(f"{text}.{name}", getattr(value, name)) for name in ("a", "items") if hasattr(value, name)]
    elif isinstance(value, (list, tuple, deque)):
        inside = [(f"{text}[{k}]", value[k]) for k in sorted({0, len(value) // 2, len(value) - 1}) if 0 <= k < len(value)]
    elif isinstance(value, dict):
        inside = [(f"{text}[{k!r}]", v) for k, v in value.items()]
    else:
        inside = []
    for place in inside:
        found += places(*place, depth - 1)
    return found


def source(lines) -> str:
    return "def f(x, n):\n" + "".join(f"    {part}\n" for line in lines for part in line.split("\n"))


def function_of(lines):
    text = source(lines)
    f = from_text(f"<{'; '.join(lines)}>", text)
    f.__globals__.update(SPACE)
    return f


class Chain:
    """A program as it is drawn: its lines, and what Python says that its names hold."""

    def __init__(self, draw: random.Random):
        self.draw, self.lines, self.names = draw, [], ["x"]
        while len(self.lines) < draw.choice((1, 2)):
            self.attempt(lambda: f"v{len(self.names) - 1} = {self.fill(draw.choice(STARTS))}", binds=True)
        for _ in range(draw.randint(1, 4)):
            self.attempt(self.step, binds=True)
            if draw.random() < 0.3:
                self.attempt(self.write)
        self.attempt(self.write)

    def held(self, lines=None) -> dict:
        return function_of([*(lines or self.lines), "return locals()"])(X.copy(), TRIPS)

    def attempt(self, make, binds=False):
        """Adds a line; one at which Python raises only now and then."""
        for _ in range(20):
            line = make()
            if line is None:
                continue
            try:
                self.held([*self.lines, line])
            except (*ERRORS, SyntaxError) as e:
                if isinstance(e, SyntaxError) or self.draw.random() > 0.02:
                    continue
                self.lines.append(line)
                self.failed = True
                return
            self.lines.append(line)
            if binds:
                self.names.append(f"v{len(self.names) - 1}")
            return

    def all_places(self) -> list:
        try:
            held = self.held() if self.lines else {"x": X}
        except ERRORS:
            held = {"x": X}
        return [p for name in self.names if name in held for p in places(name, held[name])]

    def fill(self, template: str, place="", kind="list", reach=None) -> str:
        """A template with its capital letters replaced."""
        reach = reach if reach is not None else self.all_places()
        of = {k: [t for t, v in reach if k in kinds(v)] for k in ("number", "array", "list", kind)}
        draw, out = self.draw, []
        numbers = ["x[0]", "x[1] * 2.0", "x[2] ** 2", "1.5", "np.sin(x[1])", "np.sum(x)", *of["number"]]
        arrays = ["x", "x * 2.0", "x.copy()", "np.ones(3)", "np.sin(x)", "x[1:]", *of["array"]]
        choices = {"P": [place], "Q": of[kind] or [place], "N": numbers, "A": arrays, "L": of["list"] + ["[x[0], x[1]]"],
                   "C": numbers[:3] + arrays[:2] + [t for t, _ in reach]}
        for k, c in enumerate(template):
            alone = not (template[k - 1:k].isalpha() or template[k + 1:k + 2].isalpha() or template[k + 1:k + 2] == "_")
            out.append(draw.choice(choices[c]) if c in choices and alone else c)
        return "".join(out)

    def a_place(self, reach, table):
        text, value = self.draw.choice(reach)
        options = [(k, t) for k in kinds(value) for t in table[k]]
        return (text, *self.draw.choice(options)) if options else None

    def step(self):
        reach = self.all_places()
        found = self.a_place(reach, STEPS)
        return found and f"v{len(self.names) - 1} = {self.fill(found[2], found[0], found[1], reach)}"

    def write(self):
        draw, reach = self.draw, self.all_places()
        here = draw.choice(PLACES)
        here = here.replace("k0", f"k{len(self.lines)}").replace("q0", f"q{len(self.lines)}")
        one, other = self.a_place(reach, WRITES), self.a_place(reach, WRITES)
        if not one or not other:
            return None
        first = self.fill(one[2], one[0], one[1], reach)
        second = self.fill(other[2], other[0], other[1], reach)
        q = f"q{len(self.lines)}"
        like = [t for t, v in reach if one[1] in kinds(v)]
        words = {"H": self.fill(one[2], q, one[1], reach), "PLACE": one[0], "OTHER": draw.choice(like),
                 "W": first, "V": second}
        if "ITEMS" in here:
            groups = [(t, list(v)[0]) for t, v in reach if isinstance(v, (list, tuple, deque)) and len(v)]
            groups = [(t, item) for t, item in groups if kinds(item)]
            if not groups:
                return None
            words["ITEMS"], item = draw.choice(groups)
            kind = draw.choice(kinds(item))
            words["I"] = self.fill(draw.choice(WRITES[kind]), q, kind, reach)
        counter = f"k{len(self.lines)}"
        filled = re.sub(r"\b(H|PLACE|OTHER|W|V|ITEMS|I)\b", lambda m: words[m[0]], here).replace("k0", counter)
        return None if counter in filled and counter not in here else filled

    def program(self) -> list:
        """The lines with the reads of all names at the end."""
        lines = [*self.lines, "r = total(x)"]
        lines += [f"r += {0.37 * k + 1.0:.2f} * total({name})" for k, name in enumerate(self.names[1:])]
        reach = [t for t, v in self.all_places() if kinds(v) not in ([], ["number"])]
        if self.draw.random() < 0.4 and reach:
            lines.append(f"r += 5.0 if {self.draw.choice(reach)} is {self.draw.choice(reach)} else 0.0")
        return [*lines, "return r"]


def drawn(seed) -> list:
    return Chain(random.Random(seed)).program()


def outcome(call):
    try:
        with np.errstate(all="ignore"):
            return call()
    except AutodiffError as e:
        return ("refused", f"{type(e).__name__}: {e}")
    except (*ERRORS, MemoryError) as e:
        return type(e).__name__


def compare(lines, derived=value_and_grad):
    """(verdict, detail): "agrees", "refused", "skipped", or what is wrong."""
    f = function_of(lines)
    expected = outcome(lambda: float(f(X.copy(), TRIPS)))
    ours = outcome(lambda: derived(f, mode="python")(X.copy(), TRIPS))
    if isinstance(ours, tuple) and ours[0] == "refused":
        return ours
    if isinstance(expected, str) or isinstance(ours, str):
        said = [answer if isinstance(answer, str) else "a number" for answer in (expected, ours)]
        return ("agrees", "raises") if ours == expected else ("Python: {}, ours: {}".format(*said), "")
    if not np.isfinite(expected) or abs(expected) > 1e8:
        return ("skipped", "")
    value, gradient = ours
    if abs(value - expected) > 1e-9 * max(1.0, abs(expected)):
        return ("value", f"Python {expected}, ours {value}")
    for k in range(len(X)):
        direction = np.eye(len(X))[k]
        with np.errstate(all="ignore"):
            best = min(abs(gradient[k] - s) for s in slopes(lambda x, n: float(f(x, n)), (X, TRIPS), 0, direction))
        if best > 1e-5 * max(1.0, abs(gradient[k]), abs(expected)):
            return ("gradient", f"d/dx[{k}] {gradient[k]}, off by {best}")
    return ("agrees", "")


def reduced(lines, verdict) -> list:
    """The smallest program with this fault that leaving lines out finds."""
    again = True
    while again:
        again = False
        for k in range(len(lines) - 1, -1, -1):
            fewer = lines[:k] + lines[k + 1:]
            try:
                same = compare(fewer)[0] == verdict
            except Exception:
                same = False
            if same:
                lines, again = fewer, True
    return lines
