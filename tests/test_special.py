"""Every function of scipy.special that stays a call of SciPy: value, both modes, twice, compiled, float32, refusals."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest
from numba import njit
from scipy import special

from autodiff import AutodiffError, NonDifferentiable, grad, hvp, jacobian, jvp, stop_gradient, value_and_grad, vjp
from autodiff.runtime.numbers import special as runtime

from .support import module_of

ROOT = pathlib.Path(__file__).parent.parent
X = np.array([0.31, 1.7, 4.2])
S = np.array([-3.1, -0.4, 1.9])
P = np.array([0.12, 0.41, 0.93])
BIG = np.array([30.5, 41.0, 60.0])

# A function, its constant parameters (these come first), and the points of its other arguments.
TABLE = [
    ("gamma", (), (X,)), ("gammaln", (), (S,)), ("loggamma", (), (X,)), ("rgamma", (), (S,)), ("rgamma", (), (np.array([-2.0,
     0.0, 1.0]),)), ("psi", (), (S,)), ("zeta", (2.3,), (X,)), ("polygamma", (1,), (X,)), ("polygamma", (5,), (S,)),
    ("beta", (), (X, P)), ("beta", (), (S, X)), ("betaln", (), (X, P)), ("binom", (), (X + 5.0, X)), ("poch", (), (X, P)),
    ("multigammaln", (), (2.7, 3)), ("gammainc", (2.2,), (X,)), ("gammaincc", (0.6,), (X,)), ("gammaincinv", (2.2,), (P,)),
    ("gammainccinv", (0.6,), (P,)), ("betainc", (2.2, 0.7), (P,)), ("betaincc", (2.2, 0.7), (P,)), ("betaincinv", (2.2, 1.4),
     (P,)), ("stdtr", (3.4,), (S,)),
    ("stdtrit", (3.4,), (P,)), ("chdtr", (3.0,), (X,)), ("chdtrc", (3.0,), (X,)), ("fdtr", (3.0, 4.5), (X,)),
    ("fdtrc", (3.0, 4.5), (X,)), ("gdtr", (1.3, 2.2), (X,)), ("pdtr", (2.0,), (X,)), ("pdtrc", (2.0,), (X,)),
    ("jv", (1.3,), (X,)), ("jv", (0,), (S,)), ("jve", (2.0,), (X,)), ("yv", (1.3,), (X,)), ("yve", (0.0,), (X,)),
    ("yn", (0,), (X,)), ("yn", (3,), (X,)), ("iv", (0.5,), (X,)), ("iv", (2,), (S,)), ("ive", (1.5,), (X,)), ("ive", (2,),
     (S,)), ("kv", (0.5,), (X,)), ("kve", (1.5,), (X,)), ("kn", (0,), (X,)), ("kn", (2,), (X,)), ("j0", (), (S,)),
    ("j1", (), (np.array([-1.0, 0.0, 2.2]),)), ("y0", (), (X,)), ("y1", (), (X,)), ("i0", (), (S,)), ("i1", (), (S,)),
    ("i0e", (), (S,)), ("i1e", (), (S,)), ("k0", (), (X,)), ("k1", (), (X,)), ("k0e", (), (X,)), ("k1e", (), (X,)),
    ("spherical_jn", (0,), (np.array([-1.0, 0.0, 2.2]),)), ("spherical_jn", (1,), (np.array([-1.0, 0.0, 2.2]),)),
    ("spherical_jn", (2,), (np.array([0.0, 7.0]),)), ("erfinv", (), (P,)), ("erfcinv", (), (P,)), ("erfi", (), (S,)),
    ("erfcx", (), (S,)), ("erfcx", (), (BIG,)), ("dawsn", (), (S,)), ("dawsn", (), (-BIG,)), ("log_ndtr", (), (S,)),
    ("log_ndtr", (), (-BIG,)), ("ndtri", (), (P,)), ("ndtri_exp", (), (-X,)), ("owens_t", (), (S, P)), ("expi", (), (S,)),
    ("exp1", (), (X,)), ("expn", (0,), (X,)), ("expn", (3,), (X,)), ("spence", (), (np.array([0.2, 1.0, 3.0]),)),
    ("hyp0f1", (1.4,), (S,)), ("hyp1f1", (0.4, 1.4), (S,)), ("hyperu", (0.4, 1.4), (X,)), ("hyp2f1", (0.4, 1.4, 2.1), (P,)),
    ("exprel", (), (np.array([-40.0, 0.0, 1e-6, 3.0]),)), ("ellipk", (), (np.array([-2.0, 0.0, 0.04, 0.9]),)),
    ("ellipkm1", (), (P,)), ("ellipe", (), (np.array([-2.0, 0.0, 0.04, 0.9]),)), ("ellipkinc", (), (X[:2], P[:2])),
    ("ellipkinc", (0.7,),
     (np.array([0.0, 3e-4]),)), ("ellipeinc", (), (X[:2], P[:2])), ("ellipeinc", (0.7,), (np.array([0.0, 3e-4]),)),
    ("boxcox", (), (X, np.array([-1.2, 0.0, 2.0]))), ("boxcox1p", (), (X, S)), ("huber", (), (1.3, S)), ("pseudo_huber", (),
     (1.3, S)), ("spherical_yn", (0,), (X,)), ("spherical_yn", (3,), (-X,)), ("spherical_in", (0,), (S,)),
    *[("spherical_in", (n,), (np.array([-1.0, 0.0, 2.2]),)) for n in (1, 2, 3)], ("spherical_kn", (0,), (X,)),
    ("spherical_kn", (2,), (S,)), ("jvp", (1.3,), (X,)), ("yvp", (0,), (X,)), ("ivp", (0.4,), (X,)), ("kvp", (1,), (X,)),
    ("lpmv", (0.0, 3.0), (S / 4,)), ("lpmv", (1.0, 3.0), (S / 4,)), ("lpmv", (-1.0, 2.0), (S / 4,)), ("lpmv", (2.0, 2.0),
     (P,)), ("lpmv", (0.0, 0.0), (P,)),
]
TABLE = [row for row in TABLE if hasattr(special, row[0])]


def program(rows, name):
    """(f, x, w): f(x, w) is the sum of w times the entries at their points, which lie in x one after the other."""
    lines, points, start = [], [], 0
    for function, fixed, given in rows:
        floats = [np.atleast_1d(p) for p in given if not isinstance(p, int)]
        args = [repr(v) for v in fixed]
        for p in floats:
            args.append(f"x[{start}:{start + p.size}]")
            start += p.size
        args += [repr(p) for p in given if isinstance(p, int)]
        lines.append(f"    s += np.sum(w[{len(lines)}:{len(lines) + 1}] * special.{function}({', '.join(args)}))")
        points += floats
    text = "\n".join(["def f(x, w):", "    s = 0.0", *lines, "    return s", ""])
    space = module_of(name, text, {"np": np, "special": special, "__name__": "special_calls"})
    return space["f"], np.concatenate(points), np.cos(np.arange(len(rows)))


def shifted(rows, d, h):
    """The values of the entries at their points moved by h d, one array an entry."""
    found, start = [], 0
    for function, fixed, given in rows:
        args = []
        for p in given:
            if isinstance(p, int):
                args.append(p)
                continue
            moved = np.atleast_1d(p) + h * d[start:start + np.size(p)]
            args.append(moved)
            start += np.size(p)
        with np.errstate(all="ignore"):
            found.append(np.sum(getattr(special, function)(*fixed, *args)))
    return np.array(found)


def sums(rows, products):
    """`products`, one for each point, added up for each entry."""
    sizes = [sum(np.size(p) for p in given if not isinstance(p, int)) for _, _, given in rows]
    return np.add.reduceat(products, np.cumsum([0, *sizes[:-1]]))


@pytest.mark.parametrize("part", range(3))
def test_derivatives(part):
    """Values as SciPy's; first and second derivatives along a direction as differences', in both modes."""
    rows = TABLE[part::3]
    f, x, w = program(rows, f"<special functions {part}>")
    d = 1.0 + 0.3 * np.sin(np.arange(x.size))
    value, pullback = vjp(f, x, w, mode="python")
    x_bar, w_bar = pullback(1.0)
    np.testing.assert_allclose(w_bar, shifted(rows, d, 0.0), rtol=1e-13)
    scale = np.maximum(1.0, np.abs(w_bar))
    central = lambda h: (shifted(rows, d, h) - shifted(rows, d, -h)) / (2 * h)
    slope = min_over_steps(central, sums(rows, x_bar * d) / w, scale)
    assert slope.max() < 2e-7, [rows[k] for k in np.nonzero(slope >= 2e-7)[0]]
    assert jvp(f, (x, w), (d, None), mode="python")[1] == pytest.approx(np.sum(x_bar * d), rel=1e-12)
    curve = sums(rows, hvp(f, mode="python")(x, w, d) * d) / w
    smooth = np.array([row[0] != "huber" for row in rows])
    central = lambda h: (shifted(rows, d, h) - 2 * w_bar + shifted(rows, d, -h)) / (h * h)
    second = min_over_steps(central, curve, scale)[smooth]
    assert second.max() < 1e-5, [rows[k] for k in np.nonzero(second >= 1e-5)[0]]


def min_over_steps(differences, exact, scale):
    errors = [np.abs(differences(h) - exact) / np.maximum(scale, np.abs(exact)) for h in (1e-3, 3e-4, 1e-4, 1e-5)]
    return np.nanmin(errors, axis=0)


def test_compiled_calls():
    """Every function that is called by address, and those that are written out, beside SciPy's."""
    space = {"s": runtime}
    first = lambda name: "2" if name in ("yn", "kn", "expn", "lpmv") else "0.3"
    calls = [f"s.{name}({', '.join([first(name), '0.4', '0.7', '0.2'][:count])})" for name, count in runtime.ARITY.items()]
    calls += [f"s.zeta({a}, {b})" for a, b in ((2.0, 0.3), (1.01, 5.0), (3.0, -1.5), (30.0, 0.5), (2.0, 1e6), (5.0, 0.0))]
    calls += [f"s.spherical_jn({n}, {z})" for n, z in ((0, 0.0), (0, 1e-9), (1, -2.0), (2, -2.0), (5, 1.0))]
    places = ((0, 0.0), (1, 0.0), (0, -2.0), (1, -2.0), (2, -2.0), (5, 1.0), (1, "1e400"), (1, "-1e400"), (-1, 1.0))
    calls += [f"s.spherical_{name}n({n}, {z})" for name in "jyik" for n, z in places]
    exec(f"def f():\n    return ({', '.join(calls)})\n", space)
    np.testing.assert_allclose(njit(space["f"])(), space["f"](), rtol=2e-14)


