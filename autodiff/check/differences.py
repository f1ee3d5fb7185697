"""Checking derivatives and rules against central differences."""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import itertools
import warnings

import numpy as np

from ..api import grad
from ..arguments.foreign import taken
from ..arguments.kinds import flatten, is_floating
from ..arguments.sparse import is_sparse
from ..calling.compiled import Compiled
from ..calling.tracebacks import entry
from ..operators.pushforwards import jvp
from ..operators.splits import vjp
from ..rules.stopping import stop_gradient
from ..transforms.language.errors import AutodiffError, TypeConflict
from ..transforms.language.markup import piece
from ..transforms.language.ops import is_inexact
from ..transforms.lower.containers.containers import items_of
from ..transforms.lower.numbers.conversions import dtype_of
from ..transforms.lower.table import lowers
from ..transforms.lower.values import Array, Sequence, is_number, leaves
from .localise import first_wrong

STEPS = (1e-4, 1e-5, 1e-6)
MODES = ("rev", "fwd")


class GradientMismatch(AutodiffError, AssertionError):
    """A derivative that disagrees with central differences, or forward mode that disagrees with reverse mode."""


@dataclasses.dataclass(frozen=True)
class GradientReport:
    """What `check_grads` measured: the largest relative error over the directions tried, and where it was."""

    worst: float
    argument: str
    direction: int
    what: str = "gradient"

    def _repr_html_(self) -> str:
        where = f" with respect to argument {self.argument}" if self.argument else ""
        return piece(f"largest relative error {self.worst:.1e}: the {self.what}{where}, along direction {self.direction}")


@entry
def check_grads(function, args, *, wrt=None, order: int = 1, modes=("rev",), directions: int = 3, tolerance: float = 1e-5,
                mode: str = "numba", seed: int = 0) -> GradientReport:
    """Compare derivatives of a function with central differences along random directions.

    function: returns numbers and arrays, in any structure; what is not float or complex is left out. args: tuple of its
        arguments. A random generator among them is copied for every evaluation, so that all draw the same numbers.
    wrt: names or positions (default: every argument that is or holds floats or complex numbers). Directions of the latter
        are complex. Other arguments need no derivative.
    order: 2 compares the Hessian's products too, of a random sum of the results: by reverse over reverse with "rev", by
        forward over reverse with "fwd".
    modes: "rev" for pullbacks, "fwd" for pushforwards; with both, also each against the other (the dot-product test).
    Steps 1e-4 to 1e-6, the best taken, and a complex step where the function takes complex numbers. Returns the worst error
    found. Raises GradientMismatch if a relative error exceeds `tolerance`, naming the worst component and the first
    statement whose derivative is wrong; ValueError for orders but 1 and 2 and for other modes.
    """
    if order not in (1, 2):
        raise ValueError(f"order must be 1 or 2, not {order}")
    if not modes or not set(modes) <= set(MODES):
        raise ValueError(f"modes must be some of {MODES}, not {modes!r}")
    plain = function.function if isinstance(function, Compiled) and function.kind != "map" else function
    args = tuple(taken(args))
    if wrt is None:
        wrt = tuple(k for k, a in enumerate(args) if any(map(is_floating, flatten(a))))
    positions = wrt if isinstance(wrt, tuple) else (wrt,)
    check = Check(plain, tuple(args), positions, mode, np.random.default_rng(seed))
    found = [check.first(modes, position, k) for position in positions for k in range(directions)]
    if order == 2:
        found += [check.second(which, k) for which in modes for k in range(directions)]
    worst = max((r for rs in found for r in rs), key=lambda r: r.worst if np.isfinite(r.worst) else np.inf,
                default=GradientReport(0.0, "", 0))
    if not worst.worst <= tolerance:
        where = f" with respect to argument {worst.argument}" if worst.argument else ""
        raise GradientMismatch(f"the {worst.what} of `{check.name}`{where} differs by {worst.worst:.1e} (relative)\n"
                               f"{check.component() if worst.what != 'Hessian' else ''}{check.suspects(tolerance)}", None,
                               f"look at the generated source: grad({check.name}).source")
    return worst


