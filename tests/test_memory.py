"""Copies and views: which arrays are one memory is as in NumPy, or the program is refused."""


import numpy as np
import pytest

from autodiff import UnsupportedSyntax, value_and_grad, vjp
from autodiff.errors import ReadOnlyArray

from .support import module_of

X = np.array([1.0, 2.0, 3.0, 4.0])


def function_of(lines: str, result: str = "np.sum(B * B) + 3.0 * np.sum(v)"):
    """`f(x)` from statements that take a matrix B (4, 4), a vector y and make v."""
    body = "".join(f"    {line}\n" for line in lines.split("; "))
    source = f"import numpy as np\n\n\ndef f(x):\n    B = np.outer(x, x + 1.0)\n    y = x * 1.5\n{body}    return {result}\n"
    name = f"<memory {lines} {result}>"
    return module_of(name, source, {"sliding_window_view": np.lib.stride_tricks.sliding_window_view})["f"]


def check(f, x=X):
    value, gradient = value_and_grad(f, mode="python")(x.copy())
    np.testing.assert_allclose(value, f(x.copy()), rtol=1e-12)
    slopes = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(x.size)]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-5)


SAME = """
v = list(B); v[0] *= 2.0; v = v[1]
for r in list(B): r *= 2.0;; v = y
rows = [r for r in B]; rows[0][1] = 50.0 * x[0]; v = rows[1]
for r in B.T: r += x[1];; v = y
v = [r for r in B.T][0]; v *= 3.0
a = tuple(B[:2]); a[1][...] = x[3]; v = a[0]
parts = [y[:2], y[2:]]; parts[0] *= 4.0; v = y
v, w = y[:2], y[2:]; w += v; v = y
d = {'rows': B[1:]}; d['rows'] *= 2.0; v = d['rows'][0]
v = np.ascontiguousarray(B.T); v[0] *= 10.0
v = np.ascontiguousarray(B); v[0] *= 10.0
v = np.asfortranarray(B); v[0] *= 10.0
v = np.asfortranarray(B.T); v[0] *= 10.0
v = np.require(B.T, requirements='C'); v[0] = x[1]
v = np.require(B, requirements='C'); v[0] = x[1]
v = np.array(B, copy=None); v[0] = x[1]
v = np.array(B, order='F'); v[0] = x[1]
v = np.asarray(B, order='F'); v[0] = x[1]
v = B.copy('F').ravel(); v[0] = x[1]
C = B.copy('F'); v = C.ravel(); v[0] = x[1]; v = C
C = B.copy('F'); v = C.T.ravel(); v[0] = x[1]; v = C
C = np.copy(B.T); v = C.ravel(); v[0] = x[1]; v = C
C = B.T * 2.0; v = C.ravel(); v[0] = x[1]; v = C
C = B.T + B; v = C.ravel(); v[0] = x[1]; v = C
v = B.astype(float, copy=False); v[0] = x[1]
v = B.astype(float); v[0] = x[1]
v = B.flat[1:3]; v[0] = x[1]
B.flat[1:3] = x[1]; v = y
v = y.reshape(2, 2).flat; v[1] = 7.0 * x[0]; v = y
v = B[1:].ravel(); v *= 10.0
v = B[1:].reshape(-1); v *= 10.0
v = B[:, 1:].ravel(); v *= 10.0
v = B[:, ::2].copy().reshape(-1); v *= 10.0
v = B[:, 0].reshape(2, 2); v *= 10.0
v = B.T.reshape(-1); v *= 10.0
C = B[x > 2.5]; v = C.ravel(); v[0] = x[1]; v = C
v = y[::2].reshape(-1, 1); v *= 10.0; v = y
v = y[::-1].reshape(2, 2); v[0] = x[0]; v = y
v = np.diag(B); B[0, 0] = 100.0 * x[1]
v = np.diagonal(B, 1)[1:]; B[1, 2] = 100.0 * x[1]
v = sliding_window_view(y, 2); y[0] = 100.0 * x[1]
v = sliding_window_view(B, (2, 3)); B[1, 1] = 100.0 * x[1]
v = np.broadcast_to(y, (3, 4))[1:]; y[0] = 100.0 * x[1]
v = np.einsum('ij->ji', B); v[0] = x[1]
v = np.einsum('ii->i', B); v *= 5.0
v = np.meshgrid(y, y)[0]; y[0] = 100.0 * x[1]
v = np.meshgrid(y, y, copy=False)[0]; y[0] = 100.0 * x[1]
v = np.rot90(B); v[0] = x[1]
v = np.squeeze(B[:, :1]); v[0] = x[1]
v = np.expand_dims(y, 0); v[0] = x[1]; v = y
np.put(B[:, ::2], [1, 3], x[0]); v = y
C = (B + 0.0).T; v = C[1:, 1:]; v *= 2.0; v = C
C = y[1:]; v = np.meshgrid(C, C, copy=False)[1]; C += x[0]
""".strip().replace(";;", ";").splitlines()


