"""Errors tell the user's place: refusals with short tracebacks, errors of the run with the line they come from."""

import ast
import inspect
import re
import traceback

import numba
import numpy as np
import pytest

from autodiff import (
    AutodiffError,
    check_grads,
    entry,
    grad,
    hessian,
    jacobian,
    jvp,
    linearize,
    sharded,
    value_and_grad,
    vjp,
)
from autodiff.calling.inside_numba import attempted, run_lines
from autodiff.calling.tracebacks import KEEPS_FRAMES, shortened

X = np.linspace(0.1, 1.0, 4)


COUNT = 0


def refused(x):
    global COUNT
    COUNT = 1
    return np.sum(x)


ENTRIES = {
    "grad": lambda f: grad(f, mode="python")(X),
    "value_and_grad": lambda f: value_and_grad(f, mode="python")(X),
    "specialize": lambda f: grad(f, mode="python").specialize(X),
    "vjp": lambda f: vjp(f, X, mode="python"),
    "linearize": lambda f: linearize(f, X, mode="python"),
    "jvp": lambda f: jvp(f, (X,), (X,), mode="python"),
    "jacobian": lambda f: jacobian(f, mode="python")(X),
    "sparse": lambda f: jacobian(f, sparse=True, mode="python")(X),
    "hessian": lambda f: hessian(f, mode="python")(X),
    "primal": lambda f: grad(f, mode="python").primal(X),
    "check_grads": lambda f: check_grads(f, (X,)),
}


def frames_of(call, function):
    with pytest.raises(AutodiffError) as raised:
        call(function)
    error = raised.value
    assert error.__cause__ is None
    assert error.__suppress_context__
    return traceback.extract_tb(error.__traceback__)


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_refusals_show_the_users_frames(name, monkeypatch):
    monkeypatch.delenv("AUTODIFF_DEBUG", raising=False)
    frames = frames_of(ENTRIES[name], refused)
    assert len([f for f in frames if f.filename == __file__]) == 2
    assert len(frames) == 2 + KEEPS_FRAMES
    assert not any("transforms" in f.filename for f in frames)


def test_debugging_keeps_all_frames(monkeypatch):
    with pytest.raises(AutodiffError) as raised:
        grad(refused, mode="python", debug=True)(X)
    assert any("transforms" in f.filename for f in traceback.extract_tb(raised.value.__traceback__))
    monkeypatch.setenv("AUTODIFF_DEBUG", "1")
    with pytest.raises(AutodiffError) as raised:
        grad(refused, mode="python")(X)
    assert any("transforms" in f.filename for f in traceback.extract_tb(raised.value.__traceback__))



def test_errors_of_the_run_show_the_users_frames(monkeypatch):
    """Neither generated code nor what it calls is in the traceback; with debug it is."""
    monkeypatch.delenv("AUTODIFF_DEBUG", raising=False)
    singular_, unequal_ = np.zeros((2, 2)), np.ones(3)
    calls = [lambda debug, mode: grad(beyond, mode=mode, debug=debug)(X, 7),
             lambda debug, mode: value_and_grad(unequal, mode=mode, debug=debug)(X, unequal_),
             lambda debug, mode: vjp(own_words, X, mode=mode, debug=debug),
             lambda debug, mode: grad(singular, mode="python", debug=debug)(singular_, np.ones(2))]
    for call in calls:
        for mode in ("python", "numba") if call is calls[0] else ("python",):
            for debug in (False, True):
                with pytest.raises(Exception) as raised:
                    call(debug, mode)
                frames = traceback.extract_tb(raised.value.__traceback__)
                assert [f.filename for f in frames[:2]] == [__file__] * 2
                assert (len(frames) == 2 + KEEPS_FRAMES) == (not debug), (mode, frames)
    with pytest.raises(ZeroDivisionError) as raised:                # what the user's own functions raise is theirs
        sharded(total, [1.0], load=divided, mode="python").grad(X)
    assert [f.name for f in traceback.extract_tb(raised.value.__traceback__)][-1] == "divided"


def test_the_deepest_traceback_is_shortened():
    def deep(n):
        return deep(n + 1)
    with pytest.raises(RecursionError) as raised:
        deep(0)
    assert len(traceback.extract_tb(shortened(raised.value).__traceback__)) > 500


def beyond(x, n):
    total = 0.0
    for i in range(n):
        total += x[i + 1] * x[i]
    return total


def gathered(x, at):
    y = x[at] * 2.0
    return np.sum(y * y)


def fixed(x):
    y = x * 2.0
    return y[6] + x[0]


def unequal(x, y):
    z = x[0]
    return z + np.sum(
        x * y)


def mean_of_unequal(x, y):
    return np.mean(x - y)


def own_words(x):
    if x[0] < 1.0:
        raise ValueError(f"{x[0]:.2f} is too {{small}}")
    return x[0]


def total(shard, x):
    return np.sum(x) * shard


def divided(shard):
    return shard / 0


