"""The functional face: grad, value_and_grad, differentiable; the other operators have files of their own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from typing import overload as form

from numba.extending import overload

from .arguments import kinds as argument_kinds
from .calling.compiled import Differentiable, decorated
from .calling.local import operator
from .habits import refused_of_functions
from .operators.gradients import Gradient
from .options import Options, Targeted, Wrt

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .graph.autograd import GradientEdge
    from .graph.tensor import Tensor

    Tensors = Tensor | GradientEdge | list[Tensor | GradientEdge] | tuple[Tensor | GradientEdge, ...]


@form
def grad(function: Callable[..., Any], /, *, wrt: Wrt = 0, has_aux: bool = False, holomorphic: bool = False,
         allow_unused: bool | None = None, **options: Unpack[Targeted]) -> Gradient: ...
@form
def grad(*, wrt: Wrt = 0, has_aux: bool = False, holomorphic: bool = False, allow_unused: bool | None = None,
         **options: Unpack[Targeted]) -> Callable[[Callable[..., Any]], Gradient]: ...
@form
def grad(outputs: Tensors, inputs: Tensors, grad_outputs: Any = None, retain_graph: bool | None = None,
         create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
         is_grads_batched: bool = False, materialize_grads: bool = False) -> tuple[Tensor, ...]: ...
@operator
def grad(outputs=None, inputs=None, grad_outputs=None, retain_graph=None, create_graph: bool = False,
         only_inputs: bool = True, allow_unused: bool | None = None, is_grads_batched: bool = False,
         materialize_grads: bool = False, *, wrt=0, has_aux: bool = False, holomorphic: bool = False, mode: str = "numba",
         boundscheck: bool = True, fastmath: bool = False, precise: bool = False, parallel: bool = False,
         target: str = "cpu", deterministic: bool = False, debug: bool = False):
    """The gradient of a function, `grad(f)(*args)`; or, of Tensors, `grad(outputs, inputs)`.

    Of a function, also as a decorator, `@grad` or `@grad(wrt="x")`: the gradient of a scalar function.

    wrt: position or name of the argument to differentiate with respect to, or a tuple of them (then a tuple of
        gradients is returned). An argument may be a number, an array, or a tuple, list, dict, namedtuple or dataclass of
        them: the gradient has the same structure, shapes and dtypes.
    has_aux: `f` returns (loss, aux), and the gradient function returns (gradient, aux).
    holomorphic: the arguments and the result are complex, and the result is the complex derivative. Otherwise a loss is
        real, and its gradient with respect to a complex z is dL/dRe z + i dL/dIm z.
    allow_unused: if false, an argument the loss does not depend on is an error instead of zeros.
    mode: "numba" (compiled) or "python" (the generated source run by CPython, for debugging).
    boundscheck: raise IndexError for an index out of range, as NumPy does; false leaves such accesses undefined.
    fastmath: let the compiler reorder floating point arithmetic.
    parallel: run loops that are proven independent on Numba's threads, where an array is large (200,000 elements or more);
        the result does not depend on the number of threads.
    precise: take exp, sin and the like from libm alone, not from its vector variants, which differ by up to 4 ulp.
    target: "cpu", "cuda" (an NVIDIA GPU, see docs/gpu.md), or "auto": where the arrays are that a call is given.
    deterministic: on a GPU, refuse programs whose sums depend on the order in which threads come.

    Returns a callable with `.primal`, `.source`, `.stages`, `.tape` and `.specialize`. Called with `out=` (arrays in the
        structure of the gradient; None for numbers and for what may be new), it fills those arrays and returns them;
        TypeConflict or ShapeMismatch for arrays that do not fit or share memory with an argument.
    Raises AutodiffError subclasses at the first call for what cannot be differentiated, before anything runs.

    Of Tensors: a tuple with the gradients of `outputs`, summed, with respect to each of `inputs`; no `.grad` changes.

    outputs, inputs: a Tensor, a GradientEdge, or a sequence of them.
    grad_outputs: the cotangent of each output, of its shape; None where the output has one element.
    retain_graph: keep what the graph saved, so that it can run again; by default the value of `create_graph`.
    create_graph: record the backward pass, so that the gradients can be differentiated.
    allow_unused: give None for an input that the outputs do not depend on, instead of an error.
    is_grads_batched: every grad_output has one more, leading axis, and so has every result.
    materialize_grads: give zeros for unused inputs.
    Raises RuntimeError, ValueError or TypeError for arguments that do not fit, naming the argument.
    """
    if outputs is None or callable(outputs):
        refused = refused_of_functions("grad", inputs=inputs, grad_outputs=grad_outputs, retain_graph=retain_graph,
                                       create_graph=create_graph, only_inputs=not only_inputs,
                                       is_grads_batched=is_grads_batched, materialize_grads=materialize_grads)
        if refused is not None:
            raise refused
        options = Options(mode, boundscheck, fastmath, precise, parallel, target, deterministic, debug=debug)
        return decorated(Gradient, outputs, options, wrt=wrt, has_aux=has_aux, allow_unused=allow_unused is not False,
                         holomorphic=holomorphic)
    if argument_kinds.TENSORS is None:      # nothing is a Tensor yet: the arguments are wrong, which is for it to say
        from . import graph  # noqa: F401 (a first gradient starts without Tensors)
    return argument_kinds.TENSORS[2](outputs, inputs, grad_outputs, retain_graph, create_graph, only_inputs, allow_unused,
                                is_grads_batched, materialize_grads)


def _of_functions(signature: inspect.Signature) -> inspect.Signature:
    """The parameters of `grad` for functions, which help() and editors show."""
    own = signature.parameters
    named = {p.name: p for p in own.values() if p.kind is p.KEYWORD_ONLY}
    first = inspect.Parameter("function", inspect.Parameter.POSITIONAL_ONLY, default=None)
    unused = own["allow_unused"].replace(kind=inspect.Parameter.KEYWORD_ONLY)
    wrt, has_aux, *rest = named.values()
    return inspect.Signature([first, wrt, has_aux, unused, *rest])


grad.__signature__ = _of_functions(inspect.signature(grad))             # type: ignore[attr-defined]


@form
def value_and_grad(function: Callable[..., Any], *, wrt: Wrt = 0, has_aux: bool = False, holomorphic: bool = False,
                   allow_unused: bool = True, **options: Unpack[Targeted]) -> Gradient: ...
@form
def value_and_grad(function: None = None, *, wrt: Wrt = 0, has_aux: bool = False, holomorphic: bool = False,
                   allow_unused: bool = True, **options: Unpack[Targeted]) -> Callable[[Callable[..., Any]], Gradient]: ...
@operator
def value_and_grad(function=None, *, wrt=0, has_aux: bool = False, holomorphic: bool = False, allow_unused: bool = True,
                   mode: str = "numba", boundscheck: bool = True, fastmath: bool = False, precise: bool = False,
                   parallel: bool = False, target: str = "cpu", deterministic: bool = False, debug: bool = False):
    """As `grad`, returning (value, gradient); with has_aux the value is the pair (loss, aux)."""
    options = Options(mode, boundscheck, fastmath, precise, parallel, target, deterministic, debug=debug)
    return decorated(Gradient, function, options, wrt=wrt, with_value=True, has_aux=has_aux, allow_unused=allow_unused,
                     holomorphic=holomorphic)


@form
def differentiable(function: Callable[..., Any], *, outputs: str | tuple[str, ...] = (),
                   **options: Unpack[Targeted]) -> Differentiable: ...
@form
def differentiable(function: None = None, *, outputs: str | tuple[str, ...] = (),
                   **options: Unpack[Targeted]) -> Callable[[Callable[..., Any]], Differentiable]: ...
@operator
def differentiable(function=None, *, mode: str = "numba", boundscheck: bool = True, fastmath: bool = False,
                   outputs=(), precise: bool = False, parallel: bool = False, target: str = "cpu",
                   deterministic: bool = False, debug: bool = False):
    """The function compiled, with its pullback: `f(x)`, and `out, pullback = f.vjp(x)`."""
    return decorated(Differentiable, function, Options(mode, boundscheck, fastmath, precise, parallel, target, deterministic,
                                                       outputs, debug))


@overload(grad, prefer_literal=True, strict=False)
def _grad(function, wrt=0, has_aux=False, holomorphic=False):
    """A call in the user's compiled code, as below and in the files of the other operators."""
    return called_in_numba(grad, function, wrt=wrt, has_aux=has_aux, holomorphic=holomorphic)


@overload(value_and_grad, prefer_literal=True, strict=False)
def _value_and_grad(function, wrt=0, has_aux=False, holomorphic=False):
    return called_in_numba(value_and_grad, function, wrt=wrt, has_aux=has_aux, holomorphic=holomorphic)


def called_in_numba(make, function, **options):
    from .operators.numba_values import operator_caller  # a first gradient starts without it
    return operator_caller(make, function, **options)


__all__ = ["differentiable", "grad", "value_and_grad"]
