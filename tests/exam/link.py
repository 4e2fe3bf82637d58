"""A running gateway on one end of a link, and a tester or lldpad on the other, in network namespaces. Needs root."""

import contextlib
import ctypes
import json
import os
import select
import socket
import subprocess
import time

CLONE_NEWNET = 0x40000000
LLDP = 0x88CC
NEAREST_BRIDGE = bytes.fromhex("0180c200000e")
IEEE_802_1 = bytes.fromhex("0080c2")
GATEWAY_MAC = bytes.fromhex("020000009910")
ETS, ETS_RECOMMENDATION, PFC, APPLICATIONS = 9, 10, 11, 12
# Long enough for a gateway that shares its cores; nothing is judged by it.
PATIENCE = 60.0

GATEWAY = """
[gateway]
name = "{name}"
[dpdk]
hugepages = "never"
idle = "sleep"
[control]
socket = "{socket}"
metrics = "none"
[process]
user = "root"
[[port]]
name = "g0"
mac = "02:00:00:00:99:10"
rate = "1G"
mtu = 1500
distance = "10m"
device = {{ interface = "g0" }}
[port.lldp]
interval = "1s"
{lldp}
[[port.lossless]]
priorities = [3, 4]
[[port.queue]]
priorities = [3]
weight = 3
[[port.queue]]
priorities = [4]
weight = 2
[[port]]
name = "g1"
rate = "1G"
mtu = 1500
device = {{ interface = "g1" }}
"""

# lldpad negotiates only where the driver of the card says that it has DCB, which that of a veth does not.
CARD_WITH_DCB = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/dcbnl.h>
#include <linux/netlink.h>
static struct { struct nlattr head; unsigned char value; } answer = {
    { 5, DCB_ATTR_DCBX }, DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE };
