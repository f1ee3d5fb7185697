"""`autodiff.cuda.kernel`: the adjoint of a kernel that was written for `numba.cuda`.

    @autodiff.cuda.kernel
    def saxpy(a, x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] += a * x[i]

    saxpy[blocks, threads](a, x, y)                             # the kernel itself
    pullback = saxpy.vjp[blocks, threads](a, x, y)              # the same, and what goes back
    pullback(y=y_bar)                                           # {"a": ..., "x": ..., "y": ...}
    saxpy.adjoint[blocks, threads](a, x, y, x_bar=x_bar, y_bar=y_bar)       # in place, one launch

`numba.cuda` is imported at the first launch.
"""

from __future__ import annotations

import functools
import inspect
import math
from typing import Any

import numpy as np

from ..inspecting.sources import Source
from ..rules import REGISTRY
from ..runtime.machine_code.store import load_module, write_module
from ..transforms.device.kernels import Generated, generate
from ..transforms.device.threads import Launch, triple
from ..transforms.language.core import Arr, Var, is_float, written
from ..transforms.language.errors import TypeConflict
from ..transforms.language.markup import element, folded, piece, program
from ..transforms.language.queries import loaded_in
from ..transforms.source.definitions import plain_function
from .arguments import check_cotangent, description, element_kind, flat, is_array, key_of, kind_of
from .inspection import assembly, capability


def launching():
    """The module that launches kernels."""
    from ..runtime.cuda import launches  # numba.cuda, an optional package
    return launches


def kernel(function=None, /, *, deterministic: bool = False, race_free: bool = False, fastmath: bool = False):
    """A kernel of `numba.cuda` with its adjoint; also a decorator.

    function: a Python function written as a kernel, or what `cuda.jit` made of one.
    deterministic: refuse adjoints that need atomic additions, whose sums depend on the order of the threads.
    race_free: your word that no thread touches an element that another one writes, where subscripts seem to say otherwise.
    fastmath: for `cuda.jit`, of the kernel and its adjoint.

    The result is launched as the kernel is: `k[grid, block](*args)` or `k[grid, block, stream](*args)`. See `Kernel`.
    """
    if function is None:
        return lambda f: Kernel(f, deterministic, race_free, fastmath)
    return Kernel(function, deterministic, race_free, fastmath)


