"""`op`: a function as a PyTensor Op, with its derivatives as Ops and a Numba implementation that calls compiled code."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numba
import numpy as np
import pytensor.tensor as pt
from numba.extending import intrinsic, overload
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_and_cache_key
from pytensor.tensor.shape import Shape_i
from pytensor.tensor.type import TensorType

from ..calling.compiled import Compiled
from ..calling.pickling import Reference
from ..inspecting.bills import EVALUATE
from ..operators.gradients import definition_place
from ..options import Options
from ..transforms.language.errors import TypeConflict
from ..transforms.language.ops import is_complex, is_inexact
from .derived import Family, family_of, name_of
from .entries import Entry
from .leaves import array_of


class DerivedOp(Op):
    """A function, or a derivative of it, of tensors. Numbers of the function are tensors without axes.

    Two of them are equal if they compute the same derivative of one function with the same options.
    chain: what was derived before, as `Family.function_of` says; step: what this derives of it, None for the function.
    """

    def __init__(self, family: Family, chain: tuple = (), step: tuple | None = None):
        self.family, self.chain, self.step = family, chain, step

    def _what(self) -> tuple:
        return id(self.family), self.chain, self.step

    def __eq__(self, other):
        return type(self) is type(other) and self._what() == other._what()

    def __hash__(self):
        return hash(self._what())

    def __str__(self):
        text = name_of(self.family.function)
        for kind, *_ in self._whole():
            text = f"{kind}({text})"
        return f"autodiff.{text}"

    __repr__ = __str__

    def __reduce__(self):
        function = self.family.function
        sent = function if isinstance(function, Compiled) else Reference(function)
        return rebuilt, (type(self), sent, self.family.options, self.chain, self.step)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def _whole(self) -> tuple:
        """The chain to the function that this computes."""
        return self.chain if self.step is None else (*self.chain, self.step)

    def _entry(self, inputs, building: bool = False) -> Entry:
        kind, own, wrt = "value", len(inputs), None
        if self.step is not None:
            kind, own = self.step[0], len(self.step[1])
            if kind == "value_and_grad":
                wrt = tuple(k for k, taken in enumerate(self.step[1]) if taken)
        kinds = tuple(array_of(numba.from_dtype(np.dtype(a.dtype)), a.ndim) for a in inputs[:own])
        return self.family.entry(self.chain, kind, kinds, building, wrt)

    def _results(self, made: Entry):
        """The places of what this returns: of a pushforward, only the tangents."""
        if self.step is None or self.step[0] != "jvp":
            return range(len(made.results))
        return [k for k, place in enumerate(made.results) if place.path.startswith("result_dot")]

    # ---- the graph ------------------------------------------------------------------------------------------
    def make_node(self, *args, **named) -> Apply:
        """Apply the function to tensors, or to what can be made one: arrays, and numbers, which keep Python's types.

        Raises TypeError where they do not fit the function, and AutodiffErrors as `grad` does.
        """
        function = self.family.function
        if named:
            args = tuple(positional(function, args, named))
        inputs = [tensor(a, k, function) for k, a in enumerate(args)]
        made = self._entry(inputs, building=True)
        if len(made.arguments) != len(inputs):
            names = ", ".join(f"`{place.path}`" for place in made.arguments)
            raise TypeError(f"the op of `{name_of(function)}` takes {names}, each a tensor: {len(inputs)} were given")
        if self.step is None:
            places = [place.path for place in made.results]
            if not places or places != ["result"] and places != [f"result[{k}]" for k in range(len(places))]:
                raise TypeConflict(f"`{name_of(function)}` returns {', '.join(places) or 'no numbers'}, ops return tensors",
                                   definition_place(function), "return an array, a number or a tuple of them")
            complex_ones = [place.path for place in made.results if is_complex(place.dtype)]
            if complex_ones:
                raise TypeConflict(f"`{name_of(function)}` returns complex numbers ({complex_ones[0]}), whose derivatives "
                                   "PyTensor does not have", definition_place(function), "return real and imaginary parts")
        inputs = [a if a.dtype == place.dtype else a.astype(place.dtype)
                  for a, place in zip(inputs, made.arguments, strict=True)]
        of_inputs = [a for a in inputs if is_inexact(a.dtype)]
        outputs: list[Variable] = []
        for n, k in enumerate(self._results(made)):
            place = made.results[k]
            static = of_inputs[n].type.shape if self.step is not None and self.step[0] == "vjp" else (None,) * place.rank
            outputs.append(TensorType(place.dtype, static)())
        return Apply(self, inputs, outputs)

    def connection_pattern(self, node) -> list:
        """Integers have no derivative, and nothing has one in them."""
        return [[is_inexact(a.dtype) and is_inexact(out.dtype) for out in node.outputs] for a in node.inputs]

    def infer_shape(self, fgraph, node, shapes) -> list:
        """Shapes of results by the formulas of the program; where data decide, those of what a run returns."""
        if self.step is not None and self.step[0] == "vjp":
            own = len(self.step[1])
            return [shape for a, shape in zip(node.inputs[:own], shapes, strict=False) if is_inexact(a.dtype)]
        made = self._entry(node.inputs)
        found = symbolic_shapes(made, node.inputs, shapes)
        return [tuple(Shape_i(axis)(out) if n is None else n for axis, n in enumerate(found[k]))
                for k, out in zip(self._results(made), node.outputs, strict=True)]

    # ---- derivatives ----------------------------------------------------------------------------------------
    def _derived(self, kind: str, inputs, outputs) -> DerivedOp:
        taken = tuple(is_inexact(a.dtype) for a in inputs)
        if self.step is None:
            tuples = self._entry(inputs).results[0].path != "result"
            given = tuple(is_inexact(out.dtype) for out in outputs) if tuples else ()
        elif self.step[0] == "vjp":
            given = (True,) * len(outputs)
        else:
            given = (True,) * len(outputs) if self.step[2] else ()
        return DerivedOp(self.family, self._whole(), (kind, taken, given))

    def pullback(self, inputs, outputs, cotangents) -> list:
        """Cotangents of the inputs from those of the outputs: one more Op."""
        bars = [pt.zeros_like(out) if isinstance(bar.type, DisconnectedType) else bar
                for out, bar in zip(outputs, cotangents, strict=True) if is_inexact(out.dtype)]
        found = iter(self._derived("vjp", inputs, outputs)(*inputs, *bars, return_list=True))
        return [next(found) if is_inexact(a.dtype) else disconnected_type() for a in inputs]

    L_op = pullback                 # its name in PyTensor 2

    def pushforward(self, inputs, outputs, tangents) -> list:
        """Tangents of the outputs from those of the inputs (None or disconnected: zero): one more Op."""
        dots = [pt.zeros_like(a) if dot is None or isinstance(dot.type, DisconnectedType) else dot
                for a, dot in zip(inputs, tangents, strict=True) if is_inexact(a.dtype)]
        found = iter(self._derived("jvp", inputs, outputs)(*inputs, *dots, return_list=True))
        return [next(found) if is_inexact(out.dtype) else disconnected_type() for out in outputs]

    def R_op(self, inputs, eval_points) -> list:
        """Its name in PyTensor 2, where None stands for what has no tangent."""
        node = self.make_node(*inputs)
        found = self.pushforward(inputs, node.outputs, eval_points)
        return [None if isinstance(dot.type, DisconnectedType) else dot for dot in found]

    # ---- runs -----------------------------------------------------------------------------------------------
    def perform(self, node, inputs, output_storage):
        """The compiled function, called from Python."""
        made = self._entry(node.inputs)
        found = made(*inputs)
        for k, cell in zip(self._results(made), output_storage, strict=True):
            cell[0] = np.asarray(found[k], made.results[k].dtype)


def rebuilt(cls, function, options: Options, chain: tuple, step) -> DerivedOp:
    """The Op that was pickled."""
    return cls(family_of(function, options), chain, step)


def tensor(value, k: int, function):
    """An argument as a tensor variable; Python's numbers are int64 and float64, as NumPy makes them."""
    try:
        found = pt.as_tensor_variable(np.asarray(value) if isinstance(value, (bool, int, float)) else value)
    except (TypeError, ValueError, NotImplementedError) as e:
        raise TypeError(f"argument {k} of `{name_of(function)}` is a {type(value).__name__}, and an op takes tensors: put "
                        f"other values into the function, `op(lambda x: f(x, ...))` ({e})") from None
    if not isinstance(found.type, TensorType) or is_complex(found.dtype):
        raise TypeConflict(f"argument {k} of `{name_of(function)}` is {found.type}: ops take dense tensors of real numbers",
                           definition_place(function), "pass its parts")
    return found


