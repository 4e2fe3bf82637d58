//! Flow completion: slowdown by size, and the distribution of completion times.

use super::bars::group_of;
use super::drawn::{Drawn, Flow};
use super::html;
use crate::chart::axis::{Axis, Quantity, rounded_up};
use crate::chart::plot::Plot;
use crate::simulate::distribution::place_of;
use indexmap::IndexSet;

/// The maximum number of groups with plots of their own.
const GROUPS_MAX: usize = 4;
/// With fewer flows, a 99th percentile is little more than the maximum.
const FEW: usize = 100;
/// The maximum number of points of a distribution: one for every other pixel.
const POINTS_MAX: usize = 240;

/// Flows of similar size.
#[derive(Debug, PartialEq)]
struct Bucket {
    /// The middle of its bounds, in bytes.
    bytes: f64,
    flows: usize,
    p50: f64,
    p99: f64,
}

/// The section; empty if no flow ended.
pub fn section(drawn: &[Drawn<'_>]) -> String {
    let groups: IndexSet<&str> =
        drawn.iter().flat_map(|drawn| &drawn.flows).map(|flow| &*flow.group).collect();
    if groups.is_empty() {
        return String::new();
    }
    // A single group is the same as all flows.
    let each = groups.iter().take(if groups.len() > 1 { GROUPS_MAX } else { 0 }).map(|group| Some(*group));
    let mut figures = String::new();
    for group in core::iter::once(None).chain(each) {
        let name = group_of(group.unwrap_or("all"));
        figures += &by_size(drawn, &name, group).unwrap_or_default();
        figures += &distribution(drawn, &name, group).unwrap_or_default();
    }
    let mut content = html::legend(drawn.iter().map(|drawn| drawn.set.label.as_str()));
    content += &html::note(
        "Slowdown is the completion time of a flow, divided by that of the same flow alone on idle links. Solid lines \
         are medians, dashed lines 99th percentiles; hollow dots stand for fewer than 100 flows. A distribution shows the \
         share of flows that complete within a given time. Flows of all seeds are counted together.",
    );
    if groups.len() > GROUPS_MAX {
        content += &html::note(&format!("The first {GROUPS_MAX} of {} groups are drawn.", groups.len()));
    }
    for (hidden, above) in hidden(drawn) {
        content += &html::note(&format!(
            "All flows of {hidden} took the same time with {above}, whose curves cover its own."
        ));
    }
    html::section("Flow completion", &(content + &html::grid(&figures)))
}

/// The labels of each setting whose curves cannot be seen, and of the one that is drawn above them last.
fn hidden<'a>(drawn: &'a [Drawn<'_>]) -> impl Iterator<Item = (&'a str, &'a str)> {
    drawn.iter().enumerate().filter_map(|(place, below)| {
        let above = drawn[place + 1..].iter().rfind(|above| above.flows == below.flows)?;
        Some((below.set.label.as_str(), above.set.label.as_str()))
    })
}

/// The flows of `group`, or all of them.
fn of_group<'a>(drawn: &'a Drawn<'_>, group: Option<&'a str>) -> impl Iterator<Item = &'a Flow> {
    drawn.flows.iter().filter(move |flow| group.is_none_or(|group| *flow.group == *group))
}

/// Slowdown by size; `None` if all flows have about the same size.
fn by_size(drawn: &[Drawn<'_>], name: &str, group: Option<&str>) -> Option<String> {
    let curves: Vec<_> = drawn.iter().map(|drawn| buckets(of_group(drawn, group))).collect();
    let all = || curves.iter().flatten();
    let least = all().map(|bucket| bucket.bytes).fold(f64::INFINITY, f64::min);
    let most = all().map(|bucket| bucket.bytes).fold(0.0, f64::max);
    if most <= least {
        return None;
    }
    let worst = all().map(|bucket| bucket.p99).fold(1.0, f64::max);
    let best = all().map(|bucket| bucket.p50).fold(1.0, f64::min);
    let x = Axis::logarithmic(Quantity::Bytes, least, most);
    let y = Axis::logarithmic(Quantity::Ratio, best, worst);
    let mut plot = Plot::new(&format!("Slowdown by flow size, {name}"), "flow size", x, y);
    for (colour, buckets) in curves.iter().enumerate() {
        for dashed in [false, true] {
            let slowdown = |bucket: &Bucket| if dashed { bucket.p99 } else { bucket.p50 };
            let points: Vec<_> = buckets.iter().map(|bucket| (bucket.bytes, slowdown(bucket))).collect();
            plot.line(colour, dashed, &points);
            for (bucket, point) in buckets.iter().zip(points) {
                plot.dot(colour, bucket.flows < FEW, point);
            }
        }
    }
    Some(plot.figure(""))
}

/// Flows by size, three buckets per decade: up to 1, 2 and 5 times a power of ten.
fn buckets<'a>(flows: impl Iterator<Item = &'a Flow>) -> Vec<Bucket> {
    let mut flows: Vec<_> = flows.filter_map(|flow| Some((bound(flow.bytes), flow.slowdown?))).collect();
    flows.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let chunks = flows.chunk_by(|a, b| a.0 == b.0);
    let bucket = |chunk: &[(u64, f64)]| {
        let percentile = |percent| chunk[place_of(percent, chunk.len())].1;
        let (upper, lower) = (chunk[0].0 as f64, lower(chunk[0].0) as f64);
        Bucket { bytes: (upper * lower).sqrt(), flows: chunk.len(), p50: percentile(50), p99: percentile(99) }
    };
    chunks.map(bucket).collect()
}

