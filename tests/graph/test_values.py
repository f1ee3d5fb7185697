"""Values at special points, dtypes and complex numbers (S112 to S120)."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff as ad

from .support import leaf, raises, same, silent


def gradient(f, *inputs):
    out = f(*inputs)
    found = ad.grad(out if out.size == 1 else out.sum(), inputs)
    return found[0] if len(found) == 1 else found


def test_s112_kinks():
    x = leaf(-2.0, 0.0, 3.0)
    same(gradient(abs, x), [-1, 0, 1])
    for f in (np.floor, np.round, np.sign, np.ceil, np.trunc, lambda t: t // 2.0, lambda t: t ** 0):
        same(gradient(f, x), [0, 0, 0])
    a, b = leaf(7.0), leaf(-3.0)
    same(gradient(lambda a, b: a % b, a, b), (1, 3))
    with np.errstate(divide="ignore"):
        same(gradient(np.sqrt, leaf(0.0)), np.inf)
        same(gradient(np.log, leaf(0.0)), np.inf)
    same(gradient(np.linalg.norm, leaf(0.0, 0.0)), [0, 0])
    x, y = leaf(1.0, 2.0, 2.0), leaf(2.0, 2.0, 1.0)
    same(gradient(np.maximum, x, y), ([0, 0.5, 1], [1, 0.5, 0]))
    same(gradient(np.minimum, x, y), ([1, 0.5, 0], [0, 0.5, 1]))
    same(gradient(lambda t: np.clip(t, 1.0, 2.0), leaf(0.0, 1.0, 1.5, 2.0, 3.0)), [0, 1, 1, 1, 0])
    same(gradient(lambda t: t.clip(min=1.0), leaf(0.0, 2.0)), [0, 1])


def test_s113_ties():
    x = leaf(1.0, 3.0, 3.0, 0.0)
    same(gradient(np.max, x), [0, 0.5, 0.5, 0])
    same(gradient(np.min, leaf(0.0, 0.0, 0.0, 5.0)), [1 / 3, 1 / 3, 1 / 3, 0])
    m = leaf([[1.0, 1.0], [2.0, 0.0]])
    same(gradient(lambda t: np.max(t, axis=1), m), [[0.5, 0.5], [1, 0]])
    same(gradient(lambda t: np.sort(t) * np.array([1.0, 2.0, 3.0, 4.0]), leaf(2.0, 1.0, 2.0, 0.0)), [3, 2, 4, 1])
    same(gradient(lambda t: np.linalg.norm(t, np.inf), leaf(-3.0, 3.0, 1.0)), [-0.5, 0.5, 0])


def test_s114_products_and_powers():
    for values in ([2.0, 0.0, 3.0], [0.0, 0.0, 3.0], [1.0, 2.0, 4.0]):
        x = leaf(values)
        others = [np.prod(np.delete(values, k)) for k in range(3)]
        same(gradient(np.prod, x), others)
        g, = ad.grad(np.prod(x), x, create_graph=True)
        h = np.array([ad.grad(g[k], x, retain_graph=True, materialize_grads=True)[0].tolist() for k in range(3)])
        expected = [[0 if i == j else np.prod(np.delete(values, [i, j])) for j in range(3)] for i in range(3)]
        same(h, expected)
        v = np.array([1.0, 10.0, 100.0])
        rows = [[np.prod(np.delete(values[:j + 1], i)) if i <= j else 0 for j in range(3)] for i in range(3)]
        same(gradient(lambda t, v=v: np.cumprod(t) * v, x), np.array(rows) @ v)
        assert ad.gradgradcheck(np.cumprod, x)
    a, b = leaf(0.0), leaf(0.0)
    same(gradient(np.power, a, b), (0, 0))
    a, b = leaf(-2.0), leaf(3.0)
    with np.errstate(invalid="ignore"):
        da, db = gradient(np.power, a, b)
    same(da, 12)
    assert np.isnan(db.item())
    same(gradient(np.power, leaf(0.0), leaf(2.0)), (0, 0))


def test_s115_where():
    x = leaf(-1.0, 0.0, 4.0)
    same(gradient(lambda t: np.where(t > 0, t * t, 0.0), x), [0, 0, 8])
    with np.errstate(all="ignore"):
        g = gradient(lambda t: np.where(t > 0, np.sqrt(t), 0.0), leaf(0.0, 4.0))
    assert np.isnan(g.tolist()[0]) and g.tolist()[1] == 0.25
    safe = gradient(lambda t: np.where(t > 0, np.sqrt(np.where(t > 0, t, 1.0)), 0.0), leaf(0.0, 4.0))
    same(safe, [0, 0.25])


def test_s116_indices():
    x = leaf(1.0, 2.0, 3.0)
    same(gradient(lambda t: t[[0, 0, 2]], x), [2, 0, 1])
    y = x * 1
    y[[0, 0]] = x[1:3] * np.array([10.0, 100.0])
    same(y, [300, 2, 3])
    same(ad.grad(y.sum(), x)[0], [0, 1, 101])
    m = leaf(np.arange(12.0).reshape(3, 4))
    weights = np.random.default_rng(0).standard_normal(100)
    for index in (np.s_[..., -1], np.s_[None, 1], np.s_[::-1, 1:3], np.s_[[0, 2], 1:3], np.s_[1, [0, 0, 3]],
                  m.detach() > 4.0, np.s_[:, np.array([True, False, True, True])], np.s_[-1, -2], np.s_[...],
                  (np.array([0, 2]), np.array([1, 1])), ad.tensor([2, 0])):
        assert ad.gradcheck(lambda t, index=index: t[index] * weights[:t[index].size].reshape(t[index].shape), m)
        assert ad.gradgradcheck(lambda t, index=index: t[index] * t[index], m)


def test_s117_broadcasting():
    rng = np.random.default_rng(0)
    a, b, c = leaf(rng.standard_normal((3, 1, 2))), leaf(rng.standard_normal((4, 1))), leaf(1.5)
    assert ad.gradcheck(lambda a, b, c: a * b + c / (b * b + 1), (a, b, c))
    g = gradient(lambda a, b, c: a * b * c, a, b, c)
    assert [t.shape for t in g] == [(3, 1, 2), (4, 1), ()]


def test_s118_promotion():
    x, w = leaf(1.0, 2.0, dtype=np.float32), leaf(0.5, 0.25)
    assert (x * 2.0).dtype == np.float32 and (x * w).dtype == np.float64
    (x * w).sum().backward()
    assert x.grad.dtype == np.float32 and w.grad.dtype == np.float64
    same(x.grad, [0.5, 0.25])
    assert (x * np.array([1, 2], np.int64)).dtype == np.float64
    g = ad.grad((np.concatenate((x, w)) * 2).sum(), [x, w])
    assert [t.dtype for t in g] == [np.float32, np.float64]


def test_s119_complex():
    z = leaf(3.0 + 4.0j, 1.0 - 2.0j)
    v = z.detach().numpy()
    same(gradient(abs, z), v / abs(v))
    same(gradient(lambda z: (z * z).real, z), 2 * np.conj(v))
    same(ad.grad(np.exp(z), z, np.ones(2, complex))[0], np.conj(np.exp(v)))
    with raises(RuntimeError, "real"):
        (z * z).sum().backward()


@pytest.mark.parametrize("f", [
    np.sin, np.cos, np.exp, np.log, np.sqrt, np.tanh, np.sinh, np.cosh, np.tan, np.log1p, np.square, np.reciprocal, np.abs,
    np.real, np.imag, np.conj, np.angle, lambda z: z * np.conj(z), lambda z: z ** 3, lambda z: 2.0 ** z,
    lambda z: z / (z + 2),
    np.sum, np.prod, np.cumsum, np.cumprod, lambda z: np.mean(z, axis=0), np.var, np.linalg.norm, lambda z: z @ z,
    lambda z: z @ np.conj(z).T, np.linalg.inv, np.linalg.det, lambda z: np.linalg.solve(z, z[0]), np.transpose,
    lambda z: np.concatenate((z, z.real)), lambda z: z[0, ::-1], lambda z: np.einsum("ij,jk->ik", z, z),
    lambda z: np.where(z.real > 0, z, z * 2), lambda z: np.stack((z.real, z.imag)), lambda z: np.roll(z, 1),
    lambda z: z.real * z, lambda z: np.outer(z, z), lambda z: np.diagonal(z),
])
def test_s119_complex_against_differences(f):
    rng = np.random.default_rng(3)
    z = leaf(rng.standard_normal((2, 2)) + 1j * rng.standard_normal((2, 2)) + 2)
    assert ad.gradcheck(f, z)
    with silent():
        assert ad.gradgradcheck(f, z)


def test_s120_real_inputs_of_complex_expressions():
    x, z = leaf(1.0, 2.0), leaf(1 + 2j, 3 - 1j)
    g, = ad.grad((x * z).imag.sum(), x)
    assert g.dtype == np.float64
    same(g, [2, -1])
    assert ad.gradcheck(lambda x, z: np.exp(x * z) + x, (x, z))
    same(gradient(abs, leaf(0j, 1j)), [0, 1j])


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3)])
def test_scalars_and_empty_arrays(shape):
    x = leaf(np.ones(shape))
    y = (np.sin(x) * x + 1).sum()
    y.backward()
    assert x.grad.shape == shape
    for f in (np.mean, np.prod, np.ravel, np.transpose, np.cumsum, lambda t: np.concatenate((t.reshape(-1), t.reshape(-1)))):
        with silent():
            assert gradient(f, x).shape == shape


@pytest.mark.parametrize("f", [np.std, lambda t: np.std(t, axis=1).sum(), lambda t: t.std(ddof=1),
                               lambda t: np.std(t, keepdims=True).sum(), lambda t: np.nanstd(t)])
def test_the_deviation_of_equal_values_has_derivative_zero(f):
    """As the compiler's, and torch's."""
    x = leaf([[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]])
    gradient, = ad.grad(f(x), x, create_graph=True)
    same(gradient, np.zeros((2, 3)))
    same(ad.grad(gradient.sum(), x, materialize_grads=True)[0], np.zeros((2, 3)))


def test_the_deviation_where_some_rows_are_equal():
    x = leaf([[2.0, 2.0, 2.0], [1.0, 2.0, 4.0]])
    assert ad.gradcheck(lambda t: np.std(t, axis=1), leaf([[1.0, 2.0, 4.0]])) and ad.gradgradcheck(np.std, x)
    g = ad.grad(np.std(x, axis=1).sum(), x)[0]
    same(g[0], np.zeros(3))
    row = np.array([1.0, 2.0, 4.0])
    same(g[1], (row - row.mean()) / (3 * row.std()))


def test_cumulative_products_of_any_length():
    """By a division where no product is 0 or infinite, else from the last one: beside central differences of each."""
    r = np.random.default_rng(3)
    for zeros in (0, 1, 3):
        x, v = r.uniform(0.5, 2.0, (7, 2)), r.standard_normal((7, 2))
        x.reshape(-1)[r.permutation(14)[:zeros]] = 0.0
        h = 1e-6
        differences = [np.sum(v * (np.cumprod(x + e, axis=0) - np.cumprod(x - e, axis=0))) / (2 * h)
                       for e in h * np.eye(14).reshape(14, 7, 2)]
        t = ad.Tensor(x, requires_grad=True)
        found = gradient(lambda t, v=v: np.cumprod(t, axis=0) * v, t).numpy()
        np.testing.assert_allclose(found, np.reshape(differences, (7, 2)), rtol=1e-6, atol=1e-7)
        assert ad.gradgradcheck(lambda t: np.cumprod(t, axis=0), t)
    t = ad.Tensor(np.array([1e-200, 1e-200, 1e250, 2.0]), requires_grad=True)       # whose products are 0
    np.testing.assert_array_equal(gradient(lambda t: np.cumprod(t)[1:2], t).numpy(), [1e-200, 1e-200, 0.0, 0.0])
