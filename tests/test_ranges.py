"""Ranges, of a length known when the program runs, where NumPy takes arrays: against Python and differences."""

import numpy as np
import pytest

from .support import assert_gradient, from_text

X = np.array([0.3, 1.2, 2.1])
CALLS = """np.sum(np.sin(range(n)) * x)|np.dot(range(n), x)|np.linspace(0, 1, n) @ range(n) * x[0]
np.einsum("i,i->", range(n), x)|np.sum(np.meshgrid(range(n), range(1, n + 1))[0] * x)|np.sum(np.outer(range(n), x))
np.polyfit(range(n), x, 1)[0]
np.average(x, weights=range(1, n + 1))|np.interp(1.5, range(n), x)|np.trapezoid(x, range(n))|np.polyval(range(n), x[0])
np.sum(np.take(x, range(1, n)) ** 2)|np.sum(x[range(n - 1)] ** 2)|np.sum(np.concatenate([x, range(n)]) ** 2)
np.convolve(range(n), x)[2]|np.sum(np.where(x > 1, range(n), x))|np.sum(np.power(x, range(n)))
np.sum(np.roll(range(n), 1) * x)|np.add(range(n), x)[1]
np.sum(np.array([range(n), range(0, -n, -1)]) * x)|np.bincount(range(n), weights=x)[1]|np.sum(np.diag(range(n)) @ x)
np.sum(np.reshape(range(n), (n, 1)) * x)|np.sum(np.broadcast_to(range(n), (2, n)) * x)|np.searchsorted(range(n), 1.5) * x[0]
np.histogram(x, bins=range(n + 1), weights=x)[0][1]|np.sort(range(n, 0, -1))[0] * x[0]|np.full(n, range(n))[1] * x[0]
np.multiply.outer(range(n), x)[1, 1]|np.sum(np.column_stack((x, range(n)))[:, 0])""".replace("\n", "|").split("|")


@pytest.mark.parametrize("call", CALLS)
def test_ranges_as_arrays(call):
    if "trapezoid" in call and not hasattr(np, "trapezoid"):
        call = call.replace("trapezoid", "trapz")
    f = from_text(f"<range {call}>", f"import numpy as np\n\n\ndef f(x, n):\n    return {call}\n")
    assert_gradient(f, (X, 3), (0,), "python")


def test_ranges_compiled():
    f = from_text("<ranges>", "import numpy as np\n\n\ndef f(x, n):\n    return np.dot(range(n), x) * (range(n) @ x)\n")
    assert_gradient(f, (X, 3), (0,), "numba")
