//! What happened over time in the runs of the first seed: queues, rates and buffers, one line per scheme, and
//! the rates of flows, one line per flow.

use super::drawn::Drawn;
use super::html;
use super::svg::Plot;
use super::timeline::{Column, Timeline};
use crate::chart::axis::{Axis, Quantity};
use crate::chart::trace::corners;
use core::cmp::Reverse;

/// Places of which one kind of figure is drawn at most: those where it comes to the most.
const PLACES_MAX: usize = 4;
/// Flows of which the rates are drawn at most.
const FLOWS_MAX: usize = 8;
/// Schemes of which flows are drawn at most.
const SCHEMES_MAX: usize = 6;

/// A kind of figure: the column, what it is called, and whether it is a rate over the interval of the series,
/// of which a pixel shows the mean; of the others it shows all from the least to the most.
struct Kind {
    column: &'static str,
    title: &'static str,
    mean: bool,
}

const KINDS: [Kind; 10] = [
    kind("egress_bytes", "Egress queue", false),
    kind("ingress_lossless_wire_bytes", "Buffered lossless bytes by ingress port", false),
    kind("sent_bps", "Rate", true),
    kind("buffer_bytes", "Buffer", false),
    kind("lscc_pseudo_queue_wire_bytes", "LSCC pseudo-queue", false),
    kind("lscc_advertised_rate_bits_per_second", "LSCC advertised rate", false),
    kind("lscc_received_rate_bits_per_second", "LSCC received rate", false),
    kind("lscc_direct_cnps_total", "LSCC direct CNPs", false),
    kind("bifrost_virtual_incoming_wire_bytes", "Bifrost virtual incoming bytes", false),
    kind("bifrost_granted_wire_bytes", "Bifrost grant per slot", false),
];

const fn kind(column: &'static str, title: &'static str, mean: bool) -> Kind {
    Kind { column, title, mean }
}

/// What is drawn of flows.
const FLOWS: [Kind; 2] =
    [kind("rate_bps", "Permitted rate of flows", false), kind("sent_bps", "Sending rate of flows", true)];

/// The section; nothing where no series was taken.
pub fn section(drawn: &[Drawn<'_>]) -> String {
    let figures: String = KINDS.iter().map(|kind| of_kind(drawn, kind)).collect();
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

/// The figures of one kind.
fn of_kind(drawn: &[Drawn<'_>], kind: &Kind) -> String {
    let span = span_ns(drawn);
    let figure = |(place, most): (&str, u64)| {
        let mut plot = plot(&format!("{}, {place}", kind.title), kind, span, most);
        for (colour, timeline) in drawn.iter().enumerate().filter_map(with_timeline) {
            if let Some(column) = timeline.column(place, kind.column) {
                plot.steps(colour, &steps(timeline, column, kind.mean, span));
            }
        }
        plot.figure()
    };
    places(drawn, kind).into_iter().map(figure).collect()
}

/// The places where a kind of figure comes to the most, and to how much.
fn places<'a>(drawn: &'a [Drawn<'_>], kind: &Kind) -> Vec<(&'a str, u64)> {
    let mut places: Vec<(&str, u64)> = Vec::new();
    let columns =
        drawn.iter().filter_map(|drawn| drawn.timeline.as_ref()).flat_map(|timeline| &timeline.columns);
    for column in columns.filter(|column| column.name == kind.column && !column.is_of_flow()) {
        let most = column.most();
        match places.iter_mut().find(|(place, _)| *place == column.place) {
            Some((_, known)) => *known = (*known).max(most),
            None => places.push((&column.place, most)),
        }
    }
    places.retain(|(_, most)| *most > 0);
    // Of equal ones the first.
    places.sort_by_key(|(_, most)| Reverse(*most));
    places.truncate(PLACES_MAX);
    places
}

/// The section of flows; nothing where no flow was sampled.
pub fn flows(drawn: &[Drawn<'_>]) -> String {
    let figures: String = drawn
        .iter()
        .take(SCHEMES_MAX)
        .flat_map(|drawn| FLOWS.iter().map(|kind| of_flows(drawn, kind)))
        .collect();
    if figures.is_empty() {
        return String::new();
    }
    let note = format!(
        "Run with the first seed, at most {FLOWS_MAX} flows and {SCHEMES_MAX} schemes. Rates are means over a pixel."
    );
    html::section("Flows over time", &(html::note(&note) + &html::grid(&figures)))
}

/// The flows of one scheme.
fn of_flows(drawn: &Drawn<'_>, kind: &Kind) -> String {
    let Some(timeline) = &drawn.timeline else { return String::new() };
    let flows = timeline.columns.iter().filter(|column| column.name == kind.column && column.is_of_flow());
    let flows: Vec<_> = flows.filter(|column| column.most() > 0).take(FLOWS_MAX).collect();
    let Some(most) = flows.iter().map(|column| column.most()).max() else { return String::new() };
    let span = timeline.end_ns();
    let mut plot = plot(&format!("{}, {}", kind.title, drawn.set.label), kind, span, most);
    for (colour, column) in flows.iter().enumerate() {
        plot.steps(colour, &steps(timeline, column, kind.mean, span));
    }
    plot.figure_with(&html::legend(flows.iter().map(|column| column.place.as_str())))
}

fn plot(title: &str, kind: &Kind, span_ns: u64, most: u64) -> Plot {
    let x = Axis::exact(Quantity::Time, span_ns as f64);
    Plot::new(title, "time", x, Axis::linear(Quantity::of(kind.column), most as f64))
}

fn with_timeline<'a>((place, drawn): (usize, &'a Drawn<'_>)) -> Option<(usize, &'a Timeline)> {
    Some((place, drawn.timeline.as_ref()?))
}

/// When the last of the runs ends.
pub fn span_ns(drawn: &[Drawn<'_>]) -> u64 {
    drawn.iter().filter_map(|drawn| drawn.timeline.as_ref()).map(Timeline::end_ns).max().unwrap_or(0).max(1)
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

/// The mean of `values`, each of which holds until the next one, in each of `bins` equal parts of the time up
/// to `span_ns`. Parts outside of the values are left out.
fn means(values: &[(u64, u64)], span_ns: u64, bins: usize) -> Vec<(usize, u64)> {
    // In parts of a nanosecond, so that parts of the time end at whole ones.
    let scale = bins as u128;
    let bin_length = u128::from(span_ns);
    let mut sums = vec![(0_u128, 0_u128); bins];
    for pair in values.windows(2) {
        let ((from, value), (to, _)) = (pair[0], pair[1]);
        let (mut at, end) = (u128::from(from) * scale, u128::from(to.min(span_ns)) * scale);
        while at < end {
            let bin = (at / bin_length) as usize;
            let until = end.min((bin as u128 + 1) * bin_length);
            // Less than 2^64 bits per second times 2^64 ns in a thousand parts is more than fits; what is
            // beyond is no rate of any link.
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
    fn a_rate_is_averaged_over_the_time_that_it_holds() {
        let values = [(0, 8), (25, 0), (50, 100), (100, 7)];
        assert_eq!(means(&values, 100, 2), [(0, 4), (1, 100)]);
        assert_eq!(means(&values, 200, 2), [(0, 52)], "nothing is known of the second half");
        assert_eq!(means(&values, 100, 4), [(0, 8), (1, 0), (2, 100), (3, 100)]);
        assert!(means(&[], 100, 4).is_empty());
    }
}
