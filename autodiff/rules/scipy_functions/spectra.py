"""Smoothing by polynomials, analytic signals and power spectra of `scipy.signal`.

Source: A. Savitzky and M. J. E. Golay, Analytical Chemistry 36 (1964); P. D. Welch, "The use of fast Fourier transform for
the estimation of power spectra", IEEE Transactions on Audio and Electroacoustics 15 (1967).
"""

import numpy as np
from scipy import signal

from ...transforms.lower.numpy_functions.reductions import unsupported
from ..decorators import defines
from ..definitions.extrema import floats
from .signal import detrend as detrended


@defines(signal.hilbert)
def hilbert(x, N=None, axis=-1):
    """The analytic signal: positive frequencies twice, negative ones not at all."""
    spectrum = np.fft.fft(np.asarray(x), N, axis=axis)
    n = spectrum.shape[axis]
    k = np.arange(n)
    factor = np.where((k == 0) | (2 * k == n), 1.0, np.where(2 * k < n, 2.0, 0.0)).astype(np.real(spectrum).dtype)
    return np.fft.ifft(np.moveaxis(np.moveaxis(spectrum, axis, -1) * factor, -1, axis), axis=axis)


def polynomial_ends(x, window_length, polyorder, deriv, delta):
    """What the polynomial through the first `window_length` values of the last axis says of the first half of them."""
    half = window_length // 2
    places = np.arange(window_length) - 0.5 * (window_length - 1)
    scale = 0.5 * window_length
    powers = (places[:, None] / scale) ** np.arange(polyorder + 1)
    falling = np.ones(polyorder + 1)
    for k in range(deriv):
        falling = falling * (np.arange(polyorder + 1) - k)
    at = np.maximum(np.arange(polyorder + 1) - deriv, 0)
    found = falling * (places[:half, None] / scale) ** at / (scale * delta) ** deriv
    return x[..., :window_length] @ (np.linalg.pinv(powers).T @ found.T).astype(x.dtype)


@defines(signal.savgol_filter)
def savgol_filter(x, window_length, polyorder, deriv=0, delta=1.0, axis=-1, mode="interp", cval=0.0):
    last = np.moveaxis(floats(np.asarray(x)), axis, -1)
    n = last.shape[-1]
    half = window_length // 2
    if mode == "interp":
        if window_length > n:
            raise ValueError("If mode is 'interp', window_length must be less than or equal to the size of x.")
        longer = last
    elif mode == "constant":
        ends = np.full((*last.shape[:-1], half), 1.0 * cval).astype(last.dtype)
        longer = np.concatenate((ends, last, ends), axis=-1)
    else:
        ways: dict = {"mirror": "reflect", "nearest": "edge", "wrap": "wrap"}
        if mode not in ways:
            raise ValueError("mode must be 'mirror', 'constant', 'nearest' 'wrap' or 'interp'.")
        longer = np.pad(last, [(0, 0)] * (last.ndim - 1) + [(half, half)], mode=ways[mode])
    weights = signal.savgol_coeffs(window_length, polyorder, deriv=deriv, delta=delta).astype(last.dtype)
    if window_length % 2 == 0:
        return unsupported("scipy.signal.savgol_filter with an even window", "take an odd one")
    count = longer.shape[-1] - 2 * half
    out = np.zeros((*last.shape[:-1], count), dtype=last.dtype)
    for k in range(window_length):
        out = out + weights[window_length - 1 - k] * longer[..., k:k + count]
    if mode == "interp":
        first = polynomial_ends(last, window_length, polyorder, deriv, delta)
        final = np.flip(polynomial_ends(np.flip(last, axis=-1), window_length, polyorder, deriv, -delta), axis=-1)
        out = np.concatenate((first, out, final), axis=-1)
    return np.moveaxis(out, -1, axis)


