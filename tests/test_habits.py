"""What users of other libraries write by habit is refused by errors that say what to write here."""

import functools
import inspect
import re
import subprocess
import sys

import numpy as np
import pytest

import autodiff
from autodiff import AutodiffError, grad, value_and_grad, vjp
from autodiff.habits import KEYWORDS, NAMES, OF_ALL, OF_TENSORS, WRT
from autodiff.transforms.lower.syntax.texts import name_of

X = np.arange(3.0)
OPERATORS = ("grad", "value_and_grad", "differentiable", "jacobian", "hessian", "hvp")
OTHERS = {"import", "scipy.optimize.minimize", "np.sum", "np.arange", "f", "range", "lambda", "result_shapes",
          "batched"}


def weighted(x, k):
    return np.sum(k * x ** 2)


@pytest.mark.parametrize("name", NAMES)
def test_names_of_other_libraries(name):
    with pytest.raises(AttributeError) as e:
        getattr(autodiff, name)
    assert isinstance(e.value, AutodiffError) and NAMES[name][1] in str(e.value) and repr(name) in str(e.value)
    assert not hasattr(autodiff, name) and name not in dir(autodiff)
    for form in (f"from autodiff import {name}", f"import autodiff.{name}"):
        with pytest.raises(ImportError) as e:
            exec(form)
        assert isinstance(e.value, AutodiffError) and NAMES[name][1] in str(e.value)


def test_other_names_that_are_not_there():
    with pytest.raises(AttributeError, match="has no attribute 'gradd'$") as e:
        autodiff.gradd  # noqa: B018
    assert not isinstance(e.value, AutodiffError)
    with pytest.raises(ImportError, match="cannot import name 'gradd'") as e:
        exec("from autodiff import gradd")
    assert not isinstance(e.value, AutodiffError)
    with pytest.raises(ModuleNotFoundError, match="No module named 'autodiff.graph.jit'"):
        exec("import autodiff.graph.jit")           # the names are the package's own


@pytest.mark.parametrize("keyword", KEYWORDS)
@pytest.mark.parametrize("operator", [*OPERATORS, "vmap", "vjp", "linearize", "jvp"])
def test_keywords_of_other_libraries(operator, keyword):
    made = getattr(autodiff, operator)
    if keyword in inspect.signature(made).parameters or operator == "grad" and keyword in OF_TENSORS:
        return                                      # it is ours, too
    given = ((X, 2.0), (X, 0.0)) if operator == "jvp" else (X, 2.0) if operator in ("vjp", "linearize") else ()
    with pytest.raises(TypeError) as e:
        made(weighted, *given, **{keyword: 1})
    assert isinstance(e.value, AutodiffError)
    assert f"{operator} takes no `{keyword}`" in str(e.value)
    hint = OF_ALL.get(operator) if KEYWORDS[keyword] is WRT else None
    assert (hint or KEYWORDS[keyword][1].format(value=1)) in str(e.value)


@pytest.mark.parametrize("keyword", OF_TENSORS)
def test_what_grad_has_for_tensors_alone(keyword):
    value = {"only_inputs": False, "inputs": 1}.get(keyword, True)
    for given in ((weighted,), ()):                 # called with the function, and as a decorator
        with pytest.raises(TypeError) as e:
            grad(*given, **{keyword: value})
        assert isinstance(e.value, AutodiffError) and OF_TENSORS[keyword].format(value=value) in str(e.value)


@pytest.mark.parametrize("operator", OPERATORS)
def test_more_by_position_than_a_function(operator):
    for extra, wanted in ((1, "f, wrt=1)"), ((0, 1), "f, wrt=(0, 1))"), ("k", "f, wrt='k')"), (X, "(f)(x)")):
        with pytest.raises(TypeError) as e:
            getattr(autodiff, operator)(weighted, extra)
        assert isinstance(e.value, AutodiffError) and wanted in str(e.value)
    with pytest.raises(AutodiffError, match=re.escape("jacobian(f)(x, y)")):
        autodiff.jacobian(weighted, X, 2.0)


def test_the_second_argument_of_grad_was_no_place():
    """It was taken for Tensors to differentiate with respect to, and ignored."""
    with pytest.raises(AutodiffError, match=r"grad\(f, wrt=1\)"):
        grad(weighted, 1)


