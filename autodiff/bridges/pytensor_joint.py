"""The value of a function of one number and its pullback at the same place, in one graph, as one Op: one forward sweep.

    y = op(f)(x)                                     y, g = value_and_grad(op(f))(x)
    x_bar = vjp(op(f))(x, y_bar)                     x_bar = y_bar * g
"""

from __future__ import annotations

import pytensor.tensor as pt
from pytensor.compile.mode import optdb
from pytensor.graph.basic import Apply
from pytensor.graph.features import ReplaceValidate
from pytensor.graph.rewriting.basic import GraphRewriter
from pytensor.tensor.basic import get_underlying_scalar_constant_value
from pytensor.tensor.exceptions import NotScalarConstantError
from pytensor.tensor.type import TensorType

from ..transforms.language.ops import is_inexact
from .pytensor import DerivedOp


class JointOp(DerivedOp):
    """A function of one number with its gradient in all arguments of floats. Graphs get it when they are compiled."""

    def make_node(self, *inputs) -> Apply:
        """The node; inputs: those of the function's own node."""
        made = self._entry(inputs)
        value, *gradients = made.results
        of_inputs = [a for a in inputs if is_inexact(a.dtype)]
        return Apply(self, list(inputs), [TensorType(value.dtype, ())(), *(
            TensorType(place.dtype, a.type.shape)() for place, a in zip(gradients, of_inputs, strict=True))])

    def infer_shape(self, fgraph, node, shapes) -> list:
        """Gradients have the shapes of their arguments."""
        return [(), *(shape for a, shape in zip(node.inputs, shapes, strict=True) if is_inexact(a.dtype))]

    def pullback(self, inputs, outputs, cotangents):
        """It has none: gradients are built before graphs are compiled."""
        raise NotImplementedError("this Op is made where a graph is compiled, after its gradients are built")

    L_op = pushforward = pullback


class Joining(GraphRewriter):
    """Puts one Op in the place of a value and of all pullbacks at the same inputs."""

    def add_requirements(self, fgraph) -> None:
        fgraph.attach_feature(ReplaceValidate())

    def apply(self, fgraph) -> None:
        nodes = [node for node in fgraph.toposort() if type(node.op) is DerivedOp]
        values = {(id(node.op.family), *map(id, node.inputs)): node for node in nodes if is_value(node)}
        pullbacks: dict = {}
        for node in nodes:
            if node.op.chain == () and node.op.step is not None and node.op.step[0] == "vjp":
                key = id(node.op.family), *map(id, node.inputs[:len(node.op.step[1])])
                if key in values:
                    pullbacks.setdefault(key, []).append(node)
        for key, found in pullbacks.items():
            value = values[key]
            joint = JointOp(value.op.family, (), ("value_and_grad", *found[0].op.step[1:])).make_node(*value.inputs)
            pairs = [(value.outputs[0], joint.outputs[0])]
            for node in found:
                pairs += [(old, scaled(node.inputs[-1], g)) for old, g in zip(node.outputs, joint.outputs[1:], strict=True)]
            fgraph.replace_all_validate(pairs, reason="autodiff_joint")


def is_value(node) -> bool:
    """Whether a node is a function that gives one float without axes."""
    return node.op.step is None and not node.op.chain and len(node.outputs) == 1 and not node.outputs[0].ndim and is_inexact(
        node.outputs[0].dtype) and node.op._entry(node.inputs).results[0].path == "result"


def scaled(y_bar, gradient):
    """The cotangent of an argument; of a cotangent of 1, which is what a gradient begins with, the gradient itself."""
    try:
        if get_underlying_scalar_constant_value(y_bar) == 1:
            return gradient
    except NotScalarConstantError:
        pass
    product = y_bar * gradient
    return product if product.dtype == gradient.dtype else pt.cast(product, gradient.dtype)


# after PyTensor has merged equal nodes and simplified (1, 2), before it fuses elementwise ones (49)
optdb.register("autodiff_joint", Joining(), "fast_run", "fast_compile", position=10)
