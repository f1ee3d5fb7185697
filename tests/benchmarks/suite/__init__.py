"""The programs that are timed, one file a domain."""

from . import (
    batches,
    blas,
    bodies,
    bundle,
    catalogue,
    elementwise,
    factorisations,
    hand,
    mixture,
    networks,
    recurrent,
    stencils,
)
from .benchmark import BENCHMARKS, Benchmark

__all__ = ["BENCHMARKS", "Benchmark", "batches", "blas", "bodies", "bundle", "catalogue", "elementwise", "factorisations",
           "hand", "mixture", "networks", "recurrent", "stencils"]
