"""Names, items and fields of one memory that part on some paths of a loop: as in Python, or refused where one is written."""

from dataclasses import dataclass

import numpy as np
import pytest

from autodiff import UnsupportedSyntax, vjp

from .fuzz import shared

X, Y = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])


@dataclass
class Pair:
    u: np.ndarray
    v: np.ndarray


def two_names(x, y, a):
    v = y
    for i in range(len(x)):
        if a > 0.5:
            v = v.copy()
            y = x
        else:
            v[i] *= 0.5
    return np.sum(y)


def one_dict(x, y, a):
    d = {"u": y, "v": y}
    for i in range(len(x)):
        if a > 0.5:
            d["u"] = x
        else:
            d["v"][i] *= 0.5
    return np.sum(d["u"])


def one_record(x, y, a):
    d = Pair(y, y)
    for i in range(len(x)):
        if a > 0.5:
            d.u, d.v = x, d.v.copy()
        else:
            d.v[i] *= 0.5
    return np.sum(d.u)


def one_list(x, y, a):
    pair = [y, y]
    for i in range(len(x)):
        if a > 0.5:
            pair[0], pair[1] = pair[0] * 1.0, x
        else:
            pair[0][i] *= 0.5
    return np.sum(pair[1])


def one_tuple(x, y, a):
    t = (y, y)
    for i in range(len(x)):
        if a > 0.5:
            t = (x, t[1].copy())
        else:
            t[1][i] *= 0.5
    return np.sum(t[0])


def views(x, y, a):
    u, v = y[:2], y[1:]
    for i in range(2):
        if a > 0.5:
            u, v = x[:2], v.copy()
        else:
            v[i] *= 0.5
    return np.sum(u)


def three_names(x, y, a):
    u = v = w = y
    for i in range(len(x)):
        if a > 0.5:
            u = x
            v = u
            w = w * 1.0
        else:
            w[i] *= 0.5
    return np.sum(v)


def by_a_function(x, y, a):
    u = y

    def change():
        nonlocal u
        if a > 0.5:
            u = u.copy()
        else:
            u[0] *= 0.5
    for _ in range(len(x)):
        change()
        if a > 0.5:
            y = x
    return np.sum(y)


def with_its_own_view(x, y, a):
    v = y[-3:]
    for _ in range(int(2 * a) + 1):
        v, y = y, v
    v[1:] *= 0.5
    return np.sum(y)


def in_a_while(x, y, a):
    v, i = y, 0
    while i < 3:
        if a > 0.5:
            v = np.sort(v)
            y = x
        else:
            v[i] *= 0.5
        i += 1
    return np.sum(y)


@pytest.mark.parametrize("f", [two_names, one_dict, one_record, one_list, one_tuple, views, three_names, by_a_function,
                               with_its_own_view, in_a_while], ids=lambda f: f.__name__)
def test_what_parts_in_a_loop_and_is_written(f):
    for a in (0.1, 0.9):
        try:
            value, _ = vjp(f, X.copy(), Y.copy(), a, mode="python")
        except UnsupportedSyntax as error:
            assert "a second name may see" in str(error) and "0.5" in str(error)        # the line that writes
            assert f"`{'v' if f in (two_names, views, with_its_own_view, in_a_while) else ''}" in str(error)
        else:
            assert value == f(X.copy(), Y.copy(), a)


@pytest.mark.parametrize("seed", range(25))
def test_places_of_one_memory(seed):
    found, text = shared.attempt(seed)
    assert found.verdict != "failed", f"{text}\n{found}"
