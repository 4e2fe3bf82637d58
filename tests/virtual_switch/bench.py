"""Stations around the switch under test: raw sockets on the other ends of its links."""

import select
import socket
import time

from . import frames

ALL = 0x0003
# Long enough for a switch that shares its cores; nothing here is judged by it.
PATIENCE = 5.0
# The station that sends probes, which takes part in no case, and the number of its frames.
PROBER = 3
PROBE = 0xFFFFFFFF


class Station:
    """A raw socket on one interface. It sees what arrives, and not what it sends."""

    def __init__(self, number, interface):
        self.number = number
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL))
        self.socket.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
        self.socket.bind((interface, ALL))

    def send(self, frame):
        self.socket.send(frame)

    def receive(self, seconds):
        """The next frame that arrives within this time, with its time of arrival; None if there is none."""
        deadline = time.monotonic() + seconds
        while True:
            ready, _, _ = select.select([self.socket], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return None
            frame, address = self.socket.recvfrom(65536)
            if address[2] != socket.PACKET_OUTGOING:
                return time.monotonic(), frame


class Bench:
    """Four stations, each behind a port of the switch."""

    def __init__(self, interfaces):
        self.stations = {number: Station(number, name) for number, name in enumerate(interfaces, 1)}

    def __getitem__(self, number):
        return self.stations[number]

    def collect(self, station, count, seconds=PATIENCE):
        """Data frames that arrive at a station, until there are `count` or time is up."""
        found, deadline = [], time.monotonic() + seconds
        while len(found) < count:
            got = self[station].receive(deadline - time.monotonic())
            if got is None:
                break
            if frames.number_of(got[1]) not in (None, PROBE):
                found.append(got)
        return found

    def hold(self, station, times):
        """Pauses the switch at a station, and waits until it obeys. A probe of each priority waits behind the pause."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            self[station].send(frames.pfc(station, times))
            self.wait(station, 0.02)
            for priority in times:
                self[PROBER].send(frames.data(PROBER, station, PROBE, priority))
            got = self[station].receive(0.04)
            if got is None or frames.number_of(got[1]) != PROBE:
                return
            self.wait(station, 0.05)

    def wait(self, station, seconds):
        """Lets time pass, and forgets what arrives at a station meanwhile."""
        deadline = time.monotonic() + seconds
        while self[station].receive(deadline - time.monotonic()) is not None:
            pass

    def pauses(self, station, wanted, seconds=PATIENCE):
        """The times of PFC frames at a station, up to the first that `wanted` says yes to, or until time is up."""
        found, deadline = [], time.monotonic() + seconds
        while True:
            got = self[station].receive(deadline - time.monotonic())
            if got is None:
                return found
            times = frames.times_of(got[1])
            if times is not None:
                found.append(times)
                if wanted(times):
                    return found

    def settle(self):
        """Ends all pauses, lets the switch know all stations, and waits until nothing arrives any more."""
        for number, station in self.stations.items():
            station.send(frames.pfc(number, {3: 0, 4: 0}))
            station.send(frames.data(number, number % 4 + 1, 0))
        for number in self.stations:
            while self[number].receive(0.05) is not None:
                pass
