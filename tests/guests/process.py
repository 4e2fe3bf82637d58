"""Processes that end with the test."""

import os
import signal
import subprocess
import sys

from wait import Failure, wait_until


def run(*command):
    """Runs a program to its end, which must be a good one, and returns what it printed."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"{' '.join(command)}: {done.stdout}{done.stderr}".strip())
    return done.stdout


def leave_at_signals(program):
    """A signal that asks `program` to end ends it by an exception, so that what it has made goes."""
    for signum in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, lambda number, _: sys.exit(f"{program}: ended by {signal.Signals(number).name}"))


class Process:
    """A program whose output goes to files in `scratch`. The kernel kills it where this process is killed."""

    count = 0

    def __init__(self, name, command, scratch, **options):
        Process.count += 1
        self.name = name
        self.paths = {stream: os.path.join(scratch, f"{Process.count}-{name}.{stream}") for stream in ("out", "err")}
        with open(self.paths["out"], "wb") as out, open(self.paths["err"], "wb") as err:
            tied = ["setpriv", "--pdeathsig", "KILL", *command]
            self.child = subprocess.Popen(tied, stdin=subprocess.DEVNULL, stdout=out, stderr=err, **options)

    def printed(self, stream="out"):
        with open(self.paths[stream], errors="replace") as file:
            return file.read()

    def has_ended(self):
        return self.child.poll() is not None

    def expect_running(self):
        if self.has_ended():
            said = (self.printed() + self.printed("err")).strip()
            raise Failure(f"{self.name} has ended by itself ({self.child.returncode}): {said}")

    def wait_for_output(self, text):
        def is_there():
            there = text in self.printed()
            if not there:
                self.expect_running()
            return there

        wait_until(f"{self.name} to print {text!r}", is_there)

    def finished(self):
        """Waits for it to end, and returns what it printed."""
        wait_until(f"{self.name} to end", self.has_ended)
        if self.child.returncode != 0:
            raise Failure(f"{self.name} failed ({self.child.returncode}): {self.printed('err').strip()}")
        return self.printed()

    def end(self):
        """Asks it to end, and returns what it printed."""
        self.child.send_signal(signal.SIGTERM)
        return self.finished()

    def close(self):
        if not self.has_ended():
            self.child.kill()
        self.child.wait()
