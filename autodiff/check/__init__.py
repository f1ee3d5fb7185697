"""Derivatives and rules against central differences."""

from .differences import GradientMismatch, GradientReport, check_grads, check_rule

__all__ = ["GradientMismatch", "GradientReport", "check_grads", "check_rule"]
