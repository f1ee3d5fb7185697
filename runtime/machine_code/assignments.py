"""Numba's single-assignment form, made in time that grows with the program's length.

Numba gives each variable that is assigned in several places new names, and reads the whole function for each: 400 branches
took half of a minute that way. Here only the blocks that mention a variable are read for it; the result is the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import ir, ssa

PARTS = ("_run_ssa", "_FreshVarHandler", "_make_states", "_run_block_rewrite", "_FixSSAVars", "_CacheListVars",
         "_compute_phi_locations", "_iterated_domfronts", "_find_defs_violators", "compute_cfg_from_blocks")
KNOWN = all(hasattr(ssa, part) for part in PARTS)


def single_assignments(blocks: dict[int, Any]) -> dict[int, Any]:
    """`numba.core.ssa._run_ssa`: blocks by label in which each variable is assigned once."""
    if not blocks:
        return {}
    graph = ssa.compute_cfg_from_blocks(blocks)
    frontiers = ssa._iterated_domfronts(graph)
    several = ssa._find_defs_violators(blocks, graph)
    mentions: dict[str, dict[int, None]] = defaultdict(dict)
    for label, block in blocks.items():
        for statement in block.body:
            for variable in statement.list_vars():
                mentions[variable.name][label] = None
    variables = ssa._CacheListVars()
    blocks = dict(blocks)
    for name in several:
        definitions: dict[int, list] = defaultdict(list)
        joins: dict[int, list] = defaultdict(list)
        states = ssa._make_states(blocks) | {"varname": name, "defmap": definitions, "phimap": joins, "cfg": graph}
        own = ssa._run_block_rewrite({label: blocks[label] for label in mentions[name]}, states, ssa._FreshVarHandler())
        states["phi_locations"] = ssa._compute_phi_locations(frontiers, definitions)
        blocks.update(ssa._run_block_rewrite(own, states, ssa._FixSSAVars(variables)))
        for label, added in joins.items():
            block = ir.Block(scope=blocks[label].scope, loc=blocks[label].loc)
            block.body = added + blocks[label].body
            blocks[label] = block
    if ssa.compute_cfg_from_blocks(blocks) != graph:
        raise AssertionError("the branches of a function have changed")
    return blocks


@contextmanager
def quick_assignments() -> Iterator[None]:
    """While a generated function is compiled (under Numba's lock)."""
    before: Any = getattr(ssa, "_run_ssa", None)
    if KNOWN:
        ssa._run_ssa = single_assignments
    try:
        yield
    finally:
        if KNOWN:
            ssa._run_ssa = before


__all__ = ["quick_assignments", "single_assignments"]
