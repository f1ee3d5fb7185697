"""What is said of lists: Python's words where Python raises, and `+=` of lists whose length is known only at run time."""

import re

import numpy as np
import pytest

from autodiff import AutodiffError, value_and_grad

from .errors.test_names import OURS
from .support import module_of

X = np.array([1.0, 2.0, 3.0])
HEAD = """import numpy as np


def f(x):
    q = []
    p = []
    for v in x:
        q.append(v)
        if v > 100.0:
            p.append(v)
    r = [x[0], x[1]]
    t = (x[0], x[1])
    d = {"a": x[0]}
    s = 1.0
"""


def function(body: str):
    text = HEAD + "".join(f"    {line}\n" for line in body.split("; ")) + "    return x[0] * s\n"
    name = f"<list message {body}>"
    return module_of(name, text)["f"]


RAISED = ["q.remove(100.0)", "r.remove(100.0)", "s = t.index(100.0)", "s = p.pop()", "s = [].pop()", "s = max(p)",
          "s = min(p)", "s = max([])", "s = r[10]", "r[10] = 1.0", "del r[10]",
          "s = d['b']", "s = d.pop('b')", "s = range(1, 2, 0)[0]",
          "s = q[::0][0]"]
CLASSES = ["s = q.index(100.0)", "s = r.index(100.0)", "s = q[10]", "q[10] = 1.0", "del q[10]", "s = x[0][0]",
           "s = range(3)[5]", "s = max()", "s = p[0]", "a, b = q"]
ADDED = ["q += p", "q += [1.0, x[0]]", "q += (2.0 * v for v in x)", "r += q", "r.extend(q)", "q += x",
         "r += np.ones(2)", "q += range(3)"]


@pytest.mark.parametrize("body", [*RAISED, *CLASSES])
def test_raised(body):
    f = function(body)
    with pytest.raises((ValueError, LookupError, TypeError)) as expected:
        f(X.copy())
    with pytest.raises(type(expected.value)) as found:
        value_and_grad(f, mode="python")(X)
    assert not OURS.search(str(found.value).split("\n")[0])
    if body in RAISED:
        assert str(expected.value) in str(found.value)


@pytest.mark.parametrize("body", ADDED)
def test_added(body):
    name = "r" if body.startswith("r") else "q"
    f = function(f"{body}; s = sum({name}) + len({name})")
    value, gradient = value_and_grad(f, mode="python")(X)
    assert value == f(X.copy())
    for k in range(3):
        d = 1e-6 * (np.arange(3) == k)
        assert gradient[k] == pytest.approx((f(X + d) - f(X - d)) / 2e-6, rel=1e-6)


def bound_to_one_another(x):
    p, q = [], []
    for v in x:
        p = q
        q.append(v)
    return sum(p)


def bound_in_a_branch(x):
    p, q = [], []
    for v in x:
        if v > 1.0:
            p = q
        else:
            q.append(v)
    return sum(q) + sum(p)


def either(x):
    q = []
    for v in x:
        if v > 100.0:
            q.append(v)
    return sum(q or [x[0]])


def starred(x):
    q = []
    for v in x:
        q.append(v)
    return max(*q)


@pytest.mark.parametrize("f", [bound_to_one_another, bound_in_a_branch, either, starred])
def test_right_or_refused(f):
    try:
        value, _ = value_and_grad(f, mode="python")(X)
    except AutodiffError as e:
        told = f"{e.problem} {e.hint}"
        assert not OURS.search(told)
        assert not re.search(r"is (a list[\w ]*) on one path and \1 on another", told)
        return
    assert value == f(X)
