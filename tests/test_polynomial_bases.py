"""Series of NumPy's five orthogonal kinds, their compositions and conversions, and `np.poly1d`: Python is the oracle."""

import numpy as np
import pytest
from numpy.polynomial import Chebyshev, Hermite, HermiteE, Laguerre, Legendre, Polynomial

from .support import assert_gradient

X = np.array([0.73, 1.31, 2.13, 0.44])
KINDS = [Legendre, Hermite, HermiteE, Laguerre, Chebyshev, Polynomial]


@pytest.mark.parametrize("kind", KINDS)
def test_products_slopes_and_integrals(kind):
    def value(x):
        p, q = kind(x, domain=[-1, 2]), kind([1.0, x[0], 0.5], domain=[-1, 2])
        return (
            ((p * q)(0.3) + (p + q)(0.2) + (p - q * 2)(0.1) + (p**2)(0.4))
            + (p.deriv()(0.2) + p.deriv(2)(0.6) + p.deriv(4)(0.6))
            + (p.integ()(0.7) + p.integ(2, k=[1.0, 2.0], lbnd=0.3)(0.2))
        )

    assert_gradient(value, (X,), (0,), "python")


@pytest.mark.parametrize("kind", KINDS)
def test_compositions(kind):
    def value(x):
        p, q = kind(x, domain=[-1, 2]), Legendre([0.3, x[0], 0.5])
        return p(q)(0.3) + q(p)(0.1) * 1e-2 + p(p)(0.05) * 1e-2

    assert_gradient(value, (X,), (0,), "python")


@pytest.mark.parametrize("kind", KINDS)
def test_conversions(kind):
    def value(x):
        p, total = kind(x, domain=[-1, 2]), 0.0
        for other in KINDS:
            total += np.sum(p.convert(kind=other).coef * np.arange(1, 5))
        moved = np.sum(p.convert(domain=[0, 1]).coef * np.arange(4)) + Laguerre.cast(p)(0.3)
        return total + moved + p.trim()(0.3) + p.truncate(2)(0.1) + p.trim(1.0).degree() * x[0]

    assert_gradient(value, (X,), (0,), "python")


@pytest.mark.parametrize("kind", KINDS)
def test_roots(kind):
    def value(x):
        return np.sum(np.abs(kind([x[0], -x[1] - 5, x[2]]).roots()) * np.arange(1, 3)) + kind([x[0], x[1]]).roots()[0]

    assert_gradient(value, (X,), (0,), "python")


def of_poly1d(x):
    p, q = np.poly1d(x), np.poly1d([1.0, x[0]])
    quotient, rest = p / q
    whole, left = np.polydiv(x, [x[1], 1.0, 2.0])
    total = quotient(0.3) + rest(0.1) + (p**2)(0.2) + (p / 2)(0.1) + (p / x[1])(0.3) + p(q)(0.1)
    return total + np.sum(np.abs(p.r)) + np.sum(np.abs(q.roots)) + np.sum(whole) * left[0]


def test_poly1d():
    assert_gradient(of_poly1d, (X,), (0,), "python")


def test_compiled():
    def value(x):
        p = Legendre(x)
        return (p * p)(0.3) + p.convert(kind=Chebyshev).coef[2] + np.poly1d(x)(np.poly1d([1.0, x[0]]))(0.2)

    assert_gradient(value, (X,), (0,), "numba")
