"""Programs on the simulated device against the CPU: values, gradients, the other operators, what is refused."""

import subprocess
import sys
import types

import numpy as np
import pytest
from scipy import linalg

import autodiff
from autodiff.errors import UnsupportedOnDevice

from ..programs import PROGRAMS
from .programs import EXAMPLES
from .races import check_races
from .random_programs import verdict
from .support import cuda

NAMES = [pytest.param(e, id=name) for name, e in EXAMPLES.items()]
# Recurrences whose iterations depend on each other, with what is said of them.
SEQUENTIAL = {
    "log_sum_exp": "`m` in one iteration depends",
    "cholesky_in_place": "elements of `A` that another one writes", "thomas": "elements of `b` that another one writes",
    "gauss_seidel": "elements of `u` that another one writes", "soft_dtw": "elements of `R` that another one writes",
    "newton_root": "a `while` loop", "logistic_map": "in one iteration depends", "bisection": "in one iteration depends",
    "american_put": "elements of `value` that another one writes"}


def on_device(args):
    return [cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in args]


def host(x):
    return x.copy_to_host() if hasattr(x, "copy_to_host") else np.asarray(x)


def flat(x):
    if isinstance(x, dict):
        x = tuple(x.values())
    return [y for part in x for y in flat(part)] if isinstance(x, (tuple, list)) else [host(x)]


def assert_alike(found, expected, rtol=1e-9):
    for a, b in zip(flat(found), flat(expected), strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * max(1e-300, np.max(np.abs(b), initial=0.0)))


@pytest.mark.parametrize("given", NAMES)
def test_value_and_gradient(given):
    expected = autodiff.value_and_grad(given.function, wrt=given.wrt, mode="python")(*given.arguments())
    args = on_device(given.arguments())
    before = [host(a).copy() for a in args]
    found = check_races(autodiff.value_and_grad(given.function, wrt=given.wrt, target="cuda", debug=True), *args)
    assert_alike(found, expected)
    assert all(type(x) is type(args[0]) for x in (found[0], *found[1]))
    for a, b in zip(args, before, strict=True):
        np.testing.assert_array_equal(host(a), b)


@pytest.mark.parametrize("given", NAMES)
def test_float32_stays_float32(given):
    expected = autodiff.value_and_grad(given.function, wrt=given.wrt, mode="python")(*given.arguments())
    args = given.arguments(np.float32)
    kinds = autodiff.value_and_grad(given.function, wrt=given.wrt, mode="python")(*args)
    found = autodiff.value_and_grad(given.function, wrt=given.wrt, target="cuda")(*on_device(args))
    assert [x.dtype for x in flat(found)] == [x.dtype for x in flat(kinds)]
    assert_alike(found, expected, rtol=2e-3)


@pytest.mark.parametrize("program", [pytest.param(p, id=p.name) for p in PROGRAMS])
def test_catalogue(program):
    """Every program of the CPU's catalogue runs or is refused before anything runs, with its reason."""
    operator = autodiff.value_and_grad(program.function, wrt=program.wrt, target="cuda", debug=True)
    if program.name in SEQUENTIAL:
        with pytest.raises(UnsupportedOnDevice, match="cannot run as threads") as caught:
            operator(*program.arguments())
        assert SEQUENTIAL[program.name] in str(caught.value)
        assert caught.value.loc.line and caught.value.hint
        return
    expected = autodiff.value_and_grad(program.function, wrt=program.wrt, mode="python")(*program.arguments())
    found = check_races(operator, *program.arguments())
    assert_alike(found, expected)
    assert all(isinstance(x, (np.ndarray, np.generic)) for x in flat(found))       # NumPy in, NumPy out


@pytest.mark.parametrize("name", ["stencil_slices", "n_body", "perceptron", "until", "asian_option", "few_parameters"])
def test_vjp(name):
    given = EXAMPLES[name]
    value, pullback = autodiff.vjp(given.function, *given.arguments(), mode="python")
    found, on = autodiff.vjp(given.function, *on_device(given.arguments()), target="cuda")
    assert_alike(found, value)
    for seed in (1.0, -2.5):                        # the tape may be read twice
        expected = [x for x in pullback(seed) if x is not None]
        assert_alike([x for x in on(seed) if x is not None], expected)


def test_vjp_of_an_array():
    def function(x, c):
        return np.tanh(c * x) + x[::-1]
    x, bar = np.linspace(-1.0, 1.0, 20), np.arange(20.0)
    value, pullback = autodiff.vjp(function, x, 0.7, mode="python")
    found, on = autodiff.vjp(function, cuda.to_device(x), 0.7, target="cuda")
    assert_alike(found, value)
    assert_alike(on(cuda.to_device(bar)), pullback(bar))
    with pytest.raises(UnsupportedOnDevice):
        on.batched(np.ones((2, 20)))


