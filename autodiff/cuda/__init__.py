"""NVIDIA GPUs: `grad(f, target="cuda")` and its like, see docs/gpu.md; `kernel`, adjoints of your own kernels, see
docs/gpu_kernels.md.

Needs the extra `cuda`; nothing of it is imported before it is used.
"""

from .kernels import kernel

__all__ = ["kernel"]
