"""Random draws: the methods of `numpy.random.Generator`.

Laws that are moved, scaled or inverted distribution functions are drawn without parameters and then computed,
`loc + scale * rng.standard_normal(n)` for `rng.normal(loc, scale, n)`: NumPy does the same, so the numbers are those it
gives, and the derivative with respect to the parameters is that of the arithmetic (the pathwise or reparametrised
derivative). Other laws are drawn as they are, with parameters that must not depend on what is differentiated.

Source: L. Devroye, Non-Uniform Random Variate Generation, Springer 1986, chapters 1 and 2 (inversion, location, scale);
S. Mohamed et al., Monte Carlo Gradient Estimation in Machine Learning, JMLR 21 (2020), section 5.
"""

from __future__ import annotations

import operator
from contextlib import contextmanager

import numpy as np

from ..language.core import Call, Const, Ref, Var
from ..language.draws import Draw
from ..language.errors import ShapeMismatch, UnsupportedSyntax
from ..language.ops import DRAW
from .arrays import describe
from .creation import shape_argument
from .reductions import absent, is_true
from .table import lowers
from .values import Array, Buffer, Generator, Scalar, Sequence, Static, Transposed, Value, is_number

Law = np.random.Generator
OUTSIDE = "draw before the call and pass the numbers as an argument: loc + scale * draws has derivatives"
# Conditions on parameters: comparisons with constants that must not hold, or (with "not") must hold; NumPy's message.
BOUNDS = {
    "nonnegative": ((("lt", 0.0),), "{0} < 0"),
    "positive": ((("le", 0.0),), "{0} <= 0"),
    "rate": ((("not ge", 0.0),), "{0} < 0 or {0} is NaN"),
    "above one": ((("not gt", 1.0),), "{0} <= 1 or {0} is NaN"),
    "probability": ((("not ge", 0.0), ("not le", 1.0)), "{0} < 0, {0} > 1 or {0} is NaN"),
    "chance": ((("not gt", 0.0), ("not le", 1.0)), "{0} <= 0, {0} > 1 or {0} contains NaNs"),
    "below one": ((("not ge", 0.0), ("not lt", 1.0)), "{0} < 0, {0} >= 1 or {0} is NaN"),
}


