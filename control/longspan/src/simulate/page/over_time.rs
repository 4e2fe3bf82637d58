//! Time series of the runs with the first seed: queues, rates and buffers, one line per scheme, and the rates of
//! flows, one line per flow.

use super::drawn::Drawn;
use super::html;
use super::timeline::{Column, Timeline};
use crate::chart::axis::{Axis, Quantity};
use crate::chart::plot::Plot;
use crate::chart::trace::corners;
use core::cmp::Reverse;
use indexmap::IndexMap;
use switch::figure::LISTS;

/// The maximum number of places per kind of figure: those with the highest values.
const PLACES_MAX: usize = 4;
/// The maximum number of flows in a plot.
const FLOWS_MAX: usize = 8;
/// The maximum number of schemes with plots of flows.
const SCHEMES_MAX: usize = 6;

/// A kind of figure.
struct Kind {
    column: &'static str,
    title: &'static str,
    quantity: Quantity,
    /// Whether it is a rate over the interval of the series. A pixel shows the mean of rates, and all values of other
    /// figures.
    mean: bool,
}

/// Columns of every port and node.
const COMMON: [Kind; 4] = [
    kind("egress_bytes", "Egress queue", Quantity::Bytes, false),
    kind("ingress_lossless_wire_bytes", "Buffered lossless bytes by ingress port", Quantity::Bytes, false),
    kind("sent_bps", "Rate", Quantity::Rate, true),
    kind("buffer_bytes", "Buffer", Quantity::Bytes, false),
];

/// Columns of flows.
const FLOWS: [Kind; 2] = [
    kind("rate_bps", "Permitted rate of flows", Quantity::Rate, false),
    kind("sent_bps", "Sending rate of flows", Quantity::Rate, true),
];

const fn kind(column: &'static str, title: &'static str, quantity: Quantity, mean: bool) -> Kind {
    Kind { column, title, quantity, mean }
}

/// The figures that are listed for the page, the last list first.
fn listed() -> impl Iterator<Item = Kind> {
    LISTS.into_iter().rev().flat_map(|list| {
        let plotted = list.figures().filter_map(|(_, figure)| Some((figure.sampled?, figure.plotted?)));
        let mut plotted: Vec<_> = plotted.collect();
        plotted.sort_by_key(|(sampled, _)| sampled.kind);
        let quantity = Quantity::of_series;
        plotted.into_iter().map(move |(it, title)| kind(it.name, title, quantity(it.kind), false))
    })
}

