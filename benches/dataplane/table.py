"""The tables that people read."""

WIRE_OVERHEAD_BYTES = 24
# Below this, a worker did not have its core to itself.
UNDISTURBED = 0.97
RATIOS = (
    ("fwd/ovs", "longspan-forwarding", "ovs-dpdk"),
    ("all/ovs", "longspan-everything", "ovs-dpdk"),
    ("all/5tswap", "longspan-everything", "testpmd-5tswap"),
)


def rate_of(row, name):
    return row["contenders"].get(name, {}).get("frames_per_second")


def rate_while_running(row, name):
    """What it forwards in a second of its worker's processor time, so that who lost its core for a while can
    still be compared."""
    return row["contenders"].get(name, {}).get("frames_per_worker_second")


def table(title, rows):
    """Millions of frames per second, all ports together, and ratios."""
    names = list(rows[0]["contenders"])
    ratios = [ratio for ratio in RATIOS if ratio[1] in names and ratio[2] in names]
    heads = ["bytes", "flows", "ports", "cores", *names, *(head for head, _, _ in ratios)]
    lines = [[*map(str, (row["frame_bytes"], row["flows"], row["ports"], row["workers"])),
              *(shown_rate(row, name) for name in names),
              *(shown_ratio(row, over, under) for _, over, under in ratios)] for row in rows]  # fmt: skip
    widths = [max(len(line[column]) for line in [heads, *lines]) for column in range(len(heads))]
    out = [f"\n{title}: millions of frames per second (Gb/s on the wire)"]
    for line in [heads, *lines]:
        out.append("  ".join(cell.rjust(width) for cell, width in zip(line, widths)))
    if any("*" in cell for line in lines for cell in line):
        out.append(f"* a worker had its core for less than {UNDISTURBED:.0%} of the time: the figure is too low; "
                   "ratios are of frames per second of a worker's processor time")
    reasons = {
        f"{name} at {row['flows']} flows of {row['frame_bytes']} bytes: {found['refused'].splitlines()[0]}"
        for row in rows
        for name, found in row["contenders"].items()
        if "refused" in found
    }
    return "\n".join(out + sorted(reasons))


def shown_rate(row, name):
    rate = rate_of(row, name)
    if rate is None:
        return "-"
    gigabits = rate * (row["frame_bytes"] + WIRE_OVERHEAD_BYTES) * 8 / 1e9
    disturbed = "*" if row["contenders"][name]["worker_share"] < UNDISTURBED else " "
    return f"{rate / 1e6:.2f} ({gigabits:.0f}){disturbed}"


def shown_ratio(row, over, under):
    over, under = rate_while_running(row, over), rate_while_running(row, under)
    return f"{over / under:.2f}" if over and under else "-"
