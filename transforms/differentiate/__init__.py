"""Adjoints and tangents of programs in the core language: activity, sweeps, tapes, Jacobians, sparsity."""
