//! Swept parameters: each metric against the values of a parameter, one line per scheme.

use super::bars::titled;
use super::drawn::CURVES_MAX;
use super::html;
use crate::chart::axis::{Axis, Quantity};
use crate::chart::plot::Plot;
use crate::simulate::figure::Spread;
use crate::simulate::sets::{self, Set};
use indexmap::{IndexMap, IndexSet};

/// The metrics that are drawn.
const METRICS: [&str; 4] = ["fct.all.mean_ns", "fct.all.p99_ns", "goodput.all.bps", "pfc.total.paused_ns"];

/// The sections, one for each swept parameter.
pub fn section(sets: &[Set<'_>]) -> String {
    let swept = sets::swept(sets);
    swept.iter().map(|key| against(sets, key, &swept)).collect()
}

/// The plots against the values of `key`.
fn against(sets: &[Set<'_>], key: &str, swept: &[&str]) -> String {
    let values: IndexSet<&str> =
        sets.iter().filter_map(|set| Some(set.parameters.get(key)?.as_str())).collect();
    // Sets that differ only in this parameter share a curve: the indices of their values, and the sets.
    let mut curves: IndexMap<String, Vec<(usize, &Set<'_>)>> = IndexMap::new();
    for set in sets {
        let Some(place) = set.parameters.get(key).and_then(|value| values.get_index_of(value.as_str()))
        else {
            continue;
        };
        let label = set.label(swept.iter().copied().filter(|other| *other != key));
        curves.entry(label).or_default().push((place, set));
    }
    curves.truncate(CURVES_MAX);
    curves.values_mut().for_each(|sets| sets.sort_by_key(|(place, _)| *place));
    let figures: String = METRICS.iter().filter_map(|metric| figure(&curves, key, &values, metric)).collect();
    if figures.is_empty() {
        return String::new();
    }
    let legend = html::legend(curves.keys().map(String::as_str));
    let note = html::note(
        "Dots are medians over the seeds; lines through them reach from the minimum to the maximum.",
    );
    html::section(&format!("Sweep of {key}"), &(legend + &note + &html::grid(&figures)))
}

/// One metric against the values, which are spaced equally in their order, because they may be of any kind.
fn figure(
    curves: &IndexMap<String, Vec<(usize, &Set<'_>)>>,
    key: &str,
    values: &IndexSet<&str>,
    metric: &str,
) -> Option<String> {
    let points = |sets: &Vec<(usize, &Set<'_>)>| -> Vec<(f64, Spread)> {
        sets.iter().filter_map(|(place, set)| Some((*place as f64, set.metric(metric)?))).collect()
    };
    let curves: Vec<_> = curves.values().map(points).collect();
    let most = curves.iter().flatten().map(|(_, spread)| spread.max).fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let y = Axis::linear(Quantity::of_metric(metric), most);
    let x = Axis::named(values.iter().copied());
    let mut plot = Plot::new(&titled(metric), key, x, y);
    for (colour, points) in curves.iter().enumerate() {
        let medians: Vec<_> = points.iter().map(|(place, spread)| (*place, spread.median)).collect();
        plot.line(colour, false, &medians);
        for (place, spread) in points {
            plot.line(colour, false, &[(*place, spread.min), (*place, spread.max)]);
            plot.dot(colour, false, (*place, spread.median));
        }
    }
    Some(plot.figure(""))
}
