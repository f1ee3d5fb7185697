"""From core programs to CUDA: kernels and the host functions that launch them."""
