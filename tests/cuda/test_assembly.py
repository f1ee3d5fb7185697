"""Kernels as machine code for a GPU that is not there: no spills, no float64 in float32 programs, few atomics."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import autodiff
from autodiff.runtime.cuda.availability import CudaUnavailable

from .programs import EXAMPLES
from .support import run_for_device

HERE = Path(__file__).parent
ATOMIC = {"by_index"}                   # adds at places that only the data says
LOCAL = {"local_arrays"}


def has(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def assembler_is_there():
    from autodiff.runtime.cuda.assembly import assembler
    try:
        return bool(assembler())
    except CudaUnavailable:
        return False


@pytest.mark.skipif(not has("nvidia.cu13") and not has("nvidia.cuda_nvcc") or not assembler_is_there(),
                    reason="NVVM and ptxas are not installed")
def test_kernels_of_all_examples():
    lines = [line.split() for line in run_for_device(HERE / "compile_examples.py").splitlines()]
    assert {line[0] for line in lines} == set(EXAMPLES)
    for name, number, registers, spills, local, wide, atomics in lines:
        where = f"{name}, kernel {number}"
        assert int(spills) == 0 and int(registers) <= 128, where
        assert int(local) == 0 or name in LOCAL, where
        assert int(wide) == 0, where
        assert int(atomics) == 0 or name in ATOMIC, where


def test_the_simulator_compiles_nothing():
    given = EXAMPLES["chain"]
    gradient = autodiff.grad(given.function, target="cuda").specialize(*given.arguments())
    with pytest.raises(CudaUnavailable, match="simulator"):
        gradient.ptx(cc=(9, 0))
    with pytest.raises(RuntimeError, match="no kernels"):
        autodiff.grad(given.function).specialize(*given.arguments()).ptx()
    assert np.all([k.startswith("chain_grad_kernel") for k in gradient._latest.call.load().SIGNATURES])
