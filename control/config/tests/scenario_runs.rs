//! Scenarios in the simulator: what is built runs, and ends as it must.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::path::Path;

use config::scenario::{Claim, Override, Paper, Scenario, ScenarioFile, Source};
use simulation::{FlowRecord, Observer, Outcome, Simulation};

#[derive(Default)]
struct Ends(Vec<FlowRecord>);

impl Observer for Ends {
    fn completed(&mut self, record: &FlowRecord) {
        self.0.push(record.clone());
    }
}

fn run(scenario: &Scenario) -> (Outcome, Vec<FlowRecord>) {
    let mut ends = Ends::default();
    let outcome =
        Simulation::new(scenario.network.clone(), scenario.options()).run(scenario.flows(), &mut ends);
    (outcome.unwrap_or_else(|violation| panic!("{violation}")), ends.0)
}

fn built(text: &str) -> Scenario {
    let file = ScenarioFile::parse(text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    file.build(&[]).unwrap_or_else(|error| panic!("{error}"))
}

/// One flow of `bytes` through the network that `topology` draws.
fn alone(topology: &str, between: [&str; 2], bytes: &str) -> FlowRecord {
    let [source, destination] = between;
    let scenario = built(&format!(
        "[topology]\n{topology}\n[host]\ncongestion_control = \"none\"\n[[traffic]]\ngroup = \"one\"\n\
         pattern = \"pairs\"\nsources = [\"{source}\"]\ndestinations = [\"{destination}\"]\nsize = \"{bytes}\"\n"
    ));
    let (_, mut ends) = run(&scenario);
    assert_eq!(ends.len(), 1, "{topology}");
    ends.remove(0)
}

#[test]
fn a_flow_that_is_alone_takes_the_ideal_time_to_the_nanosecond_in_every_template() {
    let networks = [
        ("template = \"incast\"\nsenders = 2", ["h0", "r0"]),
        ("template = \"incast\"\nsenders = 2\nreceiver.rate = \"10G\"", ["h0", "r0"]),
        (
            "template = \"dumbbell\"\nbottleneck.rate = \"40G\"\nbottleneck.delay = \"7us\"",
            ["left0", "right1"],
        ),
        // Five switches in a row.
        (
            "template = \"free\"\nhosts = [\"h[0-1]\"]\nswitches = [\"s[0-4]\"]\n\
             [[topology.link]]\nbetween = [\"h0\", \"s0\"]\n[[topology.link]]\nbetween = [\"h1\", \"s4\"]\n\
             [[topology.link]]\nbetween = [\"s0\", \"s1\"]\nrate = \"400G\"\n\
             [[topology.link]]\nbetween = [\"s1\", \"s2\"]\nrate = \"400G\"\n\
             [[topology.link]]\nbetween = [\"s2\", \"s3\"]\nrate = \"400G\"\n\
             [[topology.link]]\nbetween = [\"s3\", \"s4\"]\nrate = \"400G\"",
            ["h0", "h1"],
        ),
        ("template = \"leaf-spine\"\nuplink.rate = \"200G\"", ["h0", "h15"]),
        ("template = \"fat-tree\"\nk = 4", ["h0", "h15"]),
        (
            "template = \"two-data-centers\"\nlong_link.rate = \"400G\"\nlong_link.delay = \"3ms\"",
            ["east-h0", "west-h3"],
        ),
        (
            "template = \"free\"\nhosts = [\"a\", \"b\"]\n[[topology.link]]\nbetween = [\"a\", \"b\"]",
            ["a", "b"],
        ),
        // A detour of two links instead of one, and back by the shorter way.
        (
            "template = \"free\"\nhosts = [\"a\", \"b\"]\nswitches = [\"s[0-2]\"]\n\
             [[topology.link]]\nbetween = [\"a\", \"s0\"]\n[[topology.link]]\nbetween = [\"b\", \"s1\"]\n\
             [[topology.link]]\nbetween = [\"s0\", \"s1\"]\n\
             [[topology.link]]\nbetween = [\"s2\", \"s[0-1]\"]\ndelay = \"3us\"\n\
             [[route]]\nnode = \"s0\"\nto = [\"b\"]\nvia = [\"s2\"]",
            ["a", "b"],
        ),
    ];
    for (topology, between) in networks {
        for bytes in ["1B", "1024B", "5000B", "300kB"] {
            let record = alone(topology, between, bytes);
            assert_eq!(record.end.since(record.flow.start), record.ideal, "{topology} with {bytes}");
        }
    }
}

#[test]
fn every_scenario_that_we_ship_runs_to_its_end_in_all_its_variants_when_it_is_quick() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/scenarios");
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let file = ScenarioFile::load(&path).unwrap();
        let variants: Vec<Vec<Override>> = match file.variants.as_slice() {
            [] => vec![Vec::new()],
            variants => variants.iter().map(|variant| variant.overrides.clone()).collect(),
        };
        for variant in variants {
            let scenario = file.build(&[variant, file.quick.clone()].concat()).unwrap();
            let (outcome, ends) = run(&scenario);
            assert_eq!(outcome.flows_started, outcome.flows_ended, "{}", path.display());
            assert!(!ends.is_empty(), "{}", path.display());
        }
    }
}

/// A claim with these further keys.
fn claim(keys: &str) -> Claim {
    let text = format!(
        "[topology]\ntemplate = \"incast\"\n[[traffic]]\npattern = \"all-to-all\"\n\
         [[variant]]\nname = \"one\"\n[[variant]]\nname = \"other\"\n\
         [[claim]]\nid = \"id\"\ntext = \"text\"\nmetric = \"metric\"\nof = \"one\"\n{keys}"
    );
    let mut file = ScenarioFile::parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    file.claims.remove(0)
}

#[test]
fn a_claim_is_that_of_a_paper_unless_it_is_ours() {
    let source = |stated: &str| claim(&format!("paper = 0\n{stated}")).source;
    let stated = ["", "source = \"paper\"", "source = \"ours\""];
    assert_eq!(stated.map(source), [Source::Paper, Source::Paper, Source::Ours]);
}

#[test]
fn a_claim_of_equality_has_a_tolerance_of_its_own() {
    let tolerance = |against: &str, paper: &str, stated: &str| match claim(&format!(
        "paper = {paper}\n{against}{stated}"
    ))
    .paper
    {
        Paper::Figure { tolerance, .. } => tolerance,
        Paper::Range { .. } => panic!("it is one figure"),
    };
    let against = "against = \"other\"\n";
    for (against, paper, stated, expected) in [
        (against, "0", "", 0.05),
        (against, "0.0", "tolerance = 0.3", 0.3),
        (against, "-0.18", "", 0.3),
        ("", "0", "", 0.3),
        ("", "2e6", "tolerance = 0.1", 0.1),
    ] {
        assert_eq!(tolerance(against, paper, stated), expected, "{against}{paper} {stated}");
    }
}
