"""Derivatives that are zero because comparisons are all that a result has of an argument, as in a bisection: said aloud."""

from __future__ import annotations

import warnings

from ..rules import REGISTRY
from ..transforms.language.core import is_float
from ..transforms.language.errors import AutodiffWarning


def warn_of_comparisons(function, wanted, active, what: str = "gradient of") -> None:
    """A warning for each parameter of `wanted` that the results of a program depend on through comparisons alone.

    active: the parameters that they depend on with a derivative. what: what the message says is zero.
    """
    for parameter in wanted:
        if parameter in active or not is_float(parameter):
            continue
        from ..transforms.differentiate.explain import decides_only  # seldom needed
        steps = decides_only(function, parameter, REGISTRY)
        if steps:
            loc = steps[0].loc
            warnings.warn_explicit(
                f"the {what} `{parameter.hint}` is zero: the result depends on it through comparisons alone, in line "
                f"{loc.line}: {loc.text.strip()} (where this searches for the solution of an equation, autodiff.root "
                "differentiates the solution)", AutodiffWarning, loc.file, loc.line)


__all__ = ["warn_of_comparisons"]
