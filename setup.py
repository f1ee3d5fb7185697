"""The packages: `autodiff/`, and the compiler's two folders of the top level, which are installed inside it.

Links in `autodiff/` show these folders to editors and type checkers where they are installed; one without links works.
"""

from setuptools import find_packages, setup

INSIDE = ("transforms", "runtime")

found = find_packages(include=["autodiff", "autodiff.*"])
for folder in INSIDE:
    found += [f"autodiff.{name}" for name in find_packages(include=[folder, f"{folder}.*"])]
setup(packages=sorted(set(found)))
