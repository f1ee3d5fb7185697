"""Sums of squares, plain or robust, in a region of trust, with the tests and constants of SciPy's "trf" without bounds.

Source: M. A. Branch, T. F. Coleman, Y. Li, "A subspace, interior, and conjugate gradient method for large-scale
bound-constrained minimization problems", SIAM J. Sci. Comput. 21 (1999); the losses: B. Triggs et al., "Bundle adjustment: a
modern synthesis", 2000.
"""

import numpy as np

from ..operators.jacobians import jacobian
from ..rules.stopping import stop_gradient
from .callbacks import search
from .flat import largest, length, values

EPS = float(np.finfo(float).eps)


def loss_of(loss, z):
    """A robust loss of squares z, and its first and second derivative."""
    if loss == "huber":
        far = np.maximum(z, 1.0)
        return (np.where(z <= 1.0, z, 2.0 * np.sqrt(far) - 1.0), np.where(z <= 1.0, 1.0, far ** -0.5),
                np.where(z <= 1.0, 0.0, -0.5 * far ** -1.5))
    if loss == "soft_l1":
        return 2.0 * (np.sqrt(1.0 + z) - 1.0), (1.0 + z) ** -0.5, -0.5 * (1.0 + z) ** -1.5
    if loss == "cauchy":
        return np.log1p(z), 1.0 / (1.0 + z), -1.0 / (1.0 + z) ** 2
    if loss == "arctan":
        return np.arctan(z), 1.0 / (1.0 + z ** 2), -2.0 * z / (1.0 + z ** 2) ** 2
    return z, 1.0 + 0.0 * z, 0.0 * z


def cost_of(r, loss, scale):
    """Half the sum of losses of residuals r."""
    return 0.5 * np.sum(r * r) if loss == "linear" else 0.5 * scale ** 2 * np.sum(loss_of(loss, (r / scale) ** 2)[0])


def weighed(J, r, loss, scale):
    """The Jacobian and residuals whose squares have the gradient of the loss, and nearly its Hessian."""
    if loss == "linear":
        return J, r
    _, slope, bend = loss_of(loss, (r / scale) ** 2)
    weight = np.sqrt(np.maximum(slope + 2.0 * bend * (r / scale) ** 2, EPS))
    return weight[:, None] * J, slope / weight * r


def step_within(s, V, q, radius, damping, rows):
    """(step, damping): the least |J step + r| in a ball, by the singular values s, right vectors V (a row each) and the
    residual q along the left ones."""
    n = V.shape[1]
    full = rows >= n and s[-1] > EPS * rows * s[0]
    if full:
        step = -(V.T @ (q / s))
        if length(step) <= radius:
            return step, 0.0 * damping
    slopes = s * q
    highest = length(slopes) / radius
    lowest = 0.0
    if full:
        far = length(slopes / s ** 2)
        lowest = (far - radius) * far / np.sum(slopes ** 2 / s ** 6)
    if not full and damping == 0.0:
        damping = max(0.001 * highest, np.sqrt(lowest * highest))
    count = 0
    excess = 2.0 * radius
    while count < 10 and not abs(excess) < 0.01 * radius:
        count += 1
        if damping < lowest or damping > highest:
            damping = max(0.001 * highest, np.sqrt(lowest * highest))
        far = length(slopes / (s ** 2 + damping))
        excess = far - radius
        ratio = -excess * far / np.sum(slopes ** 2 / (s ** 2 + damping) ** 3)
        if excess < 0.0:
            highest = damping
        lowest = max(lowest, damping - ratio)
        damping = damping - (excess + radius) * ratio / radius
    step = -(V.T @ (slopes / (s ** 2 + damping)))
    return radius / length(step) * step, damping


@search
def trust_region_steps(f, x0, args, ftol, xtol, gtol, maxfev, loss, loss_scale, scale):
    """(x, evaluations, SciPy's word on it) for the least loss of f(x, *args) from x0 (n,). RuntimeError after maxfev."""
    x = stop_gradient(1.0 * x0)
    r = stop_gradient(values(x, x0, f, args))
    if not np.isfinite(np.sum(r)):
        raise ValueError("Residuals are not finite in the initial point.")
    cost = cost_of(r, loss, loss_scale)
    radius = length(x / scale)
    if radius == 0.0:
        radius = 1.0
    damping = 0.0
    count, word = 1, 0
    while word == 0:
        J = stop_gradient(jacobian(lambda z: values(z, x0, f, args), direction="forward")(x))
        J, weighted = weighed(J, r, loss, loss_scale)
        if largest(J.T @ weighted) < gtol:
            word = 1
        else:
            J = J * scale
            U, s, V = np.linalg.svd(J, full_matrices=False)
            q = U.T @ weighted
            uphill = J.T @ weighted
            gained = -1.0
            while word == 0 and gained <= 0.0:
                if count >= maxfev:
                    raise RuntimeError("The maximum number of function evaluations is exceeded.")
                step, damping = step_within(s, V, q, radius, damping, r.shape[0])
                change = J @ step
                predicted = -(0.5 * np.sum(change * change) + np.sum(uphill * step))
                tried = x + scale * step
                r_tried = stop_gradient(values(tried, x0, f, args))
                count += 1
                far = length(step)
                if not np.isfinite(np.sum(r_tried)):
                    radius = 0.25 * far
                else:
                    cost_tried = cost_of(r_tried, loss, loss_scale)
                    gained = cost - cost_tried
                    ratio = gained / predicted if predicted > 0.0 else 1.0 if predicted == 0.0 and gained == 0.0 else 0.0
                    before = radius
                    if ratio < 0.25:
                        radius = 0.25 * far
                    elif ratio > 0.75 and far > 0.95 * radius:
                        radius = 2.0 * radius
                    moved = length(scale * step)
                    flat_enough = gained < ftol * cost and ratio > 0.25
                    near_enough = moved < xtol * (xtol + length(x))
                    if flat_enough or near_enough:
                        word = 4 if flat_enough and near_enough else 2 if flat_enough else 3
                    else:
                        damping = damping * before / radius
                    if gained > 0.0:
                        x, r, cost = tried, r_tried, cost_tried
    return x, count, word