/// The section; empty if there is no series.
pub fn section(drawn: &[Drawn<'_>]) -> String {
    let figures: String = COMMON.into_iter().chain(listed()).map(|kind| of_kind(drawn, &kind)).collect();
    if figures.is_empty() {
        return String::new();
    }
    let mut content = html::legend(drawn.iter().map(|drawn| drawn.set.label.as_str()));
    content += &html::note(&format!(
        "Run with the first seed. Each kind of figure is drawn for the {PLACES_MAX} places with the highest values; \
         series.csv has all of them. Rates are means over a pixel; other lines cover all values within a pixel."
    ));
    html::section("Over time", &(content + &html::grid(&figures)))
}

/// The plots of one kind of figure.
fn of_kind(drawn: &[Drawn<'_>], kind: &Kind) -> String {
    let span = span_ns(drawn);
    let figure = |(place, most): (&str, u64)| {
        let mut plot = plot(&format!("{}, {place}", kind.title), kind, span, most);
        for (colour, drawn) in drawn.iter().enumerate() {
            let Some(timeline) = &drawn.timeline else { continue };
            if let Some(column) = timeline.column(place, kind.column) {
                plot.steps(colour, steps(timeline, column, kind.mean, span));
            }
        }
        plot.figure("")
    };
    places(drawn, kind).into_iter().map(figure).collect()
}

/// The places with the highest values of a kind of figure, and these values.
fn places<'a>(drawn: &'a [Drawn<'_>], kind: &Kind) -> Vec<(&'a str, u64)> {
    let mut places: IndexMap<&str, u64> = IndexMap::new();
    let columns = timelines(drawn).flat_map(|timeline| &timeline.columns);
    for column in columns.filter(|column| column.name == kind.column && !column.is_of_flow()) {
        let most = places.entry(column.place.as_str()).or_default();
        *most = column.most().max(*most);
    }
    places.retain(|_, most| *most > 0);
    // Stable: of equal ones, the first remains first.
    places.sort_by_key(|_, most| Reverse(*most));
    places.into_iter().take(PLACES_MAX).collect()
}

/// The section of flows; empty if no flow was sampled.
pub fn flows(drawn: &[Drawn<'_>]) -> String {
    let schemes = drawn.iter().take(SCHEMES_MAX);
    let figures: String =
        schemes.flat_map(|drawn| FLOWS.iter().filter_map(|kind| of_flows(drawn, kind))).collect();
    if figures.is_empty() {
        return String::new();
    }
    let note = format!(
        "Run with the first seed, at most {FLOWS_MAX} flows and {SCHEMES_MAX} schemes. Rates are means over a pixel."
    );
    html::section("Flows over time", &(html::note(&note) + &html::grid(&figures)))
}

/// The plot of the flows of one scheme.
fn of_flows(drawn: &Drawn<'_>, kind: &Kind) -> Option<String> {
    let timeline = drawn.timeline.as_ref()?;
    let flows = timeline.columns.iter().filter(|column| column.name == kind.column && column.is_of_flow());
    let flows: Vec<_> = flows.filter(|column| column.most() > 0).take(FLOWS_MAX).collect();
    let most = flows.iter().map(|column| column.most()).max()?;
    let span = timeline.end_ns();
    let mut plot = plot(&format!("{}, {}", kind.title, drawn.set.label), kind, span, most);
    for (colour, column) in flows.iter().enumerate() {
        plot.steps(colour, steps(timeline, column, kind.mean, span));
    }
    Some(plot.figure(&html::legend(flows.iter().map(|column| column.place.as_str()))))
}

fn plot(title: &str, kind: &Kind, span_ns: u64, most: u64) -> Plot {
    let x = Axis::exact(Quantity::Time, span_ns as f64);
    Plot::new(title, "time", x, Axis::linear(kind.quantity, most as f64))
}

/// The time series that there are.
pub fn timelines<'a>(drawn: &'a [Drawn<'_>]) -> impl Iterator<Item = &'a Timeline> {
    drawn.iter().filter_map(|drawn| drawn.timeline.as_ref())
}

/// The end of the longest run.
pub fn span_ns(drawn: &[Drawn<'_>]) -> u64 {
    timelines(drawn).map(Timeline::end_ns).max().unwrap_or(0).max(1)
}

/// The corners of a column's steps, in pixels of a plot and values.
fn steps(timeline: &Timeline, column: &Column, mean: bool, span_ns: u64) -> Vec<(i32, u64)> {
    let rows = timeline.times.iter().zip(&column.values);
    let values: Vec<_> = rows.filter_map(|(time, value)| Some((*time, (*value)?))).collect();
    let (left, right) = Plot::PIXELS;
    if mean {
        let bins = means(&values, span_ns, (right - left) as usize);
        return corners(bins.into_iter().map(|(bin, value)| (left + bin as i32, value)));
    }
    let width = (right - left) as u128;
    let x = |time: u64| left + (u128::from(time) * width / u128::from(span_ns)) as i32;
    corners(values.iter().map(|(time, value)| (x(*time), *value)))
}

/// The mean of `values`, each of which applies until the next one, in each of `bins` equal parts of the time up to
/// `span_ns`. Parts before the first value and after the last one are left out.
fn means(values: &[(u64, u64)], span_ns: u64, bins: usize) -> Vec<(usize, u64)> {
    // In fractions of a nanosecond, so that the parts end at whole ones.
    let scale = bins as u128;
    let bin_length = u128::from(span_ns);
    let mut sums = vec![(0_u128, 0_u128); bins];
    for pair in values.windows(2) {
        let ((from, value), (to, _)) = (pair[0], pair[1]);
        let (mut at, end) = (u128::from(from) * scale, u128::from(to.min(span_ns)) * scale);
        while at < end {
            let bin = (at / bin_length) as usize;
            let until = end.min((bin as u128 + 1) * bin_length);
            // 2^64 bits per second times 2^64 ns in a thousand parts does not fit, but no link is that fast.
            sums[bin].0 = sums[bin].0.saturating_add(u128::from(value).saturating_mul(until - at));
            sums[bin].1 += until - at;
            at = until;
        }
    }
    let held = sums.into_iter().enumerate().filter(|(_, (_, held))| *held > 0);
    held.map(|(bin, (sum, held))| (bin, (sum / held) as u64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_schemes_are_those_of_their_lists() {
        let titles: Vec<_> = listed().map(|kind| kind.title).collect();
        // Those of the last list come first.
        assert_eq!(
            titles[..4],
            ["Supplemental CNPs", "THEMIS CNPs", "THEMIS slowed frames", "Adaptive Kmin"]
        );
        assert_eq!(
            titles[4..8],
            ["LSCC pseudo-queue", "LSCC advertised rate", "LSCC received rate", "LSCC direct CNPs"]
        );
        assert_eq!(titles[8..], ["Bifrost virtual incoming bytes", "Bifrost grant per slot"]);
    }

    #[test]
    fn a_rate_is_averaged_over_the_time_that_it_holds() {
        let values = [(0, 8), (25, 0), (50, 100), (100, 7)];
        assert_eq!(means(&values, 100, 2), [(0, 4), (1, 100)]);
        assert_eq!(means(&values, 200, 2), [(0, 52)], "nothing is known of the second half");
        assert_eq!(means(&values, 100, 4), [(0, 8), (1, 0), (2, 100), (3, 100)]);
        assert!(means(&[], 100, 4).is_empty());
    }
}
