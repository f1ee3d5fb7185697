"""Loads every module that teaches the lowering a library function."""

from . import (  # noqa: F401
    complex_numbers,
    creation,
    einsum,
    extrema,
    fourier,
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
