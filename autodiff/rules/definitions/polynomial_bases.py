"""Series in orthogonal polynomials: products, powers, compositions, slopes, integrals, conversions and roots.

With P_0 = 1 all of these polynomials obey P_k+1 = (A_k x + B_k) P_k - C_k P_k-1 (Abramowitz and Stegun, 22.7).
"""

from typing import Any

import numpy as np
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polynomial, polyutils

from ..decorators import defines
from .extrema import floats
from .polynomials import chebmul, ended, like, polyadd, polysub, power_of, series, steps_of

BASE: Any = polynomial.Polynomial.__mro__[1]


def recurrence(kind, k):
    """A_k, B_k and C_k, of one k or of an array of them."""
    none = 0.0 * k
    if kind is legendre.Legendre:
        return (2 * k + 1) / (k + 1), none, k / (k + 1)
    if kind is chebyshev.Chebyshev:
        return np.where(k > 0, 2.0, 1.0), none, 1.0 + none
    if kind is hermite.Hermite:
        return 2.0 + none, none, 2.0 * k
    if kind is hermite_e.HermiteE:
        return 1.0 + none, none, 1.0 * k
    if kind is laguerre.Laguerre:
        return -1 / (k + 1), (2 * k + 1) / (k + 1), k / (k + 1)
    return 1.0 + none, none, none


def times_x(c, kind):
    """x P_k = (P_k+1 - B_k P_k + C_k P_k-1) / A_k, for each k; the last coefficient is 0."""
    a, b, d = recurrence(kind, np.arange(c.shape[0]))
    part = c / a
    product = -b * part
    product[1:] += part[:-1]
    product[:-1] += d[1:] * part[1:]
    return product


def product_in(c1, c2, kind):
    """Clenshaw's scheme for the second series, whose coefficients are multiples of the first."""
    one, other = series(c1), series(c2)
    n = one.shape[0]
    later = np.zeros(n + other.shape[0] - 1)
    here = np.zeros(n + other.shape[0] - 1)
    for k in range(other.shape[0] - 1, -1, -1):
        a, b, _ = recurrence(kind, k)
        _, _, d = recurrence(kind, k + 1)
        total = a * times_x(here, kind) + b * here - d * later
        total[:n] += other[k] * one
        later = here
        here = total
    return here


def composed(c, kind, inner, kind_of_inner):
    """The series `c`, in polynomials of one kind, at a series of another kind, as a series of that kind."""
    outer, at = series(c), series(inner)
    n = (outer.shape[0] - 1) * (at.shape[0] - 1) + 1
    later = np.zeros(n)
    here = np.zeros(n)
    for k in range(outer.shape[0] - 1, -1, -1):
        a, b, _ = recurrence(kind, k)
        _, _, d = recurrence(kind, k + 1)
        total = a * product_in(here, at, kind_of_inner)[:n] + b * here - d * later
        total[0] += outer[k]
        later = here
        here = total
    return here


@defines(BASE.__call__)
def called(self, arg):
    if not isinstance(arg, BASE):
        return self._val(polyutils.mapdomain(arg, self.domain, self.window), self.coef)
    offset, scale = polyutils.mapparms(self.domain, self.window)
    inner = floats(scale * arg.coef)
    inner[0] += offset
    return like(arg, ended(composed(self.coef, self.__class__, inner, arg.__class__)))


# ---- sums, products, powers -------------------------------------------------------------------------------------
@defines(legendre.legadd, hermite.hermadd, hermite_e.hermeadd, laguerre.lagadd)
def added(c1, c2):
    return polyadd(c1, c2)


@defines(legendre.legsub, hermite.hermsub, hermite_e.hermesub, laguerre.lagsub)
def subtracted(c1, c2):
    return polysub(c1, c2)


@defines(legendre.legmul)
def legmul(c1, c2):
    return ended(product_in(c1, c2, legendre.Legendre))


@defines(hermite.hermmul)
def hermmul(c1, c2):
    return ended(product_in(c1, c2, hermite.Hermite))


@defines(hermite_e.hermemul)
def hermemul(c1, c2):
    return ended(product_in(c1, c2, hermite_e.HermiteE))


@defines(laguerre.lagmul)
def lagmul(c1, c2):
    return ended(product_in(c1, c2, laguerre.Laguerre))


@defines(legendre.legpow)
def legpow(c, pow, maxpower=16):
    return power_of(legmul, c, pow, maxpower)


@defines(chebyshev.chebpow)
def chebpow(c, pow, maxpower=16):
    return power_of(chebmul, c, pow, maxpower)


@defines(hermite.hermpow)
def hermpow(c, pow, maxpower=16):
    return power_of(hermmul, c, pow, maxpower)


@defines(hermite_e.hermepow)
def hermepow(c, pow, maxpower=16):
    return power_of(hermemul, c, pow, maxpower)


@defines(laguerre.lagpow)
def lagpow(c, pow, maxpower=16):
    return power_of(lagmul, c, pow, maxpower)


# ---- lines, and what is left without small last coefficients ----------------------------------------------------
@defines(polynomial.polyline, chebyshev.chebline, legendre.legline, hermite_e.hermeline)
def line(off, scl):
    return ended(np.array([off, scl]) * 1.0)


@defines(hermite.hermline)
def hermline(off, scl):
    return ended(np.array([off, scl / 2]))


@defines(laguerre.lagline)
def lagline(off, scl):
    return ended(np.array([off + scl, -scl]) * 1.0)


@defines(polyutils.trimcoef)
def trimcoef(c, tol=0):
    if tol < 0:
        raise ValueError("tol must be non-negative")
    found = series(c)
    n = found.shape[0]
    while n > 1 and not abs(found[n - 1]) > tol:
        n -= 1
    return found[:1] * 0 if n == 1 and not abs(found[0]) > tol else found[:n].copy()


