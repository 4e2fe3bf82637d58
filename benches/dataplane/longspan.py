"""Longspan: `longspan run` with a configuration from a template beside this file."""

import contextlib
import json
import os
import shlex
import string
import subprocess
import sys
import time

import machine
from process import child, output_of, wait_until

# Frames under way, beside the frames that net_pcap keeps.
SPARE_MBUFS = 65_536
SHARED_BYTES = 32 << 20
# The least that `dpdk.pack_below` can be, and the most that a frame takes of the buffer beside its length.
PACK_BELOW_MIN = 60
FRAME_OVERHEAD_BYTES = 31
BUFFER_OVERHEAD_BYTES = 512
TEMPLATES = os.path.dirname(os.path.abspath(__file__))
# Fetches the metrics at an address every second.
SCRAPE = """
import sys, time, urllib.request
while True:
    urllib.request.urlopen(f"http://{sys.argv[1]}/metrics").read()
    time.sleep(1)
"""


class Longspan:
    """A contender: `forwarding` alone, or `everything` on."""

    origin = "cargo build --release"
    transmit_queues = 1
    holds_frames = False

    def __init__(self, program, variant, suffix=""):
        self.name = f"longspan-{variant}{suffix}"
        self.programs = (program,)
        self.program, self.variant = program, variant

    @staticmethod
    def refuses(_workload):
        return None

    @staticmethod
    def mbufs(workload):
        return workload.ports * workload.frames_per_port + SPARE_MBUFS

    def shared_bytes(self, workload):
        """The shared buffer: large enough that the gateway reserves at least that many mbufs for it."""
        return max(SHARED_BYTES, self.mbufs(workload) * (PACK_BELOW_MIN + FRAME_OVERHEAD_BYTES))

    def pack_below(self, workload):
        """The length below which frames are packed: short enough that the gateway reserves these mbufs."""
        return min(max(self.shared_bytes(workload) // self.mbufs(workload) - FRAME_OVERHEAD_BYTES, PACK_BELOW_MIN), 9216)

    def memory_bytes(self, workload):
        mbufs = max(self.mbufs(workload), self.shared_bytes(workload) // (self.pack_below(workload) + 16))
        return mbufs * (workload.room_bytes + BUFFER_OVERHEAD_BYTES) + (512 << 20)

    def configuration(self, workload, devices, setting, socket, metrics):
        gateway = self.template("toml.in").substitute(
            socket=socket,
            metrics=metrics,
            hugepages="require" if setting.huge else "never",
            cores=", ".join(map(str, setting.workers)),
            # A commit to compare with may not know the key.
            lanes=f"\nlanes = {workload.queues}" if workload.queues > 1 else "",
            shared=self.shared_bytes(workload),
            pack_below=self.pack_below(workload),
            pairs=", ".join(f'["near{pair}", "far{pair}"]' for pair in range(workload.pairs)),
        )
        ports = [
            self.template("pair.toml.in").substitute(
                pair=pair,
                near_device=near,
                far_device=far,
                max_frame=max(workload.frame_bytes, 1518),
                flows=max(workload.flows, 1024),
            )
            for pair, (near, far) in enumerate(zip(devices[::2], devices[1::2]))
        ]
        return "\n".join([gateway, *ports])

    def template(self, ending):
        with open(os.path.join(TEMPLATES, f"{self.variant}.{ending}"), encoding="utf-8") as file:
            return string.Template(file.read())

    def answers(self, socket):
        command = [self.program, "show", "ports", "--json", "--socket", socket]
        return os.path.exists(socket) and subprocess.run(command, capture_output=True, check=False).returncode == 0

    @contextlib.contextmanager
    def forwarding(self, workload, devices, setting):
        config = os.path.join(setting.directory, f"{self.name}.toml")
        socket, metrics = os.path.join(setting.directory, "longspan.sock"), machine.free_address()
        with open(config, "w", encoding="utf-8") as file:
            file.write(self.configuration(workload, devices, setting, socket, metrics))
        command = [self.program, "run", "--config", config]
        log = os.path.join(setting.directory, f"{self.name}.log")
        with child(self.name, command, log) as process:
            wait_until(process, lambda: self.answers(socket), "answers on its socket")
            yield Running(process, self.program, socket, metrics, len(setting.workers))


def capture_of(directory):
    """Where the capture of the observers goes. It is created once the gateway captures."""
    return os.path.join(directory, "observed.pcapng")


def observers(running, directory):
    """`top`, events that are followed, a capture of the control frames of its first port, and a scrape a second."""
    on_socket = ["--socket", running.socket]
    to = capture_of(directory)
    with contextlib.suppress(FileNotFoundError):
        os.remove(to)
    top = shlex.join([running.program, "top", *on_socket])
    return {
        "events": [running.program, "events", "--json", *on_socket],
        "capture": [running.program, "capture", "--port", "near0", "--for", "3600s", "--out", to, *on_socket],
        # It wants a terminal.
        "top": ["script", "--quiet", "--flush", "--command", top, "/dev/null"],
        "scrape": [sys.executable, "-c", SCRAPE, running.metrics],
    }


def stranger(_running, _directory):
    """A program that keeps the other core busy, and does not look at the gateway."""
    return {"stranger": [sys.executable, "-c", "while True: pass"]}


def nobody(_running, _directory):
    return {}


# By the ending of their names in the tables: the programs that run beside a gateway. The stranger is the control, the cost
# of a busy neighbour.
COMPANIES = {"": nobody, "-observed": observers, "-beside-stranger": stranger}


class Running:
    """The counters of its ports, over its socket."""

    def __init__(self, process, program, socket, metrics, workers):
        self.process, self.program, self.socket, self.metrics, self.workers = process, program, socket, metrics, workers

    @contextlib.contextmanager
    def beside(self, programs, setting):
        """While these programs run on the core for housekeeping: on the worker's core they would cost more than what they
        ask of it."""
        with contextlib.ExitStack() as stack:
            processes = []
            for name, command in programs.items():
                log = os.path.join(setting.directory, f"{name}.log")
                pinned = ["taskset", "-c", str(setting.housekeeping), *command]
                processes.append(stack.enter_context(child(name, pinned, log)))
                if name == "capture":
                    wait_until(processes[-1], lambda: os.path.exists(capture_of(setting.directory)), "captures")
            yield
            for process in processes:
                wait_until(process, lambda: process.poll() is None, "runs to the end", seconds=0)

    def sent(self):
        """How many frames have left, and when that was."""
        before = time.monotonic()
        shown = output_of(self.program, "show", "ports", "--json", "--socket", self.socket)
        after = time.monotonic()
        return frames_sent(json.loads(shown)), (before + after) / 2

    def measure(self, sleep, seconds):
        usage = machine.Usage(self.process.pid, self.workers)
        first, from_time = self.sent()
        sleep(seconds)
        last, to_time = self.sent()
        used = usage.so_far()
        return {"frames_per_second": round((last - first) / (to_time - from_time)), **used}


def frames_sent(shown):
    """Of all ports."""
    return sum(port["out"]["frames"] for port in shown["ports"])
