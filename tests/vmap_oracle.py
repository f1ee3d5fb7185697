"""What `vmap` is compared with: a loop of Python over the same function."""

from dataclasses import dataclass

import numpy as np

from autodiff.operators.mapped_loops import parts_of_axes

PYTHON = {"mode": "python"}
RNG = np.random.default_rng(7)
W, X, Y = RNG.normal(size=(2, 3)), RNG.normal(size=(4, 3)), RNG.normal(size=(4, 2))


def layer(x, w):
    return 2.0 * np.tanh(w @ x)


def loss(w, x, y):
    return np.sum((np.tanh(w @ x) - y) ** 2)


@dataclass
class Model:
    w: np.ndarray
    b: object


def flat(tree):
    if isinstance(tree, dict):
        return [leaf for v in tree.values() for leaf in flat(v)]
    if isinstance(tree, (tuple, list)):
        return [leaf for v in tree for leaf in flat(v)]
    return flat([tree.w, tree.b]) if isinstance(tree, Model) else [tree]


def like(tree, leaves):
    if isinstance(tree, dict):
        return {k: like(v, leaves) for k, v in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(like(v, leaves) for v in tree))
    if isinstance(tree, (tuple, list)):
        return type(tree)([like(v, leaves) for v in tree])
    return Model(like(tree.w, leaves), like(tree.b, leaves)) if isinstance(tree, Model) else next(leaves)


def axes_of(tree, axes):
    """The axis of each leaf, in order."""
    parts = parts_of_axes(axes)
    if parts is None:
        return [axes] * len(flat(tree))
    own = parts_of_axes(tree)
    return [a for k in own for a in axes_of(own[k], parts[k])]


def looped(function, args, in_axes, out_axes=0):
    """vmap by a loop of Python."""
    axes = [axes_of(a, x) for a, x in zip(args, in_axes, strict=True)]
    count = next(np.shape(leaf)[x] for a, own in zip(args, axes, strict=True) for leaf, x in zip(flat(a), own, strict=True)
                 if x is not None)
    found = []
    for b in range(count):
        found.append(function(*(like(a, iter([leaf if x is None else np.take(leaf, b, axis=x)
                                              for leaf, x in zip(flat(a), own, strict=True)]))
                                for a, own in zip(args, axes, strict=True))))
    stacked = [np.stack(parts, axis=x) if x is not None else parts[0] for parts, x in
               zip(zip(*map(flat, found), strict=True), axes_of(found[0], out_axes), strict=True)]
    return like(found[0], iter(stacked))


def same(found, wanted, rtol=1e-12):
    assert type(found) is type(wanted) or not isinstance(wanted, (tuple, list, dict, Model))
    for a, b in zip(flat(found), flat(wanted), strict=True):
        assert np.shape(a) == np.shape(b) and np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)
