"""A network namespace with a tap, which a NIC of a guest joins."""

import ctypes
import fcntl
import json
import os
import struct
from contextlib import contextmanager

from process import run
from wait import Failure, expect

INTERFACE = "eth0"
NAMESPACES = "/run/netns"

# linux/sched.h and linux/if_tun.h; Python has no names for them.
CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA
IFF_TAP = 0x0002
IFF_NO_PI = 0x1000
IFF_MULTI_QUEUE = 0x0100

# Frames that a tap holds until the guest takes them.
TAP_QUEUE = 20_000


class Namespace:
    """The namespace `PREFIX-PID-NAME`, whose tap has a file for each of its queues. It goes with the stack."""

    def __init__(self, prefix, name, queues, stack):
        self.name = name
        self.namespace = f"{prefix}-{os.getpid()}-{name}"
        run("ip", "netns", "add", self.namespace)
        stack.callback(run, "ip", "netns", "del", self.namespace)
        with self.inside():
            # So that nothing is on the link but what a guest or a check sends.
            for scope in ("all", "default"):
                with open(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6", "w") as file:
                    file.write("1")
            self.taps = [open_tap(queues) for _ in range(queues)]
            for tap in self.taps:
                stack.callback(os.close, tap)
        self.ip(f"link set {INTERFACE} txqueuelen {TAP_QUEUE} arp off mtu 1500 up")

    @contextmanager
    def inside(self):
        """Sockets that are made meanwhile are the namespace's."""
        with open("/proc/self/ns/net") as outside, open(os.path.join(NAMESPACES, self.namespace)) as namespace:
            enter(namespace)
            try:
                yield
            finally:
                enter(outside)

    def ip(self, words):
        return run("ip", "-n", self.namespace, *words.split())

    def within(self, *command):
        """The command that runs a command here."""
        return ["ip", "netns", "exec", self.namespace, *command]

    def expect_nothing_lost_at_the_tap(self):
        [shown] = json.loads(self.ip(f"-json -stats link show {INTERFACE}"))
        dropped = shown["stats64"]["tx"]["dropped"]
        expect(dropped == 0, f"the tap of {self.name} itself dropped {dropped} frames, as the guest was late")


def open_tap(queues):
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
    flags = IFF_TAP | IFF_NO_PI | (IFF_MULTI_QUEUE if queues > 1 else 0)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", INTERFACE.encode(), flags))
    return tap


def enter(namespace):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
        raise Failure(f"cannot enter a network namespace: {os.strerror(ctypes.get_errno())}")


def sweep(prefix):
    """Removes the namespaces of runs that were killed."""
    for name in os.listdir(NAMESPACES) if os.path.isdir(NAMESPACES) else []:
        if name.startswith(f"{prefix}-") and not os.path.exists(f"/proc/{name.split('-')[2]}"):
            run("ip", "netns", "del", name)
