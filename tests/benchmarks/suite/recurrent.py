"""Recurrent networks in time: ADBench's LSTM, a plain recurrence."""

import math

import numpy as np

from autodiff.runtime.numbers import vectormath as vm

from .benchmark import adbench_file, also, benchmark, by_hand


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def lstm(main, extra, state, seq):
    """ADBench's LSTM: diagonal weights, a language model's loss (with its constant 2 inside the logarithm)."""
    c, b = seq.shape
    layers = state.shape[0]
    h = state[:, 0].copy()
    C = state[:, 1].copy()
    total = 0.0
    for t in range(c - 1):
        y = seq[t] * extra[0]
        for j in range(layers):
            W = main[2 * j]
            B = main[2 * j + 1]
            forget = sigmoid(y * W[0] + B[0])
            ingate = sigmoid(h[j] * W[1] + B[1])
            outgate = sigmoid(y * W[2] + B[2])
            change = np.tanh(h[j] * W[3] + B[3])
            C[j] = C[j] * forget + ingate * change
            h[j] = outgate * np.tanh(C[j])
            y = h[j]
        predicted = y * extra[1] + extra[2]
        total += np.sum(seq[t + 1] * (predicted - np.log(2.0 + np.sum(np.exp(predicted)))))
    return -total / (b * (c - 1))


@by_hand
def hand_sigmoid(x):
    return 1.0 / (1.0 + vm.exp(-x))


@by_hand
def lstm_step(main, extra, seq, t, h, C, h_new, C_new, y):
    """One character through all layers; the loss of the next one. `y` is left as the last layer's input."""
    layers, b = h.shape
    for k in range(b):
        y[k] = seq[t, k] * extra[0, k]
    for j in range(layers):
        W, B = main[2 * j], main[2 * j + 1]
        for k in range(b):
            f = hand_sigmoid(y[k] * W[0, k] + B[0, k])
            i = hand_sigmoid(h[j, k] * W[1, k] + B[1, k])
            a = vm.tanh(h[j, k] * W[3, k] + B[3, k])
            o = hand_sigmoid(y[k] * W[2, k] + B[2, k])
            c = C[j, k] * f + i * a
            C_new[j, k] = c
            h_new[j, k] = o * vm.tanh(c)
        for k in range(b):
            y[k] = h_new[j, k]


@by_hand
def lstm_loss(extra, seq, t, y, soft):
    """The loss of a character; `soft` becomes exp(predicted) / (2 + sum)."""
    b = len(y)
    z, chosen, count = 2.0, 0.0, 0.0
    for k in range(b):
        p = y[k] * extra[1, k] + extra[2, k]
        soft[k] = vm.exp(p)
        z += soft[k]
        chosen += seq[t + 1, k] * p
        count += seq[t + 1, k]
    for k in range(b):
        soft[k] /= z
    return chosen - count * math.log(z), count


@by_hand
def lstm_primal(main, extra, state, seq):
    c, b = seq.shape
    layers = state.shape[0]
    h, C = np.empty((layers, b)), np.empty((layers, b))
    for j in range(layers):
        h[j], C[j] = state[j, 0], state[j, 1]
    y, soft = np.empty(b), np.empty(b)
    total = 0.0
    for t in range(c - 1):
        lstm_step(main, extra, seq, t, h, C, h, C, y)
        total += lstm_loss(extra, seq, t, y, soft)[0]
    return -total / (b * (c - 1))


@by_hand
def lstm_adjoint(main, extra, state, seq):
    """h and C of every step are kept, the gates computed again."""
    c, b = seq.shape
    layers = state.shape[0]
    h, C = np.empty((c, layers, b)), np.empty((c, layers, b))
    for j in range(layers):
        h[0, j], C[0, j] = state[j, 0], state[j, 1]
    y, soft = np.empty(b), np.empty((c, b))
    total = 0.0
    counts = np.empty(c)
    for t in range(c - 1):
        lstm_step(main, extra, seq, t, h[t], C[t], h[t + 1], C[t + 1], y)
        value, counts[t] = lstm_loss(extra, seq, t, y, soft[t])
        total += value
    scale = -1.0 / (b * (c - 1))
    main_bar, extra_bar = np.zeros_like(main), np.zeros_like(extra)
    h_bar, C_bar, y_bar = np.zeros((layers, b)), np.zeros((layers, b)), np.empty(b)
    for t in range(c - 2, -1, -1):
        for k in range(b):
            p_bar = scale * (seq[t + 1, k] - counts[t] * soft[t, k])
            extra_bar[1, k] += p_bar * h[t + 1, layers - 1, k]
            extra_bar[2, k] += p_bar
            y_bar[k] = p_bar * extra[1, k]
        for j in range(layers - 1, -1, -1):
            W, B, W_bar, B_bar = main[2 * j], main[2 * j + 1], main_bar[2 * j], main_bar[2 * j + 1]
            if j == 0:
                for k in range(b):
                    y[k] = seq[t, k] * extra[0, k]
            else:
                for k in range(b):
                    y[k] = h[t + 1, j - 1, k]
            old, cell, cell_new = h[t, j], C[t, j], C[t + 1, j]
            for k in range(b):
                f = hand_sigmoid(y[k] * W[0, k] + B[0, k])
                i = hand_sigmoid(old[k] * W[1, k] + B[1, k])
                o = hand_sigmoid(y[k] * W[2, k] + B[2, k])
                a = vm.tanh(old[k] * W[3, k] + B[3, k])
                u = vm.tanh(cell_new[k])
                g = h_bar[j, k] + y_bar[k]
                c_bar = C_bar[j, k] + g * o * (1.0 - u * u)
                o_bar = g * u * o * (1.0 - o)
                f_bar = c_bar * cell[k] * f * (1.0 - f)
                i_bar = c_bar * a * i * (1.0 - i)
                a_bar = c_bar * i * (1.0 - a * a)
                C_bar[j, k] = c_bar * f
                W_bar[0, k] += f_bar * y[k]
                B_bar[0, k] += f_bar
                W_bar[1, k] += i_bar * old[k]
                B_bar[1, k] += i_bar
                W_bar[2, k] += o_bar * y[k]
                B_bar[2, k] += o_bar
                W_bar[3, k] += a_bar * old[k]
                B_bar[3, k] += a_bar
                h_bar[j, k] = i_bar * W[1, k] + a_bar * W[3, k]
                y_bar[k] = f_bar * W[0, k] + o_bar * W[2, k]
        for k in range(b):
            extra_bar[0, k] += y_bar[k] * seq[t, k]
    return scale * total, main_bar, extra_bar


