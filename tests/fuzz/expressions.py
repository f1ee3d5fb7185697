"""Random expressions over the names in scope. All sizes are known to the writer, though not to the program."""

from __future__ import annotations

import random
from dataclasses import dataclass

CONSTANTS = ("0.5", "1.5", "-0.7", "0.3", "2.0", "2", "1", "0.0")
NUMBER_FORMS = ("np.sin({0})", "np.tanh({0})", "math.cos({0})", "np.exp(-{0} ** 2)", "np.sqrt(1.0 + {0} ** 2)", "abs({0})",
                "np.log(2.0 + {0} ** 2)", "({0} + {1})", "({0} * {1})", "({0} - 0.5 * {1})", "({0} / (1.5 + {1} ** 2))",
                "max({0}, {1})", "min({0}, 0.4, {1})", "np.maximum({0}, {1})", "-{0}", "np.arctan2({0}, 2.0 + {1} ** 2)",
                "({0} * {0})", "{0} ** 3", "np.where({0} > 0.1, {0}, {1})", "np.floor({0}) * {1}", "np.abs({0}) ** 1.5")
ELEMENTWISE = ("np.sin({0})", "np.tanh({0})", "np.exp(-{0} ** 2)", "np.sqrt(1.0 + {0} ** 2)", "np.abs({0})", "-{0}",
               "{0} ** 2", "np.clip({0}, -0.4, 0.45)", "np.round({0}) * {0}", "np.log1p({0} ** 2)", "np.square({0})")
REDUCTIONS = ("np.sum({0})", "{0}.sum()", "np.mean({0})", "np.max({0})", "{0}.min()", "np.prod({0})", "np.std({0} * {0})",
              "np.dot({0}.ravel(), {0}.ravel())", "np.var({0})", "np.linalg.norm({0} + 1.5)")


@dataclass(frozen=True)
class Name:
    """Something in scope. text: how it is read and assigned; kind: number, array, integer, indices, list or arrays;
    shape: of an array, (length, bound) of indices, (least, greatest) of an integer, (least length, *item) of lists."""

    text: str
    kind: str
    shape: tuple = ()


DRAWS = ("rng.standard_normal()", "rng.random()", "rng.normal({0}, 0.5)", "rng.uniform(-0.5, 0.5 + {0} ** 2)",
         "rng.exponential(0.3)", "rng.integers(0, 3) * 0.25", "rng.poisson(1.5) * 0.25")
ARRAY_DRAWS = ("rng.standard_normal({1})", "rng.random({1})", "rng.normal({0}, 0.3, size={1})",
               "rng.poisson(1.5, size={1}) * 0.25")


