"""What editors and type checkers are told of the public names: checked by mypy in `.ci/typecheck`, not run.

A line that must be refused is marked `type: ignore`, which mypy reports where it is not needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import autodiff
from autodiff import (
    Tensor,
    check_grads,
    differentiable,
    grad,
    hessian,
    hvp,
    jacobian,
    jvp,
    linearize,
    tensor,
    value_and_grad,
    vjp,
    vmap,
)
from autodiff.calling.compiled import Differentiable
from autodiff.check.differences import GradientReport
from autodiff.inspecting.tapes import Tape
from autodiff.operators.gradients import Gradient
from autodiff.operators.hessian_products import HessianProduct
from autodiff.operators.jacobians import Hessian, Jacobian
from autodiff.operators.linearizations import TangentMap
from autodiff.operators.pullbacks import Pullback
from autodiff.operators.sparse import SparseHessian, SparseJacobian
from autodiff.operators.vmap import Mapped

if TYPE_CHECKING:
    from typing_extensions import assert_type

    def energy(x: np.ndarray, k: float) -> float:
        return 0.5 * k * float(np.sum(x ** 2))

    X = np.ones(3)

    # a function: the object, whose calls give anything
    assert_type(grad(energy), Gradient)
    assert_type(grad(energy, wrt=("x", 1), has_aux=False, mode="python", target="cuda"), Gradient)
    assert_type(grad(energy)(X, 2.0), Any)
    assert_type(grad(energy)(X, 2.0, out=X), Any)
    text: str = grad(energy).source
    assert_type(grad(energy).tape, Tape)
    assert_type(value_and_grad(energy), Gradient)
    assert_type(differentiable(energy, outputs="x"), Differentiable)
    assert_type(jacobian(energy), Jacobian)
    assert_type(jacobian(energy, sparse=True), SparseJacobian)
    assert_type(hessian(energy, wrt="x"), Hessian)
    assert_type(hessian(energy, sparse=True), SparseHessian)
    assert_type(hvp(energy), HessianProduct)
    assert_type(vmap(grad(energy), in_axes=(0, None), parallel=True), Mapped)

    # options alone: a decorator
    assert_type(grad(wrt="x"), Callable[[Callable[..., Any]], Gradient])
    assert_type(value_and_grad(mode="python"), Callable[[Callable[..., Any]], Gradient])
    assert_type(differentiable(), Callable[[Callable[..., Any]], Differentiable])
    assert_type(vmap(in_axes=1), Callable[[Callable[..., Any]], Mapped])
    assert_type(hvp(wrt=1), Callable[[Callable[..., Any]], HessianProduct])

    @grad(wrt="k")
    def slope(x: np.ndarray, k: float) -> float:
        return energy(x, k)

    @value_and_grad
    def both(x: np.ndarray) -> float:
        return energy(x, 1.0)
    assert_type(slope, Gradient)
    assert_type(both, Gradient)

    # at arguments
    assert_type(vjp(energy, X, 2.0), tuple[Any, Pullback])
    assert_type(linearize(energy, X, 2.0), tuple[Any, TangentMap])
    assert_type(jvp(energy, (X, 2.0), (X, None)), tuple[Any, Any])
    assert_type(check_grads(energy, (X, 2.0)), GradientReport)

    # Tensors
    a = tensor(X, requires_grad=True)
    assert_type(a, Tensor)
    assert_type(grad((a * a).sum(), a), tuple[Tensor, ...])
    assert_type(grad([a], [a], create_graph=True), tuple[Tensor, ...])

    # what is refused before it runs
    grad(energy, 1)                             # type: ignore[call-overload]
    grad(energy, argnums=1)                     # type: ignore[call-overload]
    grad(energy, create_graph=True)             # type: ignore[call-overload]
    grad(energy, mode="fast")                   # type: ignore[call-overload]
    jacobian(energy, X)                         # type: ignore[call-overload]
    hessian(energy, direction="forward")        # type: ignore[call-overload]
    hvp(energy, X)                              # type: ignore[call-overload]
    print(autodiff.jit)                         # type: ignore[attr-defined]
