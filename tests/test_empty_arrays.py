"""Arrays without elements, sizes and counts that are 0 or negative: what NumPy gives, or an error of NumPy's class."""


import numpy as np
import pytest

from autodiff import differentiable, value_and_grad

from .support import assert_slope, direction_like, module_of, outcome

X = np.array([0.5, 1.0, 2.0, -3.0])
FORMS = """
: np.tile(x[:0], -1); np.tile(x, -1); np.tile(x, 0); np.tile(x, (2, -1)); np.repeat(x[:0], -1); np.repeat(x, -1)
: x[x[:0] > 0]; x[x[:2] > 0]; x[:0][x > 0]; x[np.zeros(0, bool)]; x[np.array([], int)]; x[[]]; x[:0].reshape(0, -1)
: x[:0].reshape(3, -1); np.array_split(x, 0)[0]; np.roll(x[:0], 2); np.max(x[:0]); np.argmax(x[:0]); np.mean(x[:0])
: np.median(x[:0]); np.stack([x, x[:0]]); np.concatenate([x, x[:0]]); np.concatenate([x.reshape(2, 2), x[:0]])
: np.concatenate([x.reshape(2, 2), x[:0].reshape(0, 2)]); np.concatenate([x.reshape(2, 2), x[:0].reshape(0, 3)])
: x[:0] @ x; x[:0] @ x[:0]; x[:0] + x; x[:1] + x; x[:0].sum(); x[np.array([0, 5])]; x[:0][0]; np.take(x[:0], [0])
: np.diff(x[:0]); np.diff(x, n=5); np.cumsum(x[:0]); np.outer(x[:0], x); np.kron(x[:0], x); np.pad(x[:0], 2)
: np.pad(x[:0], 2, mode='edge'); np.pad(x, 2, mode='reflect'); np.pad(x[:1], 2, mode='reflect')
: np.interp(0.5, x[:0], x[:0]); np.interp(x[:0], x, x); np.convolve(x, x[:0]); np.convolve(x[:0], x)
: np.where(x[:0] > 0, x, x); np.where(x[:1] > 0, x, x); np.searchsorted(x[:0], 0.5); np.sort(x[:0])
: np.percentile(x[:0], 50); np.trapezoid(x[:0]); np.polyval(x[:0], 2.0); np.dot(x, x[:2]); np.diag(x[:0]); np.prod(x[:0])
: np.squeeze(x, 0); np.linalg.solve(x.reshape(2, 2), x); np.linalg.inv(x[:0].reshape(0, 0))
: np.linalg.det(x[:0].reshape(0, 0)); np.linalg.norm(x[:0]); np.linalg.norm(x[:0], np.inf); np.einsum('i,i->', x[:0], x)
: np.flip(x, 1); np.rot90(x); np.vstack([x, x[:2]]); np.hstack([x, x[:0]]); np.column_stack([x, x[:2]])
: np.append(x, x[:0]); np.ravel(x[:0]); np.resize(x[:0], 3); np.partition(x[:0], 0); np.quantile(x, 1.5)
: np.gradient(x[:1]); np.gradient(x[:0]); np.ptp(x[:0]); np.average(x, weights=x * 0); np.average(x, weights=x[:2])
: np.cov(x[:0]); np.triu(x); np.trace(x); np.add.reduce(x[:0]); np.maximum.reduce(x[:0]); np.logaddexp.reduce(x[:0])
: x.reshape(2, 3); x.reshape(0, -1); x.reshape(-1, -1); np.array([x, x[:2]]); np.meshgrid(x[:0], x)[0]
: np.ix_(x[:0] > 0)[0]; np.take_along_axis(x, np.array([4]), 0); np.compress([True], x)
: np.compress([True, False, True, True, True], x); np.extract(x > 0, x[:2]); np.unwrap(x[:0]); np.digitize(x, x[:0])
: np.choose(np.array([0, 2]), [x[:2], x[:2]]); np.block([x, x[:0]]); np.fft.fft(x[:0]).real
: np.apply_along_axis(np.sum, 0, x[:0].reshape(0,2)); x[0][None]; x[0][...]; x[0][None, None]; x[0][0]
n=-1: np.tile(x[:0], n); np.tile(x, n); np.repeat(x, n); np.repeat(x[:0], n); x.reshape(n, -1); x.reshape(n); np.zeros(n)
n=-1: np.ones((n, 2)); np.full(n, 1.0); np.empty((2, n)) * 0; np.eye(n); np.arange(n); np.linspace(0, 1, n)
n=-1: np.broadcast_to(x, (n, 4)); np.broadcast_to(x[:1], (n,)); np.diff(x, n=n); np.pad(x, n); np.vander(x, n); np.tri(n)
n=-1: np.identity(n); np.logspace(0, 1, n); np.geomspace(1, 2, n); np.bincount(np.array([1, 2]), minlength=n)
n=-1: np.resize(x, n)
n=0: np.tile(x, n); x.reshape(n, -1); x.reshape(-1, n); x[:0].reshape(n, -1); x.reshape(n, 2, -1); x.reshape(n)
n=0: np.reshape(x, (n, -1)); np.linspace(0, 1, n); np.split(x, n)[0]; np.broadcast_to(x, (n, 4))
n=0: np.broadcast_to(x, (n,)); np.broadcast_to(x[:1], (n,)); np.vander(x, n); np.histogram(x, n)[0]
n=0: np.fft.fft(x, n).real
k=0: x[x[:k] > 0]; x[:k][x > 0]; np.max(x[:k]); np.min(x[:k]); x[:k] @ x; x[:k] + x; x[:k][0]
k=0: np.einsum('i,i->', x[:k], x); np.maximum.reduce(x[:k]); np.logaddexp.reduce(x[:k]); np.fmax.reduce(x[:k])
k=0: x.reshape(2, 2)[x[:k] > 0]; x.reshape(2, 2)[:, x[:k] > 0]; np.linalg.norm(x[:k], np.inf)
k=0: np.linalg.norm(x[:k], -np.inf); np.cov(x[:k])
k=2: x[x[:k] > 0]; np.fmax.reduce(x[:k])
n=2: x.reshape(n, -1); np.swapaxes(x.reshape(2, 2), 0, n)
n=3: x.reshape(n, -1); x[:0].reshape(n, -1); np.split(x, n)[0]; np.expand_dims(x, n)
n=-2: x.reshape(n, -1)
k=0,n=0: x[:k].reshape(n, -1); x[:k].reshape(n, 2, -1); x[:k].reshape(n)
n=0,m=4: x.reshape(n, m)
n=-2,m=-2: x.reshape(n, m)
k=1: x[:k] + x; np.gradient(x[:k])
n=4: x[np.array([n])]; np.take(x, [n]); np.delete(x, n); np.partition(x, n); np.add.reduceat(x, [0, n])
n=-5: x[np.array([n])]; x[n]
n=5: np.insert(x, n, 1.0); np.moveaxis(x.reshape(2,2), 0, n)
k=0,n=-1: np.tile(x.reshape(2, 2)[:k], (1, n)); np.tile(x[:k], (n, n)); np.repeat(x.reshape(2, 2)[:k], n, 1)
"""
LINES = [line.partition(":") for line in FORMS.strip().splitlines()]