def positional(function, args, named) -> tuple:
    """Arguments of which some were passed by keyword, in the order of the function. Raises TypeError as the call would."""
    bound = inspect.signature(getattr(function, "function", function)).bind(*args, **named)
    if bound.kwargs:
        names = ", ".join(bound.kwargs)
        raise TypeError(f"the op of `{name_of(function)}` cannot take {names} by keyword: pass what stands before it too")
    return bound.args


def symbolic_shapes(made: Entry, inputs, shapes) -> list:
    """Sizes of each result as expressions of the sizes and integers of the inputs; None for one that is not known."""
    operations = {**EVALUATE, **dict.fromkeys(("max", "maximum", "larger"), pt.maximum),
                  **dict.fromkeys(("min", "minimum", "smaller"), pt.minimum)}
    return made.symbolic_shapes(shapes, [a if a.dtype == "int64" and not a.ndim else None for a in inputs], operations)


# ---- Numba's linker -------------------------------------------------------------------------------------------
@intrinsic
def writable(typing_context, array):
    """The array as one that may be written to, without a copy: compiled entries write to none of their arguments."""
    def codegen(context, builder, signature, args):
        context.nrt.incref(builder, signature.return_type, args[0])
        return args[0]
    return array.copy(readonly=False)(array), codegen


