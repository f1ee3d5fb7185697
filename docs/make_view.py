"""Takes the picture of the view in README.md: `python docs/make_view.py`. Needs Chromium and Pillow."""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from autodiff import grad

SIZE, COLOURS = (1160, 560), 32
MODEL = """import numpy as np


def filtered(x, w):
    s, total = 0.0, 0.0
    for i in range(x.shape[0]):
        s = np.tanh(w * s + x[i])
        total += s * s
    return total
"""
CLICK = """<script>addEventListener("load", () => {
    [...document.querySelectorAll("#own .line")].find(line => line.textContent.includes("np.tanh")).click();
});</script>"""


def main() -> int:
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        print("no Chromium here", file=sys.stderr)
        return 1
    picture = Path(__file__).with_name("view.png")
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "model.py")
        model.write_text(MODEL, encoding="utf-8")
        made = grad(runpy.run_path(str(model))["filtered"], wrt=("x", "w")).specialize(np.zeros(2), 0.5)
        page, drawn = Path(folder, "view.html"), Path(folder, "view.png")
        made.view((1_000_000,), 0.5).save(page)
        page.write_text(page.read_text(encoding="utf-8").replace("</body>", CLICK + "</body>"), encoding="utf-8")
        subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                        f"--window-size={SIZE[0]},{SIZE[1]}", f"--screenshot={drawn}", page.as_uri()], check=True,
                       stderr=subprocess.DEVNULL)
        Image.open(drawn).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(picture, optimize=True)
    print(f"{picture.name}: {picture.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
