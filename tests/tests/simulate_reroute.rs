//! Switches whose routes leave out a link that is down, after a time: flows go another way, long before the link is back.
//! Each run checks the other invariants of the simulator, too.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use config::scenario::{Override, ScenarioFile};
use conformance::simulated::Seen;
use core::num::NonZeroUsize;
use simulation::topology::TopologyLink;
use simulation::{Ending, Options, Outcome, Simulation};
use units::Nanos;

/// Two racks of four hosts, and a link to one of two spines that is down from 1 to 500 ms.
const RACKS: &str = r#"
[scenario]
until = "2s"
[topology]
template = "leaf-spine"
leaves = 2
spines = 2
hosts = 4
rate = "25G"
uplink = { rate = "100G" }
[[link]]
between = ["leaf0", "spine0"]
faults = { down = ["1ms", "500ms"] }
[[traffic]]
group = "first"
pattern = "pairs"
sources = ["h[0-3]"]
destinations = ["h[4-7]"]
size = "8MB"
flows = 2
[[traffic]]
group = "last"
pattern = "pairs"
start = "600ms"
sources = ["h[0-3]"]
destinations = ["h[4-7]"]
size = "1MB"
flows = 4
"#;

/// A ring of three sites. The short way from the first to the second is down from 1 to 500 ms.
const RING: &str = r#"
[scenario]
until = "100ms"
[topology]
template = "free"
hosts = ["h[0-1]"]
switches = ["s[0-2]"]
rate = "25G"
link = [
    { between = ["h0", "s0"] },
    { between = ["h1", "s1"] },
    { between = ["s0", "s1"], long = true, delay = "100us" },
    { between = ["s0", "s2"], long = true, delay = "100us" },
    { between = ["s2", "s1"], long = true, delay = "100us" },
]
[[link]]
between = ["s0", "s1"]
faults = { down = ["1ms", "500ms"] }
[[traffic]]
group = "all"
pattern = "all-to-all"
size = "20MB"
"#;

fn run(text: &str, overrides: &[(&str, &str)], threads: usize) -> (Outcome, Seen) {
    let file = ScenarioFile::parse(text, "reroute.toml").unwrap();
    let overrides = overrides.iter().map(|(key, value)| Override::new(*key, *value));
    let scenario = file.build(&overrides.collect::<Vec<_>>()).unwrap_or_else(|error| panic!("{error}"));
    let options = Options { threads: NonZeroUsize::new(threads).unwrap(), ..scenario.options() };
    let mut seen = Seen::default();
    let outcome = Simulation::new(scenario.network.clone(), options).run(scenario.flows(), &mut seen);
    let outcome = outcome.unwrap_or_else(|violation| panic!("{violation}"));
    assert_eq!(outcome.ending, Ending::Finished);
    (outcome, seen)
}

/// The last end of a flow of the group.
fn last(seen: &Seen, group: u16) -> Nanos {
    seen.flows.iter().filter(|flow| flow.flow.group == group).map(|flow| flow.end).max().unwrap()
}

/// The links of the first leaf to both spines.
fn uplinks() -> [usize; 2] {
    let topology = ScenarioFile::parse(RACKS, "reroute.toml").unwrap().build(&[]).unwrap().topology;
    let [leaf, spines @ ..] = ["leaf0", "spine0", "spine1"].map(|name| topology.find(name).unwrap());
    spines.map(|spine| {
        let joins = |node| move |link: &TopologyLink| link.ends.iter().any(|end| end.node == node);
        topology.links.iter().position(|link| joins(leaf)(link) && joins(spine)(link)).unwrap()
    })
}

const BACK: Nanos = Nanos(500_000_000);

#[test]
fn flows_go_by_the_other_spine_where_routes_follow_and_otherwise_wait_for_the_link() {
    let (with, flows) = run(RACKS, &[("link.0.reroute", "\"50ms\"")], 1);
    let (without, waiting) = run(RACKS, &[], 1);
    assert!(last(&flows, 0) < Nanos(250_000_000), "{}", last(&flows, 0));
    assert!(last(&waiting, 0) > BACK, "the control: {}", last(&waiting, 0));
    let lost =
        |outcome: &Outcome| outcome.links.iter().flatten().map(|end| end.lost.down.frames).sum::<u64>();
    assert!(lost(&with) > 0 && lost(&without) > 0);
    assert!(with.checks.order == 0 && without.checks.order > 0);
    assert!(last(&flows, 1) < Nanos(650_000_000), "{}", last(&flows, 1));
}

#[test]
fn the_link_carries_flows_again_once_it_is_back() {
    let carried = |until: &str| {
        let overrides = [("link.0.reroute", "\"50ms\""), ("scenario.until", until)];
        let (outcome, _) = run(RACKS, &overrides, 1);
        uplinks().map(|link| outcome.links[link].iter().map(|end| end.carried.frames).sum::<u64>())
    };
    let (before, after) = (carried("\"400ms\""), carried("\"2s\""));
    assert!(after[0] > before[0] + 1_000, "{before:?} and {after:?}");
    assert!(after[1] > before[1] + 1_000, "{before:?} and {after:?}");
}

#[test]
fn all_switches_on_the_way_learn_of_a_link_and_a_run_repeats_itself_on_any_threads() {
    let reroute = [("link.0.reroute", "\"10ms\"")];
    let one = run(RING, &reroute, 1);
    assert!(last(&one.1, 0) < BACK, "{}", last(&one.1, 0));
    let round = one.0.links[3..].iter().flatten().map(|end| end.carried.frames).min().unwrap();
    assert!(round > 10_000, "both links of the way round carry both flows: {round}");
    assert_eq!(one, run(RING, &reroute, 3));
    assert!(last(&run(RING, &[], 1).1, 0) > BACK, "the control");
    let lanes = [reroute[0], ("switch.lanes", "2")];
    assert!(last(&run(RING, &lanes, 1).1, 0) < BACK);
}
