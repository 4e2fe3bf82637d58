//! The scenarios and experiments have one result, whatever the number of threads.

use config::scenario::{Override, Scenario, ScenarioFile};
use conformance::simulated::Seen;
use core::num::NonZeroUsize;
use core::ops::ControlFlow;
use simulation::{FlowRecord, Observer, Options, Outcome, Progress, Simulation};
use std::fs;
use std::path::{Path, PathBuf};

/// The files that describe scenarios.
fn files() -> Vec<PathBuf> {
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config");
    let of = |folder: &str| fs::read_dir(config.join(folder)).expect("the folder is in the tree");
    let entries = ["scenarios", "experiments"].into_iter().flat_map(of);
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    files.retain(|file| file.extension().is_some_and(|it| it == "toml"));
    files.sort();
    files
}

/// The results of a scenario on up to `threads` threads.
fn run(scenario: &Scenario, threads: usize) -> (Outcome, Seen) {
    observed(scenario, threads)
}

fn observed<O: Observer + Default>(scenario: &Scenario, threads: usize) -> (Outcome, O) {
    let threads = NonZeroUsize::new(threads).expect("some threads");
    let (mut seen, options) = (O::default(), Options { threads, ..scenario.options() });
    let simulation = Simulation::new(scenario.network.clone(), options);
    let outcome = simulation.run(scenario.flows(), &mut seen);
    (outcome.unwrap_or_else(|violation| panic!("{violation}")), seen)
}

#[test]
fn threads_change_no_result_of_any_scenario_with_long_links() {
    let mut compared = 0;
    for path in files() {
        let file = ScenarioFile::load(&path).unwrap_or_else(|error| panic!("{error}"));
        let mut overrides = file.variants.first().map_or_else(Vec::new, |variant| variant.overrides.clone());
        overrides.extend_from_slice(&file.quick);
        // A fraction of the quick form: acknowledgements cross links of up to 200 km.
        overrides.push(Override::new("scenario.until", "100us"));
        overrides.push(Override::new("scenario.limit", "3ms"));
        let scenario = file.build(&overrides).unwrap_or_else(|error| panic!("{error}"));
        if scenario.network.links.iter().all(|link| link.delay.0 < 10_000) {
            continue;
        }
        let one = run(&scenario, 1);
        for threads in [2, 3, 8] {
            assert!(run(&scenario, threads) == one, "{} with {threads} threads", path.display());
        }
        compared += 1;
    }
    assert!(compared >= 10, "{compared} scenarios have long links");
}

/// The results of a run, and the number of rounds that its parts took.
#[derive(Default)]
struct Counted {
    seen: Seen,
    rounds: u64,
}

impl Observer for Counted {
    fn completed(&mut self, record: &FlowRecord) {
        self.seen.completed(record);
    }

    fn progress(&mut self, progress: Progress) -> ControlFlow<()> {
        self.rounds = progress.rounds.rounds;
        ControlFlow::Continue(())
    }
}

#[test]
fn threads_that_share_a_site_change_no_result() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/scenarios/leaf-spine-websearch.toml");
    let values = [
        ("topology.leaves", "8"),
        ("topology.hosts", "8"),
        ("scenario.until", "150us"),
        ("scenario.limit", "300us"),
    ];
    let overrides = values.map(|(key, value)| Override::new(key, value));
    let file = ScenarioFile::load(&path).unwrap_or_else(|error| panic!("{error}"));
    let scenario = file.build(&overrides).unwrap_or_else(|error| panic!("{error}"));
    let (one, seen): (_, Counted) = observed(&scenario, 1);
    assert_eq!(seen.rounds, 0);
    assert!(seen.seen.flows.len() > 20, "{}", seen.seen.flows.len());
    for threads in [2, 3] {
        let (outcome, of_parts): (_, Counted) = observed(&scenario, threads);
        assert!(of_parts.rounds > 50, "{threads} threads took {} rounds", of_parts.rounds);
        assert!(outcome == one && of_parts.seen == seen.seen, "{threads} threads");
    }
}

#[test]
fn threads_change_no_result_where_hosts_manage_connections() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/scenarios/two-data-centers.toml");
    let values = [
        ("scenario.until", "300us"),
        ("scenario.limit", "5ms"),
        ("network.connection_management", "true"),
        // Less than the round trip between the data centers: messages are repeated.
        ("network.connection_timeout", "100us"),
    ];
    let overrides = values.map(|(key, value)| Override::new(key, value));
    let file = ScenarioFile::load(&path).unwrap_or_else(|error| panic!("{error}"));
    let scenario = file.build(&overrides).unwrap_or_else(|error| panic!("{error}"));
    let one = run(&scenario, 1);
    let repeated: u64 = one.0.hosts.iter().map(|host| host.counters.messages_repeated).sum();
    assert!(repeated > 0, "messages are repeated");
    assert!(run(&scenario, 2) == one);
}

#[test]
fn threads_change_no_queue_pair_of_hosts_whose_flows_end_within_and_between_parts() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/scenarios/long-incast.toml");
    let file = ScenarioFile::load(&path).unwrap_or_else(|error| panic!("{error}"));
    let scenario =
        file.build(&[Override::new("scenario.until", "3ms")]).unwrap_or_else(|error| panic!("{error}"));
    let one = run(&scenario, 1);
    assert!(one.1.flows.len() > 500 && !one.1.frames.is_empty());
    assert!(run(&scenario, 3) == one);
}
