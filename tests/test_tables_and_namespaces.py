"""Tables computed from constants while lowering, namespaces made inside, deques as arrays, texts in short loops."""

import math
from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import signal, special

from autodiff import AutodiffError, check_grads, value_and_grad

P = np.array([0.3, 0.7, 0.9, 1.4])
TABLES = {
    "leggauss": lambda: np.polynomial.legendre.leggauss(8), "hermgauss": lambda: np.polynomial.hermite.hermgauss(12),
    "laggauss": lambda: np.polynomial.laguerre.laggauss(deg=4), "chebgauss": lambda: np.polynomial.chebyshev.chebgauss(5),
    "hermegauss": lambda: np.polynomial.hermite_e.hermegauss(3), "roots_hermite": lambda: special.roots_hermite(8),
    "roots_legendre": lambda: special.roots_legendre(4), "roots_jacobi": lambda: special.roots_jacobi(5, 0.5, 1.0),
    "roots_chebyt": lambda: special.roots_chebyt(3), "three": lambda: special.roots_genlaguerre(4, 0.5, mu=True)[:2],
    "butter": lambda: signal.butter(2, 0.2), "butter by name": lambda: signal.butter(N=3, Wn=[0.1, 0.3], btype="band"),
    "cheby1": lambda: signal.cheby1(2, 1.0, 0.3, "high"), "iirnotch": lambda: signal.iirnotch(0.3, 30.0)}


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_two(name):
    table = TABLES[name]

    def program(p):
        a, b = table()
        return np.sum(b * np.exp(p[0] * a) * p[1])
    check(program)


def firwin(p): return np.sum(np.convolve(p, signal.firwin(5, 0.3)) ** 2)
def savgol(p): return np.sum(np.convolve(p, signal.savgol_coeffs(3, 1)) ** 2)
def sections(p): return np.sum(signal.butter(4, [0.1, 0.3], btype="band", output="sos")) * p[0]
def filtered(p): return np.sum(signal.lfilter(*signal.butter(2, 0.2), p) ** 2)


def orders(p):
    total = 0.0
    for n in range(2, 5):
        x, w = np.polynomial.legendre.leggauss(n)
        total += np.sum(w * p[0] ** n * np.cos(x * p[1]))
    return total


def namespace(p):
    r = SimpleNamespace(a=p[0], b=p[1])
    return r.a * r.b


def namespace_changed(p):
    r = SimpleNamespace(a=p[0], b=p[1])
    r.a = r.a * 2
    r.c = p[2]
    other = r
    for _ in range(3):
        other.b += r.a
    return r.a * r.b * r.c


def namespace_in_loop(p):
    state = SimpleNamespace(x=0.0, v=p[0])
    for k in range(len(p)):
        state.x += 0.1 * state.v
        state.v -= 0.1 * p[k] * state.x
    return state.x ** 2 + state.v


def namespace_nested(p):
    q = SimpleNamespace(r=SimpleNamespace(x=p), n=2)
    q.r.x = q.r.x ** 2
    return np.sum(q.r.x) * q.n


def namespace_compared(p):
    d = {"a": p[0], "b": p[1]}
    r = SimpleNamespace(**d)
    return r.a * r.b * (2.0 if r == SimpleNamespace(**d) else 3.0) * (5.0 if r != SimpleNamespace(a=1.0) else 7.0)


def namespace_asked(p):
    r = SimpleNamespace()
    r.v = p[0]
    return r.v * (2.0 if hasattr(r, "w") else 3.0) + getattr(r, "w", p[1])


def window(p):
    last, total = deque(maxlen=3), 0.0
    for v in p:
        last.append(v)
        if len(last) == 3:
            total += np.array(last).std() * np.max(last)
    return total


def window_mean(p):
    last, total = deque([0.0] * 3, maxlen=3), 0.0
    for v in p:
        last.append(v)
        total += np.mean(last) ** 2
    return total


def short_deque(p):
    d = deque([p[0], p[1]])
    return np.sum(p[:2] * d) + np.concatenate((d, p)).sum() + np.stack([d, d])[1, 0] * np.dot(d, d)


def deque_then_changed(p):
    d = deque([p[0], p[1]])
    a = np.array(d)
    d.append(3.0)
    d[0] = 9.0
    return np.sum(a ** 2) + np.asarray(d)[0] * p[2]


def deque_of_rows(p):
    d = deque([p, p * 2.0])
    return np.sum(np.array(d)[1] ** 2) + np.mean(d)


def text_by_index(p):
    text, total = "ACGA", 0.0
    for k in range(4):
        total += p["ACGT".index(text[k])] * (k + 1)
    return total


def text_backwards(p):
    total = 0.0
    for k in range(3, -1, -1):
        if "ABCA"[k] == "A":
            total += p[k] ** 2
    return total


@pytest.mark.parametrize("program", [
    firwin, savgol, sections, filtered, orders, namespace, namespace_changed, namespace_in_loop, namespace_nested,
    namespace_compared, namespace_asked, window, window_mean, short_deque, deque_then_changed, deque_of_rows, text_by_index,
    text_backwards])
def test_value_and_gradient(program):
    check(program)


OUTSIDE = SimpleNamespace(v=3.0)


def writes_outside(p):
    OUTSIDE.v = p[1]
    return p[0] * OUTSIDE.v


@pytest.mark.parametrize("program", [
    writes_outside, lambda p: np.sum(signal.butter(2, p[0])[0]), lambda p: np.polynomial.legendre.leggauss(0)[0][0] * p[0],
    lambda p: np.sum(2.0 * deque([p[0]])), lambda p: np.sum(-deque([p[0]])),
    lambda p: p[0] if deque([p[0]]) < 2.0 else p[1], lambda p: math.sin(deque([p[0]])), lambda p: abs(deque([p[0]]))[0],
    lambda p: float(deque([p[0]])), lambda p: SimpleNamespace(a=p[0]).b])
def test_refused(program):
    with pytest.raises((AutodiffError, ValueError, TypeError, AttributeError)):
        value_and_grad(program, mode="python")(P)


def check(program):
    assert np.isclose(value_and_grad(program, mode="python")(P)[0], program(P))
    check_grads(program, (P,), modes=("rev",), mode="python")
