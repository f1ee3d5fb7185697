"""What a logarithm of a density with its gradient costs from PyMC, against calling autodiff directly.

    python -m tests.benchmarks.bridge_pytensor

Times are the best of several repetitions, in microseconds, of the likelihood in examples/ode_posterior.py (210 steps of
Runge-Kutta): by `value_and_grad`, by PyTensor's function under both linkers, and by the function that PyMC's NUTS
calls, which has the priors and transformations too.
"""

import importlib.util
import sys
import timeit
from pathlib import Path

import numpy as np

from autodiff import value_and_grad

ROOT = Path(__file__).parents[2]


def example():
    spec = importlib.util.spec_from_file_location("ode_posterior", ROOT / "examples" / "ode_posterior.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["ode_posterior"] = module
    spec.loader.exec_module(module)
    return module


def microseconds(call) -> float:
    call()
    count, _ = timeit.Timer(call).autorange()
    return 1e6 * min(timeit.repeat(call, number=count, repeat=7)) / count


def main():
    import pymc as pm
    import pytensor
    import pytensor.tensor as pt

    from autodiff.pytensor import op
    model = example()
    seen = np.log(np.stack([model.HARES, model.LYNXES], axis=1))
    at = [np.array([0.55, 0.028, 0.8, 0.024]), np.array([30.0, 5.0]), np.array([0.3, 0.3])]
    direct = value_and_grad(model.log_likelihood, wrt=(0, 1, 2))
    base = microseconds(lambda: direct(*at, seen))
    print(f"{'autodiff.value_and_grad':42}{base:9.1f}")

    variables = [pt.vector() for _ in at]
    density = op(model.log_likelihood)(*variables, seen)
    outputs = [density, *pytensor.grad(density, variables)]
    for linker in ("numba", "py"):
        fn = pytensor.function(variables, outputs, mode=pytensor.compile.mode.Mode(linker=linker, optimizer="fast_run"))
        for a, b in zip(fn(*at), (direct(*at, seen)[0], *direct(*at, seen)[1]), strict=True):
            np.testing.assert_allclose(a, b)
        fn.trust_input = True
        time = microseconds(lambda fn=fn: fn(*at))
        print(f"{f'pytensor.function, linker {linker}':42}{time:9.1f}{time / base:7.2f} times")

    with pm.Model() as built:
        theta = pm.LogNormal("theta", np.log(at[0]), 0.3, shape=4)
        start = pm.LogNormal("start", np.log(at[1]), 0.5, shape=2)
        sigma = pm.LogNormal("sigma", -1.0, 0.5, shape=2)
        pm.Potential("seen", op(model.log_likelihood)(theta, start, sigma, seen))
    fn = built.logp_dlogp_function(ravel_inputs=True, mode="NUMBA")
    fn.set_extra_values({})
    point = np.log(np.concatenate(at))
    time = microseconds(lambda: fn(point))
    print(f"{'pymc: logp_dlogp_function':42}{time:9.1f}{time / base:7.2f} times")


if __name__ == "__main__":
    main()
