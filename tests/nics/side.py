"""One side of the gateway: its own network namespace with a tap, and stations on it."""

import json
import os
import struct
import sys
from contextlib import ExitStack

from namespace import INTERFACE, Namespace
from process import Process
from wait import expect, wait_for_count

LAB = os.path.join(os.path.dirname(__file__), "../../control/longspan/tests/wire/lab")
sys.path.append(LAB)

import link  # noqa: E402

PREFIX = "longspan-nics"

PCAP_HEADER = 24
RECORD_HEADER = 16
DSCP_AT = 15
PORT_AT = 34
NUMBER_AT = 54
IPV4 = b"\x08\x00"


class Frame:
    """A frame that arrived, and when by the kernel's clock."""

    def __init__(self, at_ns, data):
        self.at_ns, self.data = at_ns, data

    def is_numbered(self):
        """Whether send.py sent it."""
        return self.data[12:14] == IPV4 and self.data[36:38] == link.ROCE_PORT

    def dscp(self):
        return self.data[DSCP_AT] >> 2

    def port(self):
        return struct.unpack_from(">H", self.data, PORT_AT)[0]

    def number(self):
        return struct.unpack_from(">Q", self.data, NUMBER_AT)[0]


class Capture:
    """All that arrives, by the laboratory's capture.py."""

    def __init__(self, side):
        self.path = os.path.join(side.scratch, f"capture-{Process.count}.pcap")
        self.process = side.station("capture.py", INTERFACE, self.path)
        self.process.wait_for_output("capturing")
        self.frames, self.flows, self.read_to = [], {}, PCAP_HEADER

    def so_far(self):
        with open(self.path, "rb") as file:
            file.seek(self.read_to)
            fresh = file.read()
        at = 0
        while at + RECORD_HEADER <= len(fresh):
            seconds, nanoseconds, length, _ = struct.unpack_from("<IIII", fresh, at)
            end = at + RECORD_HEADER + length
            if end > len(fresh):
                break
            frame = Frame(seconds * 1_000_000_000 + nanoseconds, fresh[at + RECORD_HEADER : end])
            self.frames.append(frame)
            if frame.is_numbered():
                self.flows.setdefault(frame.port(), []).append(frame)
            at = end
        self.read_to += at
        return self.frames

    def numbered(self, port):
        """The numbered frames of one flow."""
        self.so_far()
        return self.flows.get(port, [])

    def wait_for(self, count, port):
        """Waits until so many frames of a flow have arrived."""
        wait_for_count("frames arrived", count, lambda: len(self.numbered(port)))

    def expect_complete(self, port, count):
        """Waits for all frames of a flow: none may be missing, late or doubled."""
        self.wait_for(count, port)
        numbers = [frame.number() for frame in self.numbered(port)]
        expect(numbers == list(range(count)), f"flow {port}: {len(numbers)} frames, not the {count} in their order")

    def end(self):
        said = json.loads(self.process.end().splitlines()[-1])
        expect(said["overflow"] == 0, f"the capture itself lost {said['overflow']} frames")
        return self.so_far()


class Sender:
    """Numbered RoCEv2 frames by the laboratory's send.py, which obeys PFC."""

    def __init__(self, side, length, link_bps, flows):
        keys = ("port", "dscp", "priority", "bps", "count")
        settings = {
            "source_mac": "02:00:00:00:77:01",
            "destination_mac": "02:00:00:00:77:02",
            "source_ip": "10.77.0.1",
            "destination_ip": "10.77.0.2",
            "lengths": [length],
            "link_bps": link_bps,
            "flows": [dict(zip(keys, flow)) for flow in flows],
        }
        self.process = side.station("send.py", INTERFACE, json.dumps(settings))
        self.process.wait_for_output("sending")

    def result(self, printed):
        said = json.loads(printed.splitlines()[-1])
        said["sent"] = {int(port): sent for port, sent in said["sent"].items()}
        return said

    def finished(self):
        return self.result(self.process.finished())

    def end(self):
        return self.result(self.process.end())


class Side(Namespace):
    """The namespace, the tap that a NIC of the guest joins, and what runs there."""

    def __init__(self, name, link_bps, queues, scratch, stack):
        self.link_bps, self.scratch = link_bps, scratch
        # Stations that a check starts on this side end with the check.
        self.stations = ExitStack()
        stack.enter_context(self.stations)
        super().__init__(PREFIX, name, queues, stack)
        with self.inside():
            self.raw = link.departures(INTERFACE)
        stack.callback(self.raw.close)

    def station(self, script, *arguments):
        command = self.within(sys.executable, "-B", os.path.join(LAB, script), *arguments)
        process = Process(f"{self.name}-{script}", command, self.scratch)
        self.stations.callback(process.close)
        return process

    def capture(self):
        return Capture(self)

    def sender(self, length, *flows):
        """Sends frames of `length` bytes. A flow is (UDP port, DSCP, priority, bits per second, count or None)."""
        return Sender(self, length, self.link_bps, flows)

    def send(self, frame):
        self.raw.send(frame)
