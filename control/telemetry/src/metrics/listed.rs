//! Metrics of the figures in [`switch::figure::LISTS`].

use super::metric::Metric;
use super::readers::each_port_with;
use super::samples::Value;
use crate::snapshot::WirePortReport;
use prometheus_client::metrics::MetricType as Kind;
use switch::figure::{self, FigureList, Samples, Unit};

/// The value of the label, the path of a figure, and the paths of the figures that are subtracted from it.
type Term = (&'static str, String, &'static [&'static str]);

/// The metrics of `list`.
pub fn metrics(list: &'static FigureList) -> impl Iterator<Item = Metric> {
    let placed = list.metrics.iter().map(move |it| match it.samples {
        Samples::One(path) => one(list, it.name, path.into()),
        Samples::By { label, about, samples } => {
            let parts = samples.iter().map(|(value, of, less)| (*value, (*of).into(), *less)).collect();
            metric(list, it.name, Some((label, about)), parts)
        }
    });
    let shown = list.figures().filter_map(|(path, figure)| Some((figure.shown?, path)));
    placed.chain(shown.map(move |(it, path)| one(list, it.metric, path)))
}

fn one(list: &'static FigureList, name: &'static str, path: String) -> Metric {
    metric(list, name, None, vec![("", path, &[])])
}

fn metric(
    list: &'static FigureList,
    name: &'static str,
    label: Option<(&'static str, &'static str)>,
    parts: Vec<Term>,
) -> Metric {
    let figure = list.figure(&parts[0].1).expect("a list names its own figures, as its test says");
    let help = label.map_or(figure.about, |(_, about)| about);
    let (kind, unit) = match figure.kind {
        figure::Kind::Delay => (Kind::Histogram, Unit::Nanos),
        figure::Kind::Counter => (Kind::Counter, figure.unit()),
        figure::Kind::Gauge => (Kind::Gauge, figure.unit()),
    };
    let read = each_port_with(move |port| {
        let labels = |part: &Term| label.map(|(label, _)| (label, part.0.into())).into_iter().collect();
        parts.iter().filter_map(|part| Some((labels(part), value(port, list, part)?))).collect()
    });
    Metric { kind, name, unit, help, read }
}

fn value<'a>(port: &'a WirePortReport, list: &FigureList, (_, of, less): &Term) -> Option<Value<'a>> {
    let figures = port.listed(list)?;
    if let Some(delay) = figures.delay(of) {
        return Some(Value::Delay(delay));
    }
    let less = less.iter().filter_map(|path| figures.number(path));
    Some(Value::Number(less.fold(figures.number(of)?, u64::saturating_sub)))
}
