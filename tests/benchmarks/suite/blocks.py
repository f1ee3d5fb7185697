"""One column, one mask, one small matrix at a time, where whole arrays could be taken."""

import math

import numpy as np
from scipy.linalg import solve_triangular

from autodiff.runtime.numbers import vectormath as vm

from .benchmark import also, benchmark, by_hand
from .blas import doitgen_adjoint, doitgen_arguments
from .by_hand_statistics import centred


def covariance(data, w):
    """The covariance matrix of columns, each with those that follow it (as in NPBench); weighted."""
    n, m = data.shape
    data -= np.mean(data, axis=0)
    cov = np.zeros((m, m))
    for i in range(m):
        cov[i:m, i] = data[:, i] @ data[:, i:m] / (n - 1.0)
        cov[i, i:m] = cov[i:m, i]
    return np.sum(w * cov * cov)


@by_hand
def covariance_primal(data, w):
    x = centred(data)
    cov, total = x.T @ x, 0.0
    for i in range(cov.shape[0]):
        for j in range(cov.shape[0]):
            cov[i, j] /= x.shape[0] - 1.0
            total += w[i, j] * cov[i, j] * cov[i, j]
    return total


@by_hand
def covariance_adjoint(data, w):
    x = centred(data)
    cov, total, n = x.T @ x, 0.0, x.shape[0]
    bar = np.empty_like(cov)
    for i in range(cov.shape[0]):
        for j in range(cov.shape[0]):
            c = cov[i, j] / (n - 1.0)
            total += w[i, j] * c * c
            bar[i, j] = 2.0 * (w[i, j] + w[j, i]) * c / (n - 1.0)
    return total, centred(x @ bar)


def covariance_arguments(r, tiny):
    n, m = (6, 3) if tiny else (500, 120)
    return r.random((n, m)), r.random((m, m))


benchmark("covariance by columns and blocks", covariance, covariance_arguments, (0,), primals=(covariance_primal,),
          adjoint=covariance_adjoint, writes=(0,))


def covariance_whole(np):
    def loss(data, w):
        x = data - data.mean(0)
        return (w * (x.T @ x / (len(x) - 1.0)) ** 2).sum()
    return loss


also("covariance by columns and blocks", "jax")(lambda jax: covariance_whole(jax.numpy))
also("covariance by columns and blocks", "torch")(covariance_whole)
also("covariance by columns and blocks", "autograd")(covariance_whole)


def azimuthal(data, radius, w):
    """Means over rings, one mask after the other (as in NPBench)."""
    count = w.shape[0]
    far = np.max(radius)
    means = np.zeros(count)
    for i in range(count):
        mask = (far * i / count <= radius) & (radius < far * (i + 1) / count)
        means[i] = np.mean(data[mask] ** 2)
    return np.sum(w * means)


@by_hand
def azimuthal_primal(data, radius, w):
    n, far, total = len(w), np.max(radius), 0.0
    for i in range(n):
        low, high, s, count = far * i / n, far * (i + 1) / n, 0.0, 0
        for k in range(len(data)):
            inside = (low <= radius[k]) & (radius[k] < high)
            s += data[k] * data[k] if inside else 0.0
            count += inside
        total += w[i] * s / count
    return total


@by_hand
def azimuthal_adjoint(data, radius, w):
    """The ring of each pixel is kept."""
    n, far, total = len(w), np.max(radius), 0.0
    ring, share = np.full(len(data), n), np.zeros(n + 1)
    for i in range(n):
        low, high, s, count = far * i / n, far * (i + 1) / n, 0.0, 0
        for k in range(len(data)):
            inside = (low <= radius[k]) & (radius[k] < high)
            s += data[k] * data[k] if inside else 0.0
            count += inside
            ring[k] = i if inside else ring[k]
        total += w[i] * s / count
        share[i] = 2.0 * w[i] / count
    data_bar = np.empty_like(data)
    for k in range(len(data)):
        data_bar[k] = share[ring[k]] * data[k]
    return total, data_bar


def rings(r, tiny):
    n, count = (20, 2) if tiny else (40_000, 40)
    return r.random(n), r.random(n), r.random(count)


benchmark("rings by masks", azimuthal, rings, (0,), primals=(azimuthal_primal,), adjoint=azimuthal_adjoint)


