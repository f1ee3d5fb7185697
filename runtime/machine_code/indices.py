"""Subscripts of generated code, which count from the start of an axis.

Numba adds the length of the axis to an index below 0, at every access, unless LLVM can prove that there is none.
Where that fails, as for a place in a packed triangle, a loop is not vectorised. The indices of generated code are never
below 0: the compiler has proven it, or checks it. Here Numba is told so: after it has typed a function, indices are unsigned
in the signatures of subscripts (which costs nothing in machine code).
"""

from __future__ import annotations

from typing import Any

from numba.core import ir, types
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.typed_passes import IRLegalization


def unsigned(kind: Any) -> Any:
    """The type of an index, or of a tuple of them, for one that is not negative."""
    if kind == types.intp:
        return types.uintp
    if isinstance(kind, types.BaseTuple) and not isinstance(kind, types.BaseNamedTuple):
        return types.BaseTuple.from_types(tuple(map(unsigned, kind)))     # type: ignore[call-overload]
    return kind


@register_pass(mutates_CFG=False, analysis_only=True)
class IndicesFromTheStart(AnalysisPass):
    """Make the indices of arrays unsigned in the signatures of subscripts."""

    _name = "indices_from_the_start"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Change the signatures of a function; False: not the function."""
        for block in state.func_ir.blocks.values():
            for statement in block.body:
                place = statement.value if isinstance(statement, ir.Assign) else statement
                if isinstance(place, ir.SetItem) or isinstance(place, ir.Expr) and place.op == "getitem":
                    signature = state.calltypes.pop(place)
                    array, index, *value = signature.args
                    if isinstance(array, types.Array):
                        signature = signature.replace(args=(array, unsigned(index), *value))
                    state.calltypes[place] = signature
        return False


class FromTheStart(Compiler):
    """Numba's compiler, for functions whose indices are never negative."""

    def define_pipelines(self) -> list:
        """Numba's passes, and this one before the code is emitted."""
        pipelines = super().define_pipelines()
        for passes in pipelines:
            passes.add_pass_after(IndicesFromTheStart, IRLegalization)
            passes.finalize()
        return pipelines


__all__ = ["FromTheStart"]
