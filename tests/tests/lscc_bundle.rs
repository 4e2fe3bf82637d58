//! LSCC over parallel links: the members of a bundle keep their flows together, so the sender of each flow is found, although
//! its data and its acknowledgements cross different links. Where the links are no bundle, few are.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use config::scenario::ScenarioFile;
use conformance::simulated::Seen;
use simulation::{Outcome, Simulation};
use std::path::Path;
use switch::{DataFlows, LimiterCounters, ResolverCounters};

const SENDERS: u32 = 64;

/// Members of a bundle have tables of one size, so these links are none.
const APART: &str = r#"
    [[node]]
    name = "gw-east"
    port."gw-west:0".lscc.flows = 2048

    [[node]]
    name = "gw-west"
    port."gw-east:0".lscc.flows = 2048
"#;

/// One link fails for good while the flows run.
const FAILING: &str = r#"
    [[link]]
    between = ["gw-east", "gw-west"]
    index = 0
    faults = { down = ["8ms", "500ms"] }
"#;

/// The gateway of the senders.
#[derive(Debug)]
struct Gateway {
    /// The ports that keep flows.
    tables: usize,
    data: DataFlows,
    resolver: ResolverCounters,
    /// By long port.
    limiters: Vec<LimiterCounters>,
}

/// 64 flows over the links of `config/scenarios/two-links.toml`, with these lines in place of its failure.
fn run(links: u32, lanes: u32, lines: &str) -> Gateway {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/scenarios/two-links.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let (text, _) = text.split_once("[[link]]").unwrap();
    let text = text.replace("count = 2", &format!("count = {links}"));
    let text = text.replace("flows = 4", "flows = 16").replace("\"20MB\"", "\"8MB\"");
    let lscc = "[long_haul.lscc]\ninterval = \"200us\"\nreference = \"1MB\"\n";
    let text = format!("{text}\n[switch]\nlanes = {lanes}\n{lscc}{lines}");
    let file = ScenarioFile::parse(&text, "two-links.toml").unwrap();
    let scenario = file.build(&[]).unwrap_or_else(|error| panic!("{error}"));
    let simulation = Simulation::new(scenario.network.clone(), scenario.options());
    let outcome = simulation.run(scenario.flows(), &mut Seen::default());
    let outcome = outcome.unwrap_or_else(|violation| panic!("{violation}"));
    assert_eq!((outcome.flows_started, outcome.flows_ended), (SENDERS.into(), SENDERS.into()));
    let number = scenario.network.nodes.iter().position(|node| node.name == "gw-east").unwrap();
    let gateway = gateway(&outcome, number);
    // A CNP to a queue pair that is none of its own is a stray at a host.
    assert_eq!(outcome.hosts.iter().map(|host| host.counters.strays).sum::<u64>(), 0);
    gateway
}

fn gateway(outcome: &Outcome, number: usize) -> Gateway {
    let switch = outcome.switches.iter().find(|it| it.node.0 as usize == number).unwrap();
    let tables: Vec<_> = switch.ports.iter().filter_map(|port| port.flows).collect();
    let mut found = Gateway {
        tables: tables.len(),
        data: DataFlows::default(),
        resolver: ResolverCounters::default(),
        limiters: switch.ports.iter().filter_map(|port| Some(port.notifiers.lscc?.limiter)).collect(),
    };
    for flows in tables {
        found.data.resolved += flows.data.resolved;
        found.data.unresolved += flows.data.unresolved;
        found.resolver.resolved_by_psn += flows.resolver.resolved_by_psn;
        found.resolver.suspended += flows.resolver.suspended;
        found.resolver.contradicted += flows.resolver.contradicted;
    }
    found
}

/// Marks of packets whose sender was not known, of all links.
fn marked_instead(gateway: &Gateway) -> u64 {
    gateway.limiters.iter().map(|it| it.marked_instead).sum()
}

#[test]
fn the_senders_behind_a_bundle_are_found_like_those_behind_one_link() {
    let (one, bundle, apart) = (run(1, 1, ""), run(2, 1, ""), run(2, 1, APART));
    for found in [&one, &bundle, &run(2, 2, ""), &run(1, 2, "")] {
        assert_eq!((found.data.resolved, found.data.unresolved, found.tables), (SENDERS, 0, 1));
        assert_eq!((found.resolver.suspended, found.resolver.contradicted), (0, 0));
    }
    assert!(bundle.limiters.len() == 2 && bundle.limiters.iter().all(|it| it.direct_cnps > 1_000));
    assert_eq!(apart.tables, 2);
    assert!(apart.data.resolved <= SENDERS / 2, "{apart:?}");
    assert!(marked_instead(&apart) > 10 * marked_instead(&bundle), "{apart:?}");
}

#[test]
fn a_link_that_fails_changes_nothing_of_the_senders_that_are_known() {
    let found = run(2, 1, FAILING);
    assert_eq!((found.data.resolved, found.data.unresolved), (SENDERS, 0), "{found:?}");
    assert_eq!((found.resolver.suspended, found.resolver.contradicted), (0, 0), "{found:?}");
}
