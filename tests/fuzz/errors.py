"""Random calls of NumPy's functions with valid and invalid arguments, and random views, copies and writes of one buffer.

Python is the oracle: what it raises we raise, with the same class, and what it gives we give. An AutodiffError that refuses
is accepted. Writing through one name and reading through the others shows which of them see one memory.
"""

from __future__ import annotations

import random
import warnings

import numpy as np

from autodiff import AutodiffError, InternalError, differentiable, value_and_grad

from ..errors.test_names import OURS
from ..support import module_of
from .checks import Outcome, TookTooLong, limited

HEAD = "import math\nimport numpy as np\nfrom numpy.lib.stride_tricks import sliding_window_view\n\n\n"

# what makes a name of another: {v} is the old one; by the rank of the old one, None for any
VIEWS = {
    None: """
        {v}[...]|{v}[:]|{v}.T|{v}.copy()|{v}.reshape(-1)|{v}.ravel()|{v}.flatten()|np.asarray({v})|np.array({v})
        np.array({v}, copy=None)|np.asanyarray({v})|np.ascontiguousarray({v})|np.asfortranarray({v})|np.atleast_1d({v})
        np.atleast_2d({v})|np.copy({v})|{v}.astype(float)|{v}.astype(float, copy=False)|{v}.real|np.real({v})
        np.ravel({v})
        {v}[None]|np.expand_dims({v}, 0)|np.squeeze({v}[None])|np.squeeze({v}[None], axis=0)|np.flip({v})|np.flip({v}, 0)
        {v}[::-1]|{v}[1:]|{v}[:2]|{v}[::2]|{v}[1:].reshape(-1)|{v}[::2].ravel()|np.require({v}, requirements='C')
        np.require({v}, requirements='F')|np.array({v}, order='F')|np.asarray({v}, order='C')|np.asarray({v}, order='F')
        {v}.copy('F')|{v}.copy(order='K')|np.broadcast_to({v}, (2,) + {v}.shape)|np.nan_to_num({v}, copy=False)
        np.nan_to_num({v})|np.array({v}, ndmin=3)|np.positive({v})|{v} * 1.0|np.roll({v}, 1)|{v}.flat[1:3]|{v}.flat[:]
        np.reshape({v}, {v}.shape)|{v}.reshape((-1, 1))|{v}.reshape(1, -1)|np.transpose({v})|np.array([{v}, {v}])
        np.concatenate([{v}])|np.sort({v})|{v}[:0]|np.where({v} > 0, {v}, 1.0)|np.clip({v}, -9.0, 9.0)|np.abs({v})
        np.take({v}, [0, 1], axis=0)|{v}[[0, 1]]|{v}[np.array([True] * {v}.shape[0])]|np.split({v}, [1])[1]
        np.array_split({v}, 2)[0]|[w for w in np.split({v}, [1, 2])][1]|{v}.reshape(-1, order='F')|{v}.ravel('F')
        np.delete({v}, 0, axis=0)|np.append({v}, {v})|np.tile({v}, 1)|np.repeat({v}, 1)|np.zeros_like({v}) + {v}
        np.broadcast_arrays({v}, 1.0)[0]|{v}.view()|np.rollaxis({v}, 0)|np.moveaxis({v}, 0, -1)|np.trim_zeros({v}.ravel())
        sliding_window_view({v}, 2, axis=0)|np.resize({v}, {v}.shape)|np.stack([{v}])|np.atleast_3d({v})|np.vstack([{v}])
        """,
    1: """
        np.diag({v})|{v}[:, None]|{v}[None, :]|np.diff({v})|np.outer({v}, {v})|{v}[1:-1]|{v}[-2:]
        np.broadcast_to({v}[0], (3,))
        np.squeeze({v}[:, None])|sliding_window_view({v}, 2)|{v}[2:0:-1]|np.meshgrid({v}, {v})[0]
        np.ix_([0, 1])[0] + {v}[:2]
        np.meshgrid({v}, {v}, copy=False)[1]
        """,
    2: """
        {v}[0]|{v}[:, 0]|{v}[1:, 1:]|{v}[:, ::2]|np.diag({v})|np.diagonal({v})|{v}.diagonal(1)|{v}[:, :2].ravel()
        {v}[:, :2].reshape(-1)|{v}[1:].ravel()|{v}.T.ravel()|{v}.T.reshape(-1)|{v}.T.copy().ravel()
        np.ascontiguousarray({v}.T)
        np.asfortranarray({v}.T)|np.rot90({v})|np.rot90({v}, 2)|np.rot90({v}, 4)|np.swapaxes({v}, 0, 1)|np.fliplr({v})
        np.flipud({v})|list({v})[0]|[r for r in {v}][1]|np.hsplit({v}, [1])[1]|np.vsplit({v}, [1])[1]|list({v}.T)[1]
        np.triu({v})|np.tril({v})|{v}.swapaxes(0, 1)|{v}.transpose(1, 0)|np.moveaxis({v}, 0, 1)|{v} @ {v}.T
        {v}[:1].ravel()
        {v}[:, :1].ravel()|{v}[:, 0].reshape(-1, 1)|{v}[:, 1].ravel()|np.array({v}.T)|np.copy({v}.T)|{v}.T.copy()
        ({v}.T * 2.0).ravel()|({v}.T + 0.0).reshape(-1)|{v}[:, None]|{v}[None].reshape(-1)|np.squeeze({v}[:, :1])
        np.ravel({v}[:, ::-1])|{v}[:, ::-1].reshape(-1)|{v}[::-1].reshape(-1)|np.column_stack([{v}, {v}])
        np.einsum('ij->ji', {v})
        np.einsum('ii->i', {v}[:2, :2])|np.hstack([{v}, {v}])|np.trace({v}) * {v}[0]|{v}.T[1:].ravel()|np.atleast_3d({v})
        [*{v}][0]|tuple({v})[-1]|max([{v}[0], {v}[1]], key=len)|next(r for r in {v})
        """,
    3: """
        {v}[0]|{v}[:, 0]|{v}[..., 0]|{v}.reshape({v}.shape[0], -1)|{v}.reshape(-1, {v}.shape[-1])|np.moveaxis({v}, -1, 0)
        {v}.transpose(1, 0, 2)|{v}.swapaxes(0, 2).reshape(-1)|np.squeeze({v})|{v}[0].ravel()|{v}[:, 1:].reshape(-1)
        np.rollaxis({v}, 2)|np.diagonal({v})|{v}.sum(axis=0)|{v}[:, :, 0].ravel()|{v}[:, 0].reshape(-1)
        """,
}
BASES = (
    "{m} * 1.0", "np.outer({x}, {x})", "{m}.copy()", "{m}", "{x}", "{x} + 1.0", "{m}.T * 2.0", "np.array({m})",
    "np.outer({x}, {x}).reshape(2, 2, 4)", "np.array([{x}, {x} * 2.0])", "np.zeros((2, 3)) + {x}[0]",
    "np.arange(6.0) * {x}[1]", "{m} @ {m}.T", "np.stack([{x}, {x} + 1.0])", "np.linalg.inv(np.eye(3) + {m} @ {m}.T)",
    "({m} + 0.0).T", "{x}.reshape(2, 2)", "np.array({m}.T)", "np.asfortranarray({m})", "np.full((2, 2), {x}[0])",
    "[{x} * 1.0, {x} * 2.0][1]", "np.sin({m})[1:]")