def test_compiled_gradients():
    rows = [row for row in TABLE if row[0] in ("gammaln", "polygamma", "beta", "betainc", "jv", "k1e", "log_ndtr", "owens_t",
                                               "expn", "exprel", "ellipkinc", "hyp2f1", "spherical_in",
                                               "kvp", "lpmv")]
    f, x, w = program(rows, "<compiled special functions>")
    value, gradient = value_and_grad(f)(x, w)
    expected, reference = value_and_grad(f, mode="python")(x, w)
    assert value == pytest.approx(expected, rel=1e-13)
    np.testing.assert_allclose(gradient, reference, rtol=1e-12)


def test_derivatives_of_bessel_functions():
    """The functions that are derivatives themselves, of given order: values and slopes as those of the functions."""
    x = X + 0.2
    for name in ("jv", "yv", "iv", "kv"):
        f, prime = getattr(special, name), getattr(special, name + "p")
        for n in (0, 2, 3):
            value, slope = jvp(lambda x: prime(1.5, x, n), (x,), (np.ones(3),), mode="python")
            np.testing.assert_allclose(value, prime(1.5, x, n), rtol=1e-12)
            np.testing.assert_allclose(slope, prime(1.5, x, n + 1), rtol=1e-11)
        slope = jvp(lambda x: f(1.5, x), (x,), (np.ones(3),), mode="python")[1]
        np.testing.assert_allclose(slope, prime(1.5, x), rtol=1e-12)
    for f in (special.spherical_jn, special.spherical_yn, special.spherical_in, special.spherical_kn):
        h = 1e-5
        value, slope = jvp(lambda x: f(2, x, derivative=True), (x,), (np.ones(3),), mode="python")
        np.testing.assert_allclose(value, f(2, x, derivative=True), rtol=1e-11)
        np.testing.assert_allclose(slope, (f(2, x + h, True) - f(2, x - h, True)) / (2 * h), rtol=1e-6)


