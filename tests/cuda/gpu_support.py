"""Skips what imports it where there is no GPU, or where the simulator stands in its place."""

import os

import pytest

pytest.importorskip("numba_cuda", reason="the CUDA target needs numba-cuda")
if os.environ.get("NUMBA_ENABLE_CUDASIM") != "0":
    pytest.skip("these tests need a GPU, and NUMBA_ENABLE_CUDASIM=0", allow_module_level=True)

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")         # JAX takes three quarters of the memory otherwise

from numba import cuda

if not cuda.is_available():
    pytest.skip("no GPU was found", allow_module_level=True)

__all__ = ["cuda"]
