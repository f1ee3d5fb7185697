"""The argument at which a function is least, by Newton's method or BFGS; its derivative is that of the root of the gradient.

Where grad f(x, theta) = 0 with a positive definite Hessian H, dx = -H^-1 (d grad f / dtheta) dtheta.

Source: J. Nocedal and S. Wright, Numerical Optimization, 2nd ed., Springer 2006: algorithm 3.2 with the modification of
section 3.4 (Newton), algorithm 6.1 (BFGS); the implicit derivative as in `roots.py`.
"""

from __future__ import annotations

import numpy as np

from ..api import differentiable, grad
from ..operators.gradients import partial_grad
from ..operators.jacobians import jacobian
from ..operators.pushforwards import jvp
from ..rules import pullback, pushforward
from ..rules.stopping import stop_gradient
from .flat import largest, reachable, shaped, vector


@differentiable
def minimize(f, x0, *theta, method="newton", tol=1e-8, max_iterations=200):
    """The x at which f(x, *theta) has a local minimum, going down from `x0`.

    f: a number. x0: a number or an array of floats; the minimiser has no derivative by it.
    theta: numbers, arrays and structures of them. The derivative with respect to all of them, and to what `f` captures where
        it is defined inside the function that calls `minimize`, is the implicit one: one Hessian and one solve, in every
        mode and of any order.
    method: "newton", with Hessians whose eigenvalues are made positive; "bfgs", with gradients alone, and the last steps by
        Newton's method, so that x is accurate enough to be differentiated.
    tol: stop after a Newton step below tol * (1 + |x|), in the maximum norm, which leaves an error of about its square.
    max_iterations: RuntimeError if more are needed, if no step goes down, or if the Hessian at the end is not positive
        definite: then the minimum is not isolated and has no derivative.
    Returns the minimiser, of the shape of `x0`.
    """
    if method != "newton" and method != "bfgs":
        raise ValueError(f"minimize(): method is 'newton' or 'bfgs', not {method!r}")
    return least(f, stop_gradient(x0), *theta, method=method, tol=tol, max_iterations=max_iterations)


def objective(z, like, f, theta):
    return f(shaped(z, like), *theta)


def slope(z, like, f, theta):
    """The gradient by the unknown."""
    return grad(objective)(z, like, f, theta)


def weighted_slope(theta, z, like, f, weights):
    return np.sum(weights * slope(z, like, f, theta))


def slope_of_parameters(theta, z, like, f):
    return slope(z, like, f, theta)


def curvature(z, like, f, theta):
    """The Hessian by the unknown."""
    return jacobian(slope, direction="forward")(z, like, f, theta)


def least(f, x0, *theta, method, tol, max_iterations):
    z = vector(x0)
    count = 0
    if method == "bfgs":
        z, count = quasi_newton(z, x0, f, theta, max_iterations)
    return shaped(newton(z, x0, f, theta, tol, max_iterations, count), x0)


def newton(z, like, f, theta, tol, max_iterations, count):
    done = False
    tol = reachable(tol, z)
    while not done:
        if count == max_iterations:
            raise RuntimeError(f"minimize() did not converge in {max_iterations} iterations")
        g = slope(z, like, f, theta)
        curvatures, axes = np.linalg.eigh(curvature(z, like, f, theta))
        steepest = largest(curvatures)
        lowest = np.min(curvatures)
        floor = 1e-8 * steepest
        along = axes.T @ g
        if not steepest > 0.0:              # flat: go along the gradient
            curvatures = 1.0 + 0.0 * curvatures
        step = -(axes @ (along / np.maximum(np.abs(curvatures), floor)))
        if not np.isfinite(np.sum(step)):
            raise RuntimeError("minimize() did not converge: the function or a derivative is not finite")
        done = lowest > floor and largest(step) <= tol * (1.0 + largest(z))
        if largest(g) == 0.0 and not done:
            raise RuntimeError("minimize() did not converge to an isolated minimum: the Hessian is not positive definite")
        if done:
            z = z + step
        else:
            z = z + descent(z, step, g, like, f, theta) * step
        count += 1
    return z


def descent(z, step, g, like, f, theta):
    """A step length that satisfies Armijo's condition, by halving; rounding errors of f are forgiven."""
    before = objective(z, like, f, theta)
    expected = np.sum(g * step)
    allowed = reachable(1e-14, z) * np.abs(before)
    t = 1.0
    while not objective(z + t * step, like, f, theta) <= before + 1e-4 * t * expected + allowed:
        t = 0.5 * t
        if t < 1e-14:
            raise RuntimeError("minimize() did not converge: no step goes down")
    return t


def quasi_newton(z, like, f, theta, max_iterations):
    """BFGS until the gradient is a millionth of the first one: (x, iterations)."""
    n = z.shape[0]
    inverse = np.eye(n)
    g = slope(z, like, f, theta)
    bound = 1e-6 * largest(g)
    count = 0
    while largest(g) > bound:
        if count == max_iterations:
            raise RuntimeError(f"minimize() did not converge in {max_iterations} iterations")
        step = -(inverse @ g)
        t = descent(z, step, g, like, f, theta)
        s = t * step
        z = z + s
        g_new = slope(z, like, f, theta)
        y = g_new - g
        g = g_new
        sy = np.sum(s * y)
        if sy > 1e-12 * np.sqrt(np.sum(s * s) * np.sum(y * y)):
            if count == 0:
                inverse = sy / np.sum(y * y) * np.eye(n)
            w = inverse @ y
            inverse = inverse + (1.0 + np.sum(y * w) / sy) / sy * np.outer(s, s) - (np.outer(w, s) + np.outer(s, w)) / sy
        count += 1
    return z, count


@pullback(least)
def least_pullback(x_bar, x, f, x0, theta):
    z = vector(x)
    adjoint = np.linalg.solve(curvature(z, x, f, theta), vector(x_bar))
    return None, None, partial_grad(weighted_slope)(theta, z, x, f, -adjoint)


@pushforward(least)
def least_pushforward(x, f, x0, theta, f_dot, x0_dot, theta_dot):
    z = vector(x)
    g_dot = jvp(slope_of_parameters, (theta, z, x, f), (theta_dot, None, None, None))[1]
    return None, None, shaped(np.linalg.solve(curvature(z, x, f, theta), -g_dot), x)


__all__ = ["minimize"]
