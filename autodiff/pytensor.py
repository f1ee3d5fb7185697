"""Functions as PyTensor Ops with their derivatives, for PyMC's models; needs PyTensor. See docs/pymc.md."""

from .bridges.pytensor import DerivedOp, op

__all__ = ["DerivedOp", "op"]
