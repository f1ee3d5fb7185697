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
import types
from contextlib import contextmanager

import numpy as np

from ...language.build import located
from ...language.core import Arr, Const, Ref, Var
from ...language.draws import Draw
from ...language.errors import ShapeMismatch, UnsupportedSyntax
from ...language.ops import DRAW
from ..arrays.broadcasting import broadcast_shapes, broadcast_to, convert, map_arrays, require_same
from ..arrays.loop_nests import nest
from ..arrays.memory import force, give_memory, store_element
from ..arrays.writing import assign
from ..checks import guard, show_shape
from ..numbers.conversions import dtype_of, static_int
from ..state import Lowering
from ..structures import describe
from ..table import lowers
from ..values import Array, Buffer, Generator, Scalar, Sequence, Static, Transposed, Value, is_number
from .creation import shape_argument
from .reductions import absent, is_true

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


def generator_method(lo: Lowering, owner: Generator, name: str, args, kwargs) -> Value:
    method = getattr(Law, name, None)
    if method is None:
        raise lo.error(UnsupportedSyntax, f"a random generator has no method `{name}`")
    if method not in lo.builtins:
        raise lo.error(UnsupportedSyntax, f"`{name}` is not among the draws that a differentiated function can make",
                       OUTSIDE)
    return lo.call_static(method, [owner, *args], kwargs)


@contextmanager
def no_draws(lo: Lowering, where: str, hint: str):
    """What is lowered meanwhile is evaluated at another time, or another number of times, than Python evaluates it."""
    lo.undrawn.append((where, hint))
    try:
        yield
    finally:
        lo.undrawn.pop()


def draw(lo: Lowering, rng: Generator, law: str, shape=None, params=(), dtype="float64", options=(), called="",
         also=()) -> Value:
    """One draw of a law, or an array of them: by its own method, with a loop where parameters are arrays.

    params: numbers and arrays, whose shapes fit `shape`. called: the method of the user's. also: arrays that the result
    depends on besides.
    """
    if lo.undrawn:
        where, hint = lo.undrawn[-1]
        raise lo.error(UnsupportedSyntax, f"`{called or law}` draws random numbers in {where}", hint)
    lo.drawn += 1
    if shape == ():
        shape = None
    if any(isinstance(p, Array) and p.rank for p in params):
        wide = [broadcast_to(lo, lo.array(p), shape) for p in params]
        wide = [p if p.has_memory else force(lo, p) for p in wide]
        made = Buffer(lo.b.alloc("draw", dtype, shape))
        nest(lo, shape, lambda index: store_element(lo, made.arr, index, lo.atom(draw(lo,
            rng, law, None, [Scalar(p.element(lo, index)) for p in wide], dtype, options, called, also))))
        return made
    atoms = tuple(map(lo.atom, params))
    rest = tuple(Ref(force(lo, a).arr) for a in also)
    what = Draw(called or law, len(atoms), None if shape is None else len(shape), tuple(options))
    if shape is None:
        out: Var | Arr = (number := Var("draw", dtype))
        lo.b.facts.number(number)
        result: Value = Scalar(number, law != "integers")          # Python's own float or int, but for integers()
    else:
        out = memory = lo.b.alloc("draw", dtype, shape)
        result = Buffer(memory)
    loc = lo.b.loc if lo.b.loc.line else lo.frame.definition.loc(lo.node)       # a lambda has no statements
    with located(lo.b, loc):
        lo.b.call((out, rng.arr), DRAW + law, (Ref(rng.arr), *atoms, *(shape or ()), *rest), (what,))
    return result


def drawn_shape(lo: Lowering, size, *params):
    """The shape of a draw of this `size`; None for one number. ShapeMismatch if array parameters do not fit it."""
    shapes = [p.shape for p in params if isinstance(p, Array) and p.rank]
    if absent(size):
        return broadcast_shapes(lo, shapes) if shapes else None
    shape = shape_argument(lo, size)
    if shapes:
        joined = broadcast_shapes(lo, [shape, *shapes])
        message = f"the parameters do not broadcast to size {show_shape(lo, shape)}"
        if len(joined) != len(shape):
            raise lo.error(ShapeMismatch, message)
        for a, b in zip(joined, shape, strict=True):
            require_same(lo, a, b, message)
    return shape