class Kernel:
    """A kernel and its adjoint.

    k[grid, block](*args): launches the kernel.
    k.vjp[grid, block](*args): launches it and returns its pullback (see `Pullback`).
    k.adjoint[grid, block](*args, **bars): the adjoint alone, in place (see `launch_adjoint`).
    k.specialize(grid, block, *args): the adjoint for a launch, without a launch. k.source, k.ptx() and
        k.resources are of the last one.
    k.primal: the kernel as Numba compiled it.

    Raises an AutodiffError before anything runs where a kernel cannot be differentiated.
    """

    def __init__(self, function, deterministic=False, race_free=False, fastmath=False):
        self.given, self.function = function, plain_function(function)
        self.deterministic, self.race_free, self.fastmath = deterministic, race_free, fastmath
        self.__name__ = self.function.__name__
        self.__doc__ = self.function.__doc__
        self.signature = inspect.signature(self.function)
        self.made: dict = {}
        self.latest: Specialisation | None = None
        self._primal: Any = None

    @property
    def primal(self):
        """The kernel as Numba compiles it."""
        if self._primal is None:
            launches = launching()
            self._primal = launches.of_user(self.given, self.fastmath)
        return self._primal

    def __getitem__(self, configuration):
        return self.primal[configuration]

    @property
    def vjp(self) -> Launcher:
        """Launch with a pullback."""
        return Launcher(self, launch_vjp)

    @property
    def adjoint(self) -> Launcher:
        """Launch the adjoint alone."""
        return Launcher(self, launch_adjoint)

    def specialize(self, grid, block, *args) -> Specialisation:
        """The adjoint for a launch with these arguments, of which only the kinds matter; nothing runs."""
        launch = Launch.of(grid, block)
        values = self.bound(args)
        key = (launch, *map(key_of, values))
        if key not in self.made:
            generated = generate(self.function, [kind_of(v) for v in values], launch, REGISTRY, self.deterministic,
                                 self.race_free)
            self.made[key] = Specialisation(self, generated, [element_kind(v) for v in flat(values)])
        self.latest = self.made[key]
        return self.latest

    def bound(self, args) -> list:
        """The arguments in the order of the parameters, with defaults."""
        if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.KEYWORD_ONLY) for p in self.signature.parameters.values()):
            raise TypeConflict(f"`{self.__name__}`: a kernel takes positional arguments, each by its name")
        found = self.signature.bind(*args)
        found.apply_defaults()
        return list(found.args)

    def last(self) -> Specialisation:
        if self.latest is None:
            raise ValueError(f"`{self.__name__}` has not been specialised: launch its vjp, or call "
                             "specialize(grid, block, *args)")
        return self.latest

    @property
    def source(self) -> Source:
        """The module with the adjoint kernel of the last launch or specialisation."""
        return Source(self.last().text)

    def ptx(self, cc: tuple[int, int] | None = None) -> dict[str, str]:
        """The PTX of its kernels, by name, for a compute capability (the GPU's, or 9.0).

        Raises CudaUnavailable without numba-cuda or NVVM, and under the simulator.
        """
        return self.last().ptx(cc or capability())

    @property
    def resources(self) -> dict:
        """What its kernels take of a processor: `runtime.cuda.assembly.Resources` by name.

        Raises CudaUnavailable as `ptx` does, and without NVIDIA's assembler ptxas.
        """
        return {name: assembly().resources(text, capability()) for name, text in self.ptx(capability()).items()}

    def __repr__(self):
        return f"<autodiff.cuda.kernel {self.__name__}>"

    def _repr_html_(self) -> str:
        made = folded("generated source", program(self.source)) if self.latest else element("i", "not launched yet")
        return piece(element("b", repr(self)[1:-1]), made)


class Launcher:
    """Waits for the configuration of a launch: `[grid, block]` or `[grid, block, stream]`."""

    def __init__(self, owner: Kernel, run):
        self.owner, self.run = owner, run

    def __getitem__(self, configuration):
        grid, block, *rest = configuration
        if len(rest) > 1 and rest[1]:
            raise TypeConflict("shared memory whose size is given at the launch is not supported", None,
                               "give cuda.shared.array a constant shape")
        stream = rest[0] if rest and rest[0] != 0 else None
        return lambda *args, **bars: self.run(self.owner, triple(grid), triple(block), stream, args, bars)


