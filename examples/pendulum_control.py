"""Swing a pendulum up: optimal control by Newton's method with Hessian-vector products (scipy's trust-ncg).

The torque at each time step is an unknown. The cost of a whole swing is one loop; its gradient and the product of
its Hessian with a vector are generated from it, so that the Hessian itself never exists.

    python examples/pendulum_control.py [--steps 150] [--figure PATH]

The exit status is 1 if the pendulum does not end upright and at rest.
Source: J. Nocedal and S. Wright, Numerical Optimization, Springer 2006, section 7.1 (trust-region Newton-CG).
"""

import argparse
import sys
import time

import numpy as np
from scipy.optimize import minimize

from autodiff import hvp, value_and_grad

GRAVITY, LENGTH, DAMPING = 9.81, 1.0, 0.1


def swing(torque, duration):
    """(angle, speed) after each step of symplectic Euler, from hanging at rest; upright is an angle of pi."""
    h = duration / torque.shape[0]
    angle, speed = 0.0, 0.0
    path = np.zeros((torque.shape[0], 2))
    for t in range(torque.shape[0]):
        speed += h * (torque[t] - DAMPING * speed - GRAVITY / LENGTH * np.sin(angle))
        angle += h * speed
        path[t, 0] = angle
        path[t, 1] = speed
    return path


def cost(torque, duration):
    """The work of the torque, and a price on not ending upright and at rest."""
    path = swing(torque, duration)
    angle, speed = path[-1, 0], path[-1, 1]
    effort = np.sum(torque**2) * duration / torque.shape[0]
    return 0.01 * effort + 50.0 * (angle - np.pi) ** 2 + 10.0 * speed**2


def draw(path, torque, states, duration):
    """The angle and the torque over time."""
    from matplotlib.figure import Figure  # only the picture needs it

    figure = Figure(figsize=(7.5, 3.2), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    t = duration * np.arange(1, torque.shape[0] + 1) / torque.shape[0]
    above.plot(t, states[:, 0], label="angle")
    above.plot(t, states[:, 1], label="speed")
    above.axhline(np.pi, color="black", linestyle=":", linewidth=0.8, label="upright")
    above.legend(fontsize="small", ncols=3)
    below.plot(t, torque, color="tab:green", label="torque")
    below.set(xlabel="time (s)")
    below.legend(fontsize="small")
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--steps", type=int, default=150, help="of time; one unknown each")
    parser.add_argument("--duration", type=float, default=3.0, help="seconds")
    parser.add_argument("--figure", metavar="PATH", help="draw the result into this file (needs matplotlib)")
    options = parser.parse_args()

    loss, product = value_and_grad(cost), hvp(cost)
    begin = time.perf_counter()
    result = minimize(loss, np.full(options.steps, 0.5), args=(options.duration,), jac=True, method="trust-ncg",
                      hessp=lambda x, v, duration: product(x, duration, v), options={"gtol": 1e-3, "maxiter": 300})
    seconds = time.perf_counter() - begin
    path = swing(result.x, options.duration)

    print(f"{options.steps} unknowns: {result.nit} Newton steps, {result.nfev} gradients, {result.nhev} Hessian products, "
          f"{seconds:.1f} s with compilation; gradient {np.abs(result.jac).max():.1e}")
    print(f"{'time (s)':>9}{'torque':>9}{'angle':>9}{'speed':>9}")
    for t in range(0, options.steps, max(options.steps // 10, 1)):
        print(f"{(t + 1) * options.duration / options.steps:9.2f}{result.x[t]:9.3f}{path[t, 0]:9.3f}{path[t, 1]:9.3f}")
    print(f"{'end':>9}{result.x[-1]:9.3f}{path[-1, 0]:9.3f}{path[-1, 1]:9.3f}")
    if options.figure:
        draw(options.figure, result.x, path, options.duration)
    return 0 if abs(path[-1, 0] - np.pi) < 0.01 and abs(path[-1, 1]) < 0.01 else 1


if __name__ == "__main__":
    sys.exit(main())
