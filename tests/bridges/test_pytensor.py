"""`autodiff.pytensor.op`, against PyTensor's own graphs of the same functions, under its Python and Numba linkers."""

import copy
import functools
import importlib.util
import pickle
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

pytensor = pytest.importorskip("pytensor")
pt = pytensor.tensor

from autodiff import TypeConflict, differentiable, grad  # noqa: E402
from autodiff.pytensor import op  # noqa: E402

MODES = ("py", "numba")
MODERN = hasattr(pytensor.graph.op.Op, "pullback")


def mode_of(linker):
    return pytensor.compile.mode.Mode(linker=linker, optimizer="fast_compile" if linker == "py" else "fast_run")


def compiled(inputs, outputs, linker="py"):
    return pytensor.function(inputs, outputs, mode=mode_of(linker), on_unused_input="ignore")


def variables(values):
    return [pt.TensorType(v.dtype, tuple(1 if n == 1 else None for n in v.shape))() for v in values]


def tangents(outputs, inputs, dots):
    if MODERN:
        return pytensor.gradient.pushforward(outputs, inputs, dots, use_op_pushforward=True)
    return pytensor.gradient.Rop(outputs, inputs, dots, use_op_rop_implementation=True)


def filtered(x, w):
    y = np.zeros_like(x)
    s = 0.0
    for i in range(x.shape[0]):
        s = np.tanh(w[i] * s + x[i])
        y[i] = s
    return y


X, W = np.linspace(0.1, 1.0, 4), np.full(4, 0.5)


# ---- random functions, inputs and results ----------------------------------------------------------------
TERMS = [
    (lambda lib, a, b: lib.sin(a * 1.0) * b), (lambda lib, a, b: a * a + b), (lambda lib, a, b: lib.exp(-1.0 * a * a) * b),
    (lambda lib, a, b: lib.sum(a * b)), (lambda lib, a, b: lib.sqrt(a * a + b * b + 1.0)),
    (lambda lib, a, b: lib.tanh(a * 1.0) + b),
]
DTYPES = ["float64", "float64", "float32", "int64", "int32", "bool"]


def program(rng, count):
    """A function that works with NumPy's functions and with PyTensor's, as they are given."""
    terms = [TERMS[k] for k in rng.integers(len(TERMS), size=3)]
    a, b, c, d = (int(k) for k in rng.integers(count, size=4))
    several = rng.integers(3)

    def function(lib, *args):
        first = terms[0](lib, args[a], args[b])
        second = terms[1](lib, args[c] * 1.5, args[d])
        third = terms[2](lib, second * first, args[a] * 0.5)
        if several == 0:
            return first * 1.0 + third
        return (first, args[d] + args[d], third) if several == 1 else (second, third)
    return function


def values_of(rng, count):
    values = []
    for _ in range(count):
        shape = [(), (3,), (2, 3), (1, 3)][rng.integers(4)]
        dtype = str(rng.choice(DTYPES))
        values.append(np.asarray(rng.normal(size=shape) if dtype.startswith("float") else
                                 rng.integers(0, 2 if dtype == "bool" else 4, shape)).astype(dtype))
    values[0] = rng.normal(size=values[0].shape)
    return values


def numpy_form(function, count):
    """The function for NumPy, of plain arguments."""
    names = ", ".join("abc"[:count])
    namespace = {"function": function, "np": np}
    exec(f"def form({names}):\n    return function(np, {names})\n", namespace)
    return functools.partial(function, np) if count == 3 else lambda a, b: function(np, a, b)


def derivatives(results, inputs):
    """The results, gradients of a number of them all, and gradients of a number of these."""
    results = list(results) if isinstance(results, (tuple, list)) else [results]
    floats = [a for a in inputs if a.dtype.startswith("float")]
    total = sum((pt.sum(pt.sin(r)) * (k + 1.0) for k, r in enumerate(results) if r.dtype.startswith("float")), pt.zeros(()))
    first = pytensor.grad(total, floats, disconnected_inputs="ignore")
    second = pytensor.grad(sum(pt.sum(pt.cos(g)) for g in first), floats, disconnected_inputs="ignore")
    return [*results, *first, *second]


