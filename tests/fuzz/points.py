"""Arrays of rank 0 under several names, changed in place, replaced, seen through views, lists and helpers."""

from __future__ import annotations

import linecache
import random

import numpy as np

from autodiff import AutodiffError, InternalError, value_and_grad

from .checks import Outcome, TookTooLong, limited

POINT = np.array([0.7312, 1.4831, -0.5173])
MAKERS = """np.zeros(())|np.ones(())|np.array(E)|np.array(0.5)|np.asarray(E)|np.full((), E)|np.zeros_like(x[0])
x[0, ...]|x[..., 1]|np.squeeze(x[:1])|x[1:2].reshape(())|np.where(x[0] > 0, E, 0.5)|(x * 2.0)[..., 0]|np.copy(E)|E|x[0]
0.5|y[..., 2]|y[0, ...]|np.squeeze(y[1:2])|helper_make(E)|np.array(T)|T.copy()|np.where(x[1] > 0, T, E)|make(T)
np.squeeze(x * 3.0 @ np.ones((3, 1)))
""".strip().replace("\n", "|").split("|")
ALIASES = "T|T|T[...]|T.reshape(())|np.asarray(T)|np.squeeze(T)|same(T)|[T][0]|T.T|(T if x[0] > 0 else T)".split("|")
WRITES = """T += E|T += E|T *= E|T -= E|T = T + E|T = T * E|add(T, E)|add(T, E)|np.add(T, E, out=T)|T[...] = E|T[()] = E
T[()] += E|T = add(T, E)|x[0] = E|y[...] = E|y[0] = E|y *= 0.5|T /= 2.0|T += T|T[...] += E|T[None][0] += E
T.fill(0.25)|T += y[0]
""".strip().replace("\n", "|").split("|")
PRELUDE = '''
import numpy as np

def add(t, v):
    t += v
    return t

def same(t):
    return t

def make(t):
    s = t * 1.0
    s += 0.5
    return s

def helper_make(v):
    made = np.array(v)
    other = made
    other += 0.25
    return made
'''


def program(r: random.Random) -> str:
    names: list[str] = []
    lines = ["y = x * 2.0"]

    def expression() -> str:
        return r.choice(["x[0]", "x[1] * x[2]", "0.5", "y[1]", *(f"{n} * 0.5" for n in names)])

    def filled(text: str) -> str:
        return text.replace("T", r.choice(names or ["x[0]"])).replace("E", expression()).replace("x[0].T", "x[0]")

    def new(maker: str) -> str:
        name = r.choice("abcd")
        made = f"{name} = {filled(maker)}"
        if name not in names:
            names.append(name)
        return made

    def write(indent: str) -> list[str]:
        kind = r.random()
        if kind < 0.12:
            return [f"{indent}for v in x:", f"{indent}    {filled(r.choice(WRITES[:9])).replace('0.5', 'v')}"]
        if kind < 0.2:
            return [f"{indent}for t in [{', '.join(r.choices(names, k=2))}]:", f"{indent}    t += {expression()}"]
        if kind < 0.32:
            return [f"{indent}if x[{r.randrange(3)}] > 0:", *write(indent + "    ")]
        if kind < 0.4:
            return [f"{indent}kept = [{', '.join(r.choices(names, k=2))}]", f"{indent}kept[0] += {expression()}"]
        if kind < 0.45:
            return [f"{indent}for k in range(len(x)):", *write(indent + "    "), *write(indent + "    ")]
        if kind < 0.7 and not indent:
            return [new(r.choice(ALIASES))]
        return [indent + filled(r.choice(WRITES))]

    lines.append(new(r.choice(MAKERS)))
    for _ in range(r.randint(2, 7)):
        lines += [new(r.choice(MAKERS))] if r.random() < 0.2 else write("")
    weights = " + ".join(f"{k + 2}.0 * {n}" for k, n in enumerate(sorted(names)))
    return f"{PRELUDE}\ndef f(x):\n    " + "\n    ".join(lines) + f"\n    return {weights} + x[0] * x[1] + y.sum()\n"


def attempt(seed: int) -> tuple[Outcome, str]:
    """One program, its value and its gradient."""
    text = program(random.Random(seed))
    name = f"<points {seed}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    space: dict = {"__name__": "points"}
    try:
        with limited(30.0), np.errstate(all="ignore"):
            exec(compile(text, name, "exec"), space)
            return compared(space["f"]), text
    except TookTooLong as e:
        return Outcome("skipped", str(e)), text
    finally:
        del linecache.cache[name]


def compared(f) -> Outcome:
    try:
        wanted = float(f(POINT.copy()))
    except Exception as e:
        return Outcome("skipped", f"Python raises {type(e).__name__}")
    try:
        value, gradient = value_and_grad(f, mode="python")(POINT.copy())
    except InternalError as e:
        return Outcome("failed", "InternalError", str(e))
    except AutodiffError as e:
        return Outcome("refused", str(e).splitlines()[0])
    except Exception as e:
        return Outcome("failed", type(e).__name__, repr(e))
    if not abs(wanted) < 1e6:
        return Outcome("skipped", "large numbers")
    step = 1e-6
    slopes = [(float(f(POINT + step * d)) - float(f(POINT - step * d))) / (2 * step) for d in np.eye(3)]
    if not np.isclose(value, wanted, rtol=1e-10):
        return Outcome("failed", "value", f"{value} for {wanted}")
    if not np.allclose(gradient, slopes, rtol=1e-5, atol=1e-5):
        return Outcome("failed", "gradient", f"{gradient} for {slopes}")
    return Outcome("ok")
