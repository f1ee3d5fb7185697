"""NumPy's functions called with the names that NumPy gives their parameters."""

import inspect

import numpy as np
import pytest

from autodiff import AutodiffError, MissingRule, check_grads, value_and_grad

X = np.array([0.7, 1.9, 0.4, 1.2])
M = np.array([[1.3, 0.2], [0.5, 2.1]])

CALLS = {
    np.sum: {"a": X}, np.prod: {"a": X, "axis": 0}, np.mean: {"a": X}, np.cumsum: {"a": X}, np.cumprod: {"a": X},
    np.std: {"a": X, "ddof": 1}, np.var: {"a": X}, np.max: {"a": X}, np.min: {"a": X}, np.ptp: {"a": X},
    np.clip: {"a": X, "a_min": 0.5, "a_max": 1.5}, np.tile: {"A": X, "reps": 2}, np.repeat: {"repeats": 2, "a": X},
    np.roll: {"a": X, "shift": 1}, np.pad: {"array": X, "pad_width": 1}, np.outer: {"a": X, "b": X},
    np.dot: {"a": X, "b": X}, np.ravel: {"a": M}, np.transpose: {"a": M},
    np.swapaxes: {"a": M, "axis1": 0, "axis2": 1}, np.moveaxis: {"a": M, "source": 0, "destination": 1},
    np.squeeze: {"a": M[:1]}, np.expand_dims: {"a": X, "axis": 0}, np.broadcast_to: {"array": X, "shape": (2, 4)},
    np.tril: {"m": M}, np.triu: {"m": M, "k": 1}, np.diag: {"v": X}, np.diagflat: {"v": X}, np.diagonal: {"a": M},
    np.trace: {"a": M}, np.round: {"a": X * 0, "decimals": 2}, np.stack: {"arrays": [X, X], "axis": 1},
    np.vstack: {"tup": [X, X]}, np.hstack: {"tup": [X, X]}, np.column_stack: {"tup": [X, X]}, np.dstack: {"tup": [M, M]},
    np.append: {"arr": X, "values": X}, np.sort: {"a": X}, np.partition: {"a": X, "kth": 1},
    np.take: {"a": X, "indices": [0, 2]}, np.quantile: {"a": X, "q": 0.3}, np.median: {"a": X}, np.average: {"a": X},
    np.take_along_axis: {"arr": M, "indices": np.array([[0], [1]]), "axis": 1}, np.asarray: {"a": X}, np.flip: {"m": X},
    np.array: {"object": X}, np.ones_like: {"a": X}, np.full_like: {"a": X, "fill_value": 2.0}, np.zeros_like: {"a": X},
    np.diff: {"a": X, "n": 1}, np.interp: {"x": 0.3, "xp": np.arange(4.0), "fp": X}, np.linalg.norm: {"x": X},
    np.linalg.solve: {"a": M, "b": X[:2]}, np.linalg.inv: {"a": M}, np.linalg.det: {"a": M}, np.kron: {"a": M, "b": M},
    np.rot90: {"m": M, "k": 1}, np.cross: {"a": X[:3], "b": X[1:]}, np.gradient: {"f": X},
    np.nansum: {"a": X}, np.count_nonzero: {"a": X}, np.argmax: {"a": X}, np.argsort: {"a": X}, np.size: {"a": X},
    np.ndim: {"a": X}, np.shape: {"a": X}, np.any: {"a": X}, np.all: {"a": X}, np.flatnonzero: {"a": X},
    np.split: {"ary": X, "indices_or_sections": 2}, np.array_split: {"indices_or_sections": 3, "ary": X},
    np.eye: {"M": 3, "N": 2}, np.tri: {"N": 2, "M": 2}, np.indices: {"dimensions": (2, 2)}, np.nonzero: {"a": X}}


@pytest.mark.parametrize("function", CALLS, ids=lambda f: f.__name__)
def test_values_and_gradients(function):
    given = CALLS[function]

    def program(x):
        scaled = {k: scale(v, x) for k, v in given.items()}
        made = function(**scaled)
        if isinstance(made, (tuple, list)):
            return x + sum([np.sum(np.asarray(m) * 1.5) for m in made])
        return x + np.sum(made * (1.0 + np.arange(np.size(made))).reshape(np.shape(made)))
    assert np.isclose(value_and_grad(program, mode="python")(1.5)[0], program(1.5))
    check_grads(program, (1.5,), modes=("rev",), mode="python")


def scale(v, x):
    if isinstance(v, list) and isinstance(v[0], np.ndarray):
        return [item * x for item in v]
    return v * x if isinstance(v, np.ndarray) and v.dtype.kind == "f" else v


@pytest.mark.parametrize("function", [lambda x: np.sum(a=x, x=x), lambda x: np.sum(x, a=x), lambda x: np.sum(x=x),
                                      lambda x: np.tile(reps=2), lambda x: np.eye(n=2), lambda x: np.mean(b=x)])
def test_names_that_are_not_numpys_are_refused(function):
    with pytest.raises(TypeError):
        function(X)
    with pytest.raises((AutodiffError, TypeError)):
        value_and_grad(lambda x: np.sum(function(x)), mode="python")(X)


def test_a_generator_by_name_is_no_array():
    with pytest.raises((AutodiffError, TypeError)):
        value_and_grad(lambda x: np.mean(a=(t for t in x)), mode="python")(X)


def test_every_first_parameter_has_numpys_name():
    """No function of NumPy that takes one array refuses it by its name, where it takes it by its place."""
    refused = []
    for name, function in list(vars(np).items()):
        if not callable(function) or isinstance(function, (type, np.ufunc)):
            continue
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            continue
        if not parameters or parameters[0].kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD or any(
                p.default is p.empty and p.kind is not p.VAR_KEYWORD for p in parameters[1:]):
            continue
        first = parameters[0].name
        if differentiates(lambda x, f=function: x[0] * np.sum(np.asarray(f(x)))) and not differentiates(
                lambda x, f=function, first=first: x[0] * np.sum(np.asarray(f(**{first: x})))):
            refused.append(name)
    assert not refused


def differentiates(program) -> bool:
    try:
        value_and_grad(program, mode="python")(X)
    except (AutodiffError, MissingRule, TypeError, ValueError, IndexError):
        return False
    return True
