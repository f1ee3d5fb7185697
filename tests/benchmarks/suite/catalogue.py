"""The programs that must be right, at sizes that can be timed."""

import numpy as np

from ...programs import loops, recurrences, stencils, vectorised
from . import by_hand_loops, by_hand_slices, by_hand_statistics
from .benchmark import benchmark


def timed(function, make, wrt, small, large, name=None, **parts):
    """`make(r, *size)` with the small or the large size."""
    benchmark(name or function.__name__.replace("_", " "), function,
              lambda r, tiny: make(r, *(small if tiny else large)), wrt, **parts)


timed(loops.horner, lambda r, n: (r.random(n), 0.7), (0, 1), (6,), (2_000_000,), adjoint=by_hand_loops.horner)
timed(loops.rosenbrock, lambda r, n: (r.random(n),), (0,), (6,), (2_000_000,), "Rosenbrock, long",
      adjoint=by_hand_loops.rosenbrock)
timed(loops.log_sum_exp, lambda r, n: (r.standard_normal(n),), (0,), (6,), (1_000_000,), "log sum exp, running maximum",
      adjoint=by_hand_loops.log_sum_exp)
timed(loops.thomas, lambda r, n: (r.random(n), 4 + r.random(n), r.random(n), r.random(n), r.random(n)), (0, 1, 2, 3),
      (5,), (500_000,), "tridiagonal solve", writes=(1, 3), adjoint=by_hand_loops.thomas)
timed(loops.levinson_durbin, lambda r, n: (np.concatenate(([4.0], r.random(n - 1) / n)), r.random(n)), (0, 1),
      (5,), (1500,), "Levinson-Durbin", adjoint=by_hand_loops.levinson_durbin)
timed(loops.leapfrog, lambda r, n: (r.standard_normal((n, 2)), 0.1 * r.standard_normal((n, 2)), 1.0 + r.random(n)),
      (0, 1, 2), (3,), (400,), "leapfrog by loops", writes=(0, 1), adjoint=by_hand_loops.leapfrog)
timed(loops.gauss_seidel, lambda r, n: (r.random((n, n)), r.random((n, n))), (0, 1), (5,), (700,), "Gauss-Seidel",
      writes=(0,), adjoint=by_hand_loops.gauss_seidel)
timed(loops.game_of_life_payoff, lambda r, n: (r.random((n, n)) < 0.3, r.random((n, n)), 0.9), (1, 2), (5,), (200,),
      adjoint=by_hand_loops.game_of_life)
timed(loops.soft_dtw, lambda r, n: (r.random((n, n)), r.random((n, 3))), (0,), (4,), (500,), "soft dynamic time warping",
      adjoint=by_hand_loops.soft_dtw)
timed(recurrences.hmm_forward,
      lambda r, n, T: (r.random(n) + 0.1, (r.random((n, n)) + 0.1) / n, r.random((n, 5)) + 0.1, r.integers(0, 5, T)),
      (0, 1, 2), (3, 5), (40, 3000), "hidden Markov model", adjoint=by_hand_loops.hmm)
timed(stencils.jacobi_1d, lambda r, n: (r.random(n), r.random(n)), (0, 1), (8,), (1_000_000,), "Jacobi 1-D by slices",
      writes=(0, 1), adjoint=by_hand_slices.jacobi_1d)
timed(stencils.fdtd_2d, lambda r, n, T: (r.random((n, n)), r.random((n, n)), r.random((n, n)), r.random(T)), (0, 1, 2, 3),
      (5, 3), (200, 60), "FDTD by slices", writes=(0, 1, 2), adjoint=by_hand_slices.fdtd)
timed(stencils.upwind_advection, lambda r, n: (r.random(n), r.standard_normal(n)), (0, 1), (8,), (500_000,),
      "upwind advection", jax=True, autograd=True, adjoint=by_hand_slices.upwind)
timed(stencils.convolution_by_slices, lambda r, n, k: (r.random((n, n)), r.random((k, k))), (0, 1), (7, 3), (400, 7),
      jax=True, adjoint=by_hand_slices.convolution)
timed(stencils.convolution_by_windows, lambda r, n: (r.random((n, n)), r.random((3, 3))), (0, 1), (6,), (400,),
      adjoint=by_hand_slices.convolution_3)
timed(stencils.max_pooling, lambda r, n: (r.random((n, n)),), (0,), (6,), (1500,), adjoint=by_hand_slices.max_pooling)
timed(vectorised.covariance, lambda r, n, d: (r.random((n, d)), r.random((d, d))), (0,), (6, 3), (5000, 100), writes=(0,),
      adjoint=by_hand_statistics.covariance)
timed(vectorised.correlation, lambda r, n, d: (r.random((n, d)), r.random((d, d))), (0,), (6, 3), (5000, 100), writes=(0,),
      adjoint=by_hand_statistics.correlation)
timed(vectorised.gaussian_mixture,
      lambda r, n, d, K: (r.standard_normal(K), r.standard_normal((K, d)), r.standard_normal((K, d)) * 0.2,
                          r.standard_normal((n, d))),
      (0, 1, 2, 3), (5, 2, 3), (5000, 8, 20), "mixture with diagonal covariances", jax=True, autograd=True,
      adjoint=by_hand_statistics.gaussian_mixture)
timed(vectorised.masked_means, lambda r, n: (r.random(n), np.arange(n) % 3), (0,), (12,), (1_000_000,),
      adjoint=by_hand_statistics.masked_means)
timed(vectorised.spectral_norm, lambda r, n: (r.random((n, n)),), (0,), (4,), (800,), "power iteration", jax=True,
      adjoint=by_hand_statistics.spectral_norm)
