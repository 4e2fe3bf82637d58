"""Pauses one priority of the port at the other end until the link goes down.

    hold.py INTERFACE PRIORITY

It prints "holding" after the first pause, and ends when the link is down."""

import errno
import socket
import struct
import sys
import time

# Shorter than a pause of 65,535 quanta at 100 Mb/s and below.
BETWEEN_PAUSES = 0.05


def main(interface, priority):
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    raw.bind((interface, 0))
    own = raw.getsockname()[4]
    pause = struct.pack(">HHH8H", 0x8808, 0x0101, 1 << int(priority), *[0xFFFF] * 8)
    frame = (bytes.fromhex("0180c2000001") + own + pause).ljust(60, b"\x00")
    told = False
    while True:
        try:
            raw.send(frame)
        except OSError as error:
            if error.errno in (errno.ENETDOWN, errno.ENXIO):
                return
            raise
        if not told:
            print("holding", flush=True)
            told = True
        time.sleep(BETWEEN_PAUSES)


main(*sys.argv[1:])
