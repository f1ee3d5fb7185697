"""A list that a name has and that is a row of a list of run-time length, too: Python's numbers, or a refusal."""

import itertools

import numpy as np
import pytest

from autodiff import AutodiffError, value_and_grad

from .support import from_text

MADE = (["M = [[0.0, x[1]] for k in range(n)]", "u = [x[0], 2.0]", "M[1] = u"],
        ["u = [x[0], 2.0]", "M = [u for k in range(n)]"],
        ["M = [[0.0, 0.0] for k in range(n)]", "for k in range(n):", "    u = [x[k], 1.0]", "    M[k] = u"],
        ["M = [[0.0, 0.0] for k in range(n)]", "u = [x[0], 1.0]", "for k in range(n):", "    M[k] = u"],
        ["M = [[0.0, 0.0] for k in range(n)]", "u = [x[0], 1.0]", "M[0] = list(u)"],
        ["u = [x[0], 2.0]", "M = [list(u) for k in range(n)]"],
        ["u = [x[0], 2.0]", "M = [u[:] for k in range(n)]", "v = u"])
CHANGED = ("pass", "u[0] = 7.0", "M[1][0] = 7.0", "M[0] = [5.0, x[1]]", "M[1] = [5.0, x[1]]", "u = [3.0, 4.0]",
           "M[0][1] += x[2]", "u[1] *= 3.0", "r = M[1]; r[0] = 5.0", "for k in range(n): M[k][0] += 1.0",
           "for k in range(n): M[k] = [x[k], 1.0]")
READ = ("M[0][0] + 2 * M[1][0] + 3 * M[n - 1][1]", "M[1][1] + 2 * u[0] + 3 * u[1] + 5 * M[1][0]")


def program(*lines):
    return from_text(f"<{lines}>", "import numpy as np\n\ndef f(x, n):\n" + "".join(f"    {line}\n" for line in lines))


@pytest.mark.parametrize("made", MADE, ids=range(len(MADE)))
def test_rows_that_a_name_has_too(made):
    taken, x = 0, np.array([1.0, 2.0, 4.0])
    for change, read in itertools.product(CHANGED, READ):
        f = program(*made, change, f"return {read}")
        try:
            value = value_and_grad(f, wrt="x", mode="python")(x, 3)[0]
        except AutodiffError:
            continue
        taken += 1
        assert value == pytest.approx(f(x, 3)), (made, change, read)
    assert taken > 8


@pytest.mark.parametrize("lines", [
    ("m = [True, False, True] if c > 0 else [1, 0, 1]", "return np.sum(x[np.array(m)])"),
    ("m = [True, False, True] if c > 0 else [1, 0, 1]", "return np.sum(x[m])"),
    ("m = [x[0] > 0, 1] if c > 0 else [x[0] > 0, x[1] > 0]", "return np.sum(x[:2][np.array(m)])"),
    ("m = []", "m.append(True if c > 0 else 1)", "m.append(False)", "m.append(True)", "return np.sum(x[np.array(m)])"),
    ("m = np.array([True if c > 0 else 1, False, True])", "return np.sum(x[m])"),
    ("m = np.array([True if c > 0 else 1, 0, 1])", "return np.sum(x[m])"),
    ("m = np.array([True, 2, 0])", "return np.sum(x[m])"),
    ("m = [True, False] if c > 0 else [1, 0]", "return x[0] if m[0] else x[1] * m[1]")])
def test_arrays_of_what_may_be_truths_or_numbers(lines):
    f = from_text(f"<{lines}>", "import numpy as np\n\ndef f(x, c):\n" + "".join(f"    {line}\n" for line in lines))
    x = np.array([1.0, 2.0, 4.0])
    for c in (1.0, -1.0):
        try:
            value = value_and_grad(f, wrt="x", mode="python")(x, c)[0]
        except AutodiffError as e:
            assert "truth" in str(e)
        else:
            assert value == f(x, c)
