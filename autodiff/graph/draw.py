"""The graph of a Tensor as Graphviz text, or as SVG where the `graphviz` package and program are there."""

from __future__ import annotations

from importlib import import_module

from .nodes import Accumulation, Node
from .tensor import Tensor


def draw(tensor: Tensor, format: str = "dot") -> str:
    """A drawing of the nodes behind `tensor`, results at the top.

    format: "dot" for Graphviz text, "svg" for an image (needs the `graphviz` package; ImportError without it).
    """
    if not tensor.requires_grad:
        raise RuntimeError("draw() needs a Tensor that requires grad")
    lines = ["digraph autodiff {", '  node [shape=box, fontname="sans-serif", fontsize=10];']
    names: dict[Node, str] = {}
    root, _ = tensor._edge()
    lines.append(f'  result [label="result\\n{tensor.shape} {tensor.dtype}", shape=ellipse];')
    todo = [root]
    names[root] = "n0"
    for node in todo:
        lines.append(f"  {names[node]} [{look(node)}];")
        for below, _ in node.next_functions:
            if below is not None and below not in names:
                names[below] = f"n{len(names)}"
                todo.append(below)
    lines.append("  result -> n0;")
    for node in todo:
        for below, number in node.next_functions:
            if below is not None:
                label = f' [label="{number}"]' if below.outputs > 1 else ""
                lines.append(f"  {names[node]} -> {names[below]}{label};")
    lines.append("}")
    text = "\n".join(lines)
    if format == "dot":
        return text
    if format != "svg":
        raise ValueError(f"format must be 'dot' or 'svg', not {format!r}")
    return import_module("graphviz").Source(text).pipe(format="svg").decode()


def look(node: Node) -> str:
    if isinstance(node, Accumulation):
        return f'label="AccumulateGrad\\n{node.variable.shape} {node.variable.dtype}", style=filled, fillcolor="#dcebdc"'
    place = node.line().replace("\\", "\\\\").replace('"', '\\"')
    return f'label="{node.name()}", tooltip="{place}"'


__all__ = ["draw"]
