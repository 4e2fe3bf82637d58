"""Reads captures as `longspan simulate` writes them, and what an exam asks of a RoCEv2 frame without tags."""

import struct

# Little endian, nanoseconds.
MAGIC = b"\x4d\x3c\xb2\xa1"
HEADER = 24
RECORD = struct.Struct("<IIII")
BTH = 14 + 20 + 8
LAST_DATA_OPCODE = 0x0B


def frames(path):
    """The time in nanoseconds, the length without FCS and the captured bytes of each frame."""
    data = path.read_bytes()
    if data[:4] != MAGIC:
        raise ValueError(f"{path} is no capture of nanoseconds")
    at = HEADER
    while at < len(data):
        seconds, fraction, captured, length = RECORD.unpack_from(data, at)
        at += RECORD.size
        yield seconds * 1_000_000_000 + fraction, length, data[at : at + captured]
        at += captured


def is_roce_data(frame):
    """Whether it is an IPv4 packet of a RoCEv2 message, and no acknowledgement, CNP or pause."""
    return frame[12:14] == b"\x08\x00" and frame[36:38] == b"\x12\xb7" and frame[BTH] <= LAST_DATA_OPCODE


def is_marked(frame):
    """Whether its ECN field says that congestion was met (CE)."""
    return frame[15] & 3 == 3


def flow(frame):
    """What tells flows apart: the addresses and the receiver's queue pair."""
    return frame[26:34] + frame[BTH + 5 : BTH + 8]
