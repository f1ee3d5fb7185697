"""backward, cotangents passed in, and the life of the graph (S15 to S37)."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import autodiff as ad

from .support import leaf, raises, same


def test_s015_method_and_function_are_one():
    x = leaf(1.0, 2.0)
    assert (x * x).sum().backward() is None
    one = x.grad.tolist()
    x.grad = None
    ad.backward((x * x).sum())
    assert x.grad.tolist() == one
    x.grad = None
    ad.backward(x * x, ad.tensor([1.0, 1.0]))
    assert x.grad.tolist() == one


def test_s016_sums_over_roots_and_adds():
    x = leaf(1.0, 2.0)
    y = (x * 3).sum()
    ad.backward([y, y])
    same(x.grad, [6, 6])
    (x * 1).sum().backward()
    same(x.grad, [7, 7])


@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1)])
def test_s017_one_element_needs_no_gradient(shape):
    x = leaf(np.full(shape, 3.0))
    (x * x).backward()
    same(x.grad, np.full(shape, 6.0))


def test_s018_several_elements_need_one():
    with raises(RuntimeError, "grad can be implicitly created only for scalar outputs"):
        (leaf(1.0, 2.0) * 2).backward()
    with raises(RuntimeError, "real"):
        (leaf(1j) * 2).backward()


def test_s019_roots_must_require_grad():
    x, c = leaf(1.0), ad.tensor(2.0)
    for gradient in (None, [None, ad.tensor(1.0)]):
        with raises(RuntimeError, "does not require grad", "1"):
            ad.backward([x * 2, c], gradient)
    assert x.grad is None


def test_s020_a_leaf_as_root():
    x = leaf(1.0, 2.0)
    x.backward(ad.tensor([0.5, 0.25]))
    same(x.grad, [0.5, 0.25])


def test_s021_no_roots_and_wrong_roots():
    ad.backward([])
    for wrong in (3, [np.ones(2)], "x", None):
        with pytest.raises(TypeError):
            ad.backward(wrong)


def test_s022_a_failed_check_changes_nothing():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    with pytest.raises(RuntimeError):
        ad.backward([y, x * x], [None, ad.tensor([1.0])])
    assert x.grad is None
    y.backward()
    same(x.grad, [2, 4])


def test_s023_counts():
    x = leaf(1.0)
    y = x * 1
    with raises(RuntimeError, "got 2 tensors and 1 gradients"):
        ad.backward([y, y], [None])
    with raises(RuntimeError, "got 1 tensors and 0 gradients"):
        ad.backward([y], [])
    with raises(RuntimeError, "got 1 tensors and 2 gradients"):
        ad.grad(y, x, [None, None])


def test_s024_shapes_are_exact():
    y = leaf(1.0, 2.0) * 1
    for wrong in ([1.0], 1.0, [[1.0, 1.0]]):
        with raises(RuntimeError, "shape", "(2,)"):
            y.backward(ad.tensor(wrong))
    with raises(RuntimeError, "shape"):
        (leaf(1.0) * 1).backward(ad.tensor([1.0]))


def test_s025_none_stands_for_one():
    for given in (None, [None]):
        x = leaf(3.0)
        ad.backward([x * x], given)
        same(x.grad, 6)
    with raises(RuntimeError, "scalar"):
        ad.backward([leaf(1.0, 2.0) * 2], [None])


def test_s026_dtypes_of_gradients():
    x = leaf(1.0, 2.0, dtype=np.float32)
    (x * 2).backward(ad.tensor([1, 2]))
    assert x.grad.dtype == np.float32
    same(x.grad, [2, 4])
    with raises(RuntimeError, "complex"):
        (x * 2).backward(ad.tensor([1j, 1j]))
    with raises(RuntimeError, "complex"):
        (leaf(1j) * 2).backward(ad.tensor(1.0))


def test_s027_arrays_and_numbers_as_gradients():
    x = leaf(1.0, 2.0)
    (x * x).backward(np.array([1.0, 10.0]))
    same(x.grad, [2, 40])
    s = leaf(3.0)
    (s * s).backward(2.0)
    same(s.grad, 12)
    with pytest.raises(TypeError):
        (s * s).backward("1")


def test_s028_gradients_join_the_graph_under_create_graph_only():
    x, g = leaf(2.0), leaf(3.0)
    plain, = ad.grad(x * x, x, g)
    assert not plain.requires_grad
    rich, = ad.grad(x * x, x, g, create_graph=True)
    same(ad.grad(rich, [x, g]), (6, 4))


def test_s029_retain_graph_defaults_to_create_graph():
    x = leaf(2.0)
    y = x * x
    ad.grad(y, x, create_graph=True)
    ad.grad(y, x)
    with pytest.raises(RuntimeError):
        ad.grad(y, x)
    assert y.grad_fn.saved is None


def test_s030_second_time():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    y.backward()
    for again in (y.backward, lambda: ad.grad(y, x)):
        with raises(RuntimeError, "second time", "retain_graph=True"):
            again()
    product = (x * x).grad_fn
    assert len(product.saved_tensors) == 2
    product.free()
    with raises(RuntimeError, "freed"):
        product.saved_tensors  # noqa: B018


def test_s031_only_nodes_that_ran_are_freed():
    x = leaf(2.0)
    mid = x * x
    y = mid * mid
    same(ad.grad(y, mid)[0], 8)
    same(ad.grad(mid, x)[0], 4)


def test_s032_shared_subgraph():
    x = leaf(1.0, 2.0)
    shared = x * x
    a, b = shared.sum(), (shared * 3).sum()
    a.backward()
    with raises(RuntimeError, "second time"):
        b.backward()
    x = leaf(1.0, 2.0)
    shared = x * x
    a, b = shared.sum(), (shared * 3).sum()
    a.backward(retain_graph=True)
    b.backward()
    same(x.grad, [8, 16])


def test_s033_create_graph_without_retaining():
    x = leaf(2.0)
    y = x * x * x
    g, = ad.grad(y, x, create_graph=True, retain_graph=False)
    assert g.requires_grad
    with raises(RuntimeError, "second time"):
        ad.grad(y, x)


def test_s034_nodes_that_saved_nothing_run_again():
    x = leaf(1.0, 2.0)
    y = (x + 2).sum()
    y.backward()
    y.backward()
    same(x.grad, [2, 2])


def test_s035_retain_any_number_of_times():
    x = leaf(1.0)
    y = x * x
    for _ in range(3):
        y.backward(retain_graph=True)
    y.backward()
    same(x.grad, 8)
    with pytest.raises(RuntimeError):
        y.backward(retain_graph=True)


def test_s036_long_chains_and_many_paths():
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y + 1.0
    y.backward()
    same(x.grad, 1)
    del y
    z = x
    for _ in range(60):
        z = z + z
    start = time.perf_counter()
    g, = ad.grad(z, x)
    assert float(g) == 2.0 ** 60 and time.perf_counter() - start < 1.0


def test_s037_after_an_exception():
    x, w = leaf(1.0), leaf(2.0)

    def fail(g):
        raise ValueError("from the hook")
    below = x * x
    below.register_hook(fail)
    top = below * w
    with pytest.raises(ValueError, match="from the hook"):
        top.backward()
    assert ad.is_grad_enabled() and x.grad is None
    same(ad.grad(x * x, x)[0], 2)
    with pytest.raises(ValueError, match="from the hook"):
        ad.grad(below, x)                       # its node has not run: it was not freed


def test_errors_name_the_line_of_the_operation():
    x = leaf(1.0, 2.0)
    y = np.exp(x)  # this line
    y.sum().backward()
    with raises(RuntimeError, "test_backward.py", "# this line"):
        y.sum().backward()


def test_backward_from_several_threads():
    w = leaf(np.zeros(100))
    failures = []

    def work():
        try:
            for _ in range(20):
                x = leaf(np.ones(100))
                (np.sin(x) * w).sum().backward()
                same(x.grad, np.zeros(100))
        except Exception as e:
            failures.append(e)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures
    same(w.grad, np.full(100, 80 * np.sin(1.0)))


def test_memory_of_a_backward_through_a_chain():
    import tracemalloc
    x = leaf(np.ones(125_000))                  # 1 MB
    y = x
    for _ in range(300):
        y = y + 1.0
    seed = ad.tensor(np.ones(125_000))
    tracemalloc.start()
    y.backward(seed)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3.5e6
