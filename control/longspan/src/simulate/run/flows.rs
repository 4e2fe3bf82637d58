//! `fct.csv`, and the metrics of flows.

use crate::simulate::distribution::distribution;
use crate::simulate::figure::{Figure, Metrics};
use config::scenario::Scenario;
use csv::{Writer, WriterBuilder};
use serde::{Deserialize, Serialize};
use simulation::{FlowRecord, NodeId};
use std::fs::File;
use std::io::{self, ErrorKind, Seek, SeekFrom};
use std::path::Path;
use units::Nanos;

/// A row of the file: a flow that has ended. Its columns are called like the fields.
#[derive(Default, Serialize)]
struct FlowRow<'a> {
    flow: u32,
    group: &'a str,
    source: &'a str,
    destination: &'a str,
    priority: u8,
    bytes: u64,
    start_ns: u64,
    end_ns: u64,
    fct_ns: u64,
    /// None for a flow without its own end, which has no size.
    ideal_ns: Option<u64>,
    slowdown: Option<String>,
    retransmitted: u64,
    acked_ns: u64,
    /// 1 if metrics count it, otherwise 0.
    counted: u8,
}

/// The columns of the file, which are its first line.
pub fn flow_columns() -> Vec<String> {
    let row = serde_json::to_value(FlowRow::default());
    let row = row.ok().and_then(|row| row.as_object().map(|row| row.keys().cloned().collect()));
    row.expect("a row is an object")
}

/// Writes a line for each flow when it ends, and keeps its completion times and slowdown, 24 bytes per flow, so that
/// percentiles are exact.
pub struct FlowLog {
    out: Writer<File>,
    nodes: Vec<String>,
    /// The flows that ended, by group.
    groups: Vec<(String, Sample)>,
    /// Metrics count the flows that start from the first instant on and before the second; `None` for all.
    counted: Option<(Nanos, Nanos)>,
    error: Option<io::Error>,
}

/// The properties of flows that metrics depend on.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Sample {
    /// Completion times as the receiver sees them.
    completion_ns: Vec<u64>,
    /// Completion times as the sender sees them.
    acked_ns: Vec<u64>,
    slowdown: Vec<f64>,
    bytes: u64,
    /// The first start and the last end.
    span_ns: Option<(u64, u64)>,
}

/// The flows of a checkpoint.
#[derive(Debug, Serialize, Deserialize)]
pub struct FlowState {
    /// The length of the file.
    length: u64,
    /// The figures that metrics depend on, by group.
    samples: Vec<Sample>,
}

