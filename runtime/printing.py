"""Lines with formats, printed by Python: compiled code hands over the numbers."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic, overload

from .raising import text_of


def print_line(template: str, *numbers: Any) -> None:
    """Print a text, with what ends it, with numbers in its fields, which are those of `text_of`."""
    print(text_of(template, numbers), end="")


def _make(context: Any, template: Any, numbers: Any) -> Any:
    """A call of `print_line` of the interpreter. `template` is a literal."""
    def generate(context, builder, signature, args):
        python = context.get_python_api(builder)
        lock = python.gil_ensure()
        module = python.import_module(context.insert_const_string(builder.module, __name__))
        function = python.object_getattr_string(module, "print_line")
        text = python.string_from_string(context.insert_const_string(builder.module, template.literal_value))
        manager = context.get_env_manager(builder)
        boxed = [python.from_native_value(kind, builder.extract_value(args[1], k), manager)
                 for k, kind in enumerate(signature.args[1])]
        done = python.call_function_objargs(function, [text, *boxed])
        for each in (module, function, text, *boxed):
            python.decref(each)
        with builder.if_else(builder.icmp_unsigned("==", done, python.get_null_object())) as (failed, printed):
            with failed:
                python.err_clear()              # the output is closed: the program goes on
            with printed:
                python.decref(done)
        python.gil_release(lock)
        return context.get_dummy_value()
    return types.none(template, numbers), generate


_print_line: Any = intrinsic(prefer_literal=True)(_make)


@overload(print_line, prefer_literal=True)
def _compiled(template, *numbers):
    if isinstance(template, types.StringLiteral):
        return lambda template, *numbers: _print_line(template, numbers)
    return None


__all__ = ["print_line"]
