"""Functions of `scipy.linalg`. Options that spare SciPy copies or checks (`overwrite_a`, `check_finite`) mean nothing here.

Where a function takes a matrix as symmetric (`cholesky`, `eigh`, `solve` with assume_a="pos" or "sym"), the value is that of
the triangle which SciPy reads, and the derivative that of the symmetric part.
"""

import numpy as np
import scipy.linalg as la

from ...runtime.linear_algebra.lapack import lu_factor as lu_factors
from ...runtime.linear_algebra.lapack import solve_banded as banded
from ...runtime.linear_algebra.lapack import solve_triangular as triangular
from ...runtime.linear_algebra.matrix_functions import expm as exponential
from ...runtime.linear_algebra.matrix_functions import expm_frechet as exponential_slope
from ...transforms.lower.numpy_functions import factorisations  # noqa: F401  (it teaches the lowering these calls)
from ...transforms.lower.numpy_functions import matrix_functions as functions
from ...transforms.lower.numpy_functions.linear_algebra import eigh_of_scipy
from ...transforms.lower.numpy_functions.reductions import known, unsupported
from .. import matrix_functions  # noqa: F401  (its rules)
from ..decorators import defines, with_derivative_of
from ..factorisations import order_of
from ..registry import REGISTRY


def complex_too(target):
    """As `defines`, for a definition that holds for complex matrices as it is written."""
    REGISTRY.complex_definitions.add(target)
    return defines(target)


def transposed(a):
    return np.swapaxes(a, -1, -2)


def spacing(a):
    """The distance of 1 to the next number of the dtype in which functions of `a` are computed."""
    return np.finfo(np.result_type(a.dtype, np.float32)).eps


def adjoint(a):
    return np.conjugate(np.swapaxes(a, -1, -2))


def symmetric(a, lower):
    """The symmetric matrix with this triangle of `a`, differentiated as the symmetric part of `a`."""
    triangle = np.tril(a) + transposed(np.tril(a, -1)) if lower else np.triu(a) + transposed(np.triu(a, 1))
    return with_derivative_of(triangle, 0.5 * (a + transposed(a)))


def hermitian(a, lower):
    """The same for a Hermitian matrix, whose diagonal is real."""
    if a.dtype.kind != "c":
        return symmetric(a, lower)
    strict = np.tril(a, -1) if lower else np.triu(a, 1)
    diagonal = np.eye(a.shape[-1]) * a.real
    return with_derivative_of(strict + diagonal + adjoint(strict), 0.5 * (a + adjoint(a)))


def assumed(a, kind, lower):
    """`a` as solve and inv take it, which may read one triangle."""
    if kind in ("sym", "symmetric"):
        return symmetric(a, lower)
    return hermitian(a, lower) if kind in ("pos", "her", "positive definite", "hermitian") else a


# ---- systems ---------------------------------------------------------------------------------------------
@complex_too(la.solve)
def solve(a, b, lower=False, overwrite_a=False, overwrite_b=False, check_finite=True, assume_a=None, transposed=False):
    m = np.asarray(a)
    if assume_a in ("upper triangular", "lower triangular"):
        return solve_triangular(m, b, 1 if transposed else 0, assume_a == "lower triangular")
    m = assumed(m, assume_a, lower)
    return np.linalg.solve(np.swapaxes(m, -1, -2) if transposed else m, b)


@complex_too(la.solve_triangular)
def solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, check_finite=True):
    m = np.conjugate(a) if trans in (2, "C") else a
    return triangular(m, b, lower, trans in (1, 2, "T", "C"), unit_diagonal)


@complex_too(la.inv)
def inv(a, overwrite_a=False, check_finite=True, assume_a=None, lower=False):
    return np.linalg.inv(assumed(np.asarray(a), assume_a, lower))


@complex_too(la.det)
def det(a, overwrite_a=False, check_finite=True):
    return np.linalg.det(a)


@complex_too(la.solve_banded)
def solve_banded(l_and_u, ab, b, overwrite_ab=False, overwrite_b=False, check_finite=True):
    below, above = l_and_u
    return banded(ab, b, below, above)


