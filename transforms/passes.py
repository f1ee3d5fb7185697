"""The tables of passes for the CPU: which function, what must run after it, what it is given besides the program.

Nothing else knows the order. `before` prepares a program for differentiation, `CPU` and `THREADS` finish what comes of it.
The table for CUDA devices is in `device/passes.py`, the runner in `stages.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from .optimise.array_contraction import contract, hoist_allocations, scalars
from .optimise.branch_fusion import merge_branches
from .optimise.cancelled_shifts import without_cancelled_shifts
from .optimise.chosen_stores import choose_additions, choose_stores
from .optimise.columns import lie_by_columns
from .optimise.congruence import merge_congruent
from .optimise.constant_folding import fold_constants
from .optimise.counted_carries import tell_counts
from .optimise.dead_stores import without_dead_stores
from .optimise.dead_zeros import assign_first
from .optimise.early_places import check_early
from .optimise.equal_sizes import name_equal_sizes
from .optimise.factoring import factor_once
from .optimise.flat_views import flatten
from .optimise.gather import gather
from .optimise.guarded_products import guard_products
from .optimise.if_conversion import convert_branches
from .optimise.invariant_arrays import make_once
from .optimise.joint import join, merge_repeated, without_tail
from .optimise.last_assignments import assign_after
from .optimise.loop_distribution import distribute
from .optimise.loop_fusion import merge_nests
from .optimise.loop_interchange import interchange
from .optimise.loop_reversal import straighten
from .optimise.made_in_rows import make_in_rows
from .optimise.masked_loops import guard_masked
from .optimise.merged_axes import separate_axes
from .optimise.outer_products import multiply_at_once
from .optimise.parallel import hoist_from_sequential
from .optimise.partial_ranges import split_copies
from .optimise.private_arrays import make_inside
from .optimise.producer_fusion import fuse
from .optimise.product_accumulation import accumulate
from .optimise.products_by_loops import multiply_by_blocks
from .optimise.remainders import without_remainders
from .optimise.repeated_tapes import read_copies
from .optimise.reuse import keep_rows
from .optimise.rows_of_products import multiply_rows
from .optimise.scalar_expansion import turn_columns
from .optimise.scalar_replacement import promote
from .optimise.scattered_rows import scatter_rows
from .optimise.simplify import resolve_links, share_inputs, simplify
from .optimise.states_on_tapes import lie_on_tapes
from .optimise.store_forwarding import forward_values
from .optimise.summed_products import sum_first
from .optimise.tape_reads import read_tapes
from .optimise.unroll import unroll
from .optimise.wrapping import unwrap
from .stages import Pass


def before(facts) -> tuple[Pass, ...]:
    """From lowering to the program that is differentiated. facts: of the lowered program."""
    return (
        Pass(name_equal_sizes, given={"sums": False}),
        Pass(without_cancelled_shifts),
        Pass(simplify, given={"keep_sizes": True, "facts": facts}),
        Pass(tell_counts, given={"facts": facts}),
        Pass(make_inside, given={"facts": facts}),
        Pass(assign_after, given={"facts": facts}),
        Pass(guard_masked, given={"facts": facts}),
        Pass(choose_stores, given={"facts": facts}),
        Pass(multiply_rows, given={"facts": facts}),
        Pass(simplify, given={"keep_sizes": True, "facts": facts}),
        Pass(merge_congruent, given={"facts": facts}),
        Pass(fuse, then=scalars, given={"facts": facts}),
        Pass(make_once),
    )


def cpu(hoist: Callable, one_thread: bool) -> tuple[Pass, ...]:
    """The passes for the CPU, after differentiation. Loops are joined and memory saved in two rounds: what the first leaves
    of a buffer decides what the second can join."""
    return (
        Pass(resolve_links),
        Pass(name_equal_sizes),
        Pass(fold_constants, then=simplify),
        Pass(straighten),
        Pass(name_equal_sizes),
        Pass(read_copies),
        Pass(read_tapes),
        Pass(without_dead_stores, then=simplify),
        Pass(choose_stores),
        Pass(join, then=simplify, rows=True),
        Pass(lie_on_tapes, rows=True),
        Pass(make_in_rows, then=simplify, rows=True),
        Pass(check_early),
        Pass(merge_branches, then=simplify),
        *([Pass(multiply_by_blocks, then=simplify)] if one_thread else []),
        Pass(gather, then=simplify),
        Pass(turn_columns),
        Pass(interchange),
        Pass(merge_nests),
        Pass(contract, rows=True),
        Pass(interchange),
        Pass(unroll),
        Pass(contract, rows=True),
        Pass(hoist),
        Pass(merge_nests),
        Pass(unroll),
        Pass(forward_values),
        Pass(contract, rows=True),
        Pass(sum_first),
        Pass(promote, then=simplify),
        Pass(merge_nests),
        Pass(forward_values),
        Pass(contract, rows=True),
        Pass(merge_repeated),
        Pass(separate_axes, then=simplify),
        Pass(flatten, then=simplify),
        Pass(without_remainders),
        Pass(unwrap, then=simplify),
        Pass(choose_additions),
        Pass(scatter_rows, then=simplify, given={"padded": one_thread}),
        *([Pass(split_copies, then=simplify)] if one_thread else []),
        Pass(keep_rows, then=simplify),
        Pass(hoist),
        Pass(assign_first),
        Pass(lie_by_columns),
        Pass(forward_values),
        Pass(promote, then=simplify),
        Pass(without_dead_stores, then=simplify),
        Pass(without_tail),
        Pass(accumulate),
        Pass(factor_once),
        Pass(guard_products),
        Pass(share_inputs),
        *([Pass(multiply_at_once, then=simplify), Pass(convert_branches),
           Pass(distribute, then=simplify)] if one_thread else []),
    )


CPU = cpu(hoist_allocations, True)
THREADS = cpu(hoist_from_sequential, False)


__all__ = ["CPU", "THREADS", "before"]
