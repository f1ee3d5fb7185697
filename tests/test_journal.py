"""What an attempt at lowering changes, and what nothing may change."""

import ast
import dataclasses
from pathlib import Path

import autodiff
from autodiff.rules import REGISTRY
from autodiff.transforms.language.core import Arr, Var
from autodiff.transforms.lower.functions.frames import Frame
from autodiff.transforms.lower.interpreter import Interpreter
from autodiff.transforms.lower.journal import Attempt, begin_unit, dropped
from autodiff.transforms.lower.state import Around, Learnt

N = Var("n", "int64")


def begun() -> Interpreter:
    lo = Interpreter(REGISTRY)
    lo.frame = Frame(None, {}, {})
    return lo


def known(lo):
    return lo.learnt.copy(), lo.b, list(lo.b.stmts), lo.around, dict(lo.b.facts.alias)


def test_an_attempt_forgets_each_field_of_what_it_learnt():
    lo = begun()
    a, b = Arr("a", "float64", (N,)), Arr("b", "float64", (N,))
    lo.learnt.twins[a] = {b}
    before, attempt = known(lo), Attempt(lo)
    for _ in range(2):                      # it may be undone more than once
        for f in dataclasses.fields(Learnt):
            part = getattr(lo.learnt, f.name)
            part.add((N, lo.b)) if isinstance(part, set) else part.update({b: {a}})
        lo.learnt.twins[a].add(a)
        lo.b.alloc("v", "float64", (N,))
        lo.b.facts.equate(N, Var("m", "int64"))
        assert known(lo) != before
        attempt.undo(lo)
        assert known(lo) == before


def test_a_unit_begins_with_nothing_around_it():
    lo = begun()
    lo.around.conditions.append((N, True))
    lo.learnt.guarded.add(N)
    before, attempt = known(lo), Attempt(lo)
    begin_unit(lo)
    assert lo.around == Around() and not lo.learnt.guarded and lo.callers[lo.b] is before[1]
    attempt.undo(lo)
    assert known(lo) == before


def test_a_dropped_block_leaves_no_statements():
    lo = begun()
    before = known(lo)
    with dropped(lo, loop=True):
        lo.learnt.guarded.add((N, lo.b))
        lo.b.alloc("v", "float64", (N,))
    assert known(lo) == before


def test_what_is_checked_around_a_block_stays_checked():
    """The check stands where it is, whatever the block comes to."""
    lo = begun()
    outside = lo.b
    with dropped(lo, loop=True):
        attempt = Attempt(lo)
        lo.learnt.guarded |= {(N, outside), (N, lo.b)}
        attempt.undo(lo)
        assert lo.learnt.guarded == {(N, outside)}
        lo.learnt.guarded.add((N, lo.b))
    assert lo.learnt.guarded == {(N, outside)}


def test_nothing_replaces_a_method_of_the_lowering():
    methods = {name for name in dir(Interpreter) if callable(getattr(Interpreter, name)) and not name.startswith("_")}
    top = Path(autodiff.__file__).parent
    for folder in (top, Path(autodiff.transforms.__file__).parent):
        for file in folder.rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                targets = node.targets if isinstance(node, ast.Assign) else ()
                for t in (x for target in targets for x in ast.walk(target)):
                    assert not (isinstance(t, ast.Attribute) and t.attr in methods and isinstance(t.value, ast.Name)
                                and t.value.id == "lo"), f"{file}:{t.lineno}"
