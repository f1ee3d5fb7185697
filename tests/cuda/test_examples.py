"""The examples with `--target cuda`, under the simulator, against the same on the CPU."""

import importlib.util
import re

import numpy as np
import pytest

import autodiff

from .support import ROOT


def example(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_monte_carlo_greeks(capsys):
    module = example("monte_carlo_greeks")
    printed = []
    for target in ("cpu", "cuda"):
        assert module.main(["--target", target, "--paths", "200", "--steps", "3"]) == 0
        printed.append(re.sub(r"on target.*", "", capsys.readouterr().out))
    assert printed[0] == printed[1] and "rho" in printed[0]


def test_wave_inversion(capsys):
    module = example("wave_inversion")
    speed = np.linspace(1800.0, 2600.0, 14)
    records = module.simulate(1.1 * speed, 40) + 0.1
    expected = autodiff.value_and_grad(module.misfit, mode="python")(speed, records, 4)
    value, gradient = autodiff.value_and_grad(module.misfit, target="cuda")(speed, records, 4)
    assert value == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-9, atol=1e-12 * np.max(np.abs(gradient)))
    module.main(["--target", "cuda", "--cells", "16", "--steps", "12", "--iterations", "1"])
    assert "gradients on target 'cuda'" in capsys.readouterr().out
