"""What names stand for: names that branches, loops, `del`, `:=`, comprehensions and inner functions bind anew, to numbers,
arrays, functions, slices, ranges, lists, tuples, dicts, texts and None, on every path or on some; functions that read names
bound later; lists that change while a loop runs over them; effects in subscripts. Python runs the same function."""

from __future__ import annotations

import random
import re
import symtable

from .checks import Outcome
from .errors import pieces
from .semantics import against_python

HEAD = """from dataclasses import dataclass

import numpy as np


@dataclass
class Box:
    v: float
    items: list
"""
KINDS = "nalTdFsRk"             # names of each kind are its letter and a number
EXPRESSIONS = {
    "n": pieces("""
{n}|{n}|{n} + {n}|{n} * {n}|{n} - {n}|{a}[{i}]|{a}[{i}]|{l}[0]|{l}[-1]|sum({l})|{T}[0]|{T}[1]|{d}["p"]|{F}({n})|{F}({n})
np.sum({a})|np.sum({a}[{s}])|({n} if {c} else {n})|({n_} := {n})|len({l})|sum({R})|(0.5 if {k} is None else 1.5)
({k} == "one") * {n}|sum([{n_} * 0.5 for {n_} in {l}])|sum(v * {n} for v in {a})|[{n_} + {n} for {n_} in {R}][0]
(lambda v={n}: v + {n})()|box.v|box.items[0]|np.sin({n})|max({l})|{d}.get("q", {n})|bump()|{a}[bump()]|len({T})
{l}.pop()|{l}.pop(0)|next_of({n})|i|j"""),
    "a": pieces("{a}|{a} * {n}|{a}[::-1]|{a} + {a}|{a}.copy()|np.sin({a})|{a}[{s}]|np.array([{n}, {n}, {n}, {n}])|x * 1.0"),
    "l": pieces("[{n}, {n}]|[{n}]|{l}|{l} + [{n}]|[v * {n} for v in {a}]|{l}[:]|list({l})|[{n}, {n}, {n}]|sorted({l})"),
    "T": pieces("({n}, {n})|({n}, {n})|{T}|({a}[0], {n}, {n})|{T}[::-1]|tuple({l})"),
    "d": pieces("""<["p": {n}, "q": {n}]>|dict(p={n})|{d}|<[**{d}, "p": {n}]>|<[k: {n} for k in ("p", "q")]>"""),
    "F": pieces("""lambda v: v * {n}|lambda v, w={n}: v + w|{F}|np.sin|lambda v: v + sum({l})|lambda v: {F}(v) + {n}
lambda v: {a}[0] * v|[lambda v: v * {n_} for {n_} in range(3)][0]|abs|lambda v, w=[]: (w.append(v), sum(w))[1]"""),
    "s": pieces("slice(1, 3)|slice(None)|slice({i}, None)|slice(None, None, -1)|{s}|slice(0, len({a}))|slice(i, i + 1)"),
    "R": pieces("range(3)|range(1, 4)|range(len({l}))|{R}|range(2, -1, -1)|range(0)|range(i)"),
    "k": pieces("""None|"one"|"two"|{k}|("one" if {c} else None)|"one" if {c} else "two\""""),
    "c": pieces("""{n} > {n}|{n} > 0.3|{n} > 0.3|p > 0.2|p > 0.5|x[0] > y[0]|x[1] > 0.0|i > 0|i == 1|i < 2|{k} is None
{k} == "one"|({n_} := {n}) > 0.2|{n} > 0.1 and {n} < 0.9|len({l}) > 1|not {n} > 0.3|{F} is None|count[0] % 2 == 0"""),
}
STATEMENTS = pieces("""
{n_} += {n}|{n_} *= {n}|{n_}, {n_} = {n_}, {n_}|{a_}, {a_} = {a_}, {a_}|{l_}, {l_} = {l_}, {l_}|{n_}, *{l_} = {l}
{n_}, *{l_}, {n_} = {a}|*{l_}, {n_} = {T}|{n_}, {n_} = {T}|{n_} = {n_} = {n}|del {n_}|del {l_}|del {F_}|del {a_}
del {T_}, {n_}|{l}.append({n})|{l}.insert(0, {n})|{l}.pop()|{l}[0] = {n}|{l}[-1] += {n}|{l}[0:1] = [{n}, {n}]
del {l}[0]|{l} += [{n}]
{l}.extend([{n}])|{l}.reverse()|{l}.sort()|{l}[1:] = []|{l}[bump()] += {n}|{l}[bump()] = {n}|{a}[bump()] += {n}
{a}[bump()], {a}[bump()] = {n}, {n}|{a}[bump()] *= {a}[bump()]|box.v += {n}|box.v = {n}|box.items[bump()] += {n}
box.items.append({n})|box.items = {l}|{d}["p"] = {n}|{d}["p"] += {n}|{d}["q"] = {n}|{d}.update(p={n})|{d}.pop("q", None)
{a}[{i}] = {n}|{a}[{s}] = {n}|{a}[{s}] += {n}|{a} *= {n}|{a} += {n}|p = {n}|p += {n}|x, y = y, x|total += {n}
total += {n}
total += {n}|total += {F}({n})|total += np.sum({a})|total += sum({l})|total += {T}[0]|total += {n_}|total += {n_}
assert {n} < 100.0, "large"|for {n_} in {l}:;    total += {n_}|for {n_} in {R}:;    total += {n_} * {n}
for {n_} in {l}:;    {l}.append({n});    if len({l}) > 4:;        break|for {n_} in {l}:;    {l}[-1] = {n_} * 0.5
for {n_} in {l}:;    {l_} = {l} + [{n_}]|for {n_} in list({l}):;    {l}.insert(0, {n_})|for {n_} in {l}:;    {l}.pop()
for i, {n_} in enumerate({l}):;    {l}[i] = {n_} * {n}|for i, {n_} in enumerate({a}):;    {a}[i] = {n_} * {n}
for i in range(len({l})):;    {l}[i] += {n}|for i in {R}:;    {l}[1:2] = [{n}]
for {F_} in ({F}, {F}):;    total += {F_}({n})
for {T_} in zip({l}, {a}):;    total += {T_}[0] * {T_}[1]|for {n_}, {n_} in enumerate({a}):;    total += {n_}
for {l_} in ([{n}], [{n}, {n}]):;    total += {l}[-1]|for {k_} in ("one", "two"):;    total += {n}
for {d_} in [{d}, {d}]:;    {d}["p"] += {n}|for {s_} in (slice(1), slice(2, 4)):;    total += np.sum({a}[{s}])
for i in range(3):;    {F_} = lambda v: v * i;total += {F}({n})
for i in range(3):;    {F_} = lambda v, i=i: v * i + {n};total += {F}({n})
for i in range(3):;    {s_} = slice(i, 4);total += np.sum({a}[{s}])
for i in range(3):;    if {c}:;        {n_} = {n};total += {n}
for i in range(3):;    if i > 0:;        total += {n_};    {n_} = {n}
for i in range(len({a})):;    if i:;        total += {l_}[0];    {l_} = [{n}]
for i in range(3):;    if i > 0:;        total += {F_}({n});    {F_} = lambda v: v + {n}
{F_} = lambda v: v * {n_};{n_} = {n};total += {F}({n})
while count[0] < 5:;    bump();    {n_} = {n};    if {c}:;        break;else:;    {n_} = {n}
""")
HEADS = pieces("""if {c}:|if {c}:|if {c}:|ifelse|ifelse|elif|for i in range(3):|for i in range(4):
for j in range(len({a})):|for {n_} in {l}:
for {n_} in {a}:|for i in {R}:|for i in range(0):|for i in range(int({n} > 0.2)):|while|forelse|whileelse|def|def
nonlocal
for i, {n_} in enumerate({l}):|for {k_} in ("one", None):|for {T_} in [({n}, {n}), ({n}, {n})]:
with np.errstate(all="ignore"):""")
WHILES = ("i = 0;while i < 3:;    i += 1", "while count[0] < 3:;    bump()", "while bump() and count[0] < 6:",
          "i = 0;while i < 3 and {c}:;    i += 1")
