"""Import all that an installed wheel holds, and all that the test suite and the examples import from the package.

    python .ci/wheel.py WHEEL CHECKOUT        WHEEL: the folder it was installed in, on PYTHONPATH

Fails if a module cannot be imported, is found anywhere else, or if a file of the checkout's package is missing.
"""

import ast
import importlib
import sys
from pathlib import Path

OPTIONAL = ("IPython", "bottleneck", "cyipopt", "dask", "distributed", "jax", "pytensor", "torch")
FOLDERS = {"autodiff": "autodiff", "transforms": "autodiff/transforms", "runtime": "autodiff/runtime"}


def imported(path):
    """(module, name or None) of each import of the package in a Python file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((node.module, alias.name) for alias in node.names)


def found_in(name, member=None):
    """The module, or what it has of that name (a module too); None if that needs a library that is not here."""
    try:
        made = importlib.import_module(name)
        if member is None:
            return made
        return getattr(made, member) if hasattr(made, member) else importlib.import_module(f"{name}.{member}")
    except ModuleNotFoundError as e:
        if (e.name or "").split(".")[0] not in OPTIONAL:
            raise
        print(f"{name} needs {e.name}, which is not installed here")
        return None


def main():
    wheel, checkout = (Path(folder).resolve() for folder in sys.argv[1:])
    wanted = {Path(inside) / file.relative_to(checkout / folder)
              for folder, inside in FOLDERS.items() for file in (checkout / folder).rglob("*.*")
              if file.suffix in (".py", ".html", ".typed")}
    missing = sorted(str(file) for file in wanted if not (wheel / file).exists())
    assert not missing, f"not in the wheel: {missing}"
    names = {".".join(file.with_suffix("").parts).removesuffix(".__init__") for file in wanted if file.suffix == ".py"}
    for name in sorted(names):
        made = found_in(name)
        found = Path(made.__file__) if made else wheel
        assert found.is_relative_to(wheel), f"{name} was imported from {found}"
    files = [*(checkout / "tests").rglob("*.py"), *(checkout / "examples").rglob("*.py")]
    used = {pair for file in files for pair in imported(file) if pair[0].split(".")[0] == "autodiff"}
    for name, member in sorted(used, key=str):
        found_in(name, None if member == "*" else member)
    print(f"{len(names)} modules, {len(used)} imports of the tests and examples, all from {wheel}")


if __name__ == "__main__":
    main()
