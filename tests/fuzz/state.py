"""Programs that read state of all kinds, which changes between two calls: values and gradients are those of Python now."""

from __future__ import annotations

import random
import re

from .checks import Outcome, ran

PRELUDE = '''
import collections, dataclasses, functools, linecache, types
import numpy as np
from autodiff import AutodiffError, differentiable, grad, jvp, value_and_grad, vjp

@dataclasses.dataclass
class Config:
    k: float = 1.0
    inner: object = None
    level = 2.0
    def power(self, x):
        return self.k * x * x

class Plain:
    factor = 3.0
    def __init__(self, k=1.0):
        self.k, self.parts, self.inner = k, [1.0, 2.0], Config(k)
    def value(self, x):
        return self.k * x * x
    @property
    def twice(self):
        return 2.0 * self.k
    @classmethod
    def shared(cls, x):
        return cls.factor * x * x
    @staticmethod
    def alone(x):
        return x * x
    def __call__(self, x):
        return self.k * x ** 3
    def __len__(self):
        return len(self.parts)
    def __getitem__(self, i):
        return self.parts[i]

class Other(Plain):
    factor = 30.0
    def value(self, x):
        return x ** 4

class Slots:
    __slots__ = ("k",)
    def __init__(self, k):
        self.k = k

Pair = collections.namedtuple("Pair", "a b")

def first(x, k=2.0, *, more=[1.0]):
    return k * x * x + more[0]

def second(x, k=2.0, *, more=[1.0]):
    return k * x ** 3

def third(x, k=2.0, *, more=[1.0]):
    return x ** 5 * number

def defaults(x, parts=[1.0, 2.0], named={"k": 3.0}, by=first):
    return parts[0] * x + named["k"] * by(x)

def with_cells():
    cell, step = 2.0, first
    def f(x):
        return EXPRESSION
    def set_cells(new, function):
        nonlocal cell, step
        cell, step = new, function
    return f, set_cells

params = types.ModuleType("params")
params.__dict__.update(dt=2.0, array=np.array([2.0, 1.0]), pair=[2.0, 3.0], f=first, sub=Plain(2.0), cls=Plain)
cfg, plain, slots, pair = Config(2.0, Config(3.0)), Plain(), Slots(2.0), Pair(1.0, [2.0])
table = {"k": 2.0, "parts": (1.0, [2.0, 3.0]), "object": Plain(4.0), "array": np.array([1.0, 2.0])}
number, count, flag, word, array, items = 2.0, 3, True, "a", np.array([1.0, 2.0]), [1.0, 2.0]
fn, helper, partial, bound, group = np.sin, first, functools.partial(first, k=3.0), Plain(2.0).value, {1.0, 2.0}
f, set_cells = with_cells()
f.level = 2.0
'''

RUN = '''
def run(step, k):
    name = f"<step {k} of SEED>"
    linecache.cache[name] = len(step), None, [step + "\\n"], name
    try:
        exec(compile(step, name, "exec"), globals())
    except Exception:
        pass                                    # what it changes may be gone

def outcome(call):
    try:
        return [float(v) for v in call()]
    except AutodiffError as e:
        return e
    except Exception as e:
        return e

options = {"mode": "MODE"}
x, refused, checked = 1.3, [], 0
made, primal = value_and_grad(f, **options), differentiable(f, **options)
nested = value_and_grad(lambda x: grad(f, **options)(x) * 0.0 + f(x), **options)
calls = {"the same": lambda: made(x), "fresh": lambda: value_and_grad(f, **options)(x),
         "vjp": lambda: (lambda out: (out[0], out[1](1.0)[0]))(vjp(f, x, **options)),
         "jvp": lambda: jvp(f, (x,), (1.0,), **options), "nested": lambda: nested(x),
         "primal": lambda: (primal(x), (f(x + 1e-5) - f(x - 1e-5)) / 2e-5)}
for k, step in enumerate(STEPS):
    run(step, k)
    expected = outcome(lambda: (f(x), (f(x + 1e-5) - f(x - 1e-5)) / 2e-5))
    for name in ASKED if k else ("the same",):
        for _ in range(TIMES):
            found = outcome(calls[name])
        where = f"{name}, after step {k}, {step}: {found!r}, in Python {expected!r}"
        if isinstance(expected, Exception):
            assert isinstance(found, Exception), "no error: " + where
            if isinstance(found, AutodiffError) and not isinstance(found, type(expected)):
                refused.append(str(found).splitlines()[0])
            else:
                assert isinstance(found, type(expected)), "another error: " + where
        elif isinstance(found, AutodiffError):
            refused.append(str(found).splitlines()[0])
        else:
            assert not isinstance(found, Exception), "an error: " + where
            assert np.allclose(found, expected, 1e-5, 1e-8, equal_nan=True), "another result: " + where
            checked += 1
'''