@complex_too(la.solveh_banded)
def solveh_banded(ab, b, overwrite_ab=False, overwrite_b=False, lower=False, check_finite=True):
    """The other half of the bands is put in, and the general solver takes both."""
    rows = np.asarray(ab)
    width, n = len(rows) - 1, rows.shape[1]
    full = np.zeros((2 * width + 1, n), dtype=rows.dtype)
    full[width] = rows[0].real if lower else rows[width].real
    for k in range(1, width + 1):
        line = rows[k, :n - k] if lower else np.conjugate(rows[width - k, k:])      # below the diagonal
        full[width + k, :n - k] = line
        full[width - k, k:] = np.conjugate(line)
    return banded(full, b, width, width)


@complex_too(la.solve_toeplitz)
def solve_toeplitz(c_or_cr, b, check_finite=True):
    """By a general solver, in n^3 operations: stabler than the recursion of SciPy, which takes n^2."""
    if isinstance(c_or_cr, tuple):
        return np.linalg.solve(toeplitz(c_or_cr[0], c_or_cr[1]), b)
    return np.linalg.solve(toeplitz(c_or_cr), b)


@complex_too(la.solve_sylvester)
def solve_sylvester(a, b, q):
    return functions.solve_sylvester(a, b, q)


@complex_too(la.solve_continuous_lyapunov)
def solve_continuous_lyapunov(a, q):
    """a x + x a^H = q."""
    return functions.solve_sylvester(a, adjoint(np.asarray(a)), q)


@complex_too(la.solve_discrete_lyapunov)
def solve_discrete_lyapunov(a, q, method=None):
    """a x a^H - x + q = 0, by a bilinear transformation of `a` or as one system (Gajic and Qureshi, Lyapunov matrix equation
    in system stability and control, 1995). Without a method SciPy takes the second one where `a` is small."""
    m = np.asarray(a)
    one = np.eye(m.shape[0], dtype=m.dtype)
    if method == "direct":
        left = np.kron(m, np.conjugate(m))
        return np.reshape(np.linalg.solve(np.eye(left.shape[0]) - left, np.ravel(q)), np.shape(q))
    inverse = np.linalg.inv(adjoint(m) + one)
    b = (adjoint(m) - one) @ inverse
    return functions.solve_sylvester(adjoint(b), b, -2.0 * (np.linalg.inv(m + one) @ q @ inverse))


@complex_too(la.lstsq)
def lstsq(a, b, cond=None, overwrite_a=False, overwrite_b=False, check_finite=True, lapack_driver=None):
    m = np.asarray(a)
    return np.linalg.lstsq(m, b, rcond=spacing(m) if cond is None else cond)


# ---- factors ---------------------------------------------------------------------------------------------
@complex_too(la.cholesky)
def cholesky(a, lower=False, overwrite_a=False, check_finite=True):
    m = np.asarray(a)
    return np.linalg.cholesky(m) if lower else adjoint(np.linalg.cholesky(adjoint(m)))


@complex_too(la.cho_factor)
def cho_factor(a, lower=False, overwrite_a=False, check_finite=True):
    """The other triangle is 0; SciPy leaves what it finds there."""
    return cholesky(a, lower), lower


@complex_too(la.cho_solve)
def cho_solve(c_and_lower, b, overwrite_b=False, check_finite=True):
    factor, lower = c_and_lower
    first = triangular(factor if lower else np.conjugate(factor), b, lower, not lower, False)
    return triangular(np.conjugate(factor) if lower else factor, first, lower, lower, False)


@complex_too(la.lu_factor)
def lu_factor(a, overwrite_a=False, check_finite=True):
    return lu_factors(a)


@complex_too(la.lu_solve)
def lu_solve(lu_and_piv, b, trans=0, overwrite_b=False, check_finite=True):
    packed, pivots = lu_and_piv
    order = order_of(pivots, packed.shape[0])
    right = np.asarray(b)
    if trans == 0:
        return triangular(packed, triangular(packed, right[order], True, False, True), False, False, False)
    if trans == 2:
        packed = np.conjugate(packed)
    moved = triangular(packed, triangular(packed, right, False, True, False), True, True, True)
    out = np.zeros_like(moved)
    out[order] = moved
    return out


