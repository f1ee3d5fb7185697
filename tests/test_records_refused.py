"""What is refused of records, and fields that objects have beside those of their class."""


import pytest

from autodiff import AutodiffError, grad, value_and_grad

from .test_records import REFUSED, Spring, X, refused


@refused
def too_many_fields(x):
    return Spring(x[0], x[1]).k


@refused
def row_of_a_growing_list(x):
    rows = []
    for _ in range(len(x)):
        rows.append([0.0, 0.0])
    for i in range(len(x)):
        rows[i][1] = x[i]
    return rows[1][1]


@refused
def record_of_a_growing_list(x):
    springs = []
    for _ in range(len(x)):
        springs.append(Spring(1.0))
    for s in springs:
        s.k = x[0]
    return springs[1].k


@refused
def changed_after_it_was_appended(x):
    springs = []
    for i in range(len(x)):
        s = Spring(1.0)
        springs.append(s)
        s.k = x[i]
    return springs[1].k


@refused
def changed_before_it_is_appended_again(x):
    springs = []
    s = Spring(1.0)
    for i in range(len(x)):
        s.k = x[i]
        springs.append(s)
    return springs[1].k


@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_refused(f):
    with pytest.raises(AutodiffError):
        value_and_grad(f, mode="python")(X)


def test_more_than_fields_on_an_argument():
    f = grad(lambda x, p: p.force(x[0]), wrt=0, mode="python")
    p = Spring()
    assert f(X, p)[0] == 2.0
    p.force = lambda v: v * 100.0
    with pytest.raises(AutodiffError, match="no field"):
        f(X, p)
    del p.force
    p.note = "not read"
    assert f(X, p)[0] == 2.0
    assert grad(lambda x, p: p.force(x[0]), wrt=1, mode="python")(X, p).k == 1.5


def test_an_attribute_set_later():
    p = Spring()

    def f(x):
        return p.force(x[0])
    gradient = grad(f, mode="python")
    assert gradient(X)[0] == 2.0
    p.force = lambda v: v * 100.0
    assert gradient(X)[0] == 100.0
