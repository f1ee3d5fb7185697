"""Sparse Jacobians and Hessians against the dense ones; their structures, at other arguments too; colourings; index sets."""

import pickle

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

from autodiff import (
    AutodiffError,
    NonDifferentiable,
    ShapeMismatch,
    SparsityError,
    UnsupportedSyntax,
    grad,
    jacobian,
)

from .benchmarks.sparse import burgers_by_loops as looped
from .benchmarks.sparse import burgers_by_slices as slices
from .benchmarks.sparse import burgers_on_a_ring as rolled
from .fuzz.checks import runs
from .fuzz.programs import program as random_program
from .test_jacobian import PROGRAMS, parts

U = np.array([0.3, -0.7, 0.9, 1.1, -0.5, 0.2, 0.8])
N = len(U)


def assembled(blocks, rows, columns):
    """All blocks as one dense matrix; blocks of any shape, of `rows` and `columns` numbers."""
    return np.block([[(b.toarray() if scipy.sparse.issparse(b) else np.asarray(b)).reshape(m, n)
                      for b, n in zip(line, columns, strict=True)] for line, m in zip(blocks, rows, strict=True)])


def compared(f, *args, direction="auto", mode="python", **options):
    """The sparse Jacobian of a function of one array, after it was compared with the dense one."""
    J = jacobian(f, sparse=True, direction=direction, mode=mode, debug=True, **options)
    check(J, jacobian(f, mode="python", **options), *args)
    return J


def check(J, dense, *args):
    for found, wanted in zip(parts(J(*args)), parts(dense(*args)), strict=True):
        assert isinstance(found, scipy.sparse.csr_array) and found.has_canonical_format
        np.testing.assert_allclose(found.toarray(), np.asarray(wanted).reshape(found.shape), rtol=1e-10, atol=1e-12)


def pattern(J):
    return J.sparsity.pattern.toarray()


def near(n, *offsets, periodic=False):
    """The structure with entries at these offsets from the diagonal."""
    made = np.zeros((n, n), bool)
    for i in range(n):
        for k in offsets:
            if periodic or 0 <= i + k < n:
                made[i, (i + k) % n] = True
    return made


# ---- the structure of programs ------------------------------------------------------------------------

@pytest.mark.parametrize("program, x", [p for p in PROGRAMS if getattr(p[0], "__name__", "") not in ("selected", "choices")])
def test_programs(program, x):
    def f(x):
        return program(x)
    for direction in ("forward", "reverse"):
        compared(f, x, direction=direction)


@pytest.mark.parametrize("program, periodic", [(slices, False), (rolled, True), (looped, True)])
def test_burgers(program, periodic):
    J = compared(program, U, 0.1, 0.5, mode="numba" if program is rolled else "python")
    wanted = near(N, -1, 0, 1, periodic=periodic)
    if not periodic:
        wanted[0] = wanted[-1] = False
        wanted[0, 0] = wanted[-1, -1] = True
    assert (pattern(J) == wanted).all()
    assert J.sparsity.colours <= 4 and J.sparsity.direction == "forward" and J.sparsity.shape == (N, N)
    J(U + 1.0, 0.2, 0.5)
    assert "u_dot" in J.source and "union_sets" in str(J.stages["structure"])


def upwind(u):
    flux = np.empty(len(u))
    for i in range(len(u)):
        if u[i] > 0:
            flux[i] = u[i] ** 2
        else:
            flux[i] = u[(i + 1) % len(u)] ** 2
    return flux - np.roll(flux, 1)


def limited(u):
    d = np.diff(u)
    a, b = d[1:], d[:-1]
    return np.where(a * b > 0, np.where(np.abs(a) < np.abs(b), a, b), 0.0)


def extremes(u):
    return np.minimum(np.abs(u[1:]), 0.4) + np.maximum(u[:-1], 0.0) ** 2 + np.clip(u[1:], -0.2, 0.4)


def guarded(u):
    """What is read is not there unless the first part of the condition holds."""
    r = np.zeros(len(u))
    for i in range(len(u)):
        if i > 0 and u[i] > u[i - 1]:
            r[i] = u[i - 1] * u[i]
        elif not (i == len(u) - 1 or u[i] < 0):
            r[i] = u[i + 1]
    return r


def indexed_behind(u):
    """An index that is valid on one side only, and there only because of values."""
    k = np.array([0, 99, 2, -50, 4, 7, 1])
    r = np.zeros(len(u))
    for i in range(len(u)):
        if u[i] > 0.25 and u[i] < 1.05:
            r[i] = u[min(k[i] % 8, 6)] * u[i]
        elif abs(u[i]) > 10:
            r[i] = u[k[i]]
    return r


