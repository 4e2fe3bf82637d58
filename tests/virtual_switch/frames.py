"""Frames of testers, made and read by scapy: an implementation that knows nothing of the switch."""

import struct

from scapy.all import Dot1Q, Ether, IP, Raw, UDP
from scapy.contrib.mac_control import MACControlClassBasedFlowControl, MACControlPause

MAC_CONTROL = "01:80:c2:00:00:01"
MARK = b"LSVS"
HEADERS = 14 + 20 + 8
# Code points of the lossless priorities 3 and 4, and of the lossy priority 0.
DSCP = {3: 26, 4: 34, 0: 0}
ECT0, CE = 2, 3


def mac(station):
    """The address of a station, by its number from 1."""
    return f"02:00:00:00:88:{station:02x}"


def data(source, destination, number, priority=3, length=1000, ecn=0):
    """A frame of RoCEv2's port with a number, `length` bytes long."""
    body = MARK + struct.pack(">I", number)
    body += bytes(length - HEADERS - len(body))
    tos = DSCP[priority] << 2 | ecn
    ip = IP(src=f"10.88.0.{source}", dst=f"10.88.0.{destination}", tos=tos)
    return bytes(Ether(src=mac(source), dst=mac(destination)) / ip / UDP(sport=49152, dport=4791) / Raw(body))


def pfc(source, times):
    """A PFC frame with the quanta of each priority in `times`."""
    fields = {}
    for priority, quanta in times.items():
        fields[f"c{priority}_enabled"] = 1
        fields[f"c{priority}_pause_time"] = quanta
    return bytes(Ether(src=mac(source), dst=MAC_CONTROL) / MACControlClassBasedFlowControl(**fields)).ljust(60, b"\0")


def pause(source, quanta):
    """An 802.3x PAUSE frame."""
    return bytes(Ether(src=mac(source), dst=MAC_CONTROL) / MACControlPause(pause_time=quanta)).ljust(60, b"\0")


def malformed(source, times):
    """Frames that look like a PFC frame and are none, by name."""
    good = pfc(source, times)
    other_station = Ether(good)
    other_station.dst = mac(9)
    return {
        "unknown opcode": good[:14] + b"\x01\x02" + good[16:],
        "another station's address": bytes(other_station),
        "tagged": good[:12] + b"\x81\x00" + bytes(Dot1Q(prio=3, type=0x8808)) + good[14:],
        "cut before its times": good[:18],
        "shorter than a frame": good[:40],
        "no priority enabled": good[:16] + b"\0\0" + good[18:],
    }


def number_of(frame):
    """The number of a data frame; None for any other."""
    if frame[12:14] != b"\x08\x00" or frame[HEADERS : HEADERS + 4] != MARK:
        return None
    return struct.unpack_from(">I", frame, HEADERS + 4)[0]


def ecn_of(frame):
    """The ECN field of an IPv4 frame."""
    return frame[15] & 3


def times_of(frame):
    """The quanta that a PFC frame has for each of its priorities; None for any other frame."""
    if frame[12:14] != b"\x88\x08":
        return None
    message = Ether(frame).getlayer(MACControlClassBasedFlowControl)
    if message is None:
        return {}
    enabled = [number for number in range(8) if getattr(message, f"c{number}_enabled")]
    return {number: getattr(message, f"c{number}_pause_time") for number in enabled}
