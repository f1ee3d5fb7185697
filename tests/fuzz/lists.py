"""Programs over long and short lists: values as in Python, gradients as differences and the items one by one say."""

from __future__ import annotations

import random
import re

from .checks import Outcome, ran

RUN = '''
import collections, copy, dataclasses, functools, math
import numpy as np
from autodiff import AutodiffError, differentiable, jvp, value_and_grad, vjp
from autodiff.calling.specialisations import Specialisations

Point = collections.namedtuple("Point", "x y")

@dataclasses.dataclass
class Layer:
    W: object
    b: object
    kind: str = "tanh"

def made(kind, n, m, draw):
    number = lambda: float(draw.uniform(0.3, 1.2))
    return {"floats": lambda: [number() for _ in range(n)], "tuple": lambda: tuple(number() for _ in range(n)),
            "numpy": lambda: [np.float64(number()) for _ in range(n)], "integers": lambda: draw.integers(0, 3, n).tolist(),
            "rows": lambda: [[number() for _ in range(m)] for _ in range(n)],
            "points": lambda: [Point(number(), number()) for _ in range(n)],
            "pairs": lambda: [(number(), number()) for _ in range(n)],
            "mixed": lambda: [(number(), k) for k in range(n)],
            "arrays": lambda: [draw.uniform(0.3, 1.2, 3) for _ in range(n)],
            "layers": lambda: [(draw.uniform(-0.5, 0.5, (3, 3)), draw.uniform(0.3, 1.2, 3)) for _ in range(n)],
            "records": lambda: [Layer(draw.uniform(-0.5, 0.5, (3, 3)), draw.uniform(0.3, 1.2, 3)) for _ in range(n)],
            "dicts": lambda: [{"a": number(), "b": draw.uniform(0.3, 1.2, 2)} for _ in range(n)],
            "vector": lambda: draw.uniform(0.3, 1.2, 3)}[kind]()

PROGRAM

def leaves(v):
    if isinstance(v, np.ndarray):
        return v.ravel().tolist()
    if isinstance(v, dict):
        return [y for x in v.values() for y in leaves(x)]
    if dataclasses.is_dataclass(v):
        return [y for f in dataclasses.fields(v) for y in leaves(getattr(v, f.name))]
    if isinstance(v, (list, tuple)):
        return [y for x in v for y in leaves(x)]
    return [v]

def like(v, parts):
    """A structure with other floats: integers and texts as they are."""
    if isinstance(v, np.ndarray):
        return np.array([next(parts) for _ in range(v.size)]).reshape(v.shape)
    if isinstance(v, dict):
        return {k: like(x, parts) for k, x in v.items()}
    if dataclasses.is_dataclass(v):
        return type(v)(*(like(getattr(v, f.name), parts) for f in dataclasses.fields(v)))
    if isinstance(v, tuple) and hasattr(v, "_fields"):
        return type(v)(*(like(x, parts) for x in v))
    if isinstance(v, (list, tuple)):
        return type(v)(like(x, parts) for x in v)
    return type(v)(next(parts)) if isinstance(v, float) else v

def shape_of(v):
    if isinstance(v, np.ndarray):
        return v.dtype.kind, v.shape
    if isinstance(v, dict):
        return {k: shape_of(x) for k, x in v.items()}
    if dataclasses.is_dataclass(v):
        return type(v), [shape_of(getattr(v, f.name)) for f in dataclasses.fields(v)]
    if isinstance(v, (list, tuple)):
        return type(v), [shape_of(x) for x in v]
    return float if isinstance(v, float) else type(v)

def floats(v):
    return [x for x in leaves(v) if isinstance(x, float)]

def outcome(call):
    try:
        return call()
    except Exception as e:
        return e

refused, checked, options, wrt = [], 0, {"mode": "MODE"}, WRT
packed = value_and_grad(f, wrt=wrt, **options)
single = value_and_grad(f, wrt=wrt, **{**options, "mode": "python"})
single.packs, single._specialisations = False, Specialisations()
for n in LENGTHS:
    draw = np.random.default_rng(n + SEED)
    args = [made(kind, n, M, draw) for kind in KINDS]
    if ONE_ARRAY and len(args) > 1 and isinstance(args[0], list) and isinstance(args[0][0], np.ndarray):
        args[0][1] = args[0][0]
    given = copy.deepcopy(args)
    expected, before = outcome(lambda: f(*copy.deepcopy(args))), copy.deepcopy(args)
    found = outcome(lambda: packed(*given))
    if leaves(given) != leaves(before):
        raise AssertionError("argument changed: by the derivative")
    where = f"{n} items: {str(found)[:300]}, in Python {str(expected)[:300]}"
    if isinstance(found, AutodiffError) and not isinstance(found, type(expected)):
        alone = outcome(lambda: single(*copy.deepcopy(args)))
        assert isinstance(alone, Exception), "refused where the items one by one are not: " + where
        refused.append(str(found).splitlines()[0])
        continue
    if isinstance(expected, Exception):
        assert isinstance(found, type(expected)), "no error: " + where
        continue
    assert not isinstance(found, Exception), "an error: " + where
    assert np.allclose(found[0], expected, 1e-8, 1e-10), "another value: " + where
    gradients = found[1] if isinstance(wrt, tuple) else (found[1],)
    moved = [args[k] for k in (wrt if isinstance(wrt, tuple) else (wrt,))]
    base, slope = floats(moved), leaves(gradients)
    slope = [s for s, v in zip(slope, leaves(moved)) if isinstance(v, float)] if len(slope) == len(leaves(moved)) else slope
    assert len(slope) == len(base), "another structure: " + where
    if ALIKE:
        assert shape_of(list(gradients)) == shape_of(moved), f"another structure: {shape_of(list(gradients))}, " + where
    direction = draw.uniform(-1, 1, len(base))
    close = False
    for h in (1e-5, 1e-6, 1e-4):
        ends = []
        for s in (h, -h):
            parts = iter([b + s * d for b, d in zip(base, direction)])
            new = [like(m, parts) for m in moved]
            places = wrt if isinstance(wrt, tuple) else (wrt,)
            ends.append(f(*[new[places.index(k)] if k in places else copy.deepcopy(a) for k, a in enumerate(args)]))
        want = (ends[0] - ends[1]) / (2 * h)
        close = close or bool(np.isclose(want, np.dot(slope, direction), 1e-5, 1e-6))
    assert close, f"another gradient: {np.dot(slope, direction)}, differences {want}, " + where
    if n == LENGTHS[0]:
        alone = outcome(lambda: single(*copy.deepcopy(args)))
        if not isinstance(alone, Exception):
            slopes = [s or 0.0 for s in leaves(alone[1])]
            assert np.allclose(slopes, [s or 0.0 for s in leaves(found[1])], 1e-8, 1e-10), "items one by one: " + where
            value, pull = vjp(f, *copy.deepcopy(args), **options)
            pulled = pull(1.0)
            assert np.allclose([s or 0.0 for s in leaves([pulled[k] for k in (wrt if isinstance(wrt, tuple) else (wrt,))])],
                               [s or 0.0 for s in leaves(found[1])], 1e-8, 1e-10), "pullback: " + where
            assert np.allclose(differentiable(f, **options)(*copy.deepcopy(args)), expected, 1e-8), "primal: " + where
    checked += 1
'''