class Specialisation:
    """An adjoint kernel for one shape of the block and kinds of arguments.

    text: its module. names: of the numbers and arrays among the arguments, the leaves, in order. bars: which have adjoints.
    writes: which the kernel writes; restored: of which the adjoint reads what they held before; scratch: to which it writes.
    """

    def __init__(self, owner: Kernel, generated: Generated, kinds):
        self.owner, self.generated, self.kinds = owner, generated, kinds
        self.text = generated.text
        self.stored = generated.stored
        thread = generated.thread
        self.leaves = thread.arguments
        self.names = [p.hint for p in self.leaves]
        self.bars = [k for k, p in enumerate(self.leaves) if p in generated.adjoint.bars]
        self.floats = [k for k, p in enumerate(thread.lowered.leaves) if is_float(p)]
        self.writes = [k for k, p in enumerate(self.leaves) if p in thread.mutated]
        programs = [k.function for k in (self.stored.kernel, self.stored.measure) if k is not None]
        read = {a for f in programs for a in loaded_in(f.body)}
        changed = {a for f in programs for a in written(f.body)}
        self.restored = {k for k in self.writes if self.leaves[k] in read}
        self.scratch = {k for k, p in enumerate(self.leaves) if p in changed}
        self.captured = [value for _, _, value in thread.lowered.hidden]

    @functools.cached_property
    def module(self):
        """The loaded module."""
        key = f"{self.owner.__name__}_adjoint: {self.text}"
        return load_module(write_module(key, self.text), key)

    def kernel(self, which):
        """One of the kernels of the module."""
        return getattr(self.module, which.function.name)

    def signature_of(self, which) -> str:
        """Numba's signature of one of the kernels, for arrays in C order."""
        kinds = dict(zip(self.leaves, [*self.kinds, *map(element_kind, self.captured)], strict=True))
        parts = []
        for p in which.given:
            dtype, axes = kinds[p] if p in kinds else (p.dtype, len(p.shape))
            dtype = "boolean" if dtype == "bool" else dtype
            parts.append(dtype if axes < 0 else f"{dtype}[{', '.join([':'] * (axes - 1) + ['::1'])}]")
        return f"void({', '.join(parts)})"

    def ptx(self, cc) -> dict[str, str]:
        """The PTX of the kernels, by name."""
        return {k.function.name: assembly().ptx(self.kernel(k), self.signature_of(k), cc, self.owner.fastmath)
                for k in (self.stored.kernel, self.stored.measure) if k is not None}

    def launch(self, device, grid, block, leaves, bars) -> None:
        """Run the adjoint. leaves: as before the kernel ran. bars: leaf number -> array on the device, updated."""
        launches = launching()
        stored = self.stored
        values = [launches.given(device, v) for v in (*leaves, *self.captured)]

        def own() -> list:
            return [device.own(v) if k in self.scratch else v for k, v in enumerate(values)]
        slots: Any = ()
        if stored.measure is not None:
            slots = launches.counted(device, self.kernel(stored.measure), grid, block, own(), len(stored.tapes))
        elif stored.sizes is not None:
            slots = getattr(self.module, stored.sizes.name)(*values, *(grid[k] for k in stored.axes))
            slots = slots if isinstance(slots, tuple) else (slots,)
        threads = math.prod(grid) * math.prod(block)
        tapes = [device.empty((max(int(n), 1), threads), a.dtype) for n, a in zip(slots, stored.tapes, strict=True)]
        numbers = [k for k in self.bars if isinstance(self.leaves[k], Var)]
        parts = {k: device.empty((math.prod(grid),), self.leaves[k].dtype) for k in numbers}
        given = [parts.get(k, bars[k]) for k in self.bars]
        device.launch_as(self.kernel(stored.kernel), grid, block, *own(), *given, *tapes)
        for k, found in parts.items():
            launches.add_total(device, found, bars[k])

    def shape_of(self, k: int, value):
        """(shape, dtype) of the adjoint of a leaf: (1,) for a number."""
        return (description(value)[1] if isinstance(self.leaves[k], Arr) else (1,)), self.leaves[k].dtype

    def check_writable(self, values) -> None:
        """Refuse arrays that are written but must not change."""
        launches = launching()
        for k in self.writes:
            if launches.arrays.library_of(values[k]) == "jax":
                raise TypeConflict(f"`{self.owner.__name__}` writes to `{self.names[k]}`, and arrays of JAX do not change",
                                   None, "pass an array of Numba, CuPy or torch")

    def check_apart(self, values) -> None:
        """Refuse one array in two places if it is written through one of them; adjoints come after the arguments."""
        launches = launching()
        seen: dict = {}
        for k, v in enumerate(values):
            place = launches.memory_of(v) if is_array(v) else None
            if place is None:
                continue
            if place in seen and (k in self.writes or seen[place] in self.writes or k >= len(self.kinds)):
                raise TypeConflict(f"`{self.owner.__name__}`: one array stands in two places, and is written through one of "
                                   "them", None, "pass a copy")
            seen.setdefault(place, k)


