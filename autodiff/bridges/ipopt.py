"""Nonlinear programs for Ipopt: gradients, sparse Jacobians and the Hessian of the Lagrangian, and where their entries are.

    variables      an array or a structure of them, which Ipopt sees as one vector (`flattened`, `unraveled`)
    constraints    numbers, arrays and structures of them, one vector too
    structures     those of sparse Jacobians and Hessians (docs/sparse.md): they hold for every value of the variables

Source of the form of a problem: A. Waechter and L. T. Biegler, On the implementation of an interior-point filter line-search
algorithm for large-scale nonlinear programming, Mathematical Programming 106 (2006), 25-57.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..api import differentiable, grad
from ..arguments.kinds import flatten
from ..calling.tracebacks import entry as outermost
from ..operators.gradients import definition_place
from ..operators.jacobians import hessian as hessian_of
from ..operators.jacobians import jacobian
from ..solvers.trees import flattened, unraveled
from ..transforms.language.errors import NonDifferentiable, ShapeMismatch, SparsityError, TypeConflict
from ..transforms.lower.values import Array
from .leaves import of_parts

QUIET = {"print_level": 0, "sb": "yes"}         # Ipopt prints a banner and a table otherwise
SOLVED = (0, 1)                                 # to the tolerance that is asked for, or to the acceptable one


def objective_of(z, like, objective, args):
    """The objective of the vector z, which stands for something like `like`."""
    return objective(unraveled(z, like), *args)


def constraints_of(z, like, constraints, args):
    """The constraints as one vector."""
    return flattened(constraints(unraveled(z, like), *args))


def lagrangian(z, factor, multipliers, like, objective, constraints, args):
    """factor * f(x) + multipliers . c(x), whose Hessian Ipopt asks for."""
    return factor * objective_of(z, like, objective, args) + np.sum(multipliers * constraints_of(z, like, constraints, args))


def scaled(z, factor, like, objective, args):
    """The Lagrangian without constraints."""
    return factor * objective_of(z, like, objective, args)


class Structure:
    """Where a matrix that Ipopt gets has entries, for as long as the problem lives.

    rows, columns: of each entry, int64. matrix: what it is called in errors. lower: only the lower triangle counts.
    """

    def __init__(self, pattern, matrix: str, lower: bool = False):
        self.matrix, self.lower = matrix, lower
        self.indptr, self.indices, self.width = pattern.indptr, pattern.indices, pattern.shape[1]
        self.rows, self.columns, self.chosen = self.places(pattern)

    def places(self, matrix) -> tuple:
        """(row, column, number) of the entries of a CSR array that count."""
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        chosen = np.flatnonzero(rows >= matrix.indices) if self.lower else np.arange(rows.size)
        return rows[chosen], matrix.indices[chosen].astype(np.int64), chosen

    def values(self, found) -> np.ndarray:
        """The entries of a CSR array in the order of this structure, float64.

        What decides the structure may have changed since it was found (a global, an array among the arguments): fewer
        entries than it has are zeros, more are a SparsityError.
        """
        if np.array_equal(found.indices, self.indices) and np.array_equal(found.indptr, self.indptr):
            return found.data[self.chosen].astype(np.float64, copy=False)
        rows, columns, chosen = self.places(found)
        own, new = self.rows * self.width + self.columns, rows * self.width + columns
        at = np.searchsorted(own, new)
        known = np.append(own, -1)[at] == new
        if not known.all():
            k = np.flatnonzero(~known)[0]
            raise SparsityError(f"{self.matrix} has an entry in row {rows[k]}, col. {columns[k]} that its structure lacks, "
                                "as it was found: something else than the variables decides it, and has changed",
                                None, "pass it in args= and make a problem for its new value by at(*args), or give the "
                                "structure for all values with jacobian_sparsity= or hessian_sparsity=")
        made = np.zeros(own.size)
        made[at] = found.data[chosen]
        return made


@dataclasses.dataclass(eq=False)
class Solution:
    """What Ipopt found.

    x: the variables, in the structure of the example. objective: a float. constraints: a vector. multipliers: of the
    constraints, a vector; lower_multipliers, upper_multipliers: of the bounds, in the structure of x. status, message: as
    Ipopt tells; success: whether it is solved, to Ipopt's tolerance or its acceptable one.
    """

    x: Any
    objective: float
    constraints: np.ndarray
    multipliers: np.ndarray
    lower_multipliers: Any
    upper_multipliers: Any
    status: int
    message: str
    success: bool


class Problem:
    """What `problem` gives: a problem object as cyipopt takes it, of vectors of float64, and its solution by `solve`.

    n, m: numbers of variables and of constraints. args: what the functions take after the variables. second_order: whether
    there is a Hessian.
    """

    def __init__(self, operators: dict, like, args: tuple):
        self._operators, self._like, self.args = operators, like, args
        self._leaves = flatten(like)
        self.n = sum(map(np.size, self._leaves))
        self.second_order = "lagrangian" in operators
        start = self.vector(like)
        value, given = operators["value"], (start, like, operators["objective"], args)
        result = value._find(*value._bind(given, {})).result
        if isinstance(result, Array):
            raise NonDifferentiable(f"the objective returns an array of rank {result.rank}, not a number",
                                    definition_place(operators["objective"]), "reduce it (np.sum)")
        if operators["constraints"] is None:
            self.m = 0
        else:
            found = operators["jacobian"].structure(start, like, operators["constraints"], args)
            self.m = found.shape[0]
            self._jacobian = Structure(found.pattern, "the Jacobian of the constraints")
        if self.second_order:
            found = operators["lagrangian"].structure(start, 1.0, *self._multiplied(np.ones(self.m)))
            self._hessian = Structure(found.pattern, "the Hessian of the Lagrangian", lower=True)

    # -- what Ipopt calls ---------------------------------------------------------------------------------------
    @outermost
    def objective(self, x) -> float:
        """The objective at a vector of n numbers."""
        return float(self._operators["value"](*self._at(x)))

    @outermost
    def gradient(self, x) -> np.ndarray:
        """Its gradient, a vector of n numbers."""
        return self._operators["gradient"](*self._at(x))

    @outermost
    def constraints(self, x) -> np.ndarray:
        """The constraints, a vector of m numbers."""
        if not self.m:
            return np.zeros(0)
        return self._operators["rest"](*self._at(x, "constraints")).astype(np.float64, copy=False)

    @outermost
    def jacobian(self, x) -> np.ndarray:
        """The entries of the Jacobian of the constraints, in the order of `jacobianstructure`."""
        if not self.m:
            return np.zeros(0)
        return self._jacobian.values(self._operators["jacobian"](*self._at(x, "constraints")))

    def jacobianstructure(self) -> tuple[np.ndarray, np.ndarray]:
        """(rows, columns) of the entries of the Jacobian: all that are not zero for some value of the variables."""
        if not self.m:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        return self._jacobian.rows.copy(), self._jacobian.columns.copy()

    @outermost
    def hessian(self, x, lagrange, obj_factor) -> np.ndarray:
        """The entries of the lower triangle of the Hessian of obj_factor * f + lagrange . c, in the order of
        `hessianstructure`."""
        lagrange = np.array(lagrange, np.float64)
        if lagrange.shape != (self.m,):
            raise ShapeMismatch(f"there are {self.m} constraints, `lagrange` has shape {lagrange.shape}")
        z, *rest = self._at(x)
        return self._hessian.values(self._operators["lagrangian"](z, float(obj_factor), *self._multiplied(lagrange)))

    def hessianstructure(self) -> tuple[np.ndarray, np.ndarray]:
        """(rows, columns) of the entries of the Hessian of the Lagrangian, those of its lower triangle."""
        return self._hessian.rows.copy(), self._hessian.columns.copy()

    def __getattribute__(self, name):
        if name in ("hessian", "hessianstructure") and not self.second_order:       # cyipopt asks whether they are there
            raise AttributeError(f"the problem was made without second derivatives: it has no {name}")
        return super().__getattribute__(name)

    def _at(self, x, which: str = "objective") -> tuple:
        """What a function of the vector takes; a copy of x, which the user's function may write to."""
        x = np.array(x, np.float64)
        if x.shape != (self.n,):
            raise ShapeMismatch(f"there are {self.n} variables, x has shape {x.shape}")
        return x, self._like, self._operators[which], self.args

    def _multiplied(self, multipliers) -> tuple:
        """What the Lagrangian takes after its first two arguments."""
        own = self._operators
        if own["constraints"] is None:
            return self._like, own["objective"], self.args
        return multipliers, self._like, own["objective"], own["constraints"], self.args

    # -- variables as users have them ---------------------------------------------------------------------------
    def vector(self, x) -> np.ndarray:
        """Variables, in the structure of the example or as a vector already, as a new vector.

        A number in the place of an array stands for all of its elements. Raises ShapeMismatch for what does not fit.
        """
        return spread(x, self._like, "the variables")

    def variables(self, x):
        """A vector of n numbers in the structure of the example, in new memory."""
        return unflattened(np.array(x, np.float64), self._like)

    def at(self, *args) -> Problem:
        """The same problem for other arguments: nothing is compiled anew, structures are found for these."""
        return Problem(self._operators, self._like, args)

    # -- solving ------------------------------------------------------------------------------------------------
    def solve(self, x0=None, lb=None, ub=None, cl=None, cu=None, *, start: Solution | None = None, intermediate=None,
              **options) -> Solution:
        """Minimise the objective subject to lb <= x <= ub and cl <= c(x) <= cu, by Ipopt.

        x0: where to start, in the structure of the variables or as a vector; by default the example.
        lb, ub: numbers, or in the structure of the variables or vectors; None: no bound.
        cl, cu: numbers, vectors of m, or in the structure that the constraints have; None: no bound on this side. Equal ones
            are equations.
        start: a solution whose multipliers are the first ones (with Ipopt's option warm_start_init_point="yes"), and whose
            x is taken if there is no x0.
        intermediate: called after each iteration, as cyipopt says; False stops.
        options: those of Ipopt, by name: tol=1e-9, max_iter=200, linear_solver="mumps", print_level=5.
        Raises ImportError without cyipopt, ValueError for bounds that cross or are nan, TypeError for constraints without
        bounds and for options that Ipopt does not know, and what the functions raise.
        """
        import cyipopt  # only this needs it
        begin = x0 if x0 is not None else self._like if start is None else start.x
        x = self.vector(begin)
        if not np.isfinite(x).all():
            raise ValueError("x0 must be finite")
        low, high = (spread(fill if bound is None else bound, self._like, name)
                     for name, bound, fill in (("lb", lb, -np.inf), ("ub", ub, np.inf)))
        if cl is None and cu is None and self.m:
            raise TypeError(f"there are {self.m} constraints: say between which values, with cl= and cu= (both 0.0 for "
                            "equations)")
        if not self.m and not (cl is None and cu is None):
            raise TypeError("there are no constraints that cl= and cu= could bound")
        least, most = (self._bounded(x, fill if bound is None else bound, name)
                       for name, bound, fill in (("cl", cl, -np.inf), ("cu", cu, np.inf)))
        for a, b, names in ((low, high, "lb and ub"), (least, most, "cl and cu")):
            if not np.all(a <= b):
                k = np.flatnonzero(~(a <= b))[0]
                raise ValueError(f"{names} cross or are nan: {a[k]} and {b[k]} at {k}")
        solver = cyipopt.Problem(n=self.n, m=self.m, problem_obj=Callbacks(self, intermediate), lb=low, ub=high, cl=least,
                                 cu=most)
        try:
            for name, value in {**QUIET, **options}.items():
                try:
                    solver.add_option(name, value)
                except TypeError:
                    raise TypeError(f"Ipopt has no option {name}, or it cannot be {value!r}") from None
            first = {} if start is None else {
                "lagrange": start.multipliers, "zl": self.vector(start.lower_multipliers),
                "zu": self.vector(start.upper_multipliers)}
            found, info = solver.solve(x, **first)
        finally:
            solver.close()
        message = info["status_msg"]
        return Solution(self.variables(found), float(info["obj_val"]), np.array(info["g"]), np.array(info["mult_g"]),
                        self.variables(info["mult_x_L"]), self.variables(info["mult_x_U"]), int(info["status"]),
                        message.decode() if isinstance(message, bytes) else message, info["status"] in SOLVED)

    def _bounded(self, x, bound, name: str) -> np.ndarray:
        """A bound of the constraints as a vector."""
        if not structured(bound):
            return spread(bound, np.zeros(self.m), name)
        plain = self._operators["constraints"]          # where each number belongs, its result tells
        return spread(bound, plain(self.variables(x), *self.args), name)

    def __repr__(self):
        entries = f", {self._jacobian.rows.size} entries in the Jacobian" if self.m else ""
        entries += f", {self._hessian.rows.size} in the lower triangle of the Hessian" if self.second_order else ""
        return f"<problem: {self.n} variables, {self.m} constraints{entries}>"


