"""What the classes of numpy.polynomial call: sums, products, derivatives and fits, of coefficients lowest order first."""

import numbers
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.polynomial import chebyshev, polynomial, polyutils

from ...transforms.lower.numpy_functions.reductions import unsupported
from ..decorators import defines
from .extrema import floats


def series(c):
    """Coefficients, as floats."""
    return floats(np.atleast_1d(np.asarray(c)))


def ended(c):
    """Coefficients that do not end in 0, where NumPy makes them fewer."""
    if c[c.shape[0] - 1] == 0:
        raise ValueError("sums and products of polynomials are differentiated where their last coefficient is not 0")
    return c


@defines(polyutils.as_series)
def as_series(alist, trim=True):
    made = []
    for a in alist:
        c = floats(np.atleast_1d(np.asarray(a)) * 1)
        if np.ndim(c) != 1:
            raise ValueError("Coefficient array is not 1-d")
        if c.shape[0] == 0:
            raise ValueError("Coefficient array is empty")
        made.append(ended(c) if trim else c)
    return made


@defines(polyutils.mapparms)
def mapparms(old, new):
    """(offset, scale) of the line that maps `old` to `new`."""
    length = old[1] - old[0]
    return (old[1] * new[0] - old[0] * new[1]) / length, (new[1] - new[0]) / length


@defines(polyutils.getdomain)
def getdomain(x):
    return np.array([np.min(x), np.max(x)])


@defines(polynomial.polyadd, chebyshev.chebadd)
def polyadd(c1, c2):
    a, b = series(c1), series(c2)
    total = np.zeros(max(a.shape[0], b.shape[0]))
    total[:a.shape[0]] += a
    total[:b.shape[0]] += b
    return ended(total)


@defines(polynomial.polysub, chebyshev.chebsub)
def polysub(c1, c2):
    return polyadd(c1, -np.atleast_1d(np.asarray(c2)))


@defines(polynomial.polymul)
def polymul(c1, c2):
    return ended(np.convolve(series(c1), series(c2)))


def power_of(multiply, c, pow, maxpower):
    if pow != int(pow) or pow < 0:
        raise ValueError("Power must be a non-negative integer.")
    if maxpower is not None and pow > maxpower:
        raise ValueError("Power is too large")
    product = np.ones(1)
    for _ in range(int(pow)):
        product = multiply(product, c)
    return product


@defines(polynomial.polypow)
def polypow(c, pow, maxpower=None):
    return power_of(polymul, c, pow, maxpower)


@defines(polynomial.polydiv)
def polydiv(c1, c2):
    """Quotient and remainder, from the highest power down."""
    rest, divisor = series(c1) * 1, series(c2)
    n, m = rest.shape[0], divisor.shape[0]
    if m == 1 and divisor[0] == 0:
        raise ZeroDivisionError
    divisor = ended(divisor)
    if n < m:
        return rest[:1] * 0, rest
    if m == 1:
        return rest / divisor[0], rest[:1] * 0
    quotient = np.zeros(n - m + 1)
    for k in range(n - m, -1, -1):
        quotient[k] = rest[k + m - 1] / divisor[m - 1]
        for j in range(m - 1):
            rest[k + j] -= quotient[k] * divisor[j]
    return quotient, ended(rest[:m - 1])


@defines(chebyshev.chebmul)
def chebmul(c1, c2):
    """2 T_m T_n = T_m+n + T_|m-n|."""
    a, b = ended(series(c1)), ended(series(c2))
    product = np.zeros(a.shape[0] + b.shape[0] - 1)
    for m in range(a.shape[0]):
        for n in range(b.shape[0]):
            half = 0.5 * a[m] * b[n]
            product[m + n] += half
            product[abs(m - n)] += half
    return product


@defines(polynomial.polyfromroots)
def polyfromroots(roots):
    """The product of x - r."""
    zeros = series(roots)
    c = np.zeros(zeros.shape[0] + 1)
    c[0] = 1.0
    for k in range(zeros.shape[0]):
        for j in range(k + 1, -1, -1):
            c[j] = (c[j - 1] if j > 0 else 0.0) - zeros[k] * c[j]
    return c


