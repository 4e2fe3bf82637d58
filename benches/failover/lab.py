"""Namespaces, a fibre that can be cut, and the two kinds of sites that it joins."""

import contextlib
import json
import os
import subprocess
import time

from process import Failed, child, log_of, output_of, wait_until

LINKS = (0, 1)
SIDES = ("near", "far")
RING = "framesz=2048,framecnt=8192"
# Stations of the gateways at the hosts, and at each link.
HOST_MAC = {"near": "02:00:5e:01:00:00", "far": "02:00:5e:02:00:00"}
HOST_NET = {"near": "10.1.0", "far": "10.2.0"}

# Takes commands from a pipe inside a namespace, so that a cut takes no start of a program: `down lh0`, `up lh0`.
SWITCH = """
import fcntl, socket, struct, sys, time
control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for line in sys.stdin:
    what, name = line.split()
    request = struct.pack('16sH22x', name.encode(), 0x1043 if what == 'up' else 0x1042)
    before = time.time_ns()
    fcntl.ioctl(control, 0x8914, request)
    print(before, time.time_ns(), flush=True)
"""


def in_namespace(name, *command):
    return ["ip", "netns", "exec", name, *command]


class Lab:
    """near and far sites, each with a host, and the fibre between them in a namespace of its own."""

    def __init__(self, directory):
        self.directory, self.prefix = directory, f"failover{os.getpid()}"
        self.stack, self.seen = contextlib.ExitStack(), None

    def __enter__(self):
        for name in ("near", "far", "fibre", "near-host", "far-host"):
            output_of("ip", "netns", "add", self.name(name))
            self.stack.callback(subprocess.run, ["ip", "netns", "del", self.name(name)], check=False)
            self.inside(name, "sysctl", "-q", "-w", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")
            self.inside(name, "ip", "link", "set", "lo", "up")
        for side in SIDES:
            self.join(f"{side}-host", "eth0", side, "dc0")
            for link in LINKS:
                self.join(side, f"lh{link}", "fibre", f"{side[0]}{link}")
        for link in LINKS:
            for one, other in ((f"n{link}", f"f{link}"), (f"f{link}", f"n{link}")):
                self.inside("fibre", "tc", "qdisc", "add", "dev", one, "ingress")
                self.inside("fibre", "tc", *self.way(one, other).split())
        return self

    def __exit__(self, *error):
        self.stack.close()

    @staticmethod
    def way(one, other):
        return (
            f"filter add dev {one} parent ffff: protocol all prio 1 u32 match u32 0 0 "
            f"action mirred egress redirect dev {other}"
        )

    def name(self, name):
        return f"{self.prefix}-{name}"

    def inside(self, name, *command):
        return output_of(*in_namespace(self.name(name), *command))

    def is_quiet(self, name):
        """Whether no frame has come to this host since the last look."""
        frames = self.inside(name, "cat", "/sys/class/net/eth0/statistics/rx_packets")
        was, self.seen = self.seen, frames
        return was == frames

    def join(self, one, interface, other, its):
        output_of("ip", "-n", self.name(one), "link", "add", interface, "type", "veth", "peer", "name", its, "netns", self.name(other))  # fmt: skip
        for name, end in ((one, interface), (other, its)):
            offloads = [word for it in "rx tx sg tso gso gro rxvlan txvlan".split() for word in (it, "off")]
            self.inside(name, "ethtool", "-K", end, *offloads)
            self.inside(name, "ip", "link", "set", end, "up")

    def run(self, name, label, *command, **options):
        """Starts a program in a namespace until the lab ends."""
        log = os.path.join(self.directory, f"{label}.log")
        return self.stack.enter_context(child(label, in_namespace(self.name(name), *command), log, **options))


class Fibre:
    """Cuts the first link, by its carrier or in one direction."""

    def __init__(self, lab):
        self.lab = lab
        self.switch = subprocess.Popen(in_namespace(lab.name("fibre"), "python3", "-uc", SWITCH), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # fmt: skip
        lab.stack.callback(self.switch.kill)

    def carrier(self, what):
        """Sets the light of both ends, and returns the middle of the time that it took."""
        times = []
        for end in ("n0", "f0"):
            self.switch.stdin.write(f"{what} {end}\n")
            self.switch.stdin.flush()
            times += map(int, self.switch.stdout.readline().split())
        return (times[0] + times[1]) // 2

    def one_way(self):
        """Lets nothing pass from the near end to the far one, and returns the middle of the time that it took."""
        before = time.time_ns()
        self.lab.inside("fibre", "tc", "filter", "del", "dev", "n0", "parent", "ffff:")
        return (before + time.time_ns()) // 2


class Gateways:
    """Two gateways. `bundle` is the table of the bundle, or empty for two next hops of the same routes."""

    def __init__(self, lab, longspan, bundle):
        self.lab = lab
        for side in SIDES:
            path = os.path.join(lab.directory, f"{side}.toml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(self.configuration(side, bundle))
            gateway = lab.run(side, side, longspan, "run", "--config", path)
            wait_until(gateway, lambda it=gateway: "is forwarding" in log_of(it), "forwards")
        self.longspan, self.to = longspan, bytes.fromhex(HOST_MAC["near"].replace(":", ""))

    def socket(self, side):
        return os.path.join(self.lab.directory, f"{side}.sock")

    def configuration(self, side, bundle):
        other = SIDES[1 - SIDES.index(side)]
        links = ["lh"] if bundle else [f"lh{link}" for link in LINKS]
        link_mac = lambda of, link: f"02:00:5e:0{SIDES.index(of) + 1}:01:0{link}"
        hops = [f"10.9.{index}.{2 - SIDES.index(side)}" for index in range(len(links))]

        def port(index, name, mac, distance):
            return (
                f'\n[[port]]\nname = "{name}"\nrate = "1G"\nmtu = 1500\nmac = "{mac}"\ndistance = "{distance}"\n'
                f'device = {{ vdev = "net_af_packet{index},iface={name},{RING}" }}\n'
                '\n[[port.lossless]]\npriorities = [3]\nxoff = "256KiB"\nxon = "128KiB"\nheadroom = "1MiB"\n'
            )  # fmt: skip
        text = f'[gateway]\nname = "{side}-{os.getpid()}"\n[control]\nsocket = "{self.socket(side)}"\n[buffer]\nshared = "16MiB"\n'
        text += '[dpdk]\nidle = "sleep"\n'
        text += f'cores = [{SIDES.index(side)}]\n[forwarding]\nmode = "route"\n'
        text += f'\n[[forwarding.route]]\nprefix = "{HOST_NET[side]}.0/24"\nnext_hops = ["{HOST_NET[side]}.2"]\n'
        text += f'\n[[forwarding.route]]\nprefix = "{HOST_NET[other]}.0/24"\nnext_hops = {json.dumps(hops)}\n'
        text += f'\n[[forwarding.neighbour]]\naddress = "{HOST_NET[side]}.2"\nport = "dc0"\nmac = "{host_station(side)}"\n'
        for link, (name, hop) in enumerate(zip(links, hops)):
            text += f'\n[[forwarding.neighbour]]\naddress = "{hop}"\nport = "{name}"\nmac = "{link_mac(other, link)}"\n'
        text += bundle and f'\n[[bundle]]\nname = "lh"\nmembers = ["lh0", "lh1"]\n{bundle}'
        text += port(0, "dc0", HOST_MAC[side], "10m")
        emulated = '[port.emulation]\ndelay = "400us"\n'
        for link in LINKS:
            text += port(link + 1, f"lh{link}", link_mac(side, link), "80km") + emulated
        return text

    def lost_inside(self):
        """Lossless frames that the gateways have dropped."""
        lost = 0
        for side in SIDES:
            shown = json.loads(output_of(self.longspan, "show", "ports", "--json", "--socket", self.socket(side)))
            for port in shown["ports"]:
                for end in ("ingress", "egress"):
                    lost += sum(it["frames"] for it in port["priorities"][3][end]["dropped"].values())
        return lost


def host_station(side):
    return f"02:00:5e:0{SIDES.index(side) + 1}:00:02"


class Routers:
    """Two routers of the kernel: FRR with BGP over both links, and BFD every 10 ms."""

    PROGRAMS = "/usr/lib/frr"

    def __init__(self, lab):
        self.lab, self.processes = lab, {}
        for side in SIDES:
            self.start(side)
        for side in SIDES:
            process = self.processes[side]
            routes = lambda it=side: lab.inside(it, "ip", "route", "show", f"{HOST_NET[SIDES[1 - SIDES.index(it)]]}.0/24")
            wait_until(process, lambda: routes().count("nexthop") == len(LINKS), "has both links as next hops")
            wait_until(process, lambda it=side: self.peers(it).count("up") == len(LINKS), "has BFD on both links")
        station = lab.inside("near", "cat", "/sys/class/net/dc0/address").strip()
        self.to = bytes.fromhex(station.replace(":", ""))

    def peers(self, side):
        """The states of its sessions of BFD."""
        directory = os.path.join(self.lab.directory, side)
        return [it["status"] for it in json.loads(self.lab.inside(side, "vtysh", "--vty_socket", directory, "-c", "show bfd peers json"))]  # fmt: skip

    def start(self, side):
        lab, own = self.lab, SIDES.index(side) + 1
        lab.inside(side, "sysctl", "-q", "-w", "net.ipv4.ip_forward=1", "net.ipv4.fib_multipath_hash_policy=1")
        lab.inside(side, "ip", "addr", "add", f"{HOST_NET[side]}.1/24", "dev", "dc0")
        lab.inside(side, "ip", "neigh", "replace", f"{HOST_NET[side]}.2", "lladdr", host_station(side), "dev", "dc0")
        peers = ""
        for link in LINKS:
            lab.inside(side, "ip", "addr", "add", f"10.9.{link}.{own}/24", "dev", f"lh{link}")
            peer = f"10.9.{link}.{3 - own}"
            peers += f" neighbor {peer} remote-as {65_003 - own}\n neighbor {peer} bfd profile fast\n neighbor {peer} timers connect 1\n"
        configuration = (
            "bfd\n profile fast\n  transmit-interval 10\n  receive-interval 10\n  detect-multiplier 3\n"
            f"router bgp {65_000 + own}\n bgp router-id 10.9.0.{own}\n no bgp ebgp-requires-policy\n{peers}"
            f" address-family ipv4 unicast\n  network {HOST_NET[side]}.0/24\n  maximum-paths 2\n"
        )
        directory = os.path.join(lab.directory, side)
        os.makedirs(directory)
        path = os.path.join(directory, "frr.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(configuration)
        subprocess.run(["chown", "-R", "frr:frr", directory], check=True)
        os.chmod(lab.directory, 0o755)
        for program in ("zebra", "bfdd", "bgpd"):
            options = ["-f", path, "-i", f"{directory}/{program}.pid", "--vty_socket", directory, "-z", f"{directory}/zserv", "-A", "127.0.0.1"]  # fmt: skip
            options += ["--bfdctl", f"{directory}/bfdd.sock"] if program == "bfdd" else []
            self.processes[side] = lab.run(side, f"{side}-{program}", f"{self.PROGRAMS}/{program}", *options)

    @staticmethod
    def lost_inside():
        """A router of the kernel counts no frame that it had nowhere to send."""
        return None


__all__ = ["Failed", "Fibre", "Gateways", "Lab", "Routers"]
