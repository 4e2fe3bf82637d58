"""Prints what training over two data centers came to, as a table in Markdown, and writes training.csv:
training.py [--pictures] DIRECTORY

DIRECTORY is the output of scripts/training, with a summary for each SETTING/JOB/LINK. --pictures draws three SVG files
beside the CSV. Ends with status 1 where a run did not finish, or lost a lossless frame.
"""

import csv
import json
import math
import pathlib
import statistics
import sys

from markdown_table import print_table

# A verdict needs as many seeds, and a standard error below a fifth of the effect (docs/method.md).
LEAST_SEEDS, ERROR_MOST = 20, 1 / 5
TIME, SHARE, EXPOSED = "collective.job.mean_ns", "collective.job.one_site_share", "collective.job.exposed_ns"
LONG_PORTS = ("gw-east.gw-west", "gw-west.gw-east")
JOBS = {"data": "data parallel", "pipeline": "pipeline", "experts": "experts"}
COLOURS = ("#0072b2", "#d14a00", "#e69f00")


class Runs:
    """The runs of one scheme in one setting, by seed."""

    def __init__(self, name, runs):
        self.metrics = {run["seed"]: run["metrics"] for run in runs}
        if any(run["ending"] != "finished" or run["metrics"].get("drops.lossless", 0) for run in runs):
            sys.exit(f"{' '.join(name)}: a run did not finish, or lost lossless frames")

    def of(self, metric):
        """The figures of the seeds; zero where a run has none."""
        return [of.get(metric, 0) for of in self.metrics.values()]

    def mean(self, metric):
        return statistics.mean(self.of(metric))

    def is_random(self):
        return len(set(self.of(TIME))) > 1

    def share(self):
        """Of the speed at one site, in percent: that of the mean step."""
        return 100 * self.of(SHARE)[0] * self.of(TIME)[0] / self.mean(TIME)

    def long_ports(self, metric):
        """The higher figure of the two long ports, for each seed."""
        return [max(of.get(metric.format(port), 0) for port in LONG_PORTS) for of in self.metrics.values()]

    def paused(self):
        """How long hosts were paused; schemes pause the long link slot by slot."""
        long = sum(self.mean(f"pfc.{port}.paused_ns") for port in LONG_PORTS)
        return self.mean("pfc.total.paused_ns") - long

    def change(self, control):
        """The change of the step in percent against the control's run of the same seed, with its standard error and the
        seeds that agree on its direction. A control without chance has the same figure for any seed."""
        if control in (None, self):
            return ""
        alone = None if control.is_random() else control.of(TIME)[0]
        if not alone and control.metrics.keys() != self.metrics.keys():
            return "other seeds"
        changes = [100 * (of[TIME] / (alone or control.metrics[seed][TIME]) - 1) for seed, of in self.metrics.items()]
        mean, error = statistics.mean(changes), standard_error(changes)
        if not error:
            return f"{mean:+.2f}"
        agree = sum(change * mean > 0 for change in changes)
        decided = len(changes) >= LEAST_SEEDS and error < ERROR_MOST * abs(mean)
        return f"{mean:+.1f} ({error:.1f}; {agree} of {len(changes)})" + ("" if decided else ", undecided")


def standard_error(values):
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def rate_and_distance(link):
    """In Gb/s and km."""
    rate, distance = link.split("-")
    return int(rate.removesuffix("G")), int(distance.removesuffix("km"))


def read(root):
    """All runs below `root`, by setting, job, link and scheme."""
    found = {}
    for path in root.glob("*/*/*/summary.json"):
        of, by_scheme = path.relative_to(root).parts[:3], {}
        for run in json.loads(path.read_text(encoding="utf-8"))["runs"]:
            by_scheme.setdefault(run["variant"], []).append(run)
        found |= {(*of, scheme): Runs((*of, scheme), runs) for scheme, runs in by_scheme.items()}
    return dict(sorted(found.items(), key=lambda it: (it[0][0], it[0][1], rate_and_distance(it[0][2]), it[0][3])))


HEAD = ["setting", "job", "link", "scheme", "seeds", "step ms", "error", "of one site %", "not hidden ms"]
HEAD += ["hosts paused ms", "CNPs", "long port held MB", "may hold MB"]
CHANGES = ["against idle %", "against Bifrost %", "against `storage` %"]


def row(name, runs):
    figures = [runs.mean(TIME) / 1e6, standard_error(runs.of(TIME)) / 1e6, runs.share()]
    figures += [runs.mean(EXPOSED) / 1e6 if name[1] != "pipeline" else None, runs.paused() / 1e6, runs.mean("cnps.total")]
    figures.append(statistics.mean(runs.long_ports("ingress.{}.max_bytes")) / 1e6)
    figures.append(max(runs.long_ports("may_hold.{}.bytes")) / 1e6)
    seeds = str(len(runs.metrics)) if runs.is_random() else "any"
    return [*name, seeds, *("" if figure is None else f"{figure:.4g}" for figure in figures)]


