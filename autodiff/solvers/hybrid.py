"""Powell's hybrid method for systems of equations, with the tests and constants that MINPACK's hybrd has, so that of several
roots it finds the same.

Source: M. J. D. Powell, "A hybrid method for nonlinear equations", in P. Rabinowitz (ed.), Numerical Methods for Nonlinear
Algebraic Equations, 1970; J. J. Moré, B. S. Garbow, K. E. Hillstrom, User Guide for MINPACK-1, ANL-80-74, 1980.
"""

import numpy as np

from ..operators.jacobians import jacobian
from ..rules.stopping import stop_gradient
from .callbacks import search
from .flat import length, values

EPS = float(np.finfo(float).eps)


def dogleg(R, q, D, radius):
    """The step z with |D z| <= radius that is least in |R z - q| along the gradient and then towards Newton's step.

    R: an upper triangle (n, n). q: (n,). D: the scale of each unknown. A zero on the diagonal is taken for a small number.
    """
    diagonal = np.diag(R)
    small = EPS * np.max(np.abs(R), axis=0)
    filled = np.where(diagonal == 0.0, np.where(small == 0.0, EPS, small), 0.0)
    full = np.linalg.solve(R + np.diag(filled), q)
    reach = length(D * full)
    if reach <= radius:
        return full
    uphill = (R.T @ q) / D
    slope = length(uphill)
    if slope == 0.0:
        return radius / reach * full
    uphill = uphill / slope / D
    bend = length(R @ uphill)
    steepest = slope / bend / bend
    alpha = 0.0
    if steepest < radius:
        part, share = steepest / radius, radius / reach
        across = length(q) / slope * (length(q) / reach) * part
        rest = across - share * part ** 2
        alpha = share * (1.0 - part ** 2) / (
            rest + np.sqrt((across - share) ** 2 + (1.0 - share ** 2) * (1.0 - part ** 2)))
    return (1.0 - alpha) * min(steepest, radius) * uphill + alpha * full


@search
def hybrid_steps(f, x0, args, xtol, maxfev, factor):
    """(root, evaluations) of f(x, *args) = 0 from x0 (n,), by Broyden's updates between Jacobians. RuntimeError where it
    comes to no root."""
    x = stop_gradient(1.0 * x0)
    r = stop_gradient(values(x, x0, f, args))
    n = x.shape[0]
    if r.shape[0] != n:
        raise TypeError(f"the function gives {r.shape[0]} numbers for {n} unknowns")
    size = length(r)
    count = 1
    D, radius, reach = np.zeros(n), 0.0, 0.0
    first = True
    slow, slow_jacobians, good, bad = 0, 0, 0, 0
    searching = size != 0.0
    while searching:
        J = stop_gradient(jacobian(lambda z: values(z, x0, f, args), direction="forward")(x))
        fresh = True
        count += n
        columns = np.sqrt(np.sum(J * J, axis=0))
        if first:
            D = np.where(columns == 0.0, 1.0, columns)
            reach = length(D * x)
            radius = factor * reach if reach > 0.0 else factor
        D = np.maximum(D, columns)
        following = True
        while searching and following:
            Q, R = np.linalg.qr(J)
            q = Q.T @ r
            step = -dogleg(R, q, D, radius)
            far = length(D * step)
            if first:
                radius = min(radius, far)
            tried = x + step
            r_tried = stop_gradient(values(tried, x0, f, args))
            count += 1
            size_tried = length(r_tried)
            actual = 1.0 - (size_tried / size) ** 2 if size_tried < size else -1.0
            expected = length(q + R @ step)
            predicted = 1.0 - (expected / size) ** 2 if expected < size else 0.0
            ratio = actual / predicted if predicted > 0.0 else 0.0
            if ratio < 0.1:
                good = 0
                bad += 1
                radius = 0.5 * radius
            else:
                bad = 0
                good += 1
                if ratio >= 0.5 or good > 1:
                    radius = max(radius, 2.0 * far)
                if abs(ratio - 1.0) <= 0.1:
                    radius = 2.0 * far
            change = (r_tried - r - J @ step) / far
            if ratio >= 1e-4:
                x, r, size = tried, r_tried, size_tried
                reach = length(D * x)
                first = False
            slow = 0 if actual >= 0.001 else slow + 1
            if fresh:
                slow_jacobians += 1
            if actual >= 0.1:
                slow_jacobians = 0
            if radius <= xtol * reach or size == 0.0:
                searching = False
            elif count >= maxfev:
                raise RuntimeError(f"no root was found in {count} evaluations: the residual is {size}")
            elif 0.1 * max(0.1 * radius, far) <= EPS * reach or slow_jacobians == 5 or slow == 10:
                raise RuntimeError(f"no root was found, the steps make no good progress: the residual is {size}")
            elif not np.isfinite(size):
                raise RuntimeError("no root was found: the residual is not finite")
            following = bad != 2
            if following:
                J = J + np.outer(change, D * (D * step / far))
                fresh = False
    return x, count
