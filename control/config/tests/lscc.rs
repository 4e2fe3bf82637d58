//! LSCC: what follows from a file, and which files it is refused with.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::{Path, PathBuf};

use config::{Gateway, Protection, load, parse};
use switch::program::{Lscc, Threshold};
use units::{BitRate, Bytes, Cells, Interval, Priority, WireBytes};
use wire::rate_feedback::Key;

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/gateways").join(name)
}

fn lscc<'a>(gateway: &'a Gateway, port: &str) -> &'a Lscc {
    gateway.program.port(gateway.port(port).unwrap()).notifiers.lscc.as_ref().unwrap()
}

/// A long port of 100G with `keys` and `lscc`, and a port behind it with `other`.
fn file(keys: &str, lscc: &str, other: &str) -> String {
    format!(
        r#"
        [[port]]
        name = "lh0"
        rate = "100G"
        lossless = [{{ priorities = [3] }}]
        {keys}

        [port.lscc]
        local = "10.255.0.1"
        peer = "10.255.0.2"
        {lscc}

        [[port]]
        name = "dc0"
        rate = "100G"
        {other}
        "#
    )
}

const KEY: &str = "key = \"00112233445566778899aabbccddeeff\"";

fn valid(text: &str) -> Gateway {
    let gateway = parse(text, "lscc.toml").unwrap_or_else(|error| panic!("{error}"));
    assert!(gateway.warnings.is_empty(), "{:?}", gateway.warnings);
    gateway
}

#[test]
fn the_long_haul_file_gets_the_sums_that_its_comment_adds_up() {
    let path = shipped("longhaul-lscc-80km.toml");
    let gateway = load(&path).unwrap();
    let long = lscc(&gateway, "lh0");
    let port = gateway.program.port(gateway.port("lh0").unwrap());
    let (_, sum) = gateway.lscc().next().unwrap();
    assert_eq!((long.round_trip, sum.rates_in_flight), (Interval(814_564), 5));
    assert_eq!((sum.reference, sum.tolerated), (Bytes(1_268_205), 10_000_000_000));
    assert_eq!((sum.bounds.above, sum.bounds.below), (100_007_491, 581_818_181));
    assert_eq!((sum.halved, sum.follows), (Bytes(68_216_025), Interval(20_814_564)));
    assert_eq!(sum.beneath, Protection::Bifrost { buffer: Bytes(12_588_147) });
    assert_eq!((long.limiting.long_flow, sum.flow_table()), (None, Bytes(8_650_752)));
    let group = port.groups[Priority::new(3).unwrap().index()].lossless().unwrap();
    assert_eq!(group.xoff, Threshold::Static(Cells::of_any_mix(WireBytes(12_588_147 + 1_065_377)).bytes()));

    let text = fs::read_to_string(path).unwrap();
    for figure in ["814,564", "1,268,205", "581.8", "625,000 ", "68,216,025", "12,588,147"] {
        assert!(text.contains(figure), "{figure}");
    }
    let (above, _) = text.split_once("interval = ").unwrap();
    let again = valid(&above.replace("key_file = \"../keys/example.key\"", KEY));
    let mut again = *lscc(&again, "lh0");
    again.feedback.key = long.feedback.key;
    assert_eq!(again, *long, "the values that it writes out are the defaults");
}

#[test]
fn what_is_said_of_a_port_is_a_line_for_each_figure() {
    let gateway = load(shipped("longhaul-lscc-80km.toml")).unwrap();
    let (port, sum) = gateway.lscc().next().unwrap();
    let said = "
lh0: LSCC from 10.255.0.1 to 10.255.0.2, with a key
               5 rates on their way: one every 200 us, in a round trip of 815 us
         1.27 MB of queue aimed at (Qref), not empty while the bottleneck gains up to 10 Gb/s in 1.01 ms
        500 Mb/s from one rate to the next (dR); by equation (12) above 100 Mb/s, and below 582 Mb/s for M = 4 senders of 25 Gb/s, R_AI = 40 Mb/s and T_i = 55.0 us
         68.2 MB above Qref at most where the bottleneck falls to half of the rate, followed in 20.8 ms
         12.6 MB of Bifrost's buffer beneath: less than that, so it holds the link back meanwhile, and nothing is lost
         8.65 MB of table for 65,536 flows";
    assert_eq!(format!("\n{port}: {sum}"), said);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    assert!(fs::read_to_string(page).unwrap().contains(&said[1..]), "the page shows the same");
}

#[test]
fn a_halved_bottleneck_at_200g_over_200_km_takes_three_bdp_and_half_an_interval_beyond_qref() {
    let halved = |step: &str| {
        let own = format!("{KEY}\nround_trip = \"2ms\"\nstep = \"{step}\"");
        let text = file("distance = \"80km\"", &own, "").replacen("100G", "200G", 1);
        parse(&text, "lscc.toml").unwrap().lscc().next().unwrap().1.halved
    };
    assert_eq!(halved("1G"), Bytes(25_000_000 + 125_000_000 + 1_250_000));
    assert_eq!(halved("none"), Bytes(27_500_000), "equation (9)");
}

