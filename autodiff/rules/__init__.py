"""Derivative rules: the decorators to write them, and the built-in ones.

    @partials(np.tanh)            one element: y, x -> dy/dx
    @pullback(f)                  arrays: (y_bar, y, *args) -> adjoints of the arguments
    @pushforward(f)               the same for forward mode: (y, *args, *tangents) -> contributions to the tangent
    @defines(np.var)              a library function written with supported ones
    constant(np.floor)            a zero derivative, said once
"""

from . import (  # noqa: F401  (they fill the registry)
    complex_decompositions,
    complex_linalg,
    complex_numbers,
    decompositions,
    definitions,
    eigenvalues,
    elementwise,
    fourier,
    linalg,
)
from .decorators import constant, defines, partials, pullback, pushforward, with_derivative_of
from .registry import REGISTRY

__all__ = ["REGISTRY", "constant", "defines", "partials", "pullback", "pushforward", "with_derivative_of"]
