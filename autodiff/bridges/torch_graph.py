"""How operations are called by torch: in eager mode, by its compiler as `autodiff::call`, by its transforms of functions."""

from __future__ import annotations

from typing import Any

import torch
from torch._library.autograd import Info, make_autograd_impl
from torch.autograd import forward_ad
from torch.nn import Parameter

from ..transforms.language.errors import TypeConflict
from .derived import name_of
from .torch_operations import Operation, operation_of

PLAIN = {torch.Tensor, Parameter, bool, int, float, complex}
WIDE = {float: torch.float64, torch.SymFloat: torch.float64, complex: torch.complex128, bool: torch.bool}
_mapped = torch._C._are_functorch_transforms_active
_modes = torch._C._len_torch_dispatch_stack


# ---- eager mode -----------------------------------------------------------------------------------------------
def plain(leaves) -> bool:
    """Whether all leaves have memory, and nothing of torch's wants to see the call."""
    return not _modes() and PLAIN.issuperset(map(type, leaves))


def run(operation: Operation, leaves) -> tuple:
    return operation.compute(leaves) if plain(leaves) else dispatched(operation, leaves)


def apply(operation: Operation, leaves) -> tuple:
    """The results of an operation, part of the graph if a leaf is."""
    if _mapped():
        return Transformed.apply(operation, *leaves)
    if forward_ad._current_level < 0 and not (torch.is_grad_enabled() and any(
            isinstance(x, torch.Tensor) and x.requires_grad for x in leaves)):
        return run(operation, leaves)
    return Call.apply(operation, *leaves) if plain(leaves) else dispatched(operation, leaves)


def seeds_of(operation: Operation, bars) -> list:
    """The cotangents of the float results."""
    return [bar for bar, yes in zip(bars, operation.inexact, strict=True) if yes]


class Node(torch.autograd.Function):
    """An operation in torch's graph. Its derivatives are other operations, so that they have derivatives too."""

    @staticmethod
    def backward(ctx, *bars):
        pullback, whose = ctx.pullback
        leaves = kept(ctx)
        found = apply(pullback, [*leaves, *seeds_of(ctx.operation, bars)])
        given: list[Any] = [None] * (len(leaves) + 1)
        for k, bar in zip(whose, found, strict=True):
            given[k + 1] = bar
        return tuple(given)

    @staticmethod
    def jvp(ctx, _, *dots):
        operation, leaves = ctx.operation, kept(ctx)
        given = [torch.zeros_like(torch.as_tensor(x)) if dot is None else dot
                 for x, dot, is_float in zip(leaves, dots, operation.floats, strict=True) if is_float]
        found = iter(apply(operation.pushforward(), [*leaves, *given]))
        return tuple([next(found) if yes else None for yes in operation.inexact])


def keep(ctx, operation: Operation, leaves, found) -> None:
    """What the derivatives of a call need."""
    needed = ctx.needs_input_grad[1:]
    ctx.operation = operation
    ctx.pullback = operation.pullback(needed) if True in needed and True in operation.inexact else None
    tensors, ctx.numbers = leaves, None
    if not all(isinstance(x, torch.Tensor) for x in leaves):
        tensors = tensors_of(leaves)
        ctx.numbers = [None if isinstance(x, torch.Tensor) else x for x in leaves]
    ctx.save_for_backward(*tensors)
    if forward_ad._current_level >= 0:
        ctx.save_for_forward(*tensors)
    if False in operation.inexact:
        ctx.mark_non_differentiable(*(r for r, yes in zip(found, operation.inexact, strict=True) if not yes))


def tensors_of(leaves) -> list:
    return [x if isinstance(x, torch.Tensor) else None for x in leaves]


def kept(ctx) -> list:
    """The leaves of a call."""
    if ctx.numbers is None:
        return ctx.saved_tensors
    return [number if saved is None else saved for saved, number in zip(ctx.saved_tensors, ctx.numbers, strict=True)]


class Call(Node):
    """A call in eager mode."""

    @staticmethod
    def forward(ctx, operation, *leaves):
        found = run(operation, leaves)
        keep(ctx, operation, leaves, found)
        return found


class Dual(Call):
    """A call of tensors with tangents, which graphs of torch bring without the level that eager mode counts."""

    @staticmethod
    def forward(ctx, operation, *leaves):
        found = Call.forward(ctx, operation, *leaves)
        ctx.save_for_forward(*tensors_of(leaves))
        return found


class Transformed(Node):
    """A call under `torch.func`: grad, vjp, jvp, vmap and what they are made into."""

    @staticmethod
    def forward(operation, *leaves):
        return run(operation, leaves)

    @staticmethod
    def setup_context(ctx, inputs, output):
        operation, *leaves = inputs
        keep(ctx, operation, leaves, output)
        ctx.save_for_forward(*tensors_of(leaves))

    @staticmethod
    def vmap(info, in_dims, operation, *leaves):
        return batch(in_dims[1:], operation, leaves)


