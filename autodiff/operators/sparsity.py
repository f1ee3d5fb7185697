"""Structures of sparse Jacobians: where entries may be, colours for them, and where the compressed products hold them."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse

from ..calling.building import run
from ..runtime import colouring, index_sets
from ..runtime.machine_code.kept import kept
from ..transforms.language.errors import InternalError, SparsityError

LANES = 4                       # directions side by side in one sweep, at most
COSTLY = 4_000_000_000          # steps of a colouring that is not worth its result
MOST_HANDLES = 1 << 25          # of index sets: 3 GB


@dataclass
class Pattern:
    """Where a matrix may have entries: compressed rows, columns in rising order."""

    indptr: np.ndarray
    indices: np.ndarray
    columns: int

    @classmethod
    def of(cls, given) -> Pattern:
        """The pattern of a sparse array or matrix, or of a dense array, given by a user."""
        made = scipy.sparse.csr_array(given, copy=True) if scipy.sparse.issparse(given) else scipy.sparse.csr_array(
            np.atleast_2d(np.asarray(given) != 0))
        made.data = np.ones(made.data.size, np.bool_)           # an entry is an entry, even if it is stored as zero
        made.sum_duplicates()
        return cls(made.indptr.astype(np.int64), made.indices.astype(np.int64), made.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        return self.indptr.size - 1, self.columns

    def transposed(self) -> Pattern:
        indptr, indices = colouring.transposed(self.indptr, self.indices, self.columns)
        return Pattern(indptr, indices, self.shape[0])

    def rows(self) -> np.ndarray:
        """The row of each entry."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))

    def steps(self) -> int:
        """What colouring the columns costs."""
        counts = np.diff(self.indptr)
        return int(counts @ counts)

    def fewest(self) -> int:
        """As many colours as the columns need at least."""
        return int(np.diff(self.indptr).max(initial=0))

    def coloured(self) -> tuple[np.ndarray, int] | None:
        """(colour of each column, how many); None where finding them takes too long."""
        if self.fewest() == self.columns:                       # a full row
            return np.arange(self.columns), self.columns
        if self.steps() > COSTLY:
            return None
        across = self.transposed()
        met = np.add.reduceat(np.append(np.diff(self.indptr)[across.indices], 0), across.indptr[:-1])
        order = largest_first(np.where(np.diff(across.indptr), met, 0))
        return colouring.colour_columns(self.indptr, self.indices, across.indptr, across.indices, order)

    def symmetric(self) -> bool:
        other = self.transposed()
        return self.shape[0] == self.columns and np.array_equal(self.indices, other.indices) \
            and np.array_equal(self.indptr, other.indptr)


def largest_first(weights) -> np.ndarray:
    """Numbers in the order of falling weights, equal ones as they come."""
    return np.argsort(-weights, kind="stable")


def found_by(function, arguments, inputs: int, first: int) -> tuple[Pattern, list]:
    """(pattern, shapes of the results): run a structure program, which takes the arguments and a pool.

    inputs: how many; first: a guess of how many sets there will be.
    """
    handles = max(first, 1 << 10)
    while True:
        pool = index_sets.make_pool(inputs, handles)
        try:
            raw = run(function, (*arguments, pool))
            break
        except index_sets.PoolFull:
            if handles >= MOST_HANDLES:
                raise SparsityError("the structure of the Jacobian is too large to be found", None, "give it with "
                                    "sparsity=, or take the dense Jacobian: it may have few zeros") from None
            handles *= 8
    parts = raw if isinstance(raw, tuple) else (raw,)
    shapes = [np.shape(p) for p in parts]
    flat = np.concatenate([np.asarray(p, np.int64).ravel() for p in parts])
    indptr, indices = index_sets.numbers_of(pool, flat, inputs)
    return Pattern(indptr, indices[:indptr[-1]], inputs).transposed().transposed(), shapes        # which sorts the rows


@kept
def taken(out, places, source, chosen):
    """`out[places] = source[chosen]`; no places: all of `out`, in order."""
    if places.size:
        for k in range(chosen.size):
            out[places[k]] = source[chosen[k]]
    else:
        for k in range(chosen.size):
            out[k] = source[chosen[k]]


@dataclass
class Block:
    """One block of the Jacobian, result by argument: its structure, and for each sweep (places, where in the products)."""

    shape: tuple[int, int]
    indptr: np.ndarray
    indices: np.ndarray
    sources: list = field(default_factory=list)

    def made(self, data):
        """The block with these entries; the user may write to what it is made of."""
        made = scipy.sparse.csr_array((data, self.indices.copy(), self.indptr.copy()), shape=self.shape)
        made.has_canonical_format = True
        return made


