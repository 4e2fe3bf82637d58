//! The files that we ship, and what they say.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::{Path, PathBuf};

use config::{Gateway, load};
use switch::ForwardingSettings;
use switch::liveness::{Liveness, Proof};
use switch::program::{Bifrost, PortSettings, Threshold, VirtualIncoming, Watchdog, WatchdogAction};
use units::{BitRate, Bytes, Cells, Distance, Interval, PauseQuanta, PortId, Priority, WireBytes};

fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/gateways")
}

fn gateway(name: &str) -> Gateway {
    load(shipped().join(name)).unwrap_or_else(|error| panic!("{error}"))
}

fn roce() -> usize {
    Priority::new(3).unwrap().index()
}

#[test]
fn every_file_that_we_ship_is_valid_and_warns_of_nothing_but_its_key() {
    let mut count = 0;
    let directories = [shipped(), shipped().join("../lab")];
    for entry in directories.iter().flat_map(|directory| fs::read_dir(directory).unwrap()) {
        let path = entry.unwrap().path();
        let gateway = load(&path).unwrap_or_else(|error| panic!("{error}"));
        let warnings: Vec<_> = gateway.warnings.iter().map(ToString::to_string).collect();
        let text = fs::read_to_string(&path).unwrap();
        let count_of = |what: &str| warnings.iter().filter(|it| it.contains(what)).count();
        let (public, none) = (text.matches("/example.key\"").count(), text.matches("key = \"none\"").count());
        let said = (count_of("example.key is public"), count_of("port.lscc.key: the link has no key"));
        assert_eq!((said, warnings.len()), ((public, none), public + none), "{}", warnings.join("\n"));
        // Where nothing is at stake: what is replayed has been recorded.
        assert!(none == 0 || path.file_name().unwrap().to_string_lossy().starts_with("replay-"));
        count += 1;
    }
    assert!(count >= 12, "found {count} files");
}

#[test]
fn two_ports_with_name_and_rate_are_enough() {
    let gateway = gateway("minimal.toml");
    assert_eq!(gateway.name, "minimal");
    assert_eq!(gateway.port_names().collect::<Vec<_>>(), ["dc0", "lh0"]);
    let settings = gateway.program.settings();
    assert!(settings.ports.iter().all(|port| port.lossless().is_empty()));
    assert_eq!(settings.ports[1].mac.to_string(), "02:00:00:00:00:02");
    assert_eq!(settings.buffer.headroom, Bytes::ZERO);
    assert_eq!(settings.buffer.egress_lossy, settings.buffer.shared);
    assert_eq!(settings.buffer.packing, None, "frames of a replay have memory of their own");
}

#[test]
fn the_sonic_file_is_appendix_a_of_the_paper() {
    let gateway = gateway("sonic-24mb.toml");
    let settings = gateway.program.settings();
    let buffer = &settings.buffer;
    assert_eq!(
        (buffer.shared, buffer.headroom, buffer.egress_lossy),
        (Bytes(18_000_000), Bytes(6_000_000), Bytes(14_000_000))
    );
    for port in &settings.ports {
        let group = port.groups[roce()].lossless().unwrap();
        assert_eq!((group.reserved, group.headroom), (Bytes(1_248), Bytes(96_928)));
        assert_eq!((group.xon, group.xon_offset), (Bytes(1_248), Bytes(2_496)));
        assert!(matches!(group.xoff, Threshold::Dynamic(share) if share.exponent() == -3));
        let lossy = port.queues[0].lossy;
        assert_eq!(lossy.reserved, Bytes(1_664));
        assert!(matches!(lossy.threshold, Threshold::Dynamic(share) if share.exponent() == -1));
    }
}

