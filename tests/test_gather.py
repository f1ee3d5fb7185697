"""Scatters as gathers: small sizes where borders meet, several axes, and loops that must stay as they are."""

import random

import numpy as np
import pytest
from numba import njit

from autodiff import jvp, value_and_grad

from .support import assert_gradient, module_of


def three_points(x):
    y = np.zeros_like(x)
    for _ in range(2):
        y[1:-1] = 0.3 * (x[:-2] ** 2 + x[1:-1] + x[2:] ** 3)
        x = y * 1.0
    return np.sum(x * np.arange(len(x)))


def far_apart(x):
    return np.sum(np.sin(x[:-4]) * x[4:] + x[2:-2] ** 2 * x[4:])


def five_points(u):
    v = np.zeros_like(u)
    v[1:-1, 1:-1] = u[1:-1, 1:-1] * (u[2:, 1:-1] + u[:-2, 1:-1]) + np.cos(u[1:-1, 2:] - u[1:-1, :-2])
    v[0] = u[1]
    u[1:-1, 1:-1] = v[1:-1, 1:-1] ** 2 + v[2:, 2:] - v[:-2, :-2]
    return np.sum(u * u)


def seven_points(u):
    v = u.copy()
    for _ in range(2):
        v[1:-1, 1:-1, 1:-1] = 0.4 * u[1:-1, 1:-1, 1:-1] + 0.1 * (
            u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1] + u[1:-1, 1:-1, 2:]
            + u[1:-1, 1:-1, :-2])
        u[1:-1, 1:-1, 1:-1] = v[1:-1, 1:-1, 1:-1] * v[2:, 1:-1, 1:-1]
    return np.sum(u ** 2)


def two_targets(u):
    a, b = u * 1.0, np.sin(u)
    c = a[1:] * b[:-1] - b[1:] * a[:-1]
    d = c[1:, 1:] * a[1:-1, :-1]
    return np.sum(c ** 2) + np.sum(d)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 9])
@pytest.mark.parametrize("program", [three_points, far_apart], ids=lambda p: p.__name__)
def test_one_axis(program, n):
    if program is far_apart and n < 5:
        n += 4
    assert_gradient(program, (np.linspace(0.3, 1.2, n),), (0,), "python")


@pytest.mark.parametrize("shape", [(3, 3), (3, 7), (4, 4), (5, 3), (6, 8)])
@pytest.mark.parametrize("program", [five_points, two_targets], ids=lambda p: p.__name__)
def test_two_axes(program, shape):
    assert_gradient(program, (np.random.default_rng(1).random(shape) + 0.3,), (0,), "python")


@pytest.mark.parametrize("shape", [(3, 3, 3), (3, 5, 4), (5, 5, 6)])
def test_three_axes(shape):
    assert_gradient(seven_points, (np.random.default_rng(1).random(shape) + 0.3,), (0,), "python")


@pytest.mark.parametrize(("program", "shape"), [(five_points, (12, 17)), (seven_points, (7, 8, 9)), (three_points, (23,))],
                         ids=lambda p: getattr(p, "__name__", ""))
def test_compiled(program, shape):
    assert_gradient(program, (np.random.default_rng(1).random(shape) + 0.3,), (0,), "numba")


def jacobi(A, B):
    for _ in range(4):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])
    return A.sum()


def downward(x):
    """The reverse of this loop runs upwards, and each of its iterations needs what the one before has cleared."""
    for i in range(len(x) - 2, 0, -1):
        x[i] = 0.5 * x[i - 1] + 0.3 * x[i + 1] + 0.1 * x[i]
    return np.sum(x * np.arange(len(x)))


def downward_rows(x):
    A = np.outer(x, x)
    for i in range(len(x) - 2, -1, -1):
        for j in range(len(x)):
            A[i, j] = A[i + 1, j] * 0.5
    return np.sum(A * A[0])