class Draws:
    """The part of the lowering that draws."""

    def generator_method(self, owner: Generator, name: str, args, kwargs) -> Value:
        method = getattr(Law, name, None)
        if method is None:
            raise self.error(UnsupportedSyntax, f"a random generator has no method `{name}`")
        if method not in self.builtins:
            raise self.error(UnsupportedSyntax, f"`{name}` is not among the draws that a differentiated function can make",
                             OUTSIDE)
        return self.call_static(method, [owner, *args], kwargs)

    @contextmanager
    def no_draws(self, where: str, hint: str):
        """What is lowered meanwhile is evaluated at another time, or another number of times, than Python evaluates it."""
        self.undrawn.append((where, hint))
        try:
            yield
        finally:
            self.undrawn.pop()

    def draw(self, rng: Generator, law: str, shape=None, params=(), dtype="float64", options=(), called="",
             also=()) -> Value:
        """One draw of a law, or an array of them: by its own method, with a loop where parameters are arrays.

        params: numbers and arrays, whose shapes fit `shape`. called: the method of the user's. also: arrays that the result
        depends on besides.
        """
        if self.undrawn:
            where, hint = self.undrawn[-1]
            raise self.error(UnsupportedSyntax, f"`{called or law}` draws random numbers in {where}", hint)
        self.drawn += 1
        if shape == ():
            shape = None
        if any(isinstance(p, Array) and p.rank for p in params):
            wide = [self.broadcast_to(self.array(p), shape) for p in params]
            wide = [p if p.has_memory else self.force(p) for p in wide]
            made = Buffer(self.b.alloc("draw", dtype, shape))
            self.nest(shape, lambda index: self.store_element(made.arr, index, self.atom(self.draw(
                rng, law, None, [Scalar(p.element(self, index)) for p in wide], dtype, options, called, also))))
            return made
        atoms = tuple(map(self.atom, params))
        rest = tuple(Ref(self.force(a).arr) for a in also)
        what = Draw(called or law, len(atoms), None if shape is None else len(shape), tuple(options))
        if shape is None:
            out = Var("draw", dtype)
            self.b.facts.number(out)
            result: Value = Scalar(out, law != "integers")          # Python's own float or int, but for integers()
        else:
            out = self.b.alloc("draw", dtype, shape)
            result = Buffer(out)
        loc = self.b.loc if self.b.loc.line else self.frame.definition.loc(self.node)       # a lambda has no statements
        self.b.add(Call((out, rng.arr), DRAW + law, (Ref(rng.arr), *atoms, *(shape or ()), *rest), (what,), loc))
        return result

    def drawn_shape(self, size, *params):
        """The shape of a draw of this `size`; None for one number. ShapeMismatch if array parameters do not fit it."""
        shapes = [p.shape for p in params if isinstance(p, Array) and p.rank]
        if absent(size):
            return self.broadcast_shapes(shapes) if shapes else None
        shape = shape_argument(self, size)
        if shapes:
            joined = self.broadcast_shapes([shape, *shapes])
            message = f"the parameters do not broadcast to size {self.show_shape(shape)}"
            if len(joined) != len(shape):
                raise self.error(ShapeMismatch, message)
            for a, b in zip(joined, shape, strict=True):
                self.require_same(a, b, message)
        return shape

    def parameter_of(self, value, name: str, bound: str = "", dtype: str = "float64") -> Value:
        """A parameter of a law as a number or an array, after checking it as NumPy does."""
        if isinstance(value, Sequence):
            value = self.array(value)
        elif isinstance(value, Array) and value.is_list:
            value = self.force(value, copy=True)
        if isinstance(value, Array) and not value.rank:
            value = Scalar(self.atom(value))
        if not is_number(value) and not isinstance(value, Array):
            raise self.error(UnsupportedSyntax, f"`{name}` must be a number or an array, not {describe(value)}")
        if isinstance(value, Array):
            value = self.convert(value, dtype)
            value = value if value.has_memory else self.force(value)
            if bound:
                self.nest(value.shape, lambda index: self.check_of_law(value.element(self, index), name, bound))
            return value
        value = value if isinstance(value, Static) and dtype == "int64" else Static(float(value.value)) if isinstance(
            value, Static) else Scalar(self.atom(value, dtype))
        if bound:
            self.check_of_law(self.atom(value, dtype), name, bound)
        return value

    def check_of_law(self, atom, name: str, bound: str) -> None:
        conditions, message = BOUNDS[bound]
        for op, limit in conditions:
            holds = self.b.compare(op.removeprefix("not "), atom, Const(type_of(atom)(limit), atom.dtype))
            wanted = holds if op.startswith("not ") else self.b.let("not", holds, dtype="bool")
            self.guard(wanted, "ValueError", message.format(name))


def type_of(atom):
    return int if atom.dtype == "int64" else float


# ---- laws without parameters -------------------------------------------------------------------------------------
def plain_law(law: str):
    def lower(lo, rng, size=None, dtype=None, out=None, method=None):
        kind = lo.dtype_argument(dtype, "float64")
        options = [f"dtype=np.{kind}"] if kind != "float64" else []
        if law == "standard_exponential" and not absent(method) and method.value != "zig":
            options.append(f"method={method.value!r}")
        if kind != "float64" and absent(size) and absent(out):
            return Scalar(lo.atom(lo.draw(rng, law, None, (), kind, options), "float64"), True)
        return placed(lo, out, lambda shape: lo.draw(rng, law, shape, (), kind, options), size)
    lowers(getattr(Law, law))(lower)


def placed(lo, out, draw, size, *params) -> Value:
    """`draw(shape)`, put into the array `out` if there is one."""
    if absent(out):
        return draw(lo.drawn_shape(size, *params))
    target = lo.array(out)
    lo.assign(target, draw(target.shape if absent(size) else lo.drawn_shape(size, *params)))
    return out


for _law in ("random", "standard_normal", "standard_exponential"):
    plain_law(_law)


@lowers(Law.standard_cauchy)
def lower_standard_cauchy(lo, rng, size=None):
    return lo.draw(rng, "standard_cauchy", lo.drawn_shape(size))


# ---- laws that are moved and scaled ------------------------------------------------------------------------------
def is_static(value, number: float) -> bool:
    return isinstance(value, Static) and value.value == number


def moved(lo, loc, scale, drawn) -> Value:
    """loc + scale * drawn."""
    scaled = drawn if is_static(scale, 1.0) else lo.binary(operator.mul, scale, drawn)
    return scaled if is_static(loc, 0.0) else lo.binary(operator.add, loc, scaled)


def location_scale(name: str, law: str, names=("loc", "scale")):
    def lower(lo, rng, *args, **kwargs):
        loc, scale, size = bound_to(lo, name, (*names, "size"), (Static(0.0), Static(1.0), None), args, kwargs)
        loc, scale = lo.parameter_of(loc, names[0]), lo.parameter_of(scale, names[1], "nonnegative")
        return moved(lo, loc, scale, lo.draw(rng, law, lo.drawn_shape(size, loc, scale), called=name))
    lowers(getattr(Law, name))(lower)


