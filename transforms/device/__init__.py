"""Programs for a CUDA device: loops whose iterations are independent become kernels, the rest is a host function."""
