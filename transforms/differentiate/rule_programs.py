"""Derivative rules of calls, as statements of the core language."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class RuleProgram:
    """A pullback rule as statements that accumulate into the adjoints of its arguments. out_bars: None for results whose
    adjoints it does not read."""

    body: tuple
    out_bars: tuple
    outs: tuple
    args: tuple
    arg_bars: tuple
    scalar_bars: tuple
    used: set


@dataclass
class PushforwardProgram:
    """A pushforward rule as statements that write the tangents of its results."""

    body: tuple
    outs: tuple
    args: tuple
    arg_dots: tuple             # None for arguments without a tangent
    out_dots: tuple             # buffers, or atoms for numbers
    used: set


__all__ = ["PushforwardProgram", "RuleProgram"]