def bound_to(lo, method: str, names, defaults, args, kwargs) -> list:
    """The arguments of a method by Python's rules; UnsupportedSyntax for others than `names`, or for too few."""
    given = dict(zip(names, args, strict=False))
    if len(args) > len(names) or set(kwargs) & set(given) or not set(kwargs) <= set(names):
        raise lo.error(UnsupportedSyntax, f"`{method}` takes the arguments {', '.join(names)}")
    given.update(kwargs)
    found = [given.get(n, d) for n, d in zip(names, defaults, strict=True)]
    missing = [n for n, f in zip(names, found, strict=True) if f is REQUIRED]
    if missing:
        raise lo.error(UnsupportedSyntax, f"`{method}` is missing the argument `{missing[0]}`")
    return found


REQUIRED = object()
for _name, _law in (("normal", "standard_normal"), ("laplace", "laplace"), ("logistic", "logistic"),
                    ("gumbel", "standard_gumbel")):
    location_scale(_name, _law)


@lowers(Law.uniform)
def lower_uniform(lo, rng, low=Static(0.0), high=Static(1.0), size=None):
    low, high = lo.parameter_of(low, "low"), lo.parameter_of(high, "high")
    gap = lo.binary(operator.sub, high, low)
    lo.parameter_of(gap, "high - low", "nonnegative")
    return moved(lo, low, gap, lo.draw(rng, "random", lo.drawn_shape(size, low, high), called="uniform"))


@lowers(Law.exponential)
def lower_exponential(lo, rng, scale=Static(1.0), size=None):
    scale = lo.parameter_of(scale, "scale", "nonnegative")
    drawn = lo.draw(rng, "standard_exponential", lo.drawn_shape(size, scale), called="exponential")
    return moved(lo, Static(0.0), scale, drawn)


@lowers(Law.rayleigh)
def lower_rayleigh(lo, rng, scale=Static(1.0), size=None):
    scale = lo.parameter_of(scale, "scale", "nonnegative")
    return moved(lo, Static(0.0), scale, lo.draw(rng, "rayleigh", lo.drawn_shape(size, scale)))


@lowers(Law.standard_gamma)
def lower_standard_gamma(lo, rng, shape, size=None, dtype=None, out=None):
    if lo.dtype_argument(dtype, "float64") != "float64":
        raise lo.error(UnsupportedSyntax, "`standard_gamma` draws float64 here", "convert it: .astype(np.float32)")
    shape = lo.parameter_of(shape, "shape", "nonnegative")
    return placed(lo, out, lambda s: lo.draw(rng, "standard_gamma", s, (shape,)), size, shape)


@lowers(Law.gamma)
def lower_gamma(lo, rng, shape, scale=Static(1.0), size=None):
    shape, scale = lo.parameter_of(shape, "shape", "nonnegative"), lo.parameter_of(scale, "scale", "nonnegative")
    return moved(lo, Static(0.0), scale, lo.draw(rng, "standard_gamma", lo.drawn_shape(size, shape, scale), (shape,),
                                                 called="gamma"))


# ---- other functions of draws without parameters -----------------------------------------------------------------
@lowers(Law.lognormal)
def lower_lognormal(lo, rng, mean=Static(0.0), sigma=Static(1.0), size=None):
    mean, sigma = lo.parameter_of(mean, "mean"), lo.parameter_of(sigma, "sigma", "nonnegative")
    drawn = lo.draw(rng, "standard_normal", lo.drawn_shape(size, mean, sigma), called="lognormal")
    return lo.elementwise("exp", moved(lo, mean, sigma, drawn))


@lowers(Law.weibull)
def lower_weibull(lo, rng, a, size=None):
    a = lo.parameter_of(a, "a", "nonnegative")
    drawn = lo.draw(rng, "standard_exponential", lo.drawn_shape(size, a), called="weibull")
    return lo.elementwise("pow", drawn, lo.binary(operator.truediv, Static(1.0), a))


@lowers(Law.pareto)
def lower_pareto(lo, rng, a, size=None):
    a = lo.parameter_of(a, "a", "positive")
    drawn = lo.draw(rng, "standard_exponential", lo.drawn_shape(size, a), called="pareto")
    return lo.elementwise("expm1", lo.binary(operator.truediv, drawn, a))


