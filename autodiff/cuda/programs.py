"""Programs for CUDA devices: the last passes, cut into kernels and the host's function, and printed."""

from __future__ import annotations

from ..pipeline import Finished, finished
from ..targets import Programs, register
from ..transforms.device.partition import partition
from ..transforms.device.passes import CUDA
from ..transforms.device.printing import device_text
from ..transforms.device.stacks import stacked
from ..transforms.language import core


def on_device(programs: dict, title: str, stages, options, results: int, plan) -> Finished:
    """Programs finished for a device."""
    programs = {f"device {name}" if len(programs) > 1 else "device": p for name, p in programs.items()}
    made = finished(CUDA, programs, stages, options.debug)
    parts: tuple = ()
    for p in made.values():
        parts += (partition(p, options.deterministic, passed_on(parts, results)),)
    last = list(made.values())[-1]
    rows = {} if plan is None else laid_out_anew(last, parts[-1], plan)
    return Finished(tuple(p.host for p in parts), device_text(parts, title), last, rows, rows.values(), device=parts)


def passed_on(parts: tuple, results: int) -> frozenset:
    """Which parameters of a linear map are numbers that the forward part, if there is one, leaves in cells."""
    residuals = parts[0].host.returns[results:] if parts else ()
    return frozenset(k for k, r in enumerate(residuals) if r in parts[0].cells)


def laid_out_anew(program: core.Function, part, plan) -> dict:
    """The buffers of a tape whose axes the passes for devices have changed, and those in their places: of the same name and
    dtype, in the order of the program. part: the device's program, in whose kernels buffers of one iteration have got axes
    for all."""
    memory = [a for k in part.kernels for a in k.memory]
    private = {(a.hint, a.dtype) for a in memory}
    alive = dict.fromkeys(s.array for s in core.walk(program.body) if isinstance(s, core.Load))
    tapes = [tape.array for tape, *_ in plan.report() if tape.array not in alive]
    found: dict = {}
    for a in (*memory, *(a for a in alive if (a.hint, a.dtype) not in private)):
        tape = next((t for t in tapes if t not in found and (t.hint, t.dtype) == (a.hint, a.dtype)), None)
        if tape is not None:
            found[tape] = a
    return found


register("cuda", Programs(on_device, stacked))
