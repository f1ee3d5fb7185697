"""backward() and grad() on Tensors."""

from __future__ import annotations

import sys
import warnings
from typing import NamedTuple

import numpy as np

from ..calling.tracebacks import entry
from ..transforms.source.plain import as_plain
from .engine import Sweep, accumulate
from .nodes import Accumulation, Node
from .tensor import Tensor, wrap


class GradientEdge(NamedTuple):
    """A place in the graph: gradients can be asked for it as for the Tensor it was made from."""

    node: Node
    output_nr: int


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge that the gradient of `tensor` flows to. RuntimeError if it does not require grad."""
    if not tensor.requires_grad:
        raise RuntimeError("get_gradient_edge() needs a Tensor that requires grad")
    return GradientEdge(*tensor._edge())


@entry
def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, inputs=None, *, grad_variables=None,
             retain_variables=None) -> None:
    """Add the gradients of `tensors` to `.grad` of the leaves they were computed from.

    tensors: a Tensor or a sequence of them (or of GradientEdges); those of one element need no gradient.
    grad_tensors: the cotangent of each, of the same shape; None where a one stands for it.
    retain_graph: keep what the graph saved, so that it can run again; by default the value of `create_graph`.
    create_graph: record the backward pass, so that `.grad` can be differentiated.
    inputs: accumulate into these Tensors only.
    grad_variables, retain_variables: legacy names of grad_tensors and retain_graph.
    Raises RuntimeError for roots that do not require grad, shapes that differ, freed graphs; TypeError for other types.
    """
    if grad_variables is not None:
        warnings.warn("grad_variables is the legacy name of grad_tensors", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError("grad_tensors and grad_variables (its legacy name) are both given: pass grad_tensors only")
        grad_tensors = grad_variables
    retain_graph = legacy_retain(retain_graph, retain_variables)
    roots = sequence(tensors, "tensors")
    if inputs is not None:
        inputs = sequence(inputs, "inputs")
        if not inputs:
            raise RuntimeError("backward() got an empty list for inputs: pass None to accumulate into every leaf")
        for k, i in enumerate(inputs):
            if isinstance(i, Tensor) and not i.requires_grad:
                raise RuntimeError(f"element {k} of inputs has requires_grad=False")
    create = bool(create_graph)
    retain = create if retain_graph is None else bool(retain_graph)
    seeds = start(roots, grad_tensors, "grad_tensors", create)
    if create and any(isinstance(r, Tensor) for r in roots):
        warnings.warn("backward(create_graph=True) makes a reference cycle between a leaf and its grad: grad() does not, or "
                      "set .grad to None afterwards", UserWarning, stacklevel=2)
    if not seeds:
        return
    if inputs is None:
        Sweep(seeds, None, retain, create).run()
        return
    edges = [edge(i) for i in inputs]
    found = Sweep(seeds, edges, retain, create).run()
    for i, e in zip(inputs, edges, strict=True):
        g = found.get(e)
        tensor = i if isinstance(i, Tensor) else getattr(e[0], "variable", None)
        if g is not None and tensor is not None:
            if tensor.retains_grad:
                continue
            accumulate(tensor, g, create, False)


@entry
def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None,
         is_grads_batched=False, materialize_grads=False):
    """The gradients of `outputs`, summed, with respect to `inputs`, as a tuple; no `.grad` changes.

    outputs, inputs: a Tensor, a GradientEdge, or a sequence of them.
    grad_outputs: the cotangent of each output, of its shape; None where the output has one element.
    retain_graph, create_graph: as for `backward`.
    allow_unused: give None for an input that the outputs do not depend on, instead of an error.
    is_grads_batched: every grad_output has one more, leading axis, and so has every result.
    materialize_grads: give zeros for unused inputs.
    Raises RuntimeError, ValueError or TypeError for arguments that do not fit, naming the argument.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("materialize_grads=True gives zeros for unused inputs: allow_unused cannot be False")
    if not only_inputs:
        warnings.warn("only_inputs is ignored: use backward() to accumulate into other leaves", FutureWarning, stacklevel=2)
    roots = sequence(outputs, "outputs")
    wanted = sequence(inputs, "inputs")
    if not wanted:
        raise RuntimeError("grad() got an empty list of inputs")
    for k, i in enumerate(wanted):
        if isinstance(i, Tensor) and not i.requires_grad:
            raise RuntimeError(f"one of the differentiated Tensors does not require grad: element {k} of inputs")
    create = bool(create_graph)
    retain = create if retain_graph is None else bool(retain_graph)
    size = batch_size(roots, grad_outputs) if is_grads_batched else None
    seeds = start(roots, grad_outputs, "grad_outputs", create, size)
    edges = [edge(i) for i in wanted]
    found = Sweep(seeds, edges, retain, create, size).run() if seeds else {}
    results: list = []
    for k, (i, e) in enumerate(zip(wanted, edges, strict=True)):
        g = found.get(e)
        if g is None:
            if materialize_grads:
                g = zeros_for(i).requires_grad_(create)
            elif allow_unused:
                results.append(None)
                continue
            else:
                raise RuntimeError("one of the differentiated Tensors was not used in the graph: set allow_unused=True to "
                                   f"get None for it (element {k} of inputs)")
        if not isinstance(g, Tensor):
            g = wrap(own(g))
        elif not create:
            g = g.detach()
        results.append(g)
    return tuple(results)


