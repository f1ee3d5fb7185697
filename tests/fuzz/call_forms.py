"""Functions of all signatures, called in all ways: positional-only and keyword-only parameters, defaults, `*rest`,
`**named`, structures, some of them bound beforehand by partial applications and methods; each operator against Python.

The oracle of first derivatives is the complex step in Python's own call, of second ones differences of that.
"""

from __future__ import annotations

import functools
import random
import types
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import autodiff as ad
from autodiff import AutodiffError, InternalError
from autodiff.arguments.kinds import flatten

from ..support import module_of
from .checks import Outcome, limited

HEAD = """import functools

import numpy as np

from tests.fuzz.call_forms import Point, Record

W = np.array([0.4, -0.7, 0.9])


"""


class Point(NamedTuple):
    a: float
    b: float


@dataclass
class Record:
    a: float
    b: np.ndarray


# kind -> (how the body reads one number of it, an example); {n} is a random number, {m} another
KINDS = {
    "number": ("{p}", "{n}"), "array": ("np.sum(W * {p})", "np.array([{n}, {m}, 0.3])"),
    "pair": ("({p}[0] + np.sum({p}[1] * W))", "({n}, np.array([{m}, 0.1, {n}]))"),
    "dict": ("({p}['a'] * {p}['b'][0])", "{{'a': {n}, 'b': np.array([{m}, 0.2, -0.1])}}"),
    "record": ("({p}.a * np.sum({p}.b))", "Record({n}, np.array([{m}, {n}, 0.5]))"),
    "point": ("({p}.a - {p}.b)", "Point({n}, {m})"), "list": ("({p}[0] * {p}[1])", "[{n}, {m}]"),
    "integer": ("0.5 * {p}", "{k}"), "flag": ("(0.5 if {p} else -0.5)", "{flag}"), "text": ("len({p})", "'abc'"),
    "none": ("(1.0 if {p} is None else {p})", "None")}
COMMON = ("number", "number", "array", "array", "pair", "dict", "record", "point", "list", "integer", "flag", "text", "none")
COMPILED = 40                   # every how many calls are compiled
FLOATS = ("number", "array", "pair", "dict", "record", "point", "list")
OPERATORS = ("grad", "grad", "value_and_grad", "vjp", "jvp", "linearize", "jacobian", "hvp", "tensors", "grad of grad",
             "grad of jvp", "grad of vjp", "grad of linearize", "jvp of grad")


