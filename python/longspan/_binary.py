"""Finds the program `longspan`, runs it, and passes on what it says."""

import os
import shutil
import subprocess
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from longspan._files import StrPath


class BinaryNotFound(FileNotFoundError):
    """There is no program `longspan`; the message says where it was sought."""


class LongspanError(RuntimeError):
    """`longspan` failed.

    status: its exit status: 1 failure while running, 2 wrong usage or configuration, negative the signal that ended it
    message: what it wrote to standard error
    command: the program and its arguments
    """

    def __init__(self, status: int, message: str, command: list[str]) -> None:
        super().__init__(status, message, command)
        self.status = status
        self.message = message
        self.command = command

    def __str__(self) -> str:
        ending = f"exit status {self.status}" if self.status >= 0 else f"ended by signal {-self.status}"
        return f"{self.message} ({ending})"


class LongspanWarning(UserWarning):
    """What `longspan` wrote to standard error although it succeeded."""


def find(binary: StrPath | None) -> str:
    """The path of the program: the argument, or else the variable LONGSPAN, or else `longspan` on the PATH.

    A name without a slash is sought on the PATH. Raises BinaryNotFound.
    """
    if binary is not None:
        wanted, source = os.fspath(binary), "the argument binary"
    elif os.environ.get("LONGSPAN"):
        wanted, source = os.environ["LONGSPAN"], "the variable LONGSPAN"
    else:
        wanted, source = "longspan", "no argument binary and no variable LONGSPAN"
    found = shutil.which(wanted)
    if found is None:
        place = wanted if os.sep in wanted else f"{wanted} on the PATH, {os.environ.get('PATH', '')}"
        raise BinaryNotFound(f"there is no program {place} ({source})")
    return found


def run(binary: StrPath | None, arguments: list[str], no_is_an_answer: bool = False) -> tuple[str, str]:
    """Runs the program, and returns its standard output, and why the answer is no: "" if it is not.

    With `no_is_an_answer`, status 1 with an output is such an answer. Raises LongspanError for all others but 0.
    """
    command = [find(binary), *arguments]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace")
    said = done.stderr.strip()
    if done.returncode == 0:
        if said:
            warnings.warn(said, LongspanWarning, stacklevel=3)
        return done.stdout, ""
    said = said or "longspan failed and said nothing"
    if no_is_an_answer and done.returncode == 1 and done.stdout:
        return done.stdout, said
    raise LongspanError(done.returncode, said, command)


def listed(values: Any) -> list[Any]:
    """The values, or the one: a text or a table is not taken apart."""
    is_one = isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable)
    return [values] if is_one else list(values)


def named(name: str, value: str) -> str:
    """NAME=VALUE, which the program divides at the first `=`. Raises ValueError for a name with one."""
    if not name or "=" in name:
        raise ValueError(f"{name!r} cannot be the name of a key or port")
    return f"{name}={value}"
