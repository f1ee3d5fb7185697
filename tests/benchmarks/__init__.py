"""How fast and how small gradients are, as ratios measured in one run: `python -m tests.benchmarks`."""
