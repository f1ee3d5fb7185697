"""Random modules that change under a running process: the function that is loaded gives its own gradient, or none.

A module with functions of many shapes is imported; then its file is edited, reloaded or not, names and code objects are
exchanged. After each step the value and the gradient of each function held are compared with the function that Python runs.
"""

from __future__ import annotations

import importlib
import itertools
import random
import sys
import tempfile
from pathlib import Path

import numpy as np

from autodiff import AutodiffError, InternalError, value_and_grad

from .checks import Outcome

NUMBERS = ("0.0", "-0.0", "1", "1.0", "True", "2", "2.0", "-2.0", "0.5", "3", "1e-300")
NAMES = ("f", "g", "h", "F", "__f")
COUNTER = itertools.count()


class Draft:
    """A module as a list of pieces of text, each of which defines what `reach` names."""

    def __init__(self, chosen: random.Random):
        self.random = chosen
        self.pieces = [self.piece() for _ in range(chosen.randint(2, 6))]

    def number(self) -> str:
        return self.random.choice(NUMBERS)

    def body(self, indent: str, x: str = "x") -> str:
        """The lines of a function of x."""
        pick, n = self.random.choice, self.number()
        lines = [pick((f"y = {x} * {n}", f"y = {x} + {n} * {x}", f"y = {x} * \\\n{n}", f"y = np.sin({x} * {n})",
                       f'y = {x} * len("""\na{"b" * self.random.randint(0, 2)}\n  c""")', f"y = ({x} *\n{n})",
                       f"y = {x} if {x} > {n} else -{x}"))]
        if self.random.random() < 0.3:
            n = self.number()
            lines.append(pick((f"k = {n}\n{indent}def inner(t): return t * k\n{indent}y = inner(y)",
                               f"k = {n}\n{indent}y = (lambda t: t * k + {self.number()})(y)",
                               f"y = helper(y, {n})", "y = y * CONSTANT")))
        if self.random.random() < 0.3:
            lines.insert(self.random.randint(0, len(lines)), pick(("\n# at column 0", "# comment", '"a text"', "\x0c", "")))
        lines.append(pick(("return y", "return y * y", f"return y * {self.number()}")))
        if all("\n" not in line and "#" not in line and line.strip() for line in lines) and self.random.random() < 0.3:
            return "; ".join(lines)
        return "".join("\n" + ("" if line.startswith(("\n", "\x0c")) else indent) + line.strip("\n") for line in lines)

    def piece(self) -> tuple[str, tuple[str, ...]]:
        """(text, expressions that give functions of one number)."""
        name, other = self.random.choice(NAMES), self.random.choice(NAMES)
        decorator = self.random.choice(("", "", "", "@kept\n", "@with_options(1,\n  lambda t: 2)\n", "@cached\n"))
        match self.random.randrange(7):
            case 0 | 1:
                return f"{decorator}def {name}(x):{self.body('    ')}\n", (name,)
            case 2:
                inside = decorator.replace("@", "    @").replace("@cached", "@kept")
                text = f"class {name.upper()}:\n{inside}    def {name}(self, x):{self.body('        ')}\n"
                if self.random.random() < 0.4:
                    text += f"    class {other.upper()}:\n        def {name}(self, x):{self.body('            ')}\n"
                    text += f"    inner_class = {other.upper()}\n"
                    return text, (f"call({name.upper()}(), {name!r})", f"call({name.upper()}.inner_class(), {name!r})")
                return text, (f"call({name.upper()}(), {name!r})",)
            case 3:
                one, two = f"lambda x: x * {self.number()}", f"lambda x: {self.number()} * x"
                return f"{name}, {other}_2 = {one}, {two}\n", (name, f"{other}_2")
            case 4:
                text = f"if {self.random.choice(('True', 'False'))}:\n    def {name}(x):{self.body('        ')}\n"
                return text + f"else:\n    def {name}(x):{self.body('        ')}\n", (name,)
            case 5:
                text = f"def make_{name}(k):\n    def {name}(x):{self.body('        ')}\n"
                text += f"    def other(x): return x * k * {self.number()}\n    return {name}, other\n"
                return text, (f"make_{name}({self.number()})[0]", f"make_{name}({self.number()})[1]")
            case _:
                return f"def {name}(x, y={self.number()}, *, z={self.number()}):\n    return x * y * z\n", (name,)

    @property
    def text(self) -> str:
        return HEAD + "\n".join(text for text, _ in self.pieces)

    @property
    def names(self) -> list[str]:
        return [name for _, names in self.pieces for name in names]

    def edit(self) -> None:
        """Change the text at random."""
        pieces, k = self.pieces, self.random.randrange(len(self.pieces))
        match self.random.randrange(8):
            case 0:
                pieces.insert(k, ("# moved\n" * self.random.randint(1, 4), ()))
            case 1:
                self.random.shuffle(pieces)
            case 2 if len(pieces) > 1:
                del pieces[k]
            case 3:
                pieces[k] = self.piece()
            case 4:
                pieces.insert(k, self.piece())
            case 5:
                old, new = self.random.choice(NAMES), self.random.choice(NAMES)
                pieces[k] = (pieces[k][0].replace(f"{old}(", f"{new}("), ())
            case _:
                numbers = [n for n in NUMBERS if n in pieces[k][0]]
                if numbers:
                    pieces[k] = (pieces[k][0].replace(self.random.choice(numbers), self.number(), 1), pieces[k][1])


