"""Special functions of numbers as device functions: what kernels can call of `runtime/numbers/special.py`.

On a device there is no SciPy. Some functions are libdevice's (CUDA's own library of mathematics), the rest is written here.
The relative error is about 1e-14 in float64, near a zero of the function the absolute one; float32 stays float32. The
simulator calls SciPy for those of libdevice and runs the others as they stand. Outside its domain a function gives nan or
infinity. Less exact are libdevice's Bessel functions j0, j1, y0 and y1 of arguments above 8: an absolute error of up to
5e-12 in float64 (NVIDIA, CUDA C++ Programming Guide, Mathematical Functions).
"""

from __future__ import annotations

import math

from scipy import special

from .scalars import by_width, cospi, sinpi
from .simulation import device_function

erfinv = by_width("erfinv", special.erfinv)
erfcinv = by_width("erfcinv", special.erfcinv)
erfcx = by_width("erfcx", special.erfcx)
ndtri = by_width("ndtri", special.ndtri, "normcdfinv")


def _bessel(name: str, plain):
    """libdevice's function, with SciPy's nan at infinity, where libdevice's is 0."""
    of_finite = by_width(name, plain)

    @device_function
    def function(x):
        return of_finite(x) if abs(x) < type(x)(math.inf) else type(x)(math.nan)
    return function


j0, j1, y0, y1 = (_bessel(name, getattr(special, name)) for name in ("j0", "j1", "y0", "y1"))


@device_function
def gamma(x):
    """The gamma function; nan at negative integers and -inf, as SciPy's."""
    kind = type(x)
    return kind(math.nan) if x < kind(0) and x == math.floor(x) else math.gamma(x)


@device_function
def rgamma(x):
    """1 / gamma(x), 0 at the poles 0, -1, -2, ..."""
    kind = type(x)
    return kind(0) if x <= kind(0) and x == math.floor(x) else kind(1) / math.gamma(x)


@device_function
def gammaln(x):
    """The logarithm of the absolute value of gamma(x); -inf at -inf, as SciPy's."""
    return x if x == -type(x)(math.inf) else math.lgamma(x)


@device_function
def _stirling(x):
    """log(gamma(x)) without (x - 1/2) log(x) - x + log(2 pi) / 2, for x from 10 on (Abramowitz and Stegun, 6.1.41)."""
    kind = type(x)
    w = kind(1) / (x * x)
    return (kind(1 / 12) - w * (kind(1 / 360) - w * (kind(1 / 1260) - w * (kind(1 / 1680) - w * (
        kind(1 / 1188) - w * kind(691 / 360360)))))) / x


@device_function
def betaln(a, b):
    """The logarithm of the absolute value of beta(a, b).

    The difference of logarithms of gamma functions of large numbers by their asymptotic series, whose large parts are
    subtracted as formulas (A. DiDonato and A. Morris, Algorithm 708, ACM Transactions on Mathematical Software 18 (1992)).
    Infinite or nan where an argument is 0 or a negative integer.
    """
    kind = type(a + b)
    small, large = (kind(a), kind(b)) if a < b else (kind(b), kind(a))
    if not (large >= kind(10) and small > kind(0)):
        return math.lgamma(small) + math.lgamma(large) - math.lgamma(small + large)
    if large == kind(math.inf):
        return -large
    ratio, rest = math.log1p(small / large), _stirling(large) - _stirling(small + large)
    if small < kind(10):
        return math.lgamma(small) - small * (math.log(large) - kind(1)) - (small + (large - kind(0.5))) * ratio + rest
    first = (small - kind(0.5)) * math.log(small / (small + large)) - large * ratio
    return first - kind(0.5) * math.log(large) + kind(0.9189385332046727) + _stirling(small) + rest


@device_function
def beta(a, b):
    """The beta function gamma(a) gamma(b) / gamma(a + b); of large positive numbers to a relative error of about 1e-13."""
    kind = type(a + b)
    whole = math.gamma(kind(a + b))
    if whole == kind(math.inf) and a > kind(0) and b > kind(0):
        return math.exp(betaln(a, b))
    return math.gamma(kind(a)) / whole * math.gamma(kind(b)) if a > b else math.gamma(kind(b)) / whole * math.gamma(kind(a))


@device_function
def exprel(x):
    """(exp(x) - 1) / x, and 1 at 0."""
    kind = type(x)
    return kind(1) if abs(x) < kind(1e-17) else x if x == kind(math.inf) else math.expm1(x) / x