@lowers(Law.power)
def lower_power(lo, rng, a, size=None):
    a = lo.parameter_of(a, "a", "positive")
    drawn = lo.draw(rng, "standard_exponential", lo.drawn_shape(size, a), called="power")
    base = lo.elementwise("neg", lo.elementwise("expm1", lo.elementwise("neg", drawn)))
    return lo.elementwise("pow", base, lo.binary(operator.truediv, Static(1.0), a))


def triangle(left, mode, right, u):
    """The inverse distribution function of the triangular law, as NumPy computes it."""
    base = right - left
    if u <= (mode - left) / base:
        return left + np.sqrt(u * ((mode - left) * base))
    return right - np.sqrt((1.0 - u) * ((right - mode) * base))


@lowers(Law.triangular)
def lower_triangular(lo, rng, left, mode, right, size=None):
    parts = [lo.parameter_of(p, n) for p, n in zip((left, mode, right), ("left", "mode", "right"), strict=True)]
    shape = lo.drawn_shape(size, *parts)
    for a, b, op, message in ((0, 1, "le", "left > mode"), (1, 2, "le", "mode > right"), (0, 2, "lt", "left == right")):
        def check(atoms, op=op, message=message):
            lo.guard(lo.b.compare(op, *atoms), "ValueError", message)
        pair = [lo.array(parts[a]), lo.array(parts[b])]
        common = lo.broadcast_shapes([p.shape for p in pair])
        wide = [lo.broadcast_to(p, common) for p in pair]
        lo.nest(common, lambda index, wide=wide, check=check: check([p.element(lo, index) for p in wide]))
    drawn = lo.draw(rng, "random", shape, called="triangular")
    one = lambda values: lo.call_python(triangle, values, {})  # noqa: E731
    if shape in (None, ()):
        return one([*parts, drawn])
    return lo.force(lo.map_arrays(lambda lo, atoms: lo.atom(one([Scalar(a) for a in atoms])), [*parts, drawn], "float64"))


@lowers(Law.multivariate_normal)
def lower_multivariate_normal(lo, rng, mean, cov, size=None, check_valid=None, tol=None, method=Static("svd")):
    if not (isinstance(method, Static) and method.value == "cholesky"):
        raise lo.error(UnsupportedSyntax, "`multivariate_normal` is supported with method=\"cholesky\" alone",
                       "say so: the default factors the covariance in a way that has no derivative where eigenvalues meet")
    mean, cov = lo.parameter_of(mean, "mean"), lo.array(cov)
    lo.require_same(mean.shape[0], cov.shape[0], "mean and cov must have same length")
    factor = lo.call_static(np.linalg.cholesky, [cov], {})
    lead = () if absent(size) else shape_argument(lo, size)
    drawn = lo.draw(rng, "standard_normal", (*lead, mean.shape[0]), called="multivariate_normal")
    return lo.binary(operator.add, mean, lo.call_static(np.matmul, [drawn, Transposed(factor)], {}))


# ---- laws drawn as they are --------------------------------------------------------------------------------------
def native(law: str, dtype: str = "float64", **bounds: str):
    """A law whose parameters have these bounds; one that begins with "int " is an integer."""
    names = tuple(bounds)

    def lower(lo, rng, *args, **kwargs):
        *params, size = bound_to(lo, law, (*names, "size"), (*[REQUIRED] * len(names), None), args, kwargs)
        checked = [lo.parameter_of(p, n, b.removeprefix("int "), "int64" if b.startswith("int ") else "float64")
                   for p, (n, b) in zip(params, bounds.items(), strict=True)]
        return lo.draw(rng, law, lo.drawn_shape(size, *checked), checked, dtype)
    lowers(getattr(Law, law))(lower)


native("beta", a="positive", b="positive")
native("chisquare", df="positive")
native("noncentral_chisquare", df="positive", nonc="nonnegative")
native("f", dfnum="positive", dfden="positive")
native("noncentral_f", dfnum="positive", dfden="positive", nonc="nonnegative")
native("standard_t", df="positive")
native("wald", mean="positive", scale="positive")
native("poisson", "int64", lam="rate")
native("binomial", "int64", n="int nonnegative", p="probability")
native("negative_binomial", "int64", n="positive", p="chance")
native("geometric", "int64", p="chance")
native("logseries", "int64", p="below one")
native("zipf", "int64", a="above one")


