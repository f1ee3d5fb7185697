"""Derivatives against central differences."""

from __future__ import annotations

import ast
import builtins
import copy
import dataclasses
import linecache
import random

import numpy as np
import pytest

import autodiff
from autodiff.runtime.machine_code import store

STEPS = (1e-4, 1e-5, 1e-6)


def module_of(name: str, text: str, space: dict | None = None) -> dict:
    """What a text defines, as a file of this name would. space: the names that it sees, which it adds to."""
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space = {} if space is None else space
    exec(compile(text, name, "exec"), space)
    return space


def from_text(name: str, text: str):
    """The function `f` that a text defines."""
    return module_of(name, text)["f"]


def outcome(f, *args):
    """What a call gives, or the error that it raises."""
    try:
        with np.errstate(all="ignore"):
            return f(*args)
    except Exception as e:
        return e


def number_or_name(f, *args):
    """The number that a call gives, or the class's name of the error that it raises; "refused" for this package's own."""
    found = outcome(lambda: float(f(*args)))
    if isinstance(found, autodiff.AutodiffError):
        return "refused"
    return type(found).__name__ if isinstance(found, Exception) else found


class Collected(list):
    """Decorates functions: those that a file's tests run, in order."""

    def __call__(self, f):
        self.append(f)
        return f


def moved(args, position, direction, h):
    """A copy of the arguments with one moved along a direction."""
    out = list(copy.deepcopy(args))
    out[position] = out[position] + h * direction
    return out


def slopes(function, args, position, direction):
    """Central differences of a scalar function along a direction, for several steps."""
    for h in STEPS:
        up, down = (function(*moved(args, position, direction, s)) for s in (h, -h))
        yield float(up - down) / (2.0 * h)


def assert_slope(found, function, args, position, direction, tolerance=2e-6):
    """`found` agrees with the best of the central differences."""
    error = min(abs(found - s) / max(1e-3, abs(s), abs(found)) for s in slopes(function, args, position, direction))
    assert error < tolerance, f"argument {position}: {found} differs from differences by {error:.1e}"


def direction_like(x, seed=0):
    generator = np.random.default_rng(seed)
    return generator.standard_normal(np.shape(x)) if np.shape(x) else 1.0


def assert_gradient(function, args, wrt, mode, tolerance=2e-6):
    """Value equal to NumPy's, arguments untouched, gradients of the right kind and equal to differences; returns both."""
    expected = function(*copy.deepcopy(args))
    given = copy.deepcopy(args)
    value, gradients = autodiff.value_and_grad(function, wrt=wrt, mode=mode, debug=True)(*given)
    np.testing.assert_allclose(value, expected, rtol=1e-10)
    for before, after in zip(args, given, strict=True):
        np.testing.assert_array_equal(before, after)
    for position, gradient in zip(wrt, gradients, strict=True):
        assert np.shape(gradient) == np.shape(args[position])
        assert np.asarray(gradient).dtype == np.asarray(args[position]).dtype
        for seed in (0, 1):
            d = direction_like(args[position], seed)
            if np.iscomplexobj(gradient):
                d = d + 1j * direction_like(args[position], seed + 2)
            assert_slope(float(np.sum((np.conj(gradient) * d).real)), function, args, position, d, tolerance)
    return value, gradients


def plain(value):
    """A structure as nested tuples of classes and numbers."""
    if dataclasses.is_dataclass(value):
        return type(value), tuple(plain(getattr(value, f.name)) for f in dataclasses.fields(value))
    if isinstance(value, dict):
        return dict, tuple((k, plain(v)) for k, v in value.items())
    if isinstance(value, (tuple, list)):
        return type(value), tuple(map(plain, value))
    if value is None or isinstance(value, str):
        return value
    return type(value), np.asarray(value).dtype, np.asarray(value).tolist()


class OutOfPlace(Exception):
    """A subscript of generated code that is below 0, or beyond its axis."""


def place(array, index):
    """A subscript, if it lies in its axes."""
    for size, i in zip(np.shape(array), index if isinstance(index, tuple) else (index,), strict=False):
        if isinstance(i, int | np.integer) and not 0 <= i < size:
            raise OutOfPlace(f"{i} of {size}")
    return index


