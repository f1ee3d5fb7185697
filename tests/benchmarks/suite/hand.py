"""ADBench's hand: squared residuals of a skinned hand model with 22 bones, as a function of 26 pose parameters."""

import os

import numpy as np

from .benchmark import also, benchmark

BONES = 22
PARENTS = [-1, 0] + [p for f in range(5) for p in (1, 2 + 4 * f, 3 + 4 * f, 4 + 4 * f)]


def rotation(angles):
    """4 x 4, of the angles about x, z and y (in this order), turned about x first."""
    cx, sx = np.cos(angles[0]), np.sin(angles[0])
    cz, sz = np.cos(angles[1]), np.sin(angles[1])
    cy, sy = np.cos(angles[2]), np.sin(angles[2])
    R = np.zeros((4, 4))
    R[0, 0], R[0, 1], R[0, 2] = cy * cz, -cx * sz + sx * sy * cz, sx * sz + cx * sy * cz
    R[1, 0], R[1, 1], R[1, 2] = cy * sz, cx * cz + sx * sy * sz, -sx * cz + cx * sy * sz
    R[2, 0], R[2, 1], R[2, 2] = -sy, sx * cy, cx * cy
    R[3, 3] = 1.0
    return R


def rodrigues(r):
    """3 x 3, of an axis times an angle."""
    G = np.eye(3)
    angle = np.sqrt(np.sum(r * r))
    if angle >= 1e-4:
        x, y, z = r[0] / angle, r[1] / angle, r[2] / angle
        s, c = np.sin(angle), np.cos(angle)
        G[0, 0], G[0, 1], G[0, 2] = x * x + (1.0 - x * x) * c, x * y * (1.0 - c) - z * s, x * z * (1.0 - c) + y * s
        G[1, 0], G[1, 1], G[1, 2] = x * y * (1.0 - c) + z * s, y * y + (1.0 - y * y) * c, y * z * (1.0 - c) - x * s
        G[2, 0], G[2, 1], G[2, 2] = x * z * (1.0 - c) - y * s, y * z * (1.0 - c) + x * s, z * z + (1.0 - z * z) * c
    return G


def hand(theta, parents, relative, inverse, base, weights, correspondence, target):
    error = residuals(theta, parents, relative, inverse, base, weights, correspondence, target)
    return 0.5 * np.sum(error * error)


def residuals(theta, parents, relative, inverse, base, weights, correspondence, target):
    """(points, 3)."""
    bones = len(parents)
    angles = np.zeros((bones, 3))
    at = 6
    for finger in range(5):
        bone = 2 + 4 * finger
        angles[bone, 0] = theta[at]
        angles[bone, 1] = theta[at + 1]
        angles[bone + 1, 0] = theta[at + 2]
        angles[bone + 2, 0] = theta[at + 3]
        at += 4
    absolute = np.empty((bones, 4, 4))
    skinned = np.zeros((base.shape[0], 3))
    for b in range(bones):
        local = relative[b] @ rotation(angles[b])
        if parents[b] < 0:
            absolute[b] = local
        else:
            absolute[b] = absolute[parents[b]] @ local
        bound = absolute[b] @ inverse[b]
        skinned += weights[:, b:b + 1] * (base @ bound[:3].T)
    placed = skinned @ rodrigues(theta[:3]).T + theta[3:6]
    return target - placed[correspondence]


def arguments(name, count):
    def make(r, tiny):
        folder = os.environ.get("ADBENCH_DATA", "")
        path = os.path.join(folder, "hand/simple_small")
        if folder and os.path.exists(path) and not tiny:
            return read_instance(path, name)
        vertices, points = (12, 5) if tiny else (544, count)
        parents = np.array(PARENTS)
        relative, inverse = np.tile(np.eye(4), (BONES, 1, 1)), np.tile(np.eye(4), (BONES, 1, 1))
        relative[:, :3, 3] = 0.3 * r.standard_normal((BONES, 3))
        inverse[:, :3, 3] = 0.3 * r.standard_normal((BONES, 3))
        base = np.concatenate((r.standard_normal((vertices, 3)), np.ones((vertices, 1))), axis=1)
        weights = r.random((vertices, BONES))
        return (0.3 * r.standard_normal(26), parents, relative, inverse, base, weights / weights.sum(1, keepdims=True),
                r.integers(0, vertices, points), r.standard_normal((points, 3)))
    return make


