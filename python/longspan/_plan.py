"""`longspan plan` and its results."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from longspan import _binary
from longspan._files import StrPath
from longspan._toml import plain

Option = str | int | float | bool | Sequence[str | int] | Mapping[str, str]


class Plan:
    """A plan for a long link.

    holds: whether it holds, and its proof, if there is one
    why: why not, or ""
    schemes: a row for each scheme: buffer_bytes, control_rate (bits per second), reaction_ns, needs
    slots: a row for each slot of Bifrost: slot_ns, buffer_bytes
    steps: a row for each formula: part, name, formula, numbers, result, unit, source
    configurations: the TOML of each gateway, by its name
    files: the directory with these, if `out` was stated
    json: all that the program printed
    """

    def __init__(self, printed: dict[str, Any], why: str, files: Path | None) -> None:
        self.holds = not why
        self.why = why
        self.json = printed
        self.files = files
        self.schemes = pd.DataFrame(printed["schemes"])
        self.slots = pd.DataFrame(printed["slots"])
        self.steps = pd.json_normalize(printed["parts"], "steps", "title").rename(columns={"title": "part"})
        self.configurations: dict[str, str] = {of["name"]: of["toml"] for of in printed["gateways"]}

    def __repr__(self) -> str:
        return f"<Plan {self.json['scheme']!r}: {'holds' if self.holds else 'does not hold'}>"


def plan(
    rate: str,
    *,
    distance: str | None = None,
    delay: str | None = None,
    out: StrPath | None = None,
    binary: StrPath | None = None,
    **options: Option,
) -> Plan:
    """Plans a long link from its rate, and its distance or delay, such as "100G" and "80km".

    out: the directory for the configurations, which must not be there yet
    binary: the program; by default that of the variable LONGSPAN, or longspan on the PATH
    options: all others of `longspan plan --help`, with underscores for hyphens: scheme="pfc", priorities=[3, 4],
        tx_window="1us", prove=True, watchdog={"SONiC": "400ms"}

    A plan that does not hold is returned, too, unless `out` is stated: it writes no files. Raises LongspanError for
    what cannot be planned.
    """
    arguments = ["plan", "--json", f"--rate={rate}"]
    files = None if out is None else Path(out).absolute()
    stated: dict[str, Option | Path | None] = {"distance": distance, "delay": delay, "out": files, **options}
    for name, value in stated.items():
        arguments += option(name.replace("_", "-"), value)
    printed, why = _binary.run(binary, arguments, no_is_an_answer=out is None)
    return Plan(json.loads(printed), why, files)


def option(name: str, value: Option | Path | None) -> list[str]:
    value = plain(value)
    if value is None or value is False:
        return []
    if value is True:
        return [f"--{name}"]
    if isinstance(value, Mapping):
        return [f"--{name}={_binary.named(key, of_key)}" for key, of_key in value.items()]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [f"--{name}={','.join(map(str, value))}"]
    return [f"--{name}={value}"]
