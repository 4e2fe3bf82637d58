"""The pair of gateways between both hosts."""

import json
import os
import re

from process import Process, run
from wait import Failure, expect, wait_until

CONFIGURATIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../config/lab")
SOCKETS = "/run/longspan/lab/"
KEYS = "../keys/"
LIGHT_KM_PER_S = 198_000
LOSSLESS = 3
DATA, LINK = "dc0", "lh0"
# Of a device: frames that were lost at it before or after the switch saw them.
DEVICE_LOSSES = (
    "drained", "unsendable", "missed", "no_mbuf", "receive_errors", "transmit_errors",
)  # fmt: skip
LINK_LOSSES = ("lost", "overflowed")
# Both have Bifrost, and a link that loses one frame in a thousand each way, whatever it is: with repair, and without.
REPAIRED, UNREPAIRED = LOSSY = ("repaired", "unrepaired")
LOSS = "[port.emulation]\nloss = 0.001\ncontrol = true"
# A worker with something to do within 200 us never sleeps. One that shares its core may be late, which is no outage.
REPAIR = 'repair = { period = "1ms", outage = "1s" }'


class Gateway:
    """A gateway of the pair, beside the tap of its host."""

    def __init__(self, longspan, namespace, scheme, delay_ms, scratch):
        self.longspan, self.side = longspan, namespace.name
        self.path = os.path.join(scratch, f"{self.side}.toml")
        self.socket = os.path.join(scratch, f"{self.side}.sock")
        name = "bifrost" if scheme in LOSSY else scheme
        with open(os.path.join(CONFIGURATIONS, f"{name}-{self.side}.toml")) as file:
            text = file.read()
        self.text = replaced(text, rf'"{KEYS}', f'"{os.path.join(CONFIGURATIONS, KEYS)}', 0)
        self.text = replaced(self.text, SOCKETS, f"{scratch}/", 2)
        self.text = replaced(self.text, r'distance = "198km"', f'distance = "{delay_ms * LIGHT_KM_PER_S // 1000}km"', 1)
        if scheme in LOSSY:
            self.text = replaced(self.text, r"\[port\.emulation\].*", LOSS, 1)
        if scheme == REPAIRED:
            self.text = replaced(self.text, r'(name = "lh0")', rf"\1\n{REPAIR}", 1)
        self.write(self.text)
        environment = os.environ | {"RUNTIME_DIRECTORY": scratch, "LONGSPAN_LOG": "info"}
        # On a busy machine its guests may be slow, and a gateway should not be.
        command = namespace.within("nice", "-n", "-15", longspan, "run", "--config", self.path)
        self.process = Process(f"longspan-{self.side}", command, scratch, env=environment)

    def write(self, text):
        with open(self.path, "w") as file:
            file.write(text)

    def is_up(self):
        self.process.expect_running()
        try:
            return all(port["device"]["link_up"] for port in self.show()["ports"])
        except Failure:
            # It does not listen yet.
            return False

    def show(self):
        return json.loads(run(self.longspan, "show", "ports", "--json", "--socket", self.socket))

    def set_host_rate(self, rate):
        """Puts another rate of the host's port in force, by a reload."""
        self.write(replaced(self.text, r'name = "dc0"\nrate = "[^"]*"', f'name = "dc0"\nrate = "{rate}"', 1))
        run(self.longspan, "reload", "--socket", self.socket)


def replaced(text, pattern, by, least):
    """A configuration with another value, which must stand in it."""
    text, count = re.subn(pattern, by, text)
    expect(count >= least, f"the configuration has {count} of {pattern!r}")
    return text


class Pair:
    """Both gateways with a scheme and a delay between them. They end with the stack."""

    def __init__(self, longspan, namespaces, scheme, delay_ms, scratch, stack):
        self.longspan, self.scheme, self.delay_ms, self.scratch = longspan, scheme, delay_ms, scratch
        # Whether frames of the hosts are lost between both.
        self.loses = scheme == UNREPAIRED
        self.gateways = {}
        # Nothing that a killed gateway leaves is in the way of the next.
        scratch = os.path.join(scratch, f"{scheme}-{delay_ms}ms")
        os.mkdir(scratch)
        for namespace in namespaces:
            gateway = Gateway(longspan, namespace, scheme, delay_ms, scratch)
            stack.callback(gateway.process.close)
            self.gateways[namespace.name] = gateway
        wait_until("both gateways to be up", lambda: all(gateway.is_up() for gateway in self.gateways.values()))

    def show(self):
        return {side: gateway.show() for side, gateway in self.gateways.items()}

    def end(self):
        """Both drain, and must say that they ended well."""
        for gateway in self.gateways.values():
            gateway.process.child.terminate()
        for gateway in self.gateways.values():
            gateway.process.finished()


def port(shown, name):
    return next(port for port in shown["ports"] if port["name"] == name)
