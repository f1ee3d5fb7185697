"""Functions compiled by autodiff inside JAX; needs JAX. See docs/jax.md."""

from .bridges.jax import wrap

__all__ = ["wrap"]
