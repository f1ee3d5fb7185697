"""Programs that must be right, written as their users would write them, with small inputs beside them."""

from . import loops, recurrences, stencils, vectorised
from .catalogue import PROGRAMS, Program

__all__ = ["PROGRAMS", "Program", "loops", "recurrences", "stencils", "vectorised"]
