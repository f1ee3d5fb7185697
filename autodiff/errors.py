"""The errors users see. Each says what is wrong, where, and what to do instead.

The classes live beside the compiler (`autodiff.transforms.errors`), which raises them; this is their public address.
"""

from .transforms.errors import (
    AutodiffError,
    AutodiffWarning,
    CompilationError,
    InternalError,
    MissingAttribute,
    MissingItem,
    MissingKey,
    MissingRule,
    NonDifferentiable,
    ShapeMismatch,
    SourceUnavailable,
    SparsityError,
    TypeConflict,
    UndefinedName,
    UnsupportedOnDevice,
    UnsupportedSyntax,
)

__all__ = ["AutodiffError", "AutodiffWarning", "CompilationError", "InternalError", "MissingAttribute", "MissingItem",
           "MissingKey", "MissingRule", "NonDifferentiable", "ShapeMismatch", "SourceUnavailable", "SparsityError",
           "TypeConflict", "UndefinedName", "UnsupportedOnDevice", "UnsupportedSyntax"]
