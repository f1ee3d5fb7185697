"""Random programs: statements, loops, helper functions and arguments around random expressions."""

from __future__ import annotations

import ast
import linecache
import math
import random
import sys
import types
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .expressions import Expressions, Name

HEADER = ("import math", "from dataclasses import dataclass", "", "import numpy as np", "")


@dataclass(frozen=True)
class Program:
    """The text of a module with a function `f`, and the text of its arguments, as a dict literal."""

    seed: int
    source: str
    arguments: str

    def module(self, name: str | None = None) -> dict[str, Any]:
        """The names of the module, run; its source is where inspection finds it."""
        name = name or f"<fuzz {self.seed}>"
        linecache.cache[name] = (len(self.source), None, self.source.splitlines(True), name)
        module = sys.modules[name] = types.ModuleType(name)         # dataclasses look their module up
        namespace = vars(module)
        exec(compile(self.source, name, "exec"), namespace)
        return namespace

    def values(self) -> list:
        """Fresh arguments, in the order of the parameters."""
        return list(eval(self.arguments, {"np": np, "math": math}).values())

    @property
    def names(self) -> list[str]:
        return [key.value for key in ast.parse(self.arguments, mode="eval").body.keys]


@dataclass
class Body:
    """The function being written: its lines, how far they are indented, what it returns."""

    result: tuple = ()
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    loops: int = 0