def own(g):
    """The array itself where nobody else holds it, else a copy."""
    alone = type(g) is np.ndarray and g.flags.owndata and g.flags.writeable and sys.getrefcount(g) <= 4
    return g if alone else np.array(g)


def zeros_for(item) -> Tensor:
    if isinstance(item, Tensor):
        return wrap(np.zeros(item.shape, item.dtype))
    node, number = item
    if isinstance(node, Accumulation):
        return wrap(np.zeros(node.variable.shape, node.variable.dtype))
    raise RuntimeError("materialize_grads=True needs Tensors, not GradientEdges, for inputs that are not used")


# -- arguments --------------------------------------------------------------------------------------------------
def sequence(value, name: str) -> list:
    if isinstance(value, (Tensor, GradientEdge)):
        return [value]
    if isinstance(value, (list, tuple)):
        for v in value:
            if not isinstance(v, (Tensor, GradientEdge)):
                raise TypeError(f"{name} must be Tensors, not {type(v).__name__}")
        return list(value)
    try:
        return sequence(list(value), name)
    except TypeError:
        raise TypeError(f"{name} must be a Tensor or a sequence of Tensors, not {type(value).__name__}") from None


def edge(item) -> tuple:
    return tuple(item) if isinstance(item, GradientEdge) else item._edge()


def legacy_retain(retain_graph, retain_variables):
    if retain_variables is None:
        return retain_graph
    warnings.warn("retain_variables is the legacy name of retain_graph", DeprecationWarning, stacklevel=3)
    if retain_graph is not None:
        raise ValueError("retain_graph and retain_variables (its legacy name) are both given")
    return retain_variables


def given_cotangents(grads, count: int, name: str) -> list:
    if grads is None:
        return [None] * count
    if isinstance(grads, (Tensor, np.ndarray, int, float, complex)):
        grads = [grads]
    try:
        grads = list(grads)
    except TypeError:
        raise TypeError(f"{name} must be Tensors, arrays or None, not {type(grads).__name__}") from None
    if len(grads) != count:
        raise RuntimeError(f"got {count} tensors and {len(grads)} gradients: {name} needs one for each, None where a one "
                           "is meant")
    return grads


def batch_size(roots, grads) -> int:
    given = given_cotangents(grads, len(roots), "grad_outputs")
    sizes = set()
    for g in given:
        if g is None:
            raise RuntimeError("is_grads_batched=True needs every one of grad_outputs, each with a leading batch axis")
        if np.ndim(g) == 0:
            raise RuntimeError("is_grads_batched=True needs a leading batch axis: a grad_output has shape ()")
        sizes.add(np.shape(g)[0])
    if len(sizes) != 1:
        raise RuntimeError(f"is_grads_batched=True: the grad_outputs have different batch sizes {sorted(sizes)}")
    return sizes.pop()


def start(roots, grads, name: str, create: bool, batch: int | None = None) -> list:
    """Checked (node, number, cotangent) triples."""
    seeds = []
    for k, (root, g) in enumerate(zip(roots, given_cotangents(grads, len(roots), name), strict=True)):
        if isinstance(root, Tensor) and not root.requires_grad:
            raise RuntimeError(f"element {k} of tensors does not require grad and does not have a grad_fn")
        node, number = edge(root)
        if batch is None and not create and type(g) is np.ndarray and type(root) is Tensor and g.shape == root.shape \
                and g.dtype == root.dtype:
            seeds.append((node, number, g))
            continue
        if g is None:
            g = default_cotangent(root, node)
        else:
            g = checked(g, root, k, name, batch)
        if create:
            g = g if isinstance(g, Tensor) else wrap(np.array(g))
        else:
            g = g._array if isinstance(g, Tensor) else g
        seeds.append((node, number, g))
    return seeds


def default_cotangent(root, node):
    if not isinstance(root, Tensor):
        return np.ones(())
    if getattr(node, "stochastic", False):
        return np.zeros(root.shape, root.dtype)
    if root.size != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs: pass the gradient of an output of "
                           f"shape {root.shape}")
    if root.dtype.kind == "c":
        raise RuntimeError("grad can be implicitly created only for real scalar outputs, not for complex ones")
    return np.ones(root.shape, root.dtype)


def checked(g, root, k: int, name: str, batch: int | None):
    """A cotangent of the root's shape and dtype."""
    if isinstance(g, (int, float, complex, np.ndarray, np.generic)) and not isinstance(g, bool):
        g = wrap(as_plain(g).copy())
    if not isinstance(g, Tensor):
        raise TypeError(f"{name} must be Tensors, arrays or None, not {type(g).__name__}")
    if not isinstance(root, Tensor):
        return g
    shape = root.shape if batch is None else (batch, *root.shape)
    if g.shape != shape:
        more = "" if batch is None else f", with is_grads_batched=True {shape}"
        raise RuntimeError(f"mismatch in shape: element {k} of {name} has shape {g.shape}, and its output "
                           f"{root.shape}{more}")
    if g.dtype == root.dtype:
        return g
    if (g.dtype.kind == "c") != (root.dtype.kind == "c"):
        raise RuntimeError(f"element {k} of {name} is {g.dtype} and its output {root.dtype}: both or none must be complex")
    return g.astype(root.dtype)


__all__ = ["GradientEdge", "backward", "get_gradient_edge", "grad"]
