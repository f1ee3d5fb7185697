"""What is compiled of a function lives as long as the function."""

import copy
import functools
import gc
import weakref

import numpy as np

import autodiff


def made(k):
    """A function of its own, with a cell, as programs make them in loops."""
    def f(x):
        return np.sum(np.sin(x) * k)
    return f


def test_what_was_compiled_goes_with_the_function():
    f = made(2.0)
    gone = weakref.ref(f)
    gradient = autodiff.grad(f, mode="python")
    gradient(np.ones(2))
    derived = weakref.ref(next(iter(gradient._specialisations.values()))[0])
    del f, gradient
    from autodiff.calling import compiled
    compiled._made.cache_clear()                            # the latest functions are kept for their next use
    gc.collect()
    assert gone() is None and derived() is None


def test_derivatives_of_one_function_share_what_was_compiled():
    f = made(2.0)
    autodiff.grad(f, mode="python")(np.ones(2))
    again = autodiff.grad(f, mode="python")
    assert again._specialisations and again._specialisations is autodiff.grad(f, mode="python")._specialisations


def test_wrappers_and_copies_have_their_own():
    """`functools.wraps` copies attributes of the function."""
    f = made(2.0)
    assert autodiff.grad(f, mode="python")(np.ones(2)).tolist() == (2.0 * np.cos(np.ones(2))).tolist()

    @functools.wraps(f)
    def twice(x):
        return 2.0 * f(x)
    del twice.__wrapped__
    np.testing.assert_allclose(autodiff.grad(twice, mode="python")(np.ones(2)), 4.0 * np.cos(np.ones(2)))
    assert autodiff.grad(twice, mode="python")._specialisations is not autodiff.grad(f, mode="python")._specialisations
    kept = vars(f)["__autodiff_compiled__"]
    assert kept and copy.copy(kept) == {} and copy.deepcopy(kept) == {}
