"""What Python refuses of iterators, views of dicts and known values: refused here too, where it is reached."""

import itertools
import random

import numpy as np
import pytest

from autodiff import AutodiffError, value_and_grad

from .support import from_text, outcome

MADE = """filter(None, x);iter(x);iter([1, 2]);zip([1, 2], [3, 4]);map(abs, x);(a for a in x);reversed(x)
reversed([1, 2]);enumerate(x);{1: 2.0}.keys();{1: 2.0}.values();{1: 2.0}.items();x.flat;range(3);(1, 2)
itertools.chain([1, 2], [3]);iter({1: 2.0});x.flat if x[0] > 9 else None
np.finfo(float) if x[0] < 9 else x[0]""".replace("\n", ";").split(";")
USES = """del o[0];o[0] = 5;r = reversed(o);r = o[0];o[0] += 1;o.append(1);r = len(o);r = o + o;r = o * 2
r = -o;r = o < o;r = 1 in o;r = {o: 1};a, b = o;r = round(o);r = float(o);r = np.sum(o);r = x[o]
r = o @ o;o += o;o *= 2;o += [1];r = divmod(o, 2);r = math.sqrt(o);r = o.shape;r = o.dtype;r = o.T
r = o.real;r = o.sum();r = o();o.x = 1;r = x + o;r = x * o;r = 2.0 ** o;r = np.stack(o);r = int(o)
r = np.zeros(o);r = x.reshape(o);r = o // 2;r = o | o""".replace("\n", ";").split(";")
KNOWN = """max(1, "a");pow(2, -1, 4);round("a");math.floor("a");1 in 2;math.ceil(float("nan"))
round(float("inf"));complex("a");len(3);divmod(1, 0)[0];math.factorial(-1);int("a");min([]);math.sqrt(-1)
sorted([1, "a"])[0];[1, 2].index(7);{1: 2}[3];(1, 2)[5];isinstance(1, 2);len({[]: 1});np.eye(2)[3, 0]
range(3)[7];round(np.bool_(True));round(np.complex128(1j));np.float64(1.5) @ 2.0""".replace("\n", ";").split(";")
X = np.array([0.5, 1.0, 1.5])


def test_iterators_as_python():
    chosen = random.Random(5)
    for made, use in chosen.sample(list(itertools.product(MADE, USES)), 130):
        text = f"import itertools, math\nimport numpy as np\n\n\ndef f(x):\n    o = {made}\n    {use}\n    return x[0]\n"
        f = from_text(f"<uses {made} {use}>", text)
        expected = outcome(lambda f=f: f(X.copy()))
        found = outcome(lambda f=f: value_and_grad(f, mode="python")(X.copy())[0])
        if isinstance(expected, Exception):
            assert isinstance(found, (AutodiffError, type(expected))), (made, use, expected, found)
        else:
            assert isinstance(found, AutodiffError) or found == expected, (made, use, expected, found)


@pytest.mark.parametrize("known", KNOWN)
def test_known_values(known):
    f = from_text(f"<known {known}>", f"import math\nimport numpy as np\n\n\ndef f(x):\n    if x[0] < 0:\n"
                                      f"        return x[1] + {known}\n    return x[2]\n")
    expected = outcome(lambda: f(-X))
    for x, wanted in ((X, 1.5), (-X, expected)):
        found = outcome(lambda x=x: value_and_grad(f, mode="python")(x)[0])
        refused = isinstance(found, AutodiffError) and isinstance(expected, TypeError)
        assert refused or isinstance(found, type(wanted)), (found, wanted)


VALUES = """sum(max(x[:1], x[1]) * np.ones(1));max(np.ravel(np.allclose(x, x)), x[2] > 9) * x[0]
round(x[0] + 0.3) * x[0];round(np.sum(x)) * x[1];(1.0 if x.dtype == np.zeros(2)[0] else 2.0) * x[1]
(np.float64(0) if x[0] > 9 else 2.0) * x[1];1.0 / (np.int64(0) if x[0] > 0 else x[1]) + x[0]
(2.0 if callable(1.0 if x[0] > 9 else len) else 3.0) * x[0];(2.0 if np.isscalar(1.0 if x[0] > 9 else None) else 3.0) * x[0]
np.sum(x[:2] == T(x[0], x[0])) * x[1];np.sum(np.float64(1) == range(3)) * x[0];np.sum(x * range(3))
len([*x]) * x[0];sum([*x, 2.0, *x]) * x[1];sum([1.0, *x[:2]] + [3.0]);[*np.outer(x, x)][1][0];sum([*range(3), *(4, x[0])])
(1.0 if range(len(x)) == range(0, 3) else 2.0) * x[0];(1.0 if range(3) != range(0, 3, 1) else 2.0) * x[0]
(1.0 if range(3) == 2 or (0, 1) == range(2) else 2.0) * x[0];round(max(np.full_like(x[0], 2.0), 1.0)) * x[0]
(1.0 if slice(1, 2) == slice(1, None) else 2.0) * x[0];(1.0 if slice(0, 2, None) == slice(0, 2) else 2.0) * x[0]
sum([x[0] for i in range(-3, 12) for s in (1, 2, 3, -1, -2) if (i in range(1, 7, s)) != (i in range(7, 1, s))])
x[1] * np.squeeze(np.mean(x, keepdims=True)).ndim
(2.0 if hasattr(iter(x), "__next__") else 3.0) * x[0]""".replace("\n", ";").split(";")


@pytest.mark.parametrize("value", VALUES)
def test_values(value):
    text = "import numpy as np\nfrom collections import namedtuple\n\nT = namedtuple('T', 'a b')\n\n\n"
    f = from_text(f"<value {value}>", f"{text}def f(x):\n    return {value}\n")
    with np.errstate(all="ignore"):
        found, expected = outcome(lambda: value_and_grad(f, mode="python")(X)[0]), outcome(lambda: f(X))
        assert isinstance(found, AutodiffError) or np.isclose(found, np.squeeze(expected)), found


def test_read_only_by_path_is_not_written():
    def f(x, u):
        w = np.broadcast_to(1.0, x.shape) if x[0] > 9 else u * 1.0
        w = w if x[1] > 9 else x * 1.0
        w[0] = 2.0
        return np.sum(w * x)
    g = value_and_grad(f, mode="python")
    for a in (0.0, 10.0):
        for b in (0.0, 10.0):
            x = X + np.array([a, b, 0.0])
            expected, found = outcome(lambda x=x: f(x.copy(), X)), outcome(lambda x=x: g(x, X)[0])
            assert type(found) is type(expected) is ValueError or found == expected, (found, expected)

    def never(x):
        w = np.broadcast_to(x[0], 3)
        w[0] = 1.0
        return np.sum(w)
    with pytest.raises(AutodiffError, match="read-only"):
        value_and_grad(never, mode="python")(X)


def test_slices_are_deleted():
    def f(x):
        items = [x[0], 2.0, x[1], 4.0, x[2]]
        del items[1:4:2]
        del items[-1:]
        return sum(items) * len(items)
    assert value_and_grad(f, mode="python")(X)[0] == f(X)


def test_squeezed_axes_of_run_time_length():
    """An axis that has length 1 in this run alone would be dropped by NumPy: an error says so, never another shape."""
    def f(x, n):
        return np.squeeze(np.outer(x, x)[:n]).shape[0] * np.squeeze(np.outer(x, x)[:, :1])[0]
    g = value_and_grad(f, mode="python")
    assert g(X, 2)[0] == f(X, 2)
    with pytest.raises(ValueError, match="squeeze"):
        g(X, 1)
