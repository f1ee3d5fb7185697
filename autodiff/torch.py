"""Functions compiled by autodiff inside torch; needs torch."""

from .bridges.torch import wrap

__all__ = ["wrap"]
