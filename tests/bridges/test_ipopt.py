"""Problems for Ipopt: derivatives and structures against dense ones, and known optima where cyipopt is installed."""

import numpy as np
import pytest

from autodiff import NonDifferentiable, ShapeMismatch, TypeConflict, ipopt


def hs71(x):
    return x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2]


def hs71_limits(x):
    return np.prod(x), np.sum(x ** 2)


def control(x, h):
    return h * np.sum(x["u"] ** 2) + np.sum(x["s"][:, 0] ** 2)


def dynamics(x, h):
    s, u = x["s"], x["u"]
    position = s[1:, 0] - s[:-1, 0] - h * s[:-1, 1]
    speed = s[1:, 1] - s[:-1, 1] - h * (np.sin(s[:-1, 0]) + u)
    return {"steps": (position, speed), "ends": s[0, :] - 1.0}


def dense(problem, x, multipliers, factor):
    """(Jacobian, Hessian of the Lagrangian) by central differences of what the problem tells."""
    steps = 1e-5 * np.eye(problem.n)
    J = np.array([(problem.constraints(x + d) - problem.constraints(x - d)) / 2e-5 for d in steps]).T.reshape(-1, problem.n)

    def slope(x):
        full = np.zeros((problem.m, problem.n))
        full[problem.jacobianstructure()] = problem.jacobian(x)
        return factor * problem.gradient(x) + multipliers @ full
    return J, np.array([(slope(x + d) - slope(x - d)) / 2e-5 for d in steps])


def agrees(problem, generator):
    x, multipliers = generator.uniform(0.5, 1.5, problem.n), generator.standard_normal(problem.m)
    J, H = dense(problem, x, multipliers, 0.7)
    found = np.zeros_like(J)
    found[problem.jacobianstructure()] = problem.jacobian(x)
    np.testing.assert_allclose(found, J, rtol=1e-6, atol=1e-7)
    rows, columns = problem.hessianstructure()
    assert np.all(rows >= columns) and len(set(zip(rows, columns))) == rows.size
    found = np.zeros_like(H)
    found[rows, columns] = problem.hessian(x, multipliers, 0.7)
    np.testing.assert_allclose(found, np.tril(H), rtol=1e-5, atol=1e-6)


def test_derivatives_of_structures():
    p = ipopt.problem(control, dynamics, {"s": np.zeros((4, 2)), "u": np.zeros(3)}, (0.1,), mode="python")
    assert (p.n, p.m) == (11, 8)
    agrees(p, np.random.default_rng(0))
    agrees(p.at(0.5), np.random.default_rng(1))
    assert p.jacobianstructure()[0].size < 30               # not dense: 88


def branching(x, links, weights):
    out = np.zeros(len(links))
    for k in range(len(links)):
        i, j = links[k, 0], links[k, 1]
        out[k] = weights[k] * x[i] * x[j] ** 2 if x[i] > 1.0 else np.sin(x[j]) * weights[k]
    return out


@pytest.mark.parametrize("seed", range(3))
def test_random_sparse_problems(seed):
    """The structure holds on both sides of every branch."""
    generator = np.random.default_rng(seed)
    n, m = generator.integers(3, 8), generator.integers(1, 6)
    links, weights = generator.integers(0, n, (m, 2)), generator.standard_normal(m)
    p = ipopt.problem(lambda x, links, weights: np.sum(x[:-1] * x[1:] ** 2), branching, int(n), (links, weights),
                      mode="python")
    for _ in range(3):
        agrees(p, generator)
    assert {*zip(*p.jacobianstructure())} == {(k, i) for k in range(m) for i in links[k]}


def test_the_function_is_not_run_for_the_structure():
    p = ipopt.problem(lambda x: 1.0 / x[0], lambda x: np.array([np.log(x[1])]), 2, mode="python")      # nothing at zero
    assert [list(a) for a in p.jacobianstructure()] == [[0], [1]]