def newton(u):
    """An iteration that ends when it is precise enough, for each element alone."""
    r = np.empty(len(u))
    for i in range(len(u)):
        y = 1.0
        for _ in range(20):
            step = (y * y * y + y - u[i] - 2.0) / (3 * y * y + 1)
            y -= step
            if abs(step) < 1e-12:
                break
        r[i] = y
    return r


def settled(u):
    """A while loop on values, with a temporary that is overwritten."""
    y = u * 1.0
    t = np.zeros(len(u))
    while np.sum(y ** 2) > 0.5:
        for i in range(1, len(u)):
            t[i] = 0.6 * y[i - 1] if y[i] > 0.1 else 0.5 * y[i]
        y[1:] = t[1:]
        y[0] *= 0.5
    return y


def searched(u):
    """Interpolation in a table: the place depends on the values, what it gives on one of them."""
    grid, table = np.linspace(-1, 2, 7), np.array([0.0, 1.0, 0.5, 0.3, 0.9, 1.5, 1.0])
    r = np.empty(len(u))
    for i in range(len(u)):
        k = 0
        while k < 5 and grid[k + 1] < u[i]:
            k += 1
        r[i] = table[k] + (table[k + 1] - table[k]) * (u[i] - grid[k]) * 2
    return r


def picked(u):
    k = int(abs(u[0]) * 5) % len(u)
    r = u * 1.0
    r[k] = u[k - 1] ** 2
    return r


def ordered(u):
    return np.sort(u)[1:] - np.sort(u)[:-1]


def stepped(u):
    for _ in range(2):
        u = u + 0.1 * (np.roll(u, 1) - u)
    return u


def swapped(u):
    a, b = u * 1.0, np.zeros(len(u))
    for _ in range(3):
        for i in range(1, len(u)):
            b[i] = a[i] * a[i - 1]
        a, b = b, a
    return a


CONSERVATIVE = [(upwind, near(N, -1, 0, 1, periodic=True)), (limited, near(N, 0, 1, 2)[:-2]),
                (extremes, near(N, 0, 1)[:-1]), (guarded, near(N, -1, 0, 1)), (newton, near(N, 0)), (searched, near(N, 0)),
                (indexed_behind, None), (settled, None), (picked, None), (ordered, None),
                (stepped, near(N, -2, -1, 0, periodic=True)), (swapped, None)]


@pytest.mark.parametrize("program, wanted", CONSERVATIVE, ids=[p[0].__name__ for p in CONSERVATIVE])
def test_one_structure_for_all_values(program, wanted):
    J, dense = jacobian(program, sparse=True, mode="python", debug=True), jacobian(program, mode="python")
    J(U)
    plan = J._plan
    generator = np.random.default_rng(0)
    for _ in range(6):
        check(J, dense, generator.standard_normal(N))
        assert J._plan is plan
    if wanted is not None:
        assert not (pattern(J) & ~wanted).any()


def moved(args, generator):
    """Arguments of the same shapes, with other floats."""
    return [a if np.asarray(a).dtype.kind != "f" else a + generator.uniform(-0.5, 0.5, np.shape(a)) if np.ndim(a)
            else float(a + generator.uniform(-0.5, 0.5)) for a in args]


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::SyntaxWarning")
def test_random_programs():
    count = 0
    for seed in range(300, 312):
        p = random_program(seed)
        if not runs(p):
            continue
        generator, args = np.random.default_rng(seed), p.values()
        wrt = tuple(k for k, a in enumerate(args) if np.asarray(a).dtype.kind == "f")
        f = p.module()["f"]
        J = jacobian(f, wrt=wrt, sparse=True, mode="python", debug=True)
        dense = jacobian(f, wrt=wrt, direction="forward", mode="python")
        for _ in range(3):
            try:
                wanted, found = dense(*args), J(*args)
            except AutodiffError as e:
                assert not isinstance(e, SparsityError) or "depends on values" in str(e), p.source
                break
            several = isinstance(wanted[0], tuple)
            lines, own = (wanted, found) if several else ([wanted], [found])
            rows, columns = [line[0].shape[0] for line in own], [b.shape[1] for b in own[0]]
            wanted, found = assembled(lines, rows, columns), assembled(own, rows, columns)
            if np.isfinite(wanted).all():
                count += 1
                np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-10 * max(1.0, np.abs(wanted).max()),
                                           err_msg=p.source)
            args = moved(p.values(), generator)
    assert count > 8


# ---- what decides the structure -----------------------------------------------------------------------

