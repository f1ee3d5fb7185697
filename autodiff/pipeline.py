"""The list of passes, in order. Nothing else knows the order.

    lower     Python source and argument kinds -> core program (parsing, inference, views and array expressions to loops)
    fuse      loops that copy a temporary are joined with the loop that fills it
    reverse   core program -> its gradient (activity, to-be-recorded analysis, tape)
    split     gradient -> forward part returning a tape, and pullback reading it
    simplify  dead code, constant carries
    join      a loop and its reverse as one, where each iteration can be reversed at once
    near      loops over one range joined, buffers of one iteration made rows or scalars, dear values of one iteration kept
    emit      core program -> Python source

For a CUDA device the passes after `reverse` and `split` are those of `transforms/device/pipeline.py`.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace

from .rules import REGISTRY
from .transforms.differentiate.linear import linearized
from .transforms.differentiate.reverse import reverse
from .transforms.differentiate.split import split
from .transforms.language import core
from .transforms.language.errors import InternalError
from .transforms.language.motion import facts_of
from .transforms.language.ops import HOMES
from .transforms.language.verify import verify
from .transforms.lower.interpreter import Lowered, Lowering
from .transforms.lower.outside import Reads
from .transforms.lower.plan import Widen
from .transforms.optimise.array_contraction import contract, hoist_allocations, scalars
from .transforms.optimise.branch_fusion import merge_branches
from .transforms.optimise.congruence import merge_congruent
from .transforms.optimise.constant_folding import fold_constants
from .transforms.optimise.dead_zeros import assign_first
from .transforms.optimise.factoring import factor_once
from .transforms.optimise.gather import gather
from .transforms.optimise.joint import join, merge_repeated, without_tail
from .transforms.optimise.loop_fusion import merge_nests
from .transforms.optimise.loop_interchange import interchange
from .transforms.optimise.loop_reversal import straighten
from .transforms.optimise.parallel import independent, parallelise
from .transforms.optimise.producer_fusion import fuse
from .transforms.optimise.product_accumulation import accumulate
from .transforms.optimise.reuse import keep_rows
from .transforms.optimise.scalar_expansion import turn_columns
from .transforms.optimise.scalar_replacement import promote
from .transforms.optimise.simplify import resolve_links, simplify
from .transforms.optimise.store_forwarding import forward_values
from .transforms.optimise.summed_products import sum_first
from .transforms.optimise.unroll import unroll
from .transforms.printing.emit import emit

HEADER = "import math\n\nimport numpy as np\n"


@dataclass
class Stage:
    """A program after a pass; prints as Python."""

    name: str
    program: core.Function

    def __str__(self) -> str:
        return emit(self.program)[0]


@dataclass
class Threads:
    """The same function for several threads: the module's text, its functions (the entry last), those with loops over
    blocks, and the entry's program."""

    text: str
    names: tuple[str, ...]
    loops: tuple[str, ...]
    program: core.Function


@dataclass
class Generated:
    """Programs ready to compile: Python text, entry names, and every stage on the way."""

    lowered: Lowered
    programs: tuple[core.Function, ...]
    text: str
    stages: dict[str, Stage] = field(default_factory=dict)
    tape: tuple = ()
    active: set = field(default_factory=set)
    threads: Threads | None = None
    device: tuple = ()          # for a CUDA device, each function's `DeviceProgram`


@dataclass(frozen=True)
class Target:
    """What a program is finished for. parallel: also for several threads of the CPU.

    platform: "cpu" or "cuda". deterministic: on a device, refuse additions in an order that is not fixed.
    """

    platform: str = "cpu"
    parallel: bool = False
    deterministic: bool = False


CPU = Target()


def lower(function, args, kwargs, boundscheck=True, outputs=(), debug=False, loose: frozenset = frozenset(),
          packs: bool = False) -> Lowered:
    widened: dict = {}
    while True:         # a list may turn out to need a wider dtype, which only grows
        try:
            lowered = Lowering(REGISTRY, boundscheck, widened, Reads(loose), packs).lower(
                function, args, kwargs, outputs=outputs)
        except Widen as e:
            if widened.get(e.place) == e.dtype:
                raise InternalError("a list's type does not settle", None, "please report this program") from e
            widened[e.place] = e.dtype
            continue
        check(lowered.function, debug)
        return lowered


