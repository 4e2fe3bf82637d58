"""Waiting for what must come, with a deadline."""

import time

# Emulation is slow, and so is a machine that is shared.
PATIENCE = 120.0
BETWEEN_LOOKS = 0.02


class Failure(Exception):
    """A promise was broken."""


def expect(condition, otherwise):
    if not condition:
        raise Failure(otherwise)


def wait_until(what, condition, seconds=PATIENCE):
    """Looks until `condition` holds, and returns what it returned."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        expect(time.monotonic() < deadline, f"waited {seconds:.0f} s in vain for {what}")
        time.sleep(BETWEEN_LOOKS)


def wait_for_count(what, wanted, count):
    """Looks until `count` returns at least `wanted`. It may take any time, as long as it grows."""
    last, deadline = None, 0.0
    while True:
        now = count()
        if now >= wanted:
            return
        if now != last:
            last, deadline = now, time.monotonic() + PATIENCE
        expect(time.monotonic() < deadline, f"{now} of {wanted} {what}, and no more for {PATIENCE:.0f} s")
        time.sleep(BETWEEN_LOOKS)
