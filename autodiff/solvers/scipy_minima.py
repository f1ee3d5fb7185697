"""Minima by `scipy.optimize` in users' code: where SciPy's steps lead, with the derivative of the minimum there. Unknowns
that end on a bound have its derivative. A search that fails raises RuntimeError."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize

from ..api import grad
from ..rules import defines
from ..rules.stopping import stop_gradient
from ..transforms.lower.numpy_functions.reductions import unsupported
from .callbacks import called
from .descents import bfgs_steps, lbfgsb_steps, simplex_steps
from .intervals import GOLDEN, bracket, brent_steps, height
from .near import least_near, started
from .scipy_roots import tupled

OURS = "use BFGS, L-BFGS-B or Nelder-Mead, or autodiff.minimize(f, x0, *args)"
ON = 1e-9                   # how near to a bound an unknown is on it
KNOWN = ("maxiter", "gtol", "ftol", "xatol", "fatol", "disp", "xtol")


@dataclass
class Minimum:
    """What `scipy.optimize.minimize` and `minimize_scalar` tell of a minimum."""

    x: Any
    fun: Any
    nit: Any
    jac: Any = None
    success: Any = True
    status: Any = 0
    message: Any = "Optimization terminated successfully."

    def __getitem__(self, name):
        return getattr(self, name)


def option(options, name, given):
    """An option of the user's, or what SciPy takes without it."""
    return given if options is None or name not in options else options[name]


def number(f):
    """A function whose result may be an array of one number."""
    def of_number(x, *theta):
        value = f(x, *theta)
        return value if np.ndim(value) == 0 else np.ravel(value)[0]
    return of_number


def ends_of(bounds, x):
    """(lower, upper bounds) of each unknown, infinite where there are none."""
    if bounds is None:
        return -np.inf + 0.0 * x, np.inf + 0.0 * x
    if isinstance(bounds, optimize.Bounds):
        return bounds.lb + 0.0 * x, bounds.ub + 0.0 * x
    if isinstance(bounds, np.ndarray):
        return 1.0 * bounds[:, 0], 1.0 * bounds[:, 1]
    return (np.array([-np.inf if b[0] is None else 1.0 * b[0] for b in bounds]),
            np.array([np.inf if b[1] is None else 1.0 * b[1] for b in bounds]))


def held_on_bounds(f, on, ends):
    """A function whose unknowns that are `on` their ends stay there, at the bottom of a parabola."""
    def held(z, *theta):
        return f(np.where(on, ends, z), *theta) + 0.5 * np.sum(np.where(on, z - ends, 0.0) ** 2)
    return held


@defines(optimize.minimize)
def minimize(fun, x0, args=(), method=None, jac=None, hess=None, hessp=None, bounds=None, constraints=(), tol=None,
             callback=None, options=None):
    if len(constraints) > 0:
        return unsupported("scipy.optimize.minimize with constraints", "use a penalty, or bounds alone")
    if callback is not None or options is not None and any(name not in KNOWN for name in options):
        return unsupported("scipy.optimize.minimize with callback, or with options other than " + ", ".join(KNOWN),
                           "leave them out")
    if option(options, "disp", False):
        return unsupported("scipy.optimize.minimize with disp=True", "print what it gives")
    named = ("BFGS" if bounds is None else "L-BFGS-B") if method is None else method
    lowered = named.lower()
    if lowered not in ("bfgs", "l-bfgs-b", "nelder-mead") or bounds is not None and lowered != "l-bfgs-b":
        return unsupported(f"scipy.optimize.minimize with the method {named}" + (" and bounds" if bounds is not None else
                                                                                  ""), OURS)
    args = tupled(args)
    f = number((lambda x, *theta: fun(x, *theta)[0]) if jac is True else fun)
    start = started(f, x0, args)
    n = start.shape[0]
    if lowered == "nelder-mead":
        loose = 1e-4 if tol is None else tol
        near, count = simplex_steps(f, start, args, option(options, "xatol", loose), option(options, "fatol", loose),
                                    option(options, "maxiter", 200 * n))
        x = least_near(f, near, args)
    elif lowered == "bfgs":
        near, count = bfgs_steps(f, start, args, option(options, "gtol", 1e-5 if tol is None else tol),
                                 option(options, "maxiter", 200 * n))
        x = least_near(f, near, args)
    else:
        low, high = ends_of(bounds, start)
        lowest, highest = stop_gradient(low), stop_gradient(high)
        if np.any(lowest > highest):
            raise ValueError("one of the lower bounds is greater than an upper bound.")
        near, count = lbfgsb_steps(f, start, args, lowest, highest, option(options, "gtol", 1e-5 if tol is None else tol),
                                   option(options, "ftol", 2.2204460492503131e-09 if tol is None else tol),
                                   option(options, "maxiter", 15000))
        if bounds is None:
            x = least_near(f, near, args)
        else:
            uphill = stop_gradient(grad(lambda z: f(z, *args))(near))
            below = (near <= lowest + ON * (1.0 + np.abs(near))) & (uphill >= 0.0)
            above = (near >= highest - ON * (1.0 + np.abs(near))) & (uphill <= 0.0)
            ends = np.where(below, low, np.where(above, high, 0.0))
            x = least_near(held_on_bounds(f, below | above, ends), near, args)
    return Minimum(x, f(x, *args), count, grad(f)(x, *args))


