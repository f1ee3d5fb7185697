"""Dicts and lists that change, and defaults of inner functions that do: Python says what is right."""

import numpy as np
import pytest

from autodiff import TypeConflict, UnsupportedSyntax, value_and_grad

from .support import Collected, assert_gradient

X = np.array([1.0, 2.0, 3.0, 4.0])
program = PROGRAMS = Collected()


@program
def default_list(x):
    def g(v, acc=[]):  # noqa: B006
        acc.append(v)
        return sum(acc)

    return g(x[0]) + g(x[1])


@program
def default_of_a_function_made_in_a_loop(x):
    t = 0.0
    for i in range(len(x)):

        def g(v, acc=[]):  # noqa: B006
            acc.append(v)
            return sum(acc)

        t += g(x[i]) * g(x[0])
    return t


@program
def default_dict_in_a_loop(x):
    def g(v, d={"a": 0.0}):  # noqa: B006
        d["a"] = d["a"] + v
        return d["a"]

    t = 0.0
    for i in range(len(x)):
        t += g(x[i])
    return t


@program
def default_in_a_loop_of_a_branch(x):
    t = 0.0
    if x[0] > 9.0:
        t = 2.0
    else:
        for i in range(len(x)):

            def g(v, acc=[1.0], *, found={"n": 0.0}):  # noqa: B006
                acc[0] *= v
                found["n"] += acc[0]
                return found["n"]

            t += g(x[i]) * g(x[0])
    return t


@program
def defaults_in_loops_one_in_another(x):
    t = 0.0
    for i in range(3):
        for k in range(2):

            def g(v, acc=[]):  # noqa: B006
                acc.append(v)
                return sum(acc)

            t += g(x[i]) * g(x[k])
        t = t if t > 1.0 else 2.0 * t
    return t


@program
def dict_methods(x):
    d = {"c": 1.0}
    d.update(c=x[0])
    d.update([("e", x[1])])
    d.update({"z": x[2]}, y=x[3])
    r = 0.0
    for k, (n, v) in enumerate(d.items()):
        r += v * (k + 1)
    r += d.pop("q", x[0]) * 2 + d.pop("e") * 5 + d.setdefault("w", x[1]) + d.setdefault("w", x[3])
    del d["z"]
    d |= {"c": x[3]}
    e = d | {"n": x[0]}
    return r + d["c"] + e["n"] * e["w"] + len(d) + ("z" in d) + len(e)


@program
def dict_updated_in_place(x):
    d = dict(a=x[0])
    f = d
    f |= {"b": x[1]}
    return d["b"] * d["a"]


@program
def default_returned(x):
    def g(v, acc=[]):  # noqa: B006
        acc.append(v)
        return acc

    a = g(x[0])
    b = g(x[1])
    return sum(a) * (a is b) + len(b)


@program
def rows_that_are_one_list(x):
    M = [[0.0] * 3] * 3
    M[0][1] = x[0]
    return M[2][1] + x[1]


@program
def get_by_path(x):
    c = {"a": x[0]}
    k = "a" if x[0] > 0 else "b"
    return c.get(k, x[1])


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_program(f):
    value, gradient = value_and_grad(f, mode="python", debug=True)(X)
    assert value == pytest.approx(f(X), rel=1e-12)
    differences = [(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(4)]
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-5)


def collected(v, acc=[]):  # noqa: B006
    acc.append(v)
    return sum(acc)


def test_a_changed_default_of_a_function_outside_is_refused():
    with pytest.raises(UnsupportedSyntax, match="outside"):
        value_and_grad(lambda x: collected(x[0]), mode="python")(X)


def test_a_missing_key_is_named():
    def f(x):
        d = {"a": x[0]}
        return d.pop("b")

    with pytest.raises(TypeConflict, match="KeyError: 'b'"):
        value_and_grad(f, mode="python")(X)


def romberg_by_keys(x, n=5):
    """A table in a dict whose keys are pairs of counters."""
    R = {}
    for i in range(n):
        R[i, 0] = np.sin(x * i)
        for j in range(1, i + 1):
            R[i, j] = R[i, j - 1] + (R[i, j - 1] - R[(i - 1, j - 1)]) / (4.0 ** j - 1)
    return R[n - 1, n - 1] if (n - 1, n - 1) in R and (n, 0) not in R else 0.0


def romberg_by_rows(x, n=12):
    """A table of lists that begin with nothing."""
    T = [[None] * n for _ in range(n)]
    for i in range(n):
        T[i][0] = x * i
        for j in range(1, i + 1):
            T[i][j] = T[i][j - 1] + (T[i][j - 1] - T[i - 1][j - 1]) / (4.0 ** j - 1)
    return T[n - 1][n - 1] * x if T[0][1] is None else 0.0


@pytest.mark.parametrize("f", [romberg_by_keys, romberg_by_rows])
def test_tables_by_two_counters(f):
    assert_gradient(f, (0.3,), (0,), "python")