READS = """
cfg.k|cfg.inner.k|cfg.power(x)|cfg.level|Config.level|plain.k|plain.value(x)|plain.twice|plain.shared(x)
Plain.factor|plain.factor|plain.inner.k|plain.alone(x)|plain(x)|len(plain)|plain[0]|plain.parts[1]
sum(plain.parts)|Plain(x).value(x)|slots.k|pair.a|pair.b[0]|params.dt|params.array[0]|np.sum(params.array)
params.pair[1]|params.f(x)|params.sub.k|params.sub.value(x)|params.cls.factor|params.cls(2.0).value(x)|number
count|float(count)|np.sum(array)|array[-1]|array.shape[0]|items[0]|sum(items)|len(items)|max(items)|table["k"]
table["parts"][1][0]|table["object"].k|table["object"].value(x)|np.sum(table["array"])|len(table)|fn(x)
helper(x)|helper(x, k=number)|defaults(x)|partial(x)|bound(x)|(x if flag else 2.0)|(x if word == "a" else -x)
f.level|cell|step(x)|abs(x)|getattr(plain, "k")|getattr(plain, "extra", 2.0)
(1.0 if hasattr(plain, "extra") else 2.0)|(3.0 if isinstance(plain, Other) else 1.0)
(1.0 if 2.0 in group else 3.0)|np.arctan2(number, -1.0)|np.sum(np.ones(count))|sum([v * x for v in items])
[first, second][count % 2](x)|(lambda y: number * y)(x)|table.get("k", 7.0)
""".strip().replace("\n", "|").split("|")