class Form:
    """One function with a call: `text`, `target` as Python calls it, its arguments and what each of them is."""

    def __init__(self, seed: int):
        self.random = r = random.Random(seed)
        self.operator = r.choice(OPERATORS)
        self.mode = "python" if seed % COMPILED else "numba"
        plain = self.operator not in ("grad", "value_and_grad", "tensors", "jacobian", "hvp")
        counts = r.choice((0, 0, 1)), r.randint(1, 3), 0 if plain else r.choice((0, 0, 1, 2))
        self.kinds: dict[str, str] = {}
        self.defaults: set[str] = set()
        pieces, late = [], False
        for section, count in enumerate(counts):
            if section == 2:
                rest = r.random() < 0.25
                pieces += ["*rest"] if rest else ["*"] if count else []
            for k in range(count):
                name = f"{'pqk'[section]}{k}"
                self.kinds[name] = r.choice(COMMON)
                late = r.random() < 0.3 or late and section < 2
                if late:
                    self.defaults.add(name)
                pieces.append(name + (f"={self.example(self.kinds[name])}" if late else ""))
            pieces += ["/"] if section == 0 and count else []
        if "*rest" in pieces:
            self.kinds["*rest"] = r.choice(("number", "array"))
        if not plain and r.random() < 0.2:
            pieces.append("**named")
            self.kinds["**named"] = "number"
        self.vector = self.operator == "jacobian"
        self.text = HEAD + "\n".join(self.body(pieces)) + "\n"
        self.bind_and_call(seed)

    def example(self, kind: str) -> str:
        r = self.random
        return KINDS[kind][1].format(n=round(r.uniform(-1.5, 1.5), 2), m=round(r.uniform(-1.5, 1.5), 2), k=r.randint(1, 4),
                                     flag=r.random() < 0.5)

    def body(self, pieces):
        r = self.random
        yield f"def f({', '.join(pieces)}):"
        yield "    t = 0.3"
        for name, kind in self.kinds.items():
            c, d = (round(r.uniform(0.3, 1.2), 2) for _ in range(2))
            line = f"t = t * {d} + np.sin({c} * {KINDS[kind][0].format(p='v' if '*' in name else name)}) + 0.1 * t * t"
            if name == "*rest":
                yield from ("    for v in rest:", f"        {line}")
            elif name == "**named":
                yield from ("    for v in named.values():", f"        {line}")
            else:
                yield f"    {line}"
        yield "    return np.array([t, t * t, np.cos(t)])" if self.vector else "    return t"

    def bind_and_call(self, seed: int):
        r = self.random
        name = f"<call form {seed}>"
        space = module_of(name, self.text, {"__name__": "call_forms"})
        self.function = target = space["f"]
        self.records: list[Record] = []
        left = [n for n in self.kinds if "*" not in n]
        positional = [n for n in left if n[0] in "pq"]
        said = []

        def value(n):
            text = self.example(self.kinds[n])
            said.append(f"# {n} = {text}")
            made = eval(text, space)
            if isinstance(made, Record):
                self.records.append(made)
            return made
        steps = r.choice((0, 0, 1, 1, 2))
        for _ in range(steps):
            how = r.choice(("positional", "keywords", "method"))
            if how == "positional" and positional:
                count = r.randint(1, len(positional))
                target = functools.partial(target, *map(value, positional[:count]))
                left, positional = [n for n in left if n not in positional[:count]], positional[count:]
                said.append(f"# bound by position: {count}")
            elif how == "method" and positional and self.kinds[positional[0]] == "record" and target is self.function:
                target = types.MethodType(target, value(positional[0]))
                left, positional = left[1:], positional[1:]
                said.append("# a method of the first")
            elif how == "keywords":
                names = [n for n in left if n[0] in "qk" and (n[0] == "k" or n == positional[-1])][-1:]
                target = functools.partial(target, **{n: value(n) for n in names})
                left = [n for n in left if n not in names]
                positional = [n for n in positional if n not in names]
                said += [f"# bound by keyword: {n}" for n in names]
        given = [n for n in left if n not in self.defaults or r.random() < 0.7]
        first, skipped = [], False
        by_position = self.operator in ("vjp", "jvp", "linearize") or " of " in self.operator
        for n in positional:
            skipped = skipped or n not in given or n[0] == "q" and not by_position and r.random() < 0.3
            if not skipped:
                first.append(n)
        named = [n for n in given if n not in first and n[0] in "qk"]
        r.shuffle(named)
        self.values = {n: value(n) for n in (*first, *named)}
        whole = first == [n for n in self.kinds if n[0] in "pq"]
        if "*rest" in self.kinds and whole:
            for k in range(r.randint(0, 2)):
                self.kinds[f"*{k}"] = self.kinds["*rest"]
                self.values[f"*{k}"] = value(f"*{k}")
                first.append(f"*{k}")
        if "**named" in self.kinds:
            for k in r.sample(("u", "v", "w"), r.randint(0, 2)):
                self.kinds[k] = "number"
                self.values[k] = value(k)
                named.append(k)
        self.first, self.named, self.target = first, named, target
        self.text += "\n".join([*said, f"# {self.operator}: f({', '.join(first)}; {', '.join(named)})"])

    def call(self, function, values=None):
        values = self.values if values is None else values
        return function(*(values[n] for n in self.first), **{n: values[n] for n in self.named})

    def turns(self):
        """Calls with the values as they are, then with others."""
        yield 0
        for k in range(1, 4):
            self.change()
            yield k

    def change(self) -> None:
        """Other values of the same kinds, in the call and in what is bound, and keywords in another order."""
        r = self.random
        r.shuffle(self.named)

        def moved(leaf):
            if isinstance(leaf, (bool, str)) or leaf is None:
                return not leaf if isinstance(leaf, bool) else leaf
            return leaf % 4 + 1 if isinstance(leaf, int) else 0.9 * leaf + 0.07
        for record in self.records:
            record.a = moved(record.a)
            record.b[:] = moved(record.b)
        self.values = {n: mapped(v, moved) for n, v in self.values.items()}

    def slopes(self, name, values=None, function=None) -> list:
        """The derivative with respect to each float of an argument, by complex steps."""
        values, function = values or self.values, function or self.target
        found = []
        for k, leaf in enumerate(flatten(values[name])):
            if np.asarray(leaf).dtype.kind != "f":
                continue
            for index in np.ndindex(np.shape(leaf)):
                moved = {**values, name: replaced(values[name], k, index, 1e-30j)}
                found.append(np.imag(self.call(function, moved)) / 1e-30)
        return found

    def curvature(self, name, direction) -> list:
        """The derivative of `slopes` along a direction, one number for each float, by differences."""
        plus, minus = (self.slopes(name, {**self.values, name: along(self.values[name], direction, h)})
                       for h in (1e-5, -1e-5))
        return [(p - m) / 2e-5 for p, m in zip(plus, minus, strict=True)]


