"""`match` statements as `if` chains, on the syntax tree: nothing after this knows of patterns."""

from __future__ import annotations

import collections.abc

import gast

TEXTS = str, bytes, bytearray
ITSELF = {"bool", "bytearray", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple"}


def without_match(tree, error):
    """The tree of a function with every `match` rewritten; `error(node, problem, hint)` makes the error to raise."""
    return Matches(error).visit(tree)


class Matches(gast.NodeTransformer):
    def __init__(self, error):
        self.error, self.made = error, 0

    def visit_Match(self, node):
        self.generic_visit(node)
        self.made += 1
        subject = f" subject_{self.made}"
        bind = gast.Assign([name(subject, gast.Store())], node.subject, None)
        chain: list = []
        for case in reversed(node.cases):
            tests: list = []
            bound: dict = {}
            self.read(case.pattern, name(subject), tests, bound)
            assigned = [gast.Assign([name(n, gast.Store())], value, None) for n, value in bound.items()]
            if not tests and case.guard is not None:
                chain = [*assigned, gast.If(case.guard, case.body, chain)]
            elif not tests:
                chain = [*assigned, *case.body]
            else:
                if case.guard is not None:
                    # bound before the guard is asked, and for good: also where the guard is false
                    taken = [gast.NamedExpr(name(n, gast.Store()), value) for n, value in bound.items()]
                    tests += [always(*taken)] * bool(taken) + [case.guard]
                    assigned = []
                test = tests[0] if len(tests) == 1 else gast.BoolOp(gast.And(), tests)
                chain = [gast.If(test, [*assigned, *case.body], chain)]
            for stmt in chain:
                located(stmt, case.body[0])
        located(bind, node)
        return [bind, *chain]

    def read(self, pattern, subject, tests: list, bound: dict) -> None:
        """Add what a pattern tests of `subject`, and the names it binds."""
        match pattern:
            case gast.MatchValue(value=value):
                tests.append(gast.Compare(subject, [gast.Eq()], [value]))
            case gast.MatchSingleton(value=value):
                tests.append(gast.Compare(subject, [gast.Is()], [gast.Constant(value, None)]))
            case gast.MatchAs(pattern=inner, name=own):
                if inner is not None:
                    self.read(inner, subject, tests, bound)
                if own is not None:
                    bound[own] = subject
            case gast.MatchOr(patterns=patterns):
                sides = []
                for p in patterns:
                    mine: list = []
                    names: dict = {}
                    self.read(p, subject, mine, names)
                    if names:
                        raise self.error(pattern, "names bound in alternatives (`|`) of a pattern are not supported",
                                         "write a case for each")
                    if not mine:
                        return
                    sides.append(mine[0] if len(mine) == 1 else gast.BoolOp(gast.And(), mine))
                tests.append(gast.BoolOp(gast.Or(), sides))
            case gast.MatchSequence(patterns=patterns):
                self.sequence(patterns, subject, tests, bound)
            case gast.MatchClass(cls=cls, patterns=[inner], kwd_attrs=[]) if isinstance(cls, gast.Name) and cls.id in ITSELF:
                tests.append(instance(subject, cls))
                self.read(inner, subject, tests, bound)
            case gast.MatchClass(cls=cls, patterns=places, kwd_attrs=names, kwd_patterns=patterns):
                tests.append(instance(subject, cls))
                keys = [gast.Subscript(gast.Attribute(cls, "__match_args__", gast.Load()), constant(k), gast.Load())
                        for k in range(len(places))]
                for key, p in zip([*keys, *map(constant, names)], [*places, *patterns], strict=True):
                    tests.append(called(hasattr, subject, key))
                    self.read(p, called(getattr, subject, key), tests, bound)
            case gast.MatchMapping(keys=keys, patterns=patterns, rest=rest):
                tests.append(instance(subject, constant(collections.abc.Mapping)))
                for key, p in zip(keys, patterns, strict=True):
                    tests.append(gast.Compare(key, [gast.In()], [subject]))
                    self.read(p, gast.Subscript(subject, key, gast.Load()), tests, bound)
                if rest is not None:
                    bound[rest] = others(subject, keys)
            case _:
                raise self.error(pattern, "this pattern of `match` is not supported", "use if/elif")

    def sequence(self, patterns, subject, tests, bound) -> None:
        star = next((k for k, p in enumerate(patterns) if isinstance(p, gast.MatchStar)), None)
        tests.append(instance(subject, constant(collections.abc.Sequence)))
        tests.append(gast.UnaryOp(gast.Not(), instance(subject, constant(TEXTS))))
        length = called(len, subject)
        wanted = constant(len(patterns) - (star is not None))
        tests.append(gast.Compare(length, [gast.Eq() if star is None else gast.GtE()], [wanted]))
        for k, p in enumerate(patterns):
            after = k - len(patterns)                       # counted from the end, behind a star
            if star is None or k < star:
                self.read(p, gast.Subscript(subject, constant(k), gast.Load()), tests, bound)
            elif k > star:
                self.read(p, gast.Subscript(subject, negative(-after), gast.Load()), tests, bound)
            elif p.name is not None:
                stop = negative(-after - 1) if after < -1 else None
                bound[p.name] = gast.Subscript(called(list, subject), gast.Slice(constant(k), stop, None), gast.Load())


def others(subject, keys):
    """`{key: value for key, value in subject.items() if key not in keys}`."""
    items = gast.Call(gast.Attribute(subject, "items", gast.Load()), [], [])
    both = gast.Tuple([name(" key", gast.Store()), name(" value of key", gast.Store())], gast.Store())
    rest = [gast.Compare(name(" key"), [gast.NotIn()], [gast.Tuple(keys, gast.Load())])] if keys else []
    return gast.DictComp(name(" key"), name(" value of key"), [gast.comprehension(both, items, rest, 0)])


def called(function, *args):
    """A call of a function of Python's, whatever its name stands for in the program."""
    return gast.Call(constant(function), list(args), [])


def instance(subject, cls):
    return called(isinstance, subject, cls)


def always(*made):
    """An expression that is true, once these are evaluated."""
    return gast.Subscript(gast.Tuple([*made, constant(True)], gast.Load()), negative(1), gast.Load())


def name(id: str, ctx=None):
    return gast.Name(id, ctx or gast.Load(), None, None)


def constant(value):
    return gast.Constant(value, None)


def negative(value: int):
    return gast.UnaryOp(gast.USub(), constant(value))


def located(tree, place) -> None:
    """Nodes that are made stand where `place` stands in the user's source."""
    for n in gast.walk(tree):
        if isinstance(n, (gast.stmt, gast.expr)) and not hasattr(n, "lineno"):
            gast.copy_location(n, place)


__all__ = ["located", "name", "without_match"]