@pytest.mark.parametrize("lines", SAME)
def test_as_in_numpy(lines):
    if "for " in lines and ": r" in lines:
        head, rest = lines.split("; v = ")
        lines = f"{head}; v = {rest}"
    check(function_of(lines))


def test_nan_to_num_in_place():
    def f(x):
        y = x * 2.0
        np.nan_to_num(y, copy=False, nan=7.0)
        return np.sum(y * y)
    x = np.array([1.0, np.nan, 3.0])
    value, gradient = value_and_grad(f, mode="python")(x)
    assert value == 4.0 + 49.0 + 36.0
    np.testing.assert_array_equal(gradient, [8.0, 0.0, 24.0])


REFUSED = """
v = B[:, ::2].reshape(-1); v *= 10.0
v = y[::2].ravel(); v *= 10.0; v = y
n = int(x[1]); C = B[:, :n]; v = C.ravel(); C[0, 0] = x[0]
rows = [r[1:] for r in B]; rows[0][1] = 5.0; v = B[0]
rows = list(B); rows[0] = y; v = B[0]
C = np.hstack([B.T * 2.0, B.T]); v = C.T.reshape(-1); v[0] = 5.0; v = C
""".strip().splitlines()


@pytest.mark.parametrize("lines", REFUSED)
def test_what_may_be_a_view_or_a_copy_is_refused(lines):
    with pytest.raises(UnsupportedSyntax):
        value_and_grad(function_of(lines), mode="python")(X.copy())


@pytest.mark.parametrize("lines", ["v = np.diag(B); v[0] = 1.0", "v = np.diagonal(B); v *= 2.0",
                                   "v = np.broadcast_to(y, (2, 4)); v[0] = 1.0",
                                   "v = sliding_window_view(y, 2); v[0] = 1.0",
                                   "v = sliding_window_view(y, 2).T; v[0] += 1.0"])
def test_read_only_views_are_not_written(lines):
    f = function_of(lines)
    with pytest.raises(ValueError, match="read-only"):
        f(X.copy())
    with pytest.raises(ReadOnlyArray):
        value_and_grad(f, mode="python")(X.copy())


def test_the_layout_of_an_argument():
    """`m.ravel()` of a transposed argument is a copy: where that shows, the argument is refused."""
    def f(m):
        v = m.ravel()
        v[0] = 5.0
        return m * 1.0

    def g(m):
        return m.ravel() * 2.0
    m = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(vjp(f, m, mode="python")[0], f(m.copy()))
    with pytest.raises(UnsupportedSyntax, match="row by row"):
        vjp(f, m.T, mode="python")
    np.testing.assert_array_equal(vjp(g, m.T, mode="python")[0], g(m.T))


def test_upper_triangle():
    """Eigenvalues of the upper triangle, and eigenvectors with the signs that NumPy gives them."""
    def values(a):
        return np.sum(np.linalg.eigh(a, "U")[0] ** 3) + np.linalg.eigvalsh(a, "U")[0]

    def vectors(a):
        return np.sum(np.linalg.eigh(a, "U")[1])
    a = np.array([[2.0, 1.0, 0.5], [9.0, 3.0, 0.2], [9.0, 9.0, 5.0]])
    for f in (values, vectors):
        np.testing.assert_allclose(value_and_grad(f, mode="python")(a)[0], f(a), rtol=1e-12)


def test_upper_factor():
    """`upper=True` reads the upper triangle."""
    def f(a):
        return np.linalg.cholesky(a, upper=True) * 1.0
    a = np.array([[4.0, 1.0, 0.5], [9.0, 5.0, 0.2], [9.0, 9.0, 6.0]])
    np.testing.assert_allclose(vjp(f, a, mode="python")[0], f(a), rtol=1e-14)
