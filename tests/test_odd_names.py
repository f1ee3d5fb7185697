"""Names of files, functions and variables that generated text must not be broken by, and exceptions of the user's own."""

import importlib.util

import numpy as np
import pytest

from autodiff import UnsupportedSyntax, grad

from .support import from_text

X = np.array([0.5, 2.0])
SOURCE = "import numpy as np\n\ndef f(x):\n    y = x * x\n    y[0] = 3.0 * x[1]\n    return np.sum(y * x)\n"


NEW_LINE = "new\nraise SystemExit('executed')\n.py"


@pytest.mark.parametrize(("name", "mode"), [(NEW_LINE, "numba")] + [(name, "python") for name in (
    NEW_LINE, "carriage\rraise SystemExit('executed')\r.py", "quotes'\"\"\".py", "back\\slash.py", "grün.py",
    "bytes\udcff.py", "braces{0}{x}%s.py", "page\x0c\u2028.py")])
def test_the_name_of_a_file_is_no_part_of_the_program(tmp_path, name, mode):
    path = tmp_path / name
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("odd", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    gradient = grad(module.f, mode=mode)
    assert np.allclose(gradient(X), [3.0 * X[1], 3.0 * X[0] + 3.0 * X[1] ** 2])
    assert "# " in gradient.source


def test_keys_of_dicts_are_names_or_like_names():
    def f(p):
        return p["x²"] * p["²"] + p["3 a\n'"] * p["ﬁ"] + p["fi"] ** 2 + p["٣"] + p["class"] + p[""]
    keys = ["x²", "²", "3 a\n'", "ﬁ", "fi", "٣", "class", ""]
    p = dict(zip(keys, [2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0]))
    assert list(grad(f, mode="python")(p).values()) == [3.0, 2.0, 7.0, 5.0, 22.0, 1.0, 1.0, 1.0]


def test_a_function_with_an_odd_name():
    def f(x):
        return x * x
    f.__name__ = f.__qualname__ = '"""\nraise SystemExit'
    assert grad(f, mode="python")(3.0) == 6.0


class Stopped(Exception):
    def __init__(self, what, at, code=0):
        super().__init__(what, at)
        self.code = code


class OnlyText(ValueError):
    pass


ONE_OBJECT = Stopped("once", 1.0)


def raising(x):
    if x > 6.0:
        raise ONE_OBJECT
    if x > 5.0:
        raise np.linalg.LinAlgError("singular")
    if x > 4.0:
        raise KeyError("name")
    if x > 3.0:
        raise ValueError("two", x)
    if x > 2.0:
        raise OnlyText
    if x > 1.0:
        raise OnlyText(f"{{so}} {x:.2f}")
    if x > 0.0:
        raise Stopped(f"at {x:.1f}", x, code=7)
    return x * x


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_what_the_function_raises_is_what_is_raised(mode):
    gradient = grad(raising, mode=mode)
    assert gradient(-3.0) == -6.0
    for x in (0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5):
        with pytest.raises(Exception) as expected:
            raising(x)
        with pytest.raises(Exception) as found:
            gradient(x)
        assert found.type is expected.type and found.value.args == expected.value.args
        assert getattr(found.value, "code", None) == getattr(expected.value, "code", None)
    assert found.value is ONE_OBJECT


def test_two_classes_of_one_name_are_two():
    def make(k):
        class Same(Exception):
            number = k

        def f(x):
            if x < 0.0:
                raise Same("negative")
            return x * x
        return grad(f, mode="python"), Same
    for gradient, cls in [make(1), make(2)]:
        with pytest.raises(cls):
            gradient(-1.0)


def test_what_is_raised_is_known():
    def f(x, kind):
        if x < 0.0:
            raise kind(x)
        return x * x
    with pytest.raises(UnsupportedSyntax, match="not known before the program runs|raised"):
        grad(f, mode="python")(1.0, 2.0)


def test_a_long_line_with_many_commas_and_no_assignment():
    """The pattern that finds what a line assigns to took time exponential in its commas."""
    functions = ", ".join(("lambda x: np.sum(np.tanh(x) * np.exp(x))", *(f"lambda x: {k}" for k in range(60))))
    f = from_text("<many functions>", f"import numpy as np\n\nfor f in ({functions}): break\n")
    np.testing.assert_allclose(grad(f, mode="python")(X), np.exp(X) * (1 - np.tanh(X) ** 2 + np.tanh(X)))
