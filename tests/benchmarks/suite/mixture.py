"""ADBench's Gaussian mixture: log posterior with triangular factors of the inverse covariances, by loops and by products.

Formulas: Srajer, Kukelova, Fitzgibbon, "A benchmark of selected algorithmic differentiation tools on some problems in
computer vision and machine learning" (2018). Instances of the published sizes are generated; `--adbench` reads the files.
"""

import math

import numpy as np

from autodiff.runtime.numbers import vectormath as vm

from .benchmark import Benchmark, adbench_file, benchmark, by_hand

SIZES = {"1k d10 K25": (1000, 10, 25), "1k d20 K50": (1000, 20, 50), "1k d64 K10": (1000, 64, 10),
         "10k d2 K25": (10000, 2, 25)}


def by_loops(alpha, mu, icf, x, gamma, m):
    n, d = x.shape
    K = len(alpha)
    diagonal = np.exp(icf[:, :d])
    sums = np.sum(icf[:, :d], axis=1)
    total = 0.0
    for i in range(n):
        terms = np.empty(K)
        for k in range(K):
            gap = np.empty(d)
            z = np.empty(d)
            for a in range(d):
                gap[a] = x[i, a] - mu[k, a]
                z[a] = diagonal[k, a] * gap[a]
            p = d
            for a in range(d):
                for b in range(a + 1, d):
                    z[b] += icf[k, p] * gap[a]
                    p += 1
            square = 0.0
            for a in range(d):
                square += z[a] * z[a]
            terms[k] = alpha[k] + sums[k] - 0.5 * square
        top = terms.max()
        total += top + np.log(np.sum(np.exp(terms - top)))
    return total + prior(alpha, icf, diagonal, sums, n, d, gamma, m)


def prior(alpha, icf, diagonal, sums, n, d, gamma, m):
    """Everything that does not run over the points."""
    K = len(alpha)
    top = np.max(alpha)
    normal = top + np.log(np.sum(np.exp(alpha - top)))
    degrees = d + m + 1.0
    log_gamma = 0.25 * d * (d - 1) * math.log(math.pi)
    for j in range(d):
        log_gamma += math.lgamma(0.5 * degrees - 0.5 * j)
    constant = degrees * d * (math.log(gamma) - 0.5 * math.log(2.0)) - log_gamma
    wishart = np.sum(0.5 * gamma ** 2 * (np.sum(diagonal ** 2, axis=1) + np.sum(icf[:, d:] ** 2, axis=1)) - m * sums)
    return -0.5 * n * d * math.log(2.0 * math.pi) - n * normal + wishart - K * constant


def by_products(alpha, mu, icf, x, gamma, m):
    n, d = x.shape
    K = len(alpha)
    diagonal = np.exp(icf[:, :d])
    sums = np.sum(icf[:, :d], axis=1)
    factors = np.zeros((K, d, d))
    p = d
    for a in range(d):
        factors[:, a, a] = diagonal[:, a]
        for b in range(a + 1, d):
            factors[:, b, a] = icf[:, p]
            p += 1
    terms = np.empty((n, K))
    for k in range(K):
        z = (x - mu[k]) @ factors[k].T
        terms[:, k] = alpha[k] + sums[k] - 0.5 * np.sum(z * z, axis=1)
    top = np.max(terms, axis=1)
    total = np.sum(top + np.log(np.sum(np.exp(terms - top[:, None]), axis=1)))
    return total + prior(alpha, icf, diagonal, sums, n, d, gamma, m)


@by_hand
def hand_prior(alpha, icf, diagonal, sums, n, gamma, m, alpha_bar, icf_bar):
    """The prior, adding its derivatives."""
    K, d = diagonal.shape
    top = alpha.max()
    z = 0.0
    for k in range(K):
        z += math.exp(alpha[k] - top)
    value = -0.5 * n * d * math.log(2.0 * math.pi) - n * (top + math.log(z))
    degrees = d + m + 1.0
    log_gamma = 0.25 * d * (d - 1) * math.log(math.pi)
    for j in range(d):
        log_gamma += math.lgamma(0.5 * degrees - 0.5 * j)
    value -= K * (degrees * d * (math.log(gamma) - 0.5 * math.log(2.0)) - log_gamma)
    for k in range(K):
        alpha_bar[k] -= n * math.exp(alpha[k] - top) / z
        value -= m * sums[k]
        for a in range(d):
            value += 0.5 * gamma ** 2 * diagonal[k, a] ** 2
            icf_bar[k, a] += gamma ** 2 * diagonal[k, a] ** 2 - m
        for p in range(d, icf.shape[1]):
            value += 0.5 * gamma ** 2 * icf[k, p] ** 2
            icf_bar[k, p] += gamma ** 2 * icf[k, p]
    return value


