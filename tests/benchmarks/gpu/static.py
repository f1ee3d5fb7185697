"""What can be said without a GPU: kernels compiled for compute capability 9.0, and what they do by count.

Registers, spills and shared memory are the assembler's; instructions are read from the machine code, if nvdisasm is there.
Bytes and operations are counted at the sizes that would be timed, and set against the floor of the case.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import autodiff
from autodiff.runtime.cuda import assembly

from .cases import Case
from .counting import NoNumbers, Work, counted, total_of
from .table import aligned, markdown

CC = (9, 0)
INSTRUCTIONS = {"loads": r"\bLDG\b", "stores": r"\bSTG\b", "atomics": r"\b(?:RED|ATOM)[GS]?\b", "local": r"\b(?:LDL|STL)\b",
                "shuffles": r"\bSHFL\b", "functions": r"\bMUFU\b", "float64": r"\b(?:DADD|DMUL|DFMA|DSETP|DMNMX)\b|\bF64\b"}
HEAD = ("case", "kernels", "registers", "spills", "shared", "float64", "atomics", "launches", "longest loop", "GB", "floor",
        "x", "Gflop", "floor", "x")
KERNEL_HEAD = ("kernel", "launches", "threads", "turns", "registers", "spills", "local", "shared", "loads", "stores",
               "atomics", "functions", "float64", "instructions", "GB", "Gflop")


@dataclass(frozen=True)
class Compiled:
    """A kernel's resources and how many instructions of which kind its machine code has; wide: instructions of the PTX that
    compute in float64."""

    resources: assembly.Resources
    instructions: dict[str, int]
    wide: int


def machine_code(ptx: str) -> str:
    """The kernel disassembled; nothing where there is no nvdisasm beside the assembler."""
    disassembler = Path(assembly.assembler()).with_name("nvdisasm")
    if not disassembler.exists():
        return ""
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx)
        command = [assembly.assembler(), f"-arch=sm_{CC[0]}{CC[1]}", source, "-o", made]
        subprocess.run(command, check=True, capture_output=True)
        return subprocess.run([disassembler, made], check=True, capture_output=True, text=True).stdout


def compiled(ptx: str) -> Compiled:
    lines = re.findall(r"^\s*/\*[0-9a-f]{4,}\*/\s*(.*?);", machine_code(ptx), re.MULTILINE)
    found = {name: sum(bool(re.search(pattern, line)) for line in lines) for name, pattern in INSTRUCTIONS.items()}
    return Compiled(assembly.resources(ptx, CC), {**found, "all": len(lines)}, len(re.findall(r"\.f64\b", ptx)))


def gradient_of(case: Case):
    """(value and gradient, specialised for the case at full size; the arguments, without memory)."""
    args = case.make(NoNumbers(), **case.full)
    gradient = autodiff.value_and_grad(case.function, wrt=case.wrt, target="cuda")
    return gradient.specialize(*args), args


def kernels_of(gradient) -> dict[str, Compiled]:
    """The kernels of a compiled object by name."""
    module = gradient._inspect().call.load()
    return {name: compiled(assembly.ptx(getattr(module, name), types, CC)) for name, types in module.SIGNATURES.items()}


def line_of_kernel(name: str, made: Compiled, work: Work) -> tuple[str, ...]:
    r, i = made.resources, made.instructions
    numbers = (work.launches, work.threads, work.turns, r.registers, r.spills, r.local, r.shared, i["loads"], i["stores"],
               i["atomics"], i["functions"], max(made.wide, i["float64"]), i["all"])
    return (name, *map(str, numbers), f"{work.bytes / 1e9:.3g}", f"{work.flops / 1e9:.3g}")


def line_of_case(case: Case, made: dict[str, Compiled], work: dict[str, Work]) -> tuple[str, ...]:
    total, floor = total_of(work), case.floor(**case.full)
    largest = [max(getattr(m.resources, name) for m in made.values()) for name in ("registers", "spills", "shared")]
    wide = sum(max(m.wide, m.instructions["float64"]) for m in made.values())
    atomics = sum(m.instructions["atomics"] for m in made.values())
    flops = (f"{floor.flops[1] / 1e9:.3g}", f"{total.flops / floor.flops[1]:.2f}") if floor.flops[1] else ("", "")
    bytes_ = (f"{floor.bytes[1] / 1e9:.3g}", f"{total.bytes / floor.bytes[1]:.2f}") if floor.bytes[1] > 1e8 else ("", "")
    longest = max(work.values(), key=lambda w: w.turns)
    loop = f"{longest.turns:,} in {longest.threads:,} threads" if longest.turns else ""
    counts = map(str, (len(made), *largest, wide, atomics, total.launches))
    return (case.name, *counts, loop, f"{total.bytes / 1e9:.3g}", *bytes_, f"{total.flops / 1e9:.3g}", *flops)


def report(cases, of_kernels: bool = True) -> str:
    """A table of the cases, in Markdown, after one of the kernels of each."""
    lines, out = [], []
    for case in cases:
        gradient, args = gradient_of(case)
        made, work = kernels_of(gradient), counted(gradient, args)
        lines.append(line_of_case(case, made, work))
        shown = [line_of_kernel(name.removeprefix(f"{gradient.__name__}_"), m, work.get(name, Work()))
                 for name, m in made.items()]
        shown += [(name, str(w.launches), *[""] * 12, f"{w.bytes / 1e9:.3g}", f"{w.flops / 1e9:.3g}")
                  for name, w in work.items() if name not in made]
        out += [f"{case.name}: {', '.join(f'{k} {v:,}' for k, v in case.full.items())}", aligned(KERNEL_HEAD, shown), ""]
    summary = markdown(HEAD, lines)
    return "\n".join([*out, summary]) if of_kernels else summary


__all__ = ["report"]
