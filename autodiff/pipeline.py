"""From a Python function to the text of a derivative.

    lower     Python source and argument kinds -> core program (parsing, inference, views and array expressions to loops)
    before    the table of passes before differentiation
    reverse   core program -> its gradient (activity, to-be-recorded analysis, tape)
    split     gradient -> forward part returning a tape, and pullback reading it
    CPU       the table of passes after it; for a CUDA device that of `transforms/device/passes.py`
    emit      core program -> Python source

The tables are in `transforms/passes.py`. Each program on the way is a stage.
"""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from .options import DEFAULT, Options
from .rules import REGISTRY
from .targets import Programs, programs_of, register
from .transforms.differentiate.linear import linearized
from .transforms.differentiate.reverse import reverse
from .transforms.differentiate.seeds import with_checked_seeds
from .transforms.differentiate.segments import asking
from .transforms.differentiate.split import split
from .transforms.language import core
from .transforms.language.errors import AutodiffError, InternalError
from .transforms.language.motion import facts_of
from .transforms.language.ops import HOMES
from .transforms.language.queries import operations
from .transforms.language.substitution import with_own_arrays
from .transforms.language.units import called_in_loops, with_units
from .transforms.language.verify import verify
from .transforms.lower.functions.pieces import in_pieces
from .transforms.lower.functions.places import Reads
from .transforms.lower.functions.worth import Units
from .transforms.lower.interpreter import Interpreter, Lowered
from .transforms.lower.loops.plan import Widen
from .transforms.optimise.parallel import parallelise
from .transforms.passes import CPU as AFTER
from .transforms.passes import THREADS, before
from .transforms.printing.emit import emit, names_of
from .transforms.stages import Stages, run

LONG = "tape_is_long"                # the function that says whether loops are to be taken in segments
MODULES = {"math": "import math", "np": "import numpy as np"}         # what a text mentions: what it needs


@dataclass
class Threads:
    """The same function for several threads: the module's text, its functions (the entry last), those with loops over
    blocks, and the programs of all."""

    text: str
    names: tuple[str, ...]
    loops: tuple[str, ...]
    programs: tuple[core.Function, ...]


@dataclass
class Generated:
    """Programs ready to compile: Python text, entry names, and every stage on the way."""

    lowered: Lowered
    programs: tuple[core.Function, ...]
    text: str
    stages: Stages = field(default_factory=Stages)
    tape: tuple = ()
    active: set = field(default_factory=set)
    threads: Threads | None = None
    device: tuple = ()          # for a CUDA device, each function's `DeviceProgram`
    segments: bool = False      # whether its loops are taken in segments
    question: str = ""          # the text of a function of the same arguments, `LONG`: whether the tape is long


@dataclass
class Finished:
    """Programs after the last passes of a target. programs: those that run on the host; last: the last one as a whole; rows:
    buffers in the places of those of the tape; memory: what holds a tape besides."""

    programs: tuple[core.Function, ...]
    text: str
    last: core.Function
    rows: dict
    memory: Iterable = ()
    threads: Threads | None = None
    device: tuple = ()


def lower(function, args, kwargs, boundscheck=True, outputs=(), debug=False, loose: frozenset = frozenset(),
          packs: bool = False, calls: bool = True, array_calls: bool = True, through=None) -> Lowered:
    """The core program of a function, or of what `through` makes of its arguments (see `Interpreter.lower`).

    calls, array_calls: whether functions of numbers, and of arrays, may stay calls.
    """
    widened: dict = {}
    units = Units(enabled=calls, arrays=array_calls, lengths=calls)
    began = time.perf_counter()
    while True:         # a list may turn out to need a wider dtype, which only grows
        try:
            interpreter = Interpreter(REGISTRY, boundscheck, widened, Reads(loose), packs, units)
            interpreter.checks_in_loops = calls         # on devices, a loop with such a check runs on one thread
            lowered = interpreter.lower(function, args, kwargs, outputs=outputs, through=through)
        except Widen as e:
            if widened.get(e.place) == e.dtype:
                raise InternalError("a list's type does not settle", None, "please report this program") from e
            widened[e.place] = e.dtype
            continue
        except AutodiffError:
            if not (units.chosen or units.stayed):
                raise
            units = Units(enabled=False)    # what is not known of a call's results, or of a length, may be of statements
            continue
        if units.grew():
            continue
        lowered.cut = calls
        lowered.function = with_units(lowered.function, lambda unit: run(before(facts_of(unit)), unit, Stages(), debug),
                                      "prepared")
        lowered.seconds = time.perf_counter() - began
        check(lowered.function, debug)
        return lowered


