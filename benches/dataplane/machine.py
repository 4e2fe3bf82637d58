"""The machine that is measured on: its cores, its huge pages, and who else uses it."""

import contextlib
import os
import platform
import shutil
import socket
import subprocess
import time

HUGE_PAGE_BYTES = 2 << 20
HUGE_PAGES = "/proc/sys/vm/nr_hugepages"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def memory_kib(name):
    """A line of /proc/meminfo."""
    for line in read("/proc/meminfo").splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1])
    return 0


@contextlib.contextmanager
def huge_pages(bytes_needed):
    """Sees to so many bytes of free huge pages, says whether they are there, and puts the setting back."""
    missing = -(-bytes_needed // HUGE_PAGE_BYTES) - memory_kib("HugePages_Free")
    before = int(read(HUGE_PAGES))
    if missing > 0:
        with contextlib.suppress(OSError), open(HUGE_PAGES, "w", encoding="ascii") as file:
            file.write(str(before + missing))
    reserved = int(read(HUGE_PAGES))
    try:
        yield memory_kib("HugePages_Free") * HUGE_PAGE_BYTES >= bytes_needed
    finally:
        # Another process may have changed it meanwhile, and knows what it should be.
        if reserved != before and int(read(HUGE_PAGES)) == reserved:
            with open(HUGE_PAGES, "w", encoding="ascii") as file:
                file.write(str(before))


# Of DPDK processes that cannot run in memory alone, since they have no huge pages.
FILE_PREFIX = f"longspan-bench-{os.getpid()}"


def eal_arguments(setting, memory_bytes, devices):
    """Those of a program of DPDK with a worker on each core of the setting. Its first lcore, which forwards nothing, may
    share the core of the benchmark."""
    lcores = [f"0@{setting.housekeeping}"]
    lcores += [f"{number}@{core}" for number, core in enumerate(setting.workers, 1)]
    memory = ["--in-memory"]
    if not setting.huge:
        memory = ["--no-huge", "-m", str(memory_bytes >> 20), f"--file-prefix={FILE_PREFIX}"]
    devices = [f"--vdev={device}" for device in devices]
    return [f"--lcores={','.join(lcores)}", *memory, "--no-pci", "--no-telemetry", *devices, "--"]


def remove_runtime_directories():
    """DPDK leaves one behind for each file prefix."""
    for prefix in (FILE_PREFIX, FILE_PREFIX + "-probe"):
        shutil.rmtree(f"/run/dpdk/{prefix}", ignore_errors=True)


def free_address():
    """An address of the loopback interface on which no one listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return "{}:{}".format(*listener.getsockname())


def thread_nanoseconds(pid):
    """The processor time that each thread of a process has had."""
    spent = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(FileNotFoundError):
            spent[thread] = int(read(f"/proc/{pid}/task/{thread}/schedstat").split()[0])
    return spent


def stolen_ticks():
    """The ticks that the host took from this virtual machine, on all cores."""
    return int(read("/proc/stat").splitlines()[0].split()[8])


class Usage:
    """Which share of the time the workers of a process were really running: a poll-mode thread wants all
    of it, and what it did not get went to somebody else."""

    def __init__(self, pid, workers):
        self.pid, self.workers = pid, workers
        self.spent, self.stolen, self.since = thread_nanoseconds(pid), stolen_ticks(), time.monotonic()

    def so_far(self):
        seconds = time.monotonic() - self.since
        now = thread_nanoseconds(self.pid)
        spent = sorted((now[thread] - self.spent.get(thread, 0) for thread in now), reverse=True)
        share = min(spent[: self.workers]) / 1e9 / seconds
        return {"worker_share": round(min(share, 1.0), 4), "stolen_ticks": stolen_ticks() - self.stolen}


def first_line(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except OSError:
        return None
    return next(iter((done.stdout + done.stderr).splitlines()), None)


def package_version(package):
    return first_line("dpkg-query", "-W", "-f=${Version}", package)


def description():
    """The facts about this machine that a reader needs in order to compare figures."""
    model = [line for line in read("/proc/cpuinfo").splitlines() if line.startswith("model name")]
    return {
        "processor": model[0].partition(":")[2].strip() if model else platform.machine(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "dpdk": package_version("dpdk"),
        "openvswitch": package_version("openvswitch-switch-dpdk"),
        "revision": first_line("git", "describe", "--always", "--dirty"),
        "load_average": os.getloadavg()[0],
    }
