"""The tables that people read."""

import math
import statistics

from markdown import markdown

WIRE_OVERHEAD_BYTES = 24
# Below this, a worker did not have its core to itself.
UNDISTURBED = 0.97
# Of fewer pairs, not even the least and the greatest ratio are an interval of 95%.
PAIRS_FOR_AN_INTERVAL = 6
SOURCE = "testpmd-io"
RATIOS = (
    ("fwd/ovs", "longspan-forwarding", "ovs-dpdk"),
    ("fwd/rule", "longspan-forwarding", "ovs-dpdk-rule"),
    ("all/ovs", "longspan-everything", "ovs-dpdk"),
    ("all/rule", "longspan-everything", "ovs-dpdk-rule"),
    ("all/5tswap", "longspan-everything", "testpmd-5tswap"),
)
# The rate of the link by which the last table judges, in bits in a nanosecond.
BUDGET_GIGABITS = 100


def found_of(row, name):
    """A contender's figures, if it has any in this row."""
    found = row["contenders"].get(name, {})
    return found if "runs" in found else None


def tables(title, rows):
    """Rates and ratios, then what a frame costs beyond the source."""
    parts = [f"\n{title}: millions of frames per second (Gb/s on the wire)", rates(rows)]
    if found_of(rows[0], SOURCE):
        parts += [f"{title}: nanoseconds of processor time per frame; beyond {SOURCE}, the rest", net(rows)]
    return "\n\n".join(parts + notes(rows))


def case_of(row):
    return list(map(str, (row["frame_bytes"], row["flows"], row["ports"], row.get("queues", 1), row["workers"])))


CASE_HEADS = ["bytes", "flows", "ports", "queues", "cores"]


def rates(rows):
    """All ports together, and ratios."""
    names = list(rows[0]["contenders"])
    ratios = [ratio for ratio in RATIOS if ratio[1] in names and ratio[2] in names]
    heads = [*CASE_HEADS, *names, *(head for head, _, _ in ratios)]
    return markdown(heads, [[*case_of(row), *(shown_rate(row, name) for name in names),
                             *(shown_ratio(row, over, under) for _, over, under in ratios)] for row in rows])  # fmt: skip


def net(rows):
    """The source's cost, and that of each other contender beyond it."""
    names = [name for name in rows[0]["contenders"] if name != SOURCE]
    heads = [*CASE_HEADS, SOURCE, *names]
    return markdown(heads, [[*case_of(row), shown(nanos(row, SOURCE)),
                             *(shown(net_nanos(row, name)) for name in names)] for row in rows])  # fmt: skip


def budget_table(title, rows):
    """The cost of a frame by the number of flows, and its share of the frame's time on a link."""
    names = list(rows[0]["contenders"])
    beyond = [name for name in names if name != SOURCE]
    available = nanos_on_link(rows[0]["frame_bytes"])
    heads = ["flows", *names, *(f"{name} beyond {SOURCE}" for name in beyond), f"of {available:.0f} ns"]
    lines = []
    for row in rows:
        last = net_nanos(row, beyond[-1]) if beyond else None
        share = "-" if last is None else f"{last / available:.0%}"
        lines.append([f"{row['flows']:,}", *(shown(nanos(row, name)) for name in names),
                      *(shown(net_nanos(row, name)) for name in beyond), share])  # fmt: skip
    caption = (f"\n{title}: nanoseconds of processor time per frame of {rows[0]['frame_bytes']:,} bytes, of which "
               f"{BUDGET_GIGABITS}G leaves {available:.1f}; the last column is of {names[-1]} beyond {SOURCE}")  # fmt: skip
    return "\n\n".join([caption, markdown(heads, lines), *notes(rows)])


def observed_table(title, rows):
    """The cost of a frame without and with observers, in the same turns."""
    names = list(rows[0]["contenders"])
    with_others = ((name, f"{name}-{suffix}") for name in names for suffix in ("observed", "beside-stranger"))
    pairs = [pair for pair in with_others if pair[1] in names]
    caption = (f"\n{title}: nanoseconds of processor time per frame, without and with top, events that are followed, a "
               "capture of control frames and a scrape a second, then beside a program that looks at nothing; and the "
               "medians of their ratios")  # fmt: skip
    return paired_table(caption, rows, pairs)


