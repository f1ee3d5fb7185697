"""autodiff: gradients of plain Python and NumPy functions, as compiled, readable Python source."""

from __future__ import annotations

from os import path as _path
from typing import TYPE_CHECKING

if not _path.isdir(_path.join(__path__[0], "transforms")):      # a checkout without links: they stand beside us
    __path__.append(_path.dirname(__path__[0]))

from .calling.collecting import rarely as _rarely

with _rarely(stays=True):
    from .api import differentiable, grad, value_and_grad
    from .errors import (
        AutodiffError,
        AutodiffWarning,
        CompilationError,
        InternalError,
        MissingRule,
        NonDifferentiable,
        ShapeMismatch,
        SourceUnavailable,
        SparsityError,
        TypeConflict,
        UnsupportedSyntax,
    )
    from .habits import of_name as _of_name
if TYPE_CHECKING:
    from . import check as check
    from . import cuda as cuda
    from . import dask as dask
    from . import errors as errors
    from . import graph
    from . import ipopt as ipopt
    from . import jax as jax
    from . import pytensor as pytensor
    from . import rules as rules
    from . import solvers as solvers
    from . import torch as torch
    from .bridges.c import cfunc
    from .bridges.entries import entry
    from .bridges.sharded import sharded
    from .check.differences import check_grads
    from .graph import Variable, functional
    from .graph.autograd import GradientEdge, backward, get_gradient_edge
    from .graph.function import Function, once_differentiable
    from .graph.gradcheck import GradcheckError, gradcheck, gradgradcheck
    from .graph.modes import (
        detect_anomaly,
        enable_grad,
        inference_mode,
        is_grad_enabled,
        is_inference_mode_enabled,
        no_grad,
        saved_tensors_hooks,
        set_detect_anomaly,
        set_grad_enabled,
    )
    from .graph.stochastic import bernoulli, categorical, normal
    from .graph.tensor import Tensor, tensor
    from .operators.hessian_products import hvp
    from .operators.hooks import on_gradient
    from .operators.jacobians import hessian, jacobian
    from .operators.pushforwards import jvp
    from .operators.splits import linearize, vjp
    from .operators.vmap import vmap
    from .rules.stopping import stop_gradient
    from .runtime.checkpoint import checkpoint
    from .solvers import fixed_point, linear_solve, minimize, odeint, root

_LATER = {                              # what a first gradient does without; imported when it is first asked for
    "cfunc": "bridges.c", "check_grads": "check", "checkpoint": "runtime.checkpoint", "entry": "bridges.entries",
    "fixed_point": "solvers", "hessian": "operators.jacobians", "hvp": "operators.hessian_products",
    "jacobian": "operators.jacobians", "jvp": "operators.pushforwards", "linear_solve": "solvers",
    "linearize": "operators.splits", "minimize": "solvers", "odeint": "solvers", "on_gradient": "operators.hooks",
    "root": "solvers", "sharded": "bridges.sharded", "stop_gradient": "rules.stopping", "vjp": "operators.splits",
    "vmap": "operators.vmap",
}
_MODULES = ("check", "cuda", "dask", "errors", "graph", "ipopt", "jax", "pytensor", "rules", "solvers",      # some need
            "torch")                                                                                # that library
_GRAPH = {                              # what the graph face has; imported when it is first asked for
    "tensor": "tensor", "Tensor": "tensor", "Variable": "", "backward": "autograd", "GradientEdge": "autograd",
    "get_gradient_edge": "autograd", "no_grad": "modes", "enable_grad": "modes", "set_grad_enabled": "modes",
    "is_grad_enabled": "modes", "inference_mode": "modes", "is_inference_mode_enabled": "modes", "detect_anomaly": "modes",
    "set_detect_anomaly": "modes", "saved_tensors_hooks": "modes", "Function": "function", "once_differentiable": "function",
    "gradcheck": "gradcheck", "gradgradcheck": "gradcheck", "GradcheckError": "gradcheck", "bernoulli": "stochastic",
    "normal": "stochastic", "categorical": "stochastic",
}


if not TYPE_CHECKING:                   # a type checker knows what there is
    def __getattr__(name):
        from importlib import import_module  # so that it is no name of the package
        if name in _LATER:
            found = getattr(import_module(f".{_LATER[name]}", __name__), name)
            import_module("numba.core.registry").cpu_target.typing_context.refresh()   # Numba may ask, typing a caller
        elif name in _GRAPH:
            import_module(".graph", __name__)
            found = getattr(import_module(f".graph.{_GRAPH[name]}".rstrip("."), __name__), name)
        elif name in _MODULES:
            return import_module(f".{name}", __name__)
        elif name == "load_ipython_extension":     # what %load_ext looks for
            return import_module(".notebooks", __name__).load
        elif name == "functional":
            found = import_module(".graph.functional", __name__)
        else:
            raise _of_name(name, __name__) or AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = found
        return found


def __dir__():
    return sorted({*__all__, *_MODULES, *(name for name in globals() if name.startswith("__") and name.endswith("__"))})


__version__ = "0.1.0"
__all__ = ["AutodiffError", "AutodiffWarning", "CompilationError", "Function", "GradcheckError", "GradientEdge",
           "InternalError", "MissingRule", "NonDifferentiable", "ShapeMismatch", "SourceUnavailable", "SparsityError",
           "Tensor", "TypeConflict", "UnsupportedSyntax", "Variable", "backward", "bernoulli", "categorical", "cfunc",
           "check_grads", "checkpoint", "detect_anomaly", "differentiable", "enable_grad", "entry", "fixed_point",
           "functional", "get_gradient_edge", "grad", "gradcheck", "gradgradcheck", "graph", "hessian", "hvp",
           "inference_mode", "is_grad_enabled", "is_inference_mode_enabled", "jacobian", "jvp", "linear_solve", "linearize",
           "minimize", "no_grad", "normal", "odeint", "on_gradient", "once_differentiable", "root", "saved_tensors_hooks",
           "set_detect_anomaly", "set_grad_enabled", "sharded", "stop_gradient", "tensor", "value_and_grad", "vjp",
           "vmap"]
