"""Adjoints by hand of statistics of whole arrays."""

import numpy as np

from autodiff.runtime.numbers import vectormath as vm

from .benchmark import by_hand
from .blas import there_and_back


@by_hand
def centred(data):
    n, m = data.shape
    mean, out = np.zeros(m), np.empty((n, m))
    for i in range(n):
        for j in range(m):
            mean[j] += data[i, j]
    for j in range(m):
        mean[j] /= n
    for i in range(n):
        for j in range(m):
            out[i, j] = data[i, j] - mean[j]
    return out


@by_hand
def covariance(data, w):
    """The sum is linear in x.T @ x: one product gives the gradient, whose columns have mean 0, and from it the sum."""
    x, total = centred(data), 0.0
    bar = x @ ((w + w.T) / (len(data) - 1.0))
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            total += x[i, j] * bar[i, j]
    return 0.5 * total, bar


@by_hand
def correlation(data, w):
    """As the covariance; the shares of the standard deviations are means of columns of the same products."""
    x = centred(data)
    n, m = x.shape
    scale, share, total = np.zeros(m), np.zeros(m), 0.0
    for i in range(n):
        for j in range(m):
            scale[j] += x[i, j] * x[i, j]
    for j in range(m):
        scale[j] = 1.0 / np.sqrt(scale[j] / n)
    bar = x @ ((w + w.T) * scale * scale.reshape(m, 1) / n)
    for i in range(n):
        for j in range(m):
            share[j] += x[i, j] * bar[i, j]
    for j in range(m):
        total += 0.5 * share[j]
        share[j] *= scale[j] * scale[j] / n
    for i in range(n):
        for j in range(m):
            bar[i, j] -= share[j] * x[i, j]
    return total, bar


@by_hand
def gaussian_mixture(weights, means, log_scales, x):
    """Point by point, with the components innermost; the gaps of a point stay in the first cache."""
    count, d, K = x.shape[0], x.shape[1], len(weights)
    mu, scale, total = means.T.copy(), np.exp(-log_scales.T), 0.0
    top, z = np.max(weights), 0.0
    for k in range(K):
        z += np.exp(weights[k] - top)
    constant = weights - top - np.log(z) - np.sum(log_scales, axis=1)
    gaps, terms, sums = np.empty((d, K)), np.empty(K), np.zeros(K)
    mu_bar, scale_bar, x_bar = np.zeros((d, K)), np.zeros((d, K)), np.empty_like(x)
    for i in range(count):
        terms[:] = constant
        for c in range(d):
            gap, m, e, v = gaps[c], mu[c], scale[c], x[i, c]
            for k in range(K):
                g = (v - m[k]) * e[k]
                gap[k] = g
                terms[k] -= 0.5 * g * g
        peak, s = terms[0], 0.0
        for k in range(K):
            peak = max(peak, terms[k])
        for k in range(K):
            terms[k] = vm.exp(terms[k] - peak)
            s += terms[k]
        total += peak + np.log(s)
        for k in range(K):
            terms[k] /= s
            sums[k] += terms[k]
        for c in range(d):
            gap, e, m_bar, e_bar, v = gaps[c], scale[c], mu_bar[c], scale_bar[c], 0.0
            for k in range(K):
                h = terms[k] * gap[k]
                e_bar[k] += h * gap[k]
                h *= e[k]
                m_bar[k] += h
                v -= h
            x_bar[i, c] = v
    for k in range(K):
        for c in range(d):
            scale_bar[c, k] -= sums[k]
        sums[k] -= count * np.exp(weights[k] - top) / z
    return total, sums, mu_bar.T.copy(), scale_bar.T.copy(), x_bar


@by_hand
def masked_means(x, group):
    """The sums of all three groups in one pass, and what they do to each element in another."""
    s0 = s1 = s2 = t0 = t1 = t2 = 0.0
    n0 = n1 = n2 = 0
    for i in range(len(x)):
        v, g = x[i], group[i]
        p, q, r = g == 0, g == 1, g == 2
        a, b, c = v if p else 0.0, v if q else 0.0, v if r else 0.0
        s0, s1, s2 = s0 + a, s1 + b, s2 + c
        t0, t1, t2 = t0 + a * a * a, t1 + b * b * b, t2 + c * c * c
        n0, n1, n2 = n0 + p, n1 + q, n2 + r
    m0, m1, m2, bar = s0 / n0, s1 / n1, s2 / n2, np.empty_like(x)
    for i in range(len(x)):
        g, v = group[i], 3.0 * x[i] * x[i]
        a, b, c = (2.0 * m0 + v) / n0, (2.0 * m1 + v) / n1, (2.0 * m2 + v) / n2
        bar[i] = a if g == 0 else b if g == 1 else c if g == 2 else 0.0
    return m0 * m0 + m1 * m1 + m2 * m2 + t0 / n0 + t1 / n1 + t2 / n2, bar


@by_hand
def spectral_norm(A):
    """Both products of an iteration in one pass over A, there and back; the cotangent of A is one product of what was kept.

    u_raw = A v, v_raw = A.T u, and the value u A v is the norm of the last v_raw.
    """
    steps, (n, m) = 6, A.shape
    us, vs = np.empty((steps, n)), np.empty((steps + 1, m))
    u_bars, v_bars, u_norm, v_norm = np.empty((steps, n)), np.empty((steps, m)), np.empty(steps), np.empty(steps)
    vs[0] = 1.0
    for t in range(steps):
        us[t] = 0.0
        w = there_and_back(A, vs[t], us[t], 1.0)
        u_norm[t] = np.sqrt(us[t] @ us[t])
        us[t] /= u_norm[t]
        w /= u_norm[t]
        v_norm[t] = np.sqrt(w @ w)
        vs[t + 1] = w / v_norm[t]
    v_bars[steps - 1] = vs[steps]
    for t in range(steps - 1, -1, -1):
        u_bar = u_bars[t]
        u_bar[:] = 0.0
        w = there_and_back(A, v_bars[t], u_bar, 1.0)
        along = us[t] @ u_bar
        u_bar -= along * us[t]
        u_bar /= u_norm[t]
        if t > 0:
            w -= (along * v_norm[t]) * vs[t + 1]
            w /= u_norm[t]
            v_bars[t - 1] = (w - (vs[t] @ w) * vs[t]) / v_norm[t - 1]
    left, right = np.concatenate((us, u_bars)), np.concatenate((v_bars, vs[:steps]))
    return v_norm[steps - 1], left.T @ right
