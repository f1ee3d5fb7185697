"""Roots by `scipy.optimize` in users' code: SciPy's iterations, without derivative, so that the root is the one that SciPy
finds; its derivative is that of the equation, by the implicit function theorem."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize

from ..operators.gradients import partial_grad
from ..operators.jacobians import jacobian
from ..operators.pushforwards import jvp
from ..rules import defines, pullback, pushforward
from ..rules.stopping import stop_gradient
from ..transforms.lower.numpy_functions.reductions import unsupported
from .callbacks import called, search
from .flat import largest, shaped, solved, values, values_of_parameters, vector, weighted

SMALLEST_RTOL = float(4.0 * np.finfo(float).eps)


# ---- the derivative --------------------------------------------------------------------------------------
def root_at(f, x, *theta, tol):
    """The root x of f(x, *theta) = 0 that was found, to within tol: a function of theta. It calls f for what that reads
    outside, as its derivative does."""
    f(x, *theta)
    return 1.0 * x


def slope_at(x, f, theta, tol):
    """The Jacobian of f at a root x. Where f jumps over zero, x is none: Newton's method would go further than tol."""
    z = vector(x)
    J = jacobian(values, direction="forward")(z, x, f, theta)
    if not largest(solved(J, values(z, x, f, theta), x)) <= max(1e-4 * (1.0 + largest(z)), 4.0 * tol):
        raise RuntimeError("the function has no derivative where its root was found, or does not come near zero there")
    return J


@pullback(root_at)
def root_at_pullback(x_bar, x, f, near, theta, *, tol):
    adjoint = solved(slope_at(x, f, theta, tol).T, vector(x_bar), x)
    return None, None, partial_grad(weighted)(theta, vector(x), x, f, -adjoint)


@pushforward(root_at)
def root_at_pushforward(x, f, near, theta, f_dot, near_dot, theta_dot, *, tol):
    r_dot = jvp(values_of_parameters, (theta, vector(x), x, f), (theta_dot, None, None, None))[1]
    return None, None, shaped(solved(slope_at(x, f, theta, tol), -r_dot, x), x)


@dataclass
class RootResults:
    """What SciPy tells of a search for a root of a function of a number. It has converged, or an error was raised."""

    root: Any
    iterations: Any
    converged: Any = True
    flag: Any = "converged"


def tupled(args):
    return args if isinstance(args, tuple) else (args,)


# ---- in an interval --------------------------------------------------------------------------------------
def value_at(f, x, args):
    return stop_gradient(1.0 * called(f, x, *args))


@search
def by_interpolation(f, before, here, f_before, f_here, args, xtol, rtol, maxiter, hyperbolic):
    """R. P. Brent, Algorithms for Minimization Without Derivatives, 1973, chapter 4, in the form that SciPy has.

    hyperbolic: with the extrapolation of J. C. P. Bus and T. J. Dekker, ACM TOMS 1 (1975), for the inverse quadratic one.
    """
    other, f_other, step_before, step = 0.0 * here, 0.0 * f_here, 0.0 * here, 0.0 * here
    count = 0
    searching = True
    while searching:
        if count == maxiter:
            raise RuntimeError(f"Failed to converge after {maxiter} iterations.")
        count += 1
        if f_before != 0.0 and f_here != 0.0 and (f_before < 0.0) != (f_here < 0.0):
            other, f_other = before, f_before
            step_before = here - before
            step = here - before
        if abs(f_other) < abs(f_here):
            before, here, other = here, other, here
            f_before, f_here, f_other = f_here, f_other, f_here
        close = 0.5 * (xtol + rtol * abs(here))
        half = 0.5 * (other - here)
        if f_here == 0.0 or abs(half) < close:
            searching = False
        else:
            wanted = half
            kept = half
            if abs(step_before) > close and abs(f_here) < abs(f_before):
                if before == other:
                    tried = -f_here * (here - before) / (f_here - f_before)
                else:
                    d_before = (f_before - f_here) / (before - here)
                    d_other = (f_other - f_here) / (other - here)
                    if hyperbolic:
                        tried = -f_here * (f_before - f_other) / (f_before * d_other - f_other * d_before)
                    else:
                        tried = (-f_here * (f_other * d_other - f_before * d_before)
                                 / (d_other * d_before * (f_other - f_before)))
                if 2.0 * abs(tried) < min(abs(step_before), 3.0 * abs(half) - close):
                    kept = step
                    wanted = tried
            step_before = kept
            step = wanted
            before, f_before = here, f_here
            here = here + (step if abs(step) > close else close if half > 0.0 else -close)
            f_here = value_at(f, here, args)
    return here, count


