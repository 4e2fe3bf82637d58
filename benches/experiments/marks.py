"""Prints what ECN marks came to over distance, as CSV: means over the seeds, and their standard errors.

marks.py SUMMARY.json...         the directory of each names its distance
"""

import csv
import json
import math
import pathlib
import statistics
import sys

MARKS = ("plan", "hpcc", "5 %", "none")


def paused(metrics):
    """How long hosts and switches of the data centers were paused; Bifrost pauses the long link slot by slot."""
    long = ("pfc.gw-east.gw-west.paused_ns", "pfc.gw-west.gw-east.paused_ns")
    return metrics.get("pfc.total.paused_ns", 0) - sum(metrics.get(name, 0) for name in long)


def mean_and_error(runs, metric, unit):
    """Empty where no run has such a figure. Flows without end have no slowdown, and a run may have no flow at all."""
    values = [figure / unit for run in runs if (figure := metric(run["metrics"])) is not None]
    if not values:
        return ["", ""]
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0
    return [f"{statistics.mean(values):.4g}", f"{error:.2g}"]


# The column, the figure of a run, and the unit that the column has.
COLUMNS = (
    ("goodput Gb/s", lambda metrics: metrics.get("goodput.all.bps"), 1e9),
    ("slowdown mean", lambda metrics: metrics.get("slowdown.all.mean"), 1),
    ("slowdown p99", lambda metrics: metrics.get("slowdown.all.p99"), 1),
    ("queue mean kB", lambda metrics: metrics.get("queue.gw-east.gw-west.mean_bytes"), 1e3),
    ("queue p99 kB", lambda metrics: metrics.get("queue.gw-east.gw-west.p99_bytes"), 1e3),
    ("paused ms", paused, 1e6),
    ("CNPs", lambda metrics: metrics.get("cnps.total"), 1),
)


def rows(path):
    """A row for each kind of traffic and marks at one distance."""
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"]
    swept = list(dict.fromkeys(run["parameters"]["long_haul.ecn"] for run in runs))
    for workload in dict.fromkeys(run["variant"] for run in runs):
        for name, marks in zip(MARKS, swept, strict=True):
            own = [run for run in runs if (run["variant"], run["parameters"]["long_haul.ecn"]) == (workload, marks)]
            if any(run["ending"] != "finished" for run in own):
                sys.exit(f"{path}: {workload} with {name} has runs that did not finish")
            figures = [figure for _, *column in COLUMNS for figure in mean_and_error(own, *column)]
            yield [path.parent.name, workload, name, len(own), *figures]


def main():
    out = csv.writer(sys.stdout, lineterminator="\n")
    columns = [name for column, *_ in COLUMNS for name in (column, "error")]
    out.writerow(["distance", "traffic", "marks", "seeds", *columns])
    for name in sys.argv[1:]:
        out.writerows(rows(pathlib.Path(name)))


main()
