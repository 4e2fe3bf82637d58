"""The tests of congestion and bursts in the IETF BMWG draft on fabrics for AI training.

The text is draft-calabria-bmwg-ai-fabric-training-bench-04 (August 2026), whose sections `source` names; "-00" is its
first version (February 2026), which still had requirements. The draft says what to measure and leaves to the operator
what is enough, except for its "Indicative Reference Values" and a coefficient of variation (5 %). What `source` calls
ours is what the configuration of the switch promises.

The device under test is the switch core of a gateway, in virtual time (`longspan simulate`). All figures come from
what is seen from outside: completed flows, captures at the ports, and counts of dropped frames.
"""

import collections
import json
import math
import pathlib
import random
import shutil
import statistics

import capture
import dcqcn_model
from case import Case, NotRun, Result
from simulation import rows, simulate

SCENARIOS = pathlib.Path(__file__).parent / "bmwg"
LINE = 100e9
CV = 0.05


def variation(values):
    """The coefficient of variation."""
    return statistics.stdev(values) / statistics.mean(values)


def lost(run):
    return run["metrics"]["drops.lossless"] + run["metrics"]["drops.lossy"]


def senders(count):
    return f'["h[0-{count - 1}]"]'


# Section 5.3: back-to-back bursts.

RATIOS = (2, 4, 8, 16, 32)
BUFFER = {"lossy": 2_000_000, "lossy-half": 1_000_000}
# Bursts that no queue remembers: each begins a second after the last.
PERIOD = 1_000_000_000
CELL = 16


def burst_scenario(work):
    return pathlib.Path(shutil.copy(SCENARIOS / "burst.toml", work))


def write_bursts(file, ratio, size, repetitions):
    """All senders begin each burst within the time of a frame of 4 kB, each by chance."""
    chance = random.Random(ratio)
    with file.open("w", encoding="utf-8") as out:
        out.write("start_ns,source,destination,bytes,priority\n")
        for burst in range(repetitions):
            for sender in range(ratio):
                out.write(f"{burst * PERIOD + chance.randrange(336)},h{sender},r0,{size},3\n")


