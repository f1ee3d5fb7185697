"""What the tests of the CUDA target share: the simulator, and compiling without a GPU in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba_cuda", reason="the CUDA target needs numba-cuda")
if os.environ.get("NUMBA_ENABLE_CUDASIM") != "1":
    pytest.skip("these tests run under Numba's CUDA simulator", allow_module_level=True)

from numba import cuda


def _has_compiler():
    from cuda import pathfinder
    try:
        return all(map(pathfinder.load_nvidia_dynamic_lib, ("nvvm", "nvrtc")))
    except pathfinder.DynamicLibNotFoundError:
        return False


needs_compiler = pytest.mark.skipif(not _has_compiler(), reason="needs nvidia-nvvm and nvidia-cuda-nvrtc")
ROOT = Path(__file__).parents[2]


def run_for_device(*arguments):
    """Run a script of this folder in a process without the simulator; its standard output."""
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), environment.get("PYTHONPATH"))))
    environment["PYTHONWARNINGS"] = "ignore"
    found = subprocess.run([sys.executable, *map(str, arguments)], env=environment, capture_output=True, text=True,
                           timeout=300, check=False)
    assert found.returncode == 0, found.stderr
    return found.stdout


__all__ = ["cuda", "run_for_device"]
