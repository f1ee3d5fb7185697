"""Sparse Jacobians and Hessians: the structure from the program, colours from the structure, products for the colours.

    structure    a program of index sets (`transforms/differentiate/sparsity.py`), run once for each structure
    plan         colours, directions and where each entry stands in the products (`structures.py`), kept with the structure
    sweep        J times the directions, or the directions times J (`transforms/differentiate/compressed.py`), at every call
"""

from __future__ import annotations

import hashlib
import pickle

import numpy as np

from .. import pipeline
from ..arguments.kinds import rebuild, with_own_draws
from ..arguments.packing import in_arrays
from ..arguments.positions import select_leaves
from ..calling.building import compile_programs
from ..calling.building import run as run_compiled
from ..calling.inside_numba import refusal
from ..calling.running import guarded
from ..calling.specialisations import Specialisation
from ..calling.tracebacks import entry
from ..options import DEFAULT, Options
from ..rules import REGISTRY
from ..runtime.machine_code.forks import new_lock
from ..transforms.differentiate import compressed
from ..transforms.differentiate.jacobian import results_of
from ..transforms.differentiate.sparsity import structure
from ..transforms.language import core
from ..transforms.language.core import is_float
from ..transforms.language.errors import NonDifferentiable, ShapeMismatch, SparsityError, UnsupportedSyntax
from ..transforms.language.ops import is_complex
from ..transforms.language.queries import is_size
from ..transforms.language.units import expanded
from ..transforms.lower.values import Sequence, Static, leaves
from ..transforms.optimise.outputs import given_outputs
from ..transforms.optimise.simplify import simplify
from ..transforms.passes import CPU
from ..transforms.stages import Stage, Stages, run
from .derived import Derived, with_leaves
from .gradients import Gradient, definition_place, wrt_names
from .nesting import place
from .sparsity import Pattern, Plan, Sparsity, found_by, taken

KEPT = 4                        # structures of one specialisation whose plans are kept


class Given:
    """A structure given by the user; prints as what it holds, so that equal ones share what was compiled."""

    def __init__(self, given):
        self.pattern = Pattern.of(given)
        digest = hashlib.sha256(self.pattern.indptr.tobytes() + self.pattern.indices.tobytes()).hexdigest()[:16]
        self.name = f"<sparsity {self.pattern.shape} {digest}>"

    def __repr__(self):
        return self.name