WRITES = (
    "{v}[0] = x[1]", "{v} *= 2.0", "{v} += x[0]", "{v}[...] = 3.0 * x[2]", "{v}[-1:] *= x[1]", "{v}.fill(x[3])",
    "{v}[::2] += 1.0", "np.copyto({v}, x[1])", "{v}.flat[0] = 7.0 * x[0]", "np.multiply({v}, 2.0, out={v})",
    "{v}.sort()", "{v}[{v} > 1.0] = x[0]", "for r in {v}:\n        r *= 2.0", "for r in list({v}):\n        r *= 2.0",
    "for r, s in zip({v}, {w}):\n        r += np.sum(s)", "for k, r in enumerate({v}):\n        r *= k + 1.0",
    "rows = [r for r in {v}]\n    rows[0] *= 3.0", "parts = [{v}, {w}]\n    parts[0] += 1.0",
    "d = {{'a': {v}}}\n    d['a'] *= 2.0", "a, *b = {v}\n    a *= 2.0",
    "parts = np.array_split({v}, 2)\n    for p in parts:\n        p *= 2.0",
    "pair = ({v}[:1], {v}[1:])\n    pair[1][...] = x[0]", "{v}[0, 0] = x[2]", "{v}[0][0] = x[2]", "{v}.T[0] = x[1]",
    "{v}.ravel()[0] = x[1]", "{v}.reshape(-1)[1] = x[1]", "np.fill_diagonal({v}, x[0])", "np.put({v}, [0], x[0])",
    "np.nan_to_num({v}, copy=False)", "np.add({v}, 1.0, out={w})", "for i in range(2):\n        {v}[i] *= x[i]",
    "if x[0] > 0:\n        {v}[0] = x[2]", "{v}[:] = {w}", "for r in {v}.T:\n        r += x[0]")

