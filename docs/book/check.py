"""Finishes the pages that mdBook has built, and checks every link, picture and anchor in them: check.py DIRECTORY."""
import re
import sys
import urllib.parse
from html.parser import HTMLParser
from pathlib import Path

# Made for the book as a whole, with links of their own.
NOT_PAGES = {"404.html", "toc.html", "print.html"}


class Page(HTMLParser):
    """The anchors of a page, and where its links lead."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def breakable(cell):
    """A cell of a table in which long names may break behind an underscore, and percentages may not."""
    names = re.sub(r"<code>[^<]{25,}</code>", lambda name: name[0].replace("_", "_<wbr>"), cell[0])
    return re.sub(r"(?<=\d) (?=%)", "&nbsp;", names)


def broken_links(path, page, pages):
    for link in page.links:
        address = urllib.parse.urlsplit(link)
        if address.scheme or address.netloc:
            continue
        target = (path.parent / urllib.parse.unquote(address.path)).resolve() if address.path else path
        anchor = urllib.parse.unquote(address.fragment)
        if not target.exists() or (anchor and target in pages and anchor not in pages[target].anchors):
            yield link


def main():
    root = Path(sys.argv[1]).resolve()
    pages = {}
    for path in root.rglob("*.html"):
        text = re.sub(r"<td.*?</td>", breakable, path.read_text(encoding="utf-8"), flags=re.DOTALL)
        path.write_text(text, encoding="utf-8")
        if path.name not in NOT_PAGES:
            pages[path] = Page(text)
    broken = []
    for path, page in pages.items():
        broken += [f"{path.relative_to(root)}: {link}" for link in broken_links(path, page, pages)]
    print(f"{len(pages)} pages, {sum(len(page.links) for page in pages.values())} links, {len(broken)} broken")
    sys.exit("\n".join(broken) or 0)


main()