def frames_that_fit(buffer, ratio, mtu):
    """The longest burst of each sender: while n frames come from each, n - 1 leave."""
    # Ethernet, IPv4, UDP, BTH and ICRC; a cell is the switch's own.
    cells = 1 + math.ceil((mtu + 14 + 20 + 8 + 12 + 4) / CELL)
    return (buffer // (cells * CELL) - 1) // (ratio - 1)


def capacities(longspan, work, variant, lengths, ratio, mtu, repetitions):
    """For each repetition, the longest of these bursts of which nothing was lost; 0 if there is none."""
    for length in lengths:
        write_bursts(work / f"{length}.csv", ratio, length * mtu, repetitions)
    settings = (f"topology.senders={ratio}", f"host.mtu={mtu}")
    files = ",".join(f"{length}.csv" for length in lengths)
    sweeps = (f"traffic.bursts.file={files}",)
    runs = simulate(longspan, burst_scenario(work), work / "out", settings, sweeps, (variant,))
    first_lost = [max(lengths) + 1] * repetitions
    for run in runs:
        length = int(run["parameters"]["traffic.bursts.file"].removesuffix(".csv"))
        for row in rows(run["path"] / "fct.csv"):
            burst = int(row["start_ns"]) // PERIOD
            if int(row["retransmitted"]) > 0:
                first_lost[burst] = min(first_lost[burst], length)
    return [max((length for length in lengths if length < least), default=0) for least in first_lost]


def burst(ratio, mtu):
    def run(longspan, work, quick):
        fits = frames_that_fit(BUFFER["lossy"], ratio, mtu)
        step = max(1, fits // 100)
        lengths = [fits + step * offset for offset in (-1, 0, 1, 2, 3)]
        found = capacities(longspan, work, "lossy", lengths, ratio, mtu, 5 if quick else 50)
        least, most = min(found), max(found)
        measured = (
            f"{least * ratio:,} frames ({least * ratio * mtu / 1e6:.2f} MB) of {fits * ratio:,}, at most"
            f" {most * ratio:,}; {len(found)} bursts of each length, CV {100 * variation(found):.1f} %"
        )
        return Result(measured, fits - step <= least and most < lengths[-1] and variation(found) < CV)

    threshold = "what the buffer holds, less one step of 1 % (a frame per sender); the end is found; CV < 5 %"
    what = f"burst absorption {ratio}:1, best effort, messages in packets of {mtu} bytes"
    return Case(f"burst-{ratio}-{mtu}", what, threshold, "5.3; CV: 13 of -00; ours: what it holds", run)


def lossless_bursts(longspan, work, variant, ratio, repetitions):
    write_bursts(work / "bursts.csv", ratio, 16_000_000 // ratio, repetitions)
    (run,) = simulate(
        longspan, burst_scenario(work), work / "out", (f"topology.senders={ratio}",), variants=(variant,)
    )
    return run


def burst_lossless(ratio):
    def run(longspan, work, quick):
        outcome = lossless_bursts(longspan, work, "lossless", ratio, 5 if quick else 50)
        of = outcome["metrics"]
        measured = (
            f"{lost(outcome)} frames lost in {outcome['flows']['ended'] // ratio} bursts,"
            f" {of['retransmitted.packets']} sent again; {of['pfc.total.pauses_sent']:,} pauses"
        )
        whole = outcome["flows"]["ended"] == outcome["flows"]["started"]
        return Result(measured, outcome["ending"] == "finished" and whole and lost(outcome) == 0)

    what = f"burst absorption {ratio}:1, lossless, bursts of 16 MB into a buffer of 2 MB"
    return Case(f"burst-lossless-{ratio}", what, "no frame is lost", "5.3; 0 ppm: indicative values", run)


def control_burst_half(longspan, work, quick):
    fits = frames_that_fit(BUFFER["lossy"], 8, 4096)
    found = capacities(longspan, work, "lossy-half", [fits // 2, fits], 8, 4096, 5 if quick else 50)
    half = frames_that_fit(BUFFER["lossy-half"], 8, 4096)
    return Result(f"{max(found) * 8:,} frames, of {half * 8:,} by half of the buffer", max(found) < fits)


def control_headroom(longspan, work, _quick):
    outcome = lossless_bursts(longspan, work, "lossless-half", 8, 5)
    return Result(f"{lost(outcome):,} frames lost", lost(outcome) > 0)


# Section 7.1: marks.

RAMP_BINS = 10
PMAX = 0.5


def depths(captures):
    """The queue that each frame leaves behind, counted from captures at the ports, and whether it is marked."""
    arrivals = sorted(
        (time, length)
        for port in ("h0", "h1")
        for time, length, frame in capture.frames(captures / f"sw0.{port}.in.pcap")
        if capture.is_roce_data(frame)
    )
    depth, next_arrival = 0, 0
    for time, length, frame in capture.frames(captures / "sw0.r0.out.pcap"):
        if not capture.is_roce_data(frame):
            continue
        while next_arrival < len(arrivals) and arrivals[next_arrival][0] <= time:
            depth += arrivals[next_arrival][1]
            next_arrival += 1
        depth -= length
        yield depth, capture.is_marked(frame)


def marks(longspan, work, kmin, variant, quick):
    """For each seed, all depths and marks of bursts that come to three times `kmin`."""
    repetitions = max(2, 10_000_000 // kmin)
    # Twice what three times `kmin` take to drain.
    period = 3 * kmin * 8 / LINE * 4
    settings = (
        f"switch.ecn.kmin={kmin}B", f"switch.ecn.kmax={2 * kmin}B", f"switch.ecn.pmax={PMAX}",
        f"traffic.bursts.size={3 * kmin}B", f"traffic.bursts.every={period * 1e9:.0f}ns",
        f"traffic.bursts.times={repetitions}", f"scenario.until={(repetitions + 1) * period * 1e9:.0f}ns",
    )  # fmt: skip
    seeds = 2 if quick else 5
    runs = simulate(longspan, SCENARIOS / "ecn.toml", work / "out", settings, variants=(variant,), seeds=seeds)
    return [list(depths(run["path"] / "captures")) for run in runs]


def worst_of_ramp(seen, kmin):
    """How many standard errors the marks of a tenth of the ramp are from the line, at most."""
    expected, variance, marked = ([0.0] * RAMP_BINS for _ in range(3))
    for depth, is_marked in seen:
        share = (depth - kmin) / kmin
        if 0 < share < 1:
            at, p = int(share * RAMP_BINS), PMAX * share
            expected[at] += p
            variance[at] += p * (1 - p)
            marked[at] += is_marked
    return max(abs(m - e) / math.sqrt(v) for m, e, v in zip(marked, expected, variance))


def judged_marks(seeds, kmin):
    seen = [pair for seed in seeds for pair in seed]
    below = sum(is_marked for depth, is_marked in seen if depth <= kmin)
    above = [is_marked for depth, is_marked in seen if depth > 2 * kmin]
    first = min((depth for depth, is_marked in seen if is_marked), default=0)
    last = max(depth for depth, is_marked in seen if not is_marked)
    worst = worst_of_ramp(seen, kmin)
    on_ramp = [[is_marked for depth, is_marked in seed if kmin < depth <= 2 * kmin] for seed in seeds]
    shares = list(map(statistics.mean, on_ramp))
    spread = variation(shares) if any(shares) else 0.0
    measured = (
        f"{below} marked up to kmin, {sum(above):,} of {len(above):,} above kmax; lowest mark at"
        f" {first / 1e3:,.0f} kB, highest frame without at {last / 1e3:,.0f} kB; ramp: {worst:.1f} standard errors"
        f" at most; CV {100 * spread:.1f} % of {len(seeds)} seeds"
    )
    return Result(measured, below == 0 and all(above) and worst < 4 and spread < CV)


def ecn(kmin, name):
    def run(longspan, work, quick):
        return judged_marks(marks(longspan, work, kmin, "on", quick), kmin)

    threshold = "no mark up to kmin, all above kmax; tenths of the ramp within 4 standard errors; CV < 5 %"
    what = f"ECN marks: kmin {name}, kmax twice that, half of the frames there"
    return Case(f"ecn-{name}", what, threshold, "7.1; CV: 13 of -00; ours: 4 standard errors", run)


def control_ecn_off(longspan, work, quick):
    judged = judged_marks(marks(longspan, work, 100_000, "off", quick), 100_000)
    return Result(judged.measured, not judged.passed)


# Section 7.2: incast.


def judged_incast(runs, link, until):
    shares = [run["metrics"][f"link.{link}.utilisation"] for run in runs]
    drops = sum(map(lost, runs))
    pauses = statistics.mean(run["metrics"]["pfc.total.pauses_sent"] for run in runs) / until
    paused = statistics.mean(run["metrics"]["pfc.total.paused_ns"] for run in runs) / 1e6
    measured = (
        f"{drops:,} frames lost; {100 * statistics.mean(shares):.1f} % of the link; {pauses / 1e3:,.0f} pauses"
        f" per ms, ports paused for {paused:,.1f} ms in {1e3 * until:.0f} ms;"
        f" CV {100 * variation(shares):.2f} % of {len(runs)} seeds"
    )
    finished = all(run["ending"] == "finished" for run in runs)
    return Result(measured, finished and drops == 0 and min(shares) >= 0.95 and variation(shares) < CV)


INCAST = "no frame lost; 95 % of the receiver's link; CV < 5 %"
LONG_INCAST = SCENARIOS / "long-incast.toml"
INCAST_SOURCE = "7.2; 0 ppm, 95 %: indicative values; CV: 13 of -00"


def incast_settings(ratio):
    """Sixty-four senders need more ports than a switch has: they stand on five leaves."""
    if ratio < 64:
        traffic = (f"topology.senders={ratio}", f"traffic.incast.sources={senders(ratio)}")
        return (*traffic, 'sampling.ports=["*.r0"]'), "r0/sw0.sw0"
    fabric = '{template = "leaf-spine", leaves = 5, spines = 4, hosts = 13}'
    traffic = (f"traffic.incast.sources={senders(64)}", 'traffic.incast.destinations=["h64"]')
    return (f"topology={fabric}", *traffic, 'sampling.ports=["*.h64"]'), "h64/leaf4.leaf4"


def incast(ratio):
    def run(longspan, work, quick):
        settings, link = incast_settings(ratio)
        runs = simulate(longspan, SCENARIOS / "incast.toml", work / "out", settings, seeds=2 if quick else 10)
        return judged_incast(runs, link, 0.005)

    where = "one switch" if ratio < 64 else "a leaf-spine"
    return Case(f"incast-{ratio}", f"PFC under incast {ratio}:1, {where}", INCAST, INCAST_SOURCE, run)


def long_incast(ratio, scheme):
    def run(longspan, work, quick):
        settings = (f'traffic.incast.sources=["east-h[0-{ratio - 1}]"]',)
        seeds = 2 if quick else 3
        runs = simulate(longspan, LONG_INCAST, work / "out", settings, variants=(scheme,), seeds=seeds)
        return judged_incast(runs, "west-h0/gw-west.gw-west", 0.02)

    what = f"incast {ratio}:1 over two gateways 80 km apart, {scheme} on the long link"
    return Case(f"incast-80km-{ratio}-{scheme}", what, INCAST, INCAST_SOURCE, run)


def control_long_incast(longspan, work, _quick):
    settings = ('traffic.incast.sources=["east-h[0-7]"]', "scenario.until=5ms", "scenario.limit=5ms")
    runs = simulate(longspan, LONG_INCAST, work / "out", settings, variants=("pfc-short",), seeds=2)
    return Result(judged_incast(runs, "west-h0/gw-west.gw-west", 0.005).measured, min(map(lost, runs)) > 0)


def storms(run):
    """How many queues the watchdogs of all switches found stormed."""
    switches = json.loads((run["path"] / "summary.json").read_text(encoding="utf-8"))["switches"]
    priorities = [it for switch in switches.values() for port in switch["ports"] for it in port["priorities"]]
    return sum(it["egress"]["watchdog"]["storms"] for it in priorities if it["egress"].get("watchdog"))


def incast_storm(longspan, work, _quick):
    settings, _ = incast_settings(64)
    settings = (*settings, "scenario.until=300ms", "switch.port.watchdog.action=alert")
    (run,) = simulate(longspan, SCENARIOS / "incast.toml", work / "out", settings)
    found = storms(run)
    return Result(f"{found} stormed queues; {lost(run)} frames lost", run["ending"] == "finished" and found == 0)


def control_incast_lossy(longspan, work, quick):
    settings, link = incast_settings(8)
    settings = (*settings, "network.lossless=[]", "scenario.until=1ms", "scenario.limit=1ms")
    runs = simulate(longspan, SCENARIOS / "incast.toml", work / "out", settings, seeds=2)
    return Result(judged_incast(runs, link, 0.001).measured, min(map(lost, runs)) > 0)


# Section 7.3: DCQCN.

WINDOW_MS = 10
SECOND_MS = 20


def rates(path, until_ms):
    """The bits on the wire of each flow in each millisecond."""
    sent = [collections.Counter() for _ in range(until_ms)]
    for time, length, frame in capture.frames(path / "captures" / "sw0.r0.out.pcap"):
        if capture.is_roce_data(frame) and time < until_ms * 1_000_000:
            sent[time // 1_000_000][capture.flow(frame)] += 8 * (length + 24)
    return sent


def deviation(sent, flows):
    """How far the flow that is furthest from its fair share of the link is from it."""
    seconds = len(sent) / 1e3
    of_flow = sum(sent, collections.Counter())
    shares = [of_flow[flow] / seconds / (LINE / len(flows)) for flow in flows]
    return max(abs(share - 1) for share in shares)


def fairness(sent):
    """When all flows were within 10 %, in ms after the second half came; the least deviation in a window, and that in
    the second half of the time; and the number of flows."""
    names = set().union(*sent)
    starts = range(SECOND_MS, len(sent) - WINDOW_MS + 1)
    windows = [deviation(sent[at : at + WINDOW_MS], names) for at in starts]
    met = next((at for at, worst in enumerate(windows) if worst <= 0.1), None)
    return met, min(windows), deviation(sent[len(sent) // 2 :], names), len(names)


def convergence(longspan, work, flows, settings, seeds, until_ms):
    """The fairness of each seed."""
    # The second half comes from few ports, so that pauses of ports alone would not make the shares fair.
    first, second = min(flows, 16), max(1, min(flows // 4, 4))
    settings = (
        *settings, f"scenario.until={until_ms}ms",
        f"traffic.first.sources={senders(first)}", f"traffic.first.flows={flows // first}",
        f'traffic.second.sources=["h[16-{15 + second}]"]', f"traffic.second.flows={flows // second}",
    )  # fmt: skip
    found = []
    for run in simulate(longspan, SCENARIOS / "dcqcn.toml", work / "out", settings, seeds=seeds):
        found.append(fairness(rates(run["path"], until_ms)))
        shutil.rmtree(run["path"] / "captures")
    return found


def judged_convergence(found, flows):
    times = [met for met, *_ in found]
    least = max(best for _, best, *_ in found)
    mean = max(second_half for *_, second_half, _ in found)
    measured = "not within 10 %" if None in times else f"{statistics.median(times):.0f} ms"
    measured += (
        f" ({sum(met is not None for met in times)} of {len(found)} seeds); the furthest flow is {100 * least:.0f} %"
        f" off its share at best, {100 * mean:.0f} % in the second half of the time"
    )
    return Result(measured, None not in times and all(names == 2 * flows for *_, names in found))


STEPS = ", with steps that add up to 2.5 % of the link"


def step(flows):
    """All steps of the increase together are 2.5 % of the link."""
    rate = f"{0.025 * LINE / (2 * flows) / 1e6:.0f}M"
    return (f"host.dcqcn.additive_increase={rate}", f"host.dcqcn.hyper_increase={rate}")


DCQCN_SOURCE = f"7.3; ours: rates are means over {WINDOW_MS} ms, and 130 ms are enough"
WANDER = (
    "DCQCN wanders: so do the paper's rules without Longspan (dcqcn-16-model), and over 250 ms the shares are fair"
    " (dcqcn-16-long)"
)
LARGE_STEPS = "steps of 40 Mb/s, the default, fill the queue until PFC decides the shares; dcqcn-256-step is closer"


def dcqcn(flows, settings=(), name="", what="", shortfall=""):
    def run(longspan, work, quick):
        seeds, until_ms = (1, 80) if quick else (10 if flows == 4 else 3, 150)
        return judged_convergence(convergence(longspan, work, flows, settings, seeds, until_ms), flows)

    what = f"DCQCN: {flows} flows, then {flows} more{what}"
    threshold = "all flows within 10 % of the fair share"
    return Case(f"dcqcn-{flows}{name}", what, threshold, DCQCN_SOURCE, run, shortfall)


def dcqcn_repeats(longspan, work, quick):
    found = convergence(longspan, work, 4, (), 3 if quick else 10, 150)
    times = [met for met, *_ in found if met is not None]
    spread = variation(times) if len(times) > 1 else math.inf
    measured = f"{len(times)} of {len(found)} seeds: {min(times)} to {max(times)} ms, CV {100 * spread:.0f} %"
    return Result(measured, len(times) == len(found) and spread < CV)


def dcqcn_long(longspan, work, quick):
    found = convergence(longspan, work, 16, (), 1 if quick else 3, 500)
    worst = max(second_half for *_, second_half, _ in found)
    return Result(f"the furthest flow is {100 * worst:.0f} % off its share ({len(found)} seeds)", worst <= 0.1)


# SIGCOMM 2015, in proportion to the rate; HPCC's public scripts; the defaults of NVIDIA's NICs.
SETTINGS = {
    "marks of the paper": ("switch.ecn.kmin=12500B", "switch.ecn.kmax=500kB", "switch.ecn.pmax=0.01"),
    "pmax of 1 %": ("switch.ecn.pmax=0.01",),
    "CNPs every 4 us": ("host.cnp_interval=4us",),
    "HPCC's scripts": (
        "host.cnp_interval=0ns", "host.dcqcn.alpha_timer=1us", "host.dcqcn.rate_timer=300us",
        "host.dcqcn.byte_counter=none", "host.dcqcn.fast_recovery_steps=1", "host.dcqcn.additive_increase=50M",
        "host.dcqcn.hyper_increase=100M", "host.dcqcn.rate_reduce_monitor_period=4us",
    ),
    "NICs' defaults": (
        "host.cnp_interval=4us", "host.dcqcn.g=0.0049", "host.dcqcn.alpha_timer=1us", "host.dcqcn.rate_timer=300us",
        "host.dcqcn.byte_counter=2MB", "host.dcqcn.fast_recovery_steps=1", "host.dcqcn.additive_increase=5M",
        "host.dcqcn.hyper_increase=50M", "host.dcqcn.rate_reduce_monitor_period=4us",
    ),
}  # fmt: skip


def dcqcn_settings(longspan, work, quick):
    best = {}
    for number, (name, settings) in enumerate(SETTINGS.items()):
        ((_, best[name], *_),) = convergence(longspan, work / str(number), 16, settings, 1, 80 if quick else 150)
    text = ", ".join(f"{name} {100 * least:.0f} %" for name, least in best.items())
    return Result(f"the furthest flow is off its share at best: {text}", min(best.values()) <= 0.1)


def control_dcqcn_model(longspan, work, quick):
    seeds, until_ms = (1, 80) if quick else (3, 150)
    found = [fairness(dcqcn_model.departures(32, until_ms, seed)) for seed in range(1, seeds + 1)]
    judged = judged_convergence(found, 16)
    return Result(judged.measured, not judged.passed)


def control_dcqcn_off(longspan, work, quick):
    found = convergence(longspan, work, 4, ('host.congestion_control="none"',), 3, 150)
    judged = judged_convergence(found, 4)
    return Result(judged.measured, not judged.passed)


# Section 7.4: a cyclic dependency.


# The cycle of figure 21 of the Nendica report, with flows that do not end. Links of 10 Mb/s can be simulated for so long,
# and timers are as much longer.
CYCLE = pathlib.Path(__file__).parents[2] / "config" / "experiments" / "deadlock.toml"
PAIRS = (("around", "h1 h2 h7 h8", "h7 h8 h1 h2"), ("straight", "h3 h4 h5 h6", "h5 h6 h3 h4"))
CYCLE_SETTINGS = (
    "scenario.limit=330s", "scenario.stall=5s", "topology.rate=10M", "switch.port.pfc.pause=100ms",
    "host.go_back_n.retransmission_timeout=2s",
    "sampling.interval=100ms", "sampling.rows=4000", 'sampling.flows=["around", "straight"]',
    *(f'traffic.{group}={{ group = "{group}", pattern = "pairs", sources = {json.dumps(sources.split())},'
      f" destinations = {json.dumps(destinations.split())} }}" for group, sources, destinations in PAIRS),
)  # fmt: skip


def cycle(longspan, work, variant, seconds=300, more=()):
    settings = (*CYCLE_SETTINGS, f"scenario.until={seconds}s", *more)
    (run,) = simulate(longspan, CYCLE, work / "out", settings, variants=(variant,))
    return run


def silences(run):
    """The longest time in seconds in which each flow sent nothing."""
    last, longest = {}, collections.Counter()
    for row in rows(run["path"] / "series.csv"):
        now = int(row["time_ns"]) / 1e9
        if now > 0:
            for column in (name for name in row if name.endswith(".sent_bps")):
                if float(row[column] or 0) > 0:
                    last[column] = now
                longest[column] = max(longest[column], now - last.get(column, 0))
    return longest


def judged_cycle(run):
    of = run["metrics"]
    settled = [value for name, value in of.items() if name.startswith("flow.") and "settled" in name]
    measured = f"{run['ending']} after {run['end_ns'] / 1e9:.0f} s; {of['drops.lossless']:,} frames lost"
    if run["ending"] == "finished":
        silence = max(silences(run).values())
        measured += f"; {storms(run)} storms; {of['goodput.all.bps'] / 1e6:.1f} Mb/s; longest silence {silence:.1f} s"
        return Result(measured, min(settled) > 0 and lost(run) == 0 and silence < 1)
    return Result(measured, False)


def cycle_remap(longspan, work, quick):
    return judged_cycle(cycle(longspan, work, "remap", 20 if quick else 300))


def cycle_watchdog(longspan, work, _quick):
    judged = {}
    for action in ("drop", "forward"):
        setting = (f"switch.port.watchdog.action={action}",)
        judged[action] = judged_cycle(cycle(longspan, work / action, "pfc", more=setting))
    measured = " / ".join(f"{action}: {it.measured}" for action, it in judged.items())
    return Result(measured, all(it.passed for it in judged.values()))


def control_cycle(longspan, work, _quick):
    run = cycle(longspan, work, "pfc")
    return Result(judged_cycle(run).measured, run["ending"] == "deadlock")


CYCLE_SOURCE = "7.4; that it MUST resist: 7.4 of -00; ours: links of 10 Mb/s, loss, silence"

CASES = [
    *(burst(ratio, mtu) for mtu in (1024, 4096) for ratio in RATIOS),
    *map(burst_lossless, RATIOS),
    Case(
        "burst-control", "control: the burst 8:1 that the buffer holds, with half of the buffer",
        "frames are lost", "ours", control_burst_half,
    ),
    Case(
        "burst-lossless-control", "control: lossless bursts 8:1 with three frames of headroom",
        "frames are lost", "ours", control_headroom,
    ),
    ecn(100_000, "100kB"),
    ecn(1_000_000, "1MB"),
    ecn(5_000_000, "5MB"),
    Case("ecn-control", "control: kmin 100 kB, with ECN off", "the case fails", "ours", control_ecn_off),
    *map(incast, (*RATIOS, 64)),
    Case(
        "incast-storm", "PFC storms under incast 64:1 for 300 ms, a leaf-spine",
        "the watchdog, which needs 200 ms, finds none", "7.2; ours: none", incast_storm,
    ),
    *(long_incast(ratio, scheme) for scheme in ("pfc", "bifrost") for ratio in (2, 8, 64)),
    Case("incast-80km-control", "control: incast 8:1 over 80 km, with three frames of headroom on the long link",
        "frames are lost", "ours", control_long_incast),
    Case("incast-control", "control: incast 8:1 without PFC", "frames are lost", "ours", control_incast_lossy),
    *(dcqcn(flows, shortfall=WANDER) for flows in (4, 16, 64)),
    dcqcn(256, shortfall=LARGE_STEPS),
    dcqcn(4, step(4), "-step", STEPS),
    *(dcqcn(flows, step(flows), "-step", STEPS, WANDER) for flows in (16, 64, 256)),
    Case(
        "dcqcn-repeats", "DCQCN: the time of 4 flows, then 4 more", "CV < 5 %", "13 of -00", dcqcn_repeats,
        "when all flows are near their share at once is a matter of chance",
    ),
    Case("dcqcn-16-settings", "DCQCN: 16 flows, then 16 more, with settings of papers and NICs",
        "all flows within 10 % of the fair share with one of them", DCQCN_SOURCE, dcqcn_settings, WANDER),
    Case("dcqcn-16-long", "DCQCN: 16 flows, then 16 more; rates are means over the last 250 ms of 500 ms",
        "all flows within 10 % of the fair share", "7.3; ours: 250 ms", dcqcn_long),
    Case("dcqcn-16-model", "control: 16 flows, then 16 more, by the paper's rules alone, without Longspan",
        "the case fails", "ours", control_dcqcn_model),
    Case("dcqcn-control", "control: 4 flows without DCQCN", "the case fails", "ours", control_dcqcn_off),
    Case(
        "cycle-remap", "a cyclic dependency for 300 s, with the remap of frames that bounce",
        "no deadlock; no frame lost; no flow silent for 1 s", CYCLE_SOURCE, cycle_remap,
    ),
    Case(
        "cycle-watchdog", "a cyclic dependency for 300 s, with the PFC watchdog that drops or forwards",
        "no deadlock; no frame lost; no flow silent for 1 s", CYCLE_SOURCE, cycle_watchdog,
        "the watchdog ends each standstill, but the cycle closes again, so frames are lost and flows stand still; the "
        "remap keeps it open",
    ),
    Case("cycle-control", "control: the same cycle with neither", "deadlock", "ours", control_cycle),
]  # fmt: skip

NO_TIME = "a simulated switch takes no time to forward: scripts/bench-dataplane measures it on ports"
NO_UET = "Longspan and its hosts speak RoCEv2, not UET"
NO_SPRAY = "the gateway spreads flows by their hash, and has no other way"
NO_COLLECTIVES = "hosts run no collective library: accelerators and their libraries are needed"
NO_ROUTING = "routes are static: no protocol and no fast failover is there to be timed"

NOT_RUN = [
    NotRun("5.1", "baseline throughput", NO_TIME),
    NotRun("5.2", "latency", NO_TIME),
    *(NotRun(f"6.{number}", f"UET: {what}", NO_UET) for number, what in enumerate(
        ("throughput", "latency", "packet spray", "congestion control", "link-layer enhancements", "collectives",
         "scale of PDCs"), 1)),
    NotRun("8.1", "ECMP entropy and polarization", "the draft has no value to hold it to"),
    NotRun("8.2", "flowlets", NO_SPRAY),
    NotRun("8.3", "packet spraying", NO_SPRAY),
    NotRun("8.4", "Jain's index of load balancing", "it compares the ways of 8.1 to 8.3"),
    *(NotRun(f"9.{number}", what, NO_COLLECTIVES) for number, what in enumerate(
        ("AllReduce", "AllToAll", "AllGather", "bus bandwidth"), 1)),
    NotRun("10.1", "synthetic job completion time", NO_COLLECTIVES),
    NotRun("10.2", "job completion time of MLPerf", NO_COLLECTIVES),
    NotRun("10.3", "interference of jobs", NO_COLLECTIVES),
    NotRun("11.1", "scale limits of the fabric", NO_COLLECTIVES),
    NotRun("11.2", "convergence after a link has failed", NO_ROUTING),
    NotRun("11.3", "failover without impact", NO_ROUTING),
    NotRun("12.1", "24 hours of load", "scripts/soak runs a live pair of gateways for as long as you say"),
    NotRun("12.2", "leaks", "scripts/soak holds the memory of live gateways to 2 MiB of growth"),
    NotRun("inference", "draft-calabria-bmwg-ai-fabric-inference-bench-04",
           "tests of serving systems; those of congestion are the ones of 7 with other messages"),
]  # fmt: skip
