"""testpmd of DPDK: `io` passes frames on as they are, `5tswap` exchanges addresses and ports."""

import contextlib
import os
import re
import subprocess

import machine
from process import child, log_of, wait_until

PROGRAM = "dpdk-testpmd"
# Frames under way in rings and caches, beside the frames that net_pcap keeps.
SPARE_BUFFERS = 16_384
BUFFER_OVERHEAD_BYTES = 320


class Testpmd:
    """A contender."""

    programs = (PROGRAM,)
    origin = "package dpdk-dev"
    transmit_queues = 1
    holds_frames = False

    def __init__(self, mode):
        self.name = f"testpmd-{mode}"
        self.mode = mode

    @staticmethod
    def refuses(_workload):
        return None

    @staticmethod
    def buffers(workload):
        return workload.ports * workload.frames_per_port + SPARE_BUFFERS

    def memory_bytes(self, workload):
        return self.buffers(workload) * (workload.room_bytes + BUFFER_OVERHEAD_BYTES) + (128 << 20)

    def command(self, workload, devices, setting):
        # The output is read while it runs, so lines must not wait in a buffer.
        return [
            "stdbuf", "-oL", PROGRAM, *machine.eal_arguments(setting, self.memory_bytes(workload), devices),
            "--interactive", "--disable-link-check", f"--forward-mode={self.mode}",
            f"--nb-cores={len(setting.workers)}", f"--rxq={workload.queues}", f"--txq={workload.queues}",
            f"--mbuf-size={workload.room_bytes}",
            f"--total-num-mbufs={self.buffers(workload)}",
        ]  # fmt: skip

    @contextlib.contextmanager
    def forwarding(self, workload, devices, setting):
        command = self.command(workload, devices, setting)
        log = os.path.join(setting.directory, f"{self.name}.log")
        with child(self.name, command, log, stop=say("stop", "quit"), stdin=subprocess.PIPE) as process:
            say("start")(process)
            wait_until(process, lambda: f"packet forwarding - ports={workload.ports}" in log_of(process), "starts")
            yield Running(process, len(setting.workers), workload.ports)


def say(*commands):
    def to(process):
        process.stdin.write("".join(f"{command}\n" for command in commands).encode())
        process.stdin.flush()

    return to


class Running:
    """Between two shows of its statistics it says itself how fast frames left."""

    def __init__(self, process, workers, ports):
        self.process, self.workers, self.ports = process, workers, ports
        self.shows = 0

    def show(self):
        say("show port stats all")(self.process)
        self.shows += 1
        wanted = self.ports * self.shows
        wait_until(
            self.process, lambda: len(self.rates()) >= wanted, "shows statistics", seconds=10
        )

    def rates(self):
        return re.findall(r"Tx-pps:\s+(\d+)", log_of(self.process))

    def measure(self, sleep, seconds):
        self.show()
        usage = machine.Usage(self.process.pid, self.workers)
        sleep(seconds)
        used = usage.so_far()
        self.show()
        return {"frames_per_second": sum(map(int, self.rates()[-self.ports :])), **used}
