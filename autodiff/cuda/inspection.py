"""Looking into the kernels of a compiled object: PTX, registers, spills, shared memory. No GPU is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..options import Options
from ..runtime.cuda.availability import require_package

if TYPE_CHECKING:
    from ..runtime.cuda.assembly import Resources


def assembly():
    """The module that makes and reads PTX. CudaUnavailable, with what to install, where its packages are not there."""
    require_package()
    from ..runtime.cuda import assembly  # numba.cuda, an optional package
    return assembly


def ptx_of(made, cc, options: Options) -> dict[str, str]:
    """The PTX of the kernels of a specialisation, by name."""
    module = made.call.load()
    chosen = cc or capability()
    known = made.extra.setdefault("ptx", {})
    if chosen not in known:
        known[chosen] = {name: assembly().ptx(getattr(module, name), types, chosen, options.fastmath)
                         for name, types in module.SIGNATURES.items()}
    return dict(known[chosen])


def resources_of(made, cc, options: Options) -> dict[str, Resources]:
    """What each kernel of a specialisation takes of a processor."""
    chosen = cc or capability()
    return {name: assembly().resources(text, chosen) for name, text in ptx_of(made, chosen, options).items()}


def capability() -> tuple[int, int]:
    """The compute capability of the current device; (9, 0) without one."""
    from numba import cuda  # as above
    if not cuda.is_available():
        return 9, 0
    return cuda.get_current_device().compute_capability


__all__ = ["capability", "ptx_of", "resources_of"]