@also("rings by masks", "jax")
def azimuthal_jax(jax):
    jnp = jax.numpy

    def loss(data, radius, w):
        n, far = w.shape[0], jnp.max(radius)

        def mean(i):
            mask = (far * i / n <= radius) & (radius < far * (i + 1) / n)
            return jnp.sum(jnp.where(mask, data ** 2, 0.0)) / jnp.sum(mask)
        return jnp.sum(w * jax.vmap(mean)(jnp.arange(n)))
    return loss


@also("rings by masks", "torch")
def azimuthal_torch(torch):
    def loss(data, radius, w):
        n, far = w.shape[0], torch.max(radius)
        means = []
        for i in range(n):
            mask = (far * i / n <= radius) & (radius < far * (i + 1) / n)
            means.append(torch.mean(data[mask] ** 2))
        return torch.sum(w * torch.stack(means))
    return loss


def self_energies(G, D, dH, near):
    """Sums of products of small complex matrices (after NPBench's scattering self-energies)."""
    momenta, energies, atoms = G.shape[0], G.shape[1], G.shape[2]
    sigma = np.zeros_like(G)
    for k in range(momenta):
        for e in range(energies):
            for q in range(D.shape[0]):
                for w in range(D.shape[1]):
                    if e >= w:
                        for a in range(atoms):
                            for b in range(near.shape[1]):
                                left = G[(k + q) % momenta, e - w, near[a, b]] @ dH[a, b]
                                right = dH[a, b] * D[q, w, a, b]
                                sigma[k, e, a] += left @ right
    return np.sum(np.abs(sigma) ** 2)


@by_hand
def self_energies_primal(G, D, dH, near):
    sigma = np.zeros_like(G)
    self_energies_forward(G, D, dH, near, sigma)
    return squared_size(sigma)


@by_hand
def squared_size(sigma):
    total, flat = 0.0, sigma.ravel()
    for i in range(len(flat)):
        total += flat[i].real ** 2 + flat[i].imag ** 2
    return total


@by_hand
def small_product(A, B, out):
    n = A.shape[0]
    for i in range(n):
        for j in range(n):
            s = 0.0j
            for k in range(n):
                s += A[i, k] * B[k, j]
            out[i, j] = s


@by_hand
def self_energies_forward(G, D, dH, near, sigma):
    """The factor dH dH of a pair of atoms is the same for all momenta and energies."""
    momenta, energies, atoms, n = G.shape[0], G.shape[1], G.shape[2], G.shape[3]
    pair = np.empty((n, n), G.dtype)
    for a in range(atoms):
        for b in range(near.shape[1]):
            small_product(dH[a, b], dH[a, b], pair)
            for k in range(momenta):
                for e in range(energies):
                    for q in range(D.shape[0]):
                        for w in range(min(D.shape[1], e + 1)):
                            g, d, out = G[(k + q) % momenta, e - w, near[a, b]], D[q, w, a, b], sigma[k, e, a]
                            for i in range(n):
                                for j in range(n):
                                    s = 0.0j
                                    for m in range(n):
                                        s += g[i, m] * pair[m, j]
                                    out[i, j] += s * d


@by_hand
def self_energies_adjoint(G, D, dH, near):
    momenta, energies, atoms, n = G.shape[0], G.shape[1], G.shape[2], G.shape[3]
    sigma = np.zeros_like(G)
    self_energies_forward(G, D, dH, near, sigma)
    value = squared_size(sigma)
    G_bar, D_bar, pair = np.zeros_like(G), np.zeros_like(D), np.empty((n, n), G.dtype)
    for a in range(atoms):
        for b in range(near.shape[1]):
            small_product(dH[a, b], dH[a, b], pair)
            for k in range(momenta):
                for e in range(energies):
                    for q in range(D.shape[0]):
                        for w in range(min(D.shape[1], e + 1)):
                            at = (k + q) % momenta, e - w, near[a, b]
                            g, g_bar, out, d = G[at], G_bar[at], sigma[k, e, a], np.conj(D[q, w, a, b])
                            t = 0.0j
                            for i in range(n):
                                for m in range(n):
                                    s = 0.0j
                                    for j in range(n):
                                        s += out[i, j] * np.conj(pair[m, j])
                                    g_bar[i, m] += 2.0 * s * d
                                    t += 2.0 * s * np.conj(g[i, m])
                            D_bar[q, w, a, b] += t
    return value, G_bar, D_bar


