"""Functions that write to what they are given, called with arguments and outside objects that share memory or objects.

A call is refused, or gives what Python gives; a derivative made for arguments that are apart meets others afterwards.
"""

from __future__ import annotations

import random

from .checks import Outcome, ran

HEAD = """from dataclasses import dataclass
from typing import Any

import numpy as np

from autodiff import AutodiffError, InternalError, value_and_grad

checked, refused = 0, []


@dataclass
class Record:
    u: Any
    v: Any


def bump(target, source):
    target[0] = target[0] + source[1]


def scaled(r):
    r.u[1] = r.v[0] * 2.0
    return r.u[0]


def longer(items, v):
    items.append(v)
    return len(items)


"""
ARRAYS = ("a", "b", "q[0]", "q[1]", "d['u']", "d['v']", "r.u", "r.v", "W", "H.u", "L[0]", "D['w']", "t[1]")
OBJECTS = ("q", "d", "r", "L", "D", "H")
READS = ("np.sum({A} * {B})", "{A}[0] * {B}[2]", "np.dot({A}, {B})", "{A}[1] ** 2", "len(q) * {A}[0]", "scaled(r)",
         "sum(q[1]) * {A}[2]", "np.max({A})", "longer(q, {A})", "sum(v[0] for v in q)", "sum(k[1] for k in d.values())",
         "({A} is {B}) * 2.0", "(q is L) * 3.0")
WRITES = ("{A}[0] = {B}[1] * 2.0", "{A}[1:] = {B}[:2]", "{A} += {B}", "{A} *= 0.5", "bump({A}, {B})", "q[0] = {B}",
          "q[1] = {A} * {B}", "d['u'] = {B}", "r.u = {B}", "q.append({A})", "d['n'] = {A}", "{A}[::-1] += {B}",
          "{A}[...] = 0.3", "np.multiply({A}, {B}, out={A})", "{A}[{A} > 0.2] = 0.1", "w = {A}[1:]", "w[0] = {B}[0]",
          "w = {A}", "w[1] += s", "q = [{A}, {B}]", "d.update(u={A})", "a, b = b, a", "q.reverse()")
# what the caller's names are: `base` has the memory of nine numbers
SOURCES = ("base[:3]", "base[3:6]", "base[6:]", "base[1:4]", "base[::3]", "base[2::-1]", "base[:3].copy()", "one", "one",
           "two", "W", "np.array([0.3, 0.8, -0.4])", "H.u")
LISTS = ("[{A}, {B}]", "[{A}, {A}]", "L", "[L[0], {B}]", "list(L)", "both")
DICTS = ("{{'u': {A}, 'v': {B}}}", "{{'u': {A}, 'v': both[0]}}", "named", "{{**D, 'u': {A}, 'v': D['w']}}")
RECORDS = ("Record({A}, {B})", "Record({A}, both[1])", "H", "kept", "Record(H.u, {A})")


def body(chosen: random.Random) -> list[str]:
    def filled(text: str) -> str:
        few = chosen.choice([ARRAYS[:2], ARRAYS[:8], ARRAYS])
        return text.replace("{A}", chosen.choice(few)).replace("{B}", chosen.choice(ARRAYS))
    lines = ["s = 0.0", "w = a * 1.0"]
    for _ in range(chosen.randrange(1, 5)):
        kind = chosen.random()
        line = filled(chosen.choice(WRITES)) if kind < 0.55 else f"s = s + {filled(chosen.choice(READS))}"
        lines += [f"if {filled('{A}[0] > {B}[1]')}:", f"    {line}"] if chosen.random() < 0.15 else [line]
    return [*lines, f"s = s + {filled(chosen.choice(READS[:3]))}", "return s + np.sum(w) + b[0]"]


def call(chosen: random.Random, apart: bool) -> str:
    def filled(text: str) -> str:
        return text.format(A=chosen.choice(SOURCES), B=chosen.choice(SOURCES))
    if apart:
        return ("(base[:3].copy(), base[3:6].copy(), [base[6:].copy(), one], {'u': two, 'v': base[1:4].copy()}, "
                "Record(base[2:5].copy(), base[4:7].copy()), (1.5, base[5:8].copy()))")
    return (f"({filled('{A}')}, {filled('{B}')}, {filled(chosen.choice(LISTS))}, {filled(chosen.choice(DICTS))}, "
            f"{filled(chosen.choice(RECORDS))}, (1.5, {filled('{A}')}))")


def attempt(seed: int) -> tuple[Outcome, str]:
    chosen = random.Random(seed)
    calls = [call(chosen, apart=k == 0 and chosen.random() < 0.8) for k in range(4)]
    wrt = chosen.choice(["0", "(0, 1)", "(0, 1, 2)", "(0, 3, 4)", "4", "2"])
    text = HEAD + "def f(a, b, q, d, r, t):\n" + "".join(f"    {t}\n" for t in body(chosen)) + f"""

def outside():
    global base, one, two, W, L, D, H, both, named, kept
    base = np.random.default_rng({seed}).uniform(-1.0, 1.5, 9).round(3)
    one, two, W = np.array([0.5, -0.2, 0.9]), np.array([-0.6, 0.7, 1.1]), np.array([0.2, 0.4, -0.3])
    L, D, H = [np.array([0.1, 1.0, 0.6]), one], {{'w': np.array([0.9, -0.1, 0.2])}}, Record(np.array([1.2, 0.3, 0.7]), two)
    both, named, kept = [one, base[3:6]], {{'u': one, 'v': two}}, Record(one, base[:3])


outside()
gradient = value_and_grad(f, wrt={wrt}, mode="python")
""" + "".join(f"""
outside()
args = {c}
try:
    expected = f(*args)
except Exception as e:
    expected = None
outside()
args = {c}
try:
    value, _ = gradient(*args) if expected is not None else (None, None)
except InternalError:
    raise
except AutodiffError as e:
    refused.append(e.problem)
else:
    if expected is not None:
        checked += 1
        assert np.allclose(value, expected, rtol=1e-10, atol=1e-12), f"value: {{value}}, Python: {{expected}}"
""" for c in calls)
    return ran("overlaps", seed, text), text
