"""A loss over the blocks of Dask arrays, and its derivatives: what `sharded` does, by Dask's schedulers."""

from __future__ import annotations

import builtins
import math

import dask
import dask.array
from dask.delayed import Delayed

from ..transforms.language.errors import ShapeMismatch, TypeConflict
from .sharded import Part, Sharded, added, whole


class OverBlocks(Sharded):
    """What `value_and_grad` gives: called with the parameters, (loss, gradient). See there."""

    def __init__(self, loss, data, wrt, reduce, fan_in, options):
        self.data = data if isinstance(data, (tuple, list)) else (data,)      # persisted blocks live as long as they
        super().__init__(loss, blocks_of(self.data), builtins.map, wrt, reduce, fan_in, None, options)

    def __call__(self, parameters):
        """(loss, gradient): for `scipy.optimize.minimize(..., jac=True)`."""
        return self.value_and_grad(parameters)

    def delayed(self, parameters) -> Delayed:
        """(loss, gradient), still to be computed. The parameters may be so too: Delayed objects or Dask arrays."""
        return self._delayed(self._joint, parameters)

    def _delayed(self, compiled, *given) -> Delayed:
        part = dask.delayed(Part(compiled, self.wrt, self.reduce == "mean", alike=True), traverse=False, pure=False)
        sent = dask.delayed(given)
        run = dask.delayed(loss_over_block, pure=False)     # a call of `part` would send it with each task
        terms = [run(part, k, sent, *blocks) for k, blocks in enumerate(self.shards)]
        while len(terms) > 1:
            groups = [terms[k:k + self.fan_in] for k in range(0, len(terms), self.fan_in)]
            terms = [dask.delayed(added, pure=False)(group) if len(group) > 1 else group[0] for group in groups]
        return dask.delayed(whole, pure=False)(terms[0] if terms else None, self.reduce == "mean")

    def _over_shards(self, compiled, *given):
        return self._delayed(compiled, *given).compute()


def loss_over_block(part: Part, number: int, given: tuple, *arrays):
    """A task: what a part gives for the blocks of one place."""
    return part(number, arrays, given)


def blocks_of(data) -> list[tuple]:
    """The blocks of arrays along their first axis, those of each place together, as Delayed objects."""
    for k, array in enumerate(data):
        if not isinstance(array, dask.array.Array):
            raise TypeConflict(f"data[{k}] is a {type(array).__name__}, not a Dask array", None,
                               "dask.array.from_array makes one of an array, to_dask_array(lengths=True) of a data frame; "
                               "what all blocks need belongs to the parameters or into the loss")
        if not array.ndim:
            raise ShapeMismatch(f"data[{k}] has no axes, so that it has no blocks")
        if any(n > 1 for n in array.numblocks[1:]):
            raise ShapeMismatch(f"data[{k}] is cut along other axes than the first: its blocks are {array.numblocks}", None,
                                f"rechunk it: data[{k}].rechunk({{1: -1}}) joins those of the second axis")
        if not alike(array.chunks[0], data[0].chunks[0]):
            raise ShapeMismatch(f"data[0] and data[{k}] are cut at other places: {data[0].chunks[0]}, {array.chunks[0]}",
                                None, f"rechunk one of them: data[{k}].rechunk({{0: data[0].chunks[0]}})")
    apart = not shared_layers(data)             # optimised each for itself, arrays would compute twice what they share
    return list(zip(*(array.to_delayed(optimize_graph=apart).ravel().tolist() for array in data), strict=True))


def shared_layers(data) -> bool:
    """Whether two different arrays are made of the same blocks, as a target computed from the data is."""
    layers = [set(array.dask.layers) for array in {array.name: array for array in data}.values()]
    return len(set().union(*layers)) < sum(map(len, layers))


def alike(a: tuple, b: tuple) -> bool:
    """Whether blocks have the same lengths, as far as these are known."""
    return len(a) == len(b) and all(m == n or math.isnan(m) or math.isnan(n) for m, n in zip(a, b, strict=True))


def value_and_grad(loss, data, *, wrt=0, reduce: str = "sum", fan_in: int = 8, **options) -> OverBlocks:
    """The loss over all blocks of Dask arrays, with its gradient: `value_and_grad(loss, (X, y))(w)` is (loss, gradient).

    loss: a scalar function of the parameters and a block of each array, `loss(w, X, y)`.
    data: Dask arrays with the same blocks along their first axis and one along the others. The blocks stay where they are:
        `persist()` them if they are not to be read again for each call.
    wrt, reduce, fan_in, options: as for `autodiff.sharded`. The tree of sums is the same, so that results have the same bits
        for any number of workers, and after one of them is lost.

    Besides: `.value(w)`, `.grad(w)`, `.hvp(w, v)`, and `.delayed(w)`, a Dask object. They run where Dask runs: on the client
    that is connected, else on threads.
    Raises TypeConflict for what is no Dask array, ShapeMismatch for blocks that do not fit, with what rechunks them;
    lengths that are not known before (nan) are compared when the blocks are there.
    """
    return OverBlocks(loss, data, wrt, reduce, fan_in, options)


__all__ = ["OverBlocks", "value_and_grad"]
