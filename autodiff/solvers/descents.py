"""Ways down to a minimum: BFGS, L-BFGS-B and Nelder and Mead's simplex, with the steps that SciPy's methods of these names
take, so that of several minima they find the same.

Source: J. Nocedal and S. Wright, Numerical Optimization, 2nd ed., Springer 2006, chapter 6; R. H. Byrd, P. Lu, J. Nocedal,
C. Zhu, "A limited memory algorithm for bound constrained optimization", SIAM J. Sci. Comput. 16 (1995), with the projection
of J. L. Morales and J. Nocedal, ACM TOMS 38 (2011); J. A. Nelder and R. Mead, The Computer Journal 7 (1965).
"""

import numpy as np

from ..api import grad, value_and_grad
from ..rules.stopping import stop_gradient
from .callbacks import search
from .flat import largest, length
from .line_search import wolfe_step

EPS = float(np.finfo(float).eps)
PAIRS = 10                  # of steps and changes of the gradient that L-BFGS-B keeps


@search
def bfgs_steps(f, x0, args, gtol, maxiter):
    """(x, iterations), from x0 (n,), until no element of the gradient is above gtol, or no step goes down."""
    x = stop_gradient(1.0 * x0)
    n = x.shape[0]
    value, g = stop_gradient(value_and_grad(lambda z: f(z, *args))(x))
    before = value + length(g) / 2.0
    inverse = np.eye(n)
    count = 0
    searching = largest(g) > gtol
    while searching:
        if count >= maxiter:
            raise RuntimeError("Maximum number of iterations has been exceeded.")
        p = -(inverse @ g)
        start, d0 = x, np.sum(g * p)

        def along(t, start=start, p=p):
            height, uphill = stop_gradient(value_and_grad(lambda z: f(z, *args))(start + t * p))
            return height, np.sum(uphill * p)
        first = min(1.0, 2.02 * (value - before) / d0) if d0 != 0.0 else 1.0
        first = first if first >= 0.0 else 1.0
        t, reached, _, good = wolfe_step(along, value, d0, first, 1e-4, 0.9, 1e-14, 1e-100, 1e100, 100)
        searching = good
        if good:
            s = t * p
            x = x + s
            before, value = value, reached
            g_new = stop_gradient(grad(lambda z: f(z, *args))(x))
            y = g_new - g
            g = g_new
            count += 1
            searching = largest(g) > gtol and t * length(p) > 0.0
            sy = np.sum(y * s)
            rho = 1000.0 if sy == 0.0 else 1.0 / sy
            left = np.eye(n) - rho * np.outer(s, y)
            inverse = left @ inverse @ left.T + rho * np.outer(s, s)
    return x, count


def projected(x, g, low, high):
    """The largest element of the gradient that does not lead out of the bounds."""
    return largest(np.where(g < 0.0, np.maximum(x - high, g), np.minimum(x - low, g)))


def cauchy_point(x, g, B, low, high):
    """(the first minimum of the quadratic model along the projected gradient, which unknowns are free there)."""
    ends = np.where(g < 0.0, (x - high) / np.where(g == 0.0, 1.0, g), np.where(g > 0.0, (x - low) / np.where(
        g == 0.0, 1.0, g), np.inf))
    d = np.where(ends > 0.0, -g, 0.0)
    z, t = 1.0 * x, 0.0
    searching = True
    while searching:
        slope = np.sum(g * d) + np.sum(d * (B @ (z - x)))
        bend = np.sum(d * (B @ d))
        best = -slope / bend if bend > 0.0 else 0.0
        later = np.where(d != 0.0, ends, np.inf)
        end = np.min(later)
        if best < end - t or not np.isfinite(end):
            z = z + max(best, 0.0) * d
            searching = False
        else:
            reached = (later <= end) & (d != 0.0)
            z = np.where(reached, np.where(d > 0.0, high, low), z + (end - t) * d)
            d = np.where(reached, 0.0, d)
            t = end
            searching = largest(d) > 0.0
    return z, (z > low) & (z < high)


def subspace_minimum(x, z, g, B, free, low, high):
    """The minimum of the model over the free unknowns, brought back into the bounds."""
    within = np.where(free, 1.0, 0.0)
    down = -within * (g + B @ (z - x))
    matrix = np.outer(within, within) * B + np.diag(1.0 - within)
    step = np.linalg.solve(matrix, down)
    inside = np.minimum(np.maximum(z + step, low), high)
    if np.sum((inside - x) * g) <= 0.0:
        return inside
    room = np.where(step > 0.0, high - z, np.where(step < 0.0, low - z, np.inf)) / np.where(step == 0.0, 1.0, step)
    return z + min(1.0, np.min(np.where(free & (step != 0.0), room, np.inf))) * step


def model(S, Y, count, theta, n):
    """The BFGS matrix of the last `count` pairs, from theta times the identity."""
    B = theta * np.eye(n)
    for k in range(PAIRS - count, PAIRS):
        Bs = B @ S[k]
        B = B - np.outer(Bs, Bs) / np.sum(S[k] * Bs) + np.outer(Y[k], Y[k]) / np.sum(Y[k] * S[k])
    return B