@defines(np.poly)
def poly(seq_of_zeros):
    """The same, highest power first."""
    if np.ndim(seq_of_zeros) != 1:
        return unsupported("np.poly of a matrix", "of its eigenvalues: np.poly(np.linalg.eigvalsh(a))")
    return polyfromroots(seq_of_zeros)[::-1]


def steps_of(m, what, c, axis):
    if axis != 0 or np.ndim(c) > 1:
        return unsupported("derivatives and integrals of several polynomials", "a loop over them")
    if m < 0:
        raise ValueError(f"The order of {what} must be non-negative")
    return range(m)


@defines(polynomial.polyder)
def polyder(c, m=1, scl=1, axis=0):
    """c_k becomes (k + 1) c_k+1 times `scl`; of a constant one coefficient, 0, is left."""
    c = series(c)
    for _ in steps_of(m, "derivation", c, axis):
        slopes = np.zeros(max(c.shape[0] - 1, 1))
        for k in range(1, c.shape[0]):
            slopes[k - 1] = c[k] * k * scl
        c = slopes
    return c


@defines(polynomial.polyint)
def polyint(c, m=1, k=[], lbnd=0, scl=1, axis=0):  # noqa: B006
    """The m-th antiderivative, which is `k[i]` at `lbnd` after the i-th step."""
    c = series(c)
    constants = [k] if np.ndim(k) == 0 else list(k)
    if len(constants) > m:
        raise ValueError("Too many integration constants")
    for i in steps_of(m, "integration", c, axis):
        whole = np.zeros(c.shape[0] + 1)
        for j in range(c.shape[0]):
            whole[j + 1] = c[j] * scl / (j + 1)
        whole[0] = (constants[i] if i < len(constants) else 0.0) - polynomial.polyval(lbnd, whole)
        c = whole
    return c


@defines(chebyshev.chebder)
def chebder(c, m=1, scl=1, axis=0):
    """d_k = 2 (k + 1) c_k+1 + d_k+2, half of it for k = 0."""
    c = series(c)
    for _ in steps_of(m, "derivation", c, axis):
        n = c.shape[0]
        slopes = np.zeros(max(n - 1, 1))
        for k in range(n - 2, -1, -1):
            slopes[k] = 2.0 * (k + 1) * c[k + 1] * scl + (slopes[k + 2] if k + 2 < n - 1 else 0.0)
        slopes[0] *= 0.5
        c = slopes
    return c


@defines(polynomial.polyfit)
def polyfit(x, y, deg, rcond=None, full=False, w=None):
    if full:
        return unsupported("polyfit with full", "it gives the coefficients alone")
    return np.polyfit(x, y, deg, rcond=rcond, w=w)[::-1]


# ---- operators of the classes, which give `NotImplemented` for any error in NumPy's text ------------------------
def like(self, coef):
    return self.__class__(coef, self.domain, self.window, self.symbol)


@defines(polynomial.Polynomial.__add__)
def added(self, other):
    return like(self, self._add(self.coef, self._get_coefficients(other)))


@defines(polynomial.Polynomial.__sub__)
def subtracted(self, other):
    return like(self, self._sub(self.coef, self._get_coefficients(other)))


@defines(polynomial.Polynomial.__mul__)
def multiplied(self, other):
    return like(self, self._mul(self.coef, self._get_coefficients(other)))


@defines(polynomial.Polynomial.__divmod__)
def divided(self, other):
    quotient, rest = self._div(self.coef, self._get_coefficients(other))
    return like(self, quotient), like(self, rest)


@defines(polynomial.Polynomial.__floordiv__)
def quotient(self, other):
    return like(self, self._div(self.coef, self._get_coefficients(other))[0])


@defines(polynomial.Polynomial.__mod__)
def remainder(self, other):
    return like(self, self._div(self.coef, self._get_coefficients(other))[1])


@defines(polynomial.Polynomial.__truediv__)
def divided_by_number(self, other):
    if not isinstance(other, numbers.Number) or isinstance(other, bool):
        raise TypeError("unsupported types for true division: a polynomial is divided by a number, or with //")
    return quotient(self, other)


@defines(polynomial.Polynomial.__radd__)
def added_to(self, other):
    return like(self, self._add(other, self.coef))


@defines(polynomial.Polynomial.__rsub__)
def subtracted_from(self, other):
    return like(self, self._sub(other, self.coef))


