"""Every rule of the registry, from its declaration: a rule that is not exercised here, or in the catalogue, fails."""

import ast
import importlib
import linecache
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg

from autodiff import hvp, jvp, value_and_grad, vjp
from autodiff.rules import REGISTRY
from autodiff.rules.registry import of_scipy
from autodiff.runtime.library_calls import CALLS

from . import numpy_catalogue, numpy_expressions, test_numpy_expressions

A, B, C = np.array([-0.7, 0.3, 0.8]), np.array([0.45, -0.6, 1.3]), np.array([0.2, 0.9, 1.7])
P, ABOVE, INSIDE = np.array([0.3, 1.4, 2.2]), np.array([1.2, 2.5, 4.0]), A

# operation -> (how it is called, a sample of its domain for each operand)
SAMPLES = {
    "abs": ("np.abs(x)", A), "neg": ("-x", A), "exp": ("np.exp(x)", A), "expm1": ("np.expm1(x)", A),
    "exp2": ("np.exp2(x)", A), "log": ("np.log(x)", P), "log1p": ("np.log1p(x)", A), "log2": ("np.log2(x)", P),
    "log10": ("np.log10(x)", P), "sqrt": ("np.sqrt(x)", P), "cbrt": ("np.cbrt(x)", A), "sin": ("np.sin(x)", A),
    "cos": ("np.cos(x)", A), "tan": ("np.tan(x)", A), "arcsin": ("np.arcsin(x)", INSIDE),
    "arccos": ("np.arccos(x)", INSIDE), "arctan": ("np.arctan(x)", A), "sinh": ("np.sinh(x)", A),
    "cosh": ("np.cosh(x)", A), "tanh": ("np.tanh(x)", A), "arcsinh": ("np.arcsinh(x)", A),
    "arccosh": ("np.arccosh(x)", ABOVE), "arctanh": ("np.arctanh(x)", INSIDE), "deg2rad": ("np.deg2rad(x)", A),
    "rad2deg": ("np.rad2deg(x)", A), "sinc": ("np.sinc(x)", A), "erf": ("each(math.erf, x)", A),
    "erfc": ("each(math.erfc, x)", A), "gamma": ("each(math.gamma, x)", P), "lgamma": ("each(math.lgamma, x)", P),
    "add": ("x + y", A, B), "sub": ("x - y", A, B), "mul": ("x * y", A, B), "div": ("x / y", A, B),
    "sum": ("np.sum(np.stack(np.broadcast_arrays(x, y)), axis=0)", A, B), "pow": ("x ** y", P, B),
    "mod": ("x % y", A, B), "fmod": ("np.fmod(x, y)", A, B), "arctan2": ("np.arctan2(x, y)", A, B),
    "hypot": ("np.hypot(x, y)", A, B), "logaddexp": ("np.logaddexp(x, y)", A, B),
    "logaddexp2": ("np.logaddexp2(x, y)", A, B), "copysign": ("np.copysign(x, y)", A, B),
    "maximum": ("np.maximum(x, y)", A, B), "minimum": ("np.minimum(x, y)", A, B), "fmax": ("np.fmax(x, y)", A, B),
    "fmin": ("np.fmin(x, y)", A, B), "heaviside": ("np.heaviside(x, y)", A, B),
    "larger": ("each_two(max, x, y)", A, B), "smaller": ("each_two(min, x, y)", A, B),
    "clip": ("np.clip(x, y, z)", A, B - 1.0, C),
}
CONSTANTS = {"floor": "np.floor(x)", "ceil": "np.ceil(x)", "trunc": "np.trunc(x)", "rint": "np.rint(x)",
             "sign": "np.sign(x)", "floordiv": "x // 0.3", "isnan": "np.isnan(x)", "isinf": "np.isinf(x)",
             "isfinite": "np.isfinite(x)",
             "signbit": "np.signbit(x)"}
# Where the derivative jumps: (call, point, what it is there). Ties share evenly, bounds pass, 0 where all directions meet.
KINKS = [("np.abs(x)", (0.0,), (0.0,)), ("np.maximum(x, y)", (0.4, 0.4), (0.5, 0.5)),
         ("np.minimum(x, y)", (0.4, 0.4), (0.5, 0.5)),
         ("np.fmax(x, y)", (0.4, 0.4), (0.5, 0.5)), ("np.fmin(x, y)", (0.4, 0.4), (0.5, 0.5)),
         ("np.hypot(x, y)", (0.0, 0.0), (0.0, 0.0)), ("np.clip(x, -0.5, 0.5)", (0.5,), (1.0,)), ("x ** 2.0", (0.0,), (0.0,)),
         ("np.clip(x, -0.5, 0.5)", (-0.5,), (1.0,)), ("x ** y", (0.0, 2.0), (0.0, 0.0)), ("np.sinc(x)", (0.0,), (0.0,)),
         ("np.linalg.norm(np.array([x, y]))", (0.0, 0.0), (0.0, 0.0)),
         ("np.max(np.array([x, y, x]))", (0.4, 0.4), (2 / 3, 1 / 3)),
         ("np.std(np.array([x, y]))", (0.4, 0.4), (0.0, 0.0)), ("np.sign(x) * x", (0.0,), (0.0,))]