class SparseJacobian(Derived):
    """The derivatives of every result with respect to every chosen argument, in sparse blocks."""

    kind = "sparse Jacobian"

    def __init__(self, function, wrt=0, direction="auto", sparsity=None, options: Options = DEFAULT):
        if direction not in ("auto", "forward", "reverse"):
            raise ValueError(f"direction must be 'auto', 'forward' or 'reverse', not {direction!r}")
        self.wrt, self.direction = wrt, direction
        self.given = sparsity if isinstance(sparsity, Given) or sparsity is None else Given(sparsity)
        self.single = isinstance(wrt, (int, str))
        self._plan: Plan | None = None
        super().__init__(function, options)

    def _parameters(self) -> dict:
        return {"wrt": self.wrt, "direction": self.direction, "sparsity": self.given}

    def _typing(self):
        return refusal(f"a {self.kind} is a scipy.sparse array, which compiled code cannot hold: take the dense one there, "
                       "or call this one from Python")

    def __autodiff_lower__(self, lo, args, kwargs):
        raise lo.error(UnsupportedSyntax, f"a {self.kind} is not differentiated again",
                       "take the dense one inside differentiated functions: leave out sparse=True")

    # -- specialising -----------------------------------------------------------------------------------------
    def _generate(self, names, values, static) -> Specialisation:
        lowered = self._lower(names, values, static)
        program = expanded(pipeline.prepare(lowered, Stages(), self.options.debug))
        where = definition_place(self.target)
        arguments = list(lowered.trees)[lowered.offset:]
        chosen = wrt_names(self.wrt, arguments, self.__name__, where)
        wanted, shapes = select_leaves(lowered.trees, lowered.leaves, chosen, where)
        results = results_of(program)
        if not results:
            raise NonDifferentiable(f"`{self.__name__}` returns nothing that has a derivative", where, "return floats")
        if any(is_complex(getattr(x, "dtype", "")) or (isinstance(x, core.Arr) and x.pairs)
               for x in (*leaves(lowered.result), *wanted)):
            raise NonDifferentiable(f"sparse derivatives of complex numbers are not supported (`{self.__name__}`)", where,
                                    "take real and imaginary parts as arguments and results of their own")
        finding, pool = structure(program, wanted if self.given is None else [], results, REGISTRY)
        stages = Stages()
        pipeline.check(stages.record("structure", finding), self.options.debug)
        title = f"The structure of the {self.kind} of `{program.name}`, generated by autodiff."
        generated = pipeline.Generated(lowered, (finding,), pipeline.module_text([finding], title), stages)
        made = self._compile(generated, lowered.result)
        made.params = tuple(lowered.leaves)
        params = program.params
        made.extra |= {
            "program": program, "wanted": wanted, "results": results, "plans": [], "sweeps": {}, "trees": shapes,
            "places": [params.index(p) for p in wanted], "lock": new_lock(),
            "symmetric": self.symmetric(names, values, static),
            "deciding": [k for k, p in enumerate(params) if p in read_by(finding)],
        }
        return made

    def symmetric(self, names, values, static) -> bool:
        """Whether the values of the derivatives are symmetric by what they mean."""
        return False

    def sweep(self, made, plan: Plan):
        """The compiled products of the Jacobian with the directions of a plan."""
        key = plan.lanes if plan.forward else 0
        sweeps = made.extra["sweeps"]
        if key not in sweeps:
            program, wanted = made.extra["program"], made.extra["wanted"]
            name = f"{program.name}_jacobian"
            if plan.forward:
                derived = compressed.by_lanes(program, wanted, REGISTRY, plan.lanes, name)
            else:
                derived = compressed.by_rows(program, made.generated.lowered.facts, wanted, REGISTRY, name)
            derived = simplify(derived, keep_sizes=True)
            pipeline.check(derived, self.options.debug)
            final = run(CPU, derived, Stages(), self.options.debug)
            filling, places = given_outputs(final, range(len(final.returns)))
            fills = len(places) == len(final.returns) and len({r.dtype for r in final.returns}) == 1
            final = filling if fills else final
            text = pipeline.module_text([final], f"Products of the {self.kind} of `{program.name}` with several directions, "
                                        "generated by autodiff.")
            function = compile_programs(text, [final], self.options, made.generated.lowered.mutated)[final.name]
            sweeps[key] = Sweep(function, final.returns[0].dtype if fills else None), text, Stage("final", final)
        sweep, made.generated.text, made.generated.stages["final"] = sweeps[key]
        return sweep

    # -- running ----------------------------------------------------------------------------------------------
    @entry
    def __call__(self, *args, **kwargs):
        names, values = self._taken(args, kwargs)
        made, result = guarded(self, lambda made: self.blocks(made, self._leaves(made, names, values)), names, values)
        if made.drawn and not (self._plan and self._plan.sweeps):       # nothing has run
            self.primal(*args, **kwargs)
        return result

    def blocks(self, made, passed):
        """The Jacobian at flat arguments, in the structure of the results and arguments."""
        with made.extra["lock"]:
            plan = self.planned(made, passed)
            sweep = self.sweep(made, plan) if plan.count else None
        self._plan = plan
        count = len(plan.columns)
        found = self.filled(made, plan, passed, sweep)
        rows = iter([found[k:k + count] for k in range(0, len(found), count)])

        def of_result(leaf):
            if not is_float(leaf):
                return Static(None)
            parts = iter(map(Static, next(rows)))
            trees = tuple(place(tree, parts) for tree in made.extra["trees"])
            return trees[0] if self.single else Sequence(trees)
        return rebuild(with_leaves(in_arrays(made.generated.lowered.result), of_result), iter(()))

    def filled(self, made, plan: Plan, passed, sweep) -> list:
        """Every block, with its entries: those of each result, by argument."""
        count = len(plan.columns)
        data = [np.empty(block.indices.size, made.extra["results"][k // count].dtype) for k, block in enumerate(plan.blocks)]
        for k, first in enumerate(plan.sweeps):
            directions = self.directions(made, plan, first)
            products = sweep.run(passed if k + 1 == len(plan.sweeps) else with_own_draws(passed), directions, plan)
            for block, values in zip(plan.blocks, data, strict=True):
                places, chosen = block.sources[k]
                if chosen.size:
                    taken(values, places, products, chosen)
        return [block.made(values) for block, values in zip(plan.blocks, data, strict=True)]

    def directions(self, made, plan, first) -> list:
        if plan.forward:
            return plan.directions(first, plan.inputs, [p.dtype for p in made.extra["wanted"]])
        return plan.directions(first, plan.shapes, [r.dtype for r in made.extra["results"]])

    def planned(self, made, passed) -> Plan:
        """The plan for these arguments: that of an earlier call, if nothing that decides the structure has changed."""
        shapes = tuple(x.shape if isinstance(x, np.ndarray) else () for x in passed)
        deciding = made.extra["deciding"]
        plans = made.extra["plans"]
        for k, (known, held, plan) in enumerate(plans):
            if known == shapes and all(equal(x, passed[d]) for x, d in zip(held, deciding, strict=True)):
                if k:
                    plans.insert(0, plans.pop(k))
                return plan
        plan = self.plan(made, passed)
        held = [x.copy() if isinstance(x, np.ndarray) else x for x in with_own_draws([passed[d] for d in deciding])]
        plans.insert(0, (shapes, held, plan))
        del plans[KEPT:]
        return plan

    def plan(self, made, passed) -> Plan:
        sizes = [int(np.size(passed[k])) for k in made.extra["places"]]
        inputs = sum(sizes)
        pattern, shapes = found_by(made.call, with_own_draws(passed), inputs, 8 * inputs)
        if self.given is not None:
            pattern = Pattern(pattern.indptr, pattern.indices, inputs)
            if self.given.pattern.shape != pattern.shape:
                raise ShapeMismatch(f"sparsity= has shape {self.given.pattern.shape}, the Jacobian {pattern.shape}")
            pattern = self.given.pattern
        rows = [int(np.prod(s, dtype=np.int64)) for s in shapes]
        plan = Plan(pattern, rows, sizes, shapes, [np.shape(passed[k]) for k in made.extra["places"]])
        plan.decide(self.direction, made.extra["symmetric"])
        if self.given is not None:
            self.verify(made, plan, with_own_draws(passed))
        return plan

    def verify(self, made, plan: Plan, passed) -> None:
        """Compare products with random directions, one for each colour, with those of the entries. SparsityError if they
        differ: then the structure given has no place for an entry."""
        generator = np.random.default_rng(0)
        if not plan.count:                          # nothing is said to depend on anything: look in one direction
            plan = Plan(plan.pattern, plan.rows, plan.columns, plan.shapes, plan.inputs, count=1,
                        colours=np.zeros(plan.pattern.columns, np.int64))
            plan.split()
        sweep, count = self.sweep(made, plan), len(plan.columns)
        found = self.filled(made, plan, with_own_draws(passed), sweep)
        blocks = [found[k:k + count] for k in range(0, len(found), count)]
        if not plan.forward:
            blocks = [[line[k].T for line in blocks] for k in range(len(plan.columns))]
        kinds = made.extra["wanted"] if plan.forward else made.extra["results"]
        sizes = plan.columns if plan.forward else plan.rows
        given = [generator.standard_normal((plan.lanes, n)).astype(k.dtype) for n, k in zip(sizes, kinds, strict=True)]
        shapes = plan.inputs if plan.forward else plan.shapes
        entering = [g.reshape(-1, *s) for g, s in zip(given, shapes, strict=True)]
        given = [g.T for g in given]
        products, at = sweep.run(passed, entering, plan), 0
        for line, size in zip(blocks, plan.rows if plan.forward else plan.columns, strict=True):
            part = products[at:at + size * plan.lanes]
            at += part.size
            found = part.reshape(plan.lanes, -1).T
            product = sum((b @ g for b, g in zip(line, given, strict=True)), np.zeros(found.shape))
            scale = sum((abs(b) @ abs(g) for b, g in zip(line, given, strict=True)), abs(found))
            wrong = abs(found - product) > (1e-6 if found.dtype == np.float64 else 1e-2) * scale
            if wrong.any():
                raise SparsityError(f"sparsity= misses entries of the Jacobian of `{self.__name__}`, in "
                                    f"{'row' if plan.forward else 'column'} {np.flatnonzero(wrong.any(axis=1))[0]}",
                                    definition_place(self.target),
                                    "add them, or leave sparsity= out: the structure is then found from the program")

    @entry
    def structure(self, *args, **kwargs) -> Sparsity:
        """The structure at these arguments. No derivatives are computed: of the arguments in `wrt` only sizes are read, so
        that their values need not be where the function is defined (with `sparsity=` given, it is checked there)."""
        names, values = self._taken(args, kwargs)

        def run(made):
            with made.extra["lock"]:
                return self.planned(made, self._leaves(made, names, values))
        return Sparsity(guarded(self, run, names, values)[1])

    @property
    def sparsity(self) -> Sparsity:
        """The structure, the number of colours and the direction of the latest call."""
        if self._plan is None:
            raise RuntimeError(f"the {self.kind} of `{self.__name__}` has not been called yet")
        return Sparsity(self._plan)


class SparseHessian(SparseJacobian):
    """The Jacobian of a gradient, sparse."""

    kind = "sparse Hessian"

    def __init__(self, function, wrt=0, direction="forward", sparsity=None, options: Options = DEFAULT):
        inner = function if isinstance(function, Gradient) else Gradient(function, wrt=wrt, options=options)
        super().__init__(inner, wrt, "forward", sparsity, options)

    def symmetric(self, names, values, static) -> bool:
        return not made_by_hand(self.target._lower(names, values, static).function)

    def _pickled(self):
        return self.target.function


class Sweep:
    """Compiled products of a Jacobian with several directions. dtype: of arrays that it fills; None if it makes its own."""

    def __init__(self, function, dtype: str | None):
        self.function, self.dtype = function, dtype

    def run(self, passed, directions, plan: Plan) -> np.ndarray:
        """The products as one vector, to be read before the next run."""
        if self.dtype is not None:
            memory, parts = plan.memory(directions[0].shape[0], self.dtype)
            run_compiled(self.function, (*passed, *directions, *parts))
            return memory
        raw = run_compiled(self.function, (*passed, *directions))
        made = raw if isinstance(raw, tuple) else (raw,)
        return made[0].ravel() if len(made) == 1 else np.concatenate([r.ravel() for r in made])


def equal(x, y) -> bool:
    """Whether two arguments are the same, bit by bit."""
    if isinstance(x, np.ndarray):
        return np.array_equal(x.view(np.uint8), y.view(np.uint8)) if x.size else True
    if isinstance(x, np.random.Generator):
        return type(x.bit_generator) is type(y.bit_generator) and pickle.dumps(x.bit_generator.state) == pickle.dumps(
            y.bit_generator.state)
    return x == y


def read_by(program) -> set:
    """The parameters whose values a program reads, not only their sizes."""
    found: set = set()
    for stmt in core.walk(program.body):
        if not is_size(stmt):
            found.update(x.array if isinstance(x, core.Ref) else x for x in core.operands(stmt))
    return found.intersection(program.params)


def made_by_hand(program) -> bool:
    """Whether a program uses rules of the user's, or `stop_gradient`: its derivatives need not be those of any function."""
    return any(isinstance(s, (core.Let, core.Call)) and (s.op in ("link", "stop") or s.op.startswith("rule:"))
               for s in core.walk(program.body))


__all__ = ["SparseHessian", "SparseJacobian"]
