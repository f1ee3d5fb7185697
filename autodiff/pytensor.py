"""Functions as PyTensor Ops with their derivatives, for PyMC's models; needs PyTensor. See docs/pymc.md."""

from importlib.util import find_spec

if find_spec("pytensor") is None:
    raise ModuleNotFoundError("autodiff.pytensor needs PyTensor: pip install 'numba-autodiff[pymc]'", name="pytensor")

from .bridges.pytensor import DerivedOp, op
from .bridges.pytensor_joint import JointOp

__all__ = ["DerivedOp", "JointOp", "op"]
