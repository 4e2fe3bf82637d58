"""Prints what faults did to one flow control, as a table in Markdown: faults.py DIRECTORY

DIRECTORY is the output of config/experiments/faults.toml. Ends with status 1 where an invariant did not hold.
"""

import csv
import json
import pathlib
import statistics
import sys

from markdown_table import print_table

# The ends of the times without a link, by variant, in nanoseconds.
BACK = {"down": 25_000_000, "silent": 1_520_000_000}
BEFORE = (10_000_000, 20_000_000)
WINDOW = 1_000_000


def ends(of):
    """The names of the switches at the ends of the long link: gateways, or relays beside them."""
    kind = "relay" if "link.long.relay-east.mean_bps" in of else "gw"
    return f"{kind}-east", f"{kind}-west"


def rates(file, sent):
    """The rate of the long link at each sample, by the name of its column."""
    with file.open(encoding="utf-8", newline="") as lines:
        return [(int(row["time_ns"]), float(row[sent])) for row in csv.DictReader(lines) if row[sent]]


def mean_within(samples, least, most):
    values = [rate for at, rate in samples if least <= at < most]
    return statistics.mean(values) if values else 0.0


def recovery(directory, variant, sent):
    """How long after the link is back it carries 90 % of what it carried before, over a millisecond."""
    if variant not in BACK:
        return ""
    samples, back = rates(directory / "series.csv", sent), BACK[variant]
    wanted = 0.9 * mean_within(samples, *BEFORE)
    for at, _ in samples:
        if at >= back and mean_within(samples, at, at + WINDOW) >= wanted > 0:
            return f"{(at - back) / 1e6:.1f} ms"
    return "not by the end"


def row(directory, run):
    of = run["metrics"]
    east, west = ends(of)
    us = lambda name: f"{of[name] / 1e3:,.0f}" if name in of else "-"
    return [
        run["variant"],
        run["ending"],
        f"{of['drops.lossless']:,}",
        f"{of['links.lost']:,}",
        f"{us('fct.small.mean_ns')} / {us('fct.small.p99_ns')} us",
        f"{of[f'ingress.{west}.{east}.max_bytes'] / 1e6:.1f} MB",
        f"{of[f'link.long.{east}.mean_bps'] / 1e9:.2f}G",
        recovery(directory / run["name"], run["variant"], f"{east}.{west}.sent_bps"),
    ]


def main():
    directory = pathlib.Path(sys.argv[1])
    runs = json.loads((directory / "summary.json").read_text(encoding="utf-8"))["runs"]
    head = ["fault", "ending", "lossless frames dropped", "frames lost on links", "small flows, mean / p99"]
    head += ["longest queue", "long link carried", "recovered after"]
    print_table(head, (row(directory, run) for run in runs))
    if any(run["ending"] == "violation" for run in runs):
        sys.exit(1)


main()
