"""Programs of perftest and rping between both hosts, and the frames that their messages take."""

import re
from dataclasses import dataclass

from wait import Failure, expect, wait_until

# Frames without FCS, as gateways count them: Ethernet, IPv4, UDP and BTH, and the ICRC at the end.
HEADERS = 14 + 20 + 8 + 12 + 4
# RETH: on the first frame of a WRITE, and on the request of a READ.
RETH = 16
# AETH: on acknowledgements, and on the first and last frame of what answers a READ.
AETH = 4
MTU = 1024
# perftest takes no fewer messages of a queue pair.
LEAST_MESSAGES = 5
# DSCP 26 and ECT(0), and best effort.
LOSSLESS_CLASS, LOSSY_CLASS = 106, 2
# IPv4 in the table of addresses of a RoCEv2 device.
GID_INDEX = 1
# 4.096 us x 2^21 or 8.6 s: behind a slow receiver, and on a busy machine, an answer takes longer than the 67 ms of
# perftest's default.
TIMEOUT = 21
PORT = 18515
MIB = 1 << 20

# The message of perftest where it finds no steady clock, as on a busy machine.
NO_CLOCK = "Correlation coefficient"
NUMBER = re.compile(r"local address:.* QPN 0x([0-9a-f]+)")


@dataclass(frozen=True)
class Volume:
    """A bandwidth test: `messages` of `size` bytes for each of its queue pairs, `depth` of them at once."""

    verb: str
    pairs: int
    messages: int
    size: int
    depth: int = 128
    traffic_class: int = LOSSLESS_CLASS
    timeout: int = TIMEOUT
    # Of a READ, how many a queue pair may have outstanding; by default all that its device allows.
    reads: int | None = None

    def program(self):
        return f"ib_{self.verb}_bw"

    def options(self):
        # Without -Q the completions of up to 100 messages come as one.
        amount = f"-q {self.pairs} -n {self.messages} -s {self.size} -t {self.depth} -Q 1"
        amount += f" -o {self.reads}" if self.reads else ""
        return f"{amount} --tclass={self.traffic_class} -u {self.timeout}"

    def outstanding(self, window):
        """Bytes that may be outstanding, where a queue pair has at most `window`."""
        at_once = min(self.depth, self.reads or self.depth)
        return self.pairs * min(self.size * at_once, window)

    def payload(self):
        return self.pairs * self.messages * self.size

    def frames(self):
        """Frames of data."""
        return self.pairs * self.messages * -(-self.size // MTU)

    def bytes(self):
        """Bytes of these frames."""
        each = -(-self.size // MTU)
        more = {"write": RETH, "send": 0, "read": AETH * min(each, 2)}[self.verb]
        return self.payload() + self.frames() * HEADERS + self.pairs * self.messages * more

    def back(self):
        """Frames and bytes the other way, if they can be told: requests of a READ, one each."""
        requests = self.pairs * self.messages
        return (requests, requests * (HEADERS + RETH)) if self.verb == "read" else None


@dataclass(frozen=True)
class Latency:
    """A latency test of messages of 2 bytes."""

    verb: str
    messages: int

    def program(self):
        return f"ib_{self.verb}_lat"

    def options(self):
        return f"-n {self.messages} --tclass={LOSSLESS_CLASS} -u {TIMEOUT}"

    def crossings(self):
        """How often a message crosses the link in the time that the program prints: halves of round trips, except for
        READ."""
        return 2 if self.verb == "read" else 1


class NoClock(Failure):
    """perftest compares its clocks as it begins, and prints nothing but zeros where they disagree."""


def serve_and_ask(server, client, serve, ask, listens):
    """Runs a program at both hosts, and returns the worse of their statuses and what both printed."""
    # The program is no child of the shell, which loses half a command where a child ends meanwhile.
    server.run(f"rm -f /tmp/status; ( ({serve} </dev/null >/tmp/server 2>&1; echo $? >/tmp/status) & )")

    def is_listening():
        expect(server.execute("test -s /tmp/status")[0] != 0, f"{serve} has ended: {server.execute('cat /tmp/server')}")
        return server.execute(listens)[0] == 0

    wait_until(f"{serve} to listen", is_listening)
    status, told = client.execute(f"{ask} </dev/null")
    if status != 0:
        server.execute(f"killall {serve.split()[0]}")
    wait_until(f"{serve} to end", lambda: server.execute("test -s /tmp/status")[0] == 0)
    return status or int(server.run("cat /tmp/status")), told, server.run("cat /tmp/server")


def run(test, server, client):
    """Runs a program of perftest, and returns what it printed: its queue pairs, and its figures by name."""
    command, status, told, served = ask(test, server, client)
    if NO_CLOCK in told + served:
        raise NoClock(f"{command}: {told}")
    expect(status == 0, f"{command}: {status}: {told}{served}")
    return parsed(told)


def ask(test, server, client):
    """Runs a program of perftest, and returns its command, its status, and what client and server printed."""
    command = f"{test.program()} -F -x {GID_INDEX} {test.options()}"
    listens = f"grep -q ':{PORT:04X} .* 0A ' /proc/net/tcp"
    return command, *serve_and_ask(server, client, command, f"{command} {server.address}", listens)


def parsed(told):
    """The queue pairs of a client, and the figures of its last line, by the names above them."""
    lines = told.splitlines()
    at = next((number for number, line in enumerate(lines) if line.startswith(" #bytes")), None)
    if at is None or at + 1 == len(lines):
        raise Failure(f"perftest printed no figures: {told}")
    names = [name.split("[")[0].strip() for name in re.split(r"\]|(?<=#bytes) |(?<=#iterations) ", lines[at])]
    figures = dict(zip(filter(None, names), map(float, lines[at + 1].split())))
    pairs = [int(number, 16) for number in NUMBER.findall(told)]
    return {"queue_pairs": pairs, "figures": figures}


def rping(server, client, count, size):
    """Runs rping, which checks the data that comes back. Its queue pairs are the connection manager's.

    Its status says nothing: where it closes its end before its own thread has seen that, it ends with an error."""
    options = f"-C {count} -S {size} -v -V"
    listens = "rdma resource show cm_id | grep -q LISTEN"
    serve, ask_it = f"rping -s -a {server.address} {options}", f"rping -c -a {server.address} {options}"
    _, told, served = serve_and_ask(server, client, serve, ask_it, listens)
    good = told.count("ping data: ")
    expect(good == count and "mismatch" not in told, f"rping has {good} of {count} good round trips: {told}{served}")
