//! `longspan plan`.

mod files;
mod json;
mod page;
mod prove;
mod summary;

use crate::cli::plan::{PciArg, PlanArgs, WatchdogArg};
use crate::console;
use crate::failure::Failure;
use config::plan::{LinkPlan, PlanError, Request};
use std::path::PathBuf;
use units::Bytes;

/// Plans a link, writes the configurations if asked, and prints the plan.
///
/// # Errors
/// [`Failure::Usage`] if there is no such link, [`Failure::Write`], [`Failure::Lacking`], [`Failure::Unproved`],
/// [`Failure::Print`].
pub fn run(args: &PlanArgs) -> Result<(), Failure> {
    let plan = LinkPlan::new(&request(args)?).map_err(refusal)?;
    let proved = match args.prove {
        true => Some(prove::prove(&plan).map_err(refusal)?),
        false => None,
    };
    let unproved = proved.as_ref().and_then(prove::Proved::failure).map(Failure::Unproved);
    let failure = unproved.or_else(|| lacking(&plan));
    // A plan that does not hold leaves no files.
    let written = match failure {
        Some(_) => Vec::new(),
        None => files::write(args, &plan)?,
    };
    if failure.is_none() || !args.prints_toml() {
        console::print(&shown(args, &plan, proved.as_ref(), &written))?;
    }
    failure.map_or(Ok(()), Err)
}

/// What the plan lacks, if it does.
fn lacking(plan: &LinkPlan) -> Option<Failure> {
    let lacks: Vec<_> = plan.lacks.iter().map(ToString::to_string).collect();
    (!lacks.is_empty()).then(|| Failure::Lacking(lacks.join("; ")))
}

/// The text for standard output.
fn shown(args: &PlanArgs, plan: &LinkPlan, proved: Option<&prove::Proved>, written: &[PathBuf]) -> String {
    if args.prints_toml() {
        return plan.built.texts[0].1.clone();
    }
    if args.json {
        return console::json(&json::plan(plan, proved.map(prove::Proved::json)));
    }
    let proof = proved.map(prove::Proved::page).unwrap_or_default();
    let page = match args.explain {
        true => page::page(plan),
        false => summary::summary(plan),
    };
    page + &proof + &files::summary(plan, written)
}

/// The options that state a key of the configuration. The others are the plan's own.
const OPTIONS: [(&str, &str); 3] = [
    ("port.interface_delay", "--interface-delay"),
    ("port.tx_window", "--tx-window"),
    ("port.device.pci", "--pci"),
];

/// No plan, with the options of the command line instead of keys.
fn refusal(error: PlanError) -> Failure {
    let mut text = error.to_string();
    for (key, option) in OPTIONS {
        text = text.replace(&format!("{key}:"), &format!("{option}:"));
    }
    Failure::usage(text)
}

/// Refuses options that would have no effect, with the reason.
fn check(args: &PlanArgs) -> Result<(), Failure> {
    if args.key_file.is_some() && !args.lscc {
        let why = "--key-file has no effect without --lscc: it is about LSCC and nothing else";
        return Err(Failure::usage(why));
    }
    if args.json && args.prints_toml() {
        let why = "--json and --toml - both print to standard output; --json has the configurations too, in \"gateways\"";
        return Err(Failure::usage(why));
    }
    if args.explain && (args.json || args.prints_toml()) {
        return Err(Failure::usage(
            "--explain has no effect with --json, which has all formulas, or --toml -",
        ));
    }
    if !args.pci.is_empty() && args.out.is_none() && args.toml.is_none() && !args.json {
        return Err(Failure::usage(
            "--pci has no effect without --out, --toml or --json: it is about the files",
        ));
    }
    if args.pci.len() > 2 {
        return Err(Failure::usage("--pci is stated more than twice: there are two gateways"));
    }
    for (index, priority) in args.priorities.iter().enumerate() {
        if args.priorities[..index].contains(priority) {
            return Err(Failure::usage(format!("priority {priority} is stated twice")));
        }
    }
    for (index, WatchdogArg { name, .. }) in args.watchdogs.iter().enumerate() {
        if args.watchdogs[..index].iter().any(|other| other.name.eq_ignore_ascii_case(name)) {
            return Err(Failure::usage(format!("the watchdog of {name} is stated twice")));
        }
    }
    Ok(())
}