def wave(x):
    return special.jv(1.5, x)


def bessel_residual(x):
    """Bessel's equation, from second derivatives."""
    return x * x * grad(grad(wave))(x) + x * grad(wave)(x) + (x * x - 2.25) * wave(x)


def test_nested_and_lanes():
    assert abs(bessel_residual(2.3)) < 1e-13
    assert abs(grad(bessel_residual, mode="python")(2.3)) < 1e-12
    both = [jacobian(lambda x: special.gammainc(2.0, x) * special.j0(x[::-1]), direction=d, mode="python")(X)
            for d in ("forward", "reverse")]
    np.testing.assert_allclose(*both, rtol=1e-13)


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_float32(mode):
    x = X.astype(np.float32)
    f = lambda x: np.sum(special.jv(2, x) + special.ellipe(x / 9) + special.zeta(3, x))
    value, gradient = value_and_grad(f, mode=mode)(x)
    assert gradient.dtype == np.float32 and np.asarray(value).dtype == np.float32
    wide = grad(f, mode="python")(X)
    np.testing.assert_allclose(gradient, wide, rtol=1e-5)


def test_parameters_without_derivative():
    def order(v):
        return special.jv(v, 1.0)

    def exponent(a):
        return special.betainc(1.0, a, 0.5)

    def riemann(s):
        return special.zeta(s)

    for f, which in ((order, "first"), (exponent, "second"), (riemann, "first")):
        with pytest.raises(NonDifferentiable, match=f"with respect to its {which} argument") as caught:
            grad(f)(1.5)
        assert caught.value.loc.line and "stop_gradient" in str(caught.value)
        with pytest.raises(NonDifferentiable):
            jvp(f, (1.5,), (1.0,))
    assert grad(lambda v: v * special.jv(stop_gradient(v), 1.0), mode="python")(1.5) == special.jv(1.5, 1.0)
    assert grad(lambda v, x: special.kv(v, x), wrt="x", mode="python")(1.5, 1.0) == pytest.approx(special.kvp(1.5, 1.0))