class Callbacks:
    """A problem as cyipopt is given it. intermediate: the user's function, or None."""

    def __init__(self, problem: Problem, intermediate):
        names = ["objective", "gradient", "constraints", "jacobian", "jacobianstructure"]
        for name in names + ["hessian", "hessianstructure"] * problem.second_order:
            setattr(self, name, getattr(problem, name))
        if intermediate is not None:
            self.intermediate = intermediate


def structured(value) -> bool:
    """Whether a value is a structure, not an array, a number or a list of numbers."""
    if isinstance(value, list) and all(isinstance(v, (int, float, np.number)) for v in value):
        return False
    return isinstance(value, (tuple, list, dict)) or dataclasses.is_dataclass(value) and not isinstance(value, type)


def as_floats(value):
    """An example of variables with float64 in the places of its numbers and arrays; an int stands for a vector.

    Raises TypeConflict for what is not a real number.
    """
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        if value < 1:
            raise ValueError(f"there must be variables, not {value} of them")
        return np.zeros(int(value))

    def change(part):
        if structured(part):
            return of_parts(part, change)
        array = np.asarray(part)
        if array.dtype.kind not in "fiu":
            what = "complex numbers" if array.dtype.kind == "c" else f"a {type(part).__name__}"
            raise TypeConflict(f"the variables hold {what}: they must be real numbers and arrays", None,
                               "pass the rest in args=")
        return array.astype(np.float64) if array.ndim else float(array)
    return change(value)


