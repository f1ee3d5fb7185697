"""The README's first example: a spring chain's energy and its gradient."""

import numpy as np

from autodiff import check_grads, grad


@grad
def energy(x, k):
    e = 0.0
    for i in range(x.shape[0] - 1):
        e += 0.5 * k * (x[i + 1] - x[i]) ** 2
    return e


x = np.array([0.0, 1.0, 3.0, 4.5])
print(energy(x, 2.0))                       # the gradient with respect to x
print(energy.primal(x, 2.0))                # the function itself, compiled
print(check_grads(energy.function, (x, 2.0)))
print(energy.source)
