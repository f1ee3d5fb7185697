"""Single assignments as Numba makes them, for functions of many branches and loops."""

import random

import numba
import pytest
from numba.core import ssa

from autodiff.runtime.machine_code.assignments import KNOWN, single_assignments


def program(seed: int) -> str:
    """A function with loops and branches that assign to a few variables."""
    draw, names = random.Random(seed), ["a", "b", "c", "d"]
    lines = ["def f(x, n):", *(f"    {v} = x" for v in names)]

    def block(depth: int) -> None:
        for _ in range(draw.randint(1, 4)):
            pad, v, w = "    " * depth, *draw.sample(names, 2)
            kind = draw.choice("aaaifw") if depth < 5 else "a"
            if kind == "a":
                lines.append(f"{pad}{v} = {w} * x + {v}")
            else:
                lines.append(pad + {"i": f"if {v} > {w}:", "f": "for i in range(n):", "w": f"while {v} < 9.0:"}[kind])
                block(depth + 1)
                if kind == "i" and draw.random() < 0.5:
                    lines.append(pad + "else:")
                    block(depth + 1)
                elif kind == "w":
                    lines.append(f"{pad}    {v} += 1.0")
    block(1)
    return "\n".join([*lines, "    return a + b + c + d"])


@pytest.mark.skipif(not KNOWN, reason="this Numba is another one: its own function is used")
def test_same_program(monkeypatch):
    numbas = ssa._run_ssa
    for seed in range(6):
        namespace: dict = {}
        exec(program(seed), namespace)
        made = []
        for rewrite in (numbas, single_assignments):
            def noted(blocks, rewrite=rewrite):
                found = rewrite(blocks)
                made.append({label: [str(s) for s in b.body] for label, b in found.items()})
                return found
            monkeypatch.setattr(ssa, "_run_ssa", noted)
            assert numba.njit("f8(f8,i8)")(namespace["f"])(10.0, 2) == namespace["f"](10.0, 2)
        assert made[0] == made[1] and len(made) == 2
