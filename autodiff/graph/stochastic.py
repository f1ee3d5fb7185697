"""Stochastic operations: samples whose gradient comes from a reward (the score function estimator).

R. J. Williams, Simple statistical gradient-following algorithms for connectionist reinforcement learning, Machine Learning 8
(1992). A node ignores the cotangents that arrive and sends `-reward * d log p(sample) / d parameter`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .nodes import NOTHING, Node, fitted, place
from .record import tracked
from .tensor import Tensor, data_of, tensor, wrap


class StochasticNode(Node):
    """The node of a sample. `score(*parameters)` gives d log p / d parameter for each."""

    stochastic = True
    reward: np.ndarray | None = None

    def __init__(self, title, parameters, score):
        super().__init__(tuple(p._edge() if p.requires_grad else NOTHING for p in parameters))
        self.title, self.score = title, score
        self.saved = tuple(p._array for p in parameters)
        self.reads = tuple(range(1, len(parameters) + 1))
        self.versions = tuple(p._saved() for p in parameters)
        self.where = place()

    def name(self) -> str:
        return self.title + "Backward0"

    def pull(self, grads, rich):
        if self.reward is None:
            raise RuntimeError(f"differentiating the stochastic operation {self.name()} ({self.line()}) needs a reward: "
                               "call reinforce(reward) on its result first")
        parameters = self.values(rich)
        found = [fitted(-self.reward_for(p) * s, p.shape, p.dtype) if edge[0] is not None else None
                 for s, p, edge in zip(self.score(*parameters), parameters, self.next_functions, strict=True)]
        return found

    def reward_for(self, parameter):
        reward: Any = self.reward
        return reward[..., None] if reward.ndim < parameter.ndim and self.title == "Categorical" else reward


def reinforce(t: Tensor, reward) -> None:
    """Give a sample its reward, of the sample's shape."""
    node = t.grad_fn
    if not isinstance(node, StochasticNode):
        raise RuntimeError("reinforce() can be called on results of stochastic operations only")
    reward = np.array(data_of(reward))
    if reward.dtype.kind not in "biuf":
        raise TypeError(f"a reward is a Tensor or array of real numbers, not of {reward.dtype}")
    if reward.shape != t.shape:
        raise RuntimeError(f"size mismatch: the reward has shape {reward.shape}, the sample of {node.name()} "
                           f"({node.line()}) has shape {t.shape}")
    node.reward = reward


def sampled(title, sample, parameters, score) -> Tensor:
    made = wrap(np.array(sample))                   # its own: the score reads the sample
    if tracked(parameters):
        made._node, made._requires = StochasticNode(title, parameters, score), True
    return made


def generator(rng):
    return rng if isinstance(rng, np.random.Generator) else np.random.default_rng(rng)


def bernoulli(p, rng=None) -> Tensor:
    """Ones with probability `p`, else zeros, of the shape of `p`. rng: a Generator or a seed."""
    p = p if isinstance(p, Tensor) else tensor(p)
    sample = (generator(rng).random(p.shape) < p._array).astype(p.dtype)
    return sampled("Bernoulli", sample, (p,), lambda p: ((sample - p) / (p * (1 - p)),))


def normal(mu, sigma, rng=None) -> Tensor:
    """Normal numbers of mean `mu` and standard deviation `sigma`, which are broadcast."""
    mu, sigma = (v if isinstance(v, Tensor) else tensor(v) for v in (mu, sigma))
    shape = np.broadcast_shapes(mu.shape, sigma.shape)
    sample = mu._array + sigma._array * generator(rng).standard_normal(shape)
    return sampled("Normal", sample, (mu, sigma),
                   lambda mu, sigma: ((sample - mu) / sigma ** 2, ((sample - mu) ** 2 / sigma ** 2 - 1) / sigma))


def categorical(p, rng=None) -> Tensor:
    """Numbers of classes, drawn with the probabilities along the last axis of `p`, as floats of the shape before it."""
    p = p if isinstance(p, Tensor) else tensor(p)
    total = np.cumsum(p._array, axis=-1)
    drawn = generator(rng).random(p.shape[:-1])[..., None] * total[..., -1:]
    sample = np.minimum((drawn >= total).sum(axis=-1), p.shape[-1] - 1)
    chosen = np.arange(p.shape[-1]) == sample[..., None]
    return sampled("Categorical", sample.astype(p.dtype), (p,), lambda p: (chosen / p - 1 / p.sum(axis=-1, keepdims=True),))


__all__ = ["bernoulli", "categorical", "normal", "reinforce"]
