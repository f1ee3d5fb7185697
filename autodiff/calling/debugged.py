"""`f.debug(*args)` runs what was generated in Python's debugger, `f.file` says where the text is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .building import compile_text, file_of
from .tracebacks import entry


def in_debugger(call: Callable[[], Any], sweep: str = "forward") -> Any:
    from .debugging import debugged  # pdb is loaded when it is asked for
    return debugged(call, sweep)


class Debugged:
    """Base of the compiled objects."""

    options: Any

    @property
    def file(self) -> str:
        """The path of the file of `source`, for an editor or a breakpoint. It is written again where it was removed."""
        made: Any = self
        return file_of(made._inspect().generated, self.options)

    @entry
    def debug(self, *args, sweep: str = "forward", **kwargs):
        """The result of a call, with pdb at the first line of the generated text, which Python runs uncompiled.

        `step`, `next`, `until`, `list` and `p x_bar` work as in any program; `step` goes over the functions of NumPy and
        autodiff. `continue` runs to the end, and the result is returned; after `quit` that is None.

        args, kwargs: those of a call, with NumPy arrays and numbers. sweep: "forward" stops at the first line of the
            function, "reverse" at the first line of its reverse sweep. An argument that is called `sweep` is given by its
            place.
        It is the text for one thread of the CPU, also with `parallel=True` or another target.
        Raises ValueError for a sweep that there is not, and what a call raises.
        """
        made: Any = self
        twin = made._like(mode="python", parallel=False, target="cpu")
        return in_debugger(lambda: twin(*args, **kwargs), sweep)


class DebuggedMap:
    """Base of linear maps at a point: pullbacks, tangent maps."""

    _made: Any

    @property
    def file(self) -> str:
        """The path of the file of `source`."""
        return file_of(self._made.generated, self._made.extra["rows"].options)

    @entry
    def debug(self, *given):
        """The result of a call, with pdb at the first line of the map's text; see `debug` of the compiled objects."""
        generated = self._made.generated
        if generated.device:
            raise ValueError("the text of this map is for a GPU: debug that of vjp or linearize with target=\"cpu\"")
        options = replace(self._made.extra["rows"].options, mode="python")
        twin: Any = object.__new__(type(self))
        vars(twin).update(vars(self), _function=compile_text(
            generated.text, [p.name for p in generated.programs], {}, options)[generated.programs[1].name])
        return in_debugger(lambda: twin(*given))


__all__ = ["Debugged", "DebuggedMap"]
