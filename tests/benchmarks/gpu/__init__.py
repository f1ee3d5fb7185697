"""The CUDA target against what the hardware allows, torch and JAX: `python -m tests.benchmarks.gpu`. See docs/gpu.md."""