def least_on_a_line(f, x, args, count):
    found = least_near(f, x, args)
    return Minimum(found, f(found, *args), count)


def least_between(f, x, low, high, args, near, count):
    """The same between two ends: where f still goes down at an end, the derivative is the end's."""
    slope = stop_gradient(grad(lambda t: f(t, *args))(x))
    if x - low <= near and slope > 0.0:
        found = x + (low - stop_gradient(low))
    elif high - x <= near and slope < 0.0:
        found = x + (high - stop_gradient(high))
    else:
        found = least_near(f, x, args)
    return Minimum(found, f(found, *args), count)


def by_brent(func, brack, args, tol, maxiter):
    if brack is None:
        a, b, c, f_b = bracket(func, 0.0, 1.0, args)
    elif len(brack) == 2:
        a, b, c, f_b = bracket(func, stop_gradient(1.0 * brack[0]), stop_gradient(1.0 * brack[1]), args)
    else:
        a, b, c = stop_gradient(1.0 * brack[0]), stop_gradient(1.0 * brack[1]), stop_gradient(1.0 * brack[2])
        a, c = min(a, c), max(a, c)
        f_b = height(func, b, args)
        if not (a < b < c and f_b < height(func, a, args) and f_b < height(func, c, args)):
            raise ValueError("the values in brack do not fulfill a < b < c, f(b) < f(a) and f(b) < f(c)")
    return brent_steps(func, min(a, c), max(a, c), b, f_b, args, tol, 1e-11, 0.3819660, maxiter)


def between(func, x1, x2, args, xatol, maxiter):
    if x1 > x2:
        raise ValueError("The lower bound exceeds the upper bound.")
    low, high = 1.0 * x1, 1.0 * x2
    left, right = stop_gradient(low), stop_gradient(high)
    start = left + GOLDEN * (right - left)
    x, count = brent_steps(func, left, right, start, height(func, start, args), args, 2.2e-16 ** 0.5, xatol / 3.0, GOLDEN,
                           maxiter)
    return least_between(func, x, low, high, args, 2.0 * xatol + 1e-7 * abs(x), count + 1)


@defines(optimize.minimize_scalar)
def minimize_scalar(fun, bracket=None, bounds=None, args=(), method=None, tol=None, options=None):
    named = ("bounded" if bounds is not None else "brent") if method is None else method.lower()
    if named not in ("bounded", "brent"):
        return unsupported(f"scipy.optimize.minimize_scalar with the method {named}", "use brent or bounded")
    args = tupled(args)
    called(fun, 0.5, *args)                 # refuses functions that change something outside them
    if named == "bounded":
        return between(fun, bounds[0], bounds[1], args, option(options, "xatol", 1e-5 if tol is None else tol),
                       option(options, "maxiter", 500))
    x, count = by_brent(fun, bracket, args, option(options, "xtol", 1.48e-8 if tol is None else tol),
                        option(options, "maxiter", 500))
    return least_on_a_line(fun, x, args, count)


@defines(optimize.brent)
def brent(func, args=(), brack=None, tol=1.48e-8, full_output=0, maxiter=500):
    args = tupled(args)
    called(func, 0.5, *args)                # refuses functions that change something outside them
    x, count = by_brent(func, brack, args, tol, maxiter)
    found = least_on_a_line(func, x, args, count)
    return (found.x, found.fun, count, count) if full_output else found.x


@defines(optimize.fminbound)
def fminbound(func, x1, x2, args=(), xtol=1e-5, maxfun=500, full_output=0, disp=1):
    args = tupled(args)
    called(func, 0.5, *args)                # refuses functions that change something outside them
    found = between(func, x1, x2, args, xtol, maxfun)
    return (found.x, found.fun, 0, found.nit) if full_output else found.x
