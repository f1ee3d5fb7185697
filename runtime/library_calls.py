"""The library calls of core programs: what no loop in Python should do, by the names of their operations.

A row says all that the compiler and generated text must know of a call before it is made. Its lowering is in
`transforms/lower/`, its pullback and pushforward are in `autodiff/rules/`, a device makes it by the method of its name in
`runtime/cuda/library.py`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LibraryCall:
    """home: the file of `runtime/` that has `helper`, the function that generated code calls for it. fills: whether that is
    given the array of the result first, and fills it; adds: or adds to what lies in it. results, operands: which are arrays
    of complex numbers ("c", others "r"), whose last axis holds the parts; None: none. device: whether devices have it."""

    name: str
    home: str
    fills: bool = False
    results: str | None = None
    operands: str = ""
    device: bool = True
    helper: str = ""
    adds: bool = False


CALLS: dict[str, LibraryCall] = {}


def _call(name: str, home: str, signature: str = "", fills: bool = False, device: bool = True, helper: str = "",
          adds: bool = False) -> None:
    """signature: operands -> results of a call with complex ones."""
    operands, _, results = signature.partition("->")
    helper = helper or (f"{name}_into" if fills else name)
    CALLS[name] = LibraryCall(name, home, fills, results if signature else None, operands, device, helper, adds)


def _both(name: str, home: str, complex_home: str, signature: str, fills: bool = False, device: bool = True) -> None:
    """A call and its complex form, which fills its result."""
    _call(name, home, fills=fills, device=device)
    _call(f"complex_{name}", complex_home, signature, fills=True, device=device)


_both("matmul", "linear_algebra.linalg", "linear_algebra.complex_linalg", "cc->c", fills=True)
_call("complex_matmul_cn", "linear_algebra.complex_linalg", "cc->c", fills=True)       # a^H b
_call("complex_matmul_nc", "linear_algebra.complex_linalg", "cc->c", fills=True)       # a b^H
_call("add_matmul", "linear_algebra.linalg", fills=True, helper="add_matmul", adds=True)
_call("block_product", "linear_algebra.linalg", fills=True, device=False)
_call("add_block_product", "linear_algebra.linalg", fills=True, device=False, helper="add_block_product", adds=True)
_call("multiples", "linear_algebra.linalg", fills=True, device=False)
_call("add_multiples", "linear_algebra.linalg", fills=True, device=False, helper="add_multiples", adds=True)
_call("add_outer_products", "linear_algebra.linalg", fills=True, device=False, helper="add_outer_products", adds=True)
for _name in ("complex_matmul", "complex_matmul_cn", "complex_matmul_nc"):
    _call(f"add_{_name}", "linear_algebra.complex_linalg", "cc->c", fills=True, helper=f"add_{_name}", adds=True)
_call("gram", "linear_algebra.linalg", fills=True)
_both("solve", "linear_algebra.linalg", "linear_algebra.complex_linalg", "cc->c")
_both("inv", "linear_algebra.linalg", "linear_algebra.complex_linalg", "c->c")
_both("det", "linear_algebra.linalg", "linear_algebra.complex_linalg", "c->c")
_both("slogdet", "linear_algebra.linalg", "linear_algebra.complex_linalg", "c->r")
_both("cholesky", "linear_algebra.linalg", "linear_algebra.complex_linalg", "c->c")
_both("pinv", "linear_algebra.decompositions", "linear_algebra.complex_decompositions", "cr->c")
_call("eigh", "linear_algebra.decompositions")
_call("eigh_upper", "linear_algebra.decompositions")
_call("syevr", "linear_algebra.decompositions")
_call("svd", "linear_algebra.decompositions")
_call("qr", "linear_algebra.decompositions")
_call("complex_eigh", "linear_algebra.complex_decompositions", "c->rc")
_call("complex_eigh_upper", "linear_algebra.complex_decompositions", "c->rc")
_call("complex_svd", "linear_algebra.complex_decompositions", "c->crc")
_call("complex_qr", "linear_algebra.complex_decompositions", "c->cc")
_call("eig", "linear_algebra.eigenvalues", "r->cc")
_call("complex_eig", "linear_algebra.eigenvalues", "c->cc")
_call("factored", "linear_algebra.factored")
_call("solve_factored", "linear_algebra.factored", fills=True)
_both("solve_triangular", "linear_algebra.lapack", "linear_algebra.complex_systems", "cc->c", fills=True)
_call("lu_factor", "linear_algebra.lapack")
_call("complex_lu_factor", "linear_algebra.complex_systems", "c->cr")
_both("solve_banded", "linear_algebra.lapack", "linear_algebra.complex_systems", "ccrr->c", device=False)
_both("expm", "linear_algebra.matrix_functions", "linear_algebra.complex_systems", "c->c")
_both("expm_frechet", "linear_algebra.matrix_functions", "linear_algebra.complex_systems", "cc->c")
_both("sqrtm", "linear_algebra.matrix_roots", "linear_algebra.matrix_roots", "c->c", fills=True, device=False)
_both("logm", "linear_algebra.matrix_roots", "linear_algebra.matrix_roots", "c->c", fills=True, device=False)
_both("matrix_power", "linear_algebra.matrix_roots", "linear_algebra.matrix_roots", "cr->c", fills=True, device=False)
_both("solve_sylvester", "linear_algebra.matrix_roots", "linear_algebra.matrix_roots", "ccc->c", fills=True, device=False)
_call("fft", "fourier", "crr->c", fills=True)
_call("rfft", "fourier", "r->c", fills=True)
_call("irfft", "fourier", "c->r", fills=True)
_call("flat", "memory", device=False)
_call("shaped", "memory", device=False)
_call("argsort", "order")
_call("argpartition", "order")
_call("is_invertible", "linear_algebra.linalg", device=False)
_call("is_positive_definite", "linear_algebra.linalg", device=False)
_call("save_state", "generators", fills=True, device=False, helper="save_state")
_call("restore_state", "generators", fills=True, device=False, helper="restore_state")

__all__ = ["CALLS", "LibraryCall"]