# calls: {x} is an array of rank 1, {m} of rank 2, {n} an integer, {f} a number, {c} its condition
CALLS = """
np.zeros({n})|np.ones(({n}, 2))|np.full({n}, {f})|np.empty({n}).shape[0]|np.arange({n}, {n}, {n})|np.arange({f}, {f}, 0.5)
np.linspace({f}, {f}, {n})|np.eye({n})|np.eye({n}, {n}, {n})|np.identity({n})|np.tri({n}, {n}, {n})|np.repeat({x}, {n})
np.repeat({m}, {n}, axis={n})|np.tile({x}, {n})|np.tile({m}, ({n}, 2))|np.diag({x}, {n})|np.diag({m}, {n})
np.trace({m}, {n})
np.interp({f}, np.sort({x}), {x})|np.interp({x}, np.sort({x}), {x})|np.partition({x}, {n})|np.argpartition({x}, {n})
np.sort({m}, axis={n})
np.cross({x}, {x})|np.cross({m}, {m})|np.bincount({i})|np.bincount({i}, {x})|np.bincount({i}, minlength={n})
np.split({x}, {n})
np.split({m}, {n}, axis={n})|np.array_split({x}, {n})|np.concatenate(({x}, {x}))|np.concatenate(({m}, {m}), axis={n})
np.stack(({x}, {x}))|np.stack(({x}, {x}), axis={n})|np.vstack(({x}, {m}))|np.hstack(({m}, {m}))
np.reshape({x}, ({n}, {n}))
{m}.reshape({n}, -1)|np.dot({x}, {x})|np.dot({m}, {x})|{m} @ {m}|{m} @ {x}|np.vdot({x}, {x})|np.inner({m}, {x})
np.take({x}, {n})|np.take({x}, {i})|np.take({m}, {n}, axis={n})|np.take({x}, {i}, mode='wrap')
np.take({x}, {i}, mode='clip')
np.pad({x}, {n})|np.pad({x}, ({n}, {n}), mode='edge')|np.pad({x}, {n}, mode='wrap')|np.pad({x}, {n}, mode='reflect')
np.roll({x}, {n})|np.roll({m}, {n}, axis={n})|np.choose({i}, [{x}, {x}])|np.select([{x} > 0], [{x}])|np.max({x})
{x}.max(initial=0.5)
{x}[{n}:].max(initial=0.5)|np.min({x}[{n}:])|np.argmax({x}[{n}:])|np.argmin({m}, axis={n})|np.max({m}, axis={n})
np.sum({m}, axis={n})
np.mean({x}[{n}:])|np.var({x}, ddof={n})|np.std({m}, axis={n})|np.median({x}[{n}:])|np.histogram({x}, {n})[0]
np.histogram({x}, np.sort({x}))[0]
np.searchsorted(np.sort({x}), {f})|np.tensordot({m}, {m}, axes={n})|np.tensordot({m}, {m}, axes=([{n}], [{n}]))
np.insert({x}, {n}, {f})
np.delete({x}, {n})|np.delete({m}, {n}, axis={n})|np.unravel_index({n}, (2, 3))|np.convolve({x}, {x}[{n}:])
np.correlate({x}, {x})
np.convolve({x}, {x}, mode='same')|np.convolve({x}, {x}, 'valid')|np.polyfit({x}, {x}, {n})|np.digitize({f}, {x})
np.digitize({x}, np.sort({x}))
np.quantile({x}, {f})|np.percentile({x}, {f} * 40)|np.clip({x}, {f}, {f})|np.polyval({x}, {f})|np.gradient({x})
np.gradient({m}, axis={n})
np.diff({x}, {n})|np.diff({m}, axis={n})|np.cumsum({m}, axis={n})|np.cumprod({x})|np.trapezoid({x}, {x})
np.outer({x}, {x})|np.kron({x}, {x})
np.broadcast_to({x}, ({n}, {n}))|np.broadcast_to({x}, (2, 4))|np.expand_dims({x}, {n})|np.squeeze({m}, axis={n})
np.swapaxes({m}, {n}, {n})
np.moveaxis({m}, {n}, {n})|np.transpose({m}, ({n}, {n}))|np.flip({m}, {n})|np.rot90({m}, {n})|np.einsum('i,i', {x}, {x})
np.einsum('ij,jk', {m}, {m})|np.einsum('ij,j->i', {m}, {x})|np.einsum('ii', {m}[:3, :3])|np.einsum('ii->i', {m}[:2, :2])
np.einsum('...i,i', {m}, {x})
np.einsum({m}, [0, 1], {x}, [1])|np.einsum('ij,ij->j', {m}, {x}[None, :])|np.einsum('ij->ji', {m})
np.einsum('ij', {m})|np.einsum('ba', {m})
np.einsum('ij,jk->ik', {m}, {x}[:, None], optimize=True)|np.einsum('i->', {x})|np.einsum('i,j', {x}, {x})
np.einsum({m}, [1, 0])
np.nansum({z})|np.nanmean({z})|np.nanmax({z})|np.nanmin({z})|np.nanprod({z})|np.nanstd({z})|np.nanvar({z})
np.nanmedian({z})|np.nancumsum({z})
np.nan_to_num({z})|np.nancumprod({z})|np.nanargmax({z})|np.max({z})|np.sort({z})|np.ptp({x})
np.average({x}, weights={x})|np.cov({m})
math.sqrt({f})|math.log({f})|math.acos({f})|math.asin({f})|math.exp({f} * 400)|math.factorial({n})
math.hypot({f}, {f}, {f})|math.atanh({f})
math.dist({x}, {x})|math.prod({x})|math.fsum({x})|math.comb({n}, {n})|math.log2({f})|math.log10({f})|math.log1p({f})
math.pow({f}, {f})
math.fmod({f}, {f})|math.acosh({f})|math.cosh({f} * 400)|math.sinh({f} * 400)|math.gamma({f})|math.lgamma({f})
math.expm1({f} * 400)
math.floor({f})|math.gcd({n}, {n})|math.copysign({f}, {f})|math.isqrt({n})|math.remainder({f}, {f})|math.erf({f})
math.sin({f} * math.inf)
math.hypot({f}, {f})|math.log({f}, 2)|math.perm({n}, 2)|math.lcm({n}, {n})|math.degrees({f})|math.ldexp({f}, {n})
math.cbrt({f})|math.exp2({f})
math.trunc({f})|math.ceil({f})|math.atan2({f}, {f})|math.tan({f})|math.isclose({f}, {f})|math.sumprod({x}, {x})
math.nextafter({f}, {f})
np.linalg.solve({m}, {x})|np.linalg.inv({m})|np.linalg.det({m})|np.linalg.cholesky({m})|np.linalg.norm({x}, {n})
np.linalg.norm({m}, {n})
np.linalg.norm({m}, axis={n})|np.linalg.matrix_power({m}, {n})|np.linalg.eigh({s}, 'U')[0]|np.linalg.eigh({s})[1]
np.linalg.eigh({s}, 'U')[1]
np.linalg.eigvalsh({s}, 'U')|np.linalg.svd({m})[1]|np.linalg.qr({m})[1]|np.linalg.lstsq({m}, {x})[0]
np.linalg.cholesky({s} @ {s}.T)
np.linalg.cholesky({s} @ {s}.T + {s} * 0.1 + np.eye(3), upper=True)|np.linalg.cholesky({s} + 9 * np.eye(3))
{x}[{n}]|{x}[{n}:{n}]|{x}[{n}:{n}:{n}]|{m}[{n}, {n}]|{m}[{n}]|{m}[:, {n}]|{x}[{i}]|{x}[{x} > 0]|{m}[{i}, {i}]
{x} + {x}[{n}:]|{m} + {x}|{m} * {m}
{x}[{n}:] * {x}[:{n}]|np.where({x} > 0, {x}, {x}[{n}:])|np.maximum({x}, {x}[{n}:])|{x}.sum(axis={n})
{m}.mean(axis={n}, keepdims=True)
np.triu({m}, {n})|np.vander({x}, {n})|np.meshgrid({x}, {x})[0]|np.append({m}, {m}, axis={n})|np.block([[{m}], [{m}]])
np.column_stack(({x}, {m}))
np.ravel_multi_index(({n}, {n}), (3, 4))|np.atleast_2d({x})|np.fft.fft({x}[{n}:]).real|np.fft.rfft({x}, {n}).real
np.apply_along_axis(np.sum, {n}, {m})
np.float32({f}) * {x}|np.float32({f}) * 2.0|np.int32({f})|np.float64({n})|{x}.astype(np.float32) * 1.1
{x}.astype(int)|np.sqrt(np.float32({f}))
np.float32({f}) + np.float64({f})|np.array({f}, dtype=np.float32) + 0.1|np.sum({x}.astype(np.float32))
np.mean({m}.astype('f4'), axis=0)
np.zeros({n}, dtype=np.float32)|np.linspace(0, 1, {n}, dtype=np.float32)|np.cumsum({x}.astype(np.float32))
np.float32(1e30) * np.float32({f} * 1e30)
round({f}, {n})|np.round({x}, {n})|divmod({f}, 2.0)[0]|abs({f})|pow({f}, {n})|{f} ** {n}|{f} ** {f}|{f} // {f}
{f} % {f}|{f} / {f}|{n} // {n}|{n} % {n}
sum({x})|max({x})|min({x}[{n}:])|len({x}[{n}:])|sorted([{f}, {f}])[{n}]|[{f}, {f}, {f}][{n}]|list({x})[{n}]
tuple({x})[{n}]|float({x}[{n}])|int({f})
np.nanquantile({z}, {f})|np.unwrap({x})|np.ediff1d({x})|np.flatnonzero({x})|np.count_nonzero({m}, axis={n})
np.all({m} > 0, axis={n})|np.unique({x})
np.cumulative_sum({x})|np.vecdot({x}, {x})|np.matvec({m}, {x})|np.linalg.multi_dot([{m}, {m}, {x}])
np.lexsort(({x}, {x}))|np.argsort({m}, axis={n})
np.tril_indices({n})[0]|np.indices(({n}, 2))|np.logspace(0, 1, {n})|np.geomspace(1.0, {f}, {n})|np.resize({x}, {n})
np.rollaxis({m}, {n}, {n})
[np.put_along_axis(m, {i}[None], 1.0, axis={n}), m][1]|np.take_along_axis({m}, {i}[:, None], axis={n})
np.compress({x} > 0, {x})|np.extract({x} > 0, {x})
np.heaviside({x}, {f})|np.sinc({x})|np.i0({x})|np.sign({x})|np.copysign({x}, {f})|np.hypot({x}, {f})
np.arctan2({x}, {f})|np.logaddexp({x}, {f})
np.power({x}, {n})|np.power({n}, {n})|np.float_power({x}, {f})|np.remainder({x}, {f})|np.fmod({x}, {f})
np.divmod({x}, {f})[0]|np.mod({n}, {n})
""".replace("\n", "|").strip("|").split("|")


