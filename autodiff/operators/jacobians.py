"""Jacobians and Hessians as arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal
from typing import overload as form

import numpy as np
from numba.extending import overload

from .. import pipeline
from ..arguments.kinds import flatten, passes
from ..arguments.packing import ITEMS
from ..arguments.positions import select_leaves
from ..calling.compiled import decorated
from ..calling.local import operator
from ..options import DEFAULT, Options, Settings, Wrt
from ..rules import REGISTRY
from ..transforms.differentiate import jacobian as transform
from ..transforms.differentiate.forward import live_in
from ..transforms.differentiate.hooks import has_hooks
from ..transforms.language.build import FOLD
from ..transforms.language.core import Arr, Const
from ..transforms.language.errors import NonDifferentiable, UnsupportedSyntax
from ..transforms.language.motion import learn
from ..transforms.language.ops import is_complex, is_inexact
from ..transforms.language.queries import operations
from ..transforms.lower.containers.series import lists_around
from ..transforms.lower.values import Array, Buffer, Sequence, Static, leaves
from ..transforms.optimise.simplify import simplify
from ..transforms.stages import Stages
from .derived import Derived, value_of, with_leaves, with_program
from .gradients import Gradient, check_holomorphic, definition_place, wrt_names
from .nesting import AT_THE_BOUNDARY, place
from .numba_values import operator_caller
from .zeros import warn_of_comparisons

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .sparse import SparseHessian, SparseJacobian

MODES = ("auto", "forward", "reverse")


class Jacobian(Derived):
    """The derivative of every result with respect to every chosen argument, in blocks."""

    kind = "Jacobian"
    packs = True

    def __init__(self, function, wrt=0, direction="auto", holomorphic=False, options: Options = DEFAULT):
        if direction not in MODES:
            raise ValueError(f"direction must be one of {MODES}, not {direction!r}")
        self.wrt, self.direction, self.holomorphic = wrt, direction, holomorphic
        self.single = isinstance(wrt, (int, str))
        self._sizes: dict = {}
        super().__init__(function, options)

    def _parameters(self) -> dict:
        return {"wrt": self.wrt, "direction": self.direction, "holomorphic": self.holomorphic}

    def _lower(self, names, values, static, boundscheck=None):
        lowered = super()._lower(names, values, static, boundscheck)
        leaves = [leaf for n, v in zip(names, values, strict=True) if n not in static
                  for leaf in flatten(v, ITEMS not in static) if passes(leaf)]
        self._sizes = {s: size for p, leaf in zip(lowered.leaves, leaves, strict=False) if isinstance(p, Arr)
                       for s, size in zip(p.shape, np.shape(leaf), strict=False)}
        return lowered

    def derive(self, lowered):
        program = pipeline.prepare(lowered, Stages(), self.options.debug)
        names = list(lowered.trees)[lowered.offset:]
        wanted, shapes = select_leaves(lowered.trees, lowered.leaves, wrt_names(
            self.wrt, names, self.__name__, definition_place(self.target)), definition_place(self.target))
        if not transform.results_of(program):
            raise NonDifferentiable(f"`{self.__name__}` returns nothing that has a derivative",
                                    definition_place(self.target), "return floats")
        self.check_complex(lowered.result, wanted)
        if self.kind == "Jacobian":
            warn_of_comparisons(program, wanted, live_in(program, wanted, REGISTRY), "Jacobian with respect to")
        made = None
        name = f"{program.name}_jacobian"
        if self.forward(program, wanted, lowered.facts):
            made = transform.by_columns(program, wanted, REGISTRY, name)
        if made is None:
            made = transform.by_rows(program, lowered.facts, wanted, REGISTRY, name)
        made = simplify(made, keep_sizes=True)
        learn(lowered.facts, made.body)
        around = lists_around(lowered.result)
        blocks = iter([made.returns[k:k + len(wanted)] for k in range(0, len(made.returns), len(wanted))])

        def of_result(leaf):
            if not is_inexact(leaf.dtype):
                return Static(None)
            if is_complex(leaf.dtype):
                bars = iter([Block(r, leaf.rank, p) for r, p in zip(next(blocks), wanted, strict=True)])
            else:
                bars = iter(list(map(value_of, next(blocks), wanted)))
            lead = leaf.rank - len(around.get(id(leaf), ())) if isinstance(leaf, Array) else 0
            parts = tuple(place(s, bars, lead) for s in shapes)
            return parts[0] if self.single else Sequence(parts)
        return with_program(lowered, made, with_leaves(lowered.result, of_result))

    def check_complex(self, result, wanted) -> None:
        results: list[Any] = [leaf for leaf in leaves(result) if is_inexact(getattr(leaf, "dtype", ""))]
        place = definition_place(self.target)
        if self.holomorphic:
            check_holomorphic(results, wanted, self.__name__, place)
        elif any(is_complex(r.dtype) for r in results) and any(isinstance(p, Arr) and p.pairs for p in wanted):
            if self.kind == "Hessian":
                raise NonDifferentiable(f"the Hessian of `{self.__name__}` with respect to complex arguments is no array of "
                                        "complex numbers", place, "its products with vectors are: hvp(f)(z, v)")
            raise NonDifferentiable(
                f"`{self.__name__}` takes complex numbers to complex numbers: its derivative is no complex number unless it "
                "is holomorphic", place, "say holomorphic=True if it is, or return real and imaginary parts: z.real, z.imag")

    def __autodiff_program__(self, names, values, static, boundscheck=None):
        made = super().__autodiff_program__(names, values, static, boundscheck)
        if any(isinstance(leaf, Block) for leaf in leaves(made.result)):
            raise UnsupportedSyntax(*AT_THE_BOUNDARY)
        return made

    def forward(self, program, wanted, facts) -> bool:
        """Whether to go forward: as asked for, else by the numbers of inputs and outputs, of this call where known."""
        if self.direction != "auto":
            return self.direction == "forward"
        if has_hooks(program):
            return False                        # they see adjoints
        if (count := transform.count_known(program)) is not None and count <= transform.FEW:
            return False
        ins = [self.known(program, transform.shape_of(p)) for p in wanted]
        outs = [self.known(program, transform.shape_of(r)) for r in transform.results_of(program)]
        if None not in ins and None not in outs:
            return sum(filter(None, ins)) <= sum(filter(None, outs))
        if len(wanted) == len(outs) == 1 and len(transform.shape_of(wanted[0])) == 1:
            (size,), (first, *_) = transform.shape_of(wanted[0]), transform.shape_of(transform.results_of(program)[0])
            return facts.at_most(size, first)
        return False

    def known(self, program, shape) -> int | None:
        """The number of elements of a shape, with the sizes of the arguments at hand; None if that does not settle it."""
        values = dict(self._sizes)
        for var, stmt in operations(transform.outside(program, shape) or ()).items():
            args = [a.value if isinstance(a, Const) else values.get(a) for a in stmt.args]
            if stmt.op in FOLD and None not in args:
                fold: Any = FOLD[stmt.op]
                values[var] = fold(*args)
        found = [s.value if isinstance(s, Const) else values.get(s, -1) for s in shape]
        return None if -1 in found else math.prod(found)


class Block(Buffer):
    """A block of the Jacobian of complex results: axes of the result, one of its two parts, axes of the argument."""

    def __init__(self, arr, rank: int, param):
        super().__init__(arr)
        self.result_rank, self.complex_argument = rank, isinstance(param, Arr) and param.pairs

    def joined(self, raw: np.ndarray):
        """du + i dv; for holomorphic functions along the real part of the argument, where that is all of the derivative."""
        du, dv = (np.take(raw, k, axis=self.result_rank) for k in (0, 1))
        whole = (du + 1j * dv).astype("complex64" if raw.dtype == np.float32 else "complex128", copy=False)
        whole = whole[..., 0] if self.complex_argument else whole
        return whole if whole.ndim else complex(whole) if whole.dtype == np.complex128 else whole[()]


class Hessian(Jacobian):
    """The Jacobian of a gradient."""

    kind = "Hessian"

    def __init__(self, function, wrt=0, direction="forward", holomorphic=False, options: Options = DEFAULT):
        inner = function if isinstance(function, Gradient) else Gradient(function, wrt=wrt, options=options)
        super().__init__(inner, wrt, direction, holomorphic, options)

    def _pickled(self):
        return self.target.function


@form
def jacobian(function: Callable[..., Any], *, wrt: Wrt = 0, direction: Literal["auto", "forward", "reverse"] = "auto",
             holomorphic: bool = False, sparse: Literal[False] = False, sparsity: None = None,
             **options: Unpack[Settings]) -> Jacobian: ...
@form
def jacobian(function: Callable[..., Any], *, wrt: Wrt = 0, direction: Literal["auto", "forward", "reverse"] = "auto",
             sparse: Literal[True], sparsity: Any = None, **options: Unpack[Settings]) -> SparseJacobian: ...
@form
def jacobian(function: None = None, *, wrt: Wrt = 0, direction: Literal["auto", "forward", "reverse"] = "auto",
             holomorphic: bool = False, sparse: bool = False, sparsity: Any = None,
             **options: Unpack[Settings]) -> Callable[[Callable[..., Any]], Any]: ...
@operator
def jacobian(function=None, *, wrt=0, direction: str = "auto", holomorphic: bool = False, sparse: bool = False,
             sparsity=None, mode: str = "numba",
             boundscheck: bool = True, fastmath: bool = False, precise: bool = False, parallel: bool = False,
             debug: bool = False):
    """The Jacobian of a function, `jacobian(f)(*args)`: for a result of shape R and an argument of shape A an array R + A.

    wrt: position or name of the argument, or a tuple of them: then each result has a tuple of blocks. Arguments and results
        may be structures; the Jacobian has the result's structure, with that of the argument in the place of each number or
        array (None in the place of integers).
    direction: "forward" runs the program with a tangent for each input, 64 at a time; "reverse" runs it once and its
        pullback for every output (up to eight outputs whose number is known share one reverse sweep); "auto" takes the
        smaller number, at the sizes of the first call.
    holomorphic: arguments and results are complex, and so is the Jacobian, of complex derivatives. Otherwise complex
        results need real arguments (the Jacobian is then du/dx + i dv/dx), and that of real results with respect to
        complex arguments is dR/dRe + i dR/dIm, as for `grad`; complex results of complex arguments are refused.
    sparse: give `scipy.sparse.csr_array`s, of the structure that is found from the program: a block for each result and
        argument, as many rows as the result has numbers, as many columns as the argument, both in C order. The structure
        holds for every value of the arguments in `wrt`; it is found again when shapes change, or other arguments that decide
        it. The cost is that of as many directions as colours are needed; `.sparsity` of the object tells of the latest call.
    sparsity: for `sparse`, a structure instead of the one found: a sparse or boolean array, all blocks together, true where
        the derivative may not be zero. It is checked in random directions when it is first used.
    SparsityError is raised for a structure that cannot be found or misses entries.
    The other options, and the errors, are those of `grad`.
    """
    if sparse and holomorphic:
        raise TypeError("holomorphic=True is for dense Jacobians")
    own = {} if sparse else {"holomorphic": holomorphic}
    made, own = chosen(Jacobian, "SparseJacobian", sparse, sparsity, {"wrt": wrt, "direction": direction, **own})
    return decorated(made, function, Options(mode, boundscheck, fastmath, precise, parallel, debug=debug), **own)


@form
def hessian(function: Callable[..., Any], *, wrt: Wrt = 0, sparse: Literal[False] = False, sparsity: None = None,
            **options: Unpack[Settings]) -> Hessian: ...
@form
def hessian(function: Callable[..., Any], *, wrt: Wrt = 0, sparse: Literal[True], sparsity: Any = None,
            **options: Unpack[Settings]) -> SparseHessian: ...
@form
def hessian(function: None = None, *, wrt: Wrt = 0, sparse: bool = False, sparsity: Any = None,
            **options: Unpack[Settings]) -> Callable[[Callable[..., Any]], Any]: ...
@operator
def hessian(function=None, *, wrt=0, sparse: bool = False, sparsity=None, mode: str = "numba", boundscheck: bool = True,
            fastmath: bool = False, precise: bool = False, parallel: bool = False, debug: bool = False):
    """The Hessian of a scalar function, `hessian(f)(*args)`: an array of shape A + A for an argument of shape A.

    It is the Jacobian of the gradient, forward over reverse.
    wrt: position or name of the argument, or a tuple of them: then a tuple of rows of blocks. Other options as for `grad`.
    sparse, sparsity: as for `jacobian`; symmetry saves directions.
    """
    made, own = chosen(Hessian, "SparseHessian", sparse, sparsity, {"wrt": wrt})
    return decorated(made, function, Options(mode, boundscheck, fastmath, precise, parallel, debug=debug), **own)


@overload(jacobian, prefer_literal=True, strict=False)
def _jacobian(function, wrt=0, direction="auto", holomorphic=False):
    return operator_caller(jacobian, function, wrt=wrt, direction=direction, holomorphic=holomorphic)


@overload(hessian, prefer_literal=True, strict=False)
def _hessian(function, wrt=0):
    return operator_caller(hessian, function, wrt=wrt)


def chosen(dense, name: str, sparse: bool, sparsity, parameters: dict) -> tuple:
    """(class, parameters) of a dense or a sparse operator; scipy.sparse is imported when it is first asked for."""
    if not sparse:
        if sparsity is not None:
            raise TypeError("sparsity= is for sparse=True")
        return dense, parameters
    from . import sparse as module  # it needs SciPy, which the dense ones do without
    return getattr(module, name), {**parameters, "sparsity": sparsity}


__all__ = ["Hessian", "Jacobian", "hessian", "jacobian"]
