"""The targets. Each registers what it does in its own way when its modules are imported, at its first use."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

NAMES = ("cpu", "cuda", "auto")
HOMES = {"programs": {"cuda": "autodiff.cuda.programs"},
         "calls": {"cuda": "autodiff.cuda.calls", "auto": "autodiff.cuda.calls"}}
_registered: dict[tuple[str, str], Any] = {}


@dataclass(frozen=True)
class Programs:
    """How programs are finished for a target.

    finish(programs, title, stages, options, results, plan): a `pipeline.Finished` of programs by the names of their stages;
    results: how many there are before the tape; plan: that of the tape. joint(program, size): a program before it is cut in
    halves, and how many of its statements the first has.
    """

    finish: Callable[..., Any]
    joint: Callable[..., tuple] = lambda program, size: (program, size)


@dataclass(frozen=True)
class Target:
    """What calls are on a target that is not the CPU. call(compiled, args, kwargs): of an object; push(function, primals,
    tangents, options): `jvp`.

    ptx and resources(made, cc, options): of the kernels of a specialisation. functions(generated, options): those of
    generated programs, by name; None where they are those of the CPU.
    """

    call: Callable[..., Any]
    push: Callable[..., Any]
    ptx: Callable[..., dict[str, str]]
    resources: Callable[..., dict[str, Any]]
    functions: Callable[..., dict[str, Any]] | None = None


def register(name: str, what: Programs | Target) -> None:
    _registered["programs" if isinstance(what, Programs) else "calls", name] = what


def _of(role: str, name: str) -> Any:
    if (role, name) not in _registered:
        importlib.import_module(HOMES[role][name])
    return _registered[role, name]


def programs_of(options) -> Programs:
    """How programs with these options are finished."""
    return _of("programs", options.target)


def target_of(options) -> Target:
    """What calls with these options are."""
    return _of("calls", options.target)


def with_kernels(compiled) -> tuple[Target, Any]:
    """(target, specialisation of the latest call) of an object. RuntimeError if it has no kernels."""
    made = compiled._inspect()
    if not made.generated.device:
        raise RuntimeError(f"`{compiled.__name__}` has no kernels: it was not made with target=\"cuda\"")
    return target_of(compiled.options), made


__all__ = ["NAMES", "Programs", "Target", "programs_of", "register", "target_of", "with_kernels"]
