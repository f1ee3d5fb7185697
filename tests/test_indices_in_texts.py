"""Texts of errors have the numbers of loops in them, as Python's have: indices, counters, what functions are given."""

import numba
import numpy as np
import pytest

from autodiff import AutodiffError, differentiable, grad

X = np.array([1.1, 2.3, 3.2, 4.4])


def checked(place, v, k):
    if v > k:
        raise ValueError("bad %d of %s" % (place, place + 1))
    return v * v


def of_an_f_string(x, k):
    for i in range(len(x)):
        if x[i] > k:
            raise RuntimeError(f"at {i}")
    return x[0]


def of_a_percent(x, k):
    for i in range(1, len(x), 2):
        if x[i] > k:
            raise RuntimeError("at %03d, %s" % (i, i))
    return x[0]


def of_format_and_str(x, k):
    for i, v in enumerate(x):
        if v > k:
            raise RuntimeError("at {:>4}".format(i) + str(i) + repr(i))
    return x[0]


def of_a_helper(x, k):
    total = 0.0
    for i in range(len(x)):
        total += checked(i, x[i], k)
    return total


def of_a_comprehension(x, k):
    return sum([checked(i, v, k) for i, v in enumerate(x)])


def of_a_generator(x, k):
    return sum(checked(i, x[i], k) for i in range(len(x)))


def of_an_inner_function(x, k):
    def item(q):
        if x[q] > k:
            raise ValueError(f"{q} of {i}")
        return x[q]
    total = 0.0
    for i in range(3):
        total += item(i)
    return total


def of_two_loops(x, k):
    for i in range(len(x) - 1, -1, -1):
        for j in range(i):
            assert x[j] < k, f"at {i}, {j:03d}, {i * 2.0}"
    return x[0]


def of_neighbours(x, k):
    for a in range(3):
        for i, (u, _) in enumerate(zip(x, x[1:])):
            if u * a > k:
                raise RuntimeError(f"{a}/{i:>3}/{a + i}")
    return x[0]


def of_a_while(x, k):
    i = 0
    while i < len(x):
        if x[i] > k:
            raise IndexError(f"at {i}")
        i += 1
    return x[0]


def of_an_array(x, k):
    for i in np.arange(len(x)):
        if x[i] > k:
            raise ValueError(f"{i}")
    return x[0]


def after_its_loop(x, k):
    for i in range(len(x)):
        if x[i] > k:
            break
    raise ValueError(f"at {i}")


def raised_again(x, k):
    for i in range(len(x)):
        y = x * i
        try:
            if x[i] > k:
                raise RuntimeError(f"at {i}")
            if y[i] < 0.0:
                raise RuntimeError(f"below {i}")
        except RuntimeError:
            print("seen", i)
            raise
    return y[0]


def raised_instead(x, k):
    for i in range(len(x)):
        try:
            if x[i] > k:
                raise KeyError(i)
        except KeyError:
            raise ValueError(f"no {i}") from None
    return x[0]


def broadcast(x, k):
    total = 0.0
    for i in range(2, len(x)):
        total += np.sum(np.ones(i) * np.ones(3))
    return total * x[0] * k


def told(f, *args):
    with pytest.raises(Exception) as raised:
        f(*args)
    return type(raised.value), str(raised.value).split("\n")[0].strip(), len(raised.value.args)


PROGRAMS = [of_an_f_string, of_a_percent, of_format_and_str, of_a_helper, of_a_comprehension, of_a_generator,
            of_an_inner_function, of_two_loops, of_neighbours, of_a_while, of_an_array, after_its_loop, raised_again,
            raised_instead, broadcast]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_a_text_has_the_number_of_the_loop_in_it(f, capsys):
    expected, out = told(f, X, 2.0), capsys.readouterr().out
    assert told(grad(f, mode="python"), X, 2.0) == expected
    assert capsys.readouterr().out == out


@pytest.mark.parametrize("f", [of_a_percent, of_two_loops], ids=lambda f: f.__name__)
def test_compiled_and_in_compiled_callers(f):
    taken = differentiable(f)
    caller = numba.njit(lambda x, k: taken(x, k))
    assert told(grad(f), X, 2.0) == told(caller, X, 2.0) == told(f, X, 2.0)


def test_a_number_that_cannot_be_told_is_marked_as_a_name():
    def f(x, k):
        try:
            for i in range(len(x)):
                if x[i] > k:
                    raise RuntimeError("at %03d, %.1f" % (i, k))
        except RuntimeError:
            if k > 1.0:
                print("leaves")
            raise
        return x[0]

    assert told(grad(f, mode="python"), X, 2.0)[1] == "at <i>, <k>"


def written_into_another(x, k):
    for i in range(len(x)):
        try:
            if x[i] > k:
                raise RuntimeError(f"at {i:>3}, {x[i]:.2f}")
        except RuntimeError as e:
            raise ValueError(f"again {e}, {i}") from e
    return x[0]


def changed_and_joined(x, k):
    for i in range(len(x)):
        try:
            if x[i] > k:
                raise RuntimeError("at %03d" % i)
        except Exception as e:
            if isinstance(e, RuntimeError):
                raise ValueError("no: %s" % str(e).upper()) from None
            raise
    return x[0]


def behind_its_loop(x, k):
    try:
        for i in range(len(x)):
            if x[i] > k:
                raise RuntimeError("at %03d" % i)
            if x[i] < 0.0:
                raise RuntimeError(f"{i} is below")
    except RuntimeError as e:
        raise ValueError(f"{e}!") from None
    return x[0]


def of_numpys(x, k):
    for i in range(len(x)):
        try:
            y = x[i + 1] * k
        except IndexError as e:
            raise ValueError(f"no neighbour of {i}: {e}") from None
    return y


def printed_and_left(x, k):
    for i in range(len(x)):
        try:
            if x[i] > k:
                raise RuntimeError(f"at {i}")
        except RuntimeError as e:
            print(e, i)
            break
    raise ValueError(f"left at {i}")


def raised_by_name(x, k):
    for i in range(len(x)):
        try:
            if x[i] > k:
                raise RuntimeError(f"at {i}")
            if x[i] < 0.0:
                raise ValueError(f"{i} is below")
        except Exception as e:
            print("seen", i)
            raise e
    return x[0]


@pytest.mark.parametrize(("f", "sign"), [
    (written_into_another, 1), (changed_and_joined, 1), (behind_its_loop, 1), (behind_its_loop, -1), (of_numpys, 1),
    (printed_and_left, 1), (printed_and_left, -1), (raised_by_name, 1), (raised_by_name, -1)],
    ids=lambda v: getattr(v, "__name__", str(v)))
def test_a_caught_error_has_its_text(f, sign, capsys):
    expected, out = told(f, sign * X, 2.0), capsys.readouterr().out
    assert told(grad(f, mode="python"), sign * X, 2.0) == expected
    assert capsys.readouterr().out == out


def test_what_is_not_known_of_a_caught_error_is_refused():
    def f(x, k):
        for i in range(len(x)):
            try:
                if x[i] > k:
                    raise RuntimeError(f"at {i}")
            except RuntimeError as e:
                raise ValueError(e.args[0] + "!") from None
        return x[0]

    with pytest.raises(AutodiffError):
        grad(f, mode="python")(X, 2.0)
