"""Mistakes, each with the call that makes it."""

# ruff: noqa
import math

import numpy as np

from autodiff import grad, jacobian, vjp

X = np.linspace(0.1, 1.0, 5)
COUNT = 0
CASES = {}


def case(call=lambda f: grad(f, mode="python")(X)):
    def record(function):
        CASES[function.__name__] = (function, call)
        return function
    return record


@case()
def returns_in_finally(x):
    try:
        y = np.sum(x)
    finally:
        return y                    # noqa: B012


@case()
def uses_with(x):
    with open("file") as f:
        return np.sum(x)


@case()
def uses_yield(x):
    yield x[0]


@case()
def writes_global(x):
    global COUNT
    COUNT = 1
    return np.sum(x)


@case()
def deletes_live_name(x):
    y = x * 2
    del y
    return np.sum(y)


@case()
def uses_set(x):
    chosen = {x[0], 2}
    return np.sum(x) * len(chosen)


@case()
def imports_unknown(x):
    import no_such_module
    return np.sum(x) * no_such_module.factor


@case()
def string_of_active(x):
    return np.sum(x) + "a"


@case()
def unknown_function(x):
    return np.sum(x * np.nextafter(x, x))


@case()
def shapes_do_not_fit(x):
    return np.sum(np.ones((2, 3)) + np.ones((4, 3))) + x[0]


@case(lambda f: grad(f, mode="python")(np.arange(3)))
def integer_argument(x):
    return np.sum(x)


@case()
def integer_result(x):
    return np.argmax(x)


@case()
def array_result(x):
    return x * 2


@case(lambda f: grad(f, mode="python")(np.array([1.0, "a"], dtype=object)))
def object_array(x):
    return np.sum(x)


@case(lambda f: grad(f, mode="python")(X + 1j))
def complex_loss(x):
    return np.sum(x)


@case(lambda f: grad(f, mode="python")(X + 1j))
def order_of_complex(x):
    return np.sum(np.where(x > 0.0, 1.0, 2.0))


@case(lambda f: grad(f, mode="python")(X + 1j))
def complex_into_floats(x):
    y = np.zeros(3)
    y[0] = x[0]
    return np.sum(y)


@case(lambda f: grad(f, mode="python")(X + 1j))
def complex_median(x):
    return np.abs(np.median(x))


@case(lambda f: jacobian(f, mode="python")(X + 1j))
def complex_jacobian(x):
    return x * np.conj(x[0])


@case(lambda f: grad(f, mode="python", holomorphic=True)(X))
def holomorphic_of_real(x):
    return np.sum(x * 1j)


@case()
def ragged_list(x):
    return np.sum(np.array([[x[0], x[1]], [x[2]]]))


@case()
def kind_depends_on_data(x):
    if x[0] > 0.0:
        y = x
    else:
        y = {"row": x}
    return np.sum(y)


@case(lambda f: grad(f, mode="python")(X, bytearray(b"a")))
def unhashable_static(x, options):
    return np.sum(x)


@case(lambda f: grad(f, wrt="z", mode="python")(X))
def unknown_wrt_name(x):
    return np.sum(x)


@case(lambda f: grad(f, wrt=3, mode="python")(X))
def unknown_wrt_position(x):
    return np.sum(x)


@case(lambda f: vjp(f, X, outputs=("z",), mode="python"))
def unknown_output(x):
    return np.sum(x)


@case(lambda f: vjp(f, X, mode="python")[1](np.ones(3)))
def wrong_cotangent_shape(x):
    return x * 2


@case()
def truth_of_array(x):
    if x > 0:
        return np.sum(x)
    return 0.0


@case()
def undefined_name(x):
    return np.sum(x) * undefined_factor


@case()
def bound_on_one_path(x):
    for i in range(3):
        if x[i] > 0.5:
            size = np.ones((2, i + 2))
    return np.sum(size) + x[0]


@case()
def type_changes_in_loop(x):
    y = None
    for i in range(len(x)):
        y = {"row": x[i]}
    return y["row"]


@case()
def recursion_on_slices(x):
    def down(v):
        return down(v[1:]) * v[0] if len(v) > 1 else v[0]
    return down(x)


@case()
def recursion_in_a_comprehension(x):
    def down(v):
        return v if v < 0.1 else sum([down(v * k) for k in x])
    return down(x[0])


@case()
def float_index(x):
    return x[1.5]


@case()
def too_many_indices(x):
    return x[0, 1]


@case()
def not_callable(x):
    return x(3)


@case()
def writes_to_expression(x):
    y = np.broadcast_to(x[0], (3,))
    y[0] = 1.0
    return np.sum(y)


@case()
def too_many_arguments(x):
    return math.sin(x[0]) + helper(x, 1, 2, 3)


def helper(x, y):
    return x[0]


@case()
def unpacks_wrongly(x):
    a, b, c = (x[0], x[1])
    return a


@case()
def step_of_zero(x):
    return np.sum(x[::0])


@case()
def matrix_shapes(x):
    return np.sum(np.ones((2, 3)) @ np.ones((2, 3))) + x[0]


@case()
def float_into_integers(x):
    counts = np.zeros(3, dtype=int)
    counts[0] += x[0]
    return np.sum(counts) * x[1]


@case()
def decorated_inner_function(x):
    @staticmethod
    def inner(v):
        return v
    return np.sum(x)


@case()
def rebound_and_written_in_loop(x):
    a = x.copy()
    b = a
    for i in range(3):
        a[0] += x[1]
        a = a * 2.0
    return np.sum(a * b)


@case()
def writes_through_a_choice_of_views(x):
    y = x.copy()
    if x[0] > 0.1:
        v = y[1:]
    else:
        v = y[:-1]
    v[0] = 7.0 * x[2]
    return np.sum(y)


@case()
def has_no_such_axis(x):
    return np.sum(x, axis=3)


HOW = "raise"


@case()
def errstate_by_a_name(x):
    with np.errstate(all=HOW):
        return np.sum(1.0 / x)


@case()
def errstate_by_a_dict(x):
    with np.errstate(**{"all": "raise"}):
        return np.sum(1.0 / x)


@case()
def an_argument_that_is_not_taken(x):
    return np.sum(x, axes=0)
