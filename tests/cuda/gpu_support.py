"""Skips what imports it where there is no GPU, or where the simulator stands in its place."""

import os

import pytest

pytest.importorskip("numba_cuda", reason="the CUDA target needs numba-cuda")
if os.environ.get("NUMBA_ENABLE_CUDASIM") != "0":
    pytest.skip("these tests need a GPU, and NUMBA_ENABLE_CUDASIM=0", allow_module_level=True)

from numba import cuda

if not cuda.is_available():
    pytest.skip("no GPU was found", allow_module_level=True)

__all__ = ["cuda"]
