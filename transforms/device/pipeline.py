"""The passes between differentiation and kernels, in order.

    checks_first checks leave the loops that do not change what they check
    with_stacks tapes of `while` loops get a stack for each iteration
    straighten  loops that may run in any order run upwards; so does upward
    narrow      constants that are chosen for float32 are chosen in float32
    add_always  sums to which some iterations add are sums of what may be 0
    with_scans  running sums and products become scans
    to_host     what depends on numbers the host knows leaves the nests
    collect     additions go to the threads that own the elements
    merge       nests over the same elements become one; what one fills and the other reads becomes a number of the thread
    promote     elements that a loop stays at become numbers, sums of all threads for one
    sink        elements read outside the nests are read inside
    in_chunks   long sums that few threads collect are cut in chunks
    lay_out     tapes and the like with the threads' axis last
    partition   kernels and the host's function
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.core import Function
from ..optimise.array_contraction import contract
from ..optimise.branch_fusion import merge_branches
from ..optimise.constant_folding import fold_constants
from ..optimise.dead_zeros import assign_first
from ..optimise.factoring import factor_once
from ..optimise.joint import merge_repeated
from ..optimise.loop_fusion import merge_nests
from ..optimise.loop_reversal import straighten
from ..optimise.product_accumulation import accumulate
from ..optimise.scalar_replacement import promote
from ..optimise.simplify import resolve_links, simplify
from ..optimise.store_forwarding import forward_values
from .chunks import in_chunks
from .collecting import collect
from .conditional import add_always
from .invariants import checks_first, to_host, upward, without_needless_checks
from .layout import lay_out
from .merging import KernelMerger, sink
from .narrowing import narrow
from .scans import with_scans
from .stacks import with_stacks


def for_device(function: Function) -> Function:
    """The program with its work in nests that can be kernels."""
    program = with_stacks(checks_first(without_needless_checks(simplify(fold_constants(resolve_links(function))))))
    program = upward(simplify(straighten(program, split=False)))
    program = simplify(add_always(narrow(simplify(merge_branches(program)))))
    program = simplify(collect(to_host(simplify(with_scans(program)))))
    program = merge_nests(to_host(program), KernelMerger)
    program = merge_repeated(simplify(contract(forward_values(program))))
    program = merge_nests(program, KernelMerger)
    program = accumulate(simplify(promote(forward_values(assign_first(program)), threads=True)))
    program = simplify(sink(to_host(factor_once(program))))
    program = lay_out(simplify(in_chunks(program)))
    changed = core.written(program.body)
    return replace(program, copied=frozenset(p for p in program.copied if p in changed))


__all__ = ["for_device"]