def function_of(call: str, operands: int, weight: str = ""):
    """f(x, ...) that returns the call; `each` stands for a comprehension over elements."""
    first = "x, y = np.broadcast_arrays(x, y)" if call.startswith("each_two") else "pass"
    pairs = r"np.array([\1(u, v) for u, v in zip(x.ravel(), y.ravel())], dtype=x.dtype).reshape(x.shape)"
    call = re.sub(r"each_two\((.*), x, y\)", pairs, call)
    call = re.sub(r"each\((.*), x\)", r"np.array([\1(u) for u in x.ravel()], dtype=x.dtype).reshape(x.shape)", call)
    found = f"np.sum(({call}) * ({weight}))" if weight else call
    text = f"def f({', '.join('xyz'[:operands])}):\n    {first}\n    return {found}\n"
    name = f"<rule {call} {weight}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    import math
    space = {"np": np, "math": math}
    exec(compile(text, name, "exec"), space)
    return space["f"]


def differences(f, args, k, d, h=1e-6):
    up, down = list(args), list(args)
    up[k], down[k] = args[k] + h * d, args[k] - h * d
    return (f(*up) - f(*down)) / (2.0 * h)


def test_every_operation_with_a_rule_has_a_sample():
    """A new rule of partial derivatives, or a new constant operation, must be given a sample above."""
    own = {op for op in REGISTRY.partial_rules if not op.startswith("special.")}
    assert own == set(SAMPLES), f"{own ^ set(SAMPLES)}: every operation with a rule needs a row in SAMPLES"
    constant = set(REGISTRY.constants)
    assert constant == set(CONSTANTS), f"{constant ^ set(CONSTANTS)}: every constant operation needs a row in CONSTANTS"


