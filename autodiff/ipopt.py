"""Nonlinear programs for Ipopt, with every derivative and structure from the program; see docs/scipy.md."""

from .bridges.ipopt import Problem, Solution, problem

__all__ = ["Problem", "Solution", "problem"]