#[test]
fn the_long_haul_file_gets_the_headroom_that_its_comment_adds_up() {
    let gateway = gateway("longhaul-80km.toml");
    let long = gateway.port("lh0").unwrap();
    let group = *gateway.program.port(long).groups[roce()].lossless().unwrap();
    assert_eq!(group.headroom, Bytes(11_462_845));
    let text = fs::read_to_string(shipped().join("longhaul-80km.toml")).unwrap();
    assert!(text.contains("11,462,845 bytes in all"));
}

fn bifrost(gateway: &Gateway, port: &str) -> Bifrost {
    *gateway.program.port(gateway.port(port).unwrap()).bifrost().unwrap()
}

#[test]
fn the_long_haul_file_with_bifrost_gets_the_sums_that_its_comment_adds_up() {
    let gateway = gateway("longhaul-bifrost-80km.toml");
    let long = bifrost(&gateway, "lh0");
    assert_eq!((long.round_trip, long.buffer), (Interval(814_564), WireBytes(11_319_942)));
    let text = fs::read_to_string(shipped().join("longhaul-bifrost-80km.toml")).unwrap();
    assert!(text.contains("814,564 ns in all") && text.contains("11,319,942 bytes in all"));

    let (above, _) = text.split_once("[port.bifrost]").unwrap();
    let again =
        config::parse(&format!("{above}[port.bifrost]\nslot = \"28.1us\"\n"), "defaults.toml").unwrap();
    assert_eq!(bifrost(&again, "lh0"), long, "the values that it writes out are the defaults");
}

#[test]
fn the_pause_of_a_slot_lasts_as_long_as_a_slot_may_be_late_unless_the_file_says_otherwise() {
    let text = fs::read_to_string(shipped().join("longhaul-bifrost-80km.toml")).unwrap();
    let (above, _) = text.split_once("[port.bifrost]").unwrap();
    let of = |keys: &str| {
        let gateway = config::parse(&format!("{above}[port.bifrost]\n{keys}"), "late.toml").unwrap();
        bifrost(&gateway, "lh0").holdover
    };
    assert_eq!(of(""), Interval::from_micros(5), "half a slot");
    assert_eq!(of("lateness = \"1us\""), Interval::from_micros(5));
    assert_eq!(of("lateness = \"60us\""), Interval::from_micros(60));
    assert_eq!(of("lateness = \"60us\"\nholdover = \"0us\""), Interval::ZERO);
    // No pause frame lasts longer.
    assert_eq!(
        of("lateness = \"1ms\"") + Interval::from_micros(10),
        PauseQuanta::MAX.interval_at(BitRate::gigabits(100))
    );
}

#[test]
fn under_bifrost_a_group_has_its_buffer_reserved_and_is_paused_only_beyond_it() {
    let gateway = gateway("longhaul-bifrost-80km.toml");
    let port = gateway.program.port(gateway.port("lh0").unwrap());
    let bifrost = *port.bifrost().unwrap();
    let wire = bifrost.buffer + bifrost.overrun(port.rate, port.max_frame, Interval(2_018));
    let most = Cells::of_any_mix(wire).bytes();
    let group = port.groups[roce()].lossless().unwrap();
    assert_eq!((wire, most), (WireBytes(12_385_319), Bytes(13_359_456)));
    assert_eq!(group.xoff, Threshold::Static(most));
    assert_eq!(group.reserved, most - port.max_frame, "all but the last frame");
    assert_eq!(group.headroom, Bytes(3 * 9_118), "k + 2 frames, whatever the distance");
}

