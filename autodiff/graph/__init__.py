"""Tensors with a history, and torch.autograd's functions on them."""

from ..arguments import kinds as argument_kinds
from . import compiled, operators  # noqa: F401 (gives Tensor its operators)
from .autograd import GradientEdge, backward, get_gradient_edge, grad
from .draw import draw
from .modes import (
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
from .multi import register_multi_grad_hook
from .nodes import Node
from .tensor import Tensor, tensor

Variable = Tensor
argument_kinds.TENSORS = (Tensor, compiled.call, grad)

__all__ = ["GradientEdge", "Node", "Tensor", "Variable", "backward", "detect_anomaly", "draw", "enable_grad",
           "get_gradient_edge", "grad", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled", "no_grad",
           "register_multi_grad_hook", "saved_tensors_hooks", "set_detect_anomaly", "set_grad_enabled", "tensor"]
