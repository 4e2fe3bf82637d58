"""Values for `--set` and `--sweep`, which are TOML or bare words."""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Union

import numpy as np

Value = Union[str, bool, int, float, Sequence["Value"], Mapping[str, "Value"]]
Scalar = Union[str, bool, int, float]

# A bare word that no version of TOML takes for a value.
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*|[0-9.]+[A-Za-z%/]+")


def to_toml(value: Value) -> str:
    """The value in one line. A text stays a text: "5" and "true" have quotes, and "10G" needs none."""
    if isinstance(value, str) and WORD.fullmatch(value) and not is_toml(value):
        return value
    return inline(value)


def is_toml(text: str) -> bool:
    try:
        tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return False
    return True


def plain(value: Any) -> Any:
    """The value of Python that a scalar of NumPy stands for; another value as it is."""
    return value.item() if isinstance(value, np.generic) else value


def inline(value: Value) -> str:
    """The value as TOML that may stand within an array or a table. Raises TypeError."""
    value = plain(value)
    if isinstance(value, str):
        # JSON's escapes are those of TOML, which has one more.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return repr(float(value))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{inline(str(key))} = {inline(of_key)}" for key, of_key in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return "[" + ", ".join(map(inline, value)) + "]"
    raise TypeError(f"{value!r} has no form in TOML: a value is a str, bool, int, float, list or dict")


def from_toml(text: str) -> Scalar:
    """The scalar that a parameter of a run states. All else is a text: a bare word, an array, a table."""
    value = tomllib.loads(f"value = {text}")["value"] if is_toml(text) else text
    return value if isinstance(value, (str, bool, int, float)) else text
