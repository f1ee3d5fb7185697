"""Roots and fixed points: iterations that are not differentiated, with derivatives by the implicit function theorem.

Where f(x, theta) = 0, a change of theta moves the root by dx = -(df/dx)^-1 (df/dtheta) dtheta. The pullback solves the
transposed system, lambda = -(df/dx)^-T x_bar, and pulls lambda back through theta -> f(x, theta). Both are programs in the
language that is differentiated, so that derivatives of any order follow from them.

Source: A. Griewank and A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 15 (implicit and iterative
differentiation); M. Blondel et al., "Efficient and modular implicit differentiation", NeurIPS 2022.
"""

from __future__ import annotations

import numpy as np

from ..api import differentiable, grad
from ..operators.gradients import partial_grad
from ..operators.jacobians import jacobian
from ..operators.pushforwards import jvp
from ..rules import pullback, pushforward
from ..rules.stopping import stop_gradient
from .flat import (
    largest,
    length,
    reachable,
    shaped,
    solved,
    values,
    values_of_parameters,
    vector,
    weighted,
    weighted_of_unknown,
)


@differentiable
def root(f, x0, *theta, tol=1e-10, max_iterations=100):
    """The root x of f(x, *theta) = 0 near `x0`, by Newton's method with step lengths that reduce the residual.

    f: the residual, a number for a number x, else an array with as many elements as x.
    x0: where to begin, a number or an array of floats; the root does not depend on it, and has no derivative by it.
    theta: numbers, arrays and structures of them. The derivative with respect to all of them, and to what `f` captures where
        it is defined inside the function that calls `root`, is that of the implicit function, in every mode and of any
        order, at the cost of one Jacobian and one solve, whatever number of iterations was needed.
    tol: stop after a Newton step below tol * (1 + |x|), in the maximum norm, which leaves an error of about its square.
    max_iterations: RuntimeError if more Newton steps are needed, or no step reduces the residual; a singular Jacobian raises
        what np.linalg.solve does.
    Returns the root, of the shape of `x0`. Called from Python, it runs compiled.

    Source: J. Nocedal and S. Wright, Numerical Optimization, 2nd ed., Springer 2006, algorithm 11.4.
    """
    return newton_root(f, stop_gradient(x0), *theta, tol=tol, max_iterations=max_iterations)


def newton_root(f, x0, *theta, tol, max_iterations):
    z = vector(x0)
    tol = reachable(tol, z)
    r = values(z, x0, f, theta)
    if r.shape[0] != z.shape[0]:
        raise ValueError(f"root(): the residual has {r.shape[0]} elements, the unknown {z.shape[0]}")
    size = length(r)
    done = size == 0.0
    count = 0
    while not done:
        if count == max_iterations:
            raise RuntimeError(f"root() did not converge in {max_iterations} iterations: the residual is {size}")
        step = solved(jacobian(values, direction="forward")(z, x0, f, theta), -r, x0)
        done = largest(step) <= tol * (1.0 + largest(z))
        t = 1.0
        z_new = z + step
        r_new = values(z_new, x0, f, theta)
        while not done and not length(r_new) <= (1.0 - 1e-4 * t) * size:
            t = 0.5 * t
            if t < 1e-8:
                raise RuntimeError(f"root() did not converge: no step reduces the residual, which is {size}")
            z_new = z + t * step
            r_new = values(z_new, x0, f, theta)
        z = z_new
        r = r_new
        size = length(r)
        count += 1
    if not np.isfinite(size):
        raise RuntimeError("root() did not converge: the residual is not finite")
    return shaped(z, x0)


@pullback(newton_root)
def root_pullback(x_bar, x, f, x0, theta):
    z = vector(x)
    J = jacobian(values, direction="forward")(z, x, f, theta)
    adjoint = solved(J.T, vector(x_bar), x)
    return None, None, partial_grad(weighted)(theta, z, x, f, -adjoint)


@pushforward(newton_root)
def root_pushforward(x, f, x0, theta, f_dot, x0_dot, theta_dot):
    z = vector(x)
    J = jacobian(values, direction="forward")(z, x, f, theta)
    r_dot = jvp(values_of_parameters, (theta, z, x, f), (theta_dot, None, None, None))[1]
    return None, None, shaped(solved(J, -r_dot, x), x)


@differentiable
def fixed_point(g, x0, *theta, tol=1e-12, max_iterations=1000):
    """The fixed point x = g(x, *theta), by iterating g from `x0`.

    g must be a contraction near the fixed point. g, x0 and theta are as in `root`, and so are the derivatives, except that
    no Jacobian is formed: the adjoint is a fixed point too, lambda = x_bar + (dg/dx)^T lambda, found by iterating, at the
    rate of the iteration itself.
    tol: stop where a step is below tol * (1 + |x|), in the maximum norm.
    max_iterations: RuntimeError if more are needed; in derivatives too.
    Returns the fixed point, of the shape of `x0`.

    Source: B. Christianson, "Reverse accumulation and attractive fixed points", Optimization Methods and Software 3 (1994).
    """
    return iterated(g, stop_gradient(x0), *theta, tol=tol, max_iterations=max_iterations)


def iterated(g, x0, *theta, tol, max_iterations):
    z = vector(x0)
    tol = reachable(tol, z)
    change = 1.0
    bound = 0.0
    count = 0
    while not change <= bound:
        if count == max_iterations:
            raise RuntimeError(f"fixed_point() did not converge in {max_iterations} iterations: the last step is {change}")
        z_new = vector(values(z, x0, g, theta))
        change = largest(z_new - z)
        bound = tol * (1.0 + largest(z_new))
        z = z_new
        count += 1
    return shaped(z, x0)


def adjoint_map(u, u_bar, z, like, g, theta):
    """One step of the adjoint iteration, u_bar + (dg/dx)^T u."""
    return u_bar + grad(weighted_of_unknown)(z, theta, like, g, u)


def tangent_map(u, c, z, like, g, theta):
    """One step of the tangent iteration, c + (dg/dx) u."""
    return c + jvp(values, (z, like, g, theta), (u, None, None, None))[1]


@pullback(iterated)
def iterated_pullback(x_bar, x, g, x0, theta, *, tol, max_iterations):
    z, z_bar = vector(x), vector(x_bar)
    adjoint = iterated(adjoint_map, stop_gradient(z_bar), z_bar, z, x, g, theta, tol=tol, max_iterations=max_iterations)
    return None, None, partial_grad(weighted)(theta, z, x, g, adjoint)


@pushforward(iterated)
def iterated_pushforward(x, g, x0, theta, g_dot, x0_dot, theta_dot, *, tol, max_iterations):
    z = vector(x)
    c = jvp(values_of_parameters, (theta, z, x, g), (theta_dot, None, None, None))[1]
    z_dot = iterated(tangent_map, stop_gradient(c), c, z, x, g, theta, tol=tol, max_iterations=max_iterations)
    return None, None, shaped(z_dot, x)


__all__ = ["fixed_point", "root"]
