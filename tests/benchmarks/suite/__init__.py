"""The programs that are timed, one file a domain."""

from . import (
    batches,
    blas,
    blocks,
    bodies,
    borders,
    bundle,
    catalogue,
    columns,
    elementwise,
    factorisations,
    grids,
    hand,
    mixture,
    networks,
    particles,
    recurrent,
    rings,
    rows,
    sequences,
    stencils,
)
from .benchmark import BENCHMARKS, Benchmark

__all__ = ["BENCHMARKS", "Benchmark", "batches", "blas", "blocks", "bodies", "borders", "bundle", "catalogue", "columns",
           "elementwise", "factorisations", "grids", "hand", "mixture", "networks", "particles", "recurrent", "rings",
           "rows", "sequences", "stencils"]
