"""SONiC's tests of PFC, of 2026, against replays: captures stand for the ports of a traffic generator.

A replay is exact to the nanosecond, so that 50 ms stand for the ten seconds of a generator. Its captures do not obey
pauses, as no generator does whose flow control is off: what it would have held back waits in a large headroom. Where
senders must obey pauses, a simulation has such senders.
"""

import functools
import pathlib

from case import Case, NotRun
from simulation import simulate
from traffic import (
    FOREVER, LENGTH, QUANTUM_BITS, SECOND, START, alone, control, data, pause, pause_ns, pfc, play,
    rate_of, repeated, settings, storm, stream, taking_turns, versus,
)

RATE = 10_000_000_000
PAIR = {"a": "10G", "b": "10G"}
ALL, LOSSLESS, LOSSY = tuple(range(8)), (3, 4), (0, 1, 2, 5, 6, 7)
LEAD = 1_000_000
TOLERANCE, FAIR = 0.02, 0.05

LOSSY_PLAN = "sonic-mgmt pull request 25475, pfc_lossy_testplan.md"
LOSSLESS_PLAN = "sonic-mgmt pull request 25476, PFC_lossless_test_plan.md"
CONGESTION_PLAN = "sonic-mgmt, PFC_Congestion_Oversubscription_Test_Plan.md, case"


def hello(source=2, to=1):
    """The first word of a station, from which a bridge learns where it is."""
    return [(START - 2 * LEAD + source, data(1, 0, source=source, to=to))]


def until(quick):
    return START + (5_000_000 if quick else 50_000_000)


def off_rate(played, priorities, share, end, port="b"):
    """How far the rates of these priorities are from their share of the link at most, relative to it."""
    rates = [rate_of(played.data(port, priority), START + 100_000, end) for priority in priorities]
    return max((abs(rate / (share * RATE) - 1) for rate in rates), default=0.0)


def lost(played, sent, priorities, port="b"):
    """Frames of these priorities that never came out, of what `sent` says went in."""
    return sum(sent(priority) - len(played.data(port, priority)) for priority in priorities)


def during(played, priorities, end, port="b"):
    return sum(arrival.at < end for priority in priorities for arrival in played.data(port, priority))


def counted(streams):
    """The streams as lists, and how many frames of each priority they hold."""
    lists = [list(own) for own in streams]
    count = [0] * 8
    for own in lists:
        for _, frame in own:
            count[frame[15] >> 5] += 1
    return lists, count.__getitem__


def under_storm(longspan, work, quick, stopped=(3,), held=(3,), flows=ALL, lossless=LOSSLESS, lengths=(LENGTH,)):
    """A storm of PFC stops what it is to hold; all others keep their rate; afterwards nothing is missing."""
    end = until(quick)
    streams, sent = counted(taking_turns(START, end, RATE, flows, lengths))
    storms = [storm(START - LEAD, end, stopped, RATE)]
    played = play(longspan, work, settings(PAIR, lossless), {"a": streams, "b": storms})
    others = [priority for priority in flows if priority not in held]
    passed, off = during(played, held, end), off_rate(played, others, 1 / len(flows), end)
    received = {p for p in ALL if played.priority("b", p)["pauses_received"]["xoff"]}
    told = set(played.paused("a")) - set(lossless)
    missing = lost(played, sent, flows)
    ok = not passed and off <= TOLERANCE and not missing and not told and received == set(stopped)
    return ok, f"{passed} frames passed the storm, others {off:.2%} off their rate, {missing} lost"