NUMBERS = """
for x in xs:|    s += E
for x in xs[1:]:|    s += E
for x in xs[::2]:|    s = 0.9 * s + E
for x in reversed(xs):|    s = 0.5 * s + E
for k, x in enumerate(xs):|    s += E * k
for k, x in enumerate(xs[:-1], 2):|    s += E * xs[k - 1]
for x, y in zip(xs, xs[1:]):|    s += (x - y) ** 2 + E
for x, w in zip(xs, [1.0, 2.0, 0.5]):|    s += E * w
for i in range(len(xs)):|    x = xs[i]|    s += E
for i in range(len(xs) - 2):|    x = xs[i + 2] - xs[-i]|    s += E
for x in xs:|    if x > 0.7:|        break|s += 2.0 * x
for x in xs:|    if x > 1.0:|        continue|    s += E
for x in xs:|    if x < 0.1:|        return x
i = 0|while i < len(xs) and xs[i] > 0.4:|    x = xs[i]|    s += E|    i += 1
s += sum(xs) * sum(xs[2:])
s += max(xs) * min(xs)
s += sum(xs, 1.0) * len(xs)
s += sum([E for x in xs])
s += sum(E for x in xs if x > 0.6)
s += sum([E * y for x in xs for y in xs[:3]])
s += xs[0] * xs[-1] + xs[len(xs) // 2]
s += xs[5] * xs[16]
s += xs[-20] * xs[19]
s += xs[17:][0]
ys = sorted(xs)|s += ys[0] * 2.0 + ys[-1] * ys[1]
s += sorted(xs, reverse=True)[1]
ys = [E for x in xs]|s += ys[2] * ys[-1] + len(ys)
ys = [E for x in xs]|ys[0] = 3.0|ys.append(2.0)|s += sum(ys)
ys = list(xs)|ys[1] = 2.0 * s|s += sum(ys) + xs[1]
ys = list(xs)|s += sum(ys) if ys == xs else 0.0
ys = xs|s += xs[0] if ys is xs else xs[1]
ys = xs + [s]|s += sum(ys) * len(ys)
ys = xs * 2|s += ys[-1] + len(ys)
ys = xs + xs[1:3]|for x in ys:|    s += E
ys = tuple(xs)|s += ys[3] * (1.0 if isinstance(ys, tuple) else 2.0)
xs = xs[1:]|s += xs[0] * xs[-1]
while len(xs) > 4:|    xs = xs[2:]|s += xs[0]
if s > 1.0:|    xs = xs[1:]|s += xs[0]
if s > 1.0:|    ys = xs[2:]|else:|    ys = xs[:-1]|s += ys[0] * ys[1]
for x in xs:|    ys = xs[2:]|    s += ys[0] * E|s += ys[1]
xs[0] = s|s += sum(xs)
xs[1] *= 2.0|s += xs[1] * xs[0]
for i in range(len(xs)):|    xs[i] = xs[i] * 2.0|s += sum(xs)
xs += [1.0, 2.0]|s += sum(xs)
xs.append(s)|s += xs[-1] * xs[0]
xs.reverse()|s += xs[0]
del xs[0]|s += xs[0]
a, b, *c = xs|s += a * b + sum(c)
a = np.array(xs)|a[1] = s|s += np.sum(a * a) + xs[1]
s += np.sum(np.array(xs) ** 2) + np.dot(xs, xs)
s += np.sum(np.asarray(xs)[1:] * xs[1:])
s += np.mean(xs) * np.max(xs) + np.sum(np.sin(xs))
s += np.sum(np.arange(len(xs)) * xs)
s += np.linalg.norm(xs) + np.prod(xs)
s += functools.reduce(lambda a, b: 0.5 * a + b, xs)
s += sum(map(math.sin, xs)) + math.prod(xs) + math.fsum(xs)
s += xs[0] if xs else 1.0
s += xs[0] if not xs else 1.0
s += 1.0 if isinstance(xs, list) else 2.0
s += 1.0 if isinstance(xs, (tuple, np.ndarray)) else 2.0
s += 1.0 if hasattr(xs, "append") else 2.0
s += 1.0 if hasattr(xs, "shape") else 2.0
s += 1.0 if xs is None or xs == "a" else 2.0
s += 1.0 if xs[2] in xs else xs[1]
s += 1.0 if any(x > 1.1 for x in xs) else xs[1]
s += 1.0 if all(xs) and any(xs) else xs[1]
s += (lambda v: v[0] * v[2])(xs)
s += (lambda *v: v[0] * len(v))(*xs)
s += inner(xs, 2)
s += helper(xs) * helper(xs[1:])
p = {"a": xs, "b": s}|s += sum(p["a"]) * p["b"]
p = [xs, xs[1:]]|for q in p:|    s += q[0] * q[-1]
p = (xs, 2.0)|q, r = p|s += q[1] * r
s += isinstance(xs[0], float) * 1.0 + xs[0].real
s += float(f"{len(xs)}") * xs[0]
h = []|for x in xs:|    h.append(E)|s += h[0] * h[-1] + len(h)
h = [0.0] * len(xs)|for i, x in enumerate(xs):|    h[i] = E|s += h[1] + sum(h)
best = None|for x in xs:|    if best is None or x > best:|        best = x|s += best
m = xs[0]|for x in xs[1:]:|    m = x if x > m else m|s += m * m
lo, hi = xs[0], xs[1]|for x in xs:|    lo, hi = hi, x * lo|s += lo + hi
while len(xs) > 100:|    s += 1.0|s += xs.count(xs[0]) + xs.index(xs[1])
for x in filter(lambda v: v > 0.6, xs):|    s += E
for x in xs.copy():|    s += E
if len(xs) > 16:|    s += xs[16]
s += -xs
s += xs > 1.0
s += xs @ xs
s += abs(xs)
s += xs.shape[0]
s += 2.0 * xs
s += max(xs, key=lambda v: -v)
s += min(xs, default=1.0)
assert len(xs) > 2, f"short: {xs}"|s += xs[0]
""".strip().splitlines()

