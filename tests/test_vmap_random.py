"""vmap over random structures, and on several threads, against loops of Python."""

import zlib

import numba
import numpy as np
import pytest

import autodiff
from autodiff import (
    grad,
    vmap,
)
from autodiff.operators.vmap import Mapped

from .vmap_oracle import RNG, Model, W, axes_of, flat, looped, loss, same

DTYPES = (np.float64, np.float32, np.complex128, np.int64)


def random_leaf(rng, count):
    """(array or number, axis or None) of one leaf of an argument."""
    shape = tuple(rng.choice([1, 2, 3], size=rng.integers(0, 3)))
    dtype = DTYPES[rng.choice(4, p=[0.5, 0.2, 0.1, 0.2])]
    shared = rng.random() < 0.3
    axis = None if shared else int(rng.integers(0, len(shape) + 1))
    whole = shape if shared else (*shape[:axis], count, *shape[axis:])
    values = rng.integers(-3, 4, size=whole).astype(dtype) if dtype is np.int64 else rng.normal(size=whole).astype(dtype)
    if dtype is np.complex128:
        values = values + 1j * rng.normal(size=whole)
    if shared and not shape:
        return values[()], None
    return values, axis if axis is None or rng.random() < 0.5 else axis - values.ndim


def random_tree(rng, count, depth=2):
    kind = rng.integers(0, 6) if depth else 0
    if kind <= 2:
        return random_leaf(rng, count)
    parts = [random_tree(rng, count, depth - 1) for _ in range(2)]
    (a, x), (b, y) = parts
    if kind == 3:
        return (a, b), (x, y)
    if kind == 4:
        return {"u": a, "v": b}, {"u": x, "v": y}
    return Model(a, b), Model(x, y)


def combined(first, second):
    """All leaves into results of several ranks and dtypes."""
    parts = leaves_of(first) + leaves_of(second)
    total = 0.0
    for part in parts:
        total = total + np.sum(np.sin(part.real) + 0.5 * part.imag ** 2)
    return {"total": total, "scaled": [part * 2 for part in parts], "first": np.sum(parts[0])}


def leaves_of(tree):
    if isinstance(tree, dict):
        return leaves_of(tree["u"]) + leaves_of(tree["v"])
    if isinstance(tree, Model):
        return leaves_of(tree.w) + leaves_of(tree.b)
    if isinstance(tree, tuple):
        return leaves_of(tree[0]) + leaves_of(tree[1])
    return [tree]


@pytest.mark.parametrize("seed", range(8))
def test_random_structures(seed):
    rng = np.random.default_rng(zlib.crc32(b"vmap") + seed)
    for _ in range(3):
        count = int(rng.choice([1, 2, 5]))
        (first, x), (second, y) = random_tree(rng, count), random_tree(rng, count)
        if all(a is None for a in flat(x) + flat(y)):
            continue
        ranks = [np.ndim(leaf) - (axis is not None) for leaf, axis in zip(flat(first) + flat(second), axes_of(first, x)
                                                                          + axes_of(second, y), strict=True)]
        outs = {"total": 0, "scaled": [int(rng.integers(-r - 1, r + 1)) for r in ranks], "first": -1}
        made = vmap(combined, in_axes=(x, y), out_axes=outs, mode="python")
        same(made(first, second), looped(combined, (first, second), (x, y), outs), 1e-6)

        def summed(first, second, x=x, y=y):
            return np.sum(vmap(combined, in_axes=(x, y))(first, second)["total"])
        floats = [k for k, tree in enumerate((first, second))
                  if all(np.asarray(leaf).dtype.kind in "fc" for leaf in flat(tree))]
        for k in floats:                        # the gradient of a sum is that of each example, where it is its own
            found = grad(summed, wrt=k, mode="python")(first, second)
            wanted = by_loop((first, second), (x, y), k, count)
            for a, b in zip(flat(found), wanted, strict=True):
                assert np.shape(a) == np.shape(b)
                np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


def by_loop(args, axes, k, count):
    """The gradient of the sum of the totals in argument k: d/dz (sin Re z + Im z ** 2 / 2) = cos Re z + i Im z, once for
    each example that a leaf is in."""
    found = []
    for leaf, axis in zip(flat(args[k]), axes_of(args[k], axes[k]), strict=True):
        leaf = np.asarray(leaf)
        slope = np.cos(leaf.real) + (1j * leaf.imag if leaf.dtype.kind == "c" else 0.0)
        found.append(slope * (count if axis is None else 1))
    return found


def test_threads_take_products_and_what_is_checked_once(monkeypatch):
    """Checks of sizes are made before the loop, but where it does not run; matrix products are in the threads' blocks."""
    monkeypatch.setattr(Mapped, "worth_threads", 1)
    made, serial = (vmap(grad(loss), in_axes=(None, 0, 0), parallel=p) for p in (True, False))
    x, y = RNG.normal(size=(300, 3)), RNG.normal(size=(300, 2))
    same(made(W, x, y), serial(W, x, y))
    text = made._latest.generated.threads.text
    block, rest = text.split("def loss_vmap_block_1_threads")
    assert "matmul_into" in block and "raise" not in block.split("def ")[1] and "matmul_into" not in rest
    for args in ((W, x[:, :2], y), (W, x, y[:, :1].repeat(5, axis=1)), (W, x, y[:7])):
        with pytest.raises(ValueError) as one:
            serial(*args)
        with pytest.raises(ValueError) as other:
            made(*args)
        assert str(one.value) == str(other.value)
    assert made(W, x[:0, :2], y[:0]).shape == serial(W, x[:0, :2], y[:0]).shape


def test_threads_leave_alone_what_may_raise():
    def checked(x):
        if x[0] > 10.0:
            raise ValueError("too large")
        return np.sum(x @ x)
    made = vmap(checked, parallel=True)
    x = RNG.normal(size=(300, 5))
    same(made(x), np.einsum("ij,ij->i", x, x))
    assert made._latest.generated.threads is None
    x[250, 0] = 11.0
    with pytest.raises(ValueError, match="too large"):
        made(x)


def test_threads_give_the_same_bits():
    """For any number of them. Without `parallel`, functions are computed several at once, with other last bits."""
    x = RNG.normal(size=(3000, 80))

    def energy(x):
        s = 0.0
        for v in x:
            s += np.tanh(v) * v
        return s
    made = vmap(energy, parallel=True)
    one, many = vmap(energy)(x), made(x)
    np.testing.assert_allclose(one, many, rtol=1e-14)
    numba.set_num_threads(1)
    try:
        np.testing.assert_array_equal(made(x), many)
    finally:
        numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
    assert autodiff.vmap is vmap