def test_mistakes():
    p = ipopt.problem(hs71, hs71_limits, 4, mode="python")
    with pytest.raises(ShapeMismatch, match="4 variables"):
        p.gradient(np.ones(3))
    with pytest.raises(TypeError, match="args=\\(value,\\)"):
        ipopt.problem(control, dynamics, 4, 0.1)
    with pytest.raises(TypeConflict, match="complex"):
        ipopt.problem(hs71, None, np.zeros(4, complex))
    with pytest.raises(TypeError, match="return several"):
        ipopt.problem(hs71, [hs71_limits], 4)
    assert not hasattr(ipopt.problem(hs71, hs71_limits, 4, hessian=False, mode="python"), "hessian")


def test_hock_schittkowski_71():
    """Published optimum: f = 17.0140173, x = (1, 4.7429994, 3.8211503, 1.3794082)."""
    pytest.importorskip("cyipopt")
    p = ipopt.problem(hs71, hs71_limits, 4, mode="python")
    with pytest.raises(TypeError, match="cl= and cu="):
        p.solve(np.ones(4))
    with pytest.raises(ValueError, match="cross"):
        p.solve(np.ones(4), 2.0, 1.0, 0.0, 0.0)
    s = p.solve([1.0, 5.0, 5.0, 1.0], 1.0, 5.0, (25.0, 40.0), (np.inf, 40.0))
    assert s.success
    np.testing.assert_allclose(s.objective, 17.0140173, rtol=1e-7)
    np.testing.assert_allclose(s.x, [1.0, 4.7429994, 3.8211503, 1.3794082], rtol=1e-5)


def test_optimal_control():
    """Each group of constraints has bounds of its own; the solution satisfies the dynamics."""
    pytest.importorskip("cyipopt")
    like = {"s": np.zeros((11, 2)), "u": np.zeros(10)}
    p = ipopt.problem(control, dynamics, like, (0.1,), mode="python")
    s = p.solve(cl={"steps": 0.0, "ends": 0.0}, cu={"steps": (0.0, 0.0), "ends": np.zeros(2)})
    assert s.success and set(s.x) == {"s", "u"} and s.x["s"].shape == (11, 2)
    np.testing.assert_allclose(s.constraints, 0.0, atol=1e-8)
    J = np.zeros((p.m, p.n))
    J[p.jacobianstructure()] = p.jacobian(p.vector(s.x))
    np.testing.assert_allclose(p.gradient(p.vector(s.x)) + s.multipliers @ J, 0.0, atol=1e-7)


def test_hock_schittkowski_43():
    """Published optimum (Rosen and Suzuki): f = -44, x = (0, 1, 2, -1). Hock and Schittkowski, Test Examples for Nonlinear
    Programming Codes, 1981."""
    pytest.importorskip("cyipopt")

    def objective(x):
        return np.dot(x, x) + x[2] ** 2 - 5.0 * x[0] - 5.0 * x[1] - 21.0 * x[2] + 7.0 * x[3]

    def limits(x):
        a, b, c, d = x
        return (8.0 - a * a - b * b - c * c - d * d - a + b - c + d,
                10.0 - a * a - 2.0 * b * b - c * c - 2.0 * d * d + a + d,
                5.0 - 2.0 * a * a - b * b - c * c - 2.0 * a + b + d)
    p = ipopt.problem(objective, limits, 4, mode="python")
    assert p.hessianstructure()[0].size == 4                # all second derivatives are on the diagonal
    s = p.solve(np.zeros(4), cl=0.0, cu=np.inf)
    assert s.success
    np.testing.assert_allclose(s.objective, -44.0, rtol=1e-7)
    np.testing.assert_allclose(s.x, [0.0, 1.0, 2.0, -1.0], atol=1e-6)


@pytest.mark.parametrize("hessian", [True, False])
def test_an_objective_that_is_no_number(hessian):
    def doubled(x):
        return 2.0 * x

    with pytest.raises(NonDifferentiable, match="objective returns an array of rank 1") as caught:
        ipopt.problem(doubled, None, 3, mode="python", hessian=hessian)
    assert "in doubled" in str(caught.value)
