"""Imports point one way: autodiff -> transforms -> runtime, and from floor to floor between the rooms of these."""

import ast
import functools
from pathlib import Path

import autodiff

ROOT = Path(autodiff.__file__).parent

# What each room of the compiler may import of the others.
ROOMS = {
    "language": set(),
    "source": {"language"},
    "optimise": {"language"},
    "printing": {"language"},
    "lower": {"language", "source"},
    "differentiate": {"language", "optimise"},
    "stages": {"language", "printing"},
    "passes": {"stages", "optimise"},
    "device": {"language", "lower", "optimise", "differentiate", "printing", "stages"},
}


# The same of autodiff/, for what is imported when a module is; files of their own: api, errors, options, targets,
# pipeline, __main__.
FACE = {
    "errors": set(),
    "habits": set(),
    "targets": set(),
    "options": {"targets"},
    "arguments": set(),
    "rules": {"arguments"},
    "pipeline": {"options", "targets", "rules"},
    "inspecting": {"targets", "arguments", "rules"},
    "calling": {"habits", "options", "targets", "arguments", "rules", "pipeline", "inspecting"},
    "operators": {"habits", "options", "targets", "arguments", "rules", "pipeline", "inspecting", "calling"},
    "cuda": {"options", "targets", "arguments", "rules", "pipeline", "inspecting", "calling", "operators"},
    "api": {"habits", "options", "arguments", "calling", "operators"},
    "graph": {"options", "errors", "arguments", "rules", "inspecting", "calling", "operators"},
    "bridges": {"options", "arguments", "calling", "operators", "inspecting", "api", "solvers"},
    "dask": {"bridges"},
    "ipopt": {"bridges"},
    "jax": {"bridges"},
    "pytensor": {"bridges"},
    "torch": {"bridges"},
    "solvers": {"rules", "operators", "api"},
    "check": {"options", "arguments", "rules", "pipeline", "calling", "operators", "api"},
    "survey": {"options", "arguments", "calling", "operators"},
    "notebooks": {"options", "arguments", "inspecting", "calling", "operators", "survey"},
    "__main__": {"options", "arguments", "inspecting", "calling", "operators", "survey"},
}


@functools.cache
def imports_of(path: Path) -> list[tuple[ast.Import | ast.ImportFrom, set[type]]]:
    """The imports of a file, each with the kinds of statements around it."""
    found = []

    def search(node, around):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.append((node, around))
        for part in (getattr(node, name, ()) for name in ("body", "orelse", "handlers", "finalbody", "cases")):
            for child in part if isinstance(part, list) else ():
                search(child, around | {type(node)})
    search(ast.parse(path.read_text(encoding="utf-8")), set())
    return found


def imported(path: Path):
    for node, _ in imports_of(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
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


def imports_within(top: Path) -> dict[str, set[str]]:
    """The files of a package that each of them imports when it is imported, by dotted names within it; those of transforms/
    in functions too."""
    files = {".".join(f.relative_to(top).with_suffix("").parts).removesuffix(".__init__"): f for f in top.rglob("*.py")}
    found: dict[str, set[str]] = {name: set() for name in files}
    for name, file in files.items():
        for node, around in imports_of(file):
            later = around & {ast.FunctionDef, ast.If} and top.name != "transforms"
            if isinstance(node, ast.ImportFrom) and node.level and not later:
                up = node.level - (file.name == "__init__.py")
                package = name.split(".")[:-up or None]
                base = [*package, *(node.module or "").split(".")] if node.module else package
                for alias in node.names:
                    for target in (".".join([*base, alias.name]), ".".join(base)):
                        if target in files:
                            found[name].add(target)
                            break
    return found


@functools.cache
def packages() -> list[tuple[dict[str, set[str]], dict[str, set[str]]]]:
    """(imports, what each room may import) of transforms/ and of autodiff/."""
    import autodiff.transforms
    return [(imports_within(Path(autodiff.transforms.__file__).parent), ROOMS), (imports_within(ROOT), FACE)]


def test_rooms():
    for imports, rooms in packages():
        found = {name.split(".")[0] for name in imports} - {"__init__"}
        assert found == set(rooms)
        for name, targets in imports.items():
            room = name.split(".")[0]
            for target in targets if room != "__init__" else ():
                other = target.split(".")[0]
                assert other == room or other in rooms[room], f"{name} imports {target}"


def test_no_files_import_each_other_in_a_circle():
    for imports, _ in packages():
        done = set()

        def follow(name, way, imports=imports, done=done):
            assert name not in way, " -> ".join([*way, name])
            if name not in done:
                for target in imports[name]:
                    follow(target, [*way, name])
                done.add(name)
        for name in list(imports):
            follow(name, [])

def test_imports_inside_functions_are_few_and_say_why():
    import autodiff.runtime
    import autodiff.transforms
    found = 0
    for package in (autodiff, autodiff.transforms, autodiff.runtime):
        for file in Path(package.__file__).parent.rglob("*.py"):
            for node, around in imports_of(file):
                if ast.FunctionDef in around:
                    found += 1
                    line = file.read_text(encoding="utf-8").splitlines()[node.lineno - 1]
                    assert "  # " in line, f"{file}:{node.lineno}: say why the import is not at the top, or move it there"
    assert found <= 40


def test_no_file_is_too_long_to_read():
    import autodiff.runtime
    import autodiff.transforms
    for top in (ROOT, *(Path(package.__file__).parent for package in (autodiff.transforms, autodiff.runtime))):
        for file in top.rglob("*.py"):
            assert len(file.read_text(encoding="utf-8").splitlines()) <= 500, f"{file}: give a topic of it a file of its own"


def test_every_differentiable_operation_has_a_rule():
    from autodiff.rules import REGISTRY
    from autodiff.transforms.language.ops import INACTIVE_KINDS, OPS
    structural = {"cast", "copy", "link", "stop", "max", "min", "dim", "pos", "square", "reciprocal", "float_power",
                  "nan_to_num"}
    for name, op in OPS.items():
        if op.kind in INACTIVE_KINDS or name in structural:
            continue
        assert name in REGISTRY.partial_rules or name in REGISTRY.constants, f"`{name}` has no rule"