class Writer(Expressions):
    """Writes one program. Every statement runs in NumPy as written; what overflows there is skipped by the caller."""

    def __init__(self, seed: int, draws: bool = False):
        super().__init__(seed)
        self.seed, self.drawing = seed, draws
        self.top: list[str] = []
        self.body = Body()
        self.budget = self.random.randint(6, 22)

    # -- the whole ---------------------------------------------------------------------------------------------
    def program(self) -> Program:
        n = self.pick([3, 4, 4, 5, 3, 2, 1, 0] if self.chance(0.4) else [3, 4])
        m = self.pick([2, 3, 3, 1, 0] if self.chance(0.3) else [2, 3])
        given = {"x": ("array", (n,)), "y": ("array", (n,)), "a": ("number", ()), "b": ("number", ())}
        if self.chance(0.6):
            given["A"] = ("array", self.pick([(n, n), (n, m), (m, n)]))
        if self.chance(0.25):
            given["z"] = ("array", (m,))
        if self.chance(0.3):
            given["k"] = ("integer", (0, 3))
        if n and self.chance(0.4):
            given["at"] = ("indices", (self.pick([n, n, 2]), n))
        if self.chance(0.3):
            self.top += ["@dataclass", "class State:", "    place: np.ndarray", "    speed: float", "", ""]
        for _ in range(self.pick([0, 1, 1, 2])):
            self.helper(n)
        self.names = [Name(text, *kind) for text, kind in given.items()]
        result = self.pick([(("number", ()),)] * 5 + [(("array", self.any_shape()),), (("number", ()), ("array", (n,)))])
        self.body = Body(result)
        self.draws = random.Random(self.seed) if self.drawing else None
        for _ in range(self.random.randint(3, 7)):
            self.statement()
        self.put(f"return {self.returned()}")
        names = [*given, "rng"] if self.drawing else [*given]
        lines = [*self.top, f"def f({', '.join(names)}):", *self.body.lines]
        values = ", ".join([f'"{name}": {self.value(*kind)}' for name, kind in given.items()]
                           + [f'"rng": np.random.default_rng({self.seed})'] * self.drawing)
        return Program(self.seed, "\n".join([*HEADER, "", *lines]) + "\n", "{" + values + "}")

    def value(self, kind: str, shape: tuple) -> str:
        """The text of a random argument."""
        if kind == "number":
            return str(round(self.random.uniform(-1.0, 1.2), 3))
        if kind == "integer":
            return str(self.random.randint(*shape))
        if kind == "indices":
            return f"np.array({[self.random.randrange(shape[1]) for _ in range(shape[0])]})"
        if 0 in shape:
            return f"np.zeros({shape})"
        if len(shape) == 2:
            return f"np.array({[[round(self.random.uniform(-1, 1), 3) for _ in range(shape[1])] for _ in range(shape[0])]})"
        return f"np.array({[round(self.random.uniform(-1, 1), 3) for _ in range(shape[0])]})"

    def returned(self) -> str:
        """A result of the function being written, which always has the same structure."""
        parts = []
        for kind, shape in self.body.result:
            if kind == "array":
                parts.append(f"{self.array(shape)} * 1.0")
                continue
            arrays = self.of("array")
            chosen = self.random.sample(arrays, min(len(arrays), 2))
            parts.append(" + ".join([self.number(), *(f"np.sum({a.text} * {a.text})" for a in chosen)]))
        return ", ".join(parts)

    def helper(self, n: int) -> None:
        """A function at module level: of numbers, of an array, one that writes to its argument, one that recurs."""
        name, kind = self.fresh("h"), self.random.randrange(4)
        kept = self.names, self.body, self.budget
        if kind == 3:
            self.top += [f"def {name}(u, depth):", "    if depth == 0:", "        return np.sin(u)",
                         f"    return u * 0.5 + {name}(u * u - {self.pick(['0.3', 'depth'])}, depth - 1)", "", ""]
            self.helpers.append((name, (("number", ()), ("given", self.random.randint(0, 3))), ("number", ())))
            return
        shape = () if kind == 0 else (n,)
        self.names = [Name("u", "array" if shape else "number", shape), Name("v", "number")]
        self.body = Body(((self.names[0].kind, shape),) if kind < 2 else ())
        self.budget = self.random.randint(1, 5)
        for _ in range(self.random.randint(1, 3)):
            self.statement()
        if kind == 2:
            self.put("u *= v + 0.5")
        else:
            self.put(f"return {self.returned()}")
        self.top += [f"def {name}(u, v{'=0.5' if kind == 0 else ''}):", *self.body.lines, "", ""]
        result = self.body.result[0] if kind < 2 else ("none", shape)
        self.names, self.body, self.budget = kept
        self.helpers.append((name, ((("array" if shape else "number"), shape), ("number", ())), result))

    # -- statements -------------------------------------------------------------------------------------------
    def put(self, text: str, deeper: int = 0) -> None:
        self.body.lines.append("    " * (self.body.depth + deeper) + text)

    def block(self, size: int) -> None:
        kept, begin = list(self.names), len(self.body.lines)
        self.body.depth += 1
        for _ in range(size):
            self.statement()
        if len(self.body.lines) == begin:
            self.put("pass")
        self.body.depth -= 1
        self.names = kept

    def add(self, text: str, kind: str, shape: tuple = ()) -> None:
        self.names = [n for n in self.names if n.text != text] + [Name(text, kind, shape)]

    def statement(self) -> None:
        self.budget -= 1
        plain = (self.assign_number, self.assign_number, self.assign_array, self.write_element, self.write_element,
                 self.write_slice, self.write_slice, self.alias, self.write_taken, self.list_statement, self.list_statement,
                 self.record, self.swap, self.procedure, self.closure, self.assign_array)
        nested = (self.loop, self.loop, self.loop, self.branch, self.branch, self.while_loop, self.early)
        if self.budget >= 0 and self.body.depth < 4 and self.chance(0.4):
            self.pick(nested)()
        else:
            self.pick(plain)()

    def assign_number(self) -> None:
        numbers = self.of("number")
        if not numbers or self.chance(0.3):
            name, value = self.fresh("s"), self.number()
            self.put(f"{name} = {value}" if self.chance(0.9) else f"{name} = 0.0")
            self.add(name, "number")
        else:
            self.put(f"{self.pick(numbers).text} {self.pick(['=', '=', '+=', '*=', '-='])} {self.number()}")

    def assign_array(self) -> None:
        arrays = self.of("array", lambda a: a.shape)
        if arrays and self.chance(0.6):
            a = self.pick(arrays)
            if self.chance(0.3):
                self.put(f"{a.text} {self.pick(['+=', '*=', '-='])} {self.array(self.pick(self.broadcasting(a.shape)))}")
            else:
                self.put(f"{a.text} = {self.array(a.shape)} {self.pick(['* 1.0', '+ 0.1', '* 0.9'])}")
        else:
            name = self.fresh("v")
            shape = self.any_shape() if self.chance(0.8) else (self.random.randint(1, 4),)
            made = self.pick(["np.zeros({0})", "np.empty({0}); {1}[:] = {2}"]).format(shape, name, self.number())
            self.put(f"{name} = {made}" if self.chance(0.2) else f"{name} = {self.array(shape)} + 0.0")
            self.add(name, "array", shape)

    def write_element(self) -> None:
        arrays = self.of("array", lambda a: a.shape and 0 not in a.shape)
        lists = self.of("list", lambda v: v.shape[0])
        if lists and (not arrays or self.chance(0.3)):
            v = self.pick(lists)
            self.put(f"{v.text}[{self.index(v.shape[0])}] {self.pick(['=', '+=', '*='])} {self.number(1)}")
        elif arrays:
            a = self.pick(arrays)
            where = ", ".join(self.index(n) for n in a.shape)
            self.put(f"{a.text}[{where}] {self.pick(['=', '=', '+=', '*=', '-='])} {self.number(1)}")

    def write_slice(self) -> None:
        arrays = self.of("array", lambda a: a.shape)
        if not arrays:
            return
        a = self.pick(arrays)
        shape = tuple(self.random.randint(max(0, n - 1), n) for n in a.shape)
        where = ", ".join(str(self.slice(n, m)) for n, m in zip(shape, a.shape))
        if len(a.shape) == 2 and a.shape[0] and self.chance(0.3):
            shape, where = a.shape[1:], self.index(a.shape[0])
        value = self.array(self.pick(self.broadcasting(shape))) if self.chance(0.8) else self.number()
        self.put(f"{a.text}[{where}] {self.pick(['=', '=', '+=', '*=', '-='])} {value}")

    def alias(self) -> None:
        """A second name for memory that may be written through either."""
        a = self.pick(self.of("array", lambda a: a.shape) or [None])
        if a is None:
            return
        shape = tuple(self.random.randint(max(0, n - 1), n) for n in a.shape)
        name = self.fresh("w")
        if self.chance(0.3):
            self.put(f"{name} = {a.text}")
            shape = a.shape
        else:
            self.put(f"{name} = {a.text}[{', '.join(str(self.slice(n, m)) for n, m in zip(shape, a.shape))}]")
        self.add(name, "array", shape)

    def write_taken(self) -> None:
        """Writes through masks and integer arrays."""
        a = self.pick(self.of("array", lambda a: len(a.shape) == 1 and a.shape[0]) or [None])
        if a is None:
            return
        found = self.of("indices", lambda k: k.shape[1] <= a.shape[0])
        if found and self.chance(0.7):
            k = self.pick(found)
            value = self.array((k.shape[0],))
            self.put(self.pick([f"{a.text}[{k.text}] = {value}", f"{a.text}[{k.text}] += {value}",
                                f"np.add.at({a.text}, {k.text}, {value})", f"{a.text}[{k.text}] *= {self.number(1)}"]))
        else:
            self.put(f"{a.text}[{a.text} > {self.pick(['0.3', '-0.2'])}] {self.pick(['=', '*=', '+='])} {self.number(1)}")

    def list_statement(self) -> None:
        lists, rows = self.of("list"), self.of("arrays")
        if not lists or self.chance(0.2):
            name = self.fresh("L")
            text, length = self.pick([("[]", 0), (f"[{self.number(1)}]", 1),
                                      (f"[{self.number(1)}, {self.number(1)}, 0.5]", 3), ("[0.0] * 3", 3),
                                      (f"[{self.simple_number()}, 1]", 2), ("list(x)", 0),
                                      ("[u * 0.5 for u in y]", 0)] if {"x", "y"} <= {n.text for n in self.names} else
                                     [("[]", 0), (f"[{self.number(1)}, 0.5]", 2)])
            self.put(f"{name} = {text}")
            self.add(name, "list", (length,))
            return
        if self.chance(0.3):
            if not rows or self.chance(0.3):
                shape, name = self.any_shape(), self.fresh("R")
                self.put(f"{name} = [{self.array(shape)}, {self.array(shape)} * 0.5]" if self.chance(0.7) else
                         f"{name} = [{self.array(shape)} for _ in range(2)]")
                self.add(name, "arrays", (2, *shape))
                return
            r = self.pick(rows)
            shape = r.shape[1:]
            self.put(self.pick([f"{r.text}.append({self.array(shape)} * 1.0)",
                                f"{r.text}[{self.index(r.shape[0])}] = {self.array(shape)} * 1.0",
                                f"{r.text}[{self.index(r.shape[0])}] *= {self.number(1)}",
                                f"{r.text} = [u * {self.simple_number()} for u in {r.text}]"]))
            return
        one, two = self.pick(lists), self.pick(lists)
        choices = [f"{one.text}.append({self.number(1)})", f"{one.text}.append({self.number(1)})",
                   f"{one.text} = [u * 0.5 + {self.simple_number()} for u in {one.text}]",
                   f"{one.text} += [{self.number(1)}]", f"{one.text}.extend([{self.number(1)}, 0.5])",
                   f"if len({one.text}) > {one.shape[0]}: {one.text}.pop()"]
        if one.shape[0] and two.shape[0]:
            choices.append(f"{one.text}[0], {two.text}[-1] = {two.text}[-1], {one.text}[0]")
        if one.shape[0] > 1:
            choices += [f"{one.text} = {one.text}[1:] + [{self.number(1)}]", f"{one.text} = {one.text}[::-1]"]
        self.put(self.pick(choices))

    def record(self) -> None:
        """A dict or dataclass of an array and a number, read and written like other names from here on."""
        shape, value, number = self.any_shape(), None, self.number(1)
        value = f"{self.array(shape)} * 1.0" if self.chance(0.7) else self.array(shape)
        name = self.fresh("d")
        if any("class State" in line for line in self.top) and self.chance(0.7):
            self.put(f"{name} = State({value}, {number})")
            parts = f"{name}.place", f"{name}.speed"
        else:
            self.put(f'{name} = {{"place": {value}, "speed": {number}}}')
            parts = f'{name}["place"]', f'{name}["speed"]'
        self.add(parts[0], "array", shape)
        self.add(parts[1], "number")

    def swap(self) -> None:
        a = self.pick(self.of("array") or [None])
        others = [b for b in self.of("array") if a is not None and b.shape == a.shape and b is not a]
        if others:
            b = self.pick(others)
            self.put(f"{a.text}, {b.text} = {b.text}, {a.text}")
        elif len(self.of("number")) > 1:
            one, two = self.random.sample(self.of("number"), 2)
            self.put(f"{one.text}, {two.text} = {self.pick([two.text, self.number(1)])}, {one.text}")

    def procedure(self) -> None:
        """A call of a helper that writes to its argument."""
        for name, kinds, (result, shape) in self.helpers:
            if result == "none":
                target = self.view(shape)
                if target:
                    return self.put(f"{name}({target}, {self.number(1)})")
        return self.assign_number()

    def closure(self) -> None:
        if self.body.depth > 2 or not self.of("number"):
            return self.assign_number()
        name = self.fresh("g")
        kept = list(self.names)
        self.names = [*kept, Name("u", "number")]
        text = self.number()
        self.names = kept
        if self.chance(0.4):
            self.put(f"{name} = lambda u: {text}")
        else:
            self.put(f"def {name}(u):")
            self.put("if u > 0.4:", 1)
            self.put("return u * 0.5", 2)
            self.put(f"return {text}", 1)
        self.put(f"{self.pick(self.of('number')).text} = {name}({self.number(1)}) * 0.7")
        return None

    # -- control flow -----------------------------------------------------------------------------------------
    def loop(self) -> None:
        name, kept = self.fresh("i"), list(self.names)
        arrays = self.of("array", lambda a: a.shape)
        integers = self.of("integer", lambda k: k.shape[0] >= 0)
        kind = self.random.randrange(12)
        if kind < 6 or not arrays:
            spellings = [("range(3)", (0, 2)), ("range(4)", (0, 3)), ("range(3, -1, -1)", (0, 3)),
                         ("range(0, 4, 2)", (0, 2)), ("range(1, 3)", (1, 2)), ("range(0)", (0, 0)),
                         ("reversed(range(3))", (0, 2)), ("range(5, 0, -2)", (1, 5))]
            if arrays:
                a = self.pick(arrays)
                spellings += [(f"range(len({a.text}))", (0, max(a.shape[0] - 1, 0))),
                              (f"range({a.text}.shape[0])", (0, max(a.shape[0] - 1, 0))),
                              (f"range(1, len({a.text}))", (0, max(a.shape[0] - 1, 1)))]
            if integers:
                i = self.pick(integers)
                spellings += [(f"range({i.text})", (0, max(i.shape[1] - 1, 0))),
                              (f"range({i.text} + 1)", (0, i.shape[1]))] * 2
            text, bounds = self.pick(spellings)
            self.put(f"for {name} in {text}:")
            self.names.append(Name(name, "integer", bounds))
        else:
            a = self.pick(arrays)
            item = self.fresh("e")
            rank = len(a.shape)
            part = Name(item, "number") if rank == 1 else Name(item, "array", a.shape[1:])
            if kind < 9:
                self.put(f"for {item} in {self.pick([a.text, a.text, f'{a.text}[::-1]'])}:")
            elif kind == 9:
                self.put(f"for {name}, {item} in enumerate({a.text}):")
                self.names.append(Name(name, "integer", (0, max(a.shape[0] - 1, 0))))
            elif kind == 10 and self.of("list"):
                items = self.pick(self.of("list"))
                self.put(f"for {item} in {items.text}:")
                part = Name(item, "number")
                self.names.remove(items)                            # a list that grows ahead of its loop has no end
            else:
                b = self.pick(arrays)
                other = self.fresh("e")
                self.put(f"for {item}, {other} in zip({a.text}, {b.text}):")
                self.names.append(Name(other, "number") if len(b.shape) == 1 else Name(other, "array", b.shape[1:]))
            self.names.append(part)
        self.body.loops += 1
        self.block(self.random.randint(1, 3))
        if self.chance(0.25):
            self.body.depth += 1
            self.put(f"if {self.condition()}:")
            self.put(self.pick(["break", "continue"]), 1)
            self.body.depth -= 1
            self.block(1)
        self.body.loops -= 1
        self.names = kept

    def while_loop(self) -> None:
        name = self.fresh("t")
        self.put(f"{name} = 0")
        self.put(f"while {name} < {self.pick([0, 3, 4])} and ({self.condition()}):" if self.chance(0.7) else
                 f"while {name} < 3:")
        self.put(f"{name} += 1", 1)
        self.names.append(Name(name, "integer", (0, 4)))
        self.body.loops += 1
        self.block(self.random.randint(1, 3))
        self.body.loops -= 1
        self.names = [n for n in self.names if n.text != name]

    def branch(self) -> None:
        self.put(f"if {self.condition()}:")
        self.block(self.random.randint(1, 2))
        if self.chance(0.2):
            self.put(f"elif {self.condition()}:")
            self.block(1)
        if self.chance(0.5):
            self.put("else:")
            self.block(self.random.randint(1, 2))

    def early(self) -> None:
        """An early end: of the function, or of the loop around."""
        self.put(f"if {self.condition()}:")
        ways = ["break", "continue"] if self.body.loops else []
        self.put(self.pick([*ways, f"return {self.returned()}".rstrip()]), 1)


def program(seed: int, draws: bool = False) -> Program:
    """The program of a seed. draws: with a random generator as its last argument, from which it draws."""
    return Writer(seed, draws).program()
