"""The test cases of a lossless switch, from outside. Each case returns whether it held, and what was measured.

Times are judged against what the standard says with wide bounds, since testers and switch share the cores of a machine.
"""

import time

from . import frames

FOREVER = 65535
# The rate of port 2, and bits in a quantum.
SLOW, QUANTUM = 100_000_000, 512


class Broken(Exception):
    """The switch lost or disordered lossless frames after it had paused their sender: no busy machine explains that."""


def numbers(got):
    return [frames.number_of(frame) for _, frame in got]


def pause_by_priority(bench, paused=3, other=4):
    """A PFC frame stops its priority and no other."""
    bench.hold(2, {paused: FOREVER})
    for number in range(30):
        priority = (paused, other, 0)[number % 3]
        bench[1].send(frames.data(1, 2, number, priority))
    meanwhile = numbers(bench.collect(2, 20, 0.25))
    bench[2].send(frames.pfc(2, {paused: 0}))
    after = numbers(bench.collect(2, 10))
    held = [number for number in meanwhile if number % 3 == 0]
    ok = not held and len(meanwhile) == 20 and after == list(range(0, 30, 3))
    return ok, f"paused: {len(held)} of 10 passed; others: {len(meanwhile)} of 20; after the resume: {len(after)} of 10"


def code_points(bench):
    """DSCP 34 is priority 4: its pause leaves DSCP 26 alone."""
    return pause_by_priority(bench, 4, 3)


def true_duration(bench):
    """A pause lasts its quanta at the rate of the link, and no longer."""
    quanta = 19_531
    wanted = quanta * QUANTUM / SLOW
    started = time.monotonic()
    bench[2].send(frames.pfc(2, {3: quanta}))
    bench.wait(2, 0.02)
    bench[1].send(frames.data(1, 2, 1))
    got = bench.collect(2, 1)
    if not got:
        return False, "nothing came"
    took = got[0][0] - started
    return 0.99 * wanted <= took <= wanted + 0.15, f"{1000 * took:.1f} ms of {1000 * wanted:.1f} ms"


def several_times(bench):
    """One PFC frame pauses each priority for its own time."""
    bench[2].send(frames.pfc(2, {3: FOREVER, 4: 9_766}))
    bench.wait(2, 0.02)
    bench[1].send(frames.data(1, 2, 3, 3))
    bench[1].send(frames.data(1, 2, 4, 4))
    first = numbers(bench.collect(2, 1, 0.25))
    bench[2].send(frames.pfc(2, {3: 0}))
    second = numbers(bench.collect(2, 1))
    return (first, second) == ([4], [3]), f"first priority {first}, then {second}"


def malformed_pauses(bench):
    """A frame that only looks like a PFC frame pauses nothing."""
    passed = {}
    for name, frame in frames.malformed(2, {3: FOREVER}).items():
        bench[2].send(frame)
        bench.wait(2, 0.02)
        bench[1].send(frames.data(1, 2, 1))
        passed[name] = len(bench.collect(2, 1, 0.2))
    stopped = [name for name, count in passed.items() if count == 0]
    return not stopped, f"{len(passed)} kinds; obeyed: {', '.join(stopped) or 'none'}"


def global_pause(bench):
    """An 802.3x PAUSE stops nothing on a port with PFC."""
    bench[2].send(frames.pause(2, FOREVER))
    bench.wait(2, 0.02)
    for number, priority in enumerate((3, 4, 0)):
        bench[1].send(frames.data(1, 2, number, priority))
    got = bench.collect(2, 3, 0.2)
    return len(got) == 3, f"{len(got)} of 3 passed"


def not_forwarded(bench):
    """PFC frames end at the port where they come in."""
    bench[2].send(frames.pfc(2, {3: FOREVER}))
    others = [len(bench.pauses(station, lambda _: False, 0.1)) for station in (1, 3, 4)]
    return others == [0, 0, 0], f"seen at other stations: {sum(others)}"