def complex_stack(r, tiny):
    momenta, energies, atoms, size, frequencies, neighbours = (2, 2, 2, 2, 1, 2) if tiny else (3, 10, 12, 4, 3, 4)

    def made(*shape):
        return r.standard_normal(shape) + 1j * r.standard_normal(shape)
    return (made(momenta, energies, atoms, size, size), made(momenta, frequencies, atoms, neighbours),
            made(atoms, neighbours, size, size), r.integers(0, atoms, (atoms, neighbours)))


benchmark("small complex matrices", self_energies, complex_stack, (0, 1), primals=(self_energies_primal,),
          adjoint=self_energies_adjoint)


def self_energies_whole(package, einsum):
    def loss(G, D, dH, near):
        momenta, energies = G.shape[:2]
        kq = (np.arange(momenta)[:, None] + np.arange(D.shape[0])) % momenta
        ew = np.arange(energies)[:, None] - np.arange(D.shape[1])
        shifted = G[kq][:, :, ew % energies][:, :, :, :, near]
        sigma = einsum("kqewabim,abmj,qwab,ew->keaij", shifted, dH @ dH, D, package.asarray((ew >= 0) + 0.0j))
        return (abs(sigma) ** 2).sum()
    return loss


also("small complex matrices", "jax")(lambda jax: self_energies_whole(jax.numpy, jax.numpy.einsum))
also("small complex matrices", "torch")(lambda torch: self_energies_whole(torch, torch.einsum))


def doitgen(A, C4):
    """A stack of matrices times one matrix, by shapes (as NPBench writes it)."""
    nr, nq, n = A.shape
    out = np.reshape(np.reshape(A, (nr, nq, 1, n)) @ C4, (nr, nq, n))
    return np.sum(out * out)


@by_hand
def doitgen_primal(A, C4):
    nr, nq, n = A.shape
    out = A.reshape(nr * nq, n) @ C4
    total = 0.0
    for i in range(nr * nq):
        for j in range(n):
            total += out[i, j] * out[i, j]
    return total


benchmark("doitgen by shapes", doitgen, doitgen_arguments, (0, 1), primals=(doitgen_primal,), adjoint=doitgen_adjoint,
          jax=True, torch=True, autograd=True)


def mixture(weights, means, roots, x):
    """Log-likelihood of points x (count, d) under covariances `root @ root.T`, one component after the other."""
    count, d = x.shape
    terms = np.empty((weights.shape[0], count))
    for k in range(weights.shape[0]):
        L = np.linalg.cholesky(roots[k] @ roots[k].T)
        z = solve_triangular(L, (x - means[k]).T, lower=True)
        terms[k] = weights[k] - np.sum(np.log(np.diag(L))) - 0.5 * np.sum(z * z, axis=0)
    top = np.max(terms, axis=0)
    total = np.log(np.sum(np.exp(weights)))
    return np.sum(top + np.log(np.sum(np.exp(terms - top), axis=0)) - total) - 0.5 * count * d * math.log(2.0 * math.pi)


@by_hand
def whitened(L, mean, x, z):
    """L^-1 (x - mean), points along rows."""
    d, count = z.shape
    for i in range(d):
        for p in range(count):
            z[i, p] = x[p, i] - mean[i]
        for j in range(i):
            for p in range(count):
                z[i, p] -= L[i, j] * z[j, p]
        for p in range(count):
            z[i, p] /= L[i, i]


@by_hand
def component_terms(weights, means, Ls, x, z, terms):
    components, count = terms.shape
    for k in range(components):
        level = weights[k]
        for i in range(x.shape[1]):
            level -= np.log(Ls[k, i, i])
        whitened(Ls[k], means[k], x, z)
        for p in range(count):
            terms[k, p] = level
        for i in range(x.shape[1]):
            for p in range(count):
                terms[k, p] -= 0.5 * z[i, p] * z[i, p]


@by_hand
def log_likelihood(terms):
    """The sum over points; `terms` become the components' shares."""
    components, count = terms.shape
    top, total, value = terms[0].copy(), np.zeros(count), 0.0
    for k in range(1, components):
        for p in range(count):
            top[p] = max(top[p], terms[k, p])
    for k in range(components):
        for p in range(count):
            terms[k, p] = vm.exp(terms[k, p] - top[p])
            total[p] += terms[k, p]
    for p in range(count):
        value += top[p] + vm.log(total[p])
        total[p] = 1.0 / total[p]
    for k in range(components):
        for p in range(count):
            terms[k, p] *= total[p]
    return value


