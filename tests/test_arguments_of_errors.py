"""What a handler reads of the error that it caught: `e.args`, its text, `repr`. Python is the oracle, or a refusal."""

import pytest

from autodiff import AutodiffError, differentiable

from .support import from_text

READ = "len(e.args) + 10.0 * (str(e) == '') + 100.0 * (repr(e) in ('ValueError()', 'IndexError()', 'AssertionError()')) + p"
BODIES = [
    "raise ValueError", "raise ValueError()", "raise ValueError('')", "raise ValueError('a')", "raise ValueError('', '')",
    "if p > 0.5: raise IndexError", "if p > 0.5: raise IndexError()",
    "if p > 0.5: raise IndexError('')",
    "if p > 0.5: raise Exception(str(p))", "assert p > 0.5", "assert p > 0.5, ''", "assert p > 0.5, 'a'",
    "assert p < 0.5, p",
    "if p > 0.5: raise StopIteration", "next(iter(()))", "if p > 0.5: raise KeyError('a')", "if p > 0.5: raise KeyError",
    "{'a': p}['b']", "{'a': p}['b' if p > 0.5 else 'a']", "[1.0][3]", "if p > 0.5: int('a')",
    "for _ in range(2): raise ValueError",
    "while True: raise ZeroDivisionError", "helper(p)"]
FOLLOWED = ("raise ValueError", "raise ValueError()", "raise ValueError('a')", "if p > 0.5: raise IndexError",
            "assert p > 0.5", "while True: raise ZeroDivisionError", "helper(p)")


def outcome(call):
    try:
        return call()
    except AutodiffError:
        return "refused"


@pytest.mark.parametrize("body", BODIES)
def test_what_is_read_of_an_error(body):
    f = from_text(f"<arguments {body}>", f"""
def helper(u):
    if u > 0.5:
        raise ValueError
    assert u > 5.0


def f(p):
    try:
        {body}
        s = 7.0 * p
    except {'ValueError' if 'helper' in body else 'Exception'} as e:
        s = {READ}
    except AssertionError as e:
        s = 2.0 * len(e.args)
    return s
""")
    derived = differentiable(f, mode="python")
    for p in (0.8, 0.2):
        found = outcome(lambda p=p: derived(p))
        assert found == pytest.approx(f(p)) if found != "refused" else body not in FOLLOWED


@pytest.mark.parametrize("body", ["raise KeyError('b')", "{'a': p}['b']", "{'a': p}[('b', 1)]", "{'a': p, 1: p}[2]"])
def test_the_key_is_the_argument_of_a_key_error(body):
    f = from_text(f"<key {body}>", f"""
def f(p):
    try:
        {body}
    except KeyError as e:
        return p * (e.args[0] in ("b", ("b", 1), 2)) + len(str(e))
    return p
""")
    assert outcome(lambda: differentiable(f, mode="python")(0.8)) in (f(0.8), "refused")