@search
def by_halving(f, a, b, f_a, args, xtol, rtol, maxiter):
    width = b - a
    middle = a
    count = 0
    searching = True
    while searching:
        if count == maxiter:
            raise RuntimeError(f"Failed to converge after {maxiter} iterations.")
        count += 1
        width = 0.5 * width
        middle = a + width
        f_middle = value_at(f, middle, args)
        if f_middle * f_a >= 0.0:
            a = middle
        searching = not (f_middle == 0.0 or abs(width) < xtol + rtol * abs(middle))
    return middle, count


@search
def by_ridders_method(f, a, b, f_a, f_b, args, xtol, rtol, maxiter):
    """C. Ridders, A new algorithm for computing a single root, IEEE Transactions on Circuits and Systems 26 (1979)."""
    tol = xtol + rtol * min(abs(a), abs(b))
    found = a
    count = 0
    searching = True
    while searching:
        if count == maxiter:
            raise RuntimeError(f"Failed to converge after {maxiter} iterations.")
        count += 1
        half = 0.5 * (b - a)
        middle = a + half
        f_middle = value_at(f, middle, args)
        shift = (half if f_b > f_a else -half) * f_middle / np.sqrt(f_middle * f_middle - f_a * f_b)
        length = min(abs(shift), abs(half) - 0.5 * tol)
        found = middle - (length if shift > 0.0 else -length)
        f_found = value_at(f, found, args)
        if (f_found < 0.0) != (f_middle < 0.0):
            a, f_a = found, f_found
            b, f_b = middle, f_middle
        elif (f_found < 0.0) != (f_a < 0.0):
            b, f_b = found, f_found
        else:
            a, f_a = found, f_found
        tol = xtol + rtol * found
        searching = not (f_found == 0.0 or abs(a - b) < tol)
    return found, count


def bracketed(method):
    """What a function of SciPy that searches an interval means. method: which."""
    def search(f, a, b, args=(), xtol=2e-12, rtol=SMALLEST_RTOL, maxiter=100, full_output=False, disp=True):
        if not disp:
            return unsupported(f"scipy.optimize.{method} with disp=False", "leave it out, and catch RuntimeError")
        args = tupled(args)
        if xtol <= 0:
            raise ValueError(f"xtol too small ({xtol:g} <= 0)")
        if rtol < SMALLEST_RTOL:
            raise ValueError(f"rtol too small ({rtol:g} < {SMALLEST_RTOL:g})")
        low, high = stop_gradient(1.0 * a), stop_gradient(1.0 * b)
        f_low, f_high = value_at(f, low, args), value_at(f, high, args)
        if f_low != f_low or f_high != f_high:
            raise ValueError("The function value at an end of the interval is NaN; solver cannot continue.")
        near = low
        count = 0
        if f_low != 0.0:
            near = high
            if f_high != 0.0:
                if f_low * f_high > 0.0:
                    raise ValueError("f(a) and f(b) must have different signs")
                if method == "bisect":
                    near, count = by_halving(f, low, high, f_low, args, xtol, rtol, maxiter)
                elif method == "ridder":
                    near, count = by_ridders_method(f, low, high, f_low, f_high, args, xtol, rtol, maxiter)
                else:
                    near, count = by_interpolation(f, low, high, f_low, f_high, args, xtol, rtol, maxiter,
                                                   method == "brenth")
        x = root_at(f, near, *args, tol=xtol + rtol * abs(near))
        return (x, RootResults(x, count)) if full_output else x
    return search


for _name in ("brentq", "brenth", "bisect", "ridder"):
    defines(getattr(optimize, _name))(bracketed(_name))


# ---- from a point ----------------------------------------------------------------------------------------
@search
def newton_steps(f, fprime, fprime2, x0, args, tol, rtol, maxiter):
    """Newton's method, and Halley's with a second derivative."""
    x = stop_gradient(1.0 * x0)
    count = 0
    searching = True
    while searching:
        if count == maxiter:
            raise RuntimeError(f"Failed to converge after {maxiter} iterations, value is {x}.")
        count += 1
        value = value_at(f, x, args)
        if value == 0.0:
            searching = False
        else:
            slope = value_at(fprime, x, args)
            if slope == 0.0:
                raise RuntimeError(f"Derivative was zero. Failed to converge after {count} iterations, value is {x}.")
            step = value / slope
            if fprime2 is not None:
                bend = 0.5 * step * value_at(fprime2, x, args) / slope
                if abs(bend) < 1.0:
                    step = step / (1.0 - bend)
            searching = not abs(step) <= tol + rtol * abs(x)
            x = x - step
    return x, count


