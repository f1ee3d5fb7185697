"""`round` of Python's numbers is that of the nearest decimal fraction, NumPy's is a product and a quotient."""

import math
import random

import numpy as np
import pytest

from autodiff import AutodiffError, AutodiffWarning, value_and_grad, vjp

from .support import from_text

pytestmark = pytest.mark.filterwarnings(f"ignore::{AutodiffWarning.__module__}.AutodiffWarning")
DIGITS = (0, 1, 2, 3, 5, 10, 22, -1, -2, -5, -15)


def hard_number(draw, d):
    """A number near, at, or far from half of the last digit that stays."""
    half = (draw.randrange(-10**5, 10**5) + 0.5) * 10.0 ** -d
    return float(draw.choice([
        draw.gauss(0, 1) * 10 ** draw.uniform(-8, 8), draw.randrange(-10**6, 10**6) / 10 ** draw.randrange(7), half,
        np.nextafter(half, math.inf), np.nextafter(half, -math.inf), draw.choice([-0.0, 1e300, -1e17, 2.0**53, 5e-324])]))


def all_rounded(x):
    return np.array([round(v, 2) for v in x.tolist()]) + 0.0 * x


def test_pythons_floats():
    draw = random.Random(3)
    for d in DIGITS:
        f = from_text(f"<round {d}>", f"def f(x):\n    return round(float(x), {d}) + 0.0 * x\n")
        value = value_and_grad(f, mode="python")
        for x in (hard_number(draw, d) for _ in range(25)):
            assert value(x)[0] == round(x, d), (x, d)


def test_compiled():
    draw = random.Random(5)
    x = np.array([hard_number(draw, 2) for _ in range(400)])
    np.testing.assert_array_equal(vjp(all_rounded, x)[0], all_rounded(x))


@pytest.mark.parametrize("expression", [
    "round(x[0], 2)", "np.round(2.675, 2) * x[0]", "round(2.675, 2) * x[0]", "round(int(x[0] * 1000), -1) * 1.0",
    "round(int(x[0] * 1000) * 10**14 + 5, -1) * 1.0", "np.copysign(1.0, round(-x.item(0) / 1e4, 2))",
    "round(np.int64(x[0] * 1000), -1) * 1.0", "np.round(x, 2).sum()", "round(x.item(0), ndigits=None) * x[1]"])
@pytest.mark.parametrize("at", [2.675, -2.675, 0.125, 12.5])
def test_of_each_kind(expression, at):
    f = from_text(f"<round {expression}>", f"import numpy as np\ndef f(x):\n    return {expression} + 0.0 * x[0]\n")
    x = np.array([at, 3.0])
    assert value_and_grad(f, mode="python")(x)[0] == f(x)


def test_by_path_is_refused():
    f = from_text("<round by path>", "import numpy as np\ndef f(x):\n    v = 2.675 if x > 0 else np.float64(2.675)\n"
                  "    return round(v, 2) * x\n")
    with pytest.raises(AutodiffError, match="in different ways"):
        value_and_grad(f, mode="python")(1.0)
