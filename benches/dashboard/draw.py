"""Pictures of a dashboard's rows, drawn from the answers to its queries."""

import re

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter

STEPS = {"bps": ("b/s", 1000), "pps": ("/s", 1000), "ops": ("/s", 1000), "decbytes": ("B", 1000), "short": ("", 1000)}

# Names of lines below a panel: more would hide the next one.
LEGENDS = 12


def legend(template, labels):
    """A legend as Grafana fills it in."""
    return re.sub(r"{{\s*(\w+)\s*}}", lambda it: labels.get(it.group(1), ""), template)


def readable(value, unit):
    """A value in its unit, as Grafana writes it."""
    if unit == "percentunit":
        return f"{100 * value:.3g}%"
    if unit == "s":
        for factor, name in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
            if value >= factor:
                return f"{value / factor:.3g} {name}"
        return f"{value / 1e-9:.3g} ns" if value else "0 s"
    suffix, step = STEPS[unit]
    for prefix in ("", "k", "M", "G"):
        if abs(value) < step or prefix == "G":
            return f"{value:.3g} {prefix}{suffix}".rstrip()
        value /= step
    raise AssertionError("the last prefix takes any value")


def rows(answered, directory):
    """Draws each row of panels into a file of `directory`, and returns the files."""
    groups = []
    for panel, series in answered:
        if panel["type"] == "row":
            groups.append((panel["title"], []))
        else:
            groups[-1][1].append((panel, series))
    for title, panels in groups:
        name = re.sub(r"\W+", "-", title.lower()).strip("-")
        path = directory / f"{name}.png"
        draw_row(title, panels, path)
        yield path


def draw_row(title, panels, path):
    """Draws panels where the dashboard has them."""
    tops = sorted({panel["gridPos"]["y"] for panel, _ in panels})
    bottom = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel, _ in panels)
    height = bottom - tops[0]
    inches = 0.38 * height + 1.2
    figure = plt.figure(figsize=(12, inches), dpi=80)
    figure.suptitle(title, x=0.01, y=1 - 0.1 / inches, ha="left", va="top", fontsize=11, fontweight="bold")
    grid = figure.add_gridspec(
        height, 24, left=0.06, right=0.985, top=1 - 0.65 / inches, bottom=0.6 / inches, hspace=6, wspace=5
    )
    for panel, series in panels:
        place = panel["gridPos"]
        top = place["y"] - tops[0]
        # A column stays free for the figures of the axis, which are beside a neighbour otherwise.
        left = place["x"] + (place["x"] > 0)
        axes = figure.add_subplot(grid[top : top + place["h"] - 1, left : place["x"] + place["w"]])
        (draw_stat if panel["type"] == "stat" else draw_series)(axes, panel, series)
        axes.set_title(panel["title"], fontsize=8)
    figure.savefig(path, pil_kwargs={"optimize": True})
    plt.close(figure)


def draw_stat(axes, panel, series):
    """The last value, on the colour of its threshold."""
    defaults = panel["fieldConfig"]["defaults"]
    axes.set_axis_off()
    if not series:
        axes.text(0.5, 0.5, "no data", ha="center", va="center", color="grey")
        return
    value = series[0][1][-1][1]
    colour = [it["color"] for it in defaults["thresholds"]["steps"] if it["value"] is None or value >= it["value"]][-1]
    axes.text(
        0.5, 0.5, readable(value, defaults["unit"]), ha="center", va="center", fontsize=15, color="white",
        bbox={"boxstyle": "round,pad=0.5", "facecolor": {"green": "#3a7d44", "yellow": "#b58900", "red": "#b3261e"}[colour], "linewidth": 0},
    )


def draw_series(axes, panel, series):
    """Lines over time."""
    defaults = panel["fieldConfig"]["defaults"]
    axes.tick_params(labelsize=6)
    axes.grid(alpha=0.3)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: readable(value, defaults["unit"])))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda seconds, _: f"{seconds:g} s"))
    if not series:
        axes.text(0.5, 0.5, "no data", ha="center", va="center", color="grey", transform=axes.transAxes)
        return
    # There is room for the names of the highest lines only. A label that begins with an underscore is not shown.
    peaks = sorted((max(value for _, value in values) for _, values in series), reverse=True)
    least = peaks[LEGENDS - 1] if len(peaks) > LEGENDS else 0
    for name, values in series:
        is_named = len(peaks) <= LEGENDS or max(value for _, value in values) > least
        label = name if is_named else "_"
        axes.plot([when for when, _ in values], [value for _, value in values], linewidth=0.9, label=label)
    axes.set_ylim(bottom=0, top=defaults.get("max"))
    if axes.get_legend_handles_labels()[1]:
        axes.legend(fontsize=5.5, ncols=3, loc="upper left", bbox_to_anchor=(-0.02, -0.1), frameon=False)
