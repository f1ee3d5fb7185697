"""Library functions written with supported ones: their derivatives follow. A topic a file."""

from . import algebra, array_api, choosing, complex_too, differences, extrema, indices, nan, powers, series, statistics  # noqa: F401
