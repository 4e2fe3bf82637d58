"""Runs `longspan simulate`, and reads what it wrote."""

import csv
import json
import subprocess


def simulate(longspan, scenario, out, settings=(), sweeps=(), variants=(), seeds=1):
    """The runs of `summary.json`, each with its directory as `path`.

    A setting is `KEY=VALUE`, a sweep `KEY=A,B,C`. A run that ends in a deadlock or breaks an invariant is a result too.
    """
    command = [longspan, "simulate", scenario, "--out", out, "--seeds", str(seeds)]
    for option, values in (("--set", settings), ("--sweep", sweeps), ("--only-variant", variants)):
        for value in values:
            command += [option, value]
    ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if ended.returncode > 1:
        raise RuntimeError(f"{scenario.name}: {ended.stderr.strip()}")
    runs = json.loads((out / "summary.json").read_text(encoding="utf-8"))["runs"]
    return [run | {"path": out / run["name"]} for run in runs]


def rows(file):
    """The rows of a table of a run, such as `fct.csv`."""
    with file.open(encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(lines)
