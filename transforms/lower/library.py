"""Loads every module that teaches the lowering a library function."""

from . import creation, products, python_builtins, reductions, shaping, sorting  # noqa: F401
