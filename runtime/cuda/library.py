"""Library calls of core programs on a device: matrix products, decompositions, transforms and sorts, by CuPy or torch.

What devices have not (banded systems, Sylvester equations, roots and logarithms of matrices, which the CPU target does by
SciPy alone; `runtime/library_calls.py` says) is refused before anything runs. Under the simulator NumPy and SciPy compute.
Nothing is checked on a device, since that would wait for it: a singular or not positive definite matrix gives nan or
infinity, and raises nothing.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
from typing import Any

import numpy as np

from ..library_calls import CALLS
from . import arrays
from .availability import CudaUnavailable
from .simulation import SIMULATED


class Library:
    """A module with NumPy's interface, the modules of SciPy's that go with it, and its arrays."""

    def __init__(self, xp: Any, scipy: str):
        self.xp, self.scipy = xp, scipy

    def of(self, module: str) -> Any:
        """A module of SciPy's, or what the library has in its place."""
        return importlib.import_module(f"{self.scipy}.{module}")

    def quiet(self):
        """A context in which nothing waits for the device in order to raise an error."""
        if self.scipy == "scipy":
            return np.errstate(all="ignore")
        return importlib.import_module("cupyx").errstate(linalg="ignore")

    def taken(self, x):
        """An array as the library's, on the same memory."""
        if self.scipy == "scipy":
            return x._ary
        return arrays.back(x, "cupy")

    def scalar(self, x):
        """An operand that is a number: itself, or a cell as an array without axes."""
        return x if isinstance(x, (int, float, np.generic)) else x.reshape(())

    def write(self, out, value) -> None:
        out[...] = value.reshape(out.shape) if getattr(value, "ndim", 0) == 0 and hasattr(value, "reshape") else value

    def complex_of(self, x):
        return x.view(np.dtype(f"c{2 * x.dtype.itemsize}")).reshape(x.shape[:-1])

    def matmul_cn(self, a, b):
        return a.conj().T @ b

    def matmul_nc(self, a, b):
        return a @ b.conj().T

    def add_matmul_cn(self, out, a, b):
        out += a.conj().T @ b

    def add_matmul_nc(self, out, a, b):
        out += a @ b.conj().T