def spread(value, like, name: str) -> np.ndarray:
    """A value as a new vector of float64 that belongs to something like `like`: a number for all, a vector of as many, the
    same structure with numbers or arrays that broadcast. ShapeMismatch for what does not fit."""
    size = sum(map(np.size, flatten(like)))
    parts: list[np.ndarray] = []

    def fit(value, like, place: str):
        if not structured(like):
            array = real(value, place)
            try:
                parts.append(np.broadcast_to(array, np.shape(like)).ravel())
            except ValueError:
                raise ShapeMismatch(f"{place} has shape {array.shape}, not {np.shape(like)}") from None
            return
        own, given = named(like), named(value) if structured(value) else None
        if given is None and np.ndim(value) == 0:
            given = dict.fromkeys(own, value)
        if given is None or own.keys() != given.keys():
            keys = ", ".join(map(str, own))
            raise ShapeMismatch(f"{place} has another structure than what it belongs to, whose parts are {keys}")
        for key, part in own.items():
            fit(given[key], part, f"{place}{key}")

    if not structured(value) and np.ndim(value) == 1 and np.size(value) == size:
        return real(value, name).copy()
    fit(value, like, name)
    return np.concatenate(parts) if parts else np.zeros(0)


def real(value, place: str) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind not in "fiu":
        raise TypeConflict(f"{place} must be real numbers, not {array.dtype}")
    return array.astype(np.float64)