#[test]
fn with_the_terms_of_the_paper_alone_the_buffer_is_what_the_paper_configures_and_k_frames() {
    let text = r#"
        [[port]]
        name = "lh0"
        rate = "100G"
        lossless = [{ priorities = [3] }]
        flow_control = "bifrost"

        [port.bifrost]
        round_trip = "800us"
        virtual_incoming = "counter"
        lateness = "0us"

        [[port]]
        name = "dc0"
        rate = "100G"
    "#;
    let gateway = config::parse(text, "paper.toml").unwrap_or_else(|error| panic!("{error}"));
    let bifrost = bifrost(&gateway, "lh0");
    assert_eq!(bifrost.virtual_incoming, VirtualIncoming::Counter);
    // Section VI-A: H is the BDP and 3 Rs T. Section IV-D: k MTU beside it.
    assert_eq!(bifrost.buffer, WireBytes(10_000_000 + 3 * 125_000 + 9_142));
    // The paper's counter does not notice frames that have begun until they have used up F.
    let overrun = bifrost.overrun(BitRate::gigabits(100), Bytes(9_118), Interval(2_018));
    assert_eq!(overrun, WireBytes(10_000_000 + 125_000 + 9_142));
}

#[test]
fn a_relay_holds_what_arrives_in_a_round_trip_and_the_same_once_more() {
    let gateway = gateway("longhaul-relay-80km.toml");
    let settings = gateway.program.settings();
    let relay = |port: usize| settings.ports[port].flow_control.listens_to();
    assert_eq!((relay(0), relay(1)), (Some(PortId(1)), Some(PortId(0))));
    // As in longhaul-80km.toml.
    let round_trip = Bytes(11_462_845);
    let group = settings.ports[1].groups[roce()].lossless().unwrap();
    assert_eq!(group.xoff, Threshold::Static(round_trip));
    assert_eq!(group.reserved, round_trip - settings.ports[1].max_frame, "all but the last frame");
    assert_eq!(group.headroom, round_trip);
    // Without a table, a relay of two ports listens to the other one.
    let text = fs::read_to_string(shipped().join("longhaul-relay-80km.toml")).unwrap();
    let text = text.replace("from = ", "# from = ");
    let again = config::parse(&text, "without.toml").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again.program.settings(), settings);
}

#[test]
fn the_ports_of_a_relay_have_one_core_however_they_are_forwarded() {
    let port = |name: &str, relay: &str| {
        format!(
            "[[port]]\nname = \"{name}\"\nrate = \"10G\"\ndistance = \"1km\"\nlossless = [{{ priorities = [3] }}]\n\
             device = {{ interface = \"{name}\" }}\n{relay}\n"
        )
    };
    let relay = |from: &str| format!("flow_control = \"relay\"\nrelay = {{ from = \"{from}\" }}");
    let text = [
        "[forwarding]\nmode = \"patch\"\npairs = []\n".into(),
        port("a", ""),
        port("b", ""),
        port("c", &relay("a")),
    ];
    let gateway = config::parse(&text.concat(), "cores.toml").unwrap_or_else(|error| panic!("{error}"));
    let placements = config::cores::placements(gateway.program.settings(), &gateway.runtime);
    let cores = config::cores::assign(&placements, &[1, 2]);
    assert_eq!(cores[0], cores[2], "{cores:?}");
    assert_ne!(cores[0], cores[1]);
}

#[test]
fn a_table_of_bifrost_is_taken_from_the_profile_as_a_whole() {
    let text = r#"
        [profile.port.long]
        rate = "100G"
        distance = "80km"
        lossless = [{ priorities = [3] }]
        flow_control = "bifrost"
        bifrost = { slot = "20us", check_every = 4 }

        [[port]]
        name = "a"
        profile = "long"

        [[port]]
        name = "b"
        profile = "long"
        bifrost = { round_trip = "1ms", holdover = "0us" }
    "#;
    let gateway = config::parse(text, "profiles.toml").unwrap();
    let (a, b) = (bifrost(&gateway, "a"), bifrost(&gateway, "b"));
    assert_eq!((a.slot, a.holdover, a.check_every.get()), (Interval(20_000), Interval(10_000), 4));
    assert_eq!((b.slot, b.holdover, b.check_every.get()), (Interval(10_000), Interval::ZERO, 1));
    assert_eq!((a.round_trip, b.round_trip), (Interval(814_564), Interval(1_000_000)));
    assert!(gateway.warnings.is_empty(), "{:?}", gateway.warnings);
}