impl FlowLog {
    /// Creates the file at `path`, for the flows of `scenario`.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn create(path: &Path, scenario: &Scenario) -> io::Result<Self> {
        let mut out = writer(File::create(path)?);
        out.write_record(flow_columns())?;
        let samples = vec![Sample::default(); scenario.groups.len()];
        Ok(Self::of(out, scenario, samples))
    }

    /// Opens the file at `path` as it was in `state`, and goes on there. All after that is removed.
    ///
    /// # Errors
    /// Those of the file system; [`ErrorKind::UnexpectedEof`] if the file is shorter.
    pub fn go_on(path: &Path, scenario: &Scenario, state: FlowState) -> io::Result<Self> {
        let mut file = File::options().write(true).open(path)?;
        if file.metadata()?.len() < state.length {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        file.set_len(state.length)?;
        file.seek(SeekFrom::Start(state.length))?;
        Ok(Self::of(writer(file), scenario, state.samples))
    }

    fn of(out: Writer<File>, scenario: &Scenario, samples: Vec<Sample>) -> Self {
        let nodes = scenario.topology.nodes.iter().map(|node| node.name.clone()).collect();
        let groups = scenario.groups.iter().cloned().zip(samples).collect();
        Self { out, nodes, groups, counted: scenario.counted, error: None }
    }

    /// Its state, for a checkpoint, once what was written is on the disk.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn state(&mut self) -> io::Result<FlowState> {
        let Self { out, nodes: _, groups, counted: _, error } = self;
        if let Some(error) = error {
            return Err(error.kind().into());
        }
        out.flush()?;
        out.get_ref().sync_data()?;
        let samples = groups.iter().map(|(_, sample)| sample.clone()).collect();
        Ok(FlowState { length: out.get_ref().metadata()?.len(), samples })
    }

    /// Adds a flow that has ended.
    pub fn add(&mut self, record: &FlowRecord) {
        let completion_ns = record.end.since(record.flow.start).0;
        // A flow without its own end has neither a length nor an ideal time.
        let ideal_ns = record.flow.bytes.map(|_| record.ideal.0).filter(|ideal| *ideal > 0);
        let slowdown = ideal_ns.map(|ideal| completion_ns as f64 / ideal as f64);
        let flow = &record.flow;
        let counts = self.counted.is_none_or(|(from, to)| (from..to).contains(&flow.start));
        let node = |node: NodeId| self.nodes[node.0 as usize].as_str();
        let (group, sample) = &mut self.groups[usize::from(flow.group)];
        let row = FlowRow {
            flow: flow.id.0,
            group,
            source: node(flow.source),
            destination: node(flow.destination),
            priority: flow.priority.index() as u8,
            bytes: record.delivered,
            start_ns: flow.start.0,
            end_ns: record.end.0,
            fct_ns: completion_ns,
            ideal_ns,
            slowdown: slowdown.map(|slowdown| format!("{slowdown:.4}")),
            retransmitted: record.retransmitted,
            acked_ns: record.acknowledged.0,
            counted: counts.into(),
        };
        if let Err(error) = self.out.serialize(row) {
            self.error.get_or_insert(error.into());
        }
        if !counts {
            return;
        }
        sample.count(record.delivered, (flow.start.0, record.end.0));
        if let Some(slowdown) = slowdown {
            sample.completion_ns.push(completion_ns);
            sample.acked_ns.push(record.acknowledged.since(flow.start).0);
            sample.slowdown.push(slowdown);
        }
    }

    /// Completes the file, and adds the metrics of the flows.
    ///
    /// # Errors
    /// The first error since the file was created.
    pub fn finish(mut self, metrics: &mut Metrics) -> io::Result<()> {
        let mut all = Sample::default();
        for (name, sample) in self.groups {
            all.add(&sample);
            sample.figures(&name, metrics);
        }
        all.figures("all", metrics);
        match self.error {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }
}

fn writer(file: File) -> Writer<File> {
    WriterBuilder::new().has_headers(false).from_writer(file)
}

impl Sample {
    /// Counts delivered bytes, and the time from a first start to a last end.
    fn count(&mut self, bytes: u64, (start, end): (u64, u64)) {
        self.bytes = self.bytes.saturating_add(bytes);
        let (first, last) = self.span_ns.unwrap_or((start, end));
        self.span_ns = Some((first.min(start), last.max(end)));
    }

    fn add(&mut self, other: &Self) {
        self.completion_ns.extend_from_slice(&other.completion_ns);
        self.acked_ns.extend_from_slice(&other.acked_ns);
        self.slowdown.extend_from_slice(&other.slowdown);
        other.span_ns.into_iter().for_each(|span| self.count(other.bytes, span));
    }

    fn figures(self, group: &str, metrics: &mut Metrics) {
        metrics.insert(format!("fct.{group}.count"), Figure(self.completion_ns.len() as f64));
        let time = self.span_ns.map_or(0, |(first, last)| last - first);
        if time > 0 {
            metrics.insert(format!("goodput.{group}.bps"), Figure(self.bytes as f64 * 8e9 / time as f64));
        }
        for (name, times) in [("fct", self.completion_ns), ("fct_acked", self.acked_ns)] {
            for (of, time) in distribution(times.into_iter().map(|time| time as f64).collect()) {
                metrics.insert(format!("{name}.{group}.{of}_ns"), Figure(time));
            }
        }
        for (of, slowdown) in distribution(self.slowdown) {
            metrics.insert(format!("slowdown.{group}.{of}"), Figure(slowdown));
        }
    }
}