def reached(u, k, widths, mask):
    r = np.zeros(len(u))
    for i in range(len(u)):
        for j in range(widths[i]):
            r[i] += np.sin(u[(i + k * j) % len(u)])
        if mask[i] > 0.5:
            r[i] *= u[0]
    return r


def test_other_arguments_decide_the_structure():
    J, dense = jacobian(reached, sparse=True, mode="python"), jacobian(reached, mode="python")
    widths, mask = np.array([1, 2, 3, 0, 1, 2, 1]), np.linspace(0.0, 1.0, N)
    check(J, dense, U, 2, widths, mask)
    plan, entries = J._plan, J.sparsity.nnz
    check(J, dense, 2 * U, 2, widths.copy(), mask)
    assert J._plan is plan
    for args in [(3, widths, mask), (2, widths + 1, mask), (2, widths, 1 - mask), (2, widths, mask + 1)]:
        check(J, dense, U, *args)
        assert J._plan is not plan
    widths[0] = 4                                       # in place
    check(J, dense, U, 2, widths, mask)
    assert J.sparsity.nnz > entries
    check(J, dense, U[:5], 2, widths, mask)
    assert J.sparsity.shape == (5, 5)


def test_structures_and_several_arguments():
    def f(state, k):
        a = state["a"]
        return {"y": a[1:] * k, "n": 3, "m": np.outer(a, state["b"]).T}, k * np.sum(state["b"])
    state = {"a": U, "b": np.array([2.0, 3.0])}
    J = jacobian(f, wrt=("state", "k"), sparse=True, mode="python")
    dense = jacobian(f, wrt=("state", "k"), mode="python")
    (found, last), (wanted, wanted_last) = J(state, 1.5), dense(state, 1.5)
    assert found["n"] is None
    pairs = [(found[key][0][x], wanted[key][0][x]) for key in "ym" for x in "ab"]
    pairs += [(found[key][1], wanted[key][1]) for key in "ym"]
    pairs += [(last[0]["b"], wanted_last[0]["b"]), (last[1], wanted_last[1])]
    for a, b in pairs:
        np.testing.assert_allclose(a.toarray(), np.asarray(b).reshape(a.shape), atol=1e-14)
    assert found["m"][0]["a"].shape == (14, 7) and last[1].shape == (1, 1) and found["y"][0]["b"].nnz == 0


def test_matrices_are_flattened_in_c_order():
    def laplace(u):
        r = -4.0 * u
        r[1:] += u[:-1]
        r[:-1] += u[1:]
        r[:, 1:] += u[:, :-1]
        r[:, :-1] += u[:, 1:]
        return r
    J = compared(laplace, np.arange(20.0).reshape(4, 5))
    line = [scipy.sparse.diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(k, k)) for k in (4, 5)]
    whole = scipy.sparse.kron(line[0], np.eye(5)) + scipy.sparse.kron(np.eye(4), line[1])
    np.testing.assert_allclose(J(np.ones((4, 5))).toarray(), whole.toarray())
    assert J.sparsity.colours < 12


@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_many_colours_take_several_sweeps(direction):
    def f(x):
        return np.cumsum(np.sin(x)), x[:3] * np.prod(x)
    J = compared(f, np.linspace(0.5, 1.2, 37), direction=direction)
    assert J.sparsity.colours == 37 if direction == "forward" else 40


@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_lists_and_library_calls(direction):
    def listed(x, k):
        out, s = [], 0.0
        for i in range(len(x) - k):
            out.append(x[i] * x[i + k])
            s += out[i] ** 2
        while len(out) > 2 * k:
            out.pop()
        return np.array(out), s

    def solved(x, k):
        a = np.outer(x[:3], x[:3]) + 3 * np.eye(3)
        b = np.stack((x[:3], x[2:5] ** 2), axis=1)
        return np.linalg.solve(a, b), np.linalg.solve(np.eye(3) * k, b), np.linalg.det(a)
    def squared(x, k):
        a = x[:6].reshape(2, 3)
        return a.T @ a, a @ a.T, a.T @ np.cos(a * k)
    for f in (listed, solved, squared):
        J = compared(f, U, 2, direction=direction)
    assert J.sparsity.nnz < 80
    assert not jacobian(solved, sparse=True, mode="python")(U, 2)[1].toarray()[0, 3:].any()


def test_few_full_rows_go_backwards():
    def f(x):
        return np.sum(x ** 2), x[0] * x[-1]
    J = compared(f, np.linspace(0.0, 1.0, 30))
    assert J.sparsity.direction == "reverse" and J.sparsity.colours == 2 and "x_bar" in J.source