#[test]
fn a_port_that_speaks_bifrost_without_a_table_has_its_defaults_and_one_that_says_pfc_has_none_of_its_profile()
{
    let text = r#"
        [profile.port.long]
        rate = "100G"
        distance = "80km"
        lossless = [{ priorities = [3] }]
        flow_control = "bifrost"
        bifrost = { slot = "20us" }

        [[port]]
        name = "a"
        rate = "100G"
        distance = "80km"
        lossless = [{ priorities = [3] }]
        flow_control = "bifrost"

        [[port]]
        name = "b"
        profile = "long"
        flow_control = "pfc"
    "#;
    let gateway = config::parse(text, "spoken.toml").unwrap_or_else(|error| panic!("{error}"));
    let slot = "\nslot = \"28.1us\"\n";
    let shipped = fs::read_to_string(shipped().join("longhaul-bifrost-80km.toml")).unwrap();
    let (above, _) = shipped.split_once("holdover = ").unwrap();
    let defaults = config::parse(&above.replace(slot, "\n"), "defaults.toml").unwrap();
    assert_eq!(bifrost(&gateway, "a"), bifrost(&defaults, "lh0"));
    assert_eq!(gateway.program.port(gateway.port("b").unwrap()).bifrost(), None);
}

#[test]
fn a_watchdog_tells_after_the_times_of_sonic_unless_it_is_told_others() {
    let watchdog = |gateway: &Gateway, port: &str| gateway.program.port(gateway.port(port).unwrap()).watchdog;
    let times = |detection, restoration, action| {
        let (detection, restoration) = (Interval::from_millis(detection), Interval::from_millis(restoration));
        Some(Watchdog { detection, restoration, action })
    };
    let shipped = gateway("longhaul-80km.toml");
    assert_eq!(watchdog(&shipped, "dc0"), times(200, 200, WatchdogAction::Drop));
    assert_eq!(watchdog(&shipped, "lh0"), times(200, 200, WatchdogAction::Alert));
    let no_pauses = gateway("minimal.toml");
    assert_eq!(watchdog(&no_pauses, "lh0"), None, "it obeys none");

    let text = r#"
        [profile.port.rack]
        rate = "100G"
        distance = "10m"
        lossless = [{ priorities = [3] }]
        watchdog = { detection = "1s", action = "forward" }

        [[port]]
        name = "a"
        profile = "rack"

        [[port]]
        name = "b"
        profile = "rack"
        [port.watchdog]
    "#;
    let gateway = config::parse(text, "profiles.toml").unwrap();
    assert_eq!(watchdog(&gateway, "a"), times(1_000, 200, WatchdogAction::Forward));
    assert_eq!(watchdog(&gateway, "b"), times(200, 200, WatchdogAction::Alert), "a table as a whole");
    assert!(gateway.warnings.is_empty(), "{:?}", gateway.warnings);
}

#[test]
fn a_routed_file_knows_both_families() {
    let gateway = gateway("route-ecmp.toml");
    let switch::ForwardingSettings::Route(routes) = &gateway.program.settings().forwarding else {
        panic!("it routes");
    };
    assert_eq!((routes.routes.len(), routes.neighbours.len()), (4, 6));
    assert!(routes.routes[2..].iter().all(|route| route.next_hops.len() == 2));
}

#[test]
fn what_is_rendered_is_read_back_as_the_same() {
    for entry in fs::read_dir(shipped()).unwrap() {
        let gateway = load(entry.unwrap().path()).unwrap();
        let text = config::render(&gateway);
        let again = config::parse(&text, "rendered.toml").unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(again.program.settings(), gateway.program.settings());
        assert_eq!((again.name, again.links), (gateway.name, gateway.links));
    }
}

