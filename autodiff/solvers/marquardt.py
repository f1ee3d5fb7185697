"""Levenberg's and Marquardt's method for sums of squares, with the tests and constants that MINPACK's lmdif has, so that of
several minima it finds the same.

Source: J. J. Moré, "The Levenberg-Marquardt algorithm: implementation and theory", in G. A. Watson (ed.), Numerical
Analysis, Lecture Notes in Mathematics 630, Springer 1978, with singular values where that has a QR decomposition.
"""

import numpy as np

from ..operators.jacobians import jacobian
from ..rules.stopping import stop_gradient
from .callbacks import search
from .flat import largest, length, values

EPS = float(np.finfo(float).eps)
SMALLEST = float(np.finfo(float).tiny)


def damped(s, q, damping):
    """The coefficients of the step along the right singular vectors, for singular values s and residual q along the left."""
    if damping == 0.0:
        return np.where(s > 0.0, q / np.where(s > 0.0, s, 1.0), 0.0)
    return s * q / (s * s + damping)


def damping_for(s, q, radius, damping, columns):
    """The damping at which the step has the length `radius`, to a tenth; 0 where the undamped one is no longer."""
    along = damped(s, q, 0.0)
    far = length(along)
    excess = far - radius
    if excess <= 0.1 * radius:
        return 0.0 * damping
    full = np.min(s) > EPS * np.max(s) and s.shape[0] == columns
    lowest = excess / radius * far / np.sum(along ** 2 / np.where(s > 0.0, s * s, 1.0)) * far if full else 0.0
    slope = length(s * q)
    highest = slope / radius
    if highest == 0.0:
        highest = SMALLEST / min(radius, 0.1)
    damping = min(max(damping, lowest), highest)
    if damping == 0.0:
        damping = slope / far
    count = 0
    searching = True
    while searching:
        count += 1
        if damping == 0.0:
            damping = max(SMALLEST, 0.001 * highest)
        along = damped(s, q, damping)
        far = length(along)
        before = excess
        excess = far - radius
        if abs(excess) <= 0.1 * radius or (lowest == 0.0 and excess <= before and before < 0.0) or count == 10:
            searching = False
        else:
            change = excess / radius * far * far / np.sum(along ** 2 / (s * s + damping))
            if excess > 0.0:
                lowest = max(lowest, damping)
            else:
                highest = min(highest, damping)
            damping = max(lowest, damping + change)
    return damping


@search
def marquardt_steps(f, x0, args, ftol, xtol, gtol, maxfev, factor, D0):
    """(x, evaluations, MINPACK's word on it) for the least |f(x, *args)|^2 from x0 (n,). D0: scales of the unknowns (n,), or
    None for those of the Jacobian. A Jacobian counts as n evaluations. RuntimeError where it does not converge."""
    x = stop_gradient(1.0 * x0)
    n = x.shape[0]
    r = stop_gradient(values(x, x0, f, args))
    if r.shape[0] < n:
        raise TypeError(f"the function gives {r.shape[0]} residuals, fewer than the {n} unknowns")
    size = length(r)
    D, radius, reach, damping = np.zeros(n), 0.0, 0.0, 0.0
    count, word = 1, 0
    first = True
    while word == 0:
        J = stop_gradient(jacobian(lambda z: values(z, x0, f, args), direction="forward")(x))
        count += n
        columns = np.sqrt(np.sum(J * J, axis=0))
        if first:
            D = np.where(columns == 0.0, 1.0, columns) if D0 is None else D0 + 0.0 * x
            reach = length(D * x)
            radius = factor * reach if reach > 0.0 else factor * 1.0
        uphill = J.T @ r
        cosine = 0.0
        if size > 0.0:
            cosine = largest(np.where(columns == 0.0, 0.0, uphill / size / np.where(columns == 0.0, 1.0, columns)))
        if cosine <= gtol:
            word = 4
        else:
            if D0 is None:
                D = np.maximum(D, columns)
            U, s, V = np.linalg.svd(J / D, full_matrices=False)
            q = U.T @ r
            ratio = 0.0
            while word == 0 and ratio < 1e-4:
                damping = damping_for(s, q, radius, damping, n)
                step = -(V.T @ damped(s, q, damping)) / D
                far = length(D * step)
                if first:
                    radius = min(radius, far)
                tried = x + step
                r_tried = stop_gradient(values(tried, x0, f, args))
                count += 1
                size_tried = length(r_tried)
                actual = 1.0 - (size_tried / size) ** 2 if 0.1 * size_tried < size else -1.0
                flat = (length(J @ step) / size) ** 2
                bent = (np.sqrt(damping) * far / size) ** 2
                predicted = flat + 2.0 * bent
                slope = -(flat + bent)
                ratio = actual / predicted if predicted != 0.0 else 0.0
                if ratio <= 0.25:
                    shrink = 0.5 if actual >= 0.0 else 0.5 * slope / (slope + 0.5 * actual)
                    if 0.1 * size_tried >= size or shrink < 0.1:
                        shrink = 0.1
                    radius = shrink * min(radius, 10.0 * far)
                    damping = damping / shrink
                elif damping == 0.0 or ratio >= 0.75:
                    radius = 2.0 * far
                    damping = 0.5 * damping
                if ratio >= 1e-4:
                    x, r, size = tried, r_tried, size_tried
                    reach = length(D * x)
                    first = False
                flat_enough = abs(actual) <= ftol and predicted <= ftol and ratio <= 2.0
                near_enough = radius <= xtol * reach
                if flat_enough or near_enough:
                    word = (1 if flat_enough else 0) + (2 if near_enough else 0)
                elif count >= maxfev:
                    raise RuntimeError(f"Number of calls to function has reached maxfev = {maxfev}.")
                elif abs(actual) <= EPS and predicted <= EPS and ratio <= 2.0 or radius <= EPS * reach or cosine <= EPS:
                    raise RuntimeError("the tolerances are too small, no further reduction of the squares is possible")
                elif not np.isfinite(size):
                    raise RuntimeError("the residuals are not finite")
    return x, count, word
