"""What generated CUDA modules call: device functions, block reductions, and `Device`, which allocates and launches."""
