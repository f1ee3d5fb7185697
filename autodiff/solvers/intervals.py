"""Minima of functions of a number, with the steps that SciPy's methods brent and bounded take.

Source: R. P. Brent, Algorithms for Minimization Without Derivatives, 1973, chapter 5, in the forms that SciPy has; the
bracket: W. H. Press et al., Numerical Recipes, section 10.1.
"""


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
def brent_steps(f, low, high, x, f_x, args, relative, absolute, golden, most):
    """(x, iterations) between two ends, from x. relative, absolute: how near to the minimum; golden: the share of an
    interval that a step takes where no parabola tells."""
    w, v = x, x
    f_w, f_v = f_x, f_x
    last, step = 0.0 * x, 0.0 * x
    count = 0
    searching = True
    while searching:
        near = relative * abs(x) + absolute
        middle = 0.5 * (low + high)
        if abs(x - middle) <= 2.0 * near - 0.5 * (high - low):
            searching = False
        elif count >= most:
            raise RuntimeError("Maximum number of function calls reached.")
        else:
            by_parabola = False
            if abs(last) > near:
                left, right = (x - w) * (f_x - f_v), (x - v) * (f_x - f_w)
                p = (x - v) * right - (x - w) * left
                q = 2.0 * (right - left)
                p = -p if q > 0.0 else p
                q = abs(q)
                before = last
                last = step
                if p > q * (low - x) and p < q * (high - x) and abs(p) < abs(0.5 * q * before):
                    by_parabola = True
                    step = p / q
                    u = x + step
                    if u - low < 2.0 * near or high - u < 2.0 * near:
                        step = near if middle >= x else -near
            if not by_parabola:
                last = low - x if x >= middle else high - x
                step = golden * last
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