def parameter_of(lo: Lowering, value, name: str, bound: str = "", dtype: str = "float64") -> Value:
    """A parameter of a law as a number or an array, after checking it as NumPy does."""
    if isinstance(value, Sequence):
        value = lo.array(value)
    elif isinstance(value, Array) and value.is_list:
        value = force(lo, value, copy=True)
    if isinstance(value, Array) and not value.rank:
        value = Scalar(lo.atom(value))
    if not is_number(value) and not isinstance(value, Array):
        raise lo.error(UnsupportedSyntax, f"`{name}` must be a number or an array, not {describe(value)}")
    if isinstance(value, Array):
        value = convert(lo, value, dtype)
        value = value if value.has_memory else force(lo, value)
        if bound:
            nest(lo, value.shape, lambda index: check_of_law(lo, value.element(lo, index), name, bound))
        return value
    value = value if isinstance(value, Static) and dtype == "int64" else Static(float(value.value)) if isinstance(
        value, Static) else Scalar(lo.atom(value, dtype))
    if bound:
        check_of_law(lo, lo.atom(value, dtype), name, bound)
    return value


def check_of_law(lo: Lowering, atom, name: str, bound: str) -> None:
    conditions, message = BOUNDS[bound]
    for op, limit in conditions:
        holds = lo.b.compare(op.removeprefix("not "), atom, Const(type_of(atom)(limit), atom.dtype))
        wanted = holds if op.startswith("not ") else lo.b.let("not", holds, dtype="bool")
        guard(lo, wanted, "ValueError", message.format(name))


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
            return Scalar(lo.atom(draw(lo, rng, law, None, (), kind, options), "float64"), True)
        return placed(lo, out, lambda shape: draw(lo, rng, law, shape, (), kind, options), size)
    lowers(getattr(Law, law))(lower)


def placed(lo, out, draw, size, *params) -> Value:
    """`draw(shape)`, put into the array `out` if there is one."""
    if absent(out):
        return draw(drawn_shape(lo, size, *params))
    target = lo.array(out)
    assign(lo, target, draw(target.shape if absent(size) else drawn_shape(lo, size, *params)))
    return out


for _law in ("random", "standard_normal", "standard_exponential"):
    plain_law(_law)


@lowers(Law.standard_cauchy)
def lower_standard_cauchy(lo, rng, size=None):
    return draw(lo, rng, "standard_cauchy", drawn_shape(lo, size))


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
        loc, scale = parameter_of(lo, loc, names[0]), parameter_of(lo, scale, names[1], "nonnegative")
        return moved(lo, loc, scale, draw(lo, rng, law, drawn_shape(lo, size, loc, scale), called=name))
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
    low, high = parameter_of(lo, low, "low"), parameter_of(lo, high, "high")
    gap = lo.binary(operator.sub, high, low)
    parameter_of(lo, gap, "high - low", "nonnegative")
    return moved(lo, low, gap, draw(lo, rng, "random", drawn_shape(lo, size, low, high), called="uniform"))


@lowers(Law.exponential)
def lower_exponential(lo, rng, scale=Static(1.0), size=None):
    scale = parameter_of(lo, scale, "scale", "nonnegative")
    drawn = draw(lo, rng, "standard_exponential", drawn_shape(lo, size, scale), called="exponential")
    return moved(lo, Static(0.0), scale, drawn)


@lowers(Law.rayleigh)
def lower_rayleigh(lo, rng, scale=Static(1.0), size=None):
    scale = parameter_of(lo, scale, "scale", "nonnegative")
    return moved(lo, Static(0.0), scale, draw(lo, rng, "rayleigh", drawn_shape(lo, size, scale)))


@lowers(Law.standard_gamma)
def lower_standard_gamma(lo, rng, shape, size=None, dtype=None, out=None):
    if lo.dtype_argument(dtype, "float64") != "float64":
        raise lo.error(UnsupportedSyntax, "`standard_gamma` draws float64 here", "convert it: .astype(np.float32)")
    shape = parameter_of(lo, shape, "shape", "nonnegative")
    return placed(lo, out, lambda s: draw(lo, rng, "standard_gamma", s, (shape,)), size, shape)


@lowers(Law.gamma)
def lower_gamma(lo, rng, shape, scale=Static(1.0), size=None):
    shape, scale = parameter_of(lo, shape, "shape", "nonnegative"), parameter_of(lo, scale, "scale", "nonnegative")
    return moved(lo, Static(0.0), scale, draw(lo, rng, "standard_gamma", drawn_shape(lo, size, shape, scale), (shape,),
                                              called="gamma"))