def window_of(window, nperseg, given):
    """The weights of a segment: those of an array, or of a named window, periodic as spectra want it."""
    if not isinstance(window, (str, tuple)):
        return np.asarray(window)
    if window == "hann" or window == "hanning":
        return 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(nperseg) / nperseg)
    if window == "hamming":
        return 0.54 - 0.46 * np.cos(2.0 * np.pi * np.arange(nperseg) / nperseg)
    if window == "boxcar":
        return np.ones(nperseg)
    if given is None:
        return unsupported("a spectrum with this window and no nperseg", "pass nperseg")
    if given > nperseg:
        raise ValueError("a spectrum with this window and an nperseg above the signal's length is not differentiated")
    return signal.get_window(window, given)


def lengthened(x, n):
    """A signal, along the last axis, with zeros up to a length."""
    return np.concatenate((x, np.zeros((*x.shape[:-1], n - x.shape[-1]), dtype=x.dtype)), axis=-1)


def density(a, b, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, average):
    """(frequencies, the mean over segments of conj(A) B) of signals along the last axis; b: None for a itself."""
    if not isinstance(detrend, (str, bool)):
        return unsupported("a spectrum with a function for detrend", "name one")
    if average != "mean":
        return unsupported("a spectrum by medians of segments", "use average='mean'")
    n = a.shape[-1]
    given = 256 if nperseg is None else nperseg
    weights = window_of(window, min(given, n), nperseg).astype(np.real(a).dtype)
    length = weights.shape[0]
    points = length if nfft is None else nfft
    overlap = length // 2 if noverlap is None else noverlap
    if overlap >= length:
        raise ValueError("noverlap must be less than nperseg.")
    step = length - overlap
    count = (n - overlap) // step
    starts = step * np.arange(count)
    at = starts[:, None] + np.arange(length)
    one_sided = return_onesided and not np.iscomplexobj(a) and (b is None or not np.iscomplexobj(b))

    def spectra(series):
        pieces = series[..., at]
        if isinstance(detrend, str):
            pieces = detrended(pieces, type=detrend)
        pieces = pieces * weights
        return np.fft.rfft(pieces, points, axis=-1) if one_sided else np.fft.fft(pieces, points, axis=-1)
    scale = 1.0 / (fs * np.sum(weights * weights)) if scaling == "density" else 1.0 / np.sum(weights) ** 2
    first = spectra(a)
    power = np.conj(first) * (first if b is None else spectra(b)) * scale
    if one_sided:
        k = np.arange(power.shape[-1])
        power = power * np.where((k == 0) | (2 * k == points), 1.0, 2.0).astype(np.real(power).dtype)
    frequencies = np.arange(power.shape[-1]) * fs / points if one_sided else np.fft.fftfreq(points, 1.0 / fs)
    return frequencies, np.mean(power, axis=-2)


@defines(signal.csd)
def csd(x, y, fs=1.0, window="hann", nperseg=None, noverlap=None, nfft=None, detrend="constant", return_onesided=True,
        scaling="density", axis=-1, average="mean"):
    a, b = np.moveaxis(floats(np.asarray(x)), axis, -1), np.moveaxis(floats(np.asarray(y)), axis, -1)
    n = max(a.shape[-1], b.shape[-1])
    frequencies, power = density(lengthened(a, n), lengthened(b, n), fs, window, nperseg, noverlap, nfft, detrend,
                                 return_onesided, scaling, average)
    return frequencies, np.moveaxis(power, -1, axis)


@defines(signal.welch)
def welch(x, fs=1.0, window="hann", nperseg=None, noverlap=None, nfft=None, detrend="constant", return_onesided=True,
          scaling="density", axis=-1, average="mean"):
    a = np.moveaxis(floats(np.asarray(x)), axis, -1)
    frequencies, power = density(a, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, average)
    return frequencies, np.moveaxis(np.real(power), -1, axis)


@defines(signal.periodogram)
def periodogram(x, fs=1.0, window="boxcar", nfft=None, detrend="constant", return_onesided=True, scaling="density", axis=-1):
    length = np.shape(x)[axis]
    if nfft is not None:
        return unsupported("scipy.signal.periodogram with nfft", "use welch with nperseg and nfft")
    return welch(x, fs, window, length, 0, length, detrend, return_onesided, scaling, axis)
