"""Products of matrices by loops are left to BLAS, and give what the loops give."""

import random

import numpy as np
import pytest

from autodiff import check_grads, grad, value_and_grad

from .support import program_beside_python, with_places_checked

ROWS = ["range(n)", "range(n - 1, -1, -1)", "range(1, n)", "range(2, n - 1)", "range(0, n, 2)"]
COLUMNS = ["range(n)", "range(n)", "range(i + 1)", "range(i)", "range(i, n)", "range(i + 1, n)", "range(n - 1, -1, -1)",
           "range(i - 1, -1, -1)", "range(n - i)", "range(n - i - 1)", "range(max(i - 1, 0), n)", "range(2)"]
SUMMED = ["range(n)", "range(n)", "range(n - 1, -1, -1)", "range(1, n - 1)", "range(j)", "range(i)", "range(9)", "range(2)"]
TERMS = ["A[i, k] * B[k, j]", "A[i, k] * B[j, k]", "A[k, i] * B[k, j] * w[k]", "A[i, k] * A[j, k]", "-A[i, k] * C[k, j]",
         "w[j] * A[i, k] * w[i] * C[k, j]", "A[i, k] * B[k, j] * C[i, j]", "A[i, k] * C[k, n - 1 - j]",
         "(A[i, k] - w[k]) * B[k, j]", "np.sin(A[i, k]) * C[k, j]", "A[i - 1, k] * B[k, j]", "A[i, k] * (B[k, j] + C[j, k])",
         "A[k, i] * A[k, (i + j) % n]", "A[k, i] * A[k, i + j]", "B[k, j] * C[k, i]", "D[i, k] * B[k, j]",
         "A[i, k] * z[k] * B[k, j]", "np.sin(D[i, j]) * np.cos(D[i, k])", "z[j] * D[i, k] * w[i]",
         "0.5 * A[i, k] * B[k, j] * np.tanh(s)"]
AFTER = ["s += np.tanh(t)", "D[i, j] = np.sin(t)", "z[j] += t * w[i]", "if t > 0.4:\n    s += np.sin(t)",
         "s = 0.9 * s + 0.01 * t", "D[j, i] += t", "if w[j] > 0.5:\n    s += np.cos(t) * A[i, j]",
         "s += max(t, 0.3) * C[j, i]", "B[j, i] = 0.9 * B[j, i]", "if j > i:\n    continue\ns += t",
         "s += t * w[int(9 * w[j]) - 4]", "z[int(3 * w[i])] += 0.1 / (t * t - 0.01)"]
STORES = ["D[i, j] += {}", "D[j, i] -= {}", "z[j] += {}", "D[k, j] += {}", "E[i, k] += {}", "E[j, k] += {} * np.cos(w[j])"]
ORDERS = ["ijk", "ikj", "jik", "kij", "kji", "jki"]


def random_program(seed: int) -> str:
    """Sums over three loops, in numbers, rows and matrices, with what stands around them."""
    r = random.Random(seed)
    lines = ["import numpy as np", "", "def f(A, B, C, w):", "    n, s = len(w), 0.1", "    z = np.zeros(n)",
             "    D, E = 0.1 * A[:n, :n], np.zeros((n, n))"]
    indent = "    "
    if r.random() < 0.2:
        lines.append("    for step in range(2):")
        indent += "    "
    for _ in range(r.randint(1, 2)):
        lines += [indent + line for line in (by_numbers, by_numbers, by_stores, by_rows)[r.randrange(4)](r)]
        lines += [indent + "w = w * 0.9"] * (r.random() < 0.2)
    return "\n".join([*lines, "    return s + 0.1 * np.sum(D * D) + np.sum(np.sin(E)) + np.sum(z * z) + 0.1 * np.sum(B)"])


def by_numbers(r) -> list[str]:
    lines = [f"for i in {r.choice(ROWS)}:"]
    lines += ["    w[i] = 0.5 + 0.2 * w[i]"] * (r.random() < 0.1)
    lines += [f"    for j in {r.choice(COLUMNS)}:", f"        t = {r.choice(['0.0', '0.0', 'w[j]', '0.01 * s', 'D[i, j]'])}",
              f"        for k in {r.choice(SUMMED)}:", f"            t += {r.choice(TERMS)}"]
    lines += [f"            {r.choice(STORES).format(r.choice(TERMS))}"] * (r.random() < 0.3)
    return lines + ["        " + line for _ in range(r.randint(1, 2)) for line in r.choice(AFTER).split("\n")]


