"""NumPy's polynomials: classes outside and made inside, their derivatives, sums, products and fits."""

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from numpy.polynomial import chebyshev as chebyshevs
from numpy.polynomial import polynomial as series

from autodiff import AutodiffError, value_and_grad

from .support import from_text

X = np.array([0.5, 1.2, 1.7])
HEADER = """import numpy as np
from numpy.polynomial import Chebyshev, Polynomial, chebyshev as chebyshevs, polynomial as series

P, Q = Polynomial([1.0, 2.0, 3.0]), np.poly1d([1.0, 2.0, 3.0])
C, D = Chebyshev([1.0, 0.5, 0.2], domain=[0, 2]), Polynomial([0.3, 1.0, 0.1, 2.0], domain=[-1, 3], window=[0, 1])
T, E = np.arange(5.0), Polynomial([2.0, 1.0])


"""
EXPRESSIONS = """P(x[0]);(P // E)(x[0]);(P % E)(x[0]);(P / x[0])(1.0);divmod(P, E)[0](x[0]);(P // 2)(x[0])
(Polynomial(x) // E)(0.5);(P == P) * x[0]
(C * Chebyshev(x, domain=[0, 2]))(0.3);(C - C * 2)(x[0]);(Q == np.poly1d([1.0, 2.0, 3.0])) * x[0]
(Q != np.poly1d([1.0])) * x[0];(Q ** 2)(x[0]);(1 - Q)(x[0]);(Q * x[0])(1.0);(Q / 2)(x[0])
len(Q) * x[0];series.polypow(x, 2, 9)[1]
chebyshevs.chebmul(x, [1.0, x[0]])[2];series.polydiv(x, [1.0, 2.0])[0][1];series.polydiv(x[:1], [1.0, 2.0])[1][0]
P(x[0]);P.deriv()(x[0]);P.deriv(2)(x[0]);P.integ()(x[0]);P.integ(1, k=[2.0])(x[0]);(P + 1)(x[0])
(P * P)(x[0]);(P - P.deriv())(x[0]);(P ** 2)(x[0]);(P * x[1])(x[0]);(x[1] * P)(x[0]);(x[1] - P)(x[0]);(P / 2)(x[0])
(-P)(x[0]);P.coef[1] * x[0];P.degree() * x[0];len(P) * x[0];D.deriv()(x[0]);D.integ(2, lbnd=0.5)(x[1]);(D * D)(x[0])
D(x).sum();Polynomial([x[0], 2.0, x[1]])(x[2]);Polynomial(x).deriv()(0.5);Polynomial(x).integ(lbnd=1)(0.5)
Polynomial(x)(x).sum()
(Polynomial(x) * Polynomial([1, x[0]]))(0.3);(Polynomial(x) + Polynomial([1, x[0]]))(0.3);Polynomial(x).degree() * x[0]
(Polynomial(x, domain=[0, 3]) - Polynomial([1, x[0], 2.0, 1.0], domain=[0, 3]))(x[1]);len(Polynomial(x)) * x[0]
C(x[0]);C.deriv()(x[0]);C.deriv(2)(x[0]);(C + C)(x[0]);(C - 1)(x[0]);Chebyshev(x).deriv()(0.4);(C * C)(x[0])
Q(x[0]);Q.deriv()(x[0]);Q.integ()(x[0]);(Q + 1)(x[0]);(Q * Q)(x[0]);Q.order * x[0];Q.c[0] * x[0];Q[1] * x[0]
np.poly1d(x)(0.5);np.poly1d([x[0], 1.0]).deriv()(2.0);np.poly1d(np.polyfit(T, T[:, None].ravel() ** 2 + x[0], 2))(0.5)
(np.poly1d(x) * np.poly1d([1.0, x[1]]) - np.poly1d(x) + 2.0)(0.7);np.poly1d(x)[1] + np.poly1d(x).order
np.poly1d(x).integ(k=1)(x[0]);np.poly(x)[1] * x[0];np.poly1d([1.0, 2.0], True)(x[0])
Polynomial.fit(np.arange(3.0), x, 1)(0.5);Polynomial.fit(T, T ** 2 * x[0], 3)(x[1])
series.polyval(0.5, series.polyder(x));series.polyval(0.5, series.polyint(x, 2, [1.0, x[0]]));series.polyadd(x, x[:2])[1]
series.polysub(x[:2], x)[2];series.polymul(x, x)[1];series.polyfromroots(x)[1];series.polypow(x, 3)[2]
chebyshevs.chebadd(x, x)[1]
series.polyfit(np.arange(3.0), x, 1)[0];chebyshevs.chebval(0.5, chebyshevs.chebder(x))""".replace("\n", ";").split(";")


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_values_and_derivatives(expression):
    f = from_text(f"<polynomial {expression}>", f"{HEADER}def f(x):\n    return {expression}\n")
    value, slope = value_and_grad(f, mode="python")(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-10)
    for k in range(3):
        step = 1e-6 * np.eye(3)[k]
        assert slope[k] == pytest.approx((f(X + step) - f(X - step)) / 2e-6, rel=1e-5, abs=1e-7)