class Pullback:
    """What a launch sends back: call it with the cotangents of what the kernel wrote, by the names of the arguments.

    It returns a dict with a cotangent for every argument of floating point: arrays of the device in the caller's type, of
    shape (1,) for numbers; NumPy arrays and numbers if no argument was on the device. For an array that the kernel writes it
    is that of what the array held before. Cotangents that are not given are zero. It may be called again.

    Between the launch and the call, arrays that the kernel only reads must stay as they are.
    """

    def __init__(self, made: Specialisation, device, grid, block, values, kept):
        self.made, self.device, self.grid, self.block = made, device, grid, block
        self.values, self.kept = values, kept
        self.on_host = not any(is_array(v) and not isinstance(v, np.ndarray) for v in values)

    def __call__(self, **cotangents) -> dict:
        launches = launching()
        made, device = self.made, self.device
        outputs = {made.names[k] for k in made.writes if k in made.floats}
        for name in cotangents:
            if name not in outputs:
                raise TypeConflict(f"`{name}` is no array of floating point that `{made.owner.__name__}` writes", None,
                                   f"it writes {', '.join(sorted(outputs))}")
        bars = {}
        for k in made.floats:
            name, (shape, dtype) = made.names[k], made.shape_of(k, self.values[k])
            if name in cotangents:
                check_cotangent(name, cotangents[name], shape, dtype)
                bars[k] = device.own(cotangents[name])
            else:
                bars[k] = device.zeros(shape, dtype)
        made.launch(device, self.grid, self.block, self.kept, bars)
        return {made.names[k]: self.result(launches, k, bar) for k, bar in bars.items()}

    def result(self, launches, k: int, bar):
        if not self.on_host:
            return self.device.back(bar)
        found = launches.host_values(self.device, bar)
        return found if isinstance(self.made.leaves[k], Arr) else found[0]


def launch_vjp(owner: Kernel, grid, block, stream, args, bars) -> Pullback:
    """Launch a kernel; what goes back. Raises TypeConflict where one array is both written and passed twice."""
    launches = launching()
    if bars:
        raise TypeConflict("vjp takes the arguments of the kernel; cotangents go to what it returns")
    made = owner.specialize(grid, block, *args)
    arguments = owner.bound(args)
    values = flat(arguments)
    made.check_writable(values)
    made.check_apart(values)
    device = launches.device_of(values, stream, owner.fastmath)
    with device:
        kept = [device.own(v) if k in made.restored else v for k, v in enumerate(values)]
        owner.primal[grid, block, device.stream](*arguments)
    return Pullback(made, device, grid, block, values, kept)


def launch_adjoint(owner: Kernel, grid, block, stream, args, bars) -> None:
    """Run the adjoint of a launch, in place.

    args: those of the kernel, with the contents from before it ran; they are left as they are. bars: for an argument `x` of
    floating point, `x_bar=` an array of its shape (of shape (1,) for a number). For an array that the kernel writes it holds
    the cotangent of the new contents, and afterwards that of the old ones; to those of the others what the kernel
    contributes is added. Adjoints that are not given are zeros that nobody sees.
    """
    launches = launching()
    made = owner.specialize(grid, block, *args)
    values = flat(owner.bound(args))
    known = {f"{made.names[k]}_bar": k for k in made.floats}
    for name in bars:
        if name not in known:
            raise TypeConflict(f"`{owner.__name__}` has no argument for the adjoint `{name}`", None,
                               f"there are {', '.join(known)}")
        k = known[name]
        check_cotangent(name, bars[name], *made.shape_of(k, values[k]))
    made.check_apart([*values, *bars.values()])
    device = launches.device_of([*values, *bars.values()], stream, owner.fastmath)
    with device:
        found = {known[name]: launches.given(device, bar) for name, bar in bars.items()}
        for k in made.bars:
            if k not in found:
                found[k] = device.zeros(*made.shape_of(k, values[k]))
        made.launch(device, grid, block, values, found)
        for name, bar in bars.items():
            if isinstance(bar, np.ndarray):
                bar[...] = launches.host_values(device, found[known[name]])


__all__ = ["Kernel", "Pullback", "kernel"]
