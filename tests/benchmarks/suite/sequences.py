"""Likelihoods of series: a Kalman filter, a hidden Markov model by columns, GARCH, a logistic regression by a loop."""

import numpy as np

from autodiff.runtime.numbers import vectormath as vm

from .benchmark import also, benchmark, by_hand, exact


def kalman(F, H, Q, R, ys):
    """Negative log-likelihood (without constants) of observations ys (steps, m)."""
    n = F.shape[0]
    x = np.zeros(n)
    P = np.eye(n)
    s = 0.0
    for t in range(ys.shape[0]):
        x = F @ x
        P = F @ P @ F.T + Q
        S = H @ P @ H.T + R
        r = ys[t] - H @ x
        K = np.linalg.solve(S, H @ P).T
        s += 0.5 * (r @ np.linalg.solve(S, r)) + 0.5 * np.log(np.linalg.det(S))
        x = x + K @ r
        P = P - K @ S @ K.T
    return s


@by_hand
def times(A, B, out, add=0.0):
    """out = add * out + A B."""
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            s = add * out[i, j]
            for k in range(A.shape[1]):
                s += A[i, k] * B[k, j]
            out[i, j] = s


@by_hand
def inverse_and_log_det(S, out):
    """Of a symmetric positive matrix, by Gauss-Jordan elimination without pivoting."""
    m, log_det = S.shape[0], 0.0
    out[:] = S
    for k in range(m):
        p = out[k, k]
        log_det += np.log(p)
        out[k, k] = 1.0
        for j in range(m):
            out[k, j] /= p
        for i in range(m):
            if i != k:
                f = out[i, k]
                out[i, k] = 0.0
                for j in range(m):
                    out[i, j] -= f * out[k, j]
    return log_det


@by_hand
def kalman_step(F, H, Q, R, y, x, P, xp, Pp, G, Si, r, w, xn, Pn, FP):
    """x, P to the prediction xp, Pp, with G = H Pp, Si = S^-1, w = Si r, and to xn, Pn; the term of the likelihood."""
    n, m = F.shape[0], H.shape[0]
    for i in range(n):
        s = 0.0
        for k in range(n):
            s += F[i, k] * x[k]
        xp[i] = s
    times(F, P, FP)
    Pp[:] = Q
    times(FP, F.T, Pp, 1.0)
    times(H, Pp, G)
    S = Si.copy()
    S[:] = R
    times(G, H.T, S, 1.0)
    log_det = inverse_and_log_det(S, Si)
    for i in range(m):
        s = y[i]
        for k in range(n):
            s -= H[i, k] * xp[k]
        r[i] = s
    term = 0.0
    for i in range(m):
        s = 0.0
        for k in range(m):
            s += Si[i, k] * r[k]
        w[i] = s
        term += s * r[i]
    for i in range(n):
        s = xp[i]
        for k in range(m):
            s += G[k, i] * w[k]
        xn[i] = s
        for j in range(n):
            s = Pp[i, j]
            for k in range(m):
                for q in range(m):
                    s -= G[k, i] * Si[k, q] * G[q, j]
            Pn[i, j] = s
    return 0.5 * term + 0.5 * log_det


@by_hand
def kalman_primal(F, H, Q, R, ys):
    n, m = F.shape[0], H.shape[0]
    x, xp, r, w = np.zeros(n), np.empty(n), np.empty(m), np.empty(m)
    P, Pp, FP, G, Si = np.eye(n), np.empty((n, n)), np.empty((n, n)), np.empty((m, n)), np.empty((m, m))
    total = 0.0
    for t in range(ys.shape[0]):
        total += kalman_step(F, H, Q, R, ys[t], x, P, xp, Pp, G, Si, r, w, x, P, FP)
    return total


