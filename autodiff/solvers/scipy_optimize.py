"""What functions of `scipy.optimize` mean in users' code: loaded when one of them is met."""

from . import scipy_fits, scipy_minima, scipy_roots, scipy_systems

__all__ = ["scipy_fits", "scipy_minima", "scipy_roots", "scipy_systems"]