def check(program, debug) -> None:
    if debug:
        verify(program)


def module_text(programs, title: str, imports: str = "") -> str:
    """A module that holds the programs, with the imports they need."""
    bodies, helpers = [], set()
    for p in programs:
        text, used = emit(p)
        bodies.append(text)
        helpers |= used
    lines = [f'"""{title}"""', "", (HEADER + imports).rstrip(), ""]
    for home in sorted({HOMES.get(h, "helpers") for h in helpers}):
        names = sorted(h for h in helpers if HOMES.get(h, "helpers") == home)
        lines.append(f"from autodiff.runtime{'.' * bool(home)}{home} import {', '.join(names)}")
    return "\n".join(lines).rstrip() + "\n\n\n" + "\n\n".join(bodies)


def prepare(lowered: Lowered, stages: dict, debug: bool) -> core.Function:
    stages["lower"] = Stage("lower", lowered.function)
    program = merge_congruent(simplify(lowered.function, True, lowered.facts), lowered.facts)
    program = scalars(fuse(program, lowered.facts))
    check(program, debug)
    stages["fuse"] = Stage("fuse", program)
    return program


def primal(lowered: Lowered, debug=False, target: Target = CPU) -> Generated:
    stages: dict[str, Stage] = {}
    prepared = prepare(lowered, stages, debug)
    title = f"The primal of `{prepared.name}`, generated by autodiff."
    return complete(lowered, {"simplify": prepared}, title, stages, debug, target)


def whole(lowered: Lowered, title: str, debug=False, target: Target = CPU) -> Generated:
    """A derivative that is a program of its own already: Jacobians, tangents."""
    stages = {"derive": Stage("derive", lowered.function)}
    check(lowered.function, debug)
    return complete(lowered, {"simplify": lowered.function}, title, stages, debug, target)


def gradient(lowered: Lowered, wanted, keep_value: bool, name: str, seeds="one", debug=False,
             target: Target = CPU) -> Generated:
    """The joint gradient: one function from the arguments to (value and) adjoints."""
    stages: dict[str, Stage] = {}
    program = prepare(lowered, stages, debug)
    made, plan, _ = reverse(program, lowered.facts, wanted, REGISTRY, keep_value, name, seeds)
    check(made, debug)
    stages["reverse"] = Stage("reverse", made)
    generated = complete(lowered, {"simplify": made}, f"The gradient of `{program.name}`, generated by autodiff.", stages,
                         debug, target, plan)
    generated.active = plan.active
    return generated


def complete(lowered: Lowered, programs: dict, title: str, stages: dict, debug: bool, target: Target,
             plan=None) -> Generated:
    """Programs, by the names of their stages, through the last passes and printed as a module.

    plan: that of the tape, which the last of the programs reads.
    """
    rows: dict = {}
    threads = None
    if target.platform == "cuda":
        from .transforms.device.partition import partition
        from .transforms.device.pipeline import for_device
        from .transforms.device.printing import device_text
        made = {f"device {name}" if len(programs) > 1 else "device": for_device(p) for name, p in programs.items()}
        parts: tuple = ()
        for p in made.values():
            parts += (partition(p, target.deterministic, passed_on(parts, len(lowered.function.returns))),)
        finals, text = tuple(p.host for p in parts), device_text(parts, title)
    else:
        threads = threaded(next(iter(programs.values())), title) if target.parallel else None
        made = {name: finish(p, rows if len(programs) == 1 else None) for name, p in programs.items()}
        parts, finals = (), tuple(made.values())
        text = module_text(finals, title)
    for name, p in made.items():
        check(p, debug)
        stages[name] = Stage(name, p)
    last = list(made.values())[-1]
    if plan is not None and target.platform == "cuda":
        rows = laid_out_anew(last, parts[-1], plan)
        tape = kept_tape(last, plan, rows, rows.values())
    else:
        tape = () if plan is None else kept_tape(last, plan, rows)
    return Generated(lowered, finals, text, stages, tape, threads=threads, device=parts)


