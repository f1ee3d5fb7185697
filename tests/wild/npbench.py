"""`python -m tests.wild.npbench FOLDER [NAME ...]`: the NumPy programs of the benchmark NPBench, as they are.

FOLDER holds them somewhere below it, as `NAME_numpy.py`. Each is run with small arguments: its results and what it leaves in
its arguments, and the pullback along a random direction, against Python and central differences (`python -m tests.wild`).
Programs in float32 are run in float64, so that differences tell something.
"""

from __future__ import annotations

import sys
import types
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

from ..short_programs import function_of
from .__main__ import compared

r = np.random.default_rng(42)
u = r.random


def c(*shape):
    return u(shape) + 1j * u(shape)


def positive_definite(n: int):
    a = u((n, n))
    return a @ a.T + n * np.eye(n)


def sparse_rows():
    """A matrix of 6 x 5: where rows begin, columns, values; and a vector."""
    columns = [[0, 3], [1], [2, 4], [], [0, 1, 4], [3]]
    return [np.cumsum([0, *map(len, columns)]), np.concatenate([np.array(k, int) for k in columns]), u(9), u(5)]


def neighbours():
    """Scattering of 3 energies and 2 momenta, 2 atoms with 2 neighbours each."""
    return [np.array([[1, 0], [0, 1]]), c(2, 2, 2, 2, 2), c(2, 3, 2, 2, 2), c(1, 2, 2, 2, 2, 2),
            np.zeros((2, 3, 2, 2, 2), complex)]


PLANE = (0.01, 0.4, 0.5, u((5, 6)), 1.0, 0.1)
VECTORS = [u(4) for _ in range(8)]
CASES = {       # name: (function, arguments), or the arguments of `kernel`
    "adi": [3, 6, u((6, 6))], "arc_distance": ("arc_distance", [u(6), u(6), u(6), u(6)]), "atax": [u((4, 5)), u(5)],
    "azimint_hist": ("azimint_hist", [u(40), u(40), 5]), "azimint_naive": ("azimint_naive", [u(40), u(40), 5]),
    "bicg": [u((4, 5)), u(5), u(4)], "cavity_flow": ("cavity_flow", [6, 5, 3, 3, u((5, 6)), u((5, 6)), *PLANE]),
    "channel_flow": ("channel_flow", [3, u((5, 6)), u((5, 6)), *PLANE, 1.0]), "cholesky": [positive_definite(5)],
    "cholesky2": [positive_definite(5)], "compute": ("compute", [14 * u((4, 5)), 14 * u((4, 5)), 4.0, 3.0, 9.0]),
    "contour_integral": ("contour_integral", [4, 5, 2, c(3, 4, 4), c(3), c(4, 5)]),
    "conv2d_bias": ("conv2d_bias", [u((2, 5, 5, 2)), u((2, 2, 2, 3)), u(3)]), "correlation": [4, 6.0, u((6, 4))],
    "covariance": [4, 6.0, u((6, 4))], "covariance2": [4, 6.0, u((6, 4))],
    "crc16": ("crc16", [r.integers(0, 256, 20).astype(np.uint8)]), "deriche": [0.25, u((6, 7))],
    "doitgen": [3, 2, 4, u((3, 2, 4)), u((4, 4))], "durbin": [0.3 * u(6)],
    "fdtd_2d": [3, u((4, 5)), u((4, 5)), u((4, 5)), u(3)], "floyd_warshall": [u((5, 5))],
    "gemm": [1.5, 1.2, u((4, 5)), u((4, 3)), u((3, 5))], "gemver": [1.5, 1.2, u((4, 4)), *VECTORS],
    "gesummv": [1.5, 1.2, u((4, 4)), u((4, 4)), u(4)], "go_fast": ("go_fast", [u((5, 5))]), "gramschmidt": [u((6, 4))],
    "hdiff": ("hdiff", [u((8, 8, 3)), u((4, 4, 3)), u((4, 4, 3))]), "heat_3d": [3, u((4, 4, 4)), u((4, 4, 4))],
    "jacobi_1d": [4, u(7), u(7)], "jacobi_2d": [4, u((5, 6)), u((5, 6))],
    "k2mm": [1.5, 1.2, u((3, 4)), u((4, 5)), u((5, 2)), u((3, 2))], "k3mm": [u((3, 4)), u((4, 5)), u((5, 2)), u((2, 3))],
    "lenet": ("lenet5", [*(u(s) - 0.5 for s in (
        (1, 16, 16, 1), (5, 5, 1, 2), 2, (5, 5, 2, 3), 3, (3, 7), 7, (7, 6), 6, (6, 4), 4)), 1, 3]),
    "lu": [positive_definite(5)], "ludcmp": [positive_definite(5), u(5)],
    "mandelbrot1": ("mandelbrot", [-1.75, 0.25, -1.0, 1.0, 6, 5, 6, 2.0]),
    "mandelbrot2": ("mandelbrot", [-1.75, 0.25, -1.0, 1.0, 6, 5, 6, 2.0]),
    "mlp": ("mlp", [u(s) - 0.5 for s in ((3, 4), (4, 5), 5, (5, 6), 6, (6, 3), 3)]), "mvt": [*VECTORS[:4], u((4, 4))],
    "nbody": ("nbody", [np.full((4, 1), 5.0), u((4, 3)), u((4, 3)), 4, 3, 0.01, 1.0, 0.1, np.zeros(4), np.zeros(4)]),
    "nussinov": [8, r.integers(0, 4, 8)],
    "resnet": ("resnet_basicblock", [u((3, 4, 4, 3)), u((1, 1, 3, 2)), u((3, 3, 2, 2)), u((1, 1, 2, 3))]),
    "scattering_self_energies": ("scattering_self_energies", neighbours()), "seidel_2d": [4, 6, u((6, 6))],
    "softmax": ("softmax", [u((2, 2, 3, 4)), np.zeros((2, 2, 3, 4))]), "spmv": ("spmv", sparse_rows()),
    "stockham_fft": ("stockham_fft", [9, 3, 2, c(9), np.zeros(9, complex)]),
    "symm": [1.5, 1.2, u((4, 5)), u((4, 4)), u((4, 5))], "syr2k": [1.5, 1.2, u((4, 4)), u((4, 3)), u((4, 3))],
    "syrk": [1.5, 1.2, u((4, 4)), u((4, 3))], "trisolv": [u((5, 5)) + np.eye(5), u(5), u(5)],
    "trmm": [1.5, u((4, 4)), u((4, 5))],
    "vadv": ("vadv", [u((3, 2, 5)), u((3, 2, 5)), u((4, 2, 5)), u((3, 2, 5)), u((3, 2, 5)), 0.15]),
}


