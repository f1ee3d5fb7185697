"""Draws the figures of docs/gallery.md anew, each by its example: `python docs/make_gallery.py [EXAMPLE ...]`.

It takes a few minutes. The figures are reduced to few colours, so that they are small. matplotlib is needed; for
`ode_posterior` PyMC, too.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs" / "gallery"
COLOURS = 48


def main(names) -> int:
    FIGURES.mkdir(exist_ok=True)
    failed = []
    for name in names or sorted(file.stem for file in (ROOT / "examples").glob("*.py") if file.stem != "readme_example"):
        with tempfile.TemporaryDirectory() as folder:
            drawn = Path(folder, "figure.png")
            subprocess.run([sys.executable, str(ROOT / "examples" / f"{name}.py"), "--figure", str(drawn)], check=True,
                           cwd=folder, stdout=subprocess.DEVNULL)
            if not drawn.exists():
                failed.append(name)
                continue
            made = FIGURES / f"{name}.png"
            Image.open(drawn).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(made, optimize=True)
            print(f"{made.relative_to(ROOT)}: {made.stat().st_size} bytes")
    if failed:
        print("not drawn, what they need is missing:", ", ".join(failed), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
