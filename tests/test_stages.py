"""`f.stages`: the program after each pass, as it was then; the tables of passes and their runner."""

from dataclasses import replace

import numpy as np
import pytest

from autodiff import grad
from autodiff.transforms import passes, stages
from autodiff.transforms.language.errors import InternalError

from .fuzz.programs import program


def energy(x, k):
    stretch = x[1:] - x[:-1]
    return 0.5 * k * np.sum(stretch ** 2)


def test_stages_are_named_and_print_as_python():
    made = grad(energy, mode="python").specialize(np.zeros(5), 2.0)
    names = list(made.stages)
    assert names[0] == "lower" and names[-1] == "final" and {"fuse", "reverse", "join", "contract 2"} <= set(names)
    assert repr(made.stages["fuse"]).startswith("def energy") and str(made.stages["final"]) in made.source
    assert made.stages["lower"].seconds > 0 and made.stages["reverse"].seconds > 0
    table = repr(made.stages).splitlines()
    assert len(table) == len(names) and table[0].split()[0] == "lower" and table[0].endswith(" ms")
    assert "energy_grad(x, k):" in made.stages["reverse"]._repr_html_()


def test_the_difference_of_two_stages():
    made = grad(energy, mode="python").specialize(np.zeros(5), 2.0)
    lines = made.stages.diff("reverse", "join").splitlines()
    assert lines[0].startswith("--- reverse") and lines[1].startswith("+++ join")
    assert any(line.startswith("-") and "s = 0.0" in line for line in lines)
    assert made.stages.diff("final", "final") == ""


@pytest.mark.parametrize("seed", [37, 42])
def test_a_stage_printed_later_is_what_it_was(seed, monkeypatch):
    """Later passes give buffers other sizes, in the same objects."""
    then = []
    record = stages.Stages.record

    def recorded(self, name, made, seconds=0.0):
        record(self, name, made, seconds)
        then.append((list(self.values())[-1], str(list(self.values())[-1])))
        return made
    monkeypatch.setattr(stages.Stages, "record", recorded)
    one = program(seed)
    wrt = tuple(k for k, a in enumerate(one.values()) if np.asarray(a).dtype.kind == "f")
    grad(one.module()["f"], wrt=wrt, mode="python").specialize(*one.values())
    assert len(then) > 30
    for stage, text in then:
        assert str(stage) == text, stage.name


def test_in_debug_a_pass_that_breaks_a_program_is_named(monkeypatch):
    def losing(program):
        return replace(program, body=program.body[1:])
    monkeypatch.setattr("autodiff.pipeline.AFTER", (*passes.CPU[:4], stages.Pass(losing), *passes.CPU[4:]))
    with pytest.raises(InternalError, match="after the pass `losing`"):
        grad(energy, mode="python", debug=True).specialize(np.zeros(5), 2.0)
