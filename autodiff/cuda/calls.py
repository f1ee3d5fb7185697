"""Calls on a CUDA device: what the caller's arrays become, and results in the caller's type.

Arrays on a device pass through the handling of arguments as stand-ins, NumPy arrays without memory that know the array they
stand for; results come back the same way. A call with NumPy arrays alone copies them to the device, and its results back.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import replace
from typing import Any

import numpy as np

from ..arguments.packing import instance, parts_in
from ..calling.building import stored
from ..operators.pushforwards import matched, pushforward_of
from ..options import Options
from ..runtime.cuda.availability import require
from ..runtime.machine_code import store
from ..targets import Target, register
from ..transforms.device.partition import DeviceProgram
from ..transforms.language.core import Arr
from ..transforms.language.errors import UnsupportedOnDevice
from .inspection import ptx_of, resources_of


@functools.cache
def _arrays():
    """The module of device arrays. CudaUnavailable, with what to install, where nothing can run on a device."""
    require()
    from ..runtime.cuda import arrays  # numba.cuda, an optional package
    return arrays


def device_of(arrays: list, **options):
    """The device of some arrays, to be used with `with`."""
    from ..runtime.cuda.device import Device  # as above
    return Device.of(arrays, **options)


def on_platform(compiled, args, kwargs):
    """A call of a compiled object whose target is "cuda" or "auto"."""
    if compiled.options.target == "auto":
        twin = twin_of(compiled, "cuda" if has_device_arrays((args, kwargs)) else "cpu")
        result = twin(*args, **kwargs)
        compiled._latest = twin._latest
        return result
    library = library_among((args, kwargs))
    result = compiled._call_with(changed(args, stand_in), changed(kwargs, stand_in))
    if hasattr(compiled, "linear_map"):
        value, linear = result
        return given_back(value, library), OnDevice(linear, library)
    return given_back(result, library)


def twin_of(compiled, platform: str):
    """The same operator on the same function for one platform."""
    twins = compiled.__dict__.setdefault("_twins", {})
    if platform not in twins:
        twins[platform] = compiled._like(target=platform)
    return twins[platform]


class OnDevice:
    """A pullback or tangent map of `target="cuda"`: takes and gives arrays of the caller's library."""

    def __init__(self, linear, library):
        self._linear, self._library = linear, library

    def __call__(self, *given):
        return given_back(self._linear(*changed(given, stand_in)), self._library)

    def batched(self, *given):
        raise UnsupportedOnDevice("batches of cotangents are not pulled back on a device", None,
                                  "call the pullback for each, or differentiate a function of the whole batch")

    @property
    def source(self) -> str:
        """The generated source: forward part and linear map."""
        return self._linear.source


# -- arguments and results ----------------------------------------------------------------------------------------
def has_device_arrays(value) -> bool:
    """Whether there is a device array in a structure of arguments."""
    return any(is_device_array(leaf) for leaf in parts_in(value))


def is_device_array(x) -> bool:
    """Whether an object says that its memory is on a CUDA device. Asks without importing anything."""
    if x is None or isinstance(x, (np.ndarray, np.generic, int, float, complex, str)) or isinstance(x, type):
        return False
    if type(x).__module__.partition(".")[0] == "torch":     # its interface raises for what requires a gradient
        return bool(getattr(x, "is_cuda", False))
    if hasattr(x, "__cuda_ndarray__") or getattr(x, "__cuda_array_interface__", None) is not None:
        return True
    where = getattr(x, "__dlpack_device__", None)
    return where is not None and where()[0] == 2            # kDLCUDA