def by_stores(r) -> list[str]:
    loops = {"i": r.choice(ROWS), "j": r.choice(COLUMNS), "k": r.choice(SUMMED)}
    order = r.choice(ORDERS)
    known: list[str] = []
    lines = []
    for depth, name in enumerate(order):
        bound = loops[name]
        if any(other in bound.replace("max", "") for other in "ijk" if other not in known and other != "n"):
            bound = "range(n)"
        lines.append("    " * depth + f"for {name} in {bound}:")
        known.append(name)
    stores = [r.choice(STORES).format(r.choice(TERMS)) for _ in range(r.randint(1, 2))]
    return lines + ["            " + s for s in stores]


def by_rows(r) -> list[str]:
    columns = r.choice([c for c in COLUMNS if c != "range(2)"])
    return [f"for i in {r.choice(ROWS)}:", "    row = np.zeros(n)", f"    for k in {r.choice(SUMMED[:4])}:",
            f"        for j in {columns}:", f"            row[j] += {r.choice(TERMS)}", f"    for j in {columns}:",
            f"        {r.choice(['s += np.tanh(row[j])', 'z[j] += row[j] ** 2', 'D[i, j] = row[j] * w[j]'])}"]


def differs(seed: int, mode: str, sizes=(1, 2, 5, 11)) -> str:
    r = random.Random(seed)
    more = r.choice([0, 0, 0, 2])
    shapes = [((n + more, n + more), (n + more, n), (n, n + more), (n,)) for n in sizes]
    return program_beside_python(random_program(seed), seed, mode, shapes, (IndexError, ValueError))


@pytest.mark.filterwarnings("ignore:the gradient of")
@pytest.mark.parametrize("start", range(0, 60, 15))
def test_random_loops(start, monkeypatch):
    with_places_checked(monkeypatch)
    for seed in range(start, start + 15):
        assert not (wrong := differs(seed, "python")), wrong


@pytest.mark.parametrize("seed", [1002, 1007, 1011])     # no text that was made with checks
def test_compiled(seed):
    assert not (wrong := differs(seed, "numba", (3, 70, 130))), wrong


# -- which loops, and what else they may hold -----------------------------------------------------------------------
def layer(W, b, X):
    s = 0.0
    for i in range(X.shape[0]):
        for j in range(W.shape[0]):
            t = b[j]
            for k in range(X.shape[1]):
                t += W[j, k] * X[i, k]
            s += np.tanh(t)
    return s


def kernel(X, w):
    s = 0.0
    for i in range(X.shape[0]):
        for j in range(i):
            t = 0.0
            for k in range(X.shape[1]):
                t -= X[i, k] * X[j, k] * w[k]
            s += np.exp(t) * (i - j)
    return s


def matrices(A, B):
    n, m, p = A.shape[0], A.shape[1], B.shape[1]
    C = np.zeros((n, p))
    for k in range(m):
        for i in range(n):
            for j in range(p):
                C[i, j] += A[i, k] * B[k, j]
    return np.sum(np.sin(C))


def columns(X):
    """As in NPBench's covariance."""
    m = X.shape[1]
    C = np.zeros((m, m))
    for i in range(m):
        C[i:m, i] = X[:, i] @ X[:, i:m]
    return np.sum(np.tanh(C))


def relu(W, V, X):
    s = 0.0
    for i in range(X.shape[0]):
        for j in range(W.shape[0]):
            t = 0.0
            for k in range(X.shape[1]):
                t += W[j, k] * X[i, k]
            if t > 0.0:
                s += t * V[j]
    return s


def recurrent(W, X):
    """Each row needs the one before."""
    n, m = X.shape
    H = np.zeros((n, m))
    for i in range(1, n):
        for j in range(m):
            t = X[i, j]
            for k in range(m):
                t += W[j, k] * H[i - 1, k]
            H[i, j] = np.tanh(t)
    return np.sum(H)


