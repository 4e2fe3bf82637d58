"""The guest: a machine of QEMU with two NICs, and the gateway in it."""

import base64
import gzip
import json
import os
import re
import socket
import time

from process import Process, run
from wait import PATIENCE, Failure, expect, wait_until

QEMU = "qemu-system-x86_64"
# Until the kernel has said its first word. A /dev/kvm that opens may still not run a kernel.
FIRST_WORD_SECONDS = {"kvm": 20.0, "tcg": 120.0}
FIRST_WORD = "Linux version"
BOOT_SECONDS = 300.0
READY = b"guest is ready\n"
ENDED = re.compile(rb"\nended with (\d+)\n\Z")
SLOTS = {"dc0": 2, "lh0": 3}
LOSSLESS = 3
LOG_LINES = 15


class NoBoot(Failure):
    """The machine does not start with this accelerator."""


def machine(accelerator):
    """The IOMMU needs interrupts that QEMU itself routes."""
    if accelerator == "kvm":
        return ["-accel", "kvm", "-cpu", "host", "-M", "q35,kernel-irqchip=split"]
    return ["-accel", "tcg", "-cpu", "max", "-M", "q35"]


def nic(model, name, taps):
    """A NIC and its tap. With several queues it is offered as many pairs of them."""
    options = ",vectors=%d,mq=on" % (2 * len(taps) + 2) if len(taps) > 1 else ""
    options += ",iommu_platform=on,disable-legacy=on" if model.startswith("virtio") else ""
    fds = "fds=" + ":".join(map(str, taps)) if len(taps) > 1 else f"fd={taps[0]}"
    address = f"02:00:00:00:66:{SLOTS[name]:02x}"
    return [
        "-netdev", f"tap,id=tap-{name},{fds}",
        "-device", f"{model},id={name},netdev=tap-{name},addr={SLOTS[name]},mac={address}{options}",
    ]  # fmt: skip


class Guest:
    """A machine that has booted. It ends with the stack."""

    def __init__(self, kernel, image, model, sides, accelerator, scratch, stack):
        # Within the length that a socket's path may have.
        names = ("console", "serial", "monitor")
        self.paths = {name: os.path.join(scratch, f"{name}-{Process.count}") for name in names}
        command = [QEMU, *machine(accelerator), "-smp", "2", "-m", "1024"]
        command += ["-nodefaults", "-display", "none", "-no-reboot"]
        command += ["-device", "intel-iommu,intremap=on,caching-mode=on"]
        command += ["-kernel", os.path.join(kernel, "vmlinuz"), "-initrd", image]
        # On a busy machine the kernel finds that its timer does not tick, and gives up; it is told not to look.
        options = "console=ttyS0 earlyprintk=serial,ttyS0 panic=-1 no_timer_check intel_iommu=on mitigations=off"
        command += ["-append", options]
        command += ["-serial", f"file:{self.paths['console']}"]
        command += ["-serial", f"unix:{self.paths['serial']},server=on,wait=off"]
        command += ["-qmp", f"unix:{self.paths['monitor']},server=on,wait=off"]
        for side in sides:
            command += nic(model, side.name, side.taps)
        taps = [tap for side in sides for tap in side.taps]
        self.process = Process("qemu", command, scratch, pass_fds=taps)
        stack.callback(self.process.close)
        self.stack = stack
        try:
            self.serial = self.connect("serial")
            monitor = self.connect("monitor")
            monitor.settimeout(PATIENCE)
            self.monitor = monitor.makefile("rw")
            wait_until("the kernel's first word", self.has_begun, FIRST_WORD_SECONDS[accelerator])
        except Failure as failure:
            self.process.close()
            raise NoBoot(str(failure)) from failure
        self.receive(lambda told: told.endswith(READY), "the guest to boot", BOOT_SECONDS)
        self.monitor.readline()
        self.ask("qmp_capabilities")

    def connect(self, name):
        stream = socket.socket(socket.AF_UNIX)
        self.stack.callback(stream.close)

        def is_connected():
            self.process.expect_running()
            try:
                stream.connect(self.paths[name])
                return True
            except (FileNotFoundError, ConnectionRefusedError):
                return False

        wait_until(f"QEMU's {name}", is_connected)
        stream.settimeout(1.0)
        return stream

    def console(self):
        if not os.path.exists(self.paths["console"]):
            return ""
        with open(self.paths["console"], errors="replace") as file:
            return file.read()

    def has_begun(self):
        self.process.expect_running()
        return FIRST_WORD in self.console()

    def receive(self, is_all, what, seconds):
        told, deadline = b"", time.monotonic() + seconds
        while not is_all(told):
            late, ended = time.monotonic() > deadline, self.process.has_ended()
            if late or ended:
                last = "\n".join(self.console().splitlines()[-LOG_LINES:])
                why = "the guest has ended" if ended else f"waited {seconds:.0f} s in vain"
                raise Failure(f"{why}, for {what}; the console says last:\n{last}")
            try:
                told += self.serial.recv(65536)
            except TimeoutError:
                continue
        return told

    def execute(self, command, seconds=PATIENCE):
        """Runs one line in the guest's shell, and returns its exit status and what it printed."""
        self.serial.sendall(f"{command}\n".encode())
        told = self.receive(ENDED.search, f"the guest's answer to {command!r}", seconds)
        ended = ENDED.search(told)
        return int(ended[1]), told[: ended.start()].decode(errors="replace")

    def run(self, command):
        """The same of what must succeed."""
        status, told = self.execute(command)
        expect(status == 0, f"{command!r} in the guest: {status}: {told}")
        return told

    def ask(self, command, **arguments):
        """Asks QEMU's monitor, and returns its answer; events are passed over."""
        self.monitor.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self.monitor.flush()
        while True:
            answer = json.loads(self.monitor.readline())
            expect("error" not in answer, f"{command}: {answer}")
            if "return" in answer:
                return answer["return"]

    def set_link(self, name, up):
        self.ask("set_link", name=name, up=up)