INTEGERS = """
for k in ns:|    s += k * s * 0.1
s += sum(ns) * 1.0
for k in ns:|    s += 0.1 * (k // 2 + k % 2)
for i, k in enumerate(ns):|    s += v[k] * i
s += np.sum(v[ns])
s += v[ns[2]] * v[ns[-1]]
t = 1|for k in ns:|    t = t * 3 + k|s += 1e-9 * t
t = 1|for k in ns:|    t = (t * 3 + k) % 7|s += t * v[0]
for k in ns:|    for j in range(k):|        s += v[j]
s += np.sum(np.zeros(ns[0] + 1) + v[0])
s += np.sum(np.reshape(v, (3, 1)) * ns)
s += max(ns) * v[0] + min(ns)
s += v[0] if ns[0] == ns[1] else v[1]
s += v[0] ** ns[2] + 2 ** ns[1]
s += 1.0 if isinstance(ns[0], int) else 2.0
s += v[0] / (ns[0] + 1)
s += ns[0] / ns[1]
s += sorted(ns)[0] + v[0]
s += 1.0 if 2 in ns else v[0]
c = [0, 0, 0]|for k in ns:|    c[k] += 1|s += c[0] * v[0] + c[1] * v[1]
c = {}|for k in ns:|    c[k] = 1.0|s += len(c)
""".strip().splitlines()

