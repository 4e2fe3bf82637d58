//! `longspan check`.

use crate::cli::CheckArgs;
use crate::console;
use crate::failure::Failure;
use config::cores::{CoreLoad, FRAMES_PER_SECOND};
use config::scenario::ScenarioFile;
use config::{ConfigError, Gateway, LsccSum, MemorySum, Problem, Severity};
use core::fmt::Write;
use serde::Serialize;
use std::path::Path;
use switch::program::{PortSettings, Watchdog};
use units::{BitRate, Interval, Priority};

/// Looks at each file, and says what is wrong with it.
///
/// # Errors
/// [`Failure::Check`] where a file does not hold.
pub fn run(args: &CheckArgs) -> Result<(), Failure> {
    let results: Vec<_> = args.files.iter().map(|file| (file.as_path(), look(file))).collect();
    let wrong = results.iter().filter(|(_, result)| result.is_err()).count();
    if args.json {
        let reports: Vec<_> = results.iter().map(|(file, result)| FileReport::new(file, result)).collect();
        let text = serde_json::to_string_pretty(&reports)
            .expect("a report has no map with keys other than strings, and nothing that fails");
        console::print(&(text + "\n"))?;
    } else {
        for (file, result) in &results {
            match result {
                Ok(Checked::Gateway(gateway)) => console::print(&approval(file, gateway))?,
                Ok(Checked::Scenario { variants, warnings }) => {
                    console::print(&approval_of_scenario(file, variants, warnings))?;
                }
                Err(error) => console::complain(error),
            }
        }
    }
    if wrong == 0 { Ok(()) } else { Err(Failure::Check { wrong, files: args.files.len() }) }
}

/// What holds.
enum Checked {
    /// A gateway.
    Gateway(Box<Gateway>),
    /// A scenario.
    Scenario { variants: Vec<String>, warnings: Vec<Problem> },
}

/// A file with a `[topology]` is a scenario; every other one is a gateway, which also tells why it cannot be read.
fn look(file: &Path) -> Result<Checked, ConfigError> {
    match config::read_text(file) {
        Ok(text) if ScenarioFile::is_scenario(&text) => {
            let scenario = ScenarioFile::load(file)?;
            let warnings = scenario.check()?;
            let variants = scenario.variants.into_iter().map(|variant| variant.name).collect();
            Ok(Checked::Scenario { variants, warnings })
        }
        _ => config::load(file).map(|gateway| Checked::Gateway(Box::new(gateway))),
    }
}

/// One line, and a line for each warning.
fn approval_of_scenario(file: &Path, variants: &[String], warnings: &[Problem]) -> String {
    let mut text = format!("{}: OK: scenario", file.display());
    // A string takes all that is written to it.
    if !variants.is_empty() {
        let _ = write!(text, ", variants {}", variants.join(", "));
    }
    text.push('\n');
    for warning in warnings {
        let _ = writeln!(text, "{warning}");
    }
    text
}

/// One line, what LSCC amounts to where a port has it, a line for each watchdog; where there are devices, a line for
/// each lossless port and each core, and their memory; and a line for each warning.
fn approval(file: &Path, gateway: &Gateway) -> String {
    let ports: Vec<_> = gateway.port_names().collect();
    let name = &gateway.name;
    let mut text = format!("{}: OK: gateway \"{name}\", ports {}\n", file.display(), ports.join(", "));
    // A string takes all that is written to it.
    for (port, sum) in gateway.lscc() {
        let _ = writeln!(text, "port {port}: {sum}");
    }
    for (port, watchdog) in watchdogs(gateway) {
        let Watchdog { detection, restoration, action } = watchdog;
        let watched: Vec<_> = port.pfc.obeyed().iter().map(|priority| priority.to_string()).collect();
        let _ = writeln!(
            text,
            "port {}: watchdog on priorities [{}], detection {detection}, restoration {restoration}, action {}",
            port.name,
            watched.join(", "),
            action.name(),
        );
    }
    for (port, covered, most) in lateness(gateway) {
        let _ = writeln!(
            text,
            "port {port}: covers a lateness of {covered}; at run time the shared pool can raise that to {most}"
        );
    }
    for load in gateway.cores() {
        let _ = writeln!(text, "{load}");
    }
    if let Some(memory) = gateway.memory() {
        let _ = writeln!(text, "device memory:\n{memory}");
    }
    for warning in &gateway.warnings {
        let _ = writeln!(text, "{warning}");
    }
    text
}

