"""Every entry of the catalogue: value and dtype as NumPy's, gradient as differences', forward as reverse, float32 too."""

import re

import numpy as np
import pytest

from autodiff import jvp, value_and_grad, vjp

from .numpy_catalogue import CATALOGUE
from .support import module_of

FLOATS = ("x", "y", "v", "m", "t", "s")


def inputs():
    generator = np.random.default_rng(0)
    square = generator.normal(size=(3, 3))
    x = generator.uniform(0.1, 1.1, (3, 4))
    return {
        "x": x, "y": generator.uniform(0.2, 1.3, (3, 4)),
        "v": generator.uniform(0.1, 1.0, 5), "m": square @ square.T + 3 * np.eye(3),
        "t": generator.normal(size=(2, 3, 3)) + 3 * np.eye(3), "s": generator.normal(size=(2, 3, 4)),
        "i": np.array([0, 2, 1, 2]), "mask": x > 0.4,
    }


def function_of(source, name):
    """The function `f` of a source text, with its lines where inspection finds them."""
    namespace = module_of(name, source, {"np": np})
    return namespace["f"]


def source_of(entry, name="f"):
    *statements, last = [part.strip() for part in entry.split(";")]
    result = "q" if statements else last
    body = [*statements, last] if statements else []
    lines = [f"def {name}(x, y, v, m, t, s, i, mask):", *(f"    {line}" for line in body), f"    return {result}"]
    return "\n".join(lines) + "\n"


def exists(entry):
    """Whether this version of NumPy has the functions of an entry."""
    for path in re.findall(r"\bnp\.([a-zA-Z_0-9.]+)", entry):
        found = np
        for part in path.split("."):
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
    return True


ENTRIES = [pytest.param(line.strip(), id=line.strip())
           for text in CATALOGUE.values() for line in text.strip().splitlines() if exists(line)]


def copies(values):
    return [a.copy() for a in values.values()]


def cotangent(value):
    w = np.random.default_rng(3).normal(size=np.shape(value))
    return w if np.shape(value) else float(w)


# NumPy gives another type to numbers that Python made, or the entry asks for float64 or for bytes.
LOOSE = ("item(", "ravel_multi_index", "unravel_index", "polyval(v, 0.3)", "nbytes", "itemsize", "np.float64",
         "np.empty((3, 3))", "np.arange(v[0]")


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("entry", ENTRIES)
def test_entry(entry):
    """One function object for all forms: what was generated for one is used by the next."""
    function = function_of(source_of(entry), f"<catalogue {entry}>")
    values = inputs()
    expected = function(*copies(values))
    value, pullback = vjp(function, *copies(values), mode="python", debug=True)
    bars = dict(zip(values, pullback(cotangent(expected)), strict=True))
    reverse_against_differences(entry, function, values, expected, value, bars)
    forward_against_reverse(entry, function, values, value, bars)
    if not any(word in entry for word in LOOSE):
        narrow_against_wide(function, values, bars)


def names_in(entry):
    return [name for name in FLOATS if re.search(rf"\b{name}\b", entry)]


def reverse_against_differences(entry, function, values, expected, value, bars):
    np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-13)
    assert np.asarray(value).dtype == np.asarray(expected).dtype
    w = cotangent(expected)
    for name in names_in(entry):
        assert bars[name].shape == values[name].shape
        d = np.random.default_rng(5).normal(size=values[name].shape)

        def loss(h, name=name, d=d):
            return float(np.sum(w * function(*copies({**values, name: values[name] + h * d}))))
        slope = float(np.sum(bars[name] * d))
        error = min(abs((loss(h) - loss(-h)) / (2 * h) - slope) for h in (1e-4, 1e-5, 1e-6))
        assert error <= 2e-6 * max(1.0, abs(slope)), name


def forward_against_reverse(entry, function, values, value, bars):
    """<y_bar, jvp(x_dot)> = <vjp(y_bar), x_dot>, to rounding."""
    names = names_in(entry)
    dots = {n: np.random.default_rng(k).normal(size=values[n].shape) for k, n in enumerate(names)}
    found, dot = jvp(function, tuple(copies(values)), tuple(dots.get(n) for n in values), mode="python", debug=True)
    np.testing.assert_allclose(found, value, rtol=1e-12)
    pushed = float(np.sum(cotangent(value) * dot))
    pulled = sum(float(np.sum(bars[n] * dots[n])) for n in names)
    assert abs(pushed - pulled) <= 1e-9 * max(1.0, abs(pulled))


def narrow_against_wide(function, values, bars):
    """float32 stays float32, in values and gradients."""
    narrow = {k: a.astype(np.float32) if a.dtype == float else a for k, a in values.items()}
    expected = function(*copies(narrow))
    value, pullback = vjp(function, *copies(narrow), mode="python", debug=True)
    assert np.asarray(value).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-5)
    w = cotangent(expected)
    for name, bar in zip(narrow, pullback(np.asarray(w, value.dtype) if np.shape(w) else w), strict=True):
        if name in FLOATS:
            assert bar.dtype == np.float32 and bar.shape == narrow[name].shape
            np.testing.assert_allclose(bar, bars[name], rtol=5e-3, atol=5e-3, err_msg=name)


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("topic", CATALOGUE)
def test_compiled(topic):
    """Some entries of a topic as one compiled program give the sum of what Python mode gives for them. Numba's time grows
    faster than the program."""
    lines = [line.strip() for line in CATALOGUE[topic].strip().splitlines() if exists(line)]
    lines = lines[::max(4, -(-len(lines) // 3))]
    parts = [source_of(line, f"f{k}") for k, line in enumerate(lines)]
    calls = " + ".join(f"np.sum(np.sin(f{k}(x, y, v, m, t, s, i, mask)))" for k in range(len(lines)))
    source = "\n".join([*parts, f"def f(x, y, v, m, t, s, i, mask):\n    return {calls}\n"])
    function = function_of(source, f"<catalogue topic {topic}>")
    values = inputs()
    found, bars = value_and_grad(function, wrt=FLOATS)(*copies(values))
    expected, reference = value_and_grad(function, wrt=FLOATS, mode="python", debug=True)(*copies(values))
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    np.testing.assert_allclose(found, function(*copies(values)), rtol=1e-10)
    for bar, exact in zip(bars, reference, strict=True):
        np.testing.assert_allclose(bar, exact, rtol=1e-8, atol=1e-10)
