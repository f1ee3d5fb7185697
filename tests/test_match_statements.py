"""`match` statements: what matches, and what names hold afterwards, also where a guard was false. Python is the oracle."""

import numpy as np
import pytest

from autodiff import AutodiffError, vjp

from .support import from_text

HEAD = '''
import collections
import dataclasses
from typing import NamedTuple
import numpy as np


@dataclasses.dataclass
class Point:
    a: float
    b: float = 2.0


class Pair(NamedTuple):
    a: float
    b: float = 2.0


def f(x, p, k):
'''
POINTS = ((np.array([0.4, -0.3, 1.1, 0.7]), 0.8, 2), (np.array([-0.6, 0.9, 0.2, -1.2]), -0.7, 3),
          (np.array([-0.6, 0.9, 0.2, -1.2]), 0.7, 0), (np.array([1.6, 0.9, 0.2, -1.2]), 0.6, 1))


def result(call):
    try:
        return call()
    except (NameError, TypeError, LookupError, AttributeError) as e:
        return type(e)


@pytest.mark.parametrize("lines", [
    # a guard that is false leaves the names bound; a pattern that fails does not
    """match (2, np.sum(x[:k])):
        case [0, v1]: pass
        case [k2, v3] if v3: pass
    total = p
    try: total += v3 + k2
    except NameError: total += 1.15
    try: return total + v1
    except NameError: return total * 2""",
    """match x:
        case v if (v := v * 2)[0] > 1: return np.sum(v)
    return p * v[0]""",
    """n = None
    if k > 1: n = (p, x[0])
    match n:
        case None: return 1.0
        case (a, b) if (a := a + 1) > 1.6: return a * b
    return a - b""",
    """match (p, x, k):
        case (float(q), v, j) if q > 0.2 and any(v > q for v in x):
            v[j % 3] = 4.0 * q
            return q + x[0]
        case (q2, *rest) if q2 < 0:
            rest.append(1.0)
            return rest[1] * q2 + len(rest) + rest[0][1]
    return x[0] * q * q2 + np.sum(v) * len(rest)""",
    """total = 0.0
    for i in range(k + 1):
        match (i % 3, x[i % 4]):
            case (0, u) if u > p: total += u * p
            case (1 | 2, u) if u > 0: total += 2 * u
            case (j, w) if j > 1: continue
        total += u
    return total""",
    """match (x, k):
        case (v, 2) if v[0] > 0:
            v *= 2.0
        case (v, j) if j == 3:
            v[1] = p
    return np.sum(v * v) + x[1]""",
    """match {"a": p, "k": k}:
        case {"k": 0, "a": v}: return v
        case {"a": v, **rest} if v > 0.5: return v * rest["k"]
    return v + len(rest)""",
    """for i in range(4):
        match x[i]:
            case v if v > p: break
    return v * i * p""",
    # in a loop that errors leave
    """g, j = None, 0
    try:
        try:
            if p > 0.65: g = abs
            while True:
                j += 1
                if j > k or 0.2 < p <= 0.65: break
                match (-k, g(x[0])):
                    case (0, v): w = p
                    case (i, u) if u > 0.2: w = u * p
        finally:
            match (k, p):
                case (i, v) if v > 0.7: x[0] = v
    except TypeError:
        w = 3.0 * p
    try: return w + i * v
    except NameError: return p""",
    # only sequences match sequences
    """match k:
        case (0, v): return 1.0
        case [*r]: return 4.0
        case int(v) if v > 1: return 2.0 * p * v
        case _: return p + v""",
    """match x:
        case (a, b, *r): return 1.0 * p
        case []: return 2.0 * p
        case np.ndarray(shape=(n,)): return n * p""",
    """match "ab":
        case (a, b): return 1.0
        case str(s) if k > 1: return 2.0 * len(s) * p
    return len(s) * 3.0 * p""",
    """s = None if k > 1 else (p, x[1])
    match s:
        case [a, b]: return a * b
        case _: return p""",
    """match Point(p, 1.0):
        case (a, b): return 1.0
        case {"a": a}: return 2.0
        case _: return p""",
    """match collections.deque([p, x[0], x[1]]):
        case [a, *b, c] if len(b) == k: return a + 2 * c + b[0]
        case _: return a - c + b[0]""",
    """match (p, x[0], x[1]):
        case (a, *b):
            b[0] = 3.0
            b += [a]
    return a + sum(b)""",
    # classes: attributes that are not there, places by __match_args__
    """match Point(p, x[k % 3]):
        case Point(a, b) if a > b: return a + b
        case Point(a=u, c=v): return u
        case Point(u, b=w): return a * u * 2 + w""",
    """match Pair(p, x[0]):
        case Pair(5.7, w): return w
        case Pair(u, w) if u > w: return u * w
        case (u, *w): return sum(w) * u""",
    # names that the program gives to other things
    """len, list = 3.0, 2.0
    isinstance = dict = getattr = hasattr = 1.0
    match Pair(p, x[0]):
        case (a, *b) if k == 0: return a
        case Pair(u, w) if k == 1: return u * w
        case Pair() if k == 2: return len
        case {}: return 5.0
    return len * sum(b) + list * a + isinstance""",
])
def test_against_python(lines):
    f = from_text(f"<match {lines}>", HEAD + "    " + lines + "\n")
    for x, p, k in POINTS:
        theirs = x.copy()
        expected = result(lambda p=p, k=k, theirs=theirs: f(theirs, p, k))
        found = result(lambda x=x, p=p, k=k: vjp(f, x.copy(), p, k, outputs=("x",), mode="python"))
        if isinstance(expected, type):
            assert issubclass(found, expected)
            continue
        (value, written), pull = found
        assert value == pytest.approx(expected, rel=1e-12)
        assert written == pytest.approx(theirs)
        h = 1e-6
        slope = (f(x.copy(), p + h, k) - f(x.copy(), p - h, k)) / (2 * h)
        assert pull((1.0, 0.0 * x))[1] == pytest.approx(slope, abs=1e-5)


def test_names_bound_in_alternatives_are_refused():
    f = from_text("<alternatives>", HEAD + "    match (p, k):\n        case (v, 1) | (v, 2): return v\n    return p\n")
    with pytest.raises(AutodiffError, match="write a case for each"):
        vjp(f, *POINTS[0], mode="python")