@pytest.mark.parametrize("name", ["stencil", "mixture", "extrema", "by_index"])
def test_jvp(name):
    given = EXAMPLES[name]
    args = given.arguments()
    tangents = tuple(np.ones_like(a) if k in given.wrt else None for k, a in enumerate(args))
    expected = autodiff.jvp(given.function, tuple(args), tangents, mode="python")
    found = autodiff.jvp(given.function, tuple(on_device(args)), tuple(
        t if t is None or np.ndim(t) == 0 else cuda.to_device(t) for t in tangents), target="cuda")
    assert_alike(found, expected)


def test_second_derivative():
    def function(x):
        return np.sum(np.sin(x[1:] * x[:-1]))

    def along(x, v):
        return np.sum(autodiff.grad(function)(x) * v)
    x, v = np.linspace(0.1, 2.0, 12), np.cos(np.arange(12.0))
    expected = autodiff.grad(along, mode="python")(x, v)
    assert_alike(autodiff.grad(along, target="cuda")(cuda.to_device(x), cuda.to_device(v)), expected)


def test_the_function_itself():
    given = EXAMPLES["mixture"]
    run = autodiff.differentiable(given.function, target="cuda")
    assert_alike(run(*on_device(given.arguments())), given.function(*given.arguments()))


def test_structures_come_back_as_they_were():
    def loss(parameters, x):
        return np.sum((parameters["w"] * x + parameters["b"][0]) ** 2)
    parameters = {"w": np.linspace(0.0, 1.0, 9), "b": (0.5,)}
    x = np.cos(np.arange(9.0))
    expected = autodiff.grad(loss, mode="python")(parameters, x)
    found = autodiff.grad(loss, target="cuda")({"w": cuda.to_device(parameters["w"]), "b": (0.5,)}, cuda.to_device(x))
    assert found.keys() == expected.keys() and isinstance(found["b"], tuple)
    assert_alike(found, expected)


def test_auto_follows_the_arguments():
    def loss(x):
        return np.sum(x ** 3)
    gradient = autodiff.grad(loss, target="auto")
    x = np.linspace(0.0, 1.0, 5)
    assert type(gradient(x)) is np.ndarray
    assert "cuda.grid" not in gradient.source
    found = gradient(cuda.to_device(x))
    assert not isinstance(found, np.ndarray)
    assert "cuda.grid" in gradient.source
    assert_alike(found, 3.0 * x ** 2)


def test_numbers_that_are_arrays_without_axes():
    def loss(x, k):
        return np.sum(k * x * x)
    x, k = np.arange(4.0), 3.0
    found = autodiff.grad(loss, wrt=(0, 1), target="cuda")(cuda.to_device(x), cuda.to_device(np.array(k)))
    assert_alike(found, (2.0 * k * x, np.sum(x * x)))


def test_arrays_in_other_layouts():
    def loss(x):
        return np.sum(x[:, 0] * x[:, 1] ** 2)
    x = np.arange(8.0).reshape(2, 4).T
    assert_alike(autodiff.grad(loss, target="cuda")(cuda.to_device(x)), autodiff.grad(loss, mode="python")(x))


def test_a_written_argument_is_left_alone():
    def loss(x, steps):
        for _ in range(steps):
            x *= 0.9
        return np.sum(x ** 2)
    x = np.arange(6.0)
    given = cuda.to_device(x)
    assert_alike(autodiff.grad(loss, target="cuda")(given, 3), 2.0 * 0.9 ** 6 * x)
    np.testing.assert_array_equal(host(given), x)


def test_checkpoints_wait_for_nothing():
    """Where copies are taken is kept on the host."""
    given = EXAMPLES["checkpointed"]
    source = autodiff.grad(given.function, target="cuda").specialize(*given.arguments()).source
    assert "revolve_split" in source and "position = np.full(" in source and "device.read" not in source


@pytest.mark.parametrize("name", ["until", "newton_in_time"])
def test_tapes_that_are_too_short(name, monkeypatch):
    """With room for one iteration everything runs again, from where it began."""
    given = EXAMPLES[name]
    expected = autodiff.value_and_grad(given.function, wrt=given.wrt, mode="python")(*given.arguments())
    monkeypatch.setattr("autodiff.transforms.device.stacks.ROOM", 1)
    again = types.FunctionType(given.function.__code__, given.function.__globals__, name)     # compiled anew
    found = autodiff.value_and_grad(again, wrt=given.wrt, target="cuda")
    assert_alike(found(*on_device(given.arguments())), expected)
    assert "_tape = device.empty((1, " in found.source


# -- checks and refusals ------------------------------------------------------------------------------------------
def test_an_index_that_only_the_device_sees_is_checked():
    x, index, w = EXAMPLES["by_index"].arguments()
    index[3] = 6
    gradient = autodiff.grad(EXAMPLES["by_index"].function, target="cuda")
    with pytest.raises(IndexError, match="out of range"):
        gradient(*on_device((x, index, w)))
    index[3] = 5
    gradient(*on_device((x, index, w)))


