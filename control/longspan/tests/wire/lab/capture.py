"""Writes every frame that arrives on an interface to a pcap file, with the kernel's timestamps.

    capture.py INTERFACE FILE

SIGTERM ends it once all earlier frames are in the file. The last line of its output is JSON: the number
of frames written, and of frames that found its buffer full."""

import json
import socket
import struct
import sys

import link

SO_TIMESTAMPNS = 35
TP_STATUS_VLAN_VALID = 1 << 4
TP_STATUS_VLAN_TPID_VALID = 1 << 6
SNAP_LENGTH = 65535
ADDRESSES = 12


def with_tag(frame, auxiliary):
    """The frame as on the link: the kernel removes an outer VLAN tag."""
    status, _, _, _, _, tci, tpid = struct.unpack("=IIIHHHH", auxiliary)
    if not status & TP_STATUS_VLAN_VALID:
        return frame
    tpid = tpid if status & TP_STATUS_VLAN_TPID_VALID else 0x8100
    return frame[:ADDRESSES] + struct.pack(">HH", tpid, tci) + frame[ADDRESSES:]


def main(interface, path):
    stop = link.Stop()
    raw = link.arrivals(interface, link.ETH_P_ALL)
    raw.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    raw.setsockopt(link.SOL_PACKET, link.PACKET_AUXDATA, 1)
    frames = 0

    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, SNAP_LENGTH, 1))
        file.flush()

        def receive():
            nonlocal frames
            frame, ancillary, _, _ = raw.recvmsg(SNAP_LENGTH, 256)
            seconds = nanoseconds = 0
            for level, kind, data in ancillary:
                if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
                    seconds, nanoseconds = struct.unpack("qq", data)
                elif level == link.SOL_PACKET and kind == link.PACKET_AUXDATA:
                    frame = with_tag(frame, data)
            file.write(struct.pack("<IIII", seconds, nanoseconds, len(frame), len(frame)) + frame)
            frames += 1

        print("capturing", flush=True)
        link.each_arrival(raw, stop, receive, file.flush)
    print(json.dumps({"frames": frames, "overflow": link.overflow(raw)}))


main(*sys.argv[1:])
