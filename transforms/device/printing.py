"""Printing device programs: kernels as functions for `cuda.jit`, the host's function as plain Python around them."""

from __future__ import annotations

from collections.abc import Sequence

from ..language import core
from ..language.core import Arr, Const, Function, Ref, array_of
from ..language.errors import UnsupportedOnDevice
from ..language.ops import HOMES, OPS
from ..language.python_text import signature_of, tidy, whole
from ..printing.emit import Printer
from ..printing.line_text import NUMPY_TYPES
from .chunks import CHUNKS, FOLD
from .from_nest import ATOMIC_ADD, DEVICE
from .operations import HELPERS, operation
from .partition import CELL, CHECK, LAUNCH, PARTIALS, READ, TOTAL, DeviceProgram
from .scans import SCAN
from .stacks import LARGEST

PLACES = {"column": "cuda.grid(1)", "row": "row()", "place": "place()", "block": "block()", "block_sum": "block_sum({0})",
          "block_max": "block_max({0})", "block_min": "block_min({0})", "block_mul": "block_mul({0})"}
OUR_NAMES = {"add_at", "cuda", "device", "row", "place", "block", "maximum", "minimum", "special", "f32",
             *(text.split("(")[0] for text in PLACES.values()), *(name for names in HELPERS.values() for name in names)}


class KernelPrinter(Printer):
    """A kernel: `math` in the place of NumPy, threads' places, local arrays, atomic additions."""

    slices = False

    def __init__(self, function: Function):
        super().__init__(function)
        self.scalars: set[str] = set()
        self.reductions: set[str] = set()
        self.atomics = False

    def expression(self, stmt) -> tuple[str, int]:
        if stmt.op.startswith(DEVICE):
            text = PLACES[stmt.op.removeprefix(DEVICE)]
            if not text.startswith("cuda."):
                self.reductions.add(text.split("(")[0])
            return text.format(*map(self.atom, stmt.args)), 100
        if stmt.op in ("cast", "dim", "link", "stop") or stmt.op == "pow" and whole(stmt.args[1]):
            return super().expression(stmt)
        op = operation(stmt.op)
        if op is None:
            raise UnsupportedOnDevice(f"`{stmt.op.removeprefix('special.')}` cannot be computed on a CUDA device", stmt.loc,
                                      "compute it on the CPU, or write it with functions of `math`")
        self.scalars.update(HELPERS.get(stmt.op, ("special",) if stmt.op.startswith("special.") else ()))
        if stmt.op == "pow" and stmt.var.dtype.startswith("float"):
            return f"math.pow({self.atom(stmt.args[0])}, {self.atom(stmt.args[1])})", 100
        if op.level == 100:
            return op.text.format(*map(self.atom, stmt.args)), 100
        left = self.atom(stmt.args[0], op.level + (1 if op.kind == "compare" else 0))
        if len(stmt.args) == 1:
            return op.text.format(left), op.level
        return op.text.format(left, self.atom(stmt.args[1], op.level + 1)), op.level

    def allocation(self, a: Arr, fill, once: bool) -> str:
        sizes = [self.atom(s) for s in a.shape]
        shape = sizes[0] if len(sizes) == 1 else f"({', '.join(sizes)})"
        return f"cuda.local.array({shape}, {NUMPY_TYPES[a.dtype]})"

    def library_call(self, stmt, depth) -> None:
        if stmt.op != ATOMIC_ADD:
            raise UnsupportedOnDevice(f"a kernel cannot call a library function ({stmt.op})", stmt.loc)
        target = stmt.outs[0]
        index = [self.atom(i) for i in target.prefix]
        where = index[0] if len(index) == 1 else f"({', '.join(index)})"
        value = self.atom(stmt.args[0])
        self.flush(depth, {target.array})
        self.atomics = True
        self.put(depth, f"add_at({self.name(target.array)}, {where}, {value})")

    def run(self) -> str:
        f = self.function
        self.put(0, f"def {f.name}({', '.join(map(self.name, f.params))}):")
        self.block(f.body, 1)
        return "\n".join(tidy(self.lines)) + "\n"