@pytest.mark.parametrize("op", SAMPLES)
def test_partials(op):
    """Value, both modes, second order, dtypes and shapes, through the rule that the sample declares."""
    call, *args = SAMPLES[op]
    f, n = function_of(call, len(args)), len(args)
    weights = np.array([0.7, -1.1, 0.4])
    value, pull = vjp(f, *args, mode="python", debug=True)
    np.testing.assert_allclose(value, f(*args), rtol=1e-14)
    bars = pull(weights)
    for k in range(n):
        np.testing.assert_allclose(bars[k], weights * differences(f, args, k, np.ones(3)), rtol=1e-6, atol=1e-8)
    dots = tuple(np.array([0.3, -0.8, 0.5]) * (k + 1) for k in range(n))
    _, dot = jvp(f, tuple(args), dots, mode="python", debug=True)
    np.testing.assert_allclose(np.sum(dot * weights), sum(np.sum(b * d) for b, d in zip(bars, dots)), rtol=1e-12)

    narrow = [a.astype(np.float32) for a in args]
    value32, pull32 = vjp(f, *narrow, mode="python", debug=True)
    assert value32.dtype == np.float32
    for bar32, bar in zip(pull32(weights.astype(np.float32)), bars):
        assert bar32.dtype == np.float32
        np.testing.assert_allclose(bar32, bar, rtol=2e-4, atol=1e-5)

    scalar = function_of(call, n, "0.7")
    product = hvp(scalar, mode="python", debug=True)(*args, dots[0])
    gradient = value_and_grad(scalar, mode="python")
    slope = differences(lambda *a: gradient(*a)[1], args, 0, dots[0])
    np.testing.assert_allclose(product, slope, rtol=1e-5, atol=1e-7)

    for shapes in [((2, 1), (3,), (1, 1)), ((0,), (0,), (0,)), ((1,), (1,), ()), ((3,), (1,), (3,))]:
        some = [np.resize(a, s) if s else a[0] for a, s in zip(args, shapes)]
        if n == 1 and not some[0].size or n > 1 or some[0].ndim == 2:
            out, back = vjp(f, *some, mode="python", debug=True)
            expected = f(*some)
            np.testing.assert_allclose(out, expected, rtol=1e-14)
            for a, bar in zip(some, back(np.ones_like(expected))):
                assert np.shape(bar) == np.shape(a)
            for k, bar in enumerate(back(np.ones_like(expected))):
                slope = differences(lambda *p: np.sum(f(*p)), some, k, np.ones_like(some[k]))
                np.testing.assert_allclose(np.sum(bar), slope, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("op", CONSTANTS)
def test_constants(op):
    """The value takes part, its derivative is zero."""
    f = function_of(f"x * ({CONSTANTS[op]}) + 0.5 * x", 1)
    value, pull = vjp(f, A, mode="python", debug=True)
    np.testing.assert_allclose(value, f(A))
    (bar,) = pull(np.ones(3))
    np.testing.assert_allclose(bar, (value / A))
    np.testing.assert_allclose(jvp(f, (A,), (np.ones(3),), mode="python")[1], bar)


@pytest.mark.parametrize("call, point, expected", KINKS, ids=lambda v: v if isinstance(v, str) else "")
def test_kinks(call, point, expected):
    f = function_of(call, len(point))
    _, found = value_and_grad(f, wrt=tuple(range(len(point))), mode="python", debug=True)(*point)
    np.testing.assert_allclose(found, expected, atol=1e-15)
    for k, partial in enumerate(expected):
        dots = tuple(1.0 if j == k else None for j in range(len(point)))
        np.testing.assert_allclose(jvp(f, point, dots, mode="python")[1], partial, atol=1e-15)


# ---- library functions ---------------------------------------------------------------------------------
def called_functions() -> set:
    """The NumPy functions that the catalogue and the expressions call, by name or as a method."""
    lines = [line.strip() for text in numpy_catalogue.CATALOGUE.values() for line in text.strip().splitlines()]
    trees = [ast.parse(line) for line in lines]
    trees += [ast.parse(Path(m.__file__).read_text(encoding="utf-8")) for m in (numpy_expressions, test_numpy_expressions)]
    found = set()
    for node in (n for tree in trees for n in ast.walk(tree)):
        if isinstance(node, ast.Attribute):
            try:
                found.add(eval(ast.unparse(node), {"np": np}))
            except (NameError, AttributeError, TypeError):
                found.add(getattr(np, node.attr, None))         # a method of an array
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            found.add(np.matmul)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "np." in node.value:
            for path in re.findall(r"\bnp\.([a-zA-Z_0-9.]+)", node.value):
                value = np
                for part in path.rstrip(".").split("."):
                    value = getattr(value, part, None)
                try:
                    found.add(value)
                except TypeError:
                    pass
    return found


def test_every_definition_is_in_the_catalogue():
    """A library function that is given a definition must stand in the catalogue, where it is tested in all forms."""
    called = called_functions()
    own = [f for f in REGISTRY.definitions
           if not of_scipy(f) and (getattr(f, "__module__", None) or "").startswith("numpy")
           and not f.__module__.startswith("numpy.fft")             # test_fft.py has those
           and not f.__module__.startswith("numpy.testing")         # test_assertions.py
           and not f.__module__.startswith("numpy.polynomial.")     # test_polynomials.py and test_polynomial_bases.py
           and f.__name__ != "trapz"]                               # NumPy 2.0 has it beside trapezoid
    assert len(own) > 90
    folder = Path(numpy_catalogue.__file__).parent
    text = "".join((folder / f"test_{file}.py").read_text(encoding="utf-8") for file in (
        "eigenvalues", "polynomials", "divisors_and_bits"))
    missing = [f"{getattr(f, '__module__', '')}.{f.__name__}" for f in own
               if f not in called and not re.search(rf"\b(np|series|chebyshevs)\.{f.__name__}\(", text)]
    assert not missing, f"{missing} need an entry in tests/numpy_catalogue.py"


def test_every_library_call_is_in_the_catalogue():
    """The calls with a pullback and a pushforward: matrix functions."""
    REGISTRY.learn_of(scipy.linalg.expm)
    names = {f.__name__ for f in called_functions() if callable(f) and hasattr(f, "__name__")}
    built_in = {op for op in REGISTRY.pullback_rules if isinstance(op, str) and not op.startswith("rule:")}
    assert built_in == {op for op in REGISTRY.pushforward_rules if not op.startswith("rule:")}
    # Products with the transposed, as x.T @ x, stand in the catalogue, fractional powers in test_matrix_functions.py, upper
    # triangles in test_decompositions.py.
    elsewhere = {"gram", "matrix_power", "complex_matrix_power", "eigh_upper", "complex_eigh_upper"}
    folder = Path(numpy_catalogue.__file__).parent
    for file in ("complex", "complex_calls", "complex_matrices", "eigenvalues", "fft", "linear_algebra", "matrix_functions"):
        text = (folder / f"test_{file}.py").read_text(encoding="utf-8").replace(" @ ", " matmul ")
        elsewhere |= {op for op in built_in if re.search(rf"\b{op.removeprefix('complex_')}\b", text)}
    assert built_in <= names | elsewhere, f"{built_in - names - elsewhere} need an entry in tests/numpy_catalogue.py"


def test_helpers_of_library_calls_are_where_their_rows_say():
    for name, call in CALLS.items():
        assert callable(getattr(importlib.import_module(f"autodiff.runtime.{call.home}"), call.helper)), name
        assert set(call.operands + (call.results or "")) <= {"c", "r"}, name