@complex_too(la.lu)
def lu(a, permute_l=False, overwrite_a=False, check_finite=True, p_indices=False):
    m = np.asarray(a)
    if m.ndim != 2:
        return unsupported("scipy.linalg.lu of stacked matrices", "loop over the stack")
    packed, pivots = lu_factors(m)
    rows, k = m.shape[0], min(m.shape[0], m.shape[1])
    order = order_of(pivots, rows)
    lower, upper = np.tril(packed[:, :k], -1) + np.eye(rows, k, dtype=packed.dtype), np.triu(packed[:k])
    where = np.argsort(order)
    if permute_l:
        return lower[where], upper
    if p_indices:
        return where, lower, upper
    permutation = np.zeros((rows, rows), dtype=packed.real.dtype)
    permutation[order, np.arange(rows)] = 1.0
    return permutation, lower, upper


@complex_too(la.qr)
def qr(a, overwrite_a=False, lwork=None, mode="full", pivoting=False, check_finite=True):
    if pivoting:
        return unsupported("scipy.linalg.qr with pivoting", "leave the columns in their order")
    if mode == "economic":
        return np.linalg.qr(a)
    return unsupported("scipy.linalg.qr in this mode", "mode='economic': other columns of Q are no functions of the matrix")


@complex_too(la.svd)
def svd(a, full_matrices=True, compute_uv=True, overwrite_a=False, check_finite=True, lapack_driver="gesdd"):
    return np.linalg.svd(a, full_matrices, compute_uv)


@complex_too(la.svdvals)
def svdvals(a, overwrite_a=False, check_finite=True):
    return np.linalg.svd(a, compute_uv=False)


@complex_too(la.pinv)
def pinv(a, atol=None, rtol=None, return_rank=False, check_finite=True):
    if return_rank or atol is not None:
        return unsupported("scipy.linalg.pinv with return_rank or atol", "give rtol, or neither")
    m = np.asarray(a)
    cutoff = max(m.shape[-2], m.shape[-1]) * spacing(m) if rtol is None else rtol
    return np.linalg.pinv(m, cutoff)


# ---- eigenvalues -----------------------------------------------------------------------------------------
@complex_too(la.eigh)
def eigh(a, b=None, lower=True, eigvals_only=False, overwrite_a=False, overwrite_b=False, type=1, check_finite=True,
         subset_by_index=None, subset_by_value=None, driver=None):
    """The generalised problem a v = b v w by the Cholesky factor of b (Golub and Van Loan, Matrix computations, 8.7.2)."""
    if type != 1 or subset_by_value is not None:
        return unsupported("scipy.linalg.eigh with type or subset_by_value", "use type 1 and subset_by_index")
    m = np.asarray(a) if lower else adjoint(np.asarray(a))
    if b is None:
        w, v = eigh_of_scipy(a, lower)
    else:
        factor = np.linalg.cholesky(np.asarray(b) if lower else adjoint(np.asarray(b)))
        left = triangular(factor, hermitian(m, True), True, False, False)
        w, y = np.linalg.eigh(triangular(factor, adjoint(left), True, False, False))
        v = triangular(np.conjugate(factor), y, True, True, False)
    if subset_by_index is not None:
        first, last = subset_by_index
        w, v = w[..., first:last + 1], v[..., first:last + 1]
    return w if eigvals_only else (w, v)


@complex_too(la.eigvalsh)
def eigvalsh(a, b=None, lower=True, overwrite_a=False, overwrite_b=False, type=1, check_finite=True, subset_by_index=None,
             subset_by_value=None, driver=None):
    return eigh(a, b, lower, True, type=type, subset_by_index=subset_by_index, subset_by_value=subset_by_value)


@complex_too(la.eig)
def eig(a, b=None, left=False, right=True, overwrite_a=False, overwrite_b=False, check_finite=True,
        homogeneous_eigvals=False):
    if b is not None or left or homogeneous_eigvals:
        return unsupported("scipy.linalg.eig with b, left or homogeneous_eigvals", "give one matrix, for right eigenvectors")
    return np.linalg.eig(a) if right else np.linalg.eigvals(a)


@complex_too(la.eigvals)
def eigvals(a, b=None, overwrite_a=False, check_finite=True, homogeneous_eigvals=False):
    return eig(a, b, False, False, homogeneous_eigvals=homogeneous_eigvals)


