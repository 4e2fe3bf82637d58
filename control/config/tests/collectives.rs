//! Collectives take the time of their closed forms on an idle network, and threads and checkpoints change nothing.

use config::scenario::{Override, Scenario, ScenarioFile};
use core::num::NonZeroUsize;
use core::ops::ControlFlow;
use simulation::job::{Alone, ideal};
use simulation::{FlowRecord, NetworkView, Observer, Options, Outcome, Progress, Simulation, State};
use std::fs;
use std::path::Path;
use units::{Interval, Nanos};

/// Eight hosts at a switch, with links of 100G and 1 us.
const STAR: &str = r#"
    [topology]
    template = "incast"
    senders = 8
    receivers = 1
    [host]
    congestion_control = "none"
    mtu = 4096
    [[collective]]
    group = "it"
    kind = "ring-all-reduce"
    hosts = ["h*"]
    bytes = "16MB"
    iterations = 2
"#;

/// Twice four hosts, 80 km apart.
const SITES: &str = r#"
    [topology]
    template = "two-data-centers"
    gateway = { rate = "400G" }
    long_link = { rate = "400G" }
    [host]
    congestion_control = "none"
    mtu = 4096
    [[collective]]
    group = "it"
    kind = "hierarchical-all-reduce"
    bytes = "16MB"
    iterations = 2
"#;

