"""Frames of an exam as captures, a gateway that replays them, and what comes out of it."""

import dataclasses
import functools
import heapq
import json
import struct
import subprocess

import capture
from case import Result

# Lengths are without FCS: 1,024 bytes on the link are the frames of most texts.
LENGTH = 1020
# FCS, preamble and gap.
OVERHEAD = 24
QUANTUM_BITS = 512
FOREVER = 0xFFFF
SECOND = 1_000_000_000
# The instant at which all traffic begins.
START = SECOND
MAC_CONTROL = bytes.fromhex("0180c2000001")
MARK = b"EXAM"
HEADERS = 14 + 20 + 8


def mac(station):
    """The address of the station behind a port, by the number of the port from 1."""
    return bytes((2, 0, 0, 0, 0x99, station))


@functools.cache
def parts(priority, length, source, to, ecn):
    """What stands before and behind the number in a data frame. DSCP 8n is of priority n, as by default."""
    tos = priority << 5 | ecn
    fields = (0x45, tos, length - 14, 0, 0, 64, 17, 0, bytes((10, 99, 0, source)), bytes((10, 99, 0, to)))
    ip = struct.pack(">BBHHHBBH4s4s", *fields)
    total = sum(struct.unpack(">10H", ip))
    total = (total & 0xFFFF) + (total >> 16)
    ip = ip[:10] + struct.pack(">H", 0xFFFF - (total & 0xFFFF) - (total >> 16)) + ip[12:]
    udp = struct.pack(">HHHH", 49152, 7, length - 34, 0)
    return mac(to) + mac(source) + b"\x08\x00" + ip + udp + MARK, bytes(length - HEADERS - 8)


def data(priority, number, length=LENGTH, source=1, to=2, ecn=0):
    """A numbered frame of a priority from one station to another."""
    head, tail = parts(priority, length, source, to, ecn)
    return head + number.to_bytes(4, "big") + tail


def stream(start, end, rate, priority, lengths=(LENGTH,), **stations):
    """Data frames of a priority at a rate of the link, with the time of each. Lengths take turns."""
    at, number = float(start), 0
    while at < end:
        length = lengths[number % len(lengths)]
        yield int(at), data(priority, number, length, **stations)
        at += (length + OVERHEAD) * 8 * SECOND / rate
        number += 1


def taking_turns(start, end, rate, priorities, lengths=(LENGTH,), **stations):
    """Streams of these priorities that share a rate, and whose frames follow each other."""
    step = (lengths[0] + OVERHEAD) * 8 * SECOND // rate
    each = rate / len(priorities)
    return [
        stream(start + turn * step, end, each, priority, lengths, **stations)
        for turn, priority in enumerate(priorities)
    ]


def control(opcode, body, length=60, source=2):
    """A MAC control frame from a station."""
    frame = MAC_CONTROL + mac(source) + b"\x88\x08" + opcode.to_bytes(2, "big") + body
    return frame.ljust(60, b"\0")[:length]


def pfc(times, vector=None, length=60, source=2):
    """A PFC frame with the quanta of each priority in `times`, which the vector enables where nothing else is said."""
    vector = sum(1 << priority for priority in times) if vector is None else vector
    body = struct.pack(">9H", vector, *(times.get(priority, 0) for priority in range(8)))
    return control(0x0101, body, length, source)


def pause(quanta, source=2):
    """An 802.3x PAUSE frame."""
    return control(0x0001, quanta.to_bytes(2, "big"), source=source)


def pause_ns(quanta, rate):
    return quanta * QUANTUM_BITS * SECOND // rate


def repeated(start, end, frame, every):
    """The same frame again and again."""
    return ((at, frame) for at in range(start, end, every))


