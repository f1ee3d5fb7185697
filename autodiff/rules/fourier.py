"""Pullbacks and pushforwards of discrete Fourier transforms, which are linear.

With adjoints dL/dRe + i dL/dIm the pullback of y = F x is x_bar = F.conj().T y_bar, and the matrix of the transform,
F_kj = exp(sign 2 pi i j k / n), is symmetric: its conjugate transpose is the unscaled transform of the other sign.

A real transform gives y_k for k = 0 .. n // 2 only, so that x_bar_j = Re sum_k y_bar_k exp(2 pi i j k / n) over those k. The
inverse real transform sums each k together with n - k, but for k = 0 and, for even n, k = n / 2: with the values in between
halved it is this sum. The pullback of the inverse is, in turn, the real transform with those values doubled.
Source: the transposes of the matrices; the same sums are in S. G. Johnson, Notes on adjoint methods, 2012 (linear maps).
"""


from ..transforms.lower.numpy_functions.fourier import real_inverse, real_transform, transform
from .decorators import pullback, pushforward


def ends_times(y, factor, n):
    """`y` with the values for k = 0 and k = n / 2 multiplied by a factor."""
    out = y.copy()
    out[..., 0] *= factor
    if n % 2 == 0:
        out[..., n // 2] *= factor
    return out


@pullback("fft")
def fft(y_bar, y, x, axes, sign):
    return transform(y_bar, axes, -sign), 0, 0


@pushforward("fft")
def fft_forward(y, x, axes, sign, x_dot, axes_dot, sign_dot):
    return transform(x_dot, axes, sign), 0, 0


@pullback("rfft")
def rfft(y_bar, y, x):
    n = x.shape[-1]
    return real_inverse(ends_times(0.5 * y_bar, 2.0, n), n)


@pushforward("rfft")
def rfft_forward(y, x, x_dot):
    return real_transform(x_dot)


@pullback("irfft")
def irfft(y_bar, y, x):
    return ends_times(2.0 * real_transform(y_bar), 0.5, y_bar.shape[-1])


@pushforward("irfft")
def irfft_forward(y, x, x_dot):
    return real_inverse(x_dot, y.shape[-1])