class NumPyLike(Library):
    """The calls by a module with NumPy's interface: CuPy, or NumPy under the simulator. Each returns its results; `matmul`,
    `add_matmul` and `gram` fill `out`."""

    # ---- products ----
    def matmul(self, out, a, b):
        self.xp.matmul(a, b, out=out)

    def add_matmul(self, out, a, b):
        out += self.xp.matmul(a, b)

    def gram(self, out, a):
        self.matmul(out, a.T, a)

    # ---- systems ----
    def solve(self, a, b):
        return self.xp.linalg.solve(a, b)

    def inv(self, a):
        return self.xp.linalg.inv(a)

    def cholesky(self, a):
        return self.xp.linalg.cholesky(a)

    def det(self, a):
        return self.xp.linalg.det(a)

    def slogdet(self, a):
        return tuple(self.xp.linalg.slogdet(a))

    def complex_slogdet(self, a):
        """The parts of the sign and the logarithm, as one vector."""
        sign, logarithm = self.slogdet(a)
        return self.xp.stack([sign.real, sign.imag, logarithm.real])

    def solve_triangular(self, a, b, lower, trans, unit):
        return self.of("linalg").solve_triangular(a, b, trans=int(trans), lower=bool(lower), unit_diagonal=bool(unit),
                                                  check_finite=False)

    def lu_factor(self, a):
        packed, pivots = self.of("linalg").lu_factor(a, check_finite=False)
        return packed, pivots.astype(np.int64)

    def factored(self, a):
        packed, pivots = self.lu_factor(a)
        return packed.T, pivots

    def solve_factored(self, factors, pivots, b, trans):
        packed = self.xp.ascontiguousarray(factors.T), pivots.astype(np.int32)
        return self.of("linalg").lu_solve(packed, b, trans=int(trans), check_finite=False)

    # ---- decompositions ----
    def eigh(self, a):
        return tuple(self.xp.linalg.eigh(a, UPLO="L"))

    def eigh_upper(self, a):
        return tuple(self.xp.linalg.eigh(a, UPLO="U"))

    def syevr(self, a, lower):
        return tuple(self.xp.linalg.eigh(a, UPLO="L" if lower else "U"))

    def eig(self, a):
        return tuple(self.xp.linalg.eig(a))

    def svd(self, a):
        return tuple(self.xp.linalg.svd(a, full_matrices=False))

    def qr(self, a):
        return tuple(self.xp.linalg.qr(a))

    def pinv(self, a, rcond):
        return self.xp.linalg.pinv(a, rcond)

    # ---- functions of matrices ----
    def expm(self, a):
        return self.of("linalg").expm(a)

    def expm_frechet(self, a, e):
        """The upper right block of the exponential of [[a, e], [0, a]] (N. Higham, Functions of Matrices, 2008, (3.16))."""
        n = a.shape[0]
        whole = self.xp.zeros((2 * n, 2 * n), a.dtype)
        whole[:n, :n], whole[:n, n:], whole[n:, n:] = a, e, a
        return self.expm(whole)[:n, n:]

    # ---- order ----
    def argsort(self, a):
        return self.xp.argsort(a, kind="stable")

    def argpartition(self, a, places):
        """Sorting parts it at every place."""
        return self.argsort(a)

    # ---- transforms, unscaled ----
    def fft(self, x, axes, sign):
        chosen = [k for k in range(x.ndim) if int(axes) >> k & 1]
        transform = self.xp.fft.fftn if sign < 0 else self.xp.fft.ifftn
        return transform(x, axes=chosen, norm="backward" if sign < 0 else "forward") if x.size else x

    def rfft(self, x):
        return self.xp.fft.rfft(x)

    def irfft(self, x, n):
        return self.xp.fft.irfft(x, n=n, norm="forward")


class Torch(NumPyLike):
    """The calls by torch, in the forms that do not check their results on the host."""

    def __init__(self, torch: Any):
        super().__init__(torch, "torch")

    def quiet(self):
        return self.xp.no_grad()

    def taken(self, x):
        return arrays.back(x, "torch").detach()

    def write(self, out, value) -> None:
        out.copy_(value.reshape(out.shape) if value.ndim == 0 else value)

    def complex_of(self, x):
        return self.xp.view_as_complex(x)

    def columns(self, b):
        """A right-hand side as a matrix, and what makes a solution of it."""
        return (b.unsqueeze(1), lambda x: x.squeeze(1)) if b.ndim == 1 else (b, lambda x: x)

    def matmul(self, out, a, b):
        self.xp.matmul(a, b, out=out)

    def add_matmul(self, out, a, b):
        if a.ndim == b.ndim == 2:
            self.xp.addmm(out, a, b, out=out)
        else:
            out += self.xp.matmul(a, b)

    def solve(self, a, b):
        return self.xp.linalg.solve_ex(a, b)[0]

    def inv(self, a):
        return self.xp.linalg.inv_ex(a)[0]

    def cholesky(self, a):
        return self.xp.linalg.cholesky_ex(a)[0]

    def solve_triangular(self, a, b, lower, trans, unit):
        right, back = self.columns(b)
        upper = bool(lower) == bool(trans)
        return back(self.xp.linalg.solve_triangular(a.mT if trans else a, right, upper=upper, unitriangular=bool(unit)))

    def lu_factor(self, a):
        packed, pivots, _ = self.xp.linalg.lu_factor_ex(a)
        return packed, pivots.to(self.xp.int64) - 1

    def solve_factored(self, factors, pivots, b, trans):
        right, back = self.columns(b)
        packed = factors.mT.contiguous()
        return back(self.xp.linalg.lu_solve(packed, (pivots + 1).to(self.xp.int32), right, adjoint=bool(trans)))

    def eigh(self, a):
        return tuple(self.xp.linalg.eigh(a, UPLO="L"))

    def eigh_upper(self, a):
        return tuple(self.xp.linalg.eigh(a, UPLO="U"))

    def syevr(self, a, lower):
        return tuple(self.xp.linalg.eigh(a, UPLO="L" if lower else "U"))

    def pinv(self, a, rcond):
        return self.xp.linalg.pinv(a, rtol=rcond)

    def expm(self, a):
        return self.xp.linalg.matrix_exp(a)

    def expm_frechet(self, a, e):
        zero = self.xp.zeros_like(a)
        whole = self.xp.cat([self.xp.cat([a, e], 1), self.xp.cat([zero, a], 1)])
        return self.expm(whole)[:len(a), len(a):]

    def argsort(self, a):
        return self.xp.argsort(a, stable=True)

    def fft(self, x, axes, sign):
        chosen = [k for k in range(x.ndim) if int(axes) >> k & 1]
        transform = self.xp.fft.fftn if sign < 0 else self.xp.fft.ifftn
        return transform(x, dim=chosen, norm="backward" if sign < 0 else "forward") if x.numel() else x


