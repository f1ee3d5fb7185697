"""`f.times(*args)`: the time of a call by the user's lines, measured in a compiled variant of the text with laps."""

from __future__ import annotations

import contextlib
import io
from typing import TYPE_CHECKING, Any

from .building import run
from .measuring import measured, own
from .running import guarded
from .tracebacks import entry

if TYPE_CHECKING:
    from ..inspecting.times import Times


class Timed:
    """Base of the compiled objects."""

    options: Any
    kind: str

    @entry
    def times(self, *args, **kwargs) -> Times:
        """The time that a call takes, by lines of the user's function, forward and reverse sweep apart. Prints as a table.

        The function runs some times, for at least 0.2 s, with these arguments; of those that it writes to it is given
        copies. What is measured is a variant of the generated text, compiled in the same way, that reads a clock after each
        innermost loop and after the statements between loops; the time of reading it is subtracted. Loops that turn often
        are one segment: a clock inside would slow them down by more than a tenth. Lines of the user that share one divide
        its time by what the generated lines do, an elementary function counting as ten other lines: these are estimates,
        marked with ~. With `parallel=True` it is the text for several threads.

        Raises ValueError for other targets than the CPU and for derivatives in two functions, as `vjp` has.
        """
        made: Any = self
        found: list[Times] = []

        def measure(specialisation):
            generated = specialisation.generated
            if generated.device or len(generated.programs) > 1:
                raise ValueError(f"times of the {self.kind} of `{made.__name__}` are not measured: of one function for the "
                                 "CPU they are, such as grad, value_and_grad, jacobian or jvp")
            leaves = made._leaves(specialisation, names, values)
            if len(leaves) != len(generated.programs[0].params):
                raise ValueError(f"times of the {self.kind} of `{made.__name__}` are not measured: it takes cotangents too")
            raw = run(specialisation.call, own(specialisation, leaves))             # raises what a call raises
            with contextlib.redirect_stdout(io.StringIO()):                         # it has printed once
                found.append(measured(specialisation, leaves, self.options))
            return raw
        names, values = made._taken(args, kwargs)
        guarded(made, measure, names, values)
        return found[-1]


__all__ = ["Timed"]
