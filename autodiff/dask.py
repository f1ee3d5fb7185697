"""Derivatives of losses over Dask arrays; needs Dask. See docs/dask.md."""

try:
    import dask.array  # noqa: F401 (to tell what is missing)
except ModuleNotFoundError as e:
    raise ModuleNotFoundError(f"autodiff.dask needs `{e.name}`: pip install 'numba-autodiff[dask]'", name=e.name) from None

from .bridges.dask import OverBlocks, value_and_grad

__all__ = ["OverBlocks", "value_and_grad"]