RUN_TIME = {                                # the call's arguments, the error, how its text ends
    beyond: ((X, 7), IndexError, "index 4 is out of bounds for axis 0 with size 4\n  {}:0, in beyond"),
    gathered: ((X, np.array([1, -9])), IndexError, "index -9 is out of bounds for axis 0 with size 4\n  {}:0, in gathered"),
    fixed: ((X,), IndexError, "index 6 is out of bounds for axis 0 with size 4\n  {}:0, in fixed"),
    unequal: ((X, np.ones(3)), ValueError,
              "operands could not be broadcast together with shapes (4,) (3,)\n  {}:0, in unequal"),
    mean_of_unequal: ((X, np.ones(3)), ValueError,
                      "operands could not be broadcast together with shapes (4,) (3,)\n  {}:0, in mean_of_unequal"),
    own_words: ((X,), ValueError, "0.10 is too {{small}}"),
}
OPERATORS = {
    "grad": lambda f, mode: grad(f, mode=mode),
    "value": lambda f, mode: grad(f, mode=mode).primal,
    "vjp": lambda f, mode: lambda *args: vjp(f, *args, mode=mode),
    "linearize": lambda f, mode: lambda *args: linearize(f, *args, mode=mode),
    "jvp": lambda f, mode: lambda x, *args: jvp(f, (x, *args), (np.ones(4), *(None for _ in args)), mode=mode),
    "jacobian": lambda f, mode: jacobian(f, mode=mode),
    "hessian": lambda f, mode: hessian(f, mode=mode),
}


def told(function, call):
    """The text of the error that a call raises, which is of the very class that NumPy or the program raises."""
    args, kind, _ = RUN_TIME[function]
    with pytest.raises(kind) as raised:
        call(*args)
    assert type(raised.value) is kind
    return str(raised.value)


def expected(function):
    first = function.__code__.co_firstlineno
    text = RUN_TIME[function][2].format("test_error_places.py")
    return re.sub(r":(\d+), in (\w+)", lambda m: f":{first + OFFSET[m[2]]}, in {m[2]}", text)


OFFSET = {"beyond": 3, "gathered": 1, "fixed": 2, "unequal": 2, "mean_of_unequal": 1}


@pytest.mark.parametrize("operator", sorted(OPERATORS))
@pytest.mark.parametrize("function", list(RUN_TIME), ids=lambda f: f.__name__)
def test_errors_of_the_run_name_the_line(function, operator):
    assert told(function, OPERATORS[operator](function, "python")) == expected(function)


def test_compiled_code_tells_the_same():
    for function in RUN_TIME:
        assert told(function, grad(function)) == expected(function)


def test_a_try_stands_alone_in_what_compiled_callers_run():
    """From Python 3.12 on, Numba takes what is raised behind a `try`, in the same function, for nothing."""
    @numba.njit
    def positive(x):
        if x < 0.0:
            raise ValueError("negative")
        return x, np.full(2, x)
    attempt = attempted(positive, 1)

    @numba.njit
    def twice(x):
        done, found = attempt(x)
        if not done:
            found = positive(x)
        return found[1].sum()
    assert twice(2.0) == 4.0
    with pytest.raises(ValueError, match="negative"):
        twice(-1.0)
    tree, = ast.parse(inspect.getsource(run_lines)).body
    assert not any("try" in n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str))


def test_compiled_callers_tell_the_same():
    beyond_grad, own_grad, unequal_grad = grad(beyond), grad(own_words), grad(unequal)

    @numba.njit
    def caller(which, x, y, n):
        if which == 0:
            return beyond_grad(x, n)
        if which == 1:
            return own_grad(x)
        return unequal_grad(x, y)
    for which, function in enumerate((beyond, own_words, unequal)):
        assert told(function, lambda *args, k=which: caller(k, X, np.ones(3), 7)) == expected(function)


def test_a_users_words_stay_and_the_place_is_a_note():
    with pytest.raises(ValueError, match="too") as raised:
        grad(own_words, mode="python")(X)
    line = own_words.__code__.co_firstlineno + 2
    assert raised.value.__notes__ == [f"  test_error_places.py:{line}, in own_words"]


def singular(a, b):
    x = np.linalg.solve(a, b)
    return np.sum(x * x)


def not_definite(a, b):
    x = np.linalg.solve(a + np.eye(2), b)
    lower = np.linalg.cholesky(a - np.eye(2))
    return np.sum(lower) * x[0]


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_failures_of_linear_algebra_name_the_line(mode):
    for function, text, after in ((singular, "Singular matrix", 1), (not_definite, "Matrix is not positive definite", 2)):
        line = function.__code__.co_firstlineno + after
        if mode == "numba" and function is not_definite:
            continue                                        # compiling it takes long
        for call in (grad(function, mode=mode), lambda *a, f=function: vjp(f, *a, mode="python"),
                     jacobian(function, sparse=True, mode="python")):
            with pytest.raises(np.linalg.LinAlgError) as raised:
                call(np.zeros((2, 2)), np.ones(2))
            assert str(raised.value) == f"{text}\n  test_error_places.py:{line}, in {function.__name__}"


def test_failures_of_linear_algebra_in_compiled_callers_and_entries():
    gradient = grad(singular)

    @numba.njit
    def caller(a, b):
        return gradient(a, b)

    line = singular.__code__.co_firstlineno + 1
    told = f"Singular matrix\n  test_error_places.py:{line}, in singular"
    for _ in range(2):
        with pytest.raises(np.linalg.LinAlgError) as raised:
            caller(np.zeros((2, 2)), np.ones(2))
        assert str(raised.value) == told
    with pytest.raises(np.linalg.LinAlgError) as raised:        # which knows nothing of the caller above
        grad(not_definite, mode="python")(-np.eye(2), np.ones(2))
    assert f"{line}" not in str(raised.value)
    with pytest.raises(np.linalg.LinAlgError) as raised:
        entry(singular, np.eye(2), np.ones(2), kind="vjp")(np.zeros((2, 2)), np.ones(2), 1.0)
    assert str(raised.value) == told
