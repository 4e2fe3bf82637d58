//! Two sites whose link loses frames, and gateways that repair it. Each run checks the invariants of the simulator, too: no
//! lossless frame is dropped, and nothing is lost inside.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use config::scenario::{Override, ScenarioFile};
use conformance::P3;
use conformance::simulated::Seen;
use core::num::NonZeroUsize;
use proptest::prelude::*;
use simulation::{Ending, NetworkView, NodeId, Observer, Options, Outcome, Simulation};
use switch::repair::RepairReport;
use switch::{DropReason, PortInspection, Volume};
use units::{Interval, Nanos, PortId, Priority};

/// Two hosts send over 80 km to two others.
const SITES: &str = r#"
[scenario]
until = "2s"
[topology]
template = "two-data-centers"
rate = "25G"
data_center = { template = "hosts", hosts = 2 }
long_link = { rate = "25G", distance = "80km" }
[host]
mtu = 4096
congestion_control = "none"
control_priority = "data"
go_back_n = { retransmission_timeout = "500ms" }
[switch]
ecn = { on = false }
[long_haul]
repair = {}
[[link]]
between = ["gw-east", "gw-west"]
[[traffic]]
group = "all"
pattern = "pairs"
sources = ["east-h[0-1]"]
destinations = ["west-h[0-1]"]
size = "2MB"
flows = 3
start = "3ms"                   # both ends have heard each other
"#;

fn build(overrides: &[(&str, String)], seed: u64) -> (config::scenario::Scenario, Options) {
    let file = ScenarioFile::parse(SITES, "repair.toml").unwrap();
    let seed = ("scenario.seed", seed.to_string());
    let overrides = overrides.iter().chain([&seed]).map(|(key, value)| Override::new(*key, value));
    let scenario = file.build(&overrides.collect::<Vec<_>>()).unwrap_or_else(|error| panic!("{error}"));
    let options = scenario.options();
    (scenario, options)
}

fn run(overrides: &[(&str, String)], seed: u64) -> (Outcome, Seen) {
    let (scenario, options) = build(overrides, seed);
    let mut seen = Seen::default();
    let simulation = Simulation::new(scenario.network.clone(), options);
    let outcome = simulation.run(scenario.flows(), &mut seen);
    (outcome.unwrap_or_else(|violation| panic!("{violation}")), seen)
}

/// Nothing is held in any priority.
const NONE: [Volume; Priority::COUNT] = [Volume::ZERO; Priority::COUNT];

/// Faults of both directions of the long link.
fn faults(faults: &str) -> (&'static str, String) {
    ("link.0.faults", format!("{{ {faults} }}"))
}

fn scheme(name: &str) -> (&'static str, String) {
    ("long_haul.flow_control", format!("\"{name}\""))
}

/// Packets that hosts sent again.
fn sent_again(seen: &Seen) -> u64 {
    seen.flows.iter().map(|flow| flow.retransmitted).sum()
}

fn ports(outcome: &Outcome) -> impl Iterator<Item = &PortInspection> {
    outcome.switches.iter().flat_map(|switch| &switch.ports)
}

fn repairs(outcome: &Outcome) -> Vec<RepairReport> {
    ports(outcome).filter_map(|port| port.repair).collect()
}

#[test]
fn hosts_send_nothing_again_over_a_link_that_is_repaired_and_much_over_one_that_is_not() {
    for flow_control in ["bifrost", "pfc"] {
        let lossy = [faults("loss = 0.01, control_loss = 0.01"), scheme(flow_control)];
        let (outcome, seen) = run(&lossy, 1);
        assert_eq!((&outcome.ending, seen.flows.len(), sent_again(&seen)), (&Ending::Finished, 6, 0));
        let [one, other] = repairs(&outcome)[..] else { panic!("two ends") };
        assert!(one.near.sent_again + other.near.sent_again > 10 && other.held == NONE, "{one:?} {other:?}");
        assert_eq!((one.near.sent, other.near.sent), (other.far.arrived, one.far.arrived));

        let (_, seen) = run_without_repair(&lossy);
        assert!(sent_again(&seen) > 100, "{flow_control}: {}", sent_again(&seen));
    }
}

