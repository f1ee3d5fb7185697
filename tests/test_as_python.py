"""Names without values, classes of values, formats that are printed, patterns of dicts, integers of floats: as in Python."""

import contextlib
import io
import math
from collections import OrderedDict

import numpy as np
import pytest

from autodiff import UnsupportedSyntax, value_and_grad


class Model:
    def __init__(self, factor):
        self.factor = factor

    def energy(self, x):
        if type(self) is Model:
            return self.factor * x
        return 7 * x


class Other(Model):
    pass


MODEL, OTHER = Model(3.0), Other(3.0)


def unbound(x, n):
    if n > 10:
        y = x
    return y * 2


def unbound_in_chain(x, n):
    if x > 3:
        y = x * x
    elif x > 2.7:
        y = x
    return y


def unbound_array(x, n):
    if x > 3:
        y = np.ones(n) * x
    return y.sum()


def unbound_text(x, n):
    if x > 3:
        name = "a"
    return x * 2 if name == "a" else x


def bound_under_one_condition(x, n):
    if x > 2:
        y = x * x
    if x > 2:
        return y
    return x


def bound_on_both_sides(x, n):
    if x > 3:
        z = 1
    else:
        y = x * x
    return z * x if x > 3 else y


def class_of_numbers(x, n):
    if type(x) is float and type(n) == int and type((x, n)) is tuple and type([x]) is list:  # noqa: E721
        return x * x
    return x


def class_of_arrays(x, n):
    return x * 3 if type(np.ones(n)) is np.ndarray and type(np.float64(x)) is np.float64 else x


def class_of_self(x, n):
    return MODEL.energy(x) * OTHER.energy(x)


def class_of_items(x, n):
    s = 0.0
    for v in [1.0, x, n]:
        s += v * 2 if type(v) is float else v * 5
    return s


def formats(x, n):
    print(f"{n}: {x:8.2e} {{}}|", n + 1, (n, x), {"a": x}, f"{n:5d}")
    for k in range(n):
        print(f"k={k}", f"{x * k:.1%}")
    return x * x


def pattern_of_a_dict(x, n):
    match {"op": "mul", "args": (x, 2.0), "extra": x}:
        case {"op": "add", "args": (a, b)}:
            return a + b
        case {"op": "mul", "args": (a, b), **rest}:
            return a * b * rest["extra"]
    return 0.0


def pattern_of_no_dict(x, n):
    match (x, n):
        case {"a": _}:
            return x
        case {}:
            return x * 2
        case _:
            return x * 3


def ordered(x, n):
    d = OrderedDict([("a", x), ("b", 2.0)])
    d["c"] = x * x
    return sum(d.values()) * d["c"] + OrderedDict(e=x)["e"]


def number_by_no_index(x, n):
    y = np.float64(x)
    return np.sum(y[()] * np.array(x)[()])


def integer_of_nan(x, n):
    return x * int(x * float("nan"))


def integer_of_infinity(x, n):
    return x * int(x * float("inf"))


def rounded_infinity(x, n):
    return x * round(x * float("-inf"))


def floor_of_nan(x, n):
    return x * math.floor(x * float("nan"))


def integer(x, n):
    return x * int(x) + math.ceil(x) + round(x + 0.2)


FUNCTIONS = [f for f in list(globals().values()) if getattr(f, "__module__", "") == __name__ and callable(f)
             and not isinstance(f, type)]


