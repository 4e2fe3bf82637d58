//! The configurations of the target `gateway`.

use crate::CHOICES;
use std::sync::Arc;
use switch::Program;

/// The bits of the first choice that stand for the flow control of the long link. Where the lowest is set, the port has no
/// thresholds of its own.
const FLOW_CONTROLS: [(&str, &str); 10] = [
    ("pfc", ""),
    ("bifrost", SLOTS),
    ("p-pfc", "[port.p_pfc]\nhorizon = \"20us\"\nkmax = \"2kB\"\n"),
    ("bifrostx", SLOTS),
    ("capfc", "[port.capfc]\nwarn = \"2kB\"\n"),
    ("port-grants", SLOTS),
    ("relay", ""),
    ("cbfc", "[port.cbfc]\nround_trip = \"10us\"\n"),
    ("pfc", ""),
    (
        "port-grants",
        "[port.bifrost]\nslot = \"50us\"\nround_trip = \"400us\"\n[port.port_grants]\nfar_ports = 2\n",
    ),
];

const SLOTS: &str = "[port.bifrost]\nslot = \"50us\"\nround_trip = \"400us\"\n";

const XOFFS: [&str; 3] =
    ["xoff = \"24kB\"\nxon = \"16kB\"", "xoff = \"3kB\"\nxon = \"2kB\"", "xoff = \"60kB\"\nxon = \"60kB\""];

const LSCC: &str = r#"[port.lscc]
local = "10.255.0.1"
peer = "10.255.0.2"
key = "000102030405060708090a0b0c0d0e0f"
interval = "100us"
round_trip = "400us"
reference = "20kB"
step = "100M"
least = "1M"
pseudo_reference = "10kB"
flows = 64
"#;

/// The bit of the last choice with which frames bounce.
pub(crate) const BOUNCES: u8 = 0x80;

/// The settings that can change while the gateway runs; `choices[0]` holds the others.
pub(crate) fn program(choices: [u8; CHOICES]) -> Arc<Program> {
    let text = configuration(choices);
    match config::parse(&text, "fuzzed.toml") {
        Ok(gateway) => gateway.program,
        Err(error) => panic!("every choice makes a gateway: {error}\n{text}"),
    }
}

fn pick(choice: u8, words: &[&'static str]) -> &'static str {
    words[usize::from(choice) % words.len()]
}

/// Whether the gateway routes.
pub(crate) fn routes([_, forwarding, ..]: [u8; CHOICES]) -> bool {
    forwarding % 3 == 2
}

pub(crate) fn configuration(choices: [u8; CHOICES]) -> String {
    let [fixed, forwarding, thresholds, schemes] = choices;
    let with = |bit: u8, section: &'static str| if schemes & bit == 0 { "" } else { section };
    let (flow_control, flow_control_table) = FLOW_CONTROLS[usize::from(fixed >> 4) % FLOW_CONTROLS.len()];
    let far = match fixed & 0x10 {
        0 => format!("{}\nheadroom = \"64KiB\"", pick(thresholds >> 2, &XOFFS)),
        _ => String::new(),
    };
    let bounces = with(BOUNCES, "orientation = \"uplink\"\nremap = { 3 = 5 }\n");
    // A bridge has no ways up and down.
    let forwarding = if bounces.is_empty() || forwarding % 3 == 2 { forwarding } else { 0 };
    format!(
        r#"
[buffer]
shared = "{shared}"

[forwarding]
{forwarding}

[[port]]
name = "dc0"
rate = "100G"
mac = "52:54:00:00:00:aa"
addresses = ["10.0.1.1/24"]
{bounces}[[port.lossless]]
priorities = [3]
{near}
headroom = "64KiB"
{near_watchdog}

[[port]]
name = "lh0"
rate = "{rate}"
mac = "52:54:00:00:00:bb"
addresses = ["10.0.0.1/24"]
tx_window = "{tx_window}"
flow_control = "{flow_control}"
{bounces}[[port.lossless]]
priorities = [3]
{far}
[[port.queue]]
priorities = [3]
{queue}
ecn = {{ kmin = "2kB", kmax = "9kB", pmax = 0.5{adaptive} }}
{flow_control_table}{senders}{far_watchdog}"#,
        forwarding = forwarding_table(forwarding),
        rate = pick(fixed, &["10G", "25G", "100G"]),
        shared = pick(fixed >> 2, &["1MiB", "256KiB"]),
        near = pick(thresholds, &XOFFS),
        near_watchdog = with(1, "[port.watchdog]\ndetection = \"200ms\"\naction = \"alert\"\n"),
        far_watchdog = with(2, "[port.watchdog]\ndetection = \"200ms\"\naction = \"drop\"\n"),
        tx_window = pick(thresholds >> 4, &["0us", "2us", "20us"]),
        queue = pick(thresholds >> 6, &["scheduling = \"strict\"", "weight = 3"]),
        adaptive =
            with(0x40, ", adaptive = { kmin = \"1kB\", kmax = \"4kB\", interval = \"10us\", incast = 2 }"),
        senders = senders(fixed & 8 != 0, schemes),
    )
}

fn forwarding_table(choice: u8) -> &'static str {
    pick(
        choice,
        &[
            "mode = \"patch\"\npairs = [[\"dc0\", \"lh0\"]]",
            "mode = \"bridge\"",
            "mode = \"route\"\n\
             neighbour = [{ address = \"10.0.0.2\", mac = \"52:54:00:00:00:02\", port = \"lh0\" },\n\
             { address = \"10.0.1.2\", mac = \"52:54:00:00:00:01\", port = \"dc0\" }]\n\
             route = [{ prefix = \"0.0.0.0/0\", next_hops = [\"10.0.0.2\"] },\n\
             { prefix = \"10.0.9.0/24\", next_hops = [\"10.0.1.2\", \"10.0.0.2\"] }]",
        ],
    )
}

/// The schemes of the long port that notify senders. The slow queues of THEMIS are there from the start or never, so
/// that a reload finds the same queues.
fn senders(slows: bool, schemes: u8) -> String {
    let (lscc, choice) = (schemes & 4 != 0, schemes >> 3 & 7);
    let answers = !lscc && matches!(choice, 1 | 7);
    let mut text = String::new();
    if lscc {
        text += LSCC;
        text += if choice & 1 == 0 { "" } else { "direct = \"int\"\n" };
    } else {
        text += match choice {
            2 => "[port.supplement]\nthreshold = \"3kB\"\nflows = 16\n",
            4 | 7 => "[port.supplement]\nthreshold = \"none\"\nthinning = \"100us\"\nflows = 128\n",
            5 => "[port.supplement]\nthreshold = \"1B\"\nthinning = \"300us\"\nageing = \"1ms\"\nflows = 4\n",
            _ => "",
        };
    }
    if slows || answers {
        let cnp_interval = if answers { "5us" } else { "none" };
        let slow_rate = if slows { "1G" } else { "none" };
        let flows = if choice & 4 == 0 { 64 } else { 8 };
        text += &format!(
            "[port.themis]\ncnp_interval = \"{cnp_interval}\"\nslow_rate = \"{slow_rate}\"\nslow_limit = \"20kB\"\n\
             round_trip = \"400us\"\nflows = {flows}\n"
        );
    }
    text
}
