"""Messages of checks that run with the program: the numbers in them are those of the run.

While lowering, a message is text in which a number known only later is a token; a check keeps the text with `{}` in the
tokens' places and the numbers beside it, and who called the program puts them together.
"""

from __future__ import annotations

import re

from ..core import Const, Guard

TOKEN = re.compile("\x01(\\d+)\x01")


class Messages:
    def show_shape(self, shape) -> str:
        """A shape as NumPy writes it."""
        inside = ",".join(str(s.value) if isinstance(s, Const) else self.show_number(s) for s in shape)
        return f"({inside}{',' if len(shape) == 1 else ''})"

    def show_number(self, atom, spec: str = "") -> str:
        self.shown.append((atom, spec))
        return f"\x01{len(self.shown) - 1}\x01"

    def known_text(self, message: str) -> str:
        """The message with names in the place of numbers."""
        return TOKEN.sub(lambda m: getattr(self.shown[int(m[1])][0], "hint", "?"), message)

    def add_check(self, builder, cond, error: str, message: str, tells: str = "place") -> None:
        """`raise error(message)` unless `cond`, in `builder`; numbers not visible there are left as names."""
        parts = []

        def place(match):
            atom, spec = self.shown[int(match[1])]
            if not self.known_in(atom, builder):
                return getattr(atom, "hint", "?")
            parts.append(atom)
            return f"{{:{spec}}}" if spec else "{}"
        if TOKEN.search(message):
            escaped = message.replace("{", "{{").replace("}", "}}")
            message = TOKEN.sub(place, escaped)
        builder.add(Guard(cond, error, message, tuple(parts), builder.loc, tells))


__all__ = ["TOKEN", "Messages"]
