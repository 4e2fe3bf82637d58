//! The files that we ship, and what they say.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::{Path, PathBuf};

use config::{Gateway, load};
use switch::program::{BufferSettings, Threshold};
use units::{Bytes, Priority};

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
fn every_file_that_we_ship_is_valid_and_gives_no_warning() {
    let mut count = 0;
    for entry in fs::read_dir(shipped()).unwrap() {
        let path = entry.unwrap().path();
        let gateway = load(&path).unwrap_or_else(|error| panic!("{error}"));
        let warnings: Vec<_> = gateway.warnings.iter().map(ToString::to_string).collect();
        assert!(warnings.is_empty(), "{}", warnings.join("\n"));
        count += 1;
    }
    assert!(count >= 6, "found {count} files");
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
    assert_eq!(settings.buffer.descriptors, BufferSettings::descriptors_for(Bytes(16 << 20)));
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
    assert_eq!(group.headroom, Bytes(11_453_569));
    let text = fs::read_to_string(shipped().join("longhaul-80km.toml")).unwrap();
    assert!(text.contains("11,453,569 bytes in all"));
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