class Expressions:
    """Texts of random expressions. `names`: what is in scope; `helpers`: functions that may be called.

    draws: where there is a random generator `rng` in scope, what decides which numbers are drawn from it.
    """

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.names: list[Name] = []
        self.helpers: list[tuple] = []              # (text, kinds of the arguments, kind of the result)
        self.count = 0
        self.draws: random.Random | None = None

    def fresh(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    def of(self, kind: str, test=lambda name: True) -> list[Name]:
        return [n for n in self.names if n.kind == kind and test(n)]

    def pick(self, choices):
        return self.random.choice(choices)

    # -- integers ---------------------------------------------------------------------------------------------
    def index(self, n: int) -> str:
        """An integer that is in range for an axis of n elements (n > 0)."""
        integers = self.of("integer")
        if integers and self.chance(0.7):
            i = self.pick(integers)
            least, greatest = i.shape
            if 0 <= least and greatest < n:
                return self.pick([i.text, i.text, f"{n - 1} - {i.text}", f"{i.text} - {n}", f"({i.text} + 1) % {n}"])
            return f"{i.text} % {n}"
        found = self.of("indices", lambda k: k.shape[0] and k.shape[1] <= n)
        if found and self.chance(0.2):
            k = self.pick(found)
            return f"{k.text}[{self.index(k.shape[0])}]"
        return str(self.random.randrange(-n, n))

    def slice(self, n: int, m: int) -> str | None:
        """A slice that takes n of m elements."""
        if n > m:
            return None
        first = self.random.randint(0, m - n)
        options = [f"{first}:{first + n}"]
        if first + n == m:
            options += [f"{first}:", f"-{n}:" if n else f"{m}:"]
        if first == 0:
            options += [f":{n}", f":{n - m}" if n < m else ":"]
        if n == m:
            options += [":", "::-1", ":"]
        if n and first:
            options.append(f"{first + n - 1}:{first - 1}:-1")
        if n and n == (m + 1) // 2:
            options += ["::2", "::2"]
        if n and n == m // 2:
            options.append("1::2")
        for i in self.of("integer", lambda i: i.shape[0] >= 0 and i.shape[1] + n <= m):
            options.append(f"{i.text}:{i.text} + {n}")
        return self.pick(options)

    def view(self, shape: tuple, whole: bool = True) -> str | None:
        """Basic indexing of an array in scope that has this shape; None if there is none."""
        found = []
        for a in self.of("array"):
            if a.shape == shape and whole:
                found += [a.text] * 3
            if len(a.shape) == len(shape) > 0 and all(n <= m for n, m in zip(shape, a.shape)):
                found.append(f"{a.text}[{', '.join(str(self.slice(n, m)) for n, m in zip(shape, a.shape))}]")
            if len(a.shape) == len(shape) + 1 and shape:
                if a.shape[0] and a.shape[1:] == shape:
                    found.append(f"{a.text}[{self.index(a.shape[0])}]")
                if a.shape[-1] and a.shape[:-1] == shape:
                    found.append(f"{a.text}[..., {self.index(a.shape[-1])}]")
            if len(shape) == 2 and a.shape == shape[::-1]:
                found.append(f"{a.text}.T")
            if len(shape) == 2 and 1 in shape and a.shape == (max(shape),):
                found.append(f"{a.text}[:, None]" if shape[1] == 1 else f"{a.text}[None, :]")
        for r in self.of("arrays", lambda r: r.shape[0] and r.shape[1:] == shape):
            found.append(f"{r.text}[{self.index(r.shape[0])}]")
        return self.pick(found) if found else None

    def element(self) -> str | None:
        arrays = self.of("array", lambda a: a.shape and 0 not in a.shape)
        lists = self.of("list", lambda v: v.shape[0])
        if lists and (not arrays or self.chance(0.3)):
            v = self.pick(lists)
            return f"{v.text}[{self.index(v.shape[0])}]" if self.chance(0.8) else f"{v.text}[-1]"
        if not arrays:
            return None
        a = self.pick(arrays)
        return f"{a.text}[{', '.join(self.index(n) for n in a.shape)}]"

    # -- numbers ----------------------------------------------------------------------------------------------
    def number(self, depth: int = 0) -> str:
        if depth > 2 or self.chance(0.25):
            return self.simple_number()
        kind = self.random.randrange(20)
        if kind < 5:
            return self.element() or self.simple_number()
        if kind < 8:
            return self.reduction(depth + 1)
        if kind == 8:
            return f"({self.number(depth + 1)} if {self.condition(depth + 1)} else {self.number(depth + 1)})"
        if kind == 9:
            return self.call("number", (), depth) or self.simple_number()
        if kind == 10 and self.of("list"):
            v = self.pick(self.of("list"))
            return self.pick([f"sum({v.text})", f"len({v.text}) * {self.simple_number()}",
                              f"np.sum(np.array({v.text}) ** 2)",
                              f"sum([u * 0.5 for u in {v.text}])", f"sum(u * u for u in {v.text})"])
        if kind == 11 and self.of("arrays"):
            r = self.pick(self.of("arrays"))
            return self.pick([f"sum([np.sum(u) for u in {r.text}])", f"len({r.text}) * {self.simple_number()}"])
        return self.pick(NUMBER_FORMS).format(self.number(depth + 1), self.number(depth + 1))

    def simple_number(self) -> str:
        numbers, integers = self.of("number"), self.of("integer")
        if self.draws is not None and self.draws.random() < 0.25:
            return self.draws.choice(DRAWS).format(self.draws.choice([n.text for n in numbers] or ["0.3"]))
        if numbers and self.chance(0.8):
            return self.pick(numbers).text
        return f"{self.pick(integers).text} * 0.25" if integers and self.chance(0.3) else self.pick(CONSTANTS)

    def reduction(self, depth: int) -> str:
        shape = self.any_shape()
        if 0 in shape or not shape:
            return f"np.sum({self.array(shape, depth)})"
        if len(shape) == 1 and self.chance(0.2):
            return f"({self.array(shape, depth)} @ {self.array(shape, depth)})"
        return self.pick(REDUCTIONS).format(f"({self.array(shape, depth)})")

    def condition(self, depth: int = 1) -> str:
        a, b = self.number(max(depth, 1)), self.pick(["0.2", "0.5", "-0.1"])
        integers = self.of("integer")
        options = [f"{a} > {b}", f"{a} < {b}", f"{a} > {b} and {self.simple_number()} < 0.9", f"not {a} > {b}",
                   f"-0.8 < {a} < {b}", f"{a} > {b} or {self.simple_number()} > 1.1"]
        if integers:
            i = self.pick(integers)
            options += [f"{i.text} % 2 == 0", f"{i.text} > {self.random.randint(*sorted(i.shape))}"]
        return self.pick(options)

    def call(self, result: str, shape: tuple, depth: int) -> str | None:
        """A call of a helper with this result; None if there is none."""
        found = [h for h in self.helpers if h[2] == (result, shape)]
        if not found or depth > 2:
            return None
        name, kinds, _ = self.pick(found)
        return f"{name}({', '.join(self.argument(k, depth) for k in kinds)})"

    def argument(self, kind: tuple, depth: int) -> str:
        if kind[0] == "number":
            return self.number(depth + 1)
        if kind[0] == "array":
            return (self.view(kind[1]) if self.chance(0.6) else None) or self.array(kind[1], depth + 1)
        return str(kind[1])

    # -- arrays -----------------------------------------------------------------------------------------------
    def any_shape(self) -> tuple:
        shapes = [a.shape for a in self.of("array") if a.shape]
        return self.pick(shapes) if shapes else (3,)

    def array(self, shape: tuple, depth: int = 0) -> str:
        """An expression that has exactly this shape."""
        if self.draws is not None and self.draws.random() < 0.1:
            return self.filled(shape)
        if depth > 2 or self.chance(0.3):
            return self.view(shape) or self.filled(shape)
        for _ in range(4):
            text = self.built_array(shape, depth + 1)
            if text is not None:
                return text
        return self.view(shape) or self.filled(shape)

    def filled(self, shape: tuple) -> str:
        if self.draws is not None and self.draws.random() < 0.5:
            numbers = [n.text for n in self.of("number")] or ["0.3"]
            return f"({self.draws.choice(ARRAY_DRAWS).format(self.draws.choice(numbers), shape)})"
        return self.pick([f"np.full({shape}, {self.simple_number()})", f"(np.zeros({shape}) + {self.simple_number()})",
                          f"np.ones({shape})"])

    def built_array(self, shape: tuple, depth: int) -> str | None:
        again = lambda: self.array(shape, depth)
        kind = self.random.randrange(24)
        if kind < 3:
            return self.pick(ELEMENTWISE).format(f"({again()})")
        if kind < 6:
            other = self.array(self.pick(self.broadcasting(shape)), depth) if shape else self.number(depth)
            return f"({again()} {self.pick(['+', '*', '-'])} {other})"
        if kind < 8:
            return f"({again()} {self.pick(['+', '*', '-'])} {self.number(depth)})"
        if kind == 8:
            return f"np.where({again()} > {self.pick(['0.3', '-0.2', self.simple_number()])}, {again()}, {again()})"
        if kind == 9:
            return f"np.maximum({again()}, {self.pick([again(), '0.1'])})"
        if kind == 10:
            return self.call("array", shape, depth)
        if kind == 11:
            return f"np.cumsum({again()}, axis={self.random.randrange(len(shape))})" if shape else None
        if kind == 12:
            axis = self.random.randrange(len(shape)) if shape else 0
            return f"np.roll({again()}, {self.pick([1, -1, 2])}, axis={axis})" if shape and 0 not in shape else None
        if kind == 13:
            return self.taken(shape)
        if kind == 14:
            return self.product(shape, depth)
        if kind == 15 and shape and shape[0]:
            n = self.random.randint(0, shape[0])
            rest = shape[1:]
            return f"np.concatenate(({self.array((n, *rest), depth)}, {self.array((shape[0] - n, *rest), depth)}))"
        if kind == 16 and len(shape) == 1 and 0 < shape[0] < 5:
            return f"np.array([{', '.join(self.number(depth + 1) for _ in range(shape[0]))}])"
        if kind == 17 and len(shape) == 1:
            m = self.random.randint(1, 3)
            form = self.pick(["np.sum({0}, axis={1})", "{0}.mean({1})", "np.max({0}, axis={1})"])
            return (form.format(f"({self.array((m, *shape), depth)})", 0) if self.chance(0.5)
                    else form.format(f"({self.array((*shape, m), depth)})", 1))
        if kind == 18 and len(shape) == 1 and shape[0]:
            text = self.view(shape)
            return text and f"np.array([{self.pick(['u * u', 'np.sin(u)', 'u * 0.5'])} for u in {text}])"
        if kind == 19 and len(shape) == 1:
            return f"np.sort({again()})" if self.chance(0.5) else f"np.diff({self.array((shape[0] + 1,), depth)})"
        if kind == 20 and len(shape) == 2 and 0 not in shape:
            return f"({self.array((shape[0] * shape[1],), depth)}).reshape({shape[0]}, {shape[1]})"
        if kind == 21 and len(shape) == 1 and shape[0]:
            return f"(np.arange({shape[0]}) * {self.number(depth)})"
        if kind == 22 and shape:
            rows = self.of("arrays", lambda r: r.shape[0] and r.shape[1:] == shape)
            if rows:
                r = self.pick(rows)
                return self.pick([f"np.sum(np.stack({r.text}), axis=0)", f"sum({r.text})", f"{r.text}[-1]"])
        return None

    def broadcasting(self, shape: tuple) -> list[tuple]:
        """Shapes that broadcast to this one."""
        found = [shape, shape[1:] if len(shape) > 1 else shape]
        if len(shape) == 2:
            found += [(shape[0], 1), (1, shape[1])]
        return found

    def taken(self, shape: tuple) -> str | None:
        """An array indexed by integer arrays, with repetitions."""
        for k in self.of("indices", lambda k: shape and k.shape[0] == shape[0] and 0 not in shape):
            for a in self.of("array", lambda a: len(a.shape) == len(shape) and a.shape[1:] == shape[1:]
                             and a.shape[0] >= k.shape[1]):
                return f"{a.text}[{k.text}]"
        return None

    def product(self, shape: tuple, depth: int) -> str | None:
        m = self.random.randint(1, 3)
        if len(shape) == 1:
            return self.pick([f"({self.array((*shape, m), depth)} @ {self.array((m,), depth)})",
                              f"np.dot({self.array((m,), depth)}, {self.array((m, *shape), depth)})",
                              f"np.einsum('ij,j->i', {self.array((*shape, m), depth)}, {self.array((m,), depth)})"])
        if len(shape) == 2:
            return self.pick([f"({self.array((shape[0], m), depth)} @ {self.array((m, shape[1]), depth)})",
                              f"np.outer({self.array(shape[:1], depth)}, {self.array(shape[1:], depth)})"])
        return None