def lstm_arguments(r, tiny):
    if not tiny and (read := adbench_file("lstm/lstm_l2_c1024.txt")) is not None:
        layers, c, b = (int(v) for v in read[:3])
        main, extra, state, seq = np.split(read[3:], np.cumsum([8 * layers * b, 3 * b, 2 * layers * b]))
        return main.reshape(2 * layers, 4, b), extra.reshape(3, b), state.reshape(layers, 2, b), seq.reshape(-1, b)
    layers, c, b = (2, 4, 3) if tiny else (2, 1024, 14)
    return (r.standard_normal((2 * layers, 4, b)) * 0.5, r.standard_normal((3, b)) * 0.5,
            r.standard_normal((layers, 2, b)) * 0.5, (r.random((c, b)) < 0.4) * 1.0)


benchmark("LSTM l2 c1024", lstm, lstm_arguments, (0, 1), primals=(lstm_primal,), adjoint=lstm_adjoint)


def lstm_layers(np, main, extra, h, C, y):
    """For tools without assignment: one character through all layers."""
    hs, Cs = [], []
    for j in range(len(h)):
        W, B = main[2 * j], main[2 * j + 1]
        forget, ingate = 1.0 / (1.0 + np.exp(-(y * W[0] + B[0]))), 1.0 / (1.0 + np.exp(-(h[j] * W[1] + B[1])))
        outgate, change = 1.0 / (1.0 + np.exp(-(y * W[2] + B[2]))), np.tanh(h[j] * W[3] + B[3])
        Cs.append(C[j] * forget + ingate * change)
        y = outgate * np.tanh(Cs[-1])
        hs.append(y)
    return hs, Cs, y * extra[1] + extra[2]


@also("LSTM l2 c1024", "jax")
def lstm_jax(jax):
    jnp = jax.numpy

    def loss(main, extra, state, seq):
        def step(carry, pair):
            h, C, predicted = lstm_layers(jnp, main, extra, *carry, pair[0] * extra[0])
            lost = jnp.sum(pair[1] * (predicted - jnp.log(2.0 + jnp.sum(jnp.exp(predicted)))))
            return (jnp.stack(h), jnp.stack(C)), lost
        _, losses = jax.lax.scan(step, (state[:, 0], state[:, 1]), (seq[:-1], seq[1:]))
        return -losses.sum() / (seq.shape[1] * (seq.shape[0] - 1))
    return loss


def lstm_unrolled(np):
    def loss(main, extra, state, seq):
        c, b = seq.shape
        h, C = [s[0] for s in state], [s[1] for s in state]
        total = 0.0
        for t in range(c - 1):
            h, C, predicted = lstm_layers(np, main, extra, h, C, seq[t] * extra[0])
            total = total + np.sum(seq[t + 1] * (predicted - np.log(2.0 + np.sum(np.exp(predicted)))))
        return -total / (b * (c - 1))
    return loss


also("LSTM l2 c1024", "torch")(lstm_unrolled)
also("LSTM l2 c1024", "autograd")(lstm_unrolled)


def rnn(W, xs):
    h = np.zeros(W.shape[0])
    for t in range(xs.shape[0]):
        h = np.tanh(W @ h + xs[t])
    return h.sum()


@by_hand
def rnn_adjoint(W, xs):
    T, n = xs.shape
    tape = np.zeros((T + 1, n))
    for t in range(T):
        z = W @ tape[t]
        for i in range(n):
            tape[t + 1, i] = vm.tanh(z[i] + xs[t, i])
    xs_bar = np.empty_like(xs)
    h_bar = np.ones(n)
    for t in range(T - 1, -1, -1):
        for i in range(n):
            xs_bar[t, i] = h_bar[i] * (1.0 - tape[t + 1, i] ** 2)
        h_bar = xs_bar[t] @ W
    return tape[T].sum(), xs_bar.T @ tape[:-1], xs_bar


def rnn_arguments(r, tiny):
    T, n = (4, 3) if tiny else (2000, 100)
    return r.standard_normal((n, n)) / n, r.standard_normal((T, n))


benchmark("RNN", rnn, rnn_arguments, (0, 1), adjoint=rnn_adjoint)


@also("RNN", "jax")
def rnn_jax(jax):
    jnp = jax.numpy

    def loss(W, xs):
        return jax.lax.scan(lambda h, x: (jnp.tanh(W @ h + x), None), jnp.zeros(W.shape[0]), xs)[0].sum()
    return loss


@also("RNN", "torch")
def rnn_torch(torch):
    def loss(W, xs):
        h = torch.zeros(W.shape[0], dtype=W.dtype)
        for x in xs:
            h = torch.tanh(W @ h + x)
        return h.sum()
    return loss