# ---- other functions of draws without parameters -----------------------------------------------------------------
@lowers(Law.lognormal)
def lower_lognormal(lo, rng, mean=Static(0.0), sigma=Static(1.0), size=None):
    mean, sigma = parameter_of(lo, mean, "mean"), parameter_of(lo, sigma, "sigma", "nonnegative")
    drawn = draw(lo, rng, "standard_normal", drawn_shape(lo, size, mean, sigma), called="lognormal")
    return lo.elementwise("exp", moved(lo, mean, sigma, drawn))


@lowers(Law.weibull)
def lower_weibull(lo, rng, a, size=None):
    a = parameter_of(lo, a, "a", "nonnegative")
    drawn = draw(lo, rng, "standard_exponential", drawn_shape(lo, size, a), called="weibull")
    return lo.elementwise("pow", drawn, lo.binary(operator.truediv, Static(1.0), a))


@lowers(Law.pareto)
def lower_pareto(lo, rng, a, size=None):
    a = parameter_of(lo, a, "a", "positive")
    drawn = draw(lo, rng, "standard_exponential", drawn_shape(lo, size, a), called="pareto")
    return lo.elementwise("expm1", lo.binary(operator.truediv, drawn, a))


@lowers(Law.power)
def lower_power(lo, rng, a, size=None):
    a = parameter_of(lo, a, "a", "positive")
    drawn = draw(lo, rng, "standard_exponential", drawn_shape(lo, size, a), called="power")
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
    parts = [parameter_of(lo, p, n) for p, n in zip((left, mode, right), ("left", "mode", "right"), strict=True)]
    shape = drawn_shape(lo, size, *parts)
    for a, b, op, message in ((0, 1, "le", "left > mode"), (1, 2, "le", "mode > right"), (0, 2, "lt", "left == right")):
        def check(atoms, op=op, message=message):
            guard(lo, lo.b.compare(op, *atoms), "ValueError", message)
        pair = [lo.array(parts[a]), lo.array(parts[b])]
        common = broadcast_shapes(lo, [p.shape for p in pair])
        wide = [broadcast_to(lo, p, common) for p in pair]
        nest(lo, common, lambda index, wide=wide, check=check: check([p.element(lo, index) for p in wide]))
    drawn = draw(lo, rng, "random", shape, called="triangular")
    one = lambda values: lo.call_python(triangle, values, {})  # noqa: E731
    if shape in (None, ()):
        return one([*parts, drawn])
    return force(lo, map_arrays(lo, lambda lo, atoms: lo.atom(one([Scalar(a) for a in atoms])), [*parts, drawn], "float64"))


@lowers(Law.multivariate_normal)
def lower_multivariate_normal(lo, rng, mean, cov, size=None, check_valid=None, tol=None, method=Static("svd")):
    if not (isinstance(method, Static) and method.value == "cholesky"):
        raise lo.error(UnsupportedSyntax, "`multivariate_normal` is supported with method=\"cholesky\" alone",
                       "say so: the default factors the covariance in a way that has no derivative where eigenvalues meet")
    mean, cov = parameter_of(lo, mean, "mean"), lo.array(cov)
    require_same(lo, mean.shape[0], cov.shape[0], "mean and cov must have same length")
    factor = lo.call_static(np.linalg.cholesky, [cov], {})
    lead = () if absent(size) else shape_argument(lo, size)
    drawn = draw(lo, rng, "standard_normal", (*lead, mean.shape[0]), called="multivariate_normal")
    return lo.binary(operator.add, mean, lo.call_static(np.matmul, [drawn, Transposed(factor)], {}))


# ---- laws drawn as they are --------------------------------------------------------------------------------------
def native(law: str, dtype: str = "float64", **bounds: str):
    """A law whose parameters have these bounds; one that begins with "int " is an integer."""
    names = tuple(bounds)

    def lower(lo, rng, *args, **kwargs):
        *params, size = bound_to(lo, law, (*names, "size"), (*[REQUIRED] * len(names), None), args, kwargs)
        checked = [parameter_of(lo, p, n, b.removeprefix("int "), "int64" if b.startswith("int ") else "float64")
                   for p, (n, b) in zip(params, bounds.items(), strict=True)]
        return draw(lo, rng, law, drawn_shape(lo, size, *checked), checked, dtype)
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
        if dtype_of(lo, lo.array(value)) != "int64":
            raise lo.error(UnsupportedSyntax, f"`{called}` needs integers as its limits", "convert them: int(n)")
    low, high = parameter_of(lo, low, "low", dtype="int64"), parameter_of(lo, high, "high", dtype="int64")
    shape = drawn_shape(lo, size, low, high)
    message = "low > high" if closed else "low >= high"
    pair = [lo.array(low), lo.array(high)]
    common = broadcast_shapes(lo, [p.shape for p in pair])
    wide = [broadcast_to(lo, p, common) for p in pair]
    op = "le" if closed else "lt"
    nest(lo, common, lambda index: guard(lo, lo.b.compare(op, *(p.element(lo, index) for p in wide)), "ValueError", message))
    return draw(lo, rng, "integers", shape, (low, high), "int64", ["endpoint=True"] if closed else [], called)


