"""Truths as subscripts: of lists, tuples and ranges they are 0 and 1, as in Python, which is the oracle."""

import numpy as np
import pytest

from autodiff import AutodiffError, value_and_grad

from .support import from_text


def made(*lines):
    return from_text(f"<truths {lines}>", "import numpy as np\n\ndef f(p, x, k):\n" + "".join(f"    {v}\n" for v in lines))


@pytest.mark.parametrize("lines", [
    ("return [p, 2 * p][p > 0.5]",), ("return (p, 2 * p, 3 * p)[k > 1]",), ("l = [v * p for v in x[:k]]", "return l[k > 2]"),
    ("l = [p, 1.0]", "l[p > 0.2] = 3.0", "return l[0] * 2 + l[True] * p"), ("return [x * p, x * p * 2][p > 0.5][0]",),
    ("return [lambda v: v, np.sin][p > 0.5](p)",), ('return p * ("a", "b")[p > 0.5].count("a")',),
    ("l = [v * p for v in x]", "l[p > 0.2] += 3.0", "return sum(l) + l[False]"), ("return p * range(3, 7)[p > 0.5]",),
    ("return p * range(3, 3 + k)[p > 0.5]",), ("return p * (2.0 if (None, 'b')[k > 1] is None else 3.0)",),
    ("m = [[p, 1.0], [2.0, p * p]]", "m[k > 1][p < 0.5] *= 3.0", "return m[True][False] + 2 * m[False][True]"),
    ("a = [x * p, x[:2] * 1.0][k > 1]", "return a.sum() * p"), ("return (p,)[k > 2]",), ("return (p,)[False]",),
    ("w = [x * p, x * 1.0][k > 2]", "w[0] = p", "return np.sum(w * x)"), ("return p * {True: 2.0, False: 3.0}[p > 0.5]",),
    ("return p * max((k, k + 1)[not k], [0, 5][k == 1])",),
    ("s = 0.0", "for v in x: s += (p, v)[bool(v > p)] * v", "return s"),
    ("return p * sum((1.0, 2.0)[i % 2 == 0] for i in range(k))",)])
def test_truths_as_places(lines):
    f = made(*lines)
    for p, k in ((0.8, 2), (0.1, 3), (0.7, 1)):
        x = np.array([0.4, 0.3, 0.25])
        try:
            expected = f(p, x.copy(), k)
        except IndexError:
            with pytest.raises(IndexError):
                value_and_grad(f, mode="python")(p, x.copy(), k)
            continue
        value, slope = value_and_grad(f, mode="python")(p, x.copy(), k)
        assert value == pytest.approx(expected, rel=1e-12)
        differences = (f(p + 1e-6, x.copy(), k) - f(p - 1e-6, x.copy(), k)) / 2e-6
        assert slope == pytest.approx(differences, abs=1e-6)


@pytest.mark.parametrize("line", [
    "return [p, 1.0][x[0] > 0.1]", "return x[p > 0.5].sum()", "return (p, 1.0)[np.bool_(k > 1)]"])
def test_other_truths_are_refused(line):
    with pytest.raises((AutodiffError, TypeError)):
        value_and_grad(made(line), mode="python")(0.8, np.array([0.4, 0.3]), 2)