@device_function
def log_ndtr(x):
    """The logarithm of the distribution function of the standard normal law.

    Below -1 by erfcx(z) = exp(z**2) erfc(z), which does not underflow.
    """
    kind = type(x)
    z = x * kind(0.7071067811865476)
    if x < kind(-1):
        return math.log(erfcx(-z) * kind(0.5)) - z * z
    return math.log1p(math.erfc(z) * kind(-0.5))


@device_function
def psi(x):
    """The digamma function, the derivative of log(gamma(x)).

    M. Abramowitz and I. Stegun, Handbook of Mathematical Functions, 1964: reflection (6.3.7) below 0, the recurrence
    (6.3.5) up to 10, and the asymptotic series (6.3.18) from there. At a pole nan; at 0 an infinity of the sign of -x.
    """
    kind = type(x)
    if x == kind(0):
        return math.copysign(kind(math.inf), -x)
    reflected, z = kind(0), x
    if x < kind(0):
        if x == math.floor(x):
            return kind(math.nan)
        above = x - math.floor(x)
        reflected, z = -kind(math.pi) * cospi(above) / sinpi(above), kind(1) - x
    below = kind(0)
    while z < kind(10):
        below += kind(1) / z
        z += kind(1)
    w = kind(1) / (z * z)
    series = w * (kind(1 / 12) - w * (kind(1 / 120) - w * (kind(1 / 252) - w * (kind(1 / 240) - w * (
        kind(1 / 132) - w * (kind(691 / 32760) - w * kind(1 / 12)))))))
    return reflected + (math.log(z) - kind(0.5) / z - series - below)


# B_2j / (2j)! for j = 1 to 8
_BERNOULLI = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600,
              -3617 / 10670622842880000)


@device_function
def hurwitz(s, q):
    """The sum of (q + k)^-s over k = 0, 1, ... for s > 1, q > 0."""
    kind = type(s + q)
    total, z = kind(0), q
    while z < kind(15):
        total += math.pow(z, -s)
        z += kind(1)
    power = math.pow(z, -s)
    if power == kind(0):                                # its factors below may overflow
        return total
    total += z * power / (s - kind(1)) + kind(0.5) * power
    w, term, j = kind(1) / (z * z), s * power / z, kind(0)
    for coefficient in _BERNOULLI:
        total += term * kind(coefficient)
        term *= (s + kind(2) * j + kind(1)) * (s + kind(2) * j + kind(2)) * w
        j += kind(1)
    return total


@device_function
def zeta(s, q):
    """The Hurwitz zeta function, the sum of (q + k)^-s over k = 0, 1, ...; s > 1, q > 0 (elsewhere as SciPy's).

    The first terms and the Euler-Maclaurin series (Abramowitz and Stegun, 23.1.30), as `runtime/numbers/special.py`.
    """
    kind = type(s + q)
    if s == kind(1):
        return kind(math.inf)
    if not s > kind(1) or q != q:
        return kind(math.nan)
    if q == kind(math.inf):
        return kind(0)
    if q <= kind(0):
        if q == math.floor(q):
            return kind(math.inf)
        if s != math.floor(s):
            return kind(math.nan)
        fraction, sign = kind(q - math.floor(q)), kind(1) - kind(2) * (s % kind(2))
        return hurwitz(s, fraction) + sign * (hurwitz(s, kind(1) - fraction) - hurwitz(s, kind(1) - q))
    return hurwitz(s, kind(q))


# ---- modified Bessel functions --------------------------------------------------------------------
# Chebyshev series of exp(-x) I_v(x) / x^v on [0, 8] in x / 4 - 1, and of exp(-x) sqrt(x) I_v(x) from 8 on in 16 / x - 1. The
# intervals are those of the Cephes library (S. Moshier, Methods and Programs for Mathematical Functions, 1989).

_I0_SMALL = (
    0.33839763720473803, -0.3046826723431984, 0.17162090152220877, -0.09490109704804764, 0.04930528423967071,
    -0.02373741480589947, 0.010546460394594998, -0.004324309995050576, 0.0016394756169413357, -0.0005763755745385824,
    0.00018850288509584165, -5.754195010082104e-05, 1.6448448070728896e-05, -4.4167383584587505e-06,
    1.1173875391201037e-06, -2.670793853940612e-07, 6.046995022541919e-08, -1.300025009986248e-08,
    2.6598237246823866e-09, -5.189795601635263e-10, 9.675809035373237e-11, -1.726826291441556e-11,
    2.95505266312964e-12, -4.856446783111929e-13, 7.676185498604936e-14, -1.1685332877993451e-14,
    1.715391285555133e-15, -2.431279846547955e-16, 3.3307945188222384e-17)
