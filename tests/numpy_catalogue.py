"""What NumPy can do and `autodiff` accepts, topic by topic: one expression or a few statements that leave `q` a line.

Names: x, y (3, 4), v (5,), m (3, 3), t (2, 3, 3), s (2, 3, 4) floats; i (4,) integers; mask (3, 4) booleans.
"""

from .numpy_catalogue_basics import BASICS

CATALOGUE = {
    "joined by indexing": """
        np.r_[v, 1.0, x[0]**2]
        np.r_[v[0], 2, v[1]]
        np.r_[x, y]
        np.r_[0:5] * v
        np.r_[0:v[0]:4j]
        np.c_[v, v**2]
        np.c_[x, v[:3], 0:3]
        np.c_[v[0], 1]
    """,
    "products of any ranks": """
        np.kron(v, m)
        np.kron(m, v)
        np.kron(t, m)
        np.kron(v[0], m)
        np.cross(m, x[:, 1:], axisa=0, axisb=1)
        np.cross(t, m, axisa=1, axisc=0)
        np.cross(m, x[:, 1:], axis=0)
        np.transpose(s, axes=(1, 2, 0))
        np.transpose(x, axes=None)
        np.einsum(x, [0, 1], y, [2, 1], [0, 2])
        np.column_stack([v])
    """,
    "numbers taken apart": """
        np.frexp(x)[0]
        np.frexp(-x*100)[1] * x
        np.trim_zeros(np.concatenate((np.zeros(2), v, np.zeros(1))))
        np.trim_zeros(np.concatenate((np.zeros(2), v, np.zeros(1))), 'f')
        np.real_if_close(x)
        x[0][np.lexsort((i, i[::-1]))]
        x[0][np.lexsort((y[1], i))]
    """,
    "questions about types": """
        x if np.isscalar(v[0]) and not np.isscalar(v) else y
        x if np.issubdtype(x.dtype, np.floating) and not np.issubdtype(i.dtype, np.floating) else y
        x if np.iterable(v) and not np.iterable(v[0]) and np.iterable((1, 2)) else y
        x.astype(np.result_type(x, np.float32, 2))
        x * np.ones(4, dtype=np.result_type(i, 1.0))
        x * np.ones(4, dtype=np.common_type(x, i))
    """,
    "computed pads": """
        np.pad(v, (2, 1), mode='linear_ramp', end_values=(1., v[0]))
        np.pad(x, ((0, 2), (1, 1)), mode='linear_ramp')
        np.pad(x, 1, mode='mean')
        np.pad(x, ((1, 0), (2, 1)), mode='maximum')
        np.pad(v, 2, mode='minimum')
        np.pad(v, 2, constant_values=(v[0], 2.))
        np.pad(x, 1, constant_values=((1, 2), (3, 4)))
    """,
    "order statistics": """
        np.median(x)
        np.median(x, axis=0)
        np.median(x, axis=(0, 1))
        np.median(x, axis=1, keepdims=True)
        np.percentile(v, 30)
        np.percentile(v, [10, 50, 90])
        np.quantile(x, 0.3, axis=1)
        np.quantile(x, np.array([.2, .7]), axis=0)
        np.quantile(v, .4, method='nearest')
        np.quantile(v, .4, method='midpoint')
        np.quantile(x, [.2, .5], axis=1, keepdims=True)
    """,
    "windows": """
        np.lib.stride_tricks.sliding_window_view(v, 3)
        np.lib.stride_tricks.sliding_window_view(x, 2, axis=1)
        np.lib.stride_tricks.sliding_window_view(x, (2, 3))
        np.lib.stride_tricks.sliding_window_view(v, 2).mean(axis=-1)
    """,
    "choosing": """
        np.select([x<0.3, x<0.7], [x*2, x**2], default=x*3)
        np.piecewise(v, [v<0.3, v>=0.3], [lambda q:q*2, lambda q:q**3])
        np.choose(i, [x[0], x[1], x[2]])
    """,
    "nan": """
        np.nansum(x)
        np.nanmean(x, axis=0)
        np.nanvar(x, axis=1)
        np.nanstd(x)
        np.nanmax(x, axis=0)
        np.nanmin(x)
        np.nanprod(x)
        np.nancumsum(x)
        np.nancumprod(x)
        np.nancumprod(x, axis=1)
    """,
    "powers and polynomials": """
        np.polyval(v, x)
        np.polyval(v, 0.3)
        np.polynomial.polynomial.polyval(x, v)
        np.polynomial.polynomial.polyval(0.3, v)
        np.polynomial.chebyshev.chebval(x, v)
        np.polynomial.polyutils.mapdomain(x, [0.0, 2.0], [-1.0, 3.0])
        np.polynomial.legendre.legval(x, v)
        np.polynomial.hermite.hermval(0.3, v)
        np.polynomial.hermite_e.hermeval(x, v)
        np.polynomial.laguerre.lagval(v, v)
        np.polyder(v)
        np.polyfit(v, v**3 + x[0, 0], 2)
        np.polyfit(v, np.sin(7*v), 1, w=1 + v)
        np.vander(v)
        np.vander(v, 3, increasing=True)
        np.logspace(v[0], v[1], 5)
        np.geomspace(v[0], v[1], 5)
    """,
    "products": """
        np.rot90(x)
        np.rot90(x, 2)
        np.rot90(x, -1)
        np.linalg.multi_dot([x.T, m, x])
        x.T @ x
        x @ x.T
        np.linalg.matrix_power(m, 3)
        np.linalg.matrix_power(m, -2)
        np.linalg.matrix_power(m, 0)
    """,
    "index arrays": """
        x[np.triu_indices(3)]
        x[np.tril_indices(3, -1)]
        m[np.triu_indices_from(m, 1)]
        m[np.diag_indices(3)]
        m[np.diag_indices_from(m)]
        x[np.ix_([0, 2], [1, 3])]
        x[np.ix_(np.array([0, 2]), np.array([True, False, True, True]))]
    """,
    "editing": """
        np.ediff1d(v)
        np.ediff1d(v, to_end=v[0])
        np.delete(v, 2)
        np.delete(x, 1, axis=0)
        np.delete(x, [0, 2], axis=1)
        np.insert(v, 2, v[0])
        np.insert(x, 1, v[:4], axis=0)
        np.insert(v, [1, 3], x[0, :2])
        np.compress([True, False, True], x, axis=0)
        np.extract(mask, x)
        np.unique(v)
    """,
    "along axes": """
        np.ldexp(v, 2)
        np.unwrap(v*7)
        np.unwrap(x*9, axis=0)
        np.apply_along_axis(lambda r:r*r.sum(), 1, x)
        np.apply_along_axis(lambda r:(r*r).sum(), 0, x)
    """,
    "stacked algebra": """
        np.linalg.solve(t, s)
        np.linalg.inv(t)
        np.linalg.det(t)
        np.linalg.slogdet(t)[1]
        np.linalg.cholesky(t@t.transpose(0, 2, 1)+np.eye(3))
        np.linalg.solve(t, s[:, :, 0][..., None])
        np.linalg.solve(m, s)
        np.linalg.solve(m, v[:3])
        np.linalg.inv(m)@x
        np.linalg.eigh(m@m.T)[0]
        w, q = np.linalg.eigh(m@m.T); (q*np.sqrt(w))@q.T
        np.linalg.eigh(m@m.T, 'U')[0]**2
        w, q = np.linalg.eigh(m@m.T, 'U'); (q*np.exp(w))@q.T
        np.linalg.eigvalsh(t@t.transpose(0, 2, 1))
        np.linalg.svd(x, compute_uv=False)
        u, w, q = np.linalg.svd(x, full_matrices=False); u**2@(w[:, None]*q**2)
        u, w, q = np.linalg.svd(s, full_matrices=False); (u*np.sin(w)[:, None])@q
        np.linalg.svd(m, False)[1]
        np.linalg.svdvals(x.T)
        q, r = np.linalg.qr(x); np.abs(r)
        q, r = np.linalg.qr(x.T); q**2
        np.linalg.qr(t).Q**2
        np.linalg.qr(m, mode='r')**2
        np.linalg.pinv(x)
        np.linalg.pinv(s)
        np.linalg.lstsq(x.T, v[:4], rcond=None)[0]
        np.linalg.lstsq(x, y, rcond=None)[0]
        np.linalg.norm(x, 2)
        np.linalg.norm(m, 'nuc', keepdims=True)
        np.linalg.norm(m, -2)
        np.linalg.cond(m)
        np.linalg.matrix_rank(m) * x
        np.linalg.matrix_rank(m, 0.5) * x
        np.linalg.matrix_rank(m, rtol=0.1) * x
        np.linalg.matrix_rank(x) * x
        np.linalg.cond(m, 1)
        np.linalg.cond(t)
        np.linalg.cond(t, 'fro')
        np.linalg.cond(m, -2)
        np.linalg.norm(s, 2, axis=(1, 2))
        np.linalg.norm(s, 'nuc', axis=(2, 0), keepdims=True)
        np.linalg.norm(t, -2, (0, -1))
        np.linalg.norm(s, -1, axis=(0, 2))
        np.linalg.norm(v, 2.5)
        np.linalg.norm(v, 0) + v
        np.linalg.norm(x, -np.inf, axis=1)
        np.linalg.norm(s[:, :, 0], keepdims=True)
        np.linalg.matrix_norm(s, ord=2)
        np.linalg.vector_norm(s, axis=(0, 1), ord=3)
        np.linalg.tensorsolve(np.eye(12).reshape(3, 4, 3, 4) + x, y)
        np.linalg.tensorinv(np.eye(12).reshape(3, 4, 12) + np.ravel(x), 2)
    """,
    "stacked products": """
        np.matmul(t, s)
        t@v[:3]
        v[:3]@s
        np.matmul(t[0], s)
        s.swapaxes(1, 2)@t
        np.einsum('bij, bjk->bik', t, s)
        np.einsum('...ij, ...jk', t, s)
        np.einsum('ii', m)
        np.einsum('ii->i', m)
        np.einsum('ij, j', x, v[:4])
        np.einsum('i, j, k->ijk', v, v, v)
    """,
    "joining and splitting": """
        np.block([[m, x], [x.T, np.eye(4)]])
        np.block([v, v])
        np.dstack([x, y])
        np.hsplit(x, 2)[0]
        np.vsplit(x, 3)[1]
        np.array_split(v, 2)[1]
        np.split(v, [1, 3])[1]
        np.stack([x, y], axis=-1)
        np.concatenate([x, y], axis=1)
        np.append(x, y)
        np.append(x, y, axis=0)
        np.resize(v, (2, 4))
        np.tile(v, 2)
        np.tile(x, (2, 1))
        np.repeat(v, 2)
        np.repeat(x, 2, axis=1)
        np.repeat(v, [1, 2, 0, 1, 3])
        np.roll(x, 1)
        np.roll(x, (1, 2), axis=(0, 1))
        np.flipud(x)
        np.fliplr(x)
        np.flip(x, (0, 1))
        np.rollaxis(s, 2)
        np.moveaxis(s, [0, 1], [1, 0])
    """,
    "padding": """
        np.pad(v, 2)
        np.pad(x, ((1, 2), (0, 1)))
        np.pad(x, 1, mode='edge')
        np.pad(x, 1, mode='reflect')
        np.pad(x, 1, mode='symmetric')
        np.pad(x, 1, mode='wrap')
        np.pad(v, (1, 2), constant_values=3.0)
    """,
    "diagonals": """
        np.diag(v)
        np.diag(m)
        np.diag(v, 1)
        np.diag(m, -1)
        np.diagonal(s, axis1=1, axis2=2)
        np.diagflat(v)
        np.tril(x)
        np.triu(x, 1)
        np.tri(3)*m
        np.trace(m)
        np.trace(s, axis1=1, axis2=2)
    """,
    "sorting and taking": """
        np.take(x, [0, 2], axis=1)
        np.take(v, i)
        v.take(i)
        np.take(x, 5)
        np.take_along_axis(x, np.argsort(x, axis=1), axis=1)
        np.sort(x, axis=0)
        np.sort(x, axis=None)
        np.partition(v, 2)[2]
        np.searchsorted(np.sort(v), 0.3)*v
        np.argmax(x, axis=1)*v[:3]
        x[np.arange(3), np.argmax(x, axis=1)]
        np.argpartition(v, 2)*v
    """,
    "cumulative and ufunc methods": """
        np.cumsum(x, axis=1, dtype=np.float64)
        np.cumprod(v)
        np.cumsum(x, axis=-1)
        np.add.reduce(x, axis=1)
        np.multiply.accumulate(x, axis=1)
        np.add.outer(v, v)
        np.maximum.reduce(x)
        np.maximum.accumulate(v)
        np.minimum.outer(v, v)
        np.subtract.outer(v, v)
        np.hypot.outer(v, v)
        np.add.reduceat(v, [0, 2, 4])
        np.logaddexp.reduce(v)
        np.multiply.reduce(x, axis=None)
    """,
    "statistics and calculus": """
        np.bincount(i, weights=x[0], minlength=5)
        np.histogram(v, bins=3, weights=v**2)[0]
        np.cov(x)
        np.cov(x, rowvar=False)
        np.cov(v, v**2)
        np.corrcoef(x)
        np.average(x, weights=y)
        np.average(x, axis=0, weights=v[:3])
        np.average(x, axis=1, weights=y, returned=True)[0]
        np.interp(v, [0., .5, 1.], [1., 2., 0.])
        np.interp(x, np.linspace(0, 2, 4), x[0])
        np.gradient(v)
        np.gradient(x)[0]
        np.gradient(x, 0.1, axis=1)
        np.gradient(v, v.cumsum())
        np.gradient(x, 0.5, 2.)[1]
        np.gradient(v, edge_order=2)
        np.trapezoid(v, dx=.1)
        np.trapezoid(x, axis=0)
        np.trapezoid(v, v.cumsum())
        np.convolve(v, v[:3], 'same')
        np.convolve(v, v[:3], 'valid')
        np.correlate(v, v[:2])
        np.correlate(v, v[:2], 'full')
        np.hanning(7) * v[0]
        np.hamming(4) * v[0]
        np.blackman(5) * v[0]
        np.bartlett(6) * v[0]
    """,
    "norms": """
        np.linalg.norm(x)
        np.linalg.norm(v, 1)
        np.linalg.norm(v, np.inf)
        np.linalg.norm(x, axis=1)
        np.linalg.norm(x, 3, axis=0)
        np.linalg.norm(x, 'fro')
        np.linalg.norm(x, 1)
        np.linalg.norm(x, np.inf)
        np.linalg.norm(x, axis=1, keepdims=True)
        np.linalg.norm(s, axis=(1, 2))
    """,
    **BASICS,
}
