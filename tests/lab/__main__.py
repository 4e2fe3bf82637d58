"""Soft-RoCE hosts at both sides of a pair of gateways, whose counters must agree with those of perftest."""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from contextlib import ExitStack

# The code that boots guests is shared with other scripts.
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../guests"))

import tables  # noqa: E402
from cell import Cell  # noqa: E402
from host import Host, make_image  # noqa: E402
from lossy import LossyCell  # noqa: E402
from machine import NoBoot, accelerators, version  # noqa: E402
from namespace import Namespace, sweep  # noqa: E402
from pair import LOSSY, Pair  # noqa: E402
from process import leave_at_signals, run  # noqa: E402
from wait import Failure  # noqa: E402

PREFIX = "longspan-lab"
SIDES = ("near", "far")
SCHEMES = ("pfc", "bifrost", "lscc", *LOSSY)
DELAYS_MS = (1, 10, 50)


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/lab", description=__doc__)
    parser.add_argument("--short", action="store_true", help="LSCC and both lossy links at 1 ms, with few messages")
    parser.add_argument(
        "--scheme", choices=SCHEMES, action="append",
        help="only this one; may be repeated. (un)repaired: Bifrost over a link that loses frames, with(out) repair",
    )  # fmt: skip
    parser.add_argument("--delay", choices=DELAYS_MS, type=int, action="append", help="one way, in ms; may be repeated")
    parser.add_argument("--accel", choices=("kvm", "tcg"), help="default: KVM where it boots the guests, else TCG")
    parser.add_argument("--out", default="out/lab", help="where results.json goes; default: %(default)s")
    parser.add_argument("--longspan", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--kernel", required=True, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    chosen.scheme = chosen.scheme or (["lscc", *LOSSY] if chosen.short else list(SCHEMES))
    chosen.delay = chosen.delay or ([1] if chosen.short else list(DELAYS_MS))
    return chosen


class Lab:
    """Two hosts that have booted. They end with the stack."""

    def __init__(self, chosen, scratch, stack):
        self.chosen, self.scratch = chosen, scratch
        self.namespaces = [Namespace(PREFIX, side, 1, stack) for side in SIDES]
        image = make_image(chosen.kernel, scratch)
        choices = accelerators(chosen.accel)
        while True:
            self.accelerator = choices.pop(0)
            try:
                self.hosts = self.boot(image, stack)
                break
            except NoBoot as failure:
                if not choices:
                    raise
                why = str(failure).splitlines()[0]
                say(f"{self.accelerator} does not run the hosts, so it is {choices[0]}: {why}")
        self.release = self.hosts[0].run("uname -r").strip()

    def boot(self, image, stack):
        with ExitStack() as booting:
            hosts = [
                Host(namespace, number, self.chosen.kernel, image, self.accelerator, self.scratch, booting)
                for number, namespace in enumerate(self.namespaces, 1)
            ]
            for host in hosts:
                host.ready()
            stack.push(booting.pop_all())
        return hosts

    def cell(self, scheme, delay_ms):
        """Runs one cell, and returns what it recorded and what failed."""
        with ExitStack() as stack:
            pair = Pair(self.chosen.longspan, self.namespaces, scheme, delay_ms, self.scratch, stack)
            kind = LossyCell if scheme in LOSSY else Cell
            cell = kind(pair, *self.hosts)
            try:
                cell.run(self.chosen.short)
                for namespace in self.namespaces:
                    namespace.expect_nothing_lost_at_the_tap()
                pair.end()
            except (Failure, OSError, ValueError, KeyError) as failure:
                cell.failures.append(f"{failure} ({type(failure).__name__})")
            return cell


def say(text):
    print(text, flush=True)


def run_all(chosen, scratch):
    """Runs every cell, and returns all that was recorded and all that failed."""
    cells, failures = [], []
    with ExitStack() as stack:
        started = time.monotonic()
        lab = Lab(chosen, scratch, stack)
        say(f"both hosts are up after {time.monotonic() - started:.0f} s, with {lab.accelerator.upper()}")
        for delay_ms in chosen.delay:
            for scheme in chosen.scheme:
                started = time.monotonic()
                cell = lab.cell(scheme, delay_ms)
                cells.append(cell)
                told = "ok" if not cell.failures else "FAILED: " + "; ".join(cell.failures)
                say(f"{scheme}, {delay_ms} ms: {told} ({time.monotonic() - started:.0f} s)")
                failures += [f"{scheme}, {delay_ms} ms: {failure}" for failure in cell.failures]
        versions = {
            "dpdk": run("pkg-config", "--modversion", "libdpdk").strip(), "qemu": version(),
            "guest_kernel": lab.release, "accelerator": lab.accelerator,
        }  # fmt: skip
    return cells, failures, versions


def main():
    chosen = arguments()
    leave_at_signals("scripts/lab")
    sweep(PREFIX)
    scratch = tempfile.mkdtemp(prefix="longspan-lab-")
    try:
        cells, failures, versions = run_all(chosen, scratch)
    except Failure as failure:
        sys.exit(f"scripts/lab: {failure}")
    except KeyboardInterrupt:
        sys.exit("scripts/lab: interrupted")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    tables.show([cell.record for cell in cells])
    os.makedirs(chosen.out, exist_ok=True)
    path = os.path.join(chosen.out, "results.json")
    results = {"versions": versions, "failures": failures, "cells": [cell.record for cell in cells]}
    with open(path, "w") as file:
        json.dump(results, file, indent=2)
    print("\n" + ", ".join(f"{name} {value}" for name, value in versions.items()))
    print(f"{path} has all of it. " + (f"{len(failures)} claims FAILED" if failures else "Every claim holds"))
    sys.exit(bool(failures))


main()
