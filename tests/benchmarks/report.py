"""The table and the chart of a comparison."""

from __future__ import annotations

import math

HEAD = ["program", "primal", "ours", "ours / primal", "by hand / primal", "jax / ours", "torch / ours", "autograd / ours",
        "first call s", "peak MiB", "tape"]
BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"


def row(name: str, timings: dict) -> list[str]:
    primal, ours = timings["primal"], timings["ours"]
    cells = [name, f"{duration(primal.median)} ({primal.note})", spread(ours), ratio(ours, primal),
             ratio(timings.get("by hand"), primal)]
    cells += [ratio(timings.get(peer), ours) for peer in ("jax", "torch", "autograd")]
    return cells + [f"{ours.first:.2f}", f"{ours.peak:.0f}", ours.note]


def duration(seconds: float) -> str:
    if math.isnan(seconds):
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size or unit == "us":
            return f"{seconds / size:.3g} {unit}"
    return ""


def spread(timing) -> str:
    return f"{duration(timing.median)} ± {50.0 * timing.spread:.0f} %" if timing.times else "-"


def ratio(above, below) -> str:
    if above is None:
        return ""
    if above.error or below.error:
        return "failed"
    return f"{above.median / below.median:.2f}"


def means(rows: dict) -> list[str]:
    """Geometric means over the programs that have both."""
    def mean(upper, lower) -> str:
        logs = [math.log(t[upper].median / t[lower].median) for t in rows.values()
                if upper in t and lower in t and t[upper].times and t[lower].times]
        return f"{math.exp(sum(logs) / len(logs)):.2f} ({len(logs)})" if logs else ""
    return ["geometric mean (programs)", "", "", mean("ours", "primal"), mean("by hand", "primal"), mean("jax", "ours"),
            mean("torch", "ours"), mean("autograd", "ours"), "", "", ""]


def table(rows: dict) -> str:
    lines = [row(n, t) for n, t in rows.items() if not t["ours"].error and not t["primal"].error] + [means(rows)]
    keep = [k for k in range(len(HEAD)) if any(line[k] for line in lines)]
    text = [[HEAD[k] for k in keep], ["---"] * len(keep)] + [[line[k].replace("|", "/") for k in keep] for line in lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in text) + "\n"


def errors(rows: dict) -> str:
    return "\n".join(f"{name}, {tool}: {t.error}" for name, found in rows.items() for tool, t in found.items() if t.error)


def write(path: str, rows: dict, command: str, chart: str) -> None:
    """Put the table between the marks of a page."""
    with open(path) as f:
        text = f.read()
    before, rest = text.split(BEGIN)
    made = f"{BEGIN}\n`{command}`\n\n{table(rows)}\n![Time of a gradient by the time of the primal]({chart})\n"
    with open(path, "w") as f:
        f.write(before + made + END + rest.split(END)[1])


def draw(path: str, rows: dict) -> None:
    """Bars: the time of value and gradient by the time of the primal, for each tool, on a logarithmic axis."""
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "autodiff"
    from matplotlib import pyplot as plt
    names = [n for n, t in rows.items() if t["ours"].times and t["primal"].times]
    tools = [t for t in ("by hand", "ours", "jax", "torch", "autograd") if any(t in rows[n] for n in names)]
    colours = {"by hand": "0.65", "ours": "tab:blue", "jax": "tab:orange", "torch": "tab:red", "autograd": "tab:green"}
    figure, axes = plt.subplots(figsize=(9.0, 1.5 + 0.16 * len(names) * len(tools) / 2), layout="constrained")
    height = 0.85 / len(tools)
    for k, tool in enumerate(tools):
        at, values = [], []
        for i, name in enumerate(names):
            timing = rows[name].get(tool)
            if timing is not None and timing.times and not timing.error:
                at.append(i + (k - (len(tools) - 1) / 2) * height)
                values.append(timing.median / rows[name]["primal"].median)
        axes.barh(at, values, height, label=tool, color=colours[tool])
    axes.set(yticks=range(len(names)), yticklabels=names, xscale="log", xlabel="value and gradient / primal",
             ylim=(len(names) - 0.4, -0.6))
    axes.axvline(1.0, color="0.3", linewidth=0.8)
    axes.legend(loc="lower right")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
