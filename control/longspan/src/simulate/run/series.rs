//! `series.csv`: queues, rates, pauses and buffers over time, and their metrics.

use super::flow_rates::{FlowRates, FlowRatesState};
use super::ports::PortPlace;
use super::rows::{Rows, rate_bps};
use crate::simulate::distribution::distribution;
use crate::simulate::figure::{Figure, Metrics};
use config::scenario::Sampling;
use core::iter::once;
use replay::series::{self, Column};
use serde::{Deserialize, Serialize};
use simulation::topology::Topology;
use simulation::{NetworkView, NodeId};
use std::borrow::Cow;
use std::io::Write;
use switch::{PortInspection, Program};
use units::{Nanos, PortId, Priority};

/// Below this share of its rate, a link counts as near zero.
const NEAR_ZERO: f64 = 0.01;

/// The column of the bytes that a switch holds.
const BUFFER: &str = "buffer_bytes";

/// A column.
struct Heading {
    /// The node, or the port: `<node>.<port>`.
    place: String,
    /// The quantity. It ends with its unit.
    name: &'static str,
    kind: Kind,
}

/// The contents of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The value at an instant.
    Level,
    /// Bytes on the wire since the start, written as the mean rate since the previous row.
    Sent,
}

/// A switch with sampled ports.
struct Sampled {
    node: NodeId,
    columns: Vec<Column>,
    ports: Vec<PortPlace>,
}

/// Time series of switches and flows.
pub struct SeriesLog {
    switches: Vec<Sampled>,
    headings: Vec<Heading>,
    rows: Rows,
    row: Vec<Option<u64>>,
    of_switch: Vec<Option<u64>>,
    inspection: Box<PortInspection>,
    flows: FlowRates,
}

/// The samples of a checkpoint.
#[derive(Debug, Serialize, Deserialize)]
pub struct SeriesState<'a> {
    rows: Cow<'a, Rows>,
    flows: FlowRatesState,
}

