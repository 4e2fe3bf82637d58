"""The gateway on QEMU's emulated NICs, checked from both sides."""

import argparse
import os
import shutil
import sys
import tempfile
import time
from contextlib import ExitStack

# The code that boots guests and that which prints tables are shared with other scripts.
for shared in ("../guests", "../../benches/experiments"):
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), shared))

import image  # noqa: E402
from checks import CHECKS, Bench  # noqa: E402
from guest import Gateway, Guest  # noqa: E402
from machine import NoBoot, accelerators, version  # noqa: E402
from markdown_table import print_table  # noqa: E402
from namespace import sweep  # noqa: E402
from process import leave_at_signals, run  # noqa: E402
from side import PREFIX, Side  # noqa: E402
from wait import Failure  # noqa: E402

MODELS = ("virtio-net-pci", "e1000", "e1000e", "vmxnet3")
# virtio is offered two pairs of queues, of which the gateway must use one.
QUEUES = {"virtio-net-pci": 2}
LINK_BPS = {"dc0": 100_000_000, "lh0": 16_000_000}
COLUMNS = list(dict.fromkeys(column for column, _, _ in CHECKS))


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/test-nics", description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(MODELS)}; default: all")
    parser.add_argument("--accel", choices=("kvm", "tcg"), help="default: KVM where it boots the guest, else TCG")
    parser.add_argument("--longspan", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--kernel", required=True, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    unknown = [model for model in chosen.models if model not in MODELS]
    if unknown:
        parser.error(f"there is no model {', '.join(unknown)}")
    return chosen


class Run:
    """One run over several models, with the accelerator that was found to work."""

    def __init__(self, chosen, scratch):
        self.chosen, self.scratch = chosen, scratch
        self.image = image.make(chosen.longspan, chosen.kernel, scratch)
        self.accelerators = accelerators(chosen.accel)
        self.release = None

    def boot(self, model, sides, stack):
        while True:
            accelerator = self.accelerators[0]
            try:
                return Guest(self.chosen.kernel, self.image, model, sides, accelerator, self.scratch, stack)
            except NoBoot as failure:
                if len(self.accelerators) == 1:
                    raise
                self.accelerators.pop(0)
                why = str(failure).splitlines()[0]
                print(f"{accelerator} does not run the guest, so it is {self.accelerators[0]}: {why}", flush=True)

    def test(self, model):
        """Runs every check, and returns the columns in which one failed."""
        failed = set()
        with ExitStack() as stack:
            sides = [Side(name, LINK_BPS[name], QUEUES.get(model, 1), self.scratch, stack) for name in LINK_BPS]
            try:
                machine = self.boot(model, sides, stack)
                self.release = self.release or machine.run("uname -r").strip()
                gateway = Gateway(machine)
                gateway.start()
            except Failure as failure:
                print(f"{model}: start: FAILED: {failure}", flush=True)
                return set(COLUMNS)
            print(f"{model}: start: ok", flush=True)
            bench = Bench(model, self.chosen.longspan, machine, gateway, *sides)
            broken = False
            for column, name, check in CHECKS:
                started = time.monotonic()
                try:
                    bench.settle(broken)
                    broken = True
                    told = f"ok ({check(bench)}; {time.monotonic() - started:.0f} s)"
                    broken = False
                # A guest that has died shows as connections that end.
                except (Failure, OSError, ValueError) as failure:
                    failed.add(column)
                    told = f"FAILED: {failure} ({type(failure).__name__}; {time.monotonic() - started:.0f} s)"
                    told += "\n" + account(gateway)
                print(f"{model}: {column}: {name}: {told}", flush=True)
        return failed


def account(gateway):
    try:
        return gateway.account()
    except (Failure, OSError, ValueError) as failure:
        return f"the gateway does not say what it counted: {failure}"


def row(model, failed, seconds):
    return [model, *("**fails**" if column in failed else "passes" for column in COLUMNS), f"{seconds:.0f}"]


def main():
    chosen = arguments()
    leave_at_signals("scripts/test-nics")
    sweep(PREFIX)
    scratch = tempfile.mkdtemp(prefix="longspan-nics-")
    try:
        whole, rows, has_failed = Run(chosen, scratch), [], False
        for model in chosen.models or MODELS:
            started = time.monotonic()
            failed = whole.test(model)
            has_failed |= bool(failed)
            rows.append(row(model, failed, time.monotonic() - started))
        print()
        print_table(["model", *COLUMNS, "seconds"], rows)
        dpdk = run("pkg-config", "--modversion", "libdpdk").strip()
        print(f"\nDPDK {dpdk}, QEMU {version()}, guest kernel {whole.release}, {whole.accelerators[0].upper()}")
    except Failure as failure:
        sys.exit(f"scripts/test-nics: {failure}")
    except KeyboardInterrupt:
        sys.exit("scripts/test-nics: interrupted")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    sys.exit(has_failed)


main()
