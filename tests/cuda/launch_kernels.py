"""Launches adjoints of example kernels on the stubbed driver: arguments of the device and of the host pass as a GPU would
get them, and every kernel compiles for their types. Prints for each kernel what is launched, and what comes back."""

import numpy as np
from numba import cuda

from autodiff.cuda import kernel
from autodiff.runtime.cuda import availability
from tests.cuda import (
    example_kernels,
    stubbed_driver,  # isort: split      # first: it stands for the driver
)

availability.require = lambda: None


class Primal:
    """The kernel itself, which is not compiled here."""

    def __init__(self, name):
        self.name = name

    def __getitem__(self, configuration):
        assert isinstance(configuration[2], cuda.cudadrv.driver.Stream)
        return lambda *args: stubbed_driver.LOG.append((self.name,))


def launched(k, grid, block, args, seeds):
    del stubbed_driver.LOG[:]
    found = k.vjp[grid, block](*args)(**seeds)
    k.adjoint[grid, block](*args, **{f"{name}_bar": bar for name, bar in seeds.items()})
    did = [entry if isinstance(entry, str) else entry[0] for entry in stubbed_driver.LOG if entry != "memset"]
    return (*did, {name: type(x).__name__ for name, x in found.items()})


def main():
    for function, grid, block, args in example_kernels.cases(np.float32):
        if function.__name__ not in ("saxpy", "newton", "own_steps"):
            continue
        k = kernel(function)
        k._primal = Primal(function.__name__)
        made = k.specialize(grid, block, *args)
        seeds = {made.names[j]: np.ones_like(args[j]) for j in made.writes}
        on_device = [cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in args]
        print(*launched(k, grid, block, args, seeds))
        print(*launched(k, grid, block, on_device, {name: cuda.to_device(bar) for name, bar in seeds.items()}))


main()
