"""The frameworks that are compared. Each prepares a case for given arguments and says how its calls are timed.

`prepare(case, args)` gives a `Prepared`: `forward` and `both` enqueue one call each and return without waiting; `numbers` of
what `both` returns are the value and the gradients on the host.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .cases import Case


@dataclass
class Prepared:
    forward: Callable
    both: Callable


class Framework:
    """name: in the table. version: what is said of it beside."""

    name = ""
    version = ""

    def prepare(self, case: Case, args: list) -> Prepared:
        raise NotImplementedError

    def numbers(self, result) -> list[np.ndarray]:
        """The value and the gradients of `both` as arrays on the host, in float64."""
        value, gradients = result
        gradients = gradients if isinstance(gradients, (tuple, list)) else (gradients,)
        return [np.asarray(self.host(x), np.float64) for x in (value, *gradients)]

    def host(self, x):
        return x

    def wait(self, result=None) -> None:
        """Until the device has done everything."""

    def events(self) -> Any:
        """A pair of functions (record, milliseconds between two that `record` gave) on the stream of the calls; None if only
        the host can time them."""
        return None

    def free(self) -> None:
        """Give back memory kept for later calls."""


class Ours(Framework):
    """autodiff through its public functions, on CuPy's arrays, or torch's, or Numba's where the others are missing."""

    name = "autodiff"

    def __init__(self, simulated: bool = False):
        from numba import cuda
        self.cuda, self.simulated = cuda, simulated
        self.library, self.module = "numba", cuda
        for name in () if simulated else ("cupy", "torch"):
            try:
                self.library, self.module = name, importlib.import_module(name)
                break
            except ImportError:
                continue
        self.version = f"on arrays of {self.library} {getattr(self.module, '__version__', '')}"

    def array(self, a):
        if self.library == "cupy":
            return self.module.asarray(a)
        if self.library == "torch":
            return self.module.from_numpy(np.ascontiguousarray(a)).cuda()
        return self.cuda.to_device(np.ascontiguousarray(a))

    def prepare(self, case: Case, args: list) -> Prepared:
        import autodiff
        given = [self.array(a) if isinstance(a, np.ndarray) else a for a in args]
        value = autodiff.differentiable(case.function, target="cuda")
        gradient = autodiff.value_and_grad(case.function, wrt=case.wrt, target="cuda")
        return Prepared(lambda: value(*given), lambda: gradient(*given))

    def host(self, x):
        if self.library == "cupy":
            return self.module.asnumpy(x)
        return x.cpu().numpy() if self.library == "torch" else x.copy_to_host()

    def wait(self, result=None) -> None:
        if not self.simulated:
            self.cuda.synchronize()

    def events(self):
        if self.simulated:
            return None
        if self.library == "cupy":
            return cupy_events(self.module)
        return torch_events(self.module) if self.library == "torch" else numba_events(self.cuda)

    def free(self) -> None:
        if self.library == "cupy":
            self.module.get_default_memory_pool().free_all_blocks()
        elif self.library == "torch":
            self.module.cuda.empty_cache()


class Torch(Framework):
    """torch, eager or with torch.compile, on a device ("cuda" or "cpu")."""

    def __init__(self, device: str, compiled: bool):
        import torch

        from .peers import torch_programs
        self.torch, self.device, self.compiled = torch, device, compiled
        self.programs = torch_programs(torch, torch.compile if compiled else lambda function: function)
        self.name = "torch.compile" if compiled else "torch"
        self.version = torch.__version__
        torch.set_float32_matmul_precision("highest")

    def prepare(self, case: Case, args: list) -> Prepared:
        torch, program = self.torch, self.programs[case.name]
        given = [torch.as_tensor(a, device=self.device) if isinstance(a, (np.ndarray, np.floating)) else a for a in args]
        leaves = [given[k].requires_grad_(True) for k in case.wrt]

        def both():
            value = program(*given)
            return value.detach(), torch.autograd.grad(value, leaves)

        def forward():
            with torch.no_grad():
                return program(*given)
        return Prepared(forward, both)

    def host(self, x):
        return x.cpu().numpy()

    def wait(self, result=None) -> None:
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def events(self):
        return torch_events(self.torch) if self.device == "cuda" else None

    def free(self) -> None:
        if self.compiled:
            self.torch._dynamo.reset()
        if self.device == "cuda":
            self.torch.cuda.empty_cache()


class Jax(Framework):
    """JAX, compiled. Its calls run on streams of its own, so the host times them."""

    name = "jax"

    def __init__(self, device: str):
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        import jax

        from .peers import jax_programs
        jax.config.update("jax_default_matmul_precision", "highest")
        self.jax = jax
        self.device = jax.devices("gpu" if device == "cuda" else "cpu")[0]
        self.programs = jax_programs(jax)
        self.version = jax.__version__

    def prepare(self, case: Case, args: list) -> Prepared:
        jax, program = self.jax, self.programs[case.name]
        static = tuple(k for k, a in enumerate(args) if isinstance(a, int))
        given = [a if isinstance(a, int) else jax.device_put(a, self.device) for a in args]
        value = jax.jit(program, static_argnums=static)
        gradient = jax.jit(jax.value_and_grad(program, argnums=case.wrt), static_argnums=static)
        return Prepared(lambda: value(*given), lambda: gradient(*given))

    def wait(self, result=None) -> None:
        self.jax.block_until_ready(result)


# ---- events -----------------------------------------------------------------------------------------------------
def cupy_events(cupy):
    def record():
        event = cupy.cuda.Event()
        event.record()
        return event

    def between(first, last):
        last.synchronize()
        return cupy.cuda.get_elapsed_time(first, last)
    return record, between


def torch_events(torch):
    def record():
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(first, last):
        last.synchronize()
        return first.elapsed_time(last)
    return record, between


def numba_events(cuda):
    def record():
        event = cuda.event()
        event.record()
        return event

    def between(first, last):
        last.synchronize()
        return cuda.event_elapsed_time(first, last)
    return record, between


def peers(names, device: str) -> tuple[list[Framework], list[str]]:
    """The frameworks of these names that can be imported, and a line for each of the others."""
    makers = {"jax": lambda: Jax(device), "torch": lambda: Torch(device, False),
              "torch.compile": lambda: Torch(device, True)}
    found, missing = [], []
    for name in names:
        try:
            found.append(makers[name]())
        except Exception as e:      # not installed, or not for this device: the table does without it
            missing.append(f"{name} left out: {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}")
    return found, missing


__all__ = ["Framework", "Ours", "Prepared", "peers"]
