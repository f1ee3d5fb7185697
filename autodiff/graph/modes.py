"""What recording depends on, per thread: grad mode, inference mode, anomaly detection, hooks on saved tensors."""

from __future__ import annotations

import functools
import inspect
import threading


class State(threading.local):
    """`enabled`: whether operations are recorded. `watched`: whether a slower way of recording is wanted as well."""

    enabled = True
    inference = False
    anomaly = False
    check_nan = True
    pack_hooks: tuple = ()
    watched = False
    legacy_volatile = False


STATE = State()


class _Mode:
    """A context manager that is a decorator too. `flag`: what grad mode is set to inside."""

    flag = True
    _before: tuple = ()

    def __enter__(self):
        self._before = (*self._before, self.enter())
        return None

    def __exit__(self, *exception):
        last, self._before = self._before[-1], self._before[:-1]
        self.leave(last)
        return None

    def enter(self):
        before = STATE.enabled
        STATE.enabled = self.flag
        return before

    def leave(self, before) -> None:
        STATE.enabled = before

    def clone(self):
        return type(self)()

    def __call__(self, function):
        if inspect.isgeneratorfunction(function):
            return self._generator(function)

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with self.clone():
                return function(*args, **kwargs)
        return wrapped

    def _generator(self, function):
        """The mode holds while the generator's own code runs, and not while its caller's does."""
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            generator = function(*args, **kwargs)
            step, given = generator.send, None
            while True:
                try:
                    with self.clone():
                        value = step(given)
                except StopIteration as e:
                    return e.value
                try:
                    given, step = (yield value), generator.send
                except GeneratorExit:
                    with self.clone():
                        generator.close()
                    raise
                except BaseException as e:
                    given, step = e, generator.throw
        return wrapped


class _Plain(_Mode):
    """Modes without arguments, for which the parentheses of the decorator may be left out."""

    def __new__(cls, function=None):
        made = super().__new__(cls)
        if function is None:
            return made
        return made(function)

    def __init__(self, function=None):
        pass


class no_grad(_Plain):
    """Inside, nothing is recorded: results do not require grad."""

    flag = False


class enable_grad(_Plain):
    """Inside, operations are recorded again, within `no_grad` too."""

    flag = True


class set_grad_enabled(_Mode):
    """`set_grad_enabled(flag)` acts at once; as a context manager it restores the mode on leaving."""

    def __init__(self, mode: bool):
        self.flag = bool(mode)
        self._outer = STATE.enabled
        STATE.enabled = self.flag

    def enter(self):
        STATE.enabled = self.flag
        return self._outer

    def clone(self):
        return type(self)(self.flag)

    def __call__(self, function):
        STATE.enabled = self._outer
        return super().__call__(function)


class inference_mode(_Mode):
    """As `no_grad`, and what is made inside can never require grad."""

    def __new__(cls, mode=True):
        made = super().__new__(cls)
        if callable(mode):
            made.mode = True
            return made(mode)
        return made

    def __init__(self, mode: bool = True):
        self.mode = bool(mode)

    def clone(self):
        return type(self)(self.mode)

    def enter(self):
        before = STATE.enabled, STATE.inference
        if self.mode:
            STATE.enabled, STATE.inference = False, True
        else:
            STATE.enabled, STATE.inference = True, False
        _watch()
        return before

    def leave(self, before) -> None:
        STATE.enabled, STATE.inference = before
        _watch()


def is_grad_enabled() -> bool:
    """Whether operations of this thread are recorded."""
    return STATE.enabled


def is_inference_mode_enabled() -> bool:
    return STATE.inference


def _watch() -> None:
    STATE.__dict__.pop("watched", None)
    if STATE.anomaly or STATE.pack_hooks or STATE.inference:
        STATE.watched = True


def volatile_seen() -> None:
    """From now on every thread looks for volatile arguments."""
    State.legacy_volatile = State.watched = True
    _watch()


class set_detect_anomaly:
    """`set_detect_anomaly(flag, check_nan=True)` acts at once; as a context manager it restores on leaving."""

    def __init__(self, mode: bool, check_nan: bool = True):
        self._before = STATE.anomaly, STATE.check_nan
        STATE.anomaly, STATE.check_nan = bool(mode), check_nan
        _watch()

    def __enter__(self):
        return None

    def __exit__(self, *exception):
        STATE.anomaly, STATE.check_nan = self._before
        _watch()


class detect_anomaly:
    """Inside, backward raises RuntimeError where a gradient becomes nan, and errors name the line of the forward call.

    check_nan: false skips the search for nan.
    """

    def __init__(self, check_nan: bool = True):
        self.check_nan = check_nan

    def __enter__(self):
        self._before = STATE.anomaly, STATE.check_nan
        STATE.anomaly, STATE.check_nan = True, self.check_nan
        _watch()

    def __exit__(self, *exception):
        STATE.anomaly, STATE.check_nan = self._before
        _watch()


class saved_tensors_hooks:
    """Inside, what is saved for backward goes through `pack(tensor)` at once and `unpack(packed)` at each use."""

    def __init__(self, pack_hook, unpack_hook):
        self.hooks = (pack_hook, unpack_hook)

    def __enter__(self):
        STATE.pack_hooks = (*STATE.pack_hooks, self.hooks)
        _watch()

    def __exit__(self, *exception):
        STATE.pack_hooks = STATE.pack_hooks[:-1]
        _watch()


__all__ = ["STATE", "detect_anomaly", "enable_grad", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled",
           "no_grad", "saved_tensors_hooks", "set_detect_anomaly", "set_grad_enabled", "volatile_seen"]