@lowers(Law.integers)
def lower_integers(lo, rng, low, high=None, size=None, dtype=None, endpoint=Static(False)):
    if lo.dtype_argument(dtype, "int64") != "int64" or not (absent(dtype) or np.dtype(dtype.value) == np.int64):
        raise lo.error(UnsupportedSyntax, "`integers` draws int64 here: narrower types draw in another way",
                       "leave dtype= out, and convert what is drawn")
    if absent(high):
        low, high = Static(0), low
    return integers_of(lo, rng, low, high, size, is_true(endpoint), "integers")


def integers_of(lo, rng, low, high, size, closed: bool, called: str) -> Value:
    for value in (low, high):
        if lo.dtype_of(lo.array(value)) != "int64":
            raise lo.error(UnsupportedSyntax, f"`{called}` needs integers as its limits", "convert them: int(n)")
    low, high = lo.parameter_of(low, "low", dtype="int64"), lo.parameter_of(high, "high", dtype="int64")
    shape = lo.drawn_shape(size, low, high)
    message = "low > high" if closed else "low >= high"
    pair = [lo.array(low), lo.array(high)]
    common = lo.broadcast_shapes([p.shape for p in pair])
    wide = [lo.broadcast_to(p, common) for p in pair]
    op = "le" if closed else "lt"
    lo.nest(common, lambda index: lo.guard(lo.b.compare(op, *(p.element(lo, index) for p in wide)), "ValueError", message))
    return lo.draw(rng, "integers", shape, (low, high), "int64", ["endpoint=True"] if closed else [], called)


# ---- permutations and choices ------------------------------------------------------------------------------------
def order_of(lo, rng, count, called: str) -> Buffer:
    """The numbers below `count` in random order."""
    return lo.draw(rng, "permutation", (count,), (), "int64", (), called)


@lowers(Law.permutation)
def lower_permutation(lo, rng, x, axis=Static(0)):
    if is_number(x):
        return order_of(lo, rng, lo.atom(x, "int64"), "permutation")
    a = lo.array(x)
    k = lo.static_int(axis, "axis")
    return lo.call_static(np.take, [a, order_of(lo, rng, a.shape[k], "permutation")], {"axis": Static(k % a.rank)})


@lowers(Law.shuffle)
def lower_shuffle(lo, rng, x, axis=Static(0)):
    if not isinstance(x, Array) or x.is_list:
        raise lo.error(UnsupportedSyntax, f"`shuffle` of {describe(x)} is not supported", "shuffle an array, or use "
                       "rng.permutation(n) for the order")
    lo.give_memory(x)
    k = lo.static_int(axis, "axis")
    order = order_of(lo, rng, x.shape[k], "shuffle")
    lo.assign(x, lo.force(lo.call_static(np.take, [x, order], {"axis": Static(k % x.rank)}), copy=True))
    return Static(None)


@lowers(Law.choice)
def lower_choice(lo, rng, a, size=None, replace=Static(True), p=None, axis=Static(0), shuffle=None):
    if not is_true(replace):
        raise lo.error(UnsupportedSyntax, "`choice` without replacement is not supported",
                       "take the first of a random order: rng.permutation(n)[:k]")
    source = None if is_number(a) else lo.array(a)
    k = lo.static_int(axis, "axis")
    count = Scalar(source.shape[k]) if source is not None else a
    lo.guard(lo.b.compare("gt", lo.atom(count, "int64"), Const(0, "int64")), "ValueError",
             "a must be a positive integer unless no samples are taken")
    if absent(p):
        chosen = integers_of(lo, rng, Static(0), count, size, False, "choice")
    else:
        chosen = weighted_choice(lo, rng, lo.atom(count, "int64"), p, size)
    if source is None:
        return chosen
    return lo.call_static(np.take, [source, chosen], {"axis": Static(k % source.rank)})


def weighted_choice(lo, rng, count, p, size) -> Value:
    """Positions with probabilities `p`, by inversion of their sums."""
    p = lo.parameter_of(p, "p", "rate")
    lo.require_same(p.shape[0], count, "a and p must have same size")
    gap = lo.elementwise("abs", lo.binary(operator.sub, lo.call_static(np.sum, [p], {}), Static(1.0)))
    lo.guard(lo.b.compare("le", lo.atom(gap), Const(1.5e-8, "float64")), "ValueError", "Probabilities do not sum to 1")
    sums = lo.call_static(np.cumsum, [p], {})
    sums = lo.force(lo.binary(operator.truediv, sums, Scalar(lo.force(sums).element(lo, (lo.b.isub(count, 1),)))))
    u = lo.draw(rng, "random", lo.drawn_shape(size), called="choice", also=(p,))
    return lo.call_static(np.searchsorted, [sums, u, Static("right")], {})


__all__ = ["Draws"]
