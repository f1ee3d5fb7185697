"""Loops over generators that are left by `return`, `break` and `continue`, one after the other. Python is the oracle."""

import numpy as np
import pytest

from autodiff import value_and_grad

from .support import from_text

HEAD = '''
import numpy as np


def f(p, x, k):
    def items(a):
        for j in range(k + 1):
            if x[j % 3] > a:
                return
            yield p * j
        yield p + a

    def other(a):
        yield from items(a)
        while a < 0.5:
            a += 0.2
            yield a * p

    s = 0.0
'''
PROGRAMS = [
    """for v in items(0.4): return v * 2
    for v in items(0.3): return p * v
    return 0.5 * p""",
    """for i in (1, 2):
        for v in items(0.4 * i):
            if v > 0.5: return p * v
            s += v
    return 0.5 * p + s""",
    """for i in range(k):
        for v in items(0.4 * i): return v + i
        for v in other(0.4): return v - i
    return 0.25 * p""",
    """for v in other(0.1):
        if v > 0.9: return v
        for w in items(0.5):
            if w > v: return p * w
            s += w
        for w in other(v):
            if w > 0.6: break
            s += w * p
        else:
            return s
    return s""",
    """for v in items(0.4):
        if v > 0.4: return v
        s += v
    try:
        for v in other(0.2):
            if v > 0.5: raise ValueError
            if v > 0.3: return s - v
            s += v
    except ValueError:
        s += v
    for v in other(0.3):
        if s > 0.5: return s * v
    return s""",
    """while s < 2.0:
        s += p
        for v in items(0.4):
            if v > 0.8: break
            if s > v: continue
            return v * s
        for v in other(0.3):
            if s > 1.0: return v + s * p
    return s""",
    """def inner(a):
        for v in items(a):
            if v > 0.3: return v
        for v in other(a): return v * 2
        return a
    for v in items(0.5):
        if v > 0.2: return inner(0.1) * v
        s += inner(v)
    for v in other(0.4): return inner(v) + s
    return s""",
]


@pytest.mark.parametrize("lines", PROGRAMS)
def test_left_generators(lines):
    f = from_text(f"<left {lines}>", HEAD + "    " + lines + "\n")
    derived = value_and_grad(f, mode="python", debug=True)
    for p, k in ((0.8313, 2), (0.3171, 3), (0.4729, 1), (0.2117, 0)):
        for x in np.array([[0.3537, 0.4519, 0.1023], [0.9011, 0.2031, 0.0571], [0.0513, 0.1031, 0.1571]]):
            value, slope = derived(p, x, k)
            assert value == pytest.approx(f(p, x, k), rel=1e-12)
            assert slope == pytest.approx((f(p + 1e-7, x, k) - f(p - 1e-7, x, k)) / 2e-7, abs=1e-5)
