"""Tensors step by step: history, gradients, keeping the graph, and switching recording off.

    python examples/tensors.py [--figure PATH]

The steps are those of torch's first autograd tutorial, on NumPy arrays; the last ones add what is ours: a compiled loop as
one node of the graph, and a second derivative through it.
"""

import argparse

import numpy as np

import autodiff as ad

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--figure", metavar="PATH", help="draw the result into this file (needs matplotlib)")
options = parser.parse_args()

# Tensors that track history. `requires_grad` asks for what is computed from x to be recorded.
x = ad.tensor(np.ones((2, 2)), requires_grad=True)
print(x)
print(x.data)
print(x.grad)
print(x.grad_fn)                                # we made x ourselves

# y is the result of an operation, so it has a grad_fn.
y = x + 2
print(y)
print(y.grad_fn)

z = y * y * 3
out = z.mean()
print(z, out)

# requires_grad_ changes an existing Tensor in place.
rng = np.random.default_rng(0)
a = ad.tensor(rng.standard_normal((2, 2)))
a = (a * 3) / (a - 1)
print(a.requires_grad)
a.requires_grad_(True)
print(a.requires_grad)
b = (a * a).sum()
print(b.grad_fn)

# Gradients: d out / d x = 3 (x + 2) / 2
out.backward()
print(x.grad)
assert np.allclose(x.grad.numpy(), 4.5)

# A graph can be used twice if the first backward keeps it.
x = ad.tensor(np.ones((2, 2)), requires_grad=True)
y = x + 2
y.backward(np.ones((2, 2)), retain_graph=True)
print(x.grad)
z = y * y
print(z)
gradient = rng.standard_normal((2, 2))
y.backward(gradient)
print(x.grad)
assert np.allclose(x.grad.numpy(), 1 + gradient)

# Recording can be switched off.
print(x.requires_grad)
print((x ** 2).requires_grad)
with ad.no_grad():
    print((x ** 2).requires_grad)


# A compiled function is one node, however many steps its loop takes; its backward is compiled too.
@ad.differentiable
def oscillation(amplitude, frequency, steps, dt):
    """The energy of a damped oscillator after `steps` steps of the symplectic Euler method."""
    position, velocity = amplitude, 0.0
    for _ in range(steps):
        velocity -= dt * (frequency ** 2 * position + 0.1 * velocity)
        position += dt * velocity
    return 0.5 * velocity ** 2 + 0.5 * (frequency * position) ** 2


frequency = ad.tensor(1.5, requires_grad=True)
energy = oscillation(np.float64(1.0), frequency, 1000, 0.01)
print(energy)
slope, = ad.grad(energy, frequency, create_graph=True)
curvature, = ad.grad(slope, frequency)
print(slope, curvature)

h = 1e-4
values = [oscillation(1.0, 1.5 + d, 1000, 0.01) for d in (-h, 0.0, h)]
assert np.isclose(slope.item(), (values[2] - values[0]) / (2 * h), rtol=1e-6)
assert np.isclose(curvature.item(), (values[2] - 2 * values[1] + values[0]) / h ** 2, rtol=1e-4)

if options.figure:
    from matplotlib.figure import Figure  # only the picture needs it

    frequencies = np.linspace(1.0, 2.0, 60)
    energies = np.array([oscillation(1.0, f, 1000, 0.01) for f in frequencies])
    figure = Figure(figsize=(7.5, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.plot(frequencies, energies, label="energy after 10 s")
    near = frequencies - 1.5
    at, s, c = energy.item(), slope.item(), curvature.item()
    axes.plot(frequencies, at + s * near, ":", label="its tangent at 1.5")
    close = np.abs(near) < 0.3
    axes.plot(frequencies[close], (at + s * near + 0.5 * c * near ** 2)[close], "--", label="with the second derivative")
    axes.set(xlabel="frequency", ylabel="energy")
    axes.legend(fontsize="small")
    figure.savefig(options.figure, dpi=100)
