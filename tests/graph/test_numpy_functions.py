"""NumPy's functions on Tensors: values, first and second derivatives against differences, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff as ad
from autodiff.graph.dispatch import FUNCTIONS, OTHERS
from autodiff.graph.elementwise import ELEMENTWISE
from autodiff.rules import REGISTRY

from .support import leaf, raises, same, silent

RNG = np.random.default_rng(7)
A = RNG.standard_normal((3, 4))
P = RNG.uniform(0.2, 0.8, (3, 4))
V = RNG.standard_normal(5)
M = RNG.standard_normal((3, 3)) + 4 * np.eye(3)
S = M @ M.T
W = RNG.standard_normal((3, 4))
I3 = np.array([2, 0, 2])

OF_NUMPY = {u: e for u, e in ELEMENTWISE.items() if getattr(np, u.__name__, None) is u}     # SciPy's may be known, too
UNARY = [u for u, e in OF_NUMPY.items() if e.arity == 1]
BINARY = [u for u, e in OF_NUMPY.items() if e.arity == 2]


@pytest.mark.parametrize("ufunc", UNARY, ids=lambda u: u.__name__)
def test_unary_ufuncs(ufunc):
    x = leaf(P + 1.5 if ufunc is np.arccosh else P)
    np.testing.assert_array_equal(ufunc(x).detach().numpy(), ufunc(x.detach().numpy()))
    assert ad.gradcheck(ufunc, x)
    if ELEMENTWISE[ufunc].op not in REGISTRY.constants:
        assert ad.gradgradcheck(ufunc, x)


@pytest.mark.parametrize("ufunc", BINARY, ids=lambda u: u.__name__)
def test_binary_ufuncs(ufunc):
    a, b = leaf(P), leaf(P[::-1, :1].copy() + 0.05)
    np.testing.assert_array_equal(ufunc(a, b).detach().numpy(), ufunc(P, P[::-1, :1] + 0.05))
    for f, inputs in ((ufunc, (a, b)), (lambda t: ufunc(t, 0.7), (a,)), (lambda t: ufunc(0.7, t), (a,))):
        assert ad.gradcheck(f, inputs)
        if ufunc not in (np.floor_divide, np.copysign, np.heaviside):
            assert ad.gradgradcheck(f, inputs)


FORMS = {
    "sum": (A, lambda t: np.sum(t), lambda t: t.sum(axis=0), lambda t: np.sum(t, axis=(0, 1), keepdims=True),
            lambda t: np.sum(t, axis=-1, where=A > 0), lambda t: np.sum(t, initial=2.0), lambda t: np.add.reduce(t),
            lambda t: np.sum(t, axis=1, dtype=np.float64), lambda t: sum(t)),
    "mean": (A, np.mean, lambda t: t.mean(1), lambda t: np.mean(t, axis=0, keepdims=True),
             lambda t: np.mean(t, axis=1, where=A > -1)),
    "var": (A, np.var, lambda t: np.var(t, axis=0, ddof=1), lambda t: t.std(axis=1), lambda t: np.std(t, keepdims=True)),
    "max": (A, np.max, lambda t: t.max(0), lambda t: np.min(t, axis=1, keepdims=True), lambda t: np.amax(t, (0, 1)),
            lambda t: np.max(t, axis=0, initial=0.3), lambda t: np.min(t, where=A < 0, initial=0.0, axis=1),
            lambda t: np.maximum.reduce(t), np.ptp),
    "prod": (A, np.prod, lambda t: np.prod(t, axis=1), lambda t: t.prod(axis=(0, 1), keepdims=True)),
    "cumsum": (A, np.cumsum, lambda t: np.cumsum(t, axis=0), lambda t: t.cumsum(-1), lambda t: np.add.accumulate(t)),
    "cumprod": (A, np.cumprod, lambda t: np.cumprod(t, axis=1)),
    "norm": (A, np.linalg.norm, lambda t: np.linalg.norm(t, axis=1), lambda t: np.linalg.norm(t, 1),
             lambda t: np.linalg.norm(t, np.inf, axis=0), lambda t: np.linalg.norm(t, 3, axis=1, keepdims=True),
             lambda t: np.linalg.norm(t, -np.inf), lambda t: np.linalg.norm(t.ravel(), 1.5),
             lambda t: np.linalg.norm(t, "fro")),
    "reshape": (A, lambda t: t.reshape(2, 6), lambda t: np.reshape(t, (4, 3), order="F"), np.ravel, lambda t: t.flatten(),
                lambda t: t.T, lambda t: np.transpose(t), lambda t: t.transpose(1, 0), lambda t: np.swapaxes(t, 0, 1),
                lambda t: np.moveaxis(t[None], 0, 2), lambda t: np.squeeze(t[None]), lambda t: np.expand_dims(t, 1),
                lambda t: t[:, None] * np.ones((3, 2, 4)), lambda t: np.broadcast_to(t, (2, 3, 4)),
                lambda t: np.broadcast_arrays(t, np.zeros((2, 1, 1)))[0], lambda t: np.atleast_3d(t),
                lambda t: t.unsqueeze(0), lambda t: t.view(12), lambda t: t.permute(1, 0), lambda t: t.mT),
    "join": (A, lambda t: np.concatenate((t, W, t * t)), lambda t: np.concatenate((t, t), axis=1),
             lambda t: np.concatenate((t, t), axis=None), lambda t: np.stack((t, 2 * t), axis=-1),
             lambda t: np.hstack((t, t)), lambda t: np.vstack((t, W)), lambda t: np.dstack((t, t)),
             lambda t: np.column_stack((t[:, 0], t)), lambda t: np.append(t, 3.0), lambda t: np.block([[t, t], [W, t]])),
    "split": (A, lambda t: np.split(t, 2, axis=1)[1] * 2, lambda t: np.array_split(t, 3)[0], lambda t: np.hsplit(t, [1])[1],
              lambda t: np.vsplit(t, 3)[2], lambda t: np.split(t, ad.tensor([1, 2]), ad.tensor(1))[1],
              lambda t: np.array_split(t, ad.tensor(2))[0], lambda t: np.vsplit(t, ad.tensor([1]))[1]),
    "move": (A, lambda t: np.flip(t), lambda t: np.flip(t, 0), lambda t: np.fliplr(t), lambda t: np.rot90(t),
             lambda t: np.roll(t, 2), lambda t: np.roll(t, 1, axis=0), lambda t: np.repeat(t, 2, axis=1),
             lambda t: np.repeat(t, [1, 0, 2], axis=0), lambda t: np.tile(t, (2, 1)), lambda t: np.take(t, [0, 5, 5]),
             lambda t: np.take(t, [1, 1], axis=1), lambda t: np.take_along_axis(t, np.argsort(A, axis=1), 1),
             lambda t: np.delete(t, 1, axis=0), lambda t: np.compress([True, False, True], t, axis=0),
             lambda t: np.pad(t, 1), lambda t: np.pad(t, ((0, 1), (2, 0)), mode="reflect"), lambda t: np.pad(t, 2, "edge"),
             lambda t: np.pad(t, 1, constant_values=3.0), lambda t: np.pad(t, 1, "wrap"),
             lambda t: np.insert(t, 1, 2.0, axis=0), lambda t: np.resize(t, (5, 4))),
    "square": (M, np.diag, np.diagonal, lambda t: np.diag(t[0]), np.trace, np.tril, lambda t: np.triu(t, 1),
               lambda t: np.trace(t, 1), lambda t: np.tril(t, -1)),
    "where": (A, lambda t: np.where(A > 0, t, 2.0), lambda t: np.where(A > 0, W, t * t), lambda t: np.clip(t, -0.5, 0.5),
              lambda t: np.clip(t, None, 0.1), np.nan_to_num, lambda t: np.select([A > 1, A > 0], [t, t * t], 0.0),
              lambda t: np.extract(A > 0, t)),
    "sort": (A, np.sort, lambda t: np.sort(t, axis=0), lambda t: np.sort(t, axis=None), np.median,
             lambda t: np.quantile(t, 0.3), lambda t: np.percentile(t, 70, axis=1)),
    "products": (M, lambda t: t @ t, lambda t: t @ t[0], lambda t: t[0] @ t, lambda t: t[0] @ t[1], lambda t: np.dot(t, M),
                 lambda t: np.dot(2.0, t), lambda t: np.vdot(t, t), lambda t: np.inner(t, t), lambda t: np.outer(t[0], t),
                 lambda t: np.tensordot(t, t), lambda t: np.tensordot(t, M, axes=([0], [1])), lambda t: np.kron(t, M),
                 lambda t: np.multiply.outer(t[0], t[1]), lambda t: M @ t, lambda t: [1.0, 2.0, 3.0] @ t),
    "stacked products": (RNG.standard_normal((2, 3, 3)), lambda t: t @ t, lambda t: t @ M, lambda t: M @ t,
                         lambda t: t @ M[0], lambda t: M[0] @ t, lambda t: t @ t[:1]),
    "einsum": (M, lambda t: np.einsum("ij,jk->ik", t, t), lambda t: np.einsum("ij->j", t),
               lambda t: np.einsum("ij,ij", t, M),
               lambda t: np.einsum("ii", t), lambda t: np.einsum("ij,j,k->ik", t, t[0], t[1]),
               lambda t: np.einsum("...j,j", t, M[0])),
    "linalg": (S, np.linalg.inv, np.linalg.det, lambda t: np.linalg.slogdet(t)[1], lambda t: np.linalg.slogdet(t).logabsdet,
               lambda t: np.linalg.solve(t, M[0]), lambda t: np.linalg.solve(t, M), lambda t: np.linalg.solve(M, t),
               lambda t: np.linalg.cholesky(t + t.T)),
    "calculus": (V, np.diff, lambda t: np.diff(t, 2), np.gradient, lambda t: np.trapezoid(t) if hasattr(np, "trapezoid")
                 else np.trapz(t), lambda t: np.convolve(t, V[:2]), lambda t: np.interp(0.5, np.arange(5.0), t)),
    "statistics": (A, lambda t: np.average(t, axis=0, weights=np.array([1.0, 2.0, 3.0])), lambda t: np.average(t),
                   lambda t: np.cov(t), lambda t: np.nansum(t), lambda t: np.nanmean(t, axis=0)),
    "other": (A, lambda t: t.copy(), lambda t: t.clone(), lambda t: np.copy(t), lambda t: t.astype(np.float64), lambda t: +t,
              lambda t: np.real(t), lambda t: np.float_power(t * t, 2), lambda t: np.divmod(t, 2.0)[1],
              lambda t: np.modf(t)[0], lambda t: t.exp() + t.tanh(), lambda t: np.bincount(I3, weights=t[:, 0])),
}


@pytest.mark.parametrize(("group", "number"), [(g, k) for g, v in FORMS.items() for k in range(len(v) - 1)])
def test_forms(group, number):
    data, f = FORMS[group][0], FORMS[group][number + 1]
    x = leaf(data)
    with silent():
        value = f(x)
        expected = f(ad.tensor(data))
        np.testing.assert_allclose(value.detach().numpy(), expected.numpy(), rtol=1e-12)
        assert value.requires_grad and not expected.requires_grad
        weights = RNG.standard_normal(value.shape)
        assert ad.gradcheck(lambda t: f(t) * weights, x)
        assert ad.gradgradcheck(lambda t: f(t) * f(t) * weights, x)


def test_every_function_that_stands_for_one_of_numpys_is_tried():
    """Each of our substitutes is named in the forms above (or below)."""
    from pathlib import Path
    here = Path(__file__)
    places = (here, here.with_name("test_values.py"), *here.parents[1].glob("numpy_catalogue*.py"))
    text = "".join(p.read_text() for p in places)
    elsewhere = {"amin", "flipud", "rollaxis", "diagflat", "trim_zeros", "atleast_1d", "atleast_2d", "dsplit",
                 "permute_dims", "matrix_transpose", "concat", "astype"}
    for function in (*FUNCTIONS, *OTHERS):
        name = function.__name__
        assert name in elsewhere or f".{name}" in text or name in ("matmul", "positive", "conjugate", "vecdot"), name


@pytest.mark.parametrize("f", [
    np.amin, np.flipud, lambda t: np.rollaxis(t, 1), lambda t: np.diagflat(t[0]), lambda t: np.trim_zeros(t[0]),
    np.atleast_1d, np.atleast_2d, lambda t: np.dsplit(t[:, :, None], 1)[0],
    *([np.permute_dims, np.matrix_transpose, lambda t: np.concat((t, t)), lambda t: np.astype(t, np.float64),
       lambda t: np.vecdot(t, t)] if hasattr(np, "vecdot") else []),
])
def test_rarer_functions(f):
    assert ad.gradcheck(f, leaf(A))


def test_put_along_axis():
    x = leaf(A)

    def f(x):
        y = x * 1
        np.put_along_axis(y, np.array([[0], [3], [1]]), x[:, :1] ** 2, 1)
        return y
    expected = A.copy()
    np.put_along_axis(expected, np.array([[0], [3], [1]]), A[:, :1] ** 2, 1)
    np.testing.assert_allclose(f(x).detach().numpy(), expected)
    assert ad.gradcheck(f, x)


def test_bilinear_in_two_tensors():
    a, b = leaf(M), leaf(A)
    for f in (np.matmul, np.dot, lambda a, b: np.einsum("ij,jk->k", a, b), lambda a, b: np.tensordot(a, b, 1),
              lambda a, b: np.concatenate((a, b), axis=1), lambda a, b: np.linalg.solve(a, b), lambda a, b: np.kron(a, b),
              lambda a, b: np.where(M > 0, a, b[:, :1]), lambda a, b: np.clip(b, a[0, 0] - 4, a[1, 1])):
        assert ad.gradcheck(f, (a, b))
        assert ad.gradgradcheck(f, (a, b))


def test_functions_without_a_rule_are_refused_where_a_gradient_is_lost():
    x = leaf(V)
    with raises(ad.MissingRule, "`np.nextafter`", "no derivative rule", "detach()"):
        np.nextafter(x, 1.0)
    c = ad.tensor(V)
    assert np.fft.fft(c).dtype == np.complex128
    assert np.nextafter(c, 1.0).tolist() == np.nextafter(V, 1.0).tolist()
    assert np.linalg.eigvalsh(ad.tensor(S)).shape == (3,)


def test_plain_numpy_code_runs_on_tensors():
    def model(x):
        y = np.zeros_like(x)
        h = np.exp(-np.abs(x)) / (1 + np.sum(x ** 2))
        return np.mean(np.sqrt(h + 1)) + np.max(h) - np.min(h) + y.sum() + np.linalg.norm(h)
    x = leaf(V)
    assert isinstance(model(V), float)
    np.testing.assert_allclose(model(x).item(), model(V), rtol=1e-14)
    assert ad.gradcheck(model, x)
    compiled = ad.grad(model)(V)
    np.testing.assert_allclose(ad.grad(model(x), x)[0].numpy(), compiled, rtol=1e-10)


def test_what_compiled_code_knows_of_scipy_is_no_function_of_tensors():
    from scipy.special import psi

    from autodiff.graph.elementwise import table
    REGISTRY.learn_of(psi)
    assert not [e.op for e in table().values() if "." in e.op]


def test_operands_that_are_sequences():
    x = leaf(1.0, 2.0)
    for f in (lambda t: (3.0, 4.0) + t, lambda t: t * (3.0, 4.0), lambda t: np.power([3.0, 4.0], t),
              lambda t: divmod(t, 0.7)[1], lambda t: divmod(2.9, t)[0] + t, lambda t: np.power.outer(t, [1.0, 2.0]),
              lambda t: (1.0, 2.0) @ t, lambda t: np.einsum(t, [0], np.ones((2, 2)), [0, 1], [1]),
              lambda t: np.einsum(t, [0], t, [0])):
        np.testing.assert_allclose(f(x).detach().numpy(), f(np.array([1.0, 2.0])))
        assert ad.gradcheck(f, x)


def test_results_into_tensors():
    """`where=` leaves the other elements as they were, and several results go to several places."""
    x = leaf(1.0, 2.0, 3.0)
    out = x * 10
    np.multiply(x, x, out=out, where=np.array([True, False, True]))
    assert out.tolist() == [1, 20, 9]
    same(ad.grad(out.sum(), x)[0], [2, 10, 6])
    parts, whole = ad.tensor(np.zeros(3)), ad.tensor(np.zeros(3))
    np.modf(x * 1.25, out=(parts, whole))
    assert (parts.tolist(), whole.tolist()) == ([0.25, 0.5, 0.75], [1, 2, 3])
    same(ad.grad(parts.sum(), x)[0], [1.25] * 3)
    with raises(TypeError, "out= is an array"):
        np.sin(x, out=np.zeros(3))


def test_discrete_results_of_functions_without_a_rule():
    assert np.linalg.matrix_rank(leaf(M)).item() == 3 and not np.linalg.matrix_rank(leaf(M)).requires_grad