def pieces(text: str) -> list[str]:
    return [p.strip() for p in text.replace("\n", "|").split("|") if p.strip()]


VIEWS = {rank: pieces(text) for rank, text in VIEWS.items()}


HOLES = {
    "x": pieces("x|x|x|x|x[1:]|x[:0]|x[:1]|x[::-1]|(x - 2.0)|m[0]|m[:, 1]"),
    "m": pieces("m|m|m|m.T|m[:, :3]|m[:0]|m[:1]|m[:, :1]|(m - 1.0)|np.outer(x, x)"),
    "i": pieces("np.array([0, 1, 2])|np.array([0, 2, 1, 0])|np.array([-1, 0])|np.array([5, 0])|k|k[:1]"),
    "n": pieces("-5|-2|-1|0|1|2|3|4|5|0|1|2|n|n - 3|-n|len(x) - 2"),
    "f": pieces("x[0]|x[1]|-x[0]|0.0 * x[0]|x[2] - x[1]|0.0|-1.0|0.5|2.0|x[0] - x[0]|t"),
    "z": pieces("z|z[1:]|z[:1]|np.where(x > 2.0, x, np.nan)|z * np.nan|x"),
    "s": pieces("(m @ m.T)|(m[:, :3] + m[:, :3].T)|m[:, :3]"),
}


