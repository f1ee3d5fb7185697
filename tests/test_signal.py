"""scipy.signal and scipy.integrate: values as SciPy's, derivatives as differences'; compiled; draws and clocks refused."""

import random
import time

import numpy as np
import pytest
from scipy import integrate, signal

from autodiff import AutodiffError, TypeConflict, UnsupportedSyntax, check_grads, grad, value_and_grad, vjp

R = np.random.default_rng(3)
X, Y, M, K = R.normal(size=7), R.normal(size=4), R.normal(size=(5, 6)), R.normal(size=(2, 3))
B, A, ZI = np.array([0.4, 0.3, -0.2]), np.array([1.5, -0.4, 0.1]), np.array([0.7, -0.3])
LONG, SECTIONS = R.normal(size=11), signal.butter(4, 0.3, output="sos")
PLACES = np.cumsum(R.uniform(0.5, 1.5, 6))

CASES = {
    "convolve full": (lambda a, b: signal.convolve(a, b), X, Y),
    "convolve same": (lambda a, b: signal.convolve(a, b, "same"), X, Y),
    "convolve valid": (lambda a, b: signal.convolve(a, b, "valid"), X, Y),
    "convolve short same": (lambda a, b: signal.convolve(a, b, "same"), Y, X),
    "convolve short valid": (lambda a, b: signal.convolve(a, b, "valid"), Y, X),
    "correlate full": (lambda a, b: signal.correlate(a, b), X, Y),
    "correlate same": (lambda a, b: signal.correlate(a, b, "same"), X, Y),
    "correlate same, odd": (lambda a, b: signal.correlate(a, b, "same"), X, X[:3]),
    "correlate short same": (lambda a, b: signal.correlate(a, b, "same"), Y, X),
    "correlate valid": (lambda a, b: signal.correlate(a, b, "valid"), X, Y),
    "correlate short valid": (lambda a, b: signal.correlate(a, b, "valid"), Y, X),
    "fftconvolve": (lambda a, b: signal.fftconvolve(a, b, "same"), X, Y),
    "two dimensions": (lambda a, b: signal.convolve(a, b, "same"), M, K),
    "convolve2d full": (lambda a, b: signal.convolve2d(a, b), M, K),
    "convolve2d valid": (lambda a, b: signal.convolve2d(a, b, "valid"), M, K),
    "correlate2d same": (lambda a, b: signal.correlate2d(a, b, "same"), M, K),
    "lfilter": (lambda b, a, x: signal.lfilter(b, a, x), B, A, X),
    "lfilter, moving average": (lambda b, x: signal.lfilter(b, [2.0], x), B, X),
    "lfilter, feedback": (lambda a, x: signal.lfilter([0.5], a, x), A, X),
    "lfilter, rows": (lambda b, a, x: signal.lfilter(b, a, x, axis=0), B, A, M),
    "lfilter, state": (lambda b, a, x, z: signal.lfilter(b, a, x, zi=z)[0], B, A, X, ZI),
    "lfilter, final state": (lambda b, a, x, z: signal.lfilter(b, a, x, zi=z)[1], B, A, X, ZI),
    "lfilter_zi": (lambda b, a: signal.lfilter_zi(b, a), B, A),
    "lfilter_zi, one coefficient": (lambda b: signal.lfilter_zi(b, [2.0]), B),
    "filtfilt": (lambda b, a, x: signal.filtfilt(b, a, x), B, A, LONG),
    "filtfilt, even": (lambda b, a, x: signal.filtfilt(b, a, x, padtype="even", padlen=3), B, A[:2], X),
    "filtfilt, constant": (lambda b, a, x: signal.filtfilt(b, a, x, axis=0, padtype="constant", padlen=2), B[:2], A, M),
    "filtfilt, not longer": (lambda b, a, x: signal.filtfilt(b, a, x, padtype=None), B, A, M),
    "sosfilt": (lambda x: signal.sosfilt(SECTIONS, x), X),
    "sosfilt, columns": (lambda x: signal.sosfilt(SECTIONS, x, axis=0), M),
    "lfilter, short": (lambda b, a, x, z: signal.lfilter(b, a, x, zi=z)[1], B, A, X[:1], ZI),
    "hilbert": (lambda x: np.abs(signal.hilbert(x)), LONG),
    "hilbert, axis": (lambda x: np.angle(signal.hilbert(x, N=8, axis=0)) + signal.hilbert(x, N=8, axis=0).imag, M),
    "savgol": (lambda x: signal.savgol_filter(x, 5, 2), LONG),
    "savgol, slope": (lambda x: signal.savgol_filter(x, 3, 2, deriv=1, delta=0.4, axis=0), M),
    "savgol, second": (lambda x: signal.savgol_filter(x, 7, 3, deriv=2, delta=2.0), LONG),
    "savgol, ends": (lambda x: np.concatenate([signal.savgol_filter(x, 5, 3, mode=m) for m in ("mirror", "nearest", "wrap")]
                                              + [signal.savgol_filter(x, 5, 3, mode="constant", cval=0.3)]), LONG),
    "welch": (lambda x: np.log(signal.welch(x, 2.0, nperseg=4)[1]) + signal.welch(x, 2.0, nperseg=4)[0], LONG),
    "welch, short": (lambda x: signal.welch(x, nperseg=5, detrend="linear", scaling="spectrum", axis=0)[1], M),
    "welch, window": (lambda x: signal.welch(x, 1.0, ("kaiser", 3.0), 5, noverlap=3, nfft=8, detrend=False)[1], LONG),
    "csd": (lambda x, y: np.abs(signal.csd(x, y, nperseg=6, window="hamming")[1]), LONG, LONG[::-1] ** 2),
    "csd, lengths": (lambda x, y: signal.csd(x, y, nperseg=6)[1].imag, LONG, X),
    "periodogram": (lambda x: signal.periodogram(x, 3.0)[1] + signal.periodogram(x, 3.0)[0], M),
    "detrend": (lambda x: signal.detrend(x) + signal.detrend(x, type="constant"), M),
    "trapezoid": (lambda y, x: integrate.trapezoid(y, x), M, PLACES),
    "cumulative": (lambda y, x: integrate.cumulative_trapezoid(y, x, initial=0.0), M, PLACES),
    "cumulative, axis": (lambda y: integrate.cumulative_trapezoid(y, dx=0.3, axis=0), M),
    "simpson even": (lambda y, x: integrate.simpson(y, x), M, PLACES),
    "simpson odd": (lambda y, x: integrate.simpson(y, x=x), M[:, :5], PLACES[:5]),
    "simpson, axis": (lambda y: integrate.simpson(y, dx=0.3, axis=0), M),
    "simpson of two": (lambda y: integrate.simpson(y, dx=0.3), Y[:2]),
}


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name):
    f, *args = CASES[name]
    value, pullback = vjp(f, *args, mode="python")
    np.testing.assert_allclose(value, f(*args), rtol=1e-11, atol=1e-13)
    w = np.cos(np.arange(np.size(value))).reshape(np.shape(value))
    bars = pullback(w if w.ndim else float(w))
    d = [np.sin(1.0 + np.arange(a.size)).reshape(a.shape) for a in args]
    slope = sum(np.sum(bar * x) for bar, x in zip(bars, d, strict=True))
    along = lambda h: np.sum(w * f(*(a + h * x for a, x in zip(args, d, strict=True))))
    assert min(abs((along(h) - along(-h)) / (2 * h) - slope) for h in (1e-4, 1e-5)) < 1e-8 * max(1.0, abs(slope))
    few = [a.astype(np.float32) for a in args]
    narrow, pull = vjp(f, *few, mode="python")
    assert narrow.dtype == (np.float32 if name.startswith("simpson") else np.asarray(f(*few)).dtype)
    assert {bar.dtype for bar in pull(w.astype(narrow.dtype))} == {np.dtype(np.float32)}


