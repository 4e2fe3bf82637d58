"""Draws the pictures of docs/repair.md from docs/evidence/repair.csv, with the same bytes from the same figures."""

import csv
import pathlib
import statistics

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

DOCS = pathlib.Path(__file__).parents[2] / "docs"
# Colour, marker and variants of each line.
LINES = {"with repair": ("#0072b2", "o", "repair"), "without": ("#d14a00", "s", "none")}
# The label of each variant, by picture and axis. One frame in a thousand is lost over any distance.
PICTURES = {
    ("loss", "frames lost, over 3,000 km"): {it: it for it in ("0", "1e-6", "1e-5", "1e-4", "1e-3")},
    ("distance", "one frame in a thousand lost"): {"80km": "80 km", "600km": "600 km", "1e-3": "3,000 km"},
}


def rates():
    """The rates of the slowest flow in Gb/s, one for each seed, by variant."""
    found = {}
    with (DOCS / "evidence/repair.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["metric"] == "settled.bulk.min_bps":
                found.setdefault(row["variant"], []).append(float(row["value"]) / 1e9)
    return found


def draw(axes, found, variants):
    for name, (colour, marker, prefix) in LINES.items():
        values = [found[f"{prefix}-{variant}"] for variant in variants]
        means, deviations = [[of(it) for it in values] for of in (statistics.mean, statistics.stdev)]
        line = {"color": colour, "marker": marker, "markersize": 4, "label": name}
        axes.errorbar(range(len(variants)), means, yerr=deviations, **line)
    axes.set_xticks(range(len(variants)), variants.values())
    axes.set_ylabel("slowest of four flows, Gb/s")
    axes.set_ylim(0, 26)
    axes.grid(axis="y", color="#d0d0d0")
    axes.legend()


def main():
    plt.rcParams |= {"svg.hashsalt": "longspan", "svg.fonttype": "none", "font.size": 9, "font.sans-serif": ["DejaVu Sans"]}
    found = rates()
    for (name, label), variants in PICTURES.items():
        figure, axes = plt.subplots(figsize=(8, 2.8), layout="constrained")
        draw(axes, found, variants)
        axes.set_xlabel(label)
        figure.savefig(DOCS / f"repair-{name}.svg", metadata={"Date": None, "Creator": None})
        plt.close(figure)


main()
