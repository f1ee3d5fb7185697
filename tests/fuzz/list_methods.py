"""Programs that change lists of run-time length by Python's methods: values, errors and gradients as Python's."""

from __future__ import annotations

import linecache
import random
import types

import numpy as np

from autodiff import AutodiffError, InternalError, differentiable, jvp

from ..support import module_of
from .checks import Outcome
from .list_expressions import alike, plain

MADE = ("[v * 1.5 for v in x]", "[v for v in x if v > 0.8]", "list(x)", "grown(x)", "sorted(x)", "[x[0]] * n", "x.tolist()")
ROWS = ("[(v, i) for i, v in enumerate(x)]", "list(zip(x, x[1:]))", "[(v, 2.0 * v) for v in x]", "pairs(x)")
PLACES = ("0", "-1", "1", "n - 1", "len(a) // 2", "2", "-2", "5", "k", "-4")
NUMBERS = ("x[0]", "2.0", "a[0]", "a[-1] * x[1]", "max(a)", "b[0]", "float(len(a))", "sum(a)", "x[k]")
STEPS = ("a.append({E})", "a.insert({P}, {E})", "a.pop({P})", "a.pop()", "a.remove(a[{P}])", "a.reverse()", "a.sort()",
         "a.sort(reverse=True)", "a.sort(key=lambda v: -v)", "a.extend(b)", "a += b", "del a[{P}]", "del a[{P}:]",
         "del a[:{P}]", "a[{P}] = {E}", "s += a.index(a[{P}])", "s += a.count({E})", "s += max(a) * min(b)",
         "s += sum(a)", "b = a[:]", "b = a", "b = sorted(a, key=lambda v: (v - 1.0) ** 2)", "b = a + b", "s += {E} in a",
         "s += max(a, key=lambda v: -v)", "b = list(a)", "s += a.pop(0)", "b = a.copy()", "a.clear()", "s += {E}",
         "b = tuple(a)", "a.extend(v * 2.0 for v in b)", "s += b[{P}]", "b = list(reversed(a))")
ROW_STEPS = ("a.append(a[{P}])", "a.insert({P}, a[0])", "s += a.pop({P})[0]", "a.reverse()", "a.sort()",
             "a.sort(reverse=True)",
             "a.sort(key=lambda p: -p[0])", "a.extend(b)", "del a[{P}]", "s += max(a)[0]", "s += min(a)[0]",
             "s += a.index(a[{P}])", "s += a.count(a[{P}])", "s += a[{P}] in b", "b = sorted(a)",
             "b = sorted(a, reverse=True)", "b = a", "b = a[:]", "s += max(a, key=lambda p: -p[0])[0]", "a[{P}] = a[0]",
             "b = list(a)", "s += sum(p[0] for p in a)")

HEAD = '''import numpy as np

def grown(x):
    found = []
    for v in x:
        if v > 0.5:
            found.append(v)
    return found

def pairs(x):
    found = []
    for k in range(len(x)):
        found.append((x[k] * k, k))
    return found

def f(x, n):
    k, s = 0, 0.0
'''


def program(draw: random.Random) -> str:
    rows = draw.random() < 0.3
    steps, made = (ROW_STEPS, ROWS) if rows else (STEPS, MADE)
    first = draw.choice(made)
    lines = [f"    a = {first}", f"    b = {first if rows else draw.choice(made)}"]
    for _ in range(draw.randrange(1, 5)):
        step = draw.choice(steps).replace("{E}", draw.choice(NUMBERS)).replace("{P}", draw.choice(PLACES))
        kind = draw.random()
        if kind < 0.2:
            lines += ["    for k in range(n - 1):", f"        {step}"]
        elif kind < 0.35:
            lines += ["    if x[1] > 0.9:", f"        {step}"]
        elif kind < 0.45:
            lines += ["    rounds = 0", "    while len(a) > 2 and rounds < n:", f"        {step}", "        rounds += 1"]
        else:
            lines.append(f"    {step}")
    return HEAD + "\n".join(lines) + "\n    return s, a, b\n"


def numbers(value) -> list:
    if isinstance(value, (list, tuple)):
        return [y for v in value for y in numbers(v)]
    return [] if value is None else [float(value)]


def attempt(seed: int) -> tuple[Outcome, str]:
    draw = random.Random(seed)
    text = program(draw)
    x = np.random.default_rng(seed).permutation(np.linspace(0.41, 1.63, draw.choice((3, 4, 6))))
    dot = np.linspace(1.0, 2.0, len(x))
    name = f"<list method {seed}>"
    script = f"{text}\nx = np.array({x.tolist()})\nprint(f(x, 3))\nfrom autodiff import differentiable\nprint(" \
             "differentiable(f, mode='python')(x, 3))\n"
    module = types.ModuleType("list_methods")
    module_of(name, text, module.__dict__)
    f = module.f
    try:
        wanted = f(x, 3)
    except Exception as e:
        wanted = e
    try:
        found = differentiable(f, mode="python")(x, 3)
        if isinstance(wanted, Exception):
            return Outcome("failed", "no error", f"{found!r} for {wanted!r}"), script
        if not alike(plain(wanted), plain(found)):
            return Outcome("failed", "value", f"{found!r} for {wanted!r}"), script
        tangent = numbers(jvp(f, (x, 3), (dot, None), mode="python")[1])
    except InternalError as e:
        return Outcome("failed", "internal", str(e)), script
    except AutodiffError as e:
        return Outcome("ok" if isinstance(wanted, Exception) else "refused", e.problem, str(e)), script
    except Exception as e:
        if "changes its shape in the loop" in str(e):
            return Outcome("refused", "a list changes its length in a loop", ""), script
        same = isinstance(wanted, Exception) and isinstance(e, type(wanted))
        return Outcome("ok" if same else "failed", "error", f"{e!r} for {wanted!r}"), script
    finally:
        linecache.cache.pop(name, None)
    floats = [isinstance(v, float) for v in flat(wanted)]
    ahead, behind = (np.array(numbers(f(x + h * dot, 3))) for h in (1e-7, -1e-7))
    slopes = [d for d, on in zip((ahead - behind) / 2e-7, floats, strict=True) if on]
    if len(tangent) == len(floats) != len(slopes):
        slopes = (ahead - behind) / 2e-7
    if len(tangent) != len(slopes) or not np.allclose(tangent, slopes, rtol=1e-4, atol=1e-4):
        return Outcome("failed", "tangent", f"{tangent} for {list(slopes)}"), script
    return Outcome("ok", "", ""), script


def flat(value) -> list:
    return [y for v in value for y in flat(v)] if isinstance(value, (list, tuple)) else [value]