def storms_that_come_and_go(longspan, work, quick, stopped=LOSSLESS):
    """Half a millisecond of storm in every two: what it holds waits for its end, and the rest keeps its rate."""
    end, lasts = until(quick), LEAD // 2
    begins = range(START + LEAD, end, 2 * LEAD)
    streams, sent = counted(taking_turns(START, end, RATE // 2, ALL))
    resumes = pfc(dict.fromkeys(stopped, 0))
    storms = [[*storm(at, at + lasts, stopped, RATE), (at + lasts, resumes)] for at in begins]
    played = play(longspan, work, settings(PAIR), {"a": streams, "b": storms})
    # A turn of the others may be on the wire when a storm begins.
    held = [a for p in LOSSLESS for a in played.data("b", p) if any(at + 10_000 < a.at < at + lasts for at in begins)]
    off, missing = off_rate(played, LOSSY, 1 / 16, end), lost(played, sent, ALL)
    told = played.paused("a")
    ok = not held and off <= FAIR and not missing and set(told) <= set(LOSSLESS)
    return ok, f"{len(begins)} storms, {len(held)} frames passed them, others {off:.2%} off their rate, {missing} lost"


def under_control_frames(longspan, work, quick, frames=(), keys="", lossless=LOSSLESS):
    """MAC control frames that are no pauses for this port change nothing, and end at it."""
    end = until(quick)
    streams, sent = counted(taking_turns(START, end, RATE, ALL))
    every = pause_ns(FOREVER, RATE) // 2
    storms = [repeated(START + turn * 1_000, end, frame, every) for turn, frame in enumerate(frames)]
    keys = {"pfc": keys} if keys else {}
    played = play(longspan, work, settings(PAIR, lossless, **keys), {"a": streams, "b": storms})
    off, missing = off_rate(played, ALL, 1 / 8, end), lost(played, sent, ALL)
    passed_on = sum(frame[12:14] == b"\x88\x08" for _, _, frame in played.outputs["a"])
    ok = off <= TOLERANCE and not missing and not passed_on and played.report["conservation"]["holds"]
    return ok, f"rates {off:.2%} off, {missing} lost, {passed_on} control frames at the sender"


EVERY_TIME = dict.fromkeys(ALL, FOREVER)
MALFORMED = (
    control(0x00FF, pfc(EVERY_TIME)[16:38]),
    pfc(EVERY_TIME, vector=0x1000),
    pfc(EVERY_TIME, length=36),
)


def lossy_congestion(longspan, work, quick, lossless=LOSSLESS):
    """Two ports at line rate send one lossy priority to a third: it drops, and pauses nobody."""
    end, ports = until(quick), {"a": "10G", "b": "10G", "c": "10G"}
    sent = [list(stream(START, end, RATE, 0, source=source)) for source in (1, 3)]
    streams = {"a": [sent[0]], "c": [sent[1]], "b": [hello()]}
    played = play(longspan, work, settings(ports, lossless, more='[buffer]\nshared = "2MiB"'), streams)
    out, all_sent = len(played.data("b", 0)), sum(len(own) for own in sent)
    told = [p for port in ("a", "c") for p in played.paused(port)]
    ok = not told and out < all_sent
    return ok, f"{all_sent - out} of {all_sent} dropped, pauses for {len(told)} ports"


def resume(longspan, work, quick):
    """Priority 3 is paused, then resumed by a time of zero."""
    end = until(quick)
    ends = (START + end) // 2
    streams, sent = counted(taking_turns(START, end, RATE, ALL))
    storms = [storm(START - LEAD, ends, (3,), RATE), [(ends, pfc({3: 0}))]]
    played = play(longspan, work, settings(PAIR), {"a": streams, "b": storms})
    passed = during(played, (3,), ends)
    latency = played.data("b", 3)[0].at - ends
    # What waited leaves first, so the rate is read once it is gone.
    tail = rate_of([a for a in played.data("b", 3) if a.number > sent(3) * 9 // 10], START, end + SECOND)
    ok = not passed and latency < 1_000_000 and not lost(played, sent, ALL)
    ok = ok and tail >= (1 - TOLERANCE) * RATE / 8
    return ok, f"{passed} passed the pause, resumed after {latency / 1e3:.1f} us"


def pause_duration(longspan, work, quick, lossless=LOSSLESS):
    """One PFC frame, not refreshed: the gap of its priority is quanta x 512 bit times."""
    worst, texts = 0.0, []
    for quanta in (100, 1_000, 20_000, FOREVER):
        wanted = pause_ns(quanta, RATE)
        arrives = START + 1_000_000
        streams = {"a": taking_turns(START, arrives + wanted + LEAD, RATE, ALL), "b": [[(arrives, pfc({3: quanta}))]]}
        played = play(longspan, work / str(quanta), settings(PAIR, lossless), streams)
        gap = next(a.at for a in played.data("b", 3) if a.at >= arrives + wanted // 2) - arrives
        # Frames of the priority come 6.7 us apart where nothing is paused.
        worst = max(worst, abs(gap - wanted) / wanted)
        texts.append(f"{gap / 1e3:.2f} us for {wanted / 1e3:.2f}")
    return worst <= 0.05, ", ".join(texts)


def all_ports(longspan, work, quick):
    """A storm at each of four ports."""
    end, ports = until(quick), dict.fromkeys("abcd", "10G")
    streams, sent = {}, None
    for number, name in enumerate(ports, 1):
        to = (2, 1, 4, 3)[number - 1]
        own, sent = counted(taking_turns(START, end, RATE, ALL, source=number, to=to))
        streams[name] = [*own, storm(START - LEAD, end, LOSSLESS, RATE, source=number), hello(number, to)]
    played = play(longspan, work, settings(ports), streams)
    passed = sum(during(played, LOSSLESS, end, name) for name in ports)
    missing = sum(max(0, lost(played, sent, ALL, name)) for name in ports)
    return not passed and not missing, f"lossless during the storms: {passed}; lost in all: {missing}"


def headroom_burst(longspan, work, quick, lossless=LOSSLESS):
    """A burst of twice the egress: the pause leaves before any drop, and there is no drop."""
    end, ports = until(quick), {"a": "20G", "b": "10G"}
    streams, sent = counted([stream(START, end, 2 * RATE, 3)])
    played = play(longspan, work, settings(ports, lossless), {"a": streams, "b": []})
    told = sum(bool(times.get(3)) for _, times in played.pauses("a"))
    used = played.priority("a", 3)["ingress"]["headroom_watermark_bytes"]
    missing = lost(played, sent, (3,))
    return told > 0 and not missing, f"{told} pauses, {missing} lost, {used / 1e6:.1f} MB of headroom used"


def ecn_first(longspan, work, quick, kmin="20kB"):
    """Load rises in steps from 95 to 105 % of the egress: marks come before the first pause."""
    end, ports = until(quick), {"a": "20G", "b": "10G"}
    queue = f'[[port.queue]]\npriorities = [3]\necn = {{ kmin = "{kmin}", kmax = "8MB", pmax = 1.0 }}'
    part = (end - START) // 4
    ramp = [
        stream(START + step * part, START + (step + 1) * part, RATE * percent / 100, 3, ecn=2)
        for step, percent in enumerate((95, 100, 102, 105))
    ]
    streams, sent = counted(ramp)
    played = play(longspan, work, settings(ports, queues=queue), {"a": streams, "b": []})
    mark = next((a.at for a in played.data("b", 3) if a.is_marked), None)
    told = next((at for at, _ in played.pauses("a")), None)
    missing = lost(played, sent, (3,))
    ok = None not in (mark, told) and mark < told and not missing
    when = [f"{(at - START) / 1e3:.0f} us" if at else "never" for at in (mark, told)]
    return ok, f"first mark at {when[0]}, first pause at {when[1]}, {missing} lost"


def watchdog(longspan, work, quick, storm_ms=400, action="drop", detects=True, drops=True):
    """A storm and two bursts of traffic, as PFCWD_BASIC: the first during the storm, the second after it."""
    rate, ms = 1_000_000_000, 1_000_000
    times = f'{{ detection = "200ms", restoration = "200ms", action = "{action}" }}'
    ends, detected = START + storm_ms * ms, START + 200 * ms
    second = ends + 300 * ms
    first = stream(START + 100 * ms, ends + 100 * ms, rate / 100, 3)
    later = stream(second, second + (20 if quick else 100) * ms, rate, 3, source=7)
    lists, _ = counted([first, later])
    streams = {"a": lists, "b": [storm(START, ends, (3,), rate)]}
    played = play(longspan, work, settings({"a": "1G", "b": "1G"}, watchdog=times), streams)
    own = played.data("b", 3)
    early = sum(a.source == 1 for a in own)
    late = [a for a in own if a.source == 7]
    events = [event["event"] for event in played.report["watchdog"]["events"]]
    at = {e["event"]: e["at_ns"] for e in played.report["watchdog"]["events"]}
    gone = early == (0 if detects and drops else len(lists[0]))
    full = len(late) == len(lists[1]) and rate_of(late, START, second + SECOND) >= (1 - TOLERANCE) * rate
    # What came first waits from 100 ms on: that is when the queue begins to be stalled. It is restored 200 ms after the
    # last pause.
    every = pause_ns(FOREVER, rate) // 2
    due = {"detected": detected + 100 * ms, "restored": START + (storm_ms * ms - 1) // every * every + 200 * ms}
    seen = events == ["detected", "restored"]
    in_time = not detects or (seen and all(0 <= at[name] - due[name] <= 10 * ms for name in due))
    ok = gone and full and in_time and seen == detects
    return ok, f"storm of {storm_ms} ms: {early} of {len(lists[0])} during it, {len(late)} of {len(lists[1])} after it"


def counters(longspan, work, quick):
    """As many PFC frames as the generator sent are counted, at their priority alone."""
    frames = 1_000
    every = pause_ns(1_000, RATE)
    streams = {"a": [], "b": [repeated(START, START + frames * every, pfc({3: 1_000}), every)]}
    played = play(longspan, work, settings(PAIR), streams)
    seen = [sum(played.priority("b", p)["pauses_received"][kind] for kind in ("xoff", "xon", "ignored")) for p in ALL]
    return seen[3] == frames == sum(seen), f"{seen[3]} of {frames}, others {sum(seen) - seen[3]}"


# IEEE 802.3 table 31B.3.7: quanta within which a port has stopped.
RESPONSE = {
    "100M": (100_000_000, 1),
    "1G": (1_000_000_000, 2),
    "10G": (10_000_000_000, 67),
    "25G": (25_000_000_000, 80),
    "40G": (40_000_000_000, 118),
    "50G": (50_000_000_000, 147),
    "100G": (100_000_000_000, 394),
    "200G": (200_000_000_000, 453),
    "400G": (400_000_000_000, 905),
}


def response_time(longspan, work, quick, rates=(), window=None):
    """No frame of the priority begins later than the quanta of the rate after the pause arrived."""
    late, texts = 0, []
    for name in rates:
        rate, quanta = RESPONSE[name]
        # Twice what the link takes, from long enough before: much waits when the pause comes.
        length = 10 * max(2_000, 84 * 8 * SECOND // rate)
        arrives = START + length
        streams = {
            "a": [stream(START, arrives + length, 2 * rate, 3, (60,))],
            "b": [[(arrives, pfc({3: FOREVER}))]],
        }
        configuration = settings({"a": name, "b": name}, tx_window=window and f'"{window}"')
        played = play(longspan, work / name, configuration, streams)
        before = [a.at for a in played.data("b", 3) if a.at < arrives + pause_ns(FOREVER, rate) // 2]
        took, bound = max(before) - arrives, quanta * QUANTUM_BITS * SECOND / rate
        late += took > bound
        texts.append(f"{name} {took / 1e3:.3g} of {bound / 1e3:.3g} us")
    return not late, ", ".join(texts)


def simulated(longspan, work, quick, scenario="", traffic=(), lossless="[3]"):
    """Senders that obey pauses, by simulation: the receiver's link is full, and nothing is lost."""
    chosen = (*traffic, f"network.lossless={lossless}", f"scenario.until={1 if quick else 2}ms")
    seen = (*chosen, 'sampling.ports=["*.r0"]')
    (run,) = simulate(longspan, pathlib.Path(__file__).parent / scenario, work / "out", seen)
    of = run["metrics"]
    gone = of["drops.lossless"] + of["drops.lossy"]
    share, pauses = of["link.r0/sw0.sw0.utilisation"], of["pfc.total.pauses_sent"]
    ok = run["ending"] == "finished" and not gone and share >= 0.95 and pauses > 0
    return ok, f"{gone:,} frames lost, {100 * share:.1f} % of the link, {pauses:,} pauses"


def two_classes(longspan, work, quick, lossless=LOSSLESS):
    """400G of egress, 410G of traffic, half of it of each of two classes: both are paused."""
    rate, end = 400_000_000_000, START + (200_000 if quick else 1_000_000)
    lengths = (4092,)
    streams, sent = counted([stream(START, end, 205_000_000_000, priority, lengths) for priority in LOSSLESS])
    played = play(longspan, work, settings({"a": "800G", "b": "400G"}, lossless), {"a": streams, "b": []})
    missing = lost(played, sent, LOSSLESS)
    rates = [rate_of(played.data("b", priority), START, end) / rate for priority in LOSSLESS]
    told = played.paused("a")
    ok = told == list(LOSSLESS) and not missing
    return ok, f"paused: {told}; shares {rates[0]:.1%}, {rates[1]:.1%}; {missing} lost"


def full_headroom(longspan, work, quick, blocked=(3,)):
    """Nothing leaves, and frames come at line rate: what is held at the first drop is XOFF and headroom."""
    xoff, headroom, end = 100_000, 400_000, START + 2_000_000
    groups = f'xoff = "{xoff}B"\nheadroom = "{headroom}B"'
    early, texts = 0, []
    for length in (60, 1020, 9100):
        streams, sent = counted([stream(START, end, RATE, 3, (length,))])
        storms = [storm(START - LEAD, end, blocked, RATE)]
        played = play(longspan, work / str(length), settings(PAIR, groups=groups), {"a": streams, "b": storms})
        cells = 16 * (1 + -(-length // 16))
        accepted = len(played.data("b", 3))
        free, dropped = xoff + headroom - accepted * cells, sent(3) - accepted
        early += not dropped or free >= cells
        texts.append(f"{length + 4} B: {dropped} dropped, {free} B free")
    return not early, ", ".join(texts)


def many_to_one(longspan, work, quick, flows=(), lossless=LOSSLESS, shares=None, storms=(), watch='"none"'):
    """Flows of two ports into a third, each a priority, a part of the line and its port.

    Every flow has its share of the egress within 5 %, lossless ones lose nothing, and lossy ones lose where their share
    is less than what they bring.
    """
    end, ports = until(quick), dict.fromkeys("abc", "10G")
    own = {port: [] for port in ports}
    for priority, part, port in flows:
        source = 1 + list(ports).index(port)
        own[port].append(stream(START + priority * 100, end, part * RATE, priority, source=source, to=2))
    lists, sent = counted([flow for port in "ac" for flow in own[port]])
    streams = {"a": lists[: len(own["a"])], "c": lists[len(own["a"]) :], "b": [hello(), *storms]}
    small = '[buffer]\nshared = "400kB"'
    played = play(longspan, work, settings(ports, lossless, more=small, watchdog=watch, mtu="1500"), streams)
    settled = START + (end - START) // 4
    shares = shares or {priority: part for priority, part, _ in flows}
    got = {p: rate_of(played.data("b", p), settled, end) / RATE for p in shares}
    wrong = [p for p, share in shares.items() if abs(got[p] - share) > FAIR * share]
    gone = {p: lost(played, sent, (p,)) for p in shares}
    must = {p for p, part, _ in flows if p not in LOSSLESS and part > shares[p] * (1 + FAIR)}
    orderly = all(a.number < b.number for p in LOSSLESS for a, b in zip(played.data("b", p), played.data("b", p)[1:]))
    told = {p for port in "ac" for p in played.paused(port)}
    over = {p for p, part, _ in flows if p in LOSSLESS and part > shares[p] * (1 + FAIR)}
    loses = {p for p, count in gone.items() if count}
    ok = not wrong and loses == must and orderly and told == over
    text = ", ".join(f"{p}: {got[p]:.1%}{f' ({gone[p]} lost)' if gone[p] else ''}" for p in sorted(shares))
    return ok, f"{text}; paused {sorted(told) or 'none'}"


def throttled(longspan, work, quick, lossless=LOSSLESS):
    """Pauses for a tenth of the time take a tenth of a lossless flow, since the link is full; the watchdog is on."""
    # Long against the turns of the scheduler: what waits of other priorities would fill a short gap.
    period = 500_000
    times = dict.fromkeys(LOSSLESS, round(period / 10 * RATE / QUANTUM_BITS / SECOND))
    pauses = repeated(START, until(quick), pfc(times), period)
    shares = {0: 0.25, 1: 0.25, 3: 0.225, 4: 0.225}
    watch = '{ action = "drop" }'
    return many_to_one(longspan, work, quick, EQUAL, lossless, shares, [pauses], watch)


EQUAL = ((0, 0.25, "a"), (3, 0.25, "a"), (1, 0.25, "c"), (4, 0.25, "c"))
OVER_LOSSLESS = ((0, 0.25, "a"), (3, 0.30, "a"), (1, 0.25, "c"), (4, 0.30, "c"))
OVER_LOSSY = ((0, 0.30, "a"), (3, 0.24, "a"), (1, 0.30, "c"), (4, 0.24, "c"))
OVER_BOTH = ((3, 0.40, "a"), (0, 0.20, "a"), (4, 0.20, "c"), (1, 0.40, "c"))
FLUCTUATING = ((0, 0.2, "a"), (1, 0.2, "a"), (2, 0.2, "c"), (5, 0.2, "c"), (3, 0.2, "a"), (4, 0.1, "c"))

p = functools.partial
SLOWER = p(simulated, scenario="sonic/slower.toml")
EIGHT = ("topology.senders=8", 'traffic.incast.sources=["h[0-7]"]', "traffic.incast.flows=8")
QUEUE_PAIRS = p(simulated, scenario="bmwg/incast.toml", traffic=EIGHT)
WITHOUT = {"lossless": ()}
IMIX = (60,) * 7 + (566,) * 4 + (1514,)

CASES = [
    Case("Y01", "lossy traffic during a storm of priorities 3 and 4",
        "six lossy flows within 2 % of their rate, none lost, no PFC for them", f"{LOSSY_PLAN}, Y01",
        versus(
            p(under_storm, stopped=LOSSLESS, held=(), flows=LOSSY),
            p(under_storm, stopped=ALL, held=(), flows=LOSSY, lossless=ALL),
        )),
    Case("Y02", "malformed PFC frames: another opcode, a reserved bit, cut short",
        "no priority is paused, rates within 2 %, none lost, nothing forwarded",
        f"{LOSSY_PLAN}, Y02, and the frames of its code (26268)",
        versus(
            p(under_control_frames, frames=MALFORMED), p(under_control_frames, frames=(pfc(EVERY_TIME),)),
        )),
    Case("Y02-vector", "a PFC frame whose enable vector is all ones, reserved bits included",
        "no priority is paused", f"{LOSSY_PLAN}, Y02",
        alone(p(under_control_frames, frames=(pfc(EVERY_TIME, vector=0xFFFF),))),
        "the other octet of the vector names all priorities, and IEEE 802.3 annex 31D has a receiver ignore the "
        "reserved one: this is a valid pause"),
    Case("Y03", "802.3x PAUSE frames",
        "all eight flows within 2 % of their rate, none lost, nothing forwarded",
        f"{LOSSY_PLAN}, Y03; GLOBAL_PAUSE_README.md",
        versus(
            p(under_control_frames, frames=(pause(FOREVER),)),
            p(under_control_frames, frames=(pause(FOREVER),), keys="{ global_pause = true }"),
        )),
    Case("Y04", "a lossy queue with twice what its link takes", "no PFC, and the excess is dropped",
        f"{LOSSY_PLAN}, Y04; issue 14123",
        versus(lossy_congestion, p(lossy_congestion, lossless=(0, 3, 4)))),
    Case("L01", "a storm of priority 3",
        "exactly no frame of it; seven others within 2 %, none lost; PFC counted at priority 3 alone",
        f"{LOSSLESS_PLAN}, L01; PFC_PAUSE_LOSSLESS_README.md",
        versus(under_storm, p(under_storm, lossless=(4,)))),
    Case("L02", "a storm of priorities 3 and 4",
        "exactly no frame of either; six others within 2 %, none lost", f"{LOSSLESS_PLAN}, L02",
        versus(
            p(under_storm, stopped=LOSSLESS, held=LOSSLESS), p(under_storm, held=LOSSLESS, stopped=(3,)),
        )),
    Case("L03", "a pause time of zero", "the priority resumes within 1 ms, at its rate within 2 %",
        f"{LOSSLESS_PLAN}, L03", alone(resume)),
    Case("L04", "one pause of a known time, not refreshed", "the gap is quanta x 512 bit times within 5 %",
        f"{LOSSLESS_PLAN}, L04", versus(pause_duration, p(pause_duration, **WITHOUT))),
    Case("L05", "storms at all of four ports at once", "no lossless frame during them, and none lost",
        f"{LOSSLESS_PLAN}, L05", alone(all_ports)),
    *(
        Case(f"L06-{length + 4}", f"L01 with frames of {length + 4} bytes", "as L01", f"{LOSSLESS_PLAN}, L06",
            alone(p(under_storm, lengths=(length,))))
        for length in (60, 508, 1514, 9212)
    ),
    Case("L07", "L01 with frames of mixed lengths", "as L01", f"{LOSSLESS_PLAN}, L07",
        alone(p(under_storm, lengths=IMIX))),
    Case("L08", "a burst that goes into the headroom", "PFC for priority 3, and none of it lost",
        f"{LOSSLESS_PLAN}, L08", versus(headroom_burst, p(headroom_burst, **WITHOUT))),
    Case("L09", "congestion that grows slowly", "the first CE mark before the first PFC frame, none lost",
        f"{LOSSLESS_PLAN}, L09", versus(ecn_first, p(ecn_first, kmin="4MB"))),
    Case("L12", "pauses shorter than the detection time of the watchdog",
        "no storm is detected, all frames of both bursts arrive", f"{LOSSLESS_PLAN}, L12; PFCWD_BASIC.md",
        versus(p(watchdog, storm_ms=150, detects=False), p(watchdog, detects=False))),
    Case("L13", "a storm longer than that, action drop",
        "detected and restored in time; the first burst is dropped, the second arrives at line rate",
        f"{LOSSLESS_PLAN}, L13; PFCWD_BASIC.md", versus(watchdog, p(watchdog, action="alert"))),
    Case("L13-forward", "the same, action forward",
        "detected and restored in time; all frames of both bursts arrive",
        f"{LOSSLESS_PLAN}, L13; PFC_Snappi_Additional_Testcases.md, 11",
        versus(p(watchdog, action="forward", drops=False), p(watchdog, drops=False))),
    Case("L15", "1,000 PFC frames", "1,000 counted at priority 3, none at others", f"{LOSSLESS_PLAN}, L15",
        alone(counters)),
    Case("response", "response time to XOFF, `tx_window` as it is by default",
        "no frame begins later than the quanta of IEEE 802.3 31B.3.7, 100M to 400G",
        "sonic-mgmt issue 6223",
        versus(p(response_time, rates=tuple(RESPONSE)), p(response_time, rates=("400G",), window="2us"))),
    Case("response-1us", "the same with `tx_window` of 1 us", "as before", "sonic-mgmt issue 6223",
        alone(p(response_time, rates=tuple(RESPONSE), window="1us"))),
    Case("two-classes", "400G with 410G of traffic, half of priority 3 and half of 4",
        "pauses for both, none lost", "sonic-mgmt issue 20075",
        versus(two_classes, p(two_classes, lossless=(3,)))),
    Case("additional-03", "400G into 100G", "no frame lost; 95 % of the slower link; the faster one is paused",
        "sonic-mgmt, PFC_Snappi_Additional_Testcases.md, 03; ours: 95 %",
        versus(SLOWER, p(SLOWER, lossless="[]"))),
    Case("rocev2", "PFC incast of eight queue pairs from each of eight hosts",
        "no frame lost; 95 % of the receiver's link; the hosts are paused",
        "sonic-mgmt, its tests of RoCEv2; ours: 95 %",
        versus(QUEUE_PAIRS, p(QUEUE_PAIRS, lossless="[]"))),
    Case("headroom-full", "a sender at line rate that obeys no pause",
        "no drop before XOFF and headroom are full, within a frame", "sonic-mgmt issue 14005",
        versus(full_headroom, p(full_headroom, blocked=(4,)))),
    Case("many-1", "lossless 2 x 30 % and lossy 2 x 25 % to one port",
        "25 % for each within 5 %; nothing lost, in order; PFC for the lossless", f"{CONGESTION_PLAN} 1",
        versus(
            p(many_to_one, flows=OVER_LOSSLESS, shares=dict.fromkeys((0, 1, 3, 4), 0.25)),
            p(many_to_one, flows=OVER_LOSSLESS, shares=dict.fromkeys((0, 1, 3, 4), 0.25), **WITHOUT),
        )),
    Case("many-2", "lossless 2 x 24 % and lossy 2 x 30 %",
        "the egress is full; no lossless frame lost, lossy ones lost, no PFC", f"{CONGESTION_PLAN} 2",
        alone(p(many_to_one, flows=OVER_LOSSY, shares={0: 0.26, 1: 0.26, 3: 0.24, 4: 0.24}))),
    Case("many-3", "lossless 40 % and 20 %, lossy 20 % and 40 %",
        "no lossless frame lost, nor of the lossy 20 %; PFC for the lossless 40 % alone",
        f"{CONGESTION_PLAN} 3",
        alone(p(many_to_one, flows=OVER_BOTH, shares={0: 0.2, 1: 0.3, 3: 0.3, 4: 0.2}))),
    Case("many-4", "lossy 4 x 20 %, lossless 20 % and 10 %",
        "18 % for each, 10 % for the last, within 5 %; no lossless frame lost", f"{CONGESTION_PLAN} 4",
        alone(
            p(many_to_one, flows=FLUCTUATING, shares={0: 0.18, 1: 0.18, 2: 0.18, 5: 0.18, 3: 0.18, 4: 0.1}),
        )),
    Case("many-5", "storms of priorities 3 and 4 that come and go",
        "exactly no frame of either while they last; six others within 5 %; none lost", f"{CONGESTION_PLAN} 5",
        versus(storms_that_come_and_go, p(storms_that_come_and_go, stopped=(3,)))),
    Case("many-6", "pauses for a tenth of the time",
        "the lossless flows at 90 % of their rate within 5 %, the lossy ones at theirs, nothing lost",
        f"{CONGESTION_PLAN} 6", versus(throttled, p(throttled, **WITHOUT))),
]

NOT_RUN = [
    NotRun("L10", "PFC deadlock", "the exam of the BMWG draft has a cyclic dependency"),
    NotRun("L11", "a link that flaps during a storm", "a capture has no link state; `scripts/faults` takes links down"),
    NotRun("L14", "PFC between ASICs", "a gateway has none; `shards` holds its cores to one behaviour"),
    NotRun("additional-01", "line rate without congestion", "the rate of a software gateway is the machine's"),
    NotRun("additional-macsec", "cases 02, 06, 07, 09 and 12", "the gateway has no MACsec"),
    NotRun("additional-lag", "cases 08 and 09", "the gateway has no link aggregation"),
    NotRun("latency", "latency, capacity, least frame without loss", "the figures are the machine's: `scripts/bench`"),
    NotRun("bgp", "convergence of routes", "routes are static"),
    NotRun("qos-sai", "tests/qos of the switch's interface (SAI)", "it is held to them inside: `conformance_buffer`"),
]