_FILLING = ("matmul", "add_matmul", "add_matmul_cn", "add_matmul_nc", "gram")        # they take the result's array here too


@functools.cache
def by(library: str) -> NumPyLike:
    """What makes the calls for arrays of a library. CudaUnavailable if there is nothing to make them with."""
    if SIMULATED:
        return NumPyLike(np, "scipy")
    if library in ("cupy", "torch"):
        return NumPyLike(sys.modules["cupy"], "cupyx.scipy") if library == "cupy" else Torch(sys.modules["torch"])
    for name in sorted(("cupy", "torch"), key=lambda name: name not in sys.modules):       # one in use already, first
        with contextlib.suppress(ImportError):
            if importlib.import_module(name).cuda.is_available():               # torch may be one for the CPU
                return by(name)
    raise CudaUnavailable("matrix products, decompositions, sorts and Fourier transforms on a device need CuPy or torch "
                          "for CUDA, and neither is installed", "pip install cupy-cuda13x")


def call(device, op: str, outs, args, static=()) -> None:
    """Make the library call `op` of core programs on a device's stream.

    outs: arrays of the results' shapes, or cells for results that are numbers; filled on the device. args: arrays,
    cells and numbers. Complex arrays are real ones whose last axis holds the parts.
    """
    known = CALLS.get(op)
    if known is None or not known.device:
        raise NotImplementedError(f"`{op}` is not available on a device")
    made = by(device.library)
    with _on_stream(device, made), made.quiet():
        targets = [made.taken(out) for out in outs]
        values = [made.taken(x) if arrays.is_array(x) else x for x in args]
        for given, kinds in zip((targets, values), (known.results or "", known.operands), strict=True):
            given[:] = [made.complex_of(x) if kinds[k:k + 1] == "c" else x for k, x in enumerate(given)]
        name = op if op == "complex_slogdet" else op.replace("complex_", "")
        if name in _FILLING:
            getattr(made, name)(targets[0], *values)
            return
        if name == "pinv":
            values[1] = made.scalar(values[1])
        if name == "irfft":
            values.append(targets[0].shape[-1])
        if not all(_size(t) for t in targets):
            return
        found = getattr(made, name)(*values, *static)
        for target, value in zip(targets, found if isinstance(found, tuple) else (found,), strict=True):
            made.write(target, value)


def _size(x) -> int:
    return x.numel() if hasattr(x, "numel") else x.size


def _on_stream(device, made):
    """A context in which the library enqueues on the device's stream."""
    if made.scipy == "scipy" or (device.library in ("cupy", "torch") and device.is_current):
        return contextlib.nullcontext()
    if made.scipy == "torch":
        streams = made.xp.cuda
        return streams.stream(streams.ExternalStream(device.handle) if device.handle else streams.default_stream())
    return made.xp.cuda.ExternalStream(device.handle) if device.handle else made.xp.cuda.Stream.null


__all__ = ["NumPyLike", "Torch", "by", "call"]
