"""`scipy.sparse` arrays as arguments: what they are inside a differentiated function.

A compressed array of rows (CSR) or columns (CSC) enters as its parts, as a dataclass of arrays does. Its operations are the
methods below, which the compiler reads like a user's: so they are loops over the stored entries, and their derivatives too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Compressed:
    """The parts of a compressed array, and what rows and columns have in common."""

    data: Any
    indices: Any
    indptr: Any
    shape: Any

    ndim = 2

    @property
    def size(self):
        return len(self.data)

    nnz = size

    def transpose(self: Any):
        return self.T

    def dot(self, x):
        return self @ x

    def __rmatmul__(self: Any, x):
        return self.T @ x if x.ndim == 1 else (self.T @ x.T).T


@dataclass
class CsrArray(Compressed):
    """Compressed rows: the entries of row i are data[k] in column indices[k], for k from indptr[i] to indptr[i + 1] - 1."""

    @property
    def T(self):
        return CscArray(self.data, self.indices, self.indptr, (self.shape[1], self.shape[0]))

    def toarray(self):
        out = np.zeros(self.shape)
        for i in range(self.shape[0]):
            for k in range(self.indptr[i], self.indptr[i + 1]):
                out[i, self.indices[k]] += self.data[k]
        return out

    def __matmul__(self, x):
        if x.shape[0] != self.shape[1]:
            raise ValueError("dimension mismatch")
        if x.ndim == 1:
            out = np.zeros(self.shape[0])
            for i in range(self.shape[0]):
                total = 0.0
                for k in range(self.indptr[i], self.indptr[i + 1]):
                    total += self.data[k] * x[self.indices[k]]
                out[i] = total
            return out
        out = np.zeros((self.shape[0], x.shape[1]))
        for i in range(self.shape[0]):
            for k in range(self.indptr[i], self.indptr[i + 1]):
                out[i] += self.data[k] * x[self.indices[k]]
        return out


@dataclass
class CscArray(Compressed):
    """Compressed columns: the transpose of compressed rows."""

    @property
    def T(self):
        return CsrArray(self.data, self.indices, self.indptr, (self.shape[1], self.shape[0]))

    def toarray(self):
        return self.T.toarray().T

    def __matmul__(self, x):
        if x.shape[0] != self.shape[1]:
            raise ValueError("dimension mismatch")
        if x.ndim == 1:
            out = np.zeros(self.shape[0])
            for j in range(self.shape[1]):
                for k in range(self.indptr[j], self.indptr[j + 1]):
                    out[self.indices[k]] += self.data[k] * x[j]
            return out
        out = np.zeros((self.shape[0], x.shape[1]))
        for j in range(self.shape[1]):
            for k in range(self.indptr[j], self.indptr[j + 1]):
                out[self.indices[k]] += self.data[k] * x[j]
        return out


KINDS = {"csr": CsrArray, "csc": CscArray}


def is_sparse(value) -> bool:
    """Whether a value is an array or matrix of `scipy.sparse`, of whatever format."""
    return type(value).__module__.startswith("scipy.sparse") and hasattr(value, "tocsr") and hasattr(value, "format")


def is_compressed(cls) -> bool:
    """Whether a class stands for a sparse array inside differentiated functions."""
    return cls is CsrArray or cls is CscArray


def parts_of(value) -> dict | None:
    """The fields of a compressed array; None for other formats."""
    if value.format not in KINDS or len(value.shape) != 2:
        return None
    return {"data": value.data, "indices": value.indices, "indptr": value.indptr, "shape": tuple(map(int, value.shape))}


def with_data(cls, data, indices, indptr, rows: int, columns: int):
    """The `scipy.sparse` array of these parts, with `data` for its entries."""
    import scipy.sparse  # takes long to start, and SciPy may not be there
    make = scipy.sparse.csr_array if cls is CsrArray else scipy.sparse.csc_array
    return make((data, indices.copy(), indptr.copy()), shape=(rows, columns))


__all__ = ["CscArray", "CsrArray", "is_compressed", "is_sparse", "parts_of", "with_data"]