ROWS = """
for r in rs:|    s += r[0] * r[-1]
for r in rs:|    for x in r:|        s += E
for r in rs:|    s += sum(r) * len(r)
for r in rs[1:]:|    s += max(r) + np.sum(r)
for i in range(len(rs)):|    for j in range(len(rs[0])):|        s += rs[i][j] * (i + j)
for a, b, *c in rs:|    s += a * b
s += sum([sum(r) for r in rs])
s += sum(x for r in rs for x in r)
s += np.sum(np.array(rs)[:, 0]) * rs[2][1]
s += np.sum(np.array(rs) ** 2) + np.max(rs)
s += np.sum(np.dot(rs, np.ones(len(rs[0]))))
s += sum([x * y for x, y in zip(rs[0], rs[1])])
cols = zip(*rs)|for c in cols:|    s += c[0] * c[1]
cols = list(zip(*rs))|s += cols[0][1] * cols[1][0] + len(cols)
rs[0][1] = s|s += rs[0][1] * rs[0][0]
r = rs[0]|r[1] = s|s += sum(rs[0])
rs[1] = rs[0]|rs[0][0] = s|s += rs[1][0]
for r in rs:|    r[0] = r[0] * 2.0|s += sum([r[0] for r in rs])
s += 1.0 if rs[0] is rs[0] else rs[0][0]
s += 1.0 if rs[0] == rs[1] else rs[0][0]
r = rs[0] + rs[1]|s += sum(r) * len(r)
r = rs[0] * 2|s += sum(r)
t = rs + [rs[0]]|s += t[-1][0]
m = rs[0]|for r in rs:|    if r[0] > m[0]:|        m = r|s += m[0] * m[1]
for r in rs:|    q = list(r)|    q[0] = 2.0|    s += sum(q) + r[0]
t = sorted(rs)|s += t[0][0]
t = [r[0] for r in rs]|s += t[1] * t[2]
t = [r for r in rs if r[0] > 0.6]|s += len(t)
t = [[x * 2.0 for x in r] for r in rs]|s += t[0][1] + t[1][0]
""".strip().splitlines()

