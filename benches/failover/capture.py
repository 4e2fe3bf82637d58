"""Frames with a number for each flow: the capture that hosts play, and what came of it."""

import itertools
import struct
from collections import Counter

PORT = 4791
FIRST_FLOW = 49_152
FRAME_BYTES = 128
NUMBER = 54
SOURCE, DESTINATION = "10.1.0.2", "10.2.0.2"
# A pcap with nanoseconds.
PCAP = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65_535, 1)


def checksum(header):
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def address(text):
    return bytes(map(int, text.split(".")))


def frame(to, flow, number):
    """A RoCEv2 frame of priority 3 to the station `to`."""
    length = FRAME_BYTES - 14
    addresses = address(SOURCE) + address(DESTINATION)
    header = struct.pack(">BBHHHBBH", 0x45, 26 << 2, length, 0, 0, 64, 17, 0) + addresses
    header = header[:10] + struct.pack(">H", checksum(header)) + header[12:]
    udp = struct.pack(">HHHH", FIRST_FLOW + flow, PORT, length - 20, 0)
    bth = struct.pack(">BBHII", 4, 0x40, 0xFFFF, flow + 16, number & 0xFFFFFF)
    bytes_ = to + bytes.fromhex("020000000001") + b"\x08\x00" + header + udp + bth + struct.pack(">Q", number)
    return bytes_ + bytes(FRAME_BYTES - len(bytes_))


def write(path, to, flows, per_ms, seconds):
    """A capture of `per_ms` frames a millisecond, evenly spaced, of all flows in turn."""
    spacing = 1_000_000 // per_ms
    with open(path, "wb") as file:
        file.write(PCAP)
        for index in range(per_ms * 1000 * seconds):
            at = index * spacing
            record = struct.pack("<IIII", at // 10**9, at % 10**9, FRAME_BYTES, FRAME_BYTES)
            file.write(record + frame(to, index % flows, index // flows))


def read(path):
    """Yields the time in nanoseconds, the flow and the number of each frame."""
    with open(path, "rb") as file:
        (magic,) = struct.unpack("<I", file.read(24)[:4])
        scale = 1 if magic == 0xA1B23C4D else 1000
        while len(head := file.read(16)) == 16:
            seconds, fraction, kept, _ = struct.unpack("<IIII", head)
            data = file.read(kept)
            if kept >= NUMBER + 8 and data[36:38] == PORT.to_bytes(2, "big"):
                flow = int.from_bytes(data[34:36], "big") - FIRST_FLOW
                number = int.from_bytes(data[NUMBER : NUMBER + 8], "big")
                yield seconds * 10**9 + fraction * scale, flow, number


class Outcome:
    """What came of the frames around a cut that began at `cut_ns`."""

    # The share of the load that the links which are left must carry, the time over which that is asked, and for how long they
    # must go on.
    SHARE = 0.99
    STEP_NS = 100_000
    WINDOW, LASTING = 20, 500

    def __init__(self, path, flows, per_ms, seconds, cut_ns):
        sent = per_ms * 1000 * seconds
        following, arrivals, self.late, self.received = Counter(), [], 0, 0
        for at, flow, number in read(path):
            self.received += 1
            self.late += number < following[flow]
            following[flow] = max(following[flow], number + 1)
            arrivals.append(at)
        self.lost = sent - self.received
        self.outage_ms = self.outage(arrivals, per_ms, cut_ns, seconds) if arrivals else None

    def outage(self, arrivals, per_ms, cut_ns, seconds):
        """From the cut until the load arrives again, for the first time; `None` where it does not."""
        carried = Counter(at // self.STEP_NS for at in arrivals)
        first = cut_ns // self.STEP_NS
        total = list(itertools.accumulate((carried[step] for step in range(first, (arrivals[0] + seconds * 10**9) // self.STEP_NS)), initial=0))

        def carries(step, steps):
            return total[step + steps] - total[step] >= self.SHARE * per_ms * steps * self.STEP_NS / 1e6

        steps = range(len(total) - self.LASTING)
        begin = next((step for step in steps if not carries(step, self.WINDOW)), None)
        if begin is None:
            return 0.0
        lasts = (step for step in steps[begin:] if carries(step, self.WINDOW) and carries(step, self.LASTING))
        end = next(lasts, None)
        return None if end is None else ((first + end) * self.STEP_NS - cut_ns) / 1e6
