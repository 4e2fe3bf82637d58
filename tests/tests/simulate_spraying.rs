//! Leaves and spines whose switches choose among equal paths by packet: hosts that bear packets out of order gain, and
//! go-back-N sends again what was never lost. Each run checks the other invariants of the simulator, too.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use config::scenario::{Override, ScenarioFile};
use conformance::simulated::Seen;
use core::num::NonZeroUsize;
use simulation::{Ending, Options, Outcome, Simulation};
use std::path::Path;

/// A variant of `config/scenarios/spraying.toml` with flows of 2 MB.
fn run(variant: &str, overrides: &[(&str, &str)], threads: usize) -> (Outcome, Seen) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/scenarios/spraying.toml");
    let file = ScenarioFile::parse(&std::fs::read_to_string(path).unwrap(), "spraying.toml").unwrap();
    let of_variant = file.variants.iter().find(|it| it.name == variant).unwrap().overrides.clone();
    let overrides = [("traffic.all.size", "\"2MB\"")].iter().chain(overrides);
    let overrides = overrides.map(|(key, value)| Override::new(*key, *value));
    let scenario = file.build(&of_variant.into_iter().chain(overrides).collect::<Vec<_>>());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let options = Options { threads: NonZeroUsize::new(threads).unwrap(), ..scenario.options() };
    let mut seen = Seen::default();
    let outcome = Simulation::new(scenario.network.clone(), options).run(scenario.flows(), &mut seen);
    let outcome = outcome.unwrap_or_else(|violation| panic!("{violation}"));
    assert_eq!((&outcome.ending, seen.flows.len()), (&Ending::Finished, 16), "{variant}");
    assert_eq!(outcome.balance.lost.frames, 0);
    (outcome, seen)
}

fn sent_again(outcome: &Outcome) -> u64 {
    outcome.hosts.iter().map(|host| host.counters.retransmitted).sum()
}

/// The last end of a flow, in nanoseconds.
fn last(seen: &Seen) -> u64 {
    seen.flows.iter().map(|flow| flow.end.0).max().unwrap()
}

#[test]
fn hosts_that_bear_packets_out_of_order_end_sooner_where_each_packet_draws_its_path() {
    let (by_flow, flows) = run("flow", &[], 1);
    let (by_packet, packets) = run("packet", &[], 1);
    assert!(last(&packets) * 10 < last(&flows) * 9, "{} and {} ns", last(&packets), last(&flows));
    assert_eq!(sent_again(&by_flow), 0, "the control keeps order");
    assert!(by_flow.checks.order > 0 && by_packet.checks.order == 0);
}

#[test]
fn go_back_n_sends_again_what_was_never_lost_where_each_packet_draws_its_path() {
    let (by_flow, flows) = run("flow-go-back-n", &[], 1);
    let (by_packet, packets) = run("packet-go-back-n", &[], 1);
    let all = 16 * 2_000_000 / 1_024;
    assert_eq!(sent_again(&by_flow), 0, "the control keeps order");
    assert!(sent_again(&by_packet) > all, "{} of {all}", sent_again(&by_packet));
    assert!(last(&packets) > last(&flows), "{} and {} ns", last(&packets), last(&flows));
}

#[test]
fn a_run_with_sprayed_packets_repeats_itself_also_on_threads_and_with_lanes() {
    let over = [("topology.uplink.delay", "\"20us\""), ("traffic.all.size", "\"200kB\"")];
    let one = run("packet", &over, 1);
    assert_eq!(one, run("packet", &over, 3));
    assert_ne!(one.1, run("packet", &[over[0], over[1], ("scenario.seed", "2")], 1).1);
    let lanes = [over[0], over[1], ("switch.lanes", "2")];
    assert_eq!(run("packet", &lanes, 1), run("packet", &lanes, 1));
}
