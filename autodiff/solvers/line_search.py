"""Steps along a direction that satisfy Wolfe's strong conditions.

Source: J. J. Moré and D. J. Thuente, "Line search algorithms with guaranteed sufficient decrease", ACM TOMS 20 (1994), with
the constants of MINPACK-2's dcsrch, so that a search takes the steps that it takes in SciPy.
"""

import numpy as np


def cubic(a, f_a, d_a, b, f_b, d_b):
    """(theta, gamma) of the cubic through values and slopes at a and b; gamma is 0 where it has no extremum."""
    theta = 3.0 * (f_a - f_b) / (b - a) + d_a + d_b
    s = max(abs(theta), max(abs(d_a), abs(d_b)))
    return theta, s * np.sqrt(max(0.0, (theta / s) ** 2 - (d_a / s) * (d_b / s)))


def trial(x, f_x, d_x, y, f_y, d_y, t, f_t, d_t, bracketed, lowest, highest):
    """(the new best step, its value and slope, the other end of the interval and its, the next step, whether a minimum is
    between the two), from the best step x, the other end y and the step t that was tried last."""
    opposite = d_t * d_x < 0.0
    now = bracketed
    if f_t > f_x:
        theta, gamma = cubic(x, f_x, d_x, t, f_t, d_t)
        gamma = -gamma if t < x else gamma
        r = (gamma - d_x + theta) / (gamma - d_x + gamma + d_t)
        by_cubic = x + r * (t - x)
        by_square = x + d_x / ((f_x - f_t) / (t - x) + d_x) / 2.0 * (t - x)
        closer = abs(by_cubic - x) <= abs(by_square - x)
        step = by_cubic if closer else by_cubic + (by_square - by_cubic) / 2.0
        now = True
    elif opposite:
        theta, gamma = cubic(x, f_x, d_x, t, f_t, d_t)
        gamma = -gamma if t > x else gamma
        r = (gamma - d_t + theta) / (gamma - d_t + gamma + d_x)
        by_cubic = t + r * (x - t)
        by_secant = t + d_t / (d_t - d_x) * (x - t)
        step = by_cubic if abs(by_cubic - t) > abs(by_secant - t) else by_secant
        now = True
    elif abs(d_t) < abs(d_x):
        theta, gamma = cubic(x, f_x, d_x, t, f_t, d_t)
        gamma = -gamma if t > x else gamma
        r = (gamma - d_t + theta) / (gamma + (d_x - d_t) + gamma)
        by_cubic = t + r * (x - t) if r < 0.0 and gamma != 0.0 else highest if t > x else lowest
        by_secant = t + d_t / (d_t - d_x) * (x - t)
        if bracketed:
            step = by_cubic if abs(by_cubic - t) < abs(by_secant - t) else by_secant
            limit = t + 0.66 * (y - t)
            step = min(limit, step) if t > x else max(limit, step)
        else:
            step = by_cubic if abs(by_cubic - t) > abs(by_secant - t) else by_secant
            step = max(lowest, min(highest, step))
    elif bracketed:
        theta, gamma = cubic(t, f_t, d_t, y, f_y, d_y)
        gamma = -gamma if t > y else gamma
        r = (gamma - d_t + theta) / (gamma - d_t + gamma + d_y)
        step = t + r * (y - t)
    else:
        step = highest if t > x else lowest
    if f_t > f_x:
        y, f_y, d_y = t, f_t, d_t
    else:
        if opposite:
            y, f_y, d_y = x, f_x, d_x
        x, f_x, d_x = t, f_t, d_t
    return x, f_x, d_x, y, f_y, d_y, step, now


def wolfe_step(along, f0, d0, first, decrease, bend, width, smallest, largest_step, most):
    """(t, f, d, whether t is good): a step with f(t) <= f0 + decrease * t * d0 and |f'(t)| <= bend * |d0| along a direction.
    A search that ends before that, at a limit or by rounding, gives the last step; t is 0 where `most` are too few.

    along: t -> (value, slope). f0, d0: those at 0, the slope negative. first: the first step. width: the relative width of
    the interval at which to give up.
    """
    enough = decrease * d0
    t = first
    x, f_x, d_x, y, f_y, d_y = 0.0 * t, f0, d0, 0.0 * t, f0, d0
    lowest, highest = 0.0 * t, 5.0 * t
    span = largest_step - smallest
    span_before = 2.0 * span
    bracketed, modified = False, True
    f_t, d_t = f0, d0
    good = False
    count = 0
    searching = d0 < 0.0 and smallest <= t <= largest_step
    failed = not searching
    while searching:
        f_t, d_t = along(t)
        count += 1
        allowed = f0 + t * enough
        if modified and f_t <= allowed and d_t >= 0.0:
            modified = False
        good = f_t <= allowed and abs(d_t) <= bend * -d0
        stuck = (bracketed and (t <= lowest or t >= highest or highest - lowest <= width * highest)
                 or t == largest_step and f_t <= allowed and d_t <= enough
                 or t == smallest and (f_t > allowed or d_t >= enough))
        if good or stuck or count >= most:
            searching = False
            failed = not (good or stuck)
        else:
            lift = enough if modified and f_t <= f_x and f_t > allowed else 0.0
            x, f_x, d_x, y, f_y, d_y, step, bracketed = trial(
                x, f_x - x * lift, d_x - lift, y, f_y - y * lift, d_y - lift, t, f_t - t * lift, d_t - lift, bracketed,
                lowest, highest)
            f_x, f_y, d_x, d_y = f_x + x * lift, f_y + y * lift, d_x + lift, d_y + lift
            if bracketed:
                if abs(y - x) >= 0.66 * span_before:
                    step = x + 0.5 * (y - x)
                span_before, span = span, abs(y - x)
                lowest, highest = min(x, y), max(x, y)
            else:
                lowest, highest = step + 1.1 * (step - x), step + 4.0 * (step - x)
            t = max(smallest, min(largest_step, step))
            if bracketed and (t <= lowest or t >= highest or highest - lowest <= width * highest):
                t = x
            searching = np.isfinite(t)
            failed = not searching
    return (0.0 * t if failed else t), f_t, d_t, good