def replaced(value, k, index, by):
    """`value` with `by` added to one element of its leaf number k."""
    counter = iter(range(1000))

    def change(leaf):
        if next(counter) != k:
            return leaf
        if not np.ndim(leaf):
            return leaf + by
        made = leaf.astype(np.result_type(leaf, type(by)))
        made[index] += by
        return made
    return mapped(value, change)


def along(value, direction, h):
    numbers = iter(direction)

    def change(leaf):
        if np.asarray(leaf).dtype.kind != "f":
            return leaf
        step = np.array([next(numbers) for _ in range(np.size(leaf))]).reshape(np.shape(leaf))
        return leaf + h * (step if np.ndim(leaf) else float(step))
    return mapped(value, change)


def mapped(value, change):
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(mapped(v, change) for v in value))
    if isinstance(value, (tuple, list)):
        return type(value)(mapped(v, change) for v in value)
    if isinstance(value, dict):
        return {k: mapped(v, change) for k, v in value.items()}
    if hasattr(value, "__dataclass_fields__"):
        return type(value)(**{k: mapped(getattr(value, k), change) for k in value.__dataclass_fields__})
    return change(value)


def numbers(tree) -> list:
    return [float(x) for leaf in flatten(tree) if leaf is not None for x in np.ravel(leaf)]


def of_direction(value, direction):
    """A tangent of the structure of `value` from its numbers; None for what is no float."""
    step = iter(direction)

    def change(leaf):
        if np.asarray(leaf).dtype.kind != "f":
            return None
        made = np.array([next(step) for _ in range(np.size(leaf))]).reshape(np.shape(leaf))
        return made if np.ndim(leaf) else float(made)
    return mapped(value, change)


def check(form: Form) -> None:
    r, f, names = form.random, form.target, [*form.first, *form.named]
    floats = [n for n in names if form.kinds[n] in FLOATS]
    plain = [n for n in floats if n[0] != "*"]
    operator = form.operator
    options: dict[str, Any] = {"mode": form.mode}
    if not floats:
        return
    if operator in ("grad", "value_and_grad", "jacobian", "hvp"):
        chosen = r.sample(plain, r.randint(1, min(2, len(plain)))) if plain else []
        if not chosen:
            return
        if operator in ("jacobian", "hvp"):
            chosen = chosen[:1]
        wrt: Any = tuple(form.first.index(n) if n in form.first and r.random() < 0.5 else n for n in chosen)
        if len(wrt) == 1 and r.random() < 0.7:
            wrt = wrt[0]
        form.text += f", wrt={wrt}"
    if operator in ("grad", "value_and_grad"):
        derivative = getattr(ad, operator)(f, wrt=wrt, **options)
        for _ in form.turns():
            found = form.call(derivative)
            if operator == "value_and_grad":
                agree([found[0]], [form.call(f)])
                found = found[1]
            agree(numbers(found), [s for n in chosen for s in form.slopes(n)])
    elif operator == "jacobian":
        derivative = ad.jacobian(f, wrt=chosen[0], direction=r.choice(("forward", "reverse")), **options)
        for _ in form.turns():
            parts = [np.reshape(b, (3, -1)) for b in flatten(form.call(derivative)) if b is not None]
            agree(np.concatenate(parts, 1).ravel(), np.array(form.slopes(chosen[0])).T.ravel())
    elif operator == "hvp":
        product = ad.hvp(f, wrt=chosen[0], **options)
        for _ in form.turns():
            step = [r.uniform(-1, 1) for _ in form.slopes(chosen[0])]
            v = of_direction(form.values[chosen[0]], step)
            found = form.call(functools.partial(lambda step, /, *a, **k: product(*a, step, **k), v))
            agree(numbers(found), form.curvature(chosen[0], step), 1e-5)
    elif operator == "tensors":
        check_tensors(form, [n for n in floats if form.kinds[n] in ("number", "array")])
    else:
        check_maps(form, floats)


