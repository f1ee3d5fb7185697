"""Functions of Python, of `math` and methods, of every kind of value: what Python gives or raises."""

import random

import numpy as np
import pytest

from autodiff import AutodiffWarning, value_and_grad

from .support import from_text, number_or_name

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{AutodiffWarning.__module__}.AutodiffWarning", "ignore::DeprecationWarning", "ignore::RuntimeWarning",
    "ignore::numpy.exceptions.ComplexWarning")
VALUES = (
    "x[0]; x; [x[0], 2.0]; [1.0, 3.0]; (x[1], 0.3); (1, 2); float(x[0]); float(x[1] - x[1]); 2; 0; 1.0; True; "
    "x[0] > 0.5; np.float64(2.0); np.array([1, 0]); x > 0.5; 'ab'; None; int(x[0] * 3); -1; 2.5; "
    "-float(x[0]); np.int64(3); range(3); {'a': x[0]}; {1.0, 2.0}; np.array(x[0]); x.reshape(2, 1); "
    "x.tolist(); list(x); tuple(x); [int(v) for v in x]; complex(x[0], 1); x[0] * 1j; float('inf'); "
    "float('nan'); -0.0; [[x[0], 1.0], [2.0, x[1]]]; []; (); x[:0]; np.bool_(True); np.uint8(200); "
    "enumerate(x); (v for v in x); map(abs, x); iter(x); len(x); x.shape; slice(1)").split("; ")
OF_ONE = (
    "abs all any bool enumerate float int len list max min reversed round sorted sum tuple iter math.sqrt "
    "math.exp math.log math.atan math.floor math.ceil math.trunc math.fabs math.isnan math.degrees math.gamma "
    "math.fsum math.prod math.isqrt math.hypot").split()
OF_TWO = (
    "divmod pow max min round isinstance sum enumerate math.pow math.atan2 math.fmod math.copysign math.ldexp "
    "math.log math.gcd math.lcm math.isclose math.comb math.perm math.dist").split()
METHODS = (
    "is_integer() conjugate() item() round() sum() max() mean() tolist() copy() dot(x) nonzero() hex() "
    "bit_length() clip(0,1) prod() argmax() flatten() index(1.0) count(1.0) __len__() __abs__() __add__(1) "
    "__eq__(1.0)").split()
TAILS = ("r", "r", "r + 1", "float(r)", "1 if isinstance(r, float) else 2", "1 if isinstance(r, int) else 2", "len(r)",
         "r[0]", "1 if r else 2", "1 if type(r) is np.float64 else 2", "sum(r)", "1 / r")
X = np.array([1.0, 0.3])


def of_text(call, tail):
    return from_text(f"<{call}; {tail}>", f"import math\nimport numpy as np\ndef f(x):\n    r = {call}\n"
                                          f"    return ({tail}) + 0.0 * x[0]\n")


def check(call, tail):
    """The same number, the same error, or a refusal; never a number where Python raises."""
    f = of_text(call, tail)
    derived = value_and_grad(f, mode="python")
    expected, found = number_or_name(f, X.copy()), number_or_name(lambda: derived(X.copy())[0])
    if isinstance(found, str):
        limit = found == "OverflowError"                    # integers of 64 bits
        assert found == "refused" or found == expected or limit, (call, tail, expected, found)
    else:
        assert isinstance(expected, float), (call, tail, expected, found)
        assert found == pytest.approx(expected, rel=1e-13, nan_ok=True), (call, tail)
    return found


@pytest.mark.parametrize("seed", range(2))
def test_random_calls(seed, programs=160):
    draw = random.Random(seed)
    for _ in range(programs):
        a, b = draw.choice(VALUES), draw.choice(VALUES)
        calls = f"{draw.choice(OF_ONE)}({a})", f"{draw.choice(OF_TWO)}({a}, {b})", f"({a}).{draw.choice(METHODS)}"
        check(draw.choice(calls), draw.choice(TAILS))


@pytest.mark.parametrize("call, tail", [
    ("math.log(2, float(x[0]))", "1.0"), ("math.isclose(x[0], 1.0)", "1 if isinstance(r, int) else 2"),
    ("pow(x[0], float('nan'))", "r"), ("math.pow(float(x[1]) * 10, 1e300)", "r"), ("math.sin(x)", "r[0]"),
    ("math.fsum(2.0)", "r"),
    ("math.fsum([[x[0], 1.0]])", "r"), ("math.ldexp(x[0], 1.0)", "r"), ("math.ldexp(x[0], np.int64(1))", "r"),
    ("math.dist(x, x.reshape(2, 1))", "r"), ("math.prod(x.reshape(2, 1))", "r"), ("math.fabs(complex(x[0], 1))", "r"),
    ("isinstance(x[0], [])", "1.0"), ("isinstance(x, x)", "1.0"), ("enumerate(x, 1.0)", "1.0"), ("iter(x[0])", "1.0"),
    ("round([x[0]])", "1.0"), ("round(x)", "r[0]"), ("round(x * 2.0, 1)", "r[0]"), ("round(x.tolist())", "r[0]"),
    ("round(2, 1.0)", "r"), ("sum((), 'a')", "1.0"), ("sum([1.0], iter(x))", "1.0"),
    ("abs(v for v in x)", "1.0"), ("np.float64(2.0).dot(x)", "1.0"), ("x.is_integer", "1.0"),
    ("np.uint8(2).nonzero()", "1.0"), ("np.vdot(1.0, x)", "r"), ("np.vdot(True, (2,))", "np.ndim(r)"),
    ("np.squeeze(())", "r.size"), ("np.conj(np.array(x[0]))", "1 if isinstance(r, np.ndarray) else 2"),
    ("np.ldexp(x[0] * 1e300, -1080)", "r"), ("np.ldexp(x[0], 1.5)", "r"), ("np.where(x > 0, x)", "1.0"),
    ("np.isclose(len(x), 1.0)", "1 / r"), ("np.tile(x, 2.0)", "r[0]"), ("np.partition(x, 1.0)", "r[0]"),
    ("np.vdot(np.outer(x, [1, 2, 3]), np.outer([1, 2, 3], x))", "r"),
    ("np.int64(1e300)", "r"), ("np.int64(float(x[0]) * 1e300)", "r"), ("np.uint8(float('nan'))", "r"),
    ("np.int64(float(x[0]) * float('nan'))", "r"), ("np.int64(float(x[0]) * 3)", "r / 2"),
    ("5 // (np.float32(x[0]) if x[0] > 2 else 0)", "1.0"), ("5 % (np.float32(x[0]) if x[0] > 2 else 0)", "r")])