def outcome(run):
    """(result or class and first line of the exception, what was printed)."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            result = run()
        except Exception as e:
            result = type(e).__name__, str(e).splitlines()[0]
    return result, printed.getvalue()


def check(function, mode):
    wanted, printed = outcome(lambda: function(2.5, 3))
    found, output = outcome(lambda: value_and_grad(function, mode=mode)(2.5, 3))
    assert output == printed
    if isinstance(wanted, tuple):
        assert found == wanted
        return
    with contextlib.redirect_stdout(io.StringIO()):
        slope = (function(2.5 + 1e-6, 3) - function(2.5 - 1e-6, 3)) / 2e-6
    np.testing.assert_allclose(found, (wanted, slope), rtol=1e-6)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_python(function):
    check(function, "python")


@pytest.mark.parametrize("function", [unbound_in_chain, formats, integer_of_nan], ids=lambda f: f.__name__)
def test_compiled(function):
    check(function, "numba")


def too_large(x):
    return x * int(x * 1e30)


def test_integers_beyond_64_bits_are_refused():
    with pytest.raises(OverflowError, match="does not fit in 64 bits"):
        value_and_grad(too_large, mode="python")(2.0)


def several(a, k):
    print("take", k)
    s = 0.0
    for i in range(k):
        s += a[i] * a[i]
    print("done")
    return s


def broadcast(a, b):
    print("sum", a.shape[0])
    return np.sum(a * b)


def test_what_starts_again_prints_once():
    a = np.arange(4.0)
    for function, calls in ((several, [(a, 3), (a, 9), (a, 9)]), (broadcast, [(a, a), (a, a[:1]), (a, a[:3])])):
        gradient = value_and_grad(function, mode="python")
        for args in calls:
            wanted, found = outcome(lambda f=function, args=args: f(*args)), outcome(lambda g=gradient, args=args: g(*args))
            assert wanted[1] == found[1]
            assert isinstance(wanted[0], tuple) == (isinstance(found[0], tuple) and isinstance(found[0][0], str))


def test_branches_do_not_check_names_that_every_path_binds():
    gradient = value_and_grad(bound_under_one_condition, mode="python")
    gradient(2.5, 3)
    assert "Unbound" not in gradient.source


def best_pair(x, n):
    best = (None, float("inf"))
    for i in range(n):
        c = (x - i * 1.3) ** 2
        if c < best[1]:
            best = (i, c)
    i, c = best
    return c * x + i


def best_with_text(x, n):
    best = (float("inf"), None)
    for i in range(n):
        c = (x - i) ** 2
        if c < best[0]:
            best = c, "even" if i % 2 == 0 else "odd"
    c, kind = best
    return c * (3.0 if kind == "even" else 2.0)


def pair_of_a_branch(x, n):
    pair = (None, 0.0)
    if x > 2:
        pair = (x, 1.0)
    v, w = pair
    return v * x if v is not None else w


@pytest.mark.parametrize("function", [best_pair, best_with_text, pair_of_a_branch], ids=lambda f: f.__name__)
def test_pairs_that_change(function):
    check(function, "python")


def set_in_rows(x, n):
    rows = [[0.0] * 3 for _ in range(3)]
    for i in range(n):
        rows[i][i] = x * i
    return rows[1][1]


def test_items_of_rows_set_at_places_of_the_run():
    value, gradient = value_and_grad(set_in_rows, mode="python")(2.0, 3)
    assert value == set_in_rows(2.0, 3)
    assert gradient == pytest.approx((set_in_rows(2.0 + 1e-6, 3) - set_in_rows(2.0 - 1e-6, 3)) / 2e-6)


class Attributes(dict):
    __getattr__ = dict.__getitem__


class Itself(dict):
    def __init__(self, **items):
        super().__init__(**items)
        self.__dict__ = self


ATTRIBUTES = Attributes(a=2.0, b=3.0)
ITSELF = Itself(a=2.0, inner=Attributes(c=5.0))


def attributes_of_dicts(x, n):
    return ITSELF.a * x * x + ITSELF.inner.c * x + ATTRIBUTES["a"] * ATTRIBUTES.b


def test_attributes_of_dicts():
    check(attributes_of_dicts, "python")
    gradient = value_and_grad(attributes_of_dicts, mode="python")
    gradient(2.5, 3)
    ITSELF["a"] = 3.0
    assert gradient(2.5, 3)[0] == attributes_of_dicts(2.5, 3)
    with pytest.raises(UnsupportedSyntax, match=r'write d\["a"\]'):
        value_and_grad(lambda p: p.a * p.a, mode="python")(Attributes(a=2.0))