/// As [`run`], without the table.
fn run_without_repair(overrides: &[(&str, String)]) -> (Outcome, Seen) {
    let file = ScenarioFile::parse(&SITES.replace("repair = {}\n", ""), "repair.toml").unwrap();
    let overrides = overrides.iter().map(|(key, value)| Override::new(*key, value));
    let scenario = file.build(&overrides.collect::<Vec<_>>()).unwrap_or_else(|error| panic!("{error}"));
    let mut seen = Seen::default();
    let simulation = Simulation::new(scenario.network.clone(), scenario.options());
    let outcome = simulation.run(scenario.flows(), &mut seen);
    (outcome.unwrap_or_else(|violation| panic!("{violation}")), seen)
}

#[test]
fn a_link_that_loses_nothing_carries_shims_and_nothing_twice() {
    let (outcome, seen) = run(&[], 1);
    assert_eq!((&outcome.ending, sent_again(&seen)), (&Ending::Finished, 0));
    for end in repairs(&outcome) {
        assert!(end.is_up && end.near.sent > 0, "{end:?}");
        assert_eq!((end.near.sent_again, end.far.held, end.far.duplicates), (0, 0, 0));
    }
}

#[test]
fn a_lone_packet_comes_later_by_its_shim_alone() {
    let lone = [
        ("traffic.0.sources", "[\"east-h0\"]".to_owned()),
        ("traffic.0.destinations", "[\"west-h0\"]".to_owned()),
        ("traffic.0.size", "\"4096B\"".to_owned()),
        ("traffic.0.flows", "1".to_owned()),
    ];
    let [repaired, plain] = [run(&lone, 1), run_without_repair(&lone)].map(|(_, seen)| seen.flows[0].end);
    // 12 bytes at 25 Gb/s.
    assert_eq!(repaired.since(plain), Interval(4));
}

#[test]
fn a_cut_within_the_outage_costs_hosts_nothing_and_a_longer_one_gives_up_what_was_under_way() {
    let (outcome, seen) = run(&[faults("down = [\"4ms\", \"44ms\"]")], 1);
    assert_eq!((&outcome.ending, sent_again(&seen)), (&Ending::Finished, 0));
    assert!(repairs(&outcome).iter().all(|end| end.counters.outages == 0));

    let (outcome, seen) = run(&[faults("down = [\"4ms\", \"104ms\"]")], 1);
    assert_eq!(outcome.ending, Ending::Finished);
    assert!(sent_again(&seen) > 0 && repairs(&outcome).iter().any(|end| end.near.abandoned > 0));
}

/// How often both ends were seen to hold frames while each had stopped the queue of the other.
#[derive(Default)]
struct Crossed(u64);

impl Observer for Crossed {
    fn sample(&mut self, now: Nanos, view: &NetworkView<'_>) {
        let ends = (0..16).filter_map(|node| Some(&view.switch(NodeId(node))?.lanes()[0])).filter(|shard| {
            let ports = (0..shard.program().settings().ports.len() as u16).map(PortId);
            let stops = |port: PortId| {
                let waits = shard.queue(now, port, P3).waiting.frames > 0;
                waits && shard.pauses(now, port).received.contains(P3) && shard.held(port, P3).frames > 0
            };
            ports.into_iter().any(stops)
        });
        self.0 += u64::from(ends.count() == 2);
    }
}

#[test]
fn ends_that_stop_each_other_while_they_hold_frames_are_no_cycle_of_queues() {
    // It looks for a standstill as often as it may: every eight delays of the link.
    let text = SITES
        .replace("until = \"2s\"", "until = \"2s\"\nstall = \"1us\"\n[sampling]\ninterval = \"10us\"")
        .replace("[\"east-h[0-1]\"]", "[\"east-h[0-1]\", \"west-h[0-1]\"]")
        .replace("[\"west-h[0-1]\"]", "[\"west-h[0-1]\", \"east-h[0-1]\"]");
    for loss in ["0.3", "0.5"] {
        let overrides = [
            faults(&format!("loss = {loss}")),
            scheme("pfc"),
            ("long_haul.lossless", "{ xoff = \"100kB\", reserved = \"90kB\" }".into()),
        ];
        let overrides = overrides.iter().map(|(key, value)| Override::new(*key, value)).collect::<Vec<_>>();
        let scenario = ScenarioFile::parse(&text, "repair.toml").unwrap().build(&overrides).unwrap();
        let simulation = Simulation::new(scenario.network.clone(), scenario.options());
        let mut crossed = Crossed::default();
        let outcome = simulation.run(scenario.flows(), &mut crossed).unwrap();
        assert_eq!((outcome.ending, outcome.flows_ended), (Ending::Finished, 12), "{loss}");
        // Control: they did, for half of the 28 ms and more that a run takes.
        assert!(crossed.0 > 1_400, "{loss}: {}", crossed.0);
    }
}

