"""`longspan replay` and its results."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from longspan import _binary
from longspan._files import Directory, StrPath, absolute, read_csv

Faults = Iterable[tuple[str, str, str]] | Mapping[str, Iterable[tuple[str, str]]]


class Replay:
    """The results of a replay.

    files: the directory: PORT.pcap for what each port sent, report.json, series.csv, series.svg, events.jsonl
    json: report.json, whose keys docs/report.md explains
    ports: a row for each port, with the keys of the report as columns, such as `in.frames`
    summary: a row for each port and priority, such as `pauses_sent.xoff`
    series: a row for each sample, as docs/series.md has it; float64 but for `time_ns`
    events: a row for each event, as docs/events.md has it; whole numbers are Int64, <NA> where an event lacks one
    """

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self.files = files = directory.path
        self.json: dict[str, Any] = json.loads((files / "report.json").read_text(encoding="utf-8"))
        if self.json["format"] != 1:
            raise ValueError(f"{files}/report.json has format {self.json['format']}, and this package reads 1")
        ports = self.json["ports"]
        self.ports = pd.json_normalize([{key: port[key] for key in port if key != "priorities"} for port in ports])
        self.summary = pd.json_normalize(
            [{"port": port["name"], **priority} for port in ports for priority in port["priorities"]]
        )
        self.series = read_csv(files / "series.csv", {"time_ns": "int64"})
        with open(files / "events.jsonl", encoding="utf-8") as lines:
            self.events = exact([json.loads(line) for line in lines])

    def __repr__(self) -> str:
        return f"<Replay {self.json['program']['name']!r} in {str(self.files)!r}>"


def exact(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """A table whose whole numbers are Int64: instants since 1970 do not fit into a float64."""
    table = pd.DataFrame(rows, dtype="object")
    for column in table:
        values = [row.get(column) for row in rows]
        if all(value is None or type(value) is int for value in values):
            table[column] = pd.array(values, dtype="Int64")
    return table


def fault_options(faults: Faults) -> list[str]:
    """An option for each fault. Raises ValueError."""
    if isinstance(faults, Mapping):
        stated = [(port, of_port) for port, each in faults.items() for of_port in each]
    else:
        stated = [(fault[0], fault[1:]) for fault in faults]
    options = []
    for port, times in stated:
        if isinstance(times, str) or len(times) != 2:
            raise ValueError(f"{times!r} of {port!r} are not the two instants of a fault, such as ('3ms', '500ms')")
        options.append(f"--fault={_binary.named(port, '..'.join(times))}")
    return options


def replay(
    config: StrPath,
    inputs: Mapping[str, StrPath] = {},
    *,
    split: StrPath | None = None,
    sources: Mapping[str, str | Iterable[str]] = {},
    faults: Faults = (),
    speed: str | None = None,
    loop: int | None = None,
    sample: str | None = None,
    rows: int | None = None,
    out: StrPath | None = None,
    binary: StrPath | None = None,
) -> Replay:
    """Replays captures through a gateway.

    config: the configuration of the gateway
    inputs: captures by the ports through which their frames enter, such as {"dc0": "hosts.pcap"}
    split, sources: a capture of several ports, and the addresses or interfaces by the ports that they enter, such as
        {"dc0": ["10.0.17.0/24"]}
    faults: when links of a bundle have no carrier, after the first frame: [("lh0", "3ms", "500ms")], or by port:
        {"lh0": [("3ms", "500ms")]}
    speed: such as "1000x" or "line-rate"
    loop: how many times each capture is replayed
    sample, rows: interval and greatest number of rows of `series`, such as "10us"
    out: the directory for the files, which are overwritten. Without it, they last as long as the Replay
    binary: the program; by default that of the variable LONGSPAN, or longspan on the PATH

    Raises LongspanError, and returns nothing, if a capture cannot be read to its end.
    """
    directory = Directory(out)
    arguments = ["replay", f"--config={absolute(config)}"]
    arguments += [f"--out-dir={directory.path}", f"--events={directory.path / 'events.jsonl'}"]
    arguments += [f"--in={_binary.named(port, absolute(capture))}" for port, capture in inputs.items()]
    joined = {port: ",".join(_binary.listed(of_port)) for port, of_port in sources.items()}
    arguments += [f"--from={_binary.named(port, of_port)}" for port, of_port in joined.items()]
    arguments += fault_options(faults)
    options = {"speed": speed, "loop": loop, "sample": sample, "rows": rows}
    arguments += [f"--{name}={value}" for name, value in options.items() if value is not None]
    if split is not None:
        arguments.append(f"--split={absolute(split)}")
    _binary.run(binary, arguments)
    return Replay(directory)
