"""Python's garbage collector while modules are imported and programs compiled."""

import contextlib
import gc

PATIENCE = (100_000, 50, 1000)          # instead of (700, 10, 10): how many new objects, and collections of the younger ones


@contextlib.contextmanager
def rarely(stays=False):
    """Collect garbage rarely for a while: most of what is made stays, and looking through all of Numba takes 20 ms.

    stays: nothing that is made is garbage, so that it goes to the oldest generation without being looked through.
    """
    before = gc.get_threshold()
    if 0 < before[0] < PATIENCE[0]:
        gc.set_threshold(*PATIENCE)
    try:
        yield
    finally:
        if stays and not gc.get_freeze_count():         # else what the user has frozen would thaw
            gc.freeze()
            gc.unfreeze()
        if gc.get_threshold() == PATIENCE:
            gc.set_threshold(*before)