# ---- slopes and integrals ---------------------------------------------------------------------------------------
@defines(legendre.legder)
def legder(c, m=1, scl=1, axis=0):
    """P'_k+1 = (2 k + 1) P_k + P'_k-1."""
    c = series(c)
    for _ in steps_of(m, "derivation", c, axis):
        n = c.shape[0] - 1
        sums = scl * c
        slopes = np.zeros(max(n, 1))
        for k in range(n - 1, -1, -1):
            slopes[k] = (2 * k + 1) * sums[k + 1]
            if k > 0:
                sums[k - 1] += sums[k + 1]
        c = slopes
    return c


def plain_slopes(c, m, scl, axis, factor):
    """P'_k = factor k P_k-1."""
    c = series(c)
    for _ in steps_of(m, "derivation", c, axis):
        c = factor * scl * np.arange(1, c.shape[0]) * c[1:] if c.shape[0] > 1 else c[:1] * 0
    return c


@defines(hermite.hermder)
def hermder(c, m=1, scl=1, axis=0):
    return plain_slopes(c, m, scl, axis, 2.0)


@defines(hermite_e.hermeder)
def hermeder(c, m=1, scl=1, axis=0):
    return plain_slopes(c, m, scl, axis, 1.0)


@defines(laguerre.lagder)
def lagder(c, m=1, scl=1, axis=0):
    """L'_k is minus the sum of all before it."""
    c = series(c)
    for _ in steps_of(m, "derivation", c, axis):
        c = -scl * np.cumsum(c[:0:-1])[::-1] if c.shape[0] > 1 else c[:1] * 0
    return c


def integral(c, m, k, lbnd, scl, axis, once, value):
    """The m-th antiderivative, which is `k[i]` at `lbnd` after the i-th step."""
    c = series(c)
    constants = [k] if np.ndim(k) == 0 else list(k)
    if len(constants) > m:
        raise ValueError("Too many integration constants")
    for i in steps_of(m, "integration", c, axis):
        whole = once(scl * c)
        whole[0] += (constants[i] if i < len(constants) else 0.0) - value(lbnd, whole)
        c = whole
    return c


def legendre_once(c):
    whole = np.zeros(c.shape[0] + 1)
    share = c / (2 * np.arange(c.shape[0]) + 1)
    whole[1:] += share
    whole[:-2] -= share[1:]
    return whole


def chebyshev_once(c):
    k = np.arange(c.shape[0])
    whole = np.zeros(c.shape[0] + 1)
    whole[1:] += np.where(k == 0, c, c / (2 * (k + 1)))
    whole[1:-2] -= c[2:] / (2 * (k[2:] - 1))
    return whole


def hermite_once(c):
    whole = np.zeros(c.shape[0] + 1)
    whole[1:] += c / (2 * np.arange(1, c.shape[0] + 1))
    return whole


def hermite_e_once(c):
    whole = np.zeros(c.shape[0] + 1)
    whole[1:] += c / np.arange(1, c.shape[0] + 1)
    return whole


def laguerre_once(c):
    whole = np.zeros(c.shape[0] + 1)
    whole[:-1] += c
    whole[1:] -= c
    return whole


@defines(legendre.legint)
def legint(c, m=1, k=[], lbnd=0, scl=1, axis=0):  # noqa: B006
    return integral(c, m, k, lbnd, scl, axis, legendre_once, legendre.legval)


@defines(chebyshev.chebint)
def chebint(c, m=1, k=[], lbnd=0, scl=1, axis=0):  # noqa: B006
    return integral(c, m, k, lbnd, scl, axis, chebyshev_once, chebyshev.chebval)


@defines(hermite.hermint)
def hermint(c, m=1, k=[], lbnd=0, scl=1, axis=0):  # noqa: B006
    return integral(c, m, k, lbnd, scl, axis, hermite_once, hermite.hermval)


@defines(hermite_e.hermeint)
def hermeint(c, m=1, k=[], lbnd=0, scl=1, axis=0):  # noqa: B006
    return integral(c, m, k, lbnd, scl, axis, hermite_e_once, hermite_e.hermeval)


@defines(laguerre.lagint)
def lagint(c, m=1, k=[], lbnd=0, scl=1, axis=0):  # noqa: B006
    return integral(c, m, k, lbnd, scl, axis, laguerre_once, laguerre.lagval)


# ---- roots ------------------------------------------------------------------------------------------------------
@defines(polynomial.polyroots)
def polyroots(c):
    """In the order of their real parts, then of their imaginary ones; complex ones where there are several."""
    c = ended(series(c))
    if c.shape[0] < 2:
        return np.zeros(0)
    if c.shape[0] == 2:
        return -c[:1] / c[1:]
    found = np.roots(c[::-1])
    return found[np.lexsort((found.imag, found.real))]


def roots_in(c, kind):
    return polyroots(composed(ended(series(c)), kind, np.array([0.0, 1.0]), polynomial.Polynomial))


@defines(chebyshev.chebroots)
def chebroots(c):
    return roots_in(c, chebyshev.Chebyshev)


@defines(legendre.legroots)
def legroots(c):
    return roots_in(c, legendre.Legendre)


@defines(hermite.hermroots)
def hermroots(c):
    return roots_in(c, hermite.Hermite)


@defines(hermite_e.hermeroots)
def hermeroots(c):
    return roots_in(c, hermite_e.HermiteE)


@defines(laguerre.lagroots)
def lagroots(c):
    return roots_in(c, laguerre.Laguerre)
