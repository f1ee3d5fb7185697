"""The errors users see. Each says what is wrong, where, and what to do instead.

The classes live beside the compiler, which raises them (`autodiff.transforms.language.errors`); this is their public
address.
"""

from .transforms.language.errors import (
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
