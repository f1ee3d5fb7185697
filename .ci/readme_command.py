"""Print the shell command that README.md gives under a marker.

    python .ci/readme_command.py README.md main

The marker is a comment, `<!-- command: main -->`, and the command is the ```sh block that follows it at once.
Running what is printed, and nothing else, keeps the README and its check from drifting apart.
"""

import re
import sys
from pathlib import Path


def command(markdown, name):
    """The text of the one block marked `name`; ValueError unless there is exactly one."""
    found = re.findall(rf"^<!-- command: {re.escape(name)} -->\n+```sh\n(.*?)^```$", markdown, re.M | re.S)
    if len(found) != 1:
        raise ValueError(f"{len(found)} commands are marked {name!r}; there must be one")
    return found[0]


if __name__ == "__main__":
    print(command(Path(sys.argv[1]).read_text(encoding="utf-8"), sys.argv[2]), end="")