/// The smallest of 1, 2, 5, 10, ... that is not below `bytes`.
fn bound(bytes: u64) -> u64 {
    rounded_up(bytes.max(1) as f64) as u64
}

/// The next lower bound.
fn lower(bound: u64) -> u64 {
    let power = 10_u64.pow(bound.checked_ilog10().unwrap_or(0));
    (if bound / power == 5 { 2 * power } else { bound / 2 }).max(1)
}

/// The distribution of completion times.
fn distribution(drawn: &[Drawn<'_>], name: &str, group: Option<&str>) -> Option<String> {
    let times = drawn.iter().map(|drawn| {
        let mut times: Vec<_> = of_group(drawn, group).map(|flow| flow.fct_ns).collect();
        times.sort_unstable();
        times
    });
    let times: Vec<_> = times.collect();
    let least = times.iter().filter_map(|times| times.first()).min()?;
    let most = times.iter().filter_map(|times| times.last()).max()?;
    let x = Axis::logarithmic(Quantity::Time, *least as f64, *most as f64);
    let y = Axis::linear(Quantity::Ratio, 1.0);
    let title = format!("Distribution of completion times, {name}");
    let mut plot = Plot::new(&title, "flow completion time", x, y);
    for (colour, times) in times.iter().enumerate().filter(|(_, times)| !times.is_empty()) {
        plot.line(colour, false, &points(times));
    }
    Some(plot.figure(""))
}

/// The distribution of `sorted` values, reduced to a number of points that can be drawn.
fn points(sorted: &[u64]) -> Vec<(f64, f64)> {
    let count = sorted.len();
    let points = count.min(POINTS_MAX);
    let point = |place: usize| {
        let rank = place * count / points;
        (sorted[rank - 1] as f64, rank as f64 / count as f64)
    };
    let first = sorted.first().map(|first| (*first as f64, 0.0));
    first.into_iter().chain((1..=points).map(point)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(bytes: u64, slowdown: f64) -> Flow {
        Flow { group: "a".into(), bytes, fct_ns: 1, slowdown: Some(slowdown), counted: 1 }
    }

    #[test]
    fn flows_are_taken_together_by_size() {
        assert_eq!([1, 2, 3, 5, 999, 1_000, 1_001].map(bound), [1, 2, 5, 5, 1_000, 1_000, 2_000]);
        assert_eq!([1, 2, 5, 10, 20, 50, 1_000].map(lower), [1, 1, 2, 5, 10, 20, 500]);
        let flows = [flow(1_500, 3.0), flow(2_000, 1.0), flow(90, 7.0), flow(1_001, 2.0)];
        let buckets = buckets(flows.iter());
        assert_eq!(buckets.len(), 2);
        assert_eq!(buckets[0], Bucket { bytes: 5_000_f64.sqrt(), flows: 1, p50: 7.0, p99: 7.0 });
        assert_eq!((buckets[1].flows, buckets[1].p50, buckets[1].p99), (3, 2.0, 3.0));
    }

    #[test]
    fn a_distribution_rises_from_zero_to_one_with_few_points() {
        assert_eq!(points(&[5, 9]), [(5.0, 0.0), (5.0, 0.5), (9.0, 1.0)]);
        let many = points(&(0..100_000).collect::<Vec<_>>());
        assert_eq!(many.len(), POINTS_MAX + 1);
        assert_eq!(many.last(), Some(&(99_999.0, 1.0)));
        assert!(points(&[]).is_empty());
    }
}
