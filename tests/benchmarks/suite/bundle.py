"""ADBench's bundle adjustment: the blocks of a sparse Jacobian, two residuals for each observation.

An observation's two residuals depend on its camera (11 numbers), its point (3) and its weight. Instances are generated;
`--adbench` reads the files, which repeat one camera and one point.
"""

import math

import numpy as np

from .benchmark import adbench_file, benchmark, by_hand


def projected(cam, point):
    """A point in the picture of a camera: Rodrigues rotation, centre, focal length, principal point, distortion."""
    y0, y1, y2 = point[0] - cam[3], point[1] - cam[4], point[2] - cam[5]
    square = cam[0] * cam[0] + cam[1] * cam[1] + cam[2] * cam[2]
    if square != 0.0:
        theta = math.sqrt(square)
        v0, v1, v2 = cam[0] / theta, cam[1] / theta, cam[2] / theta
        c, s = math.cos(theta), math.sin(theta)
        along = (v0 * y0 + v1 * y1 + v2 * y2) * (1.0 - c)
        z0 = y0 * c + (v1 * y2 - v2 * y1) * s + v0 * along
        z1 = y1 * c + (v2 * y0 - v0 * y2) * s + v1 * along
        z2 = y2 * c + (v0 * y1 - v1 * y0) * s + v2 * along
    else:
        z0 = y0 + cam[1] * y2 - cam[2] * y1
        z1 = y1 + cam[2] * y0 - cam[0] * y2
        z2 = y2 + cam[0] * y1 - cam[1] * y0
    p0, p1 = z0 / z2, z1 / z2
    rho = p0 * p0 + p1 * p1
    distorted = cam[6] * (1.0 + cam[9] * rho + cam[10] * rho * rho)
    return distorted * p0 + cam[7], distorted * p1 + cam[8]


def residuals(cams, points, w, feat):
    """(p, 2), of p observations with their cameras (p, 11) and points (p, 3)."""
    e = np.empty((len(w), 2))
    for i in range(len(w)):
        u, v = projected(cams[i], points[i])
        e[i, 0] = w[i] * (u - feat[i, 0])
        e[i, 1] = w[i] * (v - feat[i, 1])
    return e


hand_projected = by_hand(projected)


@by_hand
def residuals_primal(cams, points, w, feat):
    e = np.empty((len(w), 2))
    for i in range(len(w)):
        u, v = hand_projected(cams[i], points[i])
        e[i, 0] = w[i] * (u - feat[i, 0])
        e[i, 1] = w[i] * (v - feat[i, 1])
    return e


@by_hand
def residuals_adjoint(cams, points, w, feat):
    """Both rows of an observation from one forward run: (2, p, 11), (2, p, 3), (2, p)."""
    p = len(w)
    cams_bar, points_bar, w_bar = np.empty((2, p, 11)), np.empty((2, p, 3)), np.empty((2, p))
    for i in range(p):
        cam, point = cams[i], points[i]
        r0, r1, r2 = cam[0], cam[1], cam[2]
        y0, y1, y2 = point[0] - cam[3], point[1] - cam[4], point[2] - cam[5]
        square = r0 * r0 + r1 * r1 + r2 * r2
        theta, c, s = 1.0, 1.0, 1.0
        if square != 0.0:
            theta = math.sqrt(square)
            c, s = math.cos(theta), math.sin(theta)
            v0, v1, v2 = r0 / theta, r1 / theta, r2 / theta
        else:
            v0, v1, v2 = r0, r1, r2
        dot = v0 * y0 + v1 * y1 + v2 * y2
        x0, x1, x2 = v1 * y2 - v2 * y1, v2 * y0 - v0 * y2, v0 * y1 - v1 * y0
        d = 1.0 - c
        z0, z1, z2 = y0 * c + x0 * s + v0 * dot * d, y1 * c + x1 * s + v1 * dot * d, y2 * c + x2 * s + v2 * dot * d
        inverse = 1.0 / z2
        p0, p1 = z0 * inverse, z1 * inverse
        rho = p0 * p0 + p1 * p1
        D = 1.0 + cam[9] * rho + cam[10] * rho * rho
        f = cam[6]
        for row in range(2):
            p_row = p0 if row == 0 else p1
            g = w[i]
            out = cams_bar[row, i]
            w_bar[row, i] = f * D * p_row + cam[7 + row] - feat[i, row]
            out[6] = g * D * p_row
            out[7 + row] = g
            out[8 - row] = 0.0
            D_bar = g * f * p_row
            out[9], out[10] = D_bar * rho, D_bar * rho * rho
            rho_bar = D_bar * (cam[9] + 2.0 * cam[10] * rho)
            a0, a1 = 2.0 * rho_bar * p0, 2.0 * rho_bar * p1
            if row == 0:
                a0 += g * f * D
            else:
                a1 += g * f * D
            b0, b1 = a0 * inverse, a1 * inverse
            b2 = -(b0 * p0 + b1 * p1)
            k = (b0 * v0 + b1 * v1 + b2 * v2) * d
            t0, t1, t2 = b1 * v2 - b2 * v1, b2 * v0 - b0 * v2, b0 * v1 - b1 * v0
            q0, q1, q2 = b0 * c + s * t0 + k * v0, b1 * c + s * t1 + k * v1, b2 * c + s * t2 + k * v2
            points_bar[row, i, 0], points_bar[row, i, 1], points_bar[row, i, 2] = q0, q1, q2
            out[3], out[4], out[5] = -q0, -q1, -q2
            u0 = s * (y1 * b2 - y2 * b1) + k * y0 + b0 * dot * d
            u1 = s * (y2 * b0 - y0 * b2) + k * y1 + b1 * dot * d
            u2 = s * (y0 * b1 - y1 * b0) + k * y2 + b2 * dot * d
            if square != 0.0:
                turn = (-s * (b0 * y0 + b1 * y1 + b2 * y2) + c * (b0 * x0 + b1 * x1 + b2 * x2)
                        + s * dot * (b0 * v0 + b1 * v1 + b2 * v2))
                along = turn - (u0 * v0 + u1 * v1 + u2 * v2) / theta
                out[0], out[1], out[2] = u0 / theta + v0 * along, u1 / theta + v1 * along, u2 / theta + v2 * along
            else:
                out[0], out[1], out[2] = u0, u1, u2
    return cams_bar, points_bar, w_bar


