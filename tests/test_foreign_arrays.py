"""Arrays of other libraries as arguments: the program on their memory, or one clear message."""

import array
import dataclasses
import importlib.util

import numpy as np
import pytest

from autodiff import AutodiffError, check_grads, grad, hvp, jvp, linearize, value_and_grad, vjp
from autodiff.calling.fastcalls import MISS
from autodiff.errors import ReadOnlyArray, TypeConflict

X = np.array([0.5, 2.0, 3.0])


@dataclasses.dataclass
class Holder:
    w: object
    k: float = 2.0


def total(x):
    return np.sum(np.sin(x) * x) + x[0]


def of_jax(x):
    return pytest.importorskip("jax.numpy").asarray(x)


def of_torch(x):
    return pytest.importorskip("torch").from_numpy(np.array(x))


class Standard:
    """An array of the array API standard, as its libraries make them."""

    def __init__(self, x):
        self.x = np.array(x)

    def __array_namespace__(self):
        return np

    def __dlpack__(self, **options):
        return self.x.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


MAKERS = {"jax": of_jax, "torch": of_torch, "the standard": Standard}


def memory(x):
    return x.x if isinstance(x, Standard) else x.numpy() if hasattr(x, "numpy") else np.asarray(x)


@pytest.mark.parametrize("name", MAKERS)
def test_the_memory_itself_is_taken(name):
    x = MAKERS[name](X)
    plain = memory(x)
    made = value_and_grad(total)
    value, gradient = made(plain)
    for _ in range(4):                          # by the general path and by the fast one
        found = made(x)
        assert found[0] == value and type(found[1]) is np.ndarray and found[1].dtype == plain.dtype
        np.testing.assert_array_equal(found[1], gradient)
    assert made._fast
    passed, = made._leaves(made._latest, *made._taken((x,), {}))
    assert passed.__array_interface__["data"][0] == plain.__array_interface__["data"][0]


def test_each_library_has_a_function_of_its_own():
    made = value_and_grad(lambda x: np.sum(x * x))
    given = [X, Standard(X), np.frombuffer(X.tobytes())]
    given += [make(X) for library, make in (("torch", of_torch),) if importlib.util.find_spec(library)]
    for _ in range(3):
        for x in given:
            np.testing.assert_array_equal(made(x)[1], 2.0 * X)
    for x in given:
        assert any(fast(made, (x,), {}) is not MISS for fast in made._fast)


@pytest.mark.parametrize("name", MAKERS)
def test_in_structures_and_in_every_operator(name):
    x = MAKERS[name](X)
    n = memory(x)

    def f(p, y):
        return p["a"][1] * y * p["h"].w + p["h"].k
    p, q = {"a": (1.0, x), "h": Holder(x)}, {"a": (1.0, n), "h": Holder(n)}
    python = {"mode": "python"}
    for found, expected in ((vjp(f, p, x, **python)[1](x), vjp(f, q, n, **python)[1](n)),
                            (linearize(f, p, x, **python)[1](None, x), linearize(f, q, n, **python)[1](None, n)),
                            (jvp(f, (p, x), (None, x), **python), jvp(f, (q, n), (None, n), **python)),
                            (hvp(total, **python)(x, x), hvp(total, **python)(n, n)),
                            (grad(lambda p: np.sum(f(p, p["a"][1])), **python)(p),
                             grad(lambda p: np.sum(f(p, p["a"][1])), **python)(q))):
        compare(found, expected)
    assert type(p["h"].w) is type(x) and type(p["a"][1]) is type(x)
    if n.dtype == np.float64:
        assert check_grads(total, (x,)).worst > 0.0


def compare(found, expected):
    assert type(found) is type(expected)
    if isinstance(found, dict):
        compare(list(found.values()), list(expected.values()))
    elif isinstance(found, (tuple, list)):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            compare(a, b)
    elif isinstance(found, Holder):
        compare([found.w, found.k], [expected.w, expected.k])
    else:
        np.testing.assert_array_equal(found, expected)


def test_what_python_makes_of_jax_arrays():
    jnp = pytest.importorskip("jax.numpy")

    def f(x, n):
        y = np.where(x > 1.0, x ** 2, np.exp(x)) + x.mean() * x.std()
        return np.sum(y[1:] / x[:-1]) * n + np.max(x)
    x = jnp.asarray(X)
    np.testing.assert_allclose(value_and_grad(f, mode="python")(x, 3)[0], f(x, 3), rtol=2e-6)


def test_memory_of_jax_cannot_be_written():
    def f(x):
        x[0] = 2.0
        return np.sum(x)
    with pytest.raises(ReadOnlyArray):
        grad(f, mode="python")(of_jax(X))
    t = of_torch(X)
    np.testing.assert_array_equal(grad(f, mode="python")(t), [0.0, 1.0, 1.0])
    np.testing.assert_array_equal(t.numpy(), X)


