"""Arrays of indices that a function found, and that the program writes before or after it looks them up: Python's errors."""

import numpy as np
import pytest

from autodiff import value_and_grad

from .support import from_text, outcome

FOUND = ["np.argsort(x)", "np.argsort(m, axis=0)[:, 1]", "np.argsort(m)[1, :2]", "np.nonzero(x)[0]", "np.where(x > -9.0)[0]",
         "np.argpartition(x, 1)", "np.flatnonzero(x)"]
WRITES = ["o[0] = 100", "o[1:] += 50", "o += 70", "o.fill(9)", "np.add(o, 90, out=o)", "v = o[::-1]; v -= 40",
          "np.copyto(o, 60)", "push(o)", "both = [o, o]; both[1][0] = 77", "o[k] -= 80", "np.add.at(o, 0, 300)",
          "o[o == 0] = 44", "o.sort(); o *= 30", "o[:] = o + 99", "np.put(o, 0, 88)", "box.o = o; box.o[1] = 31"]


PROGRAM = """
import numpy as np
class Box:
    pass
def push(a):
    a[-1] = 200
def f(x, m, k):
    total, box = 0.0, Box()
    o = {found}
    for _ in range(2):
        {first}
        {second}
    return total
"""
USE = "total += np.sum(x[o])"
CASES = [(found, write, again) for k, found in enumerate(FOUND) for j, write in enumerate(WRITES)
         for again in (False, True) if (j + k + again) % 5 == 0]


@pytest.mark.parametrize("found, write, again", CASES)
def test_written_indices_are_looked_up_with_checks(found, write, again):
    """again: the write comes after the use, which the loop then repeats."""
    first, second = (USE, write) if again else (write, USE)
    function = from_text("f", PROGRAM.format(found=found, first=first, second=second))
    x, m = np.array([3.0, 1.0, 2.0, 0.5]), np.arange(1.0, 7.0).reshape(2, 3) * [[1.0], [-1.0]]
    for f in (function, value_and_grad(function)):
        with pytest.raises(IndexError):
            f(x, m, np.arange(2))


MADE_OF_THEM = ["(o - 1)", "(o - 2)", "(o * 50)", "(-o)", "np.where(x[o] > 1.0, o, -2)", "(o.astype(int) - 1)", "t[o]",
                "(o + 10**6)"]
SHAPES = ["{}.reshape(2, -1)", "{}[None]", "{}[:, None].T", "np.broadcast_to({}, (2, len(o)))", "np.ravel({}[::-1])",
          "{}.reshape(-1, 2).T", "np.squeeze({}[None])"]
USES = ["total = np.sum(x[p] * 2.0) + np.sum(x[p][0])", "total = np.sum(np.take(x, p) ** 2)",
        "y = x * 1.0; y[p] = 5.0; total = np.sum(y * np.arange(4.0))", "y = x * 1.0; y[p] += x[1]; total = np.sum(y ** 2)"]
SEVERAL_FOUND = [
    "b = x > 0.7; i = np.flatnonzero(b); i -= 1; total = np.sum(x[b] * x[i])",
    "i = np.flatnonzero(x > 0.7); i -= 1; y = x * 1.0; y[x > 0.7] = 0.0; total = np.sum(y * np.arange(4.0)) + np.sum(x[i])",
    "i = np.where(x > 0.7)[0]; i[0] = 3; j = np.where(x > 0.7)[0]; total = np.sum(x[i]) + 10.0 * np.sum(x[j])",
    "b = m > 1.5; ij = np.nonzero(b); ij[0][0] = 1; total = np.sum(m[b]) * x[0] + np.sum(m[ij])",
    "i = np.nonzero(x > 0.7)[0]; j = np.nonzero(x > 0.7)[0]; j[0] = 3; total = np.sum(x[i]) * np.sum(x[j] ** 2)",
    "b = x > 0.7; q = x[b]; i = np.nonzero(b)[0]; i[0] = 3; total = np.sum(x[b]) + np.sum(x[i]) * np.sum(q)",
    "b = x > 0.7; i, j = np.nonzero(b)[0], np.nonzero(b)[0]; i[0] = 3; total = np.sum(x[j]) * np.sum(x[i])",
    "total = 0.0\n    for _ in range(2): i = np.where(x > 0.7)[0]; i -= 1; total += np.sum(x[x > 0.7] * x[i])",
]


def checked(function):
    """Its value and gradient, or error, beside Python's."""
    x, m = np.array([3.0, 1.1, 2.0, 0.5]), np.arange(1.0, 7.0).reshape(2, 3) * [[1.0], [-1.0]]
    args = x, m, np.array([100, 200, 300, 400])
    expected = outcome(function, *args)
    found = outcome(value_and_grad(function), *args)
    if isinstance(expected, Exception):
        assert type(found) is type(expected)
        return
    assert found[0] == pytest.approx(expected, rel=1e-14)
    h = 1e-6 * np.eye(4)
    differences = [(function(x + e, *args[1:]) - function(x - e, *args[1:])) / 2e-6 for e in h]
    np.testing.assert_allclose(found[1], differences, atol=1e-6)


@pytest.mark.parametrize("seed", range(28))
def test_what_is_made_of_indices_is_no_index(seed):
    r = np.random.default_rng(seed)
    found, made, shape, use = r.choice(FOUND), r.choice(MADE_OF_THEM), SHAPES[seed % len(SHAPES)], USES[seed % len(USES)]
    checked(from_text("f", f"import numpy as np\ndef f(x, m, t):\n    o = {found}\n    p = {shape.format(made)}\n    {use}\n"
                           "    return total\n"))


@pytest.mark.parametrize("body", SEVERAL_FOUND)
def test_indices_that_are_found_twice_are_two_arrays(body):
    checked(from_text("f", f"import numpy as np\ndef f(x, m, t):\n    {body}\n    return total\n"))