R = np.random.default_rng(0)
CASES = [(layer, ((4, 3), (4,), (7, 3)), True), (kernel, ((9, 4), (4,)), True), (matrices, ((4, 3), (3, 5)), True),
         (columns, ((6, 5),), True), (relu, ((4, 3), (4,), (7, 3)), True), (recurrent, ((3, 3), (6, 3)), False)]


@pytest.mark.parametrize(("function", "shapes", "products"), CASES)
def test_which(function, shapes, products):
    args = [R.normal(size=s) for s in shapes]
    gradient = value_and_grad(function, wrt=tuple(range(len(args))), mode="python")
    assert gradient(*args)[0] == pytest.approx(function(*args))
    assert ("multiples" in gradient.source or "block_product" in gradient.source) == products
    check_grads(function, args, wrt=tuple(range(len(args))), mode="python", order=2)


def test_single_precision():
    args = [R.normal(size=s).astype(np.float32) for s in ((4, 3), (4,), (7, 3))]
    found = grad(layer, wrt=(0, 1, 2))(*args)
    for x, y in zip(found, grad(layer, wrt=(0, 1, 2), mode="python")(*(a.astype(float) for a in args)), strict=True):
        assert x.dtype == np.float32
        np.testing.assert_allclose(x, y, rtol=1e-4)


def masked(A, B, use):
    """Where `use` is false nothing is added, whatever stands there."""
    s = 0.0
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            t = 0.0
            for k in range(A.shape[1]):
                t += A[i, k] * B[k, j]
            if use[i] and use[j]:
                s += np.tanh(t)
    return s