def named(value) -> dict:
    """The parts of a structure, by how they are reached."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {f".{k}": v for k, v in zip(value._fields, value, strict=True)}
    if isinstance(value, dict):
        return {f"[{k!r}]": v for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return {f"[{k}]": v for k, v in enumerate(value)}
    return {f".{f.name}": getattr(value, f.name) for f in dataclasses.fields(value)}


def unflattened(vector: np.ndarray, like):
    """A vector in the structure of `like`."""
    at = 0

    def change(part):
        nonlocal at
        if structured(part):
            return of_parts(part, change)
        at += np.size(part)
        piece = vector[at - np.size(part):at]
        return piece.reshape(np.shape(part)) if np.ndim(part) else float(piece[0])
    return change(like)


@outermost
def problem(objective, constraints=None, x=None, args=(), *, hessian: bool = True, jacobian_sparsity=None,
            hessian_sparsity=None, mode: str = "numba", boundscheck: bool = True, fastmath: bool = False,
            precise: bool = False, parallel: bool = False, debug: bool = False) -> Problem:
    """A nonlinear program for Ipopt, with all derivatives and structures from the functions.

    objective: `objective(x, *args)`, a number, to be minimised. constraints: `constraints(x, *args)`, a number, an array, or
        a structure of them; None: there are none.
    x: how many variables there are (an int: x is a vector), or an example of them: an array, a number, or a tuple, list,
        dict or dataclass of these; a list of numbers is an array.
    args: what the functions take after x. Structures are those for these values; `at` gives a problem for others.
    hessian: False: no second derivatives; Ipopt then approximates them.
    jacobian_sparsity, hessian_sparsity: structures of yours in place of those found, as `sparsity=` of `jacobian`; that of
        the Hessian of the Lagrangian with both triangles.
    The other options are those of `grad`. The object has what cyipopt asks for and needs it only for `solve`.
    Raises SparsityError where no structure holds for every x, and AutodiffErrors as `jacobian` and `hessian` do.
    """
    if x is None:
        raise TypeError("problem(objective, constraints, x): say how many variables there are, or give an example of them")
    if not isinstance(args, tuple):
        raise TypeError(f"args must be a tuple, not {type(args).__name__}: write args=(value,)")
    if constraints is not None and not callable(constraints):
        raise TypeError(f"constraints must be one function, not a {type(constraints).__name__}: return several of them as a "
                        "tuple")
    options: dict[str, Any] = {"mode": mode, "boundscheck": boundscheck, "fastmath": fastmath, "precise": precise,
                               "parallel": parallel, "debug": debug}
    own: dict[str, Any] = {
        "objective": objective, "constraints": constraints, "value": differentiable(objective_of, **options),
        "gradient": grad(objective_of, **options), "rest": differentiable(constraints_of, **options),
        "jacobian": jacobian(constraints_of, sparse=True, sparsity=jacobian_sparsity, **options)}
    if hessian:
        whole = scaled if constraints is None else lagrangian
        own["lagrangian"] = hessian_of(whole, sparse=True, sparsity=hessian_sparsity, **options)
    elif hessian_sparsity is not None:
        raise TypeError("hessian_sparsity= is for hessian=True")
    return Problem(own, as_floats(x), args)


__all__ = ["Problem", "Solution", "problem"]
