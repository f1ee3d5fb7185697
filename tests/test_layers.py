"""Imports point one way: autodiff -> transforms -> runtime."""

import ast
from pathlib import Path

import autodiff

ROOT = Path(autodiff.__file__).parent


def imported(path: Path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def test_lower_layers_do_not_import_higher_ones():
    import autodiff.runtime
    import autodiff.transforms
    for package in (autodiff.transforms, autodiff.runtime):
        top = Path(package.__file__).parent
        files = list(top.rglob("*.py"))
        assert files
        for file in files:
            depth = len(file.relative_to(top).parts)
            for module in imported(file):
                level = len(module) - len(module.lstrip("."))
                if package is autodiff.transforms and module.lstrip(".").startswith("runtime.") and level == depth + 1:
                    continue                    # downwards
                assert level <= depth and not module.startswith("autodiff"), f"{file} imports {module}"


def test_every_differentiable_operation_has_a_rule():
    from autodiff.transforms.ops import INACTIVE_KINDS, OPS

    from autodiff.rules import REGISTRY
    structural = {"cast", "copy", "link", "stop", "max", "min", "dim", "pos", "square", "reciprocal", "float_power",
                  "nan_to_num"}
    for name, op in OPS.items():
        if op.kind in INACTIVE_KINDS or name in structural:
            continue
        assert name in REGISTRY.partial_rules or name in REGISTRY.constants, f"`{name}` has no rule"