_I0_LARGE = (
    0.4022452055070544, 0.0033691164782556943, 6.889758346916825e-05, 2.8913705208347567e-06, 2.0489185894690638e-07,
    2.266668990498178e-08, 3.3962320257083865e-09, 4.94060238822497e-10, 1.1889147107846439e-11,
    -3.1499165279632416e-11, -1.3215811840447713e-11, -1.7941785315068062e-12, 7.180124451383666e-13,
    3.8527783827421426e-13, 1.54008621752141e-14, -4.150569347287222e-14, -9.554846698828307e-15,
    3.8116806693526224e-15, 1.7725601330565263e-15, -3.425485619677219e-16, -2.8276239805165836e-16,
    3.461222867697461e-17, 4.46562142029676e-17)
_I1_SMALL = (
    0.12629359322181682, -0.17641651835783406, 0.1026436586898471, -0.05294598120809499, 0.024726449030626516,
    -0.010564084894626197, 0.004156422944312888, -0.0015135724506312532, 0.0005122859561685758,
    -0.00016176081582589674, 4.781565107550054e-05, -1.3273163656039436e-05, 3.4702513081376785e-06,
    -8.568720264695455e-07, 2.0032947535521353e-07, -4.445059128796328e-08, 9.381537386495773e-09,
    -1.8872497517228294e-09, 3.625590281552117e-10, -6.663489723502027e-11, 1.1736186298890901e-11,
    -1.9839743977649436e-12, 3.223793365945575e-13, -5.042185504727912e-14, 7.600684294735408e-15,
    -1.1055969477353862e-15, 1.5536319577362005e-16, -2.111421214358166e-17)
_I1_LARGE = (
    0.38928811750914005, -0.009761097491361469, -0.00011058893876262371, -3.882564808877691e-06,
    -2.512236237870209e-07, -2.6314688468895196e-08, -3.835380385964237e-09, -5.589743462196584e-10,
    -1.8974958123505413e-11, 3.2526035830154884e-11, 1.4125807436613782e-11, 2.0356285441470896e-12,
    -7.198551776245908e-13, -4.0835511110921974e-13, -2.1015418427726643e-14, 4.272440016711951e-14,
    1.0420276984128802e-14, -3.8144030724370075e-15, -1.8803547755107825e-15, 3.3082023109209285e-16,
    2.96262899764595e-16, -3.209525921993424e-17, -4.6503053684893586e-17)


@device_function
def _chebyshev(t, coefficients):
    """The sum of coefficients[k] T_k(t), by Clenshaw's recurrence run upwards (T_k+1 = 2 t T_k - T_k-1)."""
    kind = type(t)
    before, now, total = t, kind(1), kind(0)            # T_-1 and T_0
    for coefficient in coefficients:
        total += kind(coefficient) * now
        before, now = now, kind(2) * t * now - before
    return total


@device_function
def i0e(x):
    """exp(-|x|) I_0(x)."""
    kind = type(x)
    z = abs(x)
    if z <= kind(8):
        return _chebyshev(z * kind(0.25) - kind(1), _I0_SMALL)
    return _chebyshev(kind(16) / z - kind(1), _I0_LARGE) / math.sqrt(z)


@device_function
def i1e(x):
    """exp(-|x|) I_1(x)."""
    kind = type(x)
    z = abs(x)
    if z <= kind(8):
        return x * _chebyshev(z * kind(0.25) - kind(1), _I1_SMALL)
    return math.copysign(_chebyshev(kind(16) / z - kind(1), _I1_LARGE) / math.sqrt(z), x)


@device_function
def i0(x):
    """The modified Bessel function I_0(x)."""
    half = math.exp(abs(x) * type(x)(0.5))              # exp(x) itself overflows before I_0(x) does
    return half * i0e(x) * half


@device_function
def i1(x):
    """The modified Bessel function I_1(x)."""
    half = math.exp(abs(x) * type(x)(0.5))
    return half * i1e(x) * half