def batch(places, operation: Operation, leaves) -> tuple:
    """(results with the batch first, where that is) of a call for each element along the axes `places` of the leaves."""
    moved = [x if place is None else x.movedim(place, 0) for x, place in zip(leaves, places, strict=True)]
    found = apply(operation.batched(tuple(place is not None for place in places)), moved)
    return found, (0,) * len(found)


# ---- torch's library ------------------------------------------------------------------------------------------
LIBRARY = torch.library.Library("autodiff", "FRAGMENT")
LIBRARY.define("call(str operation, Tensor[] tensors, SymInt[] integers) -> Tensor[]")
CALL = torch.ops.autodiff.call.default


def dispatched(operation: Operation, leaves) -> tuple:
    """The results by torch's dispatcher, which its compiler, its modes and the classes of its tensors see."""
    tensors = [tensor(x) for x, is_int in zip(leaves, operation.integers, strict=True) if not is_int]
    integers = [x for x, is_int in zip(leaves, operation.integers, strict=True) if is_int]
    return tuple(CALL(operation.name, tensors, integers))


def tensor(leaf):
    """A leaf as a tensor."""
    return leaf if isinstance(leaf, torch.Tensor) else torch.scalar_tensor(leaf, dtype=WIDE[type(leaf)])


def leaves_of(operation: Operation, tensors, integers) -> list:
    """The leaves of a call, in their order."""
    following, numbers = iter(tensors), iter(integers)
    return [next(numbers) if is_int else next(following) for is_int in operation.integers]


def called(name: str, tensors, integers) -> list:
    """A call of a graph. Raises TypeConflict if what the function reads outside is another than when the graph was made."""
    operation = operation_of(name)
    if not (name.count("/") or operation.outside.current()):
        raise TypeConflict(f"what `{name_of(operation.function)}` reads outside of its arguments changed after torch made "
                           "the graph", None, "pass it as an argument, or compile again after torch.compiler.reset()")
    return list(operation.compute(leaves_of(operation, tensors, integers)))


def fake(name: str, tensors, integers) -> list:
    """Results without data: of the shapes that the formulas of the program give, nothing is run."""
    operation, made = operation_of(name), []
    for dtype, shape in zip(operation.dtypes, operation.shapes(leaves_of(operation, tensors, integers)), strict=True):
        sizes = [torch.library.get_ctx().new_dynamic_size() if n is None else n for n in shape]
        made.append(torch.empty(sizes, dtype=dtype, device=tensors[0].device if tensors else "cpu"))
    return made


def set_up(ctx, inputs, output) -> None:
    name, tensors, integers = inputs
    ctx.operation, ctx.integers = operation_of(name), integers
    ctx.save_for_backward(*tensors)


def backward(ctx, bars) -> tuple:
    operation, given = ctx.operation, iter(ctx.needs_input_grad[1])
    needed = tuple(not is_int and next(given) for is_int in operation.integers)
    pullback, whose = operation.pullback(needed)
    bars = CALL(pullback.name, [*ctx.saved_tensors, *seeds_of(operation, bars)], ctx.integers)
    found = dict(zip(whose, bars, strict=True))
    of_tensors = [found.get(k) for k, is_int in enumerate(operation.integers) if not is_int]
    return None, of_tensors, None if ctx.integers else []


def mapped(info, in_dims, name: str, tensors, integers) -> tuple:
    operation, places = operation_of(name), iter(in_dims[1])
    dims = [None if is_int else next(places) for is_int in operation.integers]
    found, out = batch(dims, operation, leaves_of(operation, tensors, integers))
    return list(found), list(out)


torch.library.impl("autodiff::call", "CompositeExplicitAutograd", called, lib=LIBRARY)
torch.library.register_fake("autodiff::call", fake, lib=LIBRARY)
_reverse = make_autograd_impl(CALL, Info(backward, set_up))


def differentiated(keys, name: str, tensors, integers) -> list:
    """A call that is differentiated: as `torch.library.register_autograd` has it, which drops tangents, or forward."""
    if torch._C._is_fwd_grad_enabled() and any(torch._VF._unpack_dual(x, level=0)[1] is not None for x in tensors):
        operation = operation_of(name)
        return list(Dual.apply(operation, *leaves_of(operation, tensors, integers)))
    return _reverse(keys, name, tensors, integers)


LIBRARY.impl("call", differentiated, "Autograd", with_keyset=True)
torch.library.register_vmap("autodiff::call", mapped, lib=LIBRARY)


__all__ = ["apply", "dispatched"]
