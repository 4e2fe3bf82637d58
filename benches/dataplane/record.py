"""The rows that are measured, in a file after each of them, so that a run can end early and be resumed."""

import json
import os
import sys
import time


class Enough(Exception):
    """The time that was given is over."""


class Record:
    """`settings` are what rows depend on, beside their case: rows of others are not resumed."""

    def __init__(self, path, settings, machine, resume, minutes):
        self.path = path
        self.results = {"settings": settings, "machine": machine, "parts": {}}
        self.deadline = time.monotonic() + minutes * 60
        if resume and os.path.exists(path):
            self.take_over(settings)

    def take_over(self, settings):
        with open(self.path, encoding="utf-8") as file:
            before = json.load(file)
        if before.get("settings") != settings:
            sys.exit(f"scripts/bench-dataplane: {self.path} was measured with {before.get('settings')}, and not "
                     f"with {settings}: leave out --resume, or choose another file with --json")  # fmt: skip
        self.results["parts"] = before["parts"]

    def row(self, part, case, measure):
        """The row of `case`: the one in the file, or a new one, which goes there. It is started before the time
        is over, or not at all."""
        rows = self.results["parts"].setdefault(part, {})
        if case not in rows:
            if time.monotonic() > self.deadline:
                raise Enough
            rows[case] = measure()
            self.write()
        return rows[case]

    def write(self):
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        # An interrupted run leaves the file of its last row.
        unfinished = self.path + ".unfinished"
        with open(unfinished, "w", encoding="utf-8") as file:
            json.dump(self.results, file, indent=2)
            file.write("\n")
        os.replace(unfinished, self.path)
