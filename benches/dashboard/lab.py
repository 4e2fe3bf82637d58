"""Two live gateways with a long link between them, and traffic of hosts in network namespaces.

The gateways are those of config/gateways/wire-memif-*-lscc.toml, on cores that they share with everything else.
"""

import os
import re
import struct
import subprocess
import time

PREFIX = f"dash{os.getpid() % 100000}"
CAPTURE = "tests/data/captures/rxe-cm-multiqp.pcap"
# Interface of a gateway, and the host behind it.
HOSTS = {"near0": "10.77.0.1", "near1": "10.77.0.2", "far0": "10.77.0.3"}
# RoCEv2's code point, with room for ECN.
TOS = str(26 << 2)


def split(capture, directory):
    """The frames of a classic pcap file, in a file for each of the two stations that sent them."""
    with open(capture, "rb") as file:
        header, rest = file.read(24), file.read()
    frames, at = {}, 0
    while at < len(rest):
        (length,) = struct.unpack_from("<8xI", rest, at)
        frames.setdefault(rest[at + 22 : at + 28], []).append(rest[at : at + 16 + length])
        at += 16 + length
    paths = []
    for number, records in enumerate(sorted(frames.values(), key=len, reverse=True)[:2]):
        path = directory / f"station{number}.pcap"
        path.write_bytes(header + b"".join(records))
        paths.append(path)
    return paths


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def inside(host, *words, **options):
    """Starts a program in the namespace of a host."""
    command = ["ip", "netns", "exec", f"{PREFIX}-{host}", *words]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)


def end(process):
    """Waits for a process that was asked to end, and kills one that does not."""
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Lab:
    """Hosts and gateways; all of them end with the `with`."""

    METRICS = ["127.0.0.1:9464", "127.0.0.1:9465"]

    def __init__(self, longspan, scratch):
        self.longspan = longspan.resolve()
        self.scratch = scratch
        self.processes = []

    def __enter__(self):
        try:
            for host, address in HOSTS.items():
                self.host(host, address)
            for side in ("near", "far"):
                self.gateway(side)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            end(process)
        for host in HOSTS:
            subprocess.run(["ip", "netns", "del", f"{PREFIX}-{host}"], check=False, stderr=subprocess.DEVNULL)

    def host(self, host, address):
        """A host in a namespace, with one end of a veth pair; the gateway has the other."""
        space = f"{PREFIX}-{host}"
        ip("netns", "add", space)
        ip("link", "add", self.interface(host), "type", "veth", "peer", "name", "eth0", "netns", space)
        ip("link", "set", self.interface(host), "up")
        ip("-n", space, "addr", "add", f"{address}/24", "dev", "eth0")
        ip("-n", space, "link", "set", "eth0", "up")
        inside(host, "ethtool", "-K", "eth0", "tx", "off", "tso", "off", "gso", "off").wait()

    @staticmethod
    def interface(host):
        return f"d{os.getpid() % 10000}{host}"

    def gateway(self, side):
        """A gateway as its file has it, except for names, a core that it shares, and a link agent on the long link."""
        with open(f"config/gateways/wire-memif-{side}-lscc.toml", encoding="utf-8") as file:
            text = file.read()
        for host in HOSTS:
            text = text.replace(f'"{host}"', f'"{self.interface(host)}"')
        core = 0 if side == "near" else 1
        text = text.replace("/run/longspan/wire.memif", str(self.scratch / "wire.memif"))
        text = text.replace("../keys/example.key", os.path.abspath("config/keys/example.key"))
        socket = self.scratch / f"{side}.sock"
        text = text.replace("[control]\n", f'[control]\nsocket = "{socket}"\n')
        text = re.sub(r"^\[forwarding\]", f'[dpdk]\ncores = [{core}]\nidle = "sleep"\n\n[forwarding]', text, flags=re.M)
        # lh0 is the last port. The far end has another share for RoCE there, so that its neighbour finds a mismatch.
        if side == "far":
            rest, _, end = text.rpartition("weight = 50")
            text = f"{rest}weight = 20{end}"
            # Its first port identifies a gateway, and has the same address everywhere unless the file states one.
            text = text.replace('name = "dc0"', 'name = "dc0"\nmac = "02:00:00:00:0f:01"')
        text += "\n[port.lldp]\n"
        path = self.scratch / f"{side}.toml"
        path.write_text(text, encoding="utf-8")
        log = open(self.scratch / f"{side}.log", "w", encoding="utf-8")
        command = [self.longspan, "run", "--config", path]
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        self.processes.append(process)
        deadline = time.monotonic() + 30
        while not socket.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((self.scratch / f"{side}.log").read_text())
            time.sleep(0.1)

    def send(self):
        """TCP in the lossless class from two hosts to one, which is slower than both, and a capture of RoCEv2."""
        for number, host in enumerate(("near0", "near1")):
            port = str(5201 + number)
            self.processes.append(inside("far0", "iperf3", "--server", "--one-off", "--port", port))
            self.wait_for_listener("far0", port)
            self.processes.append(
                inside(
                    host, "iperf3", "--client", HOSTS["far0"], "--port", port, "--tos", TOS, "--window", "200K",
                    "--parallel", "2", "--time", "60", "--connect-timeout", "5000",
                )
            )
        for host, path in zip(("near1", "far0"), split(CAPTURE, self.scratch)):
            replay = ("tcpreplay", "--intf1=eth0", "--mbps=10", "--loop=0", "--duration=60", path)
            self.processes.append(inside(host, *replay))

    @staticmethod
    def wait_for_listener(host, port):
        """Waits until someone listens: a client that comes too early ends, and no one sends."""
        command = ["ip", "netns", "exec", f"{PREFIX}-{host}", "ss", "-Hltn", f"sport = :{port}"]
        deadline = time.monotonic() + 30
        while not subprocess.run(command, check=True, capture_output=True).stdout:
            if time.monotonic() > deadline:
                raise RuntimeError(f"no one listens at port {port} of {host}")
            time.sleep(0.1)
