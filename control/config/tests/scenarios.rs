//! The scenarios that we ship, and what they say.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::{Path, PathBuf};

use config::scenario::{Override, ScenarioFile};
use endpoint::CongestionControl;
use simulation::NodeKind;
use switch::lanes::extra_headroom;
use units::{Bytes, Interval, Nanos};

fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/scenarios")
}

/// The warnings for the scenarios in a directory, all their variants included, and the number of scenarios.
fn warnings(directory: &Path) -> (Vec<String>, usize) {
    let (mut warnings, mut count) = (Vec::new(), 0);
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let file = ScenarioFile::load(&path).unwrap_or_else(|error| panic!("{error}"));
        let found = file.check().unwrap_or_else(|error| panic!("{error}"));
        warnings.extend(found.iter().map(ToString::to_string));
        count += 1;
    }
    (warnings, count)
}

#[test]
fn every_scenario_that_we_ship_is_valid_in_all_its_variants_and_gives_no_warning() {
    let (warnings, count) = warnings(&shipped());
    assert!(warnings.is_empty(), "{}", warnings.join("\n"));
    assert!(count >= 2, "found {count} files");
}

#[test]
fn every_experiment_is_valid_in_all_its_variants() {
    // Settings of papers may be warned of.
    let (_, count) = warnings(&shipped().join("../experiments"));
    assert!(count >= 15, "found {count} files");
}

#[test]
fn an_override_goes_before_the_file_and_the_last_of_two_holds() {
    let file = ScenarioFile::load(shipped().join("incast.toml")).unwrap();
    let set = |texts: &[&str]| {
        let overrides: Vec<Override> = texts.iter().map(|text| text.parse().unwrap()).collect();
        file.build(&overrides).unwrap_or_else(|error| panic!("{error}"))
    };
    assert_eq!(set(&[]).topology.hosts().count(), 17);
    assert_eq!(set(&["topology.senders=4"]).topology.hosts().count(), 5);
    let twice = set(&["scenario.until=3ms", "traffic.incast.size=2kB", "scenario.until=2ms"]);
    assert_eq!(twice.until, Nanos(2_000_000));
    assert!(twice.flows().all(|flow| flow.bytes == Some(2_000)));
}