HEAD = '''import numpy as np
from functools import lru_cache as cached
CONSTANT = 1.5
def helper(a, b):
    return a * b + a
def kept(f): return f
def with_options(*given):
    return kept
def call(owner, name):
    return next(getattr(owner, n) for n in dir(owner) if n.endswith(name))
'''


def attempt(seed: int) -> tuple[Outcome, str]:
    """A module and what happens to it; the script is what was written and done, in order."""
    chosen = random.Random(seed)
    draft, story = Draft(chosen), []
    before = sys.dont_write_bytecode, list(sys.path)
    name = f"changing_{next(COUNTER)}"
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        sys.path.insert(0, folder)
        sys.dont_write_bytecode = True
        try:
            return run(draft, chosen, Path(folder) / f"{name}.py", story), "\n".join(story)
        finally:
            sys.dont_write_bytecode, sys.path[:] = before
            sys.modules.pop(name, None)


def run(draft: Draft, chosen: random.Random, path: Path, story: list[str]) -> Outcome:
    def write():
        path.write_text(draft.text)
        story.append(f"# ---- the file now\n{draft.text}")
    write()
    try:
        compile(draft.text, "module", "exec")
        importlib.invalidate_caches()
        module = importlib.import_module(path.stem)
    except Exception as e:
        return Outcome("skipped", f"not a module: {type(e).__name__}")
    held: list = []
    refused = passed = 0
    for _ in range(chosen.randint(2, 7)):
        for expression in draft.names:
            try:
                held.append((expression, eval(expression, vars(module))))
            except Exception:
                continue
        match chosen.randrange(7):
            case 0 | 1 | 2:
                draft.edit()
                write()
            case 3 | 4:
                try:
                    importlib.reload(module)
                    story.append("# ---- reloaded")
                except Exception as e:
                    story.append(f"# ---- not reloaded: {type(e).__name__}")
            case 5 if len(held) > 1:
                (a, one), (b, other) = chosen.sample(held, 2)
                try:
                    one.__code__ = other.__code__
                    story.append(f"# ---- {a}.__code__ = {b}.__code__")
                except (AttributeError, ValueError):
                    pass
            case _:
                vars(module)["CONSTANT"] = float(chosen.randint(-2, 2))
                story.append(f"# ---- CONSTANT = {module.CONSTANT}")
        for expression, function in chosen.sample(held, min(3, len(held))):
            problem = compared(function, chosen.choice((0.7, -1.3, 2.0)))
            if problem == "refused":
                refused += 1
            elif problem:
                story.append(f"# ---- {expression}: {problem}")
                return Outcome("failed", "another program", problem)
            else:
                passed += 1
    return Outcome("ok" if passed else "refused", "the file changed", f"{passed} passed, {refused} refused")


def compared(function, x: float) -> str:
    """"" if the value and the gradient are those of the function, "refused", or what is wrong."""
    try:
        getattr(function, "cache_clear", int)()         # what it remembers may be of another CONSTANT
        values = [function(x + h) for h in (0.0, 1e-6, -1e-6)]
    except Exception:
        return ""
    try:
        value, slope = value_and_grad(function, mode="python")(x)
    except InternalError as e:
        return f"InternalError: {e}"
    except AutodiffError:
        return "refused"
    except Exception as e:
        return f"{type(e).__name__}: {e}"
    if not all(isinstance(v, (int, float)) for v in values):
        return ""
    wanted, (_, up, down) = (values[1] - values[2]) / 2e-6, values
    kinked = abs((up - values[0]) - (values[0] - down)) > 1e-9 * max(1.0, abs(values[0]))
    if value != values[0] and not np.isclose(value, values[0], rtol=1e-13) or np.signbit(value) != np.signbit(values[0]):
        return f"value {value!r} at {x}, Python gives {values[0]!r}"
    if not kinked and not abs(slope - wanted) <= 1e-5 * max(1.0, abs(wanted)):
        return f"gradient {slope!r} at {x}, differences give {wanted!r}"
    return ""