impl SeriesLog {
    /// A log of the ports in `sampling`. `program` returns the program of a switch.
    pub fn new<'a>(
        sampling: &Sampling,
        topology: &Topology,
        program: impl Fn(NodeId) -> Option<&'a Program>,
        flows: FlowRates,
    ) -> Self {
        let mut switches: Vec<Sampled> = Vec::new();
        let mut headings = Vec::new();
        for of_node in sampling.ports.chunk_by(|a, b| a.0 == b.0) {
            let node = of_node[0].0;
            let Some(program) = program(node) else { continue };
            let wanted = |port: PortId| of_node.iter().any(|(_, it)| *it == port);
            let columns = series::columns(&program.settings().ports);
            let columns: Vec<_> = columns.into_iter().filter(|column| wanted(column.port)).collect();
            let ports: Vec<_> =
                of_node.iter().map(|(node, port)| PortPlace::new(topology, *node, *port)).collect();
            let name = |port: PortId| &topology.node(node).ports[port.index()].name;
            let host = &topology.node(node).name;
            headings.extend(columns.iter().map(|it| Heading {
                place: format!("{host}.{}", name(it.port)),
                name: it.name(),
                kind: Kind::Level,
            }));
            let sent =
                |it: &PortPlace| Heading { place: it.name.clone(), name: "sent_bps", kind: Kind::Sent };
            headings.extend(ports.iter().map(sent));
            headings.push(Heading { place: host.clone(), name: BUFFER, kind: Kind::Level });
            switches.push(Sampled { node, columns, ports });
        }
        let rows = Rows::new(sampling.interval.0, sampling.rows as usize, headings.len());
        Self {
            switches,
            headings,
            rows,
            row: Vec::new(),
            of_switch: Vec::new(),
            inspection: Box::default(),
            flows,
        }
    }

    /// Its state, for a checkpoint.
    pub fn state(&self) -> SeriesState<'_> {
        let Self { switches: _, headings: _, rows, row: _, of_switch: _, inspection: _, flows } = self;
        SeriesState { rows: Cow::Borrowed(rows), flows: flows.state() }
    }

    /// Goes on from a state.
    pub fn restore(&mut self, SeriesState { rows, flows }: SeriesState<'_>) {
        self.rows = rows.into_owned();
        self.flows.restore(flows);
    }

    /// The sampled flows.
    pub fn flows_mut(&mut self) -> &mut FlowRates {
        &mut self.flows
    }

    /// Takes a sample if one is due.
    pub fn sample(&mut self, now: Nanos, view: &NetworkView<'_>) {
        if !self.rows.is_due(now) {
            return;
        }
        self.row.clear();
        for switch in &self.switches {
            let Some(driver) = view.switch(switch.node) else { continue };
            series::look(
                (driver.program(), driver.lanes()),
                now,
                &switch.columns,
                &mut self.inspection,
                &mut self.of_switch,
            );
            self.row.append(&mut self.of_switch);
            self.row.extend(switch.ports.iter().map(|port| Some(view.carried(port.link, port.end).0)));
            let inside = driver.total(|lane| {
                let ports = (0..lane.ledger().ports() as u16).map(PortId);
                let queue = |port| Priority::all().map(move |it| lane.ledger().egress_queue(port, it));
                ports.flat_map(queue).sum()
            });
            self.row.push(Some(inside.bytes.0));
        }
        self.rows.push(&self.row);
        self.flows.sample(now, self.rows.interval_ns(), view);
    }

    /// Writes it as CSV: a header, then the rows.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn write_csv(&self, out: impl Write) -> csv::Result<()> {
        let mut table = csv::Writer::from_writer(out);
        let headings = self.headings.iter().map(|it| format!("{}.{}", it.place, it.name));
        table.write_record(once("time_ns".to_owned()).chain(headings).chain(self.flows.headings()))?;
        for row in 0..self.rows.count() {
            let time = self.rows.time_ns(row);
            let columns = self.headings.iter().enumerate();
            let values = columns.map(|(column, heading)| self.value(row, column, heading.kind));
            let of_flows = self.flows.values(time, self.rows.interval_ns());
            table.serialize((time, values.chain(of_flows).collect::<Vec<_>>()))?;
        }
        Ok(table.flush()?)
    }

    fn value(&self, row: usize, column: usize, kind: Kind) -> Option<u64> {
        match kind {
            Kind::Level => self.rows.cell(row, column),
            Kind::Sent => {
                let before = self.rows.cell(row.checked_sub(1)?, column)?;
                let bytes = self.rows.cell(row, column)?.saturating_sub(before);
                Some(rate_bps(bytes, self.rows.interval_ns()))
            }
        }
    }

    /// Adds the metrics of the samples. Those of rates cover only the time up to `until`.
    pub fn figures(&self, until: Nanos, metrics: &mut Metrics) {
        for (column, Heading { place, name, .. }) in self.headings.iter().enumerate() {
            let (metric, unit) = match *name {
                "egress_bytes" => ("queue", "bytes"),
                "ingress_lossless_wire_bytes" => ("ingress", "wire_bytes"),
                BUFFER => ("buffer", "bytes"),
                _ => continue,
            };
            let values = self.rows.column(column).flatten().map(|value| value as f64).collect();
            // The maximum of a queue is its watermark, and not one of samples.
            let distribution = distribution(values).into_iter();
            for (of, value) in distribution.filter(|(of, _)| *of != "max" || metric == "buffer") {
                metrics.insert(format!("{metric}.{place}.{of}_{unit}"), Figure(value));
            }
        }
        let ports = self.switches.iter().flat_map(|switch| &switch.ports);
        let sent = self.headings.iter().enumerate().filter(|(_, heading)| heading.kind == Kind::Sent);
        for (port, (column, _)) in ports.zip(sent) {
            self.rates(column, port, until, metrics);
        }
        self.flows.figures(self.rows.interval_ns(), metrics);
    }

    fn rates(&self, column: usize, port: &PortPlace, until: Nanos, metrics: &mut Metrics) {
        let within = (1..self.rows.count()).filter(|row| self.rows.time_ns(*row) <= until.0);
        let rates: Vec<f64> =
            within.filter_map(|row| Some(self.value(row, column, Kind::Sent)? as f64)).collect();
        if rates.is_empty() {
            return;
        }
        let count = rates.len() as f64;
        let mean = rates.iter().sum::<f64>() / count;
        let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / count;
        let low = NEAR_ZERO * port.rate.bits_per_second() as f64;
        let near_zero = rates.iter().filter(|rate| **rate < low).count() as u64;
        let time = near_zero.saturating_mul(self.rows.interval_ns());
        metrics.insert(format!("{}.stddev_bps", port.link_name), Figure(variance.sqrt()));
        metrics.insert(format!("{}.near_zero_ns", port.link_name), Figure(time as f64));
    }
}
