//! Networks whose switches have several lanes: nothing lossless is lost, all flows end about as soon as with one lane, and a run
//! repeats itself. Each run checks the invariants of the simulator, too.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use config::scenario::{Override, Scenario, ScenarioFile};
use conformance::simulated::{Seen, assert_lossless};
use core::num::NonZeroUsize;
use core::ops::ControlFlow;
use simulation::{Broken, Observer, Options, Outcome, Progress, Simulation, State, Violation};

/// Two data centers, from one of which four hosts send to one host of the other, and some to others.
const NETWORK: &str = r#"
[scenario]
until = "2ms"
limit = "1s"
[topology]
template = "two-data-centers"
rate = "100G"
delay = "1us"
data_center = { template = "hosts", hosts = 4 }
long_link = { rate = "200G", distance = "10km" }
[host]
mtu = 4096
congestion_control = "none"
[switch]
ecn = { on = false }
port = { tx_window = "2us", interface_delay = "1us" }
[[traffic]]
group = "incast"
pattern = "pairs"
sources = ["east-h*"]
destinations = ["west-h0"]
size = "4MB"
flows = 2
[[traffic]]
group = "others"
pattern = "poisson"
size = ["1kB", "200kB"]
load = 0.2
"#;

const PFC: &[(&str, &str)] = &[("long_haul.lossless.xoff", "\"3MB\"")];
const BIFROST: &[(&str, &str)] = &[("long_haul.flow_control", "\"bifrost\"")];
/// With congestion control of hosts, and notifications of the gateways.
const LSCC: &[(&str, &str)] = &[
    ("long_haul.flow_control", "\"bifrost\""),
    ("long_haul.lscc.interval", "\"50us\""),
    ("host.congestion_control", "\"dcqcn\""),
    ("network.connection_management", "true"),
];

fn scenario(overrides: &[(&str, &str)], lanes: usize, seed: u64) -> Scenario {
    let file = ScenarioFile::parse(NETWORK, "lanes.toml").unwrap();
    let numbers = [("switch.lanes", lanes as u64), ("scenario.seed", seed)];
    let numbers = numbers.map(|(key, value)| Override::new(key, value.to_string()));
    let overrides = overrides.iter().map(|(key, value)| Override::new(*key, *value));
    let scenario = file.build(&overrides.chain(numbers).collect::<Vec<_>>());
    scenario.unwrap_or_else(|error| panic!("{error}"))
}

fn try_run(scenario: &Scenario, threads: usize) -> Result<(Outcome, Seen), Violation> {
    let options = Options { threads: NonZeroUsize::new(threads).unwrap(), ..scenario.options() };
    let mut seen = Seen::default();
    let outcome = Simulation::new(scenario.network.clone(), options).run(scenario.flows(), &mut seen)?;
    Ok((outcome, seen))
}

fn run(scenario: &Scenario, threads: usize) -> (Outcome, Seen) {
    try_run(scenario, threads).unwrap_or_else(|violation| panic!("{violation}"))
}

/// The mean completion time of the flows of the incast, and of the others, in ns.
fn means(seen: &Seen) -> [f64; 2] {
    [0, 1].map(|group| {
        let of_group = seen.flows.iter().filter(|it| it.flow.group == group);
        let times: Vec<_> = of_group.map(|it| it.end.since(it.flow.start).0 as f64).collect();
        times.iter().sum::<f64>() / times.len() as f64
    })
}

fn xoffs(outcome: &Outcome) -> u64 {
    let ports = outcome.switches.iter().flat_map(|switch| &switch.ports);
    ports.map(|port| port.groups[3].pauses.xoff + port.groups[3].pauses.slot).sum()
}

fn assert_as_with_one_lane(overrides: &[(&str, &str)]) {
    for seed in 1..4 {
        let (one, first) = run(&scenario(overrides, 1, seed), 1);
        assert_lossless(&one);
        assert!(xoffs(&one) > 10, "{}", xoffs(&one));
        for lanes in [2, 4] {
            let (many, seen) = run(&scenario(overrides, lanes, seed), 1);
            assert_lossless(&many);
            assert_eq!(many.flows_ended, one.flows_ended);
            for (one, many) in means(&first).into_iter().zip(means(&seen)) {
                assert!((many / one - 1.0).abs() < 0.1, "{one} and {many}, {lanes} lanes, seed {seed}");
            }
        }
    }
}

#[test]
fn under_pfc_nothing_is_lost_and_flows_end_about_as_soon_as_with_one_lane() {
    assert_as_with_one_lane(PFC);
}

#[test]
fn under_bifrost_nothing_is_lost_and_flows_end_about_as_soon_as_with_one_lane() {
    assert_as_with_one_lane(BIFROST);
}

#[test]
fn with_lscc_nothing_is_lost_and_flows_end_about_as_soon_as_with_one_lane() {
    assert_as_with_one_lane(LSCC);
}

#[test]
fn lanes_repeat_a_run_on_any_number_of_threads_and_run_otherwise_than_one_lane() {
    for overrides in [PFC, BIFROST] {
        let many = scenario(overrides, 2, 1);
        let first = run(&many, 1);
        assert!(run(&many, 1) == first);
        assert!(run(&many, 2) == first);
        assert!(run(&scenario(overrides, 1, 1), 1).1 != first.1);
    }
}

#[test]
fn what_lanes_drop_for_lack_of_headroom_is_found() {
    let small = [("long_haul.distance", "\"none\""), ("long_haul.lossless.headroom", "\"300kB\"")];
    for lanes in [1, 2, 4] {
        let violation = try_run(&scenario(&[PFC, &small].concat(), lanes, 1), 1).map(drop).unwrap_err();
        assert!(matches!(violation.what, Broken::LosslessDrop { .. }), "{violation}");
    }
}

/// Keeps the last checkpoint of a run.
#[derive(Default)]
struct Keeper {
    asked: u64,
    state: Option<Vec<u8>>,
}

impl Observer for Keeper {
    fn progress(&mut self, _: Progress) -> ControlFlow<()> {
        self.asked += 1;
        ControlFlow::Continue(())
    }

    fn checkpoint(&mut self, state: &State<'_>) {
        self.state = Some(state.to_bytes());
    }
}

#[test]
fn a_network_with_lanes_gives_no_checkpoint_and_takes_none() {
    let [(one, of_one), (many, of_many)] = [1, 2].map(|lanes| {
        let (scenario, mut keeper) = (scenario(PFC, lanes, 1), Keeper::default());
        let simulation = Simulation::new(scenario.network.clone(), scenario.options());
        simulation.run(scenario.flows(), &mut keeper).unwrap();
        assert!(keeper.asked > 0);
        (scenario, keeper.state)
    });
    assert!(of_many.is_none());
    let resumes = |scenario: Scenario| {
        Simulation::resume(scenario.network.clone(), scenario.options(), of_one.as_ref().unwrap()).is_ok()
    };
    assert!(resumes(one) && !resumes(many));
}