#[test]
fn a_gateway_without_a_name_is_called_like_its_file() {
    let name = |file| {
        config::parse("[[port]]\nname = \"a\"\nrate = \"1G\"\n[forwarding]\nmode = \"bridge\"\n", file)
    };
    assert_eq!(name("etc/east 1.toml").unwrap().name, "east-1");
    assert_eq!(name("").unwrap().name, "gateway");
}

#[test]
fn what_a_port_says_goes_before_its_profile_and_a_narrow_range_before_a_wide_one() {
    let text = r#"
        [profile.port.rack]
        rate = "25G"
        mtu = 1500
        distance = "10m"
        lossless = [{ priorities = [3] }]
        classify = { dscp = { "0-63" = 0, "24-31" = 3, 26 = 4 } }

        [[port]]
        name = "a"
        profile = "rack"

        [[port]]
        name = "b"
        profile = "rack"
        rate = "100G"
        lossless = []
    "#;
    let gateway = config::parse(text, "profiles.toml").unwrap();
    let [a, b] = &gateway.program.settings().ports[..] else { panic!("two ports") };
    assert_eq!((a.rate, b.rate), ("25G".parse().unwrap(), "100G".parse().unwrap()));
    assert_eq!(a.max_frame, Bytes(1_518));
    assert!(!a.lossless().is_empty() && b.lossless().is_empty());
    let priority = |dscp: usize| a.classification.dscp[dscp].number();
    assert_eq!([priority(0), priority(24), priority(26), priority(27), priority(48)], [0, 3, 4, 3, 0]);
}

#[test]
fn a_written_default_is_the_priority_of_every_code_point_that_a_written_map_does_not_name() {
    let class = |keys: &str| {
        let port = |name| format!("[[port]]\nname = \"{name}\"\nrate = \"1G\"\nclassify = {{ {keys} }}\n");
        let text = port("a") + &port("b");
        config::parse(&text, "classes.toml").unwrap().program.settings().ports[0].classification.clone()
    };
    let numbers = |codes: &[Priority]| codes.iter().map(|it| it.number()).collect::<Vec<_>>();
    let named = class("default = 1, dscp = { 26 = 3, \"48-50\" = 6 }");
    let expected = |code| match code {
        26 => 3,
        48..=50 => 6,
        _ => 1,
    };
    assert_eq!(numbers(&named.dscp), (0..64).map(expected).collect::<Vec<_>>());
    assert_eq!(numbers(&named.pcp), [0, 1, 2, 3, 4, 5, 6, 7], "no map of them is written");
    assert_eq!(numbers(&class("default = 1, pcp = { 3 = 4 }").pcp), [1, 1, 1, 4, 1, 1, 1, 1]);
    assert_eq!(numbers(&class("dscp = { 26 = 5 }").dscp)[24..28], [3, 3, 5, 3], "no default is written");
    assert_eq!(class("default = 1").dscp, class("").dscp, "no map is written");
}

#[test]
fn no_map_that_we_ship_gives_a_code_point_that_it_does_not_name_a_priority() {
    let mut maps = 0;
    for entry in ["", "../lab"].iter().flat_map(|it| fs::read_dir(shipped().join(it)).unwrap()) {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let gateway = load(&path).unwrap();
        for port in gateway.program.settings().ports.iter().filter(|_| text.contains("\ndscp = {")) {
            let class = &port.classification;
            let unlike = (0..64).filter(|code| class.dscp[*code] != class.default);
            let unnamed: Vec<_> = unlike.filter(|code| !text.contains(&format!("\"{code}\" = "))).collect();
            assert_eq!(unnamed, [0_usize; 0], "{}, port {}", path.display(), port.name);
            maps += 1;
        }
    }
    assert!(maps > 30, "{maps} ports");
}

