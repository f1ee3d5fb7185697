"""What ends a compilation half way (Ctrl-C, no memory, no stack) leaves a state in which the next call works."""

import random
import signal
import sys
import threading
import time

import numpy as np
import pytest

from autodiff import UnsupportedSyntax, grad, jvp, value_and_grad

from .support import module_of

X = np.array([0.5, 1.5, -0.7])
SOURCE = """
import numpy as np

def helper{k}(a, b):
    if a > b:
        return a * {k}.0
    return b * b

def f{k}(x):
    s = 0.0
    y = np.sin(x) * {k}.0
    for i in range(x.shape[0]):
        s += helper{k}(x[i], 0.1) * y[i]
        if s > 50.0:
            break
    parts = [np.sum(y), s]
    return parts[0] * parts[1]
"""


def function(k, source=SOURCE, name="f{k}"):
    text = source.format(k=k)
    file = f"<clean state {k} {len(text)}>"
    space = module_of(file, text)
    return space[name.format(k=k)]


def expected(f):
    h = 1e-6
    return np.array([(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(3)])


@pytest.fixture
def after():
    """`after(seconds, error)`: raise `error` in this thread then, wherever it is."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        pytest.skip("signals come to the main thread")
    before = signal.getsignal(signal.SIGALRM)

    def arm(seconds, error):
        def handler(number, frame):
            raise error
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, seconds)
    yield arm
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RecursionError])
def test_a_program_half_lowered(after, error):
    rng = random.Random(error.__name__)
    begin = time.perf_counter()
    grad(function(1), mode="python")(X)
    usual = time.perf_counter() - begin
    struck = 0
    for k in range(2, 22):
        f = function(k)
        gradient = grad(f, mode="python")
        try:
            after(max(1e-4, rng.random() * usual), error)
            gradient(X)
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        except BaseException:                           # also another one, of which it was the cause
            struck += 1
        assert np.allclose(gradient(X), expected(f), rtol=1e-4)
    assert struck or error is RecursionError            # after which it is lowered again, with room


def test_numba_half_way(after):
    """The compilation goes on, on its own thread, and the next call waits for it."""
    f = function(30)
    both = value_and_grad(f)
    for seconds in (0.2, 0.3, 0.5):
        with pytest.raises(KeyboardInterrupt):
            after(seconds, KeyboardInterrupt)
            both(X)
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            raise KeyboardInterrupt                     # it was faster
    value, gradient = both(X)
    assert np.isclose(value, f(X)) and np.allclose(gradient, expected(f), rtol=1e-4)


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_a_caller_near_the_limit_of_recursion(mode):
    f = function(40 + (mode == "numba"))
    gradient = grad(f, mode=mode)

    def deeper(left):
        return gradient(X) if left == 0 else deeper(left - 1)
    used = 0
    frame = sys._getframe()
    while frame is not None:
        used, frame = used + 1, frame.f_back
    before = sys.getrecursionlimit()
    assert np.allclose(deeper(before - used - 60), expected(f), rtol=1e-4)
    assert sys.getrecursionlimit() == before


def test_a_sum_of_four_hundred():
    text = "def f{k}(x):\n    s = " + " + ".join(f"x[{n % 3}] * {n}.0" for n in range(400)) + "\n    return s * s\n"
    f = function(50, text)
    assert np.allclose(grad(f, mode="python")(X), expected(f), rtol=1e-4)


def test_more_branches_inside_one_another_than_python_reads():
    text = "def f{k}(x):\n    s = 0.0\n" + "".join(
        f"    {'el' if n else ''}if x[0] > {3 - n / 100}:\n        s = s + x[1] * {n}.0\n" for n in range(400))
    with pytest.raises(UnsupportedSyntax, match="branches stand inside one another"):
        grad(function(51, text + "    return s\n"), mode="python")(X)


def test_two_hundred_branches_of_one_chain():
    text = "def f{k}(x):\n    s = 0.0\n" + "".join(
        f"    {'el' if n else ''}if x[0] > {3 - n / 100}:\n        s = s + x[1] * {n}.0\n" for n in range(200))
    f = function(52, text + "    return s\n")
    gradient = grad(f, mode="python")
    assert np.allclose(gradient(X), expected(f), rtol=1e-4)
    assert "elif" in gradient.source


def test_branches_that_python_cannot_read_so_deep():
    text = "def f{k}(x):\n    s = x[1]\n" + "".join(
        f"    if x[0] > {3 - n / 100}:\n        return s\n    s = s * 0.9 - {n}.0 * x[2]\n" for n in range(105))
    f = function(53, text + "    return s\n")
    assert np.allclose(grad(f, mode="python")(X), expected(f), rtol=1e-4)         # it is cut in pieces
    with pytest.raises(UnsupportedSyntax, match="inside one another"):
        jvp(f, (X,), (X,), mode="python")
