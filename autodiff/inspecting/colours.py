"""Generated text in the colours of a terminal."""

from __future__ import annotations

import io
import keyword
import os
import re
import tokenize

RESET = "\x1b[0m"
STYLES = {"keyword": "\x1b[1;34m", "user": "\x1b[32m", "sweep": "\x1b[1;35m", "comment": "\x1b[2m", "text": "\x1b[33m",
          "defined": "\x1b[1m", "derivative": "\x1b[36m"}
OF_THE_USER = re.compile(r"# \S+:\d+    ")
DERIVATIVE = re.compile(r"_(bar|dot)(_\d+)?$")


def has_colours(stream) -> bool:
    """Whether a stream shows colours: it is a terminal, not a dumb one (TERM), and NO_COLOR is not set.

    With FORCE_COLOR set (and not NO_COLOR), any stream does. Both count if they are not empty.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    if os.environ.get("TERM") == "dumb" or os.name == "nt" and not any(
            name in os.environ for name in ("WT_SESSION", "ANSICON", "ConEmuANSI", "TERM")):
        return False
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):        # no stream, or a closed one
        return False


def coloured(text: str) -> str:
    """Generated Python text with colours for keywords, comments (with a line of the user's, and those that head a sweep),
    functions and the names of derivatives; as it is if it cannot be read as Python."""
    starts = [0]                                # where each line begins
    for line in io.StringIO(text):
        starts.append(starts[-1] + len(line))
    pieces, done, before = [], 0, ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            style = style_of(token, before)
            before = token.string
            if style:
                first, last = (starts[row - 1] + column for row, column in (token.start, token.end))
                pieces += [text[done:first], STYLES[style], text[first:last], RESET]
                done = last
    except (tokenize.TokenError, SyntaxError):
        return text
    return "".join([*pieces, text[done:]])


def style_of(token: tokenize.TokenInfo, before: str) -> str:
    """The name of a token's style, "" for that of the terminal. before: the token before it."""
    if token.type == tokenize.COMMENT:
        if token.string.startswith("# ----"):
            return "sweep"
        return "user" if OF_THE_USER.match(token.string) else "comment"
    if token.type == tokenize.STRING:
        return "text"
    if token.type != tokenize.NAME:
        return ""
    if keyword.iskeyword(token.string):
        return "keyword"
    if before == "def":
        return "defined"
    return "derivative" if DERIVATIVE.search(token.string) else ""


__all__ = ["coloured", "has_colours"]