@pytest.mark.parametrize("linker, seed", [("py", k) for k in (1, 3, 4, 5)] + [("numba", 9)])
def test_random_functions(linker, seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 4))
    function, values = program(rng, count), values_of(rng, count)
    inputs = variables(values)
    ours = derivatives(op(numpy_form(function, count))(*inputs), inputs)
    theirs = derivatives(function(pt, *inputs), inputs)
    found = compiled(inputs, ours, linker)(*values)
    for k, (a, b) in enumerate(zip(found, compiled(inputs, theirs)(*values), strict=True)):
        np.testing.assert_allclose(a, b, rtol=2e-4 if any(v.dtype == "float32" for v in values) else 1e-9, atol=1e-5)
        assert a.dtype == ours[k].dtype and a.shape == b.shape


# ---- the parts of it --------------------------------------------------------------------------------------
def model(x, n, y, k):
    return np.sin(x) * y + n, n + 1, np.sum(x * y) * k ** 2


@pytest.mark.parametrize("linker", MODES)
def test_tangents(linker):
    x, n, y, k = variables(values := [X, np.asarray(2), W, np.asarray(0.5)])
    dx, dk = pt.vector("dx"), pt.scalar("dk")
    a, _, c = op(model)(x, n, y, k)
    fn = compiled([x, n, y, k, dx, dk], tangents([a, c], [x, k], [dx, dk]), linker)
    da, dc = fn(*values, W, 0.1)
    np.testing.assert_allclose(da, np.cos(X) * W * W)
    np.testing.assert_allclose(dc, np.sum(W * W) * 0.25 + np.sum(X * W) * 0.1)


def test_gradients_of_tangents():
    x, dx = pt.vector("x"), pt.vector("dx")
    y = op(lambda x: np.sum(x ** 3))(x)
    (dot,) = [found] if not isinstance(found := tangents(y, x, dx), list) else found
    np.testing.assert_allclose(compiled([x, dx], pytensor.grad(dot, x))(X, W), 6 * X * W)


@pytest.mark.parametrize("linker", MODES)
def test_arrays_of_any_layout(linker):
    """Constants, transposed, strided and read-only arrays; results are not their memory."""
    a, b = pt.matrix("a"), pt.matrix("b")
    twice = op(lambda a, b, c: (a, a * b + c))
    found = compiled([a, b], [*twice(a.T, b[::-1, ::2], np.arange(3.0)), a], linker)
    one, two = np.arange(6.0).reshape(3, 2), np.ones((2, 6))
    one.flags.writeable = False
    same, sums, given = found(one, two)
    np.testing.assert_array_equal(same, one.T)
    np.testing.assert_array_equal(sums, one.T * two[::-1, ::2] + np.arange(3.0))
    assert not np.shares_memory(same, one)


def test_functions_that_write():
    def doubled(x):
        x[:] = 2.0 * x
        return np.sum(x ** 2)
    x = pt.vector("x")
    for linker in MODES:
        fn = compiled([x], [op(doubled)(x), pytensor.grad(op(doubled)(x), x), x, op(doubled)(np.arange(3.0))], linker)
        value, slope, kept, constant = fn(X)
        np.testing.assert_allclose(value, 4 * np.sum(X ** 2))
        np.testing.assert_allclose(slope, 8 * X)
        np.testing.assert_array_equal(kept, np.linspace(0.1, 1.0, 4))
        assert constant == 20.0


@pytest.mark.parametrize("linker", MODES)
def test_shapes_run_nothing(linker):
    def careful(x, n):
        if x[0] < 0.0:
            raise ValueError("it ran")
        return np.zeros(n + 1) + x[0], np.outer(x, x), x[x > 0.0]
    x, n = pt.vector("x"), pt.lscalar("n")
    zeros, outer, kept = op(careful)(x, n)
    sizes = compiled([x, n], [zeros.shape[0], outer.shape, pytensor.grad(outer.sum(), x).shape], linker)
    assert [np.asarray(s).tolist() for s in sizes(-X, 3)] == [4, [4, 4], [4]]
    with pytest.raises(ValueError, match="it ran"):
        compiled([x, n], kept.shape[0], linker)(-X, 3)
    assert compiled([x, n], kept.shape[0], linker)(X, 3) == 4