ARRAYS = """
for a in arrs:|    s += np.sum(a * a) + a[1]
for a, b in zip(arrs, arrs[1:]):|    s += np.dot(a, b)
for i, a in enumerate(arrs):|    s += a[0] * i
s += np.sum(sum(arrs)) * arrs[2][1]
s += np.sum(np.stack(arrs)[1]) + np.sum(np.array(arrs))
s += np.sum(np.concatenate(arrs)[3:7]) + np.sum(np.vstack(arrs)[0])
s += np.sum(np.mean(arrs, axis=0) * arrs[0])
z = arrs[0]|for a in arrs[1:]:|    z = 0.5 * z + a|s += np.sum(z)
z = np.zeros(3)|for a in arrs:|    z += a|s += np.sum(z * z)
z = arrs[0]|z[0] = s|s += np.sum(arrs[0]) + np.sum(arrs[1])
z = arrs[0]|z += 1.0|s += np.sum(arrs[0])
arrs[0][1] = s|s += np.sum(arrs[0])
arrs[0] = arrs[1]|s += np.sum(arrs[0] * arrs[1])
arrs[0] += arrs[1]|s += np.sum(arrs[0])
for a in arrs:|    a *= 2.0|s += np.sum(arrs[2])
s += sum([np.sum(a) for a in arrs])
s += sum([a[0] for a in arrs if a[1] > 0.6])
t = [a * 2.0 for a in arrs]|s += np.sum(t[0]) + np.sum(t[-1])
t = [a for a in arrs]|t[0][0] = s|s += np.sum(arrs[0])
t = list(arrs)|t[0] = t[1]|s += np.sum(t[0] * arrs[0])
h = []|for a in arrs:|    h.append(a)|s += np.sum(h[1])
h = []|for a in arrs:|    h.append(a)|h[0][1] = s|s += np.sum(arrs[0])
m = arrs[0]|for a in arrs:|    if a[0] > m[0]:|        m = a|s += np.sum(m)
s += 1.0 if arrs[0] is arrs[0] else arrs[0][0]
for a in arrs:|    if a is arrs[0]:|        s += a[1]
s += np.sum(arrs[0].reshape(3, 1) * arrs[1]) + np.sum(arrs[2][::-1] * arrs[1])
s += arrs[0].shape[0] + len(arrs) + arrs[1].ndim
s += np.sum(np.einsum("i,i->i", arrs[0], arrs[1]))
t = arrs + [arrs[0]]|s += np.sum(t[-1])
s += 1.0 if arrs[0] in arrs else 2.0
b = arrs[0].ravel()|b[0] = s|s += np.sum(arrs[0])
b = arrs[0].copy()|b[0] = s|s += np.sum(b) + np.sum(arrs[0])
""".strip().splitlines()

