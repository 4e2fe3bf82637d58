//! Metrics of the figures that [`switch::figure::LISTS`] lists.

use super::kind::{Kind, Measure};
use super::metric::{Metric, Reader};
use super::samples::Value;
use crate::snapshot::WirePortReport;
use switch::figure::{self, FigureList, Samples, Unit};

/// A value of the label, the path of a figure, and those of the figures that are taken off.
type Sample = (&'static str, String, &'static [&'static str]);

/// Those of `list`.
pub fn metrics(list: &'static FigureList) -> impl Iterator<Item = Metric<Reader>> {
    let placed = list.metrics.iter().map(move |it| match it.samples {
        Samples::One(path) => one(list, it.name, it.help, path.into()),
        Samples::By(label, samples) => {
            let samples = samples.iter().map(|(value, of, less)| (*value, (*of).into(), *less)).collect();
            metric(list, it.name, it.help, Some(label), samples)
        }
    });
    let shown = list.figures().filter_map(|(path, figure)| Some((figure.shown?, path)));
    placed.chain(shown.map(move |(it, path)| one(list, it.metric, it.help, path)))
}

fn one(list: &'static FigureList, name: &'static str, help: &'static str, path: String) -> Metric<Reader> {
    metric(list, name, help, None, vec![("", path, &[])])
}

fn metric(
    list: &'static FigureList,
    name: &'static str,
    help: &'static str,
    label: Option<&'static str>,
    samples: Vec<Sample>,
) -> Metric<Reader> {
    let figure = list.figure(&samples[0].1).expect("a list names its own figures, as its test says");
    let (kind, measure) = match (figure.kind, figure.unit()) {
        (figure::Kind::Delay, _) => (Kind::Histogram, Measure::Seconds),
        (figure::Kind::Counter, unit) => (Kind::Counter, measure(unit)),
        (figure::Kind::Gauge, unit) => (Kind::Gauge, measure(unit)),
    };
    let read: Reader = Box::new(move |snapshot, out| {
        for port in &snapshot.ports {
            for sample in &samples {
                let Some(value) = value(port, list, sample) else { continue };
                match label {
                    None => out.add([("port", &port.port.name)], value),
                    Some(label) => out.add([("port", &port.port.name), (label, sample.0)], value),
                }
            }
        }
    });
    Metric { kind, name, measure, help, read }
}

fn measure(unit: Unit) -> Measure {
    match unit {
        Unit::Number => Measure::Number,
        Unit::Nanos => Measure::Seconds,
        Unit::Bytes => Measure::Bytes,
        Unit::BitsPerSecond => Measure::BytesPerSecond,
    }
}

fn value<'a>(port: &'a WirePortReport, list: &FigureList, (_, of, less): &Sample) -> Option<Value<'a>> {
    let figures = port.listed(list)?;
    if let Some(delay) = figures.delay(of) {
        return Some(Value::Delay(delay));
    }
    let less = less.iter().filter_map(|path| figures.number(path));
    let number = less.fold(figures.number(of)?, u64::saturating_sub);
    Some(match Unit::of(of) {
        Unit::Number | Unit::Bytes => Value::Whole(number),
        Unit::Nanos => Value::Nanos(number),
        Unit::BitsPerSecond => Value::BitsPerSecond(number),
    })
}
