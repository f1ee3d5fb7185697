"""on_gradient: a value whose adjoint passes through a function of the user's."""

from __future__ import annotations

from numba.extending import overload

from ..arguments import kinds as argument_kinds
from ..transforms.differentiate.hooks import hook_call
from ..transforms.language.core import Arr, Var, written
from ..transforms.language.errors import TypeConflict
from ..transforms.lower.arrays.memory import force
from ..transforms.lower.arrays.writing import assign
from ..transforms.lower.journal import dropped
from ..transforms.lower.numbers.conversions import dtype_of, is_weak
from ..transforms.lower.numpy_functions.random_draws import no_draws
from ..transforms.lower.table import lowers
from ..transforms.lower.values import Array, Buffer, Scalar, Static, Value
from .nesting import fitting


def on_gradient(x, hook):
    """`x` itself; where it is differentiated, its adjoint becomes `hook(x_bar)`.

    x: a number or an array.
    hook: a function of a number or array of its shape (a lambda, a function of the module or one defined inside), which may
        read what is known where it stands. It returns the adjoint to go on with, of the same shape, or None to leave it as
        it is. It has no effects but printing.
    The hook is inlined in the reverse sweep, so the generated source shows it. Only what flows back through the result
    passes it, not the adjoint of other uses of `x`. A derivative of a gradient is that of what the gradient computes.
    Forward mode (`jvp`, `linearize`, `jacobian(direction="forward")`) has no adjoints and refuses hooks: NonDifferentiable.
    A Tensor is cloned, and the clone has the hook. In your own `@njit` functions `x` is returned.

    >>> from autodiff import grad
    >>> grad(lambda x: 3.0 * on_gradient(x, lambda g: min(g, 1.0)))(2.0)
    1.0
    """
    tensors = argument_kinds.TENSORS
    if tensors is not None and isinstance(x, tensors[0]):
        made = x.clone()
        if made.requires_grad:
            made.register_hook(hook)
        return made
    return x


@lowers(on_gradient)
def lower_on_gradient(lo, x, hook):
    if isinstance(x, Static) and isinstance(x.value, (int, float)):
        return x
    if not isinstance(x, (Array, Scalar)):
        raise lo.error(TypeConflict, "on_gradient() takes a number or an array", "call it for each part")
    if dtype_of(lo, x).startswith("complex"):
        raise lo.error(TypeConflict, "on_gradient() does not take complex values",
                       "hook the real and imaginary parts: on_gradient(z.real, hook) + 1j * on_gradient(z.imag, hook)")
    if not dtype_of(lo, x).startswith("float"):
        return x
    array = isinstance(x, Array) and x.rank > 0
    source = force(lo, x) if isinstance(x, Array) and array else lo.atom(x)
    seed = Arr("g", x.dtype, source.shape) if array else Var("g", source.dtype)
    if isinstance(seed, Var):
        lo.b.facts.number(seed)
    bar = Arr("bar", seed.dtype, source.shape) if isinstance(seed, Arr) else None

    def lowered(copied: bool):
        """(statements of the hook, the atom of its result if that is a number)."""
        with dropped(lo):
            given: Value = Scalar(seed) if isinstance(seed, Var) else force(lo, Buffer(seed), copy=copied)
            with no_draws(lo, "a hook of on_gradient, which runs in the reverse sweep", "draw in the function itself"):
                result = lo.call(hook, [given], {})
            if isinstance(result, Static) and result.value is None:
                result = given
            result = fitting(lo, result, given, "what the hook returns")
            if bar is not None:
                assign(lo, Buffer(bar), result, accumulate=True)
            return lo.b.block(), None if bar is not None else lo.atom(result)
    body, atom = lowered(False)
    if seed in written(body):                   # the adjoint is not the hook's to change
        body, atom = lowered(True)
    value = hook_call(lo.b, source.arr if array else source, body, seed, bar if bar is not None else atom)
    return Buffer(value) if isinstance(value, Arr) else Scalar(value, is_weak(lo, x))


@overload(on_gradient)
def _on_gradient(x, hook):
    return lambda x, hook: x


__all__ = ["on_gradient"]
