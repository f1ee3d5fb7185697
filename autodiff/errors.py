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
    MissingAxis,
    MissingItem,
    MissingKey,
    MissingModule,
    MissingRule,
    NonDifferentiable,
    NotAMatrix,
    OutOfRange,
    ReadOnlyArray,
    ShapeMismatch,
    SourceUnavailable,
    SparsityError,
    TypeConflict,
    UnboundName,
    UndefinedName,
    UnsupportedOnDevice,
    UnsupportedSyntax,
    WrongKind,
)

__all__ = ["AutodiffError", "AutodiffWarning", "CompilationError", "InternalError", "MissingAttribute", "MissingAxis",
           "MissingItem", "MissingKey", "MissingModule", "MissingRule", "NonDifferentiable", "NotAMatrix", "OutOfRange",
           "ReadOnlyArray", "ShapeMismatch", "SourceUnavailable", "SparsityError", "TypeConflict", "UnboundName",
           "UndefinedName", "UnsupportedOnDevice", "UnsupportedSyntax", "WrongKind"]
