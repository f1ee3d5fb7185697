"""Library calls: shapes of the results, operands, static operands, and what NumPy or SciPy gives."""

import numpy as np
import scipy.linalg

from autodiff.runtime.linear_algebra import factored as factoring

GENERATOR = np.random.default_rng(5)


def pairs(z):
    return np.ascontiguousarray(z).reshape((*z.shape, 1)).view(z.real.dtype)


A = GENERATOR.standard_normal((4, 4))
S = A @ A.T + np.eye(4)
B, V = GENERATOR.standard_normal((4, 2)), GENERATOR.standard_normal(4)
Z = A + 1j * GENERATOR.standard_normal((4, 4))
H = Z @ Z.conj().T + np.eye(4)
CASES = {
    "matmul": ([(4, 2)], (A, B), (), lambda: [A @ B]),
    "gram": ([(2, 2)], (B,), (), lambda: [B.T @ B]),
    "solve": ([(4, 2)], (A, B), (), lambda: [np.linalg.solve(A, B)]),
    "inv": ([(4, 4)], (A,), (), lambda: [np.linalg.inv(A)]),
    "cholesky": ([(4, 4)], (S,), (), lambda: [np.linalg.cholesky(S)]),
    "det": ([(1,)], (A,), (), lambda: [[np.linalg.det(A)]]),
    "slogdet": ([(1,), (1,)], (A,), (), lambda: [[x] for x in np.linalg.slogdet(A)]),
    "eigh": ([(4,), (4, 4)], (S,), (), lambda: np.linalg.eigh(S)),
    "eigh_upper": ([(4,), (4, 4)], (S,), (), lambda: np.linalg.eigh(S, "U")),
    "syevr": ([(4,), (4, 4)], (S, True), (), lambda: np.linalg.eigh(S)),          # with the signs of the library
    "svd": ([(4, 2), (2,), (2, 2)], (B,), (), lambda: np.linalg.svd(B, full_matrices=False)),
    "qr": ([(4, 2), (2, 2)], (B,), (), lambda: np.linalg.qr(B)),
    "pinv": ([(2, 4)], (B, 1e-15), (), lambda: [np.linalg.pinv(B)]),
    "expm": ([(4, 4)], (A,), (), lambda: [scipy.linalg.expm(A)]),
    "expm_frechet": ([(4, 4)], (A, S), (), lambda: [scipy.linalg.expm_frechet(A, S, compute_expm=False)]),
    "solve_triangular": ([(4,)], (S, V, True, True, False), (), lambda: [np.linalg.solve(np.tril(S).T, V)]),
    "lu_factor": ([(4, 4), (4,)], (A,), (), lambda: scipy.linalg.lu_factor(A)),
    "factored": ([(4, 4), (4,)], (A,), (), lambda: factoring.factored(A)),
    "argsort": ([(4,)], (V,), (), lambda: [np.argsort(V)]),
    "argpartition": ([(4,)], (V, np.array([1])), (), lambda: [np.argsort(V)]),
    "eig": ([(4, 2), (4, 4, 2)], (A,), (), lambda: [pairs(x.astype(complex)) for x in np.linalg.eig(A)]),
    "complex_matmul": ([(4, 4, 2)], (pairs(Z), pairs(H)), (), lambda: [pairs(Z @ H)]),
    "complex_matmul_cn": ([(4, 4, 2)], (pairs(Z), pairs(H)), (), lambda: [pairs(Z.conj().T @ H)]),
    "complex_matmul_nc": ([(4, 4, 2)], (pairs(H), pairs(Z)), (), lambda: [pairs(H @ Z.conj().T)]),
    "complex_solve": ([(4, 4, 2)], (pairs(Z), pairs(H)), (), lambda: [pairs(np.linalg.solve(Z, H))]),
    "complex_inv": ([(4, 4, 2)], (pairs(Z),), (), lambda: [pairs(np.linalg.inv(Z))]),
    "complex_det": ([(2,)], (pairs(Z),), (), lambda: [pairs(np.linalg.det(Z)[None])[0]]),
    "complex_slogdet": ([(3,)], (pairs(Z),), (), lambda: [
        [(s := np.linalg.slogdet(Z))[0].real, s[0].imag, s[1]]]),
    "complex_cholesky": ([(4, 4, 2)], (pairs(H),), (), lambda: [pairs(np.linalg.cholesky(H))]),
    "complex_eigh": ([(4,), (4, 4, 2)], (pairs(H),), (), lambda: [
        x if x.ndim == 1 else pairs(x) for x in np.linalg.eigh(H)]),
    "complex_eigh_upper": ([(4,), (4, 4, 2)], (pairs(H),), (), lambda: [
        x if x.ndim == 1 else pairs(x) for x in np.linalg.eigh(H, "U")]),
    "complex_qr": ([(4, 4, 2), (4, 4, 2)], (pairs(Z),), (), lambda: list(map(pairs, np.linalg.qr(Z)))),
    "complex_pinv": ([(4, 4, 2)], (pairs(Z), 1e-15), (), lambda: [pairs(np.linalg.pinv(Z))]),
    "complex_solve_triangular": ([(4, 4, 2)], (pairs(H), pairs(Z), True, False, True), (), lambda: [
        pairs(np.linalg.solve(np.tril(H, -1) + np.eye(4), Z))]),
    "complex_expm": ([(4, 4, 2)], (pairs(Z),), (), lambda: [pairs(scipy.linalg.expm(Z))]),
    "fft": ([(4, 4, 2)], (pairs(Z), 2, 1), (), lambda: [pairs(np.fft.ifft(Z) * 4)]),
    "rfft": ([(4, 3, 2)], (A,), (), lambda: [pairs(np.fft.rfft(A))]),
    "irfft": ([(4, 5)], (pairs(np.fft.rfft(A)),), (), lambda: [np.fft.irfft(np.fft.rfft(A), 5) * 5]),
}
