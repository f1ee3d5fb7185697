"""Errors tell the user's place: refusals with short tracebacks, errors of the run with the line they come from."""

import traceback

import numpy as np
import pytest

from autodiff import AutodiffError, check_grads, grad, hessian, jacobian, jvp, linearize, value_and_grad, vjp
from autodiff.tracebacks import shortened

X = np.linspace(0.1, 1.0, 4)


def refused(x):
    try:
        return np.sum(x)
    except ValueError:
        return 0.0


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
    assert len(frames) <= 5 + (name == "check_grads")
    assert not any("transforms" in f.filename for f in frames)


def test_debugging_keeps_all_frames(monkeypatch):
    with pytest.raises(AutodiffError) as raised:
        grad(refused, mode="python", debug=True)(X)
    assert any("transforms" in f.filename for f in traceback.extract_tb(raised.value.__traceback__))
    monkeypatch.setenv("AUTODIFF_DEBUG", "1")
    with pytest.raises(AutodiffError) as raised:
        grad(refused, mode="python")(X)
    assert any("transforms" in f.filename for f in traceback.extract_tb(raised.value.__traceback__))


def test_the_deepest_traceback_is_shortened():
    def deep(n):
        return deep(n + 1)
    with pytest.raises(RecursionError) as raised:
        deep(0)
    assert len(traceback.extract_tb(shortened(raised.value).__traceback__)) > 500
