"""Prints the claims of experiments as a table in Markdown, beside the verdicts of docs/results.csv, and how many of each
kind have which verdict:
benches/experiments/claims.py [--record] SUMMARY.json...
benches/experiments/claims.py --draw SEED

With --record, the claims take the place of those in docs/results.csv. --draw names five of its rows with a verdict, drawn
with SEED from those that chance has a part in. Ends with status 1 where an invariant did not hold. Any other outcome of a
run is a result.
"""

import collections
import csv
import json
import pathlib
import random
import sys

from markdown_table import print_table

HEAD = ["experiment", "claim", "kind", "what", "paper", "mean", "error", "range", "seeds", "agree", "flows", "verdict"]
HEAD += ["recorded"]
KIND, VERDICT, RECORDED = HEAD.index("kind"), HEAD.index("verdict"), HEAD.index("recorded")
RESULTS = pathlib.Path(__file__).parents[2] / "docs/results.csv"
WITHOUT_VERDICT = ("", "undecided", "not measured", "withdrawn")
# Units by the end of a metric's name.
UNITS = {"bps": "b/s", "bytes": "bytes", "ns": "ns"}


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


def recorded():
    """The rows of docs/results.csv by experiment and claim."""
    with RESULTS.open(encoding="utf-8", newline="") as file:
        return {(row["experiment"], row["claim"]): row for row in csv.DictReader(file)}


def row_to_record(experiment, claim, seeds):
    """A row of docs/results.csv, without the verdict that the claim had before there was a protocol."""
    ours, factor = claim["ours"] or {}, 1 if claim["against"] is None else 100
    least, most = (papers(claim) * 2)[:2]
    end = claim["metric"].replace(".", "_").rsplit("_", 1)[-1]
    row = {
        "experiment": experiment,
        "claim": claim["id"],
        "what": claim["text"],
        "kind": claim["kind"],
        "unit": "%" if factor == 100 else UNITS.get(end, end),
        "paper least": f"{least * factor:.6g}",
        "paper most": "" if least == most else f"{most * factor:.6g}",
        "seeds": f"{min(seeds)}-{max(seeds)}",
        "flows": claim["flows"],
        "verdict": claim["verdict"],
        "near": " ".join(claim["near"]),
    }
    for key in ("median", "min", "max", "mean", "standard_error"):
        row[key.replace("_", " ")] = "" if ours.get(key) is None else f"{factor * ours[key]:.6g}"
    row["agree %"] = f"{100 * ours['agree']:.0f}" if factor == 100 and ours else ""
    return row


def record(rows, paths):
    """Writes docs/results.csv with the claims of these summaries."""
    for path in paths:
        experiment, summary = pathlib.Path(path).parent.name, json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        seeds = {run["seed"] for run in summary["runs"]}
        known = {claim["id"] for claim in summary["claims"]}
        for (of, claim), row in rows.items():
            if of == experiment and claim not in known and row["verdict"] != "withdrawn":
                print(f"{of} {claim}: no longer a claim, and withdrawn")
                row["verdict"] = "withdrawn"
        for claim in summary["claims"]:
            old = rows.setdefault((experiment, claim["id"]), {"verdict before": ""})
            # Chance has no part in some.
            any_seed = old.get("seeds") == "any" or claim["kind"] in ("configured", "guarantee")
            old.update(row_to_record(experiment, claim, seeds) | ({"seeds": "any"} if any_seed else {}))
    with RESULTS.open("w", encoding="utf-8", newline="") as file:
        names = next(iter(rows.values()))
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows.values(), key=lambda row: row["experiment"]))


def rows(path, before):
    experiment = pathlib.Path(path).parent.name
    summary = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    for claim in summary["claims"]:
        paper = " to ".join(figure(value, claim["against"] is not None) for value in papers(claim))
        flows = "" if claim["flows"] is None else str(claim["flows"])
        verdict = claim["verdict"] + (f" (near {', '.join(claim['near'])})" if claim["near"] else "")
        who = [experiment, claim["id"], claim["kind"], claim["text"], paper]
        yield [*who, *measured(claim), flows, verdict, before.get((experiment, claim["id"]), {}).get("verdict", "")]
    unfinished = collections.Counter(
        (run["variant"] or "", run["message"] or "", run["ending"])
        for run in summary["runs"]
        if run["ending"] != "finished"
    )
    for (variant, message, ending), runs in unfinished.items():
        name = variant + (f" ({runs} runs)" if runs > 1 else "")
        yield [experiment, name, "", message, *[""] * 7, ending, ""]


def print_counts(claims):
    """How many claims of each kind have which verdict."""
    counts = collections.Counter((row[KIND], row[VERDICT].split(" (")[0]) for row in claims)
    kinds, verdicts = (sorted({key[place] for key in counts}) for place in (0, 1))
    print_table(["kind", *verdicts], [[kind, *(str(counts[kind, verdict]) for verdict in verdicts)] for kind in kinds])


def print_changes(claims, before):
    """The verdicts that differ from those of docs/results.csv. One may have the other's verdict as a near one."""
    others = []
    decided = [row for row in claims if row[RECORDED] not in WITHOUT_VERDICT]
    for row in decided:
        (verdict, _, near), old = row[VERDICT].partition(" ("), before[row[0], row[1]]
        if verdict != row[RECORDED]:
            is_near = verdict in old["near"] or row[RECORDED] in near
            others.append(f"{row[0]} {row[1]}: recorded {row[RECORDED]}, {'near' * is_near or 'not'} {row[VERDICT]}")
    print(f"\n{len(decided) - len(others)} of {len(decided)} verdicts are those of docs/results.csv")
    print("\n".join(others))


def draw(rows, seed):
    """Five rows with a verdict that could have been another with other seeds."""
    decided = sorted(key for key, row in rows.items() if row["verdict"] not in WITHOUT_VERDICT and row["seeds"] != "any")
    for experiment, claim in random.Random(seed).sample(decided, 5):
        print(experiment, claim)


def main():
    if sys.argv[1:2] == ["--draw"]:
        draw(recorded(), int(sys.argv[2]))
        return
    paths = [path for path in sys.argv[1:] if path != "--record"]
    before = recorded()
    found = [row for path in paths for row in rows(path, before)]
    print_table(HEAD, found)
    print()
    claims = [row for row in found if row[KIND]]
    print_counts(claims)
    print_changes(claims, before)
    if "--record" in sys.argv:
        record(before, paths)
    if any(row[VERDICT] == "violation" for row in found):
        sys.exit(1)


main()