@by_hand
def kalman_adjoint(F, H, Q, R, ys):
    """S is symmetric where it is evaluated, not where it is differentiated: K = (S^-1 G)^T, P -= G^T S^-T G."""
    n, m, T = F.shape[0], H.shape[0], ys.shape[0]
    xs, Ps, xps, Pps = np.zeros((T + 1, n)), np.empty((T + 1, n, n)), np.empty((T, n)), np.empty((T, n, n))
    Gs, Sis, rs, ws = np.empty((T, m, n)), np.empty((T, m, m)), np.empty((T, m)), np.empty((T, m))
    FP = np.empty((n, n))
    Ps[0] = np.eye(n)
    total = 0.0
    for t in range(T):
        total += kalman_step(F, H, Q, R, ys[t], xs[t], Ps[t], xps[t], Pps[t], Gs[t], Sis[t], rs[t], ws[t],
                             xs[t + 1], Ps[t + 1], FP)
    Fb, Hb, Qb, Rb = np.zeros((n, n)), np.zeros((m, n)), np.zeros((n, n)), np.zeros((m, m))
    xb, Pb, xpb, Ppb = np.zeros(n), np.zeros((n, n)), np.empty(n), np.empty((n, n))
    Z, ZP, ZPt, Gb, SH = np.empty((m, n)), np.empty((m, n)), np.empty((m, n)), np.empty((m, n)), np.empty((m, n))
    Sb, rb, nn = np.empty((m, m)), np.empty(m), np.empty((n, n))
    for t in range(T - 1, -1, -1):
        x, P, xp, Pp, G, Si, w = xs[t], Ps[t], xps[t], Pps[t], Gs[t], Sis[t], ws[t]
        times(Si, G, Z)
        times(Z, Pb, ZP)
        times(Z, Pb.T, ZPt)
        for i in range(m):
            a = 0.0
            for k in range(n):
                a += Z[i, k] * xb[k]
            rb[i] = w[i] + a
            for j in range(m):
                s = 0.5 * Si[j, i] - 0.5 * w[i] * w[j]
                for k in range(n):
                    s += ZPt[i, k] * Z[j, k]
                Sb[i, j] = s
            for k in range(n):
                Gb[i, k] = w[i] * xb[k] - ZP[i, k] - ZPt[i, k]
        for i in range(m):
            for j in range(m):
                Sb[i, j] -= w[i] * (rb[j] - w[j])
                Rb[i, j] += Sb[i, j]
        times(Sb, H, SH)
        for i in range(m):
            for k in range(n):
                Gb[i, k] += SH[i, k]
        Ppb[:] = Pb
        times(H.T, Gb, Ppb, 1.0)
        for i in range(m):
            for k in range(n):
                s = -rb[i] * xp[k]
                for q in range(n):
                    s += (Gb[i, q]) * Pp[k, q]
                for q in range(m):
                    s += Sb[q, i] * G[q, k]
                Hb[i, k] += s
        for i in range(n):
            s = xb[i]
            for k in range(m):
                s -= H[k, i] * rb[k]
            xpb[i] = s
        times(F, P, FP)
        for i in range(n):
            for j in range(n):
                s = xpb[i] * x[j]
                for k in range(n):
                    s += Ppb[k, i] * FP[k, j]
                Fb[i, j] += s
                Qb[i, j] += Ppb[i, j]
        times(F, P.T, FP)
        times(Ppb, FP, Fb, 1.0)
        times(Ppb, F, nn)
        times(F.T, nn, Pb)
        for i in range(n):
            s = 0.0
            for k in range(n):
                s += F[k, i] * xpb[k]
            xb[i] = s
    return total, Fb, Hb, Qb, Rb


def kalman_arguments(r, tiny):
    n, m, steps = (3, 2, 3) if tiny else (6, 3, 200)
    return (0.9 * np.eye(n) + 0.05 * r.random((n, n)), r.random((m, n)), 0.1 * np.eye(n), 0.2 * np.eye(m),
            r.random((steps, m)))


benchmark("Kalman filter", kalman, kalman_arguments, (0, 1, 2, 3), primals=(kalman_primal,), adjoint=kalman_adjoint,
          autograd=True)


@also("Kalman filter", "jax")
def kalman_jax(jax):
    jnp = jax.numpy

    def loss(F, H, Q, R, ys):
        def step(state, y):
            x, P = state
            x, P = F @ x, F @ P @ F.T + Q
            S, r = H @ P @ H.T + R, y - H @ x
            K = jnp.linalg.solve(S, H @ P).T
            term = 0.5 * (r @ jnp.linalg.solve(S, r)) + 0.5 * jnp.log(jnp.linalg.det(S))
            return (x + K @ r, P - K @ S @ K.T), term
        return jnp.sum(jax.lax.scan(step, (jnp.zeros(F.shape[0]), jnp.eye(F.shape[0])), ys)[1])
    return loss


