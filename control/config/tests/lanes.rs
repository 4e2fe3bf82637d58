//! Gateways whose ports are served by several cores together: what that costs, and what it refuses.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use config::plan::{LinkPlan, PlanError, Request, Scheme};
use config::{Gateway, diff, not_live, parse, render};
use switch::program::VirtualIncoming;
use units::{BitRate, Bytes, Distance, Interval, PortId};

const RATE: BitRate = BitRate::gigabits(100);

/// Two ports of 100G with frames of 1,082 bytes and workers that may be 10 us late. `dpdk` are keys of that table, and `port`
/// keys of each port.
fn text(dpdk: &str, port: &str) -> String {
    let of = |name: &str| {
        format!(
            "[[port]]\nname = \"{name}\"\nrate = \"100G\"\nmtu = 1064\ndistance = \"300m\"\ninterface_delay = \"10us\"\n{port}\n\
             lossless = [{{ priorities = [3, 4] }}]\ndevice = {{ vdev = \"net_null_{name}\" }}\n"
        )
    };
    format!("[buffer]\nshared = \"64MiB\"\n[dpdk]\n{dpdk}\n{}{}", of("dc0"), of("lh0"))
}

fn gateway(dpdk: &str, port: &str) -> Gateway {
    parse(&text(dpdk, port), "gw.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn lanes(count: usize) -> Gateway {
    gateway(&format!("lanes = {count}"), "tx_window = \"100ns\"")
}

fn headroom(gateway: &Gateway) -> Bytes {
    gateway.program.port(PortId(1)).groups[3].lossless().unwrap().headroom
}

#[test]
fn each_further_lane_costs_the_headroom_that_the_lead_needs_to_learn_of_it() {
    let alone = headroom(&lanes(1));
    let more = [1, 2, 4].map(|count| headroom(&lanes(count)) - alone);
    // 10 us at 100G are 125,000 bytes, which take an eighth more of the buffer, and U is 32 x 1,104 + 16,384.
    assert_eq!(more, [Bytes(0), Bytes(140_625 + 2 * 51_712), Bytes(140_625 + 6 * 51_712)]);
    assert_eq!((more[1], more[2]), (Bytes(244_049), Bytes(450_897)));
    let terms = |count| {
        let sum = lanes(count).headroom_sum(PortId(0)).unwrap();
        Bytes(sum.lead.0 * 9 / 8) + sum.lanes
    };
    assert_eq!([1, 2, 4].map(terms), more, "the sum names them");
}

#[test]
fn a_peer_with_as_many_lanes_stops_when_each_has_sent_its_window() {
    let response = |dpdk| gateway(dpdk, "tx_window = \"2us\"").headroom_sum(PortId(0)).unwrap().response.0;
    assert_eq!(response(""), 394 * 64, "IEEE 802.3 gives the peer longer than 2 us take");
    assert_eq!([response("lanes = 2"), response("lanes = 4")], [50_000, 100_000]);
}

#[test]
fn a_headroom_that_is_enough_for_one_lane_is_refused_with_two_and_the_sum_says_why() {
    let stated = format!("tx_window = \"100ns\"\n{}", "classify = { default = 3 }");
    let enough = headroom(&lanes(1));
    let text = text("lanes = 2", &stated).replace("[3, 4] }", &format!("[3, 4], headroom = \"{enough}\" }}"));
    let error = parse(&text, "gw.toml").unwrap_err().to_string();
    assert!(error.contains("103 kB x 1      at other lanes, before the lead knows"), "{error}");
    assert!(parse(&text.replace("lanes = 2", ""), "gw.toml").is_ok());
}

#[test]
fn rings_caches_and_queues_are_there_once_for_each_lane() {
    let [one, two, four] = [1, 2, 4].map(|count| lanes(count).memory().unwrap());
    let rings = [&one, &two, &four].map(|sum| (sum.receive_rings, sum.transmit_rings, sum.kept_free));
    assert_eq!(rings, [(2_048, 2_048, 512), (4_096, 4_096, 1_024), (8_192, 8_192, 2_048)]);
    assert_eq!([two.cores, four.cores], [2, 4]);
    assert!(two.total() > one.total() && four.total() > two.total());
}

#[test]
fn what_lanes_do_not_see_of_each_other_has_memory_beyond_the_pools() {
    let frames = |dpdk, port: &str| gateway(dpdk, port).program.settings().buffer.packing.unwrap().frames;
    let stated = |priorities: &str| {
        let port = "tx_window = \"100ns\"\nclassify = { default = 3 }";
        let text =
            text("lanes = 4", port).replace("[3, 4] }", &format!("{priorities}, headroom = \"2MB\" }}"));
        let text = text.replace("[buffer]", "[buffer]\nheadroom = \"8MB\"");
        parse(&text, "gw.toml").unwrap().program.settings().buffer.packing.unwrap().frames
    };
    // Two groups more, each with 3 U beyond the pools and what is reserved for it.
    let more = stated("[3, 4]") - stated("[3]");
    // An mbuf holds 115 cells of the longest frames that share one.
    assert!(more * 115 * 16 > 2 * 3 * 51_712, "{more}");
    assert!(frames("lanes = 2", "") > frames("cores = [2]", ""));
}

#[test]
fn an_emulated_link_has_room_for_a_burst_of_each_lane() {
    let frames = |dpdk| {
        let link = gateway(dpdk, "emulation = { delay = \"1us\" }").memory().unwrap();
        (link.links[0].data, link.links[0].control)
    };
    let (one, two) = (frames(""), frames("lanes = 2"));
    assert_eq!(two, (one.0 + 32, one.1 + 32));
}

#[test]
fn lateness_costs_twice_because_the_lead_may_be_late_after_another_lane_was() {
    let late = vec![Interval::from_micros(110); 2];
    let grown = |count| {
        let before = lanes(count);
        let after = before.covering(&late, &[Interval::ZERO; 2]);
        assert_eq!(after.covered_lateness(PortId(1)), Some(late[1]));
        let needed = after.headroom_sum(PortId(1)).unwrap().total();
        assert!(headroom(&after) >= needed, "{} of {needed}", headroom(&after));
        (headroom(&after) - headroom(&before)).0
    };
    let (one, two) = (grown(1), grown(2));
    // 100 us at 100G, which take an eighth more of the buffer.
    assert!((1_406_250..=1_406_252).contains(&(two - one)), "{one} {two}");
}

#[test]
fn lanes_have_the_first_cores_that_are_named_and_an_uneven_share_of_all_ports() {
    let lines = |dpdk| gateway(dpdk, "").cores().iter().map(ToString::to_string).collect::<Vec<_>>();
    let two = lines("cores = [4, 2, 7]\nlanes = 2");
    let of = |core| {
        format!(
            "core {core}, one of 2 lanes: dc0, lh0, up to 120 Gb/s: keeps up with frames of 3,000 B and more on the wire"
        )
    };
    assert_eq!(two.len(), 2, "{two:?}");
    assert!(two[0].starts_with(&of(4)) && two[1].starts_with(&of(2)), "{two:?}");
    let chosen = lines("lanes = 3");
    assert!(
        chosen[2].starts_with("a core that the gateway chooses, one of 3 lanes: dc0, lh0, up to 80 Gb/s")
    );
}

#[test]
fn lanes_that_do_not_keep_up_are_one_warning_with_the_number_that_would() {
    // Both ports bring 22.6 million frames of 1,106 bytes, and the busiest of six lanes a fifth of that.
    let warnings = |dpdk: &str| {
        let text = text(dpdk, "").replace("1064", "1500");
        let warnings = parse(&text, "gw.toml").unwrap().warnings;
        warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let told = warnings("lanes = 2");
    let [warning] = &told[..] else { panic!("{told:?}") };
    assert!(
        warning
            .contains("dpdk.lanes: a core that the gateway chooses, one of 2 lanes, handles about 5,000,000")
    );
    assert!(warning.ends_with("; set dpdk.lanes = 6"), "{warning}");
    assert_eq!(warnings("lanes = 6"), [""; 0]);
    assert_eq!(warnings("lanes = 5").len(), 1);
}

#[test]
fn lanes_are_shown_and_change_only_at_a_start() {
    let (one, two) = (lanes(1), lanes(2));
    assert!(render(&one).contains("lanes = 1") && render(&two).contains("lanes = 2"));
    assert!(diff(&one, &two).iter().any(|change| change.key == "dpdk.lanes"));
    assert!(not_live(&one, &one, &two).iter().any(|change| change.key == "dpdk.lanes"));
    let again = parse(&render(&two), "gw.toml").unwrap();
    assert_eq!((again.warnings.len(), diff(&two, &again)), (two.warnings.len(), Vec::new()));
    assert_eq!(again.program.settings(), two.program.settings());
}

#[test]
fn bifrost_on_lanes_expects_grants_for_as_long_as_another_lane_may_be_late() {
    let bifrost = |dpdk: &str, keys: &str| {
        let port = format!("flow_control = \"bifrost\"\nbifrost = {{ {keys} }}");
        parse(&text(dpdk, &port).replace("distance = \"300m\"", "distance = \"80km\""), "gw.toml")
    };
    let of = |gateway: &Gateway| *gateway.program.port(PortId(1)).flow_control.bifrost().unwrap();
    let jitter = |dpdk: &str, keys: &str| match of(&bifrost(dpdk, keys).unwrap()).virtual_incoming {
        VirtualIncoming::History { jitter } => jitter,
        VirtualIncoming::Counter => panic!("a history is the default"),
    };
    let late = "lateness = \"20us\"";
    assert_eq!([jitter("", late), jitter("lanes = 2", late)], [1, 20].map(Interval::from_micros));
    let error = bifrost("lanes = 2", &format!("{late}, jitter = \"19us\"")).unwrap_err().to_string();
    assert!(
        error.contains("port.bifrost.jitter: ") && error.contains("as much jitter as lateness"),
        "{error}"
    );
    assert!(bifrost("lanes = 2", &format!("{late}, virtual_incoming = \"counter\"")).is_ok());

    // A gateway whose cores come later than stated expects grants for longer, and has room for them.
    let before = bifrost("lanes = 2", late).unwrap();
    let after = before.covering(&[Interval::from_micros(50); 2], &[Interval::ZERO; 2]);
    let (old, new) = (of(&before), of(&after));
    assert_eq!(new.virtual_incoming, VirtualIncoming::History { jitter: new.lateness });
    let more = RATE.bytes_in(new.lateness - old.lateness);
    assert!(new.buffer.0 - old.buffer.0 >= 2 * more, "{} and {}", old.buffer.0, new.buffer.0);
}

fn planned(gigabits: u64, scheme: &str, lanes: u8) -> Result<LinkPlan, PlanError> {
    let scheme: Scheme = scheme.parse().unwrap();
    let mtu = Bytes(1_500);
    LinkPlan::new(&Request {
        scheme,
        lanes,
        mtu,
        ..Request::new(Distance(80_000), BitRate::gigabits(gigabits))
    })
}

#[test]
fn a_plan_whose_cores_are_too_slow_names_the_lanes_that_carry_it_and_holds_with_them() {
    let slow = planned(100, "pfc", 1).unwrap();
    let [lack] = &slow.lacks[..] else { panic!("{:?}", slow.lacks) };
    assert!(lack.why.ends_with(", and so does this one with --lanes 6"), "{lack}");
    let fast = planned(100, "pfc", 6).unwrap();
    assert_eq!(fast.lacks, []);
    assert!(fast.built.texts[0].1.contains("\n[dpdk]\nlanes = 6\n"), "{}", fast.built.texts[0].1);
    let few = planned(100, "pfc", 2).unwrap();
    assert!(few.lacks[0].why.ends_with("--lanes 6"), "{}", few.lacks[0]);
}

#[test]
fn a_plan_with_lanes_shows_their_headroom_as_a_step() {
    let plan = planned(10, "pfc", 2).unwrap();
    for title in ["Headroom of lh0", "Buffer of dc0"] {
        let part = plan.parts.iter().find(|part| part.title.starts_with(title)).unwrap();
        let step = |name: &str| part.steps.iter().find(|step| step.name == name).unwrap();
        let numbers = |name: &str| step(name).result.number();
        // Frames of 1,518 bytes take 96 cells: 1,536 bytes. A microsecond at 10G is 1,250 bytes.
        assert_eq!(numbers("unseen"), 32 * 1_536 + 16_384);
        assert_eq!((numbers("lead"), numbers("other_lanes")), (1_250, 2 * numbers("unseen")));
        assert!(step("headroom").formula.ends_with(" + other_lanes"));
    }
}

#[test]
fn a_plan_with_lanes_is_refused_where_its_scheme_has_no_bound_for_them() {
    assert!(planned(100, "bifrost", 2).is_ok());
    let error = planned(100, "bifrostx", 2).unwrap_err().to_string();
    assert!(error.starts_with("port.flow_control: ") && error.contains("lh0"), "{error}");
    let slow = planned(100, "bifrostx", 1).unwrap();
    assert!(
        slow.lacks[0].why.contains("; --lanes 6 would carry this one, but port lh0: its flow control works"),
        "{}",
        slow.lacks[0]
    );
}
