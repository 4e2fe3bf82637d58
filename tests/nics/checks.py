"""The checks of each model of NIC. A check returns what it saw, and raises Failure where a promise was broken."""

import os

import commission
import frames
from guest import LOSSLESS
from wait import expect, wait_for_count, wait_until

CAPTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data/captures/rxe-cm-multiqp.pcap")

LOSSLESS_DSCP, LOSSY_DSCP, LOSSY = 26, 0, 0
QUANTUM_BITS = 512
QUANTA_MAX = 65_535
# The clock of the guest is less exact than that of a machine: DPDK takes it to 10 MHz.
CLOCK = 0.99
# So many frames may be on their way at once. A device's ring holds more.
WINDOW = 64
RELOADS = 10
FLAPS = 3
# `longspan` in the guest, and what docs/running.md says that a thread may keep: CAP_IPC_LOCK.
USER, MAY_KEEP = "999", 1 << 14
# Drivers whose second transmit queue loses frames, or sends none.
ONE_QUEUE = {
    "virtio-net-pci": "the host would steer flows to a receive queue that no one serves",
    "e1000": "its chip has no second one",
    "e1000e": "its driver is the e1000's",
}


class Bench:
    """The guest, its gateway, and what stands on both sides of it."""

    def __init__(self, model, longspan, guest, gateway, dc0, lh0):
        self.model, self.longspan = model, longspan
        self.guest, self.gateway, self.dc0, self.lh0 = guest, gateway, dc0, lh0
        self.last_flow = 0

    def directions(self):
        return ((self.dc0, self.lh0), (self.lh0, self.dc0))

    def new_flow(self):
        """The UDP port of its own flow, so that what an earlier check left on its way is not counted with it."""
        self.last_flow += 1
        return self.last_flow

    def settle(self, broken):
        """Makes it as it was before the first check: nothing on the links, and a gateway that has nothing inside."""
        for side in (self.dc0, self.lh0):
            side.stations.close()
            self.guest.set_link(side.name, True)
        if broken and self.gateway.runs():
            self.gateway.signal("KILL")
            self.gateway.ended()
        if not self.gateway.runs():
            self.gateway.start()


def cross(sent, source, sink):
    """Sends frames, so many at once as a ring surely holds, and compares those that arrive."""
    capture = sink.capture()
    for number, frame in enumerate(sent):
        wait_for_count(f"frames arrived at {sink.name}", number - WINDOW, lambda: len(capture.so_far()))
        source.send(frame)
    wait_for_count(f"frames arrived at {sink.name}", len(sent), lambda: len(capture.so_far()))
    arrived = [frame.data for frame in capture.end()]
    expect(len(arrived) == len(sent), f"{len(sent)} frames were sent and {len(arrived)} arrived")
    for priority, (before, after) in enumerate(zip(frames.by_priority(sent), frames.by_priority(arrived))):
        expect(before == after, f"the frames of priority {priority} are not those that were sent, in their order")


def mixed_frames_cross(bench):
    lengths = []
    for seed, (source, sink) in enumerate(bench.directions(), 1):
        sent = frames.mixed(seed)
        lengths += map(len, sent)
        cross(sent, source, sink)
    return f"{frames.COUNT} each way, {min(lengths)} to {max(lengths)} bytes"


def roce_crosses(bench):
    sent = frames.captured(CAPTURE)
    for source, sink in bench.directions():
        cross(sent, source, sink)
    return f"{len(sent)} each way"


def queues_are_right(bench):
    lines = bench.gateway.device_lines()
    own = [line for line in lines if "a transmit queue for control frames" in line]
    expect(len(lines) >= 2, f"the gateway does not introduce its devices: {lines}")
    if bench.model in ONE_QUEUE:
        expect(not own, f"two transmit queues, but {ONE_QUEUE[bench.model]}: {own}")
    said = "one, " if not own else "two, one of them for control frames, "
    return said + "by the gateway's log" + host_sees_one_pair(bench)


def privileges_are_gone(bench):
    threads = bench.gateway.threads()
    for name, status in threads:
        expect(status["Uid"].split()[0] == USER, f"thread {name} runs as user {status['Uid']}")
        capabilities = int(status["CapEff"], 16)
        expect(capabilities & ~MAY_KEEP == 0, f"thread {name} keeps capabilities {capabilities:#x}")
    return f"{len(threads)} threads, none as root"


def host_sees_one_pair(bench):
    """QEMU's indices of virtio's queues show that those of the second pair were never used."""
    if not bench.model.startswith("virtio"):
        return ""
    for side in (bench.dc0, bench.lh0):
        path = f"/machine/peripheral/{side.name}/virtio-backend"
        ask = "x-query-virtio-queue-status"
        used = [bench.guest.ask(ask, path=path, queue=queue)["last-avail-idx"] for queue in range(4)]
        is_one_pair = used[0] and used[1] and not used[2] and not used[3]
        expect(is_one_pair, f"QEMU's indices of the queues of {side.name}: {used}")
    return f"; of {len(bench.dc0.taps)} pairs that the NIC offers QEMU sees one in use"


