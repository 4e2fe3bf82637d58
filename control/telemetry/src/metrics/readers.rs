//! Readers of metrics: each returns the samples of one metric for the gateway, its workers, ports or priorities.

use super::metric::Reader;
use super::samples::{Sample, Value};
use crate::snapshot::{LevelsReport, Snapshot, WirePortReport, WorkerReport};
use report::PriorityReport;
use std::borrow::Cow;

/// The value of a label, and a number.
pub type Part = (&'static str, u64);

/// Reads a number of the gateway.
pub fn of_gateway(read: fn(&Snapshot) -> u64) -> Reader {
    Box::new(move |period| one(Some(Value::Number(read(period.now)))))
}

/// Reads a number of the gateway for each value of `label`.
pub fn of_gateway_by<const N: usize>(label: &'static str, read: fn(&Snapshot) -> [Part; N]) -> Reader {
    Box::new(move |period| by(label, read(period.now)))
}

/// Reads a value of each worker that has it.
pub fn each_worker(read: for<'a> fn(&'a WorkerReport) -> Option<Value<'a>>) -> Reader {
    Box::new(move |period| {
        let workers = period.now.workers.iter();
        workers.flat_map(|worker| within("core", worker.core.to_string(), one(read(worker)))).collect()
    })
}

/// Reads a number of each worker for each value of `label`.
pub fn each_worker_by<const N: usize>(label: &'static str, read: fn(&WorkerReport) -> [Part; N]) -> Reader {
    Box::new(move |period| {
        let workers = period.now.workers.iter();
        workers.flat_map(|worker| within("core", worker.core.to_string(), by(label, read(worker)))).collect()
    })
}

/// Reads a value of each port that has it.
pub fn each_port(read: for<'a> fn(&'a WirePortReport) -> Option<Value<'a>>) -> Reader {
    each_port_with(move |port| one(read(port)))
}

/// Reads a number of each port for each value of `label`, if the port has them.
pub fn each_port_by<const N: usize>(
    label: &'static str,
    read: fn(&WirePortReport) -> Option<[Part; N]>,
) -> Reader {
    each_port_with(move |port| by(label, read(port).into_iter().flatten()))
}

/// Reads all samples of each port, without the label `port`.
pub fn each_port_with(read: impl for<'a> Fn(&'a WirePortReport) -> Vec<Sample<'a>> + 'static) -> Reader {
    Box::new(move |period| {
        let ports = period.now.ports.iter();
        ports.flat_map(|port| within("port", &*port.port.name, read(port))).collect()
    })
}

/// Reads a value of each priority that has it.
pub fn each_priority(read: for<'a> fn(&'a PriorityReport, &'a LevelsReport) -> Option<Value<'a>>) -> Reader {
    each_priority_with(move |priority, now| one(read(priority, now)))
}

/// Reads two numbers of each priority: received and transmitted.
pub fn each_direction(read: fn(&PriorityReport, &LevelsReport) -> [u64; 2]) -> Reader {
    each_priority_with(move |priority, now| {
        by("direction", ["receive", "transmit"].into_iter().zip(read(priority, now)))
    })
}

/// Reads all samples of each priority, without the labels `port` and `priority`.
pub fn each_priority_with(
    read: impl for<'a> Fn(&'a PriorityReport, &'a LevelsReport) -> Vec<Sample<'a>> + 'static,
) -> Reader {
    each_port_with(move |port| {
        let priorities = port.port.priorities.iter().zip(&port.levels);
        priorities.flat_map(|(it, now)| within("priority", it.priority.to_string(), read(it, now))).collect()
    })
}

/// A sample without labels, if there is a value.
fn one(value: Option<Value<'_>>) -> Vec<Sample<'_>> {
    value.map(|value| (Vec::new(), value)).into_iter().collect()
}

/// A sample for each value of `label`.
pub fn by(label: &'static str, numbers: impl IntoIterator<Item = Part>) -> Vec<Sample<'static>> {
    let sample = |(value, number): (&'static str, _)| (vec![(label, value.into())], Value::Number(number));
    numbers.into_iter().map(sample).collect()
}

/// The samples with one more label in front.
fn within<'a>(
    label: &'static str,
    value: impl Into<Cow<'a, str>>,
    samples: Vec<Sample<'a>>,
) -> impl Iterator<Item = Sample<'a>> {
    let value = value.into();
    samples.into_iter().map(move |(mut labels, number)| {
        labels.insert(0, (label, value.clone()));
        (labels, number)
    })
}