LAYERS = """
x = v|for W, b in ls:|    x = np.tanh(W @ x + b)|s += np.sum(x)
x = v|for W, b in ls[:-1]:|    x = np.tanh(W @ x + b)|W, b = ls[-1]|s += np.sum(W @ x + b)
x = v|for k, (W, b) in enumerate(ls):|    x = np.tanh(W @ x + b) if k % 2 else W @ x|s += np.sum(x)
x = v|for l in ls:|    x = np.tanh(l[0] @ x + l[1])|s += np.sum(x)
x = v|for W, b in reversed(ls):|    x = np.tanh(W @ x + b)|s += np.sum(x)
x, h = v, [v]|for W, b in ls:|    x = np.tanh(W @ x + b)|    h.append(x)|s += np.sum(h[1]) + np.sum(h[-1])
Ws, bs = zip(*ls)|s += np.sum(Ws[1]) + sum([np.sum(b) for b in bs])
Ws = [W for W, b in ls]|s += np.sum(Ws[1] @ v) + len(Ws)
x = v|for (W, b), (U, c) in zip(ls, ls[1:]):|    x = np.tanh(W @ x + c)|s += np.sum(x)
s += sum([np.sum(W ** 2) for W, _ in ls])
ls[0][1][0] = s|s += np.sum(ls[0][1])
x = v|for i in range(len(ls)):|    x = np.tanh(ls[i][0] @ x) + ls[-i - 1][1]|s += np.sum(x)
x = functools.reduce(lambda x, l: np.tanh(l[0] @ x + l[1]), ls, v)|s += np.sum(x)
ls = ls[1:]|s += np.sum(ls[0][1])
W, b = ls[0]|W[0, 0] = s|s += np.sum(ls[0][0])
ls = [(W * 2.0, b) for W, b in ls]|s += np.sum(ls[1][0])
""".strip().splitlines()

OTHERS = {
    "points": ["for p in ps:|    s += p.x * p.y", "for x, y in ps:|    s += x - y * y", "s += ps[3].x * ps[-1].y",
               "s += sum([p.x for p in ps])", "p = ps[0]._replace(x=s)|s += p.x * ps[0].x",
               "s += np.sum(np.array(ps)[:, 1])", "m = ps[0]|for p in ps:|    if p.x > m.x:|        m = p|s += m.y"],
    "pairs": ["for a, b in ps:|    s += a * b", "for i, (a, b) in enumerate(ps):|    s += i * a - b",
              "s += np.sum(np.array(ps) ** 2)", "xs, ys = zip(*ps)|s += sum(xs) * ys[1]",
              "for p in ps:|    s += p[0] + sum(p)", "s += max(ps)[0]", "s += dict(ps)[ps[0][0]]",
              "t = [(a, 2.0 * b) for a, b in ps]|s += t[1][1]"],
    "mixed": ["for a, k in ps:|    s += a * k", "for a, k in ps:|    s += a ** (k % 3)", "s += ps[1][0] * ps[2][1]",
              "s += sum([a for a, k in ps if k > 1])"],
    "records": ["x = np.ones(3)|for l in ls:|    x = np.tanh(l.W @ x + l.b) if l.kind == 'tanh' else l.W @ x|s += np.sum(x)",
                "s += np.sum(ls[1].W) + np.sum(ls[-1].b)", "ls[0].b = ls[1].b|s += np.sum(ls[0].b)",
                "l = ls[0]|l.b = 2.0 * l.b|s += np.sum(ls[0].b)", "s += 1.0 if ls[0] is ls[0] else 2.0",
                "for l in ls:|    l.b += 1.0|s += np.sum(ls[1].b)", "for l in ls:|    l.kind = 'relu'|s += np.sum(ls[1].b)"],
    "dicts": ["for d in ds:|    s += d['a'] * np.sum(d['b'])", "s += ds[2]['a'] + len(ds[0])",
              "ds[0]['a'] = s|s += ds[0]['a'] * ds[1]['a']", "d = ds[0]|d['c'] = s|s += ds[0]['c'] + len(ds[0])",
              "for d in ds:|    d['b'] *= 2.0|s += np.sum(ds[1]['b'])", "s += sum([d['a'] for d in ds if 'b' in d])"],
}