def halves(program: core.Function, lowered: Lowered, wanted, name: str, kind: str, target: Target = CPU):
    """(forward part that returns the results and the tape, linear map that reads it, joint form, plan of the tape).

    kind: "pullback", from cotangents of the results, or "tangents", from tangents of what is `wanted`.
    """
    if kind == "pullback":
        made, plan, size = reverse(program, lowered.facts, wanted, REGISTRY, True, name, "given")
    else:
        made, plan, size = linearized(program, lowered.facts, wanted, REGISTRY, name)
    if target.platform == "cuda":
        from .transforms.device.stacks import stacked
        made, size = stacked(made, size)
    forward, after = split(made, size, len(program.params), len(program.returns), program.name, kind)
    return forward, after, made, plan


def split_form(lowered: Lowered, wanted, name: str, kind: str, debug=False, target: Target = CPU) -> Generated:
    """A derivative in two parts (see `halves`)."""
    stages: dict[str, Stage] = {}
    program = prepare(lowered, stages, debug)
    forward, after, made, plan = halves(program, lowered, wanted, name, kind, target)
    check(made, debug)
    stages["reverse" if kind == "pullback" else "linear"] = Stage("joint", made)
    title = "pullback" if kind == "pullback" else "linearization"
    return complete(lowered, {"forward": forward, kind: after}, f"The {title} of `{program.name}`, generated by autodiff.",
                    stages, debug, target, plan)


def passed_on(parts: tuple, results: int) -> frozenset:
    """Which parameters of a linear map are numbers that the forward part, if there is one, leaves in cells."""
    residuals = parts[0].host.returns[results:] if parts else ()
    return frozenset(k for k, r in enumerate(residuals) if r in parts[0].cells)


def threaded(program: core.Function, title: str) -> Threads | None:
    """The program with its independent loops in blocks for threads; None if it has no such loop."""
    main, blocks = parallelise(finish(program, parallel=True))
    if not blocks:
        return None
    main = replace(main, name=f"{main.name}_parallel")
    text = module_text([*blocks, main], title, "from numba import prange\n")
    names = tuple(b.name for b in (*blocks, main))
    return Threads(text, names, tuple(n for n in names if n.endswith("_threads")), main)


def finish(program: core.Function, rows: dict | None = None, parallel: bool = False) -> core.Function:
    """Simplification after differentiation; parameters that are no longer written need no private copy."""
    program = simplify(join(straighten(simplify(fold_constants(resolve_links(program)))), rows))
    program = simplify(gather(simplify(merge_branches(program))))
    program = near(program, rows, parallel)
    program = accumulate(without_tail(simplify(promote(forward_values(assign_first(program))))))
    program = factor_once(program)
    changed = core.written(program.body)
    return replace(program, copied=frozenset(p for p in program.copied if p in changed))


def near(program: core.Function, rows: dict | None, parallel: bool) -> core.Function:
    """Loops joined and memory saved, in two rounds: what the first leaves of a buffer decides what the second can join."""
    program = contract(unroll(contract(merge_nests(interchange(turn_columns(program))), rows)), rows)
    facts = facts_of(program) if parallel else None

    def stays(loop) -> bool:
        return parallel and independent(loop, facts)

    program = hoist_allocations(program, stays)
    program = promote(sum_first(contract(forward_values(unroll(merge_nests(program))), rows)))
    program = merge_repeated(contract(forward_values(merge_nests(simplify(program))), rows))
    return hoist_allocations(simplify(keep_rows(program)), stays)


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


def kept_tape(program: core.Function, plan, rows=None, more=()) -> tuple:
    """The entries of the tape that survived simplification. rows: buffers in the places of others. more: buffers that are
    used besides those of the program."""
    statements = list(core.walk(program.body))
    alive = {s.array for s in statements if isinstance(s, core.Load)} | set(more)
    alive |= {x.array for s in statements if isinstance(s, core.Call) for x in s.args if isinstance(x, core.Ref)}
    entries = []
    for tape, *rest in plan.report():
        while rows and tape.array in rows:              # joint loops need one row of it
            tape = copy.copy(tape)
            tape.array = rows[tape.array]
        if tape.array in alive:
            entries.append((tape, *rest))
    return tuple(entries)


__all__ = ["CPU", "Generated", "Stage", "Target", "gradient", "halves", "lower", "primal", "replace", "split_form"]