# ---- functions of matrices -------------------------------------------------------------------------------
@complex_too(la.expm)
def expm(A):
    return exponential(A)


@complex_too(la.expm_frechet)
def expm_frechet(A, E, method=None, compute_expm=True, check_finite=True):
    return (exponential(A), exponential_slope(A, E)) if compute_expm else exponential_slope(A, E)


@complex_too(la.sqrtm)
def sqrtm(A, disp=True, blocksize=64):
    if not disp:
        return unsupported("scipy.linalg.sqrtm with disp=False", "the error is norm(x @ x - a)")
    return functions.sqrtm(A)


@complex_too(la.logm)
def logm(A, disp=True):
    if not disp:
        return unsupported("scipy.linalg.logm with disp=False", "the error is norm(expm(x) - a)")
    return functions.logm(A)


@complex_too(la.fractional_matrix_power)
def fractional_matrix_power(A, t):
    if known(t == int(t)):
        return np.linalg.matrix_power(A, int(t))
    return functions.matrix_power(A, t)


@complex_too(la.cosm)
def cosm(A):
    a = np.asarray(A)
    return 0.5 * (exponential(1j * a) + exponential(-1j * a)) if a.dtype.kind == "c" else exponential(1j * a).real


@complex_too(la.sinm)
def sinm(A):
    a = np.asarray(A)
    return -0.5j * (exponential(1j * a) - exponential(-1j * a)) if a.dtype.kind == "c" else exponential(1j * a).imag


@complex_too(la.tanm)
def tanm(A):
    return np.linalg.solve(cosm(A), sinm(A))


@complex_too(la.coshm)
def coshm(A):
    a = np.asarray(A)
    return 0.5 * (exponential(a) + exponential(-a))


@complex_too(la.sinhm)
def sinhm(A):
    a = np.asarray(A)
    return 0.5 * (exponential(a) - exponential(-a))


@complex_too(la.tanhm)
def tanhm(A):
    return np.linalg.solve(coshm(A), sinhm(A))


@complex_too(la.norm)
def norm(a, ord=None, axis=None, keepdims=False, check_finite=True) -> float:
    """Python's float of a vector of floats, whose length BLAS gives."""
    size = np.linalg.norm(a, ord, axis, keepdims)
    of_floats = np.ndim(a) == 1 and np.issubdtype(np.asarray(a).dtype, np.inexact)
    return float(size) if of_floats and axis is None and not keepdims and (ord is None or ord == 2) else size


# ---- special matrices ------------------------------------------------------------------------------------
@complex_too(la.toeplitz)
def toeplitz(c, r=None):
    column = np.ravel(c)
    row = np.conjugate(column) if r is None else np.ravel(r)
    i, j = np.arange(column.shape[0])[:, None], np.arange(row.shape[0])[None, :]
    return np.concatenate((column[::-1], row[1:]))[column.shape[0] - 1 - i + j]


@complex_too(la.hankel)
def hankel(c, r=None):
    column = np.ravel(c)
    row = np.zeros_like(column) if r is None else np.ravel(r)
    i, j = np.arange(column.shape[0])[:, None], np.arange(row.shape[0])[None, :]
    return np.concatenate((column, row[1:]))[i + j]


@complex_too(la.circulant)
def circulant(c):
    column = np.asarray(c)
    n = column.shape[0]
    return column[(np.arange(n)[:, None] - np.arange(n)[None, :]) % n]


@complex_too(la.block_diag)
def block_diag(*arrs):
    blocks = [np.atleast_2d(a) for a in arrs]
    rows, columns = sum([b.shape[0] for b in blocks]), sum([b.shape[1] for b in blocks])
    kind = blocks[0].dtype
    for b in blocks[1:]:
        kind = np.promote_types(kind, b.dtype)
    out = np.zeros((rows, columns), dtype=kind)
    i, j = 0, 0
    for b in blocks:
        out[i:i + b.shape[0], j:j + b.shape[1]] = b
        i, j = i + b.shape[0], j + b.shape[1]
    return out


@complex_too(la.khatri_rao)
def khatri_rao(a, b):
    x, y = np.asarray(a), np.asarray(b)
    return (x[:, None, :] * y[None, :, :]).reshape(x.shape[0] * y.shape[0], x.shape[1])
