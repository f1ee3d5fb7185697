"""autodiff: gradients of plain Python and NumPy functions, as compiled, readable Python source."""

from os import path as _path

if not _path.isdir(_path.join(__path__[0], "transforms")):      # a checkout: transforms/ and runtime/ stand beside us
    __path__.append(_path.dirname(__path__[0]))

from .api import differentiable, grad, value_and_grad, vjp
from .check import check_grads
from .errors import (
    AutodiffError,
    CompilationError,
    InternalError,
    MissingRule,
    NonDifferentiable,
    ShapeMismatch,
    SourceUnavailable,
    TypeConflict,
    UnsupportedSyntax,
)

__version__ = "0.1.0"
__all__ = ["AutodiffError", "CompilationError", "InternalError", "MissingRule", "NonDifferentiable", "ShapeMismatch",
           "SourceUnavailable", "TypeConflict", "UnsupportedSyntax", "check_grads", "differentiable", "grad",
           "value_and_grad", "vjp"]
