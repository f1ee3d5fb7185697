"""Writes to views that NumPy makes read-only: its ValueError where the program comes to one, which a handler may catch."""


import numpy as np
import pytest

from autodiff import AutodiffError, check_grads, grad, value_and_grad
from autodiff.errors import ReadOnlyArray

from .support import module_of

A, X = np.arange(1.0, 10.0).reshape(3, 3), np.array([1.1, 2.3, 3.2])
WRITES = """
np.diag(a)[0] = 1.0
np.diagonal(a)[1] += x[0]
d = np.diag(a); d *= 2.0
np.broadcast_to(x, (2, 3))[0] = 1.0
np.broadcast_to(x, (2, 3))[0, 1] = x[1]
np.lib.stride_tricks.sliding_window_view(x, 2)[0] = 2.0
np.diag(a).fill(0.0)
np.diag(a).sort()
d = np.diag(a); np.add(d, 1.0, out=d)
np.put(np.diag(a), [0], 1.0)
np.copyto(np.diag(a), 1.0)
np.diag(a)[1:][:] = x[0]
np.diag(a)[x > 2.0] = 0.0
np.diag(a)[[0, 1]] = 0.0
a.diagonal()[0] = 1.0
np.diag(a).reshape(3, 1)[0] = 1.0
np.diag(a)[:, None][0] = 1.0
d = np.diag(a); d[0], d[1] = d[1], d[0]
np.cumsum(x, out=np.diag(a))
np.diag(x)[0] = 1.0
np.diag(a).copy()[0] = 1.0
np.einsum("ii->i", a)[0] = x[1]
"""
PLAIN = "    {}\n"
REACHED_OR_NOT = "    if x[0] > k:\n        {}\n"
CAUGHT = "    try:\n        {}\n    except ValueError:\n        return 5.0 * x[0]\n"


def function_of(body: str):
    source = f"import numpy as np\n\n\ndef f(a, x, k):\n    a, n = a * 1.0, len(x)\n{body}    return np.sum(a) * x[0]\n"
    name = f"<writes {body}>"
    return module_of(name, source)["f"]


def outcome(f, k):
    try:
        return round(float(f(A, X, k)), 9)
    except ValueError as e:
        return str(e).split("\n")[0]


@pytest.mark.parametrize("statement", WRITES.strip().splitlines())
@pytest.mark.parametrize("form", [PLAIN, REACHED_OR_NOT, CAUGHT])
def test_writes_raise_what_numpy_raises(form, statement):
    f = function_of(form.format(statement))
    made = value_and_grad(f, wrt="x", mode="python")
    for k in (0.0, 9.0):
        expected, found = outcome(f, k), outcome(lambda *given: made(*given)[0], k)
        assert found == expected or isinstance(expected, str) and "read-only" in found


def test_a_write_that_is_certain_is_refused():
    with pytest.raises(ReadOnlyArray, match="read-only") as raised:
        value_and_grad(function_of(PLAIN.format("np.diag(a)[0] = 1.0")), mode="python")(A, X, 0.0)
    assert raised.value.loc.line == 6


WRITABLE = """
np.broadcast_arrays(x, a)[0][0] = 1.0
np.meshgrid(x, x, copy=False)[1][0] = 2.0
rows = [[x[0], x[1]]] * n; rows[0][1] = 3.0
np.add.at(np.diag(a), [0], 1.0)
"""


@pytest.mark.parametrize("statement", WRITABLE.strip().splitlines())
@pytest.mark.parametrize("form", [PLAIN, REACHED_OR_NOT, CAUGHT])
def test_what_numpy_would_write_is_refused(form, statement):
    """So no handler follows."""
    f = function_of(form.format(statement))
    with pytest.raises(AutodiffError) as raised:
        value_and_grad(f, wrt="x", mode="python")(A, X, 9.0)
    assert not isinstance(raised.value, ReadOnlyArray)


def chosen(x):
    """Where the array before a loop is not to be written on one path, the loop makes others all the same."""
    t = x
    if x[0] > 0.1:
        t = np.outer(x, x).diagonal()
    for k in range(3):
        t = t + 0.5 * k
    u = np.broadcast_to(x[0], (3,)) if x[0] > 0.1 else x * 1.0
    for k in range(70):
        u = np.sin(u) + 0.01 * k
    for row in np.eye(3):
        u = u + row * u[0]
    return np.sum(t * x * u)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_loops_over_what_may_not_be_written(sign):
    x = sign * np.array([0.3, 0.2, 0.5])
    assert abs(grad(chosen, mode="python").primal(x) - chosen(x)) < 1e-14
    assert check_grads(chosen, (x,), mode="python").worst < 1e-6


def test_writes_after_such_loops_are_refused():
    def written(x):
        u = np.broadcast_to(x[0], (3,)) if x[0] > 0.1 else x * 1.0
        for k in range(3):
            u = np.sin(u)
        u[0] = 2.0
        return np.sum(u)
    with pytest.raises(AutodiffError, match="may be one that cannot be") as told:
        grad(written, mode="python")(np.array([0.3, 0.2, 0.5]))
    assert "u[0] = 2.0" in str(told.value)