def pause_stops_its_priority(bench):
    capture = bench.lh0.capture()
    stopped, other = bench.new_flow(), bench.new_flow()
    flows = ((stopped, LOSSLESS_DSCP, LOSSLESS, 640_000, None), (other, LOSSY_DSCP, LOSSY, 640_000, None))
    sender = bench.dc0.sender(200, *flows)
    capture.wait_for(20, stopped)
    bench.lh0.send(frames.pause(QUANTA_MAX))
    before = len(capture.numbered(stopped))
    capture.wait_for(before + 200, stopped)
    sent = sender.end()["sent"]
    for port, count in sent.items():
        capture.expect_complete(port, count)
    capture.end()
    bench.gateway.expect_no_lossless_drop()

    stamps = [frame.at_ns for frame in capture.numbered(stopped)]
    begin, end = max(zip(stamps, stamps[1:]), key=lambda pair: pair[1] - pair[0])
    asked_ns = QUANTA_MAX * QUANTUM_BITS * 1_000_000_000 // bench.lh0.link_bps
    silent, asked = (end - begin) / 1e9, asked_ns / 1e9
    expect(silent >= asked * CLOCK, f"DSCP 26 was silent for {silent:.3f} of {asked:.3f} s")
    meanwhile = sum(begin < frame.at_ns < end for frame in capture.numbered(other))
    expect(meanwhile >= 100, f"only {meanwhile} frames of DSCP 0 arrived meanwhile")
    total = sum(sent.values())
    return f"DSCP 26 silent for {silent:.2f} s, {meanwhile} frames of DSCP 0 meanwhile, {total} in all, none lost"


def overload_pauses_its_sender(bench):
    count, flow = 8_000, bench.new_flow()
    near, far = bench.dc0.capture(), bench.lh0.capture()
    before = bench.gateway.pauses_sent("dc0")
    sent = bench.dc0.sender(1_000, (flow, LOSSLESS_DSCP, LOSSLESS, 2 * bench.lh0.link_bps, count)).finished()
    far.expect_complete(flow, count)
    far.end()
    bench.gateway.expect_no_lossless_drop()
    told = bench.gateway.pauses_sent("dc0") - before

    def seen():
        return frames.pauses(frame.data for frame in near.so_far())

    wait_for_count("PFC frames arrived", told, lambda: len(seen()))
    near.end()
    times = [named.get(LOSSLESS) for named in seen()]
    expect(len(times) == told, f"the gateway counts {told} PFC frames and {len(times)} arrived")
    expect(all(set(named) == {LOSSLESS} for named in seen()), "a PFC frame is for another priority")
    expect(any(times) and 0 in times, f"stops and resumes were expected: {times}")
    heard = sent["pauses"][LOSSLESS]
    expect(1 <= heard <= told, f"the sender heard {heard} of {told} PFC frames")
    return f"{told} PFC frames, sender silent for {sent['silent_ns'][LOSSLESS] / 1e9:.2f} s, {count} frames, none lost"


def link(bench, name, up):
    bench.guest.set_link(name, up)
    wait_until(f"the gateway to see {name} {'up' if up else 'down'}", lambda: bench.gateway.link_is_up(name) == up)


def held_frames_outlast_a_flap(bench):
    """All of them come while the link is down, more than the sender may send."""
    count = 500
    for _ in range(FLAPS):
        flow, capture = bench.new_flow(), bench.lh0.capture()
        before = bench.gateway.pauses_sent("dc0")
        link(bench, "lh0", False)
        sender = bench.dc0.sender(1_000, (flow, LOSSLESS_DSCP, LOSSLESS, 4_000_000, count))
        wait_until("the sender to be paused", lambda: bench.gateway.pauses_sent("dc0") > before)
        expect(not capture.numbered(flow), "frames arrived over a link that is down")
        link(bench, "lh0", True)
        sender.finished()
        capture.expect_complete(flow, count)
        capture.end()
    bench.gateway.expect_no_lossless_drop()
    return f"{FLAPS} times {count} frames, none lost"