@also("Kalman filter", "torch")
def kalman_torch(torch):
    def loss(F, H, Q, R, ys):
        x, P, s = torch.zeros(F.shape[0], dtype=F.dtype), torch.eye(F.shape[0], dtype=F.dtype), 0.0
        for y in ys:
            x, P = F @ x, F @ P @ F.T + Q
            S, r = H @ P @ H.T + R, y - H @ x
            K = torch.linalg.solve(S, H @ P).T
            s = s + 0.5 * (r @ torch.linalg.solve(S, r)) + 0.5 * torch.log(torch.linalg.det(S))
            x, P = x + K @ r, P - K @ S @ K.T
        return s
    return loss


def hmm(A, B, start, seen):
    """Log-likelihood by logarithms: A[i, j] from state i to j, B[:, o] of seeing o; sums over the old state."""
    a = np.log(start) + B[:, seen[0]]
    for t in range(1, seen.shape[0]):
        m = a[:, None] + A
        c = np.max(m, axis=0)
        a = c + np.log(np.sum(np.exp(m - c), axis=0)) + B[:, seen[t]]
    c = np.max(a)
    return c + np.log(np.sum(np.exp(a - c)))


@by_hand
def hmm_step(A, B, o, a, top, total, new):
    n = len(a)
    for j in range(n):
        top[j] = a[0] + A[0, j]
        total[j] = 0.0
    for i in range(1, n):
        for j in range(n):
            top[j] = max(top[j], a[i] + A[i, j])
    for i in range(n):
        for j in range(n):
            total[j] += vm.exp(a[i] + A[i, j] - top[j])
    for j in range(n):
        new[j] = top[j] + vm.log(total[j]) + B[j, o]


@by_hand
def log_sum_exp(a):
    top, total = a.max(), 0.0
    for i in range(len(a)):
        total += vm.exp(a[i] - top)
    return top + np.log(total)


@by_hand
def hmm_primal(A, B, start, seen):
    n = A.shape[0]
    a, top, total = np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        a[i] = np.log(start[i]) + B[i, seen[0]]
    for t in range(1, len(seen)):
        hmm_step(A, B, seen[t], a, top, total, a)
    return log_sum_exp(a)


@by_hand
def hmm_adjoint(A, B, start, seen):
    """exp(a[i] + A[i, j] - a_new[j] + B[j, o]) is the share of state i in state j; only a is kept."""
    n, T = A.shape[0], len(seen)
    tape, top, total = np.empty((T, n)), np.empty(n), np.empty(n)
    for i in range(n):
        tape[0, i] = np.log(start[i]) + B[i, seen[0]]
    for t in range(1, T):
        hmm_step(A, B, seen[t], tape[t - 1], top, total, tape[t])
    value = log_sum_exp(tape[T - 1])
    A_bar, B_bar, bar, level = np.zeros_like(A), np.zeros_like(B), np.empty(n), np.empty(n)
    for i in range(n):
        bar[i] = vm.exp(tape[T - 1, i] - value)
    for t in range(T - 1, 0, -1):
        old, new, o = tape[t - 1], tape[t], seen[t]
        for j in range(n):
            level[j] = new[j] - B[j, o]
            B_bar[j, o] += bar[j]
            top[j] = bar[j]
        for i in range(n):
            s = 0.0
            for j in range(n):
                share = top[j] * vm.exp(old[i] + A[i, j] - level[j])
                A_bar[i, j] += share
                s += share
            bar[i] = s
    for i in range(n):
        B_bar[i, seen[0]] += bar[i]
    return value, A_bar, B_bar


def hmm_arguments(r, tiny):
    n, symbols, steps = (3, 4, 4) if tiny else (30, 20, 300)
    return np.log(r.random((n, n))), np.log(r.random((n, symbols))), r.random(n), r.integers(0, symbols, steps)


benchmark("hidden Markov model by columns", hmm, hmm_arguments, (0, 1), primals=(hmm_primal,), adjoint=hmm_adjoint,
          autograd=True)


@also("hidden Markov model by columns", "jax")
def hmm_jax(jax):
    jnp = jax.numpy

    def loss(A, B, start, seen):
        def step(a, o):
            return jax.scipy.special.logsumexp(a[:, None] + A, axis=0) + B[:, o], None
        seen = jnp.asarray(seen)
        a = jax.lax.scan(step, jnp.log(start) + B[:, seen[0]], seen[1:])[0]
        return jax.scipy.special.logsumexp(a)
    return loss


