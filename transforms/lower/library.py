"""Loads every module that teaches the lowering a library function."""

from . import (  # noqa: F401
    attributes,
    complex_numbers,
    creation,
    einsum,
    extrema,
    fourier,
    iteration,
    joining,
    linear_algebra,
    products,
    python_builtins,
    random_draws,
    reductions,
    shaping,
    sorting,
    ufunc_methods,
)