def read_instance(path, name):
    with open(os.path.join(path, "model", "bones.txt")) as f:
        rows = [line.strip().split(":") for line in f if line.strip()]
    parents = np.array([int(row[1]) for row in rows])
    numbers = np.array([[float(v) for v in row[2:34]] for row in rows])
    with open(os.path.join(path, "model", "vertices.txt")) as f:
        lines = [line.strip().split(":") for line in f if line.strip()]
    base, weights = np.ones((len(lines), 4)), np.zeros((len(lines), len(rows)))
    for i, line in enumerate(lines):
        base[i, :3] = [float(v) for v in line[:3]]
        for k in range(int(line[8])):
            weights[i, int(line[9 + 2 * k])] = float(line[10 + 2 * k])
    with open(os.path.join(path, name + ".txt")) as f:
        values = np.array(f.read().split(), dtype=float)
    n = int(values[0])
    pairs = values[2:2 + 4 * n].reshape(n, 4)
    relative, inverse = numbers[:, :16].reshape(-1, 4, 4), numbers[:, 16:].reshape(-1, 4, 4)
    return (values[2 + 4 * n:][:26], parents, relative, inverse, base, weights,
            pairs[:, 0].astype(np.int64), pairs[:, 1:].copy())


for _name, _count in (("hand1_t26_c100", 100), ("hand5_t26_c800", 800)):
    benchmark(f"hand, {_count} points, squared residuals", hand, arguments(_name, _count), (0,))


def hand_functional(np):
    """For tools without assignment. Which bone hangs on which is a constant there."""
    folder = os.path.join(os.environ.get("ADBENCH_DATA", ""), "hand/simple_small")
    tree = read_instance(folder, "hand1_t26_c100")[1].tolist() if os.path.exists(folder) else PARENTS

    def matrix(rows):
        return np.stack([np.stack(row) for row in rows])

    def error(theta, parents, relative, inverse, base, weights, correspondence, target):
        zero, one = theta[0] * 0.0, theta[0] * 0.0 + 1.0
        angles = [(zero, zero, zero)] * len(parents)
        for finger in range(5):
            bone, at = 2 + 4 * finger, 6 + 4 * finger
            angles[bone] = (theta[at], theta[at + 1], zero)
            angles[bone + 1] = (theta[at + 2], zero, zero)
            angles[bone + 2] = (theta[at + 3], zero, zero)
        absolute = []
        for b, (x, z, y) in enumerate(angles):
            cx, sx, cy, sy, cz, sz = np.cos(x), np.sin(x), np.cos(y), np.sin(y), np.cos(z), np.sin(z)
            local = relative[b] @ matrix([[cy * cz, -cx * sz + sx * sy * cz, sx * sz + cx * sy * cz, zero],
                                          [cy * sz, cx * cz + sx * sy * sz, -sx * cz + cx * sy * sz, zero],
                                          [-sy, sx * cy, cx * cy, zero], [zero, zero, zero, one]])
            absolute.append(local if b == 0 else absolute[tree[b]] @ local)
        bound = np.stack(absolute) @ inverse
        skinned = np.einsum("vb,bij,vj->vi", weights, bound[:, :3], base)
        angle = np.sqrt(np.sum(theta[:3] ** 2))
        x, y, z = theta[0] / angle, theta[1] / angle, theta[2] / angle
        s, c = np.sin(angle), np.cos(angle)
        G = matrix([[x * x + (1.0 - x * x) * c, x * y * (1.0 - c) - z * s, x * z * (1.0 - c) + y * s],
                    [x * y * (1.0 - c) + z * s, y * y + (1.0 - y * y) * c, y * z * (1.0 - c) - x * s],
                    [x * z * (1.0 - c) - y * s, y * z * (1.0 - c) + x * s, z * z + (1.0 - z * z) * c]])
        return target - (skinned @ G.T + theta[3:6])[correspondence]
    return error


def hand_loss(np):
    error = hand_functional(np)
    return lambda *args: 0.5 * np.sum(error(*args) ** 2)


for _count in (100, 800):
    for _tool in ("jax", "torch", "autograd"):
        also(f"hand, {_count} points, squared residuals", _tool)(
            (lambda package: hand_loss(package.numpy)) if _tool == "jax" else hand_loss)


def jacobian_ours(autodiff):
    made = autodiff.jacobian(residuals, direction="forward")
    return lambda *args: (made(*args),)


def jacobian_jax(jax):
    made = jax.jit(jax.jacfwd(hand_functional(jax.numpy)))
    return lambda *args: (made(*args),)


def jacobian_torch(torch):
    made = torch.func.jacfwd(hand_functional(torch))
    return lambda *args: (made(*args),)


for _name, _count in (("hand1_t26_c100", 100), ("hand5_t26_c800", 800)):
    benchmark(f"hand, {_count} points, Jacobian", residuals, arguments(_name, _count), (0,),
              runs={"ours": jacobian_ours, "jax": jacobian_jax, "torch": jacobian_torch})
