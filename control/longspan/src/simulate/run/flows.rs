//! `fct.csv`, and what flows come to.

use crate::simulate::percentile::place_of;
use crate::simulate::summary::{Figure, Metrics};
use simulation::FlowRecord;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The first line.
const HEADER: &str =
    "flow,group,source,destination,priority,bytes,start_ns,end_ns,fct_ns,ideal_ns,slowdown,retransmitted";

/// Writes a line for each flow as it ends, and keeps its completion time and slowdown, 16 bytes a flow, so that
/// percentiles are exact.
pub struct FlowLog {
    out: BufWriter<File>,
    nodes: Vec<String>,
    groups: Vec<Group>,
    error: Option<io::Error>,
}

/// The flows of a group that have ended and had a length.
#[derive(Debug)]
struct Group {
    name: String,
    sample: Sample,
}

/// Flows, as far as figures depend on them.
#[derive(Clone, Debug)]
struct Sample {
    completion_ns: Vec<u64>,
    slowdown: Vec<f64>,
    bytes: u64,
    first_start_ns: u64,
    last_end_ns: u64,
}

impl Default for Sample {
    fn default() -> Self {
        let (completion_ns, slowdown) = (Vec::new(), Vec::new());
        Self { completion_ns, slowdown, bytes: 0, first_start_ns: u64::MAX, last_end_ns: 0 }
    }
}

impl FlowLog {
    /// Creates the file at `path`, for flows between `nodes` of `groups`.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn create(path: &Path, nodes: Vec<String>, groups: &[String]) -> io::Result<Self> {
        let mut out = BufWriter::new(File::create(path)?);
        writeln!(out, "{HEADER}")?;
        let groups = groups.iter().map(|name| Group { name: name.clone(), sample: Sample::default() });
        Ok(Self { out, nodes, groups: groups.collect(), error: None })
    }

    /// A flow has ended.
    pub fn add(&mut self, record: &FlowRecord) {
        let completion_ns = record.end.since(record.flow.start).0;
        // What never ends by itself has neither a length nor an ideal time.
        let slowdown = record.flow.bytes.and_then(|_| {
            let ideal = record.ideal.0;
            (ideal > 0).then(|| completion_ns as f64 / ideal as f64)
        });
        if let Err(error) = self.write(record, completion_ns, slowdown) {
            self.error.get_or_insert(error);
        }
        let sample = &mut self.groups[usize::from(record.flow.group)].sample;
        sample.bytes = sample.bytes.saturating_add(record.delivered);
        sample.first_start_ns = sample.first_start_ns.min(record.flow.start.0);
        sample.last_end_ns = sample.last_end_ns.max(record.end.0);
        if let Some(slowdown) = slowdown {
            sample.completion_ns.push(completion_ns);
            sample.slowdown.push(slowdown);
        }
    }

    fn write(&mut self, record: &FlowRecord, completion_ns: u64, slowdown: Option<f64>) -> io::Result<()> {
        let flow = &record.flow;
        write!(
            self.out,
            "{},{},{},{},{},",
            flow.id.0,
            self.groups[usize::from(flow.group)].name,
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
        writeln!(self.out, ",{}", record.retransmitted)
    }

    /// Writes what is left, and says what the flows came to.
    ///
    /// # Errors
    /// The first one since the file was created.
    pub fn finish(mut self, metrics: &mut Metrics) -> io::Result<()> {
        let mut all = Sample::default();
        for Group { name, sample } in self.groups {
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
    fn add(&mut self, other: &Self) {
        self.completion_ns.extend_from_slice(&other.completion_ns);
        self.slowdown.extend_from_slice(&other.slowdown);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.first_start_ns = self.first_start_ns.min(other.first_start_ns);
        self.last_end_ns = self.last_end_ns.max(other.last_end_ns);
    }

    fn figures(mut self, group: &str, metrics: &mut Metrics) {
        self.completion_ns.sort_unstable();
        self.slowdown.sort_unstable_by(f64::total_cmp);
        let mut say = |name: String, value: f64| metrics.insert(name, Figure(value));
        let (times, slowdowns) = (&self.completion_ns, &self.slowdown);
        say(format!("fct.{group}.count"), times.len() as f64);
        let time = self.last_end_ns.saturating_sub(self.first_start_ns);
        if time > 0 {
            say(format!("goodput.{group}.bps"), self.bytes as f64 * 8e9 / time as f64);
        }
        let Some((&longest, &worst)) = times.last().zip(slowdowns.last()) else { return };
        let count = times.len() as f64;
        let sum: u128 = times.iter().map(|time| u128::from(*time)).sum();
        say(format!("fct.{group}.mean_ns"), sum as f64 / count);
        say(format!("fct.{group}.max_ns"), longest as f64);
        say(format!("slowdown.{group}.mean"), slowdowns.iter().sum::<f64>() / count);
        say(format!("slowdown.{group}.max"), worst);
        for percent in [50, 95, 99] {
            let place = place_of(percent, times.len());
            say(format!("fct.{group}.p{percent}_ns"), times[place] as f64);
            say(format!("slowdown.{group}.p{percent}"), slowdowns[place]);
        }
    }
}
