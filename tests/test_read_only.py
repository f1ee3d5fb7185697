"""Arrays that cannot be written: no copies where a function only reads them, NumPy's error where it writes."""

import dataclasses
import importlib.util

import numba
import numpy as np
import pytest

from autodiff import (
    AutodiffError,
    check_grads,
    differentiable,
    grad,
    hessian,
    hvp,
    jacobian,
    jvp,
    linearize,
    value_and_grad,
    vjp,
)
from autodiff.errors import ReadOnlyArray


def frozen(values, dtype=np.float64):
    x = np.array(values, dtype)
    x.flags.writeable = False
    return x


X = frozen([0.3, 0.7, 2.0])


@dataclasses.dataclass
class Model:
    w: np.ndarray
    k: float


def product(x, y):
    return np.sum(x * y * y)


def test_machine_code_takes_the_very_array():
    made = value_and_grad(product, wrt=(0, 1))
    y = np.array([1.0, 2.0, 3.0])
    for x, z in ((X, y), (y, X), (X, X), (y, y), (X[1:], y[1:])):
        for _ in range(3):
            value, (by_x, by_y) = made(x, z)
            assert value == product(x, z)
            np.testing.assert_array_equal(by_x, z * z)
            np.testing.assert_allclose(by_y, 2.0 * x * z)
            assert by_x.flags.writeable and not np.shares_memory(by_x, z)
    made(X, y)
    passed = made._leaves(made._latest, ["x", "y"], [X, y])
    assert passed[0] is X and passed[1] is y
    assert len(made._specialisations.by_key) == 1 and not X.flags.writeable


def test_complex_numbers_stay_where_they_are():
    z = frozen([1.0 + 2.0j, 3.0 - 1.0j], complex)
    made = grad(lambda z: np.sum(np.abs(z) ** 2))
    for _ in range(3):
        np.testing.assert_allclose(made(z), 2.0 * z)
    assert np.shares_memory(made._leaves(made._latest, ["z"], [z])[0], z)


def test_every_operator():
    f, v = (lambda x: x ** 3), frozen([1.0, 0.0, 2.0])
    np.testing.assert_allclose(jacobian(f)(X), np.diag(3.0 * X ** 2))
    np.testing.assert_allclose(jacobian(f, sparse=True)(X).toarray(), np.diag(3.0 * X ** 2))
    np.testing.assert_allclose(jvp(f, (X,), (v,))[1], 3.0 * X ** 2 * v)
    np.testing.assert_allclose(hvp(lambda x: np.sum(f(x)))(X, v), 6.0 * X * v)
    np.testing.assert_allclose(hessian(lambda x: np.sum(f(x)))(X), np.diag(6.0 * X))
    for copy in (True, False):
        _, pull = vjp(f, X, copy=copy)
        _, push = linearize(f, X, copy=copy)
        np.testing.assert_allclose(pull(v)[0], 3.0 * X ** 2 * v)
        np.testing.assert_allclose(push(v), 3.0 * X ** 2 * v)
        np.testing.assert_allclose(pull.batched(frozen(np.eye(3)))[0], np.diag(3.0 * X ** 2))
    np.testing.assert_allclose(grad(lambda x: np.sum(f(x)), parallel=True)(X), 3.0 * X ** 2)
    np.testing.assert_allclose(grad(lambda x: np.sum(f(x)))(X, out=np.empty(3)), 3.0 * X ** 2)
    np.testing.assert_array_equal(X, [0.3, 0.7, 2.0])


def test_results_do_not_let_the_caller_write_what_is_read_only():
    same = differentiable(lambda x: x)
    found = [same(X) for _ in range(3)][-1]
    assert not np.shares_memory(found, X) or not found.flags.writeable


def into_argument(x):
    x[0] = 3.0
    return np.sum(x * x)


def into_view(x):
    y = x[1:]
    y += 1.0
    return np.sum(y * x[:-1])


def into_field(m):
    m.w[0] *= 2.0
    return m.w[0] * m.k


def into_item(p):
    p["a"][1][0] = p["b"]
    return np.sum(p["a"][1])


def by_callee(x):
    return into_view(x.reshape(-1))


def by_swaps(a, b):
    for _ in range(3):
        b[:] = np.sin(a)
        a, b = b, a
    return np.sum(a)


WRITING = {"an element": (into_argument, (X,)), "a view": (into_view, (X,)), "a field": (into_field, (Model(X, 2.0),)),
           "an item": (into_item, ({"a": (X.copy(), X), "b": 2.0},)), "a callee": (by_callee, (X,)),
           "one of two that are swapped": (by_swaps, (X, X.copy())), "the other": (by_swaps, (X.copy(), X)),
           "rank 0": (lambda x: np.sum(np.add(x, 1.0, out=x)), (frozen(2.0),))}


