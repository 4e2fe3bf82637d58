//! Captures as people have them: with clocks that go back, of several interfaces, and with link agents.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

mod common;

use common::*;
use replay::capture::{CaptureInterface, PcapngWriter};
use serde_json::Value;
use units::Nanos;

/// A host at 10 Gb/s, whose lossless frames leave at 100 Mb/s.
const GATEWAY: &str = r#"
[buffer]
shared = "1MiB"
headroom = "64KiB"

[[port]]
name = "dc0"
rate = "10G"
mtu = 1500
distance = "100m"
[[port.lossless]]
priorities = [3]
xoff = "100kB"
headroom = "64KiB"

[[port]]
name = "lh0"
rate = "100M"
mtu = 1500
"#;

/// The report of a replay through a gateway.
fn report(gateway: &str, arguments: &[&str]) -> Value {
    let scratch = Scratch::new();
    let config = scratch.write("gateway.toml", gateway);
    json(&replayed(&[&["--config", &config, "--json"], arguments].concat()).stdout)
}

/// The report of a replay of these frames into `dc0`.
fn replay(gateway: &str, frames: &[Kept]) -> Value {
    let scratch = Scratch::new();
    let input = format!("dc0={}", scratch.write("in.pcap", pcap(frames)));
    report(gateway, &["--in", &input])
}

#[test]
fn a_wrong_clock_in_a_capture_makes_a_port_lose_nothing() {
    // 83 Mb/s.
    let smooth = stream(2_000, 1_042, 100_000);
    let (mut step, mut spike) = (smooth.clone(), smooth.clone());
    step[1_000..].iter_mut().for_each(|frame| frame.0 -= 50_000_000);
    spike[100].0 += 3_600_000_000_000;
    for (frames, faults) in [(&smooth, [0, 0, 0]), (&step, [0, 0, 1]), (&spike, [0, 1, 0])] {
        let report = replay(GATEWAY, frames);
        assert_eq!(report["ports"][1]["out"]["frames"], 2_000, "{faults:?}: {:#}", report["ports"][0]);
        let found =
            ["clamped_timestamps", "stray_timestamps", "clock_steps"].map(|key| &report["input"][key]);
        assert_eq!(found, faults);
        let [first, last] =
            ["first_arrival_ns", "last_arrival_ns"].map(|key| report["clock"][key].as_u64().unwrap());
        // The frame at which the clock was set back comes at once.
        assert_eq!(last - first, (1_999 - faults[2]) * 100_000);
    }
}

#[test]
fn a_gateway_that_only_announces_itself_has_drained() {
    for interval in ["5s", "600s"] {
        let agent = format!("{}[port.lldp]\ninterval = \"{interval}\"\n", GATEWAY);
        let report = replay(&agent, &stream(1, 1_042, 0));
        assert_eq!(report["ending"]["state"], "drained", "{}", report["ending"]);
        let [last, end] = ["last_arrival_ns", "end_ns"].map(|key| report["clock"][key].as_u64().unwrap());
        assert!(end - last < 1_000_000, "{interval}: {}", end - last);
        assert_eq!(report["ports"][1]["lldp"]["sent"], 1, "that it ends");
    }
}

#[test]
fn a_capture_of_several_interfaces_is_split_by_their_names() {
    let scratch = Scratch::new();
    let interface =
        |name: &str, outbound| CaptureInterface { name: name.into(), description: String::new(), outbound };
    let interfaces = [interface("dc0 received", false), interface("dc0 sent", true)];
    let mut writer = PcapngWriter::new(Vec::new(), "a test", &interfaces, 262_144).unwrap();
    for (number, (at, data, length)) in stream(5, 100, 1_000).into_iter().enumerate() {
        writer.write(number % 2, Nanos(at), &data, length).unwrap();
    }
    let capture = scratch.write("dc0.pcapng", writer.finish(Nanos(2_000_000_000), None).unwrap());
    for (from, assigned) in [("dc0=interface:dc0 received", 3), ("dc0=interface:1", 2), ("dc0=::/0", 0)] {
        let report = report(GATEWAY, &["--split", &capture, "--from", from]);
        let config = scratch.write("gateway.toml", GATEWAY);
        replayed(&["--config", &config, "--split", &capture, "--from", from]);
        assert_eq!(report["ports"][0]["in"]["frames"], assigned, "{from}");
        assert_eq!(report["input"]["unassigned"]["frames"], 5 - assigned, "{from}");
    }
}

/// An LLDPDU of a switch with the CEE form of DCBX, as one on the wire.
const CEE: &str = "0180c200000e020000000b0188cc020704020000000b01040805457468312f313706020078fe37001b21020\
    20a00000000000100000001041100008000000100003232000000000000080606000080001008080a0000800012b7011b21100000";

#[test]
fn a_neighbour_that_speaks_only_the_older_form_of_dcbx_is_a_mismatch() {
    let data: Vec<u8> =
        (0..CEE.len()).step_by(2).map(|at| u8::from_str_radix(&CEE[at..at + 2], 16).unwrap()).collect();
    let length = data.len() as u32;
    let agent = GATEWAY.replace("\n[[port]]\nname = \"lh0\"", "[port.lldp]\n\n[[port]]\nname = \"lh0\"");
    let report = replay(&agent, &[(1_000_000_000, data, length)]);
    let lldp = &report["ports"][0]["lldp"];
    assert_eq!(
        [&lldp["neighbours"], &lldp["mismatch"]["cee"], &lldp["discarded_tlvs"]],
        [1, 1, 0],
        "{lldp:#}"
    );
}