class Gateway:
    """The gateway in the guest."""

    def __init__(self, guest):
        self.guest = guest
        self.configure("64KiB")

    def configure(self, xoff):
        """Writes its configuration, with that threshold."""
        change = f"sed 's/^xoff = .*/xoff = \"{xoff}\"/'"
        self.guest.run(f"{change} /etc/longspan/original.toml >/etc/longspan/gateway.toml")

    def start(self):
        command = "longspan run --config /etc/longspan/gateway.toml </dev/null >/tmp/longspan.log 2>&1"
        self.guest.run(f"{command} & gateway=$!")

        def answers():
            expect(self.runs(), f"the gateway has ended by itself:\n{self.log()}")
            return self.guest.execute("longspan show ports --socket /run/longspan/nics.sock")[0] == 0

        wait_until("the gateway to answer", answers)
        wait_until("both links to be up", lambda: all(self.link_is_up(name) for name in SLOTS))

    def runs(self):
        return self.guest.execute("kill -0 $gateway")[0] == 0

    def log(self):
        return self.guest.execute(f"tail -n {LOG_LINES} /tmp/longspan.log")[1]

    def signal(self, name):
        self.guest.run(f"kill -{name} $gateway")

    def ended(self):
        """Waits for it to end, and returns its exit status."""
        return self.guest.execute("wait $gateway")[0]

    def reload(self):
        self.guest.run("longspan reload --socket /run/longspan/nics.sock")

    def show(self):
        # A serial port is slow.
        show = "longspan show ports --json --socket /run/longspan/nics.sock >/tmp/shown"
        packed = self.guest.run(f"{show} && gzip -c /tmp/shown | base64")
        return json.loads(gzip.decompress(base64.b64decode(packed)))

    def port(self, name, shown=None):
        return next(port for port in (shown or self.show())["ports"] if port["name"] == name)

    def link_is_up(self, name):
        return self.port(name)["device"]["link_up"]

    def account(self):
        """What has become of the frames, in one line, for whoever reads a failure."""
        shown, told = self.show(), []
        for name in SLOTS:
            port = self.port(name, shown)
            kinds = {kind: port[kind] for kind in ("in", "out", "control_out", "dropped_at_ingress", "dropped_at_egress")}
            told.append(f"{name}: {json.dumps(kinds | port['counters'])}")
        return "\n".join(told)

    def lossless_out(self, name):
        """Lossless frames that have left through a port."""
        return self.port(name)["priorities"][LOSSLESS]["egress"]["transmitted"]["frames"]

    def pauses_sent(self, name):
        pauses = self.port(name)["priorities"][LOSSLESS]["pauses_sent"]
        return sum(pauses[kind] for kind in ("xoff", "refresh", "xon", "slot"))

    def expect_no_lossless_drop(self):
        shown = self.show()
        for name in SLOTS:
            port = self.port(name, shown)
            for side in ("ingress", "egress"):
                dropped = port["priorities"][LOSSLESS][side]["dropped"]
                expect(not dropped, f"{name} dropped lossless frames: {dropped}")
            lost = {what: port["counters"][what] for what in ("missed", "no_mbuf", "receive_errors", "transmit_errors")}
            expect(not any(lost.values()), f"the device of {name} lost frames: {lost}")

    def threads(self):
        """Of each thread its name, and what the kernel says of it."""
        told = self.guest.run("cat /proc/$gateway/task/*/status")
        statuses = [dict(line.split(":\t", 1) for line in f"Name{status}".splitlines() if ":\t" in line)
                    for status in told.split("Name")[1:]]  # fmt: skip
        return [(status["Name"], status) for status in statuses]

    def device_lines(self):
        """What the gateway said of its devices when it started."""
        return self.guest.run("cat /tmp/longspan.log | grep ' port ..0: '").strip().splitlines()


def version():
    return run(QEMU, "--version").split("version ")[1].split(" ")[0].strip()