def calibrated(x, at):
    line = Polynomial.fit(at, x, 2)
    both = line * line.deriv() + Polynomial([0.0, x[0]], domain=line.domain)
    old = np.poly1d(x[::-1])
    return np.sum(both(at)) + old.integ()(x[1]) * series.polyval(0.3, x)


def test_compiled():
    at = np.linspace(-1.0, 2.0, 6)
    x = np.sin(at) + 2.0
    value, slope = value_and_grad(calibrated)(x, at)
    assert value == pytest.approx(calibrated(x, at), rel=1e-10)
    for k in range(6):
        step = 1e-6 * np.eye(6)[k]
        assert slope[k] == pytest.approx((calibrated(x + step, at) - calibrated(x - step, at)) / 2e-6, rel=1e-5)


@pytest.mark.parametrize("expression", [
    "(P * P)(x[0])", "(P + 1)(x[0])", "(P / 2)(x[0])", "(C * C)(x[0])", "(-P)(x[0])", "(Q * Q)(x[0])", "(Q + 1)[0] * x[0]",
    "(-Q)(x[0])", "len(P) * x[0]", "(1.0 if P == R else 2.0) * x[0]", "(1.0 if Q == S else 2.0) * x[0]"])
def test_constant_polynomials_that_change(expression):
    """What is made of polynomials outside alone follows them."""
    f = from_text(f"<changed {expression}>", f"{HEADER.replace('T, E = ', 'R, S = P.copy(), np.poly1d(Q); T, E = ')}"
                                             f"def f(x):\n    return {expression}\n")
    value = value_and_grad(f, mode="python")
    assert value(X)[0] == pytest.approx(f(X), rel=1e-12)
    outside = f.__globals__
    for made in (outside["P"].coef, outside["C"].coef, outside["Q"].coeffs):
        made[0] = 5.0
    assert value(X)[0] == pytest.approx(f(X), rel=1e-12)
    outside["P"].coef = np.array([1.0, 2.0])
    assert value(X)[0] == pytest.approx(f(X), rel=1e-12)


def test_numpys_numbers_before_a_poly1d_are_refused():
    """NumPy makes an array of the coefficients."""
    for expression in ("(x[0] * Q)[0]", "(x + Q)[0]", "(x[0] * np.poly1d(x))[0]"):
        f = from_text(f"<left {expression}>", f"{HEADER}def f(x):\n    return {expression}\n")
        with pytest.raises(AutodiffError, match="not supported"):
            value_and_grad(f, mode="python")(X)


def test_coefficients_that_cancel_are_errors():
    """NumPy makes polynomials shorter whose last coefficient is 0; how long they are must not depend on the run."""
    for function in (lambda x: (Polynomial(x) - Polynomial(x)).degree() * x[0], lambda x: np.poly1d(x * 0.0).order * x[0],
                     lambda x: chebyshevs.chebsub(x, x)[0]):
        with pytest.raises((ValueError, AutodiffError), match="not 0"):
            value_and_grad(function, mode="python")(X)