def summed_residuals(cams, points, w, feat):
    first = second = 0.0
    for i in range(len(w)):
        u, v = projected(cams[i], points[i])
        first += w[i] * (u - feat[i, 0])
        second += w[i] * (v - feat[i, 1])
    return first, second


def bundle_ours(autodiff):
    """No two observations share a row of the arguments: the gradients of two sums are the rows of all blocks."""
    rows = autodiff.jacobian(summed_residuals, wrt=(0, 1, 2))

    def run(cams, points, w, feat):
        first, second = rows(cams, points, w, feat)
        return (*first, *second)
    return run


def bundle_by_hand(_):
    def run(cams, points, w, feat):
        blocks = residuals_adjoint(cams, points, w, feat)
        return tuple(block[row] for row in range(2) for block in blocks)
    return run


def one_observation(np):
    def residual(cam, point, w, feat):
        y = point - cam[3:6]
        square = np.sum(cam[:3] ** 2)
        moved = square != 0.0
        theta = np.sqrt(np.where(moved, square, np.ones_like(square)))
        v = cam[:3] / theta
        cross = np.stack([v[1] * y[2] - v[2] * y[1], v[2] * y[0] - v[0] * y[2], v[0] * y[1] - v[1] * y[0]])
        c, s = np.cos(theta), np.sin(theta)
        z = np.where(moved, y * c + cross * s + v * np.sum(v * y) * (1.0 - c), y + cross)
        p = z[:2] / z[2]
        rho = np.sum(p * p)
        return w * (cam[6] * (1.0 + cam[9] * rho + cam[10] * rho * rho) * p + cam[7:9] - feat)
    return residual


def row_by_row(blocks):
    return tuple(block[row] for row in range(2) for block in blocks)


def bundle_jax(jax):
    rows = jax.vmap(jax.jacrev(one_observation(jax.numpy), argnums=(0, 1, 2)), out_axes=1)
    return jax.jit(lambda *args: row_by_row(rows(*args)))


def bundle_torch(torch):
    rows = torch.func.vmap(torch.func.jacrev(one_observation(torch), argnums=(0, 1, 2)), out_dims=1)
    return lambda *args: row_by_row(rows(*args))


RUNS = {"ours": bundle_ours, "by hand": bundle_by_hand, "jax": bundle_jax, "torch": bundle_torch}


def arguments(name, n, m, p):
    def make(r, tiny):
        if not tiny and (read := adbench_file(f"ba/{name}_n{n}_m{m}_p{p}.txt")) is not None:
            cam, point, w, feat = np.split(read[3:], [11, 14, 15])
            return np.tile(cam, (p, 1)), np.tile(point, (p, 1)), np.full(p, w[0]), np.tile(feat, (p, 1))
        count = 4 if tiny else p
        cams = 0.3 * r.standard_normal((count, 11))
        cams[:, 5] -= 5.0
        cams[:, 6] += 2.0
        cams[::3, :3] = 0.0
        return cams, r.standard_normal((count, 3)), r.random(count), r.standard_normal((count, 2))
    return make


for _name, _n, _m, _p in (("ba1", 49, 7776, 31843), ("ba3", 161, 48126, 182072)):
    benchmark(f"bundle adjustment {_name}, Jacobian", residuals, arguments(_name, _n, _m, _p), (0, 1, 2),
              primals=(residuals_primal,), runs=RUNS)