def changed(value, change):
    """A structure of tuples, lists, dicts, namedtuples and dataclasses with other leaves."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(changed(v, change) for v in value))
    if isinstance(value, (tuple, list)):
        return type(value)(changed(v, change) for v in value)
    if isinstance(value, dict):
        return {k: changed(v, change) for k, v in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        made = {k: changed(v, change) for k, v in fields.items()}
        return value if all(made[k] is v for k, v in fields.items()) else instance(type(value), made)
    return change(value)


def stand_in(leaf):
    """What stands for a device array among arguments; other leaves are themselves.

    An array without axes is a number, which decides nothing on the device alone: the host reads it.
    """
    if not is_device_array(leaf):
        return leaf
    made = _arrays().stand_in(leaf)
    if made.dtype.kind == "c":
        raise UnsupportedOnDevice("complex arrays are not supported on a device", None, "pass real and imaginary parts")
    if made.ndim:
        return made
    with device_of([made]) as device:
        return made.dtype.type(device.read(device.for_kernels(made).reshape((1,))))


def library_among(value):
    """The library of the caller's device arrays; None if all are NumPy's."""
    arrays = _arrays()
    try:
        return arrays.common_library([x for x in parts_in(value) if is_device_array(x)])
    except TypeError as e:
        raise UnsupportedOnDevice(str(e)) from None


def given_back(value, library):
    """A result with arrays of the caller's library in the places of stand-ins; NumPy's where the caller had those."""
    arrays = _arrays()

    def change(leaf):
        if not isinstance(leaf, arrays.DeviceStandIn):
            return leaf
        found = leaf.device_array
        if library is None:
            host = found.copy_to_host()
            return host if host.ndim else host[()]
        return arrays.back(found, library, arrays.device_of(found))
    return changed(value, change)


def jvp_on_platform(function, primals, tangents, options):
    """`jvp` with a target other than the CPU."""
    if options.target == "auto":
        options = replace(options, target="cuda" if has_device_arrays((primals, tangents)) else "cpu")
    library = library_among((primals, tangents)) if options.target == "cuda" else None
    primals, tangents = changed(tuple(primals), stand_in), changed(tuple(tangents), stand_in)
    needs, chosen = matched(function, primals, tangents, "jvp")
    result = pushforward_of(function, needs, options=options).push(primals, {}, chosen)
    return given_back(result, library) if options.target == "cuda" else result


# -- generated functions ------------------------------------------------------------------------------------------
def device_functions(generated, options: Options) -> dict[str, HostFunction]:
    """The host functions of a generated module, by name. The module is loaded when one of them is called."""
    load = functools.cache(lambda: store.load_module(*stored(generated.text, generated.programs[0].name, options)))
    results = len(generated.lowered.function.returns) if len(generated.device) > 1 else None
    return {p.host.name: HostFunction(load, p, options.fastmath, results) for p in generated.device}


class HostFunction:
    """A generated host function: takes stand-ins, NumPy arrays and numbers, gives stand-ins.

    results: how many of the values it returns are for the caller, the first ones; the rest is a tape. None: all.
    """

    def __init__(self, load, program: DeviceProgram, fastmath: bool, results: int | None = None):
        self.load, self.program, self.fastmath, self.results = load, program, fastmath, results

    def __call__(self, *passed):
        arrays = _arrays()
        host = self.program.host
        with device_of([x for x in passed if isinstance(x, arrays.DeviceStandIn)], fastmath=self.fastmath) as device:
            given = [self.argument(device, p, x) for p, x in zip(host.params, passed, strict=True)]
            with np.errstate(all="ignore"):
                made = getattr(self.load(), host.name)(device, *given)
            made = list(made) if isinstance(made, tuple) else [made]
            for k, x in enumerate(made):
                if any(x is y for y in (*made[k + 1:], *given)) and isinstance(host.returns[k], Arr):
                    made[k] = device.own(x)             # the caller may change a result
            found = tuple(self.result(device, r, x, self.results is None or k < self.results)
                          for k, (r, x) in enumerate(zip(host.returns, made, strict=True)))
        return found if len(found) > 1 else found[0]

    def argument(self, device, kind, value):
        if not isinstance(kind, Arr):
            return np.float64(value) if type(value) is float else value
        if kind in self.program.cells:
            return device.for_kernels(value).reshape((1,))
        return device.for_kernels(value, np.dtype(kind.dtype))

    def result(self, device, kind, value, for_caller: bool) -> Any:
        """What one result is for the caller: a number is an array without axes, so that nothing waits for it."""
        arrays = _arrays()
        if isinstance(kind, Arr):
            return arrays.stand_in(value.reshape(()) if kind in self.program.cells else value)
        if kind.dtype in ("int64", "bool") or not for_caller:
            return value
        return arrays.stand_in(device.cell(value, np.dtype(kind.dtype)).reshape(()))


register("cuda", Target(on_platform, jvp_on_platform, ptx_of, resources_of, device_functions))
register("auto", Target(on_platform, jvp_on_platform, ptx_of, resources_of))

__all__ = ["HostFunction", "device_functions"]
