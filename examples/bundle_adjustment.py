"""Bundle adjustment: cameras and points from pictures, by Levenberg-Marquardt steps on a sparse Jacobian.

Each observation depends on one camera (six numbers) and one point (three), so that nearly all of the Jacobian is
zero. Where it is not is found from the program; a few colours give all entries.

    python examples/bundle_adjustment.py [--cameras 8] [--points 120] [--figure PATH]

The exit status is 1 if the mean distance in the pictures does not come down to the noise.
Source: B. Triggs et al., "Bundle adjustment, a modern synthesis", 2000.
"""

import argparse
import math
import sys
import time

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import spsolve

from autodiff import jacobian

FOCAL, NOISE = 500.0, 0.5       # both in pixels


def project(camera, point):
    """Where a camera (rotation vector, centre) sees a point, in pixels from the centre of the picture."""
    x, y, z = point[0] - camera[3], point[1] - camera[4], point[2] - camera[5]
    angle = math.sqrt(camera[0] ** 2 + camera[1] ** 2 + camera[2] ** 2 + 1e-20)
    a, b, c = camera[0] / angle, camera[1] / angle, camera[2] / angle
    cosine, sine = math.cos(angle), math.sin(angle)
    along = (a * x + b * y + c * z) * (1.0 - cosine)
    u = x * cosine + (b * z - c * y) * sine + a * along
    v = y * cosine + (c * x - a * z) * sine + b * along
    w = z * cosine + (a * y - b * x) * sine + c * along
    return FOCAL * u / w, FOCAL * v / w


def residuals(unknowns, cameras, who, what, seen):
    """Distances between projections and observations, shape (2 observations,).

    unknowns: six numbers for each of `cameras` cameras, then three for each point.
    who, what: camera and point of each observation.
    """
    out = np.empty(2 * who.shape[0])
    for k in range(who.shape[0]):
        camera = unknowns[6 * who[k]:6 * who[k] + 6]
        start = 6 * cameras + 3 * what[k]
        u, v = project(camera, unknowns[start:start + 3])
        out[2 * k] = u - seen[k, 0]
        out[2 * k + 1] = v - seen[k, 1]
    return out


def scene(cameras, points, rng):
    """(true unknowns, who, what): cameras on an arc that look at a cloud of points."""
    turn = np.linspace(-0.5, 0.5, cameras)
    poses = np.zeros((cameras, 6))
    poses[:, 1] = turn
    poses[:, 3], poses[:, 5] = 6.0 * np.sin(turn), -6.0 * np.cos(turn)
    cloud = rng.uniform(-1.0, 1.0, (points, 3))
    who, what = np.divmod(np.arange(cameras * points), points)
    keep = rng.random(who.shape[0]) < 0.7
    return np.concatenate([poses.ravel(), cloud.ravel()]), who[keep], what[keep]


def draw(path, J, before, after):
    """Where the Jacobian is not zero; the distances in the pictures before and after."""
    from matplotlib.figure import Figure  # only the picture needs it

    figure = Figure(figsize=(7.5, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    rows, columns = J.nonzero()
    left.plot(columns, rows, ",", color="tab:blue")
    left.set(xlabel="unknown (cameras, then points)", ylabel="residual", xlim=(0, J.shape[1]), ylim=(J.shape[0], 0))
    for name, r in (("start", before), ("adjusted", after)):
        far = np.hypot(r[0::2], r[1::2])
        right.hist(far, bins=np.geomspace(0.01, 100.0, 60), alpha=0.7,
                   label=f"{name}: {math.sqrt(np.mean(far**2)):.2f} pixels")
    right.set(xscale="log", xlabel="distance in the pictures (pixels)", ylabel="observations")
    right.legend(fontsize="small")
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--cameras", type=int, default=8)
    parser.add_argument("--points", type=int, default=120)
    parser.add_argument("--figure", metavar="PATH", help="draw the result into this file (needs matplotlib)")
    options = parser.parse_args()

    rng = np.random.default_rng(0)
    true, who, what = scene(options.cameras, options.points, rng)
    seen = residuals(true, options.cameras, who, what, np.zeros((len(who), 2))).reshape(-1, 2)
    seen += NOISE * rng.standard_normal(seen.shape)
    x = true + 0.03 * rng.standard_normal(true.shape)

    derivative = jacobian(residuals, sparse=True)
    given = (options.cameras, who, what, seen)
    begin = time.perf_counter()
    J = derivative(x, *given)
    print(f"{len(who)} observations, {x.size} unknowns: {derivative.sparsity}")
    print(f"first Jacobian {time.perf_counter() - begin:.1f} s with compilation; "
          f"{J.nnz / (J.shape[0] * J.shape[1]):.2%} of it is stored")

    print(f"{'step':>5}{'damping':>10}{'pixels':>10}{'Jacobian ms':>13}")
    damping, r, first = 1e-2, residuals(x, *given), residuals(x, *given)
    for step in range(15):
        begin = time.perf_counter()
        J = derivative(x, *given)
        took = 1e3 * (time.perf_counter() - begin)
        print(f"{step:5}{damping:10.1e}{math.sqrt(2 * np.mean(r**2)):10.3f}{took:13.2f}")
        normal = (J.T @ J).tocsc()
        change = spsolve(normal + damping * scipy.sparse.diags_array(normal.diagonal(), format="csc"), -(J.T @ r))
        tried = residuals(x + change, *given)
        if np.sum(tried**2) < np.sum(r**2):
            done = np.sum(tried**2) > (1.0 - 1e-8) * np.sum(r**2)
            x, r, damping = x + change, tried, 0.1 * damping
            if done:
                break
        else:
            damping *= 10.0
    spread = math.sqrt(2 * np.mean(r**2))
    print(f"mean distance in the pictures: {spread:.3f} pixels, the noise is {math.sqrt(2) * NOISE:.3f}")
    if options.figure:
        draw(options.figure, J, first, r)
    return 0 if spread < 1.1 * math.sqrt(2) * NOISE else 1


if __name__ == "__main__":
    sys.exit(main())
