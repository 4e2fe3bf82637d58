"""Prints what every scheme came to on every workload as a table in Markdown: matrix.py SUMMARY.json

Ends with status 1 where an invariant did not hold.
"""

import json
import pathlib
import statistics
import sys

SWEPT = "traffic.inter.distribution"
# What is shown of each workload, and of all together.
MEAN, TAIL = "slowdown.inter.mean", "slowdown.inter.p99"
BUFFERS = ("buffer.gw-east.max_bytes", "buffer.gw-west.max_bytes")


def median(runs, metric):
    """Of the seeds; nothing where one of them has no such figure."""
    values = [run["metrics"].get(metric) for run in runs]
    return None if None in values else statistics.median(values)


def cell(runs):
    """Mean and 99th percentile of the slowdown; how many runs had flows left at their limit."""
    mean, tail = median(runs, MEAN), median(runs, TAIL)
    if mean is None or tail is None:
        return "-"
    left = sum(run["ending"] != "finished" for run in runs)
    return f"{mean:.2f} / {tail:.2f}" + (f" ({left} unfinished)" if left else "")


def row(scheme, workloads, runs):
    """One scheme: its workloads, the most that a gateway held, and what was dropped and sent again."""
    own = [run for run in runs if run["variant"] == scheme]
    cells = [cell([run for run in own if run["parameters"][SWEPT] == workload]) for workload in workloads]
    metrics = [run["metrics"] for run in own]
    held = max(of.get(buffer, 0) for of in metrics for buffer in BUFFERS)
    dropped = sum(of.get("drops.lossless", 0) + of.get("drops.lossy", 0) for of in metrics)
    again = sum(of.get("retransmitted.packets", 0) for of in metrics)
    return [scheme, *cells, f"{held / 1e6:.1f} MB", f"{dropped:,.0f}", f"{again:,.0f}"]


def main():
    runs = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))["runs"]
    workloads = list(dict.fromkeys(run["parameters"][SWEPT] for run in runs))
    schemes = list(dict.fromkeys(run["variant"] for run in runs))
    head = ["scheme", *workloads, "most in a gateway", "dropped", "sent again"]
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for scheme in schemes:
        print("| " + " | ".join(row(scheme, workloads, runs)) + " |")
    if any(run["ending"] == "violation" for run in runs):
        sys.exit(1)


main()