class Draw:
    """The parts of one random program."""

    def __init__(self, seed: int):
        self.seed, self.random = seed, random.Random(seed)

    def hole(self, name: str) -> str:
        return self.random.choice(HOLES[name])

    def fill(self, template: str) -> str:
        out = template
        while True:
            start = out.find("{")
            if start < 0 or out[start + 2:start + 3] != "}":
                return out
            out = out[:start] + self.hole(out[start + 1]) + out[start + 3:]

    def call(self) -> str:
        return HEAD + f"def f(x, m, z, k, n, t):\n    q = {self.fill(self.random.choice(CALLS))}\n    return q\n"

    def aliases(self) -> str:
        r = self.random
        lines = [f"    v0 = {r.choice(BASES).format(x='x', m='m')}"]
        names = ["v0"]
        values = inputs(self.seed)
        space = {"np": np, **values}
        exec(HEAD, space)
        run = "\n".join(line[4:] for line in lines)
        exec(run, space)
        for _ in range(r.randint(1, 3)):
            old = r.choice(names)
            shape = np.shape(space[old])
            table = VIEWS[None] + 3 * VIEWS.get(len(shape), [])
            new = f"v{len(names)}"
            line = f"{new} = {r.choice(table).format(v=old)}"
            try:
                exec(line, space)
            except Exception:
                continue
            lines.append("    " + line)
            names.append(new)
        for _ in range(r.randint(1, 2)):
            write = r.choice(WRITES).format(v=r.choice(names), w=r.choice(names))
            lines.insert(r.randint(len(names), len(lines)), "    " + write)
        for name in r.sample(names, r.randint(1, len(names))):
            before = "q" if any("q =" in line for line in lines) else "0.0"
            lines.append(f"    q = {before} + {r.choice((1.5, 0.7, 3.1))} * np.sum({name}) + np.sum({name} * {name})")
        return HEAD + "def f(x, m, z, k, n, t):\n" + "\n".join(lines) + "\n    return q\n"


