"""Minima of functions of a number, with the steps that SciPy's methods of the same names take.

Source: R. P. Brent, Algorithms for Minimization Without Derivatives, 1973, chapter 5, in the forms that SciPy has; the
bracket: W. H. Press et al., Numerical Recipes, section 10.1.
"""

import numpy as np

from ..rules.stopping import stop_gradient
from .callbacks import search

GOLDEN = 0.5 * (3.0 - 5.0 ** 0.5)


def height(f, x, args):
    return stop_gradient(1.0 * f(x, *args))


@search
def bracket(f, a, b, args):
    """Three points of which the middle one is lowest, from two, and its height; RuntimeError where there are none."""
    f_a, f_b = height(f, a, args), height(f, b, args)
    if f_a < f_b:
        a, b = b, a
        f_a, f_b = f_b, f_a
    c = b + 1.618034 * (b - a)
    f_c = height(f, c, args)
    count = 0
    searching = f_c < f_b
    while searching:
        if count > 1000:
            raise RuntimeError("No valid bracket was found before the iteration limit was reached.")
        count += 1
        left, right = (b - a) * (f_b - f_c), (b - c) * (f_b - f_a)
        w = b - ((b - c) * right - (b - a) * left) / (2.0 * (1e-21 if abs(right - left) < 1e-21 else right - left))
        limit = b + 110.0 * (c - b)
        moves = True
        if (w - c) * (b - w) > 0.0:
            f_w = height(f, w, args)
            if f_w < f_c:
                a, b, f_a, f_b = b, w, f_b, f_w
                searching, moves = False, False
            elif f_w > f_b:
                c, f_c = w, f_w
                searching, moves = False, False
            else:
                w = c + 1.618034 * (c - b)
                f_w = height(f, w, args)
        elif (w - limit) * (limit - c) >= 0.0:
            w = limit
            f_w = height(f, w, args)
        elif (w - limit) * (c - w) > 0.0:
            f_w = height(f, w, args)
            if f_w < f_c:
                b, f_b = c, f_c
                c, f_c = w, f_w
                w = c + 1.618034 * (c - b)
                f_w = height(f, w, args)
        else:
            w = c + 1.618034 * (c - b)
            f_w = height(f, w, args)
        if moves:
            a, b, c = b, c, w
            f_a, f_b, f_c = f_b, f_c, f_w
            searching = f_c < f_b
    if not (f_b < f_c and f_b <= f_a or f_b < f_a and f_b <= f_c) or not (a < b < c or c < b < a):
        raise RuntimeError("The algorithm terminated without finding a valid bracket.")
    return a, b, c, f_b


@search
def brent_steps(f, a, b, c, f_b, args, tol, maxiter):
    """(x, iterations) from a bracket a, b, c."""
    low, high = min(a, c), max(a, c)
    x, w, v = b, b, b
    f_x, f_w, f_v = f_b, f_b, f_b
    last, step = 0.0 * b, 0.0 * b
    count = 0
    searching = True
    while searching:
        near = tol * abs(x) + 1e-11
        middle = 0.5 * (low + high)
        if abs(x - middle) < 2.0 * near - 0.5 * (high - low) or count >= maxiter:
            searching = False
        else:
            golden = True
            if abs(last) > near:
                left, right = (x - w) * (f_x - f_v), (x - v) * (f_x - f_w)
                p = (x - v) * right - (x - w) * left
                q = 2.0 * (right - left)
                p = -p if q > 0.0 else p
                q = abs(q)
                before = last
                last = step
                if p > q * (low - x) and p < q * (high - x) and abs(p) < abs(0.5 * q * before):
                    golden = False
                    step = p / q
                    u = x + step
                    if u - low < 2.0 * near or high - u < 2.0 * near:
                        step = near if middle - x >= 0.0 else -near
            if golden:
                last = low - x if x >= middle else high - x
                step = 0.3819660 * last
            u = x + (step if abs(step) >= near else near if step >= 0.0 else -near)
            f_u = height(f, u, args)
            if f_u > f_x:
                low, high = (u, high) if u < x else (low, u)
                if f_u <= f_w or w == x:
                    v, w, f_v, f_w = w, u, f_w, f_u
                elif f_u <= f_v or v == x or v == w:
                    v, f_v = u, f_u
            else:
                low, high = (x, high) if u >= x else (low, x)
                v, w, x = w, x, u
                f_v, f_w, f_x = f_w, f_x, f_u
            count += 1
    return x, count


@search
def bounded_steps(f, low, high, args, xatol, maxiter):
    """(x, evaluations) between two ends."""
    width = np.sqrt(2.2e-16)
    v = low + GOLDEN * (high - low)
    w, x = v, v
    step, last = 0.0 * v, 0.0 * v
    f_x = height(f, x, args)
    f_v, f_w = f_x, f_x
    middle = 0.5 * (low + high)
    near = width * abs(x) + xatol / 3.0
    count = 1
    while abs(x - middle) > 2.0 * near - 0.5 * (high - low):
        golden = True
        if abs(last) > near:
            r, q = (x - w) * (f_x - f_v), (x - v) * (f_x - f_w)
            p = (x - v) * q - (x - w) * r
            q = 2.0 * (q - r)
            p = -p if q > 0.0 else p
            q = abs(q)
            r = last
            last = step
            if abs(p) < abs(0.5 * q * r) and p > q * (low - x) and p < q * (high - x):
                golden = False
                step = p / q
                u = x + step
                if u - low < 2.0 * near or high - u < 2.0 * near:
                    step = near if middle >= x else -near
        if golden:
            last = low - x if x >= middle else high - x
            step = GOLDEN * last
        far = max(abs(step), near)
        u = x + (far if step >= 0.0 else -far)
        f_u = height(f, u, args)
        count += 1
        if f_u <= f_x:
            low, high = (x, high) if u >= x else (low, x)
            v, f_v = w, f_w
            w, f_w = x, f_x
            x, f_x = u, f_u
        else:
            low, high = (u, high) if u < x else (low, u)
            if f_u <= f_w or w == x:
                v, f_v = w, f_w
                w, f_w = u, f_u
            elif f_u <= f_v or v == x or v == w:
                v, f_v = u, f_u
        middle = 0.5 * (low + high)
        near = width * abs(x) + xatol / 3.0
        if count >= maxiter:
            raise RuntimeError("Maximum number of function calls reached.")
    return x, count
