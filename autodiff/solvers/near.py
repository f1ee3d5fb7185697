"""Where searches of arrays begin, and minima that they found, with their derivatives."""

from ..rules.stopping import stop_gradient
from .callbacks import called
from .flat import largest, vector
from .minima import least


def started(func, x0, args):
    """x0 as a vector, without derivative. UnsupportedSyntax where func changes something outside it."""
    start = stop_gradient(vector(x0))
    called(func, start, *args)
    return start


def least_near(f, x, theta):
    """x, near a minimum of f(x, *theta), with the derivative of that minimum, which a few steps of Newton's method find.

    RuntimeError where there is none near x: the search stopped elsewhere, or the minimum is not isolated.
    """
    try:
        exact = least(f, stop_gradient(x), *theta, method="newton", tol=1e-8, max_iterations=50)
    except RuntimeError as error:
        raise RuntimeError("the minimum that was found has no derivative: it is not isolated, or not smooth") from error
    if not largest(vector(exact) - vector(x)) <= 1e-2 * (1.0 + largest(vector(x))):
        raise RuntimeError("the function has no minimum near the point that was found")
    return stop_gradient(x - exact) + exact
