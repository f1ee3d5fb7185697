"""`scipy.integrate.quad` in users' code: intervals are chosen without derivative, by the rules of QUADPACK; the derivative
is that of the sum over them, by the limits and by everything that the integrand uses."""

import numpy as np
from scipy import integrate

from ..rules import defines
from ..rules.scipy_functions import integration  # noqa: F401  (it fills the registry)
from ..rules.stopping import stop_gradient
from ..transforms.lower.numpy_functions.reductions import known, unsupported
from . import scipy_ivp  # noqa: F401  (it fills the registry)
from .callbacks import called

# R. Piessens et al., QUADPACK, Springer 1983: Kronrod's nodes and weights for 21 points, Gauss' for every second one.
NODES = np.array([
    0.995657163025808080735527280689003, 0.973906528517171720077964012084452, 0.930157491355708226001207180059508,
    0.865063366688984510732096688423493, 0.780817726586416897063717578345042, 0.679409568299024406234327365114874,
    0.562757134668604683339000099272694, 0.433395394129247190799265943165784, 0.294392862701460198131126603103866,
    0.14887433898163121088482600112972, 0.0])
KRONROD = np.array([
    0.011694638867371874278064396062192, 0.03255816230796472747881897245938964, 0.05475589657435199603138130024458018,
    0.07503967481091995276704314091619, 0.093125454583697605535065465083366, 0.109387158802297641899210590325805,
    0.123491976262065851077958109585166, 0.134709217311473325928054001771707, 0.142775938577060080797094273138717,
    0.147739104901338491374841515972068, 0.149445554002916905664936468389821])
GAUSS = np.array([
    0.0, 0.066671344308688137593568809893332, 0.0, 0.149451349150580593145863396957697, 0.0,
    0.219086362515982043995534934228163, 0.0, 0.269266719309996355091226921569469, 0.0,
    0.295524224714752870173815619188769, 0.0])
LEAST = 200                     # intervals: QUADPACK extrapolates instead of taking many of them


def integrand(f, u, a, b, kind, args):
    """The integrand as a function of u from 0 to 1; from a to infinity x = a + (1 - u) / u."""
    if kind == "finite":
        return (b - a) * called(f, a + (b - a) * u, *args)
    x = (1.0 - u) / u
    if kind == "whole":
        return (called(f, x, *args) + called(f, -x, *args)) / (u * u)
    return called(f, a + x if kind == "up" else b - x, *args) / (u * u)


def over(f, left, right, a, b, kind, args):
    """(the integral over an interval, its error as QUADPACK estimates it), without derivative."""
    middle, half = 0.5 * (left + right), 0.5 * (right - left)
    found, coarse, size = 0.0, 0.0, 0.0
    values = np.zeros(21)
    for i in range(21):
        j = i if i < 11 else i - 11
        at = middle - half * NODES[j] if i < 11 else middle + half * NODES[j]
        values[i] = stop_gradient(1.0 * integrand(f, at, a, b, kind, args))
        found += KRONROD[j] * values[i]
        coarse += GAUSS[j] * values[i]
        size += KRONROD[j] * abs(values[i])
    mean = 0.5 * found
    spread = 0.0
    for i in range(21):
        spread += KRONROD[i if i < 11 else i - 11] * abs(values[i] - mean)
    error = abs(found - coarse) * half
    spread = spread * half
    if spread != 0.0 and error != 0.0:
        error = spread * min(1.0, (200.0 * error / spread) ** 1.5)
    return found * half, max(error, 50.0 * 2.22e-16 * size * half)


def intervals(f, a, b, kind, args, epsabs, epsrel, limit):
    """(left ends, right ends, their number, the error) of intervals from 0 to 1, the worst one halved until all is well."""
    left, right, values, errors = np.zeros(limit), np.zeros(limit), np.zeros(limit), np.zeros(limit)
    right[0] = 1.0
    count = 1
    worst, pieces = 0, 1
    total, error = 0.0, 0.0
    searching = True
    while searching:
        for k in range(pieces):
            place = worst if k == 0 else count - 1
            values[place], errors[place] = over(f, left[place], right[place], a, b, kind, args)
        total, error = np.sum(values[:count]), np.sum(errors[:count])
        if error != error:
            raise ValueError("quad(): the integrand is nan or infinite at a point of the interval")
        if error <= max(epsabs, epsrel * abs(total)):
            searching = False
        elif count == limit:
            raise RuntimeError(f"quad() did not reach its tolerance with {limit} intervals: the error may be {error}")
        else:
            worst = int(np.argmax(errors[:count]))
            middle = 0.5 * (left[worst] + right[worst])
            left[count], right[count] = middle, right[worst]
            right[worst] = middle
            count += 1
            pieces = 2
    return left, right, count, error


@defines(integrate.quad)
def quad(func, a, b, args=(), full_output=0, epsabs=1.49e-8, epsrel=1.49e-8, limit=50, points=None, weight=None, wvar=None,
         wopts=None, maxp1=50, limlst=50, complex_func=False):
    if full_output or points is not None or weight is not None or complex_func:
        return unsupported("scipy.integrate.quad with full_output, points, weight or complex_func",
                           "integrate over parts, and write the weight into the integrand")
    args = args if isinstance(args, tuple) else (args,)
    if known(a) == np.inf or known(b) == -np.inf:
        value, error = quad(func, b, a, args, 0, epsabs, epsrel, limit)
        return -value, error
    up, down = known(b) == np.inf, known(a) == -np.inf
    kind = "whole" if up and down else "up" if up else "down" if down else "finite"
    low, high = 0.0 if down else a, 0.0 if up else b
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError("quad(): write an infinite limit as np.inf where quad is called")
    return summed(func, low, high, kind, args, epsabs, epsrel, max(limit, LEAST))


def summed(f, a, b, kind, args, epsabs, epsrel, limit):
    left, right, count, error = intervals(f, stop_gradient(1.0 * a), stop_gradient(1.0 * b), kind, args, epsabs, epsrel,
                                          limit)
    total = 0.0
    for k in range(count):
        middle, half = 0.5 * (left[k] + right[k]), 0.5 * (right[k] - left[k])
        for i in range(21):
            j = i if i < 11 else i - 11
            at = middle - half * NODES[j] if i < 11 else middle + half * NODES[j]
            total += half * KRONROD[j] * integrand(f, at, a, b, kind, args)
    return total, error