class Check:
    """One function at one point, with a random weight for each result: the loss is the weighted sum."""

    def __init__(self, function, args, positions, mode, generator):
        self.function, self.args, self.mode, self.generator = function, args, mode, generator
        self.name = getattr(function, "__name__", str(function))
        self.positions = [self.place(p) for p in positions]
        others = [k for k, a in enumerate(args) if any(map(is_floating, flatten(a))) and k not in self.positions]
        out, self.pullback = vjp(held(function, others) if others else function, *copy.deepcopy(args), mode=mode)
        if any(isinstance(value, np.random.Generator) for _, _, value in self.pullback._made.hidden):
            raise TypeConflict(f"`{self.name}` draws from a random generator outside, which goes on from call to call", None,
                               "pass the generator as an argument: every evaluation then draws the same from a copy of it")
        self.is_result = [is_floating(leaf) for leaf in flatten(out)]
        self.weights = [normal(generator, r) if np.shape(r) or np.iscomplexobj(r) else float(generator.uniform(0.5, 1.5))
                        for r in floats(out)]
        if len(self.weights) == 1 and isinstance(self.weights[0], float):
            self.weights = [1.0]
        self.bars = self.pullback(tuple(self.weights) if len(self.weights) > 1 else self.weights[0])

    @functools.cached_property
    def gradient(self):
        return grad(weighted(self.function, self.weights), wrt=tuple(self.positions), mode=self.mode)

    @functools.cached_property
    def product(self):
        """The Hessian's product with directions, which are its first argument: it is derived once for all of them."""
        return grad(projected(self.gradient), wrt=tuple(p + 1 for p in self.positions), mode=self.mode)

    def place(self, position) -> int:
        if isinstance(position, str):
            return list(inspect.signature(self.function).parameters).index(position)
        return position % len(self.args)

    def direction(self, position):
        """Random numbers in the places of the floats of an argument, None in those of other leaves."""
        return with_leaves(self.args[position], lambda leaf: normal(self.generator, leaf), lambda leaf: None)

    def loss(self, *args) -> float:
        return weighted_sum(self.function(*args), self.weights)

    def moved(self, steps: dict, h: complex) -> list:
        moved = list(copy.deepcopy(self.args))
        for position, d in steps.items():
            parts = iter(floats(d))
            moved[position] = with_leaves(moved[position], lambda leaf, parts=parts: leaf + h * next(parts))
        return moved

    def slopes(self, function, steps: dict):
        """Central differences along a direction, for each step."""
        for h in STEPS:
            yield (function(*self.moved(steps, h)) - function(*self.moved(steps, -h))) / (2.0 * h)

    def with_complex_step(self, slopes: list, steps: dict) -> list:
        """Differences, and the slope of a complex step where the function takes complex numbers and agrees with them.

        It has no cancellation, so it is exact to rounding: W. Squire and G. Trapp, SIAM Review 40 (1998), 110-112.
        """
        h = 1e-30
        if any(np.iscomplexobj(x) for x in (*self.weights, *flatten(self.args))):
            return slopes
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                out = self.function(*self.moved(steps, 1j * h))
            parts = [leaf for leaf, is_one in zip(flatten(out), self.is_result, strict=True) if is_one]
            slope = float(sum(np.sum(w * np.imag(r)) for w, r in zip(self.weights, parts, strict=True))) / h
        except Exception:                       # it does not take complex numbers
            return slopes
        return [*slopes, slope] if best(slope, slopes) < 1e-4 else slopes

    def first(self, modes, position, k):
        """Reports of one direction of one argument."""
        place = self.place(position)
        d = self.direction(place)
        slopes = self.with_complex_step(list(self.slopes(self.loss, {place: d})), {place: d})
        pulled = paired(self.bars[place], d)
        if "rev" in modes:
            yield GradientReport(best(pulled, slopes), str(position), k)
        if "fwd" in modes:
            tangents = tuple(d if j == place else None for j in range(len(self.args)))
            _, dots = jvp(self.function, copy.deepcopy(self.args), tangents, mode=self.mode)
            pushed = sum(map(inner, self.weights, floats(dots)))
            yield GradientReport(best(pushed, slopes), str(position), k, "tangent")
            if "rev" in modes:
                yield GradientReport(best(pushed, [pulled]), str(position), k, "dot product of tangent and gradient")

    def second(self, which, k):
        """Reports of one product of the Hessian, along a direction in all arguments."""
        v = {p: self.direction(p) for p in self.positions}
        u = {p: self.direction(p) for p in self.positions}
        def along(*args):
            return sum(paired(u[p], g) for p, g in zip(self.positions, self.gradient(*args), strict=True))
        if which == "fwd":
            tangents = tuple(v.get(j) for j in range(len(self.args)))
            _, dots = jvp(self.gradient, copy.deepcopy(self.args), tangents, mode=self.mode)
            found = sum(paired(u[p], d) for p, d in zip(self.positions, dots, strict=True))
        else:
            parts = self.product(tuple(floats([u[p] for p in self.positions])), *copy.deepcopy(self.args))
            found = sum(paired(v[p], h) for p, h in zip(self.positions, parts, strict=True))
        yield GradientReport(best(found, list(self.slopes(along, v))), "", k, "Hessian")

    def suspects(self, tolerance: float) -> str:
        """The statement whose derivative is wrong, or those that may be, as lines of a message."""
        tangents = tuple(self.direction(k) if k in self.positions else None for k in range(len(self.args)))
        try:
            found = first_wrong(self.function, list(self.args), tangents, max(tolerance, 1e-6))
        except AutodiffError:
            return ""
        return "".join(f"\n{suspect}" for suspect in found)

    def component(self) -> str:
        """The single component of the gradient that is most wrong."""
        found = (0.0, "")
        for position in self.positions:
            bars = [np.asarray(bar) for bar in floats(self.bars[position])]
            for number, bar in enumerate(bars):
                units = {"": 1.0} if bar.dtype.kind == "f" else {".real": 1.0, ".imag": 1j}
                part = f", part {number}" if len(bars) > 1 else ""
                for place, unit in itertools.product(np.ndindex(bar.shape), units):
                    ds = [np.zeros_like(b) for b in bars]
                    ds[number][place] = units[unit]
                    slope = next(self.slopes(self.loss, {position: ds}))
                    own = inner(ds[number], bar)
                    gap = float(abs(slope - own))
                    if gap > found[0]:
                        found = (gap, f"worst component: argument {position}{part}{list(place) or [0]}{unit}: gradient "
                                      f"{own:.6g}, difference {slope:.6g}")
        return found[1]


