//! `longspan check`.

use crate::cli::check::CheckArgs;
use crate::console;
use crate::failure::Failure;
use config::cores::{CoreLoad, FRAMES_PER_SECOND};
use config::scenario::ScenarioFile;
use config::{BundleSum, ConfigError, Gateway, LsccSum, MemberSum, MemorySum, Problem, Severity};
use core::fmt::Write;
use serde_json::{Value, json};
use std::path::Path;
use switch::program::{PortSettings, Watchdog};
use units::{BitRate, Interval, Priority, WireBytes};

/// Checks files, and prints a line or the problems for each.
///
/// # Errors
/// [`Failure::Check`] if a file is invalid.
pub fn run(args: &CheckArgs) -> Result<(), Failure> {
    let results: Vec<_> = args.files.iter().map(|file| (file.as_path(), look(file))).collect();
    let wrong = results.iter().filter(|(_, result)| result.is_err()).count();
    if args.json {
        let reports: Vec<_> = results.iter().map(|(file, result)| file_report(file, result)).collect();
        console::print(&console::json(&reports))?;
    } else {
        for (file, result) in &results {
            match result {
                Ok(checked) => console::print(&approval(file, checked))?,
                Err(error) => console::complain(error),
            }
        }
    }
    if wrong == 0 { Ok(()) } else { Err(Failure::Check { wrong, files: args.files.len() }) }
}

/// A valid file.
enum Checked {
    Gateway(Box<Gateway>),
    Scenario { variants: Vec<String>, warnings: Vec<Problem> },
}

impl Checked {
    fn warnings(&self) -> &[Problem] {
        match self {
            Self::Gateway(gateway) => &gateway.warnings,
            Self::Scenario { warnings, .. } => warnings,
        }
    }
}

/// Reads a file. One with a `[topology]` is a scenario, any other a gateway, as is a file that cannot be read.
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

/// A line for the file, further lines for a gateway, and a line for each warning.
fn approval(file: &Path, checked: &Checked) -> String {
    let mut text = format!("{}: OK: ", file.display());
    match checked {
        Checked::Gateway(gateway) => write_gateway(&mut text, gateway),
        Checked::Scenario { variants, .. } if variants.is_empty() => text += "scenario\n",
        Checked::Scenario { variants, .. } => {
            text += &format!("scenario, variants {}\n", variants.join(", "))
        }
    }
    for warning in checked.warnings() {
        text += &format!("{warning}\n");
    }
    text
}

/// The ports, the figures of LSCC and of bundles, and the watchdogs. If there are devices, also the lateness that each lossless port
/// covers, the load of each core, and the memory.
fn write_gateway(text: &mut String, gateway: &Gateway) {
    let ports: Vec<_> = gateway.port_names().collect();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "gateway \"{}\", ports {}", gateway.name, ports.join(", "));
    for (port, sum) in gateway.lscc() {
        let _ = writeln!(text, "port {port}: {sum}");
    }
    for bundle in BundleSum::all(gateway) {
        for (head, statement) in bundle.statements() {
            let _ = writeln!(text, "bundle {}, {head}: {statement}", bundle.name);
        }
    }
    for (port, watchdog) in watchdogs(gateway) {
        let Watchdog { detection, restoration, action } = watchdog;
        let watched: Vec<_> = port.pfc.obeyed().iter().map(|priority| priority.to_string()).collect();
        let _ = writeln!(
            text,
            "port {}: watchdog on priorities [{}], detection {detection:#}, restoration {restoration:#}, action {}",
            port.name,
            watched.join(", "),
            action.name(),
        );
    }
    for (port, covered, most) in lateness(gateway) {
        let _ = writeln!(
            text,
            "port {port}: covers a lateness of {covered:#}; at run time the shared pool can raise that to {most:#}"
        );
    }
    for load in gateway.cores() {
        let _ = writeln!(text, "{load}");
    }
    if let Some(memory) = gateway.memory() {
        let _ = writeln!(text, "device memory:\n{memory}");
    }
}

/// The lateness that each lossless port covers, and that the shared pool can raise it to; only with devices.
fn lateness(gateway: &Gateway) -> impl Iterator<Item = (&str, Interval, Interval)> {
    gateway.lateness().filter(|_| gateway.memory().is_some())
}