def traffic_outlasts_a_flap(bench):
    """Frames that the gateway gave to the device before it saw that the link is down are lost, and no others."""
    lost = 0
    for _ in range(FLAPS):
        flow, capture = bench.new_flow(), bench.lh0.capture()
        already = bench.gateway.lossless_out("lh0")
        before = bench.gateway.pauses_sent("dc0")
        sender = bench.dc0.sender(1_000, (flow, LOSSLESS_DSCP, LOSSLESS, 2_000_000, None))
        capture.wait_for(100, flow)
        link(bench, "lh0", False)
        given = bench.gateway.lossless_out("lh0") - already
        wait_until("the sender to be paused", lambda: bench.gateway.pauses_sent("dc0") > before)
        link(bench, "lh0", True)
        capture.wait_for(len(capture.numbered(flow)) + 200, flow)
        count = sender.end()["sent"][flow]
        wait_for_count("frames left", count, lambda: bench.gateway.lossless_out("lh0") - already)
        wait_until("the last frame to arrive", lambda: capture.numbered(flow)[-1].number() == count - 1)
        capture.end()
        numbers = [frame.number() for frame in capture.numbered(flow)]
        missing = sorted(set(range(count)) - set(numbers))
        expect(numbers == sorted(set(numbers)), "frames arrived out of order or twice")
        were_held = [number for number in missing if number >= given]
        expect(not were_held, f"held frames were lost: {were_held}")
        lost += len(missing)
    bench.gateway.expect_no_lossless_drop()
    return f"{FLAPS} times, {lost} frames lost on the link itself, none that was held"


def both_ways_after_a_flap(bench):
    link(bench, "dc0", False)
    link(bench, "dc0", True)
    return crosses_both_ways(bench)


def crosses_both_ways(bench, count=200):
    for source, sink in bench.directions():
        flow, capture = bench.new_flow(), sink.capture()
        source.sender(500, (flow, LOSSLESS_DSCP, LOSSLESS, 4_000_000, count)).finished()
        capture.expect_complete(flow, count)
        capture.end()
    return f"{count} frames each way"


def reloads_lose_nothing(bench):
    flow = bench.new_flow()
    captures = [sink.capture() for _, sink in bench.directions()]
    senders = [source.sender(500, (flow, LOSSLESS_DSCP, LOSSLESS, 400_000, None)) for source, _ in bench.directions()]
    for capture in captures:
        capture.wait_for(50, flow)
    begun = [len(capture.numbered(flow)) for capture in captures]
    already = bench.gateway.show()["reloads"]["applied"]
    for number in range(1, RELOADS + 1):
        bench.gateway.configure("96KiB" if number % 2 else "64KiB")
        if number % 2:
            bench.gateway.signal("HUP")
        else:
            bench.gateway.reload()
        wait_until(f"reload {number}", lambda: bench.gateway.show()["reloads"]["applied"] == already + number)
    meanwhile = sum(len(capture.numbered(flow)) for capture in captures) - sum(begun)
    for capture, sender in zip(captures, senders):
        capture.expect_complete(flow, sender.end()["sent"][flow])
        capture.end()
    expect(meanwhile >= 2 * RELOADS, f"only {meanwhile} frames crossed during the reloads")
    bench.gateway.expect_no_lossless_drop()
    return f"{RELOADS} reloads, every other one by SIGHUP, {meanwhile} frames meanwhile, none lost"


def ends_and_starts_again(bench):
    bench.gateway.signal("TERM")
    status = bench.gateway.ended()
    expect(status == 0, f"exit status {status} after SIGTERM:\n{bench.gateway.log()}")
    bench.gateway.start()
    return crosses_both_ways(bench)


def killed_and_starts_again(bench):
    bench.gateway.signal("KILL")
    status = bench.gateway.ended()
    expect(status == 128 + 9, f"exit status {status} after SIGKILL")
    bench.gateway.start()
    return crosses_both_ways(bench)


def taps_lost_nothing(bench):
    for side in (bench.dc0, bench.lh0):
        side.expect_nothing_lost_at_the_tap()
    return "none"


# By the columns of the table.
CHECKS = (
    ("forwarding", "mixed frames unchanged and in order", mixed_frames_cross),
    ("forwarding", "RoCEv2 capture unchanged and in order", roce_crosses),
    ("forwarding", "transmit queues", queues_are_right),
    ("forwarding", "privileges", privileges_are_gone),
    ("PFC received", "a pause stops priority 3 alone", pause_stops_its_priority),
    ("PFC sent", "overload pauses the sender", overload_pauses_its_sender),
    ("link flap", "frames held over a flap", held_frames_outlast_a_flap),
    ("link flap", "traffic over a flap", traffic_outlasts_a_flap),
    ("link flap", "the other port's flap", both_ways_after_a_flap),
    ("reload", "reloads under traffic", reloads_lose_nothing),
    ("restart", "SIGTERM and start", ends_and_starts_again),
    ("restart", "kill -9 and start", killed_and_starts_again),
    ("forwarding", "frames lost at the taps", taps_lost_nothing),
    ("commissioning", "nothing is wrong", commission.names_nothing),
    ("commissioning", "packets of 2,048 bytes and more dropped on the way", commission.names_a_short_mtu),
)
