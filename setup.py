"""The packages: `autodiff/`, and the compiler's two folders of the top level, which are installed inside it."""

from setuptools import find_packages, setup

INSIDE = ("transforms", "runtime")

setup(packages=[*find_packages(include=["autodiff", "autodiff.*"]),
                *(f"autodiff.{name}" for folder in INSIDE for name in find_packages(include=[folder, f"{folder}.*"]))])