/// The ports with a watchdog.
fn watchdogs(gateway: &Gateway) -> impl Iterator<Item = (&PortSettings, &Watchdog)> {
    gateway.program.settings().ports.iter().filter_map(|port| Some((port, port.watchdog.as_ref()?)))
}

/// A file in the output of `--json`. Keys that do not apply to it are null or empty lists.
fn file_report(file: &Path, result: &Result<Checked, ConfigError>) -> Value {
    let problems: Value = match result {
        Ok(checked) => checked.warnings().iter().map(problem_report).collect(),
        Err(ConfigError::Invalid { problems }) => problems.iter().map(problem_report).collect(),
        Err(error) => json!([{
            "severity": "error", "line": null, "column": null, "key": "", "message": error.to_string(),
        }]),
    };
    let (kind, gateway, variants) = match result {
        Ok(Checked::Gateway(gateway)) => (Some("gateway"), Some(gateway), &[][..]),
        Ok(Checked::Scenario { variants, .. }) => (Some("scenario"), None, &variants[..]),
        Err(_) => (None, None, &[][..]),
    };
    let gateways = || gateway.into_iter();
    json!({
        "file": file.display().to_string(),
        "ok": result.is_ok(),
        "kind": kind,
        "gateway": gateway.map(|gateway| &gateway.name),
        "variants": variants,
        "ports": gateways().flat_map(|it| it.port_names()).collect::<Value>(),
        "lscc": gateways().flat_map(|it| it.lscc()).map(lscc_report).collect::<Value>(),
        "bundles": gateways().flat_map(|it| BundleSum::all(it)).map(|sum| bundle_report(&sum)).collect::<Value>(),
        "watchdogs": gateways().flat_map(|it| watchdogs(it)).map(watchdog_report).collect::<Value>(),
        "lateness": gateways().flat_map(|it| lateness(it)).map(lateness_report).collect::<Value>(),
        "cores": gateways().flat_map(|it| it.cores()).map(core_report).collect::<Value>(),
        "memory": gateway.and_then(|gateway| gateway.memory()).map(|sum| memory_report(&sum)),
        "problems": problems,
    })
}

/// The figures of LSCC on a port. Rates are in bits per second.
fn lscc_report((port, sum): (&str, LsccSum)) -> Value {
    json!({
        "port": port,
        "signed": sum.signed,
        "rates_in_flight": sum.rates_in_flight,
        "reference_bytes": sum.reference.0,
        "tolerated_rate": sum.tolerated,
        "step_rate": sum.step.map(BitRate::bits_per_second),
        "step_above_rate": sum.bounds.above,
        "step_below_rate": sum.bounds.below,
        "halved_peak_bytes": sum.halved.0,
        "flow_table_bytes": sum.flow_table().0,
    })
}

/// The figures of a bundle. Rates are in bits per second, and bytes that a cut destroys count on the wire.
pub fn bundle_report(sum: &BundleSum) -> Value {
    let lost = sum.fastest();
    let member = |member: &MemberSum| {
        json!({
            "port": member.port,
            "rate": member.rate.bits_per_second(),
            "buffer_bytes": member.buffer.0,
            "cut_destroys_bytes": member.destroyed.0,
            "moves_after_ns": member.moves_after.0,
        })
    };
    json!({
        "name": sum.name,
        "members": sum.members.iter().map(member).collect::<Value>(),
        "rate": sum.rate(),
        "buffer_bytes": sum.buffer().0,
        "one_less": {
            "without": lost.port,
            "rate": sum.rate() - lost.rate.bits_per_second(),
            "buffer_bytes": (sum.buffer() - lost.buffer).0,
            "held_back_rate": lost.rate.bits_per_second(),
        },
        "detection": sum.detection.by,
        "detection_ns": sum.detection.within.0,
        "cut_destroys_bytes": sum.destroyed().0,
        "moves_after_ns": sum.moves_after().0,
    })
}

fn watchdog_report((port, watchdog): (&PortSettings, &Watchdog)) -> Value {
    json!({
        "port": port.name,
        "priorities": port.pfc.obeyed().iter().map(Priority::number).collect::<Value>(),
        "detection_ns": watchdog.detection.0,
        "restoration_ns": watchdog.restoration.0,
        "action": watchdog.action.name(),
    })
}