@pytest.mark.parametrize("linker", MODES)
def test_one_name_several_functions(linker):
    """Compiled code is never that of another function: of another text, another closure, other options."""
    def scaled(k):
        def same(x):
            return np.sum(x ** 2) * k
        return same
    x = pt.vector("x")
    first, second, third = op(scaled(2.0))(x), op(scaled(3.0))(x), op(lambda x: np.sum(x) * 2.0)(x)
    found = compiled([x], [first, second, third, pytensor.grad(second, x)], linker)(X)
    np.testing.assert_allclose(found[:3], [2 * np.sum(X ** 2), 3 * np.sum(X ** 2), 2 * np.sum(X)])
    np.testing.assert_allclose(found[3], 6 * X)


def test_equal_ops():
    one, two = op(filtered), op(filtered)
    assert one == two and hash(one) == hash(two) and copy.deepcopy(one) == one
    assert one != op(filtered, fastmath=True) and one != op(lambda x, w: x)
    x, w = pt.vector("x"), pt.vector("w")
    fn = compiled([x, w], [one(x, w).sum(), two(x, w) * 2.0], "numba")
    assert sum(node.op == one for node in fn.maker.fgraph.toposort()) == 1
    both = pytensor.grad(one(x, w).sum() + two(x, w).sum(), [x, w])
    assert str(one) == "autodiff.filtered" and "vjp(filtered)" in pytensor.dprint(both, file="str")


SCALE = 2.0


def reads(x):
    return SCALE * np.sum(x ** 2)


def test_what_is_read_outside(monkeypatch):
    x = pt.vector("x")
    first = op(reads)
    y = first(x)
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 3.0)
    with pytest.raises(TypeConflict, match="`reads` reads outside .* changed"):
        pytensor.grad(y, x)
    second = op(reads)
    assert second != first
    value, later, slope = compiled([x], [y, second(x), pytensor.grad(second(x), x)])(X)
    np.testing.assert_allclose([value, later], [2 * np.sum(X ** 2), 3 * np.sum(X ** 2)])
    np.testing.assert_allclose(slope, 6 * X)


def test_arrays_bound_beforehand_that_change():
    w, x = np.ones(4), pt.vector("x")
    bound = functools.partial(lambda w, x: np.sum(w * x), w)
    assert compiled([x], op(bound)(x))(X) == pytest.approx(np.sum(X))
    w[:] = 3.0
    assert compiled([x], op(bound)(x))(X) == pytest.approx(3 * np.sum(X))


@pytest.mark.parametrize("send", [op(filtered), op(filtered)(X, W).owner.op], ids=str)
def test_pickled_ops(send):
    assert pickle.loads(pickle.dumps(send)) == send


def test_pickled_graphs():
    def loss(x, w):
        return np.sum(filtered(x, w) ** 2)
    x, w = pt.vector("x"), pt.vector("w")
    y = op(loss)(x, w)
    fn = compiled([x, w], [y, *pytensor.grad(y, [x, w])])
    again = pickle.loads(pickle.dumps(fn))
    for a, b in zip(fn(X, W), again(X, W), strict=True):
        np.testing.assert_array_equal(a, b)


def test_keywords_numbers_and_compiled_functions():
    def power(x, n, k):
        return np.sum(x ** n) * k
    x = pt.vector("x")
    assert compiled([x], op(power)(x, k=0.5, n=2))(X) == pytest.approx(0.5 * np.sum(X ** 2))
    assert op(power)(x, 2, 0.5).owner.inputs[1].dtype == "int64"
    assert compiled([x], op(differentiable(power))(x, 3, 1.0))(X) == pytest.approx(np.sum(X ** 3))
    assert compiled([x], op(functools.partial(power, n=2, k=3.0))(x))(X) == pytest.approx(3 * np.sum(X ** 2))
    np.testing.assert_allclose(compiled([x], op(grad(power))(x, 2, 1.0))(X), 2 * X)


# ---- errors -----------------------------------------------------------------------------------------------
def careful(x):
    if x[0] < 0.0:
        raise ValueError(f"negative: {x[0]}")
    return x[3] * x[0]


@pytest.mark.parametrize("linker", MODES)
def test_errors_of_a_run(linker):
    x = pt.vector("x")
    fn = compiled([x], pytensor.grad(op(careful)(x), x), linker)
    np.testing.assert_allclose(fn(X), [X[3], 0.0, 0.0, X[0]])
    with pytest.raises(ValueError, match="negative: -"):
        fn(-X)
    with pytest.raises(IndexError, match="out of bounds"):
        fn(X[:2])


