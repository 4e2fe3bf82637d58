//! What a swept parameter does to the figures: each against its value, one line per scheme.

use super::bars::titled;
use super::drawn::CURVES_MAX;
use super::html;
use super::sets::{self, Set, Spread};
use super::svg::Plot;
use crate::chart::axis::{Axis, Quantity};
use serde_json::Value;

/// The metrics that are drawn.
const METRICS: [&str; 4] = ["fct.all.mean_ns", "fct.all.p99_ns", "goodput.all.bps", "pfc.total.paused_ns"];

/// The section; nothing where nothing is swept.
pub fn section(sets: &[Set<'_>]) -> String {
    let swept = sets::swept(sets);
    swept.iter().map(|key| against(sets, key, &swept)).collect()
}

/// Sets that differ in the swept parameter only: a curve.
struct Curve<'a> {
    label: String,
    /// Places of values, and the sets that have them.
    sets: Vec<(usize, &'a Set<'a>)>,
}

/// The figures against the values of `key`.
fn against(sets: &[Set<'_>], key: &str, swept: &[&str]) -> String {
    let mut values: Vec<&Value> = Vec::new();
    for value in sets.iter().filter_map(|set| set.parameters.get(key)) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    let curves = curves(sets, key, swept, &values);
    let shown = &curves[..curves.len().min(CURVES_MAX)];
    let figures: String = METRICS.iter().filter_map(|metric| figure(shown, key, &values, metric)).collect();
    if figures.is_empty() {
        return String::new();
    }
    let legend = html::legend(shown.iter().map(|curve| curve.label.as_str()));
    let note = html::note(
        "Dots are medians over the seeds; lines through them reach from the minimum to the maximum.",
    );
    html::section(&format!("Sweep of {key}"), &(legend + &note + &html::grid(&figures)))
}

fn curves<'a>(sets: &'a [Set<'a>], key: &str, swept: &[&str], values: &[&Value]) -> Vec<Curve<'a>> {
    let mut curves: Vec<Curve<'a>> = Vec::new();
    for set in sets {
        let Some(value) = set.parameters.get(key) else { continue };
        let Some(place) = values.iter().position(|other| *other == value) else { continue };
        let others = swept.iter().filter(|other| **other != key);
        let others = others.filter_map(|other| Some((other, set.parameters.get(*other)?)));
        let label = others.fold(set.variant.to_owned(), |label, (other, value)| {
            format!("{label} {other}={}", sets::said(value))
        });
        match curves.iter_mut().find(|curve| curve.label == label) {
            Some(curve) => curve.sets.push((place, set)),
            None => curves.push(Curve { label, sets: vec![(place, set)] }),
        }
    }
    for curve in &mut curves {
        curve.sets.sort_by_key(|(place, _)| *place);
    }
    curves
}

/// One metric against the values, which stand in their order at equal distances: they may be of any kind.
fn figure(curves: &[Curve<'_>], key: &str, values: &[&Value], metric: &str) -> Option<String> {
    let points = |curve: &Curve<'_>| -> Vec<(f64, Spread)> {
        let points = curve.sets.iter().filter_map(|(place, set)| Some((*place as f64, set.metric(metric)?)));
        points.collect()
    };
    let curves: Vec<_> = curves.iter().map(points).collect();
    let most = curves.iter().flatten().map(|(_, spread)| spread.max).fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let y = Axis::linear(Quantity::of(metric), most);
    let x = Axis::named(values.iter().map(|value| sets::said(value)));
    let mut plot = Plot::new(&titled(metric), key, x, y);
    for (colour, points) in curves.iter().enumerate() {
        let medians: Vec<_> = points.iter().map(|(place, spread)| (*place, spread.median)).collect();
        plot.line(colour, false, &medians);
        for (place, spread) in points {
            plot.spread(colour, *place, spread.min, spread.max);
            plot.dot(colour, false, (*place, spread.median));
        }
    }
    Some(plot.figure())
}