@pytest.mark.parametrize("n", [0, 1, 2])
def test_small_and_empty(n):
    def f(x, y):
        return np.sin(x), np.zeros(3), x * 0.0 + np.sum(y)
    for wrt in (0, (0, 1)):
        J = jacobian(f, wrt=wrt, sparse=True, mode="python")
        found = J(np.ones(n), np.ones(2))
        assert [(b[0] if wrt else b).shape for b in found] == [(n, n), (3, n), (n, n)]


def test_single_precision():
    x = U.astype(np.float32)
    found = jacobian(lambda x: x[1:] * x[:-1], sparse=True, mode="python")(x)
    assert found.dtype == np.float32 and found.shape == (N - 1, N)


def test_results_are_the_callers():
    J = jacobian(rolled, sparse=True, mode="python")
    first = J(U, 0.1, 0.5)
    first.indices[:], first.indptr[:], first.data[:] = 0, 0, 0.0
    check(J, jacobian(rolled, mode="python"), U, 0.1, 0.5)


def test_newtons_method():
    source = np.sin(np.arange(60) * 0.3)

    def residual(u):
        return u + 0.1 * rolled(u, 0.4, 1.0) - source
    J = jacobian(residual, sparse=True)
    u = np.zeros(60)
    for _ in range(8):
        u = u - scipy.sparse.linalg.spsolve(J(u).tocsc(), residual(u))
    assert np.abs(residual(u)).max() < 1e-12


def test_pickle():
    J = pickle.loads(pickle.dumps(jacobian(slices, sparse=True, mode="python", sparsity=near(N, -1, 0, 1))))
    check(J, jacobian(slices, mode="python"), U, 0.1, 0.5)


# ---- structures given ---------------------------------------------------------------------------------

@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_a_given_structure(direction):
    for given in (near(N, -1, 0, 1, 2), scipy.sparse.csc_array(near(N, -1, 0, 1).astype(float))):
        J = jacobian(slices, sparse=True, sparsity=given, direction=direction, mode="python")
        check(J, jacobian(slices, mode="python"), U, 0.1, 0.5)
        assert J.sparsity.nnz == given.sum()
    wrong = near(N, -1, 0, 1)
    wrong[3, 2] = False
    with pytest.raises(SparsityError, match=f"misses entries .* in {'row 3' if direction == 'forward' else 'column 2'}"):
        jacobian(slices, sparse=True, sparsity=wrong, direction=direction, mode="python")(U, 0.1, 0.5)
    with pytest.raises(SparsityError, match="misses entries"):
        jacobian(slices, sparse=True, sparsity=np.zeros((N, N)), direction=direction, mode="python")(U, 0.1, 0.5)
    with pytest.raises(ShapeMismatch, match=r"sparsity= has shape \(7, 6\), the Jacobian \(7, 7\)"):
        jacobian(slices, sparse=True, sparsity=np.ones((N, N - 1)), direction=direction, mode="python")(U, 0.1, 0.5)


def test_numbers_added_where_a_mask_holds():
    """The places of a mask need not be known: each element depends on itself, whether the mask holds or not."""
    def masked(x):
        y = x[::-1] * 1.0
        y[x > 0.5] **= 3
        y[y < 0.0] -= 0.25
        return y
    x = np.array([0.3, 0.7, -0.9, 0.6])
    J = jacobian(masked, sparse=True, mode="python")(x)
    np.testing.assert_allclose(J.toarray(), jacobian(masked, mode="python")(x))
    assert J.nnz == 4


def test_a_structure_that_values_decide_is_refused_unless_given():
    def selected(x):
        return x[x > 0.25] ** 2
    with pytest.raises(SparsityError, match="size of .* depends on values") as e:
        jacobian(selected, sparse=True)(U)
    assert "sparsity=" in str(e.value)
    given = np.eye(N, dtype=bool)[U > 0.25]
    check(jacobian(selected, sparse=True, sparsity=given, mode="python"), jacobian(selected, mode="python"), U)


def test_refusals():
    def inside(x):
        return np.sum(jacobian(slices, sparse=True)(x, 0.1, 0.5))
    with pytest.raises(UnsupportedSyntax, match="sparse Jacobian is not differentiated again"):
        grad(inside)(U)
    for f, x in ((lambda z: z * z, U + 1j), (lambda x: x * 1j, U)):
        with pytest.raises(NonDifferentiable, match="sparse derivatives of complex numbers are not supported"):
            jacobian(f, sparse=True)(x)
    with pytest.raises(TypeError, match="for sparse=True"):
        jacobian(slices, sparsity=np.eye(N))
    with pytest.raises(ValueError, match="direction must be"):
        jacobian(slices, sparse=True, direction="sideways")
    with pytest.raises(RuntimeError, match="not been called"):
        jacobian(slices, sparse=True).sparsity  # noqa: B018
