//! Two sites joined by parallel links, one of which fails while lossless flows cross it: they end on the other, long before
//! the link is back. Each run checks the invariants of the simulator, too.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use config::plan::{LinkPlan, Request};
use config::scenario::{Override, ScenarioFile};
use conformance::simulated::Seen;
use simulation::{Outcome, Simulation};
use std::path::Path;
use switch::{BundleReport, MemberState};
use units::{BitRate, Bytes, Distance, Nanos};

/// The end of the down time in `config/scenarios/two-links.toml`.
const BACK: Nanos = Nanos(500_000_000);

fn run(overrides: &[(&str, &str)]) -> (Outcome, Seen) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/scenarios/two-links.toml");
    let file = ScenarioFile::parse(&std::fs::read_to_string(path).unwrap(), "two-links.toml").unwrap();
    run_file(&file, Vec::new(), overrides)
}

fn run_file(file: &ScenarioFile, first: Vec<Override>, then: &[(&str, &str)]) -> (Outcome, Seen) {
    let then = then.iter().map(|(key, value)| Override::new(*key, *value));
    let overrides: Vec<_> = first.into_iter().chain(then).collect();
    let scenario = file.build(&overrides).unwrap_or_else(|error| panic!("{error}"));
    let mut seen = Seen::default();
    let simulation = Simulation::new(scenario.network.clone(), scenario.options());
    let outcome =
        simulation.run(scenario.flows(), &mut seen).unwrap_or_else(|violation| panic!("{violation}"));
    // The links lose what was on them; the switches nothing.
    for port in outcome.switches.iter().flat_map(|switch| &switch.ports) {
        assert_eq!(port.ingress.dropped.iter().flat_map(|by| by.iter()).map(|it| it.frames).sum::<u64>(), 0);
        assert_eq!(
            port.queues.iter().flat_map(|queue| queue.dropped.iter()).map(|it| it.frames).sum::<u64>(),
            0
        );
    }
    (outcome, seen)
}

/// The ends of all flows that have ended.
fn ends(seen: &Seen) -> Vec<Nanos> {
    let mut ends: Vec<_> = seen.flows.iter().map(|flow| flow.end).collect();
    ends.sort();
    ends
}

fn members(outcome: &Outcome) -> Vec<BundleReport> {
    outcome.switches.iter().flat_map(|switch| &switch.ports).filter_map(|port| port.bundle).collect()
}

#[test]
fn all_flows_end_on_the_link_that_is_left() {
    for lanes in ["1", "2"] {
        let (outcome, seen) = run(&[("switch.lanes", lanes)]);
        let ends = ends(&seen);
        assert_eq!(ends.len(), 16);
        assert!(ends[15] < Nanos(100_000_000), "{lanes} lanes: {ends:?}");
        let members = members(&outcome);
        assert_eq!(members.len(), 4);
        let out: Vec<_> = members.iter().filter(|it| it.state == MemberState::Out).collect();
        assert_eq!(out.len(), 2, "one at each end");
        assert!(out.iter().all(|it| it.failures == 1 && it.moved_out.frames > 0), "{members:?}");
    }
}

/// The bound has one delay more than the simulator, whose switches notice a cut at once wherever it is.
#[test]
fn a_cut_of_a_full_link_destroys_no_more_than_a_plan_says_and_not_much_less() {
    let overrides = [
        ("topology.long_link.rate", "\"25G\""),
        ("traffic.0.size", "\"50MB\""),
        // Nothing but the link holds the senders back.
        ("host.congestion_control", "\"none\""),
    ];
    let (outcome, _) = run(&overrides);
    let lost = outcome.links.iter().flatten().map(|end| end.lost.down.bytes.0).max().unwrap();
    let request = Request { links: 2, ..Request::new(Distance(80_000), BitRate::gigabits(25)) };
    let most = LinkPlan::new(&request).unwrap().built.bundle().unwrap().destroyed();
    assert!((most.0 * 85 / 100..=most.0).contains(&lost), "{lost} of {most}");
}