def as_taken(value):
    """A tensor as entries take it: a number if it has no axes, else an array in C order."""
    raise NotImplementedError


@overload(as_taken, inline="never")
def as_taken_compiled(value):
    if not isinstance(value, numba.types.Array):
        return lambda value: value
    if value.ndim == 0:
        return lambda value: value[()]
    if value.layout != "C":
        return lambda value: np.ascontiguousarray(value)
    if not value.mutable:
        return lambda value: writable(value)  # type: ignore[call-arg]
    return lambda value: value


@register_funcify_and_cache_key(DerivedOp)
def numba_of_op(op, node, **_):
    """(function for Numba's linker, None): nothing of ours is kept on disk under a key of theirs."""
    made = op._entry(node.inputs)
    names = [f"x{k}" for k in range(len(node.inputs))]
    found = [f"found[{k}]" if made.results[k].rank else f"np.asarray(found[{k}])" for k in op._results(made)]
    name = re.sub(r"\W+", "_", f"{op}")
    lines = [f"def {name}({', '.join(names)}):", f"    found = call({', '.join(f'as_taken({x})' for x in names)})",
             f"    return {found[0] if len(found) == 1 else '(' + ', '.join(found) + ',)'}"]
    namespace: dict[str, Any] = {"call": made.function, "as_taken": as_taken, "np": np}
    exec("\n".join(lines) + "\n", namespace)
    return numba_njit(namespace[name]), None


def op(function, *, boundscheck: bool = True, fastmath: bool = False, precise: bool = False) -> DerivedOp:
    """`function` as a PyTensor Op: `op(f)(x, y)` is a tensor, or a list of them if it returns a tuple.

    It takes tensors of any rank, of floats, integers and booleans, and what can be made one; numbers are tensors without
    axes. Its gradient, pushforward and their own derivatives are Ops too. PyTensor's Numba linker calls the compiled code,
    without Python between; its other linkers call it from Python. What the function reads outside of its arguments is as it
    was when the op was first applied. The options are those of `grad`.

    Raises TypeConflict where arguments are complex, where results are no tensors, and where what is read outside
    changed since; NonDifferentiable and other AutodiffErrors as `grad` does. Errors of a run are those of Python.
    """
    if not callable(function):
        raise TypeError(f"op() takes a function, not a {type(function).__name__}")
    return DerivedOp(family_of(function, Options(boundscheck=boundscheck, fastmath=fastmath, precise=precise)))


__all__ = ["DerivedOp", "op"]
