"""What generated host functions compute themselves: the helpers of the CPU, which kernels have under the same names."""

from ..checkpoint import revolve_split, segment_length
from ..index_sets import grow_set, union_sets
from ..numbers import special
from ..numbers.helpers import heaviside, sinc, wrap_index

__all__ = ["grow_set", "heaviside", "revolve_split", "segment_length", "sinc", "special", "union_sets", "wrap_index"]
