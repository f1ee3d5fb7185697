"""The functional face: arguments, structures, options, promises."""

import dataclasses
import functools
import pickle
import subprocess
import sys
import threading
from collections import namedtuple

import numba
import numpy as np
import pytest

import autodiff
from autodiff import AutodiffError, check_grads, differentiable, grad, value_and_grad, vjp
from autodiff.check import GradientMismatch, check_rule
from autodiff.rules import constant, partials, pullback

X = np.linspace(0.1, 1.0, 5)


def weighted(x, k):
    return np.sum(k * x ** 2)


def cubes(x):
    return np.sum(x ** 3)


@grad
def square_slope(x):
    return x * x


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_wrt_by_position_name_and_tuple(mode):
    np.testing.assert_allclose(grad(weighted, mode=mode)(X, 2.0), 4.0 * X)
    assert grad(weighted, wrt="k", mode=mode)(X, 2.0) == pytest.approx(np.sum(X ** 2))
    assert grad(weighted, wrt=1, mode=mode)(x=X, k=2.0) == pytest.approx(np.sum(X ** 2))
    for_x, for_k = grad(weighted, wrt=("x", "k"), mode=mode)(X, k=2.0)
    np.testing.assert_allclose(for_x, 4.0 * X)
    assert for_k == pytest.approx(np.sum(X ** 2))


def test_decorators_and_what_they_show():
    @grad(wrt="x")
    def energy(x, k):
        e = 0.0
        for i in range(x.shape[0] - 1):
            e += 0.5 * k * (x[i + 1] - x[i]) ** 2
        return e

    assert energy.specialize(X, 2.0) is energy
    assert "x_bar" in energy.source
    assert {"lower", "fuse", "reverse", "final"} <= set(energy.stages)
    assert all("def energy" in str(stage) for stage in energy.stages.values())
    assert len(energy.tape) == 0
    assert energy.primal(X, 2.0) == pytest.approx(energy.function(X, 2.0))


def test_same_input_gives_the_same_text():
    texts = {grad(weighted, mode="python").specialize(X, 2.0).source for _ in range(3)}
    assert len(texts) == 1


def test_has_aux():
    def loss(x):
        return x.sum(), {"doubled": x * 2.0}
    gradient, aux = grad(loss, has_aux=True, mode="python")(X)
    np.testing.assert_allclose(gradient, np.ones(5))
    np.testing.assert_allclose(aux["doubled"], 2.0 * X)
    (value, _), gradient = value_and_grad(loss, has_aux=True, mode="python")(X)
    assert value == pytest.approx(X.sum())


Pair = namedtuple("Pair", "a b")


@dataclasses.dataclass
class Model:
    scale: float
    v: np.ndarray

    def size(self):
        return self.scale * np.sum(self.v ** 2)


def test_structures_keep_their_shape():
    def loss(pair, model, table):
        return pair.a * pair.b.sum() + model.size() + np.sum(table["w"][0] * table["w"][1])
    args = (Pair(2.0, X), Model(3.0, X), {"w": [X, 2.0]})
    for_pair, for_model, for_table = grad(loss, wrt=(0, 1, 2), mode="python")(*args)
    assert for_pair.a == pytest.approx(X.sum())
    np.testing.assert_allclose(for_model.v, 6.0 * X)
    np.testing.assert_allclose(for_table["w"][0], 2.0 * np.ones(5))
    assert for_table["w"][1] == pytest.approx(X.sum())


def test_static_arguments_specialise_by_value():
    def loss(x, kind, axis=0):
        if kind == "squares":
            return np.sum(np.sum(x * x, axis=axis) ** 2)
        return np.sum(np.max(x, axis=axis))
    a = np.arange(6.0).reshape(2, 3)
    made = grad(loss, mode="python")
    np.testing.assert_allclose(made(a, "max", axis=1), [[0, 0, 1], [0, 0, 1]])
    np.testing.assert_allclose(made(a, "max"), [[0, 0, 0], [1, 1, 1]])
    by_rows = made(a, "squares", 1)
    np.testing.assert_allclose(by_rows, 4.0 * a * np.sum(a * a, axis=1, keepdims=True))
    np.testing.assert_allclose(made(a, "squares", 0), 4.0 * a * np.sum(a * a, axis=0))


