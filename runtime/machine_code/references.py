"""Compiled code that counts references to arrays only where it must.

Numba counts who refers to an array: a function adds one reference for each array that it is given, and one for each view
that it makes, and gives them back. With several processor cores each takes about as long as ten products, and
Numba's own pass that removes what cancels does not see through calls. A call of a function for matrices of 3 x 3 spent
more time on counting than on numbers.

Here two kinds are borrowed, as the array lives on without them: a function's arguments, which its caller holds as long as
it runs, and a view that is used up in one block of code, in which nothing takes the array's own variable away.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from numba.core import ir, lowering, typed_passes, types
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import register_pass
from numba.core.typing.arraydecl import get_array_index_type


def assigned_arguments(function: Any) -> set[str]:
    """The variables of a function of Numba's that are an argument and nothing else."""
    assignments = [s for block in function.blocks.values() for s in block.find_insts(ir.Assign)]
    counts = Counter(s.target.name for s in assignments)
    return {s.target.name for s in assignments if isinstance(s.value, ir.Arg) and counts[s.target.name] == 1}


def short_views(function: Any, kinds: Any, signatures: Any) -> set[str]:
    """The variables of views that end in the block where they begin, with an array that lives as long there."""
    found: set[str] = set()
    for block in function.blocks.values():
        living: dict[str, str] = {}                             # view -> the variable that holds its array
        for statement in block.body:
            if isinstance(statement, ir.Del):
                if living.pop(statement.value, None):
                    found.add(statement.value)
                gone = statement.value
            elif isinstance(statement, ir.Assign):
                gone = statement.target.name
                living.pop(gone, None)
            else:
                continue
            living = {view: held for view, held in living.items() if held != gone}
            if isinstance(statement, ir.Assign) and is_view(statement, kinds, signatures):
                base = statement.value.value.name  # type: ignore[attr-defined]
                living[gone] = living.get(base, base)
    return found


def is_view(statement: Any, kinds: Any, signatures: Any) -> bool:
    """Whether an assignment of Numba's makes a view of an array's memory, another array object."""
    made = statement.value
    if not isinstance(made, ir.Expr) or made.op not in ("getitem", "static_getitem", "getattr"):
        return False
    array = kinds[made.value.name]
    if not isinstance(array, types.Array) or not isinstance(kinds[statement.target.name], types.Array):
        return False
    if made.op == "getattr":
        return made.attr == "T"
    signature = signatures[made]
    indexing = None if signature is None else get_array_index_type(array, signature.args[1])
    return indexing is not None and not indexing.advanced       # an advanced one makes a copy


class BorrowingLower(lowering.Lower):
    """Numba's emitter of code, by which some variables hold no reference of their own."""

    def lower_function_body(self) -> Any:
        """The code of a function."""
        self.arguments = assigned_arguments(self.func_ir)
        self.views = short_views(self.func_ir, self.fndesc.typemap, self.fndesc.calltypes)
        return super().lower_function_body()

    def lower_assign(self, ty: Any, inst: Any) -> Any:
        """The value of an assignment."""
        value = super().lower_assign(ty, inst)
        if self.borrows(inst.target.name):
            self.decref(ty, value)              # next to where it was added: LLVM's pass removes both
        return value

    def delvar(self, name: str) -> None:
        """The end of a variable."""
        if not self.borrows(name):
            super().delvar(name)

    def borrows(self, name: str) -> bool:
        """Whether a variable has no reference: an argument, or a view; not one in memory of its own, which is given back."""
        return name in self.arguments or (
            name in self.views and name in self._singly_assigned_vars and not self._disable_sroa_like_opt)


@register_pass(mutates_CFG=True, analysis_only=False)
class EmitBorrowing(typed_passes.BaseNativeLowering):
    """Numba's last pass, by `BorrowingLower`."""

    _name = "emit_borrowing"     # type: ignore[assignment]

    @property
    def lowering_class(self) -> Any:
        """What makes the emitter of a function."""
        return BorrowingLower


class Borrowing(Compiler):
    """Numba's compiler, whose functions borrow references."""

    emitting: type = EmitBorrowing

    def define_pipelines(self) -> list:
        """Numba's passes, the last of them exchanged."""
        pipelines = super().define_pipelines()
        for passes in pipelines:
            passes.passes = [(self.emitting if made is typed_passes.NativeLowering else made, told)
                             for made, told in passes.passes]
            passes.finalize()
        return pipelines


__all__ = ["Borrowing", "BorrowingLower"]
