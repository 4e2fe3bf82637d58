"""`longspan simulate` and its results."""

import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from longspan import _binary
from longspan._files import Directory, StrPath, absolute, read_csv
from longspan._toml import Value, from_toml, to_toml

# What docs/simulate.md says of fct.csv and series.csv; all other columns are numbers that may be missing.
FLOW_TYPES = dict.fromkeys(["group", "source", "destination"], "str") | dict.fromkeys(
    ["flow", "priority", "bytes", "start_ns", "end_ns", "fct_ns", "retransmitted", "acked_ns", "counted"], "int64"
)
SERIES_TYPES = {"time_ns": "int64"}


class Simulation:
    """The results of `longspan simulate` in a directory, also one of an earlier run or of a cluster.

    files: the directory, with all that docs/simulate.md lists
    json: summary.json
    summary: a row for each run: `run` (its directory below files), `variant` ("" if there are none), `seed`, a column
        `parameter.KEY` for each value that was set, `ending`, `end_ns`, counts, and a column for each metric. Metrics
        are float64, NaN where a run lacks one.
    """

    def __init__(self, files: StrPath | Directory) -> None:
        self._directory = files if isinstance(files, Directory) else Directory(files)
        self.files: Path = self._directory.path
        self.json: dict[str, Any] = json.loads((self.files / "summary.json").read_text(encoding="utf-8"))
        if self.json["format"] != 1:
            raise ValueError(f"{self.files}/summary.json has format {self.json['format']}, and this package reads 1")
        self.summary = summarize(self.json["runs"])

    def __repr__(self) -> str:
        return f"<Simulation {self.json['scenario']!r}: {len(self.summary)} runs in {str(self.files)!r}>"

    @cached_property
    def flows(self) -> pd.DataFrame:
        """A row for each flow of all runs that has ended: columns that name the run, and those of fct.csv.

        `summary` counts those that started and those that ended. `ideal_ns` and `slowdown` are float64, NaN for flows
        that have no length of their own.
        """
        return self._tables("fct.csv", FLOW_TYPES)

    @cached_property
    def series(self) -> pd.DataFrame:
        """A row for each sample of all runs: columns that name the run, and those of series.csv.

        A column is float64, and NaN for a run without it.
        """
        return self._tables("series.csv", SERIES_TYPES)

    @cached_property
    def claims(self) -> pd.DataFrame:
        """A row for each claim, with its verdict; what was measured is in `ours.median` and the like."""
        return pd.json_normalize(self.json["claims"])

    def _tables(self, name: str, types: dict[str, str]) -> pd.DataFrame:
        tables = []
        for run in self.json["runs"]:
            where = self.files / run["name"]
            if json.loads((where / "summary.json").read_text(encoding="utf-8"))["metrics"] != run["metrics"]:
                raise RuntimeError(f"{where} has another run's results by now: give each simulation its own directory")
            table = read_csv(where / name, types)
            tables.append(pd.concat([pd.DataFrame(of_run(run), index=table.index), table], axis="columns"))
        return pd.concat(tables, ignore_index=True)


def of_run(run: dict[str, Any]) -> dict[str, Any]:
    """The columns that name a run."""
    parameters = {f"parameter.{key}": from_toml(value) for key, value in run["parameters"].items()}
    return {"run": run["name"], "variant": run["variant"] or "", "seed": run["seed"], **parameters}


def summarize(runs: list[dict[str, Any]]) -> pd.DataFrame:
    named = pd.DataFrame([of_run(run) for run in runs])
    counts = pd.DataFrame(
        {
            "ending": [run["ending"] for run in runs],
            "end_ns": [run["end_ns"] for run in runs],
            "transmissions": [run["transmissions"] for run in runs],
            "flows_started": [run["flows"]["started"] for run in runs],
            "flows_ended": [run["flows"]["ended"] for run in runs],
        }
    )
    metrics = pd.DataFrame([run["metrics"] for run in runs], dtype="float64").sort_index(axis="columns")
    return pd.concat([named, counts, metrics], axis="columns")


def simulate(
    scenario: StrPath,
    *,
    set: Mapping[str, Value] = {},
    sweep: Mapping[str, Value | Iterable[Value]] = {},
    seeds: int | range = 1,
    variants: str | Iterable[str] = (),
    quick: bool = False,
    out: StrPath | None = None,
    again: bool = False,
    jobs: int | None = None,
    threads: int | None = None,
    binary: StrPath | None = None,
) -> Simulation:
    """Runs each variant of a scenario with each seed at each point of the sweeps.

    scenario: the scenario file
    set: values by their dotted keys, such as {"topology.rate": "400G"}. A str is a text, whatever it looks like
    sweep: several values for each key, or the one, such as a str or a dict; sweeps of several keys run in every
        combination
    seeds: how many, from the scenario's own on; or range(1001, 1021)
    variants: those to run, or the one; all, if none is named
    quick: applies the `quick` values of the scenario, which make it short
    out: the directory for the files. Complete runs that are there are not repeated, unless with `again`. Without
        `out`, the files last as long as the Simulation
    jobs, threads: simulations at a time, one per core by default; threads of one simulation
    binary: the program; by default that of the variable LONGSPAN, or longspan on the PATH

    Raises LongspanError, and returns nothing, if any run fails; its message has the seed and the instant.
    """
    directory = Directory(out)
    arguments = ["simulate", absolute(scenario), f"--out={directory.path}"]
    arguments += [f"--set={_binary.named(key, to_toml(value))}" for key, value in set.items()]
    joined = {key: ",".join(map(to_toml, _binary.listed(values))) for key, values in sweep.items()}
    arguments += [f"--sweep={_binary.named(key, values)}" for key, values in joined.items()]
    if isinstance(seeds, range):
        if seeds.step != 1 or not seeds:
            raise ValueError(f"seeds are consecutive, and there is at least one: not {seeds}")
        arguments.append(f"--seed={seeds.start}")
        seeds = len(seeds)
    arguments.append(f"--seeds={seeds}")
    arguments += [f"--only-variant={name}" for name in _binary.listed(variants)]
    arguments += [f"--{name}" for name, on in [("quick", quick), ("again", again)] if on]
    arguments += [f"--{name}={n}" for name, n in [("jobs", jobs), ("threads", threads)] if n is not None]
    _binary.run(binary, arguments)
    return Simulation(directory)
