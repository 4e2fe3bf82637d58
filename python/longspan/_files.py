"""Where results are, and their tables, with types that do not depend on the values."""

import os
import shutil
import tempfile
import weakref
from pathlib import Path

import pandas as pd

StrPath = str | os.PathLike[str]


class Directory:
    """The directory `out`, or a temporary one, which is removed when no one refers to this object."""

    def __init__(self, out: StrPath | None) -> None:
        if out is not None:
            self.path = Path(out).absolute()
        else:
            self.path = Path(tempfile.mkdtemp(prefix="longspan-"))
            weakref.finalize(self, shutil.rmtree, self.path)


def absolute(path: StrPath) -> str:
    """The path from the root, which looks like no option, and not like the `-` of standard input."""
    return str(Path(path).absolute())


def read_csv(path: Path, others: dict[str, str]) -> pd.DataFrame:
    """A table whose columns are float64, empty cells NaN, except for `others`, which have these types.

    An empty text stays one, and so does the text "NA".
    """
    types = {column: others.get(column, "float64") for column in pd.read_csv(path, nrows=0).columns}
    missing = {column: [""] for column, kind in types.items() if kind != "str"}
    return pd.read_csv(path, dtype=types, keep_default_na=False, na_values=missing)
