"""Sends malformed frames and forged messages.

    malformed.py INTERFACE JSON

The JSON has seed, count, own_mac, stations (MAC and IP addresses of hosts), and feedback (the LSCC addresses
of both gateways, source first). The last line of its output is JSON: the number of frames sent, by kind.
It never uses the MAC address of another station, because the bridge would learn it, like any bridge."""

import collections
import json
import random
import socket
import struct
import sys
import time

PAUSE_ADDRESS = bytes.fromhex("0180c2000001")
FEEDBACK_ADDRESS = bytes.fromhex("0180c2000003")
SHORTEST = 60
LONGEST = 1514
# No flow has such a source port.
PORT = 40_000
ROCE_PORT = 4791
CNP = 0x81
# The time between two frames, in seconds.
PACE = 0.002

# Bytes that stay unchanged, so that no frame counts as one of a flow: the DSCP and the UDP ports.
KEPT = {15, 34, 35, 36, 37}


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF


class Maker:
    def __init__(self, settings):
        self.random = random.Random(settings["seed"])
        self.own = mac(settings["own_mac"])
        self.stations = [(mac(address), socket.inet_aton(ip)) for address, ip in settings["stations"]]
        self.feedback = [socket.inet_aton(address) for address in settings["feedback"]]

    def bytes(self, count):
        return self.random.randbytes(count)

    def ipv4(self, source, destination, protocol, payload, ttl=64):
        dscp = self.random.choice((0, 26, 34, 48))
        head = struct.pack(">BBHHHBBH", 0x45, dscp << 2, 20 + len(payload), 0, 0x4000, ttl, protocol, 0)
        head += source + destination
        return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + payload

    def roce(self, opcode=0x0A, length=100, queue_pair=None):
        """A valid RoCEv2 frame to a host, with the source address of another."""
        (to, destination), (_, source) = self.random.sample(self.stations, 2)
        queue_pair = self.random.randrange(2, 6) if queue_pair is None else queue_pair
        bth = struct.pack(">BBHII", opcode, 0x40, 0xFFFF, queue_pair, self.random.randrange(1 << 24))
        payload = bth + bytes(length - 54)
        udp = struct.pack(">HHHH", PORT, ROCE_PORT, 8 + len(payload), 0)
        return to + self.own + b"\x08\x00" + self.ipv4(source, destination, 17, udp + payload)

    def truncated_header(self):
        frame = self.roce()
        return frame[: self.random.randrange(14, 70)]

    def wrong_length(self):
        frame = bytearray(self.roce())
        at = self.random.choice((16, 38))
        frame[at : at + 2] = self.bytes(2)
        return bytes(frame)

    def wrong_header_length(self):
        frame = bytearray(self.roce())
        frame[14] = self.random.randrange(256)
        return bytes(frame)

    def wrong_checksum(self):
        frame = bytearray(self.roce())
        frame[24:26] = self.bytes(2)
        return bytes(frame)

    def flipped_bytes(self):
        frame = bytearray(self.roce(length=self.random.randrange(80, 1500)))
        places = [at for at in range(12, min(len(frame), 96)) if at not in KEPT]
        for at in self.random.sample(places, 4):
            frame[at] = self.random.randrange(256)
        return bytes(frame)

    def random_payload(self):
        kind = self.random.choice((0x0800, 0x86DD, 0x0806, 0x8100, 0x88A8, 0x88CC, 0x0600))
        to = self.random.choice(self.stations)[0]
        # In IPv4 and IPv6, these two bytes contain the DSCP, which is not that of the flood.
        payload = b"\xff\xff" + self.bytes(600)
        return to + self.own + struct.pack(">H", kind) + payload[: self.random.randrange(600)]

    def vlan_tags_without_end(self):
        to = self.random.choice(self.stations)[0]
        tags = b"\x81\x00\x60\x05" * self.random.randrange(2, 30)
        return to + self.own + tags

    def group_source(self):
        frame = bytearray(self.roce())
        frame[6] |= 1
        return bytes(frame)

    def to_itself(self):
        return self.own + self.roce()[6:]

    def link_local(self):
        return bytes.fromhex("0180c20000") + bytes([self.random.choice((0, 2, 14))]) + self.roce()[6:]

    def malformed_control(self):
        opcode = self.random.choice((0x0000, 0x0001, 0x0101, 0x0102, 0xFFFF))
        whole = PAUSE_ADDRESS + self.own + b"\x88\x08" + struct.pack(">H", opcode) + self.bytes(18)
        # Truncated, or sent to another station.
        if self.random.random() < 0.5:
            return whole[: self.random.randrange(14, 17)]
        return self.stations[0][0] + whole[6:]

    def forged_pfc(self):
        """Valid, and obeyed at this port, which no counted lossless frame leaves through."""
        times = [self.random.randrange(1 << 16) for _ in range(8)]
        pfc = struct.pack(">HH8H", 0x0101, self.random.randrange(1 << 16), *times)
        return (PAUSE_ADDRESS + self.own + b"\x88\x08" + pfc).ljust(SHORTEST, b"\x00")

    def forged_cnp(self):
        return self.roce(opcode=CNP, length=74, queue_pair=self.random.randrange(1 << 24))

    def forged_feedback(self):
        """A message of LSCC with the source address of the other gateway, sometimes complete."""
        body = struct.pack(">BBHH", 2, self.random.choice((0, 1, 2, 3)), 0, self.random.randrange(1 << 16))
        body = body[:2] + struct.pack(">H", self.random.randrange(4)) + self.bytes(28)
        code = self.random.choice((0, 1, 7))
        message = struct.pack(">BBH", 253, code, 0) + body
        message = message[:2] + struct.pack(">H", checksum(message)) + message[4:]
        if self.random.random() < 0.3:
            message = message[: self.random.randrange(4, 36)]
        source, destination = self.feedback
        packet = self.ipv4(source, destination, 1, message, self.random.choice((255, 255, 254, 1)))
        return FEEDBACK_ADDRESS + self.own + b"\x08\x00" + packet


KINDS = [name for name in vars(Maker) if not name.startswith("_") and name not in ("bytes", "ipv4", "roce")]


def main(interface, settings):
    settings = json.loads(settings)
    maker = Maker(settings)
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    raw.bind((interface, 0))
    sent = collections.Counter()
    for number in range(settings["count"]):
        kind = KINDS[number % len(KINDS)]
        raw.send(getattr(maker, kind)()[:LONGEST])
        sent[kind] += 1
        time.sleep(PACE)
    print(json.dumps(sent))


main(*sys.argv[1:])
