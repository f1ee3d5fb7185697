"""Library functions written with supported ones: their derivatives follow. A topic a file."""

from . import (  # noqa: F401
    algebra,
    array_api,
    attributes,
    choosing,
    complex_too,
    containers,
    differences,
    extrema,
    indices,
    integers,
    iteration,
    nan,
    numbers,
    padding,
    polynomial_bases,
    polynomials,
    powers,
    series,
    statistics,
)
