"""Forwarding rates and latency of Longspan, testpmd, OVS-DPDK and librte_sched side by side, as tables in Markdown."""

import argparse
import functools
import os
import shutil
import signal
import sys
import tempfile
import time

import machine
from longspan import Longspan
from openvswitch import OpenVSwitch
from parts import AGAINST, PARTS, Plan
from process import Failed
from record import Enough, Record
from testpmd import Testpmd
from traffic_manager import BACKLOG_FRAMES, TrafficManager

CONTENDERS = ("testpmd-io", "testpmd-5tswap", "ovs-dpdk", "ovs-dpdk-rule", "sched-1", "sched-64", "sched-4096",
              "sched-64-backlog", "sched-4096-backlog", "longspan-forwarding", "longspan-everything")  # fmt: skip
VARIANTS = ("forwarding", "everything")


def numbers(text):
    return tuple(int(number) for number in text.split(","))


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench-dataplane", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--sizes", type=numbers, default=(64, 128, 512, 1082, 4170), help="of frames, in bytes without FCS")
    parser.add_argument("--flows", type=numbers, default=(512, 65_536), help="in all; half of them come in through each port")
    parser.add_argument("--packets-per-flow", type=int, default=16,
                        help="packets of each flow in a capture, before its sequence numbers start again; fewer "
                        "where OVS-DPDK could not hold the frames")  # fmt: skip
    parser.add_argument("--seconds", type=float, default=1.0, help="of each run")
    parser.add_argument("--repeats", type=int, default=3, help="of which the median is taken")
    parser.add_argument("--contenders", type=lambda text: tuple(text.split(",")), default=CONTENDERS,
                        help=f"default: {','.join(CONTENDERS)}; sched-N is librte_sched with N pipes")  # fmt: skip
    parser.add_argument("--cores", type=numbers, help="the first is for housekeeping, the last forward; default: all")  # fmt: skip
    parser.add_argument("--quick", action="store_true",
                        help="two sizes, 512 flows, one run each, of throughput where no part is named: shows that it works")  # fmt: skip
    parser.add_argument("--json", help="where the figures go; default: out/bench-dataplane.json of the repository")
    parser.add_argument("--resume", action="store_true", help="keep what is in that file, and measure what is missing")
    parser.add_argument("--minutes", type=float, default=float("inf"),
                        help="start no row of a table later than that, and end with status 1 if one is missing; a "
                        "row takes up to four minutes")  # fmt: skip
    parser.add_argument("--against", metavar="COMMIT", help="measure this tree beside another commit, instead of all parts")
    parser.add_argument("--other", help=argparse.SUPPRESS)
    parser.add_argument("--caller", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--binaries", required=True, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    unknown = [f"part {part}" for part in chosen.parts if part not in PARTS]
    unknown += [f"contender {name}" for name in chosen.contenders if name not in CONTENDERS]
    if unknown:
        parser.error(f"there is no {', no '.join(unknown)}")
    if chosen.against and chosen.parts:
        parser.error("--against measures no part")
    if chosen.against and not chosen.other:
        parser.error("--against and its commit are two words")
    if chosen.quick:
        chosen.sizes, chosen.flows, chosen.repeats = (64, 1082), (512,), 1
        chosen.parts = chosen.parts or ["throughput"]
    return chosen


def contenders(names, binaries):
    program, manager = (os.path.join(binaries, name) for name in ("longspan", "traffic_manager"))
    makers = {
        "testpmd-io": lambda: Testpmd("io"),
        "testpmd-5tswap": lambda: Testpmd("5tswap"),
        "ovs-dpdk": lambda: OpenVSwitch(parses=False),
        "ovs-dpdk-rule": lambda: OpenVSwitch(parses=True),
        "sched-1": lambda: TrafficManager(manager, 1),
        "sched-64": lambda: TrafficManager(manager, 64),
        "sched-4096": lambda: TrafficManager(manager, 4096),
        "sched-64-backlog": lambda: TrafficManager(manager, 64, BACKLOG_FRAMES),
        "sched-4096-backlog": lambda: TrafficManager(manager, 4096, BACKLOG_FRAMES),
        **{f"longspan-{variant}": functools.partial(Longspan, program, variant) for variant in VARIANTS},
    }
    return tuple(makers[name]() for name in names)


def both(before, now):
    """Both variants of two programs. The source comes first, as everywhere."""
    programs = ((before, "-before"), (now, ""))
    return Testpmd("io"), *(Longspan(program, variant, suffix) for variant in VARIANTS for program, suffix in programs)


def expect_installed(chosen):
    """Every contender is there, before time is spent on the others."""
    for contender in chosen:
        for program in contender.programs:
            if shutil.which(program) is None:
                sys.exit(f"scripts/bench-dataplane: {contender.name} needs {program} ({contender.origin})")


def say(text):
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def plan_of(chosen, contenders, cores, directory):
    return Plan(
        contenders=contenders,
        directory=directory,
        maker=os.path.join(chosen.binaries, "examples", "make_capture"),
        probe=os.path.join(chosen.binaries, "latency_probe"),
        noise=os.path.join(chosen.binaries, "noise"),
        cores=cores,
        sizes=chosen.sizes,
        flows=chosen.flows,
        packets_per_flow=chosen.packets_per_flow,
        seconds=chosen.seconds,
        repeats=chosen.repeats,
        quick=chosen.quick,
        say=say,
    )


def record_of(chosen):
    # Paths are relative to where the caller stands.
    path = os.path.join(chosen.caller, chosen.json) if chosen.json else os.path.abspath("out/bench-dataplane.json")
    description = machine.description()
    settings = {"seconds": chosen.seconds, "repeats": chosen.repeats, "contenders": list(chosen.contenders),
                "revision": description["revision"], "against": chosen.against}  # fmt: skip
    return Record(path, settings, description, chosen.resume, chosen.minutes)


def measure(parts, plan, record):
    """Prints the tables of each part once it is complete."""
    for part, (measure_part, show) in parts.items():
        print(show(part, measure_part(plan, functools.partial(record.row, part))), flush=True)


def main():
    chosen = arguments()
    # As on an interrupt, so that children are ended and settings put back.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    cores = chosen.cores or tuple(sorted(os.sched_getaffinity(0)))
    if len(cores) < 2:
        sys.exit("scripts/bench-dataplane: needs two cores, one of them for housekeeping")
    if chosen.against:
        parts, chosen_contenders = AGAINST, both(chosen.other, os.path.join(chosen.binaries, "longspan"))
    else:
        parts = {part: PARTS[part] for part in chosen.parts or PARTS}
        chosen_contenders = contenders(chosen.contenders, chosen.binaries)
    expect_installed(chosen_contenders)
    record = record_of(chosen)
    directory = tempfile.mkdtemp(prefix="longspan-bench.", dir="/dev/shm")
    try:
        measure(parts, plan_of(chosen, chosen_contenders, cores, directory), record)
    except Enough:
        sys.exit("scripts/bench-dataplane: rows are missing; the same command with --resume goes on")
    except Failed as failure:
        sys.exit(f"scripts/bench-dataplane: {failure}")
    finally:
        shutil.rmtree(directory)
        machine.remove_runtime_directories()
    print(f"\nAll runs: {record.path}")


main()