def against_table(title, rows):
    """The cost of a frame in another commit and in this tree, in the same turns."""
    pairs = [(f"{name}-before", name) for name in rows[0]["contenders"] if f"{name}-before" in rows[0]["contenders"]]
    caption = f"\n{title}: nanoseconds of processor time per frame, before and in this tree, and the median of their ratios"
    return paired_table(caption, rows, pairs)


def paired_table(caption, rows, pairs):
    heads = [*CASE_HEADS, *(head for pair in pairs for head in (*pair, "more"))]
    lines = [[*case_of(row), *(cell for pair in pairs for cell in paired_cells(row, *pair))] for row in rows]
    pairs_of_row = [len(found["runs"]) for row in rows for found in row["contenders"].values() if "runs" in found]
    if max(pairs_of_row, default=0) >= PAIRS_FOR_AN_INTERVAL:
        caption += " with their 95% intervals"
    return "\n\n".join([caption, markdown(heads, lines), *notes(rows)])


def paired_cells(row, before, after):
    found = [found_of(row, name) for name in (before, after)]
    if not all(found):
        return ["-", "-", "-"]
    times = [[nanos_of(row, run) for run in each["runs"]] for each in found]
    ratios = sorted(now / then for then, now in zip(*times))
    more = f"{statistics.median(ratios) - 1:+.1%}"
    if len(ratios) >= PAIRS_FOR_AN_INTERVAL:
        low, high = interval_of_median(ratios)
        more += f" ({low - 1:+.1%} to {high - 1:+.1%})"
    return [*(shown(statistics.median(each)) for each in times), more]


def interval_of_median(values):
    """The narrowest two of the sorted values, as far from the least as from the greatest, between which the median of all
    that might be measured lies with a probability of 95% or more: each value is above it or below it like a coin."""
    beyond, outside = 0, 2 / 2 ** len(values)
    while (outside := outside + 2 * math.comb(len(values), beyond + 1) / 2 ** len(values)) <= 0.05:
        beyond += 1
    return values[beyond], values[-1 - beyond]


def nanos_on_link(frame_bytes):
    return (frame_bytes + WIRE_OVERHEAD_BYTES) * 8 / BUDGET_GIGABITS


def nanos_of(row, run):
    """Of the workers' processor time, for a frame: what others took from them does not count."""
    return run["worker_share"] * row["workers"] * 1e9 / run["frames_per_second"]


def nanos(row, name):
    found = found_of(row, name)
    return statistics.median(nanos_of(row, run) for run in found["runs"]) if found else None


def net_nanos(row, name):
    """Beyond what the source cost in the same turn."""
    found, source = found_of(row, name), found_of(row, SOURCE)
    if not found or not source:
        return None
    pairs = zip(found["runs"], source["runs"])
    return statistics.median(nanos_of(row, run) - nanos_of(row, io) for run, io in pairs)


def shown(nanoseconds):
    return "-" if nanoseconds is None else f"{nanoseconds:.1f}"


def shown_rate(row, name):
    found = found_of(row, name)
    if not found:
        return "-"
    rate = found["frames_per_second"]
    gigabits = rate * (row["frame_bytes"] + WIRE_OVERHEAD_BYTES) * 8 / 1e9
    disturbed = "*" if found["worker_share"] < UNDISTURBED else ""
    return f"{rate / 1e6:.2f} ({gigabits:.0f}){disturbed}"


def shown_ratio(row, over, under):
    """Of the frames in a second of the workers' processor time, so that who lost its core for a while can still
    be compared."""
    over, under = nanos(row, over), nanos(row, under)
    return f"{under / over:.2f}" if over and under else "-"


def notes(rows):
    disturbed = any(found.get("worker_share", 1) < UNDISTURBED for row in rows for found in row["contenders"].values())
    reasons = {
        f"{name} at {row['flows']} flows of {row['frame_bytes']} bytes: {found['refused'].splitlines()[-1].strip()}"
        for row in rows
        for name, found in row["contenders"].items()
        if "refused" in found
    }
    dropped = [
        f"{name} at {row['flows']} flows of {row['frame_bytes']} bytes dropped {total:,} frames: not in its rate."
        for row in rows
        for name, found in row["contenders"].items()
        if (total := sum(run.get("dropped", 0) for run in found.get("runs", ())))
    ]
    star = (f"\\* A worker had its core for less than {UNDISTURBED:.0%} of the time, so the rate is too low. "
            "Ratios and nanoseconds are of its processor time.")  # fmt: skip
    return [*([star] if disturbed else []), *sorted(reasons), *dropped]
