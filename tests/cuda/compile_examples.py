"""Compiles the kernels of every example to machine code for compute capability 9.0, without a GPU.

Prints a line for each: example, number, registers, spills, bytes of local memory, float64 instructions, atomics.
"""

import re

import numpy as np

import autodiff
from tests.cuda.programs import EXAMPLES

for name, example in EXAMPLES.items():
    gradient = autodiff.value_and_grad(example.function, wrt=example.wrt, target="cuda")
    gradient.specialize(*example.arguments(np.float32))
    resources, source = gradient.resources, gradient.source
    for number, (kernel, text) in enumerate(gradient.ptx(cc=(9, 0)).items(), 1):
        found = resources[kernel]
        own = source[source.index(f"def {kernel}("):].split("\n\n\n")[0]
        # CUDA's own float32 sine uses float64 for large numbers
        wide = [] if "math.sin" in own or "math.cos" in own else re.findall(r"\.f64\b", text)
        atomics = re.findall(r"(?<!bar\.)\b(?:atom|red)\.", text)
        print(name, number, found.registers, found.spills, found.local, len(wide), len(atomics))
