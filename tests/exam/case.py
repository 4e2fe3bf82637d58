"""A case of an exam, its result, and a case that is not run."""

import dataclasses
import pathlib
import typing


@dataclasses.dataclass(frozen=True)
class Result:
    """What was measured, in the words of the table, and whether it meets the threshold."""

    measured: str
    passed: bool


@dataclasses.dataclass(frozen=True)
class Case:
    """One test of the exam. `source` names the text, and the section of it, that `threshold` comes from."""

    id: str
    what: str
    threshold: str
    source: str
    # Called with the program, an empty directory to work in, and whether the run is to be short.
    run: typing.Callable[[pathlib.Path, pathlib.Path, bool], Result]
    # Why the case fails today, where it is known to fail.
    shortfall: str = ""


@dataclasses.dataclass(frozen=True)
class NotRun:
    """One test of the exam that is not run, and why."""

    id: str
    what: str
    reason: str
