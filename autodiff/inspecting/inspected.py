"""What compiled objects show of what was made for the latest call."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..targets import with_kernels
from ..transforms.language import markup
from ..transforms.language.cells import in_cells
from ..transforms.language.core import Arr, Const
from ..transforms.lower.values import Buffer
from .bills import Bill, bill, with_arrays
from .colours import coloured, has_colours
from .lines import Lines, lines_of, names_in
from .sources import Source
from .tapes import Tape
from .units_text import functions_of

if TYPE_CHECKING:
    from .times import Times
    from .view import View

FEW = 4                         # buffers of a tape whose sizes are told in a line


class Inspected:
    """Base of the compiled objects: source, lines, stages and tape."""

    _latest: Any
    _specialisations: Any
    _taken: Any
    _chosen: Any
    __name__: str
    options: Any
    kind: str
    times: Any
    _seeds: str | None = None       # what a reverse sweep starts from, see `reverse`

    def _inspect(self):
        """The specialisation of the latest call."""
        if self._latest is None:                # an equal object may have been called: they share what was compiled
            self._latest = self._specialisations.latest()
        if self._latest is None:
            raise RuntimeError(f"`{self.__name__}` has not been called yet: call it, or `specialize` it on example "
                               "arguments, to see the generated code")
        return self._latest

    @property
    def source(self) -> Source:
        """The generated Python source for the latest call; with `parallel=True`, that for several threads."""
        return source_of(self._inspect())

    def source_of(self, helper) -> Source:
        """The part of `source` that is for one function that the user's function calls, and for its derivatives.

        helper: that function, or its name. Raises ValueError if its statements stand where it is called.
        """
        return Source(functions_of(self.source, helper))

    @property
    def stages(self) -> dict:
        """Every intermediate program of the latest call, by pass name; each prints as Python."""
        return self._inspect().generated.stages

    def show(self, stage: str = "", file=None) -> None:
        """Print `source` in colours, or one of `stages`: without colours where the output is no terminal.

        file: where to, instead of the standard output. Neither has colours if NO_COLOR is set or TERM is "dumb", both have
        them if FORCE_COLOR is set. `source` itself is plain text, also when it is printed.
        Raises KeyError for a stage that there is not.
        """
        text = in_cells(str(self.stages[stage]) if stage else str(self.source))
        out = sys.stdout if file is None else file
        print(coloured(text) if has_colours(out) else text, file=out, end="" if text.endswith("\n") else "\n")

    def ptx(self, cc: tuple[int, int] | None = None) -> dict[str, str]:
        """With `target="cuda"`, the PTX of each kernel of the latest call, for a compute capability (the GPU's, or 9.0).

        Raises CudaUnavailable without numba-cuda or NVVM, and under the simulator.
        """
        target, made = with_kernels(self)
        return target.ptx(made, cc, self.options)

    @property
    def resources(self) -> dict:
        """With `target="cuda"`, what each kernel of the latest call takes: `runtime.cuda.assembly.Resources` by name.

        Raises CudaUnavailable as `ptx` does, and without NVIDIA's assembler ptxas.
        """
        target, made = with_kernels(self)
        return target.resources(made, None, self.options)

    @property
    def tape(self) -> Tape:
        """What the reverse sweep reads from the forward sweep: name, shape, bytes and why, for the latest call."""
        made = self._inspect()
        name_of = names_in(made)

        def reckon(args, kwargs) -> Bill:
            names, values = self._taken(args, kwargs)
            values = with_arrays(made, names, values)
            generated = made.generated
            meant = self._chosen(names, values) if generated.segments or generated.question else made
            return bill(meant, names, values, names_in(meant))
        return Tape(made.generated.tape, reckon, name_of)

    @property
    def lines(self) -> Lines:
        """Every line of `source`: the user's lines that it computes, its sweep, what it makes or fills of the tape.

        A tuple of `SourceLine`s that prints as a table; `lines.of(12)` are those of line 12 of the user's file.
        """
        return lines_of(self._inspect())

    def view(self, *args, time: bool = False, **kwargs) -> View:
        """A page that shows the generated source, and every stage on the way to it, beside the user's.

        args, kwargs: those of the function, or shapes as for `tape.bill`, for which the page has bytes; without them it has
        their formulas. time: whether the function is run for these arguments to measure its lines, see `times`; an argument
        of that name is given by its place. The page is one file of HTML that needs no network: `save(path)` writes it, a
        notebook shows it.
        """
        times = self.times(*args, **kwargs) if time else None
        return self._page(self.tape.bill(*args, **kwargs) if args or kwargs else (), times=times)

    def _page(self, bill: Iterable = (), begin: str = "source", times: Times | None = None) -> View:
        """The page with the sizes of a bill and measured times; begin: the program that it begins with."""
        from .view import view  # few look at it
        return view(self, bill, begin, times)

    def _repr_html_(self) -> str:
        """What was made for the latest call: its arguments, what it tapes, its source."""
        head = markup.element("b", f"{self.kind} of {self.__name__}")
        made = self._latest or self._specialisations.latest()
        if made is None:
            return markup.piece(head, ": not called yet; a call, or `specialize`, generates its code")
        return markup.piece(head, *summary(made))

    def _reasons(self) -> dict[str, str]:
        """What is known of arguments: where their gradients come from."""
        return {}


def source_of(made) -> Source:
    """The text of a specialisation; with `parallel=True`, that for several threads."""
    generated = made.generated
    return Source(generated.text if generated.threads is None else generated.threads.text)


def summary(made) -> tuple:
    """What a specialisation takes and tapes, as a table, and its source, which a click shows."""
    taken = ", ".join(f"{p.hint}: {described(p)}" for p in made.params)
    tape = Tape(made.generated.tape, None, names_in(made))
    taped = " + ".join(saved.bytes for saved in tape) + " bytes" if 0 < len(tape) <= FEW else f"{len(tape)} buffers"
    source = source_of(made)
    return (markup.table((), [("arguments", taken), ("tape", taped if tape else "nothing")]),
            markup.folded(f"generated source, {source.count(chr(10))} lines", markup.program(source)))


def described(parameter) -> str:
    """The kind of a parameter: float64[:, 3]."""
    if not isinstance(parameter, Arr):
        return parameter.dtype
    array = Buffer(parameter)
    return f"{array.dtype}[{', '.join(str(n.value) if isinstance(n, Const) else ':' for n in array.shape)}]"


__all__ = ["Inspected", "summary"]
