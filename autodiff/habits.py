"""What users of JAX, autograd, torch and CasADi write out of habit, and what is written here instead.

Three tables: names of the package, keywords of operators, keywords that `grad` has for Tensors alone. Each row is a test.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from typing import Any, TypeVar, cast

from .transforms.language.errors import MissingAttribute, MissingModule, TypeConflict

F = TypeVar("F", bound=Callable[..., Any])

CONTROL = "write Python's own `for`, `while` and `if`: they stay loops and branches"
NUMPY = "import numpy as np: derivatives are taken of NumPy's own functions"
COMPILED = "every derivative is compiled; differentiable(f) compiles the function alone"
RULES = "@autodiff.rules.pullback(f) and @autodiff.rules.pushforward(f) take the rule of a function"
STRUCTURES = "arguments and gradients may be tuples, lists, dicts and dataclasses"
EXPRESSIONS = "write a Python function of NumPy arrays and numbers; there are no expressions to build"
TREES = "structures of arguments are followed as they are; in your code, loop over their items"

NAMES = {                               # name of the package -> (who has it, what to write)
    **dict.fromkeys(("jit", "njit", "pmap"), ("JAX and Numba", COMPILED)),
    **dict.fromkeys(("lax", "scan", "fori_loop", "while_loop", "cond", "switch"), ("JAX", CONTROL)),
    **dict.fromkeys(("tree", "tree_util", "ravel_pytree", "flatten_util"), ("JAX", TREES)),
    **dict.fromkeys(("numpy", "numpy_wrapper", "jnp"), ("JAX and autograd", NUMPY)),
    **dict.fromkeys(("custom_vjp", "custom_jvp", "custom_gradient", "primitive", "defvjp", "defjvp", "extend"),
                    ("JAX, autograd or TensorFlow", RULES)),
    **dict.fromkeys(("MX", "SX", "DM", "vertcat", "horzcat", "symbols"), ("CasADi", EXPRESSIONS)),
    "jacrev": ("JAX and torch.func", 'jacobian(f, direction="reverse")'),
    "jacfwd": ("JAX and torch.func", 'jacobian(f, direction="forward")'),
    "scipy": ("JAX and autograd", "import scipy: derivatives are taken of SciPy's own functions"),
    "random": ("JAX", "pass a numpy.random.Generator to your function"),
    "remat": ("JAX", "checkpoint(range(n), snapshots=k) in a loop of your function"),
    "make_jaxpr": ("JAX", "grad(f).source is the program, grad(f).stages are all its forms"),
    "eval_shape": ("JAX", "entry(f, *examples).result_shapes(*shapes)"),
    "block_until_ready": ("JAX", "leave it out: a call returns when the result is there"),
    "device_put": ("JAX", 'grad(f, target="cuda"), with arrays of CuPy, torch, JAX or Numba'),
    "elementwise_grad": ("autograd", "grad(lambda x: np.sum(f(x)))"),
    "deriv": ("autograd", "grad(f)"),
    "holomorphic_grad": ("autograd", "grad(f, holomorphic=True)"),
    "grad_and_aux": ("autograd", "grad(f, has_aux=True)"),
    "grad_named": ("autograd", 'grad(f, wrt="name")'),
    "multigrad_dict": ("autograd", f"grad(f, wrt=(0, 1)); {STRUCTURES}"),
    "make_vjp": ("autograd", "vjp(f, *args) gives the value and the pullback"),
    "make_jvp": ("autograd", "jvp(f, primals, tangents), or linearize(f, *args) for many tangents"),
    "make_hvp": ("autograd", "hvp(f)(*args, v)"),
    "hessian_vector_product": ("autograd", "hvp(f)(*args, v)"),
    "vhp": ("torch", "hvp(f)(*args, v): a Hessian is symmetric"),
    "vector_jacobian_product": ("autograd", "vjp(f, *args) gives the value and the pullback"),
    "func": ("torch", "grad, vjp, jvp, jacobian, hessian and vmap are names of the package"),
    "autograd": ("torch", "grad, backward, no_grad and Function are names of the package"),
    "compile": ("torch", COMPILED),
    "nn": ("torch and JAX", f"write the layers as functions of NumPy arrays; {STRUCTURES}"),
    "optim": ("torch", "scipy.optimize.minimize(value_and_grad(f), x0, jac=True), or a loop of your own"),
    "GradientTape": ("TensorFlow", "grad(f) and value_and_grad(f); for tapes of calls, tensor(x, requires_grad=True)"),
    "gradient": ("CasADi", "grad(f)"),
    "jtimes": ("CasADi", "jvp(f, primals, tangents), or vjp(f, *args)"),
    "nlpsol": ("CasADi", "autodiff.ipopt.problem(f, c, x)"),
    "rootfinder": ("CasADi", "root(f, x0, *parameters)"),
    "integrator": ("CasADi", "odeint(f, y0, t, *parameters)"),
}

WRT = ("JAX and autograd", "wrt={value!r}: a position, a name, or a tuple of them")
AGAIN = ("torch", "leave it out: the derivative of a function is a function, which is differentiated again as it is")
SETTLED = ("JAX", "leave it out: what must be known before the program runs is found by the compiler")
AXES = ("torch.func", "{ours}={value!r}")
KEYWORDS = {                            # keyword -> (who has it, what to write)
    "argnums": WRT, "argnum": WRT, "argidx": WRT,
    "create_graph": AGAIN, "retain_graph": AGAIN, "strict": AGAIN, "vectorize": AGAIN,
    "strategy": ("torch", 'direction="forward" or direction="reverse", of jacobian'),
    "static_argnums": SETTLED, "static_argnames": SETTLED,
    "donate_argnums": ("JAX", "grad(f)(*args, out=arrays) writes into arrays of yours"),
    "allow_int": ("JAX", "leave it out, and integers out of `wrt`: they have no derivative"),
    "has_aux": ("JAX", "grad(f, has_aux=True) or value_and_grad; other operators take functions of any results, which may "
                       "hold what is only looked at"),
    "in_dims": ("torch.func", "in_axes={value!r}"), "out_dims": ("torch.func", "out_axes={value!r}"),
    "chunk_size": ("torch.func", "leave it out: the examples are a loop, which keeps no more than one needs"),
    "randomness": ("torch.func", "pass an array of draws, one for each example"),
    "axis_name": ("JAX", "leave it out: reduce the result, np.sum(vmap(f)(x), axis=0)"),
    "axis_size": ("JAX", "map over an argument: vmap(f)(np.arange(n))"),
    "backend": ("JAX", 'target="cuda"'), "device": ("JAX and torch", 'target="cuda"'),
}

OF_ALL = {                              # operators without `wrt` -> what to write
    "vjp": "leave it out: cotangents of all arguments come back; or hold some fixed: vjp(lambda x: f(x, y), x)",
    "linearize": "leave it out: the tangent map takes tangents of all arguments; or hold some fixed: "
                 "linearize(lambda x: f(x, y), x)",
    "jvp": "hold the other arguments fixed: jvp(lambda x: f(x, y), (x,), (x_dot,))",
    "vmap": "in_axes says which arguments are mapped: in_axes=(0, None)",
}

OF_TENSORS = {                          # what `grad` takes of Tensors alone -> what to write for a function
    "inputs": "grad(f, wrt={value!r})",
    "grad_outputs": "vjp(f, *args) takes cotangents",
    "is_grads_batched": "vjp(f, *args)[1].batched(cotangents)",
    "materialize_grads": "leave it out: gradients of a function are zeros where it does not depend on an argument",
    "only_inputs": "leave it out", "retain_graph": AGAIN[1], "create_graph": AGAIN[1],
}


def refused_of_functions(name: str, **given) -> TypeConflict | None:
    """The error for what `grad` was given beside a function that only Tensors have; None if all is None or False."""
    for keyword, value in given.items():
        if value is None or value is False:
            continue
        if keyword == "inputs":
            return by_position(name, (value,))
        return TypeConflict(f"`{keyword}` of {name} is for Tensors, and a function was given", None,
                            OF_TENSORS[keyword].format(value=value))
    return None


def by_position(name: str, extra: tuple) -> TypeConflict:
    """The error for what an operator is given by position behind the function."""
    first = extra[0]
    places = first if isinstance(first, (tuple, list)) and first else (first,)
    if all(isinstance(p, (int, str)) and not isinstance(p, bool) for p in places):
        return TypeConflict(f"{name} takes no more by position than a function", None, f"{name}(f, wrt={first!r})")
    return TypeConflict(f"{name} takes a function, and gives one that is called with the arguments", None,
                        f"{name}(f)({', '.join('xyzuv'[:len(extra)]) if len(extra) <= 5 else '*args'})")


def explained(function: F) -> F:
    """An operator whose calls with another library's keywords or places are a TypeConflict that says what to write."""
    own = getattr(function, "__name__", "")

    @functools.wraps(function)
    def called(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except TypeError as e:
            if e.__traceback__ is None or e.__traceback__.tb_next is not None:
                raise                                   # not of this call's form, but from inside
            raise of_call(own, function, args, kwargs, e) from None
    return cast(F, called)


def of_call(name: str, function, args: tuple, kwargs: dict, error: TypeError) -> TypeError:
    """The error for a call that does not fit an operator's parameters: `error` where no habit is known."""
    code = function.__code__
    taken = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
    for keyword, value in kwargs.items():
        if keyword not in taken and (keyword in KEYWORDS or keyword == "wrt" and name in OF_ALL):
            return TypeConflict(*of_keyword(name, keyword, value))
    if len(args) > code.co_argcount == 1 and not code.co_flags & inspect.CO_VARARGS:
        return by_position(name, args[1:])
    return error


def of_keyword(name: str, keyword: str, value=None) -> tuple[str, None, str]:
    """Problem, no place and way out, for a keyword that an operator does not take."""
    if name in OF_ALL and (keyword == "wrt" or KEYWORDS.get(keyword) is WRT):
        whose = f", a keyword of {WRT[0]}" if keyword != "wrt" else ""
        return f"{name} takes no `{keyword}`{whose}", None, OF_ALL[name]
    if keyword not in KEYWORDS:
        return f"{name} takes no `{keyword}`", None, ""
    whose, hint = KEYWORDS[keyword]
    return f"{name} takes no `{keyword}`, a keyword of {whose}", None, hint.format(value=value)


def check_keywords(lo, operator, options: dict) -> None:
    """Refuse the first keyword that an operator does not take, called in a program that is being lowered.

    options: the keywords of the call, with the program's values.
    """
    parameters = inspect.signature(operator).parameters
    for keyword, given in options.items():
        if keyword not in parameters:
            problem, _, hint = of_keyword(operator.__name__, keyword, getattr(given, "value", "..."))
            raise lo.error(TypeConflict, problem, hint)


def of_name(name: str, module: str) -> MissingAttribute | None:
    """The error for a name that other libraries have; None for any other."""
    if name not in NAMES:
        return None
    whose, hint = NAMES[name]
    return MissingAttribute(f"module {module!r} has no attribute {name!r}, a name of {whose}", None, hint)


class Imports(MetaPathFinder):
    """Asked for modules that nothing else finds: `from autodiff import jit` and `import autodiff.numpy` say more."""

    def find_spec(self, fullname, path=None, target=None):
        package, _, name = fullname.rpartition(".")
        if package == __package__ and name in NAMES:
            whose, hint = NAMES[name]
            raise MissingModule(f"cannot import name {name!r} from {package!r}: it is a name of {whose}", None, hint)
        return None


if not any(isinstance(finder, Imports) for finder in sys.meta_path):
    sys.meta_path.append(Imports())

__all__ = ["KEYWORDS", "NAMES", "OF_TENSORS", "explained", "of_name", "refused_of_functions"]
