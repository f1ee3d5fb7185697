"""`f.why` of variables: whether they have adjoints, and what the reverse sweep has of their values."""

import re

import numpy as np
import pytest

from autodiff import AutodiffError, checkpoint, grad
from autodiff.inspecting.variables import variables_of
from autodiff.operators.joint_pullbacks import JointPullback
from autodiff.options import Options

from .fuzz.checks import runs
from .fuzz.programs import program
from .test_lines import content

PYTHON = Options("python")
X = np.linspace(0.1, 0.9, 5)


def helper(v, k):
    s = 0.0
    for i in range(v.shape[0]):
        s = np.sin(v[i] * s) * k + s
    return s


def mixed(x, k, n):
    place = np.argmax(x)
    n_twice = n * 2
    down = np.floor(x[0])
    scaled = x * k
    part = scaled[1:]
    other = np.sin(k)
    unused = np.exp(x[0])          # noqa: F841
    a = np.exp(x)
    for _ in range(n_twice):
        a = a * np.tanh(a)
    large = x[1] > 0.1
    if large:
        a = a * 2.0
    return np.sum(part) + helper(a, k) + down + other + x[place]


START = mixed.__code__.co_firstlineno


@pytest.fixture(scope="module")
def made():
    made = grad(mixed, mode="python")
    made(X, 2.0, 3)
    return made


def one(made, name):
    found, = made.why(name)
    return found


def test_why_there_is_no_adjoint(made):
    assert "only compared" in one(made, "place").adjoint
    assert "as it is an integer" in one(made, "n_twice").adjoint
    assert "only values come to it from `x`: it is rounded" in one(made, "down").adjoint
    assert "it does not depend on `x`" in one(made, "other").adjoint
    assert "truth value" in one(made, "large").adjoint
    assert "not needed" in one(made, "unused").adjoint
    for name in ("place", "n_twice", "down", "other", "large", "unused"):
        assert not one(made, name).has_adjoint and f"{name}_bar" not in made.source
    assert one(made, "scaled").has_adjoint


def test_what_only_a_comparison_sees_has_no_adjoint():
    def f(x):
        y = x[0] * 2.0
        z = 3.0 * x[1]
        if y > 1.0:
            z = z * x[2]
        return z

    made = grad(f, mode="python")
    made(X)
    assert "branch" in one(made, "y").adjoint or "compared" in one(made, "y").adjoint
    assert not one(made, "y").has_adjoint
    assert all(found.has_adjoint for found in made.why("z"))


def test_why_it_is_taped(made):
    carried = [found for found in made.why("s") if found.taped]
    assert len(carried) == 1 and "from one iteration of the loop to the next" in carried[0].value
    assert "`s_tape`" in carried[0].value and carried[0].line == helper.__code__.co_firstlineno + 2
    buffer = made.why("a")[0]
    assert buffer.taped and "overwrites of it is saved" in buffer.value and "`a_tape`" in buffer.value
    assert f"test_variables.py:{START + 10}" in buffer.value           # whose adjoint reads it
    assert {"s_tape", "a_tape"} <= {saved.name for saved in made.tape}
    assert "does not read it" in one(made, "scaled").value
    assert str(made.why("a")).startswith("`a` (test_variables.py:") and "<div" in made.why("a")._repr_html_()


def test_arguments_are_answered_as_before(made):
    assert made.why("x").depends and "flows through" in str(made.why("x"))
    with pytest.raises(AutodiffError, match="`nothing`|nothing"):
        made.why("nothing")
    with pytest.raises(AutodiffError):
        made.why("n")


def test_calls_that_stay_and_checkpointed_loops():
    def call(v):
        t = 0.0
        for i in range(v.shape[0]):
            t += np.exp(v[i]) * t + v[i]
        return t

    def twice(x):
        first = call(x * 2.0)
        second = call(x + first)
        s = 1.0
        for _ in checkpoint(range(10), 2):
            s = s * np.sin(s * second)
        return s

    made = grad(twice, mode="python")
    made(X)
    assert made.why("first") and all(found.has_adjoint for found in made.why("first"))
    assert all(found.value for found in made.why("s"))
    assert made.why("v") and made.why("t")


def test_the_page_tells_of_names(made):
    data = content(made.view(X, 2.0, 3))
    own = {name: told for part in data["own"] for first, last, names in part["names"] for name, told in names.items()
           if first <= START + 5 <= last}
    assert {"place", "down", "scaled", "a", "x", "k", "unused"} <= set(own) and "s" not in own
    assert "it is rounded" in own["down"]
    assert data["names"]["a_bar"].startswith("`a_bar`: the adjoint of `a`\n`a` (")
    assert data["names"]["s_tape"].startswith("`s_tape`: what is saved of `s`") and "np" not in data["names"]


@pytest.mark.parametrize("seed", range(7_300_000, 7_300_060, 10))
def test_random_programs(seed):
    """What has an adjoint in the text has one in the answer; what is said to be taped is, under that name, and all of it is
    told of that has a name of the user's."""
    tried = taped = 0
    for program_ in (program(k) for k in range(seed, seed + 10)):
        if not runs(program_):
            continue
        made = JointPullback(program_.module()["f"], options=PYTHON)
        try:
            made.specialize(*program_.values())
        except AutodiffError:
            continue
        variables = variables_of(made)
        known = {v.name for v in variables if re.search(r"\d$", v.name) and not re.search(
            "of its own|is computed for it|an integer", v.adjoint)}         # the text calls parts of their lines so, too
        adjoints = {v.name for v in variables if v.has_adjoint}
        for name in re.findall(r"\b(\w+?)_bar(?:_\d+)?\b", str(made.source)):
            assert name not in known or name in adjoints, (program_.seed, name)
        names = {saved.name for saved in made.tape}
        for v in variables:
            told = set(re.findall(r"`(\w+)` of [^`]* bytes", v.value))
            assert told <= names and v.taped == bool(told), (program_.seed, str(v))
        named = [re.search(r"`(\w+)`", saved.reason) for saved in made.tape]
        hints = {m[1] for m in named if m} & known
        hints -= {v.name for v in variables if not v.line}          # of what is called
        assert hints <= {v.name for v in variables if v.taped}, (program_.seed, hints)
        tried, taped = tried + 1, taped + len(hints)
    assert tried > 3