/// How late the workers of a gateway with devices may be.
fn lateness(gateway: &Gateway) -> impl Iterator<Item = (&str, Interval, Interval)> {
    gateway.lateness().filter(|_| gateway.memory().is_some())
}

/// The ports with a watchdog.
fn watchdogs(gateway: &Gateway) -> impl Iterator<Item = (&PortSettings, &Watchdog)> {
    gateway.program.settings().ports.iter().filter_map(|port| Some((port, port.watchdog.as_ref()?)))
}

/// One file in the output of `--json`.
#[derive(Serialize)]
struct FileReport {
    file: String,
    ok: bool,
    /// `gateway` or `scenario`; `None` where the file does not hold.
    kind: Option<&'static str>,
    gateway: Option<String>,
    /// Of a scenario.
    variants: Vec<String>,
    ports: Vec<String>,
    lscc: Vec<LsccReport>,
    watchdogs: Vec<WatchdogReport>,
    lateness: Vec<LatenessReport>,
    cores: Vec<CoreReport>,
    memory: Option<MemoryReport>,
    problems: Vec<ProblemReport>,
}

/// What LSCC on a port amounts to, in the output of `--json`. Rates are in bits per second.
#[derive(Serialize)]
struct LsccReport {
    port: String,
    signed: bool,
    rates_in_flight: usize,
    reference_bytes: u64,
    tolerated_rate: u64,
    step_rate: Option<u64>,
    step_above_rate: u64,
    step_below_rate: u64,
    halved_peak_bytes: u64,
    flow_table_bytes: u64,
}

/// The watchdog of a port in the output of `--json`.
#[derive(Serialize)]
struct WatchdogReport {
    port: String,
    priorities: Vec<u8>,
    detection_ns: u64,
    restoration_ns: u64,
    action: &'static str,
}

/// How late the worker of a lossless port may be, in the output of `--json`.
#[derive(Serialize)]
struct LatenessReport {
    port: String,
    covered_ns: u64,
    /// What the shared pool can make of it while the gateway runs.
    max_ns: u64,
}

/// The ports of a core in the output of `--json`. The rate is in bits per second.
#[derive(Serialize)]
struct CoreReport {
    /// `None` where the gateway chooses it when it starts.
    core: Option<usize>,
    ports: Vec<String>,
    rate: u64,
    frames_per_second: u64,
    min_mean_wire_bytes: u64,
    keeps_up: bool,
}

/// The memory of the devices in the output of `--json`.
#[derive(Serialize)]
struct MemoryReport {
    buffer_frames: u64,
    kept_free_frames: u64,
    receive_ring_frames: u64,
    transmit_ring_frames: u64,
    links: Vec<LinkReport>,
    cores: u64,
    mbufs: u64,
    mbuf_bytes: u64,
    control_mbufs: u64,
    total_bytes: u64,
}

/// An emulated link in the output of `--json`.
#[derive(Serialize)]
struct LinkReport {
    port: String,
    data_frames: u64,
    control_frames: u64,
}

/// One problem in the output of `--json`.
#[derive(Serialize)]
struct ProblemReport {
    severity: &'static str,
    line: Option<usize>,
    column: Option<usize>,
    key: String,
    message: String,
}

