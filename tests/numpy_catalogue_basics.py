"""The forms of NumPy's calls that most programs use: the second part of `numpy_catalogue.py`."""

BASICS = {
    "elementwise": """
        np.clip(x, .2, None)
        np.clip(x, None, None)
        np.clip(x, a_min=.2, a_max=y)
        x.clip(max=.5)
        np.nan_to_num(x)
        np.real(x)
        np.imag(x)+x
        np.conj(x)
        np.angle(x)+x
        np.absolute(x)
        np.fabs(x)
        np.square(x)
        np.reciprocal(x)
        np.cbrt(x)
        np.exp2(x)
        np.expm1(x)
        np.log2(x)
        np.log10(x)
        np.log1p(x)
        np.sinc(x)
        np.deg2rad(x)
        np.rad2deg(x)
        np.radians(x)
        np.degrees(x)
        np.arcsin(x/2)
        np.arccos(x/2)
        np.arctan(x)
        np.sinh(x)
        np.cosh(x)
        np.tanh(x)
        np.arcsinh(x)
        np.arccosh(x+1)
        np.arctanh(x/2)
        np.floor_divide(x, .3)+x
        np.mod(x, y)
        np.fmod(x, y)
        np.remainder(x, y)
        np.divmod(x, y)[1]
        np.modf(x)[0]
        np.copysign(x, y)
        np.float_power(x, y)
        np.power(x, 3)
        np.power(x, -1.0)
        np.positive(x)
        np.negative(x)
        np.true_divide(x, y)
        np.rint(x)+x
        np.fix(x)+x
        np.trunc(x)+x
        np.ceil(x)+x
        np.around(x, 1)+x
        np.signbit(x)+x
        np.logaddexp2(x, y)
        np.heaviside(x, y)
        np.isclose(x, y)*x
        np.isin(np.arange(v.size), [1, 3])*v
        np.isfinite(x)*x
    """,
    "array API": """
        np.vecdot(x, y)
        np.unstack(m)[1]
        np.unstack(m, axis=1)[0]
        np.linalg.vecdot(x, y)
        np.linalg.matrix_transpose(x)
        np.matrix_transpose(x)
        np.linalg.outer(v, v)
        np.linalg.trace(m)
        np.linalg.cross(x[:, :3], y[:, :3])
        np.concat([x, y])
        np.permute_dims(x, (1, 0))
        np.pow(x, y)
        np.acos(x/2)
        np.atan2(x, y)
        np.astype(x, np.float64)
        np.cumulative_sum(v)
    """,
    "creation and shape": """
        np.meshgrid(v, v)[0]
        np.meshgrid(v, v, indexing='ij')[1]
        np.mgrid[0:3, 0:4][0]*x
        np.mgrid[0:1:3j, -1:2:4j][1]*x
        np.indices((3, 4))[0]*x
        np.fromfunction(lambda a, b:a+b, (3, 4))*x
        np.linspace(v[0], v[1], 4)
        np.arange(v[0], v[0]+3, .5)
        np.full((2, 3), v[0])
        np.full_like(x, v[1])
        np.ones_like(x)*x
        q = np.empty_like(x); q[...] = x
        np.identity(3)@x
        np.eye(3, k=1)@x
        np.asarray(x).sum()
        np.ascontiguousarray(x.T)
        np.asfortranarray(x)*2
        np.array([v[0], v[1]])
        np.array([[v[0], 1], [2, v[1]]])
        np.array([x[0], x[1]])
        np.asanyarray(x)
        np.copy(x)
        np.fromiter((q*q for q in v), float)
        np.array([q for q in v if q>.3])
        np.zeros(3)+v[:3]
        np.atleast_2d(v)
        np.atleast_3d(x)
        np.broadcast_arrays(v[:4], x)[0]
        np.broadcast_to(v, (2, 5))
        np.expand_dims(x, (0, 3))
        np.squeeze(x[None])
        np.ravel(x, order='F')
        x.flatten('F')
        x.reshape((4, 3), order='F')
        np.swapaxes(s, 0, 2)
        np.transpose(s, (1, 0, 2))
        s.T
        x.astype(np.float32).astype(float)*0+x
        np.count_nonzero(x>.5)*x
        np.any(x>.5)*x
        np.all(x>0, axis=0)*v[:4]
        np.nonzero(v>.3)[0]*v[0]
        np.argwhere(v>.3)*v[0]
        np.where(v>.3)[0]*1.0*v[0]
        np.flatnonzero(v>.3)*v[0]
        np.vectorize(lambda q:q*q)(x)
    """,
    "reductions": """
        x.sum(axis=(0, 1))
        x.mean(dtype=np.float64)
        x.prod(initial=2.0)
        x.sum(initial=1.0)
        x.max(initial=.5)
        x.sum(where=mask)
        x.mean(where=mask)
        x.max(where=mask, initial=0)
        x.var(where=mask)
        x.std(axis=1, ddof=1)
        x.min(axis=(0, 1), keepdims=True)
        np.var(s, axis=(0, 2))
        np.prod(s, axis=(0, 1))
        np.sum(x, -1)
        np.max(x, None)
        np.sum([x, y])
        np.sum((v[0], v[1]))
        np.mean([v[0], v[1], 3.0])
        np.max([v[0], v[1]])
        np.dot(v, v)
        np.dot(x, v[:4])
        np.dot(2.0, x)
        np.vdot(x, y)
        np.inner(x, y)
        np.inner(v, v)
        np.outer(v, v)
        np.tensordot(s, x, axes=([2], [1]))
        np.tensordot(x, y)
        np.tensordot(v, v, 0)
        np.kron(v, v)
        np.kron(m, x)
        np.cross(v[:3], v[1:4])
        np.cross(x[:, :3], y[:, 1:])
    """,
    "writing": """
        q = x.copy(); np.add.at(q, (i, ), 1.0)
        q = np.zeros(5); np.copyto(q, v)
        q = v.copy(); np.put(q, [0, 2], x[0, :2])
        q = x.copy(); np.putmask(q, mask, y)
        q = x.copy(); np.place(q, mask, v)
        q = m.copy(); np.fill_diagonal(q, v[0])
        q = np.empty((3, 4)); np.sin(x, out=q)
        q = np.empty((3, 4)); np.add(x, y, out=q)
        q = np.empty((3, 3)); np.dot(x, y.T, out=q)
        q = np.empty(4); np.sum(x, axis=0, out=q)
        q = np.empty(5); np.cumsum(v, out=q)
        q = np.ones((3, 4)); np.multiply(x, y, where=mask, out=q)
        q = np.empty((3, 3)); np.matmul(x, y.T, out=q)
        q = np.empty((3, 4)); np.clip(x, .2, .5, out=q)
        q = v.copy(); np.maximum.at(q, [0, 1], x[0, :2])
        q = v.copy(); np.multiply.at(q, [0, 0, 1], x[0, :3])
        q = v.copy(); np.minimum.at(q, [0, 0, 1], x[0, :3])
        q = np.empty(10); np.concatenate([v, v], out=q)
        q = v.copy(); np.divide.at(q, [0, 0, 1], x[0, :3])
    """,
    "indexing and methods": """
        x[0]
        x[-1, 1:]
        x[::-1, ::2]
        x[..., 0]
        x[None, :, 0]
        x[mask]
        x[i[:2]]
        x[i[:2], 1:3]
        x[:, [0, 2]]
        x[[0, 1], [1, 2]]
        x[mask[:, 0]]
        x[mask[:, 0], 1]
        x[i[:3, None]%3, i]
        x[1][2]
        x.T[1:][::-1]
        s[0, :, i]
        s[:, 0, [1, 2]]
        s[[0, 1], :, [1, 2]]
        s[..., mask[0]]
        x[-3:10]
        x[5:]
        x[:, -1:0:-2]
        x[(0, 1)]
        x[slice(0, 2)]
        x.flat[3]
        x.item(2)
        np.ravel_multi_index((1, 2), (3, 4))*v
        np.unravel_index(5, (3, 4))[0]*v
        x.size*x
        x.nbytes*x
        x.itemsize*x
        x.dot(y.T)
        x.trace()
        x.repeat(2)
        x.squeeze()
        x.conj()
        x.real
        x.round(1)+x
        x.cumsum(1)
        x.cumprod(0)
        x.diagonal()
        x.argmax()*x
        x.nonzero()[0]*v[0]
        x.all()*x
        x.any()*x
        x.compress([True, False, True], axis=0)
        x.swapaxes(0, 1)
        x.view()
    """,
    "with nan": """
        np.nansum(np.where(mask, x, np.nan))
        np.nanmean(np.where(mask, x, np.nan), axis=0)
        np.nanmax(np.where(mask, x, np.nan), axis=1)
        np.nancumprod(np.where(mask, x, np.nan))
        np.nanmedian(x)
        np.nanmedian(x, axis=1)
        np.nanmedian(np.where(mask, x, np.nan), axis=0, keepdims=True)
        np.nanquantile(np.where(x > 0.3, x, np.nan), 0.4, axis=1)
        np.nanquantile(np.where(x > 0.3, x, np.nan), [0.2, 0.7], axis=0)
        np.nanpercentile(np.where(x > 0.3, x, np.nan), (20.0, 70.0), axis=1, keepdims=True)
        np.nanpercentile(s, 30, axis=(0, 2))
        np.nanpercentile(x, 30)
        np.nanargmax(v)*v
        np.nanquantile(v, .3)
    """,
    "by other names": """
        np.linalg.diagonal(t)
        np.linalg.matmul(m, x)
        np.linalg.tensordot(m, x, axes=1)
        np.linalg.vector_norm(x)
        np.linalg.vector_norm(x, axis=1)
        np.linalg.matrix_norm(m)
        np.cumulative_prod(v)
        q = x * 1.0; np.put_along_axis(q, np.array([[0], [2], [1]]), y[:, :1], axis=1); q
        np.array_equal(x, y)*x
        np.union1d(v, x[0])
        np.setdiff1d(x[0], v)
        np.intersect1d(np.sort(x[0]), x[0])
        np.setxor1d(v, x[0])
        np.amax(x, axis=0)
        np.amin(x)
        m[np.tril_indices_from(m, -1)]
        np.nanargmin(v)*v
        np.polyadd(v, x[0])
        np.polysub(v, x[0])
        np.polymul(v, x[0])
        np.polyint(v)
        np.digitize(v, np.array([0.3, 0.6]))*v
    """,
}