struct nlattr *nlmsg_find_attr(const struct nlmsghdr *message, int header, int type) {
    struct nlattr *(*next)(const struct nlmsghdr *, int, int) = dlsym(RTLD_NEXT, "nlmsg_find_attr");
    struct nlattr *found = next(message, header, type);
    return found || type != DCB_ATTR_DCBX ? found : &answer.head;
}
"""


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def enter(namespace):
    if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "cannot enter a network namespace")


def wait_until(what, reached, seconds=PATIENCE):
    """The first true value of `reached`."""
    deadline = time.monotonic() + seconds
    while not (value := reached()):
        if time.monotonic() > deadline:
            raise RuntimeError(f"waited {seconds:.0f} s for {what}")
        time.sleep(0.1)
    return value


def tlv(kind, value):
    return (kind << 9 | len(value)).to_bytes(2, "big") + value


def announcement(address, *organizational, ttl=120):
    """An LLDPDU of a station at this address, with these TLVs of IEEE 802.1 as (subtype, value)."""
    own = [tlv(127, IEEE_802_1 + bytes((subtype,)) + value) for subtype, value in organizational]
    basic = tlv(1, b"\x04" + address) + tlv(2, b"\x03" + address) + tlv(3, ttl.to_bytes(2, "big"))
    return NEAREST_BRIDGE + address + LLDP.to_bytes(2, "big") + basic + b"".join(own) + tlv(0, b"")


def read_tlvs(frame):
    """The TLVs of an LLDPDU in order as (type, value), up to its end."""
    at, found = 14, []
    while at + 2 <= len(frame):
        head = int.from_bytes(frame[at : at + 2], "big")
        found.append((head >> 9, frame[at + 2 : at + 2 + (head & 0x1FF)]))
        at += 2 + (head & 0x1FF)
        if head == 0:
            break
    return found


def of_ieee(frame, subtype):
    """The values of all TLVs of IEEE 802.1 with this subtype."""
    own = IEEE_802_1 + bytes((subtype,))
    return [value[4:] for kind, value in read_tlvs(frame) if kind == 127 and value[:4] == own]


class Link(contextlib.ExitStack):
    """A gateway whose port `g0` is linked to `e0` in the namespace of a tester. All of it ends with the stack."""

    def __init__(self, longspan, work, lldp):
        super().__init__()
        self.longspan, self.work, self.lldp = longspan, work, lldp
        self.gateway, self.tester = (f"exam-{os.getpid()}-{end}" for end in ("gateway", "tester"))
        self.control = work / "gateway.sock"

    def __enter__(self):
        super().__enter__()
        try:
            self.begin()
        except BaseException:
            self.close()
            raise
        return self

    def begin(self):
        for namespace in (self.gateway, self.tester):
            run("ip", "netns", "add", namespace)
            self.callback(run, "ip", "netns", "del", namespace)
            off = [f"net.ipv6.conf.{scope}.disable_ipv6=1" for scope in ("all", "default")]
            run("ip", "netns", "exec", namespace, "sysctl", "-q", "-w", *off)
        for here, there in (("g0", "e0"), ("g1", "e1")):
            run("ip", "-n", self.gateway, "link", "add", here, "type", "veth", "peer", there, "netns", self.tester)
            run("ip", "-n", self.gateway, "link", "set", here, "up")
            run("ip", "-n", self.tester, "link", "set", there, "up")
        self.socket = self.enter_context(self.raw_socket())
        self.work.mkdir(parents=True, exist_ok=True)
        file = self.work / "gateway.toml"
        file.write_text(GATEWAY.format(name=self.gateway, socket=self.control, lldp=self.lldp), encoding="utf-8")
        self.start("gateway", self.gateway, [self.longspan, "run", "--config", file])
        wait_until("the gateway to answer", self.control.exists)

    def start(self, name, namespace, command, **environment):
        """A program in a namespace, which ends with the stack."""
        log = self.enter_context((self.work / f"{name}.log").open("wb"))
        words = ["ip", "netns", "exec", namespace, *command]
        program = subprocess.Popen(words, stdout=log, stderr=log, env=os.environ | environment)
        self.callback(program.wait, PATIENCE)
        self.callback(program.terminate)
        return program

    def raw_socket(self):
        """A socket of the tester that sees what arrives at `e0`."""
        with open("/proc/self/ns/net", "rb") as outside, open(f"/run/netns/{self.tester}", "rb") as inside:
            enter(inside)
            try:
                made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(LLDP))
                made.bind(("e0", LLDP))
            finally:
                enter(outside)
        return made

    def announced(self, seconds, wanted=lambda frame: True):
        """The first LLDPDU of the gateway that is wanted, within this time; None where there is none."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and select.select([self.socket], [], [], left)[0]:
            frame, address = self.socket.recvfrom(2048)
            if address[2] != socket.PACKET_OUTGOING and frame[6:12] == GATEWAY_MAC and wanted(frame):
                return frame
        return None

    def enabled(self, seconds, wanted=lambda priorities: True):
        """What the gateway announces of its PFC, as `announced`."""
        of = lambda frame: [n for n in range(8) if of_ieee(frame, PFC)[0][1] >> n & 1]
        frame = self.announced(seconds, lambda frame: bool(of_ieee(frame, PFC)) and wanted(of(frame)))
        return frame and of(frame)

    def keep_saying(self, seconds, *frames, until=lambda: False):
        """The tester announces each second, and forgets what it heard before."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not until():
            for frame in frames:
                self.socket.send(frame)
            time.sleep(min(1.0, max(0.0, deadline - time.monotonic())))
        while select.select([self.socket], [], [], 0)[0]:
            self.socket.recv(2048)

    def shown(self):
        """The port `g0` as `longspan show` has it."""
        state = json.loads(run(self.longspan, "show", "--json", "--socket", self.control))
        return next(port for port in state["ports"] if port["name"] == "g0")

    def start_lldpad(self, **settings):
        """lldpad at `e0`, with these settings of its TLVs."""
        source, shim = self.work / "dcb.c", self.work / "dcb.so"
        source.write_text(CARD_WITH_DCB, encoding="utf-8")
        run("cc", "-shared", "-fPIC", "-o", shim, source, "-ldl")
        (self.work / "lldpad.conf").touch()
        command = ["lldpad", "-p", "-V", "7", "-f", self.work / "lldpad.conf"]
        lldpad = self.start("lldpad", self.tester, command, LD_PRELOAD=str(shim))
        wait_until("lldpad to listen", lambda: "adminStatus" in self.lldptool("get-lldp", "adminStatus"))
        self.lldptool("set-lldp", "adminStatus=rxtx")
        for name, words in settings.items():
            self.lldptool("-T", "-V", name.replace("_", "-"), "enableTx=yes", *words.split())
        return lldpad

    def lldptool(self, command, *words):
        words = ["ip", "netns", "exec", self.tester, "lldptool", command, "-i", "e0", *words]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout
