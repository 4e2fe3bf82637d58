"""The runs and checks with one scheme at one distance."""

import json
import os
import shutil

import cnps
import perftest
from counts import FAR_TO_NEAR, NEAR_TO_FAR, Meter, losses
from pair import DATA, LINK, LOSSLESS, port
from perftest import Latency, Volume
from process import run
from wait import wait_until

SCENARIO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../config/scenarios/outstanding.toml")
KIB = 1 << 10
LINK_BPS = 100_000_000
# The bytes that rdma_rxe sends before it waits for an acknowledgement: RXE_MAX_UNACKED_PSNS of Linux 6.1.
WINDOW_BYTES = 128 * perftest.MTU
# A frame of a message takes so much of the link: FCS, preamble and gap are 24 bytes.
WIRE = perftest.HEADERS + perftest.MTU + 24
# Short messages, since a receiver acknowledges only the last frame of each: LSCC finds a queue pair by the numbers of
# these answers, and learns from one of 16.
SLOW_RATE, SLOW_VOLUME, SLOW_SHORT = "20M", Volume("write", 16, 80, 4 * KIB), Volume("write", 4, 96, 4 * KIB)
# A timeout of 0.27 s: here frames are lost, and wait for it.
LOSSY_VOLUME = Volume("write", 8, 5, 16 * KIB, traffic_class=perftest.LOSSY_CLASS, timeout=16)
# perftest's default of 67 ms, where what is outstanding takes 0.2 s.
HASTY_VOLUME = Volume("write", 4, 5, 32 * KIB, timeout=14)
RPINGS, RPING_BYTES = 5, 2_000
ATTEMPTS = 5
# Messages of a sweep, as a multiple of those at once.
ROUNDS = perftest.LEAST_MESSAGES
SWEEP = (
    Volume("write", 1, ROUNDS, 16 * KIB, depth=1),
    Volume("write", 1, ROUNDS * 4, 16 * KIB, depth=4),
    Volume("write", 1, ROUNDS, 64 * KIB, depth=1),
    Volume("write", 1, ROUNDS * 2, 64 * KIB, depth=2),
    Volume("write", 1, ROUNDS * 8, 64 * KIB, depth=8),
    Volume("write", 4, ROUNDS * 2, 64 * KIB, depth=2),
    Volume("read", 1, ROUNDS * 2, 16 * KIB, depth=4, reads=1),
    Volume("read", 1, ROUNDS * 4, 16 * KIB, depth=4, reads=4),
)
# Round trips of a simulation, and its least duration: its throughput counts the time without load at its end.
SIMULATED_ROUNDS, SIMULATED_MS = 40, 500
# perftest rounds MiB/s to two places.
ROUNDING_BPS = perftest.MIB * 8 * 0.005


