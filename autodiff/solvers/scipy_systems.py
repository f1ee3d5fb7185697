"""Systems of equations by `scipy.optimize` in users' code: the root to which SciPy's steps lead, with the derivative of the
equations there. A search that fails raises RuntimeError, where SciPy warns or says so in its result."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize

from ..rules import defines
from ..rules.stopping import stop_gradient
from ..transforms.lower.numpy_functions.reductions import unsupported
from .flat import values
from .hybrid import hybrid_steps
from .near import started
from .scipy_roots import root_at, tupled, value_at


@dataclass
class Solution:
    """What `scipy.optimize.root` tells of a root that it found."""

    x: Any
    fun: Any
    nfev: Any
    success: Any = True
    status: Any = 1
    message: Any = "The solution converged."

    def __getitem__(self, name):
        return getattr(self, name)


def system_root(func, x0, args, xtol, maxfev, factor):
    """The root near x0, as a vector, and the number of evaluations."""
    start = started(func, x0, args)
    near, count = hybrid_steps(func, start, args, xtol, maxfev if maxfev else 200 * (start.shape[0] + 1), factor)
    return root_at(func, near, *args, tol=xtol * np.max(np.abs(near))), count


@defines(optimize.fsolve)
def fsolve(func, x0, args=(), fprime=None, full_output=0, col_deriv=0, xtol=1.49012e-08, maxfev=0, band=None, epsfcn=None,
           factor=100, diag=None):
    if diag is not None:
        return unsupported("scipy.optimize.fsolve with diag", "leave it out, or use autodiff.root(f, x0, *args)")
    args = tupled(args)
    x, count = system_root(func, x0, args, xtol, maxfev, factor)
    if full_output:
        return x, {"nfev": count, "fvec": values(x, x, func, args)}, 1, "The solution converged."
    return x


@defines(optimize.root)
def root(fun, x0, args=(), method="hybr", jac=None, tol=None, callback=None, options=None):
    if method != "hybr" or options is not None or callback is not None:
        return unsupported("scipy.optimize.root with a method other than hybr, with options or with callback",
                           "leave them out, or use autodiff.root(f, x0, *args)")
    args = tupled(args)
    equations = (lambda x, *theta: fun(x, *theta)[0]) if jac is True else fun
    x, count = system_root(equations, x0, args, 1.49012e-08 if tol is None else tol, 0, 100)
    return Solution(x, values(x, x, equations, args), count)


@defines(optimize.fixed_point)
def fixed_point(func, x0, args=(), xtol=1e-8, maxiter=500, method="del2"):
    """J. F. Steffensen's iteration (Skandinavisk Aktuarietidskrift 16, 1933), each element for itself."""
    args = tupled(args)
    x = stop_gradient(1.0 * np.asarray(x0)) if np.ndim(x0) > 0 else stop_gradient(1.0 * x0)
    searching = True
    count = 0
    while searching:
        if count == maxiter:
            raise RuntimeError(f"Failed to converge after {maxiter} iterations, value is {x}")
        count += 1
        once = value_at(func, x, args)
        found = once
        if method == "del2":
            twice = value_at(func, once, args)
            bend = twice - 2.0 * once + x
            if np.ndim(x) == 0:
                found = twice if bend == 0.0 else x - (once - x) ** 2 / (1.0 if bend == 0.0 else bend)
            else:
                found = np.where(bend == 0.0, twice, x - (once - x) ** 2 / np.where(bend == 0.0, 1.0, bend))
        change = np.where(x == 0.0, found, (found - x) / np.where(x == 0.0, 1.0, x))
        searching = not np.max(np.abs(change)) < xtol
        x = found
    return root_at(lambda z, *theta: func(z, *theta) - z, x, *args, tol=xtol * np.max(np.abs(x)))