@search
def secant_steps(f, x0, x1, args, tol, rtol, maxiter):
    p0 = stop_gradient(1.0 * x0)
    if x1 is None:
        p1 = p0 * (1.0 + 1e-4) + (1e-4 if p0 >= 0.0 else -1e-4)
    else:
        p1 = stop_gradient(1.0 * x1)
        if p1 == p0:
            raise ValueError("x1 and x0 must be different")
    q0, q1 = value_at(f, p0, args), value_at(f, p1, args)
    if abs(q1) < abs(q0):
        p0, p1 = p1, p0
        q0, q1 = q1, q0
    count = 0
    searching = True
    x = p1
    while searching:
        if count == maxiter:
            raise RuntimeError(f"Failed to converge after {maxiter} iterations, value is {x}.")
        count += 1
        if q1 == q0:
            if p1 != p0:
                raise RuntimeError(f"Tolerance of {p1 - p0} reached. Failed to converge after {count} iterations, "
                                   f"value is {p1}.")
            x = 0.5 * (p1 + p0)
            searching = False
        else:
            x = ((-q0 / q1 * p1 + p0) / (1.0 - q0 / q1)) if abs(q1) > abs(q0) else ((-q1 / q0 * p0 + p1) / (1.0 - q1 / q0))
            searching = not abs(x - p1) <= tol + rtol * abs(p1)
            p0, q0 = p1, q1
            p1 = x
            q1 = value_at(f, p1, args)
    return x, count


@defines(optimize.newton)
def newton(func, x0, fprime=None, args=(), tol=1.48e-08, maxiter=50, fprime2=None, x1=None, rtol=0.0, full_output=False,
           disp=True):
    if np.ndim(x0) != 0:
        return unsupported("scipy.optimize.newton of arrays", "use autodiff.root, or a loop over the elements")
    if not disp:
        return unsupported("scipy.optimize.newton with disp=False", "leave it out, and catch RuntimeError")
    args = tupled(args)
    if tol <= 0:
        raise ValueError(f"tol too small ({tol:g} <= 0)")
    if maxiter < 1:
        raise ValueError("maxiter must be greater than 0")
    near, count = (secant_steps(func, x0, x1, args, tol, rtol, maxiter) if fprime is None else
                   newton_steps(func, fprime, fprime2, x0, args, tol, rtol, maxiter))
    x = root_at(func, near, *args, tol=tol + rtol * abs(near))
    return (x, RootResults(x, count)) if full_output else x


@defines(optimize.root_scalar)
def root_scalar(f, args=(), method=None, bracket=None, fprime=None, fprime2=None, x0=None, x1=None, xtol=None, rtol=None,
                maxiter=None, options=None):
    if options is not None or fprime is True or fprime2 is True:
        return unsupported("scipy.optimize.root_scalar with options, or with derivatives that f returns",
                           "pass them as arguments of their own")
    given = method.lower() if method is not None else (
        "brentq" if bracket is not None else "newton" if fprime is not None else "secant")
    if bracket is None and x0 is None:
        raise ValueError("Unable to select a solver as neither bracket nor starting point provided.")
    if given in ("newton", "halley", "secant"):
        if x0 is None:
            raise ValueError(f"x0 must not be None for {given}")
        return newton(f, x0, fprime if given != "secant" else None, args, 1.48e-08 if xtol is None else xtol,
                      50 if maxiter is None else maxiter, fprime2 if given == "halley" else None,
                      x1 if given == "secant" else None, 0.0 if rtol is None else rtol, full_output=True)[1]
    if given not in ("brentq", "brenth", "bisect", "ridder"):
        return unsupported(f"scipy.optimize.root_scalar with the method {given}", "use brentq")
    a, b = bracket
    search = optimize.brentq if given == "brentq" else optimize.brenth if given == "brenth" else \
        optimize.bisect if given == "bisect" else optimize.ridder
    return search(f, a, b, args, 2e-12 if xtol is None else xtol, SMALLEST_RTOL if rtol is None else rtol,
                  100 if maxiter is None else maxiter, full_output=True)[1]


def refused(what, instead):
    """A definition that says what to use in its place."""
    def refusal(*args, **kwargs):
        return unsupported(what, instead)
    return refusal


for _name, _instead in (("toms748", "brentq"), ("fmin", "minimize with the method Nelder-Mead"),
                        ("fmin_bfgs", "minimize"), ("fmin_l_bfgs_b", "minimize with the method L-BFGS-B")):
    defines(getattr(optimize, _name))(refused(f"scipy.optimize.{_name}", f"use scipy.optimize.{_instead}"))