def made(given: str, texts) -> tuple:
    """A function for each expression, of `x` and the names that are given, and their values."""
    names, values = zip(*(part.split("=") for part in given.split(","))) if given else ((), ())
    name = f"<empty {given} {texts[0]}>"
    text = "".join(f"def f{k}({', '.join(('x', *names))}):\n    return {t}\n" for k, t in enumerate(texts))
    space = module_of(name, text, {"np": np, "__name__": name})
    functions = [space[f"f{k}"] for k in range(len(texts))]
    return functions, [X, *map(int, values)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("line", LINES, ids=lambda line: (line[0] + line[2])[:40])
def test_what_numpy_gives(line):
    given, _, forms = line
    texts = [t.strip() for t in forms.split(";")]
    functions, args = made(given, texts)
    for text, f in zip(texts, functions, strict=True):
        expected, found = outcome(f, *args), outcome(differentiable(f, mode="python"), *args)
        if isinstance(expected, Exception):
            assert isinstance(found, type(expected)), f"{text}: {expected!r}, found {found!r}"
        else:
            assert not isinstance(found, Exception), f"{text}: {expected!r}, found {found!r}"
            np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=text)


def written(x, k):
    y, m = x * 1.0, np.outer(x, x)
    y[y[:k] > 0] += 3.0
    y[y[:0] > 0] = 2.0
    m[m[:k] > 0] = 5.0
    m[:, m[0, :k] > 0] += 5.0
    return np.sum(y * x) + np.sum(m * m)


@pytest.mark.parametrize("k", [0, 4])
def test_writes_through_masks_of_no_elements(k):
    value, gradient = value_and_grad(written, mode="python", debug=True)(X, k)
    assert value == pytest.approx(written(X, k), rel=1e-12)
    for seed in (0, 1):
        d = direction_like(X, seed)
        assert_slope(float(np.sum(gradient * d)), written, (X, k), 0, d)


def test_a_mask_of_another_size_is_an_error():
    with pytest.raises(IndexError, match="boolean index did not match"):
        value_and_grad(written, mode="python")(X, 3)