def inputs(seed: int) -> dict:
    g = np.random.default_rng(seed)
    x = np.round(np.abs(g.normal(2.0, 1.0, 4)) + 0.1, 3)
    z = x.copy()
    z[1] = np.nan
    m = np.round(g.normal(1.0, 1.0, (3, 4)), 3)
    return {"x": x, "m": m, "z": z, "k": np.array([1, 0, 2, 1]), "n": 2, "t": float(x[1])}


def run(function, seed: int):
    """What a function gives, or the exception."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            with limited(20):
                return function(**inputs(seed))
        except TookTooLong:
            raise
        except Exception as e:
            return e


def attempt(seed: int) -> tuple[Outcome, str]:
    draw = Draw(seed)
    alias = draw.random.random() < 0.5
    source = draw.aliases() if alias else draw.call()
    name = f"<program {seed}>"
    space = module_of(name, source)
    script = f"{source}\n\nfrom tests.fuzz.errors import inputs\nfrom autodiff import differentiable, value_and_grad\n" + (
        f"print(f(**inputs({seed})))\nprint(differentiable(f, mode='python')(**inputs({seed})))\n") + (
        f"print(value_and_grad(f, mode='python')(**inputs({seed})))\n" if alias else "")
    f = space["f"]
    try:
        wanted = run(f, seed)
        found = run(differentiable(f, mode="python"), seed)
        outcome = judge(wanted, found)
        if alias and outcome.verdict == "ok" and not isinstance(wanted, Exception):
            outcome = slope(f, seed)
    except TookTooLong as e:
        return Outcome("failed", "too long", str(e)), script
    return outcome, script


LIMIT = "np.squeeze of an axis whose length may be 1"         # which is known when the program runs


def judge(wanted, found) -> Outcome:
    if isinstance(found, Exception) and (ours := OURS.search(str(found).split("\n  ")[0])):
        return Outcome("failed", "a name of the compiler's", f"{ours.group()!r} in {found}")
    if isinstance(found, InternalError):
        return Outcome("failed", "internal error", str(found))
    if isinstance(found, AutodiffError) and not (isinstance(wanted, Exception) and isinstance(found, type(wanted))):
        return Outcome("refused", getattr(found, "problem", str(found)), str(found))
    if isinstance(wanted, Exception):
        kind = next(c for c in type(wanted).__mro__ if c.__module__ == "builtins" or c is np.linalg.LinAlgError)
        if isinstance(found, Exception) and isinstance(found, kind):
            return Outcome("ok", "error")
        return Outcome("failed", f"no {type(wanted).__name__}", f"{type(wanted).__name__}: {wanted}\ninstead: {found!r}")
    if isinstance(found, Exception) and str(found).startswith(LIMIT):
        return Outcome("refused", LIMIT)
    if isinstance(found, Exception):
        return Outcome("failed", type(found).__name__, f"{found!r}\ninstead of {wanted!r}")
    for a, b in zip(parts(wanted), parts(found)):
        if a is None or b is None:
            if a is not b:
                return Outcome("failed", "value", f"{b!r}\ninstead of {a!r}")
            continue
        if np.shape(a) != np.shape(b):
            return Outcome("failed", "shape", f"{b!r}\ninstead of {a!r}")
        if isinstance(a, np.ndarray) and a.dtype.kind in "fc" and np.asarray(b).dtype != a.dtype:
            return Outcome("failed", "dtype", f"{b!r}\ninstead of {a!r}")
        tolerance = 1e-4 if np.asarray(a).dtype == np.float32 else 1e-7
        if not np.allclose(a, b, rtol=tolerance, atol=1e-9, equal_nan=True):
            return Outcome("failed", "value", f"{b!r}\ninstead of {a!r}")
    return Outcome("ok", "value", checks=("value",))


def parts(value) -> list:
    return list(value) if isinstance(value, (tuple, list)) else [value]


def slope(f, seed: int) -> Outcome:
    """The gradient with respect to x along a direction, against differences."""
    found = run(value_and_grad(f, mode="python"), seed)
    if isinstance(found, Exception):
        return Outcome("refused" if isinstance(found, AutodiffError) and not isinstance(found, InternalError) else "failed",
                       type(found).__name__, str(found))
    direction, values, slopes = np.array([0.7, -0.4, 0.9, 0.3]), inputs(seed), []
    for h in (1e-5, 1e-6):
        up, down = (f(**{**inputs(seed), "x": values["x"] + s * direction}) for s in (h, -h))
        slopes.append((up - down) / (2 * h))
    if abs(slopes[0] - slopes[1]) > 1e-4 * max(1.0, abs(slopes[0])):
        return Outcome("ok", "value")
    if not np.isclose(found[1] @ direction, slopes[0], rtol=1e-4, atol=1e-4):
        return Outcome("failed", "gradient", f"{found[1] @ direction}, differences {slopes}")
    return Outcome("ok", "value and gradient", checks=("gradient",))
