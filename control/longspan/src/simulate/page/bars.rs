//! Comparison of schemes: one bar each for the metrics that papers compare.

use super::html;
use crate::chart::axis::{Axis, Quantity};
use crate::chart::drawing::{self, COLOURS, Drawing};
use crate::chart::plot::figure;
use crate::chart::text::{escaped, shortened};
use crate::simulate::figure::Spread;
use crate::simulate::sets::Set;
use indexmap::IndexSet;

/// The metrics of the picture: what schemes trade for each other.
const TRADED: [&str; 4] = ["queue.max_bytes", "fct.all.p99_ns", "goodput.all.bps", "pfc.total.pauses_sent"];
/// The height of a title in the picture.
const TITLE: f64 = 34.0;

/// The maximum number of plots.
const PLOTS_MAX: usize = 12;
/// The maximum number of bars in a plot.
const BARS_MAX: usize = 24;

const WIDTH: f64 = 560.0;
/// Where bars begin and end; names are to their left, figures to their right.
const BARS: (f64, f64) = (170.0, 470.0);
/// The distance between the tops of two bars.
const PITCH: f64 = 24.0;
/// The maximum length of a name, in characters.
const NAME: usize = 25;

/// The section; empty if there is only one set.
pub fn section(sets: &[Set<'_>]) -> String {
    if sets.len() < 2 {
        return String::new();
    }
    let names = compared(sets);
    let plot = |name: &String| {
        let (height, elements) = bars(sets, name)?;
        Some(figure(&titled(name), "", (WIDTH, height), &elements))
    };
    let figures: String = names.iter().filter_map(plot).take(PLOTS_MAX).collect();
    if figures.is_empty() {
        return String::new();
    }
    let note = html::note(
        "Bars are medians over the seeds; lines through their ends reach from the minimum to the maximum.",
    );
    html::section("Schemes compared", &(note + &html::grid(&figures)))
}

/// The metrics that schemes trade for each other, as a picture; `None` if no two sets have one.
pub fn picture(sets: &[Set<'_>]) -> Option<String> {
    let (mut drawing, mut bottom) = (Drawing::default(), [0.0; 2]);
    let plots = TRADED.iter().filter_map(|name| Some((titled(name), bars(sets, name)?)));
    for (place, (title, (height, elements))) in plots.enumerate() {
        let (column, top) = (place % 2, bottom[place % 2]);
        drawing.put(format_args!("<g transform=\"translate({} {top})\">", WIDTH * column as f64));
        drawing.put(format_args!(
            "<text class=\"heading\" x=\"{}\" y=\"24\">{}</text>",
            BARS.0,
            escaped(&title)
        ));
        drawing.put(format_args!("<g transform=\"translate(0 {TITLE})\">\n{elements}</g></g>"));
        bottom[column] = top + TITLE + height;
    }
    let height = bottom[0].max(bottom[1]);
    (height > 0.0).then(|| drawing::picture(2.0 * WIDTH, height, drawing.elements()))
}

/// The metrics to compare: mean and tail of each group of flows, and totals of the network.
fn compared(sets: &[Set<'_>]) -> Vec<String> {
    let names = sets.iter().flat_map(|set| &set.runs).flat_map(|run| run.metrics.keys());
    let group = |name: &'_ String| Some(name.strip_prefix("fct.")?.strip_suffix(".mean_ns")?.to_owned());
    let mut groups: IndexSet<String> = names.filter_map(group).collect();
    // A single group is the same as all flows.
    if groups.len() == 2 {
        groups.retain(|group| group == "all");
    }
    groups.sort_by_key(|group| group != "all");
    let of_group = |group: &String| ["mean_ns", "p99_ns"].map(|figure| format!("fct.{group}.{figure}"));
    let of_network =
        ["queue.max_bytes", "goodput.all.bps", "pfc.total.paused_ns", "pfc.total.pauses_sent", "cnps.total"];
    groups.iter().flat_map(of_group).chain(of_network.map(str::to_owned)).collect()
}

/// The height and the elements of the bars of one metric; `None` if fewer than two sets have it, or it is zero.
fn bars(sets: &[Set<'_>], name: &str) -> Option<(f64, String)> {
    let spreads = sets.iter().enumerate().filter_map(|(place, set)| Some((place, set, set.metric(name)?)));
    let spreads: Vec<_> = spreads.take(BARS_MAX).collect();
    let most = spreads.iter().map(|(.., spread)| spread.max).fold(0.0, f64::max);
    if spreads.len() < 2 || most <= 0.0 {
        return None;
    }
    let quantity = Quantity::of_metric(name);
    let axis = Axis::exact(quantity, most);
    let bars = spreads.iter().enumerate();
    let elements: String = bars
        .map(|(row, (place, set, spread))| bar(&axis, quantity, row, *place, &set.label, *spread))
        .collect();
    Some((PITCH * spreads.len() as f64 + 8.0, elements))
}

fn bar(axis: &Axis, quantity: Quantity, row: usize, place: usize, label: &str, spread: Spread) -> String {
    let x = |value| BARS.0 + axis.place(value) * (BARS.1 - BARS.0);
    let top = PITCH * row as f64 + 6.0;
    let (middle, base) = (top + 8.0, top + 12.0);
    let (left, width, colour) = (BARS.0, x(spread.median) - BARS.0, place % COLOURS);
    let (least, most) = (x(spread.min), x(spread.max));
    let (name_end, figure_start) = (BARS.0 - 8.0, most + 7.0);
    let (name, median) = (escaped(&shortened(label, NAME)), quantity.shown(spread.median));
    let whisker = format!("<path class=\"w\" d=\"M{least:.1} {middle}H{most:.1}\"/>");
    let whisker = if most > least { whisker } else { String::new() };
    format!(
        "<text class=\"name\" x=\"{name_end}\" y=\"{base}\" text-anchor=\"end\">{name}</text>\
         <rect class=\"s c{colour}\" x=\"{left}\" y=\"{top}\" width=\"{width:.1}\" height=\"16\"/>{whisker}\
         <text x=\"{figure_start:.1}\" y=\"{base}\">{median}</text>\n"
    )
}

/// The title of a metric, in words.
pub fn titled(name: &str) -> String {
    let parts: Vec<_> = name.split('.').collect();
    match parts.as_slice() {
        ["fct", group, figure] => format!("{} completion time, {}", figure_of(figure), group_of(group)),
        ["slowdown", group, figure] => format!("{} slowdown, {}", figure_of(figure), group_of(group)),
        ["goodput", group, "bps"] => format!("Goodput, {}", group_of(group)),
        ["pfc", "total", "paused_ns"] => "Requested pause time, all ports".to_owned(),
        ["pfc", "total", "pauses_sent"] => "Pauses sent, all ports".to_owned(),
        ["queue", "max_bytes"] => "Longest queue".to_owned(),
        ["cnps", "total"] => "Congestion notifications".to_owned(),
        _ => name.to_owned(),
    }
}

fn figure_of(figure: &str) -> String {
    match figure.trim_end_matches("_ns") {
        "mean" => "Mean".to_owned(),
        "p50" => "Median".to_owned(),
        "max" => "Longest".to_owned(),
        other => match other.strip_prefix('p') {
            Some(percent) => format!("{percent}th percentile of"),
            None => other.to_owned(),
        },
    }
}

/// The name of a group of flows, for titles.
pub fn group_of(group: &str) -> String {
    if group == "all" { "all flows".to_owned() } else { format!("group {group}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_have_titles_in_words() {
        assert_eq!(titled("fct.all.p99_ns"), "99th percentile of completion time, all flows");
        assert_eq!(titled("fct.inter.mean_ns"), "Mean completion time, group inter");
        assert_eq!(titled("queue.east.1.max_bytes"), "queue.east.1.max_bytes");
    }
}
