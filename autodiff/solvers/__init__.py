"""Solvers whose derivatives do not go through their iterations."""

from .linear import linear_solve
from .minima import minimize
from .ode import odeint
from .roots import fixed_point, root

__all__ = ["fixed_point", "linear_solve", "minimize", "odeint", "root"]
