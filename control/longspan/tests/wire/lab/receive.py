"""Counts the numbered RoCEv2 frames of send.py per flow, and checks their order. It acknowledges some of
them, like a reliable connection, and sends CNPs for marked ones.

    receive.py INTERFACE FILE

It rewrites FILE with its counters, as JSON, whenever no frame waits. SIGTERM ends it once all earlier
frames are counted. A flow is a UDP source port."""

import json
import os
import struct
import sys
import time

import link

TOS = 15
UDP_SOURCE = 34
BTH = 42
NUMBER = 54
SHORTEST = NUMBER + 8
CE = 3

CNP = 0x81
# Not ECN-capable, with the DSCP that NICs commonly give to CNPs.
CNP_TOS = 48 << 2
CNP_SPACING_NS = 1_000_000

ACKNOWLEDGE = 0x11
FRAMES_PER_ACKNOWLEDGEMENT = 32
# A sender's queue pair is that of the receiver with this bit.
SENDER_BIT = 0x800000


def acknowledgement(frame):
    """An ACK of the frame, to its sender."""
    udp = struct.pack(">HHHH", *struct.unpack_from(">HH", frame, UDP_SOURCE), 28, 0)
    queue_pair = int.from_bytes(frame[BTH + 5 : BTH + 8], "big") | SENDER_BIT
    psn = frame[BTH + 8 : BTH + 12]
    bth = struct.pack(">BBHI", ACKNOWLEDGE, 0x40, 0xFFFF, queue_pair) + psn
    ip = link.ipv4(frame[TOS] & ~CE, 48, frame[30:34], frame[26:30])
    return frame[6:12] + frame[:6] + b"\x08\x00" + ip + udp + bth + bytes(8)


def notification(frame):
    """A CNP for the frame, to its sender."""
    udp = struct.pack(">HHHH", *struct.unpack_from(">HH", frame, UDP_SOURCE), 40, 0)
    queue_pair = int.from_bytes(frame[BTH + 5 : BTH + 8], "big") | SENDER_BIT
    bth = struct.pack(">BBHII", CNP, 0x40, 0xFFFF, queue_pair, 0)
    ip = link.ipv4(CNP_TOS, 60, frame[30:34], frame[26:30])
    return frame[6:12] + frame[:6] + b"\x08\x00" + ip + udp + bth + bytes(16 + 4)


def main(interface, path):
    stop = link.Stop()
    raw = link.arrivals(interface, link.ETH_P_IP)
    answers = link.departures(interface)
    flows = {}
    notified_ns = {}
    seen = {"flows": flows, "bytes": 0, "overflow": 0, "first_ns": None, "last_ns": None}
    changed = True

    def receive():
        nonlocal changed
        frame = raw.recv(65535)
        if len(frame) < SHORTEST or frame[UDP_SOURCE + 2 : UDP_SOURCE + 4] != link.ROCE_PORT:
            return
        if frame[BTH] in (ACKNOWLEDGE, CNP):
            # For a flow from this host.
            return
        (port,) = struct.unpack_from(">H", frame, UDP_SOURCE)
        (number,) = struct.unpack_from(">Q", frame, NUMBER)
        flow = flows.get(port)
        if flow is None:
            flow = flows[port] = {"received": 0, "next": 0, "missing": 0, "late": 0, "marked": 0}
        now = time.monotonic_ns()
        flow["received"] += 1
        expected = flow["next"]
        if number >= expected:
            flow["missing"] += number - expected
            flow["next"] = number + 1
        else:
            flow["late"] += 1
        if frame[TOS] & CE == CE:
            flow["marked"] += 1
            if now - notified_ns.get(port, 0) >= CNP_SPACING_NS:
                notified_ns[port] = now
                link.send(answers, notification(frame))
        seen["bytes"] += len(frame)
        seen["last_ns"] = now
        if seen["first_ns"] is None:
            seen["first_ns"] = seen["last_ns"]
        if flow["received"] % FRAMES_PER_ACKNOWLEDGEMENT == 0:
            link.send(answers, acknowledgement(frame))
        changed = True

    def publish():
        nonlocal changed
        if not changed:
            return
        seen["overflow"] += link.overflow(raw)
        with open(path + ".new", "w") as file:
            json.dump(seen, file)
        os.replace(path + ".new", path)
        changed = False

    publish()
    print("receiving", flush=True)
    link.each_arrival(raw, stop, receive, publish)


main(*sys.argv[1:])