@pytest.mark.parametrize("name", WRITING)
def test_writes_are_numpys_error(name):
    f, args = WRITING[name]
    with pytest.raises(ValueError, match="read-only"):
        f(*args)
    for call in (grad(f, mode="python"), differentiable(f, mode="python"), lambda *args: vjp(f, *args, mode="python"),
                 lambda *args: jvp(f, args, (None,) * len(args), mode="python")):
        with pytest.raises(ReadOnlyArray):
            call(*args)


def test_the_line_is_told_and_compiled_calls_refuse_too():
    made = grad(into_argument)
    for x in (X.copy(), X, X.copy(), X, X.copy(), X):
        if x.flags.writeable:
            np.testing.assert_array_equal(made(x), [0.0, 1.4, 4.0])
            np.testing.assert_array_equal(x, X)
        else:
            with pytest.raises(ReadOnlyArray, match=r"`x`\n.*\n    x\[0\] = 3.0\n(.|\n)*Try: pass x.copy()"):
                made(x)


def test_numba_callers():
    gradient = value_and_grad(product)

    @numba.njit
    def caller(x, y):
        return gradient(x, y)[1]
    np.testing.assert_allclose(caller(X.copy(), X.copy()), X * X)


def written(rng):
    """A random function of two vectors as text, in which some lines write, with and without reaching it."""
    lines = ["def f(x, y, k):", "    total = 0.0", "    v = x[1:]", "    w = np.zeros(3)", "    u = x.copy()"]
    for _ in range(rng.integers(1, 4)):
        target = rng.choice(["x[0]", "v[k]", "w[1]", "u[2]", "y[0]", "w[:]", "y[:]"])
        value = rng.choice(["np.sin(x[1])", "2.0", "y[1] * x[0]"])
        line = f"{target} {rng.choice(['=', '+=', '*='])} {value}"
        inside = rng.choice(["", "if k > 0:", "for i in range(k):", "if x[0] > 100.0:"])
        lines += [f"    {inside}", f"        {line}"] if inside else [f"    {line}"]
        lines.append(f"    total += np.sum({rng.choice(['x * y', 'v * v', 'w + u'])})")
    return "\n".join([*lines, "    return total"])


@pytest.mark.parametrize("seed", range(40))
def test_random_functions(seed, tmp_path):
    """Python with the same arguments raises ValueError, or ours is what Python's is; a write that is not reached may be
    refused, naming its line."""
    rng = np.random.default_rng(seed)
    path = tmp_path / f"read_only_{seed}.py"
    path.write_text("import numpy as np\n" + written(rng) + "\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = value_and_grad(module.f, mode="python")
    for _ in range(3):
        x, y = rng.random(3), rng.random(3)
        x.flags.writeable, y.flags.writeable = bool(rng.integers(2)), bool(rng.integers(2))
        k = int(rng.integers(2))
        given = [np.array(x), np.array(y)]
        given[0].flags.writeable, given[1].flags.writeable = x.flags.writeable, y.flags.writeable
        try:
            expected = module.f(*given, k)
        except ValueError as e:
            assert "read-only" in str(e)
            with pytest.raises(ReadOnlyArray):
                made(x, y, k)
            continue
        try:
            value, _ = made(x, y, k)
        except ReadOnlyArray as e:
            assert e.loc is not None and not (x.flags.writeable and y.flags.writeable)
            continue
        assert value == pytest.approx(expected, rel=1e-12)


def table(n):
    cn = 2.0 * np.arange(1, n + 1, dtype=np.float64) + 1.0
    cn.setflags(write=False)
    weights = cn / n
    weights.flags.writeable = False
    return cn, weights


def with_tables(x):
    s = 0.0
    for n in range(2, 4):
        cn, weights = table(n)
        s += np.sum(cn * weights) * x[n]
    return s * np.sum(table(3)[0] * x[:3])


def written_after(x):
    y = x * 2.0
    y.setflags(write=False)
    y[0] = 1.0
    return np.sum(y)


def made_writable(x):
    y = np.broadcast_to(x, (2, 3))
    y.setflags(write=True)
    return np.sum(y)


def test_flags_of_new_arrays():
    check_grads(with_tables, (np.array([0.3, 0.7, 2.0, 1.1]),), mode="python")
    x = np.array([0.3, 0.7, 2.0])
    for function in (written_after, lambda x: written_after(x)):
        with pytest.raises(ValueError, match="read-only"):
            grad(function, mode="python")(x)
    with pytest.raises(AutodiffError, match="which arrays can be written"):
        grad(made_writable, mode="python")(x)
    with pytest.raises(AutodiffError, match="which arrays can be written"):
        grad(lambda x: [x.setflags(write=False), np.sum(x)][1], mode="python")(x)