class Cell:
    """One run of a pair of gateways. `record` is what it found, and `failures` what it should not have."""

    def __init__(self, pair, near, far):
        self.pair, self.near, self.far = pair, near, far
        self.record = {"scheme": pair.scheme, "delay_ms": pair.delay_ms, "volumes": [], "latencies": []}
        self.failures = []

    def metered(self, test):
        """Runs a test, again where perftest found no steady clock. The meter is that of the run that ended well."""
        for _ in range(ATTEMPTS):
            meter = Meter(self.pair)
            try:
                return meter, perftest.run(test, self.far, self.near)
            except perftest.NoClock as failure:
                last = failure
                for direction in (NEAR_TO_FAR, FAR_TO_NEAR):
                    meter.settled(direction, 0)
        raise last

    def volume(self, test, name=None):
        """A bandwidth test, whose bytes must be at both gateways as the frames that its messages take."""
        meter, printed = self.metered(test)
        there, back = (FAR_TO_NEAR, NEAR_TO_FAR) if test.verb == "read" else (NEAR_TO_FAR, FAR_TO_NEAR)
        count, other = meter.settled(there, test.frames()), meter.settled(back, 1)
        figures = printed["figures"]
        claimed = int(figures["#iterations"]) * int(figures["#bytes"])
        name = name or f"{test.program()} -q {test.pairs}"
        row = {
            "test": name, "queue_pairs": printed["queue_pairs"], "perftest_messages": int(figures["#iterations"]),
            "perftest_bytes": claimed, "expected": {"frames": test.frames(), "bytes": test.bytes()},
            "counted": {"frames": count.frames, "bytes": count.bytes},
            "counted_back": {"frames": other.frames, "bytes": other.bytes},
            "bits_per_second": round(figures["BW average"] * perftest.MIB * 8),
        }  # fmt: skip
        self.record["volumes"].append(row)
        self.check(claimed == test.payload(), f"{name}: perftest claims {claimed} bytes of {test.payload()}")
        expected = (test.frames(), test.bytes())
        holds = self.pair.loses or (count.frames, count.bytes) == expected
        self.check(holds, f"{name}: {count}, where {expected} were expected")
        if test.back() is not None:
            requests = (other.frames, other.bytes)
            self.check(requests == test.back(), f"{name}: requests {requests}, where {test.back()} were expected")
        return row

    def latency(self, test):
        meter, printed = self.metered(test)
        figures = printed["figures"]
        for direction in (NEAR_TO_FAR, FAR_TO_NEAR):
            meter.settled(direction, test.messages)
        light = test.crossings() * self.pair.delay_ms * 1000
        row = {"test": test.program(), "light_us": light, "min_us": figures["t_min"], "median_us": figures["t_typical"]}
        self.record["latencies"].append(row)
        self.check(row["min_us"] >= light, f"{test.program()}: {row['min_us']} us, faster than light by {light} us")

    def rping(self):
        meter = Meter(self.pair)
        perftest.rping(self.far, self.near, RPINGS, RPING_BYTES)
        counts = [meter.settled(direction, RPINGS) for direction in (NEAR_TO_FAR, FAR_TO_NEAR)]
        self.record["rping"] = {"round_trips": RPINGS, "bytes": RPING_BYTES, "frames": [each.frames for each in counts]}

    def slow_receiver(self, test):
        """The far gateway sends to its host at a fifth of the rate: the scheme must act, and still lose nothing."""
        before = self.pair.show()
        path = self.near.capture(f"{self.pair.scheme}-{self.pair.delay_ms}ms")
        self.pair.gateways["far"].set_host_rate(SLOW_RATE)
        try:
            row = self.volume(test, f"{test.program()} -q {test.pairs}, slow")
            after = self.settle_cnps()
        finally:
            self.near.end_capture()
        self.pair.gateways["far"].set_host_rate(f"{LINK_BPS // 1_000_000}M")
        acted = {key: acts(after)[key] - acts(before)[key] for key in acts(after)}
        acted["headroom_bytes"] = headroom(after)
        self.record["slow_receiver"] = acted
        told = cnps.read(path, self.near.address)
        pairs = {each.queue_pair for each in told}
        acted |= {"cnps_captured": len(told), "pairs_told": sorted(pairs), "pairs_printed": row["queue_pairs"]}
        self.check(acted["pauses"] > 0, "a slow receiver, but no pause crossed the link")
        self.check(len(told) == acted["cnps"], f"{acted['cnps']} direct CNPs are counted and {len(told)} arrived")
        self.check((len(told) > 0) == (self.pair.scheme == "lscc"), f"{len(told)} CNPs arrived with {self.pair.scheme}")
        stray = pairs - set(row["queue_pairs"])
        self.check(not stray, f"CNPs to queue pairs that perftest did not print: {sorted(stray)}")
        self.check(all(each.is_intact for each in told), "a CNP has a wrong ICRC")
        sources = {each.source for each in told}
        self.check(sources <= {self.far.address}, f"CNPs from {sorted(sources)}, not from the receiver")

    def settle_cnps(self):
        """The state once no more CNPs are made, since all has been sent."""
        counts = []

        def is_still():
            counts.append(acts(self.pair.show())["cnps"])
            return len(counts) > 2 and counts[-3] == counts[-2] == counts[-1]

        wait_until("the last CNP", is_still)
        return self.pair.show()

    def controls(self):
        """The same slow receiver where something is missing: a lossless priority, or a timeout that is long enough."""
        self.pair.gateways["far"].set_host_rate(SLOW_RATE)
        lossy = self.record["lossy"] = self.uncounted(LOSSY_VOLUME, priority=0)
        self.check(lossy["dropped"] > 0, "a slow receiver and a lossy priority, but nothing was dropped")
        hasty = self.record["short_timeout"] = self.uncounted(HASTY_VOLUME, LOSSLESS)
        again = hasty["sent_frames"] - hasty["expected_frames"]
        self.check(again > 0, "a slow receiver and a timeout of 67 ms, but nothing was sent again")
        self.pair.gateways["far"].set_host_rate(f"{LINK_BPS // 1_000_000}M")
        wait_until("nothing to be queued", lambda: not queued(self.pair.show()))

    def uncounted(self, test, priority):
        """Runs a test whose frames may be sent again, and may be lost: by the host's fault, or on purpose."""
        meter, before = Meter(self.pair, priority), sum(losses(self.pair.show()).values())
        _, status, *_ = perftest.ask(test, self.far, self.near)
        first, *_, last = meter.since(NEAR_TO_FAR)
        return {
            "perftest_status": status, "expected_frames": test.frames(), "sent_frames": first.frames,
            "arrived_frames": last.frames, "dropped": sum(losses(self.pair.show()).values()) - before,
        }  # fmt: skip

    def sweep(self):
        """Throughput by what is outstanding: no more than that passes in a round trip."""
        self.record["sweep"] = []
        for test in SWEEP:
            name = f"{test.program()} -q {test.pairs} -s {test.size} -t {test.depth}"
            name += f" -o {test.reads}" if test.reads else ""
            row = self.volume(test, name) | {"size": test.size, "depth": test.depth, "reads": test.reads}
            row["asked_bytes"] = test.pairs * test.size * test.depth
            row["outstanding_bytes"] = test.outstanding(WINDOW_BYTES)
            by_window = row["outstanding_bytes"] * 8 * 1000 // (2 * self.pair.delay_ms)
            row["most_bits_per_second"] = min(by_window, LINK_BPS * perftest.MTU // WIRE)
            row["simulated_bits_per_second"] = simulated(self.pair, test.size, row["outstanding_bytes"] // test.size)
            got, most = row["bits_per_second"], row["most_bits_per_second"]
            self.check(got - ROUNDING_BPS <= most, f"{name}: {got} b/s, more than {most} for a window in a round trip")
            self.record["volumes"].pop()
            self.record["sweep"].append(row)

    def nothing_lost(self):
        found = losses(self.pair.show())
        self.record["losses"] = found
        self.check(not found, f"frames were lost: {found}")

    def check(self, holds, otherwise):
        if not holds:
            self.failures.append(otherwise)

    def run(self, is_short):
        is_pfc = self.pair.scheme == "pfc"
        if is_short:
            self.volume(Volume("write", 4, 10, 64 * KIB))
            self.volume(Volume("read", 4, 5, 64 * KIB))
            self.latency(Latency("write", 10))
        else:
            self.volume(Volume("write", 4, 12, 64 * KIB))
            self.volume(Volume("read", 4, 8, 64 * KIB))
            self.volume(Volume("send", 16, 5, 32 * KIB))
            for verb in ("write", "send", "read"):
                self.latency(Latency(verb, 10))
        self.rping()
        self.slow_receiver(SLOW_SHORT if is_short else SLOW_VOLUME)
        if is_pfc and not is_short:
            self.sweep()
        self.nothing_lost()
        if is_pfc and self.pair.delay_ms == 1:
            self.controls()


def simulated(pair, size, messages):
    """The throughput of so many messages at once in a simulation of this link, whose hosts have no other limit."""
    out = os.path.join(pair.scratch, "simulated")
    traffic = "traffic.write"
    settings = {
        "topology.long_link.delay": f"{pair.delay_ms}ms", f"{traffic}.size": f"{size}B", f"{traffic}.flows": messages,
        "scenario.until": f"{max(SIMULATED_ROUNDS * 2 * pair.delay_ms, SIMULATED_MS)}ms",
    }  # fmt: skip
    chosen = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    run(pair.longspan, "simulate", SCENARIO, *chosen, "--out", out)
    with open(os.path.join(out, "summary.json")) as file:
        [only] = json.load(file)["runs"]
    shutil.rmtree(out)
    return round(only["metrics"]["goodput.write.bps"])


def acts(shown):
    """How often the schemes acted: pauses that the near gateway got from the link, and its direct CNPs."""
    link = port(shown["near"], LINK)
    pauses = link["priorities"][LOSSLESS]["pauses_received"]
    slots = link_slots(shown)
    return {
        "pauses": pauses["xoff"], "paused_ms": pauses["paused_ns"] // 1_000_000, "paused_slots": slots,
        "cnps": link["lscc"]["cnps"]["direct"] if link["lscc"] else 0,
    }  # fmt: skip


def link_slots(shown):
    bifrost = port(shown["far"], LINK)["bifrost"]
    return bifrost["paused_slots"] if bifrost else 0


def queued(shown):
    """Frames that wait in any queue of both gateways."""
    ports = [port for gateway in shown.values() for port in gateway["ports"]]
    return sum(each["egress"]["queued"]["frames"] for port in ports for each in port["priorities"])


def headroom(shown):
    """The most that waited in the near host's headroom: its NIC obeys no pause."""
    return port(shown["near"], DATA)["priorities"][LOSSLESS]["ingress"]["headroom_watermark_bytes"]
