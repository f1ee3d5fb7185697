"""NVIDIA GPUs: `grad(f, target="cuda")` and its like, see docs/gpu.md.

Needs the extra `cuda`; nothing of it is imported before it is used.
"""