fn lateness_report((port, covered, most): (&str, Interval, Interval)) -> Value {
    json!({ "port": port, "covered_ns": covered.0, "max_ns": most.0 })
}

/// The ports of a core, which is null if the gateway chooses it when it starts. The rate is in bits per second.
fn core_report(load: CoreLoad) -> Value {
    let ring = |(port, down_to): (&str, Option<WireBytes>)| json!({ "port": port, "min_mean_wire_bytes": down_to.map(|length| length.0) });
    let rings: Value = load.rings().map(ring).collect();
    json!({
        "core": load.core,
        "ports": load.ports,
        "rate": load.rate.bits_per_second(),
        "frames_per_second": FRAMES_PER_SECOND,
        "min_mean_wire_bytes": load.least_mean().0,
        "keeps_up": load.keeps_up(),
        "receive_rings": rings,
    })
}

fn memory_report(sum: &MemorySum) -> Value {
    let link = |link: &config::OnLink| json!({ "port": link.name, "data_frames": link.data, "control_frames": link.control });
    json!({
        "buffer_frames": sum.waiting,
        "kept_free_frames": sum.kept_free,
        "receive_ring_frames": sum.receive_rings,
        "transmit_ring_frames": sum.transmit_rings,
        "kept_for_repair_frames": sum.kept,
        "links": sum.links.iter().map(link).collect::<Value>(),
        "cores": sum.cores,
        "mbufs": sum.mbufs(),
        "mbuf_bytes": sum.mbuf().0,
        "control_mbufs": sum.control_mbufs(),
        "repair_numbers_bytes": sum.numbers.0,
        "total_bytes": sum.total().0,
    })
}

fn problem_report(problem: &Problem) -> Value {
    let severity = match problem.severity {
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    json!({
        "severity": severity,
        "line": problem.location.line,
        "column": problem.location.column,
        "key": problem.key,
        "message": problem.kind.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_repair_is_in_the_sum() {
        let ports = ["dc0", "lh0"].map(|name| {
            format!(
                "[[port]]\nname = \"{name}\"\nrate = \"10G\"\ndistance = \"80km\"\nlossless = [{{ priorities = [3] }}]\n\
                 device = {{ vdev = \"net_null_{name}\" }}\n"
            )
        });
        let of = |repair: &str| {
            let text = format!("[buffer]\nshared = \"64MiB\"\n{}{repair}", ports.concat());
            let sum = config::parse(&text, "gw.toml").unwrap().memory().unwrap();
            (memory_report(&sum), sum)
        };
        let ((without, _), (with, sum)) = (of(""), of("repair = {}\n"));
        assert_eq!(
            (&without["repair_numbers_bytes"], &without["kept_for_repair_frames"]),
            (&json!(0), &json!(0))
        );
        let frames = with["kept_for_repair_frames"].as_u64().unwrap();
        assert_eq!(with["repair_numbers_bytes"], frames * switch::repair::Repair::NUMBER.0);
        assert_eq!(with["total_bytes"], (sum.frames() + sum.numbers).0);
    }

    #[test]
    fn a_bundle_has_a_line_for_all_links_for_one_less_and_for_a_cut_and_a_file_without_has_none() {
        let of = |name: &str| {
            let file = format!("{}/../../config/gateways/{name}.toml", env!("CARGO_MANIFEST_DIR"));
            let checked = look(file.as_ref());
            let text = approval("gw.toml".as_ref(), checked.as_ref().unwrap());
            (text, file_report(file.as_ref(), &checked))
        };
        let (text, json) = of("bundle");
        for said in [
            "\nbundle lh, 2 links: 200 Gb/s;",
            "\nbundle lh, 1 link: 100 Gb/s without lh0,",
            "\nbundle lh, a cut: destroys up to 74.5 MB in each direction",
        ] {
            assert!(text.contains(said), "{said}: {text}");
        }
        let bundle = &json["bundles"][0];
        assert_eq!((&bundle["name"], &bundle["one_less"]["without"]), (&"lh".into(), &"lh0".into()));
        assert_eq!(bundle["cut_destroys_bytes"], bundle["members"][1]["cut_destroys_bytes"]);
        let (text, json) = of("minimal");
        assert!(!text.contains("bundle") && json["bundles"] == json!([]), "{text}");
    }
}