def test_errors_from_inside_stay_what_they_are():
    def broken(x):
        raise TypeError("mine")
    with pytest.raises(TypeError, match="^mine"):
        vjp(broken, X, mode="python")
    with pytest.raises(TypeError, match="unexpected keyword argument 'moode'") as e:
        value_and_grad(weighted, moode="python")
    assert not isinstance(e.value, AutodiffError)
    with pytest.raises(TypeError, match="a function is needed, not int"):
        value_and_grad(3)
    with pytest.raises(TypeError, match="missing a required argument|missing 1 required"):
        vjp()


def test_inside_a_differentiated_function():
    def outer(x):
        return grad(weighted, argnums=1)(x, 2.0)
    with pytest.raises(AutodiffError, match="wrt=1") as e:
        grad(outer, mode="python")(X)
    assert "takes no `argnums`" in str(e.value)


def test_keywords_inside_a_differentiated_function():
    """They were passed over there: `vjp(f, x, wrt="x")` gave cotangents of all arguments."""
    def by_vjp(x):
        return np.sum(vjp(weighted, x, 2.0, wrt="x")[1](1.0)[0])

    def by_linearize(x):
        return np.sum(autodiff.linearize(np.sin, x, argnums=0)[0])

    def by_jvp(x):
        return np.sum(autodiff.jvp(np.sin, (x,), (x,), has_aux=True)[1])

    def by_vmap(x):
        return np.sum(autodiff.vmap(lambda r: r * r, in_dims=1)(x))
    for function, text, way_out in ((by_vjp, "vjp takes no `wrt`", ""),
                                    (by_linearize, "linearize takes no `argnums`", "all arguments"),
                                    (by_jvp, "jvp takes no `has_aux`", "of any results"),
                                    (by_vmap, "vmap takes no `in_dims`", "in_axes=1")):
        with pytest.raises(AutodiffError, match=text) as e:
            grad(function, mode="python")(X)
        assert way_out in e.value.hint


def test_what_is_advised_is_there():
    for _, hint in [*NAMES.values(), *KEYWORDS.values(), *(("", h) for h in OF_TENSORS.values())]:
        for name in re.findall(r"([\w.]+)\(", hint):
            found = autodiff
            for part in [] if name.strip(".") in OTHERS else name.removeprefix("autodiff.").split("."):
                found = getattr(found, part)
        for keyword in re.findall(r"(\w+)=", hint):
            assert keyword in ("jac", "requires_grad", "snapshots", "axis", "out", "in_axes", "out_axes") or any(
                keyword in inspect.signature(getattr(autodiff, o)).parameters for o in OPERATORS), keyword


def test_the_shown_signature_of_grad_is_that_of_functions():
    first, *rest = inspect.signature(grad).parameters.values()
    assert first.name == "function" and all(p.kind is p.KEYWORD_ONLY for p in rest)
    assert [p.name for p in rest[:3]] == ["wrt", "has_aux", "allow_unused"]
    assert not {p.name for p in rest} & {*OF_TENSORS, "outputs"}


def test_dir_shows_the_api_only():
    """In a process of its own, after what would add names: a gradient."""
    program = ("import autodiff, numpy as np; autodiff.grad(np.sum, mode='python')(np.ones(2)); autodiff.vjp\n"
               "shown = {n for n in dir(autodiff) if not n.startswith('__')}; api = set(autodiff.__all__)\n"
               "assert api <= shown and all(hasattr(autodiff, n) for n in api), api - shown\n"
               "print(*sorted(shown - api))")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["check", "cuda", "dask", "errors", "ipopt", "jax", "pytensor", "rules", "solvers",
                                   "torch"]


def test_operators_of_all_arguments_take_no_places():
    for call in (lambda: vjp(weighted, X, wrt=0), lambda: vjp(weighted, X, 2.0, wrt=0), lambda: vjp(weighted, X, argnums=0),
                 lambda: autodiff.linearize(weighted, X, 2.0, wrt="x"), lambda: autodiff.vmap(weighted, wrt=0),
                 lambda: autodiff.jvp(weighted, (X, 2.0), (X, 0.0), wrt=0)):
        with pytest.raises(AutodiffError, match=r"takes no `(wrt|argnums)`[\s\S]*Try: (leave|hold|in_axes)") as e:
            call()
        assert "wrt=" not in str(e.value) and "vjp(f)(" not in str(e.value)


@pytest.mark.parametrize("name", ["np.ma.array", "np.ma.sum", "np.rec.array", "np.lib.stride_tricks.as_strided",
                                  "np.linalg.cond", "np.fft.fftshift", "np.unwrap", "np.busday_count", "np.ma.median"])
def test_functions_of_numpy_are_named_as_they_are_found(name):
    target = functools.reduce(getattr, name.split(".")[1:], np)
    assert name_of(target) == name