fn scenario(text: &str, values: &[(&str, &str)]) -> Scenario {
    let overrides: Vec<_> = values.iter().map(|(key, value)| Override::new(*key, *value)).collect();
    let file = ScenarioFile::parse(text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    file.build(&overrides).unwrap_or_else(|error| panic!("{error}"))
}

fn run(scenario: &Scenario) -> Outcome {
    let simulation = Simulation::new(scenario.network.clone(), scenario.options());
    simulation.run(scenario.flows(), &mut ()).unwrap_or_else(|violation| panic!("{violation}"))
}

/// The times of the first iteration in nanoseconds: of the simulation, and of the model.
fn times(scenario: &Scenario) -> [f64; 2] {
    let it = run(scenario).jobs[0].iterations[0];
    let model = ideal(&scenario.network, 0, 1, Alone::InNetwork).expect("it has a time")[0];
    [it.end.since(it.begin), model[1].since(model[0])].map(|time| time.0 as f64)
}

#[track_caller]
fn assert_near(of: &str, got: f64, expected: f64) {
    assert!((got / expected - 1.0).abs() < 0.01, "{of}: {got} is not {expected}");
}

/// How long a link of 100G is busy with `bytes` and with the acknowledgements for as many in the other direction: a packet
/// of 4096 bytes has 58 bytes of headers and 24 around the frame, an acknowledgement 58 and 24.
fn busy(bytes: f64) -> f64 {
    let packets = (bytes / 4_096.0).ceil();
    (bytes + packets * 2.0 * (58.0 + 24.0)) * 8.0 / 100.0
}

/// From a host over a switch to a host, beside the time on the bottleneck: two links, and a packet on the second one.
const HOPS: f64 = 2.0 * 1_000.0 + 4_178.0 * 8.0 / 100.0;
/// The way of the last acknowledgement.
const BACK: f64 = 2.0 * 1_000.0 + 2.0 * 82.0 * 8.0 / 100.0;

#[test]
fn rings_take_the_time_of_their_closed_forms() {
    let step = busy(16e6 / 8.0) + HOPS;
    for (kind, steps) in [("ring-all-reduce", 14.0), ("reduce-scatter", 7.0), ("all-gather", 7.0)] {
        let [simulated, model] = times(&scenario(STAR, &[("collective.it.kind", kind)]));
        // 2 (n - 1) / n of the bytes over the rate for an all-reduce, and a latency for each step.
        let expected = steps * step + BACK;
        assert_near(kind, simulated, expected);
        assert_near(kind, model, expected);
    }
}

#[test]
fn a_link_of_half_the_rate_makes_a_ring_take_longer_than_its_closed_form() {
    let [ring, _] = times(&scenario(STAR, &[]));
    let half = ("link", r#"[{ between = ["h3", "sw0"], rate = "50G" }]"#);
    let [slow, model] = times(&scenario(STAR, &[half]));
    assert!(slow > 1.5 * ring, "{slow} {ring}");
    assert_near("the model knows the link", model, slow);
}

#[test]
fn trees_and_exchanges_take_the_time_of_their_closed_forms() {
    // Log2 n rounds up and as many down. No link carries data both ways.
    let whole = 16e6 * (1.0 + 82.0 / 4_096.0) * 8.0 / 100.0;
    let [simulated, model] = times(&scenario(STAR, &[("collective.it.kind", "tree-all-reduce")]));
    let expected = 6.0 * (whole + HOPS) + BACK;
    assert_near("tree", simulated, expected);
    assert_near("tree", model, expected);
    // Seven eighths of the data leave each host, all at once.
    let [simulated, model] = times(&scenario(STAR, &[("collective.it.kind", "all-to-all")]));
    let expected = 7.0 * busy(16e6 / 8.0) + HOPS + BACK;
    assert_near("all-to-all", simulated, expected);
    assert_near("all-to-all", model, expected);
}

#[test]
fn a_pipeline_takes_as_long_as_its_first_chunk_and_one_stage_for_each_further_one() {
    let values =
        [("collective.it.kind", "pipeline"), ("collective.it.chunks", "4"), ("collective.it.compute", "8ms")];
    let [simulated, model] = times(&scenario(STAR, &values));
    let chunk = 4e6 * (1.0 + 82.0 / 4_096.0) * 8.0 / 100.0;
    // A stage calculates for 2 ms, which is longer than its messages take.
    let expected = 8.0 * 2e6 + 7.0 * (chunk + HOPS) + 3.0 * 2e6;
    assert_near("pipeline", simulated, expected);
    assert_near("pipeline", model, expected);
}

#[test]
fn a_hierarchical_all_reduce_takes_two_rings_and_an_exchange() {
    for (rate, hosts_at_once) in [("400G", 1.0), ("100G", 4.0)] {
        let [simulated, model] = times(&scenario(SITES, &[("topology.long_link.rate", rate)]));
        let light = 404_041.0;
        let inside = 6.0 * (busy(4e6) + HOPS);
        let across = hosts_at_once * busy(4e6) + light + 4.0 * 1_000.0;
        assert_near(rate, simulated, inside + across);
        assert_near(rate, model, inside + across);
    }
}

#[test]
fn calculation_beside_communication_hides_it_and_that_before_does_not() {
    let time = |overlap: &str, chunks: &str| {
        let keys = ["collective.it.compute", "collective.it.overlap", "collective.it.chunks"];
        let values = keys.into_iter().zip(["4ms", overlap, chunks]).collect::<Vec<_>>();
        times(&scenario(STAR, &values))[0]
    };
    let [alone, _] = times(&scenario(STAR, &[]));
    assert_near("nothing is hidden", time("0", "1"), 4e6 + alone);
    assert_near("half of the calculation is beside it", time("0.5", "1"), 2e6 + alone.max(2e6));
    assert_near("all of it is hidden", time("1", "1"), 4e6);
    let last = time("1", "4");
    assert!((4e6..4e6 + alone / 2.0).contains(&last), "the last of four chunks begins after 3 ms: {last}");
}

#[derive(Default, Debug, PartialEq)]
struct Seen {
    records: Vec<FlowRecord>,
    /// Where the run was left, and its state.
    state: Option<Vec<u8>>,
    after: Nanos,
    leaves: bool,
}

impl Observer for Seen {
    fn completed(&mut self, record: &FlowRecord) {
        self.records.push(record.clone());
    }

    fn sample(&mut self, _: Nanos, _: &NetworkView<'_>) {}

    fn progress(&mut self, progress: Progress) -> ControlFlow<()> {
        self.leaves = progress.now >= self.after;
        if self.leaves { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn checkpoint(&mut self, state: &State<'_>) {
        if self.leaves {
            self.state = Some(state.to_bytes());
        }
    }
}

/// A run on up to `threads` threads that is left after some time, from `state` if there is one.
fn part(scenario: &Scenario, threads: usize, after: Nanos, state: Option<&[u8]>) -> (Outcome, Seen) {
    let threads = NonZeroUsize::new(threads).expect("some threads");
    let options = Options { threads, sampling: Some(Interval(100)), ..scenario.options() };
    let network = scenario.network.clone();
    let simulation = match state {
        None => Simulation::new(network, options),
        Some(state) => Simulation::resume(network, options, state).expect("a state of this network"),
    };
    let mut seen = Seen { after, ..Seen::default() };
    let flows = scenario.flows().skip(simulation.fetched());
    let outcome = simulation.run(flows, &mut seen).unwrap_or_else(|violation| panic!("{violation}"));
    (outcome, seen)
}

/// All kinds at once over two sites, with other traffic.
fn mixed() -> Scenario {
    let mut text = String::from(
        "[scenario]\nuntil = \"300us\"\n[topology]\ntemplate = \"two-data-centers\"\nlong_link = { distance = \"10km\" }\n\
         [[traffic]]\ngroup = \"other\"\npattern = \"poisson\"\nsize = \"20kB\"\nload = 0.2\n",
    );
    let kinds = [
        "ring-all-reduce",
        "tree-all-reduce",
        "reduce-scatter",
        "all-gather",
        "all-to-all",
        "pipeline",
        "hierarchical-all-reduce",
    ];
    for kind in kinds {
        text += &format!(
            "[[collective]]\ngroup = \"{kind}\"\nkind = \"{kind}\"\nbytes = \"200kB\"\nchunks = 2\niterations = 3\n\
             compute = \"20us\"\nstart = \"3us\"\n"
        );
    }
    scenario(&text, &[])
}

#[test]
fn threads_change_no_collective() {
    let scenario = mixed();
    let one = part(&scenario, 1, Nanos::NEVER, None);
    assert_eq!(one.0.jobs.iter().map(|job| job.iterations.len()).collect::<Vec<_>>(), [3; 7]);
    for threads in [2, 3, 8] {
        assert!(part(&scenario, threads, Nanos::NEVER, None) == one, "{threads} threads");
    }
    let other = Scenario { seed: 2, ..mixed() };
    assert!(part(&other, 1, Nanos::NEVER, None) != one, "it is no matter of course");
}

#[test]
fn a_collective_goes_on_from_a_checkpoint_as_if_the_run_had_never_stopped() {
    let scenario = mixed();
    let whole = part(&scenario, 1, Nanos::NEVER, None);
    let (_, left) = part(&scenario, 2, Nanos(400_000), None);
    let state = left.state.expect("it is left in the middle");
    let (outcome, mut after) = part(&scenario, 1, Nanos::NEVER, Some(&state));
    let mut records = left.records;
    assert!(records.len() > 10 && after.records.len() > 10);
    records.append(&mut after.records);
    assert!(records == whole.1.records);
    assert!(outcome == whole.0);
}

#[test]
fn a_collective_that_the_limit_cuts_short_says_where_it_is() {
    let values = [("scenario.until", "1us"), ("scenario.limit", "900us"), ("collective.it.iterations", "9")];
    let outcome = run(&scenario(STAR, &values));
    assert!(outcome.jobs[0].iterations.is_empty());
    let unfinished = outcome.jobs[0].unfinished.expect("it is not done");
    assert_eq!((unfinished.rank, unfinished.iteration), (0, 0));
    assert!(unfinished.operation.is_some());
}

#[test]
fn flows_of_a_collective_alone_are_not_sampled_one_by_one() {
    let build = |more: &str| {
        let text = format!("{STAR}\n[sampling]\nflows = [\"it\"]\n{more}");
        ScenarioFile::parse(&text, "test.toml").expect("it is valid").build(&[]).map(|_| ())
    };
    let error = build("").unwrap_err().to_string();
    assert!(error.contains("sampling.flows: it matches no group"), "{error}");
    let traffic = "[[traffic]]\ngroup = \"it\"\npattern = \"pairs\"\nsources = [\"h0\"]\ndestinations = [\"h1\"]\nsize = \"1MB\"\n";
    build(traffic).expect("a group of traffic, too");
}

#[test]
fn a_trace_is_refused_by_file_and_line_and_a_collective_by_its_key() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("traces");
    fs::create_dir_all(&folder).expect("a folder for the test");
    let refused = |trace: &str| {
        let text = STAR.replace("kind = \"ring-all-reduce\"", "kind = \"goal\"\n    file = \"it.goal\"");
        let path = folder.join("test.toml");
        fs::write(&path, text.replace("    bytes = \"16MB\"\n", "")).expect("a file");
        fs::write(folder.join("it.goal"), trace).expect("a file");
        let file = ScenarioFile::load(&path).unwrap_or_else(|error| panic!("{error}"));
        file.build(&[]).map(|_| ()).unwrap_err().to_string()
    };
    for (trace, why) in [
        ("num_ranks 9", "it.goal: line 1: the number of ranks is 9, but at most 8"),
        (
            "num_ranks 1\nrank 0 {\nsend 5b to 0 tag 9\n}",
            "it.goal: line 3: rank 0 does not receive this message with tag 9",
        ),
        ("num_ranks 1\nrank 0 {\na: calc 1\na requires a\n}", "it.goal: line 3: it waits for itself"),
        ("num_ranks 1\nrank 0 {\ncalc 1", "it.goal: line 4: expected a closing brace"),
        ("\u{0}\u{1}", "it.goal: line 1: expected num_ranks"),
    ] {
        let error = refused(trace);
        assert!(error.contains(why), "{error}");
    }
    let key = |key, value| {
        let file = ScenarioFile::parse(STAR, "test.toml").expect("it is valid");
        file.build(&[Override::new(key, value)]).map(|_| ()).unwrap_err().to_string()
    };
    for (name, value, why) in [
        ("collective.it.kind", "hierarchical-all-reduce", "equally many hosts at each of two sites"),
        ("collective.it.hosts", r#"["h0"]"#, "two hosts or more, each once"),
        ("collective.it.hosts", r#"["h0", "h*"]"#, "two hosts or more, each once"),
        ("collective.it.kind", "goal", "file"),
        ("collective.it.overlap", "0.5", "compute"),
        ("collective.it.chunks", "65537", "1 to 65536"),
    ] {
        let error = key(name, value);
        assert!(error.contains(why), "{error}");
    }
}
