"""The guest: a machine of QEMU with two NICs, and the gateway in it."""

import base64
import gzip
import json

from machine import LOG_LINES, Machine
from wait import expect, wait_until

SLOTS = {"dc0": 2, "lh0": 3}
LOSSLESS = 3


def chipset(accelerator):
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


class Guest(Machine):
    """A machine that has booted. It ends with the stack."""

    def __init__(self, kernel, image, model, sides, accelerator, scratch, stack):
        arguments = [*chipset(accelerator), "-smp", "2", "-m", "1024"]
        arguments += ["-device", "intel-iommu,intremap=on,caching-mode=on"]
        for side in sides:
            arguments += nic(model, side.name, side.taps)
        taps = [tap for side in sides for tap in side.taps]
        super().__init__("guest", kernel, image, arguments, "intel_iommu=on", accelerator, scratch, stack, taps)
        self.ready()

    def set_link(self, name, up):
        self.ask("set_link", name=name, up=up)

    def write(self, path, text):
        """Writes a file in the guest."""
        self.run(f"echo {base64.b64encode(text.encode()).decode()} | base64 -d >{path}")

    def read(self, path):
        """The text of a file in the guest. A serial port is slow."""
        return gzip.decompress(base64.b64decode(self.run(f"gzip -c {path} | base64"))).decode()


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
        self.guest.run("longspan show ports --json --socket /run/longspan/nics.sock >/tmp/shown")
        return json.loads(self.guest.read("/tmp/shown"))

    def port(self, name, shown=None):
        return next(port for port in (shown or self.show())["ports"] if port["name"] == name)

    def link_is_up(self, name):
        return self.port(name)["device"]["link_up"]

    def account(self):
        """The fate of the frames, in one line, for the reader of a failure."""
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
        """The lines about its devices that the gateway logged when it started."""
        return self.guest.run("cat /tmp/longspan.log | grep ' port ..0: '").strip().splitlines()
