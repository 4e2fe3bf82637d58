"""Prints the claims of experiments as a table in Markdown: benches/experiments/claims.py SUMMARY.json...

Ends with status 1 where an invariant did not hold. Any other outcome of a run is a result.
"""

import collections
import json
import pathlib
import sys

from markdown_table import print_table


def figure(value, relative):
    """A change in percent, or the figure itself with three digits."""
    if relative:
        return f"{100 * value:+.1f} %"
    for factor, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor:
            return f"{value / factor:.3g} {letter}"
    return f"{value:.3g}"


def measured(claim):
    """The median, and the range where there is one. A claim without a figure may have too few flows for it."""
    ours, relative = claim["ours"], claim["against"] is not None
    if ours is None:
        flows = claim["flows"] if claim["verdict"] == "not measured" else None
        return "" if flows is None else f"{flows} flows"
    median, least, most = (figure(ours[key], relative) for key in ("median", "min", "max"))
    return median if least == most else f"{median} ({least} to {most})"


def papers(claim):
    """The paper's figure, or the least and the most of its range."""
    return claim["paper"] if isinstance(claim["paper"], list) else [claim["paper"]]


def rows(path):
    experiment = pathlib.Path(path).parent.name
    summary = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    for claim in summary["claims"]:
        paper = " to ".join(figure(value, claim["against"] is not None) for value in papers(claim))
        yield [experiment, claim["id"], claim["text"], paper, measured(claim), claim["verdict"]]
    unfinished = collections.Counter(
        (run["variant"] or "", run["message"] or "", run["ending"])
        for run in summary["runs"]
        if run["ending"] != "finished"
    )
    for (variant, message, ending), runs in unfinished.items():
        yield [experiment, variant + (f" ({runs} runs)" if runs > 1 else ""), message, "", "", ending]


def main():
    found = [row for path in sys.argv[1:] for row in rows(path)]
    print_table(["experiment", "claim", "what", "paper", "measured", "verdict"], found)
    if any(row[-1] == "violation" for row in found):
        sys.exit(1)


main()