/// The testbed of the paper on Bifrost (section VI.A), of whose two links one fails after 4 ms: the outcome, and the bytes that the link
/// lost toward C.
fn case_a(variant: &str, faults: &str) -> (Outcome, Bytes) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/experiments/bifrost-a.toml");
    let link =
        format!("\n[[link]]\nbetween = [\"gw-east\", \"gw-west\"]\nindex = 0\nfaults = {{ {faults} }}\n");
    let text = std::fs::read_to_string(path).unwrap() + &link;
    let file = ScenarioFile::parse(&text, "bifrost-a.toml").unwrap();
    let overrides = file.variants.iter().find(|it| it.name == variant).unwrap().overrides.clone();
    let (outcome, _) =
        run_file(&file, overrides, &[("scenario.until", "\"14ms\""), ("scenario.limit", "\"14ms\"")]);
    let lost = outcome.links.iter().flatten().map(|end| end.lost.down.bytes).max().unwrap();
    (outcome, lost)
}

#[test]
fn the_testbed_of_bifrost_goes_on_with_one_of_its_links() {
    let request = Request { links: 2, ..Request::new(Distance(80_000), BitRate::gigabits(100)) };
    let most = LinkPlan::new(&request).unwrap().built.bundle().unwrap().destroyed();
    for variant in ["pfc-16", "bifrost-16"] {
        let (outcome, lost) = case_a(variant, "down = [\"4ms\", \"40ms\"]");
        assert!((most.0 / 2..=most.0).contains(&lost.0), "{variant}: {lost} of {most}");
        let moved: u64 = members(&outcome).iter().map(|it| it.moved_out.frames).sum();
        assert!(moved > 0);
        // The control: with one half of the flows on a dead link that nobody notices, more and more is lost.
        let (_, unnoticed) = case_a(variant, "down = [\"4ms\", \"40ms\"], hidden = true");
        println!("{variant}: {lost} of {most} lost, and {unnoticed} where nobody notices");
        assert!(unnoticed.0 > lost.0 * 3 / 2, "{variant}: {lost} and {unnoticed}");
    }
}

#[test]
fn flows_wait_for_a_link_whose_failure_nobody_notices() {
    let (outcome, seen) = run(&[("link.0.faults.hidden", "true")]);
    let ends = ends(&seen);
    assert_eq!(ends.len(), 16);
    assert!(ends.iter().filter(|end| **end > BACK).count() >= 5, "{ends:?}");
    assert!(members(&outcome).iter().all(|it| it.failures == 0));
}

#[test]
fn a_link_that_comes_back_is_used_again_in_order() {
    let overrides = [("link.0.faults.down", "[\"3ms\", \"12ms\"]"), ("traffic.0.size", "\"100MB\"")];
    let (outcome, seen) = run(&overrides);
    assert_eq!(ends(&seen).len(), 16);
    let returned: Vec<_> = members(&outcome).into_iter().filter(|it| it.returns > 0).collect();
    assert_eq!(returned.len(), 2);
    assert!(returned.iter().all(|it| it.returns == 1 && it.gave_up == 0 && it.state == MemberState::Up));
}

#[test]
fn a_flapping_link_loses_no_frame_inside() {
    let overrides = [
        ("link.0.faults.down", "[\"3ms\", \"9ms\"]"),
        ("link.0.faults.flap_every", "\"14ms\""),
        ("traffic.0.size", "\"100MB\""),
    ];
    let (outcome, seen) = run(&overrides);
    assert_eq!(ends(&seen).len(), 16);
    let members = members(&outcome);
    assert!(members.iter().map(|it| it.failures).max() >= Some(5), "{members:?}");
    let moved: u64 = members.iter().map(|it| it.moved_out.frames).sum();
    assert_eq!(moved, members.iter().map(|it| it.moved_in.frames).sum::<u64>());
}

#[test]
fn a_run_with_failures_repeats_itself() {
    assert!(run(&[]) == run(&[]));
}
