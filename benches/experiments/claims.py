"""Prints the claims of experiments as a table in Markdown, and how many of each kind have which verdict:
benches/experiments/claims.py SUMMARY.json...

Ends with status 1 where an invariant did not hold. Any other outcome of a run is a result.
"""

import collections
import json
import pathlib
import sys

from markdown_table import print_table

HEAD = ["experiment", "claim", "kind", "what", "paper", "mean", "error", "range", "seeds", "agree", "flows", "verdict"]
KIND, VERDICT = HEAD.index("kind"), HEAD.index("verdict")


def figure(value, relative):
    """A change in percent, or the figure itself with three digits."""
    if relative:
        return f"{100 * value:+.1f} %"
    for factor, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor:
            return f"{value / factor:.3g} {letter}"
    return f"{value:.3g}"


def measured(claim):
    """The mean over the seeds, its standard error, the range, the seeds (and how many a verdict needs), the share of them
    that agrees on the direction of a change."""
    ours, relative = claim["ours"], claim["against"] is not None
    if ours is None:
        return [""] * 5
    error = "" if ours["standard_error"] is None else figure(ours["standard_error"], relative).lstrip("+")
    least, most = (figure(ours[key], relative) for key in ("min", "max"))
    seeds = f"{ours['seeds']}" + (f" of {claim['needed']}" if claim["needed"] else "")
    agree = f"{100 * ours['agree']:.0f} %" if relative else ""
    return [figure(ours["mean"], relative), error, least if least == most else f"{least} to {most}", seeds, agree]


def papers(claim):
    """The paper's figure, or the least and the most of its range."""
    return claim["paper"] if isinstance(claim["paper"], list) else [claim["paper"]]


def rows(path):
    experiment = pathlib.Path(path).parent.name
    summary = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    for claim in summary["claims"]:
        paper = " to ".join(figure(value, claim["against"] is not None) for value in papers(claim))
        flows = "" if claim["flows"] is None else str(claim["flows"])
        verdict = claim["verdict"] + (f" (near {', '.join(claim['near'])})" if claim["near"] else "")
        who = [experiment, claim["id"], claim["kind"], claim["text"], paper]
        yield [*who, *measured(claim), flows, verdict]
    unfinished = collections.Counter(
        (run["variant"] or "", run["message"] or "", run["ending"])
        for run in summary["runs"]
        if run["ending"] != "finished"
    )
    for (variant, message, ending), runs in unfinished.items():
        name = variant + (f" ({runs} runs)" if runs > 1 else "")
        yield [experiment, name, "", message, *[""] * 7, ending]


def print_counts(claims):
    """How many claims of each kind have which verdict."""
    counts = collections.Counter((row[KIND], row[VERDICT].split(" (")[0]) for row in claims)
    kinds, verdicts = (sorted({key[place] for key in counts}) for place in (0, 1))
    print_table(["kind", *verdicts], [[kind, *(str(counts[kind, verdict]) for verdict in verdicts)] for kind in kinds])


def main():
    found = [row for path in sys.argv[1:] for row in rows(path)]
    print_table(HEAD, found)
    print()
    print_counts([row for row in found if row[KIND]])
    if any(row[VERDICT] == "violation" for row in found):
        sys.exit(1)


main()