def check_tensors(form, candidates):
    r = form.random
    chosen = [n for n in candidates if r.random() < 0.7] or candidates[:1]
    if not chosen:
        return
    tensors = {n: ad.tensor(form.values[n], requires_grad=True) for n in chosen}
    made = form.call(ad.differentiable(form.target, mode=form.mode), {**form.values, **tensors})
    wanted = list(tensors.values())
    r.shuffle(wanted)
    found = ad.grad(made, wanted, create_graph=r.random() < 0.3)
    by_tensor = {id(t): g.detach().numpy() for t, g in zip(wanted, found, strict=True)}
    for n in chosen:
        agree(np.ravel(by_tensor[id(tensors[n])]), form.slopes(n))


def check_maps(form, floats):
    r, f, operator = form.random, form.target, form.operator
    options: dict[str, Any] = {"mode": form.mode}
    args = [form.values[n] for n in form.first]
    slopes = {n: form.slopes(n) for n in form.first if n in floats}
    if not slopes or form.named:
        return
    steps = {n: [r.uniform(-1, 1) for _ in s] for n, s in slopes.items()}
    on = {n for n in slopes if r.random() < 0.7} or set(slopes)
    dots = tuple(of_direction(form.values[n], steps[n]) if n in on else None for n in form.first)
    along_all = sum(np.dot(slopes[n], steps[n]) for n in on)
    if operator == "vjp":
        value, pullback = ad.vjp(f, *args, **options)
        agree([value], [form.call(f)])
        bars = pullback(2.0)
        for n, bar in zip(form.first, bars, strict=True):
            agree(numbers(bar), [2.0 * s for s in slopes.get(n, [])])
    elif operator == "jvp":
        agree(ad.jvp(f, tuple(args), dots, **options), [form.call(f), along_all])
    elif operator == "linearize":
        agree([ad.linearize(f, *args, **options)[1](*dots)], [along_all])
    else:
        names = [n for n in form.first if form.kinds[n] == "number" and n in slopes]
        if not names:
            return
        n = r.choice(names)
        k = form.first.index(n)
        before, after = tuple(args[:k]), tuple(args[k + 1:])
        second = form.curvature(n, [1.0])
        alone = tuple(1.0 if m == n else None for m in form.first)
        left, right = alone[:k], alone[k + 1:]
        gradient = ad.grad(f, wrt=k, **options)
        x = form.values[n]
        found = {
            "grad of grad": lambda: ad.grad(lambda v: gradient(*before, v, *after), **options)(x),
            "grad of jvp": lambda: ad.grad(lambda v: ad.jvp(f, (*before, v, *after), (*left, 1.0, *right))[1], **options)(x),
            "grad of vjp": lambda: ad.grad(lambda v: ad.vjp(f, *before, v, *after)[1](1.0)[k], **options)(x),
            "grad of linearize": lambda: ad.grad(lambda v: ad.linearize(f, *before, v, *after)[1](*left, 1.0, *right),
                                                 **options)(x),
            "jvp of grad": lambda: ad.jvp(gradient, tuple(args), alone, **options)[1]}[operator]()
        agree([found], second, 1e-5)


def agree(found, wanted, tolerance=1e-9):
    found, wanted = np.asarray(found, float), np.asarray(wanted, float)
    assert found.shape == wanted.shape, f"other numbers of results: {found.shape}, {wanted.shape}"
    assert np.allclose(found, wanted, rtol=tolerance, atol=tolerance), f"wrong numbers: {found}, {wanted}"


def attempt(seed: int) -> tuple[Outcome, str]:
    """One call; a refusal (an AutodiffError) is no failure."""
    form = Form(seed)
    try:
        with limited(60.0), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            form.call(form.target)
            check(form)
    except InternalError as e:
        return Outcome("failed", "InternalError", str(e)), form.text
    except AutodiffError as e:
        return Outcome("refused", e.problem.split("\n")[0], str(e)), form.text
    except AssertionError as e:
        return Outcome("failed", f"{form.operator}: {str(e).split(':')[0]}", str(e)), form.text
    except Exception as e:
        return Outcome("failed", f"{form.operator}: {type(e).__name__}", f"{type(e).__name__}: {e}"), form.text
    return Outcome("ok"), form.text