def judged(path: Path, name: str, arguments: list) -> str:
    """What becomes of a function of a file: of its results, and of its arguments after it."""
    module = types.ModuleType(path.stem)
    kernel = function_of(f"{path.read_text().replace('float32', 'float64')}\nf = {name}\n", path.stem, vars(module))
    given = {f"a{k}": v for k, v in enumerate(arguments)}
    moves = [k for k, v in given.items() if isinstance(v, float) or isinstance(v, np.ndarray) and v.dtype.kind in "fc"]
    outside = {k: v for k, v in given.items() if k not in moves}
    arrays = [k for k in moves if isinstance(given[k], np.ndarray)]
    text = f"def f({', '.join(moves)}):\n    out = kernel({', '.join(given)})\n    return ({', '.join(['out', *arrays])},)\n"
    program = function_of(text, f"a call of {path.stem}", {"kernel": kernel, **outside})
    return compared(program, tuple(given[k] for k in moves), 120.0) if moves else "no floats"


def main(folder: str, *names: str) -> int:
    warnings.simplefilter("ignore")
    found: Counter = Counter()
    files = {p.name[:-len("_numpy.py")]: p for p in Path(folder).rglob("*_numpy.py")}
    for name, case in CASES.items():
        if names and name not in names or name not in files:
            continue
        function, arguments = case if isinstance(case, tuple) else ("kernel", case)
        with np.errstate(all="ignore"):
            said = judged(files[name], function, arguments)
        found[said.split(":")[0]] += 1
        if not said.startswith("right") or "raises" in said:
            print(f"{name}: {said}", flush=True)
    print(", ".join(f"{n} {v}" for v, n in found.most_common()))
    return int(any(not v.startswith(("right", "no floats")) for v in found))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
