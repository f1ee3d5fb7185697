"""Whether there is what CUDA needs; asked before `numba.cuda` is imported, so that one message says what is missing."""

from __future__ import annotations

import functools
import importlib.util
import os

INSTALL = "pip install 'numba-autodiff[cuda]'"


class CudaUnavailable(RuntimeError):
    """Something that a CUDA target needs is not there. `problem` says what, `hint` what to do."""

    def __init__(self, problem: str, hint: str = ""):
        super().__init__(f"{problem}\nTry: {hint}" if hint else problem)
        self.problem, self.hint = problem, hint

    def __reduce__(self):
        return type(self), (self.problem, self.hint)


def require_package() -> None:
    """Return if numba-cuda is installed; else raise CudaUnavailable."""
    if importlib.util.find_spec("numba_cuda") is None:
        raise CudaUnavailable('target="cuda" needs the package numba-cuda, which is not installed (the CUDA target inside '
                              "Numba itself is deprecated and not used)", INSTALL)


@functools.cache
def require() -> None:
    """Return if kernels can be compiled and run, on a GPU or under Numba's simulator; else raise CudaUnavailable."""
    require_package()
    if os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0"):
        return
    from numba import cuda  # an optional package
    if not cuda.is_available():
        try:
            cuda.get_current_device()
            reason = "no GPU was found"
        except Exception as error:      # of several kinds: no driver, one that is too old, no device
            reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise CudaUnavailable(f"this machine has no NVIDIA GPU that can be used: {reason}",
                              'run without target="cuda", or see `numba -s` for what Numba finds')


__all__ = ["INSTALL", "CudaUnavailable", "require", "require_package"]
