"""Derivatives of losses over Dask arrays; needs Dask. See docs/dask.md."""

from .bridges.dask import OverBlocks, value_and_grad

__all__ = ["OverBlocks", "value_and_grad"]
