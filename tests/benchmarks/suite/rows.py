"""Softmax over rows and scaling of rows and columns: attention, Sinkhorn."""

import numpy as np

from autodiff.runtime.numbers import vectormath as vm

from .benchmark import also, benchmark, by_hand


def attention(X, Wq, Wk, Wv):
    q, k, v = X @ Wq, X @ Wk, X @ Wv
    s = q @ k.T / np.sqrt(q.shape[1])
    s = s - np.max(s, axis=1, keepdims=True)
    p = np.exp(s)
    p = p / np.sum(p, axis=1, keepdims=True)
    return np.sum((p @ v) ** 2)


@by_hand
def softmax_rows(s, scale):
    """In place, of scale * s."""
    for i in range(s.shape[0]):
        top, total = s[i, 0], 0.0
        for j in range(1, s.shape[1]):
            top = max(top, s[i, j])
        for j in range(s.shape[1]):
            s[i, j] = vm.exp(scale * (s[i, j] - top))
            total += s[i, j]
        total = 1.0 / total
        for j in range(s.shape[1]):
            s[i, j] *= total


@by_hand
def attention_primal(X, Wq, Wk, Wv):
    q, k, v = X @ Wq, X @ Wk, X @ Wv
    s = q @ k.T
    softmax_rows(s, 1.0 / np.sqrt(q.shape[1]))
    out = s @ v
    total = 0.0
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            total += out[i, j] * out[i, j]
    return total


@by_hand
def attention_adjoint(X, Wq, Wk, Wv):
    q, k, v = X @ Wq, X @ Wk, X @ Wv
    p = q @ k.T
    scale = 1.0 / np.sqrt(q.shape[1])
    softmax_rows(p, scale)
    out = p @ v
    total = 0.0
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            total += out[i, j] * out[i, j]
            out[i, j] *= 2.0
    v_bar, s_bar = p.T @ out, out @ v.T
    for i in range(p.shape[0]):
        along = 0.0
        for j in range(p.shape[1]):
            along += s_bar[i, j] * p[i, j]
        for j in range(p.shape[1]):
            s_bar[i, j] = scale * p[i, j] * (s_bar[i, j] - along)
    return total, X.T @ (s_bar @ k), X.T @ (s_bar.T @ q), X.T @ v_bar


def attention_arguments(r, tiny):
    n, d = (5, 3) if tiny else (256, 64)
    return r.random((n, d)), *(0.1 * r.random((3, d, d)))


benchmark("attention", attention, attention_arguments, (1, 2, 3), primals=(attention_primal,), adjoint=attention_adjoint,
          jax=True, autograd=True)


@also("attention", "torch")
def attention_torch(torch):
    def loss(X, Wq, Wk, Wv):
        q, k, v = X @ Wq, X @ Wk, X @ Wv
        return torch.sum((torch.softmax(q @ k.T / q.shape[1] ** 0.5, dim=1) @ v) ** 2)
    return loss


def sinkhorn(C, a, b, eps, rounds):
    """The cost of a regularised transport plan from a to b."""
    K = np.exp(-C / eps)
    u = np.ones(a.shape[0])
    v = np.ones(b.shape[0])
    for _ in range(rounds):
        u = a / (K @ v)
        v = b / (K.T @ u)
    return np.sum(u[:, None] * K * v * C)


@by_hand
def kernel(C, eps):
    K = np.empty_like(C)
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            K[i, j] = vm.exp(-C[i, j] / eps)
    return K


@by_hand
def sinkhorn_primal(C, a, b, eps, rounds):
    K, u, v = kernel(C, eps), np.ones(len(a)), np.ones(len(b))
    for _ in range(rounds):
        u = a / (K @ v)
        v = b / (u @ K)
    total = 0.0
    for i in range(len(a)):
        for j in range(len(b)):
            total += u[i] * K[i, j] * v[j] * C[i, j]
    return total


@by_hand
def sinkhorn_adjoint(C, a, b, eps, rounds):
    """The outer products of all rounds are two products of matrices at the end."""
    n, m = C.shape
    K, us, vs = kernel(C, eps), np.ones((rounds + 1, n)), np.ones((rounds + 1, m))
    left, right = np.empty((rounds, n)), np.empty((rounds, m))
    for t in range(rounds):
        us[t + 1] = a / (K @ vs[t])
        vs[t + 1] = b / (us[t + 1] @ K)
    u, v = us[rounds], vs[rounds]
    C_bar, total, u_bar, v_bar = np.empty_like(C), 0.0, np.zeros(n), np.zeros(m)
    for i in range(n):
        for j in range(m):
            plan, cost = u[i] * K[i, j] * v[j], K[i, j] * C[i, j]
            total += plan * C[i, j]
            C_bar[i, j] = plan * (1.0 - C[i, j] / eps)
            u_bar[i] += cost * v[j]
            v_bar[j] += cost * u[i]
    for t in range(rounds - 1, -1, -1):
        right[t] = -v_bar * vs[t + 1] * vs[t + 1] / b
        u_bar += K @ right[t]
        left[t] = -u_bar * us[t + 1] * us[t + 1] / a
        v_bar = left[t] @ K
        u_bar = np.zeros(n)
    K_bar = us[1:].T @ right + left.T @ vs[:-1]
    for i in range(n):
        for j in range(m):
            C_bar[i, j] -= K_bar[i, j] * K[i, j] / eps
    return total, C_bar


def sinkhorn_arguments(r, tiny):
    n, m, rounds = (4, 3, 3) if tiny else (200, 200, 50)
    return r.random((n, m)), np.ones(n) / n, np.ones(m) / m, 0.1, rounds


benchmark("Sinkhorn", sinkhorn, sinkhorn_arguments, (0,), primals=(sinkhorn_primal,), adjoint=sinkhorn_adjoint,
          autograd=True)


@also("Sinkhorn", "jax")
def sinkhorn_jax(jax):
    jnp = jax.numpy

    def loss(C, a, b, eps, rounds):
        K = jnp.exp(-C / eps)

        def step(state, _):
            u = a / (K @ state[1])
            return (u, b / (K.T @ u)), None
        u, v = jax.lax.scan(step, (jnp.ones(a.shape[0]), jnp.ones(b.shape[0])), None, length=rounds)[0]
        return jnp.sum(u[:, None] * K * v * C)
    return loss


@also("Sinkhorn", "torch")
def sinkhorn_torch(torch):
    def loss(C, a, b, eps, rounds):
        K = torch.exp(-C / eps)
        u, v = torch.ones_like(a), torch.ones_like(b)
        for _ in range(rounds):
            u = a / (K @ v)
            v = b / (K.T @ u)
        return torch.sum(u[:, None] * K * v * C)
    return loss
