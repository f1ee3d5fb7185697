"""Expressions with lists and tuples of every make, known and of run time, beside numbers and arrays: values as in Python."""

from __future__ import annotations

import linecache
import random
import types

import numpy as np

from autodiff import AutodiffError, InternalError, differentiable

from ..support import module_of
from .checks import Outcome

NUMBERS = ("[x[0], 2.0]", "sorted(x)", "list(x)", "[v * v for v in x]", "[0.5] * n", "[v for v in x if v > 1.5]",
           "x.tolist()", "grown(x)", "[x[1], 1.0, x[2]] * 2", "list(range(n))", "[1.0, x[0]] * n", "[]",
           "[3.0, 1.0, 2.0]", "list(x[1:])", "list(reversed(x))", "sorted([x[2], x[0]])", "list(map(abs, x))", "known")
TUPLES = ("(x[0], 2.0)", "(0.5,) * n", "(1.0, x[1]) * n", "()", "x.shape", "(3.0, 1.0, 2.0)", "tuple([x[0], x[2]])",
          "points[0]")
ROWS = ("list(X)", "X.tolist()", "[r for r in X]", "[(v, 1.0) for v in x]", "[[v, v * v] for v in x]",
        "[[x[0], 1.0], [2.0, x[1]]]", "[X[0], X[1]]", "[(x[0], 1), (x[1], 2)]", "[list(r) for r in X]",
        "[[1.0, x[0]]] * n", "points", "[r * 2.0 for r in X]")
OTHERS = ("2", "n", "2.0", "x[0]", "x", "X", "x.sum()", "True", "None", "np.int64(2)", "-1", "0", "len(x)", "1.5 * y")
BINARY = ("+", "+", "+", "*", "*", "*", "-", "/", "==", "==", "!=", "<", "<=", ">", ">=", "@", "**", "%", "in", "and",
          "or")
ITEMS = ("[0]", "[-1]", "[1:]", "[:2]", "[n - 1]", "[None]", "[0, 1]", "[[0, 1]]", "[x > 1.5]", "[::-1]", "[1.0]",
         "[True]")
CALLS = ("len({})", "sum({})", "max({})", "min({})", "sum({}, [])", "sorted({})", "isinstance({}, list)",
         "isinstance({}, tuple)", "isinstance({}, np.ndarray)", "type({}) is list", "hasattr({}, 'shape')", "abs({})",
         "(-{})", "max({}, default=1.5)", "list({})", "tuple({})", "np.array({})", "np.sum({})", "[i for i in {}]",
         "[2 * i for i in {}]", "{}.shape", "(not {})", "np.atleast_1d({})", "list(zip({0}, {0}))",
         "list(enumerate({}))", "any([i == i for i in {}])", "np.array({}) * 2", "list({}).copy()")

HEAD = '''import numpy as np

def grown(x):
    found = []
    for v in x:
        if v > 0.5:
            found.append(v)
    return found

def f(x, X, n, y, known, points):
    r = {}
    return r, isinstance(r, list), isinstance(r, tuple), isinstance(r, np.ndarray)
'''


def expression(draw: random.Random, depth: int) -> str:
    if depth == 0:
        pool = draw.choice((NUMBERS, NUMBERS, TUPLES, ROWS, OTHERS))
        return draw.choice(pool)
    kind = draw.random()
    if kind < 0.6:
        left = expression(draw, draw.randrange(depth))
        right = left if draw.random() < 0.1 else expression(draw, draw.randrange(depth))
        return f"({left} {draw.choice(BINARY)} {right})"
    inner = expression(draw, depth - 1)
    if kind < 0.75:
        return f"({inner}){draw.choice(ITEMS)}"
    return draw.choice(CALLS).format(f"({inner})")


def function(text: str, name: str):
    module = types.ModuleType("list_expressions")
    module_of(name, text, module.__dict__)
    return module.f


def plain(value):
    """Lists that begin with their kind for arrays, lists and tuples, floats for numbers."""
    if isinstance(value, np.ndarray):
        return ["array", value.shape, *value.ravel().tolist()] if value.ndim else value.item()
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(plain, value)]
    return value.item() if isinstance(value, np.generic) else value


def alike(a, b) -> bool:
    if isinstance(a, (list, tuple)) or isinstance(b, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(alike, a, b))
    if any(isinstance(v, (str, bool, type(None))) for v in (a, b)):
        return type(a) is type(b) and a == b
    return bool(np.isclose(a, b, equal_nan=True))


def attempt(seed: int) -> tuple[Outcome, str]:
    draw = random.Random(seed)
    text = HEAD.format(expression(draw, draw.choice((1, 1, 2, 2, 3))))
    name = f"<list expression {seed}>"
    script = f"{text}\nARGS = {ARGUMENTS}\nprint(f(*ARGS))\nfrom autodiff import differentiable\nprint(" \
             "differentiable(f, mode='python')(*ARGS))\n"
    f = function(text, name)
    try:
        with np.errstate(all="ignore"):
            wanted = f(*eval(ARGUMENTS))
    except Exception as e:
        wanted = e
    try:
        with np.errstate(all="ignore"):
            found = differentiable(f, mode="python")(*eval(ARGUMENTS))
    except InternalError as e:
        return Outcome("failed", "internal", str(e)), script
    except AutodiffError as e:
        return Outcome("ok" if isinstance(wanted, Exception) else "refused", type(e).__name__, str(e)), script
    except Exception as e:
        same = isinstance(wanted, Exception) and (type(wanted) is type(e) or isinstance(e, type(wanted)))
        return Outcome("ok" if same else "failed", "error", f"{e!r} for {wanted!r}"), script
    finally:
        linecache.cache.pop(name, None)
    if isinstance(wanted, Exception):
        return Outcome("failed", "no error", f"{found!r} for {wanted!r}"), script
    same = alike(plain(wanted), plain(found))
    return Outcome("ok" if same else "failed", "" if same else "value", f"{found!r} for {wanted!r}"), script


ARGUMENTS = "(np.array([3.0, 1.0, 2.0]), np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), 3, 2.0, [3.0, 1.0, 2.0], " \
            "[(1.0, 2.0), (3.0, 4.0)])"
