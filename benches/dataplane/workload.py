"""The frames that the contenders are given to forward."""

import dataclasses
import os
import subprocess

from process import Failed

# OVS-DPDK holds at most 262,144 buffers of one size, for both ports; so many frames of each leave it a
# quarter for what it does with them.
FRAMES_MAX_OF_OVS = 98_304
HEADROOM_BYTES = 128
USUAL_ROOM_BYTES = 2048


@dataclasses.dataclass(frozen=True)
class Workload:
    """Two captures that are played without end, one into each queue of each port of a pair; the same for every pair."""

    frame_bytes: int
    flows: int  # half of them come in through each port
    packets_per_flow: int
    pairs: int = 1
    queues: int = 1  # of each port, in each direction

    def __str__(self):
        ports = f", {self.ports} ports" if self.pairs > 1 else ""
        queues = f", {self.queues} queues" if self.queues > 1 else ""
        return f"{self.flows:,} flows of {self.frame_bytes} bytes{ports}{queues}"

    @property
    def ports(self):
        return 2 * self.pairs

    @property
    def frames_per_port(self):
        return self.frames_per_capture * self.queues

    @property
    def frames_per_capture(self):
        return max(self.flows // 2, 1) * self.packets_per_flow

    @property
    def room_bytes(self):
        """The bytes that a buffer must hold, since net_pcap replays no frame of several segments."""
        return max(self.frame_bytes, USUAL_ROOM_BYTES) + HEADROOM_BYTES

    def captures(self, directory):
        """Where its captures are."""
        name = f"{self.frame_bytes}-{self.flows}-{self.packets_per_flow}"
        return [os.path.join(directory, f"{name}-{way}.pcap") for way in ("out", "in")]

    def make_captures(self, maker, directory):
        frames, flows = str(self.frames_per_capture), str(max(self.flows // 2, 1))
        for path, way in zip(self.captures(directory), ("out", "in")):
            command = [maker, path, frames, str(self.frame_bytes), flows, way]
            if subprocess.run(command, timeout=120, check=False).returncode != 0:
                raise Failed(f"cannot make a capture: {' '.join(command)}")

    def remove_captures(self, directory):
        for path in self.captures(directory):
            os.unlink(path)

    def devices(self, directory):
        """Ports that preload a capture for each queue and play it without end, and drop what they send."""
        return [
            f"net_pcap{port}," + f"rx_pcap={path}," * self.queues + "infinite_rx=1"
            for port, path in enumerate(self.captures(directory) * self.pairs)
        ]


def packets_per_flow(flows, wanted):
    """As many as wanted, where OVS-DPDK can hold the frames; one at least."""
    return max(1, min(wanted, FRAMES_MAX_OF_OVS // max(flows // 2, 1)))
