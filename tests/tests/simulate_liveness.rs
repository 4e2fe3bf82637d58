//! Links between two gateways that fail while their carriers stay: hellos tell, and nothing else does.

use config::scenario::{Override, ScenarioFile};
use conformance::simulated::Seen;
use simulation::Simulation;
use units::{Interval, Nanos};

/// Two long links, of which one is down from 8 to 500 ms, and no carrier shows it.
const TWO_LINKS: &str = r#"
[scenario]
until = "60ms"
limit = "4s"
stall = "4s"
[topology]
template = "two-data-centers"
rate = "25G"
[topology.data_center]
template = "star"
hosts = 4
[topology.long_link]
rate = "100G"
distance = "80km"
count = 2
[topology.gateway]
rate = "100G"
[host]
mtu = 4096
[long_haul]
flow_control = "bifrost"
[[traffic]]
group = "x"
pattern = "pairs"
sources = ["east-h*"]
destinations = ["west-h*"]
size = "20MB"
flows = 4
start = "5ms"
[[link]]
between = ["gw-east", "gw-west"]
index = 0
"#;
const BOTH_WAYS: &str = "faults = { down = [\"8ms\", \"500ms\"], hidden = true }\n";
const ONE_WAY: &str = "faults_there = { down = [\"8ms\", \"500ms\"], hidden = true }\n";
const HELLOS: &str = "[switch.bundle]\nliveness = \"hello\"\n";
const RETURN: Nanos = Nanos(500_000_000);

/// The ends of all flows, with these `faults` and this table for bundles.
fn ends(faults: &str, bundle: &str) -> Vec<Nanos> {
    let file = ScenarioFile::parse(&format!("{TWO_LINKS}{faults}{bundle}"), "two-links.toml");
    let file = file.unwrap_or_else(|error| panic!("{error}"));
    let none: [Override; 0] = [];
    let scenario = file.build(&none).unwrap_or_else(|error| panic!("{error}"));
    let mut seen = Seen::default();
    let simulation = Simulation::new(scenario.network.clone(), scenario.options());
    simulation.run(scenario.flows(), &mut seen).unwrap_or_else(|violation| panic!("{violation}"));
    assert_eq!(seen.flows.len(), 16, "all flows end");
    seen.flows.iter().map(|flow| flow.end).collect()
}

fn waiting(ends: &[Nanos]) -> usize {
    ends.iter().filter(|end| **end >= RETURN).count()
}

#[test]
fn a_hidden_cut_holds_flows_until_the_link_returns_and_with_hellos_none() {
    assert!(waiting(&ends(BOTH_WAYS, "")) > 3, "no carrier shows the cut");
    assert_eq!(waiting(&ends(BOTH_WAYS, HELLOS)), 0);
}

#[test]
fn a_hidden_cut_of_one_way_takes_the_link_down_at_both_ends() {
    assert!(waiting(&ends(ONE_WAY, "")) > 3, "no carrier shows the cut");
    assert_eq!(waiting(&ends(ONE_WAY, HELLOS)), 0);
    // The way of the acknowledgements, and of what the far gateway grants.
    let back =
        ONE_WAY.replace("faults_there", "between = [\"gw-west\", \"gw-east\"]\nindex = 0\nfaults_there");
    let links = format!("[[link]]\n{back}");
    assert_eq!(waiting(&ends(&links, HELLOS)), 0);
}

#[test]
fn links_that_have_yet_to_prove_themselves_carry_data_if_there_is_no_other() {
    let both = |index: u32| {
        let link = format!("between = [\"gw-east\", \"gw-west\"]\nindex = {index}\n");
        format!("{link}faults = {{ down = [\"8ms\", \"40ms\"], hidden = true }}\n")
    };
    let faults =
        both(0).lines().last().map(|line| format!("{line}\n[[link]]\n{}", both(1))).unwrap_or_default();
    // A link that is down says hello once a second, and none has lived for a minute when the flows end.
    ends(&faults, HELLOS);
}

#[test]
fn without_a_fault_hellos_hold_no_flow_once_the_links_are_up() {
    let latest = |bundle| ends("", bundle).into_iter().max().unwrap_or_default();
    // Hellos take 92 bytes of the wire every 3.3 ms.
    assert!(latest(HELLOS).since(latest("")) < Interval::from_micros(1));
}
