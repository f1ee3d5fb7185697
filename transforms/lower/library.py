"""Loads every module that teaches the lowering a library function, or what a kind of syntax means."""

# ruff: noqa: F401

from .arrays import indexing
from .containers import copies, records
from .functions import (
    calls,
    classes,
    extrema,
    operator_functions,
    outside,
    purity,
    python_builtins,
    recursion,
    type_questions,
)
from .loops import comprehensions, iteration, loops
from .numbers import complex_numbers, rounding
from .numpy_functions import (
    choosing,
    creation,
    einsum,
    fourier,
    joining,
    linear_algebra,
    products,
    random_draws,
    reductions,
    shaping,
    sorting,
    ufunc_methods,
)
from .syntax import assignments, attributes, expressions, messages, operators, raising, statements, trying
