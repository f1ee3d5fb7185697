"""Values with their gradients are one Op in compiled graphs: the same numbers as two Ops, under both linkers."""

import pickle

import numpy as np
import pytest

pytensor = pytest.importorskip("pytensor")
pt = pytensor.tensor

from autodiff.pytensor import JointOp, op  # noqa: E402

from .test_pytensor import X, compiled, filtered, mode_of, numpy_form, program, values_of, variables  # noqa: E402


def joints(fn) -> int:
    return sum(isinstance(node.op, JointOp) for node in fn.maker.fgraph.toposort())


def both(inputs, outputs, linker):
    """The compiled function, and what it was without this rewriting."""
    apart = pytensor.function(inputs, outputs, mode=mode_of(linker).excluding("autodiff_joint"), on_unused_input="ignore")
    assert not joints(apart)
    return compiled(inputs, outputs, linker), apart


@pytest.mark.parametrize("linker, seed", [("py", k) for k in range(6)] + [("numba", 7), ("numba", 8)])
def test_random_densities(linker, seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 4))
    function, values = program(rng, count), values_of(rng, count)
    many = numpy_form(function, count)

    def density(*args):
        found = many(*args)
        found = found if isinstance(found, tuple) else (found,)
        return sum([np.sum(np.cos(r * 1.0)) for r in found])
    by_count = {2: lambda a, b: density(a, b), 3: lambda a, b, c: density(a, b, c)}
    inputs = variables(values)
    y = op(by_count[count])(*inputs)
    floats = [a for a in inputs if a.dtype.startswith("float")]
    outer = [y, pt.exp(0.1 * y) + 2 * y, y * pt.sum(floats[0])][rng.integers(3)]
    outputs = [outer, *pytensor.grad(outer, floats), y]
    joint, apart = both(inputs, outputs, linker)
    assert joints(joint) == 1 and y.dtype.startswith("float")
    for a, b in zip(joint(*values), apart(*values), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4 if any(v.dtype == "float32" for v in values) else 1e-12, atol=1e-6)
        assert a.dtype == b.dtype and a.shape == b.shape


def loss(x, w):
    return np.sum(filtered(x, w) ** 2)


def test_what_is_joined():
    x, w = pt.vector("x"), pt.vector("w")
    y, other = op(loss)(x, w), op(loss)(w, x)
    g = pytensor.grad(y, [x, w])
    assert joints(compiled([x, w], [y])) == joints(compiled([x, w], g)) == 0           # one sweep is enough
    assert joints(compiled([x, w], [other, *g])) == 0                                   # at another place
    assert joints(compiled([x, w], [y, other, *g, *pytensor.grad(other, [x])])) == 2
    many = op(filtered)(x, w)
    assert joints(compiled([x, w], [many, pytensor.grad(many.sum(), x)])) == 0          # not one number
    twice = pytensor.grad(pytensor.grad(y, x).sum(), [x, w])
    fn, apart = both([x, w], [y, *g, *twice], "py")
    assert joints(fn) == 1
    for a, b in zip(fn(X, X + 1), apart(X, X + 1), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    for a, b in zip(pickle.loads(pickle.dumps(fn))(X, X + 1), fn(X, X + 1), strict=True):
        np.testing.assert_array_equal(a, b)


def test_errors_of_a_run():
    def careful(x):
        if x[0] < 0.0:
            raise ValueError(f"negative: {x[0]}")
        return x[1] * x[0]
    x = pt.vector("x")
    y = op(careful)(x)
    fn = compiled([x], [y, pytensor.grad(y, x)])
    assert joints(fn) == 1
    with pytest.raises(ValueError, match="negative: -1"):
        fn(-X / X)