class HostPrinter(Printer):
    """The host's function: memory, launches and library calls through `device`."""

    leading = ("device",)
    slices = False

    def __init__(self, function: Function, host_arrays=frozenset()):
        super().__init__(function)
        self.host_arrays = host_arrays

    def expression(self, stmt) -> tuple[str, int]:
        text, level = super().expression(stmt)
        helper = OPS[stmt.op].helper
        if helper:                          # kernels have functions of the same names
            text = f"on_host.{text}"
        return text, level

    def private_copy(self, p: Arr) -> str:
        return f"device.own({self.name(p)})"

    def dtype(self, a) -> str:
        return NUMPY_TYPES[a.dtype]

    def sizes(self, atoms) -> str:
        shown = [self.atom(a) for a in atoms]
        return f"({', '.join(shown)}{',' * (len(shown) == 1)})"

    def allocation(self, a: Arr, fill, once: bool) -> str:
        shape = self.sizes(a.shape)
        if a in self.host_arrays:
            return f"np.full({shape}, {'0' if fill is None else self.ref(fill)}, {self.dtype(a)})"
        if fill is None:
            return f"device.empty({shape}, {self.dtype(a)})"
        if isinstance(fill, Const) and not fill.value and not str(fill.value).startswith("-"):
            return f"device.zeros({shape}, {self.dtype(a)})"
        return f"device.full({shape}, {self.ref(fill)}, {self.dtype(a)})"

    def ref(self, a) -> str:
        if isinstance(a, Ref) and (a.prefix or a.transposed):
            parts = [self.name(a.array), *(self.atom(i) for i in a.prefix), *["transposed=True"] * a.transposed]
            return f"device.part({', '.join(parts)})"
        return super().ref(a)

    def library_call(self, stmt, depth) -> None:
        op = stmt.op
        if op.startswith(LAUNCH):
            count = stmt.static[0]
            given = [self.ref(a) for a in stmt.args[count:]]
            shape = self.sizes(stmt.args[:count])
            self.flush(depth, {o for o in stmt.outs if isinstance(o, Arr)})
            self.put(depth, f"device.launch({', '.join([op.removeprefix(LAUNCH), shape, *given])})")
        elif op == PARTIALS:
            out = stmt.outs[0]
            self.put(depth, f"{self.name(out)} = device.partials({self.sizes(stmt.args)}, {self.dtype(out)})")
        elif op.startswith(TOTAL):
            parts, init = map(self.ref, stmt.args)
            self.put(depth, f"{self.name(stmt.outs[0])} = device.total({parts}, {op.removeprefix(TOTAL)!r}, {init})")
        elif op == CHUNKS:
            self.put(depth, f"{self.name(stmt.outs[0])} = device.chunks({', '.join(map(self.ref, stmt.args))})")
        elif op == SCAN:
            shown = ", ".join(map(self.ref, stmt.args))
            self.put(depth, f"device.scan({self.name(stmt.outs[0])}, {stmt.static[0]!r}, {shown})")
        elif op == FOLD:
            self.put(depth, f"device.fold({self.ref(stmt.args[0])}, {self.name(stmt.outs[0])})")
        elif op == LARGEST:
            self.put(depth, f"{self.name(stmt.outs[0])} = device.largest({self.ref(stmt.args[0])})")
        elif op == READ:
            self.put(depth, f"{self.name(stmt.outs[0])} = device.read({self.ref(stmt.args[0])})")
        elif op == CELL:
            self.put(depth, f"{self.name(stmt.outs[0])} = device.cell({self.ref(stmt.args[0])}, {self.dtype(stmt.outs[0])})")
        elif op == CHECK:
            self.put(depth, f"device.check({self.ref(stmt.args[0])}, {list(stmt.static)!r})")
        else:
            outs, shown = (", ".join(map(self.ref, x)) + "," * (len(x) == 1) for x in (stmt.outs, stmt.args))
            self.flush(depth, {array_of(o) for o in stmt.outs})
            static = "".join(f", {x!r}" for x in stmt.static)
            self.put(depth, f"device.call({op!r}, ({outs}), ({shown}){static})")

    def statement(self, stmt, block, depth: int) -> None:
        if isinstance(stmt, core.Resize):
            length = self.atom(stmt.length)
            self.put(depth, f"{self.name(stmt.array)} = device.resize({self.name(stmt.array)}, {length})")
            return
        super().statement(stmt, block, depth)


def device_text(programs: Sequence[DeviceProgram], title: str) -> str:
    """A module with the kernels and host functions of device programs."""
    bodies: list[str] = []
    scalars: set[str] = set()
    reductions: set[str] = set()
    atomics = False
    host_helpers: set[str] = set()
    raised: set[str] = set()
    signatures: dict[str, str] = {}
    for p in programs:
        for k in p.kernels:
            printer = KernelPrinter(k.function)
            printer.names.taken |= OUR_NAMES - {printer.names.given.get(x) for x in k.function.params}
            bodies.append(printer.run())
            scalars |= printer.scalars
            reductions |= printer.reductions
            atomics |= printer.atomics
            signatures[k.function.name] = f"void{signature_of(k.function.params)}"
        host = HostPrinter(p.host, p.host_arrays)
        bodies.append(host.run())
        raised |= {h for h in host.helpers if HOMES.get(h) == "raising"}
        host_helpers |= host.helpers - {"empty", "zeros"} - raised
    lines = [f'"""{title}"""', "", "import math", "", "import numpy as np", "from numba import cuda", ""]
    lines += from_home("cuda.atomics", ["add_at"] * atomics)
    lines += from_home("cuda.reductions", reductions) + from_home("cuda", scalars & {"special"})
    lines += from_home("cuda.scalars", scalars - {"special"})
    lines += from_home("raising", raised)
    if host_helpers:
        lines.append("from autodiff.runtime.cuda import on_host")
    shown = "".join(f"    {name!r}: {text!r},\n" for name, text in signatures.items())
    return "\n".join(lines).rstrip() + "\n\n\n" + "\n\n".join(bodies) + f"\n\nSIGNATURES = {{\n{shown}}}\n"


def from_home(home: str, names) -> list[str]:
    return [f"from autodiff.runtime.{home} import {', '.join(sorted(names))}"] if names else []


__all__ = ["device_text"]