@search
def lbfgsb_steps(f, x0, args, low, high, gtol, ftol, maxiter):
    """(x, iterations), from x0 (n,) between bounds low and high (n,), infinite where there are none."""
    x = np.minimum(np.maximum(stop_gradient(1.0 * x0), low), high)
    n = x.shape[0]
    bound, boxed = np.any(np.isfinite(low) | np.isfinite(high)), np.all(np.isfinite(low) & np.isfinite(high))
    value, g = stop_gradient(value_and_grad(lambda z: f(z, *args))(x))
    S, Y = np.zeros((PAIRS, n)), np.zeros((PAIRS, n))
    kept, theta = 0, 1.0
    count = 0
    searching = projected(x, g, low, high) > gtol
    while searching:
        if count >= maxiter:
            raise RuntimeError("STOP: TOTAL NO. OF ITERATIONS REACHED LIMIT")
        B = model(S, Y, kept, theta, n)
        z, free = 1.0 * x, np.ones(n) > 0.0
        if bound or kept == 0:
            z, free = cauchy_point(x, g, B, low, high)
        if kept > 0 and np.any(free):
            z = subspace_minimum(x, z, g, B, free, low, high)
        d = z - x
        start, d0 = x, np.sum(g * d)
        longest = 1e10
        if bound:
            room = np.where(d > 0.0, high - x, np.where(d < 0.0, low - x, np.inf)) / np.where(d == 0.0, 1.0, d)
            longest = 1.0 if count == 0 else min(1e10, max(0.0, np.min(np.where(d == 0.0, np.inf, room))))
        first = min(1.0 / length(d), longest) if count == 0 and not boxed else 1.0

        def along(t, start=start, d=d):
            height, uphill = stop_gradient(value_and_grad(lambda u: f(u, *args))(start + t * d))
            return height, np.sum(uphill * d)
        t, reached, d_t, _ = wolfe_step(along, value, d0, min(first, longest), 1e-3, 0.9, 0.1, 0.0, longest, 20)
        if t > 0.0:
            x = z if t == 1.0 else x + t * d
            before, value = value, reached
            g_new = stop_gradient(grad(lambda z: f(z, *args))(x))
            y = g_new - g
            g = g_new
            count += 1
            searching = (projected(x, g, low, high) > gtol
                         and before - value > ftol * max(max(abs(before), abs(value)), 1.0))
            bent = (d_t - d0) * t
            if bent > EPS * -d0 * t:
                S[:-1], Y[:-1] = S[1:].copy(), Y[1:].copy()
                S[-1], Y[-1] = t * d, y
                kept = min(kept + 1, PAIRS)
                theta = np.sum(y * y) / bent
        else:
            searching = kept > 0            # once more, with the gradient alone
            kept, theta = 0, 1.0
    return x, count


@search
def simplex_steps(f, x0, args, xatol, fatol, maxiter):
    """(x, iterations), by Nelder and Mead's moves of a simplex of n + 1 corners around x0 (n,)."""
    n = x0.shape[0]
    start = stop_gradient(1.0 * x0)
    corners = np.zeros((n + 1, n))
    corners[0] = start
    for k in range(n):
        corners[k + 1] = start
        corners[k + 1, k] = 1.05 * start[k] if start[k] != 0.0 else 0.00025
    heights = np.zeros(n + 1)
    for k in range(n + 1):
        heights[k] = stop_gradient(f(corners[k].copy(), *args))
    order = np.argsort(heights)
    corners, heights = corners[order], heights[order]
    count, calls = 1, n + 1
    while np.max(np.abs(corners[1:] - corners[0])) > xatol or np.max(np.abs(heights[0] - heights[1:])) > fatol:
        if count >= maxiter or calls >= maxiter:
            raise RuntimeError("Maximum number of function evaluations has been exceeded.")
        middle = np.sum(corners[:-1], axis=0) / n
        worst = corners[-1].copy()
        tried = 2.0 * middle - worst
        height = stop_gradient(f(tried, *args))
        calls += 1
        shrink = False
        if height < heights[0]:
            farther = 3.0 * middle - 2.0 * worst
            height_farther = stop_gradient(f(farther, *args))
            calls += 1
            if height_farther < height:
                tried, height = farther, height_farther
        elif height >= heights[-2]:
            outside = height < heights[-1]
            nearer = 1.5 * middle - 0.5 * worst if outside else 0.5 * middle + 0.5 * worst
            height_nearer = stop_gradient(f(nearer, *args))
            calls += 1
            shrink = height_nearer > height if outside else height_nearer >= heights[-1]
            tried, height = nearer, height_nearer
        if shrink:
            for k in range(1, n + 1):
                corners[k] = corners[0] + 0.5 * (corners[k] - corners[0])
                heights[k] = stop_gradient(f(corners[k].copy(), *args))
            calls += n
        else:
            corners[-1], heights[-1] = tried, height
        count += 1
        order = np.argsort(heights)
        corners, heights = corners[order], heights[order]
    return corners[0].copy(), count
