"""Digests of the text that the compiler generates, to see which programs a change of the compiler changes.

`python -m tests.digests record FILE` writes them: the NumPy catalogue, the programs of the tests, of the benchmarks and
of the examples, CUDA programs and kernels, and 500 random programs, each in every operator. `python -m tests.digests
compare FILE` prints which are different now; its exit status is 1 if any is. A change of structure leaves all as they
are; with `--texts FOLDER`, the texts go there too, so that `diff -r` of two folders shows what changed.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import io
import json
import os
import runpy
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
RANDOM = 500
EXAMPLES = {                                    # arguments that keep them short; the text does not depend on them
    "heat_inversion": ["--size", "16", "--steps", "3", "--iterations", "2"],
}


@contextmanager
def written_texts() -> Iterator[list[str]]:
    """The list that every generated module's text is appended to meanwhile."""
    from autodiff.runtime.machine_code import store
    texts: list[str] = []
    real = store.write_module

    def write_module(key, text):
        texts.append(text)
        return real(key, text)
    store.write_module = write_module
    try:
        yield texts
    finally:
        store.write_module = real


def texts_of(run: Callable) -> list[str]:
    """The texts that this computation has generated; of a refusal, its class."""
    with written_texts() as texts, np.errstate(all="ignore"):
        try:
            run()
        except Exception as error:
            texts.append(f"raised {type(error).__name__}")
    return texts


def forget(function: Callable) -> None:
    """Drop what was compiled of a function: what another kind of programs asked for already would have no text here."""
    from autodiff.calling import compiled
    from autodiff.calling.specialisations import Shared
    from autodiff.operators import splits
    vars(function).pop(Shared.NAME, None)
    compiled._made.cache_clear()
    splits.kept_operator.cache_clear()


def operators(function: Callable, make: Callable[[], list], wrt: tuple[int, ...]) -> Iterator[tuple[str, list[str]]]:
    """What each operator generates for a function; make: fresh arguments; wrt: positions of float arguments."""
    import autodiff
    options = {"mode": "python"}
    forget(function)
    args = make()
    try:
        with np.errstate(all="ignore"):
            result = function(*make())
    except Exception:
        result = None
    places = wrt if len(wrt) != 1 else wrt[0]
    dots = tuple(np.ones_like(a) if k in wrt else None for k, a in enumerate(args))
    dots = tuple(float(d) if d is not None and not np.shape(d) else d for d in dots)
    of_number = not isinstance(result, (tuple, list, dict)) and not np.shape(result)

    def pulled():
        given = make()
        value, pullback = autodiff.vjp(function, *given, **options)
        bars = [np.ones_like(v) for v in value] if isinstance(value, tuple) else np.ones_like(value)
        pullback(tuple(bars) if isinstance(value, tuple) else bars if np.shape(bars) else float(bars))
    yield "primal", texts_of(lambda: autodiff.differentiable(function, **options)(*make()))
    yield "vjp", texts_of(pulled)
    yield "jvp", texts_of(lambda: autodiff.jvp(function, tuple(make()), dots, **options))
    yield "jacobian", texts_of(lambda: autodiff.jacobian(function, wrt=places, **options)(*make()))
    if of_number:
        gradient = autodiff.grad(function, wrt=places, **options)
        yield "grad", texts_of(lambda: gradient(*make()))
        yield "value_and_grad", texts_of(lambda: autodiff.value_and_grad(function, wrt=places, **options)(*make()))
        directions = tuple(dots[k] for k in wrt) if len(wrt) != 1 else dots[wrt[0]]
        yield "hvp", texts_of(lambda: autodiff.hvp(function, wrt=places, **options)(*make(), directions))
        yield "second order", texts_of(lambda: autodiff.vjp(gradient, *make(), **options))


def catalogue() -> Iterator[tuple[str, dict]]:
    from .test_numpy_catalogue import ENTRIES, FLOATS, function_of, inputs, source_of
    values = inputs()
    for entry in (case.values[0] for case in ENTRIES):
        wrt = tuple(k for k, name in enumerate(values) if name in FLOATS)
        function = function_of(source_of(entry), f"<catalogue {entry}>")
        yield entry, dict(operators(function, lambda: [a.copy() for a in values.values()], wrt))