@also("hidden Markov model by columns", "torch")
def hmm_torch(torch):
    def loss(A, B, start, seen):
        a = torch.log(start) + B[:, seen[0]]
        for o in seen[1:]:
            a = torch.logsumexp(a[:, None] + A, 0) + B[:, o]
        return torch.logsumexp(a, 0)
    return loss


def garch(p, r):
    """Negative log-likelihood (without constants) of returns r under GARCH(1, 1), p = (constant, alpha, beta)."""
    omega, alpha, beta = p[0], p[1], p[2]
    s2 = np.mean(r * r)
    total = 0.0
    for t in range(r.shape[0]):
        total += np.log(s2) + r[t] ** 2 / s2
        s2 = omega + alpha * r[t] ** 2 + beta * s2
    return 0.5 * total


@by_hand
def garch_variances(p, r, out):
    s2 = 0.0
    for t in range(len(r)):
        s2 += r[t] * r[t]
    s2 /= len(r)
    for t in range(len(r)):
        out[t] = s2
        s2 = p[0] + p[1] * r[t] * r[t] + p[2] * s2


@by_hand
def garch_primal(p, r):
    variances = np.empty(len(r))
    garch_variances(p, r, variances)
    total = 0.0
    for t in range(len(r)):
        total += vm.log(variances[t]) + r[t] * r[t] / variances[t]
    return 0.5 * total


@by_hand
def garch_adjoint(p, r):
    n = len(r)
    variances, slopes = np.empty(n), np.empty(n)
    garch_variances(p, r, variances)
    total = 0.0
    for t in range(n):
        inverse = 1.0 / variances[t]
        total += vm.log(variances[t]) + r[t] * r[t] * inverse
        slopes[t] = 0.5 * inverse * (1.0 - r[t] * r[t] * inverse)
    bar, a, b, c = 0.0, 0.0, 0.0, 0.0
    for t in range(n - 1, -1, -1):
        a += bar
        b += bar * r[t] * r[t]
        c += bar * variances[t]
        bar = slopes[t] + p[2] * bar
    return 0.5 * total, np.array((a, b, c))


def garch_arguments(r, tiny):
    return np.array((0.1, 0.1, 0.8)), r.standard_normal(8 if tiny else 20_000)


benchmark("GARCH", garch, garch_arguments, (0,), primals=(garch_primal, exact(garch)), adjoint=garch_adjoint)


@also("GARCH", "jax")
def garch_jax(jax):
    jnp = jax.numpy

    def loss(p, r):
        squares = r * r

        def step(s2, q):
            return p[0] + p[1] * q + p[2] * s2, s2
        variances = jax.lax.scan(step, jnp.mean(squares), squares)[1]
        return 0.5 * jnp.sum(jnp.log(variances) + squares / variances)
    return loss


def logistic_loop(w, x, y):
    """Negative log-likelihood of labels y in {0, 1} under a logistic curve of x, w = (intercept, slope)."""
    total = 0.0
    for i in range(x.shape[0]):
        z = w[0] + w[1] * x[i]
        total += np.log1p(np.exp(-z)) + (1.0 - y[i]) * z
    return total


@by_hand
def logistic_primal(w, x, y):
    total = 0.0
    for i in range(len(x)):
        z = w[0] + w[1] * x[i]
        total += vm.log1p(vm.exp(-z)) + (1.0 - y[i]) * z
    return total


@by_hand
def logistic_adjoint(w, x, y):
    total, a, b = 0.0, 0.0, 0.0
    for i in range(len(x)):
        z = w[0] + w[1] * x[i]
        e = vm.exp(-z)
        total += vm.log1p(e) + (1.0 - y[i]) * z
        slope = 1.0 - y[i] - e / (1.0 + e)
        a += slope
        b += slope * x[i]
    return total, np.array((a, b))


def logistic_arguments(r, tiny):
    x = r.standard_normal(8 if tiny else 20_000)
    return np.array((0.1, 0.8)), x, (x + r.standard_normal(x.size) > 0.0) * 1.0


benchmark("logistic likelihood by a loop", logistic_loop, logistic_arguments, (0,),
          primals=(logistic_primal, exact(logistic_loop)), adjoint=logistic_adjoint)


@also("logistic likelihood by a loop", "jax")
def logistic_jax(jax):
    jnp = jax.numpy

    def loss(w, x, y):
        z = w[0] + w[1] * x
        return jnp.sum(jnp.log1p(jnp.exp(-z)) + (1.0 - y) * z)
    return loss
