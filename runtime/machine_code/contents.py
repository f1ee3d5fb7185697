"""What is kept on disk: generated modules, their machine code, and that of this package's own functions."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numba.core import caching

from .jit import config
from .store import HEADER, store_directory

__all__ = ["Kept", "clear", "kept_files"]

PACKAGE = Path(__file__).parents[1]
MODULE = re.compile(r"\w+_[0-9a-f]{20}\.py")
CODE = re.compile(r".+\.[0-9a-f]{24}\.nbc")
UNFINISHED = ".unfinished_"
OLD = 3600.0                # seconds after which nobody will finish a file any more


@dataclass(frozen=True)
class Kept:
    """Files of one kind. what: their kind. folder: the folder that they are in, or in folders of."""

    what: str
    folder: Path
    files: tuple[Path, ...]

    @property
    def bytes(self) -> int:
        """Their size. What another process removes meanwhile counts nothing."""
        return sum(map(size_of, self.files))


def size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def kept_files() -> list[Kept]:
    """All that is kept: of the store that this process uses, and in Numba's places for functions of this package."""
    store = store_directory()
    found = [Kept("generated modules", store, tuple(p for p in listed(store) if MODULE.fullmatch(p.name) and generated(p))),
             Kept("their machine code", store, tuple(p for p in listed(store / "__pycache__") if CODE.fullmatch(p.name)))]
    late = time.time() - OLD
    left = tuple(p for folder in (store, store / "__pycache__") for p in listed(folder)
                 if p.name.startswith(UNFINISHED) and p.stat().st_mtime < late)
    if left:
        found.append(Kept("files never finished", store, left))
    for folder in places_of_numba():
        files = tuple(p for p in listed(folder) if CODE.fullmatch(p.name))
        if files:
            found.append(Kept("machine code of autodiff's functions", folder, files))
    return found


def listed(folder: Path) -> list[Path]:
    """The files of a folder, in order; none if there is no such folder."""
    try:
        return sorted(p for p in folder.iterdir() if p.is_file() and not p.is_symlink())
    except OSError:
        return []


def generated(path: Path) -> bool:
    """Whether a file begins as generated modules do."""
    try:
        with open(path, "rb") as file:
            return file.read(len(HEADER)) == HEADER.encode()
    except OSError:
        return False


def places_of_numba() -> Iterator[Path]:
    """The folders where Numba may keep machine code of this package's functions; they need not exist."""
    for folder in sorted({p.parent for p in PACKAGE.rglob("*.py")}):
        file = str(folder / "__init__.py")
        own = ("__pycache__", caching._CacheLocator.get_suitable_cache_subpath(file))      # folders of nobody else's
        locators: Any = caching.CompileResultCacheImpl._locator_classes
        for locator in locators:
            if "UserProvided" in locator.__name__ and not config.CACHE_DIR:
                continue
            with contextlib.suppress(Exception):            # one that is for other kinds of files
                place = Path(locator(places_of_numba, file).get_cache_path()).absolute()
                if place.name in own:
                    yield place


def clear() -> tuple[int, int]:
    """Remove all of it, and nothing else that may lie there; (number of files, bytes) of what went.

    Programs that run have what they need of it in memory, and write again what they make.
    """
    count = size = 0
    for kept in kept_files():
        for path in kept.files:
            own = size_of(path)
            with contextlib.suppress(OSError):
                path.unlink()
                count, size = count + 1, size + own
    return count, size
