"""Messages name what the user has written: no name of the compiler's own for a value, a function or a list."""

import importlib
import re

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from autodiff import AutodiffError, differentiable
from autodiff.transforms.language import errors

X = np.array([1.5, 0.7, 2.0])
OWN = re.compile(r"%[A-Za-z]{3,}|`list\d+_\d+|` [a-z]+ *`|\b\w+_\(\)|<locals>|\x01")


def emptied(x):
    items, t = [x[0], x[1], 0.0], 0.0
    for v in iter(items.pop, 0):
        t += v
    return t


def noted(x):
    seen, t = set(), 0.0
    for k in range(3):
        if k not in seen:
            seen.add(k)
            t += x[k]
    return t


def noted_numbers(x):
    seen = {0}
    for v in x:
        seen.add(v)
    return len(seen) * x[0]


def evaluations(x):
    return solve_ivp(lambda t, y: -y * x[0], (0, 1), [x[1]]).nfev * x[0]


def length_of_a_text(x):
    return x[0] * len(f"{x[1]:.3f}")


def bisected(x):
    from scipy import optimize
    return optimize.brentq(lambda t: t - x[0])


REFUSED = {emptied: ("iter() of a function", "while True"), noted: ("a set that changes", "a dict with its items as keys"),
           noted_numbers: ("a set that changes", "a dict with its items as keys"),
           evaluations: ("`nfev` of", "use what is: t, y, success, status, message"),
           length_of_a_text: ("the length of a text", "from the numbers"), bisected: ("brentq() missing", "'a' and 'b'")}


@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_what_is_refused_and_what_to_do(f):
    with pytest.raises(AutodiffError) as raised:
        differentiable(f, mode="python")(X)
    problem, way_out = REFUSED[f]
    told = str(raised.value)
    assert problem in told and way_out in told and not OWN.search(told), told


def test_the_text_of_an_error():
    def f(x):
        try:
            if x[0] > 0.0:
                raise ValueError("bad")
        except ValueError as e:
            return x[0] * len(str(e))
        return x[1]

    assert differentiable(f, mode="python")(X) == f(X)


def test_names_of_the_compiler_are_told_in_other_words():
    told = errors.TypeConflict("the list `%list48_9` grows and `%value` changes; `%apart x`", None, "write `list48_9` anew")
    assert told.problem == "this list grows and the result changes; this value"
    assert told.hint == "write this list anew"
    assert errors.TypeConflict("`x % y` of `%d` and `%5.2f`").problem == "`x % y` of `%d` and `%5.2f`"


def last_ones(x):
    for a in x:
        if a > 1.6:
            return x
    return x[1:]


def zeroed(p, q):
    p[0] = 0.0
    return np.sum(q)


def of_a_choice(x):
    v = x[1:] if x[0] > 1.0 else x[:-1]
    v[0] = 1.0
    return np.sum(x)


def beside_a_choice(x):
    y, other = x * 2.0, x * 3.0
    z = y if x[0] > 1.0 else other
    y[0] = 3.0
    return np.sum(z)


def of_a_result(x):
    w = last_ones(x)
    w[0] = 5.0
    return np.sum(x)


def beside_a_result(x):
    w = last_ones(x)
    x[0] = 5.0
    return np.sum(w)


def in_another_function(x):
    v = x[1:] if x[0] > 1.0 else x[:-1]
    return zeroed(v, x)


def in_another_function_beside(x):
    v = x[1:] if x[0] > 1.0 else x[:-1]
    return zeroed(x, v)


def flattened(x):
    y = x.reshape(3, 1)[:, :len(x) // 2]
    w = y.ravel()
    w *= 2.0
    return np.sum(y)


def in_a_dict(x):
    held = {"a": x * 2.0}
    z = held["a"] if x[0] > 1.0 else x
    held["a"][0] = 2.0
    return np.sum(z)


def appended(x):
    rows = []
    for i in range(3):
        r = x * i
        if x[i] > 1.0:
            rows.append(r)
        r[0] = 1.0
    return np.sum(rows[0])


def item_of_a_list(x):
    rows = []
    for i in range(3):
        if x[i] > 1.0:
            rows.append(x)
    rows[0][0] = 2.0
    return np.sum(x)


CHOSEN = ", one of two arrays, chosen when the program runs,"
NAMED = {
    of_a_choice: f"`v`{CHOSEN} is written to, and `x` may be",
    beside_a_choice: f"`y` is written to, and `z`{CHOSEN} may be",
    of_a_result: f"`w`{CHOSEN} is written to, and `x` may be",
    beside_a_result: f"`x` is written to, and `w`{CHOSEN} may be",
    in_another_function: f"`p`{CHOSEN} is written to, and `q` may be",
    in_another_function_beside: f"`p` is written to, and `q`{CHOSEN} may be",
    flattened: "`w` is written to while `x` may be",
    in_a_dict: f"what `held` holds is written to, and `z`{CHOSEN} may be",
    appended: "`r` is written after it was appended",
    item_of_a_list: "an item of `rows`, which grows, is written"}


@pytest.mark.parametrize("f", NAMED, ids=lambda f: f.__name__)
def test_arrays_are_called_what_the_user_calls_them(f):
    with pytest.raises(AutodiffError) as refused:
        differentiable(f, mode="python")(X)
    assert refused.value.problem.startswith(NAMED[f])


@pytest.mark.parametrize("profile", ["lists", "turns", "masks", "list_methods", "bindings", "exceptions"])
def test_messages_of_random_programs(profile, monkeypatch):
    """Whatever is refused in random programs."""
    told: list = []
    plain = errors.AutodiffError.__init__

    def noting(self, *args):
        plain(self, *args)
        told.append(str(self))
    monkeypatch.setattr(errors.AutodiffError, "__init__", noting)
    attempt = importlib.import_module(f"tests.fuzz.{profile}").attempt
    for seed in range(9_500_000_000, 9_500_000_000 + (1 if profile == "lists" else 4)):
        attempt(seed)
    assert not [t for t in told if OWN.search(t.split("File", 1)[0])]
