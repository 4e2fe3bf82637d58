"""Raw sockets for the stations of the lab, which count lost frames."""

import errno
import select
import signal
import socket
import struct

ETH_P_ALL = 0x0003
ETH_P_IP = 0x0800

# linux/if_packet.h and asm-generic/socket.h; Python has no names for them.
PACKET_STATISTICS = 6
PACKET_AUXDATA = 8
PACKET_IGNORE_OUTGOING = 23
SOL_PACKET = 263
SO_RCVBUFFORCE = 33

RECEIVE_BUFFER_BYTES = 128 << 20

# UDP port 4791, as in a frame.
ROCE_PORT = b"\x12\xb7"


def arrivals(interface, ethertype):
    """A socket that receives arriving frames of an EtherType, and no departing ones."""
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    raw.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES)
    raw.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    raw.bind((interface, ethertype))
    raw.setblocking(False)
    return raw


def departures(interface):
    """A socket for sending only."""
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    raw.bind((interface, 0))
    return raw


def send(raw, frame):
    """Sends a frame, which is lost if the link is down."""
    try:
        raw.send(frame)
    except OSError as error:
        if not is_down(error):
            raise


def is_down(error):
    """Whether an error means that the link is down. A socket reports it once, and works again when it is up."""
    return error.errno in (errno.ENETDOWN, errno.ENXIO)


def overflow(raw):
    """Frames that arrived and found the socket's buffer full, since the last call."""
    return struct.unpack("II", raw.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))[1]


def ipv4(tos, length, source, destination):
    """The IPv4 header of a UDP datagram with `length` bytes, including the header."""
    header = struct.pack(">BBHHHBBH", 0x45, tos, length, 0, 0x4000, 64, socket.IPPROTO_UDP, 0)
    header += source + destination
    total = sum(struct.unpack(">10H", header))
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    return header[:10] + struct.pack(">H", ~total & 0xFFFF) + header[12:]


class Stop:
    """Set by SIGTERM."""

    def __init__(self):
        self.asked = False
        signal.signal(signal.SIGTERM, self.ask)

    def ask(self, *_):
        self.asked = True


def each_arrival(raw, stop, receive, idle=lambda: None):
    """Calls `receive` for every frame until SIGTERM, and then for all earlier frames.

    `receive` takes one frame from the socket, which does not block. `idle` is called whenever no
    frame waits."""
    while True:
        stopping = stop.asked
        try:
            while True:
                receive()
        except BlockingIOError:
            idle()
        except OSError as error:
            if not is_down(error):
                raise
            # Earlier frames are still unread.
            continue
        if stopping:
            return
        select.select([raw], [], [], 0.02)