def test_two_equal_integers_of_which_one_is_static():
    def loss(x, times, axis):
        s = 0.0
        for _ in range(times):
            s += np.sum(np.max(x, axis=axis))
        return s
    a = np.arange(8.0).reshape(2, 2, 2)
    made = grad(loss, mode="python")
    assert made(a, 1, 1).sum() == pytest.approx(4.0)
    assert made(a, 3, 1).sum() == pytest.approx(12.0)


FACTOR = 3.0
OFFSETS = np.arange(5.0)


def test_changed_globals_are_seen(monkeypatch):
    def loss(x):
        return np.sum(x * FACTOR * OFFSETS)
    made = grad(loss, mode="python")
    np.testing.assert_allclose(made(X), 3.0 * OFFSETS)
    monkeypatch.setitem(globals(), "FACTOR", 4.0)
    np.testing.assert_allclose(made(X), 4.0 * OFFSETS)
    monkeypatch.setitem(globals(), "OFFSETS", 2.0 * OFFSETS)
    np.testing.assert_allclose(made(X), 4.0 * OFFSETS)         # doubled: the name is looked up again at every call


def test_functions_that_write_to_their_arguments():
    def kernel(u, out):
        for i in range(len(u)):
            out[i] = u[i] ** 2
        return np.sum(u)
    u, out = X.copy(), np.zeros(5)
    (total, written), pull = vjp(kernel, u, out, outputs=("out",), mode="python")
    np.testing.assert_allclose(written, X ** 2)
    assert total == pytest.approx(X.sum())
    np.testing.assert_array_equal(out, np.zeros(5))
    for_u, for_out = pull((1.0, np.ones(5)))
    np.testing.assert_allclose(for_u, 2.0 * X + 1.0)
    np.testing.assert_allclose(for_out, np.zeros(5))


def test_batched_pullback():
    def f(x):
        return np.sin(x) * x[0]
    _, pull = vjp(f, X, mode="python")
    batch = np.random.default_rng(0).standard_normal((4, 5))
    rows, = pull.batched(batch)
    np.testing.assert_allclose(rows, np.stack([pull(b)[0] for b in batch]))


def test_aliased_arguments():
    def product(a, b):
        return np.sum(a * b)
    for_a, for_b = grad(product, wrt=(0, 1), mode="python")(X, X)
    np.testing.assert_allclose(for_a, X)

    def writes(a, b):
        a[0] = 2.0
        return np.sum(a * b)
    one = X.copy()
    with pytest.raises(AutodiffError, match="share memory"):
        grad(writes, mode="python")(one, one)


def test_pickling():
    made = pickle.loads(pickle.dumps(grad(cubes)))
    np.testing.assert_allclose(made(X), 3.0 * X ** 2)
    assert pickle.loads(pickle.dumps(square_slope)) is square_slope


