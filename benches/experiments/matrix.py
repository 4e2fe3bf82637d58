"""Prints what every scheme came to on every workload.

matrix.py SUMMARY.json           tables in Markdown: slowdowns, their changes against PFC with two BDP, and costs
matrix.py --csv SUMMARY.json...  a row for each run of each link, as CSV

Ends with status 1 where an invariant did not hold.
"""

import csv
import json
import math
import pathlib
import statistics
import sys

from markdown_table import print_table

SWEPT = "traffic.inter.distribution"
# The slowdown of all flows on one workload, and of the host pair that shares no host's link with them.
MEAN, TAIL = "slowdown.inter.mean", "slowdown.inter.p99"
VICTIM, VICTIM_TAIL = "slowdown.victim.mean", "slowdown.victim.p99"
FLOWS, VICTIM_FLOWS = "fct.inter.count", "fct.victim.count"
# With fewer flows, the 99th percentile is the maximum.
LEAST_FLOWS = 100
LEAST_FLOWS_OF_A_MEAN = 20
# The control of each scheme: PFC with the buffer that others have, and the same without LSCC.
CONTROLS = {
    "pfc-deep": ["pfc", "pfc-deep-dcqcn", "bifrost", "bifrost-dcqcn", "bifrost-lscc"],
    "bifrost-dcqcn": ["bifrost-lscc"],
}
BUFFERS = ("buffer.gw-east.max_bytes", "buffer.gw-west.max_bytes")
MAY_HOLD = ("may_hold.gw-east.gw-west.bytes", "may_hold.gw-west.gw-east.bytes")
USED = "link.long.gw-east.utilisation"
# Message sizes, up to and including the upper end.
SIZES = (("up to 100 kB", 0, 100e3), ("up to 1 MB", 100e3, 1e6), ("above 1 MB", 1e6, math.inf))


def at_the_long_link(run):
    """The metrics of a run. Where relays end the long link, theirs take the names of the gateways'."""
    metrics = run["metrics"]
    names = {name: name.replace("gw-", "relay-") for name in (*BUFFERS, *MAY_HOLD, USED)}
    return metrics | {name: metrics[relay] for name, relay in names.items() if relay in metrics}


def median(runs, metric):
    """Of the seeds; nothing where one of them has no such figure."""
    values = [run["metrics"].get(metric) for run in runs]
    return None if not values or None in values else statistics.median(values)


def cell(runs):
    """Mean of the slowdown, and its 99th percentile or the few flows; how many runs had flows left at their limit."""
    mean, tail = median(runs, MEAN), median(runs, TAIL)
    if mean is None or tail is None:
        return "-"
    flows = min(run["metrics"][FLOWS] for run in runs)
    left = sum(run["ending"] != "finished" for run in runs)
    text = f"{mean:.2f} / {tail:.2f}" if flows >= LEAST_FLOWS else f"{mean:.2f} (flows: {flows:.0f})"
    return text + (f" ({left} unfinished)" if left else "")


def slowdowns(scheme, workloads, runs):
    """One scheme on each workload."""
    return [scheme, *(cell([run for run in runs if run["parameters"][SWEPT] == workload]) for workload in workloads)]


def costs(scheme, workloads, runs):
    """The worst mean of the victim, and what the scheme took for it, on all workloads together."""
    metrics = [at_the_long_link(run) for run in runs]
    total = lambda *names: sum(of.get(name, 0) for of in metrics for name in names)
    most = lambda names: max((of.get(name, 0) for of in metrics for name in names), default=0)
    used = [of[USED] for of in metrics if USED in of]
    victim = max((of.get(VICTIM, 0) for of in metrics), default=0)
    return [
        scheme,
        f"{victim:.2f}",
        f"{100 * statistics.mean(used):.0f} %" if used else "-",
        f"{most(BUFFERS) / 1e6:.1f} MB",
        f"{most(MAY_HOLD) / 1e6:.1f} MB",
        f"{total('pfc.total.paused_ns') / 1e6:,.1f} ms",
        f"{total('control.frames'):,.0f}",
        f"{total('drops.lossless', 'drops.lossy'):,.0f}",
        f"{total('retransmitted.packets'):,.0f}",
    ]


def paired(runs, controls, metric, flows, least):
    """The change of a metric against the control's run of the same seed: its mean, the standard error, how many seeds agree
    on its direction. Nothing where a run has fewer flows than it takes, left some, or has no partner."""
    before, after = ({run["seed"]: run["metrics"] for run in of} for of in (controls, runs))
    if before.keys() != after.keys() or any(run["ending"] != "finished" for run in (*runs, *controls)):
        return "-"
    pairs = [(after[seed], before[seed]) for seed in after]
    enough = lambda of: metric in of and of.get(flows, 0) >= least
    if len(pairs) < 2 or not all(enough(ours) and enough(control) for ours, control in pairs):
        return "-"
    changes = [100 * (ours[metric] / control[metric] - 1) for ours, control in pairs]
    if not any(changes):
        return f"the same in {len(changes)}"
    mean, error = statistics.mean(changes), statistics.stdev(changes) / math.sqrt(len(changes))
    agree = sum(change * mean > 0 for change in changes)
    return f"{mean:+.1f} ({error:.1f}; {agree} of {len(changes)})"


