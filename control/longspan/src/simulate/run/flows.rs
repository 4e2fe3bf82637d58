//! `fct.csv`, and the metrics of flows.

use crate::simulate::percentile::place_of;
use crate::simulate::summary::{Figure, Metrics};
use serde::{Deserialize, Serialize};
use simulation::FlowRecord;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::path::Path;

/// The columns, which are the first line.
pub const FLOW_COLUMNS: &str = "flow,group,source,destination,priority,bytes,start_ns,end_ns,fct_ns,ideal_ns,slowdown,\
                                retransmitted,acked_ns";

/// Writes a line for each flow when it ends, and keeps its completion times and slowdown, 24 bytes per flow, so that
/// percentiles are exact.
pub struct FlowLog {
    out: BufWriter<File>,
    nodes: Vec<String>,
    /// The flows that ended, by group.
    groups: Vec<(String, Sample)>,
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
    /// Creates the file at `path`, for flows of `groups` between `nodes`.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn create(path: &Path, nodes: Vec<String>, groups: &[String]) -> io::Result<Self> {
        let mut out = BufWriter::new(File::create(path)?);
        writeln!(out, "{FLOW_COLUMNS}")?;
        let groups = groups.iter().map(|name| (name.clone(), Sample::default())).collect();
        Ok(Self { out, nodes, groups, error: None })
    }

    /// Opens the file at `path` as it was in `state`, and goes on there. All after that is removed.
    ///
    /// # Errors
    /// Those of the file system; [`ErrorKind::UnexpectedEof`] if the file is shorter.
    pub fn go_on(path: &Path, nodes: Vec<String>, groups: &[String], state: FlowState) -> io::Result<Self> {
        let mut file = File::options().write(true).open(path)?;
        if file.metadata()?.len() < state.length {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        file.set_len(state.length)?;
        file.seek(SeekFrom::Start(state.length))?;
        let groups = groups.iter().cloned().zip(state.samples).collect();
        Ok(Self { out: BufWriter::new(file), nodes, groups, error: None })
    }

    /// Its state, for a checkpoint, once what was written is on the disk.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn state(&mut self) -> io::Result<FlowState> {
        let Self { out, nodes: _, groups, error } = self;
        if let Some(error) = error {
            return Err(error.kind().into());
        }
        out.flush()?;
        out.get_ref().sync_data()?;
        let samples = groups.iter().map(|(_, sample)| sample.clone()).collect();
        Ok(FlowState { length: out.get_mut().stream_position()?, samples })
    }

    /// Adds a flow that has ended.
    pub fn add(&mut self, record: &FlowRecord) {
        let completion_ns = record.end.since(record.flow.start).0;
        // A flow without an end of its own has neither a length nor an ideal time.
        let slowdown = record.flow.bytes.and_then(|_| {
            let ideal = record.ideal.0;
            (ideal > 0).then(|| completion_ns as f64 / ideal as f64)
        });
        if let Err(error) = self.write(record, completion_ns, slowdown) {
            self.error.get_or_insert(error);
        }
        let (_, sample) = &mut self.groups[usize::from(record.flow.group)];
        sample.count(record.delivered, (record.flow.start.0, record.end.0));
        if let Some(slowdown) = slowdown {
            sample.completion_ns.push(completion_ns);
            sample.acked_ns.push(record.acknowledged.since(record.flow.start).0);
            sample.slowdown.push(slowdown);
        }
    }

    fn write(&mut self, record: &FlowRecord, completion_ns: u64, slowdown: Option<f64>) -> io::Result<()> {
        let flow = &record.flow;
        write!(
            self.out,
            "{},{},{},{},{},",
            flow.id.0,
            self.groups[usize::from(flow.group)].0,
            self.nodes[flow.source.0 as usize],
            self.nodes[flow.destination.0 as usize],
            flow.priority,
        )?;
        write!(self.out, "{},{},{},{completion_ns},", record.delivered, flow.start.0, record.end.0)?;
        if let Some(slowdown) = slowdown {
            write!(self.out, "{},{slowdown:.4}", record.ideal.0)?;
        } else {
            write!(self.out, ",")?;
        }
        writeln!(self.out, ",{},{}", record.retransmitted, record.acknowledged.0)
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

    fn figures(mut self, group: &str, metrics: &mut Metrics) {
        self.slowdown.sort_unstable_by(f64::total_cmp);
        let mut say = |name: String, value: f64| {
            metrics.insert(name, Figure(value));
        };
        say(format!("fct.{group}.count"), self.completion_ns.len() as f64);
        let time = self.span_ns.map_or(0, |(first, last)| last - first);
        if time > 0 {
            say(format!("goodput.{group}.bps"), self.bytes as f64 * 8e9 / time as f64);
        }
        say_times(&format!("fct.{group}"), self.completion_ns, &mut say);
        say_times(&format!("fct_acked.{group}"), self.acked_ns, &mut say);
        let slowdowns = &self.slowdown;
        let Some(&worst) = slowdowns.last() else { return };
        say(format!("slowdown.{group}.mean"), slowdowns.iter().sum::<f64>() / slowdowns.len() as f64);
        say(format!("slowdown.{group}.max"), worst);
        for percent in [50, 95, 99] {
            say(format!("slowdown.{group}.p{percent}"), slowdowns[place_of(percent, slowdowns.len())]);
        }
    }
}

/// Mean, maximum and percentiles of `times` in nanoseconds, if there are any.
fn say_times(name: &str, mut times: Vec<u64>, say: &mut impl FnMut(String, f64)) {
    times.sort_unstable();
    let Some(&longest) = times.last() else { return };
    let sum: u128 = times.iter().map(|time| u128::from(*time)).sum();
    say(format!("{name}.mean_ns"), sum as f64 / times.len() as f64);
    say(format!("{name}.max_ns"), longest as f64);
    for percent in [50, 95, 99] {
        say(format!("{name}.p{percent}_ns"), times[place_of(percent, times.len())] as f64);
    }
}