#[test]
fn a_port_keeps_the_bifrost_table_of_its_profile_with_each_scheme_that_has_slots() {
    let gateway = |word: &str, buffer: &str| {
        let text = format!(
            r#"
            profile.port.long = {{ rate = "100G", distance = "80km", bifrost = {{ slot = "20us", buffer = "{buffer}" }} }}

            [[port]]
            name = "dc0"
            rate = "100G"

            [[port]]
            name = "lh0"
            profile = "long"
            flow_control = "{word}"
            lossless = [{{ priorities = [3] }}]
            "#
        );
        config::parse(&text, "profile.toml")
    };
    for word in ["bifrost", "bifrostx", "port-grants"] {
        let settings = gateway(word, "64MB").unwrap().program.settings().ports[1].flow_control;
        let slots = settings.bifrost().unwrap();
        assert_eq!((slots.slot, slots.buffer), (Interval::from_micros(20), WireBytes(64_000_000)), "{word}");
        let small = gateway(word, "1kB").unwrap_err().to_string();
        assert!(
            small.contains("profile.port.long.bifrost.buffer: port lh0: a Bifrost buffer of"),
            "{word}: {small}"
        );
    }
}

/// The watchdog of a port of `rate` that says `keys`, and what is said about it.
fn watched(rate: &str, keys: &str) -> (Option<Watchdog>, Vec<String>) {
    let text = format!(
        r#"
        [[port]]
        name = "a"
        rate = "{rate}"
        lossless = [{{ priorities = [3], headroom = "16MB" }}]
        {keys}

        [[port]]
        name = "b"
        rate = "{rate}"
        watchdog = "none"

        [buffer]
        headroom = "64MB"
        "#
    );
    let gateway = config::parse(&text, "watched.toml").unwrap_or_else(|error| panic!("{error}"));
    let warnings = gateway.warnings.iter().map(ToString::to_string);
    let warnings = warnings.filter(|it| it.contains("watchdog") || it.contains("detection")).collect();
    (gateway.program.settings().ports[0].watchdog, warnings)
}