def lossless_overload(bench):
    """XOFF in time, refreshed, for its priority alone; the headroom takes what follows; XON; nothing is lost."""
    batch = [frames.data(1, 2, number) for number in range(500)]
    stop = frames.pfc(2, {3: FOREVER})
    is_xoff = lambda times: times.get(3, 0) > 0
    bench.hold(2, {3: FOREVER})
    sent, told = 0, []
    while sent < 300 and not told:
        bench[1].send(batch[sent])
        sent += 1
        told = bench.pauses(1, is_xoff, 0.0005)
    before = sent
    bench[2].send(stop)
    for frame in batch[sent : sent + 200]:
        bench[1].send(frame)
    sent += 200
    for _ in range(2):
        bench[2].send(stop)
        told += bench.pauses(1, is_xoff, 0.1)
    bench[2].send(frames.pfc(2, {3: 0}))
    got = numbers(bench.collect(2, sent))
    resumed = bench.pauses(1, lambda times: times.get(3) == 0)
    only = all(set(times) <= {3} for times in told)
    xoffs = sum(1 for times in told if times.get(3, 0) > 0)
    xon = bool(resumed) and resumed[-1].get(3) == 0
    # 100 kB of frames of 1,000 bytes, each charged whole cells.
    in_time = 80 <= before <= 140
    ok = in_time and xoffs >= 2 and only and xon
    measured = (
        f"XOFF after {before} frames, {xoffs} XOFFs{'' if only else ', also for others'}; "
        f"{len(got)} of {sent} arrived{', in order' if got == sorted(got) else ', disordered'}; XON {'came' if xon else 'missing'}"
    )
    if xoffs and got != list(range(sent)):
        raise Broken(measured)
    return ok, measured


def lossy_never_pauses(bench):
    """A congested lossy queue drops, and no one is paused for it; lossless frames beside it all arrive."""
    sent = 3_000
    batch = [frames.data(1, 2, number, 3 if number % 50 == 0 else 0) for number in range(sent)]
    told, got = [], []
    # Twice as fast as port 2 sends, in steps that the ring of an interface takes.
    for first in range(0, sent, 50):
        for frame in batch[first : first + 50]:
            bench[1].send(frame)
        told += bench.pauses(1, lambda _: False, 0.002)
        got += numbers(bench.collect(2, sent, 0.0))
    got += numbers(bench.collect(2, sent, 0.5))
    lossless = [number for number in got if number % 50 == 0]
    told = [times for times in told + bench.pauses(1, lambda _: False, 0.05) if 0 in times]
    congested = len(got) < sent
    ok = congested and not told and lossless == list(range(0, sent, 50))
    return ok, (
        f"lossy: {len(got) - len(lossless)} of {sent - sent // 50} arrived, {len(told)} pauses of its priority; "
        f"lossless: {len(lossless)} of {sent // 50}"
    )


def ecn_marks(bench):
    """A queue above Kmax marks frames that understand ECN, and no others; below Kmin it marks none."""
    bench.hold(2, {3: FOREVER})
    for number in range(80):
        bench[1].send(frames.data(1, 2, number, ecn=frames.ECT0 if number % 2 else 0))
    bench.wait(2, 0.05)
    bench[2].send(frames.pfc(2, {3: 0}))
    got = [(frames.number_of(frame), frames.ecn_of(frame)) for _, frame in bench.collect(2, 80)]
    marked = [number for number, ecn in got if ecn == frames.CE]
    wrong = [number for number in marked if number % 2 == 0]
    deep = [number for number in marked if number < 30]
    shallow = [number for number in marked if number >= 65]
    ok = len(got) == 80 and not wrong and len(deep) == 15 and not shallow
    return ok, f"{len(marked)} of 40 marked, {len(deep)} of 15 above Kmax, {len(shallow)} below Kmin, {len(wrong)} without ECT"


def watchdog(bench):
    """A pause storm is detected, what waits is dropped, and traffic passes again once it is over."""
    for number in range(10):
        bench[4].send(frames.pfc(4, {3: FOREVER}))
        bench.wait(4, 0.005)
        bench[1].send(frames.data(1, 4, number))
    during = []
    ends = time.monotonic() + 0.6
    while time.monotonic() < ends:
        bench[4].send(frames.pfc(4, {3: FOREVER}))
        during += numbers(bench.collect(4, 1, 0.01))
    # Restored 200 ms after the last pause frame.
    restored, deadline, tried = [], time.monotonic() + 3, 100
    while not restored and time.monotonic() < deadline:
        bench[1].send(frames.data(1, 4, tried))
        tried += 1
        restored = numbers(bench.collect(4, 1, 0.05))
    late = [number for number in restored if number < 100]
    ok = not during and bool(restored) and not late
    return ok, f"{len(during) + len(late)} of 10 passed the storm; {'traffic passes' if restored else 'nothing passes'} after it"


CASES = [
    ("pause-by-priority", pause_by_priority),
    ("code-points", code_points),
    ("true-duration", true_duration),
    ("several-times", several_times),
    ("malformed-pauses", malformed_pauses),
    ("global-pause", global_pause),
    ("not-forwarded", not_forwarded),
    ("lossless-overload", lossless_overload),
    ("lossy-never-pauses", lossy_never_pauses),
    ("ecn-marks", ecn_marks),
    ("watchdog", watchdog),
]