def programs() -> Iterator[tuple[str, dict]]:
    from .programs import PROGRAMS
    for p in PROGRAMS:
        yield p.name, dict(operators(p.function, lambda p=p: list(p.arguments()), p.wrt))


def benchmarks() -> Iterator[tuple[str, dict]]:
    from .benchmarks.suite import BENCHMARKS
    for name, b in BENCHMARKS.items():
        if not b.runs:
            yield name, dict(operators(b.function, lambda b=b: list(copy.deepcopy(b.arguments(True))), b.wrt))


def fuzzed() -> Iterator[tuple[str, dict]]:
    from .fuzz.programs import program
    for seed in range(RANDOM):
        one = program(seed)
        function = one.module()["f"]
        wrt = tuple(k for k, a in enumerate(one.values()) if np.asarray(a).dtype.kind == "f")
        yield str(seed), dict(operators(function, one.values, wrt))


def device_programs() -> Iterator[tuple[str, dict]]:
    import autodiff

    from .cuda.programs import EXAMPLES as DEVICE
    for name, e in DEVICE.items():
        made = autodiff.value_and_grad(e.function, wrt=e.wrt, target="cuda")
        primal = autodiff.differentiable(e.function, target="cuda")
        yield name, {"value_and_grad": source_of_made(made, *e.arguments()),
                     "primal": source_of_made(primal, *e.arguments())}


def kernels() -> Iterator[tuple[str, dict]]:
    from autodiff.cuda import kernel

    from .cuda.example_kernels import cases
    for function, grid, block, args in cases():
        yield function.__name__, {"adjoint": source_of_made(kernel(function), grid, block, *args)}


def source_of_made(made, *args) -> list[str]:
    try:
        made.specialize(*args)
        return [made.source]
    except Exception as error:
        return [f"raised {type(error).__name__}"]


def examples() -> Iterator[tuple[str, dict]]:
    """Whole scripts, as they run."""
    for path in sorted((ROOT / "examples").glob("*.py")):
        yield path.stem, {"run": texts_of_example(path)}


def texts_of_example(path: Path) -> list[str]:
    arguments, here = sys.argv, Path.cwd()
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        os.chdir(folder)
        sys.argv = [str(path), *EXAMPLES.get(path.stem, [])]
        try:
            return sorted(set(texts_of(lambda: run_script(path))))
        finally:
            os.chdir(here)
            sys.argv = arguments


def run_script(path: Path) -> None:
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"{path.name} ended with {end.code}") from end


KINDS = {f.__name__: f for f in (programs, benchmarks, catalogue, fuzzed, device_programs, kernels, examples)}


def found(kinds, folder: Path | None = None) -> dict[str, dict[str, str]]:
    """Digests by kind and name; the texts go to this folder."""
    out: dict[str, dict[str, str]] = {}
    for kind in kinds:
        table = out[kind] = {}
        for name, texts in KINDS[kind]():
            for operator, parts in texts.items():
                text = "\n\n".join(parts)
                table[f"{name} | {operator}"] = text if text.startswith("raised ") else digest(text)
                if folder:
                    (folder / kind).mkdir(parents=True, exist_ok=True)
                    file = "".join(c if c.isalnum() else "_" for c in f"{name} {operator}")[:120] + "_" + digest(name)
                    (folder / kind / f"{file}.py").write_text(text, encoding="utf-8")
    return out


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def differences(before: dict, now: dict) -> Iterator[str]:
    for kind, table in now.items():
        old = before.get(kind, {})
        for name in sorted({*old, *table}):
            if old.get(name) != table.get(name):
                yield f"{kind}: {name}: {old.get(name, 'new')} -> {table.get(name, 'gone')}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.digests", description=__doc__)
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--texts", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    now = found(options.kinds, options.texts)
    if options.action == "record":
        options.file.write_text(json.dumps(now, indent=0, sort_keys=True), encoding="utf-8")
        print(", ".join(f"{kind} {len(table)}" for kind, table in now.items()))
        return 0
    lines = list(differences(json.loads(options.file.read_text(encoding="utf-8")), now))
    print(*lines, f"{len(lines)} texts differ of {sum(map(len, now.values()))}", sep="\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