def changes(name, runs, found):
    """The changes against Bifrost in the idle network, and beside storage against Bifrost and the same scheme as planned."""
    setting, job, link, scheme = name
    controls = [("idle", job if job in JOBS else "data", link, "bifrost")] if setting != "longer-step" else []
    if setting.startswith("storage"):
        controls += [("storage", job, link, "bifrost"), ("storage", job, link, scheme)]
    return [runs.change(found.get(control)) for control in controls] + [""] * (len(CHANGES) - len(controls))


def draw(root, found):
    """Draws the three pictures of docs/training.md, with the same bytes from the same figures."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams |= {"svg.hashsalt": "longspan", "svg.fonttype": "none", "font.size": 9, "font.sans-serif": ["DejaVu Sans"]}
    for name, draw_one in (("rates", draw_rates), ("congestion-control", draw_control), ("storage", draw_storage)):
        figure = plt.figure(figsize=(8, 3.4), layout="constrained")
        try:
            draw_one(figure, found)
        except KeyError as missing:
            sys.exit(f"the pictures need more runs: {missing}")
        figure.savefig(root / f"training-{name}.svg", metadata={"Date": None, "Creator": None})
        plt.close(figure)


def draw_lines(axes, title, series, labels):
    """One line for each name of `series`, through its points at evenly spaced `labels`."""
    for (name, values), colour, marker in zip(series.items(), COLOURS, "os^", strict=False):
        axes.plot(range(len(values)), values, color=colour, marker=marker, markersize=4, label=name)
    axes.set_title(title)
    axes.set_xticks(range(len(labels)), labels)
    axes.set_ylim(0, 105)
    axes.grid(axis="y", color="#d0d0d0")


def links(found, setting):
    """The rates and distances of a setting."""
    both = {rate_and_distance(link) for of, _, link, _ in found if of == setting}
    return [sorted({it[place] for it in both}) for place in (0, 1)]


def draw_rates(figure, found):
    """Shares of one site's speed by rate, with Bifrost in the idle network."""
    rates, distances = links(found, "idle")
    for axes, (job, title) in zip(figure.subplots(1, 3, sharey=True), JOBS.items(), strict=True):
        share = lambda rate, distance: found["idle", job, f"{rate}G-{distance}km", "bifrost"].share()
        series = {f"{distance:,} km": [share(rate, distance) for rate in rates] for distance in distances}
        draw_lines(axes, title, series, [f"{rate}G" for rate in rates])
    figure.axes[0].set_ylabel("% of the speed at one site")
    figure.axes[0].legend()


def draw_control(figure, found):
    """Shares by distance with each congestion control, in the idle network."""
    rates, distances = links(found, "idle-dcqcn")
    panels = [(job, rate) for job in ("data", "experts") for rate in rates]
    schemes = {"none": ("idle", "bifrost"), "DCQCN": ("idle-dcqcn", "bifrost-dcqcn")}
    schemes |= {"DCQCN, LSCC": ("idle-dcqcn", "bifrost-lscc")}
    for axes, (job, rate) in zip(figure.subplots(1, len(panels), sharey=True, squeeze=False)[0], panels, strict=True):
        share = lambda distance, setting, scheme: found[setting, job, f"{rate}G-{distance}km", scheme].share()
        series = {name: [share(distance, *of) for distance in distances] for name, of in schemes.items()}
        draw_lines(axes, f"{JOBS[job]}, {rate}G", series, [f"{distance:,}\nkm" for distance in distances])
    figure.axes[0].set_ylabel("% of the speed at one site")
    figure.axes[0].legend()


def draw_storage(figure, found):
    """Steps beside storage traffic with their standard errors, by scheme. The line is the idle network."""
    _, distances = links(found, "storage")
    schemes = list(dict.fromkeys(name[3] for name in found if name[0] == "storage"))
    for axes, distance in zip(figure.subplots(1, len(distances), sharey=True, squeeze=False)[0], distances, strict=True):
        link = f"400G-{distance}km"
        times = [found["storage", "data", link, scheme].of(TIME) for scheme in schemes]
        means, errors = [[of(it) / 1e6 for it in times] for of in (statistics.mean, standard_error)]
        axes.errorbar(means, range(len(schemes)), xerr=errors, fmt="o", color=COLOURS[0], markersize=4)
        axes.axvline(found["idle", "data", link, "bifrost"].mean(TIME) / 1e6, color="#555555", linestyle="--")
        axes.set_title(f"{distance:,} km")
        axes.set_yticks(range(len(schemes)), schemes)
        axes.grid(axis="x", color="#d0d0d0")
        axes.set_xlabel("step, ms")
    figure.axes[0].invert_yaxis()


def main():
    root = pathlib.Path(sys.argv[-1])
    found = read(root)
    rows = [row(name, runs) for name, runs in found.items()]
    against = [changes(name, runs, found) for name, runs in found.items()]
    print_table([*HEAD, *CHANGES], [ours + theirs for ours, theirs in zip(rows, against, strict=True)])
    with (root / "training.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEAD, *rows])
    if "--pictures" in sys.argv:
        draw(root, found)


main()