def test_shapes_are_checked_before_anything_runs():
    def loss(x, y):
        return np.sum(x * y)
    with pytest.raises(ValueError, match=r"shapes \(4,\) \(5,\)"):
        autodiff.grad(loss, target="cuda")(cuda.to_device(np.ones(4)), cuda.to_device(np.ones(5)))


def test_deterministic_refuses_additions_to_unknown_places():
    given = EXAMPLES["by_index"]
    gradient = autodiff.grad(given.function, target="cuda", deterministic=True)
    with pytest.raises(UnsupportedOnDevice, match="in an order that changes from run to run") as caught:
        gradient(*on_device(given.arguments()))
    assert "w[i] * x[index[i]]" in str(caught.value)
    assert "atomic" not in autodiff.grad(EXAMPLES["n_body"].function, target="cuda", deterministic=True).specialize(
        *EXAMPLES["n_body"].arguments()).source


def test_printing_and_random_draws_are_refused():
    def talks(x):
        s = np.sum(x)
        print(s)
        return s

    def draws(x, generator):
        return np.sum(x * generator.normal(size=x.shape[0]))
    with pytest.raises(UnsupportedOnDevice, match="cannot print"):
        autodiff.grad(talks, target="cuda").specialize(np.ones(3))
    with pytest.raises(UnsupportedOnDevice, match="random"):
        autodiff.grad(draws, target="cuda").specialize(np.ones(3), np.random.default_rng(0))


def test_complex_arrays_are_refused():
    def loss(z):
        return np.sum(np.abs(z) ** 2)
    with pytest.raises(UnsupportedOnDevice, match="complex"):
        autodiff.grad(loss, target="cuda")(cuda.to_device(np.ones(3, complex)))


def test_a_product_of_all():
    def product(x):
        return np.prod(1.0 + 0.1 * x)
    x = np.arange(40.0)
    assert_alike(autodiff.differentiable(product, target="cuda")(cuda.to_device(x)), product(x), rtol=1e-12)
    assert_alike(autodiff.grad(product, target="cuda")(cuda.to_device(x)), 0.1 * product(x) / (1.0 + 0.1 * x))


def test_cpu_use_imports_nothing_of_cuda(tmp_path):
    script = tmp_path / "plain.py"
    script.write_text("import sys\nimport numpy as np\nimport autodiff\n\n\ndef loss(x):\n    return np.sum(x * x)\n\n\n"
                      "autodiff.grad(loss)(np.ones(3))\nprint([m for m in sys.modules if '.cuda' in m])\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr


def test_library_calls_that_devices_have_not():
    from autodiff.runtime.cuda.library import NumPyLike, Torch
    from autodiff.runtime.library_calls import CALLS
    for name, call in CALLS.items():
        method = name if name == "complex_slogdet" else name.replace("complex_", "")
        assert call.device == hasattr(NumPyLike, method) == hasattr(Torch, method), name

    def root(a):
        return np.sum(linalg.sqrtm(a))
    with pytest.raises(UnsupportedOnDevice, match="`sqrtm` is not available"):
        autodiff.grad(root, target="cuda").specialize(np.eye(3))


def test_the_tape_of_a_device_is_told():
    given = EXAMPLES["asian_option"]
    tape = autodiff.grad(given.function, wrt=given.wrt, target="cuda").specialize(*given.arguments()).tape
    n, steps = given.arguments()[0].shape
    assert "s_tape[steps, n] float64" in str(tape)                          # laid out for neighbouring threads
    assert sum(item.bytes for item in tape.bill(*given.arguments()) if item.holds.startswith("saved")) == 8 * n * steps
    given = EXAMPLES["until"]
    tape = autodiff.grad(given.function, target="cuda").specialize(*given.arguments()).tape
    assert "v_tape[iterations, x_size]" in str(tape) and "trips_tape[x_size]" in str(tape)


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed):
    assert not verdict(seed)[0].isdigit()


def test_what_masks_choose_in_a_thread():
    """Loops over the mask need no size that only a thread knows; what needs it is refused."""
    def masked(x, A):
        for k in range(A.shape[0]):
            row = A[k]
            row[row > 0.2] *= x[k]
        return np.sum(A * A) + np.sum(A[:2, ::2])

    def ordered(x, A):
        s = 0.0
        for k in range(A.shape[0]):
            s += np.sum(np.sort(A[k][A[k] > 0.2])[:1]) * x[k]
        return s
    assert verdict(1245) == "ok"
    x, A = np.ones(3), np.random.default_rng(0).normal(size=(3, 4))
    found = autodiff.grad(masked, wrt=(0, 1), target="cuda")(x, A)
    assert_alike(found, autodiff.grad(masked, wrt=(0, 1), mode="python")(x, A))
    with pytest.raises(UnsupportedOnDevice):
        autodiff.grad(ordered, wrt=(0, 1), target="cuda")(x, A)


def test_sizes_that_are_numbers_of_numpys():
    def f(x, n):
        return np.sum(np.zeros((n, 2)) + x[0])
    x = np.array([2.0])
    assert_alike([autodiff.grad(f, target="cuda")(x, np.int64(3))], [np.array([6.0])])