def test_memory_that_two_libraries_share():
    torch = pytest.importorskip("torch")

    def f(x, t):
        x[0] = 2.0
        return np.sum(x * t)
    x = X.copy()
    with pytest.raises(AutodiffError, match="share memory"):
        for _ in range(3):
            grad(f, mode="python")(x, torch.from_numpy(x))
    again = torch.from_numpy(x)
    with pytest.raises(AutodiffError, match="share memory"):
        grad(lambda p: f(p[0], p[1]), mode="python")([again, again])


def test_values_that_jax_traces():
    jax = pytest.importorskip("jax")
    with pytest.raises(TypeConflict, match="autodiff.jax.wrap"):
        jax.jit(lambda x: grad(total, mode="python")(x))(of_jax(X))


def test_tensors_that_need_more_than_numbers():
    torch = pytest.importorskip("torch")
    wanting = torch.tensor(X, requires_grad=True)
    for tensor, told in ((wanting, "autodiff.torch.wrap"), (torch.tensor(X).to_sparse(), "no memory"),
                         (torch.tensor(X, dtype=torch.bfloat16), "no memory"), (torch.tensor(X, device="meta"), "on meta"),
                         (torch.tensor(X, dtype=torch.float16), "float16")):
        with pytest.raises(TypeConflict, match=told):
            grad(total, mode="python")(tensor)
    z = torch.tensor([1.0 + 2.0j]).conj()
    np.testing.assert_array_equal(grad(lambda z: np.sum(z.imag), mode="python")(z), [1.0j])
    np.testing.assert_array_equal(value_and_grad(lambda z: np.sum(z.imag), mode="python")(z)[0], -2.0)


@pytest.mark.parametrize("f", [lambda x: x.std(), lambda x: np.sum(x.repeat(2)), lambda x: x.max(0) * 1.0,
                               lambda x: (lambda y: y.var())(x * 2.0), lambda x: helper(x)])
def test_methods_that_torch_means_otherwise(f):
    tensor = of_torch(X)
    with pytest.raises(TypeConflict, match="means something else for torch"):
        grad(f, mode="python")(tensor)
    grad(f, mode="python")(tensor.numpy())


def helper(x):
    return x.std() + 1.0


def test_functions_of_numpy_by_the_same_names():
    np.testing.assert_array_equal(grad(lambda x: np.std(x), mode="python")(of_torch(X)), grad(np.std, mode="python")(X))


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_outside_is_told(name):
    weights = MAKERS[name](X)
    with pytest.raises(TypeConflict, match="pass it as an argument") as caught:
        grad(lambda x: np.sum(x * weights), mode="python")(X)
    assert "`weights`" in str(caught.value)


class Labelled:
    """As tables with labels: NumPy's functions ask it what they mean."""

    def __init__(self, x):
        self.x = x

    def __array__(self, dtype=None, copy=None):
        return self.x

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return NotImplemented

    def to_numpy(self):
        return self.x


def of_pandas(x):
    return pytest.importorskip("pandas").Series(x)


def of_xarray(x):
    return pytest.importorskip("xarray").DataArray(x)


def of_dask(x):
    return pytest.importorskip("dask.array").from_array(x)


@pytest.mark.parametrize("make", [Labelled, of_pandas, of_xarray, of_dask])
def test_what_means_something_else_is_refused(make):
    x = make(X)
    told = r"x\.compute\(\)" if make is of_dask else r"x\.to_numpy\(\)"
    for call in (lambda: grad(total, mode="python")(x), lambda: grad(lambda p: total(p["x"]), mode="python")({"x": x}),
                 lambda: vjp(total, x, mode="python"), lambda: jvp(total, (X,), (x,), mode="python"),
                 lambda: vjp(np.sin, X, mode="python")[1](x)):
        with pytest.raises(TypeConflict, match=told):
            call()


def numbers(x):
    return np.sum(x * x * 0.5) + x[0] * 2


TAKEN = {
    "big-endian": np.array([1.0, 2.0, 3.0], ">f8"), "big-endian float32": np.array([1.0, 2.0], ">f4"),
    "big-endian integers": np.array([1, 2], ">i4"), "not aligned": np.frombuffer(b"\0" + X.tobytes(), offset=1),
    "backwards": X[::-1], "strided": np.arange(8.0)[::3], "broadcast": np.broadcast_to(np.float64(2.0), (3,)),
    "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3))[0], "booleans": np.array([True, False]),
    "uint8": np.array([200, 100], np.uint8), "int8": np.array([100, -128], np.int8), "int16": np.array([3, 4], np.int16),
    "uint64": np.array([2 ** 63, 1], np.uint64), "long long": np.array([3, 4], np.longlong), "complex64": np.array([1 + 2j],
    np.complex64), "float32": X.astype(np.float32), "read-only": np.frombuffer(X.tobytes()), "a list": [1.0, 2.0],
    "a tuple of numbers": (np.float32(1.5), 2.0), "empty but one": np.ones(1), "integers": np.arange(3),
    "a field": np.array([(1.0, 2), (3.0, 4)], [("a", float), ("b", int)])["a"],
}