@by_hand
def factors_of(roots):
    Ls = np.empty_like(roots)
    for k in range(len(roots)):
        Ls[k] = np.linalg.cholesky(roots[k] @ roots[k].T)
    return Ls


@by_hand
def mixture_primal(weights, means, roots, x):
    count, d = x.shape
    terms, z = np.empty((len(weights), count)), np.empty((d, count))
    component_terms(weights, means, factors_of(roots), x, z, terms)
    return log_likelihood(terms) - count * np.log(np.sum(np.exp(weights))) - 0.5 * count * d * np.log(2.0 * np.pi)


@by_hand
def mixture_adjoint(weights, means, roots, x):
    """With y = S^-1 (x - mean) and shares r, the cotangent of S is the sum of r (y y^T - S^-1) / 2."""
    count, d = x.shape
    components, Ls = len(weights), factors_of(roots)
    terms, z, y = np.empty((components, count)), np.empty((d, count)), np.empty((d, count))
    component_terms(weights, means, Ls, x, z, terms)
    value = log_likelihood(terms) - count * np.log(np.sum(np.exp(weights))) - 0.5 * count * d * np.log(2.0 * np.pi)
    weights_bar, means_bar, roots_bar = np.empty(components), np.zeros((components, d)), np.empty_like(roots)
    scale = count / np.sum(np.exp(weights))
    S_bar = np.empty((d, d))
    for k in range(components):
        whitened(Ls[k], means[k], x, z)
        share = 0.0
        for p in range(count):
            share += terms[k, p]
        weights_bar[k] = share - scale * np.exp(weights[k])
        for i in range(d - 1, -1, -1):
            y[i] = z[i]
            for j in range(i + 1, d):
                for p in range(count):
                    y[i, p] -= Ls[k, j, i] * y[j, p]
            for p in range(count):
                y[i, p] /= Ls[k, i, i]
        inverse = np.linalg.inv(Ls[k])
        for i in range(d):
            s = 0.0
            for p in range(count):
                z[i, p] = terms[k, p] * y[i, p]
                s += z[i, p]
            means_bar[k, i] = s
            for j in range(i + 1):
                s = 0.0
                for p in range(count):
                    s += z[i, p] * y[j, p]
                for q in range(d):
                    s -= share * inverse[q, i] * inverse[q, j]
                S_bar[i, j] = S_bar[j, i] = s
        roots_bar[k] = S_bar @ roots[k]
    return value, weights_bar, means_bar, roots_bar


def mixture_arguments(r, tiny):
    components, count, d = (2, 5, 2) if tiny else (10, 2000, 5)
    return (r.standard_normal(components), r.standard_normal((components, d)),
            np.eye(d) + 0.2 * r.standard_normal((components, d, d)), 2.0 * r.standard_normal((count, d)))


benchmark("mixture by components", mixture, mixture_arguments, (0, 1, 2), primals=(mixture_primal,), adjoint=mixture_adjoint)


@also("mixture by components", "jax")
def mixture_jax(jax):
    jnp = jax.numpy

    def loss(weights, means, roots, x):
        def one(w, mean, root):
            L = jnp.linalg.cholesky(root @ root.T)
            z = jax.scipy.linalg.solve_triangular(L, (x - mean).T, lower=True)
            return w - jnp.sum(jnp.log(jnp.diag(L))) - 0.5 * jnp.sum(z * z, axis=0)
        terms = jax.vmap(one)(weights, means, roots)
        total = jax.scipy.special.logsumexp(weights)
        return jnp.sum(jax.scipy.special.logsumexp(terms, axis=0) - total) - 0.5 * x.size * math.log(2.0 * math.pi)
    return loss


@also("mixture by components", "torch")
def mixture_torch(torch):
    def loss(weights, means, roots, x):
        L = torch.linalg.cholesky(roots @ roots.mT)
        z = torch.linalg.solve_triangular(L, (x[None] - means[:, None]).mT, upper=False)
        terms = weights[:, None] - torch.log(torch.diagonal(L, dim1=1, dim2=2)).sum(1)[:, None] - 0.5 * torch.sum(z * z, 1)
        total = torch.logsumexp(weights, 0)
        return torch.sum(torch.logsumexp(terms, 0) - total) - 0.5 * x.numel() * math.log(2.0 * math.pi)
    return loss
