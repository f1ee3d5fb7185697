"""Library functions whose definitions here hold for complex numbers as they are written; of the others those are refused."""

import numpy as np
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polynomial, polyutils

from ..registry import REGISTRY

NAMES = """
max amax min amin ptp
average kron cross rot90 var std vecdot matrix_transpose astype cumulative_sum cumulative_prod select choose compress
extract delete insert put_along_axis apply_along_axis real_if_close trim_zeros
array_equal put putmask place rollaxis diff ediff1d
trapezoid trapz gradient convolve correlate polyval polyder polyadd polysub polymul roots diag_indices_from triu_indices_from
tril_indices_from argwhere linalg.norm linalg.multi_dot linalg.matrix_power linalg.vecdot linalg.matrix_transpose
linalg.outer linalg.trace linalg.diagonal linalg.cross linalg.matmul linalg.tensordot linalg.vector_norm
linalg.matrix_norm linalg.cond linalg.tensorsolve linalg.tensorinv lib.stride_tricks.sliding_window_view
""".split()


def found(name: str):
    """What a name of NumPy stands for, None if this version does not have it."""
    value: object = np
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


REGISTRY.complex_definitions.update(f for f in map(found, NAMES) if f is not None)
REGISTRY.complex_definitions.update((
    polyutils.mapdomain, polynomial.polyval, chebyshev.chebval, legendre.legval, hermite.hermval, hermite_e.hermeval,
    laguerre.lagval))