def test_was_wrong_once(call, tail):
    check(call, tail)


@pytest.mark.parametrize("call", [
    "math.gcd(12, int(x[0] * 18), -4) * x[1]", "math.lcm(4, int(x[0] * 6), 10) * x[1]", "math.gcd() + math.lcm() + x[1]",
    "math.lcm(3, 0) + math.gcd(0, 0) + x[1]", "next(iter(x)) * x[1]", "math.ldexp(x[1], int(x[0] * 3))",
    "math.log(x[1] + 3, 10)",
    "sum(k * v for k, v in enumerate(x, np.int64(2)))", "math.copysign(np.array(x[1]), -1)", "np.exp(x.flat).sum()"])
def test_ordinary_uses(call):
    assert isinstance(check(call, "r"), float)


P = "p, q = np.polynomial.Polynomial([1.0, 2.0]), np.poly1d([1.0, 2.0])\n"
HANDLED = [
    (P, "pass", "(p + p)(x)", "TypeError"), (P, "pass", "(p + q)(x)", "TypeError"),
    ("", "n = 3.0 if x > 0 else 3", "x * math.gcd(n, 6)", "TypeError"),
    ("", "n = 3.0 if x > 0 else 3", "round(x, n)", "TypeError"),
    ("", "n = 2 if x > 0 else 1", "x * ('abc'[n] == 'c')", "TypeError"),
    ("", "n = np.int64(2) if x > 0 else 2", "x * n ** -1", "ValueError"),
    ("", "n = np.float64(-2) if x > 0 else -2.0", "abs(n ** 0.5)", "ValueError"),
    ("class L(list): pass\nL = L([1.0])\n", "n = L == [1.0]", "x * n", "TypeError")]


@pytest.mark.parametrize("outside, before, expression, handled", HANDLED)
def test_handlers_do_not_catch_what_is_only_refused_here(outside, before, expression, handled):
    text = (f"import math\nimport numpy as np\n{outside}\n\ndef f(x):\n    {before}\n    try:\n        r = {expression}\n"
            f"    except {handled}:\n        r = 5.0 * x\n    return r\n")
    f = from_text(f"<handled {expression}>", text)
    derived = value_and_grad(f, mode="python")
    for x in (0.7, -1.3):
        found = number_or_name(lambda x=x: derived(x)[0])
        assert found == "refused" or found == pytest.approx(f(x))


@pytest.mark.parametrize("expression", [
    "np.roll(x, (1, 2), 0)[0]", "np.roll(x, (1,))[0]", "np.roll(np.outer(x, x), (1, 2), axis=(0, 1))[0, 1]",
    "np.roll(np.outer(x, x), 1, axis=(0, 1))[0, 1]", "np.roll(np.outer(x, x), (1, 2, 3), axis=(0, 1))[0, 1]",
    "len(list(zip())) + x[0]"])
def test_shifts_and_axes(expression):
    check(expression, "r")


@pytest.mark.parametrize("call", [
    "np.average(x, weights=[1, 2, 3, 4])", "np.average(x, weights=np.linspace(1, 2, 4))", "np.polyfit(range(4), x, 1)[0]",
    "np.average([1.0, 2, 3, 4], weights=x ** 2)", "np.polyfit(np.array([1.0, 2.0, 3.0, 5.0]), x, 1)[0]",
    "np.polyfit([1.0, 2.0, 3.0, 5.0], x, 1)[0]",
    "np.polyfit(x, np.log([1.0, 2.0, 3.0, 5.0]), 1)[0]", "np.average(x, weights=(1, 2, 3, 4.0))",
    "np.average(np.outer(x, x), weights=[1.0, 2.0, 3.0, 4.0], axis=0)[0]"])
def test_sizes_are_known_when_the_program_runs(call):
    """An array of unknown length may be as long as a list that stands beside it."""
    f = from_text(f"<{call}>", f"import numpy as np\ndef f(x):\n    try:\n        return {call}\n    except TypeError:\n"
                  "        return 100.0 * x[0]\n")
    for x in (np.array([0.7, 0.2, 1.3, 0.4]), np.array([0.7, 0.2, 1.3])):
        try:
            expected = f(x)
        except ValueError:
            continue
        found = value_and_grad(f, mode="python")(x)[0]
        np.testing.assert_allclose(found, expected, rtol=1e-12)