def changes(scheme, workloads, runs, controls):
    """The changes of one scheme on each workload: mean slowdown, 99th percentile, and the mean of the victim."""
    row = [scheme]
    for workload in workloads:
        both = [[run for run in of if run["parameters"][SWEPT] == workload] for of in (runs, controls)]
        row += [paired(*both, MEAN, FLOWS, LEAST_FLOWS_OF_A_MEAN), paired(*both, TAIL, FLOWS, LEAST_FLOWS)]
        row.append(paired(*both, VICTIM, VICTIM_FLOWS, LEAST_FLOWS_OF_A_MEAN))
    return row


def print_link(path):
    """The tables of one link. Returns its runs."""
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"]
    workloads = list(dict.fromkeys(run["parameters"][SWEPT] for run in runs))
    by_scheme = {}
    for run in runs:
        by_scheme.setdefault(run["variant"], []).append(run)
    rows = lambda of: [of(scheme, workloads, own) for scheme, own in by_scheme.items()]
    print_table(["scheme", *workloads], rows(slowdowns))
    print()
    for control, schemes in CONTROLS.items():
        there = [it for it in schemes if {it, control} <= by_scheme.keys()]
        if there:
            own = [changes(it, workloads, by_scheme[it], by_scheme[control]) for it in there]
            figures = [f"{workload}, {what}" for workload in workloads for what in ("mean", "p99", "victim")]
            print_table([f"against {control}, %", *figures], own)
            print()
    took = ["link used", "most held", "may hold", "paused", "control frames", "dropped", "sent again"]
    print_table(["scheme", "victim, mean", *took], rows(costs))
    print()
    return runs


def nearest_rank(values, share):
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1]


def by_size(file):
    """Count, mean and 99th percentile of the slowdown of the flows in each range of sizes. Few have no percentile."""
    with file.open(encoding="utf-8", newline="") as lines:
        flows = [flow for flow in csv.DictReader(lines) if flow["group"] == "inter" and flow["slowdown"]]
    found = [(float(flow["bytes"]), float(flow["slowdown"])) for flow in flows]
    for _, least, most in SIZES:
        values = [slowdown for size, slowdown in found if least < size <= most]
        yield len(values)
        yield f"{statistics.mean(values):.3f}" if values else ""
        yield f"{nearest_rank(values, 0.99):.3f}" if len(values) >= LEAST_FLOWS else ""


def csv_rows(path):
    """A row for each run of one link."""
    for run in json.loads(path.read_text(encoding="utf-8"))["runs"]:
        of = at_the_long_link(run)
        number = lambda name: f"{of[name]:.3f}".rstrip("0").rstrip(".") if name in of else ""
        tail = lambda name, flows: number(name) if of.get(flows, 0) >= LEAST_FLOWS else ""
        own = [number(FLOWS), number(MEAN), tail(TAIL, FLOWS)]
        own += [number(VICTIM_FLOWS), number(VICTIM), tail(VICTIM_TAIL, VICTIM_FLOWS)]
        sizes = list(by_size(path.parent / run["name"] / "fct.csv"))
        rest = [USED, *BUFFERS, *MAY_HOLD, "pfc.total.paused_ns", "control.frames"]
        rest += ["drops.lossless", "drops.lossy", "retransmitted.packets"]
        who = [path.parent.name, run["variant"], run["parameters"][SWEPT], run["seed"], run["ending"]]
        yield who + own + sizes + [number(name) for name in rest]


def print_csv(paths):
    """All runs of all links."""
    names = [f"{size}: {what}" for size, *_ in SIZES for what in ("flows", "slowdown mean", "slowdown p99")]
    head = ["link", "scheme", "workload", "seed", "ending", "flows", "slowdown mean", "slowdown p99"]
    head += ["victim flows", "victim slowdown mean", "victim slowdown p99", *names, "utilisation of the long link"]
    head += ["most in gw-east bytes", "most in gw-west bytes", "gw-east may hold bytes", "gw-west may hold bytes"]
    head += ["paused ns", "control frames", "dropped lossless", "dropped lossy", "sent again packets"]
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(head)
    for path in paths:
        out.writerows(csv_rows(path))


def main():
    if sys.argv[1] == "--csv":
        print_csv([pathlib.Path(name) for name in sys.argv[2:]])
    elif any(run["ending"] == "violation" for run in print_link(pathlib.Path(sys.argv[1]))):
        sys.exit(1)


main()