def test_threads_compile_once():
    def loss(x):
        return np.sum(np.sin(x) * x)
    made, found = grad(loss), []
    threads = [threading.Thread(target=lambda: found.append(made(X))) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 8 and len(made._specialisations) == 1


def test_derivatives_of_derivatives():
    assert grad(grad(square_slope.function, mode="python"), mode="python")(3.0) == pytest.approx(2.0)

    def quartic(x):
        return x ** 4
    third = grad(grad(grad(quartic, mode="python"), mode="python"), mode="python")
    assert third(2.0) == pytest.approx(48.0)


def test_partials_methods_and_callable_objects():
    class Scaled:
        def __init__(self, k):
            self.k = k

        def __call__(self, x):
            return self.k * np.sum(x * x)

        def loss(self, x):
            return self.k * np.sum(x)
    np.testing.assert_allclose(grad(Scaled(3.0), mode="python")(X), 6.0 * X)
    np.testing.assert_allclose(grad(Scaled(3.0).loss, mode="python")(X), 3.0 * np.ones(5))
    np.testing.assert_allclose(grad(functools.partial(weighted, k=2.0), mode="python")(X), 4.0 * X)


def test_lambdas_on_one_line():
    first, second = grad(lambda x: x ** 4, mode="python"), grad(lambda x: np.sin(x), mode="python")
    assert first(2.0) == pytest.approx(32.0)
    assert second(0.3) == pytest.approx(np.cos(0.3))


def test_layouts_and_dtypes():
    def loss(a):
        return np.sum(a * a * 0.5)
    a = np.arange(12.0).reshape(3, 4)
    made = grad(loss)
    np.testing.assert_allclose(made(a.T), a.T)
    np.testing.assert_allclose(made(a[:, ::2]), a[:, ::2])
    fixed = a.copy()
    fixed.flags.writeable = False
    np.testing.assert_allclose(made(fixed), a)
    single = made(a.astype(np.float32))
    assert single.dtype == np.float32


@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_small_sizes(size):
    def loss(x):
        return np.sum(x * x) + np.sum(x[1:] * x[:-1])
    x = np.arange(1.0, size + 1.0)
    made = grad(loss)
    expected = 2.0 * x
    expected[1:] += x[:-1]
    expected[:-1] += x[1:]
    np.testing.assert_allclose(made(x), expected)
    made(np.ones(4))
    np.testing.assert_allclose(made(x), expected)


def test_unused_argument():
    def loss(x, y):
        return np.sum(x)
    np.testing.assert_array_equal(grad(loss, wrt=1, mode="python")(X, X), np.zeros(5))
    with pytest.raises(AutodiffError, match="does not depend on `y`"):
        grad(loss, wrt=1, allow_unused=False, mode="python")(X, X)


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_index_errors_as_in_numpy(mode):
    def head_sum(x, n):
        s = 0.0
        for i in range(n):
            s += x[i] * x[i]
        return s

    def guarded(x, n):
        s = 0.0
        for i in range(n):
            if i < len(x):
                s += x[i]
        return s

    def picked(x, n):
        return x[n] ** 2
    made = grad(head_sum, mode=mode)
    np.testing.assert_allclose(made(X, 3), [0.2, 0.65, 1.1, 0.0, 0.0])
    with pytest.raises(IndexError):
        made(X, 7)
    np.testing.assert_allclose(grad(guarded, mode=mode)(X, 9), np.ones(5))
    assert grad(picked, mode=mode)(X, -1)[-1] == pytest.approx(2.0)
    with pytest.raises(IndexError):
        grad(picked, mode=mode)(X, 5)


def test_inside_numba():
    made = grad(cubes)

    @numba.njit
    def descend(x):
        for _ in range(3):
            x = x - 0.1 * made(x)
        return x
    x = X.copy()
    for _ in range(3):
        x = x - 0.3 * x ** 2
    np.testing.assert_allclose(descend(X), x)


def softplus(x):
    return np.log1p(np.exp(x))


@partials(softplus)
def softplus_rule(y, x):
    return 1.0 / (1.0 + np.exp(-x))


def apply(a, b):
    return a @ b


@pullback(apply)
def apply_rule(y_bar, y, a, b):
    return np.outer(y_bar, b), a.T @ y_bar


def steps(x):
    return np.floor(4.0 * x)


constant(steps)


def test_rules_of_users():
    check_rule(softplus, [(0.3,), (-1.2,), (np.array([0.1, 2.0]),)])
    a = np.random.default_rng(0).standard_normal((3, 5))
    for_a, for_x = grad(lambda a, x: np.sum(apply(a, x) ** 2), wrt=(0, 1), mode="python")(a, X)
    np.testing.assert_allclose(for_a, 2.0 * np.outer(a @ X, X))
    np.testing.assert_allclose(for_x, 2.0 * a.T @ (a @ X))
    np.testing.assert_allclose(grad(lambda x: np.sum(steps(x) * x), mode="python")(X), np.floor(4.0 * X))
    with pytest.raises(TypeError, match="must take"):
        partials(softplus)(lambda y, x, z: 1.0)


def test_check_grads_finds_a_wrong_rule():
    def bent(x):
        return x * x

    @partials(bent)
    def wrong(y, x):
        return 3.0 * x

    assert check_grads(cubes, (X,), mode="python").worst < 1e-6
    with pytest.raises(GradientMismatch, match="worst component"):
        check_grads(lambda x: bent(x), (0.7,), mode="python")


def test_differentiable():
    made = differentiable(cubes)
    assert made(X) == pytest.approx(cubes(X))
    value, pull = made.vjp(X)
    np.testing.assert_allclose(pull(2.0)[0], 6.0 * X ** 2)


def test_where_evaluates_only_the_chosen_side():
    def loss(x):
        return np.sum(np.where(x > 0.0, np.sqrt(x), 0.0))
    np.testing.assert_allclose(grad(loss, mode="python")(np.array([0.0, 4.0])), [0.0, 0.25])


def test_kinks():
    def at(f, *args):
        return grad(f, mode="python", wrt=tuple(range(len(args))))(*args)
    assert at(lambda x: abs(x), 0.0) == (0.0,)
    assert at(lambda x, y: np.maximum(x, y), 1.0, 1.0) == (0.5, 0.5)
    np.testing.assert_allclose(at(lambda x: np.max(x), np.array([1.0, 3.0, 3.0]))[0], [0.0, 0.5, 0.5])
    np.testing.assert_allclose(at(lambda x: np.sum(np.clip(x, 0.0, 1.0)), np.array([0.0, 1.0, 2.0]))[0], [1, 1, 0])
    np.testing.assert_allclose(at(lambda x: np.linalg.norm(x), np.zeros(3))[0], np.zeros(3))
    assert at(lambda x: x ** 0, 0.0) == (0.0,)
    assert at(lambda x: x ** 3, -2.0) == (12.0,)


def test_sources_reload_in_a_new_process(tmp_path):
    """Three processes on one store: the second only reloads; damage to the store costs nothing but time."""
    script = tmp_path / "program.py"
    script.write_text("import numpy as np\nfrom autodiff import grad\n\ndef loss(x):\n    return np.sum(np.sin(x) * x)\n\n"
                      "print(grad(loss)(np.array([0.5, 1.0, 2.0])).tolist())\n")
    store = tmp_path / "store"

    def run():
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True,
                              env={**__import__("os").environ, "AUTODIFF_CACHE_DIR": str(store)})
        return done.stdout
    first = run()
    assert run() == first
    for file in store.rglob("*.py"):
        file.write_text("raise RuntimeError('foreign')\n")
    assert run() == first


def test_public_names():
    assert all(hasattr(autodiff, name) for name in autodiff.__all__)


def test_objects_of_one_function_share_what_was_compiled():
    first, second, other = grad(cubes, mode="python"), grad(cubes, mode="python"), grad(cubes, mode="python", wrt="x")
    first(X)
    assert second._specialisations is first._specialisations
    assert other._specialisations is not first._specialisations
    np.testing.assert_allclose(second(X), 3.0 * X ** 2)


def carried_of_another_size(a, b, x):
    for _ in range(3):
        x = b + 0.3 * np.tanh(a * x)
    return np.sum(x * x)


@pytest.mark.parametrize("mode", ["python", "numba"])
@pytest.mark.parametrize("sizes", [(2, 3, 3), (3, 3, 2), (3, 3, 5), (3, 2, 3)])
def test_sizes_that_do_not_agree_in_a_loop(mode, sizes):
    """A check that a loop's first lowering made must not be lost when the loop is lowered again."""
    args = tuple(np.ones(n) for n in sizes)
    with pytest.raises(ValueError):
        carried_of_another_size(*args)
    with pytest.raises(ValueError):
        grad(carried_of_another_size, wrt=(0, 1, 2), mode=mode)(*args)