fn built(text: &str) -> config::scenario::Scenario {
    let file = ScenarioFile::parse(text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    file.build(&[]).unwrap_or_else(|error| panic!("{error}"))
}

const TRAFFIC: &str = "
    [[traffic]]
    group = \"all\"
    pattern = \"all-to-all\"
    size = \"1MB\"
";

#[test]
fn two_parallel_long_links_have_the_thresholds_that_are_stated_for_them() {
    let scenario = built(&format!(
        "{TRAFFIC}
        [topology]
        template = \"two-data-centers\"
        data_center = {{ template = \"hosts\", hosts = 2 }}
        long_link = {{ count = 2, delay = \"400us\" }}

        [long_haul]
        lossless = {{ xoff = \"6MB\", xon = \"6MB\", headroom = \"12MB\" }}
        "
    ));
    let west = &scenario.switches.iter().find(|(name, _)| name == "gw-west").unwrap().1;
    assert_eq!(west.matches("headroom = \"12MB\"").count(), 2, "{west}");
    assert!(
        west.contains("next_hops = [\"172.16.0.8\", \"172.16.0.10\"]"),
        "both links share the flows: {west}"
    );
}

#[test]
fn a_relay_does_not_pause_the_long_link_at_the_thresholds_of_the_switches() {
    let with = |thresholds: &str| {
        let scenario = built(&format!(
            "{TRAFFIC}
            [topology]
            template = \"two-data-centers\"
            data_center = {{ template = \"hosts\", hosts = 2 }}
            long_link = {{ delay = \"400us\", relay = true }}

            [switch]
            lossless = {{ {thresholds} }}
            "
        ));
        scenario.switches.into_iter().find(|(name, _)| name == "relay-west").unwrap().1
    };
    let relay = with("xoff = \"288kB\", xon = \"288kB\"");
    assert_eq!(relay.matches("xoff = \"288kB\"").count(), 1, "the port to the gateway alone: {relay}");
    assert_eq!(with("dynamic_th = 2").matches("dynamic_th").count(), 1);
}

#[test]
fn headroom_that_no_distance_allows_can_be_had_without_one() {
    let text = format!(
        "{TRAFFIC}
        [topology]
        template = \"fat-tree\"

        [switch]
        buffer.shared = \"10MB\"
        lossless = {{ xoff = \"288kB\", xon = \"288kB\", headroom = \"30kB\" }}
        ecn = {{ kmin = \"100kB\", kmax = \"250kB\" }}
        port.distance = \"none\"
        "
    );
    let scenario = built(&text);
    assert!(scenario.warnings.iter().any(|warning| warning.to_string().contains("headroom was not checked")));
    let checked = text.replace("port.distance = \"none\"", "");
    let error = ScenarioFile::parse(&checked, "test.toml").unwrap().build(&[]).unwrap_err();
    assert!(error.to_string().contains("the headroom of 30kB is too small"), "{error}");
}

#[test]
fn a_host_may_be_farther_away_and_a_link_may_fail_with_flows_rerouted() {
    let scenario = built(&format!(
        "{TRAFFIC}
        [topology]
        template = \"leaf-spine\"

        [[link]]
        between = [\"h0\", \"leaf0\"]
        delay = \"885us\"

        [[link]]
        between = [\"leaf0\", \"spine0\"]
        remove = true

        [[route]]
        node = \"spine0\"
        to = [\"h0\"]
        via = [\"leaf1\"]

        [[node]]
        name = \"h[0-1]\"
        host.congestion_control = \"timely\"
        host.timely.t_low = \"20us\"
        host.timely.least_interval = \"0us\"
        host.timely.once_per_round_trip = true
        "
    ));
    let h0 = scenario.topology.find("h0").unwrap().0 as usize;
    let NodeKind::Host(host) = &scenario.network.nodes[h0].kind else { panic!("h0 is a host") };
    let CongestionControl::Timely(timely) = host.congestion_control else { panic!("it has TIMELY") };
    assert_eq!(timely.t_low, units::Interval::from_micros(20));
    assert_eq!((timely.least_interval, timely.once_per_round_trip), (units::Interval::ZERO, true));
    let links = &scenario.topology.links;
    assert_eq!(links.len(), 16 + 7);
    let far = links.iter().find(|link| link.name == "h0/leaf0").unwrap();
    assert_eq!(far.settings.delay, units::Interval::from_micros(885));
    let [spine, leaf, host] = ["spine0", "leaf1", "h0"].map(|name| scenario.topology.find(name).unwrap());
    let ports = scenario.topology.ports_toward(spine, host);
    let port = &scenario.topology.node(spine).ports[ports[0].index()];
    assert_eq!((ports.len(), port.name.as_str()), (1, "leaf1"));
    assert_eq!(scenario.topology.ports_toward(leaf, host).len(), 1, "by the spine that is left");
}

#[test]
fn what_a_node_says_of_a_host_goes_over_what_all_hosts_say_key_by_key() {
    let scenario = built(&format!(
        "{TRAFFIC}
        [topology]
        template = \"incast\"
        senders = 2

        [host]
        mtu = 4096
        congestion_control = \"timely\"
        timely.t_low = \"20us\"
        timely.t_high = \"200us\"

        [[node]]
        name = \"h1\"
        host.timely.t_high = \"300us\"
        "
    ));
    let thresholds = |name: &str| {
        let id = scenario.topology.find(name).unwrap().0 as usize;
        let NodeKind::Host(host) = &scenario.network.nodes[id].kind else { panic!("{name} is a host") };
        let CongestionControl::Timely(timely) = host.congestion_control else { panic!("it has TIMELY") };
        (host.mtu, timely.t_low, timely.t_high)
    };
    let micros = units::Interval::from_micros;
    assert_eq!(thresholds("h0"), (4_096, micros(20), micros(200)));
    assert_eq!(thresholds("h1"), (4_096, micros(20), micros(300)));
}

#[test]
fn a_variant_turns_bifrost_off_by_its_word_alone() {
    let text = format!(
        "{TRAFFIC}
        [topology]
        template = \"two-data-centers\"

        [long_haul]
        flow_control = \"bifrost\"
        bifrost.slot = \"10us\"
        "
    );
    let file = ScenarioFile::parse(&text, "test.toml").unwrap();
    let with_bifrost = |overrides: &[Override]| {
        let scenario = file.build(overrides).unwrap_or_else(|error| panic!("{error}"));
        scenario.switches.iter().filter(|(_, file)| file.contains("[port.bifrost]")).count()
    };
    assert_eq!(with_bifrost(&[]), 2);
    assert_eq!(with_bifrost(&["long_haul.flow_control=pfc".parse().unwrap()]), 0);
}

#[test]
fn lscc_gets_addresses_and_a_key_and_nothing_beside_it_marks() {
    let scenario = built(&format!(
        "{TRAFFIC}
        [topology]
        template = \"two-data-centers\"

        [long_haul]
        flow_control = \"bifrost\"
        bifrost.slot = \"10us\"
        lscc.reference = \"2MB\"
        lscc.step = \"500M\"
        lscc.senders.rate = \"25G\"
        "
    ));
    assert!(scenario.warnings.is_empty(), "{:?}", scenario.warnings);
    let lscc = |name: &str| {
        let id = scenario.topology.find(name).unwrap();
        let simulation::NodeKind::Switch { program, .. } = &scenario.network.nodes[id.0 as usize].kind else {
            panic!()
        };
        let ports = &program.settings().ports;
        let port = ports.iter().find(|port| port.notifiers.lscc.is_some()).unwrap();
        let others = ports.iter().filter(|port| port.notifiers.lscc.is_none());
        assert!(others.flat_map(|port| &port.queues).all(|queue| queue.red.is_none()));
        let lscc = port.notifiers.lscc.as_ref().unwrap();
        (lscc.feedback.local, lscc.feedback.peer)
    };
    let (east, west) = (lscc("gw-east"), lscc("gw-west"));
    assert_eq!(east, (west.1, west.0));
}

#[test]
fn switches_do_not_choose_equal_paths_alike_and_hpcc_gets_its_telemetry() {
    let text =
        format!("[host]\ncongestion_control = \"hpcc\"\n[topology]\ntemplate = \"leaf-spine\"\n{TRAFFIC}");
    let scenario = built(&text);
    let seeds: std::collections::BTreeSet<u64> = scenario
        .network
        .nodes
        .iter()
        .filter_map(|node| match &node.kind {
            simulation::NodeKind::Switch { program, .. } => {
                assert!(program.settings().ports.iter().all(|port| port.int));
                Some(program.settings().seed)
            }
            simulation::NodeKind::Host(_) => None,
        })
        .collect();
    assert_eq!(seeds.len(), 6);
}

#[test]
fn lscc_expects_the_hosts_of_the_scenario_as_senders() {
    let scenario = |dcqcn: &str, senders: &str| {
        built(&format!(
            "{TRAFFIC}
            [topology]
            template = \"two-data-centers\"
            rate = \"40G\"
            data_center = {{ template = \"hosts\", hosts = 2 }}
            long_link = {{ rate = \"200G\", delay = \"1ms\" }}

            [host.dcqcn]
            {dcqcn}

            [long_haul]
            flow_control = \"bifrost\"
            bifrost.slot = \"10us\"
            lscc = {{ reference = \"2MB\", step = \"1G\"{senders} }}
            "
        ))
    };
    let warned = |dcqcn, senders| {
        let warnings = scenario(dcqcn, senders).warnings;
        warnings.iter().map(ToString::to_string).filter(|it| it.contains("equation (12)")).collect::<String>()
    };
    let nic = "rate_timer = \"300us\"";
    let told = "below 133.333333M, which DCQCN can follow in an interval with M = 5 senders of 40 Gb/s, R_AI = 40 Mb/s and T_i = 300 us";
    assert!(warned(nic, "").contains(told), "{}", warned(nic, ""));
    assert_eq!(warned("additive_increase = \"400M\"", ""), "");
    assert_eq!(warned(nic, ", senders.rate_timer = \"30us\""), "", "what is stated holds");
    let east = &scenario(nic, "").switches.iter().find(|(name, _)| name == "gw-east").unwrap().1.clone();
    let gateway = config::parse(east, "gw-east.toml").unwrap_or_else(|error| panic!("{error}"));
    let said = gateway.warnings.iter().map(ToString::to_string).collect::<String>();
    assert!(said.contains(told), "the configuration of the switch says so too: {said}");
}

#[test]
fn a_switch_has_the_lanes_that_are_stated_for_it_and_their_headroom_and_one_where_none_are_stated() {
    let switches = |text: &str| {
        let scenario = built(&format!("{TRAFFIC}[topology]\ntemplate = \"dumbbell\"\n{text}"));
        let of_node = |node: &simulation::NodeSpec| match &node.kind {
            NodeKind::Switch { program, lanes } => {
                let port = &program.settings().ports[0];
                Some((*lanes, port.tx_window, port.groups[3].lossless().unwrap().headroom))
            }
            NodeKind::Host(_) => None,
        };
        scenario.network.nodes.iter().filter_map(of_node).collect::<Vec<_>>()
    };
    let plain = switches("");
    assert!(plain.len() == 2 && plain.iter().all(|it| (it.0, it.1) == (1, Interval::ZERO)));
    assert_eq!(switches("[switch]\nlanes = 1"), plain);
    let four = switches("[switch]\nlanes = 4");
    // 2 x 3 x U, and more for the response to a pause.
    let more = four.iter().zip(&plain).map(|(four, plain)| four.2 - plain.2);
    assert!(more.min().unwrap() > extra_headroom(4, Bytes(1_082)) && four.iter().all(|it| it.0 == 4));
    let one_of_them = switches("[switch]\nlanes = 4\n[[node]]\nname = \"sw-left\"\nswitch.lanes = 1");
    assert_eq!(one_of_them, [plain[0], four[1]]);
}

#[test]
fn a_switch_has_the_lanes_of_its_file() {
    let text = format!("{TRAFFIC}[topology]\ntemplate = \"dumbbell\"\n");
    let (name, file) = built(&format!("{text}[switch]\nlanes = 3")).switches.swap_remove(0);
    let directory = tempfile::tempdir().unwrap();
    let scenario = directory.path().join("scenario.toml");
    fs::write(directory.path().join("gateway.toml"), file).unwrap();
    let own = format!("[[node]]\nname = \"{name}\"\nconfiguration = \"gateway.toml\"\n");
    fs::write(&scenario, format!("{text}{own}")).unwrap();
    let scenario = ScenarioFile::load(&scenario).unwrap().build(&[]).unwrap();
    let lanes = scenario.network.nodes.iter().filter_map(|node| match node.kind {
        NodeKind::Switch { lanes, .. } => Some(lanes),
        NodeKind::Host(_) => None,
    });
    assert_eq!(lanes.collect::<Vec<_>>(), [3, 1]);
}