# ---- permutations and choices ------------------------------------------------------------------------------------
def order_of(lo, rng, count, called: str) -> Value:
    """The numbers below `count` in random order."""
    return draw(lo, rng, "permutation", (count,), (), "int64", (), called)


@lowers(Law.permutation)
def lower_permutation(lo, rng, x, axis=Static(0)):
    if is_number(x):
        return order_of(lo, rng, lo.atom(x, "int64"), "permutation")
    a = lo.array(x)
    k = static_int(lo, axis, "axis")
    return lo.call_static(np.take, [a, order_of(lo, rng, a.shape[k], "permutation")], {"axis": Static(k % a.rank)})


@lowers(Law.shuffle)
def lower_shuffle(lo, rng, x, axis=Static(0)):
    if not isinstance(x, Array) or x.is_list:
        raise lo.error(UnsupportedSyntax, f"`shuffle` of {describe(x)} is not supported", "shuffle an array, or use "
                       "rng.permutation(n) for the order")
    give_memory(lo, x)
    k = static_int(lo, axis, "axis")
    order = order_of(lo, rng, x.shape[k], "shuffle")
    assign(lo, x, force(lo, lo.call_static(np.take, [x, order], {"axis": Static(k % x.rank)}), copy=True))
    return Static(None)


@lowers(Law.choice)
def lower_choice(lo, rng, a, size=None, replace=Static(True), p=None, axis=Static(0), shuffle=None):
    if not is_true(replace):
        raise lo.error(UnsupportedSyntax, "`choice` without replacement is not supported",
                       "take the first of a random order: rng.permutation(n)[:k]")
    source = None if is_number(a) else lo.array(a)
    k = static_int(lo, axis, "axis")
    count = Scalar(source.shape[k]) if source is not None else a
    guard(lo, lo.b.compare("gt", lo.atom(count, "int64"), Const(0, "int64")), "ValueError",
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
    p = parameter_of(lo, p, "p", "rate")
    require_same(lo, p.shape[0], count, "a and p must have same size")
    gap = lo.elementwise("abs", lo.binary(operator.sub, lo.call_static(np.sum, [p], {}), Static(1.0)))
    guard(lo, lo.b.compare("le", lo.atom(gap), Const(1.5e-8, "float64")), "ValueError", "Probabilities do not sum to 1")
    sums = lo.call_static(np.cumsum, [p], {})
    sums = force(lo, lo.binary(operator.truediv, sums, Scalar(force(lo, sums).element(lo, (lo.b.isub(count, 1),)))))
    u = draw(lo, rng, "random", drawn_shape(lo, size), called="choice", also=(p,))
    return lo.call_static(np.searchsorted, [sums, u, Static("right")], {})


def refuse_draws(lo: Lowering, target):
    """Random numbers of no generator that is passed: run now, a draw would become a constant."""
    owner = getattr(target, "__self__", None)
    home = type(owner).__module__ if owner is not None and not isinstance(owner, types.ModuleType) else getattr(
        target, "__module__", None)
    home = str(home or getattr(owner, "__name__", ""))
    name = getattr(target, "__name__", str(target))
    if home.startswith("scipy.stats") and name in ("rvs", "resample"):
        raise lo.error(UnsupportedSyntax, f"`{name}` of scipy.stats draws in a way that cannot be differentiated",
                       "use the methods of a generator that is passed as an argument: rng.normal(loc, scale, n)")
    if home.startswith("numpy.random") or home in ("random", "_random", "secrets"):
        problem = (f"`{name}` makes a random generator, which a differentiated function cannot do"
                   if target is np.random.default_rng or isinstance(target, type) else
                   f"`{name}` draws from a state that a differentiated function does not share")
        raise lo.error(UnsupportedSyntax, problem, "make a generator outside and pass it as an argument: f(x, rng), "
                                                   "with rng = np.random.default_rng(seed)")