@by_hand
def loops_adjoint(alpha, mu, icf, x, gamma, m):
    """Each point forward and back at once; the K d values z and x - mu of one point are kept."""
    n, d = x.shape
    K = len(alpha)
    diagonal, sums = np.empty((K, d)), np.zeros(K)
    for k in range(K):
        for a in range(d):
            diagonal[k, a] = math.exp(icf[k, a])
            sums[k] += icf[k, a]
    alpha_bar, mu_bar, icf_bar = np.zeros_like(alpha), np.zeros_like(mu), np.zeros_like(icf)
    gap, z, terms, g = np.empty((K, d)), np.empty((K, d)), np.empty(K), np.empty(d)
    total = 0.0
    for i in range(n):
        for k in range(K):
            row, out = gap[k], z[k]
            for a in range(d):
                row[a] = x[i, a] - mu[k, a]
                out[a] = diagonal[k, a] * row[a]
            p = d
            for a in range(d):
                for b in range(a + 1, d):
                    out[b] += icf[k, p + b - a - 1] * row[a]
                p += d - a - 1
            square = 0.0
            for a in range(d):
                square += out[a] * out[a]
            terms[k] = alpha[k] + sums[k] - 0.5 * square
        top = terms.max()
        s = 0.0
        for k in range(K):
            terms[k] = vm.exp(terms[k] - top)
            s += terms[k]
        total += top + math.log(s)
        for k in range(K):
            r = terms[k] / s
            alpha_bar[k] += r
            row, out = gap[k], z[k]
            for a in range(d):
                out[a] *= -r
                g[a] = out[a] * diagonal[k, a]
                icf_bar[k, a] += g[a] * row[a] + r
            p = d
            for a in range(d):
                dot = 0.0
                for b in range(a + 1, d):
                    dot += out[b] * icf[k, p + b - a - 1]
                    icf_bar[k, p + b - a - 1] += out[b] * row[a]
                g[a] += dot
                p += d - a - 1
            for a in range(d):
                mu_bar[k, a] -= g[a]
    return total + hand_prior(alpha, icf, diagonal, sums, n, gamma, m, alpha_bar, icf_bar), alpha_bar, mu_bar, icf_bar


@by_hand
def products_adjoint(alpha, mu, icf, x, gamma, m):
    """One product for all points and components forward, one back."""
    n, d = x.shape
    K = len(alpha)
    diagonal, sums, factors = np.empty((K, d)), np.zeros(K), np.zeros((d, K * d))
    shift = np.zeros(K * d)
    for k in range(K):
        p = d
        for a in range(d):
            diagonal[k, a] = math.exp(icf[k, a])
            sums[k] += icf[k, a]
            factors[a, k * d + a] = diagonal[k, a]
            for b in range(a + 1, d):
                factors[a, k * d + b] = icf[k, p]
                p += 1
        for a in range(d):
            for b in range(d):
                shift[k * d + b] += factors[a, k * d + b] * mu[k, a]
    z = x @ factors
    alpha_bar, mu_bar, icf_bar = np.zeros_like(alpha), np.zeros_like(mu), np.zeros_like(icf)
    terms, column = np.empty(K), np.zeros(K * d)
    total = 0.0
    for i in range(n):
        for k in range(K):
            square = 0.0
            for a in range(k * d, k * d + d):
                z[i, a] -= shift[a]
                square += z[i, a] * z[i, a]
            terms[k] = alpha[k] + sums[k] - 0.5 * square
        top = terms.max()
        s = 0.0
        for k in range(K):
            terms[k] = vm.exp(terms[k] - top)
            s += terms[k]
        total += top + math.log(s)
        for k in range(K):
            r = terms[k] / s
            alpha_bar[k] += r
            for a in range(k * d, k * d + d):
                z[i, a] *= -r
                column[a] += z[i, a]
    bar = x.T @ z
    for k in range(K):
        p = d
        for a in range(d):
            for b in range(a, d):
                c = k * d + b
                g = bar[a, c] - mu[k, a] * column[c]
                mu_bar[k, a] -= factors[a, c] * column[c]
                if b == a:
                    icf_bar[k, a] += g * diagonal[k, a] + alpha_bar[k]
                else:
                    icf_bar[k, p] += g
                    p += 1
    return total + hand_prior(alpha, icf, diagonal, sums, n, gamma, m, alpha_bar, icf_bar), alpha_bar, mu_bar, icf_bar


