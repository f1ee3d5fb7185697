"""Computing for a limited time."""

from __future__ import annotations

import contextlib
import signal


class TookTooLong(Exception):
    """What takes longer than it was given."""


@contextlib.contextmanager
def limited(seconds: float):
    """Raise TookTooLong in what computes longer than this, in processor time, so that a busy machine does not matter; in the
    main thread of systems that have such an alarm."""
    if not hasattr(signal, "SIGVTALRM"):
        yield
        return

    def late(*_):
        raise TookTooLong(f"more than {seconds:g} s of computing")
    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


__all__ = ["TookTooLong", "limited"]