@pytest.mark.parametrize("mode", ["python", "numba"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_a_mask_leaves_out_is_multiplied_by_nothing(mode, bad):
    A, B, use = R.normal(size=(6, 4)), R.normal(size=(4, 6)), np.array([True, True, False, True, False, True])
    clean = grad(masked, wrt=(0, 1), mode=mode)(A, B, use)
    A[2], B[:, 4], B[1, 2] = bad, bad, -bad
    for x, y in zip(grad(masked, wrt=(0, 1), mode=mode)(A, B, use), clean, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_what_a_triangle_leaves_out(mode):
    """Row 0 is no first factor, the last row no second one; infinite numbers spoil no other rows than in the loops."""
    X, w = R.normal(size=(9, 4)), np.ones(4)
    clean = grad(kernel, mode=mode)(X, w)
    assert np.isfinite(clean).all()
    X[8] = np.nan
    spoilt = grad(kernel, mode=mode)(X, w)
    assert np.isnan(spoilt).all()               # each row meets the last one
    text = grad(kernel, mode=mode)
    text(X, w)
    assert "multiples" in text.source
    X[8], X[0] = 0.0, np.nan
    assert np.isnan(grad(kernel, mode=mode)(X, w)).all()


@pytest.mark.parametrize("sizes", [(0, 3, 2), (4, 0, 2), (4, 3, 0)])
def test_nothing_to_multiply(sizes):
    n, m, p = sizes
    args = R.normal(size=(m, p)), R.normal(size=m), R.normal(size=(n, p))
    value, found = value_and_grad(layer, wrt=(0, 1, 2))(*args)
    assert value == pytest.approx(layer(*args))
    assert [x.shape for x in found] == [a.shape for a in args]
    check_grads(layer, args, wrt=(0, 1, 2), mode="python")


# -- values of other times, places and types ------------------------------------------------------------------------
def read_twice(A, B, D, w):
    """`u` and `v` are one element at two times."""
    n, m = A.shape
    D, E, F = D.copy(), np.zeros((m, m)), np.zeros((m, m))
    for i in range(n):
        u = D[i, 0]
        for q in range(m):
            D[i, q] = np.sin(D[i, q] * 3) + 0.1 * i
        v = D[i, 0]
        for j in range(m):
            for k in range(m):
                E[k, j] += A[i, j] * np.sin(u * w[k])
                F[k, j] += B[i, j] * np.sin(v * w[k])
    return np.sum(np.sin(E)) + np.sum(F * F)


def two_lengths(A, B, w, p, q, C):
    """What one inner loop keeps, another one keeps too, whichever of them runs."""
    P, Q = np.zeros((len(C), A.shape[1])), np.zeros((len(C), B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(len(C)):
            x = w[j]
            for k in range(p):
                P[j, k] += x * A[i, k]
            for k in range(q):
                Q[j, k] += x * B[i, k]
    return np.sum(np.sin(P)) + np.sum(Q * Q)


def growing(A, B):
    """In the first round nothing is added, and 1 / 0 is of no account."""
    s = 0.0
    for q in range(4):
        scale = 1.0 / np.float64(q) if q else np.inf
        for i in range(A.shape[0]):
            for j in range(B.shape[1]):
                t = 0.0
                for k in range(q):
                    t += A[i, k] * B[k, j] * scale
                s += np.tanh(t)
    return s


def whole_numbers(M, A, B):
    s = 0.0
    for i in range(M.shape[0]):
        for j in range(A.shape[1]):
            t = np.float32(0.0)
            for k in range(M.shape[1]):
                t += np.float32(M[i, k]) * A[k, j]
            u = 0.0
            for k in range(M.shape[1]):
                u += M[i, k] * B[k, j]
            s += 1e9 * u + t
    return s


def forward_zero(B, w):
    """0 times infinity is what Python makes of it, where a user multiplies."""
    P, s = np.zeros((len(w), B.shape[0])), 1.0
    for i in range(len(w)):
        for j in range(B.shape[1]):
            x = max(w[i] * s, 0.0)
            s = 0.5 * s + 0.1
            for k in range(B.shape[0]):
                P[i, k] += x * B[k, j]
    return P[0, 0]


@pytest.mark.parametrize("mode", ["python", "numba"])
@pytest.mark.parametrize(("function", "args", "wrt"), [
    (read_twice, (R.normal(size=(4, 5)), R.normal(size=(4, 5)), R.normal(size=(4, 5)), R.normal(size=5)), (0, 1, 2, 3)),
    (two_lengths, (R.normal(size=(4, 3)), R.normal(size=(4, 5)), R.normal(size=6), 0, 5, np.ones(4)), (0, 1, 2)),
    (two_lengths, (R.normal(size=(4, 3)), R.normal(size=(4, 5)), R.normal(size=6), 3, 0, np.ones(4)), (0, 1, 2)),
    (growing, (R.normal(size=(4, 3)), R.normal(size=(3, 5))), (0, 1)),
    (whole_numbers, (2**25 + R.integers(-9, 9, (4, 3)), R.normal(size=(3, 5)).astype(np.float32), R.normal(size=(3, 5))),
     (2,))])
def test_the_numbers_of_the_loops(function, args, wrt, mode):
    assert value_and_grad(function, wrt=wrt, mode=mode)(*args)[0] == pytest.approx(function(*args), rel=1e-11)
    if mode == "python":
        check_grads(function, args, wrt=wrt, mode=mode)


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_infinity_times_zero_of_a_user(mode):
    B, w = np.full((3, 4), np.inf), np.array([-1.0, 2.0])
    with np.errstate(invalid="ignore"):
        assert np.isnan(forward_zero(B, w))
    assert np.isnan(value_and_grad(forward_zero, wrt=(1,), mode=mode)(B, w)[0])


def polynomial(A, B):
    """Each line squares the last one."""
    s = 0.0
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            t = 0.0
            for k in range(A.shape[1]):
                y = A[i, k] * B[k, j]
                y = np.sin(y) * y
                y = np.sin(y) * y
                y = np.sin(y) * y
                y = np.sin(y) * y
                y = np.sin(y) * y
                y = np.sin(y) * y
                y = np.sin(y) * y
                y = np.sin(y) * y
                y = np.sin(y) * y
                y = np.sin(y) * y
                y = np.sin(y) * y
                y = np.sin(y) * y
                t += y
            s += np.tanh(t)
    return s


def test_shared_parts_are_looked_at_once():
    """Two to the twelfth times took minutes."""
    check_grads(polynomial, (1.0 + R.random((3, 4)), 1.0 + R.random((4, 2))), wrt=(0, 1), mode="python")
