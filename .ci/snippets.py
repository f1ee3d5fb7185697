"""Run the Python blocks of Markdown files, so that the documentation cannot show code that fails.

    python .ci/snippets.py README.md docs/*.md

The blocks of one file that are fenced as ```python run in order, in one namespace, in a process of their
own and in an empty directory. Blocks fenced as ```python no-run, and those in any other language, are left
out. They run from a real file, since the compiler reads the source of functions; in it each line keeps the
number it has in the Markdown file, so a traceback points at the right place. The exit status is 1 if any
file failed.
"""

import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,}|~{3,}) *(?P<info>[^`]*)$")
SECONDS = 600


def python_of(markdown):
    """The runnable Python of a Markdown text, each line at the number it had, and the number of its blocks.

    >>> python_of("Add:\\n```python\\nx = 1 + 1\\n```\\n")
    ('\\n\\nx = 1 + 1\\n\\n', 1)
    """
    lines = markdown.splitlines()
    kept, blocks, block, closing = [""] * len(lines), 0, None, None
    for number, line in enumerate(lines):
        fence = FENCE.match(line)
        if closing is None and fence:                                   # a block opens
            closing = fence["ticks"]
            block = [] if fence["info"].split() == ["python"] else None
            begin = number + 1
        elif fence and not fence["info"] and fence["ticks"].startswith(closing):      # and closes
            if block is not None:
                kept[begin:number] = textwrap.dedent("\n".join(block)).split("\n") if block else []
                blocks += 1
            closing = block = None
        elif block is not None:
            block.append(line)
    if closing is not None:
        raise ValueError("a code block is never closed")
    return "\n".join(kept) + "\n", blocks


def run(path):
    """Run the blocks of one Markdown file, its output shown only if it fails; whether all went well."""
    code, blocks = python_of(path.read_text(encoding="utf-8"))
    if not blocks:
        print(f"{path}: no Python to run")
        return True
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / (re.sub(r"\W", "_", path.stem) + "_md.py")
        program.write_text(code, encoding="utf-8")
        try:
            result = subprocess.run([sys.executable, program], cwd=directory, timeout=SECONDS, text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            output, failed = result.stdout, result.returncode != 0
        except subprocess.TimeoutExpired as expired:
            output, failed = f"{expired}\n", True
    print(f"{path}: {blocks} blocks {'FAILED' if failed else 'ran'}")
    if failed:
        print(textwrap.indent(output.replace(str(program), str(path)), "    "), end="")
    return not failed


def main(names):
    passed = [run(Path(name)) for name in names]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
