"""librte_sched, the hierarchical scheduler of DPDK, in a program beside this file: frames are hashed to pipes, queued,
chosen and sent. Nothing is shaped. It is the yardstick for queues and scheduling, which OVS-DPDK does not have."""

import contextlib
import json
import os
import subprocess

import machine
from process import Failed, child, log_of, wait_until

# Frames under way in queues and caches, beside the frames that net_pcap keeps.
SPARE_BUFFERS = 16_384
BUFFER_OVERHEAD_BYTES = 320
# Of a pipe: its 16 queues of 64 frames, and the state of each. Where there are few pipes, their queues are longer.
PIPE_BYTES = 16 << 10
SCHEDULER_BYTES = 4 << 20
# The frames that always wait in each scheduler of a contender with a backlog: eight bursts.
BACKLOG_FRAMES = 512


class TrafficManager:
    """A contender. With a backlog the scheduler is cheaper, since it has to look less far for the next frame, but each
    frame waits behind so many others."""

    origin = "built by scripts/bench-dataplane"
    transmit_queues = 1

    def __init__(self, program, pipes, backlog=0):
        self.name = f"sched-{pipes}-backlog" if backlog else f"sched-{pipes}"
        self.programs = (program,)
        self.program, self.pipes, self.backlog = program, pipes, backlog
        self.holds_frames = backlog > 0

    @staticmethod
    def refuses(_workload):
        return None

    @staticmethod
    def buffers(workload):
        return workload.ports * workload.frames_per_port + SPARE_BUFFERS

    def memory_bytes(self, workload):
        schedulers = workload.ports * (self.pipes * PIPE_BYTES + SCHEDULER_BYTES)
        return self.buffers(workload) * (workload.room_bytes + BUFFER_OVERHEAD_BYTES) + schedulers + (128 << 20)

    def command(self, workload, devices, setting):
        return [
            self.program, *machine.eal_arguments(setting, self.memory_bytes(workload), devices),
            str(self.pipes), str(self.backlog), str(self.buffers(workload)), str(workload.room_bytes),
        ]  # fmt: skip

    @contextlib.contextmanager
    def forwarding(self, workload, devices, setting):
        command = self.command(workload, devices, setting)
        log = os.path.join(setting.directory, f"{self.name}.log")
        with child(self.name, command, log, stop=end_input, stdin=subprocess.PIPE) as process:
            running = Running(process, len(setting.workers))
            running.totals()
            yield running


def end_input(process):
    process.stdin.close()


class Running:
    """Its totals, which it prints with the time at which it read them."""

    def __init__(self, process, workers):
        self.process, self.workers = process, workers
        self.shows = 0

    def totals(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        self.shows += 1
        return json.loads(wait_until(self.process, self.last_shown, "prints its totals"))

    def last_shown(self):
        lines = [line for line in log_of(self.process).splitlines(keepends=True) if line.startswith("{")]
        return lines[-1] if len(lines) == self.shows and lines[-1].endswith("\n") else None

    def measure(self, sleep, seconds):
        first = self.totals()
        usage = machine.Usage(self.process.pid, self.workers)
        sleep(seconds)
        used = usage.so_far()
        last = self.totals()
        if last["sent"] == first["sent"]:
            raise Failed(f"{self.process.name}: sends nothing")
        rate = (last["sent"] - first["sent"]) * 1e9 / (last["at_ns"] - first["at_ns"])
        return {"frames_per_second": round(rate), **used, "dropped": last["dropped"] - first["dropped"]}
