"""The latency that a gateway adds: a probe sends stamped frames through it, over two memif links, and measures the noise of
the machine in the same turns."""

import contextlib
import dataclasses
import json
import os
import statistics

import machine
from markdown import markdown
from process import Failed, child, log_of, output_of, wait_until

# Parts of the rate that passes through a gateway.
LOADS = (0.1, 0.5, 0.9)
FRAME_BYTES = 128
PROBE_SECONDS_MAX = 120
PROBE_MEMORY_BYTES = 256 << 20
FIGURES = ("p50_ns", "p99_ns", "p999_ns")


def latency(plan, row):
    """One core, frames of one flow. Of two cores, the probe has the one for housekeeping. A contender that holds frames
    back would add what it was told to."""
    plan = dataclasses.replace(plan, contenders=tuple(each for each in plan.contenders if not each.holds_frames))
    workload = plan.workload(FRAME_BYTES, 1)
    with machine.huge_pages(plan.memory_bytes([workload]) + PROBE_MEMORY_BYTES) as huge:
        setting = plan.setting(1, huge)
        return [row(f"{workload}, {LOADS} of what passes", lambda: measured(plan, workload, setting))]


def measured(plan, workload, setting):
    """The contenders take turns, and the machine alone has one too."""
    runs = {contender.name: [] for contender in plan.contenders}
    noise = []
    workload.make_captures(plan.maker, plan.directory)
    try:
        for turn in range(plan.repeats):
            plan.say(f"noise of the machine, turn {turn + 1}")
            noise.append(noise_of(plan, setting))
            for contender in plan.contenders:
                plan.say(f"latency, turn {turn + 1}: {contender.name}")
                try:
                    runs[contender.name].append(probed(plan, contender, workload, setting))
                except Failed as failure:
                    plan.say(str(failure))
    finally:
        workload.remove_captures(plan.directory)
    return {
        "frame_bytes": FRAME_BYTES,
        "huge_pages": setting.huge,
        "noise": {name: summary([turn[name] for turn in noise]) for name in noise[0]},
        "contenders": {name: of_loads(found) for name, found in runs.items()},
    }


def noise_of(plan, setting):
    """How long someone who asks for a core would wait for it, on the cores of probe and worker."""
    cores = {"core of the probe": plan.probe_core, "core of the worker": setting.workers[0]}
    return {
        name: json.loads(output_of("taskset", "-c", str(core), plan.noise, str(plan.seconds)))
        for name, core in cores.items()
    }


def probed(plan, contender, workload, setting):
    """The gateway listens, and the probe connects. Returns what it found at each load."""
    sockets = [os.path.join(plan.directory, f"memif{number}.sock") for number in range(2)]
    for socket in sockets:
        # Of a gateway that was there before, and left it.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(socket)
    with contender.forwarding(workload, devices("server", sockets), setting):
        memory = ["--in-memory"] if setting.huge else ["--no-huge", "-m", "256", f"--file-prefix={machine.FILE_PREFIX}-probe"]
        command = [plan.probe, f"--lcores=0@{plan.probe_core}", *memory, "--no-pci", "--no-telemetry", "--log-level=error"]
        command += [f"--vdev={device}" for device in devices("client", sockets)]
        command += ["--", workload.captures(plan.directory)[0], str(plan.seconds),
                    str(contender.transmit_queues), *map(str, LOADS)]  # fmt: skip
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


def of_loads(runs):
    if not runs:
        return {"refused": "the probe found no way through it"}
    loads = [summary([run["loads"][number] for run in runs]) for number in range(len(LOADS))]
    return {"frames_per_second": statistics.median(run["frames_per_second"] for run in runs),
            "limited_by_probe": any(run["refused"] == 0 for run in runs), "loads": loads, "runs": runs}  # fmt: skip


def summary(runs):
    """Medians of the percentiles, and the longest of all runs."""
    found = {figure: statistics.median(run[figure] for run in runs) for figure in FIGURES}
    found["most_ns"] = max(run["most_ns"] for run in runs)
    if "sent" in runs[0]:
        found["lost"] = sum(run["sent"] - run["received"] for run in runs)
        found["frames_per_second"] = statistics.median(run["frames_per_second"] for run in runs)
    return found


def latency_table(title, rows):
    caption = (f"\n{title}: microseconds from the probe through the gateway and back to it, over two memif links, by the "
               "load in parts of the most that passes; on a core alone, how long a frame would wait for it")  # fmt: skip
    heads = ["contender", "most, M frames/s", "load", "M frames/s", "p50", "p99", "p99.9", "longest", "lost"]
    lines = []
    for row in rows:
        for name, found in row["noise"].items():
            lines.append([f"{name}, alone", "", "", "", *times(found), ""])
        for name, found in row["contenders"].items():
            if "refused" in found:
                lines.append([name, *["-"] * (len(heads) - 1)])
                continue
            most = f"{found['frames_per_second'] / 1e6:.2f}" + ("*" if found["limited_by_probe"] else "")
            for load, of_load in zip(LOADS, found["loads"]):
                rate = f"{of_load['frames_per_second'] / 1e6:.2f}"
                lines.append([name, most, f"{load:.0%}", rate, *times(of_load), f"{of_load['lost']:,}"])
    limited = any(found.get("limited_by_probe") for row in rows for found in row["contenders"].values())
    star = ["\\* The probe could not send more, so the contender may carry more than that."] if limited else []
    return "\n\n".join([caption, markdown(heads, lines), *star])


def times(found):
    return [f"{found[figure] / 1e3:.2f}" for figure in (*FIGURES, "most_ns")]
