"""Index sets and colourings, behind sparse Jacobians."""

import itertools

import numpy as np
import pytest

from autodiff import (
    jacobian,
)
from autodiff.operators import sparsity
from autodiff.runtime import colouring, index_sets


def test_index_sets():
    generator = np.random.default_rng(0)
    n = 90
    pool = index_sets.make_pool(n, 4000)
    sets, handles = [set(), *({k} for k in range(n))], list(range(n + 1))
    for _ in range(1500):
        i, j = generator.integers(0, len(sets), 2)
        made = index_sets.union_sets(pool, handles[i], handles[j])
        sets.append(sets[i] | sets[j])
        handles.append(made)
        grown = index_sets.grow_set(pool, handles[i], handles[j])
        assert (grown == handles[i]) == (sets[j] <= sets[i])
    indptr, indices = index_sets.numbers_of(pool, np.array(handles), n)
    for k, wanted in enumerate(sets):
        assert sorted(indices[indptr[k]:indptr[k + 1]].tolist()) == sorted(wanted)
    small = {}
    for handle, content in zip(handles, sets, strict=True):
        if len(content) <= index_sets.SMALL:
            assert small.setdefault(frozenset(content), handle) == handle
    with pytest.raises(MemoryError):
        for k in range(5000):
            index_sets.union_sets(pool, 1 + k % n, 1 + (7 * k + k // n + 1) % n)
            index_sets.union_sets(pool, handles[-1 - k % 500], handles[-1 - (3 * k) % 499])


def test_a_sum_takes_as_many_sets_as_terms():
    """Partial sums are pairs; a pool that was too small is made larger."""
    def f(x):
        s = 0.0
        r = np.empty(3)
        for i in range(len(x)):
            s += x[i] ** 2
        for k in range(3):
            r[k] = s * x[k]
        return r
    J = jacobian(f, sparse=True, mode="python")
    assert J(np.ones(2000)).nnz == 6000 and J.sparsity.direction == "reverse"


def symmetric_structure(seed):
    generator = np.random.default_rng(seed)
    n = generator.integers(1, 9)
    made = generator.random((n, n)) < generator.random() * 0.6
    made |= made.T
    if seed % 2:
        np.fill_diagonal(made, True)
    return made


def test_colourings():
    for seed in range(60):
        made = symmetric_structure(seed)
        n = len(made)
        p = sparsity.Pattern.of(made)
        colours, count = p.coloured()
        assert all((made[:, colours == c].sum(axis=1) <= 1).all() for c in range(count))
        colours, count = colouring.star_colouring(p.indptr, p.indices, np.arange(n))
        for a, b, c, d in itertools.permutations(range(n), 4):
            if made[a, b] and made[b, c] and made[c, d]:
                assert len({colours[a], colours[b], colours[c], colours[d]}) >= 3
        assert not any(made[a, b] and colours[a] == colours[b] for a, b in itertools.permutations(range(n), 2))