def normal(generator, like):
    """Random numbers in the shape of a number or array, complex if it is."""
    shape = np.shape(like)
    draw = lambda: generator.standard_normal(shape) if shape else float(generator.standard_normal())  # noqa: E731
    return draw() + 1j * draw() if np.iscomplexobj(like) else draw()


def inner(a, b) -> float:
    """The inner product of real vector spaces: of complex numbers, that of pairs of their parts."""
    return float(np.sum((np.conjugate(a) * b).real))


def paired(a, b) -> float:
    """The inner product of two structures, None standing for zeros."""
    return sum(map(inner, floats(a), floats(b)))


def with_leaves(value, change, other=lambda leaf: leaf):
    """A structure with `change(leaf)` in the places of its floats and `other(leaf)` in those of the rest."""
    inside = lambda v: with_leaves(v, change, other)  # noqa: E731
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(inside, value))
    if isinstance(value, (tuple, list)):
        return type(value)(map(inside, value))
    if isinstance(value, dict):
        items = copy.copy(value)
        items.update({k: inside(v) for k, v in value.items()})
        return items
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        made = copy.copy(value)
        for f in dataclasses.fields(value):
            object.__setattr__(made, f.name, inside(getattr(value, f.name)))
        return made
    if is_sparse(value):
        compressed = value.copy()
        compressed.data = inside(value.data)
        return compressed
    return change(value) if is_floating(value) else other(value)


def held(function, others):
    """`function`, without derivatives with respect to the arguments in the places `others`."""
    return lambda *args: function(*[stop_gradient(a) if k in others else a for k, a in enumerate(args)])


def weighted(function, weights):
    """The weighted sum of the float results of a function, as a function that can be differentiated."""
    return lambda *args: weighted_sum(function(*args), weights)


def weighted_sum(out, weights) -> float:
    """The sum of the inner products of the float numbers and arrays of a structure with weights."""
    return sum(map(inner, weights, floats(out)))


def contribution(weight, part):
    return np.sum(np.real(np.conjugate(weight) * part))


@lowers(weighted_sum)
def lower_weighted_sum(lo, out, weights):
    parts = [leaf for leaf in leaves(out) if (isinstance(leaf, Array) or is_number(leaf)) and is_inexact(dtype_of(lo, leaf))]
    terms = [lo.call_static(contribution, [w, part], {}) for w, part in zip(items_of(lo, weights), parts, strict=True)]
    return lo.call_static(sum, [Sequence(tuple(terms))], {})


def projected(gradient):
    """The sum of products of gradients and directions, as a function that can be differentiated."""
    return lambda directions, *args: weighted_sum(gradient(*args), directions)


def floats(out) -> list:
    """The float numbers and arrays of a structure."""
    return [leaf for leaf in flatten(out) if is_floating(leaf)]


def best(found: float, slopes) -> float:
    """The smallest relative distance of a slope from those given."""
    return min(abs(found - s) / max(1e-8, abs(s), abs(found)) for s in slopes)


def check_rule(function, points, *, tolerance: float = 1e-6) -> None:
    """Test the derivative rule of an elementwise function or of a function of arrays at `points` (tuples of arguments).

    The rule in force is used through `vjp`; raises GradientMismatch where it disagrees with central differences.
    """
    for args in points:
        args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
        positions = [k for k, a in enumerate(args) if is_floating(a)]
        check = Check(wrapper(function), args, positions, "python", np.random.default_rng(1))
        for k in check.positions:
            (report,) = check.first(("rev",), k, 0)
            if not report.worst <= tolerance:
                raise GradientMismatch(f"the rule of `{getattr(function, '__name__', function)}` is wrong for argument {k} "
                                       f"at {args}: relative error {report.worst:.1e}")


def wrapper(function):
    """A function that calls `function`, so that its rule is used and not its source."""
    return lambda *args: function(*args)


__all__ = ["GradientMismatch", "GradientReport", "check_grads", "check_rule"]