START = {
    "n": "0.5|p * 2.0|x[1]", "a": "x * 1.0|y + x|x", "l": "[p, 0.5]|[x[0], x[1], 0.25]|[1.5]", "T": "(p, 0.5)|(x[0], x[1])",
    "d": """{"p": p, "q": 0.5}|{"p": x[0]}""", "F": "lambda v: v * v|np.sin", "s": "slice(0, 2)|slice(None)",
    "R": "range(3)|range(2)", "k": """None|"one\"""", "j": "1"}
FIRST = """    count = [0]
    total = 0.25
    i = 1
    box = Box(p, [x[0], y[0], 0.5, 1.5])

    def bump():
        count[0] += 1
        return count[0] % 2

    def next_of(v):
        return v + {n}
"""


class Writer:
    """The text of one program. Names are drawn from few of each kind, bound or not."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.depth, self.loops = 1, 0

    def name(self, kind: str, written: bool = False) -> str:
        if kind == "n" and not written and self.random.random() < 0.3:
            return self.random.choice(("p", "0.5", "1.5", "-0.7"))
        if kind == "a" and self.random.random() < 0.4:
            return self.random.choice("xy")
        return kind + self.random.choice("111223")

    def fill(self, text: str, depth: int = 1) -> str:
        own: dict[str, str] = {}

        def hole(match) -> str:
            kind = match[1]
            if kind == "i":
                return self.random.choice(("0", "1", "2", "-1", "3"))
            if kind.endswith("_"):
                if kind not in own or self.random.random() < 0.4:
                    own[kind] = self.name(kind[0], True)
                return own[kind]
            target = text[:match.start()].rpartition(";")[2].strip() in ("", "del", "for") or text[match.end():][:1] == "."
            if kind == "c" or depth and not target and self.random.random() < 0.35:
                made = self.fill(self.random.choice(EXPRESSIONS[kind]), depth - 1 if depth else 0)
                return made if re.fullmatch(r"[\w.\[\]]+", made) else f"({made})"
            if kind + "_" in own and self.random.random() < 0.7:
                return own[kind + "_"]
            return self.name(kind)
        text = re.sub(r"\{([nalTdFsRkci]_?)\}", hole, text)
        return text.replace("<[", "{").replace("]>", "}")

    def put(self, text: str, more: int = 0) -> None:
        for line in text.split(";"):
            self.lines.append("    " * (self.depth + more) + line)

    def statement(self) -> None:
        pick = self.random.random()
        if pick < 0.35:
            kind = self.random.choice(KINDS + "nn")
            self.put(f"{self.name(kind, True)} = {self.fill(self.random.choice(EXPRESSIONS[kind]))}")
        elif pick < 0.6 and self.depth < 4:
            self.frame()
        else:
            self.put(self.fill(self.random.choice(STATEMENTS)))

    def block(self, ends: bool = False) -> None:
        self.depth += 1
        for _ in range(self.random.randint(1, 3)):
            self.statement()
        if self.loops and self.random.random() < 0.15:
            self.put(self.fill("if {c}:"))
            self.put(self.random.choice(("break", "continue")), 1)
        self.depth -= 1

    def inner_block(self) -> None:
        self.loops += 1
        self.block()
        self.loops -= 1

    def frame(self) -> None:
        head = self.random.choice(HEADS)
        match head:
            case "ifelse" | "elif":
                self.put(self.fill("if {c}:"))
                self.block()
                if head == "elif":
                    self.put(self.fill("elif {c}:"))
                    self.block()
                if head == "ifelse" or self.random.random() < 0.3:
                    self.put("else:")
                    self.block()
            case "while" | "whileelse":
                self.put(self.fill(self.random.choice(WHILES)))
                self.inner_block()
            case "forelse":
                self.put(self.fill("for i in range(3):"))
                self.inner_block()
            case "def" | "nonlocal":
                return self.function(head)
            case _ if head.startswith("for"):
                self.put(self.fill(head))
                self.inner_block()
            case _:
                self.put(self.fill(head))
                self.block()
        if head.endswith("else") and head != "ifelse":
            self.put("else:")
            self.block()

    def function(self, head: str) -> None:
        """An inner function that reads, or binds, names of the one around it; defaults are evaluated where it stands."""
        name = self.name("F", True)
        self.put(self.fill(f"def {name}(v, w={{n}}):"))
        self.depth += 1
        if head == "nonlocal" and self.depth == 2:
            self.put("nonlocal total")
            self.put(self.fill(self.random.choice(("total += v", "total = v * {n}"))))
        elif self.random.random() < 0.5:
            self.put(self.fill(self.random.choice(("if v > {n}:;    return v * {n}", "n1 = v;if v > 0.2:;    n2 = {n1}"
                                                   .replace("{n1}", "n1"), "for i in range(2):;    v += {n}"))))
        self.put(self.fill(self.random.choice(("return v * {n}", "return v + w", "return v + {l}[0]", "return {F}(v) * w",
                                               "return [v * q for q in {l}][0]"))))
        self.depth -= 1
        if self.random.random() < 0.6:
            self.put(self.fill(self.random.choice(("total += @({n})", "{n_} = {n};total += @({n})")).replace("@", name)))

    def text(self) -> str:
        self.put(self.fill(FIRST)[4:].rstrip("\n"))
        for _ in range(self.random.randint(3, 6)):
            self.statement()
        self.put(self.fill("return total + box.v + " + " + ".join(self.random.sample(
            ("{n_}", "sum({l_})", "np.sum({a_})", "{F_}(0.5)", "{T_}[0]", '{d_}["p"]', "sum(box.items)", "len({l_})",
             "np.sum({a}[{s_}])", "sum({R_})", "({k_} is None)"), 4))))
        first = [f"    {name} = {self.random.choice(START[name[0]].split('|'))}" for name in self.unbound()]
        return HEAD + "\n\ndef f(x, y, p):\n" + "\n".join(first + self.lines) + "\n"

    def unbound(self) -> list[str]:
        """Names to bind at the beginning: those that nothing else would bind, and most of the others."""
        try:
            tables = [symtable.symtable("def f(x, y, p):\n" + "\n".join(self.lines), "", "exec")]
        except SyntaxError:
            return []
        names = set()
        while tables:
            table = tables.pop()
            tables += table.get_children()
            names |= {s.get_name() for s in table.get_symbols() if s.is_global() or self.random.random() < 0.9}
        return sorted(n for n in names if re.fullmatch(f"[{KINDS}]\\d", n) or n == "j")


def attempt(seed: int) -> tuple[Outcome, str]:
    """One program against Python: value, final contents of its arguments, gradient, class of what it raises."""
    outcome, text = against_python(seed, Writer(seed).text())
    if outcome.kind == "no IndexError":         # accesses that no result depends on are removed with their checks
        outcome = Outcome("skipped", outcome.kind)
    return outcome, text
