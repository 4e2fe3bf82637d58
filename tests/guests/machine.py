"""A guest: a machine of QEMU that runs Debian's kernel, and commands that come over a serial port."""

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
LOG_LINES = 15


class NoBoot(Failure):
    """The machine does not start with this accelerator."""


def accelerators(asked):
    """Those to try, the best first. There may be a /dev/kvm on a processor that cannot run a guest."""
    if asked:
        return [asked]
    with open("/proc/cpuinfo") as file:
        is_able = re.search(r"^flags\s*:.*\b(vmx|svm)\b", file.read(), re.MULTILINE)
    return ["kvm", "tcg"] if is_able and os.path.exists("/dev/kvm") else ["tcg"]


class Machine:
    """A machine that boots. `ready` waits until it has booted. It ends with the stack.

    `arguments` are QEMU's, for what it has beside its ports for commands. `options` are the kernel's. `fds` are open
    files that `arguments` name.
    """

    def __init__(self, name, kernel, image, arguments, options, accelerator, scratch, stack, fds=()):
        # Within the length that a socket's path may have.
        names = ("console", "serial", "monitor")
        self.paths = {stream: os.path.join(scratch, f"{stream}-{Process.count}") for stream in names}
        self.name, self.stack = name, stack
        command = [QEMU, "-nodefaults", "-display", "none", "-no-reboot", *arguments]
        command += ["-kernel", os.path.join(kernel, "vmlinuz"), "-initrd", image]
        # On a busy machine the kernel finds that its timer does not tick, and gives up; it is told not to look.
        always = "console=ttyS0 earlyprintk=serial,ttyS0 panic=-1 no_timer_check mitigations=off"
        command += ["-append", f"{always} {options}"]
        command += ["-serial", f"file:{self.paths['console']}"]
        command += ["-serial", f"unix:{self.paths['serial']},server=on,wait=off"]
        command += ["-qmp", f"unix:{self.paths['monitor']},server=on,wait=off"]
        self.process = Process(f"qemu-{name}", command, scratch, pass_fds=fds)
        stack.callback(self.process.close)
        self.first_word_seconds = FIRST_WORD_SECONDS[accelerator]
        # Before it boots: what it says to no one is gone.
        self.serial, monitor = self.or_no_boot(lambda: (self.connect("serial"), self.connect("monitor")))
        monitor.settimeout(PATIENCE)
        self.monitor = monitor.makefile("rw")

    def or_no_boot(self, step):
        try:
            return step()
        except Failure as failure:
            self.process.close()
            raise NoBoot(str(failure)) from failure

    def ready(self):
        """Waits until it takes commands."""
        self.or_no_boot(lambda: wait_until("the kernel's first word", self.has_begun, self.first_word_seconds))
        self.receive(lambda told: told.endswith(READY), f"{self.name} to boot", BOOT_SECONDS)
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


def version():
    return run(QEMU, "--version").split("version ")[1].split(" ")[0].strip()
