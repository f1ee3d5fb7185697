"""Reductions of the package bottleneck, as NumPy's of the same names."""

import bottleneck
import numpy as np

from ..decorators import defines

# those of an axis alone: bottleneck has neither `out` nor `keepdims`
for _own, _numpys in ((bottleneck.nansum, np.nansum), (bottleneck.nanmean, np.nanmean), (bottleneck.nanmin, np.nanmin),
                      (bottleneck.nanmax, np.nanmax), (bottleneck.median, np.median), (bottleneck.nanmedian, np.nanmedian),
                      (bottleneck.nanargmin, np.nanargmin), (bottleneck.nanargmax, np.nanargmax)):
    defines(_own)(lambda a, axis=None, _numpys=_numpys: _numpys(a, axis=axis))


@defines(bottleneck.nanstd)
def nanstd(a, axis=None, ddof=0):
    return np.nanstd(a, axis=axis, ddof=ddof)


@defines(bottleneck.nanvar)
def nanvar(a, axis=None, ddof=0):
    return np.nanvar(a, axis=axis, ddof=ddof)


@defines(bottleneck.ss)
def ss(a, axis=None):
    return np.sum(np.square(a), axis=axis)


@defines(bottleneck.anynan)
def anynan(a, axis=None):
    return np.any(np.isnan(a), axis=axis)


@defines(bottleneck.allnan)
def allnan(a, axis=None):
    return np.all(np.isnan(a), axis=axis)
