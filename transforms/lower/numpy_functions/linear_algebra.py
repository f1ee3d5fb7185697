"""Linear algebra: library calls on matrices, loops of them on stacks of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...language.core import Const
from ...language.errors import NotAMatrix, ShapeMismatch, UnsupportedSyntax
from ...language.ops import PARTS, is_complex, is_inexact, promote
from ..arrays.broadcasting import convert, require_same, same_size
from ..checks import core_mismatch, must, show_shape
from ..numbers.complex_numbers import conjugate_of
from ..numbers.pairs import Complex
from ..syntax.alternatives import is_none
from ..table import lowers
from ..values import Array, Record, Scalar, Sequence, Static, Undefined, View, leaves
from .library_calls import array_call, decomposed, library_call, number_call, on_each
from .reductions import is_true, with_derivative_of

SLOGDET, EIG, EIGH, QR = (type(f(np.eye(1))) for f in (np.linalg.slogdet, np.linalg.eig, np.linalg.eigh, np.linalg.qr))
SVD: Any = type(np.linalg.svd(np.eye(1)))


def square(lo, x) -> Array:
    """A square matrix, or a stack of them, of floats or complex numbers."""
    a = lo.array(x)
    if a.rank < 2:
        raise lo.error(NotAMatrix, f"{a.rank}-dimensional array given. Array must be at least two-dimensional")
    require_same(lo, a.shape[-2], a.shape[-1], f"Last 2 dimensions of the array must be square, not of shape "
                 f"{show_shape(lo, a.shape)}", "LinAlgError")
    return a if is_inexact(a.dtype) else lo.array(convert(lo, a, "float64"))


@lowers(np.linalg.solve)
def lower_solve(lo, a, b):
    a, b = square(lo, a), lo.array(b)
    kind = promote(a.dtype, b.dtype)
    a, b = convert(lo, a, kind), convert(lo, b, kind)
    vector = b.rank == 1 or (np.lib.NumpyVersion(np.__version__) < "2.0.0" and b.rank == a.rank - 1)
    rank = 1 if vector else 2
    size, name, right = b.shape[b.rank - rank], *(("solve1", "m") if vector else ("solve", "m,n"))
    require_same(lo, a.shape[-1], size, core_mismatch(lo, name, f"(m,m),({right})->({right})", size, a.shape[-1]))
    one = lambda p, q: (library_call(lo, "solve", q.shape, kind, p, q),)  # noqa: E731
    return on_each(lo, (a, b), (2, rank), one, [(b.shape[b.rank - rank:], kind)])[0]


@lowers(np.linalg.inv)
def lower_inv(lo, a):
    a = square(lo, a)
    one = lambda p: (library_call(lo, "inv", p.shape, p.dtype, p),)  # noqa: E731
    return on_each(lo, (a,), (2,), one, [(a.shape[-2:], a.dtype)])[0]


def adjoint(lo, a) -> Array:
    return lo.call_static(conjugate_of, [lo.call_static(np.swapaxes, [a, Static(-1), Static(-2)], {})], {})


@lowers(np.linalg.cholesky)
def lower_cholesky(lo, a, upper=None):
    a = square(lo, a)
    if is_true(upper):                                  # of which the upper triangle is read
        found = lower_cholesky(lo, adjoint(lo, a))
        return adjoint(lo, found)

    def one(p):
        return (library_call(lo, "cholesky", p.shape, p.dtype, p),)
    return on_each(lo, (a,), (2,), one, [(a.shape[-2:], a.dtype)])[0]


def matrices(lo, x) -> tuple:
    """(matrix or stack of them, rows, columns, the smaller of both)."""
    a = lo.array(x)
    if a.rank < 2:
        raise lo.error(NotAMatrix, f"{a.rank}-dimensional array given. Array must be at least two-dimensional")
    a = a if is_inexact(a.dtype) else convert(lo, a, "float64")
    assert isinstance(a, Array)
    m, n = a.shape[-2:]
    return a, m, n, lo.b.imin(m, n)


@lowers(np.linalg.eigh)
def lower_eigh(lo, a, UPLO=Static("L")):
    a = square(lo, a)
    if not isinstance(UPLO, Static) or str(UPLO.value).upper() not in ("U", "L"):
        raise lo.error(ShapeMismatch, "UPLO argument must be 'L' or 'U'")
    n = a.shape[-1]
    w, v = decomposed(lo, "eigh" if UPLO.value.upper() == "L" else "eigh_upper", ("w", "v"), a, [(n,), (n, n)])
    return Record(EIGH, {"eigenvalues": w, "eigenvectors": v}) if hasattr(EIGH, "_fields") else Sequence((w, v))


def eigh_of_scipy(a, lower):
    """For definitions: (w, v) as `scipy.linalg.eigh` finds them, which may give eigenvectors other signs than NumPy."""
    return np.linalg.eigh(a, "L" if lower else "U")


@lowers(eigh_of_scipy)
def lower_eigh_of_scipy(lo, a, lower):
    a, lower = square(lo, a), is_true(lower)
    if is_complex(a.dtype):
        return lower_eigh(lo, a if lower else adjoint(lo, a))
    n = a.shape[-1]
    results = [("w", (n,), a.dtype), ("v", (n, n), a.dtype)]
    one = lambda p: array_call(lo, "syevr", results, p, static=(lower,))  # noqa: E731
    return Sequence(tuple(on_each(lo, (a,), (2,), one, [(shape, kind) for _, shape, kind in results])))


@lowers(np.linalg.eigvalsh)
def lower_eigvalsh(lo, a, UPLO=Static("L")):
    return next(iter(leaves(lower_eigh(lo, a, UPLO))))


@lowers(np.linalg.eig)
def lower_eig(lo, a):
    """Complex whatever the values are, where NumPy gives real arrays if all eigenvalues are real."""
    a = square(lo, a)
    n = a.shape[-1]
    w, v = decomposed(lo, "eig", ("w", "v"), a, [(n,), (n, n)])
    return Record(EIG, {"eigenvalues": w, "eigenvectors": v}) if hasattr(EIG, "_fields") else Sequence((w, v))


@lowers(np.linalg.eigvals)
def lower_eigvals(lo, a):
    return next(iter(leaves(lower_eig(lo, a))))


ADDED = "the vectors that svd adds for square factors are not functions of the matrix"


@lowers(np.linalg.svd)
def lower_svd(lo, a, full_matrices=Static(True), compute_uv=Static(True), hermitian=Static(False)):
    if is_true(hermitian):
        return lo.call_static(svd_of_hermitian if is_true(compute_uv) else svdvals_of_hermitian, [square(lo, a)], {})
    a, m, n, k = matrices(lo, a)
    u, s, vh = decomposed(lo, "svd", ("u", "s", "vh"), a, [(m, k), (k,), (k, n)])
    if not is_true(compute_uv):
        return s
    if is_true(full_matrices) and isinstance(m, Const) and isinstance(n, Const) and m != n:
        u = vh = Undefined(f"{ADDED} (full_matrices=False leaves them out)", lo.b.loc, True)
    elif is_true(full_matrices) and not same_size(lo, m, n):
        u, vh = whole_factor(u, m, m, n), whole_factor(vh, n, m, n)
    return Record(SVD, {"U": u, "S": s, "Vh": vh}) if hasattr(SVD, "_fields") else Sequence((u, s, vh))


def whole_factor(factor: Array, size, m, n) -> View:
    """A square factor of an svd, which is the one that is found where the matrix is square: what reads it checks that."""
    def checked(lo, index):
        must(lo, lo.b.compare("eq", m, n), "ValueError", f"{ADDED}: give full_matrices=False, or a square matrix")
        return index
    return View(factor, (*factor.shape[:-2], size, size), checked)


def svd_of_hermitian(a):
    """As NumPy finds it, of the lower triangle: by eigenvectors, the signs of the eigenvalues in the rows of `vh`."""
    w, v = np.linalg.eigh(a)
    place = np.argsort(np.abs(w))[..., ::-1]
    w = np.take_along_axis(w, place, axis=-1)
    u = np.take_along_axis(v, place[..., None, :], axis=-1)
    return SVD(u, np.abs(w), np.conjugate(np.swapaxes(u * np.sign(w)[..., None, :], -1, -2)))


def svdvals_of_hermitian(a):
    return np.sort(np.abs(np.linalg.eigvalsh(a)))[..., ::-1]


@lowers(*([np.linalg.svdvals] if hasattr(np.linalg, "svdvals") else []))
def lower_svdvals(lo, a):
    return lower_svd(lo, a, compute_uv=Static(False))


@lowers(np.linalg.qr)
def lower_qr(lo, a, mode=Static("reduced")):
    a, m, n, k = matrices(lo, a)
    if not isinstance(mode, Static) or mode.value not in ("reduced", "r"):
        raise lo.error(UnsupportedSyntax, "qr is differentiated in the modes 'reduced' and 'r' only", "np.linalg.qr(a)")
    q, r = decomposed(lo, "qr", ("q", "r"), a, [(m, k), (k, n)])
    if mode.value == "r":
        return r
    return Record(QR, {"Q": q, "R": r}) if hasattr(QR, "_fields") else Sequence((q, r))


def lower_mirrored(a):
    """The Hermitian matrix of which the lower triangle is read, differentiated as the Hermitian part of `a`."""
    lower = np.tril(a, -1)
    mirrored = lower + np.conjugate(np.swapaxes(lower, -1, -2)) + np.eye(a.shape[-1]) * a.real
    return with_derivative_of(mirrored, 0.5 * (a + np.conjugate(np.swapaxes(a, -1, -2))))


def by_size(lo, m, n, dtype):
    """The cutoff of singular values that NumPy takes for a matrix of this size."""
    return lo.elementwise("mul", Static(float(np.finfo(dtype).eps)), Scalar(lo.b.imax(m, n)))


@lowers(np.linalg.pinv)
def lower_pinv(lo, a, rcond=Static(None), hermitian=Static(False), *, rtol=Static(1e-15)):
    if is_true(hermitian):
        a = lo.call_static(lower_mirrored, [square(lo, a)], {})
    a, m, n, _ = matrices(lo, a)
    given = rtol if is_none(rcond) else rcond
    cutoff = lo.atom(by_size(lo, m, n, a.dtype) if is_none(given) else given, PARTS.get(a.dtype, a.dtype))
    one = lambda p: (library_call(lo, "pinv", (n, m), a.dtype, p, Scalar(cutoff)),)  # noqa: E731
    return on_each(lo, (a,), (2,), one, [((n, m), a.dtype)])[0]


@lowers(np.linalg.lstsq)
def lower_lstsq(lo, a, b, rcond=Static(None)):
    """NumPy works in double precision whatever the dtype, and cuts accordingly."""
    (a, m, n, _), b = matrices(lo, a), lo.array(b)
    if b.rank:
        require_same(lo, m, b.shape[0], "Incompatible dimensions", "LinAlgError")
    cutoff = by_size(lo, m, n, "float64") if is_none(rcond) else rcond
    x = lo.call_static(np.matmul, [lower_pinv(lo, a, cutoff), b], {})
    why = "of what lstsq returns only the solution, the first part, is there"
    return Sequence((x, *(Undefined(why, lo.b.loc, True) for _ in range(3))))


@lowers(np.linalg.det)
def lower_det(lo, a):
    a = square(lo, a)
    one = lambda p: number_call(lo, "det", ("det",), p)  # noqa: E731
    return on_each(lo, (a,), (2,), one, [((), a.dtype)])[0]


def signed_logarithm(lo, a):
    """(sign, logarithm of the modulus) of a determinant; a complex sign comes as two of three numbers."""
    if not is_complex(a.dtype):
        return number_call(lo, "slogdet", ("sign", "logdet"), a)
    (found,) = array_call(lo, "complex_slogdet", [("v", (3,), PARTS[a.dtype])], a)
    re, im, log = (lo.b.load(found.arr, (k,), hint) for k, hint in enumerate(("sign_re", "sign_im", "logdet")))
    return Scalar(Complex(re, im)), Scalar(log)


@lowers(np.linalg.slogdet)
def lower_slogdet(lo, a):
    a = square(lo, a)
    one = lambda p: signed_logarithm(lo, p)  # noqa: E731
    kinds = [((), a.dtype), ((), PARTS.get(a.dtype, a.dtype))]
    sign, log = on_each(lo, (a,), (2,), one, kinds)
    return Record(SLOGDET, {"sign": sign, "logabsdet": log})
