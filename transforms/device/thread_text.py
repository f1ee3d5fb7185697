"""Printing thread programs as kernels for `numba.cuda`."""

from __future__ import annotations

from ..language import core
from ..language.core import Alloc, Arr, Let, Load, Store, Var, operands, walk
from ..language.errors import UnsupportedOnDevice
from ..language.python_text import tidy
from ..printing.emit import emit
from ..printing.line_text import NUMPY_TYPES, RESERVED
from ..printing.names import Names
from .additions import BLOCK_ADD
from .adjoints import BLOCK_SUM
from .phases import is_barrier
from .printing import OUR_NAMES, KernelPrinter, from_home
from .storage import COUNTED, Kernel


class ThreadPrinter(KernelPrinter):
    """The text of one kernel of a user's grid."""

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        super().__init__(kernel.function)
        self.names = Names(kernel.function, self.schedule, {*RESERVED, *OUR_NAMES})     # without most parameters

    def run(self) -> str:
        f = self.kernel.function
        self.put(0, f"def {f.name}({', '.join(map(self.name, self.kernel.given))}):")
        used = {x for s in walk(f.body) for x in operands(s)}
        for v, name in self.kernel.at.names.items():
            if v in used:
                self.put(1, f"{self.name(v)} = {name}")
        for a in self.kernel.shared:
            self.put(1, f"{self.name(a)} = cuda.shared.array({self.shape(a)}, {NUMPY_TYPES[a.dtype]})")
        self.block(f.body, 1)
        if len(self.lines) == 1:
            self.put(1, "pass")
        return "\n".join(tidy(self.lines)) + "\n"

    def shape(self, a: Arr) -> str:
        sizes = [str(core.known_value(n)) for n in a.shape]
        return sizes[0] if len(sizes) == 1 else f"({', '.join(sizes)})"

    def statement(self, stmt, block, depth: int) -> None:
        match stmt:
            case (Let(var=v) | Load(var=v)) if not self.uses.get(v):
                return                          # the size of an argument
            case Store(array=a, index=index, value=value) if stmt in self.kernel.atomic:
                text = self.atom(value)
                place = self.index(index) if len(index) == 1 else f"({self.index(index)})"
                self.flush(depth, {a})
                self.put(depth, f"cuda.atomic.add({self.name(a)}, {place}, {text})")
            case Alloc(array=a, fill=fill):
                super().statement(stmt, block, depth)
                if fill is not None:
                    self.fill(a, self.atom(fill), depth)
            case core.Guard() | core.Print():
                return                          # the kernel itself checks and prints
            case _:
                super().statement(stmt, block, depth)

    def library_call(self, stmt, depth) -> None:
        outs, args = stmt.outs, stmt.args
        if stmt.op == COUNTED:
            place, value = map(self.atom, args)
            self.put(depth, f"cuda.atomic.max({self.name(outs[0])}, {place}, {value})")
        elif stmt.op in (BLOCK_SUM, BLOCK_ADD):
            self.reductions |= {"block_sum", "place", *(["block"] if stmt.op == BLOCK_SUM else [])}
            total = self.name(Var("total", outs[0].dtype))
            value, *index = map(self.atom, args)
            self.flush(depth, set(outs))
            self.put(depth, f"{total} = block_sum({value})")
            self.put(depth, "if place() == 0:")
            place = index[0] if len(index) == 1 else f"({', '.join(index)})"
            target = self.name(outs[0])
            self.put(depth + 1, f"{target}[block()] = {total}" if stmt.op == BLOCK_SUM else
                     f"cuda.atomic.add({target}, {place}, {total})")
        elif is_barrier(stmt):
            self.flush(depth, set(outs))
            self.put(depth, "cuda.syncthreads()")
        else:
            raise UnsupportedOnDevice(f"a kernel cannot call a library function ({stmt.op})", stmt.loc,
                                      "write it with loops, or call it outside of the kernel")

    def fill(self, a: Arr, value: str, depth: int) -> None:
        names: list[str] = []
        for n in a.shape:
            k = self.name(Var("k", "int64"))
            self.put(depth + len(names), f"for {k} in range({core.known_value(n)}):")
            names.append(k)
        self.put(depth + len(names), f"{self.name(a)}[{', '.join(names)}] = {value}")


def kernel_module(kernels, title: str, host=()) -> str:
    """The text of a module that holds functions of the host and kernels, with the imports they need."""
    bodies = [emit(f)[0] for f in host]
    scalars: set[str] = set()
    reductions: set[str] = set()
    for k in kernels:
        printer = ThreadPrinter(k)
        bodies.append(printer.run())
        scalars |= printer.scalars
        reductions |= printer.reductions
    lines = [f'"""{title}"""', "", "import math", "", "import numpy as np", "from numba import cuda", ""]
    lines += from_home("cuda.reductions", reductions) + from_home("cuda", scalars & {"special"})
    lines += from_home("cuda.scalars", scalars - {"special"})
    return "\n".join(lines).rstrip() + "\n\n\n" + "\n\n".join(bodies)


__all__ = ["ThreadPrinter", "kernel_module"]
