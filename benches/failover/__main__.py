"""How long two sites with two links are without a part of their load when one link is cut: a bundle by carrier and by hellos,
two next hops of a route, and routers of the kernel with FRR's BGP and BFD (three times 10 ms)."""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

# The children of a benchmark are those of the other one.
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "dataplane"))

import capture  # noqa: E402
from lab import Failed, Fibre, Gateways, Lab, Routers  # noqa: E402
from process import log_of, wait_until  # noqa: E402

HELLO = 'liveness = "hello"\nkey = "5c0ff1e5c0ff1e5c0ff1e5c0ff1e5c0f"\nreturn_after = "100ms"\n'
CONTENDERS = {
    "bundle, carrier": lambda lab, longspan: Gateways(lab, longspan, 'return_after = "100ms"\n'),
    "bundle, hellos": lambda lab, longspan: Gateways(lab, longspan, HELLO),
    "two next hops": lambda lab, longspan: Gateways(lab, longspan, ""),
    "FRR with BFD": lambda lab, _: Routers(lab),
}
FAULTS = ("carrier", "one way", "flapping")
FLOWS = 64
# The times of the experiment: when the link is cut, and how often and for how long it flaps.
CUT_AFTER_SECONDS = 1.0
FLAPS, FLAP_SECONDS = 5, 0.05
# How much longer than its load a host is waited for.
PATIENCE_SECONDS = 5


def cut(fibre, fault):
    """Cuts the first link for good, or again and again. Returns when."""
    if fault == "one way":
        return fibre.one_way()
    at = fibre.carrier("down")
    for _ in range(FLAPS if fault == "flapping" else 0):
        time.sleep(FLAP_SECONDS)
        fibre.carrier("up")
        time.sleep(FLAP_SECONDS)
        fibre.carrier("down")
    return at


def measure(contender, fault, chosen):
    with tempfile.TemporaryDirectory(prefix="failover") as directory, Lab(directory) as lab:
        site = CONTENDERS[contender](lab, chosen.longspan)
        fibre = Fibre(lab)
        sent, received = (os.path.join(directory, name) for name in ("sent.pcap", "received.pcap"))
        capture.write(sent, site.to, FLOWS, chosen.per_ms, chosen.seconds)
        words = ["dumpcap", "-q", "-P", "-i", "eth0", "-s", "64", "-B", "64", "-f", "udp port 4791", "-w", received]
        listening = lab.run("far-host", "dumpcap", *words)
        wait_until(listening, lambda: "File:" in log_of(listening), "listens")
        player = lab.run("near-host", "traffic", chosen.longspan, "traffic", "replay", sent, "--port", "eth0", "--rate", "1G")  # fmt: skip
        wait_until(listening, lambda: os.path.exists(received) and os.path.getsize(received) > 100_000, "hears frames")
        time.sleep(CUT_AFTER_SECONDS)
        at = cut(fibre, fault)
        stops = False
        try:
            if player.wait(chosen.seconds + PATIENCE_SECONDS) != 0:
                raise Failed(f"longspan traffic: {log_of(player)}")
        except subprocess.TimeoutExpired:
            # A site that waits for the dead link pauses its host for as long.
            player.terminate()
            stops = True
        wait_until(listening, lambda: lab.is_quiet("far-host"), "hears no more frames")
        inside = site.lost_inside()
        listening.terminate()
        listening.wait(10)
        return capture.Outcome(received, FLOWS, chosen.per_ms, chosen.seconds, at), inside, stops


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench-failover", description=__doc__)
    parser.add_argument("--per-ms", type=int, default=100, help="frames a millisecond, of 64 flows and 128 bytes")
    parser.add_argument("--seconds", type=int, default=3, help="of load; the link is cut after one")
    parser.add_argument("--repeats", type=int, default=5, help="of which the median and the worst are printed")
    parser.add_argument("--contenders", default=",".join(CONTENDERS).replace("bundle, ", "bundle "), help="separated by commas; default: %(default)s")  # fmt: skip
    parser.add_argument("--faults", default=",".join(FAULTS), help="separated by commas; default: %(default)s")
    parser.add_argument("--longspan", required=True, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    names = {name.replace(",", ""): name for name in CONTENDERS}
    chosen.contenders, chosen.faults = chosen.contenders.split(","), chosen.faults.split(",")
    unknown = [it for it in chosen.contenders if it not in names] + [it for it in chosen.faults if it not in FAULTS]
    if unknown:
        parser.error(f"there is no {', no '.join(unknown)}")
    chosen.contenders = [names[it] for it in chosen.contenders]
    return chosen


def row(contender, fault, outcomes):
    outages = [it.outage_ms for it, *_ in outcomes]
    if None in outages or any(stops for *_, stops in outcomes):
        times = ["never", "never"]
    else:
        times = [f"{statistics.median(outages):.1f}", f"{max(outages):.1f}"]
    insides = [inside for _, inside, _ in outcomes]
    inside = "not counted" if None in insides else f"{max(insides)}"
    counts = [f"{max(getattr(it, what) for it, *_ in outcomes):,}" for what in ("lost", "late")]
    if any(stops for *_, stops in outcomes):
        counts[0] = "none: its host stays paused"
    return [contender, fault, *times, *counts, inside]


def main():
    chosen = arguments()
    print("| sites | fault | ms until 99 % arrive: median | worst | most frames lost | most out of order | lossless lost inside |")
    print("|---|---|---|---|---|---|---|")
    for fault in chosen.faults:
        for contender in chosen.contenders:
            outcomes = [measure(contender, fault, chosen) for _ in range(chosen.repeats)]
            print("| " + " | ".join(row(contender, fault, outcomes)) + " |", flush=True)


if __name__ == "__main__":
    try:
        main()
    except Failed as failure:
        sys.exit(f"scripts/bench-failover: {failure}")
