"""Random programs of arrays whose sizes agree or not, as the program finds out when it runs, often after their first use.

Python is the oracle: the class of its error, the value, and the derivative along a direction. Loops that are joined,
moved or shortened as if sizes were equal must not read beyond an array before the check that stands later in the
program.
"""

from __future__ import annotations

import random

import numpy as np

from autodiff import AutodiffError, differentiable, value_and_grad

from ..support import module_of
from .checks import Outcome, TookTooLong, limited
from .errors import HEAD, judge

SIZES = (ValueError, IndexError)
VECTORS = """
    {a} * {b}|{a} + {b}|np.sin({a}) - {b}|{a}[1:] * {b}[:-1]|{a}[1:] - {b}[1:]|{a} * s|w @ {a}|w.T @ {a}|{a} @ w|w[0] * {a}
    w[:, 0] + {a}|np.maximum({a}, {b})|np.where({a} > 0.0, {b}, {a})|np.outer({a}, {b})[0]|np.outer({a}, {b}).T @ {a}
    np.cumsum({a}) * {b}|{a}[::-1] * {b}|np.exp(-{a} * {a}) * {b}|np.sum(w * {a}, axis=0)|np.concatenate(({a}, {b}))
    {a}[:2] * {b}[:2]|np.interp({a}, np.arange(3.0), {b})
    np.sum(w + np.outer({a}, {b}), axis=1)|np.linalg.solve(np.outer({a}, {b}) + np.eye({n}), {a})
    """
STATEMENTS = """
    for i in range({n}):;    s += {a}[i] * {b}[i]
    for i in range({n} - 1):;    s += {a}[i + 1] * {b}[i]
    for i in range({n}):;    {new}[i] = {b}[i] * 2.0
    for i in range({n}):;    {new}[i] += {a}[i] * s
    for i in range({n}):;    for j in range({m}):;        s += w[i, j] * {a}[i] * {b}[j]
    for i in range({n}):;    {new}[i] = np.sum(w[i] * {b})
    for i in range({n}):;    w[i] = {b} * {a}[i]
    for u, v in zip({a}, {b}):;    s += u * v
    {new}[:] = {b}
    {new}[1:] += {b}[:-1]
    {new} *= {b}
    w += {a}
    w[:, 0] = {b}
    s += {a} @ {b}
    s += np.sum({a} * {b})
    s += np.mean(({a} - {b}) ** 2)
    s += np.sum(w @ {a} * {b})
    if {n} == {m}:;    s += np.sum({a} * {b})
    if {n} > 2:;    s *= np.sum({a}[:2]);else:;    s += {b}[0]
    """


def cut(text: str) -> list[str]:
    return [part for line in text.strip().split("\n") for part in line.strip().split("|")]


def source_of(draw: random.Random) -> str:
    names, lines = ["x", "y", "z"], ["w = w * 1.0", "s = 0.0"]
    for k in range(draw.randint(3, 7)):
        a, b = draw.choice(names), draw.choice(names)
        n, m = (draw.choice([f"len({draw.choice(names)})", f"len({a})", f"w.shape[{draw.randint(0, 1)}]"]) for _ in range(2))
        if draw.random() < 0.5:
            lines.append(f"v{k} = {draw.choice(cut(VECTORS)).format(a=a, b=b, n=n)}")
            names.append(f"v{k}")
            continue
        statement = draw.choice(STATEMENTS.strip().split("\n")).strip()
        if "{new}" in statement:
            lines.append(f"v{k} = {draw.choice(['np.zeros({n})', 'np.zeros_like({a})', '{a}.copy()']).format(a=a, n=n)}")
            names.append(f"v{k}")
        lines += statement.format(a=a, b=b, n=n, m=m, new=f"v{k}").split(";")
    found = " + ".join(["s", *(f"np.sum({name} * {draw.choice(['0.5', name])})" for name in names[3:]), "np.sum(w)"])
    return HEAD + "def f(x, y, z, w):\n" + "".join(f"    {line}\n" for line in lines) + f"    return {found}\n"


def inputs(seed: int) -> list:
    """The arguments of one run: mostly of one size."""
    draw, values = random.Random(seed), np.random.default_rng(seed % 2 ** 32)
    usual = draw.choice([2, 3, 4])
    sizes = [usual if draw.random() < 0.8 else draw.choice([0, 1, 2, 3, 4, 5]) for _ in range(5)]
    return [values.normal(size=size) for size in (*sizes[:3], tuple(sizes[3:]))]


def attempt(seed: int) -> tuple[Outcome, str]:
    draw = random.Random(seed)
    source = source_of(draw)
    name = f"<program {seed}>"
    space = module_of(name, source)
    f = space["f"]
    script = (f"{source}\n\nfrom tests.fuzz.sizes import inputs\nfrom autodiff import value_and_grad\n"
              f"for seed in range({seed}, {seed + 3}):\n    print(f(*inputs(seed)))\n"
              f"    print(value_and_grad(f, wrt=(0, 1, 2, 3), mode='python')(*inputs(seed)))\n")
    primal, derivative = differentiable(f, mode="python"), value_and_grad(f, wrt=(0, 1, 2, 3), mode="python")
    outcome = Outcome("ok", "value")
    for which in range(seed, seed + 3):         # the same compiled object, other sizes
        try:
            with limited(60), np.errstate(all="ignore"):
                wanted = result(f, which)
                if not isinstance(wanted, Exception) and not np.isfinite(wanted):
                    continue
                for g in primal, lambda *args: derivative(*args)[0]:
                    found = result(g, which)
                    outcome = either(wanted, found, name) if isinstance(found, SIZES) else judge(wanted, found)
                    if outcome.verdict != "ok":
                        return outcome, script
                if not isinstance(wanted, Exception) and (outcome := slope(f, derivative, which)).verdict == "failed":
                    return outcome, script
        except np.linalg.LinAlgError:           # a singular matrix beside this point
            continue
        except TookTooLong as e:
            return Outcome("failed", "too long", str(e)), script
    return outcome, script


def result(f, seed: int):
    try:
        return f(*inputs(seed))
    except Exception as e:
        return e


def either(wanted, found, name: str) -> Outcome:
    """Of two errors in a program either may come first; one without a place is an access that nothing checked."""
    told = "\n".join([str(found), *getattr(found, "__notes__", ())])
    if isinstance(found, AutodiffError) or isinstance(wanted, SIZES) and name in told:
        return Outcome("ok" if isinstance(wanted, SIZES) else "refused", "error")
    return Outcome("failed", f"{type(found).__name__}", f"{found!r}\ninstead of {wanted!r}")


def slope(f, derivative, seed: int) -> Outcome:
    """The derivative along a direction, against differences."""
    args, bars, slopes = inputs(seed), derivative(*inputs(seed))[1], []
    directions = [np.cos(np.arange(a.size) * 1.3 + 0.2).reshape(a.shape) for a in args]
    for h in (1e-5, 1e-6):
        moved = [[a + sign * d for a, d in zip(args, directions, strict=True)] for sign in (h, -h)]
        up, down = (f(*each) for each in moved)
        slopes.append((up - down) / (2 * h))
    found = sum(float(np.sum(bar * d)) for bar, d in zip(bars, directions, strict=True))
    smooth = abs(slopes[0] - slopes[1]) < 1e-4 * max(1.0, abs(slopes[0]))
    if smooth and not np.isclose(found, slopes[0], rtol=1e-3, atol=1e-3):
        return Outcome("failed", "gradient", f"{found}, differences {slopes}")
    return Outcome("ok", "value and gradient", checks=("gradient",))