HELPERS = '''
def helper(items):
    t = 1.0
    for item in items:
        t = 0.5 * t + item
    return t

def inner(items, k):
    def at(i):
        return items[i] * items[k]
    return at(0) + at(1)
'''

EXPRESSIONS = ["x * x", "x", "math.sin(x)", "np.exp(-x)", "x * s * 0.1", "x / (1.0 + x)", "(x if x > 0.7 else x * x)",
               "x ** 3"]
NAMED = {"floats": "xs", "tuple": "xs", "numpy": "xs", "integers": "ns", "rows": "rs", "arrays": "arrs", "layers": "ls",
         "points": "ps", "pairs": "ps", "mixed": "ps", "records": "ls", "dicts": "ds", "vector": "v"}
WITH_VECTOR = ("integers", "mixed", "layers")
LINES = {"floats": NUMBERS, "tuple": NUMBERS, "numpy": NUMBERS, "integers": INTEGERS, "rows": ROWS, "arrays": ARRAYS,
         "layers": LAYERS, **OTHERS}


def program(r: random.Random, kind: str) -> str:
    """A function of one or two arguments."""
    names = [NAMED[kind]] + (["v"] if kind in WITH_VECTOR else [])
    lines = [f"def f({', '.join(names)}):", f"    s = {'v[0]' if 'v' in names else '0.5'}"]
    for _ in range(r.choice([1, 2, 2, 3])):
        chosen = re.sub(r"\bE\b", lambda _: r.choice(EXPRESSIONS), r.choice(LINES[kind])).split("|")
        around = r.random()
        if around < 0.15:
            chosen = [r.choice(["if s > 0.2:", "for _ in range(2):"]), *("    " + line for line in chosen)]
        lines += ["    " + line for line in chosen]
    first = {"rows": "[0][0]", "arrays": "[0][0]", "points": "[0].x", "pairs": "[0][0]", "records": "[0].b[0]",
             "dicts": "[0]['a']"}.get(kind, "[0]")
    last = "v[0]" if "v" in names else NAMED[kind] + first
    return HELPERS + "\n".join([*lines, f"    return s + {last} * 0.0"]) + "\n"


def attempt(seed: int) -> tuple[Outcome, str]:
    """One program at lists of several lengths."""
    r = random.Random(seed)
    compiled = seed % 40 == 39
    kind = r.choice(["floats"] * 6 + ["tuple", "numpy", "integers", "integers", "rows", "rows", "arrays", "arrays", "layers",
                                      "layers", "points", "pairs", "mixed", "records", "dicts"])
    kinds = [kind] + (["vector"] if kind in WITH_VECTOR else [])
    wrt = {"integers": "1", "mixed": "1", "layers": r.choice(["0", "1", "(0, 1)"])}.get(kind, r.choice(["0", "(0,)"]))
    lengths = r.sample([17, 18, 21, 30], 2) + [r.choice([3, 16])]
    text = RUN.replace("PROGRAM", program(r, kind))
    for key, given in (("LENGTHS", repr(lengths if not compiled else lengths[:2])), ("KINDS", repr(kinds)), ("WRT", wrt),
                       ("MODE", "numba" if compiled else "python"), ("SEED", str(seed)),
                       ("ONE_ARRAY", str(r.random() < 0.1)), ("ALIKE", str(kind not in ("mixed", "records", "integers")))):
        text = re.sub(rf"\b{key}\b", lambda _, given=given: given, text)
    text = re.sub(r"\bM\b", str(r.choice([2, 3, 17])), text)
    return ran("lists", seed, text), text