@pytest.mark.parametrize("name", TAKEN)
@pytest.mark.filterwarnings("ignore:overflow")
def test_memory_of_every_kind(name):
    x = TAKEN[name]
    f = (lambda x: x[0] * x[1] + x[1]) if isinstance(x, (list, tuple)) else numbers
    found, expected = vjp(f, x, mode="python")[0], f(x)
    assert found == expected and np.asarray(found).dtype == np.asarray(expected).dtype.newbyteorder("=")


REFUSED = {
    "objects": (np.array([1.0, 2.0], object), "dtype object"), "float16": (X.astype(np.float16), "float16"),
    "longdouble": (X.astype(np.longdouble), "not supported"), "structured": (np.zeros(2, [("a", float)]), "structured"),
    "text": (np.array(["a"]), "not supported"), "dates": (np.array(["2020-01-01"], "M8[D]"), "not supported"),
    "masked": (np.ma.masked_array(X, [0, 1, 0]), "not a plain array"), "array.array": (array.array("d", X), "np.asarray"),
    "memoryview": (memoryview(X), "np.asarray"), "memoryview of bytes": (memoryview(b"ab"), "np.asarray"),
    "in a list": ([1.0, array.array("d", X)], "np.asarray"), "bytearray": (bytearray(b"ab"), "hashable"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_one_clear_message(name):
    x, told = REFUSED[name]
    with pytest.raises(AutodiffError, match=told) as caught:
        grad(numbers, mode="python")(x)
    assert "\nTry: " in str(caught.value)


def structure(rng, depth, leaf):
    kind = rng.integers(5 if depth else 1)
    if kind == 0:
        return leaf()
    parts = [structure(rng, depth - 1, leaf) for _ in range(1 if kind == 4 else rng.integers(1, 3))]
    return {1: lambda: parts, 2: lambda: tuple(parts), 3: lambda: dict(zip("ab", parts, strict=False)),
            4: lambda: Holder(parts[0])}[int(kind)]()


def leaves(value):
    if isinstance(value, (list, tuple)):
        return [x for v in value for x in leaves(v)]
    if isinstance(value, dict):
        return leaves(list(value.values()))
    return leaves(value.w) if isinstance(value, Holder) else [value]


def sum_of(value):
    """A function of whatever structure: of arrays, the sum of all."""
    if isinstance(value, (list, tuple)):
        return sum([sum_of(v) for v in value])
    if isinstance(value, dict):
        return sum([sum_of(value[k]) for k in value])
    if isinstance(value, Holder):
        return sum_of(value.w) * value.k
    return np.sum(np.sin(value) * value)


@pytest.mark.parametrize("seed", range(25))
def test_random_structures(seed):
    """What is given as arrays of any library has the values and gradients that their numbers have in NumPy."""
    rng = np.random.default_rng(seed)
    makers = [np.array, Standard, lambda x: np.frombuffer(x.tobytes(), x.dtype), lambda x: np.repeat(x, 2)[::2],
              lambda x: x.astype(x.dtype.newbyteorder(">"))]
    makers += [make for library, make in (("torch", of_torch), ("jax", of_jax)) if importlib.util.find_spec(library)]
    plain = []

    def leaf():
        x = rng.random(int(rng.integers(1, 4))).astype(rng.choice([np.float32, np.float64]))
        made = makers[rng.integers(len(makers))](x)
        plain.append(np.array(memory(made), x.dtype if memory(made).dtype.byteorder == ">" else None))
        return made
    given = structure(rng, 3, leaf)
    again = iter(plain)
    value, gradient = value_and_grad(sum_of, mode="python")(given)
    expected = value_and_grad(sum_of, mode="python")(replaced(given, again))
    assert value == expected[0]
    for a, b in zip(leaves(gradient), leaves(expected[1]), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def replaced(value, again):
    if isinstance(value, (list, tuple)):
        return type(value)(replaced(v, again) for v in value)
    if isinstance(value, dict):
        return {k: replaced(v, again) for k, v in value.items()}
    return Holder(replaced(value.w, again), value.k) if isinstance(value, Holder) else next(again)
