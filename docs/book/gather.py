"""Gathers the pages of the book in one directory, as mdBook wants them: gather.py DIRECTORY.

The pages of docs keep their names. README.md, CONTRIBUTING.md and CHANGELOG.md of the repository move beside them, and
files that pages link to but that are no pages keep their path below `repository`.
"""
import posixpath
import re
import shutil
import sys
from pathlib import Path

ROOT_PAGES = {"README.md": "longspan.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
LINK = re.compile(r"\]\((?!\w+://)([^)#\s]+)")
SUMMARY = "docs/SUMMARY.md"


def place(path):
    """Where the file `path` of the repository is in the book."""
    if path in ROOT_PAGES:
        return ROOT_PAGES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"repository/{path}"


def moved(text, page, linked):
    """`text` of `page` with the links that it needs in the book."""

    def link(match):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page), match[1]))
        if target == SUMMARY:
            return "](" + posixpath.relpath("index.md", posixpath.dirname(place(page)) or ".") + "#all-pages"
        linked.add(target)
        to = place(target)
        # mdBook calls the first page index, except in its list.
        if to == "README.md" and page != SUMMARY:
            to = "index.md"
        return "](" + posixpath.relpath(to, posixpath.dirname(place(page)) or ".")

    return LINK.sub(link, text)


def main():
    book = Path(sys.argv[1])
    linked = set()
    files = [path for path in Path("docs").rglob("*") if path.is_file() and not path.is_relative_to("docs/book")]
    for path in files + [Path(name) for name in ROOT_PAGES]:
        copy = book / place(path.as_posix())
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            copy.write_text(moved(path.read_text(encoding="utf-8"), path.as_posix(), linked), encoding="utf-8")
        else:
            shutil.copy(path, copy)
    for path in map(Path, linked):
        copy = book / place(path.as_posix())
        if path.is_file() and not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
    # The first page ends with the list of all pages, which has more to say than the titles beside the text.
    summary = (book / "SUMMARY.md").read_text(encoding="utf-8")
    with open(book / "README.md", "a", encoding="utf-8") as first:
        first.write("\n## All pages\n\n" + re.sub("^# ", "### ", summary[summary.index("# Start") :], flags=re.M))


main()