def check(program, debug) -> None:
    if debug:
        verify(program)


def module_text(programs, title: str, imports: str = "") -> str:
    """A module that holds the programs, with the imports they need."""
    bodies, helpers = [], set()
    units, hot = names_of(programs), called_in_loops(programs)
    for unit, name in units.items():
        text, used = emit(replace(unit.function, name=name), units)
        bodies.append("@inline\n" * (unit in hot) + text)
        helpers |= used | ({"inline"} if unit in hot else set())
    for p in programs:
        text, used = emit(p, units)
        bodies.append(text)
        helpers |= used
    modules = [line for name, line in MODULES.items()
               if any(re.search(rf"(?m)^[^#\n]*\b{name}\.", text) for text in bodies)]
    ours = []
    for home in sorted({HOMES.get(h, "numbers.helpers") for h in helpers}):
        names = sorted(h for h in helpers if HOMES.get(h, "numbers.helpers") == home)
        ours.append(f"from autodiff.runtime.{home} import {', '.join(names)}")
    head = [f'"""{title}"""', *modules, imports.strip(), "\n".join(ours)]
    return "\n\n".join(filter(None, head)) + "\n\n\n" + "\n\n".join(bodies)


def prepare(lowered: Lowered, stages: Stages, debug: bool, cut: bool = False) -> core.Function:
    """The program that is differentiated. cut: whether it is cut in pieces where it is long."""
    program = run(before(lowered.facts), stages.record("lower", lowered.function, lowered.seconds), stages, debug)
    if not (cut and lowered.cut):
        return program
    made = stages.timed("pieces", in_pieces, program, lowered.facts)
    check(made, debug)
    return made


def primal(lowered: Lowered, options: Options = DEFAULT) -> Generated:
    stages = Stages()
    prepared = prepare(lowered, stages, options.debug, cut=not options.parallel)
    title = f"The primal of `{prepared.name}`, generated by autodiff."
    return complete(lowered, {"final": prepared}, title, stages, options)


def whole(lowered: Lowered, title: str, options: Options = DEFAULT) -> Generated:
    """A derivative that is a program of its own already: Jacobians, tangents."""
    stages = Stages()
    check(stages.record("derive", lowered.function), options.debug)
    return complete(lowered, {"final": lowered.function}, title, stages, options)


def gradient(lowered: Lowered, wanted, keep_value: bool, name: str, seeds="one",
             options: Options = DEFAULT) -> Generated:
    """The joint gradient: one function from the arguments to (value and) adjoints."""
    stages = Stages()
    program = prepare(lowered, stages, options.debug, cut=not options.parallel)
    made, plan, _ = stages.timed("reverse", reverse, program, lowered.facts, wanted, REGISTRY, keep_value, name, seeds,
                                   options.segments == "always")
    check(made, options.debug)
    generated = complete(lowered, {"final": made}, f"The gradient of `{program.name}`, generated by autodiff.", stages,
                         options, plan)
    generated.active = plan.active
    generated.segments = options.segments == "always"
    one_thread = options.target == "cpu" and not options.parallel
    if one_thread and options.segments == "ask" and (question := asking(plan, LONG)) is not None:
        generated.question = module_text((question,), f"Whether the tape of `{program.name}` is long.")
    return generated


def pullback(lowered: Lowered, wanted, name: str, options: Options = DEFAULT) -> Generated:
    """The pullback in one function: from the arguments, and cotangents of the results, to adjoints."""
    stages = Stages()
    program = prepare(lowered, stages, options.debug, cut=not options.parallel)
    made, plan, forward = stages.timed("reverse", reverse, program, lowered.facts, wanted, REGISTRY, False, name)
    made = with_checked_seeds(made, forward, len(program.params))
    check(made, options.debug)
    title = f"The pullback of `{program.name}`, generated by autodiff."
    return complete(lowered, {"final": made}, title, stages, options, plan)


def complete(lowered: Lowered, programs: dict, title: str, stages: Stages, options: Options,
             plan=None) -> Generated:
    """Programs, by the names of their stages, through the last passes and printed as a module.

    plan: that of the tape, which the last of the programs reads.
    """
    done = programs_of(options).finish(programs, title, stages, options, len(lowered.function.returns), plan)
    tape = () if plan is None else kept_tape(done.last, plan, done.rows, done.memory)
    return Generated(lowered, done.programs, done.text, stages, tape, threads=done.threads, device=done.device)