@defines(polynomial.Polynomial.__rmul__)
def multiplied_with(self, other):
    return like(self, self._mul(other, self.coef))


@defines(np.polydiv)
def polydiv_from_the_highest(u, v):
    quotient, rest = polydiv(np.atleast_1d(np.asarray(u))[::-1], np.atleast_1d(np.asarray(v))[::-1])
    return quotient[::-1], rest[::-1]


# ---- np.poly1d, highest power first -----------------------------------------------------------------------------
@dataclass(eq=False)
class Poly1d:
    """`np.poly1d` of given coefficients."""

    stands_for: ClassVar[type] = np.poly1d
    coeffs: Any

    def __eq__(self, other):
        if not isinstance(other, np.poly1d):
            return NotImplemented
        return self.coeffs.shape == other.coeffs.shape and bool(np.all(self.coeffs == other.coeffs))

    @property
    def c(self):
        return self.coeffs

    @property
    def coef(self):
        return self.coeffs

    @property
    def coefficients(self):
        return self.coeffs

    @property
    def order(self):
        return self.coeffs.shape[0] - 1

    @property
    def o(self):
        return self.coeffs.shape[0] - 1

    @property
    def roots(self):
        return np.roots(self.coeffs)

    @property
    def r(self):
        return np.roots(self.coeffs)

    def __call__(self, val):
        if not isinstance(val, np.poly1d):
            return np.polyval(self.coeffs, val)
        made = Poly1d(self.coeffs[:1] * 1)
        for k in range(1, self.coeffs.shape[0]):
            made = made * val + self.coeffs[k]
        return made

    def __len__(self):
        return self.coeffs.shape[0] - 1

    def __getitem__(self, val):
        if val < 0 or val >= self.coeffs.shape[0]:
            return 0.0
        return self.coeffs[self.coeffs.shape[0] - 1 - val]

    def deriv(self, m=1):
        return poly1d(np.polyder(self.coeffs, m))

    def integ(self, m=1, k=0):
        return poly1d(np.polyint(self.coeffs, m, k))

    def __neg__(self):
        return Poly1d(-self.coeffs)

    def __add__(self, other):
        return poly1d(np.polyadd(self.coeffs, coefficients_of(other)))

    def __radd__(self, other):
        return poly1d(np.polyadd(coefficients_of(other), self.coeffs))

    def __sub__(self, other):
        return poly1d(np.polysub(self.coeffs, coefficients_of(other)))

    def __rsub__(self, other):
        return poly1d(np.polysub(coefficients_of(other), self.coeffs))

    def __mul__(self, other):
        return poly1d(np.polymul(self.coeffs, coefficients_of(other)))

    def __rmul__(self, other):
        return poly1d(np.polymul(coefficients_of(other), self.coeffs))


    def __truediv__(self, other):
        if not isinstance(other, np.poly1d) and np.ndim(other) == 0:
            return Poly1d(self.coeffs / other)
        quotient, rest = np.polydiv(self.coeffs, coefficients_of(other))
        return poly1d(quotient), poly1d(rest)

    def __rtruediv__(self, other):
        if not isinstance(other, np.poly1d) and np.ndim(other) == 0:
            return Poly1d(other / self.coeffs)
        quotient, rest = np.polydiv(coefficients_of(other), self.coeffs)
        return poly1d(quotient), poly1d(rest)

    def __pow__(self, val):
        if val != int(val) or val < 0:
            raise ValueError("Power to non-negative integers only.")
        made = Poly1d(np.ones(1))
        for _ in range(int(val)):
            made = made * self
        return made


def coefficients_of(value):
    return value.coeffs if isinstance(value, np.poly1d) else np.atleast_1d(np.asarray(value))


@defines(np.poly1d)
def poly1d(c_or_r, r=False, variable=None):
    if isinstance(c_or_r, np.poly1d):
        return Poly1d(c_or_r.coeffs * 1)
    c = np.poly(c_or_r) if r else np.atleast_1d(np.asarray(c_or_r)) * 1
    if c.shape[0] > 1 and c[0] == 0:
        raise ValueError("np.poly1d is differentiated where the first coefficient is not 0")
    return Poly1d(c)
