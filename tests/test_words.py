"""NumPy's integers wrap at 64 bits wherever they come from, run as Python too, where literals and indices have no limit."""

from __future__ import annotations

import random

import numpy as np
import pytest

from autodiff import differentiable, value_and_grad

from .support import from_text, module_of

PROGRAMS = (
    "np.int64(n) ** 40", "np.power(n, 40)", "10 ** np.add(n, 200)", "np.multiply(n, 2 ** 62) * 4", "np.square(n) ** 19",
    "np.prod(np.arange(1, n))", "np.prod([k for k in range(1, n)])", "np.cumprod(range(1, n))[-1]",
    "np.power(40, 30) + n", "np.power(np.zeros(40).size, 30) + n", "np.power(np.zeros((n, 1)).shape[0], 30)",
    "np.add(2 ** 62, 2 ** 62) * n", "np.atleast_1d(n) * 2 ** 62", "np.asarray([n]).sum() * 2 ** 60",
    "np.maximum(n, 3) * 2 ** 60", "np.left_shift(n, 62)",
    "np.sum(np.array([[i * 2 ** 50 for i in range(n)] for _ in range(n)])) * 3000000")


def made(body: str, name: str = "f"):
    """A function of `n` from its text."""
    text, file = f"def {name}(n):\n{body}\n", f"<words {body}>"
    space = module_of(file, text, {"np": np, "__name__": "words"})
    return space[name]


def assert_same(f, n) -> None:
    with np.errstate(all="ignore"):
        expected = f(n)
    found = differentiable(f, mode="python", debug=True)(n)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


@pytest.mark.parametrize("text", PROGRAMS)
def test_numpys_integers_wrap(text):
    assert_same(made(f"    return {text}"), 40)


@pytest.mark.parametrize("seed", range(12))
def test_random_loops_of_numpys_integers(seed):
    """Sums and products that start as literals and take up indices, sizes and the argument through NumPy's functions."""
    choose = random.Random(seed).choice
    terms = ("i", "n", "np.zeros(3).size", "1103515245", "s", "np.int64(i)", "i + 1")
    step = choose(("np.add", "np.multiply", "np.subtract", "np.power"))
    lines = [f"    s = {choose(('1', '3', 'np.int64(12345)', 'n', 'np.add(n, 1)'))}", "    for i in range(n):",
             f"        s = {step}(s, {choose(terms) if step != 'np.power' else '3'})",
             f"        s = {choose(('np.multiply', 'np.add'))}(s * {choose(('7', '1103515245', 'np.int64(i + 2)'))},",
             f"            {choose(terms)})",
             "    return s"]
    assert_same(made("\n".join(lines)), 40)


def test_a_power_too_large_for_a_float_is_bounded():
    """The bound of the size of a number to a large power was an OverflowError of the compiler."""
    assert_same(made("    return np.power(np.zeros((n, 1)).shape[0], 30)", "powers"), 40)


@pytest.mark.parametrize("text", ["int(n) * 2", "abs(int(n))", "-int(n)", "int(n) + int(n)"])
def test_what_python_makes_of_a_whole_word_is_checked(text):
    """A NumPy integer may have all 64 bits; what `int` makes of it does not wrap."""
    with pytest.raises(OverflowError, match="64 bits"):
        differentiable(made(f"    return {text}"), mode="python")(np.int64(-2 ** 63))


def test_a_number_of_several_kinds_given_to_a_ufunc():
    """Of an int16 or a Python integer, by path, np.power made an int64."""
    f = made("    return np.power(max(n, 3), 2)")
    with pytest.raises(TypeError, match="int16"):
        differentiable(f, mode="python")(np.int16(32767))


@pytest.mark.parametrize("expression", [
    "(k[0] + 1) > k[0]", "np.minimum(1 + k, k)[0]", "np.maximum(k[0] + 1, k[0])", "((k + 1) > k).sum()", "np.min(k + 1 - k)",
    "(k[0] - 1) < k[0]", "-k[0] < k[0]"])
def test_sums_beside_their_parts(expression):
    """Nothing is proven of them: they wrap."""
    f = from_text(f"<parts {expression}>", f"import numpy as np\ndef f(x, k):\n    return ({expression}) * 1.0 + 0.0 * x\n")
    for first in (2 ** 63 - 1, -2 ** 63, 3):
        k = np.array([first, 5])
        with np.errstate(all="ignore"):
            assert value_and_grad(f, wrt=0, mode="python")(1.0, k)[0] == f(1.0, k)