def on_cpu(programs: dict, title: str, stages: Stages, options: Options, results: int, plan) -> Finished:
    """Programs finished for the CPU."""
    rows: dict = {}
    threads = threaded(next(iter(programs.values())), title) if options.parallel else None
    finals = tuple(finished(AFTER, programs, stages, options.debug, rows if len(programs) == 1 else None).values())
    return Finished(finals, module_text(finals, title), finals[-1], rows, threads=threads)


def halves(program: core.Function, lowered: Lowered, wanted, name: str, kind: str, options: Options = DEFAULT):
    """(forward part that returns the results and the tape, linear map that reads it, joint form, plan of the tape).

    kind: "pullback", from cotangents of the results, or "tangents", from tangents of what is `wanted`.
    """
    if kind == "pullback":
        made, plan, size = reverse(program, lowered.facts, wanted, REGISTRY, True, name, "given")
    else:
        made, plan, size = linearized(program, lowered.facts, wanted, REGISTRY, name)
    made, size = programs_of(options).joint(made, size)
    forward, after = split(made, size, len(program.params), len(program.returns), program.name, kind)
    return forward, after, made, plan


def split_form(lowered: Lowered, wanted, name: str, kind: str, options: Options = DEFAULT) -> Generated:
    """A derivative in two parts (see `halves`)."""
    stages = Stages()
    program = prepare(lowered, stages, options.debug, cut=kind == "pullback" and not options.parallel)
    forward, after, made, plan = halves(program, lowered, wanted, name, kind, options)
    check(stages.record("reverse" if kind == "pullback" else "linear", made), options.debug)
    title = "pullback" if kind == "pullback" else "linearization"
    made = complete(lowered, {"forward": forward, kind: after}, f"The {title} of `{program.name}`, generated by autodiff.",
                    stages, options, plan)
    made.active = plan.active
    return made


def threaded(program: core.Function, title: str) -> Threads | None:
    """The program with its independent loops in blocks for threads; None if it has no such loop."""
    main, blocks = parallelise(with_finished_units(run(THREADS, program, Stages()), AFTER))
    if not blocks:
        return None
    main = replace(main, name=f"{main.name}_parallel")
    text = module_text([*blocks, main], title, "from numba import prange\n")
    names = tuple(b.name for b in (*blocks, main))
    return Threads(text, names, tuple(n for n in names if n.endswith("_threads")), (*blocks, main))


def finished(table, programs: dict, stages: Stages, debug: bool, rows: dict | None = None) -> dict:
    """Programs by name after a table of passes; the last stage of each has that name."""
    made = {}
    for name, program in programs.items():
        made[name] = run(table, program, stages, debug, rows, f"{name}: " if len(programs) > 1 else "")
        made[name] = with_finished_units(made[name], table, debug)
        stages.record(name, made[name])
    return made


def with_finished_units(program: core.Function, table, debug: bool = False) -> core.Function:
    """The program with its units after a table of passes."""
    return with_units(program, lambda unit: run(table, with_own_arrays(unit), Stages(), debug), (
        "finished", id(table)))


def kept_tape(program: core.Function, plan, rows=None, more=()) -> tuple:
    """The entries of the tape that survived simplification. rows: buffers in the places of others. more: buffers that are
    used besides those of the program."""
    statements = list(core.walk(program.body))
    alive = {s.array for s in statements if isinstance(s, core.Load)} | set(more)
    alive |= {x.array for s in statements if isinstance(s, core.Call) for x in s.args if isinstance(x, core.Ref)}
    made = operations(statements)
    entries: list = []
    for tape, *rest, facts in plan.report():
        while rows and tape.array in rows:              # joint loops need one row of it
            tape = copy.copy(tape)
            tape.array = rows[tape.array]
        if tape.array in alive and all(tape.array is not known.array for known, *_ in entries):
            for size in made.keys() & set(tape.array.shape) - facts.definition.keys():
                facts.define(size, made[size].op, made[size].args)
            entries.append((tape, *rest, facts))
    return tuple(entries)


for _name in ("cpu", "auto"):             # a call with "auto" is one on another target where its arrays are
    register(_name, Programs(on_cpu))

__all__ = ["Finished", "Generated", "finished", "gradient", "halves", "lower", "primal", "replace", "split_form"]