impl FileReport {
    fn new(file: &Path, result: &Result<Checked, ConfigError>) -> Self {
        let problems = match result {
            Ok(Checked::Gateway(gateway)) => gateway.warnings.iter().map(ProblemReport::new).collect(),
            Ok(Checked::Scenario { warnings, .. }) => warnings.iter().map(ProblemReport::new).collect(),
            Err(ConfigError::Invalid { problems }) => problems.iter().map(ProblemReport::new).collect(),
            Err(error) => vec![ProblemReport::unplaced(error.to_string())],
        };
        let (kind, gateway, variants) = match result {
            Ok(Checked::Gateway(gateway)) => (Some("gateway"), Some(gateway), Vec::new()),
            Ok(Checked::Scenario { variants, .. }) => (Some("scenario"), None, variants.clone()),
            Err(_) => (None, None, Vec::new()),
        };
        Self {
            file: file.display().to_string(),
            ok: result.is_ok(),
            kind,
            variants,
            gateway: gateway.map(|gateway| gateway.name.clone()),
            ports: gateway.map_or_else(Vec::new, |gateway| gateway.port_names().map(str::to_owned).collect()),
            lscc: gateway.map_or_else(Vec::new, |gateway| {
                gateway.lscc().map(|(port, sum)| LsccReport::new(port, &sum)).collect()
            }),
            watchdogs: gateway.map_or_else(Vec::new, |gateway| {
                watchdogs(gateway).map(|(port, watchdog)| WatchdogReport::new(port, watchdog)).collect()
            }),
            lateness: gateway
                .map_or_else(Vec::new, |gateway| lateness(gateway).map(LatenessReport::new).collect()),
            cores: gateway
                .map_or_else(Vec::new, |gateway| gateway.cores().into_iter().map(CoreReport::new).collect()),
            memory: gateway.and_then(|gateway| Some(MemoryReport::new(&gateway.memory()?))),
            problems,
        }
    }
}

impl LsccReport {
    fn new(port: &str, sum: &LsccSum) -> Self {
        Self {
            port: port.into(),
            signed: sum.signed,
            rates_in_flight: sum.rates_in_flight,
            reference_bytes: sum.reference.0,
            tolerated_rate: sum.tolerated,
            step_rate: sum.step.map(BitRate::bits_per_second),
            step_above_rate: sum.bounds.above,
            step_below_rate: sum.bounds.below,
            halved_peak_bytes: sum.halved.0,
            flow_table_bytes: sum.flow_table().0,
        }
    }
}

impl WatchdogReport {
    fn new(port: &PortSettings, watchdog: &Watchdog) -> Self {
        Self {
            port: port.name.clone(),
            priorities: port.pfc.obeyed().iter().map(Priority::number).collect(),
            detection_ns: watchdog.detection.0,
            restoration_ns: watchdog.restoration.0,
            action: watchdog.action.name(),
        }
    }
}

impl LatenessReport {
    fn new((port, covered, most): (&str, Interval, Interval)) -> Self {
        Self { port: port.into(), covered_ns: covered.0, max_ns: most.0 }
    }
}

impl CoreReport {
    fn new(load: CoreLoad) -> Self {
        Self {
            core: load.core,
            rate: load.rate.bits_per_second(),
            frames_per_second: FRAMES_PER_SECOND,
            min_mean_wire_bytes: load.least_mean().0,
            keeps_up: load.keeps_up(),
            ports: load.ports,
        }
    }
}

impl MemoryReport {
    fn new(sum: &MemorySum) -> Self {
        let links = sum.links.iter().map(|link| LinkReport {
            port: link.name.clone(),
            data_frames: link.data,
            control_frames: link.control,
        });
        Self {
            buffer_frames: sum.waiting,
            kept_free_frames: sum.kept_free,
            receive_ring_frames: sum.receive_rings,
            transmit_ring_frames: sum.transmit_rings,
            links: links.collect(),
            cores: sum.cores,
            mbufs: sum.mbufs(),
            mbuf_bytes: sum.mbuf().0,
            control_mbufs: sum.control_mbufs(),
            total_bytes: sum.total().0,
        }
    }
}

impl ProblemReport {
    fn new(problem: &Problem) -> Self {
        let severity = match problem.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        Self {
            severity,
            line: Some(problem.location.line),
            column: Some(problem.location.column),
            key: problem.key.clone(),
            message: problem.kind.to_string(),
        }
    }

    fn unplaced(message: String) -> Self {
        Self { severity: "error", line: None, column: None, key: String::new(), message }
    }
}
