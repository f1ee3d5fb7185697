"""The table of passes for CUDA devices, between differentiation and the partition into kernels."""

from __future__ import annotations

from ..optimise.array_contraction import contract
from ..optimise.branch_fusion import merge_branches
from ..optimise.constant_folding import fold_constants
from ..optimise.dead_zeros import assign_first
from ..optimise.factoring import factor_once
from ..optimise.guarded_products import guard_products
from ..optimise.joint import merge_repeated
from ..optimise.loop_fusion import merge_nests
from ..optimise.loop_reversal import straighten
from ..optimise.product_accumulation import accumulate
from ..optimise.scalar_replacement import promote
from ..optimise.simplify import resolve_links, share_inputs, simplify
from ..optimise.store_forwarding import forward_values
from ..stages import Pass
from .chunks import in_chunks
from .collecting import collect
from .conditional import add_always
from .invariants import checks_first, to_host, upward, without_needless_checks
from .layout import lay_out
from .merging import KernelMerger, sink
from .narrowing import narrow
from .scans import with_scans
from .stacks import with_stacks

CUDA = (
    Pass(resolve_links),
    Pass(fold_constants, then=simplify),
    Pass(without_needless_checks),
    Pass(checks_first),                                 # checks leave the loops that do not change what they check
    Pass(with_stacks),                                  # tapes of `while` loops get a stack for each iteration
    Pass(straighten, then=simplify, given={"split": False}),
    Pass(upward),
    Pass(merge_branches, then=simplify),
    Pass(narrow, then=simplify),                        # what is computed for float32 is computed in it, to the same bits
    Pass(add_always, then=simplify),                    # sums to which some iterations add are sums of what may be 0
    Pass(with_scans, then=simplify),                    # running sums and products become scans
    Pass(to_host),                                      # what depends on numbers the host knows leaves the nests
    Pass(collect, then=simplify),                       # additions go to the threads that own the elements
    Pass(to_host),
    Pass(merge_nests, given={"merger": KernelMerger}),  # what one nest fills and the other reads is a number of the thread
    Pass(forward_values),
    Pass(contract, then=simplify),
    Pass(merge_repeated),
    Pass(merge_nests, given={"merger": KernelMerger}),
    Pass(assign_first),
    Pass(forward_values),
    Pass(promote, then=simplify, given={"threads": True}),     # sums of all threads for one
    Pass(accumulate),
    Pass(factor_once),
    Pass(guard_products),
    Pass(to_host),
    Pass(sink, then=simplify),                          # elements read outside the nests are read inside
    Pass(in_chunks, then=simplify),                     # long sums that few threads collect are cut in chunks
    Pass(narrow, then=simplify),
    Pass(lay_out),                                      # tapes and the like with the threads' axis last
    Pass(share_inputs),
)

__all__ = ["CUDA"]
