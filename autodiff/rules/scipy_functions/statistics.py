"""Statistics of samples, from `scipy.stats`."""

import numpy as np
from scipy import stats

from ...transforms.lower.numpy_functions.reductions import unsupported
from ..decorators import defines
from ..definitions.extrema import floats


@defines(stats.zscore)
def zscore(a, axis=0, ddof=0, nan_policy="propagate"):
    """nan where the numbers are equal to rounding, and where no degree of freedom is left."""
    if nan_policy != "propagate":
        return unsupported("zscore with this nan_policy", "leave nan out of the data first: data[~np.isnan(data)]")
    x = floats(np.asarray(a))
    mean = np.mean(x, axis=axis, keepdims=True)
    spread = np.std(x, axis=axis, ddof=ddof, keepdims=True)
    equal = spread <= np.abs(np.finfo(x.dtype).eps * mean)
    return (x - mean) / np.where(equal | (x.size <= ddof * mean.size), np.nan, spread)
