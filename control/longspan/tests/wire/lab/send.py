"""Sends numbered RoCEv2 frames. It obeys PFC and slows down for CNPs, like a network card and unlike a
Linux host.

    send.py INTERFACE JSON

The JSON has source_mac, destination_mac, source_ip, destination_ip, lengths (bytes of a frame, which the
frames of a flow take in turn), link_bps (to tell how long a quantum lasts), and flows: each with its port (UDP source port), dscp,
priority, bps, and count (null: until SIGTERM). The last line of its output is JSON: frames sent and CNPs
heard per flow, and per priority the pauses heard and how long they kept it silent."""

import json
import select
import socket
import struct
import sys
import time

import link

MAC_CONTROL = b"\x88\x08"
IPV4 = b"\x08\x00"
PFC_OPCODE = 0x0101
QUANTUM_BITS = 512

BTH = 42
NUMBER = 54
CNP = b"\x81"
ECT_0 = 2
# A sender's queue pair is that of the receiver with this bit.
SENDER_BIT = 0x800000

# How far a flow may fall behind its schedule and still catch up.
ARREARS_NS = 10_000_000
# In seconds. SIGTERM is checked in between.
LONGEST_WAIT = 0.02

# A CNP halves the rate, to no less than this share, and without CNPs it grows by this share each time.
LEAST_SHARE = 0.01
GROWTH_SHARE = 0.01
GROWTH_NS = 1_000_000


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


class Flow:
    """Frames of one UDP source port. Their ICRC is zero, because switches ignore it."""

    def __init__(self, settings, flow):
        self.frames = [bytearray(self.blank(settings, flow, length)) for length in settings["lengths"]]
        self.port, self.priority, self.count = flow["port"], flow["priority"], flow["count"]
        self.bps = flow["bps"]
        self.at_ns = self.growth_ns = time.monotonic_ns()
        self.share = 1.0
        self.sent = self.cnps = 0

    @staticmethod
    def blank(settings, flow, length):
        source, destination = (socket.inet_aton(settings[key]) for key in ("source_ip", "destination_ip"))
        ip = link.ipv4(flow["dscp"] << 2 | ECT_0, length - 14, source, destination)
        udp = struct.pack(">HHHH", flow["port"], 4791, length - 34, 0)
        bth = bytes((0x0A, 0x40, 0xFF, 0xFF)) + struct.pack(">II", flow["port"], 0)
        head = mac(settings["destination_mac"]) + mac(settings["source_mac"]) + IPV4 + ip + udp + bth
        return head.ljust(length, b"\x00")

    def slow_down(self):
        self.cnps += 1
        self.share = max(self.share / 2, LEAST_SHARE)
        self.growth_ns = time.monotonic_ns() + GROWTH_NS

    def next_frame(self, now):
        while self.share < 1 and now >= self.growth_ns:
            self.share = min(self.share + GROWTH_SHARE, 1.0)
            self.growth_ns += GROWTH_NS
        frame = self.frames[self.sent % len(self.frames)]
        interval_ns = len(frame) * 8 * 1_000_000_000 // self.bps
        self.at_ns = max(self.at_ns + int(interval_ns / self.share), now - ARREARS_NS)
        struct.pack_into(">I", frame, NUMBER - 4, self.sent & 0xFFFFFF)
        struct.pack_into(">Q", frame, NUMBER, self.sent)
        self.sent += 1
        return frame

    def is_done(self):
        return self.count is not None and self.sent >= self.count


class Network:
    """Requests of the network to a sender: pauses per priority, and CNPs per flow."""

    def __init__(self, interface, link_bps, flows):
        self.raw = link.arrivals(interface, link.ETH_P_ALL)
        self.link_bps = link_bps
        self.flows = {flow.port | SENDER_BIT: flow for flow in flows}
        self.until_ns = [0] * 8
        self.heard = [0] * 8
        self.silent_ns = [0] * 8

    def listen(self):
        try:
            while True:
                frame = self.raw.recv(2048)
                kind = frame[12:14]
                if kind == MAC_CONTROL:
                    self.obey(frame)
                elif kind == IPV4 and frame[36:38] == link.ROCE_PORT and frame[BTH : BTH + 1] == CNP:
                    flow = self.flows.get(int.from_bytes(frame[BTH + 5 : BTH + 8], "big"))
                    if flow:
                        flow.slow_down()
        except BlockingIOError:
            pass

    def obey(self, frame):
        opcode, classes, *times = struct.unpack_from(">HH8H", frame, 14)
        if opcode != PFC_OPCODE:
            return
        now = time.monotonic_ns()
        for priority in range(8):
            if classes >> priority & 1:
                duration = times[priority] * QUANTUM_BITS * 1_000_000_000 // self.link_bps
                self.silent_ns[priority] += now + duration - max(now, self.until_ns[priority])
                self.until_ns[priority] = now + duration
                self.heard[priority] += 1


def main(interface, settings):
    settings = json.loads(settings)
    stop = link.Stop()
    flows = [Flow(settings, flow) for flow in settings["flows"]]
    network = Network(interface, settings["link_bps"], flows)
    raw = link.departures(interface)
    waiting = flows
    print("sending", flush=True)

    while waiting and not stop.asked:
        network.listen()
        at_ns, _, flow = min(
            (max(flow.at_ns, network.until_ns[flow.priority]), flow.port, flow) for flow in waiting
        )
        now = time.monotonic_ns()
        if at_ns > now:
            # A pause or a resume ends the wait.
            select.select([network.raw], [], [], min((at_ns - now) / 1e9, LONGEST_WAIT))
            continue
        raw.send(flow.next_frame(now))
        if flow.is_done():
            waiting = [flow for flow in waiting if not flow.is_done()]

    result = {
        "sent": {flow.port: flow.sent for flow in flows},
        "cnps": {flow.port: flow.cnps for flow in flows},
        "pauses": network.heard,
        "silent_ns": network.silent_ns,
    }
    print(json.dumps(result))


main(*sys.argv[1:])