def measured(b, a, x, k):
    """A filtered signal, smoothed and integrated."""
    smooth = signal.convolve(signal.lfilter(b, a, x), k, "same")
    return integrate.simpson(smooth ** 2, dx=0.1) + np.sum(integrate.cumulative_trapezoid(smooth))


def test_compiled_and_second_order():
    found, expected = (value_and_grad(measured, wrt=(0, 1, 2, 3), mode=mode)(B, A, X, Y) for mode in ("numba", "python"))
    assert found[0] == pytest.approx(expected[0]) == pytest.approx(measured(B, A, X, Y))
    for bar, reference in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(bar, reference, rtol=1e-11)
    assert check_grads(measured, (B, A, X, Y), order=2, directions=1, modes=("fwd", "rev"), mode="python").worst < 1e-6


def both_ways(b, a, x):
    return np.sum(signal.filtfilt(b, a, x) ** 3)


def by_sections(x):
    return np.sum(signal.sosfilt(SECTIONS, x) ** 2)


def test_filters_both_ways():
    for f, *args in ((lambda x: both_ways(B, A, x), LONG), (by_sections, LONG)):       # by b and a in the test above
        found, expected = (value_and_grad(f, mode=mode)(*args) for mode in ("numba", "python"))
        assert found[0] == pytest.approx(f(*args))
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-11)
    for f, *args in ((both_ways, B, A, LONG), (by_sections, LONG)):
        assert check_grads(f, tuple(args), order=2, directions=1, modes=("fwd", "rev"), mode="python").worst < 1e-6
    for f, words in ((lambda x: signal.filtfilt(B, A, x), "greater than padlen"),
                     (lambda x: signal.sosfilt(2.0 * SECTIONS, x), "all ones")):
        for call in (f, lambda x, f=f: vjp(f, x, mode="python")):
            with pytest.raises(ValueError, match=words):
                call(X)


def test_a_filter_without_a_state():
    """SciPy refused it until 1.18, and gives no numbers since."""
    f = lambda x: signal.lfilter_zi(x[:1], [2.0])
    try:
        wanted = f(X)
    except ValueError:
        with pytest.raises(ValueError, match="at least 2"):
            vjp(f, X, mode="python")
        return
    value, pullback = vjp(f, X, mode="python")
    assert value.shape == wanted.shape == (0,) and not pullback(np.zeros(0))[0].any()


def test_draws_and_clocks():
    """A draw when the program is compiled would be a constant: only generators that are passed can be drawn from."""
    for f, words in ((lambda x: x * np.random.default_rng(1).uniform(), "argument"),
                     (lambda x: x * np.random.rand(), "Generator"), (lambda x: x * random.random(), "Generator"),
                     (lambda x: x * np.random.normal(), "Generator")):
        with pytest.raises(UnsupportedSyntax, match=words):
            grad(f, mode="python")(1.0)
    with pytest.raises(TypeConflict, match="reading of a clock"):
        grad(lambda x: x * time.time())(1.0)


def test_refused():
    for f, words in ((lambda a: signal.convolve2d(a, K, boundary="wrap"), "np.pad"),
                     (lambda a: signal.convolve(a[None], a[None]), "two dimensions")):
        with pytest.raises(AutodiffError, match=words):
            vjp(f, M, mode="python")
    try:                                        # SciPy's own source can be followed in some versions
        value, _ = vjp(lambda x: signal.hilbert(x), X, mode="python")
    except AutodiffError as e:
        assert "derivative rule" in str(e)
    else:
        np.testing.assert_allclose(value, signal.hilbert(X), atol=1e-14)