@by_hand
def products_primal(alpha, mu, icf, x, gamma, m):
    """The forward half of `products_adjoint`."""
    n, d = x.shape
    K = len(alpha)
    diagonal, sums, factors = np.empty((K, d)), np.zeros(K), np.zeros((d, K * d))
    shift = np.zeros(K * d)
    for k in range(K):
        p = d
        for a in range(d):
            diagonal[k, a] = math.exp(icf[k, a])
            sums[k] += icf[k, a]
            factors[a, k * d + a] = diagonal[k, a]
            for b in range(a + 1, d):
                factors[a, k * d + b] = icf[k, p]
                p += 1
        for a in range(d):
            for b in range(d):
                shift[k * d + b] += factors[a, k * d + b] * mu[k, a]
    z = x @ factors
    alpha_bar, icf_bar = np.zeros_like(alpha), np.zeros_like(icf)
    terms = np.empty(K)
    total = 0.0
    for i in range(n):
        for k in range(K):
            square = 0.0
            for a in range(k * d, k * d + d):
                gap = z[i, a] - shift[a]
                square += gap * gap
            terms[k] = alpha[k] + sums[k] - 0.5 * square
        top = terms.max()
        s = 0.0
        for k in range(K):
            s += vm.exp(terms[k] - top)
        total += top + math.log(s)
    return total + hand_prior(alpha, icf, diagonal, sums, n, gamma, m, alpha_bar, icf_bar)


def functional(np, factor_matrices, log_sum_exp, constant):
    """For tools without assignment: all components at once."""
    def loss(alpha, mu, icf, x, gamma, m):
        n, d = x.shape
        diagonal, sums = np.exp(icf[:, :d]), icf[:, :d].sum(1)
        z = np.einsum("kab,ikb->ika", factor_matrices(diagonal, icf[:, d:], d), x[:, None, :] - mu[None])
        terms = alpha + sums - 0.5 * (z * z).sum(2)
        wishart = 0.5 * gamma ** 2 * ((diagonal ** 2).sum() + (icf[:, d:] ** 2).sum()) - m * sums.sum()
        return log_sum_exp(terms, 1).sum() - n * log_sum_exp(alpha, 0) + wishart + constant(n, d, len(alpha), gamma, m)
    return loss


def constant_part(n, d, K, gamma, m):
    degrees = d + m + 1.0
    log_gamma = 0.25 * d * (d - 1) * math.log(math.pi) + sum(math.lgamma(0.5 * degrees - 0.5 * j) for j in range(d))
    constant = degrees * d * (math.log(gamma) - 0.5 * math.log(2.0)) - log_gamma
    return -0.5 * n * d * math.log(2.0 * math.pi) - K * constant


def packed(d):
    columns = [(b, a) for a in range(d) for b in range(a + 1, d)]
    return np.array([c[0] for c in columns], dtype=int), np.array([c[1] for c in columns], dtype=int)


def mixture_jax(jax):
    jnp = jax.numpy

    def factor_matrices(diagonal, lower, d):
        b, a = packed(d)
        at = np.arange(d)
        return jnp.zeros((len(diagonal), d, d)).at[:, b, a].set(lower).at[:, at, at].set(diagonal)
    return functional(jnp, factor_matrices, lambda t, axis: jax.scipy.special.logsumexp(t, axis=axis), constant_part)


def mixture_torch(torch):
    def factor_matrices(diagonal, lower, d):
        b, a = packed(d)
        made = torch.zeros((len(diagonal), d, d), dtype=diagonal.dtype)
        made[:, torch.from_numpy(b), torch.from_numpy(a)] = lower
        return made + torch.diag_embed(diagonal)
    return functional(torch, factor_matrices, lambda t, axis: torch.logsumexp(t, axis), constant_part)


def arguments(label, n, d, K):
    def make(r, tiny):
        if tiny:
            return made(r, 5, min(d, 4), min(K, 3))
        group, *size = label.split()
        read = adbench_file(f"gmm/{group}/gmm_{'_'.join(size)}.txt")
        if read is None:
            return made(r, n, d, K)
        d_, K_, n_ = (int(v) for v in read[:3])
        parts = np.split(read[3:], np.cumsum([K_, K_ * d_, K_ * d_ * (d_ + 1) // 2, n_ * d_]))
        return (parts[0], parts[1].reshape(K_, d_), parts[2].reshape(K_, -1), parts[3].reshape(n_, d_), parts[4][0],
                int(parts[4][1]))

    def made(r, n, d, K):
        return (r.standard_normal(K), r.random((K, d)), r.standard_normal((K, d * (d + 1) // 2)), r.standard_normal((n, d)),
                1.0, 0)
    return make


def _record() -> list[Benchmark]:
    found = []
    for label, size in SIZES.items():
        found.append(benchmark(f"mixture by loops {label}", by_loops, arguments(label, *size), (0, 1, 2),
                               adjoint=loops_adjoint, torch=mixture_torch, jax=mixture_jax))
        found.append(benchmark(f"mixture by products {label}", by_products, arguments(label, *size), (0, 1, 2),
                               primals=(products_primal,), adjoint=products_adjoint, torch=mixture_torch, jax=mixture_jax))
    return found


_record()
