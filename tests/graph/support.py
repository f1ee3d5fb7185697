"""What the tests of the graph face share."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest

import autodiff as ad


def leaf(*values, **options):
    """A Tensor that requires grad: of numbers, or of one nested list."""
    return ad.tensor(values[0] if len(values) == 1 else list(values), requires_grad=True, **options)


@contextlib.contextmanager
def raises(kind, *words):
    """The block raises `kind`, and the message has the words, in any case."""
    with pytest.raises(kind) as caught:
        yield caught
    text = str(caught.value).lower()
    for w in words:
        assert w.lower() in text, f"{w!r} is not in {text!r}"


def same(t, values):
    """The elements of a Tensor are these."""
    np.testing.assert_allclose(t.detach().numpy() if isinstance(t, ad.Tensor) else t, values, rtol=1e-12, atol=1e-12)


@contextlib.contextmanager
def silent():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
