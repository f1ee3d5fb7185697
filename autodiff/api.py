"""The functional face: grad, value_and_grad, vjp, linearize, differentiable."""

from __future__ import annotations

from . import arguments
from .compiled import Differentiable, decorated, made_for, operator
from .gradients import Gradient
from .linearizations import Linearize, TangentMap
from .pullbacks import Pullback, Vjp


@operator
def grad(outputs=None, inputs=None, grad_outputs=None, retain_graph=None, create_graph: bool = False,
         only_inputs: bool = True, allow_unused: bool | None = None, is_grads_batched: bool = False,
         materialize_grads: bool = False, *, wrt=0, has_aux: bool = False, holomorphic: bool = False, mode: str = "numba",
         boundscheck: bool = True, fastmath: bool = False, precise: bool = False, parallel: bool = False,
         debug: bool = False):
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
        return decorated(Gradient, outputs, {"wrt": wrt, "has_aux": has_aux, "allow_unused": allow_unused is not False,
                                              "holomorphic": holomorphic, "mode": mode, "boundscheck": boundscheck,
                                              "fastmath": fastmath, "precise": precise, "parallel": parallel,
                                              "debug": debug})
    if arguments.TENSORS is None:               # nothing is a Tensor yet: the arguments are wrong, which is for it to say
        from . import graph  # noqa: F401
    return arguments.TENSORS[2](outputs, inputs, grad_outputs, retain_graph, create_graph, only_inputs, allow_unused,
                                is_grads_batched, materialize_grads)


@operator
def value_and_grad(function=None, *, wrt=0, has_aux: bool = False, holomorphic: bool = False, allow_unused: bool = True,
                   mode: str = "numba", boundscheck: bool = True, fastmath: bool = False, precise: bool = False,
                   parallel: bool = False, debug: bool = False):
    """As `grad`, returning (value, gradient); with has_aux the value is the pair (loss, aux)."""
    return decorated(Gradient, function, {"wrt": wrt, "with_value": True, "has_aux": has_aux, "allow_unused": allow_unused,
                                               "holomorphic": holomorphic, "mode": mode, "boundscheck": boundscheck,
                                               "fastmath": fastmath, "precise": precise, "parallel": parallel,
                                               "debug": debug})


@operator
def differentiable(function=None, *, mode: str = "numba", boundscheck: bool = True, fastmath: bool = False,
                   outputs=(), precise: bool = False, parallel: bool = False, debug: bool = False):
    """The function compiled, with its pullback: `f(x)`, and `out, pullback = f.vjp(x)`."""
    return decorated(Differentiable, function, {"mode": mode, "boundscheck": boundscheck, "fastmath": fastmath,
                                                 "outputs": outputs, "precise": precise, "parallel": parallel,
                                                 "debug": debug})


def vjp(function, *primals, outputs=(), mode: str = "numba", boundscheck: bool = True, fastmath: bool = False,
        precise: bool = False, debug: bool = False):
    """(result, pullback) of `function` at `primals`.

    The pullback takes a cotangent of the result's structure and returns one cotangent for each primal: arrays and
    numbers of the primal's shape and dtype, None for what has no derivative (integers, static values). It may be
    called any number of times, as long as the arrays passed are not changed: it may read them.
    `pullback.batched(cotangents)` takes a leading axis and runs no second forward sweep.

    outputs: names of arguments that the function writes; their final contents are results too, after the returned value
        if there is one.
    """
    return split_form(Vjp, function, outputs, {"mode": mode, "boundscheck": boundscheck, "fastmath": fastmath,
                                               "precise": precise, "debug": debug})(*primals)


def linearize(function, *primals, outputs=(), mode: str = "numba", boundscheck: bool = True, fastmath: bool = False,
              precise: bool = False, debug: bool = False):
    """(result, tangent map) of `function` at `primals`: forward mode for many tangents at one point.

    The values and partial derivatives are computed once and kept. `tangent_map(*tangents)` takes one tangent for each
    primal, of its structure, shapes and dtypes, None for one (or a part of one) that is zero, and returns the tangent of
    the result, as `jvp` does: None in the place of integers. It may be called any number of times, as long as the arrays
    passed are not changed: it may read them. `tangent_map.batched(*tangents)` takes one more, leading axis.

    What is kept grows with the number of operations, as for `vjp`; where few tangents are wanted, `jvp` keeps nothing. The
    tape of a loop marked with `checkpoint` is kept whole.
    outputs: as for `vjp`. Raises ShapeMismatch, NonDifferentiable and other AutodiffErrors as `jvp` and `grad` do.
    """
    return split_form(Linearize, function, outputs, {"mode": mode, "boundscheck": boundscheck, "fastmath": fastmath,
                                                     "precise": precise, "debug": debug})(*primals)


def split_form(cls, function, outputs, options):
    """The compiled object behind a call of `vjp` or `linearize`."""
    if isinstance(function, Differentiable):
        function = function.function
    names = (outputs,) if isinstance(outputs, str) else tuple(outputs)
    return made_for(cls, function, outputs=names, **options)


__all__ = ["Pullback", "TangentMap", "differentiable", "grad", "linearize", "value_and_grad", "vjp"]