@pytest.mark.parametrize("program", [downward, downward_rows], ids=lambda p: p.__name__)
def test_loops_whose_order_matters(program):
    assert_gradient(program, (np.linspace(0.3, 1.2, 7),), (0,), "python")


def test_an_element_is_written_once():
    """In the middle of the adjoint of a 5-point stencil one addition collects from five neighbours."""
    made = value_and_grad(jacobi, mode="python")
    made(np.ones((9, 9)), np.ones((9, 9)))
    text = made.source[made.source.index("reverse sweep"):]
    lines = text.splitlines()
    collected = max(sum(line.count("A_bar[") for line in lines[k:k + 2] if "0.2" in line) for k in range(len(lines)))
    assert collected >= 5, text


def test_hot_loop_is_vectorised():
    """Packed arithmetic in the machine code of both sweeps."""
    import platform
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("looks for x86 instructions")
    A = np.ones((9, 9))
    made = value_and_grad(jacobi, mode="python")
    made(A, A.copy())
    space: dict = {}
    exec(made.source, space)
    compiled = njit(error_model="numpy")(space["jacobi_value_and_grad"])        # machine code from the store has no text
    compiled(A, A.copy())
    assembly = "\n".join(compiled.inspect_asm().values())
    assert assembly.count("mulpd") > 4 and assembly.count("addpd") > 8


def random_stencil(seed: int) -> str:
    """A program that adds neighbours of random distances, of one to three axes, linear and not, in one or two arrays."""
    r = random.Random(seed)
    rank = r.choice([1, 2, 2, 2, 3, 3])
    reach = [r.choice([0, 1, 1, 2]) for _ in range(rank)]

    def part(name):
        bounds = []
        for k in range(rank):
            d = r.randint(-reach[k], reach[k])
            first, last = reach[k] + d, reach[k] - d
            bounds.append(f"{first}:{-last or None}")
        return f"{name}[{', '.join(bounds)}]"

    inner = ", ".join(f"{d}:{-d or None}" for d in reach)
    lines = ["def program(u, w):", "    v = u * 1.0", f"    for _ in range({r.choice([1, 2])}):"]
    for _ in range(r.choice([1, 1, 2])):
        terms = [r.choice([f"0.3 * {part('u')}", f"np.sin({part('u')})", f"{part('w')} * {part('u')}",
                           f"{part('u')} * {part('v')}", part("u")]) for _ in range(r.randint(2, 6))]
        target = r.choice(["v", "v", "u"])
        lines.append(f"        {target}[{inner}] {r.choice(['=', '=', '+='])} 0.2 * ({' + '.join(terms)})")
    return "import numpy as np\n\n\n" + "\n".join([*lines, "    return np.sum(v ** 2) + np.sum(u * np.cos(v))"]) + "\n"


@pytest.mark.parametrize("seed", range(24))
def test_random_stencils(seed):
    check_stencil(seed, "python")


def test_a_random_stencil_of_three_axes_compiled():
    check_stencil(7, "numba")


def check_stencil(seed, mode):
    """The reverse sweep, which gathers, against the forward one, which does not."""
    text = random_stencil(seed)
    file, space = f"<stencil {seed}>", {}
    module_of(file, text, space)
    program = space["program"]
    rank = text.split("[")[1].split("]")[0].count(":")
    r = np.random.default_rng(seed)
    for _ in range(3):
        shape = tuple(r.integers(4, 9, rank))
        u, w, du, dw = (r.random(shape) for _ in range(4))
        value, slope = jvp(program, (u.copy(), w.copy()), (du, dw), mode=mode)
        again, (u_bar, w_bar) = value_and_grad(program, wrt=("u", "w"), mode=mode)(u.copy(), w.copy())
        assert np.isclose(value, again) and np.isclose(value, program(u.copy(), w.copy()))
        assert np.isclose(slope, np.sum(u_bar * du) + np.sum(w_bar * dw)), text
