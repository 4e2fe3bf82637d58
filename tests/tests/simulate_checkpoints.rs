//! A run that goes on from a checkpoint ends as if it had never stopped, whatever its switches and hosts do.

use config::scenario::{Override, Scenario, ScenarioFile};
use conformance::simulated::Seen;
use core::mem;
use core::num::NonZeroUsize;
use core::ops::ControlFlow;
use simulation::{FlowRecord, NetworkView, Observer, Options, Outcome, Progress, Simulation, State, Tap};
use std::path::Path;
use units::{Bytes, Interval, Nanos};

/// Leaves the run at the first checkpoint from `after` on.
struct Leaving {
    after: Nanos,
    leaves: bool,
    /// Everything seen since the checkpoint.
    seen: Seen,
    checkpoint: Option<(Seen, Vec<u8>)>,
}

impl Observer for Leaving {
    fn completed(&mut self, record: &FlowRecord) {
        self.seen.completed(record);
    }

    fn sample(&mut self, _: Nanos, _: &NetworkView<'_>) {}

    fn captured(&mut self, tap: Tap, at: Nanos, headers: &[u8], length: Bytes) {
        self.seen.captured(tap, at, headers, length);
    }

    fn progress(&mut self, progress: Progress) -> ControlFlow<()> {
        self.leaves = progress.now >= self.after;
        if self.leaves { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn checkpoint(&mut self, state: &State<'_>) {
        if self.leaves {
            self.checkpoint = Some((mem::take(&mut self.seen), state.to_bytes()));
        }
    }
}

/// A file below `config`, one of its variants, and further values.
type Case = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const VICTIM: &str = "experiments/port-grants-victim.toml";
const INCAST: &str = "experiments/ppfc-incast.toml";

/// Each flow control, each scheme that speaks to senders, each transport, each congestion control, and faults.
const CASES: &[Case] = &[
    (VICTIM, "pfc", &[("host.congestion_control", "dcqcn"), ("link.0.faults", FAULTS)]),
    ("scenarios/two-data-centers.toml", "pfc", RELAYED),
    (VICTIM, "bifrost", &[]),
    (VICTIM, "bifrostx", &[]),
    (VICTIM, "bifrost", &[("long_haul", "{ flow_control = \"cbfc\" }")]),
    (VICTIM, "port-grants", &[]),
    (VICTIM, "lscc-bifrost", &[("long_haul.lscc.interval", "20us")]),
    (VICTIM, "lscc-bifrost", &[("long_haul.lscc.interval", "20us"), BUNDLED]),
    (VICTIM, "pfc", &[("host.congestion_control", "dcqcn"), ("long_haul.themis", "{}"), MANAGED]),
    (INCAST, "p-pfc-4", &[]),
    (INCAST, "capfc-4", &[]),
    (INCAST, "pfc-6-timely", &[]),
    ("experiments/adaptive-ecn.toml", "adaptive-2", &[]),
    ("experiments/supplement.toml", "supplement", &[]),
    ("experiments/irn.toml", "intra-for-intra-50G", &[]),
    ("experiments/lscc-existing.toml", "hpcc", &[]),
    ("scenarios/spraying.toml", "packet", &[]),
    ("scenarios/spraying.toml", "flow", REROUTED),
];

const RELAYED: &[(&str, &str)] = &[
    ("topology.data_center", "{ template = \"hosts\", hosts = 3 }"),
    ("topology.long_link", "{ rate = \"100G\", distance = \"20km\", relay = true }"),
    ("topology.gateway.rate", "100G"),
    ("traffic.inter.load", "0.9"),
];
const FAULTS: &str = "{ loss = 0.01, control_loss = 0.2, jitter = \"2us\", control_delay = \"3us\" }";
const REROUTED: &[(&str, &str)] = &[(
    "link",
    "[{ between = [\"leaf0\", \"spine0\"], reroute = \"50us\", faults = { down = [\"100us\", \"400us\"] } }]",
)];
/// The long link is two links, which are a bundle.
const BUNDLED: (&str, &str) = ("topology.long_link", "{ distance = \"20km\", count = 2 }");
const MANAGED: (&str, &str) = ("network.connection_management", "true");

/// The scenario of a case, without the wait of its traffic and over a shorter link.
fn scenario((file, variant, values): &Case) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config").join(file);
    let path = ScenarioFile::load(&path).unwrap_or_else(|error| panic!("{error}"));
    let variant = path.variants.iter().find(|it| it.name == *variant).expect("a variant of the file");
    let shorter: &[_] = match *file {
        VICTIM => &[("topology.long_link.delay", "100us"), ("traffic.bulk.start", "10us")],
        _ => &[],
    };
    let end = [("scenario.until", "800us"), ("scenario.limit", "1200us")];
    let values = shorter.iter().chain(&end).chain(*values);
    let mut overrides = variant.overrides.clone();
    overrides.extend(values.map(|(key, value)| Override::new(*key, *value)));
    path.build(&overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs it to its end, or to a checkpoint behind its middle; from `state`, if there is one.
fn run(scenario: &Scenario, threads: usize, after: Nanos, state: Option<&[u8]>) -> (Outcome, Leaving) {
    let threads = NonZeroUsize::new(threads).expect("some threads");
    // Samples count for checkpoints, so that there are some.
    let sampling = Some(Interval(10));
    let options = Options { threads, sampling, ..scenario.options() };
    let network = scenario.network.clone();
    let simulation = match state {
        None => Simulation::new(network, options),
        Some(state) => Simulation::resume(network, options, state).expect("a state of this network"),
    };
    let mut seen = Leaving { after, leaves: false, seen: Seen::default(), checkpoint: None };
    let flows = scenario.flows().skip(simulation.fetched());
    let outcome = simulation.run(flows, &mut seen);
    (outcome.unwrap_or_else(|violation| panic!("{violation}")), seen)
}

#[test]
fn every_scheme_goes_on_from_a_checkpoint_as_if_the_run_had_never_stopped() {
    for case in CASES {
        let scenario = scenario(case);
        let whole = run(&scenario, 1, Nanos::NEVER, None);
        // On three threads, if its long links divide it.
        let (_, left) = run(&scenario, 3, Nanos(500_000), None);
        let (mut seen, state) = left.checkpoint.unwrap_or_else(|| panic!("{case:?} ends too early"));
        let (outcome, after) = run(&scenario, 1, Nanos::NEVER, Some(&state));
        seen.flows.extend(after.seen.flows);
        seen.frames.extend(after.seen.frames);
        assert!(seen == whole.1.seen, "{case:?}");
        assert!(outcome == whole.0, "{case:?}");
        assert!(outcome.transmissions > 5_000, "{case:?}: {} transmissions", outcome.transmissions);
    }
}
