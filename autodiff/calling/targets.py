"""Targets other than the CPU. Each registers what it does in its own way when its module is imported, at its first use."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Target:
    """call(compiled, args, kwargs): of an object; push(function, primals, tangents, options): `jvp`.

    ptx and resources(made, cc, options): of the kernels of a specialisation. functions(generated, options): those of
    generated programs, by name; None where they are those of the CPU.
    """

    call: Callable[..., Any]
    push: Callable[..., Any]
    ptx: Callable[..., dict[str, str]]
    resources: Callable[..., dict[str, Any]]
    functions: Callable[..., dict[str, Any]] | None = None


HOMES = {"cuda": "autodiff.cuda.calls", "auto": "autodiff.cuda.calls"}
_registered: dict[str, Target] = {}


def register(name: str, target: Target) -> None:
    _registered[name] = target


def target_of(options) -> Target:
    """What was registered for the target among these options."""
    if options.target not in _registered:
        importlib.import_module(HOMES[options.target])
    return _registered[options.target]


def with_kernels(compiled) -> tuple[Target, Any]:
    """(target, specialisation of the latest call) of an object. RuntimeError if it has no kernels."""
    made = compiled._inspect()
    if not made.generated.device:
        raise RuntimeError(f"`{compiled.__name__}` has no kernels: it was not made with target=\"cuda\"")
    return target_of(compiled.options), made


__all__ = ["Target", "register", "target_of", "with_kernels"]
