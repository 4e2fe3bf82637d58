"""Frames to send, by scapy, and what of them must arrive in which order."""

import random
import struct

from scapy.contrib.mac_control import MACControlClassBasedFlowControl
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Raw
from scapy.utils import RawPcapReader

COUNT = 800
# Without FCS. A tag comes on top.
SHORTEST, LONGEST, TAG = 60, 1514, 4
LENGTHS = (60, 61, 64, 127, 128, 512, 1024, 1513, 1514)
DSCPS = (0, 8, 26, 26, 34, 46, 48)
# Local experimental, IEEE 802.
EXPERIMENTAL = 0x88B5

IPV4, IPV6, VLAN = 0x0800, 0x86DD, 0x8100
PRIORITIES = {26: 3, 48: 6}

PFC_DESTINATION = "01:80:c2:00:00:01"
PFC = bytes.fromhex("8808")


def mixed(seed):
    """Frames of every length and kind, no two alike, in many flows. The same seed gives the same ones."""
    rng = random.Random(seed)
    return [one(rng, number) for number in range(COUNT)]


def one(rng, number):
    dscp, tagged = rng.choice(DSCPS), rng.random() < 0.4
    host, flow = rng.randrange(1, 255), rng.randrange(1024, 65536)
    frame = Ether(src=f"02:00:00:01:00:{host:02x}", dst=f"02:00:00:02:00:{rng.randrange(1, 255):02x}")
    if tagged:
        frame /= Dot1Q(vlan=rng.randrange(1, 4095), prio=rng.randrange(8))
    ip = IP(src=f"10.1.0.{host}", dst="10.2.0.1", tos=dscp << 2)
    kinds = (
        lambda: ip / UDP(sport=flow, dport=4791),
        lambda: ip / TCP(sport=flow, dport=80, seq=number),
        lambda: ip / ICMP(id=flow, seq=number),
        lambda: IPv6(src=f"2001:db8::{host:x}", dst="2001:db8:1::1", tc=dscp << 2) / UDP(sport=flow, dport=4791),
        lambda: ARP(psrc=f"10.1.0.{host}", pdst="10.2.0.1"),
        lambda: Raw(),
    )
    payload = rng.choice(kinds)()
    if isinstance(payload, Raw):
        frame[Dot1Q if tagged else Ether].type = EXPERIMENTAL
    frame /= payload
    length = rng.choice(LENGTHS) if rng.random() < 0.5 else rng.randrange(SHORTEST, LONGEST + 1)
    # Past the headers, the number and what no one could guess.
    header, rest = len(frame), length + (TAG if tagged else 0) - len(frame)
    rest = max(rest, 8)
    padding = Raw(struct.pack(">I", number) + rng.randbytes(rest - 4))
    data = bytes(frame / padding)
    assert len(data) == header + rest
    return data


def captured(path):
    """The frames of a capture, as long as they must be on a link: those of virtual interfaces may be shorter."""
    return [data.ljust(SHORTEST, b"\0") for data, _ in RawPcapReader(path)]


def priority(frame):
    """The priority that gateway.toml gives to a frame: by the DSCP of IP, otherwise the PCP of a tag, otherwise 0."""
    at, pcp = 12, 0
    (ethertype,) = struct.unpack_from(">H", frame, at)
    if ethertype == VLAN:
        tag, ethertype = struct.unpack_from(">HH", frame, at + 2)
        at, pcp = at + 4, tag >> 13
    if ethertype == IPV4:
        return PRIORITIES.get(frame[at + 3] >> 2, 0)
    if ethertype == IPV6:
        (word,) = struct.unpack_from(">H", frame, at + 2)
        return PRIORITIES.get(word >> 6 & 0x3F, 0)
    return pcp


def by_priority(frames):
    """Each priority's frames in their order. Priorities may overtake each other."""
    sorted_ = [[] for _ in range(8)]
    for frame in frames:
        sorted_[priority(frame)].append(frame)
    return sorted_


def pause(quanta):
    """A PFC frame that stops priority 3 for so long."""
    stop = MACControlClassBasedFlowControl(c3_enabled=1, c3_pause_time=quanta)
    return bytes(Ether(src="02:00:00:00:77:02", dst=PFC_DESTINATION) / stop).ljust(SHORTEST, b"\0")


def pauses(frames):
    """Of the PFC frames among them, the priorities that they name, and for how many quanta each."""
    told = []
    for data in frames:
        if data[12:14] == PFC:
            frame = Ether(data)[MACControlClassBasedFlowControl]
            named = {n: getattr(frame, f"c{n}_pause_time") for n in range(8) if getattr(frame, f"c{n}_enabled")}
            told.append(named)
    return told
