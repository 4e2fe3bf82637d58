"""CNPs in a capture of a host's NIC."""

import struct
import zlib
from dataclasses import dataclass

PCAP_HEADER, RECORD_HEADER = 24, 16
ETHERNET, IPV4, UDP, BTH, ICRC = 14, 20, 8, 12, 4
ROCE_PORT = 4791
CNP = 0x81


@dataclass(frozen=True)
class Cnp:
    """One that arrived: the queue pair that it is for, its sender's address, and whether its ICRC is right."""

    queue_pair: int
    source: str
    is_intact: bool


def read(path, receiver):
    """The CNPs to the address `receiver`."""
    with open(path, "rb") as file:
        data = file.read()
    found, at = [], PCAP_HEADER
    while at + RECORD_HEADER <= len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        frame = data[at + RECORD_HEADER : at + RECORD_HEADER + length]
        at += RECORD_HEADER + length
        packet = frame[ETHERNET:]
        if frame[12:14] != b"\x08\x00" or len(packet) < IPV4 + UDP + BTH + ICRC or address(packet[16:20]) != receiver:
            continue
        port, opcode = struct.unpack_from(">H", packet, IPV4 + 2)[0], packet[IPV4 + UDP]
        if packet[9] == 17 and port == ROCE_PORT and opcode == CNP:
            packet = packet[: struct.unpack_from(">H", packet, 2)[0]]
            pair = int.from_bytes(packet[IPV4 + UDP + 5 : IPV4 + UDP + 8], "big")
            found.append(Cnp(pair, address(packet[12:16]), icrc(packet) == packet[-ICRC:]))
    return found


def address(octets):
    return ".".join(map(str, octets))


def icrc(packet):
    """The ICRC of an IPv4 packet: a CRC-32 in which what changes on the way counts as ones (RoCEv2, A17.3.3)."""
    masked = bytearray(b"\xff" * 8 + packet[:-ICRC])
    # Type of service, time to live, checksums of IPv4 and UDP, and the reserved byte of the BTH with FECN and BECN.
    for at in (1, 8, 10, 11, IPV4 + 6, IPV4 + 7, IPV4 + UDP + 4):
        masked[8 + at] = 0xFF
    return struct.pack("<I", zlib.crc32(masked))