def test_far_out():
    """Where a plain formula would cancel or overflow."""
    assert grad(lambda x: special.log_ndtr(x), mode="python")(-1e8) == pytest.approx(1e8)
    assert grad(lambda x: special.erfcx(x), mode="python")(1e6) == pytest.approx(-1.0 / (np.sqrt(np.pi) * 1e12), rel=1e-11)
    assert grad(lambda x: special.dawsn(x), mode="python")(1e6) == pytest.approx(-0.5e-12, rel=1e-11)
    assert grad(lambda x: special.i1e(x), mode="python")(1e3) == pytest.approx(-0.5 * special.i1e(1e3) / 1e3, rel=1e-2)
    assert grad(lambda x: special.gammainc(1.0, x), mode="python")(0.0) == 1.0
    assert np.isinf(special.gammaln(0.0)) and np.isinf(vjp(lambda x: special.gammaln(x), 0.0, mode="python")[0])


def test_boxcox_at_the_ends():
    """At 0 and far from 1, where the logarithm times its series says nothing."""
    with np.errstate(all="ignore"):
        for x in (0.0, 1e-300, 1e-9, 0.3, 2.0, 1e200, np.inf):
            for power in (-2.0, -0.5, 0.0, 0.5, 1.0, 4.0):
                value, slope = value_and_grad(boxcox, mode="python")(x, power)
                np.testing.assert_allclose(value, special.boxcox(x, power), rtol=1e-13)
                np.testing.assert_allclose(slope, np.power(x, power - 1.0), rtol=1e-12)
    both = value_and_grad(boxcox_of_array, wrt=(0, 1), mode="python")(np.array([0.0, 0.5, 3.0]), 2.0)
    np.testing.assert_allclose(both[1][0], [0.0, 0.5, 3.0])


