"""Subscripts of generated code, which count from the start of an axis.

Numba adds the length of the axis to an index below 0, at every access, unless LLVM can prove that there is none.
Where that fails, as for a place in a packed triangle, a loop is not vectorised. The indices of generated code are never
below 0: the compiler has proven it, or checks it. Here Numba is told so: after it has typed a function, indices are unsigned
in the signatures of subscripts (which costs nothing in machine code).

It is also told the sizes of arguments that are known, as the 2 of points in the plane. LLVM then knows how far one row is
from the next, and reads and writes both coordinates of four points at once, where it would not vectorise a loop.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from numba.core import cgutils, ir, ir_utils, typed_passes, types
from numba.core.compiler_machinery import AnalysisPass, register_pass

from .references import Borrowing, BorrowingLower


def unsigned(kind: Any) -> Any:
    """The type of an index that is not negative."""
    return types.uintp if kind == types.intp else kind


def last_unsigned(kinds: Sequence[Any], constant: Sequence[bool]) -> Any:
    """The type of a tuple of indices, of which the last one that is not constant is unsigned.

    Where a row is, LLVM is not to know: it would compare the memory of all rows, before a loop over them, to find that they
    overlap, and then run loops along the rows that are not vectorised.
    """
    last = max((k for k, fixed in enumerate(constant) if not fixed), default=0)
    made = tuple(unsigned(kind) if k >= last else kind for k, kind in enumerate(kinds))
    return types.BaseTuple.from_types(made)


@register_pass(mutates_CFG=False, analysis_only=True)
class IndicesFromTheStart(AnalysisPass):
    """Make indices of arrays unsigned in the signatures of subscripts."""

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
                    kinds: Any = index
                    if isinstance(array, types.Array):
                        made = ir_utils.guard(ir_utils.get_definition, state.func_ir, place.index)
                        if not isinstance(index, types.BaseTuple):
                            index = unsigned(index)
                        elif isinstance(made, ir.Expr) and made.op == "build_tuple":
                            index = last_unsigned(tuple(kinds), [is_constant(state.func_ir, x) for x in made.items])
                        signature = signature.replace(args=(array, index, *value))
                    state.calltypes[place] = signature
        return False


def is_constant(function: Any, variable: Any) -> bool:
    """Whether a variable of Numba's is a literal."""
    return isinstance(ir_utils.guard(ir_utils.get_definition, function, variable), ir.Const)


class LowerWithSizes(BorrowingLower):
    """Numba's emitter of code, which puts known sizes into the arrays that a function is given."""

    def __init__(self, sizes: Sequence[Sequence[int | None] | None], *args: Any, **keywords: Any):
        self.sizes = sizes
        super().__init__(*args, **keywords)

    def lower_assign(self, ty: Any, inst: Any) -> Any:
        """The value of an assignment."""
        value = super().lower_assign(ty, inst)
        known = self.sizes[inst.value.index] if self.sizes and isinstance(inst.value, ir.Arg) else None
        if known is None or not isinstance(ty, types.Array):
            return value
        array = self.context.make_array(ty)(self.context, self.builder, value)
        sizes: Any = zip(cgutils.unpack_tuple(self.builder, array.shape, ty.ndim), known, strict=True)
        array.shape = cgutils.pack_array(self.builder, [
            found if size is None else self.context.get_constant(types.intp, size) for found, size in sizes])
        return array._getvalue()


@register_pass(mutates_CFG=True, analysis_only=False)
class EmitWithSizes(typed_passes.BaseNativeLowering):
    """Numba's last pass, with the sizes that the compiler was given."""

    _name = "emit_with_sizes"     # type: ignore[assignment]
    sizes: Sequence = ()

    def run_pass(self, state: Any) -> bool:
        """Emit the code of a function."""
        self.sizes = state.pipeline.sizes
        return super().run_pass(state)

    @property
    def lowering_class(self) -> Any:
        """What makes the emitter of a function."""
        return functools.partial(LowerWithSizes, self.sizes)


class FromTheStart(Borrowing):
    """Numba's compiler, for functions whose indices are never negative. sizes: of each parameter, None or what is known."""

    sizes: Sequence = ()
    emitting = EmitWithSizes

    def define_pipelines(self) -> list:
        """Numba's passes, with those of this file."""
        pipelines = super().define_pipelines()
        for passes in pipelines:
            passes.add_pass_after(IndicesFromTheStart, typed_passes.IRLegalization)
            passes.finalize()
        return pipelines


@functools.cache
def compiler_for(sizes: tuple) -> type[FromTheStart]:
    """The compiler for functions whose parameters have some known sizes."""
    return type("FromTheStart", (FromTheStart,), {"sizes": sizes}) if any(sizes) else FromTheStart


__all__ = ["FromTheStart", "compiler_for"]
