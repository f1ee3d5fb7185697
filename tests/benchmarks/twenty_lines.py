"""The function whose first gradient is timed in a fresh process: twenty lines of everyday code."""

import numpy as np


def model(p, t, y):
    rate = np.exp(p[0])
    level = p[1]
    slope = p[2]
    season = 0.0
    state = 1.0
    loss = 0.0
    for k in range(t.shape[0]):
        forecast = level + slope * t[k] + season
        if y[k] > forecast:
            gain = rate / (1.0 + rate)
        else:
            gain = 0.5 * rate / (1.0 + rate)
        error = y[k] - forecast
        level += gain * error
        slope += 0.1 * gain * error * state
        season = p[3] * np.sin(t[k]) + p[4] * season
        state = 0.9 * state + 0.1 * np.tanh(error)
        loss += error * error
    penalty = np.sum(p * p)
    return loss / t.shape[0] + 1e-3 * penalty


def arguments():
    t = np.linspace(0.0, 3.0, 20)
    return np.array([0.1, 0.2, 0.3, 0.4, 0.5]), t, np.cos(t)
