"""The passes between differentiation and kernels, in order.

    straighten  loops of the reverse sweep that may run in any order run upwards
    to_host     what depends on numbers the host knows leaves the nests
    collect     additions go to the threads that own the elements
    merge       nests over the same elements become one; what one fills and the other reads becomes a number of the thread
    promote     elements that a loop stays at become numbers, sums of all threads for one
    sink        elements read outside the nests are read inside
    partition   kernels and the host's function
"""

from __future__ import annotations

from dataclasses import replace

from .. import core
from ..accumulation import accumulate
from ..branches import merge_branches
from ..cells import contract
from ..constants import fold_constants
from ..core import Function
from ..coverage import assign_first
from ..direction import straighten
from ..factoring import factor_once
from ..forwarding import forward_values
from ..joint import merge_repeated
from ..nests import merge_nests
from ..promote import promote
from ..simplify import resolve_links, simplify
from .collecting import collect
from .invariants import to_host
from .merging import KernelMerger, sink


def for_device(function: Function) -> Function:
    """The program with its work in nests that can be kernels."""
    program = simplify(straighten(simplify(fold_constants(resolve_links(function))), split=False))
    program = simplify(collect(to_host(simplify(merge_branches(program)))))
    program = merge_nests(to_host(program), KernelMerger)
    program = merge_repeated(simplify(contract(forward_values(program))))
    program = merge_nests(program, KernelMerger)
    program = accumulate(simplify(promote(forward_values(assign_first(program)), threads=True)))
    program = simplify(sink(to_host(factor_once(program))))
    changed = core.written(program.body)
    return replace(program, copied=frozenset(p for p in program.copied if p in changed))


__all__ = ["for_device"]
