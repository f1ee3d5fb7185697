"""Colourings of sparse structures: which columns one directional derivative can have at once.

Source: A. H. Gebremedhin, F. Manne and A. Pothen, What color is your Jacobian? Graph coloring for computing derivatives,
SIAM Review 47 (2005), 629-705: sections 3 (columns that share no row) and 4 (star colouring of a symmetric structure).
"""

from __future__ import annotations

import numpy as np

from .machine_code.kept import kept as _kept


@_kept
def transposed(indptr, indices, columns):
    """(indptr, indices) of the transposed structure; its indices rise in every row, whatever the order was."""
    count = indptr[indptr.size - 1]
    out = np.zeros(columns + 1, np.int64)
    for k in range(count):
        out[indices[k] + 1] += 1
    at = np.empty(columns, np.int64)
    for j in range(columns):
        at[j] = out[j]
        out[j + 1] += out[j]
    rows = np.empty(count, np.int64)
    for i in range(indptr.size - 1):
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            rows[at[j]] = i
            at[j] += 1
    return out, rows


@_kept
def colour_columns(indptr, indices, tptr, rows, order):
    """(colour of each column, how many): no two columns of one colour have an entry in one row.

    tptr, rows: the transposed structure. Greedy, in the given order. Takes the sum over the rows of their squared numbers
    of entries.
    """
    columns = order.size
    colours = np.empty(columns, np.int64)
    forbidden = np.empty(columns + 1, np.int64)
    for k in range(columns):
        colours[k] = forbidden[k] = -1
    forbidden[columns] = -1
    count = 0
    for j in order:
        for k in range(tptr[j], tptr[j + 1]):
            i = rows[k]
            for e in range(indptr[i], indptr[i + 1]):
                c = colours[indices[e]]
                if c >= 0:
                    forbidden[c] = j
        c = 0
        while forbidden[c] == j:
            c += 1
        colours[j] = c
        count = max(count, c + 1)
    return colours, count


@_kept
def star_colouring(indptr, indices, order):
    """(colour of each vertex, how many) of a symmetric structure: neighbours differ, and every path of four vertices has
    three colours, so that of a pair of vertices one is alone of its colour beside the other.

    Greedy, in the given order. `hubs[w]`: the neighbours of w that have two or more neighbours of w's colour; only these
    make a path of two colours that another neighbour of w would lengthen.
    """
    n = indptr.size - 1
    colours = np.empty(n, np.int64)
    forbidden = np.empty(n + 1, np.int64)
    first = np.empty((n + 1, 2), np.int64)              # of a colour: the vertex it was last met at, the neighbour there
    head = np.empty(n + 1, np.int64)                    # hubs, as linked lists
    for k in range(n + 1):
        forbidden[k] = first[k, 0] = head[k] = -1
        if k < n:
            colours[k] = -1
    following = np.empty(indices.size + 1, np.int64)
    hubs = np.empty(indices.size + 1, np.int64)
    used = 0
    slots = 4
    while slots < 2 * indices.size + 2:
        slots *= 2
    keys = np.empty(slots, np.int64)                    # (vertex, colour) -> its one neighbour of that colour; -1: several
    ones = np.empty(slots, np.int64)
    for k in range(slots):
        keys[k] = -1
    count = 0
    for v in order:
        for e in range(indptr[v], indptr[v + 1]):
            w = indices[e]
            c = colours[w]
            if w == v or c < 0:
                continue
            forbidden[c] = v
            link = head[w]
            while link >= 0:
                if colours[hubs[link]] >= 0:
                    forbidden[colours[hubs[link]]] = v
                link = following[link]
            if first[c, 0] != v:
                first[c, 0], first[c, 1] = v, w
                continue
            for u in (first[c, 1], w):                  # v lies between two of one colour
                for k in range(indptr[u], indptr[u + 1]):
                    if colours[indices[k]] >= 0:
                        forbidden[colours[indices[k]]] = v
        c = 0
        while forbidden[c] == v:
            c += 1
        colours[v] = c
        count = max(count, c + 1)
        for e in range(indptr[v], indptr[v + 1]):
            x = indices[e]
            if x == v:
                continue
            key = x * (n + 1) + c
            slot = ((key * 1099511628211) >> 17) & (slots - 1)
            while keys[slot] != -1 and keys[slot] != key:
                slot = (slot + 1) & (slots - 1)
            if keys[slot] == -1:
                keys[slot], ones[slot] = key, v
                continue
            if ones[slot] >= 0:
                hubs[used], following[used], head[ones[slot]] = x, head[ones[slot]], used
                used += 1
                ones[slot] = -1
            hubs[used], following[used], head[v] = x, head[v], used
            used += 1
    return colours, count


@_kept
def alone_in_row(indptr, indices, colours, count):
    """For each entry whether its column is the only one of its colour in its row."""
    found = np.empty(indices.size, np.bool_)
    met = np.zeros(count, np.int64)
    for i in range(indptr.size - 1):
        for k in range(indptr[i], indptr[i + 1]):
            met[colours[indices[k]]] += 1
        for k in range(indptr[i], indptr[i + 1]):
            found[k] = met[colours[indices[k]]] == 1
        for k in range(indptr[i], indptr[i + 1]):
            met[colours[indices[k]]] = 0
    return found


__all__ = ["alone_in_row", "colour_columns", "star_colouring", "transposed"]
