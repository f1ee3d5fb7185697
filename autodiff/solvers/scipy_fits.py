"""Least squares and curves by `scipy.optimize` in users' code: the parameters that SciPy finds, with the derivative of the
minimum by the data, sigma and what else the functions read. A search that fails raises RuntimeError."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize

from ..operators.jacobians import jacobian
from ..rules import defines
from ..transforms.lower.numpy_functions.reductions import unsupported
from .callbacks import count_of
from .flat import values
from .marquardt import marquardt_steps
from .near import least_near, started
from .scipy_roots import tupled
from .trust_region import cost_of, trust_region_steps

ANYWHERE = "leave them out, or use autodiff.minimize with a transformation of the unknowns"


@dataclass
class Fit:
    """What `scipy.optimize.least_squares` tells of a minimum."""

    x: Any
    cost: Any
    fun: Any
    jac: Any
    grad: Any
    nfev: Any
    status: Any
    success: Any = True
    message: Any = "A termination condition is satisfied."

    def __getitem__(self, name):
        return getattr(self, name)


def half_squares(func):
    return lambda z, *theta: 0.5 * np.sum(values(z, z, func, theta) ** 2)


def marquardt(func, x0, args, ftol, xtol, gtol, maxfev, factor, diag):
    start = started(func, x0, args)
    x, count, word = marquardt_steps(func, start, args, ftol, xtol, gtol, maxfev if maxfev else 200 * (start.shape[0] + 1),
                                     factor, diag)
    return least_near(half_squares(func), x, args), count, word


def slopes(func, x, args):
    """The Jacobian at x."""
    return jacobian(lambda z, *theta: values(z, z, func, theta), direction="forward")(x, *args)


@defines(optimize.leastsq)
def leastsq(func, x0, args=(), Dfun=None, full_output=False, col_deriv=False, ftol=1.49012e-8, xtol=1.49012e-8, gtol=0.0,
            maxfev=0, epsfcn=None, factor=100, diag=None):
    args = tupled(args)
    x, count, word = marquardt(func, x0, args, ftol, xtol, gtol, maxfev, factor, diag)
    if full_output:
        J = slopes(func, x, args)
        return x, np.linalg.inv(J.T @ J), {"fvec": values(x, x, func, args), "nfev": count}, "converged", word
    return x, word


def bounded(bounds) -> bool:
    """Whether bounds, as they are written, exclude anything."""
    return bounds is not None and not (isinstance(bounds, tuple) and len(bounds) == 2 and isinstance(bounds[0], float)
                                       and bounds[0] == -np.inf and isinstance(bounds[1], float) and bounds[1] == np.inf)


@defines(optimize.least_squares)
def least_squares(fun, x0, jac="2-point", bounds=(-np.inf, np.inf), method="trf", ftol=1e-8, xtol=1e-8, gtol=1e-8,
                  x_scale=None, loss="linear", f_scale=1.0, diff_step=None, tr_solver=None, tr_options=None,
                  jac_sparsity=None, max_nfev=None, verbose=0, args=(), kwargs=None, callback=None, workers=None):
    if bounded(bounds):
        return unsupported("scipy.optimize.least_squares with bounds", ANYWHERE)
    if method == "dogbox" or x_scale is not None and isinstance(x_scale, str) or tr_solver == "lsmr" or callback is not None:
        return unsupported("scipy.optimize.least_squares with dogbox, lsmr, x_scale='jac' or callback", "leave them out")
    if not isinstance(loss, str):
        return unsupported("scipy.optimize.least_squares with a loss of its own", "name one of SciPy's")
    args = tupled(args)
    named = {} if kwargs is None else kwargs
    residuals = lambda z, *theta: fun(z, *theta, **named)  # noqa: E731
    start = started(residuals, x0, args)
    n = start.shape[0]
    if method == "lm":
        diag = None if x_scale is None else 1.0 / (x_scale + 0.0 * start)
        x, count, word = marquardt(residuals, x0, args, ftol, xtol, gtol, 0 if max_nfev is None else max_nfev, 100.0, diag)
    else:
        scale = (1.0 if x_scale is None else x_scale) + 0.0 * start
        near, count, word = trust_region_steps(residuals, start, args, ftol, xtol, gtol,
                                               100 * n if max_nfev is None else max_nfev, loss, f_scale, scale)
        x = least_near(lambda z, *theta: cost_of(values(z, z, residuals, theta), loss, f_scale), near, args)
    r, J = values(x, x, residuals, args), slopes(residuals, x, args)
    return Fit(x, cost_of(r, loss, f_scale), r, J, J.T @ r, count, word)


@defines(optimize.curve_fit)
def curve_fit(f, xdata, ydata, p0=None, sigma=None, absolute_sigma=False, check_finite=None, bounds=(-np.inf, np.inf),
              method=None, jac=None, full_output=False, nan_policy=None, ftol=None, xtol=None, gtol=None, maxfev=None):
    if bounded(bounds):
        return unsupported("scipy.optimize.curve_fit with bounds", ANYWHERE)
    if nan_policy is not None or full_output:
        return unsupported("scipy.optimize.curve_fit with nan_policy or full_output", "leave them out")
    data = np.asarray(xdata) if isinstance(xdata, list) else xdata
    wanted = 1.0 * np.asarray(ydata)
    if p0 is None and count_of(f) < 1:
        raise ValueError("Unable to determine number of fit parameters.")
    start = np.ones(count_of(f)) if p0 is None else np.atleast_1d(1.0 * np.asarray(p0))
    if sigma is not None:
        errors = np.asarray(sigma)
        if errors.ndim == 2:
            factor = np.linalg.cholesky(errors)
            residuals = lambda p: np.linalg.solve(factor, f(data, *p) - wanted)  # noqa: E731
        else:
            residuals = lambda p: (f(data, *p) - wanted) / errors  # noqa: E731
    else:
        residuals = lambda p: f(data, *p) - wanted  # noqa: E731
    if method == "trf":
        near, _, _ = trust_region_steps(residuals, started(residuals, start, ()), (), 1e-8 if ftol is None else ftol,
                                        1e-8 if xtol is None else xtol, 1e-8 if gtol is None else gtol,
                                        100 * start.shape[0] if maxfev is None else maxfev, "linear", 1.0, 1.0 + 0.0 * start)
        x = least_near(half_squares(residuals), near, ())
    elif method is None or method == "lm":
        x, _, _ = marquardt(residuals, start, (), 1.49012e-8 if ftol is None else ftol, 1.49012e-8 if xtol is None else xtol,
                            0.0 if gtol is None else gtol, 0 if maxfev is None else maxfev, 100.0, None)
    else:
        return unsupported("scipy.optimize.curve_fit with the method dogbox", "leave it out")
    J = slopes(residuals, x, ())
    covariance = np.linalg.inv(J.T @ J)
    if not absolute_sigma:
        r = values(x, x, residuals, ())
        free = r.shape[0] - x.shape[0]
        covariance = covariance * (np.sum(r ** 2) / free if free > 0 else np.inf)
    return x, covariance
