"""Growing lists of tuples, records and dicts: a column for each of their numbers."""

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest

from autodiff import TypeConflict, grad

from .support import assert_gradient


class Event(NamedTuple):
    t: float
    v: float


@dataclasses.dataclass
class Segment:
    a: float
    b: float


def pairs(x):
    out = []
    for i in range(len(x)):
        if x[i] > 0:
            out.append((x[i], i))
    s = 0.0
    for v, i in out:
        s += v * i
    if out:
        s += out[-1][0] ** 2 + out[0][0] * len(out)
    return s


def namedtuples(x):
    out = []
    for i in range(len(x)):
        if x[i] > 0:
            out.append(Event(i * 0.1, x[i] ** 2))
    s = 0.0
    for k in range(len(out) - 1):
        s += (out[k + 1].t - out[k].t) * (out[k].v + out[k + 1].v)
    return s


def dataclass_items(x):
    segs = []
    for i in range(1, len(x)):
        if x[i] > x[i - 1]:
            segs.append(Segment(x[i - 1], x[i]))
    return sum(((s.b - s.a) ** 2 for s in segs))


def as_an_array(x):
    pts = []
    for v in x:
        if v > -0.5:
            pts.append((v, v * v))
    P = np.array(pts)
    return np.sum(P[:, 0] * P[:, 1]) + P.sum()


def a_stack_of_tuples(x):
    st = [(x[0], 1.0)]
    s = 0.0
    for v in x[1:]:
        while st and st[-1][0] < v:
            top, w = st.pop()
            s += w * (v - top)
        st.append((v, v * 2))
    return s + sum((a * b for a, b in st))


def nested_tuples(x):
    out = []
    for v in x:
        if v > 0:
            out.append((v, (v * 2, 1)))
    return sum((a * b + k for a, (b, k) in out))


def slices_and_numbers(x):
    out = []
    for i in range(3, len(x)):
        if x[i] > 0:
            out.append((x[i - 3:i], x[i]))
    s = 0.0
    for w, v in out:
        s += w @ w * v
    return s


def appended_in_branches(x):
    out = [(x[0], x[1])]
    if x[2] > 0:
        out.append((x[2], x[3]))
    if x[3] > 0:
        out.append((x[3], x[4]))
    return sum((a * b for a, b in out))


def integers_and_floats(x):
    out = []
    for i in range(len(x)):
        if x[i] > 0:
            out.append((i, 0))
        else:
            out.append((i, x[i]))
    return sum((i * v for i, v in out))


def made_anew_in_a_loop(x):
    s = 0.0
    for k in range(3):
        out = []
        for v in x:
            if v > 0.1 * k:
                out.append((v, k))
        for v, j in out:
            s += v ** 2 * (j + 1)
    return s


def dict_items(x):
    out = []
    for v in x:
        if v > 0:
            out.append({'v': v, 'w': v * v})
    return sum((d['v'] * d['w'] for d in out))


def unzipped(x):
    out = []
    for v in x:
        if v > 0:
            out.append((v, v * v))
    a, b = zip(*out)
    return sum(a) * sum(b)


def enumerated(x):
    out = []
    for v in x:
        if v > 0:
            out.append((v, v * v))
    return sum((k * a * b for k, (a, b) in enumerate(out))) + max((b for a, b in out))


def items_replaced(x):
    out = []
    for k, v in enumerate(x):
        if v > 0:
            out.append((v, k))
    out[0] = (x[0] * 2, 3)
    return sum((v * k for v, k in out))


PROGRAMS = [pairs, namedtuples, dataclass_items, as_an_array, a_stack_of_tuples, nested_tuples,
            slices_and_numbers, appended_in_branches, integers_and_floats, made_anew_in_a_loop, dict_items,
            unzipped, enumerated, items_replaced]
X = np.random.default_rng(0).uniform(-1, 1, 12)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_python_mode(program):
    assert_gradient(program, (X,), (0,), "python")


@pytest.mark.parametrize("program", PROGRAMS[::3], ids=lambda p: p.__name__)
def test_compiled(program):
    assert_gradient(program, (X,), (0,), "numba")


def test_second_order():
    def slope(x):
        return (grad(a_stack_of_tuples)(x) ** 2).sum() + (grad(pairs)(x) ** 2).sum()
    assert_gradient(slope, (X,), (0,), "python")


def items_of_two_kinds(x):
    out = []
    for v in x:
        if v > 0:
            out.append((v, 1.0))
        else:
            out.append((v, 1.0, 2.0))
    return out[0][0]


def sorted_tuples(x):
    out = []
    for v in x:
        if v > 0:
            out.append((v, 1.0))
    out.sort()
    return out[0][0] * out[1][0] ** 2


def test_sorted():
    assert np.allclose(grad(sorted_tuples, mode="python")(np.array([0.7, 0.3, -0.2, 0.9])), [0.42, 0.49, 0.0, 0.0])


@pytest.mark.parametrize(("program", "error"), [(items_of_two_kinds, TypeConflict)])
def test_refused(program, error):
    with pytest.raises(error, match="list"):
        grad(program, mode="python")(X)