#[test]
fn an_end_whose_other_end_does_not_repair_sends_frames_as_they_are() {
    for (end, flow_control) in [("east", "pfc"), ("west", "pfc"), ("east", "bifrost"), ("west", "bifrost")] {
        let one = format!(
            "[long_haul]\nflow_control = \"{flow_control}\"\n[[node]]\nname = \"gw-{end}\"\nlong_haul.repair = {{}}\n"
        );
        let text = SITES.replace("[long_haul]\nrepair = {}\n", &one);
        let scenario = ScenarioFile::parse(&text, "repair.toml").unwrap().build(&[]).unwrap();
        let mut seen = Seen::default();
        let outcome = Simulation::new(scenario.network.clone(), scenario.options())
            .run(scenario.flows(), &mut seen)
            .unwrap();
        assert_eq!((&outcome.ending, sent_again(&seen)), (&Ending::Finished, 0));
        let last = seen.flows.iter().map(|flow| flow.end).max().unwrap();
        assert!(last < units::Nanos(12_000_000), "{end} {flow_control}: {last}");
        let [repair] = repairs(&outcome)[..] else { panic!("one end") };
        assert_eq!((repair.is_up, repair.near.sent), (false, 0));
        let dropped = ports(&outcome).flat_map(|port| &port.ingress.dropped);
        let foreign = |by: &switch::PerReason<switch::Volume>| {
            by[DropReason::ForeignGrants.index()].frames + by[DropReason::ForeignRepair.index()].frames
        };
        assert!(dropped.map(foreign).sum::<u64>() > 0, "its statuses are dropped by name");
    }
}

#[test]
fn threads_change_nothing() {
    let lossy = [faults("loss = 0.02, control_loss = 0.01, loss_burst = 4"), scheme("bifrost")];
    let on = |threads| {
        let (scenario, options) = build(&lossy, 3);
        let options = Options { threads: NonZeroUsize::new(threads).unwrap(), ..options };
        let mut seen = Seen::default();
        let outcome = Simulation::new(scenario.network.clone(), options).run(scenario.flows(), &mut seen);
        (outcome.unwrap(), seen)
    };
    let one = on(1);
    assert!(on(2) == one && on(3) == one);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Receivers that are slower than the link fill the buffer, while frames are lost and held.
    #[test]
    fn no_buffer_runs_over_whatever_the_link_loses(
        seed in 0_u64..1_000,
        loss in prop_oneof![Just(0.0), 0.000_1..0.05],
        burst in 1_u32..20,
        control_loss in prop_oneof![Just(0.0), 0.0..0.05],
        cut in prop_oneof![Just(None), (3_000_u64..8_000, 1_u64..20_000).prop_map(Some)],
        is_slow: bool,
        flow_control in prop_oneof![Just("bifrost"), Just("pfc")],
    ) {
        let mut text = format!("loss = {loss:?}, control_loss = {control_loss:?}, loss_burst = {burst}");
        if let Some((from, time)) = cut {
            text += &format!(", down = [\"{from}us\", \"{}us\"]", from + time);
        }
        let mut overrides = vec![faults(&text), scheme(flow_control)];
        if is_slow {
            overrides.push(("topology.west.rate", "\"10G\"".into()));
            overrides.push(("topology.west.template", "\"hosts\"".into()));
            overrides.push(("topology.west.hosts", "2".into()));
        }
        let (outcome, seen) = run(&overrides, seed);
        prop_assert_eq!((&outcome.ending, seen.flows.len()), (&Ending::Finished, 6));
        prop_assert_eq!(sent_again(&seen), 0);
        for end in repairs(&outcome) {
            prop_assert_eq!((end.held, end.missing), (NONE, 0));
        }
    }
}
