"""Short random programs, a function `f` each, against Python and differences."""

import copy
import linecache

import numpy as np

import autodiff as ad


def function_of(text: str, name: str, space: dict):
    """The function `f` of a text, with a source that can be found; space: what it reads outside."""
    filename = f"<{name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    exec(compile(text, filename, "exec"), space)
    return space["f"]


def compared(f, x, rest: tuple, text: str, beyond) -> str:
    """What becomes of f(x, *rest), x a number or a vector: values are those of Python, slopes those of differences.

    beyond: whether differences say nothing at a value, as they lose what is small beside it.
    """
    given = lambda x: copy.deepcopy((x, *rest))
    plain = lambda x: f(*given(x))
    try:
        expected = plain(x)
    except Exception:
        return "raises"
    try:
        value, slope = ad.value_and_grad(f, mode="python")(*given(x))
    except ad.AutodiffError as e:
        assert "mistake of autodiff" not in str(e), f"{text}{e}"
        return "refused"
    np.testing.assert_allclose(value, expected, rtol=1e-10, err_msg=f"{text}{rest}")
    if beyond(expected):
        return "ok"
    step, h = 1.0 if np.ndim(x) == 0 else np.resize([0.5, -0.3, 0.2], len(x)), 1e-6
    difference = (plain(x + h * step) - plain(x - h * step)) / (2 * h)
    assert abs(np.dot(slope, step) - difference) < 1e-5 * max(1.0, abs(difference)), f"{text}{rest}\n{slope} {difference}"
    return "ok"