def storm(start, end, priorities, rate, source=2):
    """PFC frames that keep these priorities paused."""
    frame = pfc(dict.fromkeys(priorities, FOREVER), source=source)
    return repeated(start, end, frame, pause_ns(FOREVER, rate) // 2)


def settings(ports, lossless=(3, 4), groups='xoff = "100kB"\nheadroom = "64MB"', queues="", more="", **port_keys):
    """A gateway with ports of these rates, each with the same lossless groups and queues, and further keys.

    Two ports are wired to each other; more are a bridge. A replay has no device, so nothing waits for one. A key
    that is None has its default.
    """
    text = [f'[forwarding]\nmode = "{"patch" if len(ports) == 2 else "bridge"}"\n{more}']
    keys = {"tx_window": '"0us"', "interface_delay": '"0us"', "watchdog": '"none"', "mtu": "9198"} | port_keys
    for name, rate in ports.items():
        text.append(f'[[port]]\nname = "{name}"\nrate = "{rate}"')
        text += [f"{key} = {value}" for key, value in keys.items() if value is not None]
        if lossless:
            text.append(f"[[port.lossless]]\npriorities = {list(lossless)}\n{groups}")
        text.append(queues)
    return "\n".join(text) + "\n"


@dataclasses.dataclass(frozen=True)
class Arrival:
    """A data frame that left a port: when its first bit was on the wire, its flow, and whether it is marked."""

    at: int
    priority: int
    source: int
    number: int
    length: int
    is_marked: bool


class Played:
    """What a replay made of captures."""

    def __init__(self, directory):
        self.directory = directory
        self.report = json.loads((directory / "report.json").read_text(encoding="utf-8"))
        self.ports = {port["name"]: port for port in self.report["ports"]}

    @functools.cached_property
    def outputs(self):
        return {name: list(capture.frames(self.directory / f"{name}.pcap")) for name in self.ports}

    def priority(self, port, priority):
        return self.ports[port]["priorities"][priority]

    @functools.cache
    def data(self, port, priority=None):
        """Data frames that left a port, in order."""
        found = []
        for at, length, frame in self.outputs[port]:
            if frame[HEADERS : HEADERS + 4] == MARK and (priority is None or frame[15] >> 5 == priority):
                number = int.from_bytes(frame[HEADERS + 4 : HEADERS + 8], "big")
                found.append(Arrival(at, frame[15] >> 5, frame[29], number, length, capture.is_marked(frame)))
        return found

    def pauses(self, port):
        """The time and the quanta by priority of each PFC frame that left a port."""
        for at, _, frame in self.outputs[port]:
            if frame[12:16] == b"\x88\x08\x01\x01":
                times = struct.unpack_from(">8H", frame, 18)
                yield at, {number: times[number] for number in range(8) if frame[17] >> number & 1}

    def paused(self, port):
        """The priorities that PFC frames from a port have stopped."""
        return sorted({number for _, times in self.pauses(port) for number, quanta in times.items() if quanta})

    def dropped(self, port, priority):
        """Frames of a priority that came in at a port and were dropped, by what the report says."""
        here = self.priority(port, priority)["ingress"]["dropped"].values()
        return sum(count["frames"] for count in here)


def write(path, streams):
    """Writes streams of frames, each in order of time, as one capture with nanoseconds."""
    frames = list(heapq.merge(*streams, key=lambda timed: timed[0]))
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
        for at, frame in frames:
            seconds, rest = divmod(at, SECOND)
            file.write(struct.pack("<IIII", seconds, rest, len(frame), len(frame)) + frame)
    return len(frames)


def play(longspan, work, configuration, streams):
    """Replays streams of frames, by the port at which they arrive, through a gateway."""
    work.mkdir(parents=True, exist_ok=True)
    (work / "gateway.toml").write_text(configuration, encoding="utf-8")
    command = [longspan, "replay", "--config", work / "gateway.toml", "--out-dir", work]
    for port, own in streams.items():
        write(work / f"{port}-in.pcap", own)
        command += ["--in", f"{port}={work}/{port}-in.pcap"]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return Played(work)


def rate_of(arrivals, start, end):
    """The rate at which frames left within a time, in bits on the wire a second."""
    own = [arrival for arrival in arrivals if start <= arrival.at < end]
    if len(own) < 2:
        return 0.0
    bits = sum(arrival.length + OVERHEAD for arrival in own[:-1]) * 8
    return bits * SECOND / (own[-1].at - own[0].at)


def alone(check):
    """A case that has no control: `check` tells whether it holds, and what it measured."""

    def run(longspan, work, quick):
        held, measured = check(longspan, work, quick)
        return Result(measured, held)

    return run


def versus(check, control):
    """A case whose control, with what it is about turned off, must not hold."""

    def run(longspan, work, quick):
        held, measured = check(longspan, work / "case", quick)
        off, without = control(longspan, work / "control", quick)
        return Result(f"{measured} [control: {without}]", held and not off)

    return run
