"""Library functions written with supported ones: their derivatives follow. A topic a file."""

from . import algebra, choosing, differences, extrema, indices, nan, statistics  # noqa: F401  (they fill the registry)
