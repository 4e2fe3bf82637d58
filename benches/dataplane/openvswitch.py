"""OVS-DPDK with two flow rules for each pair of ports, one for each direction: Debian's, run by hand with a database of its
own."""

import contextlib
import os
import re
import time

import machine
from process import Failed, child, output_of, wait_until
from workload import FRAMES_MAX_OF_OVS

SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
DAEMON = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"
# Its pool for all ports of one MTU, which it halves where memory is short; and what it has at least for each port
# where every port has its own pool, which is kinder to caches.
SHARED_BUFFERS = 262_144
PORT_BUFFERS = 16_384
SPARE_BUFFERS = 4_096
BUFFER_OVERHEAD_BYTES = 512
BRIDGE = "bench"
# A rule for which the datapath parses each frame, looks it up and changes it: the RoCEv2 frames of the captures from one
# site to the other, at an odd port and back at the next.
PARSED = (
    "udp,tp_dst=4791,nw_src=10.0.1.0/24,nw_dst=10.0.2.0/24",
    "udp,tp_dst=4791,nw_src=10.0.2.0/24,nw_dst=10.0.1.0/24",
)
LONGEST_USUAL_FRAME = 1518


class OpenVSwitch:
    """A contender. Rules that match on the port alone take its shortest way (`simple match`), whatever
    caches are set. With `parses` they match addresses and ports and count the TTL down, so frames take another way,
    for which caches are set: EMC for few flows, SMC for more than EMC holds."""

    programs = (DAEMON, "ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-ofctl", "ovs-appctl")
    origin = "package openvswitch-switch-dpdk"
    # Its main thread has one too.
    transmit_queues = 2
    holds_frames = False
    EMC_FLOWS = 4096

    def __init__(self, parses):
        self.name = "ovs-dpdk-rule" if parses else "ovs-dpdk"
        self.parses = parses

    @staticmethod
    def refuses(workload):
        if workload.queues > 1:
            return "its ports have one queue here"
        if workload.frames_per_port * workload.pairs > FRAMES_MAX_OF_OVS:
            return f"holds at most {SHARED_BUFFERS:,} buffers"
        return None

    @staticmethod
    def has_port_pools(workload):
        return workload.frames_per_port + SPARE_BUFFERS <= PORT_BUFFERS

    def memory_bytes(self, workload):
        room = workload.room_bytes if workload.frame_bytes <= LONGEST_USUAL_FRAME else workload.room_bytes + 1024
        buffers = 2 * workload.ports * PORT_BUFFERS if self.has_port_pools(workload) else SHARED_BUFFERS
        return buffers * (room + BUFFER_OVERHEAD_BYTES) + (256 << 20)

    def settings(self, workload, setting):
        few = workload.flows <= self.EMC_FLOWS
        settings = {
            "dpdk-init": "true",
            "dpdk-lcore-mask": mask([setting.housekeeping]),
            "pmd-cpu-mask": mask(setting.workers),
            "per-port-memory": "true" if self.has_port_pools(workload) else "false",
            "emc-insert-inv-prob": "1" if few else "0",
            "smc-enable": "false" if few else "true",
            "n-handler-threads": "1",
            "n-revalidator-threads": "1",
        }
        memory = {"dpdk-extra": "--in-memory --no-pci --no-telemetry"}
        if not setting.huge:
            # Without `--legacy-mem` it adds `--in-memory` by itself, which excludes `--no-huge`.
            memory = {
                "dpdk-extra": f"--no-huge --legacy-mem --file-prefix={machine.FILE_PREFIX} --no-pci --no-telemetry",
                "dpdk-alloc-mem": str(self.memory_bytes(workload) >> 20),
            }
        return settings | memory

    @contextlib.contextmanager
    def forwarding(self, workload, devices, setting):
        # Sockets have short names, and the rest goes with them.
        home = os.path.join(setting.directory, "ovs")
        os.makedirs(home, exist_ok=True)
        places = {"OVS_RUNDIR": home, "OVS_LOGDIR": home, "OVS_DBDIR": home, "OVS_SYSCONFDIR": home}
        tools = Tools(home, os.environ | places)
        with contextlib.ExitStack() as stack:
            start_database(stack, tools)
            settings = self.settings(workload, setting)
            pairs = [f'other_config:{key}="{value}"' for key, value in settings.items()]
            tools.vsctl("--no-wait", "set", "Open_vSwitch", ".", *pairs)
            # Threads that do not forward stay off the cores of those that do; these pin themselves.
            command = ["taskset", "-c", str(setting.housekeeping), DAEMON, tools.database]
            command += ["--pidfile", tools.control("vswitchd")]
            log = os.path.join(setting.directory, f"{self.name}.log")
            process = stack.enter_context(child(self.name, command, log, env=tools.environment))
            wait_until(process, lambda: os.path.exists(tools.socket("vswitchd")), "opens its control socket")
            wait_until(process, tools.has_dpdk, "initializes DPDK")
            self.connect(tools, workload, devices, setting)
            yield Running(process, tools, len(setting.workers))

    def connect(self, tools, workload, devices, setting):
        datapath = ["--", "set", "bridge", BRIDGE, "datapath_type=netdev", "fail-mode=secure"]
        tools.vsctl("add-br", BRIDGE, *datapath)
        for number, device in enumerate(devices):
            port = [f"p{number}", "--", "set", "Interface", f"p{number}", "type=dpdk", f"ofport_request={number + 1}"]
            port += [f'options:dpdk-devargs="{device}"']
            if workload.frame_bytes > LONGEST_USUAL_FRAME:
                port += [f"mtu_request={workload.frame_bytes - 18}"]
            if len(setting.workers) > 1:
                # Where there is a pair for each core, both ends of a pair are on one.
                step = 2 if workload.pairs >= len(setting.workers) else 1
                core = setting.workers[number // step % len(setting.workers)]
                port += [f'other_config:pmd-rxq-affinity="0:{core}"']
            tools.vsctl("add-port", BRIDGE, *port)
            error = tools.vsctl("get", "Interface", f"p{number}", "error").strip()
            if error != "[]":
                raise Failed(f"{self.name}: port {number}: {error}")
        for one, other in zip(range(1, workload.ports, 2), range(2, workload.ports + 1, 2)):
            for ingress, egress, parsed in zip((one, other), (other, one), PARSED):
                rule = f"{parsed},actions=dec_ttl,output:{egress}" if self.parses else f"actions=output:{egress}"
                tools.ofctl("add-flow", BRIDGE, f"in_port={ingress},{rule}")


def mask(cores):
    return hex(sum(1 << core for core in cores))


def start_database(stack, tools):
    file = os.path.join(tools.home, "conf.db")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(file)
    output_of("ovsdb-tool", "create", file, SCHEMA)
    server = stack.enter_context(
        child(
            "ovsdb-server",
            ["ovsdb-server", "--remote=p" + tools.database, tools.control("ovsdb"), file],
            os.path.join(tools.home, "ovsdb-server.log"),
            env=tools.environment,
        )
    )
    wait_until(server, lambda: os.path.exists(os.path.join(tools.home, "db.sock")), "opens its socket")
    tools.vsctl("--no-wait", "init")


class Tools:
    """Its commands, on our database."""

    def __init__(self, home, environment):
        self.home, self.environment = home, environment
        self.database = f"unix:{home}/db.sock"

    def socket(self, name):
        return f"{self.home}/{name}.ctl"

    def control(self, name):
        return "--unixctl=" + self.socket(name)

    def vsctl(self, *arguments):
        return output_of("ovs-vsctl", f"--db={self.database}", "--timeout=30", *arguments, env=self.environment)

    def has_dpdk(self):
        return self.vsctl("get", "Open_vSwitch", ".", "dpdk_initialized").strip() == "true"

    def ofctl(self, *arguments):
        return output_of("ovs-ofctl", "--timeout=10", *arguments, env=self.environment)

    def appctl(self, *arguments):
        target = self.socket("vswitchd")
        return output_of("ovs-appctl", "--timeout=10", "-t", target, *arguments, env=self.environment)


class Running:
    """The counters of its ports, which it reads from the devices when it is asked."""

    def __init__(self, process, tools, workers):
        self.process, self.tools, self.workers = process, tools, workers

    def sent(self):
        """How many frames have left, and when that was."""
        before = time.monotonic()
        ports = self.tools.ofctl("dump-ports", BRIDGE)
        after = time.monotonic()
        frames = sum(map(int, re.findall(r"tx pkts=(\d+)", ports)))
        return frames, (before + after) / 2

    def measure(self, sleep, seconds):
        self.tools.appctl("dpif-netdev/pmd-stats-clear")
        usage = machine.Usage(self.process.pid, self.workers)
        first, from_time = self.sent()
        sleep(seconds)
        last, to_time = self.sent()
        used = usage.so_far()
        stats = self.tools.appctl("dpif-netdev/pmd-stats-show")
        hits = {
            way: sum(map(int, re.findall(rf"{way} hits: (\d+)", stats)))
            for way in ("simple match", "emc", "smc", "megaflow")
        }
        rate = (last - first) / (to_time - from_time)
        return {"frames_per_second": round(rate), **used, "ways": hits}
