"""The latency that a gateway adds: a probe sends stamped frames through it, over two memif links."""

import contextlib
import json
import os
import statistics

import machine
from process import Failed, child, log_of, wait_until

FRAMES_PER_SECOND = (10_000, 1_000_000)
FRAME_BYTES = 128
PROBE_SECONDS_MAX = 60
PROBE_MEMORY_BYTES = 128 << 20
FIGURES = ("p50_ns", "p99_ns", "p999_ns")


def latency(plan):
    """One core, frames of one flow at two rates. Of two cores, the probe has the one for housekeeping."""
    workload = plan.workload(FRAME_BYTES, 1)
    workload.make_captures(plan.maker, plan.directory)
    rows = []
    with machine.huge_pages(plan.memory_bytes([workload]) + PROBE_MEMORY_BYTES) as huge:
        setting = plan.setting(1, huge)
        for rate in FRAMES_PER_SECOND:
            runs = {contender.name: [] for contender in plan.contenders}
            for turn in range(plan.repeats):
                for contender in plan.contenders:
                    plan.say(f"latency at {rate:,} frames per second, turn {turn + 1}: {contender.name}")
                    try:
                        runs[contender.name].append(probed(plan, contender, workload, setting, rate))
                    except Failed as failure:
                        plan.say(str(failure))
            rows.append({"frame_bytes": FRAME_BYTES, "frames_per_second": rate, "huge_pages": huge,
                         "contenders": {name: summary(found) for name, found in runs.items()}})  # fmt: skip
    workload.remove_captures(plan.directory)
    return rows


def probed(plan, contender, workload, setting, rate):
    """The gateway listens, and the probe connects."""
    sockets = [os.path.join(plan.directory, f"memif{number}.sock") for number in range(2)]
    for socket in sockets:
        # Of a gateway that was there before, and left it.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(socket)
    with contender.forwarding(workload, devices("server", sockets), setting):
        memory = ["--in-memory"] if setting.huge else ["--no-huge", "-m", "128", f"--file-prefix={machine.FILE_PREFIX}-probe"]
        command = [plan.probe, f"--lcores=0@{plan.probe_core}", *memory, "--no-pci", "--no-telemetry", "--log-level=error"]
        command += [f"--vdev={device}" for device in devices("client", sockets)]
        command += ["--", workload.captures(plan.directory)[0], str(rate), str(plan.seconds),
                    str(contender.transmit_queues)]  # fmt: skip
        with child("latency probe", command, os.path.join(plan.directory, "probe.log")) as probe:
            stolen = machine.stolen_ticks()
            found = wait_until(probe, lambda: report(log_of(probe)), f"measures {contender.name}", PROBE_SECONDS_MAX)
            return found | {"stolen_ticks": machine.stolen_ticks() - stolen}


def devices(role, sockets):
    return [
        f"net_memif{number},role={role},id={number},socket={socket},socket-abstract=no"
        for number, socket in enumerate(sockets)
    ]


def report(log):
    """The line that the probe ends with."""
    lines = [line for line in log.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else None


def summary(runs):
    if not runs:
        return {"refused": "the probe found no way through it"}
    medians = {figure: statistics.median(run[figure] for run in runs) for figure in FIGURES}
    lost = sum(run["sent"] - run["received"] for run in runs)
    return medians | {"lost": lost, "runs": runs}


def latency_table(title, rows):
    out = [f"\n{title}: from the probe through the gateway and back to it, over two memif links, in microseconds"]
    heads = ("frames/s", "contender", "p50", "p99", "p99.9", "lost")
    out.append("{:>10}  {:<20} {:>9} {:>9} {:>9} {:>7}".format(*heads))
    for row in rows:
        for name, found in row["contenders"].items():
            cells = [f"{found[figure] / 1e3:.2f}" if figure in found else "-" for figure in FIGURES]
            rate, lost = f"{row['frames_per_second']:,}", str(found.get("lost", "-"))
            out.append("{:>10}  {:<20} {:>9} {:>9} {:>9} {:>7}".format(rate, name, *cells, lost))
    return "\n".join(out)