#[test]
fn the_flow_table_takes_124_bytes_a_flow_and_an_index_of_a_power_of_two() {
    let table = |flows: u32| {
        let text = file("distance = \"80km\"", &format!("{KEY}\nflows = {flows}"), "");
        valid(&text).lscc().next().unwrap().1.flow_table().0
    };
    assert_eq!([1, 3].map(table), [124 + 8, 372 + 32]);
    assert_eq!(table(1 << 16), (124 << 16) + (4 << 17), "twice as many words as flows");
    assert_eq!(table(1_000_000), 132_388_608);
}

#[test]
fn no_flow_is_long_unless_the_file_says_from_which_size_on() {
    let long_flow = |own: &str| {
        let gateway = valid(&file("distance = \"80km\"", &format!("{KEY}\n{own}"), ""));
        lscc(&gateway, "lh0").limiting.long_flow
    };
    assert_eq!([long_flow(""), long_flow("long_flow = \"none\"")], [None; 2]);
    assert_eq!(long_flow("long_flow = \"bdp\""), Some(WireBytes(10_182_050)));
    assert_eq!(long_flow("long_flow = \"20MB\""), Some(WireBytes(20_000_000)));
}

#[test]
fn the_pseudo_queue_holds_twice_its_reference_unless_the_file_says_otherwise() {
    let limit = |own: &str| {
        let gateway = valid(&file("distance = \"80km\"", &format!("{KEY}\n{own}"), ""));
        lscc(&gateway, "lh0").limiting.limit
    };
    assert_eq!(limit("pseudo_reference = \"1MB\""), Some(WireBytes(2_000_000)));
    assert_eq!(limit("pseudo_reference = \"1kB\""), Some(WireBytes(1_000 + (64 << 10))));
    assert_eq!(limit("pseudo_reference = \"1MB\"\npseudo_limit = \"1500kB\""), Some(WireBytes(1_500_000)));
    assert_eq!(limit("pseudo_limit = \"none\""), None);
}

#[test]
fn the_two_ends_of_the_replay_speak_to_each_other() {
    let (near, far) = (load(shipped("replay-near.toml")).unwrap(), load(shipped("replay-far.toml")).unwrap());
    let (near, far) = (lscc(&near, "lh0"), lscc(&far, "lh0"));
    assert_eq!((near.feedback.local, near.feedback.peer), (far.feedback.peer, far.feedback.local));
    assert_eq!((near.feedback.key, far.feedback.key), (None, None), "what is recorded is refused with a key");
    assert_eq!((near.interval, near.round_trip), (far.interval, far.round_trip));
}

#[test]
fn the_round_trip_is_the_one_stated_or_that_of_bifrost_or_follows_from_the_distance() {
    let round_trip = |keys: &str, own: &str| {
        let gateway = valid(&file(keys, &format!("{KEY}\n{own}"), ""));
        let port = gateway.program.port(gateway.port("lh0").unwrap());
        let lscc = port.notifiers.lscc.as_ref().unwrap();
        lscc.round_trip
    };
    let bifrost = "distance = \"80km\"\nflow_control = \"bifrost\"\nbifrost = { round_trip = \"900us\" }";
    assert_eq!(round_trip(bifrost, "round_trip = \"850us\""), Interval(850_000));
    assert_eq!(round_trip(bifrost, ""), Interval(900_000));
    assert_eq!(round_trip("distance = \"80km\"", ""), Interval(814_564));
}

#[test]
fn rates_are_calculated_every_200_us_or_once_a_round_trip_where_that_is_shorter() {
    let interval = |distance: &str| {
        let text = file(&format!("distance = \"{distance}\""), KEY, "");
        lscc(&parse(&text, "lscc.toml").unwrap(), "lh0").interval
    };
    assert_eq!(interval("80km"), Interval::from_micros(200));
    assert_eq!(interval("10km"), Interval(107_494), "101,011 ns of fibre, and the ends");
}

#[test]
fn the_least_rate_is_a_hundredth_and_10_megabits_at_least_but_never_above_the_most() {
    let least = |most: &str| {
        let text = file("distance = \"80km\"", &format!("{KEY}\nmost = \"{most}\""), "");
        lscc(&valid(&text), "lh0").calculation.least.to_string()
    };
    assert_eq!(["100G", "2G", "900M", "4M"].map(least), ["1G", "20M", "10M", "4M"]);
}