CHANGES = """
cfg.k = V|cfg = Config(V, Config(V))|cfg.inner = Config(V)|cfg.inner.k = V|Config.level = V|cfg.inner = None
Config.power = lambda self, x: self.k * x ** 3|Config.power = lambda self, x: V * x|cfg = Plain(V)
cfg = Config(Config(1.0))|plain.k = V|plain = Plain(V)|plain = Other(V)|plain.__class__ = Other
plain.__class__ = Plain|Plain.value = Other.value|Plain.value = lambda self, x: self.k * x ** 3
Plain.value.__code__ = (lambda self, x: self.k * x ** 5).__code__|Plain.factor = V|plain.factor = V
del plain.factor|plain.value = lambda x: V * x|del plain.value|del plain.k|plain.extra = V|del plain.extra
Plain.twice = property(lambda self: V * self.k)|Plain.twice = V|Plain.__call__ = lambda self, x: V * x
Plain.__len__ = lambda self: N|Plain.__init__ = lambda self, k=1.0: setattr(self, "k", V)
plain.inner = Config(V)|plain.inner.k = V|plain.parts[1] = V|plain.parts.append(V)|plain.parts = (V, V, V)
Plain.shared = classmethod(lambda cls, x: V * x)|Plain.alone = staticmethod(np.cos)|slots.k = V|slots = Slots(V)
pair = Pair(V, [V])|pair.b[0] = V|pair.b.append(V)|params.dt = V|del params.dt|params.dt = number
params.array = np.array([V, V, V])|params.array[0] = V|params.array = [V, V]
params.array = np.array([[V, V]])[0]|params.array *= 2|params.array = np.arange(N)|params.array = np.array([V])
params.pair[1] = V|params.pair = (V, V)|params.pair.pop()|params.f = second|params.f = lambda x: V * x
params.f.__code__ = second.__code__|params.f = np.cos|params.sub = Plain(V)|params.sub.k = V
params.sub = Other(V)|params.cls = Other|params.cls = Plain|number = V|number = V|del number|number = -0.0
number = 0.0|count = N|count = N|count = V|del count|array = np.array([V, V, V])|array[-1] = V
array = np.zeros(N)|array = [V, V]|array = np.ones((N, 2))[:, 0]|array = np.array([N, N])|array *= 3
array = array[::-1]|array = np.array([V])|items.append(V)|items[0] = V|items.clear()|items = [V, V, V]
items = (V, V)|items.reverse()|items = np.array([V, V])|table["k"] = V|del table["k"]|table = dict(table, k=V)
table["parts"][1][0] = V|table["parts"] = (V, [V])|table["object"].k = V|table["object"] = Other(V)
table["array"][0] = V|table["array"] = np.array([V, V, V])|table["more"] = V|fn = np.cos|fn = np.exp
fn = lambda x: V * x|fn = second|fn = Plain(V)|helper = second|helper = first|helper = third
helper = lambda x, k=V: k * x|first.__code__ = second.__code__|first.__code__ = third.__code__
first.__defaults__ = (V,)|first.__kwdefaults__["more"][0] = V|first.__kwdefaults__ = {"more": (V,)}
second.__defaults__ = (V,)|defaults.__defaults__[0][0] = V|defaults.__defaults__[1]["k"] = V
defaults.__defaults__ = ([V], {"k": V}, second)|defaults.__defaults__ = None|partial.keywords["k"] = V
partial = Plain(V)|partial = functools.partial(second, k=V)|bound = Other(V).value|bound.__self__.k = V
flag = False|flag = True|flag = N|flag = []|word = "b"|word = "a"|f.level = V|del f.level|set_cells(V, first)
set_cells(V, second)|set_cells(N, np.cos)|set_cells(V, Plain(V))|abs = lambda x: V * x
globals().pop("abs", None)|sum = lambda x: V|globals().pop("sum", None)|len = lambda x: N
globals().pop("len", None)|group.add(2.0)|group.discard(2.0)|group = {V}
f.__code__ = f.__code__.replace(co_name="g")
""".strip().replace("\n", "|").split("|")


NAMES = set("""cfg Config plain Plain slots pair params number count array items table fn helper defaults partial bound flag
word level cell step abs sum len group""".split())


def value(r: random.Random) -> str:
    number = f"{r.uniform(-3.0, 3.0):.3f}"
    return r.choice([number] * 8 + ["3", "True", "0.0", "-0.0", f"np.float64({number})", "float('nan')", "1", "1.0"])


def attempt(seed: int) -> tuple[Outcome, str]:
    """One program with a few changes of what it reads."""
    r = random.Random(seed)
    compiled = seed % 10 == 9
    reads = r.sample(READS, r.choice([1, 2, 2, 3] if not compiled else [1, 2]))
    expression = " + ".join(f"{read} * x" for read in reads)
    words = set(re.findall(r"\w+", expression)) & NAMES
    near = [c for c in CHANGES if any(w in c for w in words)]
    chosen = [r.choice(near if near and r.random() < 0.8 else CHANGES) for _ in range(3 if compiled else 6)]
    if "max" in expression:                     # of nan: a known limit
        chosen = [c.replace("V", "2.5") for c in chosen]
    steps = ["pass"]
    for change in chosen:
        change = re.sub(r"\bV\b", lambda _: value(r), change)
        steps.append(re.sub(r"\bN\b", lambda _: str(r.choice([1, 2, 3, 4])), change))
    asked = ["the same", *r.sample(["fresh", "vjp", "jvp", "nested", "primal"], 2 if not compiled else 0)]
    text = PRELUDE.replace("EXPRESSION", expression) + RUN
    for key, given in (("STEPS", repr(steps)), ("ASKED", repr(asked)), ("MODE", "numba" if compiled else "python"),
                       ("TIMES", "3" if compiled else "1"), ("SEED", str(seed))):
        text = text.replace(key, given)
    return ran("state", seed, text), text