def boxcox(x, power):
    return special.boxcox(x, power)


def boxcox_of_array(x, power):
    return np.sum(special.boxcox(x, power))


FAR = [np.inf, -np.inf, np.nan, 1e300, -1e300, -1e9 - 0.5, 0.0]
ENDLESS_IN_SCIPY = {("hyp1f1", np.inf), ("hyp1f1", 1e300), ("polygamma", -1e9 - 0.5)}      # the values themselves
FAR_OUT = """
import sys, warnings
import numpy as np
from autodiff import value_and_grad
from tests import test_special as t
warnings.simplefilter("ignore")
np.seterr(all="ignore")
done = set()
for row in t.TABLE:
    name, fixed, given = row
    if name in done:
        continue
    done.add(name)
    points = tuple(np.array([0.5]) if not isinstance(p, int) else p for p in given)
    f, x, w = t.program([(name, fixed, points)], f"<far out {name}>")
    gradient = value_and_grad(f, mode=sys.argv[1])
    for v in t.FAR:
        if (name, v) in t.ENDLESS_IN_SCIPY or name == "multigammaln" and not v > 1.0:
            continue
        for k in range(x.size):
            print(name, v, flush=True)
            gradient(np.where(np.arange(x.size) == k, v, x), w)
"""


def test_no_gradient_is_endless():
    """Infinities, nan and huge numbers end every series, as they end SciPy's."""
    try:
        subprocess.run([sys.executable, "-c", FAR_OUT, "python"], cwd=ROOT, capture_output=True, text=True, timeout=150,
                       check=True)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as e:
        told = e.stdout.decode() if isinstance(e.stdout, bytes) else e.stdout
        raise AssertionError(f"{told[-200:]} {e.stderr}") from None


def test_zeta_far_below():
    for s in (2.0, 3.0, 6.0):
        for q in (-0.5, -3.25, -40.75):
            assert runtime.zeta(s, q) == pytest.approx(float(special.zeta(s, q)), rel=1e-12)
    assert njit(lambda s, q: runtime.zeta(s, q))(2.0, -1e12 - 0.5) == pytest.approx(np.pi ** 2, rel=1e-9)


def test_tables_of_counts_known_now():
    def f(x):
        return np.sum(special.bernoulli(4) * x) + special.factorial2(5) * x[0] + special.jn_zeros(0, 2)[1] * x[1]
    x = np.linspace(0.2, 1.1, 5)
    assert f(x) == value_and_grad(f, mode="python")(x)[0]
    np.testing.assert_allclose(grad(f, mode="python")(x), special.bernoulli(4) + [15.0, special.jn_zeros(0, 2)[1], 0, 0, 0])
    with pytest.raises(AutodiffError, match="`scipy.special.factorial2` is given"):
        grad(lambda x: sum(special.factorial2(k) * x[k] for k in range(len(x))), mode="python")(x)