#[test]
fn a_buffer_of_bifrost_that_is_stated_is_kept_and_another_grows_by_qref() {
    let beneath = |word: &str, bifrost: &str| {
        let keys = format!("distance = \"80km\"\nflow_control = \"{word}\"\nbifrost = {bifrost}");
        let text = file(&keys, KEY, "");
        let gateway = valid(&text);
        let Protection::Bifrost { buffer } = gateway.lscc().next().unwrap().1.beneath else {
            panic!("Bifrost is beneath");
        };
        buffer.0
    };
    for word in ["bifrost", "bifrostx", "port-grants"] {
        let buffer = |bifrost: &str| beneath(word, bifrost);
        assert_eq!(buffer("{}"), 10_641_192 + 1_268_205, "{word}");
        assert_eq!(buffer("{ buffer = \"auto\" }"), 10_641_192 + 1_268_205, "{word}");
        assert_eq!(buffer("{ buffer = \"12MB\" }"), 12_000_000, "{word}");
    }
}

#[test]
fn pfc_is_enough_beneath_where_its_headroom_holds_the_link() {
    let beneath = |keys: &str| {
        let text = file(keys, &format!("{KEY}\nround_trip = \"800us\""), "");
        let gateway = parse(&text, "lscc.toml").unwrap();
        let (_, sum) = gateway.lscc().next().unwrap();
        let warned = gateway.warnings.iter().any(|it| it.to_string().contains("LSCC alone loses frames"));
        assert_eq!(warned, matches!(sum.beneath, Protection::Short { .. }));
        sum.beneath
    };
    let lossless = |headroom: &str| {
        let text = file("", KEY, "").replace("[3]", &format!("[3], headroom = \"{headroom}\""));
        let text = text.replace("[port.lscc]", "[port.lscc]\nround_trip = \"800us\"");
        parse(&text, "lscc.toml").unwrap().lscc().next().unwrap().1.beneath
    };
    let priority = Priority::new(3).unwrap();
    assert!(matches!(beneath("distance = \"80km\""), Protection::Pfc { .. }));
    assert!(matches!(lossless("10MB"), Protection::Pfc { .. }), "rate x round trip");
    let short = Protection::Short { priority, headroom: Bytes(9_999_999) };
    assert_eq!(lossless("9999999B"), short);
}

#[test]
fn a_link_that_holds_more_packets_than_sequence_numbers_tell_apart_is_told_so() {
    let warned = |round_trip: &str| {
        let text = file("distance = \"80km\"", &format!("{KEY}\nround_trip = \"{round_trip}\""), "");
        let gateway = parse(&text, "lscc.toml").unwrap();
        let port = gateway.program.settings().ports.iter().find(|it| it.notifiers.lscc.is_some()).unwrap();
        assert_eq!(port.rate, BitRate::gigabits(100));
        gateway.warnings.iter().map(ToString::to_string).find(|it| it.contains("sequence numbers"))
    };
    assert_eq!(warned("185ms"), None);
    let warning = warned("200ms").unwrap();
    // 2.5 GB in packets of 1,106 bytes, twice.
    assert!(warning.contains("4,520,796 packets in flight over 200ms"), "{warning}");
    assert!(warning.contains("distinguish at most 4,194,304"), "{warning}");
}

#[test]
fn the_queue_of_lscc_is_not_marked_but_others_are() {
    let marked = |priority: u8| {
        format!("queue = [{{ priorities = [{priority}], ecn = {{ kmin = \"1MB\", kmax = \"4MB\" }} }}]")
    };
    let try_with = |long: &str, other: &str| {
        let text = file(&format!("distance = \"80km\"\n{long}"), KEY, other);
        parse(&text, "lscc.toml").map_err(|error| error.to_string())
    };
    let refused = try_with("", &marked(3)).unwrap_err();
    assert!(refused.contains("port dc0 marks priority 3 from port lh0"), "{refused}");
    assert!(try_with("", &marked(2)).is_ok(), "a lossy priority, of which LSCC keeps no queue");
    assert!(try_with(&marked(3), "").is_ok(), "the queue onto the long link");
}

#[test]
fn two_ports_share_neither_address() {
    let two = |other: &str| {
        let other =
            format!("distance = \"80km\"\nlossless = [{{ priorities = [3] }}]\nlscc = {{ {other}, {KEY} }}");
        parse(&file("distance = \"80km\"", KEY, &other), "lscc.toml").map_err(|error| error.to_string())
    };
    for (other, address) in [
        ("local = \"10.255.0.1\", peer = \"10.255.0.4\"", "10.255.0.1"),
        ("local = \"10.255.0.3\", peer = \"10.255.0.2\"", "10.255.0.2"),
    ] {
        let refused = two(other).unwrap_err();
        let expected = format!("ports dc0 and lh0 both use the address {address} for LSCC");
        assert!(refused.contains(&expected), "{refused}");
    }
    assert!(two("local = \"10.255.0.3\", peer = \"10.255.0.4\"").is_ok());
}