@pytest.mark.parametrize("make, error, text", [
    (lambda: op(3), TypeError, "op.. takes a function, not a int"),
    (lambda: op(filtered)(X), TypeError, "missing 1 required"),
    (lambda: op(filtered)(X, W, W), TypeError, "takes"),
    (lambda: op(filtered)(X, v=W), TypeError, "argument"),
    (lambda: op(filtered)(X, "w"), TypeError, "argument 1 of `filtered` is a str"),
    (lambda: op(lambda z: z * 2.0)(X + 1j), TypeConflict, "real numbers"),
    (lambda: op(lambda x: {"a": x})(X), TypeConflict, r"returns result\['a'\]"),
    (lambda: op(lambda x: None)(X), TypeConflict, "returns no numbers"),
    (lambda: op(lambda x: x * 1j)(X), TypeConflict, "returns complex"),
    (lambda: pytensor.grad(op(lambda n: 2 * n)(n := pt.lscalar()) * 1.5, n),
     pytensor.gradient.DisconnectedInputError, "Backtrace"),
])
def test_what_it_refuses(make, error, text):
    with pytest.raises(error, match=text):
        make()


# ---- PyMC -------------------------------------------------------------------------------------------------
def log_likelihood(theta, sigma, seen):
    total, state = 0.0, 1.0
    for k in range(seen.shape[0]):
        state += 0.1 * theta[0] * state * (1.0 - state / theta[1])
        total -= 0.5 * ((seen[k] - state) / sigma) ** 2 + np.log(sigma)
    return total


def test_a_model():
    pm = pytest.importorskip("pymc")
    seen = np.linspace(1.0, 2.0, 10)
    with pm.Model() as built:
        theta = pm.Normal("theta", 0.0, 1.0, shape=2)
        sigma = pm.Exponential("sigma", 1.0)
        pm.Potential("seen", op(log_likelihood)(theta, sigma, seen))
    at = {"theta": np.array([0.8, 2.5]), "sigma_log__": np.asarray(np.log(0.3))}
    slope = built.compile_dlogp(mode=mode_of("py"))(at)
    logp = built.compile_logp(mode=mode_of("py"))
    for k, (name, step) in enumerate([("theta", np.array([1e-6, 0.0])), ("theta", np.array([0.0, 1e-6])),
                                      ("sigma_log__", 1e-6)]):
        up, down = ({**at, name: at[name] + sign * step} for sign in (1.0, -1.0))
        order = {"theta": 0, "sigma_log__": 2}[name] + (k == 1)
        assert slope[order] == pytest.approx((logp(up) - logp(down)) / 2e-6, rel=1e-5)


def run_block(path, text):
    path.write_text(text, encoding="utf-8")
    return runpy.run_path(str(path))


def test_nutpie():
    """nutpie compiles the same graph, and samples it in threads of its own."""
    nutpie, pm = pytest.importorskip("nutpie"), pytest.importorskip("pymc")

    def likelihood(rate, seen):
        total = 0.0
        for k in range(seen.shape[0]):
            total += np.log(rate) - rate * seen[k]
        return total
    with pm.Model() as built:
        rate = pm.Gamma("rate", 2.0, 1.0)
        pm.Potential("seen", op(likelihood)(rate, np.array([0.5, 0.7, 0.2, 0.9])))
    trace = nutpie.sample(nutpie.compile_pymc_model(built), draws=400, tune=200, chains=2, seed=1, progress_bar=False)
    assert float(trace.posterior["rate"].mean()) == pytest.approx(6.0 / 3.3, rel=0.15)          # Gamma(6, 3.3)


def test_the_page(tmp_path):
    """Its blocks, but that nothing is sampled: from files, where the source of functions is found."""
    page = (Path(__file__).parents[2] / "docs" / "pymc.md").read_text(encoding="utf-8")
    first, second = re.findall(r"```python no-run\n(.*?)```", page, re.S)
    if importlib.util.find_spec("pymc") is not None:
        namespace = run_block(tmp_path / "page_first.py", first.split("    trace =")[0])
        assert np.isfinite(namespace["rate"].eval())
    header = "import numpy as np\nfrom autodiff.pytensor import op\n"
    namespace = run_block(tmp_path / "page_second.py", header + second.replace('"NUMBA"', '"FAST_COMPILE"'))
    x, w = np.array([1.0, 2.0, 3.0]), 0.5
    np.testing.assert_allclose(namespace["fn"](x, w)[0], 1.0 + 2.5 + 4.25)