fn request(args: &PlanArgs) -> Result<Request, Failure> {
    check(args)?;
    let distance = match args.delay {
        Some(delay) => Request::distance_of(delay).map_err(refusal)?,
        None => args.distance.unwrap_or_default(),
    };
    let usual = Request::new(distance, args.rate);
    let senders = usual.senders;
    Ok(Request {
        links: args.links,
        mtu: args.mtu.map_or(usual.mtu, Bytes),
        priorities: args.priorities.iter().copied().collect(),
        scheme: args.scheme,
        slot: args.slot,
        lscc: args.lscc,
        repair: args.repair,
        senders: config::Senders {
            rate: args.senders.unwrap_or(senders.rate),
            additive_increase: args.additive_increase.unwrap_or(senders.additive_increase),
            rate_timer: args.rate_timer.unwrap_or(senders.rate_timer),
        },
        drain: args.drain,
        local_distance: args.local_distance.unwrap_or(usual.local_distance),
        interface_delay: args.interface_delay.unwrap_or(usual.interface_delay),
        tx_window: args.tx_window.unwrap_or(usual.tx_window),
        key_file: args.key_file.clone().unwrap_or(usual.key_file),
        memory: args.memory,
        lateness: args.lateness,
        lanes: args.lanes.unwrap_or(0),
        pci: args.pci.iter().map(|PciArg(addresses)| addresses.clone()).collect(),
        watchdogs: args.watchdogs.iter().map(|it| (it.name.clone(), it.detection)).collect(),
        ..usual
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    /// The arguments of a plan for 100G, with `more`.
    fn args(more: &[&str]) -> Box<PlanArgs> {
        let line = ["longspan", "plan", "--rate", "100G"].iter().chain(more);
        let Command::Plan(args) = Cli::try_parse_from(line).unwrap().command else { panic!("no plan") };
        args
    }

    /// Why there is no plan.
    fn refused(more: &[&str]) -> String {
        let failure = run(&args(more)).unwrap_err();
        assert!(matches!(failure, Failure::Usage(_)), "{failure:?}");
        failure.to_string()
    }

    #[test]
    fn an_option_without_effect_is_refused_with_the_reason() {
        let far = ["--distance", "80km"];
        let key = ["--key-file", "a.key"];
        let why = "--key-file has no effect without --lscc: it is about LSCC and nothing else";
        assert_eq!(refused(&[far, key].concat()), why);
        assert!(request(&args(&[&far[..], &key, &["--lscc"]].concat())).is_ok());
        assert_eq!(refused(&[far, ["--priorities", "3,4,3"]].concat()), "priority 3 is stated twice");
        let twice = ["--watchdog", "leaf=1ms", "--watchdog", "Leaf=2ms"];
        assert_eq!(refused(&[&far[..], &twice].concat()), "the watchdog of Leaf is stated twice");
        let pci = "0000:3b:00.0,0000:3b:00.1";
        assert!(
            refused(&[&far[..], &["--pci", pci]].concat()).starts_with("--pci has no effect without --out")
        );
        let thrice = ["--json", "--pci", pci, "--pci", pci, "--pci", pci];
        assert!(refused(&[&far[..], &thrice].concat()).starts_with("--pci is stated more than twice"));
        assert!(
            refused(&[&far[..], &["--explain", "--json"]].concat()).starts_with("--explain has no effect")
        );
        let both = refused(&[&far[..], &["--json", "--toml", "-"]].concat());
        assert!(both.contains("both print to standard output"), "{both}");
    }

    #[test]
    fn a_refusal_names_what_was_typed() {
        assert_eq!(
            refused(&["--delay", "5s"]),
            "a delay of 5s is out of range; expected up to 202.020203ms, that of 40000km of fibre"
        );
        let far = ["--distance", "80km"];
        for mtu in ["9216", "0"] {
            let why = format!("an MTU of {mtu} is out of range; expected 46 to 9198");
            assert_eq!(refused(&[far, ["--mtu", mtu]].concat()), why);
        }
        assert_eq!(
            refused(&[far, ["--interface-delay", "2s"]].concat()),
            "--interface-delay: 2s is out of range; expected up to 1s"
        );
        assert_eq!(
            refused(&[far, ["--local-distance", "50000km"]].concat()),
            "a distance of 50000km to the data center is out of range; expected up to 40000km"
        );
    }

    #[test]
    fn a_plan_that_does_not_hold_fails_with_the_reason_and_writes_no_files() {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().join("gateways");
        let line = [
            "longspan",
            "plan",
            "--rate=200G",
            "--distance=1000km",
            "--lanes=1",
            "--out",
            out.to_str().unwrap(),
        ];
        let Command::Plan(args) = Cli::try_parse_from(line).unwrap().command else { panic!("no plan") };
        let failure = run(&args).unwrap_err();
        let Failure::Lacking(why) = &failure else { panic!("{failure:?}") };
        assert!(why.starts_with("cores: 400 Gb/s bring 11,967,450 frames a second"), "{why}");
        assert_eq!(failure.status(), std::process::ExitCode::from(1));
        assert!(!out.exists());
        let plan = LinkPlan::new(&request(&args).unwrap()).unwrap();
        let json = json::plan(&plan, None);
        assert_eq!((&json["holds"], &json["lacks"][0]["of"]), (&false.into(), &"cores".into()));
    }

    #[test]
    fn stated_devices_are_in_both_files_and_a_wrong_one_is_named_by_its_option() {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().join("gateways");
        let plan = |pci| {
            let far = ["--distance", "80km", "--out", out.to_str().unwrap(), "--pci", pci];
            run(&args(&[&far[..], &["--scheme", "pfc", "--lanes", "2"]].concat()))
        };
        let wrong = plan("eth0,0000:3b:00.1").unwrap_err().to_string();
        assert!(wrong.starts_with("--pci: ") && wrong.contains("a PCI address such as"), "{wrong}");
        plan("0000:3b:00.0,0000:3b:00.1").unwrap();
        let gateways = ["gw-east.toml", "gw-west.toml"].map(|name| config::load(out.join(name)).unwrap());
        let macs = |gateway: &config::Gateway| {
            gateway.program.settings().ports.iter().map(|port| port.mac).collect()
        };
        let [east, west]: [Vec<_>; 2] = gateways.each_ref().map(macs);
        assert!(east.iter().all(|mac| !west.contains(mac)), "{east:?} {west:?}");
        for gateway in &gateways {
            assert_eq!(gateway.warnings, []);
            assert!(gateway.runtime.devices.iter().all(Option::is_some));
        }
    }

    #[test]
    fn with_standard_output_as_its_file_the_configuration_is_all_that_is_printed() {
        let args = args(&["--distance", "80km", "--toml", "-"]);
        let plan = LinkPlan::new(&request(&args).unwrap()).unwrap();
        assert!(files::write(&args, &plan).unwrap().is_empty());
        assert_eq!(shown(&args, &plan, None, &[]), plan.built.texts[0].1);
    }
}