#[test]
fn a_table_of_lscc_is_taken_from_the_profile_as_a_whole() {
    let text = r#"
        [profile.port.long]
        rate = "100G"
        distance = "80km"
        lossless = [{ priorities = [3] }]
        lscc = { local = "10.0.0.1", peer = "10.0.0.2", flows = 7, KEY }

        [[port]]
        name = "a"
        profile = "long"

        [[port]]
        name = "b"
        profile = "long"
        lscc = { local = "10.0.1.1", peer = "10.0.1.2", step = "none", far_cnp_interval = "500us", KEY }
    "#;
    let gateway = parse(&text.replace("KEY", KEY), "profiles.toml").unwrap();
    let (a, b) = (lscc(&gateway, "a"), lscc(&gateway, "b"));
    assert_eq!((a.limiting.flows, a.calculation.step), (7, BitRate::new(500_000_000)));
    assert_eq!((b.limiting.flows, b.calculation.step), (65_536, None));
    assert_eq!(b.limiting.far_cnp_interval, Some(Interval::from_micros(500)));
}

/// The key of a configuration with `key_file = "gw.key"` where that file has `text`, or the error.
fn with_key_file(test: &str, text: Option<&str>) -> Result<Key, String> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    fs::create_dir_all(directory.join("keys")).unwrap();
    if let Some(text) = text {
        fs::write(directory.join("keys/gw.key"), text).unwrap();
    }
    let gateway = directory.join("gw.toml");
    fs::write(&gateway, file("distance = \"80km\"", "key_file = \"keys/gw.key\"", "")).unwrap();
    let gateway = load(gateway).map_err(|error| error.to_string())?;
    Ok(lscc(&gateway, "lh0").feedback.key.unwrap())
}

#[test]
fn a_key_file_is_found_beside_the_configuration_and_may_explain_itself() {
    let expected: [u8; 16] = core::array::from_fn(|index| 0xf0 | index as u8);
    let digits = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";
    for text in [digits.into(), format!("# a\n\n  {digits}\r\n# b\n"), digits.to_uppercase()] {
        assert_eq!(with_key_file("right_key", Some(&text)), Ok(Key(expected)));
    }
}

#[test]
fn a_key_file_that_holds_no_key_is_named_and_not_shown() {
    let digits = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";
    for text in ["", "secret", &digits[1..], &format!("{digits}0"), &format!("{digits}\n{digits}")] {
        let refused = with_key_file("wrong_key", Some(text)).unwrap_err();
        assert!(refused.contains("port.lscc.key_file: ") && refused.contains("keys/gw.key"), "{refused}");
        assert!(text.is_empty() || !refused.contains(text), "{refused}");
    }
    let missing = with_key_file("missing_key", None).unwrap_err();
    assert!(missing.contains("keys/gw.key: No such file"), "{missing}");
}

#[test]
fn a_text_that_is_no_file_names_no_other() {
    let refused = parse(&file("distance = \"80km\"", "key_file = \"/etc/hostname\"", ""), "x.toml");
    assert!(refused.unwrap_err().to_string().contains("port.lscc.key_file: its path starts"));
}

#[test]
fn without_a_word_about_a_key_there_is_no_lscc() {
    let refused = parse(&file("distance = \"80km\"", "", ""), "x.toml").unwrap_err().to_string();
    assert!(refused.contains("port.lscc.key: is missing; for example, write key_file = "), "{refused}");
}

#[test]
fn a_link_without_a_key_is_one_that_says_so() {
    let gateway = parse(&file("distance = \"80km\"", "key = \"none\"", ""), "x.toml").unwrap();
    assert_eq!(lscc(&gateway, "lh0").feedback.key, None);
    let warnings: Vec<_> = gateway.warnings.iter().map(ToString::to_string).collect();
    assert!(matches!(&warnings[..], [only] if only.contains("has no key")), "{warnings:?}");
    let both = file("distance = \"80km\"", "key = \"none\"\nkey_file = \"x\"", "");
    assert!(parse(&both, "x.toml").unwrap_err().to_string().contains("port.lscc.key_file"));
}

#[test]
fn the_key_that_everybody_has_is_warned_of_wherever_it_is_used() {
    let example = fs::read_to_string(shipped("../keys/example.key")).unwrap();
    let digits = example.lines().last().unwrap();
    let gateway = parse(&file("distance = \"80km\"", &format!("key = \"{digits}\""), ""), "x.toml").unwrap();
    let files = [load(shipped("longhaul-lscc-80km.toml")).unwrap(), gateway];
    for gateway in files {
        let warnings: Vec<_> = gateway.warnings.iter().map(ToString::to_string).collect();
        assert!(matches!(&warnings[..], [only] if only.contains("example.key is public")), "{warnings:?}");
    }
}
