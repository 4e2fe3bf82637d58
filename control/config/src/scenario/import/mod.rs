//! Translates the files of the ns-3 model of HPCC's authors (alibaba-edu/High-Precision-Congestion-Control) into a
//! scenario. `docs/ns3.md` says what becomes of each option.

mod buffers;
mod document;
mod flows;
mod hosts;
mod options;
mod topology;
mod words;

use std::path::Path;
use std::sync::Arc;

use units::{Bytes, Interval};

use self::buffers::Buffers;
use self::document::Document;
use self::flows::Flows;
use self::hosts::Hosts;
use self::options::Options;
use self::topology::Network;
use self::words::{HOUR, number, short};
use crate::file::{TEXT, read_at_most};
use crate::notes::Problems;
use crate::problem::{ConfigError, Problem, ProblemKind};

/// Maximum size of a file of the model. Lists of flows are long.
const LONG: Bytes = Bytes(1 << 30);

/// The end of a run.
const STOP: &str = "SIMULATOR_STOP_TIME";

/// The longest run, from the first flow on.
const LONGEST: Interval = Interval(HOUR as u64);
const AN_HOUR: &str = "a run ends an hour after the first flow, or once all flows have ended";

/// A file of the model.
#[derive(Clone, Copy, Debug)]
pub struct Ns3File<'a> {
    /// Its name in messages.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
}

/// A translated scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Translated {
    /// The scenario.
    pub scenario: String,
    /// The lists of flows that it reads: names of files in its directory, and their texts. More than one if a single
    /// one would be too long to be read.
    pub lists: Arc<[(String, String)]>,
    /// The number of flows.
    pub flows: usize,
    /// Options that have no counterpart.
    pub warnings: Vec<Problem>,
}

/// Translates the files at these paths, as [`translate_ns3`] does.
///
/// # Errors
/// [`ConfigError::Unreadable`] if a file does not exist, is not a regular file, is longer than 1 GiB or is not UTF-8;
/// [`ConfigError::Invalid`] with all problems if a file is not valid.
pub fn load_ns3(paths: [&Path; 3]) -> Result<Translated, ConfigError> {
    let names = paths.map(|path| path.display().to_string());
    let mut texts = Vec::new();
    for path in paths {
        let unreadable = |source| ConfigError::Unreadable { path: path.into(), source };
        texts.push(read_at_most(LONG, path).map_err(unreadable)?);
    }
    translate_ns3([0, 1, 2].map(|file| Ns3File { name: &names[file], text: &texts[file] }))
}

/// Translates a topology, a list of flows and a file of options.
///
/// # Errors
/// [`ConfigError::Invalid`] with all problems if a file is not valid. The scenario may still be refused when it is
/// built ([`super::ScenarioFile::translated`]), for example if a host cannot be reached.
pub fn translate_ns3([topology, flows, options]: [Ns3File<'_>; 3]) -> Result<Translated, ConfigError> {
    let problems = [topology, flows, options].map(|file| Problems::new(file.name, file.text));
    let network = Network::read(topology.text, &problems[0]);
    let flows = Flows::read(flows.text, network.as_ref(), &problems[1]);
    let options = Options::read(options.text, &problems[2]);
    let hosts = Hosts::new(&options, network.as_ref());
    let made = network.zip(flows).and_then(|(network, flows)| {
        let document = document(&network, &flows, hosts, &options, &problems[2])?;
        let texts = flows.lists(&network, TEXT);
        let name =
            |index: usize| if index == 0 { "flows.csv".into() } else { format!("flows-{}.csv", index + 1) };
        let names: Vec<String> = (0..texts.len()).map(name).collect();
        let scenario = document.write(&names);
        let lists = names.into_iter().zip(texts).collect();
        Some(Translated { scenario, lists, flows: flows.len(), warnings: Vec::new() })
    });
    drop(options);
    let (made, warnings) = Problems::finish_all(problems, made)?;
    Ok(Translated { warnings, ..made })
}

fn document<'a>(
    network: &'a Network,
    flows: &'a Flows,
    hosts: Option<Hosts>,
    options: &Options<'_, '_>,
    problems: &Problems<'_>,
) -> Option<Document<'a>> {
    let stop = options.value(STOP, |word| {
        // Sums of times up to an hour are exact.
        let end = (number(word, &(0.0..=f64::MAX))? * 1e9_f64).round().min(2.0 * HOUR) as u64;
        let after_first = end.checked_sub(flows.first).filter(|time| *time > 0);
        let time =
            after_first.ok_or_else(|| ProblemKind::out_of_range(short(word), "later than the first flow"))?;
        if time > LONGEST.0 {
            problems.warning(&options.place(STOP), ProblemKind::Untranslated { here: AN_HOUR });
        }
        Ok(Interval(time).min(LONGEST))
    });
    let until = Interval(flows.last - flows.first).max(Interval::from_micros(1));
    if stop.is_some_and(|stop| stop < until) {
        problems.warning(&options.place(STOP), ProblemKind::StopsEarly { until });
    }
    let errors = options.number("ERROR_RATE_PER_LINK", 0.0..=1.0);
    let buffers = Buffers::new(options, network, problems);
    let limit = stop?.max(until);
    let is_lossless = options.flag("ENABLE_PFC");
    let (hosts, buffers, errors, is_lossless) = (hosts?, buffers?, errors?, is_lossless?);
    Some(Document { network, flows, hosts, buffers, is_lossless, until, limit, errors })
}