class Subscripts(ast.NodeTransformer):
    """Asks `place` about each subscript without slices, by a name that no generated code has."""

    def visit_Subscript(self, node):
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and not any(isinstance(n, ast.Slice) for n in ast.walk(node.slice)):
            node.slice = ast.Call(ast.Name("__place", ast.Load()), [ast.Name(node.value.id, ast.Load()), node.slice], [])
        return node


def with_places_checked(monkeypatch) -> None:
    """Derivatives in plain Python raise `OutOfPlace` where NumPy counts from the end, and compiled code goes beyond."""
    def checked(source, *more):
        return compile(ast.fix_missing_locations(Subscripts().visit(ast.parse(source))), *more)
    monkeypatch.setattr(store, "compile", checked, raising=False)
    monkeypatch.setattr(builtins, "__place", place, raising=False)


def nothing_given(monkeypatch) -> None:
    """Memory that nobody has written to holds nan."""
    empty = np.empty

    def made(shape, dtype=float, *more, **options):
        array = empty(shape, dtype, *more, **options)
        if array.dtype.kind == "f":
            array.fill(np.nan)
        return array
    monkeypatch.setattr(np, "empty", made)


def some_positions(seed: int, count: int) -> tuple[int, ...]:
    """Arguments to differentiate by: all of `count`, or some. What one gradient needs, another may not."""
    r = random.Random(seed)
    return tuple(range(count)) if r.random() < 0.4 else tuple(sorted(r.sample(range(count), r.randint(1, count))))


def random_tests(differs, seeds: int, compiled: tuple, unwritten: bool = False) -> tuple:
    """Two tests of what `differs(seed, mode)` says is wrong with a random program: of so many seeds in plain Python, where
    subscripts are checked, in four parts, and of a few compiled ones. These are other seeds, as the store holds the texts.

    unwritten: whether memory that nobody has written to holds nan.
    """
    @pytest.mark.filterwarnings("ignore:the gradient of")
    @pytest.mark.parametrize("start", range(0, seeds, seeds // 4))
    def in_python(start, monkeypatch):
        if unwritten:
            nothing_given(monkeypatch)
        with_places_checked(monkeypatch)
        for seed in range(start, start + seeds // 4):
            assert not (wrong := differs(seed, "python")), wrong

    @pytest.mark.parametrize("seed", compiled)
    def in_numba(seed):
        assert not (wrong := differs(seed, "numba")), wrong
    return in_python, in_numba


def beside_python(f, gradient, args, more=(), errors=(IndexError, ValueError), wrt=None) -> str:
    """What is wrong with the value and the gradient of a function beside Python, which runs it; "" if nothing is.

    gradient: `value_and_grad` by the positions `wrt` of `args`, arrays and numbers, or by all; more: further arguments;
    errors: either may raise these.
    """
    wrt = range(len(args)) if wrt is None else wrt

    def given():
        return [*(a.copy() for a in args), *more]
    value, found = outcome(f, *given()), outcome(gradient, *given())
    if isinstance(value, Exception) or isinstance(found, Exception):
        return "" if isinstance(value, errors) and isinstance(found, errors) else f"{found} for {value}"
    r = np.random.default_rng(0)
    direction = [r.standard_normal(np.shape(a)) * (k in wrt) for k, a in enumerate(args)]
    ends = [f(*(a + h * d for a, d in zip(args, direction, strict=True)), *more) for h in (1e-6, -1e-6)]
    slope = sum(np.sum(g * direction[k]) for g, k in zip(found[1], wrt, strict=True))
    expected = (ends[0] - ends[1]) / 2e-6
    right = np.allclose(found[0], value, rtol=1e-9) and np.allclose(slope, expected, rtol=2e-4, atol=2e-4)
    return "" if right else f"{found[0]}, {slope} for {value}, {expected}"


def program_beside_python(text: str, seed: int, mode: str, shapes, errors=(IndexError,)) -> str:
    """The same of the function `f` of a text, by some of its arguments: arrays of each of these shapes, from 0.2 to 0.9."""
    wrt = some_positions(seed, len(shapes[0]))
    f, gradient = from_text("f", text), autodiff.value_and_grad(from_text("f", text), wrt=wrt, mode=mode)
    for given in shapes:
        rng = np.random.default_rng(seed)
        if wrong := beside_python(f, gradient, [np.asarray(rng.uniform(0.2, 0.9, s)) for s in given], (), errors, wrt):
            return f"{text}\n{given}: {wrong}"
    return ""
