"""Failures of library calls, which do not know the user's line: told with the places of the calls that can be meant."""

from __future__ import annotations

from collections.abc import Callable

from ..transforms.language.queries import calls_in
from ..transforms.language.units import with_called
from .tracebacks import OURS

CANNOT_FAIL = ("matmul", "gram", "fft", "argsort", "argpartition", "flat", "shaped", "is_", "det", "expm", "state",
               "lu_factor", "block:", "rule:", "draw:", "unit:")


def placed(error: Exception, made) -> Exception:
    """A LinAlgError with the place of the call it comes from, or of all from which it can come."""
    text = getattr(error, "unplaced", str(error.args[0]) if error.args else "")
    if hasattr(error, "__notes__") or "\n" in text:
        return error
    error.args = ("\n  ".join(filter(None, (text, places(made)(text)))),)
    return error


def places(made) -> Callable[[str], str]:
    """What tells, of an error with some text, the places of the calls in a specialisation's programs that may raise it."""
    programs = [*made.generated.programs, *([made.extra["program"]] if "program" in made.extra else [])]     # sparse

    def tell(text: str) -> str:
        calls = failing(programs)
        if "positive definite" in text:
            calls = [s for s in calls if "cholesky" in s.op]
        return " or ".join(dict.fromkeys(s.loc.told() for s in calls if s.loc.line and not s.loc.file.startswith(OURS)))
    return tell


def failing(programs) -> list:
    """The library calls of programs that may raise a LinAlgError."""
    return [s for p in with_called(programs) for s in calls_in(p.body) if not any(name in s.op for name in CANNOT_FAIL)]


__all__ = ["failing", "placed", "places"]
