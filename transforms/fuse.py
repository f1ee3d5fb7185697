"""Joining loops: a loop that copies a temporary is merged into the loop that fills it."""

from __future__ import annotations

from .core import Function


def fuse(function: Function, facts) -> Function:
    """Join adjacent loop nests over the same space."""
    return function