#[test]
fn a_port_that_obeys_pauses_has_a_watchdog_that_changes_nothing() {
    let (watchdog, warnings) = watched("100G", "");
    let action = WatchdogAction::Alert;
    let time = Interval::from_millis(200);
    assert_eq!(watchdog, Some(Watchdog { detection: time, restoration: time, action }));
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn a_detection_time_that_is_not_stated_leaves_four_round_trips_and_a_whole_pause() {
    let detection = |rate, keys| {
        let (watchdog, warnings) = watched(rate, keys);
        assert!(warnings.is_empty(), "{warnings:?}");
        watchdog.unwrap().detection
    };
    let table = "[port.watchdog]\nrestoration = \"1s\"";
    assert_eq!(detection("100G", table), Interval::from_millis(200));
    assert_eq!(detection("100M", ""), Interval(335_539_200), "a single pause frame at that rate");
    assert_eq!(detection("10M", ""), Interval(3_355_392_000));
    assert_eq!(detection("5M", ""), Interval::from_millis(5_000), "the longest that is valid");
    assert_eq!(
        detection("1G", "flow_control = \"bifrost\"\nbifrost = { round_trip = \"100ms\" }"),
        Interval::from_millis(400)
    );
    assert_eq!(
        detection("1G", "flow_control = \"bifrost\"\nbifrost = { round_trip = \"1s\" }"),
        Interval::from_millis(4_000)
    );
    let far = detection("1G", "distance = \"10000km\"");
    assert!(far > Interval::from_millis(400) && far < Interval::from_millis(410), "{far}");
}

#[test]
fn a_watchdog_that_is_turned_off_is_said_where_there_is_something_to_watch() {
    let (watchdog, warnings) = watched("100G", "watchdog = \"none\"");
    assert_eq!(watchdog, None);
    let expected =
        "watched.toml:6:20: warning: port.watchdog: port a obeys pauses, and no watchdog reports a peer";
    assert!(matches!(&warnings[..], [only] if only.starts_with(expected)), "{warnings:?}");
}

#[test]
fn members_are_drained_by_name_and_all_of_them_with_a_warning() {
    let text = fs::read_to_string(shipped().join("bundle.toml")).unwrap();
    let members = "members = [\"lh0\", \"lh1\"]\n";
    let parsed = |drained: &str| {
        config::parse(&text.replacen(members, &format!("{members}drained = {drained}\n"), 1), "bundle.toml")
    };
    let drained = |gateway: &Gateway| {
        let is_drained = |port: &PortSettings| port.bundle.as_ref()?.liveness.map(|it| it.is_drained);
        gateway.program.settings().ports.iter().map(is_drained).collect::<Vec<_>>()
    };
    let gateway = parsed("[\"lh1\"]").unwrap();
    assert_eq!(drained(&gateway), [None, None, Some(true)]);
    let again = config::parse(&config::render(&gateway), "bundle.toml").unwrap();
    assert_eq!(drained(&again), drained(&gateway));
    let error = parsed("[\"lh2\"]").unwrap_err().to_string();
    assert!(error.contains("bundle.drained") && error.contains("lh2"), "{error}");
    let all = parsed("[\"lh0\", \"lh1\"]").unwrap();
    assert!(all.warnings.iter().any(|it| it.to_string().contains("has all members")), "{:?}", all.warnings);
}

#[test]
fn the_key_of_hellos_is_stated_or_in_a_file() {
    let text = fs::read_to_string(shipped().join("bundle.toml")).unwrap();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bundle.toml");
    fs::copy(shipped().join("../keys/example.key"), file.with_file_name("bundle.key")).unwrap();
    let liveness = |keys: &str| {
        let members = "members = [\"lh0\", \"lh1\"]\n";
        let text = text.replacen(members, &format!("{members}{keys}"), 1);
        let text = text.replacen("[[port]]\n", "[[port]]\nmac = \"02:00:5e:00:00:01\"\n", 1);
        fs::write(&file, text).unwrap();
        let gateway = load(&file).unwrap();
        let port = |name| gateway.program.settings().ports.iter().find(|port| port.name == name).unwrap();
        ["lh0", "lh1"].map(|name| port(name).bundle.as_ref().unwrap().liveness)
    };
    let hellos = |it: Option<Liveness>| match it.unwrap().proof {
        Proof::Hellos(hellos) => hellos,
        Proof::Carrier => panic!("no hellos"),
    };
    assert_eq!(liveness(""), [None; 2]);
    let keys = |key: &str| liveness(&format!("liveness = \"hello\"\n{key}\n")).map(hellos);
    let stated = keys("key = \"000102030405060708090a0b0c0d0e0f\"");
    assert_eq!(stated.map(|it| it.key.0), [core::array::from_fn(|index| index as u8); 2]);
    assert_eq!(stated.map(|it| it.place.member), [0, 1]);
    assert_ne!(keys("key = \"ff0102030405060708090a0b0c0d0e0f\"")[0].key, stated[0].key);
    assert_eq!(keys("key_file = \"bundle.key\""), stated);
}

#[test]
fn a_bundle_is_one_port_to_forwarding_and_is_written_as_it_was_read() {
    let gateway = gateway("bundle.toml");
    let settings = gateway.program.settings();
    let members = [PortId(1), PortId(2)];
    assert_eq!(members.map(|port| settings.head(port)), [PortId(1); 2]);
    let delays = members.map(|port| {
        let membership = settings.ports[port.index()].bundle.as_ref().unwrap();
        (membership.delay, membership.jitter)
    });
    assert_eq!(delays, [80_000, 95_000].map(|metres| (Distance(metres).propagation(), Interval::ZERO)));
    assert_eq!(settings.forwarding, ForwardingSettings::Patch(vec![(PortId(0), PortId(1))]));
    let again = config::parse(&config::render(&gateway), "again.toml").unwrap();
    assert_eq!(again.program.settings(), settings);
}
