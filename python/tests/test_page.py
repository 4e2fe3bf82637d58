"""docs/python.md: its code runs, and prints what the page says."""

import contextlib
import io
import os
import re
import shutil
import tempfile
import unittest
from pathlib import Path

import matplotlib

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/python.md"
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


class Page(unittest.TestCase):
    def test_the_code_of_the_page_prints_what_the_page_says(self):
        matplotlib.use("agg")
        directory = Path(tempfile.mkdtemp(prefix="longspan-test-"))
        self.addCleanup(shutil.rmtree, directory)
        self.addCleanup(os.chdir, os.getcwd())
        for name in ["config", "tests"]:
            (directory / name).symlink_to(ROOT / name)
        os.chdir(directory)
        names = {}
        blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
        self.assertGreater(len(blocks), 5)
        for code, says in blocks:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, str(PAGE), "exec"), names)
            self.assertEqual("".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines()), says, code)
        self.assertTrue(Path("held.png").exists())


if __name__ == "__main__":
    unittest.main()