@dataclass
class Plan:
    """How to compute the Jacobian of one structure.

    forward: whether the directions are columns; colours: of columns or rows, `count` of them, `lanes` in one sweep.
    """

    pattern: Pattern
    rows: list                  # the number of elements of each result
    columns: list               # of each argument
    shapes: list                # of the results
    inputs: list                # the shapes of the arguments
    forward: bool = True
    colours: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    count: int = 0
    symmetric: bool = False
    blocks: list = field(default_factory=list)
    seeds: dict = field(default_factory=dict)
    kept: threading.local = field(default_factory=threading.local)

    @property
    def lanes(self) -> int:
        sweeps = -(-self.count // LANES)
        return -(-self.count // sweeps) if sweeps else 0

    @property
    def sweeps(self) -> range:
        """The first colour of each sweep."""
        return range(0, self.count, self.lanes) if self.count else range(0)

    def decide(self, direction: str, symmetric: bool) -> None:
        """Choose directions. symmetric: whether the values are known to be symmetric where the structure is."""
        if symmetric and direction != "reverse" and self.pattern.symmetric():
            order = largest_first(np.diff(self.pattern.indptr))
            self.colours, self.count = colouring.star_colouring(self.pattern.indptr, self.pattern.indices, order)
            self.symmetric = True
        else:
            across = self.pattern.transposed()
            there = back = None
            if direction != "reverse":
                there = self.pattern.coloured()
            if direction == "reverse" or (direction == "auto" and 2 * across.fewest() < (
                    there[1] if there is not None else self.pattern.columns)):
                back = across.coloured()
            if there is None and back is None:
                full = self.pattern if direction != "reverse" else across
                there = back = np.arange(full.columns), full.columns
            self.forward = direction == "forward" or back is None or (
                direction == "auto" and there is not None and there[1] <= 2 * back[1])
            chosen = there if self.forward else back
            assert chosen is not None
            self.colours, self.count = chosen
        self.split()

    def split(self) -> None:
        """The structure of each block, and where its entries stand in the products."""
        pattern, width = self.pattern, max(self.lanes, 1)
        i, j = pattern.rows(), pattern.indices
        if self.symmetric:
            alone = colouring.alone_in_row(pattern.indptr, pattern.indices, self.colours, self.count)
            row, colour = np.where(alone, i, j), self.colours[np.where(alone, j, i)]
            mirrored = np.argsort(j, kind="stable")             # of each entry (i, j) the entry (j, i)
            if not np.all(alone | alone[mirrored]):
                raise InternalError("the colouring does not determine every entry")
        else:
            row, colour = (i, self.colours[j]) if self.forward else (j, self.colours[i])
        sweep, lane = colour // width, colour % width
        sizes = self.rows if self.forward else self.columns
        ends = np.cumsum(sizes)
        part = np.searchsorted(ends, row, side="right")
        starts = ends - sizes
        wide = np.array([width if self.forward else min(width, self.count - f) for f in self.sweeps])
        where = starts[part] * wide[sweep] + lane * np.asarray(sizes)[part] + row - starts[part]    # directions first
        right = np.cumsum(self.columns)
        block_column = np.searchsorted(right, j, side="right")
        kind = np.int32 if max(*pattern.shape, j.size) < 2 ** 31 - 1 else np.int64
        small = np.int32 if not where.size or where.max() < 2 ** 31 - 1 else np.int64
        top = 0
        for height in self.rows:
            inside = slice(pattern.indptr[top], pattern.indptr[top + height])
            for b, columns in enumerate(self.columns):
                chosen = np.flatnonzero(block_column[inside] == b) + inside.start
                counts = np.bincount(i[chosen] - top, minlength=height) if height else np.zeros(0, np.int64)
                block = Block((height, columns), np.concatenate([[0], np.cumsum(counts)]).astype(kind),
                              (j[chosen] - (right[b] - columns)).astype(kind))
                for s in range(len(self.sweeps)):
                    own = np.flatnonzero(sweep[chosen] == s)
                    places = own if own.size < chosen.size else own[:0]
                    block.sources.append((places.astype(kind), where[chosen[own]].astype(small)))
                self.blocks.append(block)
            top += height

    def memory(self, count: int, dtype: str) -> tuple[np.ndarray, list]:
        """(a vector for the products with `count` directions, its parts as the program fills them), the same at every call
        of a thread."""
        if not hasattr(self.kept, "products"):
            self.kept.products = {}
        if count not in self.kept.products:
            shapes = [(count, *s) for s in (self.shapes if self.forward else self.inputs)]
            ends = np.cumsum([int(np.prod(s, dtype=np.int64)) for s in shapes])
            memory = np.empty(int(ends[-1]), dtype)
            parts = [p.reshape(s) for p, s in zip(np.split(memory, ends[:-1]), shapes, strict=True)]
            self.kept.products[count] = memory, parts
        return self.kept.products[count]

    def directions(self, first: int, shapes, dtypes) -> list:
        """The directions of one sweep for each argument or result, along a new first axis, as they enter the program."""
        if first not in self.seeds:
            made, at = [], 0
            wide = self.lanes if self.forward else min(self.lanes, self.count - first)
            for shape, dtype in zip(shapes, dtypes, strict=True):
                size = int(np.prod(shape, dtype=np.int64))
                own = self.colours[at:at + size] - first
                k = np.flatnonzero((own >= 0) & (own < wide))
                unit = np.zeros((wide, size), dtype)
                unit[own[k], k] = 1
                made.append(unit.reshape(wide, *shape))
                at += size
            if len(self.sweeps) > 4 and sum(u.nbytes for u in made) > 1 << 24:
                return made
            self.seeds[first] = made
        return self.seeds[first]


class Sparsity:
    """What is known of a sparse Jacobian at its latest call.

    shape: of all its blocks together; nnz: entries that may not be zero; colours: directions needed; direction: "forward"
    or "reverse"; star: whether symmetry halves the work (star colouring); pattern: a boolean `csr_array` of the structure.
    """

    def __init__(self, plan: Plan):
        self.shape, self.nnz = plan.pattern.shape, int(plan.pattern.indices.size)
        self.colours, self.direction = plan.count, "forward" if plan.forward else "reverse"
        self.star = plan.symmetric
        self._pattern = plan.pattern

    @property
    def pattern(self):
        p = self._pattern
        return scipy.sparse.csr_array((np.ones(self.nnz, np.bool_), p.indices.copy(), p.indptr.copy()), shape=p.shape)

    def __repr__(self):
        return (f"<sparsity: {self.shape[0]} by {self.shape[1]}, {self.nnz} entries, {self.colours} "
                f"{'colour' if self.colours == 1 else 'colours'}, {self.direction}{', symmetric' if self.star else ''}>")


__all__ = ["Pattern", "Plan", "Sparsity", "found_by"]
