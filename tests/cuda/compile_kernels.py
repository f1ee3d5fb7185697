"""Compiles adjoints of the example kernels, in float32, to PTX for compute capability 9.0, without a GPU; names those that
use float64, and those for which the assembler, where there is one, spills registers."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ["KERNELS_OF"] = "float32"
import numpy as np
from autodiff.runtime.cuda import launches

from autodiff.cuda import kernel
from tests.cuda import example_kernels

CHOSEN = ("saxpy", "strided_while", "inner_while", "local_array", "own_steps", "sum_of_squares", "bodies", "matrix_product",
          "half_filled", "gather_scatter")


def assembler():
    """ptxas of the wheels or of a toolkit; None if there is none."""
    found = [p for base in sys.path for p in Path(base).glob("nvidia/cu*/bin/ptxas")]
    return str(found[0]) if found else shutil.which("ptxas")


complaints = []
for function, grid, block, args in example_kernels.cases(np.float32):
    if function.__name__ not in CHOSEN:
        continue
    k = kernel(function)
    made = k.specialize(grid, block, *args)
    text = k.ptx(cc=(9, 0))
    if made.stored.measure is not None:
        launches.machine_text(made.kernel(made.stored.measure), made.kinds_of(made.stored.measure), (9, 0), False)
    if re.search(r"\.f64\b", text):
        complaints.append(f"{function.__name__}: float64")
    if assembler():
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "kernel.ptx")
            file.write_text(text)
            said = subprocess.run([assembler(), "-arch=sm_90", "-v", str(file), "-o", f"{file}.cubin"], capture_output=True,
                                  text=True, check=True).stderr
        if int(re.search(r"(\d+) bytes spill stores", said)[1]):
            complaints.append(f"{function.__name__}: spills")
print("compiled", *complaints, sep="\n")
