"""A damped oscillation fitted by a program in C, which calls the gradient of a Python function through a pointer.

`autodiff.cfunc` gives the pointer and the header; the C compiler (`cc`, or what CC names) makes `descent.c` a library.
Four threads start from different points at once: nothing in a call needs Python. Needs a C compiler.

    python examples/descent_from_c.py [--figure PATH]
"""

import argparse
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import autodiff


def loss(p, t, y):
    """Mean squares of the residuals of a damped oscillation; p: amplitude, rate of decay (1/s), angular frequency (1/s)."""
    if p[1] < -5.0:
        raise ValueError(f"the oscillation grows by {-p[1]:.1f} each second")
    s = 0.0
    for i in range(t.shape[0]):
        r = p[0] * np.exp(-p[1] * t[i]) * np.cos(p[2] * t[i]) - y[i]
        s += r * r
    return s / t.shape[0]


def library(header: str, compiler: str):
    """descent.c as a loaded library."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "loss.h").write_text(header, encoding="utf-8")
        made = Path(folder, "descent.so")
        source = Path(__file__).with_name("descent.c")
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-I", folder, str(source), "-o", str(made)], check=True)
        return ctypes.CDLL(str(made))


def draw(path, t, y, found):
    """The data, and the oscillations that the threads found from where they started."""
    from matplotlib.figure import Figure  # only the picture needs it

    figure = Figure(figsize=(7.5, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.plot(t, y, ".", color="gray", markersize=3, label="data")
    for k, (start, p) in enumerate(found):
        axes.plot(t, start[0] * np.exp(-start[1] * t) * np.cos(start[2] * t), ":", color=f"C{k}", linewidth=1.0)
        axes.plot(t, p[0] * np.exp(-p[1] * t) * np.cos(p[2] * t), color=f"C{k}", label=f"thread {k + 1} (dotted: its start)")
    axes.set(xlabel="time (s)", ylabel="deflection")
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=100)


def main(arguments=()):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--figure", metavar="PATH", help="draw the result into this file (needs matplotlib)")
    options = parser.parse_args(arguments)
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        print("no C compiler: install one, or name it in CC")
        return None
    rng = np.random.default_rng(0)
    true = np.array([2.0, 0.7, 5.0])
    t = np.linspace(0.0, 4.0, 200)
    y = true[0] * np.exp(-true[1] * t) * np.cos(true[2] * t) + 0.02 * rng.normal(size=t.size)
    made = autodiff.cfunc(loss, true, t, y, kind="value_and_grad")
    print(made.header)
    descend = library(made.header, compiler).descend
    pointer, size, number = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
    descend.argtypes = [pointer, pointer, size, pointer, pointer, size, number, number, size, pointer, pointer, pointer]
    descend.restype = ctypes.c_int32

    def run(start, steps=4000):
        p, value, gradient, velocity = np.array(start), np.zeros(1), np.zeros(3), np.zeros(3)
        status = descend(made.address, p.ctypes.data, 3, t.ctypes.data, y.ctypes.data, t.size, 0.02, 0.9, steps,
                         value.ctypes.data, gradient.ctypes.data, velocity.ctypes.data)
        return status, value[0], p

    starts = [[1.0, 0.2, 4.6], [1.0, 1.0, 5.5], [3.0, 0.5, 4.4], [0.5, 0.1, 5.2]]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(run, starts))
    print("amplitude   decay  frequency   mean square")
    for _, value, p in found:
        print(f"{p[0]:9.4f} {p[1]:7.4f} {p[2]:10.4f} {value:13.6f}")
    if options.figure:
        draw(options.figure, t, y, [(start, p) for start, (_, _, p) in zip(starts, found, strict=True)])
    status, _, _ = run([1.0, -6.0, 5.0])
    print(f"status {status}: {made.message}")
    return found, status, made.message


if __name__ == "__main__":
    main(sys.argv[1:])
