"""Polynomials and sequences of powers. Coefficients stand with the highest power first, as in NumPy."""

import numpy as np

from ..decorators import defines


@defines(np.polyval)
def polyval(p, x):
    """Horner's scheme."""
    c = np.asarray(p)
    at = np.asarray(x)
    y = np.zeros_like(at) * at + (c[0] if c.shape[0] > 0 else 0)
    for k in range(1, c.shape[0]):
        y = y * at + c[k]
    return y


@defines(np.polyder)
def polyder(p, m=1):
    c = np.asarray(p)
    for _ in range(m):
        n = c.shape[0] - 1
        c = c[:-1] * np.arange(n, 0, -1)
    return c


@defines(np.vander)
def vander(x, N=None, increasing=False):
    """Columns of powers, each the one before times `x`."""
    v = np.asarray(x)
    count = v.shape[0] if N is None else N
    out = np.ones((v.shape[0], count), dtype=np.result_type(v.dtype, np.int64))
    for k in range(1, count):
        out[:, k] = out[:, k - 1] * v
    return out if increasing else out[:, ::-1]


@defines(np.logspace)
def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None):
    result = base ** np.linspace(start, stop, num, endpoint)
    return result if dtype is None else result.astype(dtype)


@defines(np.geomspace)
def geomspace(start, stop, num=50, endpoint=True):
    """Equal ratios; both ends of one sign."""
    if np.any(np.asarray(start) == 0.0) or np.any(np.asarray(stop) == 0.0):
        raise ValueError("Geometric sequence cannot include zero")
    return start * (stop / start) ** np.linspace(0.0, 1.0, num, endpoint)


@defines(np.ldexp)
def ldexp(x1, x2):
    """Two factors, either of which a float holds where their product is smaller or larger than one."""
    n = x2 if np.ndim(x2) == 0 else np.asarray(x2)
    if np.asarray(x2).dtype == float:
        raise TypeError("ufunc 'ldexp' not supported for the input types")
    half = n // 2
    return x1 * power_of_two(half, x1) * power_of_two(n - half, x1)


def power_of_two(n, like):
    return 2.0 ** n if np.ndim(n) == 0 else np.exp2(n).astype(np.asarray(like).dtype)


@defines(np.polyadd)
def polyadd(a1, a2):
    p, q = np.atleast_1d(a1), np.atleast_1d(a2)
    n = max(p.shape[0], q.shape[0])
    total = np.zeros(n, dtype=(p[:1] + q[:1]).dtype)
    total[n - p.shape[0]:] += p
    total[n - q.shape[0]:] += q
    return total


@defines(np.polysub)
def polysub(a1, a2):
    return np.polyadd(a1, -np.asarray(a2))


@defines(np.polymul)
def polymul(a1, a2):
    p, q = np.atleast_1d(a1), np.atleast_1d(a2)
    if p[0] == 0 or q[0] == 0:
        raise ValueError("np.polymul is differentiated for polynomials whose first coefficients are not 0")
    return np.convolve(p, q)


@defines(np.polyint)
def polyint(p, m=1, k=None):
    c = np.asarray(p)
    for i in range(m):
        n = c.shape[0]
        first = 0.0 if k is None else k if np.ndim(k) == 0 else k[i]
        c = np.concatenate((c / np.arange(n, 0, -1), np.reshape(first, (1,))))
    return c
