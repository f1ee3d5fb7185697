"""`python -m autodiff check`: what differentiates in a file or package, without running any of it."""

import sys

import numpy as np
import pytest
from scipy import special

from autodiff.survey.findings import FAULT, NO, NOTHING, OPEN, YES, judged, report, survey
from autodiff.survey.guesses import guesses

TEXT = """
import math
import numpy as np

raise_if_run = None


def area(r: float) -> float:
    return math.pi * r * r


def energy(x, k):
    s = 0.0
    for i in range(len(x) - 1):
        s += 0.5 * k * (x[i + 1] - x[i]) ** 2
    return s


def trace_of(m, power):
    n, _ = m.shape
    for _ in range(power):
        m = m @ m
    return m.trace() / n


def of_an_object(tank):
    return tank.volume * 2.0


def with_a_file(x):
    with open("values") as f:
        return x * float(f.read())


def parity(n):
    return n > 0.5


def as_elements(rows):
    return np.array([math.sqrt(v) for v in rows])


def minimised(f, x):
    return f(x)


def by_kind(x, kind):
    if kind == "square":
        return x * x
    raise ValueError(kind)


class Shapes:
    @staticmethod
    def square(a):
        return a * a


never = lambda x: open("/nowhere")
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "shapes_to_survey.py"
    path.write_text(TEXT, encoding="utf-8")
    before = list(sys.path)
    yield path
    sys.modules.pop(path.stem, None)
    sys.path[:] = before


def test_verdicts(file):
    found = {f.name: f for f in survey(str(file))}
    assert {n: f.verdict for n, f in found.items()} == {
        "area": YES, "energy": YES, "trace_of": YES, "of_an_object": OPEN, "with_a_file": NO, "parity": NOTHING,
        "as_elements": YES, "minimised": OPEN, "by_kind": YES, "Shapes.square": YES}
    assert found["energy"].arguments == ("x (an array of rank 1)", "k (a number)")
    assert found["trace_of"].arguments == ("m (an array of rank 2)",)
    assert (found["with_a_file"].place, found["with_a_file"].line) == ("shapes_to_survey.py:31", 30)
    assert "`volume`" in found["of_an_object"].problem


def test_report(file):
    text = report(survey(str(file)))
    assert text.startswith("10 functions: 6 differentiates, 1 refused, 1 nothing to differentiate, 2 not judged")
    assert "1  `…` is not supported of this context   e.g. with_a_file (shapes_to_survey.py:31)" in text


def slow(x):
    y = x
    for i in range(60):
        y = [y, i][0] * np.sum([x] * 60)
    return y


def test_a_function_that_takes_too_long():
    assert judged("slow", slow, 1e-3).verdict == FAULT


def test_arguments_are_unlike():
    (first, *_), why = guesses(area_and_height)
    assert why == "" and len(set(first)) == 2


def area_and_height(a, h):
    return a * h


def rotated(R, p, axis, order, strict, times):
    """Rotate a point.

    Parameters
    ----------
    R : array-like, shape (3, 3)
        Rotation.
    p : array, shape (3,)
        Point.
    axis : int
        Row : column.
    order : str, optional (default: 'xyz')
    strict : bool
    times : 1D array or list of float

    Returns
    -------
    q : dict
    """
    return R @ p + axis


def test_docstrings_tell_what_parameters_are():
    (first, *_), why = guesses(rotated)
    assert [np.shape(x) for x in first] == [(3, 3), (3,), (), (), (), (4,)] and why == ""
    assert first[2:5] == (3, "", False)


def of_a_date(when, x):
    """
    Parameters
    ----------
    when : pandas.DatetimeIndex
    x : float
    """
    return x


def from_a_file(path, x):
    with open(path) as f:
        return len(f.read()) * x


def by_order(n, x):
    return special.spherical_jn(n, x)


def gain(P, h):
    return P @ h[0]


def test_objects_texts_orders_and_matrices_are_told_apart():
    assert guesses(of_a_date)[1] == "`when` is an object, pandas.DatetimeIndex"
    assert guesses(from_a_file)[0][0] == ("", 0.713)
    assert judged("by_order", by_order).values == (3, 0.713)
    assert any(np.ndim(P) == 2 and np.ndim(h) == 1 for P, h in guesses(gain)[0])


def figure(x, k):
    """
    Parameters
    ----------
    x : float

    Returns
    -------
    fig : matplotlib.figure.Figure
    kinds : dict
    """
    return open(f"{x}")


def named(x) -> str:
    return open(f"{x}").read()


def values(x):
    """
    Returns
    -------
    y : ndarray, shape (n,)
    """
    return open(f"{x}").read()


def test_what_is_returned():
    """Functions that are refused, and return no numbers, are not judged."""
    assert [judged(f.__name__, f).verdict for f in (figure, named, values)] == [OPEN, OPEN, NO]
    assert "matplotlib.figure.Figure" in judged("figure", figure).problem
